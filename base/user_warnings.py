"""Warnings of library calls, with the line of the caller's own code."""

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

_PACKAGE = __name__.partition(".")[0]


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning for the line outside hpcdispatch that led here.

    A fixed stack level would name a line of hpcdispatch where one function wraps another one.

    Parameters
    ----------
    message
        One line.
    category
        Its kind.
    """
    level = 1
    frame = sys._getframe()  # As the standard library does: inspect.stack() reads source files.
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


#: Kind and text of a warning.
Told = tuple[type[Warning], str]


@contextmanager
def gathered() -> Iterator[list[Told]]:
    """Gather the warnings of hpcdispatch in a worker process, for :func:`repeat` in the process of the caller."""
    told: list[Told] = []
    show = warnings.showwarning

    def keep(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if category.__module__.partition(".")[0] == _PACKAGE:
            told.append((category, str(message)))
        else:
            show(message, category, *place, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = keep
        yield told


def repeat(told: Iterable[Told]) -> None:
    """Issue gathered warnings for the line of the caller."""
    for category, message in told:
        warn(message, category)
