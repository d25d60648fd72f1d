"""Objectives of the CP dispatchers, with expected waits of queues and matching priorities."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...base import FloatArray, InputError, IntArray, Registry, check_number, parse_spec, shown
from ...base.argument_types import names_wrong_types
from ...base.checks import SECONDS
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
#: Smallest positive cost of a second. Below it, floats lose digits.
_LEAST_RATE = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Objective:
    """Terms of the sum of ``rate * max(0, start - due)``, and a constant. Times are seconds from now.

    Attributes
    ----------
    rates
        Shape (jobs,), at least 0.
    due
        Shape (jobs,). ``None`` if every start counts from now.
    constant
        Cost of the waits so far.

    Examples
    --------
    >>> import numpy as np
    >>> from hpcdispatch.dispatchers.cp import Objective
    >>> terms = Objective(rates=np.array([2.0, 1.0]), due=np.array([0, 60]), constant=5.0)
    >>> terms.value(np.array([10, 90]))
    55.0
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
        If they are not an :class:`Objective`, or not for `jobs` jobs. Also if a rate is not finite, negative, or
        positive but smaller than the least normal float. Also if a time is not within the next centuries.
    """
    if not isinstance(terms, Objective):
        raise ValueError(f"expected linear terms, an Objective(rates, due, constant), got {terms!r}")
    rates = numbers_of("rates", terms.rates, jobs)
    if not ((rates == 0) | (rates >= _LEAST_RATE)).all():
        raise ValueError(f"rates must be >= 0, got {rates.min():g}")
    check_number("constant", terms.constant)
    return Objective(rates, None if terms.due is None else _seconds("due", terms.due, jobs), float(terms.constant))


def _seconds(name: str, values: object, jobs: int) -> IntArray:
    """Return `values` as `jobs` whole seconds."""
    numbers = numbers_of(name, values, jobs)
    outside = SECONDS.outside(numbers)
    if outside.any():
        raise ValueError(f"{name} must be {SECONDS}, got {numbers[outside][0]:g}")
    return np.rint(numbers).astype(np.int64)


def numbers_of(name: str, values: object, jobs: int) -> FloatArray:
    """Return `values` as `jobs` finite numbers. Raises ``ValueError`` otherwise."""
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
    """An objective with its priority. A site's own goal needs only the method `objective`.

    Attributes
    ----------
    name
        Name in messages. By default that of the class.
    failure
        Why this decision used the default instead. Empty if it did not.
    planned
        Whether only a whole plan determines the cost of a start.

    Examples
    --------
    >>> import numpy as np
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers.cp import HCP3, Goal, Objective
    >>> from hpcdispatch.testing import tiny
    >>> class CoreWait(Goal):
    ...     "The wait of each core that a job requests."
    ...
    ...     def objective(self, waiting, now):
    ...         return Objective(np.array([float(job.nodes) for job in waiting]), None, 0.0)
    >>> hd.simulate(tiny(), HCP3(objective=CoreWait())).jobs["start"].tolist()
    [0, 0, 250, 20, 50]
    """

    name: str = ""
    planned: bool = False
    failure: str = ""

    def reset(self, machine: Machine | None) -> None:
        """Begin a simulation."""

    def observe(self, state: State) -> None:
        """Process the state before each decision."""

    def started(self, waiting: Waiting, now: int) -> None:
        """Process the start of a job."""

    def priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        """Return the priorities of the jobs at some places, before dispatching. Shape (places,).

        By default the cost of a job's wait so far, at its current rate.
        """
        terms = checked_terms(self.objective([queue[place] for place in places.tolist()], now), len(places))
        return terms.rates * (now - queue.submit[places] + 1)

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the cost of these jobs' start times in linear terms, with rates of at least 0."""
        raise NotImplementedError

    def of_plan(self, waiting: Sequence[Waiting], state: State, problem: Problem) -> PlanObjective | None:
        """Return CP-SAT's objective if it is more than the linear terms, or ``None``."""
        return None


