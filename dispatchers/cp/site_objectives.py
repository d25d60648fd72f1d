"""What the CP dispatchers minimise, with the expected waits of queues and the priority rule that goes with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...base import FloatArray, InputError, IntArray, Registry, parse_spec
from ...base.checks import SECONDS, check_number
from ...models import LinearExprT, PlanObjective, Problem, Schedule, Variables, WeightedLateness
from ...workloads import Machine
from ..columns import WaitingJobs
from ..protocol import State, Waiting
from ..registered import spec_of_inner
from ..site.expected_waits import ExpectedWaits
from ..site.plan_parts import PlanModel, PlannedJobs, PlanView, surroundings
from ..site.restrictions import PlugInCalls, PlugInError, SiteRules

T = TypeVar("T")

objectives = Registry("objective", "hpcdispatch.objectives")
#: The least that a second may cost if it costs anything: below, numbers lose their digits.
_LEAST_RATE = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Objective:
    """Terms of the sum of ``rate * max(0, start - due)``, times in seconds from now, and what is constant.

    Attributes
    ----------
    rates
        Shape (jobs,), at least 0.
    due
        Shape (jobs,); ``None`` where every start counts from now.
    constant
        What the waiting so far adds.
    """

    rates: NDArray[np.float64]
    due: IntArray | None
    constant: float

    def value(self, starts: IntArray) -> float:
        """Return the objective of a schedule, recomputed."""
        late = starts if self.due is None else np.maximum(starts - self.due, 0)
        return float(self.rates @ late) + self.constant


def checked_terms(terms: object, jobs: int) -> Objective:
    """Return the terms of an objective.

    Raises
    ------
    ValueError
        If they are no :class:`Objective`, or not for so many jobs, or a rate is not finite, below 0, or a
        rounding above it, or a time is no second of the next centuries.
    """
    if not isinstance(terms, Objective):
        raise ValueError(f"expected linear terms, an Objective(rates, due, constant), got {terms!r}")
    rates = numbers_of("rates", terms.rates, jobs)
    if not ((rates == 0) | (rates >= _LEAST_RATE)).all():
        raise ValueError(f"rates must be >= 0, got {rates.min():g}")
    check_number("constant", terms.constant)
    return Objective(rates, None if terms.due is None else _seconds("due", terms.due, jobs), float(terms.constant))


def _seconds(name: str, values: object, jobs: int) -> IntArray:
    """Return so many whole seconds."""
    numbers = numbers_of(name, values, jobs)
    outside = SECONDS.outside(numbers)
    if outside.any():
        raise ValueError(f"{name} must be {SECONDS}, got {numbers[outside][0]:g}")
    return np.rint(numbers).astype(np.int64)


def numbers_of(name: str, values: object, jobs: int) -> FloatArray:
    """Return values as so many finite numbers; raise ``ValueError`` if they are something else."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {values!r}") from None
    if numbers.shape != (jobs,):
        raise ValueError(f"{name} must have shape ({jobs},), got {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be finite, got {numbers[~np.isfinite(numbers)][0]}")
    return numbers


class Goal:
    """An objective and the priority that goes with it; a site's own needs the one method `objective`.

    Attributes
    ----------
    name
        What messages call it; by default that of the class.
    failure
        Why the default was used instead in this decision; empty if it was not.
    planned
        Whether only a whole plan tells what a start costs.
    """

    name: str = ""
    planned: bool = False
    failure: str = ""

    def reset(self, machine: Machine | None) -> None:
        """Begin a simulation."""

    def observe(self, state: State) -> None:
        """Look at the state before each decision."""

    def started(self, waiting: Waiting, now: int) -> None:
        """Learn that a job starts now."""

    def priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        """Return how urgent the jobs at some places are, before the dispatching begins, shape (places,).

        By default what a job's wait so far has cost, at the rate at which it goes on.
        """
        terms = checked_terms(self.objective([queue[place] for place in places.tolist()], now), len(places))
        return terms.rates * (now - queue.submit[places] + 1)

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return what the start times of these jobs cost, in linear terms: rates of at least 0."""
        raise NotImplementedError

    def of_plan(self, waiting: Sequence[Waiting], state: State, problem: Problem) -> PlanObjective | None:
        """Return what CP-SAT minimises where that is more than the linear terms, or ``None``."""
        return None


class Slowdown(Goal):
    """The sum of slowdowns (s - q + d) / d, version 3 (section 4)."""

    name = "slowdown"

    def priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        """Return the slowdown of jobs that start now."""
        predicted = queue.predicted[places]
        slowdowns: FloatArray = (now - queue.submit[places] + predicted) / predicted
        return slowdowns

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the terms: a second costs 1/d."""
        rates = np.array([1 / entry.predicted for entry in waiting])
        return Objective(
            rates, None, sum((now - entry.job.submit + entry.predicted) / entry.predicted for entry in waiting)
        )  # fmt: skip


