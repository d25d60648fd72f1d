"""No job waits longer than its reservation by conservative, rbs and hybrid. Reservations stand.

This holds under every overrun policy, on pools and on nodes. Walltimes and corrected predictions are tried.
"""

from itertools import product
from random import Random

import numpy as np
import pytest

from hpcdispatch.dispatchers import RBS, Conservative, Hybrid, Start, Stop
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload

#: Random workloads in CI, and nightly.
FEW, MANY = 10, 1000
COUNTS = [range(FEW), pytest.param(range(FEW, MANY), marks=pytest.mark.nightly)]
GIVEN = list(product(("run", "kill", "resubmit"), ("walltime", "last2")))
#: Seconds that a checkpoint of hybrid takes.
COST = 60


def crowd(seed, *, pool=None):
    """Draw 20 jobs on a pool or on nodes of two kinds. Half do not end exactly at their walltimes."""
    random = Random(seed)
    pool = random.random() < 0.5 if pool is None else pool
    machine = Machine(("core", "mem"), np.array([[2, 4]] * 2 + [[4, 4]] * 2))
    if pool:
        machine = Machine.pool(random.choice([3, 6, 10]))
    jobs, submit = [], 0
    for place in range(20):
        submit += random.choice([0, 0, 0, 5, 20, 60])
        walltime = random.choice([1, 10, 30, 100, 300])
        runtime = int(walltime * random.choice([0, 0.3, 0.9, 1, 1, 1.3, 2]))
        nodes = random.choice([1, 1, 2, 3, 4])
        per_node = {"core": random.choice([1, 2]), "mem": random.choice([0, 2, 4])}
        if pool:
            nodes = random.randint(1, int(machine.capacity[0, 0]))
            per_node = {"core": 1}
        jobs.append(Job(str(place), submit, runtime, walltime, nodes, per_node, user=f"u{random.randrange(3)}"))
    return Workload(jobs, machine)


class Watched:
    """A dispatcher with recorded reservations. These are the first of each attempt, and later starts."""

    def __init__(self, over):
        self.over = over

    def reset(self, machine, rng):
        self.over.reset(machine, rng)
        self.first = {}
        self.started = {}
        self.moved = 0
        self.unexplained = []
        self._reserved, self._ends = {}, {}

    def dispatch(self, state):
        actions = list(self.over.dispatch(state))
        started = {action.job.id for action in actions if isinstance(action, Start)}
        reserved = {
            (entry.id, entry.attempt): start
            for entry in state.queue
            if entry.id not in started and (start := self.reservation(entry)) is not None
        }
        ends = {(run.id, run.start): run.predicted_end for run in state.running}
        outrun = any(
            end < state.now if run not in ends else ends[run] > end or ends[run] <= state.now
            for run, end in self._ends.items()
        )
        overdue = any(start < state.now for start in self._reserved.values())
        for attempt, start in reserved.items():
            self.first.setdefault(attempt, start)
            if start > self._reserved.get(attempt, start):
                self.moved += 1
                if not (outrun or overdue):
                    self.unexplained.append((state.now, attempt, self._reserved[attempt], start))
        for entry in state.queue:
            if entry.id in started:
                self.started[entry.id, entry.attempt] = state.now
                ends[entry.id, state.now] = state.now + entry.predicted
        self._reserved, self._ends = reserved, ends
        return actions

    def reservation(self, entry):
        """Return when the reservation of a waiting job begins."""
        if isinstance(self.over, RBS):
            ask = self.over._booked.get(entry.id)
            return None if ask is None else ask.booking.start
        return self.over.guaranteed(entry)

    @property
    def late(self):
        """The attempts that started later than what was reserved for them first."""
        return [attempt for attempt, start in self.first.items() if self.started.get(attempt, start) > start]


def watched(workload, over, given):
    overrun, predictor = given
    dispatcher = Watched(over)
    check(workload, simulate(workload, dispatcher, predictor, overrun=overrun))
    return dispatcher


@pytest.mark.parametrize("seeds", COUNTS, ids=len)
@pytest.mark.parametrize("given", GIVEN, ids="-".join)
@pytest.mark.parametrize(
    "compress", ["until-stable", *(pytest.param(how, marks=pytest.mark.nightly) for how in ("once", "never"))]
)
def test_conservative_keeps_its_reservations(compress, given, seeds):
    late = moved = 0
    for seed in seeds:
        found = watched(crowd(seed), Conservative(compress=compress), given)
        # A reservation moves back only if a job has overrun its own, or its time has passed.
        assert found.unexplained == [], seed
        late = late + len(found.late)
        moved = moved + found.moved
    if given in (("kill", "walltime"), ("resubmit", "walltime")):  # No job overruns its prediction.
        assert late == moved == 0
    else:
        assert moved > len(seeds)


