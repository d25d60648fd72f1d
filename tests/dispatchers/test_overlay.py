"""Reservations that stay on the availability profile, against a naive model that counts every second."""

from dataclasses import replace

import numpy as np
import pytest
from combinations import each_value
from drawn import number_of_inputs
from every_second import COMMANDS, play
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.dispatchers import JobView, State, Waiting
from hpcdispatch.dispatchers.overlay import Booking, Overlay
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Limit, Machine, Outage, Power, Reservation, Workload


def state_at(now, machine, queue=()):
    return State(now, list(queue), [], machine.capacity, machine)


class Bookings:
    """An overlay with the methods of `play`."""

    def __init__(self, capacity, rule):
        self.machine = Machine(("core", "mem", "gpu")[: capacity.shape[1]], capacity)
        self.overlay = Overlay(state_at(0, self.machine), rule)
        self.booked = {}

    def earliest(self, nodes, demand, duration, after, before=None):
        wanted = Booking(0, duration, np.zeros(nodes, dtype=np.int64), demand)
        return self.overlay.earlier(wanted, after, before)

    def free_until(self, nodes, demand, start):
        job = Job("1", 0, 1, 1, nodes, {"core": 1})
        return self.overlay.free_until(Waiting(JobView(job, self.machine), 1, 0, 0, 0, demand))

    def take(self, start, end, placement, demand):
        booking = self.booked[start, end, placement.tobytes(), demand] = Booking(start, end, placement, demand)
        self.overlay.add(booking)

    def give(self, start, end, placement, demand, now):
        booking = self.booked.pop((start, end, placement.tobytes(), demand), None)
        if booking is None:  # Two equal ones: the other is booked under the same key.
            booking = Booking(start, end, placement, demand)
        self.overlay.remove(booking)

    def advance(self, now):
        left = [each for each in self.booked.values() if each.end > now]
        self.overlay.rebase(state_at(now, self.machine), left)

    def total(self, time):
        return self.overlay.peak(time, time + 1)


def unequal(commands):
    """Return commands without two bookings of the same interval and nodes."""
    return [(command, first, 1 + place % 13, delay, pick) for place, (command, first, _, delay, pick) in commands]


@given(
    st.integers(1, 3).flatmap(
        lambda count: st.lists(st.lists(st.integers(1, 4), min_size=count, max_size=count), min_size=1, max_size=3)
    ),
    COMMANDS,
    st.sampled_from(["first-fit", "best-fit"]),
)
@settings(max_examples=number_of_inputs(100), deadline=None)
def test_bookings_agree_with_every_second(capacity, commands, rule):
    for said, expected in play(capacity, unequal(list(enumerate(commands))), Bookings, rule):
        assert said == expected


def test_its_own_room_is_open_to_a_booking():
    overlay = Overlay(state_at(0, Machine.homogeneous(2, core=1)))
    own = Booking(5, 15, np.array([0, 1]), (1,))
    overlay.add(own)
    assert overlay.earlier(own, 0)[0] == 0
    assert overlay.earlier(own, 0, own=False)[0] == 15


def test_a_booking_ends_before_nodes_close_by_its_walltime():
    machine = replace(Machine.homogeneous(2, core=1), reservations=(Reservation(50, 60, [0]),))
    job = Job("1", 0, 1, 80, 1, {"core": 1})
    waiting = Waiting(JobView(job, machine), 10, 0, 0, 0, (1,))
    overlay = Overlay(state_at(0, machine, [waiting]))
    start, placement = overlay.earliest(waiting, 0)
    assert (start, placement.tolist()) == (0, [1])
    overlay.add(Booking(0, 100, placement, (1,), 100))
    assert overlay.earliest(waiting, 0)[0] == 60


def ruled_jobs(seed, count=40):
    g = np.random.default_rng(seed)
    submit = 0
    for number in range(count):
        submit += int(g.choice([0, 1, 5, 20]))
        walltime = int(g.integers(1, 60))
        licences = {"x": int(g.integers(1, 3))} if g.random() < 0.4 else {}
        yield Job(
            str(number),
            submit,
            int(g.choice([walltime, g.integers(0, walltime + 1)])),
            walltime,
            int(g.integers(1, 4)),
            {"core": 1},
            str(g.choice(["ann", "bob"])),
            licences=licences,
        )


@pytest.mark.parametrize(
    ("name", "machine"),
    each_value(
        ["conservative", "conservative:compress=once", "rounds", "rounds:move=never", "rbs"],
        [Machine.pool(8), Machine.homogeneous(4, core=2)],
    ),
)
def test_reservations_obey_the_rules(name, machine):
    nodes = "all" if machine.nodes == 1 else [0, 1]
    machine = replace(
        machine,
        reservations=(Reservation(40, 60, nodes, every=150),),
        outages=(Outage(100, 120, [0], announced=False, requeue=True),),
        licences={"x": 3},
        limits=(Limit(3, by="user"),),
        power=Power({"core": 10}, idle=5, cap=((0, 200), (100, 65)), every=200),
    )
    for seed in range(number_of_inputs(8, 1)):
        workload = Workload(tuple(ruled_jobs(seed)), machine)
        for predictor in ("walltime", "oracle"):
            result = simulate(workload, name, predictor, overrun="kill")
            check(workload, result)
            assert (result.jobs["status"] != "waiting").all()
            if name != "rbs":  # Its longest jobs first leave it to the check of starts.
                assert "refused" not in result.manifest
