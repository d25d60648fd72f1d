"""Interface of dispatchers: :class:`State` in, actions out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..base import IntArray
from ..models import PlacementRule
from ..workloads import Machine
from .actions import Action as Action  # noqa: PLC0414  (had from here, too)
from .actions import How as How  # noqa: PLC0414
from .actions import Reject as Reject  # noqa: PLC0414
from .actions import Start as Start  # noqa: PLC0414
from .actions import Stop as Stop  # noqa: PLC0414
from .actions import Wake as Wake  # noqa: PLC0414
from .columns import RunningJobs, WaitingJobs
from .profile import Profile
from .views import JobView as JobView  # noqa: PLC0414
from .views import Placement as Placement  # noqa: PLC0414
from .views import Running as Running  # noqa: PLC0414
from .views import ShapeView as ShapeView  # noqa: PLC0414
from .views import Waiting as Waiting  # noqa: PLC0414
from .views import by_end as by_end  # noqa: PLC0414


class _StateFields(NamedTuple):
    now: int
    queue: WaitingJobs[Waiting]
    running: RunningJobs[Running]
    free: IntArray
    machine: Machine


class State(_StateFields):
    """The system at one instant, after completions and arrivals.

    Everything in it is read-only and valid for this call only. Copy what you keep. `queue` and `running` may be plain
    sequences of jobs. Their columns are then created on use.

    Attributes
    ----------
    now
        Time, seconds.
    queue
        Waiting jobs in order of submission. Ties by priority, then by trace order. A sequence of :class:`Waiting`. The
        same as columns: read-only integer arrays ``order``, ``nodes``, ``predicted``, ``since``, ``submit`` and
        ``walltime`` of shape (jobs,), and ``demand`` of shape (jobs, resources).
    running
        Running jobs in order of predicted end. Ties in order of start. A sequence of :class:`Running`. The same as
        columns ``order``, ``nodes``, ``predicted_end``, ``start`` and ``demand``.
    free
        Free amounts, integer array of shape (nodes, resources).
    machine
        The machine.
    """

    __slots__ = ()

    def __new__(
        cls, now: int, queue: Sequence[Waiting], running: Sequence[Running], free: IntArray, machine: Machine
    ) -> State:
        """Return the state. It is a tuple, because frozen dataclasses are slow to create for each decision."""
        if not isinstance(queue, WaitingJobs):
            queue = WaitingJobs(queue, len(machine.resources))
        if not isinstance(running, RunningJobs):
            running = RunningJobs(running, len(machine.resources))
        return tuple.__new__(cls, (now, queue, running, free, machine))

    def profile(
        self, placement: PlacementRule = "first-fit", by: Literal["predictions", "walltimes"] = "predictions"
    ) -> Profile:
        """Return what is free from now on, as a new :class:`.Profile` that belongs to the caller."""
        return Profile(self, placement, by)


def id_of(named: object) -> str:
    """Return the id of an action's job, given as entry, view or id."""
    return named if isinstance(named, str) else str(named.id)  # type: ignore[attr-defined]


def well_formed(actions: object) -> bool:
    """Return whether an answer is a sequence of actions with job ids and node indices.

    Wrappers pass malformed answers through unchanged, so that the simulation reports them.
    """
    return isinstance(actions, Sequence) and all(map(_well_formed, actions))


def _well_formed(action: object) -> bool:
    named = getattr(action, "job", "")
    placement = getattr(action, "placement", ())
    if not isinstance(named if isinstance(named, str) else getattr(named, "id", None), str):
        return False
    try:
        nodes = np.asarray(placement)
    except ValueError:  # Lists of different lengths.
        return False
    return nodes.ndim == 1 and (not nodes.size or nodes.dtype.kind in "iu")


@runtime_checkable
class Dispatcher(Protocol):
    """Decides which waiting jobs start, when and where, and which running jobs stop.

    Two further methods are optional. ``reset(machine, rng)`` is called before each simulation, so that an object can be
    reused. `rng` is a ``numpy.random.Generator`` with the simulation's seed. ``report()`` is called after each
    decision. It returns a mapping to store in ``Result.decisions``.
    """

    def dispatch(self, state: State) -> Sequence[Action]:
        """Return the actions for now, in order.

        Called once at each instant with job ends, arrivals, returns or a due :class:`Wake`, if any job waits.
        """
        ...
