"""Conservative backfilling: a reservation for every job."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack

from ...models import PlacementRule
from ...workloads import Machine, MachineState
from ..options import Configured, PlacementOption
from ..protocol import Action, Placement, Start, State, Waiting, Wake
from ..rule_book import has_rules
from .pool_reservations import PoolReservations
from .reservations import Compress, Reservations


@dataclass(frozen=True)
class ConservativeOptions(PlacementOption):
    """Options of :class:`Conservative`.

    Attributes
    ----------
    compress
        ``"until-stable"`` moves the first job that fits earlier, and repeats this from the head of the queue until
        nothing moves. ``"once"`` traverses the queue once. ``"never"`` keeps every reservation.
    """

    compress: Compress = "until-stable"


class ConservativeGiven(TypedDict, total=False):
    """The options of :class:`ConservativeOptions` by name, for type checkers."""

    placement: PlacementRule
    compress: Compress


class Conservative(Configured[ConservativeOptions]):
    """Conservative backfilling: every job gets a reservation on arrival, and delays no earlier job.

    The reservation is the first fitting slot of the availability profile (Feitelson and Weil, IPPS 1998). When a job
    ends early, reservations move up as in Cirne and Berman (JSSPP 2000, section 2). The queue is traversed in order of
    submission, and the first job that fits earlier moves. This repeats from the head until nothing moves.

    The papers do not cover overruns of predictions. If the predictor corrects itself, all reservations are made anew.
    They keep their order, and none is earlier than before. Without a correction, the job may end at any second, and the
    reservations stay. A due job starts as soon as its amounts are free, in order of submission. If a whole reservation
    passes before that, it is made anew. So are those of all jobs behind it in the queue, in queue order.

    A job that another dispatcher starts early keeps its reservation, if it ends before that begins (see
    :meth:`occupy`). The options are those of :class:`ConservativeOptions`.

    Attributes
    ----------
    held
        Running jobs and reservations, from the first decision on.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers import Conservative
    >>> from hpcdispatch.testing import tiny
    >>> hd.simulate(tiny(), Conservative()).jobs["start"].tolist()
    [0, 0, 100, 20, 160]
    """

    on_profile: ClassVar[bool] = True
    plans_closures: ClassVar[bool] = True
    Options: ClassVar[type] = ConservativeOptions
    held: Reservations | PoolReservations

    if TYPE_CHECKING:

        def __init__(
            self, options: ConservativeOptions | None = None, /, **given: Unpack[ConservativeGiven]
        ) -> None: ...

    def forget(self) -> None:
        """Drop all reservations."""
        self._machine: Machine | None = None
        # A reservation begins at a predicted end, which is an event itself. After an early end, "until-stable" has
        # moved it up. So a timer is needed only under other options, or after a corrected prediction.
        # Under rules reservations also begin when nodes open or a limit rises.
        self._looks_ahead = self.options.compress != "until-stable"
        self._recalled: Mapping[str, Any] | None = None

    def memory(self) -> dict[str, Any]:
        """Return running jobs and reservations. See :meth:`recall`."""
        return {} if self._machine is None else {"held": self.held.memory(), "looks_ahead": self._looks_ahead}

    def recall(self, state: MachineState, memory: Mapping[str, Any] | None) -> None:
        """Restore the reservations. Without a memory, jobs get reservations in order of submission."""
        self._recalled = memory or None

    def open(self, state: State) -> Reservations | PoolReservations:
        """Return the initial reservations."""
        if state.machine.capacity.size == 1 and not has_rules(state):
            return PoolReservations(state)
        return Reservations(state, self.options.placement)

    def dispatch(self, state: State) -> Sequence[Action]:
        """Update the profile, reserve for new jobs, and start due jobs."""
        self.update(state)
        started, late, following = self.held.start_due(state)
        actions: list[Action] = [Start(waiting, placement) for waiting, placement in started]
        if following is not None and (late or self._looks_ahead):
            actions.append(Wake(following))
        return actions

    def update(self, state: State) -> None:
        """Update the profile, and reserve for new jobs."""
        if self._machine is not state.machine:
            recalled = self._recalled
            self.forget()
            self._machine = state.machine
            self.held = self.open(state)
            self._looks_ahead = self._looks_ahead or has_rules(state)
            if recalled is not None:
                self.held.recall(state, recalled["held"])
                self._looks_ahead = recalled["looks_ahead"]
        if self.held.follow(state):
            self._looks_ahead = True
        self.held.compress(self.options.compress, state.now)
        self.held.reserve_new(state)

    def earliest_start(self, nodes: int, demand: tuple[int, ...], duration: int) -> int | None:
        """Return when a new job's slots would be reserved, or ``None``. Reserves nothing.

        Call :meth:`update` with the present jobs first.
        """
        return self.held.earliest_start(nodes, demand, duration)

    def earliest_for(self, waiting: Waiting) -> int | None:
        """Return when a new job would get its reservation under all rules, or ``None``. Reserves nothing.

        Call :meth:`update` with the present jobs first.
        """
        if isinstance(self.held, PoolReservations):
            return self.held.earliest_start(waiting.nodes, waiting.demand, waiting.predicted)
        fit = self.held.profile.earliest(waiting, self.held.profile.now)
        return None if fit is None else fit[0]

    def guaranteed(self, waiting: Waiting) -> int | None:
        """Return the begin of a job's reservation, or ``None``. Call :meth:`update` first."""
        return self.held.guaranteed(waiting)

    def steps(self) -> list[tuple[int, int | None, int]]:
        """Return begin, end and free units of each time slot on a pool.

        Call :meth:`update` first. The last slot has no end, ``None``.

        Raises
        ------
        TypeError
            If the machine is not a pool of one resource.
        """
        if self._machine is None or self._machine.capacity.size > 1:
            raise TypeError("steps: expected a machine that is a pool of one resource")
        return self.held.steps()

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds a job's slots are free from now, and where, after a dispatch.

        ``None`` if they are not free. The seconds are ``None`` if they stay free.
        """
        return self.held.gap(waiting)

    def occupy(self, waiting: Waiting, placement: Placement, seconds: int) -> None:
        """Record that a job starts in a gap, for at most `seconds`. Its own reservation stays."""
        self.held.occupy(waiting, placement, seconds)
