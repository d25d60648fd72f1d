"""Slots of one demand are given out as nodes are filled one by one, and only where they tell all there is to know."""

from __future__ import annotations

import numpy as np
import pytest

from hpcdispatch.dispatchers import FCFS, NodeSpace
from hpcdispatch.dispatchers.backfilling.slot_space import SlotSpace, room_of
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import Job, Machine, Workload


class Rooms(FCFS):
    """Keeps which kind of room each decision was made in."""

    def dispatch(self, state):
        room = room_of(state, self.placement)
        assert not isinstance(room, SlotSpace) or room.left == room_by_counting(state)
        self.kinds.append(type(room))
        return super().dispatch(state)


def room_by_counting(state):
    space = NodeSpace(state.free, state.machine)
    return space.room(state.queue[0].demand, 10**6)


def kinds(jobs, machine):
    dispatcher = Rooms()
    object.__setattr__(dispatcher, "kinds", [])
    simulate(Workload(tuple(jobs), machine), dispatcher)
    return dispatcher.kinds


@pytest.mark.parametrize("resources", [1, 2])
@pytest.mark.parametrize("most", [1, 5])
def test_the_nodes_are_those_of_first_fit(resources, most):
    rng = np.random.default_rng(most)
    demand = (2, 3)[:resources]
    for _ in range(200):
        free = rng.integers(0, most + 1, (12, 1)) * demand + rng.integers(0, 2, (12, resources))
        nodes = NodeSpace(free, Machine(("core", "mem")[:resources], free + 1))
        slots = SlotSpace(free, demand, nodes.room(demand, 10**6))
        for size in rng.integers(1, 9, 12).tolist():
            expected, found = nodes.place(size, demand), slots.place(size, demand)
            assert (found is None) == (expected is None)
            if expected is not None:
                assert found.tolist() == expected.tolist()


def test_jobs_that_ask_for_the_same_are_put_into_slots():
    jobs = [Job(str(number), number, 50, 60, 1 + number % 5, {"core": 2}) for number in range(40)]
    assert set(kinds(jobs, Machine.homogeneous(6, core=5))) == {SlotSpace}


def test_slots_are_not_counted_while_a_job_of_another_demand_waits_or_runs():
    jobs = [Job(str(number), number, 50, 60, 2, {"core": 2}) for number in range(20)]
    jobs[7] = Job("7", 7, 50, 60, 2, {"core": 3})
    assert kinds(jobs, Machine.homogeneous(6, core=5))[7:9] == [NodeSpace, NodeSpace]
    assert set(kinds(jobs[:7], Machine.homogeneous(6, core=5))) == {SlotSpace}
    assert kinds(jobs, Machine.homogeneous(6, core=5))[-1] is SlotSpace