class WeightedWait(Goal):
    """The sum of (max ewt / ewt)(s - q), HCP before version 3 (section 2.2).

    Parameters
    ----------
    ewt
        The expected wait of each queue, as :class:`ExpectedWaits` reads it, or these themselves.
    """

    name = "weighted-wait"

    def __init__(self, ewt: str | float | Mapping[str, float] | ExpectedWaits = "measured") -> None:
        self.waits = ewt if isinstance(ewt, ExpectedWaits) else ExpectedWaits(ewt)

    def reset(self, machine: Machine | None) -> None:
        """Forget the waits measured."""
        self.waits.reset()

    def started(self, waiting: Waiting, now: int) -> None:
        """Learn how long a job has waited."""
        self.waits.started(waiting.job.queue, now - waiting.job.submit)

    def priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        """Return the weighted waits of jobs that start now."""
        return self._rates([queue[place] for place in places.tolist()]) * (now - queue.submit[places])

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the terms: a second costs max ewt / ewt."""
        rates = self._rates(waiting)
        waits = np.array([now - entry.job.submit for entry in waiting])
        return Objective(rates, None, float(rates @ waits))

    def _rates(self, waiting: Sequence[Waiting]) -> FloatArray:
        longest, queues = self.waits.longest(), [entry.job.queue for entry in waiting]
        expected = {queue: self.waits.of(queue) for queue in dict.fromkeys(queues)}
        rates = {queue: max(longest, wait) / wait for queue, wait in expected.items()}
        return np.array([rates[queue] for queue in queues], dtype=np.float64)


class ExcessWait(WeightedWait):
    """The sum of max(0, (s - q - ewt) / ewt), PCP before version 3 (section 2.2); the priority is HCP's."""

    name = "excess-wait"

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the terms: a second past q + ewt costs 1 / ewt."""
        expected = [self.waits.of(entry.job.queue) for entry in waiting]
        due = [entry.job.submit - now + round(wait) for entry, wait in zip(waiting, expected, strict=True)]
        return Objective(1 / np.array(expected), np.array(due, dtype=np.int64), 0.0)


class SquaredBoundedSlowdown(Goal):
    """The sum of b^2, b the bounded slowdown max(1, (s - q + d) / max(d, threshold)): long waits count more.

    In linear terms: a second costs what the square rises by now, 2 b(now) / max(d, threshold), from the moment at which
    b exceeds 1.

    Parameters
    ----------
    threshold
        Seconds, at least 1 (Feitelson et al., JSSPP 1997: 10).
    """

    name = "squared-bounded-slowdown"

    def __init__(self, threshold: int = 10) -> None:
        if threshold < 1:
            raise ValueError(f"threshold must be >= 1 second, got {threshold}")
        self.threshold = threshold

    def priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        """Return the bounded slowdown of jobs that start now."""
        return self._bounded(queue.predicted[places], queue.submit[places], now)[0]

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the terms, which are those of the tangent."""
        predicted = np.array([entry.predicted for entry in waiting], dtype=np.int64)
        submit = np.array([entry.job.submit for entry in waiting], dtype=np.int64)
        bounded, length = self._bounded(predicted, submit, now)
        due = np.maximum(submit + length - predicted - now, 0)
        return Objective(2 * bounded / length, due, float((bounded**2).sum()))

    def _bounded(self, predicted: IntArray, submit: IntArray, now: int) -> tuple[FloatArray, IntArray]:
        length = np.maximum(predicted, self.threshold)
        return np.maximum((now - submit + predicted) / length, 1.0), length


def create_objective(given: str | Goal, **defaults: object) -> Goal:
    """Build an objective from ``NAME:key=value/key=value``; an object passes as it is.

    Parameters
    ----------
    given
        The name and its options, or a :class:`Goal`.
    **defaults
        Options of those objectives that have them, where they are not given.

    Raises
    ------
    InputError
        For an unknown name or option, or what is no :class:`Goal`.
    """
    goal: object = given
    if isinstance(given, str):
        spec = spec_of_inner(given)
        name, set_here = parse_spec(spec)
        known = {option.name for option in objectives.options(name)} - set(set_here)
        goal = objectives.create(spec, False, **{key: value for key, value in defaults.items() if key in known})
    if not isinstance(goal, Goal):
        raise InputError(f"objective: expected a name or a Goal with objective(waiting, now), got {goal!r}")
    return goal


