"""Decide who starts now by the program of this instant, and prove it there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ....base import BoolArray
from ...scheduling.list_schedules import Schedule, list_schedule
from ...scheduling.node_classes import NodeClasses
from ..allocation import Allocation
from ..answer import Answer, Status
from ..decision import Decision
from .start_set import FluidModel, StartSet, each_node

#: How often at most jobs that cannot all be placed are learnt of.
_REFUSALS = 20
#: Nodes of HiGHS's tree for the program of the nodes one by one, which is asked once.
_TREE = 1000
#: Sets whose costs differ by no more, as a share, cost the same: HiGHS's tolerance.
_TIE = 1e-8


@dataclass(frozen=True, eq=False)
class FluidDecision:
    """The best set of jobs to start now if what starts later is a fluid.

    Attributes
    ----------
    known
        The best schedule known, and what prices tell of it. It is followed unless another set costs less.
    """

    known: Decision

    def search(self) -> Answer:
        """Return the schedule that starts the best set now, and whether it is proved that none costs less."""
        known = self.known.known()
        if known.decided:
            return known
        found, spent = self._start_set()
        schedule = None if found is None else self._schedule(found.now)
        if found is None or schedule is None:
            return replace(known, time=spent)
        source = self.known.source if schedule is self.known.best else "fluid"
        bound = None if known.bound is None else min(known.bound, schedule.cost)
        return Answer(Status.FEASIBLE, schedule, bound, spent, source, found.proved)

    def _start_set(self) -> tuple[StartSet | None, float]:
        """Return the best set that has places, if it is found, and CP-SAT's deterministic time."""
        problem, best, places = self.known.problem, self.known.best, self.known.places
        model, spent = FluidModel(problem, best.starts, best.cost), 0.0
        mine = model.solve(fixed=best.starts == 0)
        refused: list[tuple[int, ...]] = []
        while len(refused) < _REFUSALS:
            found = model.solve(refused)
            if found is None:
                break
            if mine is not None and _as_good(mine, found):
                return replace(mine, now=best.starts == 0, proved=found.proved), spent
            placed = places.place(problem, np.where(found.now, 0, 1))
            spent += placed.time
            if placed.possible:
                return found, spent
            nodes = each_node(problem)
            if nodes is not None:
                return self._on_each(nodes, mine), spent
            if placed.possible is None or not model.refusable(placed.core):
                break
            refused.append(placed.core)
        return None, spent

    def _on_each(self, nodes: NodeClasses, mine: StartSet | None) -> StartSet | None:
        """Return the best set by the program of the nodes one by one, whose slots are places."""
        problem, best, places = self.known.problem, self.known.best, self.known.places
        model = FluidModel(problem, best.starts, best.cost, nodes)
        found = model.solve(tree=_TREE)
        if found is None:
            return None
        if mine is not None and _as_good(mine, found):
            return replace(mine, now=best.starts == 0, proved=found.proved)
        if not places.place(problem, np.where(found.now, 0, 1)).possible:
            places.known[found.now.tobytes()] = Allocation(True, model.counts(found))
        return found

    def _schedule(self, now: BoolArray) -> Schedule | None:
        """Return the schedule at hand if it starts these jobs now, else one that does, the others in its order."""
        problem, best = self.known.problem, self.known.best
        if ((best.starts == 0) == now).all():
            return best
        counts = self.known.places.place(problem, np.where(now, 0, 1)).counts
        # The pool alone: which jobs start now is decided, and where.
        later = np.where(now, problem.earliest, np.maximum(problem.earliest, problem.first_later))
        decided = replace(problem, earliest=later, free_now=problem.free_now[:0])
        order = np.argsort(best.starts, kind="stable")
        listed = list_schedule(decided, np.concatenate((order[now[order]], order[~now[order]])))
        if listed is None or counts is None or ((listed.starts == 0) != now).any():
            return None
        if not all(family.holds(problem, listed.starts) for family in self.known.constraints):
            return None
        return Schedule(listed.starts, listed.cost, counts if len(problem.free_now) else listed.counts)


def _as_good(mine: StartSet, found: StartSet) -> bool:
    """Return whether a set costs as much as the best one."""
    return mine.cost <= found.cost * (1 + _TIE)
