"""Advance reservations, and the jobs assigned to them."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ...base import BoolArray, IntArray
from ...models.slurm.reservations import ClosedAmounts, NodeClosures
from ...workloads import Machine
from ...workloads.machine_rules import Closure
from ...workloads.slurm_reservations import SlurmReservation
from ..problems import closed_amounts
from ..protocol import Action, Reject, State, Waiting
from ..rule_book import closures_ahead

_FAR = 2**61
_INVALID = "Requested reservation is invalid"


class SlurmReservations:
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
        self._repeats = any(each.repeat for each in reservations)
        self._masks = np.zeros((len(reservations), nodes), np.bool_)
        self._everywhere = np.ones((1, nodes), np.bool_)
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
            and ((place := self._of[job.order]) < 0 or not self._known[place].spans(now + self._epoch))
        ]

    def due(self, before: int, now: int, machine: Machine) -> bool:
        """Return whether a reservation or a closure of the machine begins or ends in (`before`, `now`]."""
        closures = machine.rules.closures(machine.nodes, before, now + 1)
        bounds = (time for closure in closures for time in (closure.begin, closure.end))
        return any(before < bound <= now for bound in (*self._bounds_after(before), *bounds))

    def following(self, now: int) -> list[int]:
        """Return when the next reservation begins or ends, if any."""
        return [bound for bound in self._bounds_after(now) if bound > now][:1]

    def _bounds_after(self, time: int) -> list[int]:
        """Return the next begins and ends of reservations, in order."""
        if not self._repeats:
            return self._bounds
        spans = (span for each in self._known for span in each.spans(time + self._epoch))
        return sorted(bound - self._epoch for span in spans for bound in span)

    def parts(
        self, state: State, rows: IntArray, members: BoolArray
    ) -> Iterator[tuple[IntArray, BoolArray, NodeClosures | None]]:
        """Yield the jobs outside of reservations, then those in each active one, with nodes and closing times.

        Parameters
        ----------
        state, rows
            State, and rows of its queue to consider.
        members
            Nodes of the partitions, shape (partitions, nodes).
        """
        now = state.now + self._epoch
        spans = [(place, *span) for place, each in enumerate(self._known) for span in each.spans(now)]
        closures = closures_ahead(state)
        partly = [each for each in closures if each.amounts is not None]
        closures = [each for each in closures if each.amounts is None]
        if not (spans or self._of or closures or partly):
            yield rows, members, None
            return
        of = np.array([self._of.get(order, -1) for order in state.queue.order[rows].tolist()], np.int64)
        yield rows[of < 0], members, self._closed(spans, closures, partly, state.machine)
        for place, each in enumerate(self._known):
            inside = rows[of == place]
            own = [(start, end) for at, start, end in spans if at == place]
            others = [span for span in spans if span[0] != place]
            if not len(inside) or not own:
                continue
            if each.flexible:
                yield inside, members, self._closed(others, closures, partly, state.machine)
            elif own[0][0] <= now:
                closed = self._closed(others, closures, partly, state.machine, ends=own[0][1])
                yield inside, members & self._masks[place], closed

    def _partly(
        self, closures: Sequence[Closure], spans: Sequence[tuple[int, int, int]], machine: Machine
    ) -> ClosedAmounts:
        """Return when amounts are closed by the machine, and by reservations of some cores."""
        kinds = {(id(each.nodes), id(each.amounts)): each for each in closures}
        of = {kind: row for row, kind in enumerate(kinds)}
        places = dict.fromkeys(place for place, _, _ in spans)
        amounts = np.zeros((len(kinds) + len(places), *machine.capacity.shape), np.int64)
        for row, each in enumerate(kinds.values()):
            amounts[row] = closed_amounts([each], None, machine)
        for row, place in enumerate(places, len(kinds)):
            known = self._known[place]
            amounts[row, list(known.nodes), machine.primary] = known.cores
        rows = [of[id(each.nodes), id(each.amounts)] for each in closures]
        rows += [len(kinds) + list(places).index(place) for place, _, _ in spans]
        start = [each.begin + self._epoch for each in closures] + [start for _, start, _ in spans]
        end = [each.end + self._epoch for each in closures] + [end for _, _, end in spans]
        return ClosedAmounts(np.array(start, np.int64), np.array(end, np.int64), np.array(rows, np.int64), amounts)

    def _closed(
        self,
        spans: Sequence[tuple[int, int, int]],
        closures: Iterable[Closure],
        partly: Sequence[Closure],
        machine: Machine,
        ends: int | None = None,
    ) -> NodeClosures:
        """Return when nodes are closed by reservations and by the machine.

        All nodes close at the end of a job's own reservation, if it is given.
        """
        whole = [span for span in spans if not self._known[span[0]].cores]
        some = [span for span in spans if self._known[span[0]].cores]
        start = [begin for _, begin, _ in whole]
        end = [last for _, _, last in whole]
        nodes = self._masks[np.array([place for place, _, _ in whole], np.int64)]
        for closure in closures:
            start = [*start, closure.begin + self._epoch]
            end = [*end, closure.end + self._epoch]
            nodes = np.vstack([nodes, np.isin(np.arange(nodes.shape[1]), closure.nodes)])
        if ends is not None:
            start = [*start, ends]
            end = [*end, _FAR]
            nodes = np.vstack([nodes, self._everywhere])
        amounts = self._partly(partly, some, machine)
        return NodeClosures(np.array(start, np.int64), np.array(end, np.int64), nodes, amounts)
