"""Who gives way to an on-demand job, how, and when."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from ...models import count_slots
from ...models.eviction import Eviction as Answer
from ...models.eviction import RunningJob, greedy, plan
from ...models.eviction.checkpointing import Storage, even_checkpoint_time, since_last, until_next
from ...models.eviction.sharing import Write, WritingJob, finish, plan_sharing
from ..protocol import Running, Waiting
from .decision_round import Round

#: How a job gives way: killed, or after a checkpoint of its memory, or after the next one it writes itself.
Way = Literal["kill", "system", "application"]
#: Seconds that come from rounding.
_NOTHING = 1e-6


class Candidate(NamedTuple):
    """A running job that may give way.

    Attributes
    ----------
    run
        The job.
    loss
        What it loses if it is killed now, unit-seconds.
    system
        How long a checkpoint of its memory takes, seconds; ``None`` if there is none.
    wait, write
        When it is due to write a checkpoint itself, seconds from now, and how long that takes; ``None`` if it never is.
    """

    run: Running
    loss: int
    system: int | None
    wait: int | None
    write: int

    @classmethod
    def of(cls, run: Running, now: int, storage: Storage, primary: int) -> Candidate:
        """Return what a job loses, and how long its checkpoints take."""
        elapsed, saves = now - run.start, run.job.checkpoint
        units = run.nodes * max(run.demand[primary], 1)
        if saves is None:
            return cls(run, elapsed * units, None, None, 0)
        system, write = (
            math.ceil(even_checkpoint_time(run.nodes, size, storage)) if size else None
            for size in (saves.system_size, saves.application_size)
        )
        if saves.interval is None:
            return cls(run, elapsed * units, system, None, 0)
        lost = int(since_last(elapsed, saves.interval, run.done))
        return cls(run, lost * units, system, int(until_next(elapsed, saves.interval, run.done)), write or 0)

    def job(self, nodes: int) -> RunningJob:
        """Return it as the model has it, worth so many nodes."""
        application = None if self.wait is None else self.wait + self.write
        return RunningJob(self.run.id, nodes, self.loss, self.system, application)

    def writing(self, nodes: int, storage: Storage, ahead: int) -> WritingJob:
        """Return it as the model of shared bandwidth has it, if writing begins in `ahead` seconds."""
        saves, system, application = self.run.job.checkpoint, None, None
        if saves is not None and self.system is not None:
            system = Write(self.run.nodes * saves.system_size, saves.system_size / storage.node)
        if saves is not None and self.wait is not None:
            size = saves.application_size
            application = Write(self.run.nodes * size, size / storage.node, max(0, self.wait - ahead))
        return WritingJob(self.run.id, nodes, self.loss, system, application)


@dataclass(frozen=True, slots=True)
class Rules:
    """How it is decided who gives way.

    Attributes
    ----------
    policy
        ``"dp"``: the least loss, then the least time for checkpoints. ``"greedy"``: the paper's heuristic.
    storage
        What checkpoints are written to.
    step
        Seconds that times are rounded up to.
    sharing
        Whether the checkpoints of a plan are written at the same time.
    """

    policy: Literal["dp", "greedy"]
    storage: Storage
    step: int
    sharing: bool


@dataclass(slots=True)
class Eviction:
    """A running job that is to give way.

    Attributes
    ----------
    run
        The job.
    how
        In which way.
    stop_at, free_at
        When it stops working, and when its nodes are free, seconds; of a kill, when it was decided.
    begun
        Whether it has stopped working.
    """

    run: Running
    how: Way
    stop_at: int
    free_at: int
    begun: bool = False


@dataclass(slots=True)
class Order:
    """Who gives way to an on-demand job.

    Attributes
    ----------
    due
        When it should start, seconds.
    evictions
        By id of the job that gives way.
    """

    due: int
    evictions: dict[str, Eviction] = field(default_factory=dict)

    @property
    def leaving(self) -> list[Running]:
        """Return the jobs."""
        return [eviction.run for eviction in self.evictions.values()]

    @property
    def writing(self) -> bool:
        """Return whether a checkpoint is under way or to come."""
        return any(eviction.how != "kill" for eviction in self.evictions.values())

    def follow(self, running: dict[str, Running]) -> None:
        """Drop those that do not run any more."""
        self.evictions = {id_: one for id_, one in self.evictions.items() if _same(running.get(id_), one.run)}

    def recall(self) -> None:
        """Drop those that have not begun."""
        self.evictions = {id_: one for id_, one in self.evictions.items() if one.begun}

    def trim(self, waiting: Waiting, round_: Round) -> None:
        """Drop those that have not begun and are not needed any more, kills before checkpoints."""
        for id_, one in sorted(self.evictions.items(), key=lambda item: item[1].how != "kill"):
            if not one.begun:
                others = [other.run for other in self.evictions.values() if other is not one]
                if round_.lacking(waiting, others) <= 0:
                    del self.evictions[id_]

    def add(self, chosen: Sequence[tuple[Candidate, Way]], now: int, idle: int, rules: Rules) -> None:
        """Take over a choice: checkpoints are written from `idle` on, in turn or at once; then the kills happen."""
        if rules.sharing:
            self._add_sharing(chosen, now, idle, rules.storage)
            return
        turn = idle
        for candidate, how in sorted(chosen, key=_due):
            run, stop = candidate.run, now
            if how == "system":
                assert candidate.system is not None
                stop, turn = turn, turn + candidate.system
            elif how == "application":
                assert candidate.wait is not None
                stop = now + candidate.wait
                turn = max(stop, turn) + candidate.write
            self.evictions[run.id] = Eviction(run, how, stop, now if how == "kill" else turn)

    def _add_sharing(self, chosen: Sequence[tuple[Candidate, Way]], now: int, idle: int, storage: Storage) -> None:
        """Let all checkpoints be written at once, so that they are done together."""
        writes: list[Write] = []
        for candidate, how in chosen:
            job = candidate.writing(1, storage, idle - now)
            write = job.system if how == "system" else job.application if how == "application" else None
            writes += [write] if write is not None else []
        end = idle + math.ceil(finish(writes, storage) - _NOTHING)
        for candidate, how in chosen:
            stop = {"kill": now, "system": idle, "application": now + (candidate.wait or 0)}[how]
            done = now if how == "kill" else max(stop, end)
            self.evictions[candidate.run.id] = Eviction(candidate.run, how, stop, done)


def _same(one: Running | None, other: Running) -> bool:
    return one is not None and one.start == other.start


def _due(chosen: tuple[Candidate, Way]) -> tuple[int, int]:
    """Order checkpoints as they are written: those of the memory, then the others as they fall due."""
    candidate, how = chosen
    return (1, candidate.wait or 0) if how == "application" else (0, 0)


def decide(
    waiting: Waiting,
    round_: Round,
    candidates: Sequence[Candidate],
    leaving: Collection[Running],
    idle: int,
    due: int,
    rules: Rules,
) -> list[tuple[Candidate, Way]]:
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
    rules
        How to decide.
    """
    horizon = max(0, due - idle)
    needed, worth = _worth(waiting, round_, candidates, leaving)
    if sum(worth) < needed:
        return _try_out(waiting, round_, candidates, leaving, horizon)
    counted = [(candidate, nodes) for candidate, nodes in zip(candidates, worth, strict=True) if nodes]
    jobs = [candidate.job(nodes) for candidate, nodes in counted]
    found: Answer
    if rules.policy == "greedy":
        found = greedy(jobs, needed, horizon, rules.step)
    elif rules.sharing and horizon:
        ahead = idle - round_.now
        writing = [candidate.writing(nodes, rules.storage, ahead) for candidate, nodes in counted]
        found = plan_sharing(writing, needed, [horizon], rules.storage)[0]
    else:
        found = plan(jobs, needed, horizon, rules.step)[horizon]
    by_id = {candidate.run.id: candidate for candidate in candidates}
    return [(by_id[id_], how) for id_, how in found.actions.items()] if found.feasible else []