@pytest.mark.parametrize("seeds", COUNTS, ids=len)
@pytest.mark.parametrize("given", GIVEN, ids="-".join)
@pytest.mark.parametrize("small", [None, pytest.param(0, marks=pytest.mark.nightly)])
def test_rbs_keeps_its_reservations(small, given, seeds):
    # It uses its own walltimes and kills at them. Predictions do not matter.
    count = 0
    for seed in seeds:
        found = watched(crowd(seed), RBS(small=small, reservations=5), given)
        assert (found.late, found.moved) == ([], 0), seed
        count += len(found.first)
    assert count > 5 * len(seeds)


class First(Watched):
    """Hybrid on a pool. The possible start of its first job by the reservations is recorded.

    The record is dropped when a prediction is corrected. It is also dropped when an earlier job of the order starts.
    That job arrived later or was put off.
    """

    def reset(self, machine, rng):
        self.over.reset(machine, rng)
        self.waits = []
        self._first = None
        self._ends = {}

    def dispatch(self, state):
        over, now = self.over, state.now
        keys = {entry.id: over._key(entry, now) for entry in state.queue}
        ends = {run.id: over._end(run) for run in state.running}
        corrected = any(end > self._ends.get(id_, end) for id_, end in ends.items())
        actions = list(over.dispatch(state))
        started = {action.job.id: action.job for action in actions if isinstance(action, Start)}
        if self._first is not None:
            id_, start, whole = self._first
            if corrected or id_ not in keys or any(keys[other] < keys[id_] for other in started):
                self._first = None
            elif id_ in started:
                self.waits.append((whole, now - start))
                self._first = None
        rest = [entry for entry in state.queue if entry.id not in started]
        self._ends = ends | {id_: max(over._until.get(id_, 0), now + entry.predicted) for id_, entry in started.items()}
        if not rest or not over.report()["reserving"]:
            self._first = None
            return actions
        first = min(rest, key=lambda entry: over._key(entry, now))
        if self._first is None or self._first[0] != first.id:
            stopped = {action.job.id: now + action.delay for action in actions if isinstance(action, Stop)}
            held = [(stopped.get(run.id, max(ends[run.id], now + 1)), run.nodes) for run in state.running]
            held += [(self._ends[id_], entry.nodes) for id_, entry in started.items()]
            free = int(state.free[0, 0]) - sum(entry.nodes for entry in started.values())
            start = min(
                time
                for time in (now, *(end for end, _ in held))
                if free + sum(nodes for end, nodes in held if end <= time) >= first.nodes
            )
            self._first = first.id, start, first.nodes == int(state.machine.capacity[0, 0])
        return actions


@pytest.mark.parametrize("seeds", COUNTS, ids=len)
@pytest.mark.parametrize("given", GIVEN, ids="-".join)
def test_hybrid_keeps_the_first_reservation(given, seeds):
    overrun, predictor = given
    count = 0
    for seed in seeds:
        dispatcher = First(Hybrid(reserve="submission", cost=COST))
        simulate(crowd(seed, pool=True), dispatcher, predictor, overrun=overrun)
        for whole, late in dispatcher.waits:
            if given == (
                "run",
                "walltime",
            ):  # A job that overruns its reservation makes room for one with no lower request.
                assert late <= COST or not whole, seed
            else:
                assert late <= (0 if predictor == "walltime" else COST), seed
        count += len(dispatcher.waits)
    assert count > 3 * len(seeds)


def test_a_reservation_that_is_lost_is_noticed(monkeypatch):
    # Jobs are reserved for anew at each decision, the last first.
    def reserve_new(self, state):
        for waiting in reversed(state.queue):
            if waiting.id not in self.reserved:
                self.reserve(waiting, state.now)

    def follow(self, state):
        for id_ in list(self.reserved):
            self._drop_if_gone(id_, None, state.now)
        return whole(self, state)

    module = Conservative(compress="never").open.__globals__["Reservations"]
    whole = module.follow
    monkeypatch.setattr(module, "follow", follow)
    monkeypatch.setattr(module, "reserve_new", reserve_new)
    found = [watched(crowd(seed, pool=False), Conservative(), ("kill", "walltime")) for seed in range(10)]
    assert sum(len(each.late) for each in found) > 10
    assert sum(len(each.unexplained) for each in found) > 10
