"""Errors that end a command, and the one-line messages on stderr."""

import click

from ..base.printed import MOST_OF_MESSAGE, plain


class RunFailedError(Exception):
    """A run ended with an exception: exit code 1.

    Attributes
    ----------
    trace
        The traceback as text, if there is no exception to show.
    """

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


class InterruptedRunError(Exception):
    """Ctrl-C, after the finished results were shown. The message has the progress. Exit code 1."""


def say(kind: str, text: object) -> None:
    """Print one line, ``hpcdispatch: KIND: TEXT``, on stderr. Line breaks in the text become ``; ``."""
    lines = [" ".join(line.split()) for line in str(text).splitlines()]
    beginning = f"hpcdispatch: {kind}: "
    told = plain("; ".join(line for line in lines if line), MOST_OF_MESSAGE - len(beginning))
    click.echo(beginning + told, err=True)


def os_error_line(error: OSError) -> str:
    """Return an error of the operating system as one line, the file first."""
    if error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return error.strerror or str(error)
