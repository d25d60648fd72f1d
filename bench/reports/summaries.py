"""The tables of a study."""

import math

import pandas as pd

from ...analysis.conclusions import LEAST_TESTED, conclusions
from ...analysis.statistics import METRICS, STATISTICS
from ...base import time_text
from .number_formats import NOTHING, Show, count, interval, percent, ratio
from .study import Study
from .tables import Table, Times, between, label, number, spread
from .tunings import numbered, tunings_table
from .verdict import estimate_of, grounds

#: Metrics of the paired comparison: name, header, format.
PAIRED: tuple[tuple[str, str, Show], ...] = (
    ("wait_mean", Times("mean wait"), time_text),
    ("bounded_slowdown_mean", "mean bounded slowdown", ratio),
    ("wait_p95", Times("95th percentile of wait"), time_text),
)
_LEADERBOARD: tuple[tuple[str, str, Show], ...] = (
    ("wait_mean", Times("mean wait"), time_text),
    ("bounded_slowdown_mean", "mean bounded slowdown", ratio),
    ("slowdown_mean", "mean slowdown", ratio),
    ("wait_median", Times("median wait"), time_text),
    ("wait_p95", Times("p95 wait"), time_text),
    ("wait_max", Times("max wait"), time_text),
    ("utilization", "utilization (%)", percent),
    ("decision_ms_mean", "mean decision (ms)", ratio),
)
_FAIRNESS: tuple[tuple[str, str, Show], ...] = (
    ("wait_max", Times("max wait"), time_text),
    ("over_24h", "jobs with wait > 24 h", count),
    ("over_72h", "jobs with wait > 72 h", count),
    ("longer", "jobs that waited longer than under the baseline", count),
    ("longer_share", "the same (%)", percent),
    ("users", "users known", count),
    ("jain", "Jain's index over users", ratio),
)
_PREDICTION: tuple[tuple[str, str, Show], ...] = (
    ("mae", Times("mean absolute error"), time_text),
    ("under", "underestimated (%)", percent),
    ("over", "overestimated (%)", percent),
    ("near", "real/predicted in 0.75-1.25 (%)", percent),
    ("prediction_s", "time of all predictions (s)", ratio),
)
_DECISIONS: tuple[tuple[str, str, Show], ...] = (
    ("decisions", "decisions", count),
    ("decision_ms_mean", "mean (ms)", ratio),
    ("decision_ms_p95", "p95 (ms)", ratio),
    ("decision_ms_max", "max (ms)", ratio),
    ("simulation_s", "whole simulation (s)", ratio),
)
_CONDITIONS: tuple[tuple[str, str, Show], ...] = (
    ("energy_kwh", "energy (kWh)", ratio),
    ("energy_wh_per_core_hour", "energy per core hour (Wh)", ratio),
    ("power_mean_kw", "mean power (kW)", ratio),
    ("power_peak_kw", "peak power (kW)", ratio),
    ("emissions_kg", "CO2 (kg)", ratio),
    ("energy_cost", "cost of energy", ratio),
    ("put_off_mean", Times("mean time put off"), time_text),
    ("node_failures", "attempts ended by failures", count),
    ("lost_core_hours", "core hours lost to failures", ratio),
)
_METRIC_NAMES = {
    "wait": "wait",
    "turnaround": "turnaround",
    "slowdown": "slowdown",
    "bounded_slowdown": "bounded slowdown",
}
_TUNINGS = (
    "Of the first seed. A portfolio replays the recent past under each candidate now and then, and goes on with the "
    "best: how long each decided, how often it took over, and by which part it was better than the one before in the "
    "replays."
)
_OVER = {
    "independent": "in brackets an interval of that mean, by Student's distribution{level}",
    "resamples": "in brackets how the metric varies over resamples of the trace, 95% of them",
    "shifts": "in brackets the range over shifted copies of one trace, which is no interval",
    "trace": "one trace",
}


def over_seeds(runs: pd.DataFrame) -> str:
    """Return what means and brackets over the seeds are."""
    several = runs.groupby("contender")["seed"].nunique().max() > 1
    kinds = list(dict.fromkeys(runs["basis"])) if several else []
    few = runs.groupby("contender")["seed"].nunique().min() < LEAST_TESTED
    level = "" if few else ", of 95% for mean and longest waits and utilization"
    return f"Means over the seeds{''.join('; ' + _OVER[kind].format(level=level) for kind in kinds)}."


def tables_of(study: Study, workload: str) -> dict[str, Table]:
    """Return the tables of one workload by key."""
    runs = study.runs[study.runs["workload"] == workload]
    shown = [
        leaderboard(runs),
        pairs(study, runs),
        details(runs),
        classes(study, workload, "run time"),
        classes(study, workload, "width"),
        _by_contender(
            "fairness",
            "Fairness and starvation",
            runs,
            _FAIRNESS,
            f"Baseline: {study.baseline}. Jain's index is taken of the users' mean bounded slowdowns; 1 means that all "
            f"fare alike. {over_seeds(runs)}",
        ),
        _by_contender(
            "prediction",
            "Accuracy of the predicted run times",
            runs,
            _PREDICTION,
            f"At submission, over the jobs that ran. {over_seeds(runs)}",
            names=("contender", "predictor"),
        ),
        _by_contender("decisions", "Measured times", runs, _DECISIONS, f"Of the machine it ran on. {over_seeds(runs)}"),
        *conditions(runs),
        *([tunings_table(numbered(study.tunings[workload]), _TUNINGS)] if workload in study.tunings else []),
    ]
    return {table.key: table for table in shown}


