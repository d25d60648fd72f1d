"""What to do next with a job that is submitted anew with a longer limit each time its limit ends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: States in which a job of Slurm is not over.
LIVE = frozenset({"PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "STOPPED", "COMPLETING", "RESIZING", "SIGNALING",
                  "STAGE_OUT", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT"})  # fmt: skip
#: `submit`: a new job with the limit; `requeue`: the same job goes back to the queue, held; `limit`: it gets the limit;
#: `release`: it may start; `next`: its limit ended it, and a longer one is due; `replace`: it is cancelled, so that a
#: new one can be submitted; `wait`: nothing for now; `end`: it is over.
Step = Literal["submit", "requeue", "limit", "release", "next", "replace", "wait", "end"]

#: How a job gets from one limit to the next: nothing of it is under way; under its number; by a new job in its place.
Change = Literal["none", "same", "anew"]


@dataclass(frozen=True, slots=True)
class JobSeen:
    """A job as Slurm shows it.

    Attributes
    ----------
    state
        Its name in capitals, such as ``RUNNING`` or ``TIMEOUT``.
    limit
        Minutes; ``None`` for none.
    held
        Whether it waits until it is released.
    code
        The exit code of its script; 128 and the signal where that ended it.
    """

    state: str
    limit: int | None
    held: bool = False
    code: int = 0


def next_step(seen: JobSeen | None, minutes: int, last: bool, change: Change) -> Step:
    """Return what to do, from what is seen alone, so that it can be asked again after any interruption.

    Parameters
    ----------
    seen
        The job; ``None`` if there is none.
    minutes
        The limit that is due.
    last
        Whether no longer limit follows.
    change
        How it comes by that limit. Where no change is under way, a job that its owner holds is left alone, and one
        whose limit was changed by somebody else has had its turn.
    """
    if seen is None:
        return "submit"
    changed = change == "none" or seen.limit == minutes
    if seen.state in LIVE:
        if change == "anew" and not changed:
            return "replace"
        if change == "none" or not seen.held:
            return "wait"
        return "release" if changed else "limit"
    if seen.state == "TIMEOUT" and changed:
        return "end" if last else "next"
    if changed or change == "same":
        return "requeue" if seen.state == "TIMEOUT" else "end"
    return "submit"
