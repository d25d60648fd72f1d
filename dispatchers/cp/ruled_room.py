"""The room that the rules of the machine leave for plans and for starts, from the profile of the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...base import BoolArray
from ...models import Problem
from ..problems import closed_rows, held, summed
from ..protocol import Placement, Start, State, Waiting
from ..rule_book import read_rule_book
from ..site.start_check import StartCheck
from ..space import Space


class RuledRoom:
    """Closed nodes, licences, limits and power at one decision.

    Parameters
    ----------
    state
        The present state, of a machine with rules.
    """

    def __init__(self, state: State) -> None:
        book = read_rule_book(state)
        assert book is not None
        self._state = state
        self._profile = state.profile("best-fit")
        self._check = StartCheck(book, state)
        #: Waiting jobs as the profile knows them. Those of a plan may have more resources.
        self._entries = {entry.order: entry for entry in state.queue}

    def allows(self, queue: Sequence[Waiting]) -> BoolArray:
        """Return which jobs may each start now, alone. Shape (jobs,)."""
        return self._profile.fit_now(self._known(queue))

    def place_together(self, jobs: Sequence[Waiting]) -> list[Placement] | None:
        """Return nodes for all of these jobs, if all may start now together. Takes nothing."""
        starts = self._state.profile("best-fit").start_now(self._known(jobs))
        return [np.asarray(start.placement) for start in starts] if len(starts) == len(jobs) else None

    def place(self, space: Space, job: Waiting, planned: Placement | None) -> Placement | None:
        """Return nodes where a job may start now: the planned ones, else others. ``None`` if there are none."""
        entry = self._known_as(job)
        if (
            planned is not None
            and not self._check.would_refuse(Start(entry, planned))
            and space.put(planned, job.demand)
        ):
            return planned
        fit = self._profile.earliest(entry, before=self._state.now + 1)
        return fit[1] if fit is not None and space.put(fit[1], job.demand) else None

    def take(self, job: Waiting, placement: Placement) -> None:
        """Take the room of a job that starts now."""
        entry = self._known_as(job)
        self._profile.take(entry, self._state.now, placement)
        self._check.count(Start(entry, placement))

    def narrow(self, problem: Problem, jobs: Sequence[Waiting], overdue: bool) -> Problem:
        """Return the problem beside closed nodes and the limits of shared amounts.

        A job whose walltime reaches a later closure, or a falling limit, is planned with its walltime.

        Parameters
        ----------
        problem, jobs
            The jobs, as in the state or on one of their sizes, on a pool or on nodes.
        overdue
            As for :func:`.problems.problem_of`.
        """
        state = self._state
        entries = self._known(jobs)
        bounds = np.array([max(entry.job.walltime, entry.predicted) for entry in entries], dtype=np.int64)
        until = int(state.running.predicted_end.max(initial=state.now)) + int(bounds.max(initial=0))
        fall = self._profile.next_fall(until)
        if fall is not None:
            reached = bounds > fall - state.now
            problem = replace(
                problem, duration=np.where(reached, np.maximum(problem.duration, bounds), problem.duration)
            )
        closures = self._profile.closures(until)
        if closures:
            busy = held(state.running, state.now, state.machine.capacity, pooled=False, overdue=overdue)
            rows = closed_rows(closures, state, busy)
            rows = summed(rows) if problem.nodes == 1 else rows
            amount = np.pad(rows.amount, ((0, 0), (0, problem.capacity.shape[1] - rows.amount.shape[1])))
            problem = replace(
                problem,
                held_from=np.append(problem.held_from, rows.begin),
                held_to=np.append(problem.held_to, rows.end),
                held_node=np.append(problem.held_node, rows.node),
                held_amount=np.append(problem.held_amount, amount, axis=0),
            )
        quotas = self._profile.quotas(entries, until)
        return problem if quotas is None else problem.with_quotas(quotas)

    def _known(self, jobs: Sequence[Waiting]) -> list[Waiting]:
        return list(map(self._known_as, jobs))

    def _known_as(self, job: Waiting) -> Waiting:
        """Return a job as the profile knows it. A size of a moldable job is known as it is."""
        entry = self._entries[job.order]
        return entry if entry.job is job.job else job
