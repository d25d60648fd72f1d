"""Convert a number of processors to node slots on a machine."""

import json
import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...base import InputError, count_slots
from ...base.checks import MOST_PROCESSORS
from ..job import Job, ResourceMap
from ..machine import PARTITION, Machine

MEMORY = "mem"
GPU = "gpu"
#: Most slots that a text may list.
_MOST_SLOTS = 100_000
_COUNTS = re.compile(r"[1-9]\d{0,8}(?:\s*[+;, ]\s*[1-9]\d{0,8})*")


class NodeRequest(NamedTuple):
    """The slots of a job on the nodes of a machine.

    Attributes
    ----------
    nodes, per_node
        Number of slots, and the amounts of each; the largest ones of unequal slots.
    slots
        The amounts of unequal slots. ``None``: all have `per_node`.
    """

    nodes: int
    per_node: ResourceMap
    slots: tuple[Mapping[str, int], ...] | None = None


def read_slots(text: str) -> list[int] | list[dict[str, int]]:
    """Return the processors of each slot in a text such as ``8+4``, or the amounts as in ``[{"gpu": 8}, {"gpu": 4}]``.

    Empty if it is no such text.
    """
    if _COUNTS.fullmatch(text):
        counts = [int(part) for part in re.split(r"[+;, ]+", re.sub(r"\s+", " ", text)) if part]
        return counts if len(counts) <= _MOST_SLOTS else []
    if not text.startswith("["):
        return []
    try:
        slots = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(slots, list) or not 0 < len(slots) <= _MOST_SLOTS:
        return []
    if all(type(each) is int and 0 < each <= MOST_PROCESSORS for each in slots):
        return slots
    usual = all(
        isinstance(each, dict) and each and all(type(value) is int and value >= 0 for value in each.values())
        for each in slots
    )
    return slots if usual and all(any(each.values()) for each in slots) else []


def processors_of(slots: list[int] | list[dict[str, int]]) -> int:
    """Return the processors of all slots: their cores, or the amounts of their first resource."""
    return sum(each if isinstance(each, int) else each.get("core", next(iter(each.values()))) for each in slots)


def divisors(number: int) -> list[int]:
    """Return the divisors of a whole number >= 1, from 1 to itself."""
    to_root = np.arange(1, math.isqrt(number) + 1)
    low: list[int] = to_root[number % to_root == 0].tolist()
    return low + [number // divisor for divisor in reversed(low) if divisor * divisor != number]


class Slotter:
    """Groups the processors of a job into node slots as large as the nodes of a machine allow.

    A job of p processors gets n slots of p/n processors each, so no processor is added or lost. n is the smallest
    divisor of p for which the empty machine has room for all n slots.

    Parameters
    ----------
    machine
        The machine; its `equivalence` has the amounts of one processor.

    Raises
    ------
    InputError
        If the machine lacks a resource of a processor, or has too many processors to count.
    """

    def __init__(self, machine: Machine) -> None:
        called = f" {machine.name} " if machine.name else " "
        for name in machine.equivalence:
            if name not in machine.resources:
                raise InputError(
                    f"machine{called}has no resource {name!r}, which the processors of a trace ask for; "
                    f"it has: {', '.join(machine.resources)}"
                )
        self._equivalence: Mapping[str, int] = machine.equivalence
        self._resources = machine.resources
        self._pool = machine.nodes == 1
        self.partitions = frozenset(
            name.removeprefix(PARTITION) for name in machine.resources if name.startswith(PARTITION)
        )
        self._types, self._counts = np.unique(machine.capacity, axis=0, return_counts=True)
        self._total = dict(zip(machine.resources, machine.capacity.sum(axis=0).tolist(), strict=True))
        for name, unit in machine.equivalence.items():
            if self._total[name] // unit > MOST_PROCESSORS:
                raise InputError(
                    f"machine{called}has {self._total[name]:,} of {name!r}, "
                    f"expected at most {MOST_PROCESSORS:,} processors"
                )

    def takes(self, resource: str) -> bool:
        """Return whether the machine has `resource` beside those of its processors."""
        return resource in self._resources and resource not in self._equivalence

    def shape(
        self, processors: int, memory: int = 0, gpus: int = 0, least: int = 1, partition: str = ""
    ) -> tuple[int, ResourceMap] | None:
        """Return the number of slots and the resources of each, or ``None`` if there is no room for them.

        Parameters
        ----------
        processors
            Number of processors, at least 1.
        memory
            Amount of resource ``mem`` per processor; 0 if unknown.
        gpus
            Amount of resource ``gpu`` of the whole job. If no fitting number of slots divides it, each slot gets the
            next whole number.
        least
            Least number of slots, if there are as many processors.
        partition
            The partition whose nodes it uses; empty: all.
        """
        whole = self._demand(processors, memory, gpus, partition)
        if any(amount > self._total.get(name, 0) for name, amount in whole.items()):
            return None
        choices = [count for count in divisors(processors) if count >= min(least, processors)]
        for exact in (True, False) if gpus else (True,):
            for count in choices:
                if exact and gpus % count:
                    continue
                demand = self._demand(processors // count, memory, -(-gpus // count), partition)
                if self._room(demand) >= count:
                    return count, demand
        return None

    def unequal(
        self, text: str, processors: int, memory: int = 0, gpus: int = 0, partition: str = ""
    ) -> NodeRequest | None:
        """Return the slots of a text, as :func:`read_slots`. The other parameters are those of :meth:`shape`.

        ``None`` if a slot fits no node, or if they are no multiples of one amount. Also on a pool, which has one node.
        """
        read = read_slots(text)
        if self._pool or not read:
            return None
        amounts: list[Mapping[str, int]] = []
        for each in read:
            if isinstance(each, int):
                if gpus * each % max(processors, 1):
                    return None
                amounts.append(self._demand(each, memory, gpus * each // max(processors, 1), partition))
                continue
            asked = {name: amount for name, amount in each.items() if name in self._resources}
            if not any(asked.values()):
                return None
            amounts.append(ResourceMap(asked | self._of_partition(processors_of([each]), partition)))
        try:
            job = Job("slots", 0, 1, 1, slots=tuple(amounts))
        except ValueError:  # no multiples of one amount
            return None
        if any(self._room(ResourceMap(each)) < 1 for each in amounts):
            return None
        equal = all(each == amounts[0] for each in amounts)
        return NodeRequest(job.nodes, ResourceMap(job.per_node), None if equal else job.slots)

    def divides(self, text: str) -> bool:
        """Return whether a text lists unequal slots for several nodes."""
        read = read_slots(text)
        return not self._pool and any(each != read[0] for each in read)

    def _of_partition(self, processors: int, partition: str) -> dict[str, int]:
        """Return the units of a partition, one per processor. Thus unequal slots stay multiples of one amount."""
        return {f"{PARTITION}{partition}": processors} if partition in self.partitions else {}

    def _demand(self, processors: int, memory: int, gpus: int, partition: str = "") -> ResourceMap:
        amounts = {name: amount * processors for name, amount in self._equivalence.items()}
        if memory > 0:
            amounts[MEMORY] = memory * processors
        if gpus > 0:
            amounts[GPU] = gpus
        return ResourceMap(amounts | self._of_partition(processors, partition))

    def _room(self, demand: ResourceMap) -> int:
        wanted = tuple(demand.get(name, 0) for name in self._resources)
        return int(count_slots(self._types, wanted) @ self._counts)
