"""Round-based greedy scheduling: largest jobs first, with fixed reservations."""

from __future__ import annotations

from ..backfilling.conservative import Conservative
from ..protocol import State
from .batch_reservations import BatchReservations
from .round_reservations import RoundReservations, RoundsOptions


class Rounds(Conservative):
    """Reserves for the queue in rounds, largest area first. Later jobs wait for the next round.

    The greedy heuristic of Gainaru et al. (ICPP 2019, section 4.3) for sets of jobs. A round takes the queue in falling
    order of processors times predicted run time. Each job gets its earliest fit. The next round begins when the last of
    them has ended.

    With ``batch=100,move=never`` it is the scheduler of the authors' public simulator. Reservations are fixed, even if
    amounts become free. Gaps between them, and after early ends, are for jobs without a reservation. Such a job gets
    one if it fits completely before the last reservation ends. These are jobs beyond the batch, later arrivals, and
    failed jobs. With ``move=fill``, jobs of the round may also move into gaps.

    Nothing else moves up. So over-estimation costs utilization here, as the paper assumes of a batch scheduler. The
    options are those of :class:`RoundsOptions`.
    """

    Options = RoundsOptions
    options: RoundsOptions

    def open(self, state: State) -> RoundReservations:
        """Return the initial reservations."""
        kind = BatchReservations if self.options.move == "never" else RoundReservations
        return kind(state, self.options)
