"""What the rules of several papers share: a pool of cores, and when a job could start."""

from collections.abc import Iterable

from ....base import InputError
from ....dispatchers import Running, Waiting
from ....workloads import Machine


def check_pool(machine: Machine) -> None:
    """Raise :class:`InputError` unless a machine is one node of one resource, as in these papers."""
    if machine.nodes > 1 or len(machine.resources) > 1:
        raise InputError(f"expected a pool of cores, got {machine.nodes} nodes with {', '.join(machine.resources)}")


def cores(job: Waiting | Running) -> int:
    """Return the cores of a job on a pool."""
    return job.nodes * int(job.demand[0])


def shadow_time(nodes: int, free: int, ends: Iterable[tuple[int, int]], now: int) -> int:
    """Return when so many nodes are free. Running jobs are given by their ends and nodes, in the order of the ends."""
    time = now
    for end, more in ends:
        if free >= nodes:
            break
        free, time = free + more, end
    return time
