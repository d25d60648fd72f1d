"""Errors that users can cause, each one line: where, expected, received."""

from .printed import MOST_OF_MESSAGE, plain


class InputError(ValueError):
    """Bad input: a file, a record, an option or a name that cannot be used as it is.

    The message is one line. It names the file, line or job, the field, and the expected and received values. On the
    command line it ends the program with exit code 2. Quoted input is printed as
    :func:`~hpcdispatch.base.printed.plain` text of bounded length.
    """

    def __str__(self) -> str:
        """Return the message."""
        return plain(super().__str__(), MOST_OF_MESSAGE)


def raised(error: BaseException) -> str:
    """Return type and message of a plug-in's error as one line."""
    return plain(" ".join(f"{type(error).__name__}: {error}".split()), MOST_OF_MESSAGE)
