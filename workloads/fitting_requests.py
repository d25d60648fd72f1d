"""Find the requests of a job that fit an empty machine. Candidates are its own request and its shapes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..base import BoolArray, InputError, IntArray
from .job import Job
from .machine import Machine
from .workload import Workload


def fitting_requests(job: Job, machine: Machine) -> tuple[int, ...]:
    """Return the requests that fit. First comes -1 for the job's own, then the indices of shapes."""
    asked = [(job.nodes, job.per_node), *((shape.nodes, shape.per_node or job.per_node) for shape in job.shapes)]
    return tuple(place for place, (nodes, per_node) in enumerate(asked, -1) if nodes <= room_for(machine, per_node))


def as_request(job: Job, places: Sequence[int]) -> Job:
    """Return a job with only some of its requests, by their places. The first is its own, the others are shapes."""
    first, *others = places
    shapes = tuple(job.shapes[place] for place in others)
    if first < 0:
        return replace(job, shapes=shapes)
    # Shapes take missing amounts from the removed request.
    shapes = tuple(replace(other, per_node=other.per_node or job.per_node) for other in shapes)
    return replace(job.on_shape(first), shapes=shapes)


def room_for(machine: Machine, per_node: Mapping[str, int]) -> int:
    """Return the slots of the empty machine, -1 if it lacks a resource."""
    try:
        return machine.slots(per_node)
    except InputError:
        return -1


def nodes_in_use(workload: Workload) -> IntArray:
    """Return the nodes with room for a slot of some job. Return all if no job fits."""
    machine = workload.machine
    columns = workload.columns
    every = np.arange(machine.nodes)
    if machine.nodes == 1:
        return every
    kinds, kind_of = np.unique(machine.capacity, axis=0, return_inverse=True)
    used = np.zeros(len(kinds), dtype=np.bool_)
    shapes = {shape.per_node for each in columns.shapes.values for shape in each if shape.per_node is not None}
    for per_node in {*columns.per_node.values, *shapes}:
        if room_for(machine, per_node) > 0:
            used |= (kinds >= np.array(machine.demand(per_node))).all(axis=1)
    found: IntArray = every[used[kind_of.reshape(-1)]]
    return found if len(found) else every


def on_nodes(workload: Workload, nodes: IntArray) -> Workload:
    """Return the same jobs on some of the nodes, without the resources that these lack. Rules name no node."""
    machine = workload.machine
    capacity = machine.capacity[nodes]
    there: BoolArray = np.array(capacity.any(axis=0))
    there[machine.primary] = True
    if machine.rules:  # They name resources.
        there[:] = True
    if len(nodes) == machine.nodes and there.all():
        return workload
    resources = tuple(name for name, kept in zip(machine.resources, there, strict=True) if kept)
    return replace(workload, machine=replace(machine, resources=resources, capacity=capacity[:, there]))


def why_it_cannot_run(job: Job, machine: Machine) -> str:
    """Return why a job's own request does not fit."""
    return Refusals(machine).reason(job)


class Refusals:
    """Reasons why requests do not fit a machine. The room for each kind of slot is counted once.

    Parameters
    ----------
    machine
        The empty machine.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._reasons: dict[Mapping[str, int], tuple[str, str]] = {}

    def reason(self, job: Job) -> str:
        """Return why a job's own request does not fit."""
        parts = self._reasons.get(job.per_node)
        if parts is None:
            parts = self._reasons[job.per_node] = self._parts(job.per_node)
        return str(job.nodes).join(parts) if parts[1] else parts[0]

    def _parts(self, per_node: Mapping[str, int]) -> tuple[str, str]:
        """Return the text before and after the number of slots. The second is empty if the first is all."""
        try:
            room = self._machine.slots(per_node)
        except InputError as error:
            return str(error), ""
        amounts = ", ".join(f"{name} {amount}" for name, amount in per_node.items())
        return "asks for ", f" slots of {amounts}; the machine has room for {room}"
