"""Errors of a running simulation."""

from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

from ..base import InputError
from ..base.errors import raised
from ..predictors.hidden_runtimes import ONLY, EarlyReadError

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


class SimulationError(RuntimeError):
    """A simulation cannot continue: the dispatcher or the predictor did something invalid."""


class ActionError(SimulationError):
    """A dispatcher returned an impossible action. The message has time, job and expected value."""


class InvariantError(SimulationError):
    """A finished schedule breaks an invariant; the message lists the first violations."""


def failed(where: str, call: str, error: BaseException) -> NoReturn:
    """Raise a :class:`SimulationError` for an error of a part. Errors of such kinds pass unchanged.

    Parameters
    ----------
    where
        The part and the time.
    call
        Name of the called method.
    error
        The error.
    """
    if isinstance(error, SimulationError | InputError | KeyboardInterrupt | MemoryError):
        raise error
    if isinstance(error, EarlyReadError):
        raise SimulationError(f"{where}: {call} read the run time of a job that has not ended; {ONLY}") from error
    raise SimulationError(f"{where}: {call} raised {raised(error)}") from error


def asked(
    where: Callable[[], str], call: str, function: Callable[_Given, _Found], *given: _Given.args, **named: _Given.kwargs
) -> _Found:
    """Return the answer of a part. Errors are those of :func:`failed`; `where` is called only for them."""
    try:
        return function(*given, **named)
    except BaseException as error:  # noqa: BLE001 - a part may raise anything
        failed(where(), call, error)
