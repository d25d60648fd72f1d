"""What a dispatcher returns: starts, stops, timers and rejections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .views import Placement

#: How a running job is stopped.
How = Literal["kill", "checkpoint"]


@dataclass(slots=True)  # Not frozen: one is created per job, and freezing takes four times as long.
class Start:
    """Start a waiting job now.

    Attributes
    ----------
    job
        The waiting job: its :class:`Waiting` entry, its :class:`JobView` or its id.
    placement
        Node index of each slot.
    limit
        Seconds after which to kill it. ``None`` for the simulation's overrun policy.
    shape
        Index into the job's `shapes`. ``None`` for the request itself.
    write
        Seconds at the end of `limit` in which the job writes a checkpoint, unless it ends before. It then keeps all its
        work, and returns to the queue at the limit like a killed job.

    Examples
    --------
    >>> from hpcdispatch.dispatchers import Start
    >>> Start("17", placement=[0, 0, 1], limit=3600)
    Start(job='17', placement=[0, 0, 1], limit=3600, shape=None, write=0)
    """

    job: Any
    placement: Sequence[int] | Placement
    limit: int | None = None
    shape: int | None = None
    write: int = 0


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop a running job. It returns to the queue.

    Attributes
    ----------
    job
        The running job: its :class:`Running` entry, its :class:`JobView` or its id.
    how
        ``"kill"``: at once. The work since its last application checkpoint, or all of it, is lost. ``"checkpoint"``: it
        stops working now, occupies its nodes for `delay` seconds while its state is written, and loses nothing.
    delay
        Seconds until the nodes are free. Only with ``"checkpoint"``. With 0 they are free for the next actions.

    Examples
    --------
    >>> from hpcdispatch.dispatchers import Stop
    >>> Stop("17", how="checkpoint", delay=60)
    Stop(job='17', how='checkpoint', delay=60)
    """

    job: Any
    how: How = "kill"
    delay: int = 0


@dataclass(frozen=True, slots=True)
class Wake:
    """Request a call at a future time, even if nothing else happens then.

    Examples
    --------
    >>> from hpcdispatch.dispatchers import Wake
    >>> Wake(at=3600)
    Wake(at=3600)
    """

    at: int


@dataclass(frozen=True, slots=True)
class Reject:
    """Remove a waiting job from the queue for good.

    Attributes
    ----------
    job
        The waiting job: its :class:`Waiting` entry, its :class:`JobView` or its id.
    reason
        Stored in the records.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import Reject
    >>> from hpcdispatch.testing import tiny
    >>> class RefuseAll:
    ...     "Reject every job."
    ...
    ...     def dispatch(self, state):
    ...         return [Reject(waiting, "closed for today") for waiting in state.queue]
    >>> hd.simulate(tiny(), RefuseAll()).jobs["reason"].unique().tolist()
    ['closed for today']
    """

    job: Any
    reason: str


Action = Start | Stop | Wake | Reject
