"""The search of the paper: schedule or postpone, by OR-Tools' original solver (CP 2019, section 2.2)."""

from dataclasses import dataclass

import numpy as np
from ortools.constraint_solver import pywrapcp

from ...base import IntArray
from ..scheduling.problem import Problem

#: Failures, and branches, that count as one second of a deterministic limit. A search can postpone jobs for very long
#: without a failure.
FAILURES = 10_000
BRANCHES = 20_000


@dataclass(frozen=True, eq=False)
class Descent:
    """Result of one search.

    Attributes
    ----------
    starts
        The best start times found, shape (jobs,), or ``None``.
    proved
        Whether no better schedule exists.
    spent
        Seconds: failures / :data:`FAILURES` or branches / :data:`BRANCHES`, the larger of both. Or wall-clock seconds
        under such a limit.
    """

    starts: IntArray | None
    proved: bool
    spent: float


def schedule_or_postpone(
    problem: Problem, horizon: int, seconds: float, *, wall: bool = False, below: int | None = None
) -> Descent:
    """Search for the cheapest schedule on a pool, by branch and bound.

    Each step takes the job with the smallest possible start. Ties go to the order of the jobs. Either the job starts
    then, or it is postponed until its smallest start changes.

    Parameters
    ----------
    problem
        Jobs and one node, without modes and without nodes of the instant.
    horizon
        Latest end of any job, seconds from now.
    seconds
        Limit: failures over :data:`FAILURES` and branches over :data:`BRANCHES`, equal on any machine, or wall-clock
        seconds.
    wall
        Whether the limit is wall-clock time.
    below
        Only schedules of less cost are of interest.

    Raises
    ------
    ValueError
        For a problem with several nodes, nodes of the instant or modes.
    """
    if problem.nodes > 1 or len(problem.free_now) or problem.has_modes:
        raise ValueError("schedule-or-postpone needs a problem on one node without modes and free_now")
    latest = np.minimum(horizon - problem.duration, problem.latest)
    if (latest < problem.earliest).any():
        return Descent(None, True, 0.0)
    solver = pywrapcp.Solver("schedule-or-postpone")
    columns = (problem.earliest, latest, problem.duration)
    intervals = [
        solver.FixedDurationIntervalVar(first, last, duration, False, f"run[{job}]")
        for job, (first, last, duration) in enumerate(zip(*(column.tolist() for column in columns), strict=True))
    ]
    _add_capacity(solver, problem, intervals, horizon)
    starts = [interval.StartExpr().Var() for interval in intervals]
    late = [
        solver.Max(start - due, 0).Var() if due > 0 else (start - due).Var() if due else start
        for start, due in zip(starts, problem.due_start.tolist(), strict=True)
    ]
    most = sum(
        weight * max(last - due, 0)
        for weight, last, due in zip(problem.weight.tolist(), latest.tolist(), problem.due_start.tolist(), strict=True)
    )
    cost = solver.IntVar(0, most if below is None else min(below - 1, most), "cost")
    solver.Add(cost == solver.ScalProd(late, problem.weight.tolist()))
    collector = solver.LastSolutionCollector()
    collector.Add(starts)
    failures, branches = (
        max(int(seconds * each), least) for each, least in ((FAILURES, 1), (BRANCHES, 4 * len(starts)))
    )
    if wall:
        limits = [solver.TimeLimit(max(int(seconds * 1000), 1))]
    else:
        limits = [solver.FailuresLimit(failures), solver.BranchesLimit(branches)]
    # The order of the intervals decides between equal starts and equal latest ends.
    branching = solver.Phase(intervals, solver.INTERVAL_SET_TIMES_FORWARD)
    solver.Solve(branching, [solver.Minimize(cost, 1), collector, *limits])
    spent = solver.WallTime() / 1000
    proved = spent < seconds
    if not wall:
        proved = solver.Failures() < failures and solver.Branches() < branches
        spent = min(max(solver.Failures() / FAILURES, solver.Branches() / BRANCHES), seconds)
    if not collector.SolutionCount():
        return Descent(None, proved, spent)
    return Descent(np.array([collector.Value(0, start) for start in starts], dtype=np.int64), proved, spent)


def _add_capacity(
    solver: pywrapcp.Solver, problem: Problem, intervals: list[pywrapcp.IntervalVar], horizon: int
) -> None:
    """Add a cumulative constraint per resource that jobs need, with occupied amounts as fixed intervals."""
    times, free = problem.profile
    for resource in np.flatnonzero((problem.need != 0).any(axis=0)).tolist():
        level = free[:, resource]
        most = max(int(level.max()), 0)
        jobs = np.flatnonzero(problem.need[:, resource]).tolist()
        used = [intervals[job] for job in jobs]
        demands = problem.need[jobs, resource].tolist()
        ends = [*times[1:].tolist(), max(horizon, int(times[-1]) + 1)]
        for begin, end, here in zip(times.tolist(), ends, level.tolist(), strict=True):
            if here < most and begin < end:
                used.append(solver.FixedInterval(begin, end - begin, f"busy[{begin},{end}]"))
                demands.append(most - here)
        solver.Add(solver.Cumulative(used, demands, most, f"resource[{resource}]"))
