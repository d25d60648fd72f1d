"""Months of the Theta trace with on-demand jobs, under each policy. This is our continuation of the eviction paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from .....simulation import Result
from .....workloads import Workload
from ....campaigns.samples import Samples
from ....reports.number_formats import short
from ..claims import LEAST, less, row
from ..outcome import Claim, ComparedFigure, Drawing, Parameter, Scale, StudyOutcome, StudySettings
from .batch_machine import PLAIN, PLAN, POLICIES, Summaries, by_name, judged
from .on_demand import OnDemand, with_on_demand
from .recorded_moments import DAY, NOTE, trace

#: Months of the trace, 30 days each, and days taken of each.
_MONTHS: dict[Scale, tuple[int, int]] = {"smoke": (3, 2), "brief": (12, 10), "small": (12, 30), "full": (12, 30)}
_ENDS = "least loss, own ends"
_APART = "1,024 nodes apart"
_SPECS = {name: f"evict:policy={policy}" for name, policy in POLICIES.items()} | {
    _ENDS: "evict:ends=true",
    _APART: "evict:policy=static,reserve=1024",
    **PLAIN,
}
#: How often a job may be evicted.
_MOST = ("0", "1", "2", "3", "5", "none")
#: On-demand jobs per day at which some jobs are evicted repeatedly.
_OFTEN = 12.0


def recorded_months(means: StudySettings) -> StudyOutcome:
    """Return the delay of on-demand jobs and the loss of batch jobs. Per policy, month by month."""
    summaries = _summaries(_simulated(_SPECS, OnDemand(), means))
    months, days = _MONTHS[means.scale]
    notes = (
        f"Not in the paper, which decides at one moment: here the decisions are carried out on {months} disjoint "
        f"months of {days} days. {NOTE}",
        "On-demand jobs are drawn: 4 a day, of 512, 1,024 or 2,048 nodes for 5 to 60 min, due in 15 minutes. A "
        "batch job that gave way needs 120 s before it works on, and an application checkpoint counts once it is "
        "written. Batch jobs run under EASY with walltimes, for as long as they did. Submissions are those of "
        "the trace; waits are the simulation's.",
        "Own ends: a job that is predicted, by its request, to end within the deadline is left to do so.",
    )
    outcome = judged(summaries, notes, _APART, () if means.control else _parameters(summaries, means))
    return replace(outcome, claims=(*outcome.claims, *_own_ends(summaries)), runs=f"{months} months")


def _own_ends(summaries: Summaries) -> tuple[Claim, ...]:
    """Return the value of relying on jobs predicted to end by themselves."""

    def named(policy: str, key: str) -> tuple[str, list[float]]:
        return policy, [summary[key] for summary in summaries[policy]]

    return tuple(
        less(f"{PLAN} {text} where it relies on own ends", named(_ENDS, key), named(PLAN, key))
        for text, key in (("loses fewer node-hours", "lost_node_hours"), ("delays on-demand jobs less", "delay_mean"))
    )


def _parameters(by_policy: Summaries, means: StudySettings) -> tuple[Parameter, ...]:
    """Return parameters that are not the paper's. The metric is the least loss with other values."""
    usual = OnDemand()
    plan = {"least loss": _SPECS["least loss"]}

    def lost(added: OnDemand) -> str:
        summaries = _summaries(_simulated(plan, added, means))["least loss"]
        return short(float(np.mean([summary["lost_node_hours"] for summary in summaries])))

    chosen = short(float(np.mean([summary["lost_node_hours"] for summary in by_policy["least loss"]])))
    restarts = "; ".join(
        f"{seconds} s: {chosen if seconds == usual.restart else lost(OnDemand(restart=seconds))}"
        for seconds in (0, 120, 600)
    )
    rates = "; ".join(
        f"{rate:g}: {chosen if rate == usual.rate else lost(OnDemand(rate=rate))}" for rate in (1.0, 4.0, 12.0)
    )
    return (
        Parameter(
            "seconds before an evicted job works on",
            "120",
            "nothing better known",
            f"node-hours lost in a month: {restarts}",
        ),
        Parameter(
            "when an application checkpoint counts",
            "once it is written",
            "the definition of a checkpoint",
            f"node-hours lost: written {chosen}; at once {lost(OnDemand(writes=False))}",
        ),
        Parameter("on-demand jobs a day", "4", "nothing better known", f"node-hours lost: {rates}"),
    )


