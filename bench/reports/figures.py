"""The figures of a study as data: one frame per figure. The page, the files for papers and the CSV use it."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from ...analysis.conclusions import conclusions
from ...simulation.plots.curves import distribution
from ...simulation.plots.style import axis_unit
from .study import GRIDS, Study
from .summaries import PAIRED
from .tunings import numbered

Kind = Literal["steps", "lines", "points", "classes", "intervals", "schedule"]


@dataclass(frozen=True)
class Figure:
    """A figure.

    Attributes
    ----------
    key
        Name of its files.
    kind
        ``steps`` and ``lines``: `y` over `x`, one curve per contender. ``points``: one point per row. ``classes``: a
        point per name in `x`, joined by lines. ``intervals``: ratios with their intervals, one panel per metric.
        ``schedule``: bars, one panel per contender.
    title, note
        Its subject, and remarks for the reader.
    data
        The data to draw, with a column ``contender``.
    x, y
        Columns of `data`.
    x_label, y_label
        Labels of the axes, with units.
    log_x
        Whether x is on a logarithmic scale.
    log_y
        Whether y of points is on a scale that is linear up to 1 and logarithmic above.
    shown
        The range of x in view at first; ``None`` for all.
    panels
        Whether each curve has its own panel.
    order
        All contenders of the study.
    """

    key: str
    kind: Kind
    title: str
    note: str
    data: pd.DataFrame
    x: str
    y: str
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    shown: tuple[float, float] | None = None
    panels: bool = False
    order: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The contenders of its curves or panels, in order."""
        return sorted(set(self.data["contender"]), key=lambda name: (self.place(name), name))

    def place(self, name: str) -> int:
        """Return the index of a contender among all, which selects its colour."""
        return self.order.index(name) if name in self.order else 0


#: Distributions: their name in :data:`.GRIDS`, key, title, label of x, a remark, and what they count.
_DISTRIBUTIONS = (
    ("wait", "ecdf-wait", "Waiting times", "wait (s)", "Waits below 1 s count as 1 s.", "jobs"),
    (
        "bounded_slowdown",
        "ecdf-bounded-slowdown",
        "Bounded slowdowns",
        "bounded slowdown",
        "Jobs of less than 10 s count as 10 s long.",
        "jobs",
    ),
    (
        "real_over_predicted",
        "ecdf-prediction",
        "Real over predicted run times",
        "real / predicted run time",
        "Below 1: the job took less than predicted. Times below 1 s count as 1 s.",
        "jobs",
    ),
    (
        "decision_ms",
        "ecdf-decision",
        "Decision times",
        "time of a decision (ms)",
        "A decision is a call of the dispatcher; times as measured, on whatever machine.",
        "decisions",
    ),
)


def figures_of(study: Study, workload: str) -> dict[str, Figure]:
    """Return the figures of one workload by key."""
    shown = [
        differences(study, workload),
        *loads(study, workload),
        *(class_waits(study, workload, split) for split in ("run time", "width")),
        piece(study, workload),
        *(_distribution(study, workload, name, *texts) for name, *texts in _DISTRIBUTIONS),
    ]
    if "watts" in study.series[workload]:
        shown.append(power(study, workload))
    if workload in study.losses:
        shown.append(losses(study, workload))
    if workload in study.tunings:
        shown.append(tunings(study, workload))
    return {figure.key: replace(figure, order=tuple(study.order)) for figure in shown}


def differences(study: Study, workload: str) -> Figure:
    """Return the ratios to the baseline with their intervals."""
    runs = study.runs[study.runs["workload"] == workload]
    parts = []
    if study.baseline in set(runs["contender"]):
        for name, header, _ in PAIRED:
            part = conclusions(runs, study.baseline, name, study.days)
            shifts = part["ratio_low"].isna()
            part["ratio_low"] = part["ratio_low"].mask(shifts, part["range_low"])
            part["ratio_high"] = part["ratio_high"].mask(shifts, part["range_high"])
            part["metric"] = str(header)
            parts.append(part.drop(columns="workload"))
    data = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["contender", "metric", "ratio"])
    note = (
        f"Ratio of the means over the seeds, contender over {study.baseline}; lines are the intervals of the table "
        f"'Compared with {study.baseline}', or the range over shifts. Left of 1 is better. Logarithmic scale."
    )
    title = f"Ratios to {study.baseline} on the same samples"
    return Figure(
        "paired", "intervals", title, note, data, "ratio", "contender", "ratio to the baseline", "", log_x=True
    )


