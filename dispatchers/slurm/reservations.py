"""Advance reservations, and the jobs assigned to them."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ...base import BoolArray, IntArray
from ...models.slurm.reservations import ClosedAmounts, ClosedNodes
from ...workloads import Machine
from ...workloads.machine_rules import Closure
from ...workloads.slurm_reservations import SlurmReservation
from ..backfilling.closed_times import closures_ahead
from ..problems import closed_amounts
from ..protocol import Action, Reject, State, Waiting

_FAR = 2**61
_INVALID = "Requested reservation is invalid"


class Reservations:
    """Reservations as node masks.

    Parameters
    ----------
    reservations
        The advance reservations.
    nodes
        Number of nodes of the machine.
    epoch
        Seconds since 1970 at time 0.
    """

    def __init__(self, reservations: Sequence[SlurmReservation], nodes: int, epoch: int) -> None:
        self._known, self._epoch = reservations, epoch
        self._names = {each.name: place for place, each in enumerate(reservations)}
        self._masks = np.zeros((len(reservations), nodes), np.bool_)
        for place, each in enumerate(reservations):
            self._masks[place, list(each.nodes)] = True
        self._of: dict[int, int] = {}
        self._bounds = sorted({time - epoch for each in reservations for time in (each.start, each.end)})

    def add(self, joined: Iterable[Waiting]) -> None:
        """Add jobs that joined the queue."""
        for waiting in joined:
            if waiting.job.reservation:
                self._of[waiting.order] = self._names.get(waiting.job.reservation, -1)

    def refused(self, waiting: Iterable[Waiting], now: int) -> list[Action]:
        """Return rejections of jobs with an ended or unknown reservation."""
        if not self._of:
            return []
        return [
            Reject(job, _INVALID)
            for job in waiting
            if job.order in self._of
            and ((place := self._of[job.order]) < 0 or self._known[place].end - self._epoch <= now)
        ]

    def due(self, before: int, now: int, machine: Machine) -> bool:
        """Return whether a reservation or a closure of the machine begins or ends in (`before`, `now`]."""
        closures = machine.rules.closures(machine.nodes, before, now + 1)
        bounds = (time for closure in closures for time in (closure.begin, closure.end))
        return any(before < bound <= now for bound in (*self._bounds, *bounds))

    def following(self, now: int) -> list[int]:
        """Return when the next reservation begins or ends, if any."""
        return [bound for bound in self._bounds if bound > now][:1]

    def parts(
        self, state: State, rows: IntArray, members: BoolArray
    ) -> Iterator[tuple[IntArray, BoolArray, ClosedNodes | None]]:
        """Yield the jobs outside of reservations, then those in each active one, with nodes and closing times.

        Parameters
        ----------
        state, rows
            State, and rows of its queue to consider.
        members
            Nodes of the partitions, shape (partitions, nodes).
        """
        now = state.now + self._epoch
        open_ = [place for place, each in enumerate(self._known) if each.end > now]
        closures = closures_ahead(state)
        partly = self._partly([each for each in closures if each.amounts is not None], state.machine)
        closures = [each for each in closures if each.amounts is None]
        if not (open_ or self._of or closures or len(partly.of)):
            yield rows, members, None
            return
        of = np.array([self._of.get(order, -1) for order in state.queue.order[rows].tolist()], np.int64)
        yield rows[of < 0], members, self._closed(open_, closures, partly, None)
        for place in open_:
            inside = rows[of == place]
            if self._known[place].start <= now and len(inside):
                others = [other for other in open_ if other != place]
                yield inside, members & self._masks[place], self._closed(others, closures, partly, self._known[place])

    def _partly(self, closures: Sequence[Closure], machine: Machine) -> ClosedAmounts:
        """Return when amounts are closed by the machine."""
        kinds = {(id(each.nodes), id(each.amounts)): each for each in closures}
        of = {kind: row for row, kind in enumerate(kinds)}
        amounts = np.zeros((len(kinds), *machine.capacity.shape), np.int64)
        for row, each in enumerate(kinds.values()):
            amounts[row] = closed_amounts([each], None, machine)
        start = np.array([each.begin + self._epoch for each in closures], np.int64)
        end = np.array([each.end + self._epoch for each in closures], np.int64)
        rows = np.array([of[id(each.nodes), id(each.amounts)] for each in closures], np.int64)
        return ClosedAmounts(start, end, rows, amounts)

    def _closed(
        self, places: list[int], closures: Iterable[Closure], partly: ClosedAmounts, within: SlurmReservation | None
    ) -> ClosedNodes:
        """Return when nodes are closed by reservations and by the machine.

        All nodes close at the end of the reservation `within`, if it is given.
        """
        known = [self._known[place] for place in places]
        start = [each.start for each in known]
        end = [each.end for each in known]
        nodes = self._masks[places]
        for closure in closures:
            start = [*start, closure.begin + self._epoch]
            end = [*end, closure.end + self._epoch]
            nodes = np.vstack([nodes, np.isin(np.arange(nodes.shape[1]), closure.nodes)])
        if within is not None:
            start = [*start, within.end]
            end = [*end, _FAR]
            nodes = np.vstack([nodes, np.ones_like(self._masks[:1])])
        return ClosedNodes(np.array(start, np.int64), np.array(end, np.int64), nodes, partly)
