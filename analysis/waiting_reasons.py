"""Explain why a job waits, and which changes would start it sooner, in a model of its scheduler."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base import IntArray, count_slots
from ..base.printed import first_of
from ..dispatchers import Dispatcher
from ..simulation import simulate
from ..workloads import Job, MachineState, Reservation, Workload
from ..workloads.slurm_conf import APART, BY_CORE, FEATURE, PARTITION
from .site_rules import SiteLimit

#: Causes of a wait.
Kind = Literal["nothing", "dependency", "begin time", "limit", "size", "reservation", "priority", "resource"]


class Sooner(NamedTuple):
    """A change of a job, and its wait then, seconds; nan: for ever."""

    change: str
    wait: float


@dataclass(frozen=True, slots=True)
class WaitingReason:
    """Why a job waits.

    Attributes
    ----------
    job
        Its id.
    kind
        The first cause.
    detail
        The cause in words.
    wait
        Seconds until it starts in the model; nan: never. In the model, jobs run until their walltimes and none arrive.
    ahead
        Waiting jobs of higher priority that start before it, in order.
    sooner
        Tried changes that start it sooner, the shortest wait first.
    """

    job: str
    kind: Kind
    detail: str
    wait: float
    ahead: tuple[str, ...]
    sooner: tuple[Sooner, ...]


class _Plan(NamedTuple):
    """The start of each job, nan: never, and its nodes, by id."""

    starts: Mapping[str, float]
    placements: Mapping[str, Sequence[int]]


class Question(NamedTuple):
    """The moment in question.

    Attributes
    ----------
    workload, state
        The running and waiting jobs, and the state of the running ones.
    slurm
        Makes the scheduler, with or without the site's reservations, and with or without its limits.
    limits, reservations
        Of the site, as limits and reservations of the machine.
    beyond
        Limits that a job exceeds by itself.
    node_names
        Of the machine's nodes.
    """

    workload: Workload
    state: MachineState
    slurm: Callable[[bool, bool], Dispatcher]
    limits: Sequence[SiteLimit]
    reservations: Sequence[Reservation]
    beyond: Callable[[Job], set[str]]
    node_names: Sequence[str]


def why_waiting(question: Question, id_: str) -> WaitingReason:
    """Return why a job waits: run the model forward without a change, and with each change alone."""
    job = next(job for job in question.workload.jobs if job.id == id_)
    plan = _starts(question, {})
    at = question.state.at
    wait = plan.starts[id_] - at
    ahead = _ahead(question, job, plan.starts)
    tried = {name: _starts(question, **change).starts[id_] - at for name, change in _changes(question, job)}
    sooner = tuple(Sooner(name, each) for name, each in tried.items() if each < wait or (np.isnan(wait) and each >= 0))
    kind, detail = _first_reason(question, job, wait, ahead, tried, _free(question, plan))
    return WaitingReason(id_, kind, detail, wait, ahead, tuple(sorted(sooner, key=lambda each: each.wait)))


def _starts(
    question: Question, changed: Mapping[str, Job], *, first: str = "", reservations: bool = True, limits: bool = True
) -> _Plan:
    """Return the starts and nodes of jobs, with some jobs `changed`, and with `first` before all others."""
    state = question.state
    began = {since.id: since.start for since in state.running}
    jobs = []
    for job in question.workload.jobs:
        job = changed.get(job.id, job)  # noqa: PLW2901
        walltime = max(job.walltime, state.at - began.get(job.id, state.at) + 1)
        jobs.append(replace(job, runtime=walltime, walltime=walltime, soft_walltime=None))
    if first:
        memory = {name: dict(each) for name, each in state.memory.items()}
        own = memory.setdefault("Slurm", {}).setdefault("priorities", {})
        memory["Slurm"]["priorities"] = {**own, first: 1 + max([*own.values(), 0])}
        state = replace(state, memory=memory)
    workload = replace(question.workload, jobs=tuple(jobs))
    frame = simulate(workload, question.slurm(reservations, limits), state=state).jobs
    starts = {id_: float(at) if at >= 0 else np.nan for id_, at in zip(frame["id"], frame["start"], strict=True)}
    return _Plan(starts, dict(zip(frame["id"], frame["placement"], strict=True)))


def _changes(question: Question, job: Job) -> list[tuple[str, dict[str, Any]]]:
    """Return the changes to try: names, and options of :func:`_starts`."""
    changes: list[tuple[str, dict[str, Any]]] = [("the highest priority", {"changed": {}, "first": job.id})]
    for part in (2, 4, 10):
        if job.walltime // part >= 60:
            shorter = replace(job, walltime=job.walltime // part, runtime=0)
            changes.append((f"1/{part} of its walltime", {"changed": {job.id: shorter}}))
    if job.nodes > 1:
        half = replace(job, nodes=job.nodes // 2)
        changes.append(("half its size", {"changed": {job.id: half}}))
    if question.reservations:
        changes.append(("no reservations", {"changed": {}, "reservations": False}))
    if question.limits:
        changes.append(("no limits", {"changed": {}, "limits": False}))
    if job.depends:
        changes.append(("no dependency", {"changed": {job.id: replace(job, depends=())}}))
    if job.begin > question.state.at:
        changes.append(("no begin time", {"changed": {job.id: replace(job, begin=0)}}))
    return changes


def _ahead(question: Question, job: Job, starts: Mapping[str, float]) -> tuple[str, ...]:
    """Return the waiting jobs of higher priority that start no later than a job."""
    running = {since.id for since in question.state.running}
    known = question.state.memory.get("Slurm", {}).get("priorities", {})
    own = known.get(job.id, 0)
    wait = starts[job.id] if not np.isnan(starts[job.id]) else np.inf
    before = [
        each
        for each in question.workload.jobs
        if each.id not in running and each.id != job.id and known.get(each.id, 0) > own and starts[each.id] <= wait
    ]
    return tuple(each.id for each in sorted(before, key=lambda each: -known.get(each.id, 0)))


def _first_reason(
    question: Question, job: Job, wait: float, ahead: Sequence[str], tried: Mapping[str, float], free: IntArray
) -> tuple[Kind, str]:
    """Return the first cause in this order: the job itself, limits, reservations, jobs ahead, resources."""
    state = question.state
    machine = question.workload.machine
    if job.depends:
        return "dependency", f"it waits for job {', '.join(str(each[0]) or 'another' for each in job.depends)}"
    if job.begin > state.at:
        return "begin time", f"it may start in {job.begin - state.at} s at the earliest"
    if over := question.beyond(job):
        return "limit", f"it is beyond the limit of {', '.join(sorted(over))} all alone, and waits for ever"
    if machine.slots(job.per_node) < job.nodes:
        return "size", "the nodes that it may use do not have so much, were they empty"
    if reached := _reached(question, job):
        return "limit", reached
    if np.isfinite(wait) and wait <= 0:
        return "nothing", "it starts with the next cycle of the scheduler"
    if question.reservations and tried["no reservations"] < wait:
        return "reservation", _reserved(question, job)
    if tried.get("no limits", np.inf) < tried["the highest priority"]:
        return "limit", "jobs before it take what is left of a limit that it counts in"
    fits = int(count_slots(free, machine.demand(job.per_node)).sum()) >= job.nodes
    if ahead and (fits or tried["the highest priority"] < wait):
        return "priority", f"{len(ahead)} of higher priority start before it, first job {ahead[0]}"
    return (
        ("nothing", "there is room for it, which the scheduler sees later")
        if fits
        else ("resource", _short(question, job, free))
    )


def _reached(question: Question, job: Job) -> str:
    """Return the limit that the running jobs have reached; empty if none."""
    running = {since.id for since in question.state.running}
    for each in question.limits:
        limit = each.limit
        if not limit.matches(job):
            continue

        def amount(one: Job, of: str = limit.of) -> int:
            return 1 if of == "jobs" else one.nodes * one.per_node.get(of, 0)

        counted = [one for one in question.workload.jobs if one.id in running and limit.matches(one)]
        used = sum(map(amount, counted))
        if used + amount(job) > limit.most:
            return f"{each.whose}: at most {limit.most:,} {limit.of}, {used:,} in use, and it asks for {amount(job):,}"
    return ""


def _reserved(question: Question, job: Job) -> str:
    state = question.state
    machine = question.workload.machine
    places = machine.nodes
    usable = set(np.flatnonzero(count_slots(machine.capacity, machine.demand(job.per_node))).tolist())
    for each in question.reservations:
        concerns = each.name != job.reservation and usable & set(each.indices(places))
        if concerns and each.end > state.at and each.begin < state.at + job.walltime:
            names = [question.node_names[place] for place in each.indices(places)]
            return f"reservation {each.name or 'for maintenance'} of {first_of(names)} comes before it would end"
    return "a reservation"


def _short(question: Question, job: Job, free: IntArray) -> str:
    """Return the scarce resources on a job's nodes, and how many of these have running jobs."""
    machine = question.workload.machine
    demand = question.workload.machine.demand(job.per_node)
    marks = [  # They mark where slots may lie. They count with the cores.
        index
        for index, name in enumerate(machine.resources)
        if name in (APART, BY_CORE) or name.startswith((PARTITION, FEATURE))
    ]
    short = []
    for index, name in enumerate(machine.resources):
        more = free.copy()
        more[:, [index, *marks]] = machine.capacity[:, [index, *marks]]
        if demand[index] and index not in marks and int(count_slots(more, demand).sum()) >= job.nodes:
            short.append(name)
    usable = count_slots(machine.capacity, demand) > 0
    holders = int((usable & (free < machine.capacity).any(axis=1)).sum())
    there = int(count_slots(free, demand).sum())
    what = " and ".join(short) or "of several resources"
    return f"too little {what}: room for {there:,} of {job.nodes:,} slots; other jobs run on {holders:,} of its nodes"


def _free(question: Question, plan: _Plan) -> IntArray:
    """Return the free amounts of each node beside the running jobs."""
    machine = question.workload.machine
    free = machine.capacity.copy()
    jobs = {job.id: job for job in question.workload.jobs}
    for since in question.state.running:
        for node in plan.placements[since.id]:
            free[node] -= machine.demand(jobs[since.id].per_node)
    return np.maximum(free, 0)
