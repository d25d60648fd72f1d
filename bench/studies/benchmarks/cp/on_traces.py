"""A dispatcher on a trace: time, kinds and quality of its decisions, and a published implementation's."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .....simulation import simulate
from .....workloads import Workload
from ....reports.tables import Table
from ..decision_clock import Clocked

#: Records of KTH-SP2 in the published run.
RECORDS = 7981
BASELINE = (
    "Authors' code: that of HCP3 (Galleguillos et al., CP 2019) on the same records, walltimes as predictions, "
    "stock OR-Tools, 1 s limit. Figures of one run of it on a core of the kind used here; not rerun by this command."
)
TIMED = "CPU time of the dispatch calls, placement included, after a warm-up on the first jobs."
#: Candidates of a decision, least and most.
BINS = ((2, 2), (3, 4), (5, 9), (10, 24), (25, None))
_WARM_UP = 200
#: What a decision without a solver reports.
WITHOUT_SOLVER = {
    "none": "nothing fits",
    "trivial": "all candidates fit together",
    "unchanged": "nothing new since a stall",
}
#: The maker of a schedule.
MAKERS = ("list", "local search", "cp-sat")
#: What one with a solver reports.
_SOLVED = {
    "optimal": "schedule proved",
    "decided": "decision proved",
    "feasible": "schedule without proof",
    "infeasible": "proved to have none",
    "unknown": "neither",
}


@dataclass(frozen=True)
class Baseline:
    """What the authors' code reached: mean wait (s), mean slowdown, milliseconds a decision."""

    wait: float = 6862.7
    slowdown: float = 138.56
    ms: float = 31.7


#: Deviations of ours that count as equal quality, and the required speedup of ours.
WAIT_WITHIN = 0.02
SLOWDOWN_WITHIN = 0.05
FASTER = 20.0


@dataclass(frozen=True)
class TraceRun:
    """A run of a dispatcher on a trace.

    Attributes
    ----------
    trace, dispatcher, jobs
        What was run.
    wait, slowdown
        Means; seconds, and (wait + run) / run.
    ms
        CPU time of each decision, milliseconds.
    decisions
        A row a decision, with what the dispatcher reports.
    """

    trace: str
    dispatcher: str
    jobs: int
    wait: float
    slowdown: float
    ms: NDArray[np.float64]
    decisions: pd.DataFrame

    @property
    def title(self) -> str:
        """What was run, in words."""
        return f"{self.dispatcher} on {self.jobs:,} jobs of {self.trace}"

    @property
    def reports(self) -> bool:
        """Whether the dispatcher reports its work, as those of constraint programming do."""
        return {"status", "candidates", "used", "changed", "gain"} <= set(self.decisions.columns)

    @property
    def solved(self) -> NDArray[np.bool_]:
        """In which decisions the solver was called."""
        return ~self.decisions["status"].isin(list(WITHOUT_SOLVER)).to_numpy(dtype=bool)


def run(trace: str, workload: Workload, dispatcher: str) -> TraceRun:
    """Simulate a trace with walltimes as predictions and jobs that run on."""
    simulate(workload.head(_WARM_UP), dispatcher)
    clocked = Clocked(dispatcher)
    result = simulate(workload, clocked)
    summary = result.summary()
    ms, jobs = clocked.ms(), len(workload)
    return TraceRun(trace, dispatcher, jobs, summary["wait_mean"], summary["slowdown_mean"], ms, result.decisions)


def sheets(outcome: TraceRun, baseline: Baseline | None) -> list[Table]:
    """Return all lines about a run. `baseline` is used if it is of the same records."""
    tables = [quality(outcome, baseline), times(outcome, baseline)]
    if outcome.reports:
        tables += [kinds(outcome), sizes(outcome)]
    return tables


def quality(outcome: TraceRun, baseline: Baseline | None) -> Table:
    """Return the schedule's means and the authors'."""
    rows = [["mean wait, s", f"{outcome.wait:,.1f}"], ["mean slowdown", f"{outcome.slowdown:,.2f}"]]
    if baseline is None:
        return Table(f"{outcome.title}: quality", ("metric", "ours"), rows)
    for row, ours, theirs, within in (
        (rows[0], outcome.wait, baseline.wait, WAIT_WITHIN),
        (rows[1], outcome.slowdown, baseline.slowdown, SLOWDOWN_WITHIN),
    ):
        deviation = ours / theirs - 1
        row += [f"{theirs:,.1f}", f"{deviation:+.1%}", f"{within:.0%}", _verdict(abs(deviation) <= within)]
    columns = ("metric", "ours", "authors' code", "deviation", "allowed", "")
    return Table(f"{outcome.title}: quality", columns, rows, note=BASELINE)


