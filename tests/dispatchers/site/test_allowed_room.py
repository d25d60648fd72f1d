"""What the gate leaves to dispatchers without a profile: no later job takes the amounts that an earlier one keeps."""

from dataclasses import replace

import numpy as np

from hpcdispatch.dispatchers import JobView, Running, Start, State, Waiting
from hpcdispatch.dispatchers.site.rule_gate import AllowedRoom
from hpcdispatch.workloads import Job, Limit, Machine

#: A user may use 8 of 16 cores.
MACHINE = replace(Machine.pool(16), limits=(Limit(8, of="core", by="user"),))


def waiting(order, cores, walltime):
    job = Job(str(order), 0, walltime, walltime, cores, {"core": 1}, user="ann")
    return Waiting(JobView(job, MACHINE), walltime, 0, 0, order, (1,))


def room_for(jobs, used=0):
    run = Running(JobView(Job("runs", 0, 100, 100, used or 1, user="ann"), MACHINE), 0, np.zeros(used, int), (1,), 9)
    run.predicted_end = 100
    state = State(0, jobs, [run] if used else [], np.array([[16 - used]]), MACHINE)
    return AllowedRoom(state.profile(), jobs, layouts=False)


def test_a_later_job_leaves_what_an_earlier_one_keeps():
    jobs = [waiting(0, 7, 50), waiting(1, 2, 500), waiting(2, 2, 100)]
    room = room_for(jobs, used=6)
    assert room.shown == {2}
    assert [room.leaves_amounts(job) for job in jobs] == [False, False, True]
    assert not room_for(jobs, used=6).leaves_amounts(jobs[1])


def test_an_earlier_job_need_not_leave_what_a_later_one_keeps():
    jobs = [waiting(0, 2, 500), waiting(1, 7, 50)]
    room = room_for(jobs, used=6)
    assert room.shown == {0}
    assert room.leaves_amounts(jobs[0])


def test_a_job_that_lacks_an_amount_beside_starts_keeps_it_from_later_ones():
    jobs = [waiting(0, 6, 100), waiting(1, 7, 50), waiting(2, 2, 500), waiting(3, 2, 100)]
    room = room_for(jobs)
    assert room.shown == {0, 1, 2, 3}
    assert room.leaves_amounts(jobs[0])
    assert room.take(Start(jobs[0], np.zeros(6, int)), jobs[0]) is not None
    assert [room.leaves_amounts(job) for job in jobs[1:]] == [False, False, True]
