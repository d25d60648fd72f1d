"""Recorded occupancy of the Theta trace, and its moments of many jobs (figures 1 to 4 of the eviction paper)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from .....analysis.eviction_moments import recorded_sizes, recorded_starts, running_at, scenario_at
from .....base import FloatArray, IntArray
from .....models.eviction import RunningJob
from .....workloads import Workload, fetch, generate, read
from ..claims import Floats, elsewhere
from ..outcome import Claim, ComparedFigure, Drawing, Run, StudyOutcome, StudySettings

DAY, HOUR = 86400, 3600
#: Nodes that the paper's machine is mostly occupied on, days of this in 2019, and the most jobs then.
NODES = 4352
_DAYS = 34
_PEAK = 25
#: The share of jobs under half an hour in 2019.
_SHORT = 61
#: Shares at which the generator is compared with the trace.
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Seconds that a set of jobs runs together. It excludes chance overlaps of a second or two.
_LASTS = 600
#: The paper calls a shorter-running job "expendable": killing it loses next to nothing.
EXPENDABLE = 1800
#: The setting of claims about the trace.
YEAR = "the trace of 2022"
NOTE = (
    "The trace is of Theta in 2022, published with CQSim+: 23,911 jobs on 4,360 nodes, with starts, ends, sizes and "
    "requests. The paper's is of 2019 and is not used here. Memory and checkpoints are drawn as in section IV.B."
)


class Occupancy(NamedTuple):
    """Running jobs when a trace was recorded, between events. Events are starts and ends.

    Attributes
    ----------
    times
        Starts and ends, seconds of the trace, rising, shape (times,).
    lasts
        Seconds until the next, 0 for the last.
    nodes, jobs
        Nodes in use from then on, and number of jobs.
    expendable
        How many of the jobs ran for less than half an hour in total.
    """

    times: IntArray
    lasts: IntArray
    nodes: IntArray
    jobs: IntArray
    expendable: IntArray

    def most_common(self) -> int:
        """Return the node count above 0 that was in use for longest."""
        held = np.bincount(self.nodes, self.lasts)
        held[0] = 0
        return int(held.argmax())

    def days(self, nodes: int) -> float:
        """Return for how many days this many nodes were in use."""
        return float(self.lasts[self.nodes == nodes].sum()) / 86400


def occupancy(workload: Workload, shuffled: bool = False) -> Occupancy:
    """Return when each job ran. The sizes may be shuffled among jobs.

    Raises
    ------
    InputError
        If the trace has no recorded waits, or a job has no size.
    """
    start = recorded_starts(workload)
    sizes = recorded_sizes(workload)
    if shuffled:
        sizes = np.random.default_rng(0).permutation(sizes)
    runtime = workload.columns.runtime
    times, places = np.unique(np.concatenate([start, start + runtime]), return_inverse=True)
    signs = np.repeat([1, -1], len(start))
    counted = [
        np.cumsum(np.bincount(places, np.tile(each, 2) * signs, len(times))).astype(np.int64)
        for each in (sizes, np.ones_like(sizes), (runtime < EXPENDABLE).astype(np.int64))
    ]
    return Occupancy(times, np.diff(times, append=times[-1:]), *counted)


def moments(usage: Occupancy, jobs: int, nodes: int | None = None, least: int = 1) -> list[int]:
    """Return the moments at which this many jobs used this many nodes. None of the jobs was expendable.

    Each moment is the middle of a time between two events. Each set of jobs counts once. The paper's scenarios are such
    moments. They have 12, 16 and 24 jobs on 4,352 nodes.

    Parameters
    ----------
    usage
        Of the trace.
    jobs
        How many ran.
    nodes
        Nodes in use together. ``None`` takes the count in use for longest.
    least
        Seconds for which just these jobs ran, at least.
    """
    nodes = usage.most_common() if nodes is None else nodes
    good = (usage.jobs == jobs) & (usage.nodes == nodes) & (usage.expendable == 0) & (usage.lasts >= least)
    middles: list[int] = (usage.times[good] + usage.lasts[good] // 2).tolist()
    return middles


def spans_at(workload: Workload, instant: int) -> FloatArray:
    """Return start and end in hours from the first start, and nodes. It lists the jobs of a moment, shape (jobs, 3)."""
    start = recorded_starts(workload)
    sizes = recorded_sizes(workload)
    runtime = workload.columns.runtime
    end = start + runtime
    ran = running_at(start, runtime, instant)
    ran = ran[np.argsort(start[ran], kind="stable")]
    first = start[ran].min() if ran.size else 0
    return np.column_stack([(start[ran] - first) / 3600, (end[ran] - first) / 3600, sizes[ran]])


@cache
def trace() -> Workload:
    """Return the trace of Theta."""
    return read(fetch("theta-2022"))


def recorded_scenarios(jobs: int, count: int) -> list[list[RunningJob]]:
    """Return up to `count` disjoint moments of this many jobs on the most common number of nodes. They are in order."""
    scenarios: list[list[RunningJob]] = []
    seen: set[str] = set()
    for instant in moments(occupancy(trace()), jobs):
        running = scenario_at(trace(), instant).running()
        names = {job.id for job in running}
        if len(scenarios) < count and seen.isdisjoint(names):
            scenarios.append(running)
            seen |= names
    return scenarios


def fig1(means: StudySettings) -> StudyOutcome:
    """Return nodes and jobs of the first month of the trace. Also compare the trace with the generator's output."""
    log = occupancy(trace(), means.broken("sizes"))
    common = log.most_common()
    shown = log.times < log.times[0] + (3 if means.scale == "smoke" else 31) * DAY
    days = (log.times[shown] - log.times[0]) / DAY
    half = (2 * days).astype(np.int64)
    held = np.maximum(np.bincount(half, log.lasts[shown]), 1)
    data: dict[str, list[object]] = {name: [] for name in ("panel", "subject", "x", "value", "low", "high")}
    for panel, values in (("(a) nodes occupied", log.nodes[shown]), ("(b) jobs running", log.jobs[shown])):
        means_of_halves = np.bincount(half, values * log.lasts[shown]) / held
        for place, value in enumerate(means_of_halves.tolist()):
            for name, item in zip(data, (panel, "Theta, 2022", place / 2, value, value, value), strict=True):
                data[name].append(item)
    peak = int(log.jobs[log.nodes >= common].max())
    claims = (
        Claim(
            "the number of nodes that is occupied for longest is 4,352",
            common == NODES,
            f"{common:,} nodes for {log.days(common):.1f} days; the paper: 4,352 for {_DAYS} days",
        ),
        Claim(
            "close to capacity the number of jobs is high, up to about 25",
            20 <= peak <= 30,
            f"at most {peak} on {common:,} nodes or more; the paper: around {_PEAK}",
        ),
    )
    rows = (
        ComparedFigure("the machine", f"days with {common:,} nodes occupied", log.days(common), _DAYS, digits=1),
        ComparedFigure("the machine", "most jobs at a time on them", peak, _PEAK),
        *_beside(),
    )
    return StudyOutcome(
        (NOTE, _HALVES, _BESIDE),
        rows,
        tuple(elsewhere(claims, YEAR)),
        Drawing("lines", data, "days from the first start"),
    )