class Slowdown(Goal):
    """The sum of slowdowns (s - q + d) / d, version 3 (section 4).

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers.cp import HCP3, Slowdown
    >>> from hpcdispatch.testing import tiny
    >>> hd.simulate(tiny(), HCP3(objective=Slowdown())).jobs["start"].tolist()
    [0, 0, 250, 20, 50]
    """

    name = "slowdown"

    def priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        """Return the slowdowns if the jobs start now."""
        predicted = queue.predicted[places]
        return (now - queue.submit[places] + predicted) / predicted

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the terms: a second costs 1/d."""
        rates = np.array([1 / entry.predicted for entry in waiting])
        return Objective(
            rates, None, sum((now - entry.job.submit + entry.predicted) / entry.predicted for entry in waiting)
        )


class WeightedWait(Goal):
    """The sum of (max ewt / ewt)(s - q), HCP before version 3 (section 2.2).

    Parameters
    ----------
    ewt
        Expected wait of each queue, as for :class:`ExpectedWaits`, or such an object.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers.cp import HCP3, WeightedWait
    >>> from hpcdispatch.testing import tiny
    >>> hd.simulate(tiny(), HCP3(objective=WeightedWait(ewt=600))).jobs["start"].tolist()
    [0, 0, 250, 20, 50]
    """

    name = "weighted-wait"

    def __init__(self, ewt: str | float | Mapping[str, float] | ExpectedWaits = "measured") -> None:
        self.waits = ewt if isinstance(ewt, ExpectedWaits) else ExpectedWaits(ewt)

    def reset(self, machine: Machine | None) -> None:
        """Drop the measured waits."""
        self.waits.reset()

    def started(self, waiting: Waiting, now: int) -> None:
        """Record the wait of a job."""
        self.waits.started(waiting.job.queue, now - waiting.job.submit)

    def priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        """Return the weighted waits if the jobs start now."""
        return self._rates([queue[place] for place in places.tolist()]) * (now - queue.submit[places])

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the terms: a second costs max ewt / ewt."""
        rates = self._rates(waiting)
        waits = np.array([now - entry.job.submit for entry in waiting])
        return Objective(rates, None, float(rates @ waits))

    def _rates(self, waiting: Sequence[Waiting]) -> FloatArray:
        longest = self.waits.longest()
        queues = [entry.job.queue for entry in waiting]
        expected = {queue: self.waits.of(queue) for queue in dict.fromkeys(queues)}
        rates = {queue: max(longest, wait) / wait for queue, wait in expected.items()}
        return np.array([rates[queue] for queue in queues], dtype=np.float64)


class ExcessWait(WeightedWait):
    """The sum of max(0, (s - q - ewt) / ewt), PCP before version 3 (section 2.2). The priority is HCP's.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers.cp import HCP3, ExcessWait
    >>> from hpcdispatch.testing import tiny
    >>> hd.simulate(tiny(), HCP3(objective=ExcessWait(ewt=600))).jobs["start"].tolist()
    [0, 0, 250, 20, 50]
    """

    name = "excess-wait"

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the terms: a second past q + ewt costs 1 / ewt."""
        expected = [self.waits.of(entry.job.queue) for entry in waiting]
        due = [entry.job.submit - now + round(wait) for entry, wait in zip(waiting, expected, strict=True)]
        return Objective(1 / np.array(expected), np.array(due, dtype=np.int64), 0.0)


class SquaredBoundedSlowdown(Goal):
    """The sum of b^2, b the bounded slowdown max(1, (s - q + d) / max(d, threshold)): long waits count more.

    In linear terms: a second costs the present slope of the square, 2 b(now) / max(d, threshold). It counts from the
    moment when b exceeds 1.

    Parameters
    ----------
    threshold
        Seconds, at least 1 (Feitelson et al., JSSPP 1997: 10).

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers.cp import HCP3, SquaredBoundedSlowdown
    >>> from hpcdispatch.testing import tiny
    >>> hd.simulate(tiny(), HCP3(objective=SquaredBoundedSlowdown(threshold=60))).jobs["start"].tolist()
    [0, 0, 250, 20, 50]
    """

    name = "squared-bounded-slowdown"

    def __init__(self, threshold: int = 10) -> None:
        if threshold < 1:
            raise ValueError(f"threshold must be >= 1 second, got {threshold}")
        self.threshold = threshold

    def priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        """Return the bounded slowdowns if the jobs start now."""
        return self._bounded(queue.predicted[places], queue.submit[places], now)[0]

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the terms of the tangent."""
        predicted = np.array([entry.predicted for entry in waiting], dtype=np.int64)
        submit = np.array([entry.job.submit for entry in waiting], dtype=np.int64)
        bounded, length = self._bounded(predicted, submit, now)
        due = np.maximum(submit + length - predicted - now, 0)
        return Objective(2 * bounded / length, due, float((bounded**2).sum()))

    def _bounded(self, predicted: IntArray, submit: IntArray, now: int) -> tuple[FloatArray, IntArray]:
        length = np.maximum(predicted, self.threshold)
        return np.maximum((now - submit + predicted) / length, 1.0), length


@names_wrong_types
def create_objective(given: str | Goal, **defaults: object) -> Goal:
    """Create an objective from ``NAME:key=value/key=value``. An object is returned as is.

    Parameters
    ----------
    given
        Name and options, or a :class:`Goal`.
    **defaults
        Default options, used if the objective has them.

    Raises
    ------
    InputError
        For an unknown name or option, or an object that is not a :class:`Goal`.

    Examples
    --------
    >>> from hpcdispatch.dispatchers.cp import create_objective
    >>> create_objective("squared-bounded-slowdown:threshold=60").threshold
    60
    """
    goal: object = given
    if isinstance(given, str):
        spec = spec_of_inner(given)
        name, set_here = parse_spec(spec)
        known = {option.name for option in objectives.options(name)} - set(set_here)
        goal = objectives.create(spec, False, **{key: value for key, value in defaults.items() if key in known})
    if not isinstance(goal, Goal):
        base = "subclass hpcdispatch.dispatchers.cp.Goal"
        raise InputError(
            f"objective: expected a name or a Goal with objective(waiting, now), got {shown(goal)}; {base}"
        )
    return goal