def loads(study: Study, workload: str) -> list[Figure]:
    """Return utilization and queue over time."""
    series = study.series[workload]
    base, time, label = _middles(series)
    note = (
        f"{_seed(study, workload)} Means over {study.detail.bins} bins of equal length, from the first submission "
        "to the last end. "
        "Warm-up and cool-down are not cut off."
    )
    used = base.assign(utilization_percent=100 * series["utilization"])
    queue = base.assign(waiting_jobs=series["queue"])
    return [
        Figure(
            "utilization",
            "lines",
            "Utilization over time",
            f"Share of the primary resource that is held. {note}",
            used,
            time,
            "utilization_percent",
            label,
            "utilization (%)",
            panels=True,
        ),
        Figure(
            "queue",
            "lines",
            "Queue over time",
            f"Jobs that wait. {note}",
            queue,
            time,
            "waiting_jobs",
            label,
            "waiting jobs",
        ),
    ]


def power(study: Study, workload: str) -> Figure:
    """Return the power of jobs and the idle machine over time."""
    series = study.series[workload].dropna(subset="watts")
    base, time, label = _middles(series)
    return Figure(
        "power",
        "lines",
        "Power over time",
        f"Power of running jobs and of the idle machine. {_seed(study, workload)} Means over {study.detail.bins} bins "
        "of equal length, so peaks are lower here than in the table.",
        base.assign(kilowatts=series["watts"] / 1000),
        time,
        "kilowatts",
        label,
        "power (kW)",
    )


def losses(study: Study, workload: str) -> Figure:
    """Return the work lost to failures of nodes up to each time."""
    lost = study.losses[workload]
    time, size, label = _time_axis(float(lost["seconds"].max()))
    data = pd.DataFrame({"contender": lost["contender"], time: lost["seconds"] / size, "core_hours": lost["hours"]})
    return Figure(
        "lost-work",
        "steps",
        "Work lost to failures over time",
        f"Core hours of attempts that a failed node ended, as far as they did not count. {_seed(study, workload)}",
        data,
        time,
        "core_hours",
        label,
        "core hours lost",
    )


def class_waits(study: Study, workload: str, split: str) -> Figure:
    """Return the mean wait of each class of jobs."""
    classes = study.classes
    chosen = classes[(classes["workload"] == workload) & (classes["split"] == split) & (classes["metric"] == "wait")]
    means = chosen.groupby(["contender", "class"], sort=False)["mean"].mean().reset_index()
    order = list(dict.fromkeys(means["class"]))
    order = order[::-1] if split == "width" else order
    means = means.sort_values("class", key=lambda names: names.map(order.index), kind="stable")
    size, unit = axis_unit(float(means["mean"].max()) if len(means) else 0.0)
    data = pd.DataFrame(
        {"contender": means["contender"], "class": means["class"], f"wait_{unit}": means["mean"] / size}
    )
    axis = {"run time": "run time of the job", "width": "share of the machine that the job takes"}[split]
    note = f"Mean over the jobs of a class, then over the seeds. The table by {split} below has all numbers."
    return Figure(
        f"waits-by-{split.replace(' ', '-')}",
        "classes",
        f"Mean wait by {split}",
        note,
        data,
        "class",
        f"wait_{unit}",
        axis,
        f"mean wait ({unit})",
    )


def tunings(study: Study, workload: str) -> Figure:
    """Return the choices of portfolios over time."""
    choices = numbered(study.tunings[workload])
    time, size, label = _time_axis(float(choices["seconds"].max()))
    names = choices.drop_duplicates("number").sort_values("number")
    told = "; ".join(f"{number}: {name}" for number, name in zip(names["number"], names["candidate"], strict=True))
    data = choices.assign(**{time: choices["seconds"] / size}).drop(columns=["seconds", "lasted", "changed"])
    return Figure(
        "tunings-figure",
        "steps",
        "What portfolios chose over time",
        f"{_seed(study, workload)} Who goes on after each tuning, by number: {told}.",
        data,
        time,
        "number",
        label,
        "candidate, by number",
    )


