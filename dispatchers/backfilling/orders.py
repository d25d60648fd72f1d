"""Orders of the queue: which waiting job is tried first."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from ...base import FloatArray, InputError, IntArray, Registry, part_label, shown
from ...workloads import Machine
from ..options import PlacementOption
from ..protocol import Action, Start, State, Waiting
from ..registered import spec_of_inner

orders = Registry("order", "hpcdispatch.orders")
Ranks = FloatArray | IntArray
#: Order of entry into the queue, without sorting.
SUBMISSION = "submission"


@runtime_checkable
class QueueOrder(Protocol):
    """Sort order of waiting jobs.

    Two further methods are optional: ``reset(machine)`` before a simulation, and ``started(waiting, now)`` for each job
    that the dispatcher starts.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import EASY
    >>> from hpcdispatch.testing import tiny
    >>> class LargestFirst:
    ...     "Order waiting jobs by falling number of cores."
    ...
    ...     def ranks(self, state):
    ...         return -state.queue.nodes
    >>> hd.simulate(tiny(), EASY(order=LargestFirst())).jobs["start"].tolist()
    [0, 0, 100, 20, 160]
    """

    def ranks(self, state: State) -> Ranks:
        """Return a number per waiting job, least first, shape (jobs,). Ties keep the queue order."""
        ...


@dataclass(frozen=True)
class OrderOption(PlacementOption):
    """Option of the order of the queue.

    Attributes
    ----------
    placement
        ``"first-fit"`` fills nodes in their order. ``"best-fit"`` fills the node with the least free share first.
        ``"compact"`` uses few groups of the machine's levels.
    order
        Order in which waiting jobs are tried: ``"submission"``, ``"priority"``, ``"sjf"``, ``"fairshare"`` or another
        registered one, with its options as in ``fairshare:half_life=3600``. Or an object with ``ranks(state)``.
    """

    order: str | QueueOrder = field(default=SUBMISSION, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._order  # noqa: B018 - an unknown order is an error at once

    @cached_property
    def _order(self) -> QueueOrder:
        return create_order(self.order)

    def reset(self, machine: Machine | None, rng: np.random.Generator | None = None) -> None:
        """Reset the order."""
        if hasattr(self._order, "reset"):
            self._order.reset(machine)

    def sorted_queue(self, state: State) -> Sequence[Waiting]:
        """Return the waiting jobs in order."""
        return state.queue.entries if is_submission(self.order) else sort_jobs(self.order, self._order, state)

    def tell_order(self, actions: Sequence[Action], now: int) -> None:
        """Report starting jobs to the order."""
        if not is_submission(self.order) and hasattr(self._order, "started"):
            for action in actions:
                if isinstance(action, Start):
                    self._order.started(action.job, now)


def create_order(spec: str | QueueOrder) -> QueueOrder:
    """Create a registered order from ``NAME:key=value/key=value``. An order object is returned as is.

    Raises
    ------
    InputError
        For an unknown name or option, or a part without ``ranks(state)``.
    """
    made: Any = orders.create(spec_of_inner(spec)) if isinstance(spec, str) else spec
    if isinstance(made, type) or not isinstance(made, QueueOrder):
        call = ", which is a class: call it" if isinstance(made, type) else ""
        raise InputError(
            f"order {shown(spec)}: expected a name or an object with ranks(state), got {shown(made)}{call}"
        )
    return made


def is_submission(order: str | QueueOrder) -> bool:
    """Return whether an order is that of submission by its name, which needs no sorting."""
    return isinstance(order, str) and order == SUBMISSION


def sort_jobs(name: str | QueueOrder, order: QueueOrder, state: State) -> list[Waiting]:
    """Return the waiting jobs of a state in an order.

    Raises
    ------
    InputError
        Unless the ranks are numbers, one per waiting job.
    """
    entries = state.queue.entries
    ranks = np.asarray(order.ranks(state))
    if ranks.shape == (len(entries),) and ranks.dtype.kind in "iuf":
        places = ranks.argsort(kind="stable").tolist()
        if not places or ranks[places[-1]] == ranks[places[-1]]:  # NaN comes last.
            return [entries[place] for place in places]
    expected = f"{len(entries)} numbers, one per waiting job"
    raise InputError(f"order {shown(part_label(name))}: ranks(state): expected {expected}, got {shown(ranks)}")


def _cores(state: State) -> FloatArray:
    """Return the units of the primary resource of waiting jobs, at least 1. Shape (jobs,)."""
    units = state.queue.nodes * state.queue.demand[:, state.machine.primary]
    return cast(FloatArray, np.maximum(units, 1).astype(np.float64))


def _waits(state: State) -> FloatArray:
    """Return the waits of jobs so far, seconds, shape (jobs,)."""
    return (state.now - state.queue.submit).astype(np.float64)


class Submission:
    """First come, first served."""

    def ranks(self, state: State) -> Ranks:
        """See :class:`QueueOrder`."""
        return np.zeros(len(state.queue))


class Priority:
    """Largest priority of the job first."""

    def ranks(self, state: State) -> Ranks:
        """See :class:`QueueOrder`."""
        return np.array([-waiting.job.priority for waiting in state.queue.entries], dtype=np.float64)


class Shortest:
    """Shortest predicted run time first."""

    def ranks(self, state: State) -> Ranks:
        """See :class:`QueueOrder`."""
        return state.queue.predicted


class Longest:
    """Longest predicted run time first."""

    def ranks(self, state: State) -> Ranks:
        """See :class:`QueueOrder`."""
        return -state.queue.predicted


class Expansion:
    """Largest expansion factor (wait + prediction) / prediction first. The wait begins at submission."""

    def ranks(self, state: State) -> Ranks:
        """See :class:`QueueOrder`."""
        return (state.queue.submit - state.now) / state.queue.predicted


class WFP3:
    """Largest (wait / walltime)^3 * cores first.

    Tang, Lan, Desai and Buettner, Fault-aware, utility-based job scheduling on Blue Gene/P systems, CLUSTER 2009, in
    the form of Zhang et al. (RLScheduler, SC 2020, table 3). The walltime is the predicted run time here.
    """

    def ranks(self, state: State) -> Ranks:
        """See :class:`QueueOrder`."""
        return -((_waits(state) / state.queue.predicted) ** 3) * _cores(state)


class UNICEP:
    """Largest wait / (log2(cores) * walltime) first.

    Source as for :class:`WFP3`. One core counts as two in the logarithm.
    """

    def ranks(self, state: State) -> Ranks:
        """See :class:`QueueOrder`."""
        return -_waits(state) / (np.log2(np.maximum(_cores(state), 2)) * state.queue.predicted)


class _Learned:
    """Least f(run time) * g(cores) + weight * log10(submission) first.

    Carastan-Santos and de Camargo, Obtaining dynamic scheduling policies with simulation and machine learning, SC 2017,
    table 3. The run time is predicted. The submission, in seconds on the trace's clock, counts as at least 1.
    """

    weight: float

    def size(self, runtime: FloatArray, cores: FloatArray) -> FloatArray:
        """Return the term of run time (seconds) and cores, shape (jobs,)."""
        raise NotImplementedError

    def ranks(self, state: State) -> Ranks:
        """See :class:`QueueOrder`."""
        size = self.size(state.queue.predicted.astype(np.float64), _cores(state))
        return size + self.weight * np.log10(np.maximum(state.queue.submit, 1))


class F1(_Learned):
    """Least log10(r) * n + 870 log10(s) first, with run time r, cores n, submission s (SC 2017)."""

    weight = 870.0

    def size(self, runtime: FloatArray, cores: FloatArray) -> FloatArray:
        """See :class:`_Learned`."""
        return cast(FloatArray, np.log10(runtime) * cores)


class F2(_Learned):
    """Least sqrt(r) * n + 25,600 log10(s) first, with run time r, cores n, submission s (SC 2017)."""

    weight = 2.56e4

    def size(self, runtime: FloatArray, cores: FloatArray) -> FloatArray:
        """See :class:`_Learned`."""
        return cast(FloatArray, np.sqrt(runtime) * cores)


class F3(_Learned):
    """Least r * n + 6,860,000 log10(s) first, with run time r, cores n, submission s (SC 2017)."""

    weight = 6.86e6

    def size(self, runtime: FloatArray, cores: FloatArray) -> FloatArray:
        """See :class:`_Learned`."""
        return runtime * cores


class F4(_Learned):
    """Least r * sqrt(n) + 530,000 log10(s) first, with run time r, cores n, submission s (SC 2017)."""

    weight = 5.3e5

    def size(self, runtime: FloatArray, cores: FloatArray) -> FloatArray:
        """See :class:`_Learned`."""
        return runtime * np.sqrt(cores)