def conditions(runs: pd.DataFrame) -> list[Table]:
    """Return the table of power, of a signal of the grid and of failures; none without any."""
    there = [row for row in _CONDITIONS if row[0] in runs and runs[row[0]].notna().any()]
    if not there:
        return []
    note = f"Of the whole simulation, warm-up and cool-down included; with the idle machine. {over_seeds(runs)}"
    return [_by_contender("conditions", "Power, the grid and failures", runs, tuple(there), note)]


def leaderboard(runs: pd.DataFrame) -> Table:
    """Return the contenders, sorted by mean wait."""
    order = runs.groupby("contender")["wait_mean"].mean().sort_values(kind="stable").index
    note = f"Sorted by mean wait. {over_seeds(runs)}"
    if runs["killed"].any() or runs["rejected"].any():
        note += f" Of all runs, {runs['killed'].sum():,} jobs were killed and {runs['rejected'].sum():,} rejected."
    ordered = pd.concat([runs[runs["contender"] == name] for name in order])
    return _by_contender("leaderboard", "Leaderboard", ordered, _LEADERBOARD, note, seeds=True)


def pairs(study: Study, runs: pd.DataFrame) -> Table:
    """Return the comparison with the baseline on the same samples: size, interval and verdict."""
    baseline = study.baseline
    comparisons = [
        (header, show, row)
        for key, header, show in PAIRED
        if baseline in set(runs["contender"])
        for row in conclusions(runs, baseline, key, study.days).to_dict("records")
    ]
    shifted = any(not math.isnan(row["range_low"]) for *_, row in comparisons)
    rows = [
        [
            label(row["contender"]),
            label(header),
            number(row["n"], count),
            number(row["difference"], show),
            between(row["ratio"], row["ratio_low"], row["ratio_high"], ratio),
            *([label(interval(row["range_low"], row["range_high"], ratio) or NOTHING)] if shifted else []),
            label(row["verdict"]),
            label("; ".join(grounds(estimate_of(row)))),
        ]
        for header, show, row in comparisons
    ]
    ranges = ["range over shifts"] if shifted else []
    headers = ["contender", "metric", "samples", "difference", "ratio", *ranges, "verdict", "it rests on"]
    note = (
        f"Difference to {baseline}, and ratio to it, on the same samples; in brackets its interval. A ratio below 1 is "
        f"better than {baseline}. A verdict is better, worse or not decided; with several contenders it is corrected "
        "by Holm's method, and its interval widened."
    )
    return Table(f"Compared with {baseline}", headers, rows, 2, note, "paired")


def details(runs: pd.DataFrame) -> Table:
    """Return every statistic of every metric."""
    rows = []
    for name, group in runs.groupby("contender", sort=False):
        for metric in METRICS:
            show = time_text if metric in ("wait", "turnaround") else ratio
            means = [number(float(group[f"{metric}_{key}"].mean()), show) for key in STATISTICS]
            rows.append([label(name), label(_METRIC_NAMES[metric]), *means])
    note = "Statistics over the jobs of a run, then means over the seeds."
    return Table(
        "Distribution of each metric", ["contender", "metric", *STATISTICS], rows, 2, note, "details", folded=True
    )


def classes(study: Study, workload: str, split: str) -> Table:
    """Return wait and bounded slowdown of the classes of jobs."""
    chosen = study.classes[(study.classes["workload"] == workload) & (study.classes["split"] == split)]
    headers = [
        split,
        "contender",
        "jobs",
        *map(Times, ("mean wait", "median wait", "p95 wait", "max wait")),
        "mean bounded slowdown",
        "p95 bounded slowdown",
    ]
    rows = []
    for job_class in dict.fromkeys(chosen["class"]):
        of_class = chosen[chosen["class"] == job_class]
        for contender in study.contenders(workload):
            group = of_class[of_class["contender"] == contender]
            if group.empty:
                continue
            wait, slowdown = (group[group["metric"] == name] for name in ("wait", "bounded_slowdown"))
            cells = [number(float(wait["n"].mean()), count)]
            cells += [number(float(wait[key].mean()), time_text) for key in ("mean", "median", "p95", "max")]
            cells += [number(float(slowdown[key].mean()), ratio) for key in ("mean", "p95")]
            rows.append([label(job_class), label(contender), *cells])
    what = {
        "run time": "Classes of the real run time; 5 h itself belongs to the middle one.",
        "width": "Width: the share of the machine's primary resource that a job asks for; more than the first number, "
        "at most the second.",
    }
    note = f"{what[split]} Statistics over the jobs of a run, then means over the seeds that have such jobs."
    key = split.replace(" ", "-")
    return Table(f"By {split} of the jobs", headers, rows, 2, note, f"by-{key}", folded=True)


def _by_contender(
    key: str,
    title: str,
    runs: pd.DataFrame,
    columns: tuple[tuple[str, str, Show], ...],
    note: str,
    names: tuple[str, ...] = ("contender",),
    *,
    seeds: bool = False,
) -> Table:
    """Return means over the seeds of each contender, with the number of seeds if `seeds` is set."""
    rows = [
        [
            *(label(group[name].iloc[0]) for name in names),
            *([number(len(group), count)] if seeds else []),
            *(spread(group[key].tolist(), show, group["basis"].iloc[0]) for key, _, show in columns),
        ]
        for _, group in runs.groupby("contender", sort=False)
    ]
    headers = [*names, *(["seeds"] if seeds else []), *(header for _, header, _ in columns)]
    return Table(title, headers, rows, len(names), note, key)
