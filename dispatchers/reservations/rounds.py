"""Round-based greedy scheduling: the widest and longest jobs first, and reservations that stand."""

from __future__ import annotations

from ..backfilling.conservative import Conservative
from ..protocol import State
from .batch_reservations import BatchReservations
from .round_reservations import RoundReservations, RoundsOptions


class Rounds(Conservative):
    """Rounds: a batch of jobs gets reservations, largest area first; those that come later wait for the next round.

    The greedy heuristic of Gainaru et al. (ICPP 2019, section 4.3) for sets of jobs. A round takes the jobs in the
    queue in non-increasing order of processors times predicted run time, each at the earliest time at which it fits,
    and the next round begins when the last of them has ended.

    With ``batch=100,move=never`` it is the scheduler of the authors' public simulator: reservations stand, whatever is
    freed. What is left between them, and what jobs leave that end early, is for jobs without a reservation, which get
    one if they fit as a whole before the last reservation ends: jobs beyond the batch, such as came later, and such as
    failed. With ``move=fill``, jobs of the round move into gaps too.

    Nothing is moved up otherwise, which is why over-estimation costs utilization here: what the paper takes a batch
    scheduler to do. Its options are those of :class:`RoundsOptions`.
    """

    Options = RoundsOptions
    options: RoundsOptions

    def open(self, state: State) -> RoundReservations:
        """Return the reservations to begin with."""
        kind = BatchReservations if self.options.move == "never" else RoundReservations
        return kind(state, self.options)