class PlanGoal(Goal):
    """An objective of a whole plan, linear or not: both methods return the same, CP-SAT's as a whole number.

    Priorities and lists go by the linear terms of :meth:`objective`, by default those of the slowdown.
    """

    def expression(self, plan: PlanModel) -> LinearExprT:
        """Return what CP-SAT minimises."""
        raise NotImplementedError

    def cost(self, plan: PlannedJobs) -> float:
        """Return the cost of a schedule, a finite number."""
        raise NotImplementedError

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the linear terms of the slowdown."""
        return Slowdown().objective(waiting, now)


@dataclass
class PlannedObjective:
    """An objective of a site on a plan, as the models know it; once it has failed, the cost of the problem counts."""

    goal: CheckedGoal
    view: PlanView

    def expression(self, variables: Variables) -> LinearExprT:
        """Return what CP-SAT minimises."""
        found = self.goal.tried(_checked_expression, self.goal.inner, self.view.model(variables))
        return WeightedLateness(variables.problem).expression(variables) if found is None else found

    def cost(self, schedule: Schedule) -> float:
        """Return the cost of a schedule."""
        found = self.goal.tried(_checked_cost, self.goal.inner, self.view.schedule(schedule))
        return float(schedule.cost) if found is None else found


def _checked_cost(goal: PlanGoal, plan: PlannedJobs) -> float:
    cost = goal.cost(plan)
    if isinstance(cost, bool) or not isinstance(cost, int | float | np.number) or not math.isfinite(cost):
        raise ValueError(f"cost must be a finite number, got {cost!r}")
    return float(cost)


def _checked_expression(goal: PlanGoal, plan: PlanModel) -> LinearExprT:
    found = goal.expression(plan)
    if isinstance(found, bool) or not isinstance(found, LinearExprT):
        raise ValueError(f"expression must be one of CP-SAT's, got {found!r}")
    return found


class CheckedGoal(Goal):
    """A goal that may fail: once it has worked, a decision in which it does goes by the slowdown, and says so.

    Parameters
    ----------
    inner
        The goal.
    rules
        Constraints, of which some may raise the rates of jobs.
    """

    def __init__(self, inner: Goal, rules: SiteRules | None) -> None:
        self.inner = inner
        self.rules = rules
        self.name = inner.name
        self.planned = isinstance(inner, PlanGoal)
        self._calls = PlugInCalls("objective")
        self._instead = Slowdown()

    def reset(self, machine: Machine | None) -> None:
        """Begin a simulation."""
        self._calls = PlugInCalls("objective")
        self._calls.call(self.inner, self.inner.reset, machine)

    def observe(self, state: State) -> None:
        """Look at the state before a decision."""
        self.failure, self._calls.now = "", state.now
        self.tried(self.inner.observe, state)

    def started(self, waiting: Waiting, now: int) -> None:
        """Learn that a job starts now."""
        self.tried(self.inner.started, waiting, now)

    def priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        """Return how urgent jobs are; of all alike where that fails."""
        found = self.tried(self._priorities, queue, places, now)
        urgency = self._instead.priorities(queue, places, now) if found is None else found
        return urgency * self._factors([queue[place] for place in places.tolist()], now)

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the terms of the goal, or those of the slowdown where it fails."""
        found = self.tried(self._terms, list(waiting), now)
        terms = self._instead.objective(waiting, now) if found is None else found
        return replace(terms, rates=terms.rates * self._factors(waiting, now))

    def of_plan(self, waiting: Sequence[Waiting], state: State, problem: Problem) -> PlannedObjective | None:
        """Return what CP-SAT minimises if the goal is one of whole plans."""
        if not isinstance(self.inner, PlanGoal) or self.failure:
            return None
        return PlannedObjective(self, PlanView(surroundings(state), waiting, problem))

    def _factors(self, waiting: Sequence[Waiting], now: int) -> FloatArray:
        rules = self.rules
        if rules is None or not rules.weighing:
            return np.ones(len(waiting))
        try:
            return np.array([rules.factor(entry.job, now) for entry in waiting], dtype=np.float64)
        except PlugInError as error:
            self.failure = str(error)
            return np.ones(len(waiting))

    def _priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        return numbers_of("priorities", self.inner.priorities(queue, places, now), len(places))

    def _terms(self, waiting: list[Waiting], now: int) -> Objective:
        return checked_terms(self.inner.objective(waiting, now), len(waiting))

    def tried(self, function: Callable[..., T], *arguments: object) -> T | None:
        """Call what asks the goal; ``None`` where it fails, or has failed in this decision."""
        if self.failure:
            return None
        try:
            return self._calls.call(self.inner, function, *arguments)
        except PlugInError as error:
            self.failure = str(error)
            return None
