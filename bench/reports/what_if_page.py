"""Write the page on recorded jobs under other schedulers. It begins with the accuracy of the model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...analysis.what_if import JITTER, WhatIf
from ...base import FloatArray, time_text
from ...simulation.plots.curves import distribution
from .figures import Figure
from .html_page import Page, PagePart, Section, write_page
from .number_formats import NOTHING, Show, count, fixed, percent, ratio
from .study import GRIDS
from .tables import PrintedCell, Table, Times, label, number
from .verdict import against, of_jobs

#: The longest name in tables and figures.
_LONGEST = 14
#: Fewest jobs of a class that a sentence names.
_LEAST = 5
#: Most points of a curve of the queue.
_PLACES = 600
_GLOSSARY = (
    ("Recorded", "What the site's own scheduler did, from its accounting."),
    (
        "slurm",
        "The model of that scheduler with the site's configuration. What the page says of changes and of other "
        "schedulers is worth as much as this one meets the record.",
    ),
    ("Wait", "Time from when a job could have started to its start."),
    ("Bounded slowdown", "Turnaround over the larger of run time and 10 s, at least 1."),
    ("Off the record", "By how much a start differs from the recorded one, either way."),
    ("Correlation", "Of the waits with the recorded ones, job by job (Pearson)."),
)


def write_what_if(
    results: Sequence[WhatIf], submit: FloatArray, classes: pd.DataFrame, facts: Sequence[tuple[str, str]], out: Path
) -> Path:
    """Write the page, and the folder of files beside it. Return the folder.

    Parameters
    ----------
    results
        Of :func:`~hpcdispatch.analysis.what_if.what_if`: the record, the site's scheduler, the others.
    submit
        Earliest possible start of each job, seconds, shape (jobs,).
    classes
        Of :func:`~hpcdispatch.analysis.what_if.by_class`.
    facts
        Names and values at the top.
    out
        The file of the page.
    """
    names = short_names(results)
    said = answer(results, submit)
    facts = [*facts, *((short, name) for name, short in names.items() if short != name)]
    results = [replace(row, name=names[row.name]) for row in results]
    recorded, model = results[0], results[1]
    tables = class_tables(classes, names, time_text)
    met = f"The other figures of this page are worth as much as this. {'; '.join(in_a_sentence(recorded, model))}."
    others = "Of the same jobs, from the same beginning. Sorted as asked for; the record and slurm first."
    sections = [
        Section(
            "How well slurm meets the recorded starts",
            f"{met} {furthest(classes)}".strip(),
            [*_fidelity(recorded, model), PagePart("fidelity-by-class", _class_fidelity(classes))],
        ),
        Section("What others would have done", others, list(_outlook(results, submit))),
        Section(
            "Classes of jobs",
            " ".join(losers(classes)) or "There is one class of each kind.",
            [*(PagePart(table.key, table) for table in tables), PagePart("classes", _measures(classes, names))],
        ),
    ]
    told = [*facts, ("Made by", f"hpcdispatch {version('hpcdispatch')}")]
    return write_page(Page("What if: a recorded site under other schedulers", said, told, (), sections, _GLOSSARY), out)


def answer(results: Sequence[WhatIf], submit: FloatArray, show: Show = time_text) -> str:
    """Return the scheduler with the least mean wait, against the model of the site's own.

    Parameters
    ----------
    results, submit
        As in :func:`write_what_if`.
    show
        Formats a duration.
    """
    model, others = results[1], results[2:]
    if not others:
        return f"{in_a_sentence(results[0], model)[0]}."
    best = min(others, key=lambda row: row.wait)
    return of_jobs(best.name, best.waits, model.name, model.waits, submit, show)


def short_names(results: Sequence[WhatIf]) -> dict[str, str]:
    """Return the names for tables and figures. Long ones are replaced by a number."""
    long = [row.name for row in results if len(row.name) > _LONGEST]
    return {row.name: f"({1 + long.index(row.name)})" if row.name in long else row.name for row in results}


def band(row: WhatIf) -> str:
    """Return the change of the mean wait against slurm, over runs with slightly shifted submissions."""
    low, high = (100 * (each - 1) for each in row.change)
    return NOTHING if np.isnan(low) else f"{low:+.1f}" if low == high else f"{low:+.1f} to {high:+.1f}"


def class_tables(classes: pd.DataFrame, names: Mapping[str, str], show: Show) -> list[Table]:
    """Return a table for each kind of class: the mean waits of its classes under each scheduler.

    Parameters
    ----------
    classes
        Of :func:`~hpcdispatch.analysis.what_if.by_class`.
    names
        Labels of the schedulers.
    show
        Formats a duration.
    """
    tables = []
    for kind, part in classes.groupby("kind", sort=False):
        rows = [
            [label(name), number(own["jobs"].iloc[0], count), *(number(wait, show) for wait in own["wait"])]
            for name, own in part.groupby("jobs_of", sort=False)
        ]
        columns = (str(kind), "jobs", *(Times(names[name]) for name in part["scheduler"].unique()))
        tables.append(Table(f"Mean wait by {kind}", columns, rows, 1, "", f"by-{kind}"))
    return tables


def furthest(classes: pd.DataFrame) -> str:
    """Return the classes of jobs with the largest error of the model; empty if there are none."""
    rows = [row for row in _beside(classes) if row["jobs"] >= _LEAST and row["slurm"] != row["recorded"]]
    rows.sort(key=lambda row: -abs(row["slurm"] - row["recorded"]))
    told = [
        f"{row['kind']} {row['jobs_of']} ({time_text(row['slurm'])}, recorded {time_text(row['recorded'])})"
        for row in rows[:3]
    ]
    return f"Furthest from the recorded mean waits: {', '.join(told)}." if told else ""


def _beside(classes: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return a row for each class with the mean waits of the record and of slurm."""
    own = classes.assign(
        **{name: classes["wait"].where(classes["scheduler"] == name) for name in ("recorded", "slurm")}
    )
    grouped = own.groupby(["kind", "jobs_of"], sort=False)[["jobs", "recorded", "slurm"]].first()
    return grouped.reset_index().to_dict("records")


