"""Errors that a person or a machine's limits cause. Each message is one line: what was wrong, where, what was expected.

The command line prints them without a traceback: exit code 2, and 1 where the machine's capacity was at fault.
"""

import errno


class OddshotError(Exception):
    """Base of all errors that oddshot raises on purpose."""


class InputError(OddshotError, ValueError):
    """What was given is wrong: a value, a column, a label, an option."""


class FileError(OddshotError):
    """A path cannot be read or written: it does not exist, access is denied, a folder stands in its place."""


class ModelFileError(OddshotError):
    """A model or detector file is damaged, of another program, or written by a newer version."""


class CapacityError(OddshotError):
    """The disk is full, memory does not suffice, or a limit on sizes is exceeded."""


def file_error(action: str, path: object, error: OSError) -> OddshotError:
    """One line for a failed read or write: CapacityError for a full disk, FileError for anything else.

    action: "read" or "write".
    """
    reason = (error.strerror or str(error) or type(error).__name__).splitlines()[0]
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    kind = CapacityError if full else FileError
    return kind(f"cannot write {path}: {reason}" if action == "write" else f"{path}: cannot be read ({reason})")
