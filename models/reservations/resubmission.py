"""Next step of a job that is resubmitted with a longer walltime after each timeout."""

from dataclasses import dataclass
from typing import Literal

#: States of a Slurm job that is not over.
LIVE = frozenset(
    {
        "PENDING",
        "CONFIGURING",
        "RUNNING",
        "SUSPENDED",
        "STOPPED",
        "COMPLETING",
        "RESIZING",
        "SIGNALING",
        "STAGE_OUT",
        "REQUEUED",
        "REQUEUE_FED",
        "REQUEUE_HOLD",
        "SPECIAL_EXIT",
    }
)
#: Steps:
#:
#: * `submit`: Submit a new job with the walltime.
#: * `requeue`: Return the same job to the queue, held.
#: * `limit`: Set the walltime.
#: * `release`: Let the job start.
#: * `next`: The job timed out, and a longer walltime is due.
#: * `replace`: Cancel the job, to submit a new one.
#: * `wait`: Do nothing for now.
#: * `end`: The job is over.
Step = Literal["submit", "requeue", "limit", "release", "next", "replace", "wait", "end"]

#: How a job gets its next walltime: no change pending, under the same job number, or as a new job.
Change = Literal["none", "same", "anew"]


@dataclass(frozen=True, slots=True)
class JobSeen:
    """State of a job as Slurm shows it.

    Attributes
    ----------
    state
        State in capitals, such as ``RUNNING`` or ``TIMEOUT``.
    limit
        Walltime in minutes. ``None`` for none.
    held
        Whether it is held until released.
    code
        Exit code of its script. 128 plus the signal, if a signal ended it.
    """

    state: str
    limit: int | None
    held: bool = False
    code: int = 0


def next_step(seen: JobSeen | None, minutes: int, last: bool, change: Change) -> Step:
    """Return the next step, from the visible state alone. So it is repeatable after any interruption.

    Parameters
    ----------
    seen
        The job. ``None`` if there is none.
    minutes
        The walltime that is due.
    last
        Whether this is the longest walltime.
    change
        How the job gets that walltime. With no change pending, a job held by its owner is left alone. If its walltime
        was changed from outside, its turn is over.
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
