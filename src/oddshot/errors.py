"""Errors that a person or a machine's limits cause, and checks of arguments that raise them.

Each message is one line: what was wrong, where, what was expected.

The command line prints them without a traceback: exit code 2, and 1 where the machine's capacity was at fault.
"""

import errno
import re
from collections.abc import Iterable
from numbers import Integral
from typing import Any

# Control characters (terminals obey them), bytes that are not UTF-8, and marks that break lines or reverse the text.
_UNPRINTABLE = re.compile("[\\x00-\\x1f\\x7f-\\x9f\\ud800-\\udfff\\u2028-\\u202e\\u2066-\\u2069]")


class OddshotError(Exception):
    """Base of all errors that oddshot raises on purpose.

    Examples
    --------
    >>> import oddshot
    >>> try:
    ...     oddshot.load_model("nowhere.safetensors")
    ... except oddshot.OddshotError as error:
    ...     print(error)
    nowhere.safetensors: cannot be read (No such file or directory)
    """


class InputError(OddshotError, ValueError):
    """A value, a column, a label or an option that was given is wrong. It is a ValueError, too.

    Examples
    --------
    >>> import oddshot
    >>> oddshot.Task("press 1", [[0.1], [0.2]], [0, 2])
    Traceback (most recent call last):
        ...
    oddshot.errors.InputError: task 'press 1': label 2; labels are 1 (anomaly), 0 (normal), -1 (unlabelled)
    """

    def __init__(self, message: str = "", argument: str | None = None) -> None:
        """argument: the one that is wrong, with whose name the message begins; the command line has options instead."""
        super().__init__(message)
        self.argument = argument


class FileError(OddshotError):
    """A path cannot be read or written: it does not exist, access is denied, or it is a folder.

    Examples
    --------
    >>> import oddshot
    >>> oddshot.read_tasks("nowhere.csv", label="fault")
    Traceback (most recent call last):
        ...
    oddshot.errors.FileError: nowhere.csv: cannot be read (No such file or directory)
    """


class ModelFileError(OddshotError):
    """A model or detector file is damaged, comes from another program, or was written by a newer version.

    Examples
    --------
    >>> import oddshot
    >>> from pathlib import Path
    >>> _ = Path("model.safetensors").write_text("no model")
    >>> oddshot.load_model("model.safetensors")
    Traceback (most recent call last):
        ...
    oddshot.errors.ModelFileError: model.safetensors: not an oddshot model file, or one that was cut short
    """


class CapacityError(OddshotError):
    """The disk is full, memory does not suffice, or a limit on sizes is exceeded.

    Examples
    --------
    >>> import oddshot
    >>> def save(model, path):
    ...     try:
    ...         model.save(path)
    ...     except oddshot.CapacityError as error:
    ...         print("make room first:", error)
    >>> save(oddshot.load_universal(), "model.safetensors")     # prints nothing while there is room
    """


def file_error(action: str, path: object, error: OSError) -> OddshotError:
    """One line for a failed read or write: CapacityError for a full disk, FileError for anything else.

    action: "read" or "write".
    """
    reason = (error.strerror or str(error) or type(error).__name__).splitlines()[0]
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    kind = CapacityError if full else FileError
    return kind(f"cannot write {path}: {reason}" if action == "write" else f"{path}: cannot be read ({reason})")


def wrong_type(name: str, value: object, expected: str) -> InputError:
    """One line for an argument that is something else than expected, such as "a Model"."""
    kind = "None" if value is None else f"of type {type(value).__name__!r}"
    return InputError(f"{name} is {kind}; expected {expected}")


def require_type(name: str, value: object, kinds: type | tuple[type, ...], expected: str) -> None:
    """Refuse an argument of another type."""
    if not isinstance(value, kinds):
        raise wrong_type(name, value, expected)


def as_list(name: str, value: object, expected: str) -> list[Any]:
    """What an argument holds, refused if it is text or cannot be iterated over, as an array without dimensions."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise wrong_type(name, value, expected)
    try:
        return list(value)
    except TypeError:
        raise wrong_type(name, value, expected) from None


def require_whole_number(name: str, value: object, least: int) -> None:
    """Refuse an argument that is no whole number, or a smaller one than the least."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{name} is {one_line(value)}; it must be a whole number, at least {least}", name)
    if int(value) < least:
        raise InputError(f"{name} is {value}; it must be at least {least}", name)


def one_line(value: object) -> str:
    """A value as Python writes it, on one line and not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"


def printable(text: object) -> str:
    """Text of others, such as the name of a file or column, on one line: what a terminal would obey is escaped."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


# Modules that most people can do without, and the packages that have them.
OPTIONAL_PACKAGES = {
    "torch": "torch",
    "arff": "liac-arff",
    "pooch": "pooch",
    "matplotlib": "matplotlib",
    "pandas": "pandas",
}


class MissingPackage(InputError, ImportError):
    """A package that is not installed."""


def missing_package(purpose: str, module: str, packages: str) -> MissingPackage:
    """One line for a package that is not installed. packages: what to install, all that the purpose needs."""
    return MissingPackage(f"{purpose} needs {module}: pip install {packages}")
