"""Functions compiled to machine code when they are first called."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core.cpu import CPUTargetOptions
from numba.core.dispatcher import Dispatcher
from numba.core.event import Event, Listener, register

#: Seconds of compiling that are not worth a notice.
PATIENCE = 1.0
#: CPU seconds that compiling takes per byte of byte code: 0.31 to 0.48 ms of the functions of this package.
SECONDS_PER_BYTE = 4e-4
#: The logger of notices.
LOGGER = "hpcdispatch"
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


class CompileNotice(Listener):
    """Says before functions are compiled for about how long, where that is longer than :data:`PATIENCE`.

    It says so by :attr:`tell`, which logs a warning unless it is set to something else: Python writes that to stderr
    where nobody has set up logging, in scripts and in notebooks. :attr:`count` is how many functions were compiled.
    """

    def __init__(self) -> None:
        self._depth = self.count = 0
        self._known: set[Any] = set()
        self._pending, self._factor = 0.0, 1
        self.tell: Callable[[float], None] = log_compiling

    def on_start(self, event: Event) -> None:
        """Add what a function needs to what is not told yet, and tell it once it takes long enough."""
        self._depth += 1
        self.count += 1
        if self._depth > 1:
            return
        self._pending += SECONDS_PER_BYTE * sum(_bytes_to_compile(event.data["dispatcher"], self._known))
        if self._pending >= PATIENCE * self._factor:
            # Once it is told, what comes after is worth a line if it takes long itself.
            seconds, self._pending, self._factor = self._pending, 0.0, 3
            self.tell(seconds)

    def on_end(self, event: Event) -> None:
        """Note the end of a compilation."""
        self._depth -= 1


def log_compiling(seconds: float) -> None:
    """Log for about how long will be compiled."""
    logging.getLogger(LOGGER).warning(
        "hpcdispatch: compiling for about %.0f s, which the next call finds done", seconds
    )


def _bytes_to_compile(function: Any, known: set[Any]) -> Iterator[int]:
    """Yield the sizes of the byte code of a function and of those it calls that are not compiled yet."""
    if function in known:
        return
    known.add(function)
    source = function.py_func
    yield len(source.__code__.co_code)
    for name in source.__code__.co_names:
        called = source.__globals__.get(name)
        if isinstance(called, Dispatcher) and not called.overloads and not _kept(called):
            yield from _bytes_to_compile(called, known)


def _kept(function: Any) -> bool:
    """Return whether a function was compiled by an earlier process, for some types."""
    file = getattr(getattr(function, "_cache", None), "_cache_file", None)
    return bool(file is not None and file._load_index())


#: What says that functions are compiled, in this process.
notice = CompileNotice()
register("numba:compile", notice)  # type: ignore[no-untyped-call]
