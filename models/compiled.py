"""Functions compiled to machine code when they are first called."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core.cpu import CPUTargetOptions
from numba.core.event import Event, Listener, install_listener

#: Seconds of compiling, altogether, that nobody wonders about.
PATIENCE = 1.0

#: What numba calls it; a version that does not know it counts.
_UNCOUNTED = {"_nrt": False} if hasattr(CPUTargetOptions, "_nrt") else {}

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile `function` for the types it is first called with, and keep the result beside the byte code.

    Where that cannot be written, neither here nor in the user's cache folder, every process compiles anew.
    """
    return _compiled(function, {})


def borrowing(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a function that makes no array and calls none that does, so that nobody counts references to arrays.

    To count them, atomically, for every argument and every row that is looked at takes longer than short loops do.
    """
    return _compiled(function, _UNCOUNTED)


def _compiled(function: Callable[P, T], options: Mapping[str, Any]) -> Callable[P, T]:
    made: Any
    try:
        made = numba.njit(cache=True, **options)(function)
    except RuntimeError:
        return cast(Callable[P, T], numba.njit(**options)(function))
    kept: Any = getattr(made._cache, "_cache_file", None)
    if hasattr(kept, "_version"):
        # Numba compares it before it reads anything else.
        kept._version = f"{kept._version} {_digest(function.__module__)}"
    return cast(Callable[P, T], made)


@cache
def _digest(module: str) -> str:
    """Return what changes with any source that compiled code of a module is made of.

    The code of a function contains that of those it calls; numba looks at the source of the function alone, and would
    go on with what it calls as it was, or fail to read a class that has gone.
    """
    return hashlib.sha256(repr(sorted(_sources(module))).encode()).hexdigest()


@cache
def _sources(module: str) -> frozenset[tuple[str, int, int]]:
    """Return name, time and size of the source of a module, and of those of its package that it has parts of."""
    found, package = sys.modules[module], module.partition(".")[0]
    path = getattr(found, "__file__", None)
    status = os.stat(path) if path is not None and os.path.exists(path) else None
    sources = {(module, status.st_mtime_ns, status.st_size)} if status else set()
    parts = {str(getattr(part, "__module__", None)) for part in vars(found).values()}
    for name in parts - {module}:
        if name.partition(".")[0] == package and name in sys.modules:
            sources |= _sources(name)
    return frozenset(sources)


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


class CompileClock:
    """Calls `say` once, when compiling has taken longer than :data:`PATIENCE`."""

    def __init__(self, say: Callable[[], None]) -> None:
        self._tell = say
        self._depth = 0
        self._begun = self._spent = 0.0
        self._said = False
        self._clock: threading.Timer | None = None

    def begin(self) -> None:
        """Begin to count, unless what is compiled is called by what is being compiled."""
        self._depth += 1
        if self._depth == 1 and not self._said:
            self._begun = time.monotonic()
            self._clock = threading.Timer(max(0.0, PATIENCE - self._spent), self._say)
            self._clock.daemon = True
            self._clock.start()

    def end(self) -> None:
        """Stop counting."""
        self._depth -= 1
        if self._depth == 0 and self._clock is not None:
            self._clock.cancel()
            self._clock = None
            self._spent += time.monotonic() - self._begun

    def _say(self) -> None:
        if not self._said:
            self._said = True
            self._tell()
