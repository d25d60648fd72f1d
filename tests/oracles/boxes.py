"""Scheduling on nodes as the packing of boxes. One axis has the nodes of each resource side by side, the other time.

The idea of Galleguillos et al. (arXiv 2009.10348), with a box of height one for each unit of a slot. All boxes of a
slot lie in the stretch of its node. Boxes of height one fit wherever the sums allow it. Nothing is lost.
"""

from __future__ import annotations

import numpy as np
from ortools.sat.python import cp_model

from hpcdispatch.models.scheduling.problem import Problem


class Boxes:
    """The boxes of a problem, and a model without overlaps."""

    def __init__(self, problem: Problem, horizon: int) -> None:
        self.problem = problem
        self.model = cp_model.CpModel()
        self.offset = np.cumsum(problem.capacity, axis=0) - problem.capacity
        self.boxes = [([], []) for _ in range(problem.capacity.shape[1])]
        self.starts = [self.model.new_int_var(0, horizon - 1, f"start{job}") for job in range(problem.jobs)]
        for job, start in enumerate(self.starts):
            span = self.model.new_fixed_size_interval_var(start, int(problem.duration[job]), "")
            for _ in range(int(problem.slots[job])):
                self.lay(span, problem.demand[job], self.model.new_int_var(0, problem.nodes - 1, ""))
        for begin, end, node, amounts in zip(
            problem.held_from, problem.held_to, problem.held_node, problem.held_amount, strict=True
        ):
            self.lay(self.model.new_fixed_size_interval_var(int(begin), int(end - begin), ""), amounts, int(node))
        for spans, places in self.boxes:
            self.model.add_no_overlap_2d(spans, places)

    def lay(self, span, amounts, node):
        """Add the boxes of a slot."""
        for resource, amount in enumerate(amounts.tolist()):
            offset, capacity = self.offset[:, resource].tolist(), self.problem.capacity[:, resource].tolist()
            if not amount:
                continue
            first, size = self.model.new_int_var(0, max(offset), ""), self.model.new_int_var(0, max(capacity), "")
            self.model.add_element(node, offset, first)
            self.model.add_element(node, capacity, size)
            below = first - 1
            for _ in range(amount):
                place = self.model.new_int_var(0, sum(capacity), "")
                self.model.add(place > below)  # The boxes of a slot are alike: one above the other.
                self.model.add(place < first + size)
                below = place
                self.boxes[resource][0].append(span)
                self.boxes[resource][1].append(self.model.new_fixed_size_interval_var(place, 1, ""))


def least_cost_of_boxes(problem: Problem, horizon: int) -> int:
    """Return the least cost of a schedule with all starts before a horizon."""
    boxes = Boxes(problem, horizon)
    late = []
    for start, due in zip(boxes.starts, problem.due.tolist(), strict=True):
        late.append(boxes.model.new_int_var(0, horizon + 10, ""))
        boxes.model.add(late[-1] >= start - due)
    boxes.model.minimize(cp_model.LinearExpr.weighted_sum(late, problem.weight.tolist()))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(boxes.model) == cp_model.OPTIMAL
    return round(solver.objective_value)
