"""Options of the constraint-programming dispatchers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypedDict

from ...base import check_choice
from ...base.checks import EACH_STEP, MOST_STEPS, Checked, whole
from ...models import SolverLimit
from ..options import internal
from ..site.site_constraints import Given
from .site_objectives import Goal, PlanGoal

#: Where nodes are allocated: in the model (PCP), or after it by a rule (HCP).
Formulation = Literal["hcp", "pcp"]
#: Jobs with nodes in PCP's model: all jobs during their run, or those that start now.
Horizon = Literal["all", "now"]
#: Where a candidate must fit now: on the nodes, or on the pool of all nodes.
Filter = Literal["nodes", "pool"]
#: Solver to run after the local search.
Solver = Literal["cp-sat", "none"]
#: How a decision is searched: lists, bounds, local search and CP-SAT, or the paper's schedule or postpone.
SearchKind = Literal["cp-sat", "schedule-or-postpone"]
#: Where version 0 of HCP puts jobs after the first `m`: at the end of the horizon, or out of the model.
Rest = Literal["end", "out"]
#: Unit of a limit: CP-SAT's deterministic time, or wall-clock seconds.
LimitKind = Literal["deterministic", "wall"]
_Steps = Annotated[int, whole(0, MOST_STEPS, EACH_STEP)]
#: First limits in deterministic seconds. With a known schedule and bounds, with all jobs in the model, and with nodes
#: for every job. The wall-clock limit is the paper's.
_FIRST = 0.0005
_FIRST_OF_ALL = 0.002
_FIRST_ON_NODES = 0.01
_FIRST_ON_THE_WALL = 1.0
#: First limit of schedule or postpone, seconds of 10,000 failures.
_FIRST_POSTPONING = 0.02
_LAST = 16
#: Budget of a decision, deterministic seconds.
_BUDGET = 1.0


@dataclass(frozen=True)
class ConstraintProgrammingOptions(Checked):
    """Parameters of the paper's Table 1: ``pcp`` to ``hcp3`` are its columns, ``pcp-fast`` the default.

    Attributes
    ----------
    formulation
        ``"hcp"``: all nodes form one pool. Jobs that start now are placed by priority with best fit, and postponed if
        they do not fit. ``"pcp"``: the model contains the nodes.
    version
        0 to 3. Sets the defaults of `reduced`, `underestimates` and `durations`.
    reduced
        From version 1 on. The model contains only jobs that fit now, the first `m` by priority, and only resources that
        they demand. Decisions that need no solver skip it. A state in which no job could start is not solved again. A
        proof ends the search, as do `k` restarts without a change. Without `reduced`, all jobs are in the model. Then
        ``"hcp"`` puts jobs after the first `m` at the end of the horizon. That may leave no schedule at all, and no job
        starts until one ends.
    underestimates
        From version 2 on. A running job that overruns its prediction counts one more second. Without it, the job has a
        negative duration: it occupies nothing and shortens the horizon.
    durations
        In version 3. The objective is the sum of slowdowns (s - q + d) / d, and the priority is the current slowdown.
        Without it, waits are weighted by the queue's expected wait.
    m
        Largest number of jobs with a start time, at least 1. Halved after each model that was too large for its limits,
        until there is a schedule.
    ewt
        Expected wait of each queue, if `durations` is off: ``measured`` (mean so far), seconds for all,
        ``queue:seconds;queue:seconds``, or the path of a trace with recorded waits.
    limit
        ``"deterministic"``, equal on any machine, or ``"wall"``, as in the paper. Then `d` is 1 s and `d_max` 16 s.
    d
        First limit of the solver, seconds. It doubles while nothing is proved, without `reduced` while there is no
        schedule. Default 0.0005 (version 0: 0.002; `horizon` ``"all"``: 0.01).
    d_max
        Largest limit of the solver, seconds. Default 16 times `d`.
    k
        Restarts in a row that may change nothing.
    budget
        Deterministic seconds that all parts of one decision may use together: lists, local search, packing, bounds,
        solver and proofs. Default 1, with `limit` ``"wall"`` twice `d_max`. A decision that needs more uses its best
        schedule, never worse than its best list schedule. With 0 the first list decides.
    iterations
        Steps of local search on the best list schedule before the solver runs. The search ends after a quarter of them
        without improvement.
    filter
        Only with ``"hcp"``, from version 1 on. Whether candidates must fit on the nodes now, or on all nodes as one
        pool.
    blocked
        From version 1 on. Number of most urgent jobs that do not fit now but get a start time. Jobs that start now
        leave room for them. The paper has none. PCP'21 has them ("considered" jobs, arXiv 2009.10348).
    horizon
        Only with ``"pcp"``. ``"all"``: every planned job has nodes, as in the paper. ``"now"``, from version 1 on: only
        jobs that start now have nodes. The others share the pool and are planned again at the next event.
    boxes
        Only with ``"pcp"`` and `horizon` ``"all"``, from version 1 on. Whether slots are boxes on one axis per
        resource, as in PCP'21, instead of conditional intervals on each node.
    solver
        Solver to run after the local search, from version 1 on: ``"cp-sat"`` or ``"none"``.
    search
        ``"cp-sat"``: lists, bounds, local search, then CP-SAT. ``"schedule-or-postpone"``, only with ``"hcp"``: the
        paper's own search by OR-Tools' original solver, in order of priority. Its deterministic limits count 10,000
        failures as a second, and `d` is 0.02. It knows no `constraints`, no objective of whole plans and no `molds`.
    rest
        Only with ``"hcp"``, version 0: where jobs after the first `m` are. ``"end"``: at the end of the horizon, as in
        the paper. If they are too many to run side by side, no schedule exists. ``"out"``: not in the model, as in the
        authors' code.
    objective
        Objective to minimise instead of that of `durations`, with its priority. A registered objective, with ``/``
        instead of the comma between its options, or a :class:`Goal`. Empty for the default.
    constraints
        Further constraints on every schedule: registered constraints joined by ``+``, as
        ``never-together(a;b)+at-most(user;2)``, or a sequence of :class:`SiteConstraint`.
    molds
        Only with ``"hcp"``, from version 1 on. Whether a moldable job may use any of its shapes. Size and start are
        then decided together, and the end counts instead of the start. Otherwise it runs on its own request. Excludes
        `blocked` and `constraints`, which support only rigid jobs.
    log
        Whether CP-SAT prints its progress.
    export
        Folder for each model given to CP-SAT, as a text file that CP-SAT reads. Empty for none.

    Raises
    ------
    ValueError
        For a value outside its range.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.dispatchers.cp import ConstraintProgramming, ConstraintProgrammingOptions
    >>> from hpcdispatch.testing import tiny
    >>> options = ConstraintProgrammingOptions(formulation="hcp", version=3, constraints="at-most(user;2)")
    >>> hd.simulate(tiny(), ConstraintProgramming(options)).jobs["start"].tolist()
    [0, 0, 250, 20, 50]
    """

    formulation: Formulation = "pcp"
    version: int = 3
    reduced: bool | None = None
    underestimates: bool | None = None
    durations: bool | None = None
    m: Annotated[int, whole(1, MOST_STEPS, EACH_STEP)] = 100
    ewt: str = "measured"
    limit: LimitKind = "deterministic"
    d: float | None = None
    d_max: float | None = None
    k: _Steps = 2
    budget: float | None = None
    iterations: _Steps = 1000
    filter: Filter = internal("nodes")  # noqa: RUF009
    blocked: _Steps = 0
    horizon: Horizon = "now"
    boxes: bool = False
    solver: Solver = "cp-sat"
    search: SearchKind = "cp-sat"
    rest: Rest = "end"
    objective: str | Goal = ""
    constraints: Given = ""
    molds: bool = False
    log: bool = False
    export: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("version", self.version, range(4))
        if self.molds:
            self._check_molding()
        if self.boxes and (self.formulation, self.horizon, self.version > 0) != ("pcp", "all", True):
            raise ValueError("boxes must be false but with formulation pcp, horizon all and version 1 to 3")
        if self.search == "schedule-or-postpone":
            self._check_postponing()
        first, most = self._seconds()
        if not first > 0:
            raise ValueError(f"d must be > 0 seconds, got {first:g}")
        if not most >= first:
            raise ValueError(f"d_max must be >= d = {first:g} seconds, got {most:g}")
        if self.budget is not None and not self.budget >= 0:
            raise ValueError(f"budget must be >= 0 seconds, got {self.budget:g}")

    def _check_postponing(self) -> None:
        """Reject options that the paper's search does not know, with the reason."""
        for unknown, reason in (
            (self.formulation == "pcp", "formulation pcp: the original solver has no alternatives of nodes"),
            (self.molds, "molds, whose model has alternatives"),
            (bool(self.constraints), "constraints, which are written for CP-SAT"),
            (isinstance(self.objective, PlanGoal), "an objective of whole plans, which is written for CP-SAT"),
            (self.solver == "none", "solver none"),
        ):
            if unknown:
                raise ValueError(f"search must be cp-sat with {reason}")

    def _check_molding(self) -> None:
        """Reject options that support only rigid jobs, with the reason."""
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
        """Return the options with the defaults of the version filled in."""
        switches = (self.reduced, self.underestimates, self.durations)
        reduced, underestimates, durations = (
            self.version >= since if switch is None else switch for since, switch in enumerate(switches, 1)
        )
        return replace(self, reduced=reduced, underestimates=underestimates, durations=durations)

    @property
    def solver_limit(self) -> SolverLimit:
        """Time limit of the solver, for settled options."""
        return SolverLimit(*self._seconds(), self.k if self.reduced else None, self.limit == "wall")

    @property
    def seconds(self) -> float:
        """Budget of a decision, seconds."""
        if self.budget is not None:
            return self.budget
        return 2 * self._seconds()[1] if self.limit == "wall" else _BUDGET

    @property
    def pooled(self) -> bool:
        """Whether jobs that do not start now share a pool of all nodes."""
        return self.formulation == "hcp" or bool(self.reduced and self.horizon == "now")

    def _seconds(self) -> tuple[float, float]:
        first = self.d
        if first is None:
            nodes = self.formulation == "pcp" and (self.horizon == "all" or self.version == 0)
            pooled = _FIRST if self.version else _FIRST_OF_ALL
            pooled = pooled if self.search == "cp-sat" else _FIRST_POSTPONING
            first = _FIRST_ON_THE_WALL if self.limit == "wall" else _FIRST_ON_NODES if nodes else pooled
        return first, _LAST * first if self.d_max is None else self.d_max


class ConstraintProgrammingGiven(TypedDict, total=False):
    """The options of :class:`ConstraintProgrammingOptions` by name, for type checkers."""

    formulation: Formulation
    version: int
    reduced: bool | None
    underestimates: bool | None
    durations: bool | None
    m: int
    ewt: str
    limit: LimitKind
    d: float | None
    d_max: float | None
    k: _Steps
    budget: float | None
    iterations: _Steps
    filter: Filter
    blocked: _Steps
    horizon: Horizon
    boxes: bool
    solver: Solver
    search: SearchKind
    rest: Rest
    objective: str | Goal
    constraints: Given
    molds: bool
    log: bool
    export: str
