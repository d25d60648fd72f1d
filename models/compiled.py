"""Functions compiled to machine code when they are first called."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core.event import Event, Listener, install_listener

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile `function` for the types it is first called with, and keep the result beside the byte code.

    Where that cannot be written, neither here nor in the user's cache folder, every process compiles anew.
    """
    made: Any
    try:
        made = numba.njit(cache=True)(function)
    except RuntimeError:
        made = numba.njit(function)
    return cast(Callable[P, T], made)


class _Calls(Listener):
    """Calls functions at the begin and end of every compilation."""

    def __init__(self, begun: Callable[[], None], ended: Callable[[], None]) -> None:
        self._begun, self._ended = begun, ended

    def on_start(self, event: Event) -> None:
        self._begun()

    def on_end(self, event: Event) -> None:
        self._ended()


def compiling(begun: Callable[[], None], ended: Callable[[], None]) -> AbstractContextManager[Any]:
    """Return a context in which `begun` and `ended` are called around every compilation, one within another too."""
    manager: AbstractContextManager[Any] = install_listener("numba:compile", _Calls(begun, ended))
    return manager
