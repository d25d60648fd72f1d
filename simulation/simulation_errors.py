"""Errors of a running simulation."""

from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

from ..base import InputError
from ..base.errors import raised
from ..predictors.hidden_runtimes import ONLY, EarlyReadError

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


class SimulationError(RuntimeError):
    """A simulation cannot continue: the dispatcher or the predictor did something invalid.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.simulation import SimulationError
    >>> from hpcdispatch.testing import tiny
    >>> class Idle:
    ...     "Start nothing."
    ...
    ...     def dispatch(self, state):
    ...         return []
    >>> try:
    ...     hd.simulate(tiny(), Idle())
    ... except SimulationError as error:
    ...     print(error)
    Idle at t=30: 5 jobs wait, nothing runs and nothing is to come, but nothing was started; the first is job a
    """


class ActionError(SimulationError):
    """A dispatcher returned an impossible action. The message has time, job and expected value.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import Start
    >>> from hpcdispatch.simulation import ActionError
    >>> from hpcdispatch.testing import tiny
    >>> class Overbooked:
    ...     "Start every job at once, room or not."
    ...
    ...     def dispatch(self, state):
    ...         return [Start(waiting, [0] * waiting.nodes) for waiting in state.queue]
    >>> try:
    ...     hd.simulate(tiny(), Overbooked())
    ... except ActionError as error:
    ...     print(error)
    Overbooked at t=10: job c: no room for 4 x (1,) at [0 0 0 0]
    """


class InvariantError(SimulationError):
    """A finished schedule breaks an invariant; the message lists the first violations.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.simulation import InvariantError
    >>> from hpcdispatch.testing import tiny
    >>> result = hd.simulate(tiny(), "easy")
    >>> result.attempts.loc[0, "start"] -= 1
    >>> try:
    ...     hd.check(tiny(), result)
    ... except InvariantError as error:
    ...     print(str(error).splitlines()[0])
    job b: on the machine in [-1, 50), on record [0, 50)
    """


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
