"""Conservative backfilling: a reservation for every job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...base.checks import check_choice
from ...workloads import Machine, MachineState
from ..options import Configured, PlacementOption
from ..protocol import Action, Placement, Start, State, Waiting, Wake
from .pool_reservations import PoolReservations
from .reservations import Compress, Reservations


@dataclass(frozen=True)
class ConservativeOptions(PlacementOption):
    """The options of :class:`Conservative`.

    Attributes
    ----------
    compress
        ``"until-stable"`` moves the first job that fits earlier, and so again from the head of the queue, until nothing
        moves; ``"once"`` traverses the queue once; ``"never"`` keeps every reservation.
    """

    compress: Compress = "until-stable"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("compress", self.compress, Compress)


class Conservative(Configured[ConservativeOptions]):
    """Conservative backfilling: every job gets a reservation when it arrives, so that it delays nobody before it.

    The reservation is the first slot of the availability profile in which the job fits (Feitelson and Weil, IPPS
    1998). When a job ends early the reservations are moved up, as in Cirne and Berman (JSSPP 2000, section 2): the
    queue is traversed in order of submission, the first job that fits earlier is moved, and so again from the head
    until nothing moves.

    The papers do not say what happens when a job outruns its prediction. If the predictor corrects itself, the
    reservations are made anew in the order in which they stood, none earlier than it was. If it does not, the job may
    end at any second and the reservations stand. A job whose time has come starts as soon as its amounts are free,
    tried in order of submission. If a whole reservation passes before that, it and those of all jobs behind it in the
    queue are made anew, in the order of the queue.

    A job that somebody else starts for a while that ends before its reservation begins keeps it (see :meth:`occupy`).
    Its options are those of :class:`ConservativeOptions`.

    Attributes
    ----------
    held
        What runs and what is reserved, from the first decision on.
    """

    uses: ClassVar[tuple[str, ...]] = ("numba",)
    plans_closures: ClassVar[bool] = True
    Options: ClassVar[type] = ConservativeOptions
    held: Reservations | PoolReservations

    def forget(self) -> None:
        """Forget every reservation."""
        self._machine: Machine | None = None
        # A reservation begins when a job is predicted to end. Nothing happens then if the reservation was not moved up
        # when that job ended early; something new is known if its prediction is corrected. Only then a timer is set.
        self._looks_ahead = self.options.compress != "until-stable"
        self._recalled: Mapping[str, Any] | None = None

    def memory(self) -> dict[str, Any]:
        """Return what runs and what is reserved; see :meth:`recall`."""
        return {} if self._machine is None else {"held": self.held.memory(), "looks_ahead": self._looks_ahead}

    def recall(self, state: MachineState, memory: Mapping[str, Any] | None) -> None:
        """Go on with what was reserved; where nobody knows, jobs get reservations in order of submission."""
        self._recalled = memory or None

    def open(self, state: State) -> Reservations | PoolReservations:
        """Return the reservations to begin with."""
        pool = state.machine.capacity.size == 1
        return PoolReservations(state) if pool else Reservations(state, self.options.placement)

    def dispatch(self, state: State) -> Sequence[Action]:
        """Bring the profile up to date, reserve for who arrived, and start who is due."""
        self.update(state)
        started, late, following = self.held.start_due(state)
        actions: list[Action] = [Start(waiting, placement) for waiting, placement in started]
        if following is not None and (late or self._looks_ahead):
            actions.append(Wake(following))
        return actions

    def update(self, state: State) -> None:
        """Bring the profile up to date and reserve for who arrived."""
        if self._machine is not state.machine:
            recalled = self._recalled
            self.forget()
            self._machine = state.machine
            self.held = self.open(state)
            if recalled is not None:
                self.held.recall(state, recalled["held"])
                self._looks_ahead = recalled["looks_ahead"]
        if self.held.follow(state):
            self._looks_ahead = True
        self.held.compress(self.options.compress, state.now)
        self.held.reserve_new(state)

    def earliest_start(self, nodes: int, demand: tuple[int, ...], duration: int) -> int | None:
        """Return when slots would be reserved for a job that arrived now, ``None`` if never; nothing is reserved.

        After :meth:`update` with the jobs that are here already.
        """
        return self.held.earliest_start(nodes, demand, duration)

    def guaranteed(self, waiting: Waiting) -> int | None:
        """Return when the reservation of a job of the queue begins, ``None`` if it has none; after :meth:`update`."""
        return self.held.guaranteed(waiting)

    def steps(self) -> list[tuple[int, int | None, int]]:
        """Return begin, end and free units of each time slot on a pool, beside what runs and is reserved.

        After :meth:`update`; the last slot has no end, ``None``.

        Raises
        ------
        TypeError
            If the machine is no pool of one resource.
        """
        if not isinstance(self.held, PoolReservations):
            raise TypeError("steps: expected a machine that is a pool of one resource")
        return self.held.steps()

    def gap(self, waiting: Waiting) -> tuple[int | None, Placement] | None:
        """Return for how many seconds from now a job's slots are free, and where, right after a dispatch.

        ``None`` if they are not, or instead of the seconds if they are for ever.
        """
        return self.held.gap(waiting)

    def occupy(self, waiting: Waiting, placement: Placement, seconds: int) -> None:
        """Take note that a job is started in a gap, for `seconds` at most; its own reservation stands."""
        self.held.occupy(waiting, placement, seconds)
