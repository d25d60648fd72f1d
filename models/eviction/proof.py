"""Who gives way, by CP-SAT: slower than the table, and independent of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ortools.sat.python import cp_model

from .running_jobs import Action, Clock, Eviction, RunningJob, checked, decided, infeasible, integers, number, too_many

_ACTIONS: tuple[Action, ...] = ("kill", "system", "application")


def prove(jobs: Sequence[RunningJob], nodes_needed: int, deadline: float, step: float = 1) -> Eviction:
    """Return a best decision for one deadline, proved by CP-SAT: first the loss, then the total time of checkpoints.

    Parameters and errors are those of :func:`hpcdispatch.models.eviction.plan`; losses must in addition be fewer than
    2**60 in sum, in their common unit.

    Raises
    ------
    ValueError
        For bad arguments.
    RuntimeError
        If CP-SAT ends without a proof.
    """
    nodes_needed, clock = checked(jobs, nodes_needed), Clock(step)
    deadline = number("plan", "deadline", deadline)
    total = sum(job.nodes for job in jobs)
    if nodes_needed > total:
        return infeasible(deadline, too_many(nodes_needed, total))
    if not nodes_needed:
        return decided(jobs, {}, clock, deadline)
    losses, _ = integers([job.loss for job in jobs])
    if sum(losses) >= 1 << 60:
        raise ValueError("prove: losses must have a common unit of which they are fewer than 2**60 in sum")
    steps = clock.down(deadline)
    model = cp_model.CpModel()
    does = {
        (place, action): model.new_bool_var(f"{action} {job.id}")
        for place, job in enumerate(jobs)
        for action in _ACTIONS
        if (needed := clock.needed(job, action)) is not None and needed <= steps
    }
    for place in range(len(jobs)):
        model.add_at_most_one(does[place, action] for action in _ACTIONS if (place, action) in does)
    model.add(sum(jobs[place].nodes * literal for (place, _), literal in does.items()) >= nodes_needed)
    time = sum((clock.needed(jobs[place], action) or 0) * literal for (place, action), literal in does.items())
    loss = sum(losses[place] * literal for (place, action), literal in does.items() if action == "kill")
    model.add(time <= steps)
    model.minimize(loss)
    solver = solved(model)
    model.add(loss == sum(losses[place] for place, action in chosen(solver, does) if action == "kill"))
    model.minimize(time)
    solver = solved(model)
    actions = {jobs[place].id: action for place, action in chosen(solver, does)}
    return decided(jobs, actions, clock, deadline)


def solved(model: cp_model.CpModel) -> cp_model.CpSolver:
    """Return a solver that has proved an optimum."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status != cp_model.OPTIMAL:
        raise RuntimeError(f"prove: CP-SAT ended without a proof: {solver.status_name(status)}")
    return solver


def chosen(solver: cp_model.CpSolver, does: Mapping[tuple[int, Action], cp_model.IntVar]) -> list[tuple[int, Action]]:
    """Return what is done, as places of jobs and actions."""
    return [key for key, literal in does.items() if solver.boolean_value(literal)]
