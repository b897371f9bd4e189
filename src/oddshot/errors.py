"""The one kind of error that a person can cause."""


class InputError(ValueError):
    """Wrong input: one line that says what was wrong, where, and what was expected.

    The command line prints it without a traceback and exits with code 2.
    """
