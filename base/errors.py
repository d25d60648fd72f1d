"""The errors a user can cause, each a single line that says where, what was expected and what came."""

from __future__ import annotations

from .printed import MOST_OF_MESSAGE, plain


class InputError(ValueError):
    """Bad input: a file, a record, an option or a name that cannot be used as it stands.

    The message is one line that names the file, line or job, the field, what was expected and what was
    received. On the command line it ends the program with exit code 2. Whatever it repeats of the input, it is printed
    as :func:`~hpcdispatch.base.printed.plain` text of a bounded length.
    """

    def __str__(self) -> str:
        """Return the message."""
        return plain(super().__str__(), MOST_OF_MESSAGE)


def raised(error: BaseException) -> str:
    """Return what a plugged-in part raised, its type and what it says, as one line."""
    return plain(" ".join(f"{type(error).__name__}: {error}".split()), MOST_OF_MESSAGE)
