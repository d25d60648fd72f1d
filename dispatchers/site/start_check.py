"""Check starts against the rules of the machine: closed nodes, licences, limits and power."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base import IntArray
from ...models import shift
from ...workloads.machine_rules import Closure, Reservation
from ..layouts import wrong_layout
from ..protocol import JobView, Running, Start, State, Stop, Waiting, id_of
from ..rule_book import Key, RuleBook, as_request


class StartError(ValueError):
    """A start against a rule of the machine. The message names job, rule and time."""


class StartCheck:
    """The starts of one decision, one after another.

    Parameters
    ----------
    book
        The rules.
    state
        The state in which the jobs start.
    """

    def __init__(self, book: RuleBook, state: State) -> None:
        self._book = book
        self._state = state
        #: The running jobs that are not stopped at once.
        self._running: Sequence[Running] = state.running.entries
        self._used: Counter[Key] | None = None
        #: Uses, nodes, amounts per slot and latest end of the jobs that started before.
        self._before: list[tuple[dict[Key, int], IntArray, tuple[int, ...], int]] = []
        self._waiting: dict[str, Waiting] | None = None

    def refusal(self, start: Start, amounts_only: bool = False) -> str:
        """Return why a job may not start. Empty if it may: then it counts for the next ones.

        With `amounts_only` closed nodes do not count.
        """
        why = self.would_refuse(start, amounts_only)
        if not why:
            self.count(start)
        return why

    def would_refuse(self, start: Start, amounts_only: bool = False) -> str:
        """Return what :meth:`refusal` does. It does not count for the next ones."""
        asked = self._asked(start)
        if asked is None:
            return ""
        request, demand, bound = asked
        uses = self._book.ask(request) if self._book.parts else {}
        why = self._over_amounts(uses, bound)
        if not why and not amounts_only:
            why = self._on_closed_nodes(request, demand, np.asarray(start.placement), bound)
        if not why and self._book.layouts and not amounts_only:
            entry = self._entry(start.job)
            since = self._state.now if entry is None else entry.since
            why = wrong_layout(request, since, self._state.now, np.asarray(start.placement), self._book.machine)
        return f"job {request.id}: must not start: {why}" if why else ""

    def stop(self, stop: Stop) -> None:
        """Leave out a running job that frees its nodes now, for the next starts."""
        if not stop.delay:
            self._running = [run for run in self._running if run.id != id_of(stop.job)]
            self._used = None

    def count(self, start: Start) -> None:
        """Count a job that starts for the next ones."""
        asked = self._asked(start)
        if asked is not None:
            request, demand, bound = asked
            uses = self._book.ask(request) if self._book.parts else {}
            self._before.append((uses, np.asarray(start.placement), demand, self._state.now + bound))

    def _asked(self, start: Start) -> tuple[JobView, tuple[int, ...], int] | None:
        """Return the request of a start, amounts per slot and the most seconds. ``None`` if the engine reports it."""
        entry = self._entry(start.job)
        if entry is None:
            return None
        request = entry.job
        demand = entry.demand
        if start.shape is not None:
            if not 0 <= start.shape < len(entry.job.shapes):
                return None
            request, demand = as_request(entry.job, start.shape), entry.job.shapes[start.shape].demand
        return request, demand, request.walltime if start.limit is None else min(request.walltime, start.limit)

    def _entry(self, named: Any) -> Waiting | None:
        if type(named) is Waiting:
            return named
        if self._waiting is None:
            self._waiting = {entry.id: entry for entry in self._state.queue}
        return self._waiting.get(named if isinstance(named, str) else getattr(named, "id", ""))

    def _over_amounts(self, uses: dict[Key, int], bound: int) -> str:
        """Return which amount of the whole machine does not suffice. Empty if all do."""
        if not uses:
            return ""
        book = self._book
        now = self._state.now
        if self._used is None:
            self._used = Counter()
            for run in self._running:
                self._used.update(book.uses(run))
        for key, amount in uses.items():
            part, what = book.parts[key[0]], key[1]
            most = part.at(what, now)
            used = self._used[key] + sum(each[0].get(key, 0) for each in self._before)
            if used + amount > most:
                return f"{part.name}: {used:,} of {most:,} {what} are in use at {now}, and it needs {amount:,}"
            for begin, _, missing in part.lower(now, now + bound):
                if begin <= now:
                    continue
                left = book.most[key] - missing
                later = [book.uses(run).get(key, 0) for run in self._running if run.walltime_end(now) > begin]
                later += [each[0].get(key, 0) for each in self._before if each[3] > begin]
                if sum(later) + amount > left:
                    ends = f"its walltime ends at {now + bound}"
                    return f"{part.name}: {left:,} of {what} from {begin} on, {sum(later):,} are in use, and {ends}"
        return ""

    def _on_closed_nodes(self, request: JobView, demand: tuple[int, ...], placement: IntArray, bound: int) -> str:
        """Return which closure the walltime of a job reaches on its nodes. Empty if none."""
        now = self._state.now
        book = self._book
        count = book.machine.nodes
        until = now + bound
        for floats in book.floating:
            near = placement[np.isin(placement, floats.indices(count))]
            if bound > floats.begin and len(near):
                free = f"stays free for {floats.begin} s, until {now + floats.begin}"
                return f"node {near[0]} has a floating reservation: it {free}, and its walltime ends at {until}"
        if not book.closing or not book.closes_before(now, until):
            return ""
        for rule in book.closing:
            for closure in rule.closures(count, now, until):
                shut = placement[np.isin(placement, np.asarray(closure.nodes))]
                node = int(shut[0]) if len(shut) else -1
                if node >= 0 and closure.amounts is not None:
                    node = self._short_of(demand, closure, placement)
                if node >= 0:
                    what = f"reservation {rule.name}" if isinstance(rule, Reservation) and rule.name else "maintenance"
                    what = what if isinstance(rule, Reservation) else "an outage"
                    span = f"from {closure.begin} to {closure.end}"
                    return f"node {node} is closed for {what} {span}, and its walltime ends at {until}"
        return ""

    def _short_of(self, demand: tuple[int, ...], closure: Closure, placement: IntArray) -> int:
        """Return a node on which a closure of amounts leaves too little, -1 if none."""
        machine = self._book.machine
        now = self._state.now
        time = max(closure.begin, now)
        left = machine.capacity.copy()
        for rule in self._book.closing:
            # As known now: an outage that is not announced comes as a surprise.
            for other in rule.closures(machine.nodes, now, time + 1):
                if other.end <= time:
                    continue
                taken = (
                    machine.capacity
                    if other.amounts is None
                    else np.array([other.amounts.get(name, 0) for name in machine.resources])
                )
                nodes = np.asarray(other.nodes)
                left[nodes] -= taken[nodes] if other.amounts is None else taken
        for run in self._running:
            outside = self._book.reserved_until(run.job.reservation, time) is None
            end = run.expected_end(now) if time == now else run.walltime_end(now)
            if outside and end > time:
                shift(left, run.placement, run.demand, -1)
        for _, nodes, amounts, end in self._before:
            if end > time:
                shift(left, nodes, amounts, -1)
        shift(left, placement, demand, -1)
        return next((int(node) for node in placement.tolist() if left[node].min() < 0), -1)
