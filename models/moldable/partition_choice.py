"""Choose the request that a moldable job submits: SA of Cirne and Berman (JSSPP 2000)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...base import InputError, check_number, check_whole
from ...base.argument_types import names_wrong_types
from ..reservations import ESDD

HOUR = 3600


class StartTimes(Protocol):
    """Predictor of start times, such as :class:`~hpcdispatch.models.AvailabilityProfile`."""

    def earliest_start(self, processors: int, duration: int, after: int = 0) -> int | None:
        """Return the first start at or after `after`, or ``None``."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """A request that a moldable job may submit.

    Attributes
    ----------
    processors
        Number of processors, at least 1.
    walltime
        Seconds, at least 1.

    Raises
    ------
    ValueError
        If a number is out of range.
    """

    processors: int
    walltime: int

    def __post_init__(self) -> None:
        for name in ("processors", "walltime"):
            object.__setattr__(self, name, check_whole(f"request: {name}", getattr(self, name), 1))

    @property
    def processor_hours(self) -> float:
        """Processor-hours of the full walltime."""
        return self.processors * self.walltime / HOUR


@dataclass(frozen=True, slots=True)
class Choice:
    """A request with its prediction.

    Attributes
    ----------
    request
        The request.
    start
        Predicted start.
    turnaround
        Seconds from now to the end of its walltime. With a law, the expected time until the job is done.
    """

    request: Request
    start: int
    turnaround: float


@names_wrong_types
def options(profile: StartTimes, requests: Iterable[Request], now: int) -> list[Choice]:
    """Return the prediction of every request that fits, in list order.

    Raises
    ------
    InputError
        If a request appears twice.
    """
    listed = list(requests)
    for request in listed:
        if listed.count(request) > 1:
            raise InputError(f"requests: {request.processors} processors for {request.walltime} s stand there twice")
    starts = [profile.earliest_start(request.processors, request.walltime, now) for request in listed]
    return [
        Choice(request, start, start + request.walltime - now)
        for request, start in zip(listed, starts, strict=True)
        if start is not None
    ]


@names_wrong_types
def choose(profile: StartTimes, requests: Iterable[Request], now: int, weight: float = 0.0) -> Choice | None:
    """Return the request with the least predicted turnaround.

    Parameters
    ----------
    profile
        Free processors over time.
    requests
        Requests that the job may submit.
    now
        Time of submission, seconds.
    weight
        Price of a processor-hour, in seconds of turnaround. The sum of turnaround and `weight` times the
        processor-hours is minimised.

    Returns
    -------
    Choice or None
        Ties go to fewer processors, then to list order. ``None`` if no request fits.

    Raises
    ------
    InputError
        If a request appears twice.
    ValueError
        If the weight is below 0.

    References
    ----------
    Cirne and Berman: "Adaptive selection of partition size for supercomputer requests", JSSPP 2000, section 2.
    """
    check_number("weight", weight, least=0)

    def cost(choice: Choice) -> tuple[float, int]:
        return choice.turnaround + weight * choice.request.processor_hours, choice.request.processors

    return min(options(profile, requests, now), key=cost, default=None)


@names_wrong_types
def front(choices: Sequence[Choice]) -> list[Choice]:
    """Return the choices on the Pareto front of turnaround and processor-hours, by rising turnaround."""
    best, least = list[Choice](), float("inf")
    for choice in sorted(choices, key=lambda choice: (choice.turnaround, choice.request.processor_hours)):
        if choice.request.processor_hours < least:
            best.append(choice)
            least = choice.request.processor_hours
    return best


@names_wrong_types
def choose_with_law(profile: StartTimes, laws: Sequence[tuple[int, ESDD]], now: int) -> Choice | None:
    """Return the size and first walltime with the least expected turnaround, including resubmissions.

    A job that exceeds its walltime is killed and resubmitted with a longer one, on the same size. Its next wait is as
    long as it would be today. Walltimes are values of the law, rounded up to seconds.

    Parameters
    ----------
    profile
        Free processors over time.
    laws
        Number of processors and law of the run time, for each possible size.
    now
        Time of submission, seconds.

    Returns
    -------
    Choice or None
        The first request. Ties as in :func:`choose`. ``None`` if no size fits with all its walltimes.
    """
    choices = [choice for size, law in laws if (choice := _first_request(profile, size, law, now)) is not None]
    return min(choices, key=lambda choice: (choice.turnaround, choice.request.processors), default=None)


def _first_request(profile: StartTimes, processors: int, law: ESDD, now: int) -> Choice | None:
    """Return the first request of the best sequence on one size.

    It is the recursion of Gainaru et al. with waits. The values v_i have probabilities f_i, and w_j is the wait for a
    request of v_j. E(i) is the expected future time, times the probability P(X > v_i) to get there:

    E(i) = min over j > i of S(i, j) + P(X > v_j) (w_j + v_j) + E(j).

    Here S(i, j) is the sum over l in (i, j] of f_l (w_j + v_l).
    """
    values = np.ceil(law.values)
    starts = [profile.earliest_start(processors, max(1, int(value)), now) for value in values]
    if any(start is None for start in starts):
        return None
    waits = np.array([start - now for start in starts if start is not None], dtype=np.float64)
    beyond = np.r_[1.0, 1.0 - np.cumsum(law.probabilities)].clip(0.0)
    beyond[-1] = 0.0
    # Expected work of runs that end within v_1 .. v_j.
    worked = np.r_[0.0, np.cumsum(law.probabilities * law.values)]
    count = len(values)
    expected = np.zeros(count + 1)
    following = np.zeros(count, dtype=np.int64)
    for reached in range(count - 1, -1, -1):
        ends = np.arange(reached + 1, count + 1)
        cost = (
            beyond[reached] * waits[ends - 1]
            + worked[ends]
            - worked[reached]
            + beyond[ends] * values[ends - 1]
            + expected[ends]
        )
        best = int(np.argmin(cost))
        expected[reached] = cost[best]
        following[reached] = reached + best
    first = int(following[0])
    return Choice(Request(processors, max(1, int(values[first]))), now + int(waits[first]), float(expected[0]))
