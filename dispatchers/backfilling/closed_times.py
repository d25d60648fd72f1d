"""Closed nodes in an availability profile: reservations of others, maintenance, and announced outages."""

from collections.abc import Iterator, Sequence

import numpy as np

from ...base import BoolArray, IntArray
from ...models import AmountProfile, NodeProfile, PlacementRule
from ...workloads import Machine
from ...workloads.machine_rules import Closure, Outage, Reservation
from ..protocol import Running, State, Waiting

#: How far ahead closures are searched, seconds, and the most repetitions of a reservation in a profile.
AHEAD, WINDOWS = 180 * 86400, 500


def closes(machine: Machine) -> bool:
    """Return whether a machine has closed nodes at some time."""
    return bool(machine.rules.closing)


def profile_of(machine: Machine, now: int, rule: PlacementRule) -> AmountProfile | NodeProfile:
    """Return the profile of an empty machine from now on."""
    if machine.capacity.size == 1:
        return AmountProfile(int(machine.capacity[0, 0]), now)
    return NodeProfile(machine.capacity, machine.capacity, now, rule)


def closures_ahead(state: State, walltimes: int = 4) -> list[Closure]:
    """Return the closures up to so many longest walltimes after the last predicted end."""
    if not closes(state.machine):
        return []
    last = state.running.predicted_end.max(initial=state.now)
    longest = state.queue.walltime.max(initial=0)
    ahead = bounded_ahead(state.machine, int(last) - state.now + walltimes * int(longest))
    return list(state.machine.rules.closures(state.machine.nodes, state.now, state.now + ahead))


def bounded_ahead(machine: Machine, ahead: int) -> int:
    """Return `ahead`, at most :data:`WINDOWS` repetitions of a reservation, seconds."""
    periods = (each.every for each in machine.reservations if each.every is not None)
    return min(ahead, WINDOWS * min(periods, default=ahead))


def fitting_beside(state: State, rule: PlacementRule, jobs: Sequence[Waiting]) -> BoolArray:
    """Return which jobs each fit now beside running jobs and closures, for their predicted run times. Shape (jobs,)."""
    running = state.running.entries
    profile = profile_beside(state, rule, running, [run.expected_end(state.now) for run in running])
    soon = state.now + 1
    found = np.zeros(len(jobs), dtype=np.bool_)
    for place, job in enumerate(jobs):
        found[place] = profile.earliest(job.nodes, job.demand, job.predicted, state.now, soon) is not None
    return found


def profile_beside(
    state: State, rule: PlacementRule, running: Sequence[Running], ends: Sequence[int]
) -> AmountProfile | NodeProfile:
    """Return the profile of free amounts beside closed nodes and running jobs.

    `ends` are the ends of the running jobs. Closures count up to four longest walltimes after the last of them.
    """
    now = state.now
    profile = profile_of(state.machine, state.now, rule)
    ahead = max(ends, default=now) - now + 4 * int(state.queue.walltime.max(initial=0))
    for taken in ClosedTimes(state.machine, ahead).more(now):
        profile.take(*taken)
    for run, end in zip(running, ends, strict=True):
        profile.take(now, end, run.placement, run.demand)
    return profile


def _floats(rule: Reservation | Outage, nodes: int) -> bool:
    return isinstance(rule, Reservation) and rule.floating and len(rule.indices(nodes)) == nodes


def taken_by(closure: Closure, machine: Machine) -> Iterator[tuple[IntArray, tuple[int, ...]]]:
    """Yield groups of nodes with equal closed amounts, and the amounts per node."""
    nodes = np.array(closure.nodes, dtype=np.int64)
    if closure.amounts is not None:
        yield nodes, tuple(closure.amounts.get(name, 0) for name in machine.resources)
        return
    kinds, kind_of = np.unique(machine.capacity[nodes], axis=0, return_inverse=True)
    for kind, amounts in enumerate(kinds.tolist()):
        yield nodes[kind_of.reshape(-1) == kind], tuple(amounts)


class ClosedTimes:
    """Closures of a machine that a profile already contains.

    Parameters
    ----------
    machine
        A machine with rules.
    ahead
        Most seconds to search ahead. At least half of it is always covered. At most :data:`WINDOWS` repetitions of a
        reservation.
    """

    def __init__(self, machine: Machine, ahead: int = AHEAD) -> None:
        self._machine = machine
        self._ahead = bounded_ahead(machine, ahead)
        self._until: int | None = None

    def more(self, now: int) -> Iterator[tuple[int, int, IntArray, tuple[int, ...]]]:
        """Yield begin, end, nodes and amounts of closures to add to a profile that begins now."""
        if not closes(self._machine) or (self._until is not None and now + self._ahead // 2 <= self._until):
            return
        begin, self._until, first = self._until or now, now + self._ahead, self._until is None
        count = self._machine.nodes
        # One of all nodes that floats leaves room for each job at any time, or for none ever.
        rules = [each for each in self._machine.rules.closing if not _floats(each, count)]
        for closure in (closure for rule in rules for closure in rule.closures(count, begin, self._until)):
            if first or closure.begin >= begin:
                for nodes, amounts in taken_by(closure, self._machine):
                    yield max(closure.begin, now), closure.end, nodes, amounts
