"""Functions that are compiled to machine code at their first call."""

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

#: Compile time, in seconds, below which no notice appears.
PATIENCE = 1.0
#: CPU seconds of compiling per byte of byte code. Measured: 0.31 to 0.48 ms in this package.
SECONDS_PER_BYTE = 4e-4
#: Text of a notice, with the seconds.
COMPILING = "compiling for about {:.0f} s, which the next call finds done"
#: Name of the logger of notices.
LOGGER = "hpcdispatch"
_RELATIVE = re.compile(r"^from (\.+)([\w.]*) import", re.MULTILINE)

#: numba's option to turn off reference counting. A version without it counts.
_UNCOUNTED = {"_nrt": False} if hasattr(CPUTargetOptions, "_nrt") else {}

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile `function` for the types of its first call, and cache the result beside the byte code.

    A change in its module, or in modules that this one imports relatively, compiles it anew. numba checks only the
    module itself. It would run outdated inlined code of the others, and fail on their removed tuples. If no cache
    folder is writable, every process compiles anew.
    """
    return _compiled(function, {})


def borrowing(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a function that creates no array, without reference counts of arrays.

    It must not call functions that create arrays. Atomic reference counts for every argument and row take longer than
    short loops. A name with a leading underscore is only for compiled callers, see :func:`within`.
    """
    return within(function) if function.__name__.startswith("_") else _compiled(function, _UNCOUNTED)


def within(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a function as :func:`borrowing` does, only for calls from compiled functions.

    Without the wrapper for Python it compiles a fifth faster.
    """
    return _compiled(function, {**_UNCOUNTED, "no_cpython_wrapper": True})


def _compiled(function: Callable[P, T], options: Mapping[str, Any]) -> Callable[P, T]:
    made: Any
    compiler: Any = numba.njit
    name = function.__qualname__
    # The cache tells functions apart by their names, not by how they are compiled. One that is compiled in two ways
    # needs two names: callers of the wrong one would lose references or keep them for ever.
    function.__qualname__ = "-".join((name, *sorted(options)))
    try:
        made = compiler(cache=True, no_cfunc_wrapper=True, **options)(function)
    except RuntimeError:
        made = compiler(no_cfunc_wrapper=True, **options)(function)
    finally:
        function.__qualname__ = name
    made.__qualname__ = name
    if not hasattr(made, "get_call_template"):  # With compiling turned off, numba returns the function itself.
        return cast(Callable[P, T], made)
    if "no_cpython_wrapper" in options:
        made._insert = _ignore
        made._compile_for_args = _refuse
    resolve = made.get_call_template
    plain = cast(Any, numba.types).unliteral
    # numba would compile again for every literal number in a call.
    made.get_call_template = lambda args, kws: resolve(
        tuple(map(plain, args)), {name: plain(kind) for name, kind in kws.items()}
    )
    kept: Any = getattr(getattr(made, "_cache", None), "_cache_file", None)
    source = Path(function.__code__.co_filename)
    if hasattr(kept, "_version") and source.exists():
        # numba compares the version before it reads anything else of the cache.
        kept._version = f"{kept._version} {_fingerprint(source)}"
    return cast(Callable[P, T], made)


def _ignore(*_: object) -> None:
    """Keep a compiled function out of the table of calls from Python."""


def _refuse(*_: object) -> None:
    raise TypeError("this function is compiled for calls from compiled functions only")


@cache
def _fingerprint(path: Path) -> str:
    """Return a hash of a module and all its relative imports, recursively."""
    text = path.read_bytes()
    sha = sha256(text)
    for dots, name in _RELATIVE.findall(text.decode()):
        module = path.parents[len(dots) - 1].joinpath(*name.split("."))
        source = module / "__init__.py" if module.is_dir() else module.with_suffix(".py")
        sha.update(_fingerprint(source).encode() if source.exists() else b"")
    return sha.hexdigest()


class CompileNotice(Listener):
    """Announces the estimated compile time if it exceeds :data:`PATIENCE`.

    It calls :attr:`tell`, which logs a warning by default. Without logging set up, Python writes that to stderr, in
    scripts and notebooks. :attr:`count` is the number of compiled functions.
    """

    def __init__(self) -> None:
        self._depth = self.count = 0
        self._known: set[Any] = set()
        self._pending, self._factor = 0.0, 1
        self.tell: Callable[[float], None] = log_compiling

    def on_start(self, event: Event) -> None:
        """Add a function's estimate to the time not yet announced. Announce it once it is long enough."""
        self._depth += 1
        self.count += 1
        if self._depth > 1:
            return
        self._pending += SECONDS_PER_BYTE * sum(_bytes_to_compile(event.data["dispatcher"], self._known))
        if self._pending >= PATIENCE * self._factor:
            # After the first notice, only a long compilation gets another.
            seconds = self._pending
            self._pending = 0.0
            self._factor = 3
            self.tell(seconds)

    def on_end(self, event: Event) -> None:
        """Record the end of a compilation."""
        self._depth -= 1


def log_compiling(seconds: float) -> None:
    """Log the estimated seconds of compiling."""
    logging.getLogger(LOGGER).warning("hpcdispatch: %s", COMPILING.format(seconds))


def _bytes_to_compile(function: Any, known: set[Any]) -> Iterator[int]:
    """Yield the byte code sizes of a function and of the uncompiled functions that it calls."""
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
    """Return whether an earlier process compiled a function, for any types."""
    file = getattr(getattr(function, "_cache", None), "_cache_file", None)
    return bool(file is not None and file._load_index())


#: The listener for compilations in this process.
notice = CompileNotice()
register("numba:compile", notice)  # type: ignore[no-untyped-call]
