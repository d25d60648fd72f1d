"""Rules of a machine that no job of a workload can satisfy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..base.user_warnings import warn
from ..dispatchers import JobView, State, Waiting
from ..dispatchers.amount_rules import AmountRule, LicencesLeft, PowerCap, RunningLimit, amount_rules
from ..dispatchers.profile import Profile
from ..dispatchers.rule_book import as_request, rule_book
from ..workloads import Job, Machine, Workload
from ..workloads.fitting_requests import room_for

#: Most requests of which a place beside closed nodes is searched.
_MOST_SEARCHES = 64


class VainRuleWarning(UserWarning):
    """Warns of a rule of the machine that no job can satisfy.

    Examples
    --------
    >>> import warnings
    >>> from dataclasses import replace
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.testing import tiny
    >>> from hpcdispatch.workloads import Limit
    >>> machine = replace(tiny().machine, limits=(Limit(0, "jobs"),))
    >>> with warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always")
    ...     result = hd.simulate(replace(tiny(), machine=machine), "easy")
    >>> given[0].category.__name__
    'VainRuleWarning'
    """


def warn_of_vain_rules(workload: Workload) -> None:
    """Warn of each rule that no job of a workload can satisfy, with one line that names it."""
    for told in vain_rules(workload):
        warn(told, VainRuleWarning)


def vain_rules(workload: Workload) -> Iterator[str]:
    """Yield a line for each rule that no job of the workload can satisfy, though some job is under it.

    The rule then rejects all these jobs. A rule that any job satisfies costs little to check.
    """
    machine = workload.machine
    if not machine.rules or not len(workload.jobs):
        return
    for part in amount_rules(machine):
        told = _why_vain(part, workload)
        if told:
            yield told
    kinds = sorted({type(rule).__name__.lower() for rule in machine.rules.closing})
    if machine.rules.power is not None and len(machine.rules.power.caps) > 1:
        kinds.append("cap of the power")
    if kinds and not _any_place(workload):
        shortest = int(np.min(workload.columns.walltime))
        beside = "closed nodes and lower caps" if "cap of the power" in kinds else "closed nodes"
        yield (
            f"{', '.join(kinds)} of the machine: no job of {len(workload.jobs):,} has a place beside {beside} "
            f"at any time; the shortest walltime is {shortest} s; shorten the closures or the walltimes"
        )


def _why_vain(part: AmountRule, workload: Workload) -> str:
    """Return why no job satisfies a rule on an amount. Empty if a job does, or if none is under it."""
    least: tuple[int, str, str] | None = None
    for job in workload.jobs:
        view = JobView(job, workload.machine)
        for request in (view, *(as_request(view, shape) for shape in range(len(view.shapes)))):
            for what, amount in part.uses(request).items():
                if amount <= part.most(what):
                    return ""
                if amount and (least is None or amount < least[0]):
                    least = amount, what, job.id
    if least is None:
        return ""
    amount, what, id_ = least
    return f"{_name(part)}: rejects all jobs under it; the least that one needs is {amount:,} {what} (job {id_})"


def _name(part: AmountRule) -> str:
    if isinstance(part, RunningLimit):
        limit = part.limit
        only = [f"{name} {getattr(limit, name)}" for name in ("user", "group", "queue") if getattr(limit, name) != "*"]
        return f"limit of {limit.most:,} {limit.of} per {limit.by}" + "".join(f", {each}" for each in only)
    if isinstance(part, LicencesLeft):
        return "licences " + ", ".join(f"{name} {count:,}" for name, count in part.count.items())
    assert isinstance(part, PowerCap)
    return f"power: cap of {part.most('mW'):,} mW above the idle machine"


def _any_place(workload: Workload) -> bool:
    """Return whether any job has a place beside closed nodes. The shortest and smallest requests are tried first."""
    machine = workload.machine
    power = machine.rules.power
    highest = (
        None
        if power is None or not power.caps
        else replace(power, cap=max(watts for _, watts in power.caps), every=None)
    )
    open_machine = replace(machine, reservations=(), outages=(), power=highest)
    columns = workload.columns
    walltime, nodes = np.asarray(columns.walltime), np.asarray(columns.nodes)
    least = _least(workload)
    last = int(np.max(columns.submit))
    if least is not None and not _has_place(least, machine, last) and _has_place(least, open_machine):
        return False  # No other job needs less.
    tried: set[tuple[object, ...]] = set()
    closed_out = False
    for place in np.lexsort((nodes, walltime)):
        job = workload.jobs[int(place)]
        kind = job.nodes, tuple(job.per_node.items()), job.walltime
        if kind in tried:
            continue
        tried.add(kind)
        if job.reservation or job.shapes or len(tried) > _MOST_SEARCHES or _has_place(job, machine):
            return True
        closed_out = closed_out or _has_place(job, open_machine)  # Otherwise the machine is too small for it.
    return not closed_out


def _least(workload: Workload) -> Job | None:
    """Return a job that needs no more of anything than any job. ``None`` if jobs have reservations or shapes."""
    if any(job.reservation or job.shapes for job in workload.jobs):
        return None
    columns = workload.columns
    requests = {tuple(job.per_node.items()) for job in workload.jobs}
    per_node = {name: min(dict(request).get(name, 0) for request in requests) for name in workload.machine.resources}
    some = {name: amount for name, amount in per_node.items() if amount}
    if not some:
        return None
    submit, walltime = int(np.min(columns.submit)), int(np.min(columns.walltime))
    return Job("least", submit, 0, walltime, int(np.min(columns.nodes)), some)


def _has_place(job: Job, machine: Machine, since: int | None = None) -> bool:
    """Return whether a job ever fits on the empty machine, also if it is submitted at another time."""
    if job.nodes > room_for(machine, job.per_node):
        return False
    entry = Waiting(JobView(job, machine), job.walltime, job.submit, 0, 0, machine.demand(job.per_node))
    state = State(job.submit, [entry], [], machine.capacity, machine)
    book = rule_book(state)
    # As far ahead as jobs are kept in the queue.
    before = None if book is None else (job.submit if since is None else since) + book.horizon()
    return Profile(state).earliest(entry, before=before) is not None