def piece(study: Study, workload: str) -> Figure:
    """Return a part of the schedule of each contender."""
    bars = study.bars[workload]
    first, last = study.windows[workload]
    unit, size = time_unit(float(last))
    why = "in the middle of the trace" if study.window is None else f"as asked for with {study.window}"
    where = f"From {first / size:,.2f} to {last / size:,.2f} {unit} after the first submission, {why}."
    hidden = {name: study.hidden[workload, name] for name in dict.fromkeys(bars["contender"])}
    left = "; ".join(f"{name}: {count:,}" for name, count in hidden.items() if count)
    note = (
        f"{_seed(study, workload)} {where} A bar is a job: its width is its time on "
        "the machine, its height what it holds of the primary resource. Bars are stacked from below, the lowest free "
        "place first; that is not where its nodes are, and one job may be several bars. "
        + (
            f"At most {study.detail.bars} stays are drawn, the largest ones; left out: {left}."
            if left
            else "Nothing is left out."
        )
    )
    unit, size = time_unit(float(last - first))
    data = bars.rename(columns={"wait": "wait_s"})
    for name in ("begin", "end"):
        data[f"{name}_{unit}"] = (data.pop(name) - first) / size
    label = f"time from day {first / 86_400:,.2f} on ({unit})"
    return Figure(
        "schedule",
        "schedule",
        "A piece of the schedule",
        note,
        data,
        f"begin_{unit}",
        "low",
        label,
        "units held",
        shown=(0.0, (last - first) / size),
    )


def _seed(study: Study, workload: str) -> str:
    """Return the seed of the figure, and the contenders without a run of it."""
    drawn = set(study.series[workload]["contender"])
    missing = [name for name in study.contenders(workload) if name not in drawn]
    seed = f"Seed {study.seeds[workload]} only"
    return f"{seed}; without {', '.join(missing)}, not run on it." if missing else f"{seed}."


def _distribution(
    study: Study, workload: str, name: str, key: str, title: str, label: str, remark: str, what: str
) -> Figure:
    parts = []
    sizes = []
    pools = {contender: study.pools[workload, contender] for contender in study.contenders(workload)}
    first = next(iter(pools.values()))
    if len(pools) > 1 and all(np.array_equal(pool.counts[name], first.counts[name]) for pool in pools.values()):
        pools = {"all contenders alike": first}
    for contender, pool in pools.items():
        x, y = distribution(GRIDS[name], pool.counts[name], pool.n[name], study.detail.points)
        parts.append(pd.DataFrame({"contender": contender, name: x, "share_percent": 100 * y}))
        sizes.append(pool.n[name])
    low, high = min(sizes), max(sizes)
    n = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    note = (
        f"Share of the {what} at or below x; n = {n} {what} a contender, all its seeds together. {remark} Taken at "
        f"{GRIDS[name].decade} places in each factor of ten. Logarithmic scale."
    )
    data = pd.concat(parts, ignore_index=True)
    return Figure(key, "steps", title, note, data, name, "share_percent", label, f"share of the {what} (%)", log_x=True)


def rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with numbers of six digits, more than a reader can see."""
    made = frame.copy()
    for name in frame.columns:
        if pd.api.types.is_float_dtype(frame[name]):
            made[name] = [float(f"{value:.6g}") for value in frame[name]]
    return made


def _time_axis(longest: float) -> tuple[str, float, str]:
    """Return column, seconds per unit and label of an axis from the first submission on."""
    unit, size = time_unit(longest)
    return f"time_{unit}", size, f"time since the first submission ({unit})"


def _middles(series: pd.DataFrame) -> tuple[pd.DataFrame, str, str]:
    """Return contender and middle of each bin, the column of the time, and its label."""
    time, size, label = _time_axis(float(series["end"].max()) if len(series) else 0.0)
    middle = (series["begin"] + series["end"]) / 2 / size
    return pd.DataFrame({"contender": series["contender"], time: middle}), time, label


def time_unit(longest: float) -> tuple[str, float]:
    """Return the unit of a time axis, and its seconds."""
    if longest > 4 * 86_400:
        return "days", 86_400.0
    return ("hours", 3_600.0) if longest > 4 * 3_600 else ("minutes", 60.0)
