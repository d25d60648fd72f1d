"""What can go wrong while a simulation runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

from ..base import InputError

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


class SimulationError(RuntimeError):
    """A simulation cannot go on: the dispatcher or the predictor did something that has no meaning."""


class ActionError(SimulationError):
    """A dispatcher asked for something impossible; the message says when, for which job, and what was expected."""


class InvariantError(SimulationError):
    """A finished schedule breaks an invariant; the message lists the first violations."""


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
    where: Callable[[], str],
    call: str,
    function: Callable[_Given, _Found],
    *given: _Given.args,
    **named: _Given.kwargs,
) -> _Found:
    """Return what a part answers; errors as :func:`failed`, for which `where` is asked when there is one."""
    try:
        return function(*given, **named)
    except BaseException as error:  # noqa: BLE001 - a part may raise anything
        failed(where(), call, error)