def _worth(
    waiting: Waiting, round_: Round, candidates: Iterable[Candidate], leaving: Collection[Running]
) -> tuple[int, list[int]]:
    """Return how many slots are lacking, and how many each candidate frees at the least.

    Where all is one node and one resource, units of it take the place of slots. Where a slot fits only into what
    several jobs leave together, none of them counts for it.
    """
    asked = [index for index, amount in enumerate(waiting.demand) if amount]
    if len(round_.free) == 1 and len(asked) == 1:
        one = asked[0]
        needed = waiting.nodes * waiting.demand[one] - int(round_.coming(leaving)[0, one])
        return needed, [candidate.run.nodes * candidate.run.demand[one] for candidate in candidates]
    return round_.lacking(waiting, leaving), [_slots(candidate.run, waiting.demand) for candidate in candidates]


def _slots(run: Running, demand: tuple[int, ...]) -> int:
    held = np.unique(run.placement, return_counts=True)[1]
    return int(count_slots(held[:, None] * np.array(run.demand), demand).sum())


def _try_out(
    waiting: Waiting, round_: Round, candidates: Sequence[Candidate], leaving: Collection[Running], horizon: int
) -> list[tuple[Candidate, Way]]:
    """Return a choice for nodes that jobs share: cheapest first, until it fits, without those it fits without."""
    cheapest = sorted(candidates, key=lambda candidate: candidate.loss)
    gone = list(leaving)
    taken: list[Candidate] = []
    for candidate in cheapest:
        taken.append(candidate)
        gone.append(candidate.run)
        if round_.lacking(waiting, gone) <= 0:
            break
    else:
        return []
    for candidate in list(reversed(taken)):
        without = [run for run in gone if run is not candidate.run]
        if round_.lacking(waiting, without) <= 0:
            gone, taken = without, [other for other in taken if other is not candidate]
    chosen: list[tuple[Candidate, Way]] = []
    left: float = horizon
    for candidate in reversed(taken):
        times: tuple[tuple[float | None, Way], ...] = (
            (candidate.job(1).application_checkpoint, "application"),
            (candidate.system, "system"),
        )
        ways = [(time, how) for time, how in times if time is not None and time <= left]
        best: tuple[float, Way] = min(ways) if ways and candidate.loss else (0, "kill")
        left -= best[0]
        chosen.append((candidate, best[1]))
    return chosen
