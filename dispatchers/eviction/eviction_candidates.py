"""Running jobs that may be evicted for an on-demand job, and the choice among them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...models import count_slots
from ...models.eviction import Action, Eviction, RunningJob, Write, WritingJob, greedy, plan, plan_sharing, writing_job
from ..protocol import Running, Waiting
from .decision_round import Round
from .evict_options import EvictOptions


class EvictionCandidate(NamedTuple):
    """A running job that may be evicted.

    Attributes
    ----------
    run
        The job.
    writing
        Its loss if killed now, unit-seconds, and its possible checkpoints.
    alone
        The same for checkpoints written one after another, in whole seconds.
    """

    run: Running
    writing: WritingJob
    alone: RunningJob

    @classmethod
    def of(cls, run: Running, now: int, options: EvictOptions, primary: int) -> EvictionCandidate:
        """Return the loss of a job and the duration of its checkpoints."""
        units = 3600 * max(run.demand[primary], 1)
        elapsed = max(0, now - run.start - run.restart)
        saves = run.job.checkpoint
        storage = options.storage
        ends = run.predicted_end - now if options.ends and run.predicted_end > now else None
        unsure = 0.0 if ends is None else _unsure(run, elapsed, ends, options.unsure)
        writing = writing_job(
            run.id, run.nodes, elapsed, saves, storage, kept=run.done, weight=units, ends=ends, unsure=unsure
        )
        return cls(run, writing, writing.alone(storage, math.ceil))

    def write(self, how: Action) -> Write | None:
        """Return the checkpoint of an action, or ``None``."""
        return {"system": self.writing.system, "application": self.writing.application}.get(how)

    def writing_in(self, seconds: int, nodes: int) -> WritingJob:
        """Return the job for the model of shared bandwidth, in `seconds` seconds, worth `nodes` nodes."""
        application = self.writing.application
        ends = later(self.writing.ends, seconds)
        return replace(self.writing, nodes=nodes, application=application and application.later(seconds), ends=ends)

    def alone_in(self, seconds: int, nodes: int) -> RunningJob:
        """Return the job for the model of successive checkpoints, in `seconds` seconds, worth `nodes` nodes."""
        return replace(self.alone, nodes=nodes, ends=later(self.alone.ends, seconds))


def later(ends: float | None, seconds: int) -> float | None:
    """Return the time until an end, as seen `seconds` later."""
    return None if ends is None else max(0, ends - seconds)


def _unsure(run: Running, elapsed: int, ends: int, given: float) -> float:
    """Return the probability that a job with this much work still runs at its predicted end."""
    if run.job.law is None:
        return given
    done = run.done + elapsed
    still = float(run.job.law.sf(done))
    return min(1.0, float(run.job.law.sf(done + ends)) / still) if still > 0 else given


def decide(
    waiting: Waiting,
    round_: Round,
    candidates: Sequence[EvictionCandidate],
    leaving: Collection[Running],
    idle: int,
    due: int,
    options: EvictOptions,
) -> list[tuple[EvictionCandidate, Action]]:
    """Return the jobs to evict so that a job can start in time. None if it cannot.

    Parameters
    ----------
    waiting
        The on-demand job.
    round_
        State of the system.
    candidates
        Jobs that may be evicted.
    leaving
        Jobs already evicted for it.
    idle, due
        When checkpoints can begin, and when all must be written, seconds.
    options
        The options.
    """
    horizon = max(0, due - idle)
    needed, worth = _worth(waiting, round_, candidates, leaving)
    if sum(worth) < needed:
        return _with_ways(_that_fit(waiting, round_, candidates, leaving), horizon)
    counted = [(candidate, nodes) for candidate, nodes in zip(candidates, worth, strict=True) if nodes]
    if options.policy == "random":
        counted = _at_random(counted, needed, round_.now)
        needed = sum(nodes for _, nodes in counted)
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


def _at_random(
    counted: list[tuple[EvictionCandidate, int]], needed: int, seed: int
) -> list[tuple[EvictionCandidate, int]]:
    """Return random jobs that free enough. A seed, such as the instant, makes it repeatable."""
    order = np.random.default_rng(seed).permutation(len(counted)).tolist()
    freed = np.cumsum([counted[place][1] for place in order])
    return [counted[place] for place in order[: int(np.searchsorted(freed, needed)) + 1]]


def _worth(
    waiting: Waiting, round_: Round, candidates: Iterable[EvictionCandidate], leaving: Collection[Running]
) -> tuple[int, list[int]]:
    """Return the number of missing slots, and the slots that each candidate frees at least.

    On one node with one resource, its units replace slots. A slot that needs several jobs to leave counts for none of
    them.
    """
    asked = [index for index, amount in enumerate(waiting.demand) if amount]
    if len(round_.free) == 1 and len(asked) == 1:
        needed = waiting.nodes * waiting.demand[asked[0]] - int(round_.coming(waiting, leaving)[0, asked[0]])
        return needed, [candidate.run.nodes * candidate.run.demand[asked[0]] for candidate in candidates]
    needed = round_.lacking(waiting, leaving)
    if round_.ruled:  # What a job frees may close.
        return needed, [needed - round_.lacking(waiting, [*leaving, candidate.run]) for candidate in candidates]
    slots = []
    for candidate in candidates:
        counts = np.unique(candidate.run.placement, return_counts=True)[1]
        slots.append(int(count_slots(counts[:, None] * np.array(candidate.run.demand), waiting.demand).sum()))
    return needed, slots


def _that_fit(
    waiting: Waiting, round_: Round, candidates: Sequence[EvictionCandidate], leaving: Collection[Running]
) -> list[EvictionCandidate]:
    """Return jobs to evict from shared nodes: cheapest first until it fits, then without unneeded ones."""
    taken: list[EvictionCandidate] = []

    def fits(others: Iterable[EvictionCandidate]) -> bool:
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


def _with_ways(taken: Sequence[EvictionCandidate], horizon: float) -> list[tuple[EvictionCandidate, Action]]:
    """Return the action of each job. From the largest loss on: its quickest checkpoint in time, else a kill."""
    chosen: list[tuple[EvictionCandidate, Action]] = []
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
