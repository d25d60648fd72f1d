"""The model PCP'21: a box per slot, with the units of a resource on one axis and time on the other.

Galleguillos, Kiziltan and Soto, *A Job Dispatcher for Large and Heterogeneous HPC Systems Running Modern Applications*
(CP 2021, LIPIcs 210, 26; arXiv 2009.10348).

The nodes of a resource lie side by side on its axis. The size of the model depends on the slots of the jobs, not on the
nodes of the machine. It is more restrictive than PCP: the units of a slot stay adjacent while the job runs.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from ortools.sat.python import cp_model

from ...base import IntArray
from ..scheduling.list_schedules import Schedule
from ..scheduling.problem import Problem
from .allocation import NodeAllocation
from .limits import DecisionBudget
from .variables import Variables

#: Cost of a box, in intervals. CP-SAT compares each box with all others before its search. Deterministic time does not
#: count that.
_BOX = 20


@dataclass(frozen=True, slots=True)
class SlotBox:
    """The units of one resource that one slot of a job uses.

    Attributes
    ----------
    lowest
        First unit on the axis of the resource.
    units
        All its units, an interval on that axis.
    """

    lowest: cp_model.IntVar
    units: cp_model.IntervalVar


@dataclass(frozen=True, slots=True)
class HeldBox:
    """Units of one resource that are occupied in [begin, end).

    The units are ``lowest`` to ``lowest + height - 1``.
    """

    begin: int
    end: int
    lowest: int
    height: int

    def meets(self, begin: int, end: int) -> bool:
        """Return whether the units are occupied at some time in [begin, end)."""
        return self.begin < end and begin < self.end


class NodeBoxes(NodeAllocation):
    """Give every slot a box on the axis of each resource. No two boxes overlap.

    All boxes of a slot lie in one node. Equal nodes are neighbours on an axis. Occupied amounts are the lowest units of
    a node. So its free units are adjacent, in whatever order jobs end.

    Parameters
    ----------
    problem
        Jobs, and a machine with nodes.

    Attributes
    ----------
    first, capacity
        First unit and number of units of each node on each axis. Shape (nodes, resources), in axis order.
    boxes
        Boxes by job and resource, one per slot.
    node
        Node by job and slot, as a position on the axes. Only for jobs with several resources.
    held
        Occupied boxes of each resource that a job demands.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        classes = problem.classes
        self.capacity = np.maximum(np.repeat(classes.capacity, classes.count, axis=0), 0)
        self.first = np.cumsum(self.capacity, axis=0) - self.capacity
        self.boxes: dict[tuple[int, int], list[SlotBox]] = {}
        self.node: dict[tuple[int, int], cp_model.IntVar] = {}
        self.held = {
            resource: list(self._held(resource)) for resource in np.flatnonzero(problem.demand.any(axis=0)).tolist()
        }
        slots = int(problem.slots @ np.count_nonzero(problem.demand, axis=1))
        self.size = _BOX * (slots + sum(map(len, self.held.values())))

    def add_to(self, variables: Variables) -> None:
        """Add the boxes and their constraints."""
        if self.problem.overfull:
            variables.contradict()  # Over capacity.
            return
        for job in range(self.problem.jobs):
            self.add_boxes(variables, job)
            self.add_node_maps(variables, job)
        self.add_symmetry(variables)
        self.add_no_overlap(variables)
        self.add_disjunctions(variables)

    def add_boxes(self, variables: Variables, job: int) -> None:
        """Add the boxes of a job, each within a node: ``first[n] <= lowest <= first[n] + capacity[n] - demand``."""
        model = variables.model
        demand = self.problem.demand[job]
        nodes = self.nodes_for(job)
        if not len(nodes):
            variables.contradict()  # Even an empty machine has no room for one slot.
            return
        for resource in np.flatnonzero(demand).tolist():
            amount = int(demand[resource])
            first = self.first[nodes, resource]
            last = first + self.capacity[nodes, resource] - amount
            domain = cp_model.Domain.from_intervals(np.column_stack((first, last)).tolist())
            self.boxes[job, resource] = []
            for slot in range(int(self.problem.slots[job])):
                name = f"[{variables.labels[job]},{slot},{resource}]"
                lowest = model.new_int_var_from_domain(domain, f"lowest{name}")
                units = model.new_fixed_size_interval_var(lowest, amount, f"units{name}")
                self.boxes[job, resource].append(SlotBox(lowest, units))

    def nodes_for(self, job: int) -> IntArray:
        """Return the nodes, by axis position, where a slot of a job fits when they are empty."""
        return np.flatnonzero((self.capacity >= self.problem.demand[job]).all(axis=1))

    def add_node_maps(self, variables: Variables, job: int) -> None:
        """Keep the boxes of a slot in one node: ``first[node] <= lowest <= first[node] + capacity[node] - demand``.

        An element constraint maps the node to its units on each axis. A slot with one resource needs no map.
        """
        model = variables.model
        demand = self.problem.demand[job]
        resources = np.flatnonzero(demand).tolist()
        if len(resources) < 2:
            return
        nodes = cp_model.Domain.from_values(self.nodes_for(job).tolist())
        for slot in range(int(self.problem.slots[job])):
            node = self.node[job, slot] = model.new_int_var_from_domain(nodes, f"node[{variables.labels[job]},{slot}]")
            for resource in resources:
                lowest = self.boxes[job, resource][slot].lowest
                capacity = self.capacity[:, resource]
                amount = int(demand[resource])
                if (capacity == capacity[0]).all():
                    each = int(capacity[0])
                    model.add(lowest >= each * node)
                    model.add(lowest <= each * node + (each - amount))
                    continue
                first = self.first[:, resource]
                for name, units in (("first", first), ("last", first + capacity - amount)):
                    most = max(int(units.max()), 0)
                    unit = model.new_int_var(-amount, most, f"{name}[{variables.labels[job]},{slot},{resource}]")
                    model.add_element(node, units.tolist(), unit)
                    model.add(lowest >= unit if name == "first" else lowest <= unit)

    def add_symmetry(self, variables: Variables) -> None:
        """Order the equal slots of a job: ``lowest[i] + demand <= lowest[i + 1]``."""
        for (job, resource), boxes in self.boxes.items():
            amount = int(self.problem.demand[job, resource])
            for below, above in pairwise(boxes):
                variables.model.add(below.lowest + amount <= above.lowest)

    def add_no_overlap(self, variables: Variables) -> None:
        """Forbid overlaps among the boxes of a resource and its occupied boxes."""
        model = variables.model
        of_resource: dict[int, list[tuple[cp_model.IntervalVar, cp_model.IntervalVar]]] = defaultdict(list)
        for (job, resource), of_job in self.boxes.items():
            of_resource[resource] += [(variables.jobs[job].interval, box.units) for box in of_job]
        for resource, boxes in sorted(of_resource.items()):
            for held in self.held[resource]:
                units = model.new_fixed_size_interval_var(held.lowest, held.height, f"held[{held.lowest},{resource}]")
                boxes.append((variables.span(held.begin, held.end), units))
            spans, units_of = zip(*boxes, strict=True)
            model.add_no_overlap_2d(spans, units_of)

    def _held(self, resource: int) -> Iterator[HeldBox]:
        """Yield the occupied boxes of a resource.

        Nodes without room for any job are full. Full neighbours form one box.
        """
        problem = self.problem
        classes = self.problem.classes
        asked = problem.demand[:, resource]
        least = int(asked[asked > 0].min())
        ends = [*classes.times[1:].tolist(), problem.horizon]
        begin = np.append(0, np.cumsum(classes.count))
        for number, count in enumerate(classes.count.tolist()):
            capacity = int(classes.capacity[number, resource])
            free = classes.free[:, number, resource]
            held = np.where(free < least, capacity, capacity - free)
            changes = np.flatnonzero(np.diff(held, prepend=-1)).tolist()
            for step, following in pairwise([*changes, len(held)]):
                height = int(held[step])
                span = (int(classes.times[step]), ends[following - 1])
                if not height or span[0] >= span[1]:
                    continue
                lowest = self.first[begin[number] : begin[number + 1], resource].tolist()
                if height == capacity:
                    yield HeldBox(*span, lowest[0], capacity * count)
                else:
                    for unit in lowest:
                        yield HeldBox(*span, unit, height)

    def add_disjunctions(self, variables: Variables) -> None:
        """Separate two jobs in time if they exceed a resource together: ``need[j] + need[k] > all``.

        The paper finds such pairs by energy: ``need * duration`` above ``all * the longer duration``. The pairs here
        are some of those. The paper also starts the job with less energy first. That loses schedules and is not done
        here.
        """
        need = self.problem.need
        total = self.capacity.sum(axis=0)
        for job, other in combinations(range(self.problem.jobs), 2):
            if (need[job] + need[other] > total).any():
                variables.model.add_no_overlap([variables.jobs[job].interval, variables.jobs[other].interval])

    def suggest(self, variables: Variables, schedule: Schedule) -> None:
        """Add units for the slots of a schedule to the hint, in order of start, lowest unit first.

        A box gets no hint if the free units of its node are not adjacent.
        """
        taken: dict[tuple[int, int], list[HeldBox]] = defaultdict(list)
        for resource, boxes in self.held.items():
            for held in boxes:
                lowest = self.first[:, resource]
                inside = (lowest < held.lowest + held.height) & (held.lowest < lowest + self.capacity[:, resource])
                for node in np.flatnonzero(inside).tolist():
                    taken[node, resource].append(held)
        members = self.problem.classes.members
        for job in np.argsort(schedule.starts, kind="stable").tolist():
            span = int(schedule.starts[job]), int(schedule.starts[job] + self.problem.duration[job])
            for slot, node in enumerate(np.repeat(np.arange(len(members)), schedule.counts[job, members]).tolist()):
                if (job, slot) in self.node:
                    variables.model.add_hint(self.node[job, slot], node)
                for resource in np.flatnonzero(self.problem.demand[job]).tolist():
                    here = taken[node, resource]
                    amount = int(self.problem.demand[job, resource])
                    unit = self._lowest(node, resource, [box for box in here if box.meets(*span)], amount)
                    if unit is not None:
                        here.append(HeldBox(*span, unit, amount))
                        variables.model.add_hint(self.boxes[job, resource][slot].lowest, unit)

    def _lowest(self, node: int, resource: int, beside: list[HeldBox], amount: int) -> int | None:
        """Return the first of `amount` adjacent free units of a node, or ``None``."""
        unit = int(self.first[node, resource])
        top = unit + int(self.capacity[node, resource])
        for box in sorted(beside, key=lambda box: box.lowest):
            if unit + amount <= box.lowest:
                break
            unit = max(unit, box.lowest + box.height)
        return unit if unit + amount <= top else None

    def places(self, solver: cp_model.CpSolver, starts: IntArray, budget: DecisionBudget) -> IntArray | None:
        """Return the slots of each job on each node in a solver's solution. Shape (jobs, nodes)."""
        counts = np.zeros((self.problem.jobs, self.problem.nodes), dtype=np.int64)
        members = self.problem.classes.members
        placed: set[int] = set()
        for (job, resource), boxes in self.boxes.items():
            if job not in placed:
                placed.add(job)
                units = [solver.value(box.lowest) for box in boxes]
                places = np.searchsorted(self.first[:, resource], units, side="right") - 1
                np.add.at(counts[job], members[places], 1)
        return counts
