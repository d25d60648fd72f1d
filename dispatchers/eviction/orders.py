"""Planned evictions for an on-demand job."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...models.eviction import Action, finish
from ..protocol import Running, Waiting
from .decision_round import Round
from .evict_options import EvictOptions
from .eviction_candidates import EvictionCandidate

#: Rounding error, seconds.
_NOTHING = 1e-6
#: Order in which evictions are cancelled.
_TRIMMED = {"kill": 0, "system": 1, "application": 1, "end": 2}


@dataclass(slots=True)
class EvictionOrder:
    """A planned eviction of a running job.

    Attributes
    ----------
    run
        The job.
    how
        The action.
    stop_at, free_at
        When it stops working, and when its nodes are free, seconds. For a kill, the time of the decision. For its own
        end, the predicted time.
    begun
        Whether it has stopped working.
    """

    run: Running
    how: Action
    stop_at: int
    free_at: int
    begun: bool = False

    @property
    def writes(self) -> bool:
        """Return whether it writes a checkpoint."""
        return self.how in ("system", "application")


@dataclass(slots=True)
class Order:
    """The evictions for an on-demand job.

    Attributes
    ----------
    due
        Its latest start, seconds.
    evictions
        By id of the evicted job.
    """

    due: int
    evictions: dict[str, EvictionOrder] = field(default_factory=dict)

    @property
    def leaving(self) -> list[Running]:
        """Return the jobs to evict."""
        return [eviction.run for eviction in self.evictions.values()]

    @property
    def pending(self) -> bool:
        """Return whether a checkpoint, or a job's own end, is still to come."""
        return any(eviction.how != "kill" for eviction in self.evictions.values())

    def outlived(self, now: int) -> bool:
        """Return whether a job overruns its predicted end."""
        return any(eviction.how == "end" and eviction.free_at <= now for eviction in self.evictions.values())

    def follow(self, running: dict[str, Running]) -> None:
        """Drop evictions of jobs that no longer run."""
        for id_, eviction in list(self.evictions.items()):
            run = running.get(id_)
            if run is None or run.start != eviction.run.start:
                del self.evictions[id_]

    def recall(self) -> None:
        """Drop evictions that have not begun."""
        self.evictions = {id_: eviction for id_, eviction in self.evictions.items() if eviction.begun}

    def trim(self, waiting: Waiting, round_: Round) -> None:
        """Drop unneeded evictions that have not begun: kills, then checkpoints, then own ends."""
        for id_, eviction in sorted(self.evictions.items(), key=lambda item: _TRIMMED[item[1].how]):
            if not eviction.begun:
                others = [other.run for other in self.evictions.values() if other is not eviction]
                if round_.lacking(waiting, others) <= 0:
                    del self.evictions[id_]

    def add(
        self, chosen: Sequence[tuple[EvictionCandidate, Action]], now: int, idle: int, options: EvictOptions
    ) -> None:
        """Add a choice. Checkpoints are written from `idle` on, in turn or together, then kills happen."""
        writes = [write.later(idle - now) for candidate, how in chosen if (write := candidate.write(how)) is not None]
        turn = idle
        if options.sharing:
            turn += math.ceil(finish(writes, options.storage) - _NOTHING)  # All end together.
        for candidate, how in chosen if options.sharing else sorted(chosen, key=_due):
            write = candidate.write(how)
            stop = now
            free_at = now
            if write is not None:
                begin = idle if options.sharing else turn
                stop = begin if how == "system" else now + int(write.delay)
                free_at = max(stop, turn)
                if not options.sharing:
                    free_at = turn = free_at + math.ceil(write.alone(options.storage))
            elif how == "end":
                stop = free_at = candidate.run.predicted_end
            self.evictions[candidate.run.id] = EvictionOrder(candidate.run, how, stop, free_at)


def _due(chosen: tuple[EvictionCandidate, Action]) -> tuple[bool, float]:
    """Return the sort key of checkpoint writes: system checkpoints first, then the others by due time."""
    candidate, how = chosen
    write = candidate.write(how)
    return how == "application", 0 if write is None else write.delay
