"""What the constraints of a dispatcher leave of one state: who may start now, on which nodes, and beside what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...base import BoolArray, InputError, IntArray
from ...models import WHENEVER, Problem, quotas_beside
from ...workloads import Machine
from ..columns import RunningJobs
from ..problems import Held, held
from ..protocol import Action, Reject, Running, Start, State, Waiting, Wake
from .site_constraints import Closed
from .site_rules import PlugInError, Quota, SiteRules, bound_of, covered, open_until


class Restrictions:
    """The constraints at one decision.

    Nodes that will be closed are told apart by a resource for each time at which some close: a job that may run for
    longer asks for a unit a slot of it, of which the nodes that close by then have none left. So whatever places jobs
    keeps them off.

    Parameters
    ----------
    rules
        The constraints.
    state
        Now.

    Attributes
    ----------
    state
        The state with these resources, and without the jobs that are rejected or held back.
    allowed
        Which jobs of its queue may start now, as far as constraints tell beside the nodes, shape (jobs,).
    rejected
        Jobs that can never start, and why.
    failure
        Which constraint failed; empty if none did.
    """

    def __init__(self, rules: SiteRules, state: State) -> None:
        self.rules = rules
        self.given = state
        self.rejected: list[Reject] = []
        self.failure = ""
        self._earliest: dict[int, int] = {}
        self._taken: Counter[Quota] = Counter()
        for run in state.running:
            self._taken.update(dict(rules.of_running(run).uses))
        queue = [entry for entry in state.queue if self._judge(entry)]
        self.closures, shut = self._closures(queue)
        self.state = shown_state(state, [] if shut else queue, self.closures)
        self.allowed: BoolArray = np.array([self.admits(entry) for entry in self.state.queue], dtype=np.bool_)

    def answer(self, starts: Sequence[Start]) -> list[Action]:
        """Return these starts, what is rejected, and when to look again: a closure ends, or a job may start."""
        actions: list[Action] = [*starts, *self.rejected]
        now, left = self.given.now, len(self.given.queue) - len(actions)
        times = [closed.end for closed in self.closures if closed.end > now]
        times += [time for time in self._earliest.values() if time > now]
        return [*actions, Wake(min(times))] if times and left else actions

    # Who may start.

    def _judge(self, entry: Waiting) -> bool:
        """Return whether a waiting job may ever start; reject it if not, hold it back if a constraint fails."""
        now, said = self.given.now, self.rules.of(entry, self.given.now)
        never, failure = said.never, said.failure
        if not never and said.latest_end is not None and now + bound_of(entry) > said.latest_end:
            never = self.rules.too_late(entry, now)
        if not (never or failure):
            try:
                self._earliest[entry.order] = self.rules.earliest(entry.job, now)
            except PlugInError as error:
                failure = str(error)
        if failure:
            self.failure = failure
            never = "" if len(self.given.running) else failure  # Nothing would ever call again.
        if never:
            self.rejected.append(Reject(entry, never))
        return not (never or failure)

    def _closures(self, queue: Sequence[Waiting]) -> tuple[list[Closed], bool]:
        """Return what a job could reach that starts by the time all that runs has ended, and whether none may start.

        None may where a constraint fails to say what is closed.
        """
        now = self.given.now
        if not self.rules.closing or not queue:
            return [], False
        longest = max(map(bound_of, queue))
        reach = int(self.given.running.predicted_end.max(initial=now)) - now + longest
        try:
            return self.rules.closures(now, now + reach), False
        except PlugInError as error:
            if not len(self.given.running):
                raise InputError(str(error)) from error
            self.failure = str(error)
            return [], True

    def admits(self, entry: Waiting) -> bool:
        """Return whether a job may start now beside what runs and what was taken, on nodes that are open."""
        timely = self._earliest[entry.order] <= self.given.now
        return timely and all(take <= self._rest(what) for what, take in self._uses(entry))

    def _uses(self, entry: Waiting) -> tuple[tuple[Quota, int], ...]:
        return self.rules.of(entry, self.given.now).uses

    def _rest(self, quota: Quota) -> int:
        return self.rules.most[quota] - self._taken[quota]

    def together(self, entries: Sequence[Waiting]) -> bool:
        """Return whether jobs may all start now, as far as constraints tell beside the nodes."""
        taken: Counter[Quota] = Counter()
        for entry in entries:
            taken.update(dict(self._uses(entry)))
        return all(map(self.admits, entries)) and all(take <= self._rest(what) for what, take in taken.items())

    def take(self, entry: Waiting) -> None:
        """Take what a job uses that starts now."""
        self._taken.update(dict(self._uses(entry)))

    # What is planned.

    def narrow(self, problem: Problem, waiting: Sequence[Waiting], overdue: bool) -> Problem:
        """Return the problem in which the constraints count as well.

        A job that could reach the next closure if it ran for all that it requested is planned with that.

        Parameters
        ----------
        problem, waiting
            The jobs, as in the state, on a pool or on nodes.
        overdue
            As for :func:`.problems.problem_of`.
        """
        now, bounds = self.given.now, np.array([bound_of(entry) for entry in waiting], dtype=np.int64)
        begins = min((closed.begin - now for closed in self.closures), default=WHENEVER)
        ends = [self.rules.of(entry, now).latest_end for entry in waiting]
        latest = [
            WHENEVER if end is None else end - now - bound for end, bound in zip(ends, bounds.tolist(), strict=True)
        ]
        problem = replace(
            problem,
            duration=np.where(bounds > begins, np.maximum(problem.duration, bounds), problem.duration),
            earliest=np.maximum(problem.earliest, [self._earliest[entry.order] - now for entry in waiting]),
            latest=np.array(latest, dtype=np.int64),
        )
        if self.closures:
            problem = self._closed(problem, overdue)
        return self._limited(problem, waiting)

    def relaxed(self, problem: Problem) -> Problem:
        """Return the problem in which jobs may start after their latest time, where no schedule was found otherwise.

        Those that are planned too late are not started then, and rejected.
        """
        if int(problem.latest.min(initial=WHENEVER)) == WHENEVER:
            return problem
        self.failure = self.failure or "no schedule keeps every deadline"
        return replace(problem, latest=np.full(problem.jobs, WHENEVER))

    def _closed(self, problem: Problem, overdue: bool) -> Problem:
        """Hold what is closed, as far as what runs there does not hold it already."""
        state = self.given
        busy = held(state.running, state.now, state.machine.capacity, pooled=False, overdue=overdue)
        rows = closed_rows(self.closures, state.now, state.machine.capacity, busy)
        if problem.nodes == 1:
            rows = summed(rows)
        amount = np.pad(rows.amount, ((0, 0), (0, problem.capacity.shape[1] - rows.amount.shape[1])))
        return replace(
            problem,
            held_from=np.append(problem.held_from, rows.begin), held_to=np.append(problem.held_to, rows.end),
            held_node=np.append(problem.held_node, rows.node),
            held_amount=np.append(problem.held_amount, amount, axis=0),
        )  # fmt: skip

    def _limited(self, problem: Problem, waiting: Sequence[Waiting]) -> Problem:
        """Add the quotas of which the jobs and what runs could take more than there is."""
        uses = [dict(self._uses(entry)) for entry in waiting]
        asked = sum(map(Counter, uses), Counter())
        scarce = [what for what, take in asked.items() if take > self._rest(what)]
        if not scarce:
            return problem
        need = np.array([[use.get(what, 0) for what in scarce] for use in uses], dtype=np.int64)
        running = [dict(self.rules.of_running(run).uses) for run in self.given.running]
        taken = np.array([[use.get(what, 0) for what in scarce] for use in running], dtype=np.int64)
        most = np.array([self.rules.most[what] for what in scarce], dtype=np.int64)
        ends = np.maximum(self.given.running.predicted_end - self.given.now, 1)
        return problem.with_quotas(quotas_beside(need, most, ends, taken.reshape(-1, len(scarce))))


def shown_state(state: State, queue: Sequence[Waiting], closures: Sequence[Closed]) -> State:
    """Return the state with another queue, and with resources that tell apart nodes that will be closed."""
    nodes, bounds = state.machine.nodes, np.array([bound_of(entry) for entry in queue], dtype=np.int64)
    opened = open_until(closures, state.now, nodes)
    times = np.unique(opened[opened < bounds.max(initial=0)])
    if not len(times):
        if len(queue) == len(state.queue):
            return state
        return State(state.now, queue, state.running, state.free, state.machine)
    most = max(entry.nodes for entry in queue)
    names = tuple(f"open for more than {time} s" for time in times.tolist())
    machine = Machine(
        (*state.machine.resources, *names),
        np.append(state.machine.capacity, np.full((nodes, len(times)), most), axis=1),
    )
    free = np.append(state.free, most * (opened[:, None] > times), axis=1)
    asked = (bounds[:, None] > times).astype(np.int64).tolist()
    entries = [entry.shown_as(demand=(*entry.demand, *more)) for entry, more in zip(queue, asked, strict=True)]
    return State(state.now, entries, WidenedJobs(state.running, len(times)), free, machine)


class WidenedJobs(RunningJobs[Running]):
    """Running jobs that ask for nothing of some more resources."""

    def __init__(self, jobs: RunningJobs[Running], more: int) -> None:
        super().__init__(list(jobs), jobs.demand.shape[1])
        self._more = more

    @property
    def demand(self) -> IntArray:
        """What a slot asks for, shape (jobs, resources)."""
        return np.pad(super().demand, ((0, 0), (0, self._more)))


def closed_rows(closures: Sequence[Closed], now: int, capacity: IntArray, busy: Held) -> Held:
    """Return what closures hold beside what is held already on the same nodes, a row for each time and node."""
    spans = np.array([(max(closed.begin - now, 0), closed.end - now) for closed in closures], dtype=np.int64)
    times = np.unique(np.append(spans, busy.end))
    rows = []
    for begin, end in zip(times[:-1].tolist(), times[1:].tolist(), strict=True):
        nodes = np.flatnonzero(covered(closures, now + begin, len(capacity)))
        if len(nodes):
            used = np.zeros_like(capacity)
            still = (busy.begin <= begin) & (busy.end > begin)
            np.add.at(used, busy.node[still], busy.amount[still])
            amount = np.maximum(capacity - used, 0)[nodes]
            rows.append(Held(np.full(len(nodes), begin), np.full(len(nodes), end), nodes, amount))
    nothing = np.zeros(0, dtype=np.int64)
    return Held(*map(np.concatenate, zip(Held(nothing, nothing, nothing, capacity[:0]), *rows, strict=True)))


def summed(rows: Held) -> Held:
    """Return what is held at each time on all nodes together."""
    spans, which = np.unique(np.column_stack((rows.begin, rows.end)), axis=0, return_inverse=True)
    amount = np.zeros((len(spans), rows.amount.shape[1]), dtype=np.int64)
    np.add.at(amount, which.ravel(), rows.amount)
    return Held(spans[:, 0], spans[:, 1], np.zeros(len(spans), dtype=np.int64), amount)
