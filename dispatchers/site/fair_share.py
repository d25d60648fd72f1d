"""Fair share: jobs of heavy users have a lower cost of waiting."""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from ...base import FloatArray, check_choice, check_number
from ...workloads import Machine
from ..cp.site_objectives import Goal, Objective
from ..protocol import State, Waiting

#: Smallest factor of a user.
_LEAST = 2.0**-20


class _Charge(NamedTuple):
    user: str
    units: int
    expected_end: int


class FairShare(Goal):
    """The sum of f(user) times the wait, or the slowdown, of each job, with f = 2^(-U / S).

    U is the user's share of the decayed usage of all. S = 1 / known users. This is the fair-share factor of Slurm's
    multifactor plugin with equal shares. Usage is in unit-seconds of the machine's primary resource, and halves every
    `half_life` (decay as of Kay and Lauder, Communications of the ACM 31, 1988).

    Parameters
    ----------
    half_life
        Seconds, above 0.
    of
        What is multiplied: ``"wait"`` or ``"slowdown"``.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers.cp import HCP3, FairShare
    >>> from hpcdispatch.testing import pool
    >>> result = hd.simulate(pool(30), HCP3(objective=FairShare(half_life=86400)))
    >>> result.jobs["status"].value_counts().to_dict()
    {'completed': 30, 'killed': 0, 'rejected': 0}
    """

    name = "fair-share"

    def __init__(self, half_life: float = 7 * 86400, of: Literal["wait", "slowdown"] = "slowdown") -> None:
        check_number("half_life", half_life, above=0)
        check_choice("of", of, ("wait", "slowdown"))
        self.half_life, self.of = half_life, of
        self.reset(None)

    def reset(self, machine: Machine | None) -> None:
        """Drop all usage."""
        self.usage: dict[str, float] = {}
        self._charged: dict[int, _Charge] = {}
        self._last: int | None = None
        self._primary = 0 if machine is None else machine.primary

    def observe(self, state: State) -> None:
        """Decay usage, and add the usage since the last decision.

        The end of a job in between is unknown. It is charged until its predicted end at most.
        """
        passed = 0 if self._last is None else state.now - self._last
        for user in self.usage:
            self.usage[user] *= math.exp2(-passed / self.half_life)
        still = {run.order for run in state.running}
        rate = np.log(2.0) / self.half_life
        for order, (user, units, expected_end) in self._charged.items():
            seconds = passed if order in still else min(passed, max(expected_end - (self._last or 0), 0))
            self.usage[user] = self.usage.get(user, 0.0) + units * float(-np.expm1(-rate * seconds) / rate)
        self._primary = primary = state.machine.primary
        self._charged = {
            run.order: _Charge(run.job.user, run.nodes * run.demand[primary], run.predicted_end)
            for run in state.running
        }
        for entry in state.queue:
            self.usage.setdefault(entry.job.user, 0.0)
        self._last = state.now

    def started(self, waiting: Waiting, now: int) -> None:
        """Charge a job from now on."""
        units = waiting.nodes * waiting.demand[self._primary]
        self._charged[waiting.order] = _Charge(waiting.job.user, units, now + waiting.predicted)

    def factor(self, user: str) -> float:
        """Return f of a user."""
        total = sum(self.usage.values())
        share = self.usage.get(user, 0.0) / total if total else 0.0
        return max(math.exp2(-share * max(len(self.usage), 1)), _LEAST)

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the terms: a second costs f, or f / d."""
        factors = {user: self.factor(user) for user in {entry.job.user for entry in waiting}}
        length = np.array([1 if self.of == "wait" else entry.predicted for entry in waiting], dtype=np.float64)
        rates = np.array([factors[entry.job.user] for entry in waiting]) / length
        waits = np.array([now - entry.job.submit for entry in waiting], dtype=np.float64)
        return Objective(rates, None, float(rates @ waits))


class FairShareOrder:
    """Jobs of the users with the least usage first, ties by submission.

    The order is by the factor of :class:`FairShare`.

    Parameters
    ----------
    half_life
        Half-life of usage, seconds, above 0.
    """

    def __init__(self, half_life: float = 7 * 86400) -> None:
        self._share = FairShare(half_life)

    def reset(self, machine: Machine | None) -> None:
        """Drop all usage."""
        self._share.reset(machine)

    def ranks(self, state: State) -> FloatArray:
        """Return a number per waiting job, least first, shape (jobs,)."""
        self._share.observe(state)
        factors = {user: -self._share.factor(user) for user in {entry.job.user for entry in state.queue}}
        return np.array([factors[entry.job.user] for entry in state.queue], dtype=np.float64)

    def started(self, waiting: Waiting, now: int) -> None:
        """Charge a job from now on."""
        self._share.started(waiting, now)
