"""Calls of parts that plug in: whatever they raise says which part, when, and of which job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, ParamSpec, TypeVar

from ..base import InputError
from .simulation_errors import SimulationError

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def failed(where: str, call: str, error: BaseException) -> NoReturn:
    """Raise a :class:`SimulationError` for what a part raised; errors that say so themselves pass.

    Parameters
    ----------
    where
        The part, and when.
    call
        What was asked of it.
    error
        What it raised.
    """
    if isinstance(error, SimulationError | InputError | KeyboardInterrupt | MemoryError):
        raise error
    raise SimulationError(f"{where}: {call} raised {type(error).__name__}: {error}") from error


def asked(
    where: str, call: str, function: Callable[_Given, _Found], *given: _Given.args, **named: _Given.kwargs
) -> Any:
    """Return what a part answers; errors as :func:`failed`."""
    try:
        return function(*given, **named)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a part may raise anything
        failed(where, call, error)
