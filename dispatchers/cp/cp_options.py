"""The options of the constraint-programming dispatchers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ...base.checks import check_choice, check_whole
from ...models import Limit

#: Where the allocation is decided: in the model (PCP), or after it by a rule (HCP).
Formulation = Literal["hcp", "pcp"]
#: Which jobs must have nodes under PCP: all of them for as long as they run, or those that start now.
Horizon = Literal["all", "now"]
#: What a limit is counted in: CP-SAT's deterministic time, or seconds on the wall clock.
LimitKind = Literal["deterministic", "wall"]
#: The first limit in deterministic time, seconds; on the wall clock it is the paper's.
_FIRST = {"hcp": 0.005, "pcp": 0.03}
_FIRST_ON_THE_WALL = 1.0
_LAST = 16


@dataclass(frozen=True)
class ConstraintProgrammingOptions:
    """The parameters of the paper's Table 1; the presets ``pcp`` to ``hcp3`` are its columns.

    Attributes
    ----------
    formulation
        ``"hcp"``: resources pooled over all nodes, the jobs that start now are placed by priority, best fit, and those
        that find no place are postponed. ``"pcp"``: the nodes are part of the model.
    version
        0 to 3; what the next three are if they are not given.
    reduced
        From version 1 on. The model has only the first `m` jobs by priority, and of those the ones that fit now;
        resources that nobody asks for are left out; a decision that needs no solver calls none; a state in which
        nothing could be started is not solved again; a proof that there is no schedule ends the search, as do `k`
        restarts in vain. Without it all jobs are in the model, with ``"hcp"`` those after the first `m` at the end of
        the horizon, where they may leave no schedule at all; then nobody starts until a job ends.
    underestimates
        From version 2 on. A running job whose prediction has passed runs for one more second; otherwise it has a
        negative duration: it holds nothing and shortens the horizon.
    durations
        In version 3. The objective is the sum of slowdowns (s - q + d) / d, and the priority the slowdown now;
        otherwise waits weighted by the queue's expected wait.
    m
        How many jobs may get a start time, at least 1. Halved after a decision without a schedule until there is one.
    ewt
        Expected wait of each queue, where `durations` is off: ``measured`` (mean so far), seconds for all,
        ``queue:seconds;queue:seconds``, or the path of a trace with recorded waits.
    limit
        ``"deterministic"``, the same on any machine, or ``"wall"``, as the paper has it.
    d, d_max
        First limit for the solver, seconds, and the most it is doubled to while there is no schedule. By default 0.005
        (``"pcp"``: 0.03), on the wall clock 1; and 16 times as much.
    k
        Most restarts without a schedule.
    iterations
        Steps of local search on the best list schedule before it is given to the solver as its hint.
    horizon
        Only with ``"pcp"``, from version 1 on. ``"all"``: every job of the plan has nodes, as the paper has it.
        ``"now"``: those that start now have, the others share the pool; they are planned anew at the next event.

    Raises
    ------
    ValueError
        For a value outside its range.
    """

    formulation: Formulation = "hcp"
    version: int = 3
    reduced: bool | None = None
    underestimates: bool | None = None
    durations: bool | None = None
    m: int = 100
    ewt: str = "measured"
    limit: LimitKind = "deterministic"
    d: float | None = None
    d_max: float | None = None
    k: int = 2
    iterations: int = 0
    horizon: Horizon = "now"

    def __post_init__(self) -> None:
        check_choice("formulation", self.formulation, Formulation)
        check_choice("horizon", self.horizon, Horizon)
        check_choice("limit", self.limit, LimitKind)
        check_choice("version", self.version, range(4))
        check_whole("m", self.m, 1)
        check_whole("k", self.k, 0)
        check_whole("iterations", self.iterations, 0)
        first, most = self._seconds()
        if not first > 0:
            raise ValueError(f"d must be > 0 seconds, got {first:g}")
        if not most >= first:
            raise ValueError(f"d_max must be >= d = {first:g} seconds, got {most:g}")

    def settled(self) -> ConstraintProgrammingOptions:
        """Return the same with what the version decides filled in."""
        switches = (self.reduced, self.underestimates, self.durations)
        reduced, underestimates, durations = (
            self.version >= since if switch is None else switch for since, switch in enumerate(switches, 1)
        )
        return replace(self, reduced=reduced, underestimates=underestimates, durations=durations)

    @property
    def solver_limit(self) -> Limit:
        """How long the solver may think, for options that are settled."""
        return Limit(*self._seconds(), self.k if self.reduced else None, self.limit == "wall")

    def _seconds(self) -> tuple[float, float]:
        first = self.d
        if first is None:
            first = _FIRST_ON_THE_WALL if self.limit == "wall" else _FIRST[self.formulation]
        return first, _LAST * first if self.d_max is None else self.d_max
