"""Running jobs that may give way to an on-demand job, and which of them do."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...models import count_slots
from ...models.eviction import (
    Action,
    Eviction,
    RunningJob,
    Write,
    WritingJob,
    greedy,
    plan,
    plan_sharing,
    writing_job,
)
from ..protocol import Running, Waiting
from .decision_round import Round
from .evict_options import EvictOptions


class Candidate(NamedTuple):
    """A running job that may give way.

    Attributes
    ----------
    run
        The job.
    writing
        What it loses if it is killed now, unit-seconds, and the checkpoints it can write.
    alone
        The same with whole seconds that the checkpoints take, written one after another.
    """

    run: Running
    writing: WritingJob
    alone: RunningJob

    @classmethod
    def of(cls, run: Running, now: int, options: EvictOptions, primary: int) -> Candidate:
        """Return what a job loses, and how long its checkpoints take."""
        units = 3600 * max(run.demand[primary], 1)
        elapsed, saves, storage = max(0, now - run.start - run.restart), run.job.checkpoint, options.storage
        ends = run.predicted_end - now if options.ends and run.predicted_end > now else None
        unsure = 0.0 if ends is None else _unsure(run, elapsed, ends, options.unsure)
        writing = writing_job(
            run.id, run.nodes, elapsed, saves, storage, kept=run.done, weight=units, ends=ends, unsure=unsure
        )
        return cls(run, writing, writing.alone(storage, math.ceil))

    def write(self, how: Action) -> Write | None:
        """Return the checkpoint that it writes when it gives way so."""
        return {"system": self.writing.system, "application": self.writing.application}.get(how)

    def writing_in(self, seconds: int, nodes: int) -> WritingJob:
        """Return it as the model of shared bandwidth has it in so many seconds, worth so many nodes."""
        application, ends = self.writing.application, later(self.writing.ends, seconds)
        return replace(self.writing, nodes=nodes, application=application and application.later(seconds), ends=ends)

    def alone_in(self, seconds: int, nodes: int) -> RunningJob:
        """Return it as the model of checkpoints one after another has it in so many seconds, worth so many nodes."""
        return replace(self.alone, nodes=nodes, ends=later(self.alone.ends, seconds))


def later(ends: float | None, seconds: int) -> float | None:
    """Return the time until an end as it is so many seconds from now."""
    return None if ends is None else max(0, ends - seconds)


def _unsure(run: Running, elapsed: int, ends: int, given: float) -> float:
    """Return the probability that a job which has worked so long works on when it is predicted to end."""
    if run.job.law is None:
        return given
    done = run.done + elapsed
    still = float(run.job.law.sf(done))
    return min(1.0, float(run.job.law.sf(done + ends)) / still) if still > 0 else given


def decide(
    waiting: Waiting,
    round_: Round,
    candidates: Sequence[Candidate],
    leaving: Collection[Running],
    idle: int,
    due: int,
    options: EvictOptions,
) -> list[tuple[Candidate, Action]]:
    """Return who gives way so that a job can start in time; nobody if it cannot.

    Parameters
    ----------
    waiting
        The on-demand job.
    round_
        The system.
    candidates
        Who may give way.
    leaving
        Who gives way to it already.
    idle, due
        When checkpoints can begin to be written, and when all must be, seconds.
    options
        How to decide.
    """
    horizon = max(0, due - idle)
    needed, worth = _worth(waiting, round_, candidates, leaving)
    if sum(worth) < needed:
        return _with_ways(_that_fit(waiting, round_, candidates, leaving), horizon)
    counted = [(candidate, nodes) for candidate, nodes in zip(candidates, worth, strict=True) if nodes]
    jobs = [candidate.alone_in(idle - round_.now, nodes) for candidate, nodes in counted]
    answer: Eviction
    if options.policy == "greedy":
        answer = greedy(jobs, needed, horizon, options.step)
    elif options.sharing and horizon:
        writing = [candidate.writing_in(idle - round_.now, nodes) for candidate, nodes in counted]
        answer = plan_sharing(writing, needed, [horizon], options.storage)[0]
    else:
        answer = plan(jobs, needed, horizon, options.step)[horizon]
    by_id = {candidate.run.id: candidate for candidate in candidates}
    return [(by_id[id_], how) for id_, how in answer.actions.items()] if answer.feasible else []


def _worth(
    waiting: Waiting, round_: Round, candidates: Iterable[Candidate], leaving: Collection[Running]
) -> tuple[int, list[int]]:
    """Return how many slots are lacking, and how many each candidate frees at the least.

    Where all is one node and one resource, units of it take the place of slots. Where a slot fits only into what
    several jobs leave together, none of them counts for it.
    """
    asked = [index for index, amount in enumerate(waiting.demand) if amount]
    if len(round_.free) == 1 and len(asked) == 1:
        needed = waiting.nodes * waiting.demand[asked[0]] - int(round_.coming(leaving)[0, asked[0]])
        return needed, [candidate.run.nodes * candidate.run.demand[asked[0]] for candidate in candidates]
    slots = []
    for candidate in candidates:
        counts = np.unique(candidate.run.placement, return_counts=True)[1]
        slots.append(int(count_slots(counts[:, None] * np.array(candidate.run.demand), waiting.demand).sum()))
    return round_.lacking(waiting, leaving), slots


def _that_fit(
    waiting: Waiting, round_: Round, candidates: Sequence[Candidate], leaving: Collection[Running]
) -> list[Candidate]:
    """Return who leaves nodes that jobs share: the cheapest first, until it fits, without those it fits without."""
    taken: list[Candidate] = []

    def fits(others: Iterable[Candidate]) -> bool:
        return round_.lacking(waiting, [*leaving, *(other.run for other in others)]) <= 0

    for candidate in sorted(candidates, key=lambda candidate: candidate.alone.loss):
        taken.append(candidate)
        if fits(taken):
            break
    else:
        return []
    for candidate in reversed(taken.copy()):
        without = [other for other in taken if other is not candidate]
        if fits(without):
            taken = without
    return taken


def _with_ways(taken: Sequence[Candidate], horizon: float) -> list[tuple[Candidate, Action]]:
    """Return how each gives way: from the dearest on by its quickest checkpoint in time, else killed."""
    chosen: list[tuple[Candidate, Action]] = []
    for candidate in reversed(taken):
        times: tuple[tuple[float | None, Action], ...] = (
            (candidate.alone.application_checkpoint, "application"),
            (candidate.alone.system_checkpoint, "system"),
        )
        ways = [(time, how) for time, how in times if time is not None and time <= horizon]
        best: tuple[float, Action] = min(ways) if ways and candidate.alone.loss else (0, "kill")
        horizon -= best[0]
        chosen.append((candidate, best[1]))
    return chosen
