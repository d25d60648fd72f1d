"""The room of a named reservation, as the jobs see it that name it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from ..base import LONGEST
from ..models import shift
from ..workloads import Machine
from ..workloads.machine_rules import Reservation
from .views import Running, StateView, Waiting


def inside(state: StateView, machine: Machine, reservation: Reservation, queue: Sequence[Waiting]) -> StateView:
    """Return a state whose machine is open only in the windows of a reservation, with its nodes and amounts.

    Amounts of the whole machine, such as licences, are as before.

    Parameters
    ----------
    state
        The present state.
    machine
        See :func:`open_inside`.
    reservation
        The reservation.
    queue
        Jobs that name it.
    """
    running: Sequence[Running] = state.running.entries
    free = state.free
    if reservation.amounts is not None:
        on = any(reservation.windows(state.now, state.now + 1))
        free = machine.capacity.copy()
        shown = []
        for run in running:
            if on and run.job.reservation == reservation.name:
                shift(free, run.placement, run.demand, -1)
                shown.append(run)
            else:  # It uses the other part of the nodes, but the same licences.
                outside = copy(run)
                outside.demand = (0,) * len(run.demand)
                shown.append(outside)
        running = shown
        if on:
            free = np.minimum(free, state.free)
    found: StateView = type(state)(state.now, queue, running, free, machine)  # type: ignore[call-arg]
    return found


def open_inside(machine: Machine, reservation: Reservation) -> Machine:
    """Return a machine that is open only in the windows of a reservation."""
    nodes = np.array(reservation.indices(machine.nodes))
    others = np.setdiff1d(np.arange(machine.nodes), nodes).tolist()
    begin, end, every = reservation.begin, reservation.end, reservation.every
    closed = [Reservation(0, LONGEST, others)] if others else []
    if begin:
        closed.append(Reservation(0, begin))
    if every is None:
        closed.append(Reservation(end, LONGEST))
    elif every > end - begin:
        closed.append(Reservation(end, begin + every, every=every))
    capacity = machine.capacity
    if reservation.amounts is not None:
        capacity = capacity.copy()
        capacity[nodes] = np.minimum(capacity[nodes], [reservation.amounts.get(each, 0) for each in machine.resources])
    return replace(machine, capacity=capacity, reservations=tuple(closed))