_HALVES = "Drawn are means over half days."
_BESIDE = (
    "Beside the trace stands a month of `generate('theta')`, seeds 1 to 3. Its numbers are those that the paper "
    "prints of 2019, where it prints any. Where the two differ, the policies are tried on both, in `policies` and "
    "`recorded-months`."
)


def _beside() -> list[ComparedFigure]:
    """Return job properties in the trace and in the generator."""
    rows = []
    for subject, workloads in (
        ("trace", [trace()]),
        ("generator", [generate("theta", seed=seed) for seed in (1, 2, 3)]),
    ):
        each = [_described(workload) for workload in workloads]
        for metric in each[0]:
            printed = _SHORT if metric.startswith("jobs under") else None
            rows.append(
                ComparedFigure(subject, metric, float(np.mean([one[metric] for one in each])), printed, digits=1)
            )
    return rows


def _described(workload: Workload) -> dict[str, float]:
    """Return sizes, run times, walltimes and load of the batch jobs."""
    batch = np.array([kind == "batch" for kind in workload.columns.kind.each()])
    columns = workload.columns
    resource = workload.machine.resources[workload.machine.primary]
    units = columns.amounts(resource)
    nodes = (columns.nodes * (units if len(workload.machine.capacity) == 1 else 1))[batch]
    runtime, walltime, submit = (values[batch] for values in (columns.runtime, columns.walltime, columns.submit))
    machine = workload.machine
    total = machine.nodes if machine.nodes > 1 else int(machine.capacity[0, machine.primary])
    figures = {
        "jobs a day": len(nodes) / (np.ptp(submit) / DAY),
        "jobs under 30 min, %": 100 * np.mean(runtime < HOUR / 2),
    }
    for name, values, unit in (
        ("nodes", nodes, 1),
        ("run time, h", runtime / HOUR, 1),
        ("request, h", walltime / HOUR, 1),
    ):
        figures |= {f"{name}, {100 * q:.0f}th percentile": float(np.quantile(values, q)) / unit for q in _QUANTILES}
    figures["run time / request, median, %"] = 100 * float(np.median(runtime / walltime))
    figures["jobs that run past their request, %"] = 100 * float(np.mean(runtime > walltime))
    figures["offered load, %"] = 100 * float((runtime * nodes).sum()) / (total * float(np.ptp(submit)))
    return figures


