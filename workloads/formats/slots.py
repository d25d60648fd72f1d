"""Convert a number of processors to node slots on a machine."""

import math
from collections.abc import Mapping

import numpy as np

from ...base import InputError, count_slots
from ...base.checks import MOST_PROCESSORS
from ..job import ResourceMap
from ..machine import Machine

MEMORY = "mem"
GPU = "gpu"


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

    def shape(self, processors: int, memory: int = 0, gpus: int = 0, least: int = 1) -> tuple[int, ResourceMap] | None:
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
        """
        whole = self._demand(processors, memory, gpus)
        if any(amount > self._total.get(name, 0) for name, amount in whole.items()):
            return None
        choices = [count for count in divisors(processors) if count >= min(least, processors)]
        for exact in (True, False) if gpus else (True,):
            for count in choices:
                if exact and gpus % count:
                    continue
                demand = self._demand(processors // count, memory, -(-gpus // count))
                if self._room(demand) >= count:
                    return count, demand
        return None

    def _demand(self, processors: int, memory: int, gpus: int) -> ResourceMap:
        amounts = {name: amount * processors for name, amount in self._equivalence.items()}
        if memory > 0:
            amounts[MEMORY] = memory * processors
        if gpus > 0:
            amounts[GPU] = gpus
        return ResourceMap(amounts)

    def _room(self, demand: ResourceMap) -> int:
        wanted = tuple(demand.get(name, 0) for name in self._resources)
        return int(count_slots(self._types, wanted) @ self._counts)
