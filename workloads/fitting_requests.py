"""Find the requests of a job that fit an empty machine. Candidates are its own request and its shapes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..base import BoolArray, InputError, IntArray, count_slots
from .job import Job, Shape, slot_units
from .machine import Machine
from .workload import Workload


def fitting_requests(job: Job, machine: Machine) -> tuple[int, ...]:
    """Return the requests that fit. First comes -1 for the job's own, then the indices of shapes."""
    if job.slots or job.within:
        requests = (None, *job.shapes)
        return tuple(place for place, shape in enumerate(requests, -1) if lies_on(machine, job, shape))
    asked = [(job.nodes, job.per_node), *((shape.nodes, shape.per_node or job.per_node) for shape in job.shapes)]
    return tuple(place for place, (nodes, per_node) in enumerate(asked, -1) if nodes <= room_for(machine, per_node))


def units_of(job: Job) -> tuple[int, Mapping[str, int], tuple[int, ...]]:
    """Return the number of equal slots of a job, and the amounts of each.

    Unequal slots are counted in units of the amount of which all are multiples. The third are the units of each,
    largest first. It is empty for equal slots.
    """
    if not job.slots:
        return job.nodes, job.per_node, ()
    unit, factors = slot_units(f"job {job.id}", job.slots)
    return sum(factors), unit, tuple(sorted(factors, reverse=True))


def lies_on(machine: Machine, job: Job, shape: Shape | None = None) -> bool:
    """Return whether the slots of a job, or of its shape, fit the empty machine as they must lie, for good.

    The level of a job that waits for its groups only for some time does not count.
    """
    nodes, per_node, sizes = units_of(job)
    if shape is not None:
        nodes, per_node = shape.nodes, shape.per_node or job.per_node
    if nodes > room_for(machine, per_node):
        return False
    counts = count_slots(machine.capacity, machine.demand(per_node))
    if not (job.within and job.within_wait is None):
        return _holds(counts, nodes, sizes)
    labels = machine.labels[machine.level_names.index(job.within)] if job.within in machine.levels else None
    if labels is None:  # The simulation refuses it.
        return True
    sums = np.bincount(labels, weights=counts)
    if job.within_groups == 1:
        return any(_holds(np.where(labels == group, counts, 0), nodes, sizes) for group in range(len(sums)))
    chosen = np.argsort(-sums, kind="stable")[: job.within_groups]
    return _holds(np.where(np.isin(labels, chosen), counts, 0), nodes, sizes)


def _holds(counts: IntArray, nodes: int, sizes: tuple[int, ...]) -> bool:
    """Return whether nodes have room for slots, the largest first, each on the first node with room."""
    if int(counts.sum()) < nodes:
        return False
    left = counts.copy() if sizes else counts
    for size in sizes:
        node = int(np.argmax(left >= size))
        if left[node] < size:
            return False
        left[node] -= size
    return True


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
    if machine.nodes == 1 or machine.levels:
        return every
    kinds, kind_of = np.unique(machine.capacity, axis=0, return_inverse=True)
    used = np.zeros(len(kinds), dtype=np.bool_)
    shapes = {shape.per_node for each in columns.shapes.values for shape in each if shape.per_node is not None}
    slots = {slot for each in columns.slots.values for slot in each or ()}
    for per_node in {*columns.per_node.values, *shapes, *slots}:
        if room_for(machine, per_node) > 0:
            used |= (kinds >= np.array(machine.demand(per_node))).all(axis=1)
    nodes: IntArray = every[used[kind_of.reshape(-1)]]
    return nodes if len(nodes) else every


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
        if job.slots:
            return _slots_reason(job, self._machine)
        if job.within and job.nodes <= room_for(self._machine, job.per_node):
            groups = f"{job.within_groups} groups" if job.within_groups > 1 else "one group"
            amounts = ", ".join(f"{name} {amount}" for name, amount in job.per_node.items())
            return f"asks for {job.nodes} slots of {amounts} in {groups} of level {job.within}; none has so much room"
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


def _slots_reason(job: Job, machine: Machine) -> str:
    """Return why unequal slots do not fit."""
    slots = job.slots or ()
    told = ", ".join("+".join(f"{amount} {name}" for name, amount in slot.items()) for slot in slots[:3])
    told += f" and {len(slots) - 3} more" if len(slots) > 3 else ""
    for slot in slots:
        if room_for(machine, slot) < 1:
            amounts = ", ".join(f"{name} {amount}" for name, amount in slot.items())
            return f"asks for slots of {told}; no node has {amounts}"
    where = f" in {job.within_groups} group(s) of level {job.within}" if job.within else ""
    return f"asks for slots of {told}; the machine has no room for all of them{where}"
