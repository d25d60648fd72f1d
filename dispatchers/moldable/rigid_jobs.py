"""Rigid view of a moldable job on one of its shapes, for dispatchers of rigid jobs."""

import copy
from dataclasses import dataclass

from ...workloads import Machine
from ..protocol import State, Waiting
from ..rule_book import has_rules


@dataclass(frozen=True, slots=True)
class Size:
    """A request that a moldable job may submit.

    Attributes
    ----------
    shape
        Index of the shape. ``None`` for the job's own request.
    nodes, demand
        Slots, and amounts per slot.
    predicted, walltime
        Predicted run time and walltime, seconds.
    """

    shape: int | None
    nodes: int
    demand: tuple[int, ...]
    predicted: int
    walltime: int


def sizes_of(waiting: Waiting, machine: Machine) -> list[Size]:
    """Return the requests of a job that fit an empty machine: its own first, then its shapes."""
    sizes = [Size(None, waiting.nodes, waiting.demand, waiting.predicted, waiting.job.walltime)]
    sizes += [
        Size(index, shape.nodes, shape.demand, shape.predicted, shape.walltime)
        for index, shape in enumerate(waiting.job.shapes)
    ]
    return [size for size in sizes if machine.slots_of(size.demand) >= size.nodes]


def allowed_sizes(waiting: Waiting, state: State) -> list[Size]:
    """Return the requests of a job that may ever start on the empty machine, by its rules as well.

    Without any, the first.
    """
    sizes = sizes_of(waiting, state.machine)
    if len(sizes) < 2 or not has_rules(state):
        return sizes
    allowed = []
    for size in sizes:
        rigid = as_rigid(waiting, size)
        if state.showing([rigid], [], state.machine.capacity).profile().earliest(rigid) is not None:
            allowed.append(size)
    return allowed or sizes[:1]


def as_rigid(waiting: Waiting, size: Size) -> Waiting:
    """Return a job with one request only. For its own request, the same entry."""
    if size.shape is None:
        return waiting
    job = copy.copy(waiting.job)
    job.nodes = size.nodes
    job.walltime = size.walltime
    job.per_node = waiting.job.shapes[size.shape].per_node
    job.shapes = ()
    return waiting.shown_as(job=job, predicted=size.predicted, demand=size.demand)