def losers(classes: pd.DataFrame) -> list[str]:
    """Return for each scheduler the classes that win and lose against slurm, beyond the noise."""
    told = []
    for name, part in classes[classes["jobs"] >= _LEAST].groupby("scheduler", sort=False):
        clear = part[(part["least"] > 1) | (part["most"] < 1)].sort_values("change")
        texts = []
        for word, rows in (("win", clear[clear["change"] < 1]), ("lose", clear[clear["change"] > 1][::-1])):
            first = [
                f"{row['kind']} {row['jobs_of']} ({100 * (row['change'] - 1):+.0f}%)"
                for row in rows.head(3).to_dict("records")
            ]
            texts += [f"{', '.join(first)} {word}"] if first else []
        if texts and name not in ("recorded", "slurm"):
            told.append(f"Under {name} {'; '.join(texts)}.")
    return told


def in_a_sentence(recorded: WhatIf, model: WhatIf) -> list[str]:
    """Return the accuracy of the model: its starts, and its mean wait if jobs waited."""
    near = ", ".join(f"{percent(share)}% within {time_text(within)}" for within, share in model.near.items())
    starts = f"slurm meets the recorded starts: {near}"
    if recorded.wait <= 0:
        return [starts]
    return [starts, f"its mean wait is {against('recorded', model.wait / recorded.wait)}"]


def _fidelity(recorded: WhatIf, model: WhatIf) -> tuple[PagePart, ...]:
    near = [
        [label(f"starts within {time_text(within)} of the record (%)"), number(share, percent)]
        for within, share in model.near.items()
    ]
    rows = [
        *near,
        [label("mean distance from the recorded start"), number(model.deviation, time_text)],
        [label("correlation of the waits"), number(model.correlation, _hundredths)],
        [label("mean wait, recorded"), number(recorded.wait, time_text)],
        [label("mean wait, slurm"), number(model.wait, time_text)],
        [label("p95 of the waits, recorded"), number(recorded.wait_p95, time_text)],
        [label("p95 of the waits, slurm"), number(model.wait_p95, time_text)],
    ]
    note = "Whole runs are chaotic: a real Slurm that is given the same jobs again does not meet its own starts either."
    table = Table("slurm beside the record", ("measure", "value"), rows, 1, note, "fidelity")
    off = np.abs(model.waits - recorded.waits)
    figure = _curve(
        "off-the-record",
        "How far starts are off the record",
        "distance from the recorded start (s)",
        {model.name: off},
        (recorded.name, model.name),
    )
    return PagePart("fidelity", table), PagePart("off-the-record", figure)


def _class_fidelity(classes: pd.DataFrame) -> Table:
    rows = [
        [
            label(row["kind"]),
            label(row["jobs_of"]),
            number(row["jobs"], count),
            number(row["recorded"], time_text),
            number(row["slurm"], time_text),
            _change(row["slurm"], row["recorded"]),
        ]
        for row in _beside(classes)
    ]
    columns = ("class by", "class", "jobs", Times("recorded"), Times("slurm"), "to the record (%)")
    return Table("Mean waits by class, slurm beside the record", columns, rows, 2, "", "fidelity-by-class")


