"""Functions compiled to machine code when they are first called."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core.cpu import CPUTargetOptions
from numba.core.event import Event, Listener, install_listener

#: Seconds of compiling, altogether, that nobody wonders about.
PATIENCE = 1.0
_RELATIVE = re.compile(r"^from (\.+)([\w.]*) import", re.MULTILINE)

#: What numba calls it; a version that does not know it counts.
_UNCOUNTED = {"_nrt": False} if hasattr(CPUTargetOptions, "_nrt") else {}

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile `function` for the types it is first called with, and keep the result beside the byte code.

    It is compiled anew after a change in its module, or in one that this one imports from by a relative import: numba
    looks at the first alone, would run what it inlined of the others, and fails where a tuple of theirs has gone.
    Where nothing can be written, neither here nor in the user's cache folder, every process compiles anew.
    """
    return _compiled(function, {})


def borrowing(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a function that makes no array and calls none that does, so that references to arrays are not counted.

    To count them, atomically, for every argument and every row that is looked at takes longer than short loops do. If
    its name begins with an underscore, only compiled functions can call it, see :func:`within`.
    """
    return within(function) if function.__name__.startswith("_") else _compiled(function, _UNCOUNTED)


def within(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a function as :func:`borrowing` does, for calls from compiled functions only.

    Without the code for calls from Python it takes a fifth less time to compile.
    """
    return _compiled(function, {**_UNCOUNTED, "no_cpython_wrapper": True})


def _compiled(function: Callable[P, T], options: Mapping[str, Any]) -> Callable[P, T]:
    made: Any
    compiler: Any = numba.njit
    try:
        made = compiler(cache=True, no_cfunc_wrapper=True, **options)(function)
    except RuntimeError:
        made = compiler(no_cfunc_wrapper=True, **options)(function)
    if not hasattr(made, "get_call_template"):  # Numba is told not to compile: it is the function itself.
        return cast(Callable[P, T], made)
    if "no_cpython_wrapper" in options:
        made._insert, made._compile_for_args = _ignore, _refuse
    resolve, plain = made.get_call_template, cast(Any, numba.types).unliteral
    # Numba would compile a function again for every number that a caller writes out.
    made.get_call_template = lambda args, kws: resolve(
        tuple(map(plain, args)), {name: plain(kind) for name, kind in kws.items()}
    )
    kept: Any = getattr(getattr(made, "_cache", None), "_cache_file", None)
    source = Path(function.__code__.co_filename)
    if hasattr(kept, "_version") and source.exists():
        # The version is compared before anything else is read of what was kept.
        kept._version = f"{kept._version} {_fingerprint(source)}"
    return cast(Callable[P, T], made)


def _ignore(*_: object) -> None:
    """Leave a compiled function out of the table for calls from Python."""


def _refuse(*_: object) -> None:
    raise TypeError("this function is compiled for calls from compiled functions only")


@cache
def _fingerprint(path: Path) -> str:
    """Return a hash of a module and of those that it imports from, and these in turn."""
    text = path.read_bytes()
    sha = sha256(text)
    for dots, name in _RELATIVE.findall(text.decode()):
        module = path.parents[len(dots) - 1].joinpath(*name.split("."))
        source = module / "__init__.py" if module.is_dir() else module.with_suffix(".py")
        sha.update(_fingerprint(source).encode() if source.exists() else b"")
    return sha.hexdigest()


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
