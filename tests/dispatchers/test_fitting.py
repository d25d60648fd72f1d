"""Jobs that fit, from the columns."""

import numpy as np
import pytest

from hpcdispatch.dispatchers import State, space_of
from hpcdispatch.dispatchers.fitting import amounts_of, fitting
from hpcdispatch.dispatchers.protocol import JobView, Waiting
from hpcdispatch.models import first_by
from hpcdispatch.workloads import Job, Machine


def state_of(machine, requests):
    queue = []
    for order, (nodes, core, mem) in enumerate(requests):
        job = Job(str(order), 0, 10, 10, nodes=nodes, per_node={"core": core, "mem": mem})
        queue.append(Waiting(JobView(job, machine), 10, 0, 0, order, machine.demand(job.per_node)))
    return State(0, queue, [], machine.capacity, machine)


@pytest.mark.parametrize("nodes", [1, 3])
def test_it_is_what_the_space_says_of_each_job(nodes):
    machine = Machine(("core", "mem"), np.tile([4, 6], (nodes, 1)))
    rng = np.random.default_rng(nodes)
    requests = rng.integers((1, 1, 0), (7, 5, 7), size=(60, 3)).tolist()
    state = state_of(machine, requests)
    space = space_of(state)
    expected = [space.room(entry.demand, entry.nodes) >= entry.nodes for entry in state.queue]
    need = amounts_of(state.queue)
    assert need.tolist() == [[slots * core, slots * mem] for slots, core, mem in requests]
    fits, together = fitting(state, need, space)
    assert fits.tolist() == expected
    assert not together
    assert 0 < sum(expected) < 60
    last = first_by(-np.arange(60.0), fits, 5)
    assert last.tolist() == np.flatnonzero(expected)[::-1][:5].tolist()


def test_all_may_fit_together():
    machine = Machine(("core", "mem"), np.array([[4, 6]]))
    state = state_of(machine, [(2, 1, 1), (2, 1, 2)])
    assert fitting(state, amounts_of(state.queue), space_of(state))[1]