def _measures(classes: pd.DataFrame, names: Mapping[str, str]) -> Table:
    columns = (
        "class by",
        "class",
        "scheduler",
        "jobs",
        Times("mean wait"),
        "mean bounded slowdown",
        "utilization (%)",
        "to slurm (%)",
        "noise from (%)",
        "noise to (%)",
    )
    rows = [
        [
            label(row["kind"]),
            label(row["jobs_of"]),
            label(names[row["scheduler"]]),
            number(row["jobs"], count),
            number(row["wait"], time_text),
            number(row["slowdown"], ratio),
            number(row["utilization"], percent),
            *(_change(row[name], 1.0) for name in ("change", "least", "most")),
        ]
        for row in classes.to_dict("records")
    ]
    note = "Utilization: what the jobs of the class use of all cores."
    return Table("All measures by class", columns, rows, 3, note, "classes", folded=True)


def _outlook(results: Sequence[WhatIf], submit: FloatArray) -> tuple[PagePart, ...]:
    names = tuple(row.name for row in results)
    columns = (
        "scheduler",
        Times("mean wait"),
        "to the record (%)",
        "to slurm (%)",
        "noise (%)",
        Times("p95 wait"),
        "mean bounded slowdown",
        Times("off the record"),
        "correlation",
        "utilization (%)",
        "never start",
    )
    rows = [
        [
            label(row.name),
            number(row.wait, time_text),
            *(_change(row.wait, base.wait) for base in results[:2]),
            label(band(row)),
            number(row.wait_p95, time_text),
            number(row.slowdown, ratio),
            number(row.deviation, time_text),
            number(row.correlation, _hundredths),
            number(row.utilization, percent),
            number(row.unstarted, count),
        ]
        for row in results
    ]
    note = (
        "Compare with slurm, not with the record: what the model misses is then on both sides. Noise: the change of "
        f"the mean wait to slurm over runs with submissions up to {JITTER} s later."
    )
    table = Table("Waits and slowdowns", columns, rows, 1, note, "schedulers")
    waits = {row.name: row.waits for row in results}
    drawn = _curve("ecdf-wait", "Waiting times", "wait (s)", waits, names)
    return (
        PagePart("schedulers", table),
        PagePart("ecdf-wait", drawn),
        PagePart("queue", _queues(results, submit, names)),
    )


def _queues(results: Sequence[WhatIf], submit: FloatArray, names: tuple[str, ...]) -> Figure:
    parts = []
    for row in results:  # number of waiting jobs at evenly spaced times
        known = ~np.isnan(row.waits)
        came = np.sort(submit[known])
        began = np.sort(submit[known] + row.waits[known])
        first, last = (came[0], began[-1]) if len(came) else (0.0, 0.0)
        times = np.linspace(first, last, _PLACES)
        waiting = np.searchsorted(came, times, side="right") - np.searchsorted(began, times, side="right")
        parts.append(pd.DataFrame({"contender": row.name, "time": times - first, "waiting_jobs": waiting}))
    data = pd.concat(parts, ignore_index=True)
    unit, length = ("hours", 3600) if data["time"].max() > 4 * 3600 else ("minutes", 60)
    data["time"] /= length
    note = "Jobs that wait, from the first arrival that is counted on."
    return Figure(
        "queue",
        "lines",
        "Queue over time",
        note,
        data.rename(columns={"time": f"time_{unit}"}),
        f"time_{unit}",
        "waiting_jobs",
        f"time ({unit})",
        "waiting jobs",
        order=names,
    )


def _curve(key: str, title: str, axis: str, values: dict[str, FloatArray], names: tuple[str, ...]) -> Figure:
    grid, parts = GRIDS["wait"], []
    for name, each in values.items():
        known = each[~np.isnan(each)]
        x, y = distribution(grid, grid.counts(known), len(known), _PLACES)
        parts.append(pd.DataFrame({"contender": name, "seconds": x, "share_percent": 100 * y}))
    note = f"Share of the {count(len(known), 'job')} at or below x; below 1 s counts as 1 s. Logarithmic scale."
    data = pd.concat(parts, ignore_index=True)
    return Figure(
        key,
        "steps",
        title,
        note,
        data,
        "seconds",
        "share_percent",
        axis,
        "share of the jobs (%)",
        log_x=True,
        order=names,
    )


def _change(value: float, base: float) -> PrintedCell:
    change = 100 * (value / base - 1) if base else np.nan
    return number(change, lambda shown: "-" if np.isnan(shown) else f"{shown:+.1f}")


def _hundredths(value: float) -> str:
    return fixed(value, 2)
