"""Functions compiled to machine code when they are first called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

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
