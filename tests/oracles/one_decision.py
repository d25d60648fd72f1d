"""One decision of PCP and HCP by every start and every placement: from the text of Galleguillos et al. (CP 2019).

It shares no code with the package and follows only the paper. The intervals are from section 2.2, the reductions from
section 3. Durations and objectives are from section 4. Times are whole seconds from now. Intervals are half-open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numba
import numpy as np

#: The tolerance for equal objectives. The package rounds rates to whole weights.
CLOSE = 1e-3
#: Columns of the arrays that are searched.
DURATION, SLOTS, FIRST, LAST = range(4)
RATE, DUE = range(2)


@dataclass(frozen=True)
class WaitingJob:
    """A waiting job: its wait, predicted run time, slots, amounts per slot, and expected wait of its queue."""

    waited: int
    duration: int
    slots: int
    demand: tuple[int, ...]
    expected_wait: int


@dataclass(frozen=True)
class RunningJob:
    """A running job: node and amounts of each slot, and predicted seconds left. These are negative if it overran."""

    nodes: tuple[int, ...]
    demand: tuple[int, ...]
    left: int


@dataclass(frozen=True)
class OneDecision:
    """The view of a dispatcher: amounts of each node, running jobs, waiting jobs in queue order, the longest ewt, m."""

    capacity: tuple[tuple[int, ...], ...]
    running: tuple[RunningJob, ...]
    waiting: tuple[WaitingJob, ...]
    longest_wait: int
    m: int = 100

    def free(self) -> np.ndarray:
        """Return what no running job really holds, shape (nodes, resources)."""
        free = np.array(self.capacity)
        for job in self.running:
            for node in job.nodes:
                free[node] -= job.demand
        return free

    def fits(self, job: WaitingJob, free: np.ndarray) -> bool:
        """Return whether the slots of one job fit on nodes with these free amounts."""
        slots = [min(free[n, r] // amount for r, amount in enumerate(job.demand) if amount) for n in range(len(free))]
        return sum(slots) >= job.slots


@dataclass(frozen=True)
class PaperModel:
    """The model of one version of one formulation. All its schedules are tried by :meth:`least_cost`.

    Attributes
    ----------
    candidates
        The waiting jobs with a start time to choose, by their place in the queue.
    pinned
        Jobs with a fixed start, as (place, start).
    horizon
        The last second at which a job may start: eoh.
    rate, due
        The objective is the sum of ``rate * max(0, start - due) + constant``, shape (candidates,).
    """

    decision: OneDecision
    pooled: bool
    left: tuple[int, ...]
    candidates: tuple[int, ...]
    pinned: tuple[tuple[int, int], ...]
    horizon: int
    rate: tuple[float, ...]
    due: tuple[float, ...]
    constant: float

    def cost(self, starts: Collection[int]) -> float:
        """Return the objective of some starts of the candidates."""
        late = [max(0.0, start - due) for start, due in zip(starts, self.due, strict=True)]
        return sum(rate * late for rate, late in zip(self.rate, late, strict=True)) + self.constant

    def least_cost(self, now: Collection[int] | None = None) -> float:
        """Return the least objective over all schedules, or over those in which only the places `now` start now.

        Infinite where there is none.
        """
        jobs = [self.decision.waiting[place] for place in self.candidates]
        if not jobs:
            return self.constant
        first, last = np.zeros(len(jobs), dtype=np.int64), np.full(len(jobs), self.horizon)
        if now is not None:
            starting = np.isin(self.candidates, list(now))
            first[~starting], last[starting] = 1, np.minimum(last[starting], 0)
        duration, slots = np.array([(job.duration, job.slots) for job in jobs], dtype=np.int64).T
        demand = np.array([job.demand for job in jobs], dtype=np.int64)
        if self.pooled:
            demand, slots = demand * slots[:, None], np.ones_like(slots)
        free = self._free(max(self.horizon, 0) + int(duration.max()) + 1)
        if free.min() < 0:
            return float("inf")
        # The most urgent is first. Costly alternatives are then cut early.
        order = np.argsort(-np.array(self.rate), kind="stable")
        rows = np.column_stack((duration, slots, first, last))[order]
        terms = np.column_stack((self.rate, self.due)).astype(np.float64)[order]
        best = np.array([np.inf])
        _descend(0, rows[0, FIRST], 0, rows[0, SLOTS], self.constant, rows, terms, demand[order], free, best)
        return float(best[0])

    def _free(self, seconds: int) -> np.ndarray:
        """Return what is free in each second, shape (seconds, nodes, resources)."""
        decision = self.decision
        capacity = np.array(decision.capacity)
        free = np.repeat(capacity.sum(axis=0)[None, None] if self.pooled else capacity[None], seconds, axis=0)
        for job, left in zip(decision.running, self.left, strict=True):
            for node in job.nodes:
                free[: max(left, 0), 0 if self.pooled else node] -= job.demand
        for place, start in self.pinned:
            job = decision.waiting[place]
            free[max(start, 0) : max(start + job.duration, 0), 0] -= job.slots * np.array(job.demand)
        return free


@numba.njit
def _descend(job, start, node, unplaced, spent, rows, terms, demand, free, best):
    """Try all starts of `job` from `start` on, and all slot counts on the nodes from `node` on."""
    cost = spent + terms[job, RATE] * max(0.0, start - terms[job, DUE])
    if start > rows[job, LAST] or cost >= best[0]:
        return 0
    if unplaced == 0:
        if job + 1 == len(rows):
            best[0] = cost
        elif cost + _alone(job + 1, rows, terms, demand, free) < best[0]:
            _descend(job + 1, rows[job + 1, FIRST], 0, rows[job + 1, SLOTS], cost, rows, terms, demand, free, best)
        return 0
    if node < free.shape[1]:
        for count in range(_room(job, start, node, unplaced, rows, demand, free), -1, -1):
            _take(job, start, node, count, rows, demand, free)
            _descend(job, start, node + 1, unplaced - count, spent, rows, terms, demand, free, best)
            _take(job, start, node, -count, rows, demand, free)
    if node == 0:
        _descend(job, start + 1, 0, rows[job, SLOTS], spent, rows, terms, demand, free, best)
    return 0


@numba.njit
def _room(job, start, node, most, rows, demand, free):
    """Return the number of slots of a job that fit on a node while it runs, at most `most`."""
    for second in range(start, start + rows[job, DURATION]):
        for resource in range(free.shape[2]):
            if demand[job, resource]:
                most = min(most, free[second, node, resource] // demand[job, resource])
    return most


@numba.njit
def _take(job, start, node, count, rows, demand, free):
    """Let some slots of a job hold what they need on a node."""
    for second in range(start, start + rows[job, DURATION]):
        for resource in range(free.shape[2]):
            free[second, node, resource] -= count * demand[job, resource]


@numba.njit
def _alone(begin, rows, terms, demand, free):
    """Return what the jobs from `begin` on cost if each alone has all free amounts. Together they cost no less."""
    total = 0.0
    for job in range(begin, len(rows)):
        start, there = rows[job, FIRST], 0
        while start <= rows[job, LAST]:
            there = 0
            for node in range(free.shape[1]):
                there += _room(job, start, node, rows[job, SLOTS], rows, demand, free)
            if there >= rows[job, SLOTS]:
                break
            start += 1
        if there < rows[job, SLOTS]:
            return np.inf
        total += terms[job, RATE] * max(0.0, start - terms[job, DUE])
    return total


def paper_model(decision: OneDecision, formulation: str, version: int) -> PaperModel | None:
    """Return the model of a column of Table 1; ``None`` where equal priorities leave open which jobs are in it.

    Parameters
    ----------
    decision
        What the dispatcher sees.
    formulation, version
        ``"pcp"`` or ``"hcp"``, and 0 to 3.
    """
    # Section 4: from version 2 on an overrun job counts as one second. In version 1 its negative duration shortens eoh.
    left = tuple(job.left if job.left > 0 or version < 2 else 1 for job in decision.running)
    places, behind = _in_the_model(decision, formulation, version)
    if places is None:
        return None
    jobs = [decision.waiting[place] for place in places]
    horizon = sum(left) + sum(decision.waiting[place].duration for place in (*places, *behind))
    pinned = tuple((place, horizon - decision.waiting[place].duration) for place in behind)
    due: list[float] = [0.0] * len(jobs)
    constant = 0.0
    if version == 3:
        rate = [1 / job.duration for job in jobs]
        constant = sum((job.waited + job.duration) / job.duration for job in jobs)
    elif formulation == "pcp":
        rate = [1 / job.expected_wait for job in jobs]
        due = [job.expected_wait - job.waited for job in jobs]
    else:
        rate = [decision.longest_wait / job.expected_wait for job in jobs]
        constant = sum(rate * job.waited for rate, job in zip(rate, jobs, strict=True))
    return PaperModel(
        decision, formulation == "hcp", left, tuple(places), pinned, horizon, tuple(rate), tuple(due), constant
    )


def _in_the_model(decision: OneDecision, formulation: str, version: int) -> tuple[list[int] | None, list[int]]:
    """Return the jobs with a start time, and those at the end of the horizon (section 2.2, version 0)."""
    places = list(range(len(decision.waiting)))
    if version == 0:
        return (places, []) if formulation == "pcp" else (places[: decision.m], places[decision.m :])
    # Section 3: the jobs that can start now, then the first m by priority.
    free = decision.free()
    fitting = [place for place in places if decision.fits(decision.waiting[place], free)]
    urgency = {place: priority(decision, place, version) for place in fitting}
    ranked = sorted(fitting, key=lambda place: -urgency[place])
    chosen, rest = ranked[: decision.m], ranked[decision.m :]
    if chosen and rest and urgency[chosen[-1]] == urgency[rest[0]]:
        return None, []
    return sorted(chosen), []


def priority(decision: OneDecision, place: int, version: int) -> float:
    """Return the priority of a waiting job. It is its slowdown in version 3, else its weighted wait."""
    job = decision.waiting[place]
    if version == 3:
        return (job.waited + job.duration) / job.duration
    return decision.longest_wait / job.expected_wait * job.waited


@dataclass(frozen=True)
class Reported:
    """The decision of a dispatcher: places that start with their nodes, status, proof, objective, bound."""

    started: tuple[tuple[int, tuple[int, ...]], ...]
    postponed: int
    status: str
    proved: bool
    objective: float | None
    bound: float | None


def faults(model: PaperModel, reported: Reported) -> Iterator[str]:
    """Yield the errors of a decision: of its starts, status, schedule, optimum and bound."""
    decision, started = model.decision, [place for place, _ in reported.started]
    free = decision.free()
    for place, nodes in reported.started:
        if len(nodes) != decision.waiting[place].slots:
            yield f"job {place} starts on {len(nodes)} slots"
        for node in nodes:
            free[node] -= decision.waiting[place].demand
    if free.min() < 0:
        yield f"the starts take more than is free: {free.tolist()}"
    if not set(started) <= set(model.candidates):
        yield f"jobs {sorted(set(started) - set(model.candidates))} start and are not in the model"
    if reported.status == "none" or not model.candidates:
        if model.candidates or reported.status not in {"none", "trivial", "optimal"}:
            yield f"status {reported.status} with candidates {model.candidates}"
        return
    best = model.least_cost()
    if reported.status == "infeasible":
        if best < np.inf:
            yield f"infeasible, and a schedule costs {best:g}"
        return
    if reported.objective is None:
        if reported.status != "unknown" or reported.proved:
            yield f"status {reported.status}, proved {reported.proved}, without a schedule; the optimum is {best:g}"
        return
    here = min((model.least_cost(now) for now in _starting(model, started, reported.postponed)), default=np.inf)
    if here == np.inf:
        yield f"no schedule starts jobs {started} and {reported.postponed} more now, yet one is said to cost " + (
            f"{reported.objective:g}; the optimum is {best:g}"
        )
    elif reported.objective < here - CLOSE:
        yield f"the schedule costs {here:g} at least and is said to cost {reported.objective:g}"
    if reported.status in {"optimal", "trivial"} and reported.objective > best + CLOSE:
        yield f"{reported.status} at {reported.objective:g}; the optimum is {best:g}"
    if reported.proved and best + CLOSE < here < np.inf:
        yield f"proved, and jobs {started} cost {here:g} at least; the optimum is {best:g}"
    if reported.bound is not None and reported.bound > best + CLOSE:
        yield f"bound {reported.bound:g}; the optimum is {best:g}"


def _starting(model: PaperModel, started: list[int], postponed: int) -> Iterator[tuple[int, ...]]:
    """Yield the possible sets of jobs planned for now: started ones, and those without a place."""
    others = [place for place in model.candidates if place not in started]
    for more in combinations(others, postponed):
        yield (*started, *more)


def random_decision(rng: np.random.Generator, expected_waits: tuple[int, ...] = (4, 10)) -> OneDecision:
    """Draw a decision on 1 to 4 mixed nodes of 2 resources. It has up to 3 running and 1 to 6 waiting jobs."""
    capacity = np.column_stack((rng.integers(1, 7, 4), rng.integers(0, 4, 4)))[: rng.integers(1, 5)]
    empty = OneDecision(tuple(map(tuple, capacity.tolist())), (), (), max(expected_waits))
    free, running = capacity.copy(), []
    for _ in range(rng.integers(0, 4)):
        demand = _demand(rng)
        nodes = []
        for node in rng.permutation(len(capacity)).tolist()[: rng.integers(1, 4)]:
            if (free[node] >= demand).all():
                free[node] -= demand
                nodes.append(node)
        if nodes:
            running.append(RunningJob(tuple(nodes), demand, int(rng.integers(-4, 7))))
    waiting: list[WaitingJob] = []
    wanted = rng.integers(1, 7)
    while len(waiting) < wanted:
        job = WaitingJob(
            int(rng.integers(0, 40)),
            int(rng.integers(1, 7)),
            int(rng.integers(1, 4)),
            _demand(rng),
            int(rng.choice(expected_waits)),
        )
        if empty.fits(job, capacity):
            waiting.append(job)
    return replace(empty, running=tuple(running), waiting=tuple(waiting), m=int(rng.choice((3, 100))))


def _demand(rng: np.random.Generator) -> tuple[int, int]:
    return int(rng.integers(1, 5)), int(rng.choice((0, 0, 1, 2)))