class PlanGoal(Goal):
    """An objective of a whole plan, linear or not.

    `expression` and `cost` must return the same value, CP-SAT's as an integer. Priorities and lists use the linear
    terms of :meth:`objective`, by default those of the slowdown.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers.cp import HCP3, PlanGoal
    >>> from hpcdispatch.testing import tiny
    >>> class LatestStart(PlanGoal):
    ...     "The latest start of a plan."
    ...
    ...     def expression(self, plan):
    ...         latest = plan.model.new_int_var(0, plan.horizon, "latest")
    ...         plan.model.add_max_equality(latest, [job.start for job in plan.jobs.values()])
    ...         return latest
    ...
    ...     def cost(self, plan):
    ...         return max(job.start for job in plan.jobs.values())
    >>> hd.simulate(tiny(), HCP3(objective=LatestStart())).jobs["start"].tolist()
    [0, 0, 250, 20, 50]
    """

    def expression(self, plan: PlanModel) -> LinearExprT:
        """Return the CP-SAT expression to minimise."""
        raise NotImplementedError

    def cost(self, plan: PlannedJobs) -> float:
        """Return the cost of a schedule, a finite number."""
        raise NotImplementedError

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the linear terms of the slowdown."""
        return Slowdown().objective(waiting, now)


@dataclass
class PlannedObjective:
    """A site's objective of a plan, for the models. After a failure, the cost of the problem counts."""

    goal: CheckedGoal
    view: PlanView

    def expression(self, variables: Variables) -> LinearExprT:
        """Return the CP-SAT expression to minimise."""
        expression = self.goal.tried(_checked_expression, self.goal.inner, self.view.model(variables))
        return WeightedLateness(variables.problem).expression(variables) if expression is None else expression

    def cost(self, schedule: Schedule) -> float:
        """Return the cost of a schedule."""
        cost = self.goal.tried(_checked_cost, self.goal.inner, self.view.schedule(schedule))
        return float(schedule.cost) if cost is None else cost


def _checked_cost(goal: PlanGoal, plan: PlannedJobs) -> float:
    cost = goal.cost(plan)
    if isinstance(cost, bool) or not isinstance(cost, int | float | np.number) or not math.isfinite(cost):
        raise ValueError(f"cost must be a finite number, got {cost!r}")
    return float(cost)


def _checked_expression(goal: PlanGoal, plan: PlanModel) -> LinearExprT:
    expression = goal.expression(plan)
    if isinstance(expression, bool) or not isinstance(expression, LinearExprT):
        raise ValueError(f"expression must be one of CP-SAT's, got {expression!r}")
    return expression


class CheckedGoal(Goal):
    """Wraps a goal that may fail. After it has worked once, a failing decision uses the slowdown and reports it.

    Parameters
    ----------
    inner
        The goal.
    rules
        Constraints. Some may raise the rates of jobs.
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
        """Process the state before a decision."""
        self.failure, self._calls.now = "", state.now
        self.tried(self.inner.observe, state)

    def started(self, waiting: Waiting, now: int) -> None:
        """Process the start of a job."""
        self.tried(self.inner.started, waiting, now)

    def priorities(self, queue: WaitingJobs[Waiting], places: IntArray, now: int) -> FloatArray:
        """Return the priorities of jobs, or those of the slowdown after a failure."""
        priorities = self.tried(self._priorities, queue, places, now)
        urgency = self._instead.priorities(queue, places, now) if priorities is None else priorities
        return urgency * self._factors([queue[place] for place in places.tolist()], now)

    def objective(self, waiting: Sequence[Waiting], now: int) -> Objective:
        """Return the terms of the goal, or those of the slowdown after a failure."""
        objective = self.tried(self._terms, list(waiting), now)
        terms = self._instead.objective(waiting, now) if objective is None else objective
        return replace(terms, rates=terms.rates * self._factors(waiting, now))

    def of_plan(self, waiting: Sequence[Waiting], state: State, problem: Problem) -> PlannedObjective | None:
        """Return CP-SAT's objective if the goal is one of whole plans."""
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
        """Call a function that uses the goal. ``None`` if it fails, or has failed in this decision."""
        if self.failure:
            return None
        try:
            return self._calls.call(self.inner, function, *arguments)
        except PlugInError as error:
            self.failure = str(error)
            return None