def times(outcome: TraceRun, baseline: Baseline | None) -> Table:
    """Return the time of a decision, and the speedup over the authors'."""
    ms = outcome.ms
    cells = [f"{len(ms):,}", f"{ms.mean():.2f}"]
    cells += [f"{np.percentile(ms, share):.2f}" for share in (50, 95, 99, 100)]
    columns = ["decisions", "mean, ms", "median, ms", "p95, ms", "p99, ms", "max, ms"]
    if baseline is not None:
        ratio = baseline.ms / float(ms.mean())
        cells += [f"{baseline.ms:.1f}", f"{ratio:.1f} x", f">= {FASTER:g} x", _verdict(ratio >= FASTER)]
        columns += ["authors' code, mean, ms", "faster by", "required", ""]
    return Table(f"{outcome.title}: time of a decision", columns, [cells], labels=0, note=TIMED)


def kinds(outcome: TraceRun) -> Table:
    """Return the number of decisions of each kind, and the benefit of the solver."""
    decisions = outcome.decisions
    called = outcome.decisions[outcome.solved]
    improved = called[called["gain"] > 0]
    kinds = {text: int((decisions["status"] == name).sum()) for name, text in WITHOUT_SOLVER.items()}
    rows = [[*_count(text, number, len(decisions)), ""] for text, number in kinds.items()]
    rows.append([*_count("planned", len(called), len(decisions)), ""])
    proofs = {text: int((called["status"] == name).sum()) for name, text in _SOLVED.items()}
    makers = {f"schedule of {name}": int((called["used"] == name).sum()) for name in MAKERS}
    better = {**makers, "other jobs start now than by the list": int(called["changed"].sum())}
    for text, number in {**proofs, **better}.items():
        label, count, share = _count(f"  {text}", number, len(called))
        rows.append([label, count, "", share])
    note = (
        f"Local search and CP-SAT lower the objective of the best list schedule by {_gain(called)} over all these "
        f"decisions, by {_gain(improved)} over those in which they do (sum of the gains over sum of the objectives)."
    )
    columns = ("", "decisions", "of all, %", "of these, %")
    return Table(f"{outcome.title}: decisions", columns, rows, note=note)


def sizes(outcome: TraceRun) -> Table:
    """Return the effort by the number of candidates, where the solver was called."""
    called = outcome.decisions[outcome.solved]
    ms = outcome.ms[outcome.solved]
    candidates = called["candidates"].to_numpy()
    rows = []
    for least, most in BINS:
        chosen = (candidates >= least) & (candidates <= (np.inf if most is None else most))
        label = f"{least}+" if most is None else str(least) if least == most else f"{least}-{most}"
        rows.append([label, *_effort(called[chosen], ms[chosen])])
    columns = (
        "candidates",
        "decisions",
        "proved, %",
        "mean deterministic time, ms",
        "median, ms",
        "mean, ms",
        "max, ms",
    )
    return Table(f"{outcome.title}: planned decisions by size", columns, rows)


def _effort(called: pd.DataFrame, ms: NDArray[np.float64]) -> list[str]:
    if not len(called):
        return ["0", *["-"] * 5]
    proved = called["proved"].mean()
    took = called["deterministic_time"].mean()
    cells = [f"{len(called):,}", f"{100 * proved:.1f}", f"{1e3 * took:.3f}"]
    return cells + [f"{value:.2f}" for value in (np.median(ms), ms.mean(), ms.max())]


def _count(text: str, number: int, of: int) -> tuple[str, str, str]:
    return text, f"{number:,}", f"{100 * number / of:.1f}" if of else "-"


def _gain(called: pd.DataFrame) -> str:
    total = pd.to_numeric(called["objective"]).sum()
    return f"{called['gain'].sum() / total:.2%}" if total else "nothing"


def _verdict(passed: bool) -> str:
    return "pass" if passed else "MISS"
