"""A machine with batch jobs that can be evicted, for a month. This is our continuation of the eviction paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from .....simulation import Result
from .....workloads import Workload, generate
from ....campaigns.samples import Samples
from ..claims import less, row
from ..outcome import Claim, ComparedFigure, Drawing, Parameter, Scale, StudyOutcome, StudySettings
from ..simulations import simulate_all

#: Days, nodes, on-demand jobs a day, and how many samples.
_SCALES: dict[Scale, tuple[int, int, int, int]] = {
    "smoke": (1, 1024, 12, 1),
    "brief": (10, 4392, 4, 3),
    "small": (30, 4392, 4, 3),
    "full": (30, 4392, 4, 10),
}
PLAN = "least loss"
GREEDY = "greedy"
KILL = "kill only"
WAIT = "wait"
POLICIES = {PLAN: "dp", GREEDY: "greedy", KILL: "kill", WAIT: "wait"}
#: A plain scheduler underneath, where no job gives way.
PLAIN = {"FCFS": "evict:policy=wait,over=fcfs"}
#: Nodes set apart: the two largest sizes of on-demand jobs.
_APART: dict[Scale, tuple[int, int]] = {
    "smoke": (256, 512),
    "brief": (1024, 2048),
    "small": (1024, 2048),
    "full": (1024, 2048),
}
#: Metric to key of the summary, factor and digits.
_METRICS = {
    "mean delay of on-demand jobs, min": ("delay_mean", 1 / 60, 1),
    "95th percentile of the delay, min": ("delay_p95", 1 / 60, 1),
    "on-demand jobs late or rejected, %": ("missed_share", 100, 1),
    "batch jobs killed": ("evictions_killed", 1, 0),
    "batch jobs checkpointed": ("evictions_checkpointed", 1, 0),
    "lost node-hours": ("lost_node_hours", 1, 0),
    "of these, by kills": ("lost_node_hours_killed", 1, 0),
    "mean bounded slowdown of batch jobs": ("batch_bounded_slowdown_mean", 1, 1),
    "mean wait of batch jobs, h": ("batch_wait_mean", 1 / 3600, 1),
    "longest wait of a batch job, h": ("batch_wait_max", 1 / 3600, 1),
    "utilization, %": ("utilization", 100, 1),
    "jobs rejected": ("rejected", 1, 0),
}
#: By policy, the summary of each sample.
Summaries = dict[str, list[dict[str, float]]]
_DELAY = "delay_mean"
_LOSS = "lost_node_hours"
_SLOWDOWN = "batch_bounded_slowdown_mean"


def policies(means: StudySettings) -> StudyOutcome:
    """Return delay of on-demand jobs and loss of batch jobs, per policy."""
    summaries = {name: [result.summary() for result in results] for name, results in _results(means).items()}
    return replace(judged(summaries, _notes(means), list(summaries)[-2]), runs=str(len(_seeds(means))))


def judged(
    summaries: Summaries, notes: tuple[str, ...], apart: str, parameters: tuple[Parameter, ...] = ()
) -> StudyOutcome:
    """Return numbers, figure and claims from each policy's summaries. `apart` is that of nodes set apart."""
    rows: list[ComparedFigure] = []
    points: dict[str, list[str | float]] = {"subject": [], "x": [], "y": []}
    for name, each in summaries.items():
        for metric, (key, factor, digits) in _METRICS.items():
            rows.append(row(name, metric, [factor * summary[key] for summary in each], digits=digits))
        points["subject"] += [name] * len(each)
        points["x"] += [summary[_LOSS] for summary in each]
        points["y"] += [summary[_DELAY] / 60 for summary in each]
    drawing = Drawing(
        "points", points, "node-hours lost by batch jobs", "mean delay of on-demand jobs (min)", log_y=True
    )
    return StudyOutcome(notes, tuple(rows), tuple(_claims(summaries, apart)), drawing, parameters=parameters)


def _specs(scale: Scale) -> dict[str, str]:
    """Return the dispatcher of each policy."""
    specs = {name: f"evict:policy={policy}" for name, policy in POLICIES.items()}
    specs |= {f"{kept:,} nodes apart": f"evict:policy=static,reserve={kept}" for kept in _APART[scale]}
    return specs | PLAIN


@cache
def _samples(scale: Scale, seeds: range) -> tuple[Samples[Workload], ...]:
    days, nodes, rate, _ = _SCALES[scale]
    specs = [f"theta:days={days},nodes={nodes},rate={rate},seed={seed + 1}" for seed in seeds]
    return tuple(Samples(generate(spec), jitter=0, overrun="kill", label=spec) for spec in specs)


def _seeds(means: StudySettings) -> range:
    return means.draws({scale: count for scale, (*_, count) in _SCALES.items()})


def _results(means: StudySettings) -> dict[str, list[Result]]:
    """Return the results of each policy, one for each sample."""
    specs = _specs(means.scale)
    return by_name(specs, _samples(means.scale, _seeds(means)), means)


def by_name(
    specs: Mapping[str, str], samples: Sequence[Samples[Workload]], means: StudySettings
) -> dict[str, list[Result]]:
    """Return the results of named dispatchers, one per sample."""
    settings = [(each, spec, "walltime") for spec in specs.values() for each in samples]
    results = [result for [result] in simulate_all(settings, means, lambda result: result)]
    return {name: results[place * len(samples) : (place + 1) * len(samples)] for place, name in enumerate(specs)}


def _claims(summaries: Summaries, apart: str) -> list[Claim]:
    def named(policy: str, key: str) -> tuple[str, list[float]]:
        return policy, [summary[key] for summary in summaries[policy]]

    return [
        less(
            f"{PLAN} loses fewer node-hours than {GREEDY}",
            named(PLAN, _LOSS),
            named(GREEDY, _LOSS),
            "at one moment, greedy's extra loss is unacceptable",
        ),
        less(
            f"{PLAN} loses fewer node-hours than {KILL}",
            named(PLAN, _LOSS),
            named(KILL, _LOSS),
            "killing alone may incur significant overhead",
        ),
        less(f"on-demand jobs start earlier with {PLAN} than with {WAIT}", named(PLAN, _DELAY), named(WAIT, _DELAY)),
        less(
            f"batch jobs are slowed down less by {PLAN} than by {WAIT}", named(PLAN, _SLOWDOWN), named(WAIT, _SLOWDOWN)
        ),
        less(
            f"batch jobs are slowed down less by {PLAN} than with {apart}",
            named(PLAN, _SLOWDOWN),
            named(apart, _SLOWDOWN),
            "idle nodes and slow progress of the batch jobs",
        ),
    ]


def _notes(means: StudySettings) -> tuple[str, ...]:
    days, nodes, rate, _ = _SCALES[means.scale]
    seeds = _seeds(means)
    return (
        f"Not in the paper, which decides at one moment: here the decisions are carried out for {days} days on "
        f"{nodes:,} nodes. Simulated: theta, seeds {seeds[0] + 1} to {seeds[-1] + 1}, at a load of 0.95 with "
        f"{rate} on-demand jobs a day, "
        "due in 15 minutes; batch jobs under EASY with walltimes. The load is drawn like Theta's, not its trace.",
        "Lost are node-hours that batch jobs held and that did not count, the writing of checkpoints included. With "
        "nodes set apart, jobs that are larger than their part of the machine are rejected. Those on demand count as "
        "late and have no delay. The batch jobs among them make the rest look better off.",
    )
