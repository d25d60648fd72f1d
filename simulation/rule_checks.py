"""Check a finished schedule against the rules of the machine.

The check shares no code with the engine. Each rule is written here a second time, from its fields.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import accumulate
from operator import itemgetter

from ..workloads import Workload
from ..workloads.machine_rules import Limit, Outage, Power, Reservation
from .constraint_checks import Stay, Take, over, stays_of
from .result import Result


def broken_rules(workload: Workload, result: Result) -> Iterator[str]:
    """Yield a line for every rule of the machine that a schedule breaks, at the first such time."""
    machine = workload.machine
    rules = workload.machine.rules
    if machine.nodes > 1 and any(job.exclusive for job in workload.jobs):
        yield from _shared(list(stays_of(workload, result)))
    if result.state is None and any("%" in each for each in workload.columns.array.values):
        for line in over(list(stays_of(workload, result)), _of_array):
            yield f"array: {line}"
    if any(workload.columns.within.values):
        yield from _across(workload, result)
    if not rules:
        return
    stays = list(stays_of(workload, result))
    for limit in rules.limits:
        for line in over(stays, partial(_of_limit, limit)):
            yield f"limit: {line}"
    there = dict(rules.licences or {})
    for line in over(stays, lambda stay: [(name, n, there.get(name, 0)) for name, n in stay.job.licences.items()]):
        if there:
            yield f"licences: {line}"
    power = rules.power
    if power is not None and power.cap is not None:
        for line in _over_cap(power, stays):
            yield f"power: {line}"
    named = {each.name: each for each in rules.reservations if each.name}
    inside = [stay for stay in stays if named and stay.job.reservation]
    outside = [stay for stay in stays if not (named and stay.job.reservation)]
    for stay in inside:
        yield from _inside(stay, named.get(stay.job.reservation), machine.nodes)
    for reservation in rules.reservations:
        if reservation.amounts is None:
            yield from _closed(reservation, outside, machine.nodes)
        else:
            yield from _partly(reservation, outside, workload)
    for outage in rules.outages:
        # Jobs that run at the beginning have survived earlier outages.
        known = result.state is None or outage.begin >= result.state.at
        yield from _down(outage, stays if known else [s for s in stays if s.start >= outage.begin], machine.nodes)


def _shared(stays: Sequence[Stay]) -> Iterator[str]:
    """Yield jobs on the nodes of an exclusive job."""
    for stay in stays:
        for other in stays if stay.job.exclusive else ():
            if other is not stay and other.start < stay.end and stay.start < other.end and stay.nodes & other.nodes:
                yield f"job {other.job.id} on nodes of job {stay.job.id}, which is exclusive, at t={stay.start}"


def _across(workload: Workload, result: Result) -> Iterator[str]:
    """Yield the jobs on more groups of their level than they ask for, while they still had to wait for these."""
    group_of = {
        level: {node: number for number, group in enumerate(groups) for node in group}
        for level, groups in workload.machine.levels.items()
    }
    entered = dict(zip(result.jobs["id"].tolist(), result.jobs["eligible"].tolist(), strict=True))
    for stay in sorted(stays_of(workload, result), key=lambda each: each.start):
        job = stay.job
        since = entered[job.id]
        entered[job.id] = stay.end  # It may return to the queue then.
        before = result.state is not None and stay.start < result.state.at
        if not job.within or before or (job.within_wait is not None and stay.start >= since + job.within_wait):
            continue
        groups = {group_of.get(job.within, {}).get(node) for node in stay.nodes}
        if len(groups) > job.within_groups or None in groups:
            told = f"{len(groups)} groups of level {job.within}, may use {job.within_groups}"
            yield f"job {job.id}: runs on {sorted(stay.nodes)[:3]} from {stay.start} on: {told}"


def _of_array(stay: Stay) -> list[Take]:
    array, _, most = stay.job.array.partition("%")
    return [(f"tasks of array {array}", 1, int(most))] if most else []


def _of_limit(limit: Limit, stay: Stay) -> list[Take]:
    job, by = stay.job, limit.by
    named = (job.user, limit.user), (job.group, limit.group), (job.queue, limit.queue)
    others = limit.among and (*(value for value, _ in named), job.qos) not in limit.among
    if others or not all(fnmatchcase(value, pattern) for value, pattern in named):
        return []
    whose = {"user": job.user, "group": job.group, "queue": job.queue, "all": ""}[by]
    of, most = limit.of, limit.most
    return [(f"{of} of {by} {whose}", 1 if of == "jobs" else stay.amount(of), most)]


def _watts(stay: Stay, watts: Mapping[str, float]) -> float:
    return sum(watts.get(name, 0.0) * stay.amount(name) for name in stay.job.per_node)


def _over_cap(power: Power, stays: Sequence[Stay]) -> Iterator[str]:
    """Yield the first time at which running jobs and the idle machine draw more than the cap.

    A start counts with all that runs then. When the cap gets lower, jobs count up to their walltimes.
    """
    pairs = power.cap if isinstance(power.cap, tuple) else ((0, power.cap),)
    every = power.every
    last = max((stay.end for stay in stays), default=0)

    def cap_at(time: int) -> float:
        since = time if every is None else time % every
        return float(pairs[bisect_right(pairs, since, key=itemgetter(0)) - 1][1])

    changes = [
        time + round_ * (every or 0) for round_ in range(1 if every is None else last // every + 1) for time, _ in pairs
    ]
    drawing = [(stay, watts) for stay in stays if (watts := _watts(stay, power.watts))]
    events: list[tuple[int, int, float]] = []
    for stay, watts in drawing:
        if stay.end > stay.start:
            events += [(stay.start, 1, watts), (stay.end, 0, -watts)]
    level = power.idle
    slack = 1e-6
    for time, started, watts in sorted(events):
        level += watts
        if started and level > cap_at(time) * (1 + slack):
            yield f"{level:g} watts at t={time}, the cap is {cap_at(time):g}"
            return
    answered = [(stay.start, stay.answered_until, watts) for stay, watts in drawing if stay.answered_until > stay.start]
    starts = sorted((start, watts) for start, _, watts in answered)
    ends = sorted((end, watts) for _, end, watts in answered)
    begun, ended = (list(accumulate((watts for _, watts in each), initial=0.0)) for each in (starts, ends))
    for time in changes:
        here = begun[bisect_left(starts, time, key=itemgetter(0))] - ended[bisect_right(ends, time, key=itemgetter(0))]
        if power.idle + here > cap_at(time) * (1 + slack):
            yield f"{power.idle + here:g} watts at t={time}, from when on the cap is {cap_at(time):g}"
            return


def _first_window(reservation: Reservation, start: int) -> tuple[int, int]:
    """Return the first window that ends after a time."""
    begin = reservation.begin
    end = reservation.end
    if reservation.every is not None and start >= end:
        shift = -(-(start + 1 - end) // reservation.every) * reservation.every
        begin, end = begin + shift, end + shift
    return begin, end


def _inside(stay: Stay, reservation: Reservation | None, nodes: int) -> Iterator[str]:
    where = f"job {stay.job.id}: runs on {sorted(stay.nodes)[:3]} in [{stay.start}, {stay.end})"
    if reservation is None:
        yield f"{where}, in a reservation that is not there"
        return
    begin, end = _first_window(reservation, stay.start)
    if stay.start < begin or stay.answered_until > end or not stay.nodes <= set(reservation.indices(nodes)):
        yield f"{where}, its reservation {reservation.name} is in [{begin}, {end})"
    if reservation.users and stay.job.user not in reservation.users:
        yield f"{where}, in reservation {reservation.name}, which is not for user {stay.job.user!r}"


def _closed(reservation: Reservation, stays: Sequence[Stay], nodes: int) -> Iterator[str]:
    closed = set(reservation.indices(nodes))
    for stay in stays:
        shared = closed & stay.nodes
        if not shared or stay.answered_until <= stay.start:
            continue
        begin, end = _first_window(reservation, stay.start)
        if reservation.floating:
            begin = stay.start + reservation.begin
            end = stay.start + reservation.end
        if begin < stay.answered_until and stay.start < end:
            told = f"job {stay.job.id} on node {min(shared)} in [{stay.start}, {stay.end})"
            yield f"{told}, closed in [{begin}, {end})"


def _partly(reservation: Reservation, stays: Sequence[Stay], workload: Workload) -> Iterator[str]:
    """Check the used amounts at the begins of the windows, and at starts within them."""
    machine = workload.machine
    last = max((stay.end for stay in stays), default=0)
    windows = list(reservation.windows(0, last))
    starts = [stay.start for stay in stays]
    times = sorted({time for begin, end in windows for time in (begin, *(s for s in starts if begin <= s < end))})
    for node in reservation.indices(machine.nodes):
        for name, amount in (reservation.amounts or {}).items():
            room = int(machine.capacity[node, machine.resources.index(name)]) - amount
            for time in times:
                there = [stay for stay in stays if stay.start <= time < stay.answered_until and node in stay.nodes]
                used = sum(stay.amount(name, node) for stay in there)
                if used > room:
                    yield f"node {node} at t={time}: {used} of {name} in use, {room} beside the reservation"
                    return


def _down(outage: Outage, stays: Sequence[Stay], nodes: int) -> Iterator[str]:
    down = set(outage.indices(nodes))
    for stay in stays:
        if stay.nodes & down and stay.start < outage.end and outage.begin < stay.end:
            told = f"job {stay.job.id} in [{stay.start}, {stay.end}) on nodes that are down"
            yield f"{told} in [{outage.begin}, {outage.end})"