def recorded(jobs: int, means: StudySettings) -> StudyOutcome:
    """Return the jobs that run at the moments of this many jobs. Figures 2 to 4."""
    log = occupancy(trace(), means.broken("sizes"))
    times = moments(log, jobs, NODES)
    lasting = len(moments(log, jobs, NODES, least=_LASTS))
    note = (
        f"Moments of the trace with {jobs} jobs on 4,352 nodes, none of them of less than half an hour: {len(times)}. "
        f"Each set of jobs counts once, however short it ran together; {lasting} for {_LASTS // 60} min or more."
    )
    count = ComparedFigure("trace", "moments", float(len(times)))
    if not times:
        claim = Claim(f"the trace has a moment of {jobs} jobs on 4,352 nodes", False, "none; the paper, of 2019: one")
        return StudyOutcome((NOTE, note), (count,), tuple(elsewhere([claim], YEAR)))
    spans = [spans_at(trace(), instant) for instant in times]
    place = int(np.argmax([_together(each) for each in spans]))
    chosen = spans[place]
    claim = Claim(
        f"the trace has a moment of {jobs} jobs on 4,352 nodes", True, f"{len(times)}; the paper: one is shown"
    )
    begins = chosen[:, 0].max()
    ends = chosen[:, 1].min()
    rows = (
        count,
        ComparedFigure("trace", f"of {_LASTS // 60} min or more", float(lasting)),
        ComparedFigure("shown", "jobs", jobs, jobs),
        ComparedFigure("shown", "hours from the first start to the last end", float(chosen[:, 1].max()), digits=2),
        ComparedFigure("shown", "all jobs run from, h", float(begins), digits=2),
        ComparedFigure("shown", "all jobs run until, h", float(ends), digits=2),
        ComparedFigure("shown", "nodes of the largest job", float(chosen[:, 2].max())),
    )
    return StudyOutcome(
        (NOTE, note, _SPANS),
        rows,
        tuple(elsewhere([claim], YEAR)),
        Drawing("steps", _curves(chosen), "hours from the first start", "nodes"),
    )


_SPANS = (
    "Shown is the moment at which all its jobs run together for longest: nodes of each job from its start to its end."
)


def _together(spans: Floats) -> float:
    """Return the hours for which all of some jobs run."""
    return float(spans[:, 1].min() - spans[:, 0].max())


def _curves(spans: Floats) -> dict[str, list[object]]:
    """Return nodes in use: in total, and of the largest job."""
    data: dict[str, list[object]] = {"subject": [], "x": [], "y": []}

    def add(name: str, chosen: Sequence[int]) -> None:
        times = np.unique(spans[chosen, :2])
        for time in times.tolist():
            held = spans[chosen][(spans[chosen, 0] <= time) & (time < spans[chosen, 1])]
            for column, value in zip(data.values(), (name, time, float(held[:, 2].sum())), strict=True):
                column.append(value)

    add("all jobs", list(range(len(spans))))
    for place in np.argsort(-spans[:, 2], kind="stable")[:3].tolist():
        add(f"a job of {spans[place, 2]:,.0f} nodes, from {spans[place, 0]:.1f} h", [place])
    return data


#: Figures 1 to 4.
RECORDED: dict[str, Run] = {
    "dsrt2020/fig1": fig1,
    "dsrt2020/fig2": partial(recorded, 12),
    "dsrt2020/fig3": partial(recorded, 16),
    "dsrt2020/fig4": partial(recorded, 24),
}
