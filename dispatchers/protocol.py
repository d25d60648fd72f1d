"""Interface of dispatchers: :class:`State` in, actions out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ..base import IntArray
from ..base.contracts import Contract, Member, flag
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
from .rule_book import keep_rules, rule_book
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

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import EASY
    >>> from hpcdispatch.testing import tiny
    >>> class Watched(EASY):
    ...     "EASY that prints the state at 20 s."
    ...
    ...     def dispatch(self, state):
    ...         if state.now == 20:
    ...             print(state.queue.predicted, state.free, state.profile().earliest(state.queue[0]))
    ...         return super().dispatch(state)
    >>> result = hd.simulate(tiny(), Watched())
    [60 40] [[1]] (120, array([0, 0, 0, 0]))
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

    def showing(
        self,
        queue: Sequence[Waiting] | None = None,
        running: Sequence[Running] | None = None,
        free: IntArray | None = None,
    ) -> State:
        """Return the state with other jobs or free amounts, under the same rules. For dispatchers over others."""
        shown = State(
            self.now,
            self.queue if queue is None else queue,
            self.running if running is None else running,
            self.free if free is None else free,
            self.machine,
        )
        book = rule_book(self)
        if book is not None:
            keep_rules(shown, book)
        return shown

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

    Everything else is optional, and listed with its default in :class:`DispatcherContract`.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import Start, space_of
    >>> from hpcdispatch.testing import tiny
    >>> class SmallestFirst:
    ...     "Start the job with the fewest cores that fits, again and again."
    ...
    ...     def dispatch(self, state):
    ...         room, actions = space_of(state), []
    ...         for waiting in sorted(state.queue, key=lambda waiting: waiting.nodes):
    ...             placement = room.place(waiting.nodes, waiting.demand)
    ...             if placement is not None:
    ...                 actions.append(Start(waiting, placement))
    ...         return actions
    >>> hd.simulate(tiny(), SmallestFirst()).jobs["start"].tolist()
    [0, 0, 250, 20, 50]
    """

    def dispatch(self, state: State) -> Sequence[Action]:
        """Return the actions for now, in order.

        Called once at each instant with job ends, arrivals, returns or a due :class:`Wake`, if any job waits.
        """
        ...


class DispatcherContract(Contract):
    """What the engine reads of a dispatcher beside ``dispatch(state)``. A plain class has the defaults.

    Attributes
    ----------
    name
        Name in messages and tables. By default the class with its options.
    uses
        Packages whose version may change a schedule.
    over
        Its inner dispatcher. The engine then reads the members of both.
    reset
        ``reset(machine, rng)`` begins a simulation. `rng` is a ``numpy.random.Generator`` with its seed.
    report
        ``report()`` returns a mapping after each decision, for ``Result.decisions``.
    memory, recall
        ``memory()`` returns JSON for a state. ``recall(state, memory)`` gets it back when a simulation begins from it.
    job_ended
        ``job_ended(id, ran, now)`` is called when a job has left, with its total run time, seconds.
    use_replays
        ``use_replays(replay)`` gets the function that replays the past under another dispatcher.
    use_longest_wait
        ``use_longest_wait(seconds)`` gets the longest wait that a portfolio expects.
    sorted_queue
        ``sorted_queue(state)`` returns the waiting jobs in the order in which it tries them.
    steps_on_pool
        ``steps_on_pool(times, walltime, amounts, capacity)`` returns compiled steps of whole traces on a pool.
    placement
        Which nodes it fills first: ``"first-fit"``, ``"best-fit"`` or ``"compact"``. The last one needs levels of the
        machine, or a warning says that they are missing.
    on_profile
        Whether it takes its room from ``state.profile()``. It then sees all jobs, and its starts are checked. ``None``:
        a copy is asked once.
    plans_closures
        Whether its own plan contains closed nodes.
    memoryless
        Whether closed nodes may be shown as one more resource, different at each decision.
    reads_free
        Whether it uses the free amounts, so that closed nodes are shown as occupied.
    knows_site
        Whether it implements limits of arrays, reservations and node numbers of partitions itself.
    every_second
        Whether it is called each second while jobs wait without future events.
    unbounded
        Why it could not keep its bound of waits. Empty if it could.
    constraints
        Its site constraints, which the check of the result reads.
    """

    __slots__ = ()

    name = Member[str]("", str)
    uses = Member[Sequence[str]]((), Sequence)
    over = Member[Any](None, object)
    reset = Member[Callable[[Any, Any], None] | None](None, Callable)
    report = Member[Callable[[], Mapping[str, Any]] | None](None, Callable)
    memory = Member[Callable[[], Any] | None](None, Callable)
    recall = Member[Callable[[Any, Any], None] | None](None, Callable)
    job_ended = Member[Callable[[str, int, int], None] | None](None, Callable)
    use_replays = Member[Callable[[Any], None] | None](None, Callable)
    use_longest_wait = Member[Callable[[int], None] | None](None, Callable)
    sorted_queue = Member[Callable[[State], Sequence[Waiting]] | None](None, Callable)
    steps_on_pool = Member[Callable[..., Any] | None](None, Callable)
    placement = Member[str]("", str)
    on_profile = Member[bool | None](None, bool)
    plans_closures = flag()
    memoryless = flag()
    reads_free = flag()
    knows_site = flag()
    every_second = flag()
    unbounded = Member[str]("", str)
    constraints = Member[Sequence[Any]]((), Sequence)