def starvation(means: StudySettings) -> StudyOutcome:
    """Return how often batch jobs are evicted. Also return what a bound on it costs the on-demand jobs."""
    specs = {most: f"evict:most={most}" for most in _MOST}
    results = _simulated(specs, OnDemand(rate=_OFTEN), means)
    measured = {most: [_starved(result) for result in each] for most, each in results.items()}
    rows: list[ComparedFigure] = []
    data: dict[str, list[object]] = {name: [] for name in ("panel", "subject", "x", "value", "low", "high")}
    for place, (most, each) in enumerate(measured.items()):
        for metric in each[0]:
            figure = row(f"most={most}", metric, [values[metric] for values in each], digits=1)
            rows.append(figure)
            low, high = (figure.measured if edge is None else edge for edge in (figure.low, figure.high))
            point = (metric, "least loss", place, figure.measured, low, high)
            for column, value in zip(data.values(), point, strict=True):
                column.append(value)
    drawing = Drawing("lines", data, "most", x_ticks=_MOST)
    notes = (
        f"The months of `recorded-months`, with {_OFTEN:g} on-demand jobs a day. `most` is how often a batch job may "
        f"be made to give way; then it is left alone. {NOTE}",
    )
    runs = f"{_MONTHS[means.scale][0]} months"
    return StudyOutcome(notes, tuple(rows), tuple(_bounds(measured)), drawing, runs=runs)


_EVICTED = "most evictions of one job"
_MISSED = "on-demand jobs late, %"
_LONGEST = "largest stretch of an evicted job"


def _starved(result: Result) -> dict[str, float]:
    """Return how hard a month's batch jobs were affected."""
    attempts = result.attempts
    summary = result.summary()
    gone = attempts[attempts["outcome"].isin(["killed", "checkpointed"])]
    times = Counter(gone["id"])
    jobs = result.jobs.set_index("id").loc[list(times)]
    stretch = (jobs["end"] - jobs["submit"]) / jobs["runtime"].clip(lower=10) if len(jobs) else np.array([1.0])
    return {
        _EVICTED: float(max(times.values(), default=0)),
        "jobs evicted more than three times": float(sum(count > 3 for count in times.values())),
        _LONGEST: float(np.max(stretch)),
        "longest wait of a batch job, h": summary["batch_wait_max"] / 3600,
        _MISSED: 100 * summary["missed_share"],
        "node-hours lost": summary["lost_node_hours"],
    }


def _bounds(measured: Mapping[str, Sequence[Mapping[str, float]]]) -> list[Claim]:
    """Return what a bound does, and what it costs."""
    free, bound = measured["none"], measured["3"]
    enough = len(free) >= LEAST
    worst = [max(values[_EVICTED] for values in each) for each in (free, bound)]
    late = [float(np.mean([values[_MISSED] for values in each])) for each in (free, bound)]
    return [
        Claim(
            "without a bound some job gives way more than three times",
            worst[0] > 3 if enough else None,
            f"at most {worst[0]:g} times; with most=3 {worst[1]:g}",
        ),
        Claim(
            "a bound of 3 makes at most one on-demand job in a hundred late that were not",
            late[1] - late[0] <= 1 if enough else None,
            f"late: {short(late[0])}% without, {short(late[1])}% with",
        ),
    ]


@cache
def _months(scale: Scale, added: OnDemand, seed: int) -> tuple[Samples[Workload], ...]:
    """Return the months of the trace with on-demand jobs. Each month has another sample of them."""
    months, days = _MONTHS[scale]
    submit = trace().columns.submit
    edges = np.searchsorted(submit, submit[0] + np.arange(months + 1) * 30 * DAY)
    ends = np.searchsorted(submit, submit[edges[:-1]] + days * DAY)
    samples = []
    for month, (begin, end) in enumerate(zip(edges[:-1].tolist(), np.minimum(ends, edges[1:]).tolist(), strict=True)):
        part = with_on_demand(
            trace().slice(begin, end),
            OnDemand(added.rate, added.deadline, added.restart, added.writes, month + 100 * seed),
        )
        samples.append(Samples(part, jitter=0, overrun="run", label=f"theta-2022, month {month + 1}"))
    return tuple(samples)


def _simulated(specs: Mapping[str, str], added: OnDemand, means: StudySettings) -> dict[str, list[Result]]:
    """Return the results of each dispatcher, one for each month."""
    return by_name(specs, _months(means.scale, added, means.seed), means)


def _summaries(results: Mapping[str, Sequence[Result]]) -> Summaries:
    return {name: [result.summary() for result in each] for name, each in results.items()}
