"""The options of the constraint-programming dispatchers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ...base.checks import EACH_STEP, MOST_STEPS, check_choice, check_whole
from ...models import Limit
from ..options import internal
from ..site.site_constraints import Given
from .site_objectives import Goal

#: Where the allocation is decided: in the model (PCP), or after it by a rule (HCP).
Formulation = Literal["hcp", "pcp"]
#: Which jobs have nodes in PCP's model: all of them for as long as they run, or those that start now.
Horizon = Literal["all", "now"]
#: Where a job must fit now to be a candidate: on the nodes, or where all nodes are one.
Filter = Literal["nodes", "pool"]
#: What looks for a better schedule than that of the local search.
Solver = Literal["cp-sat", "none"]
#: Where version 0 of HCP has the jobs after the first `m`: at the end of the horizon, or out of the model.
Rest = Literal["end", "out"]
#: What a limit is counted in: CP-SAT's deterministic time, or seconds on the wall clock.
LimitKind = Literal["deterministic", "wall"]
#: The first limit in deterministic time, seconds: where a schedule and bounds are known before, with all jobs in the
#: model, and where every job of the plan has nodes; on the wall clock it is the paper's.
_FIRST, _FIRST_OF_ALL, _FIRST_ON_NODES = 0.0005, 0.002, 0.01
_FIRST_ON_THE_WALL = 1.0
_LAST = 16
#: The budget of a decision, deterministic seconds.
_BUDGET = 1.0


@dataclass(frozen=True)
class ConstraintProgrammingOptions:
    """The parameters of the paper's Table 1: ``pcp`` to ``hcp3`` are its columns, ``pcp-fast`` the default.

    Attributes
    ----------
    formulation
        ``"hcp"``: resources pooled over all nodes, the jobs that start now are placed by priority, best fit, and those
        that find no place are postponed. ``"pcp"``: the nodes are part of the model.
    version
        0 to 3; what the next three are if they are not given.
    reduced
        From version 1 on. The model has only what fits now, and of that the first `m` jobs by priority; resources that
        nobody asks for are left out; a decision that needs no solver calls none; a state in which nothing could be
        started is not solved again; a proof ends the search, as do `k` restarts that change nothing. Without it
        all jobs are in the model, with ``"hcp"`` those after the first `m` at the end of the horizon, where they may
        leave no schedule at all; then nobody starts until a job ends.
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
        ``"deterministic"``, the same on any machine, or ``"wall"``, as the paper has it: `d` is 1 s and `d_max` 16 s.
    d, d_max
        First limit for the solver, seconds, and the most it is doubled to while nothing is proved; without `reduced`,
        while there is no schedule. By default 0.0005 (version 0: 0.002; `horizon` ``"all"``: 0.01), and 16 times as
        much.
    k
        Restarts in a row that may change nothing.
    budget
        What lists, local search, packing, bounds, solver and proofs of one decision may take together, deterministic
        seconds; by default 1, with `limit` ``"wall"`` twice `d_max`. A decision that needs more follows the best
        schedule that it has, never worse than its best list schedule.
    iterations
        Steps of local search on the best list schedule before the solver is asked; after a quarter of them that brings
        nothing there are no more.
    filter
        Only with ``"hcp"``, from version 1 on: whether the jobs that get a start time fit on the nodes now, or on all
        nodes as if they were one.
    blocked
        From version 1 on: how many of the most urgent jobs that do not fit now get a start time, too, so that what
        starts now leaves room for them. The paper has none; PCP'21 has ("considered" jobs, arXiv 2009.10348).
    horizon
        Only with ``"pcp"``. ``"all"``: every job of the plan has nodes, as the paper has it. ``"now"``, from version 1
        on: those that start now have, the others share the pool; they are planned anew at the next event.
    boxes
        Only with ``"pcp"`` and `horizon` ``"all"``, from version 1 on: whether slots are boxes on one axis per
        resource, as PCP'21 has them, and not conditional intervals on each node.
    solver
        What looks for a better schedule than that of the local search, from version 1 on: ``"cp-sat"``, or
        ``"none"``.
    rest
        Only with ``"hcp"``, version 0: where the jobs after the first `m` are. ``"end"``: at the end of the horizon, as
        the paper has it; as soon as they are too many to run side by side there is no schedule, whatever else runs.
        ``"out"``: not in the model, as in the authors' code.
    objective
        What is minimised instead, and the priority that goes with it: a registered objective, with ``/`` in place of
        the comma between its options, or a :class:`Goal`. Empty: what `durations` says.
    constraints
        What every schedule must meet beside: registered constraints with ``+`` between them and ``/`` in place of the
        comma between the options of one, or a sequence of :class:`SiteConstraint`.
    molds
        Only with ``"hcp"``, from version 1 on: whether a moldable job may run on any of its shapes, so that size and
        start are decided together; the end counts, not the start. Otherwise it runs on its own request. Not beside
        `blocked` and `constraints`, which know rigid jobs alone.
    log
        Whether CP-SAT prints its progress.
    export
        A folder in which each model that CP-SAT is given is written, as a text file that CP-SAT reads. Empty: none is.

    Raises
    ------
    ValueError
        For a value outside its range.
    """

    formulation: Formulation = "pcp"
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
    budget: float | None = None
    iterations: int = 1000
    filter: Filter = internal("nodes")  # noqa: RUF009
    blocked: int = 0
    horizon: Horizon = "now"
    boxes: bool = False
    solver: Solver = "cp-sat"
    rest: Rest = "end"
    objective: str | Goal = ""
    constraints: Given = ""
    molds: bool = False
    log: bool = False
    export: str = ""

    def __post_init__(self) -> None:
        choices = {"formulation": Formulation, "horizon": Horizon, "filter": Filter, "solver": Solver, "rest": Rest}
        for name, allowed in (choices | {"limit": LimitKind}).items():
            check_choice(name, getattr(self, name), allowed)
        check_choice("version", self.version, range(4))
        for name, least in (("m", 1), ("k", 0), ("iterations", 0), ("blocked", 0)):
            check_whole(name, getattr(self, name), least, MOST_STEPS, EACH_STEP)
        if self.molds:
            self._check_molding()
        if self.boxes and (self.formulation, self.horizon, self.version > 0) != ("pcp", "all", True):
            raise ValueError("boxes must be false but with formulation pcp, horizon all and version 1 to 3")
        first, most = self._seconds()
        if not first > 0:
            raise ValueError(f"d must be > 0 seconds, got {first:g}")
        if not most >= first:
            raise ValueError(f"d_max must be >= d = {first:g} seconds, got {most:g}")
        if self.budget is not None and not self.budget > 0:
            raise ValueError(f"budget must be > 0 seconds, got {self.budget:g}")

    def _check_molding(self) -> None:
        """Refuse what knows rigid jobs alone, and say what it lacks."""
        reduced = self.version >= 1 if self.reduced is None else self.reduced
        for rigid, reason in (
            (self.formulation == "pcp", "formulation pcp, whose model places one request a job on the nodes"),
            (not reduced, "all jobs in the model (version 0), which has one request a job"),
            (bool(self.blocked), "blocked, whose profile takes one request a job"),
            (bool(self.constraints), "constraints, which are on the request of a job and not on the size it gets"),
        ):
            if rigid:
                raise ValueError(f"molds must be false with {reason}")

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

    @property
    def seconds(self) -> float:
        """The budget of a decision."""
        if self.budget is not None:
            return self.budget
        return 2 * self._seconds()[1] if self.limit == "wall" else _BUDGET

    @property
    def pooled(self) -> bool:
        """Whether the nodes are one for the jobs that do not start now."""
        return self.formulation == "hcp" or bool(self.reduced and self.horizon == "now")

    def _seconds(self) -> tuple[float, float]:
        first = self.d
        if first is None:
            nodes = self.formulation == "pcp" and (self.horizon == "all" or self.version == 0)
            pooled = _FIRST if self.version else _FIRST_OF_ALL
            first = _FIRST_ON_THE_WALL if self.limit == "wall" else _FIRST_ON_NODES if nodes else pooled
        return first, _LAST * first if self.d_max is None else self.d_max
