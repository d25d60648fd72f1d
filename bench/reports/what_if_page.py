"""The page of what recorded jobs would have fared like: first how well the model meets the record."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

from ...analysis.what_if import WhatIf
from ...base import FloatArray
from ...base.time_texts import time_text
from ...simulation.plots.curves import distribution
from .figures import Figure
from .html_page import Page, Part, Section, write_page
from .number_formats import Show, count, fixed, percent, ratio
from .study import GRIDS
from .tables import Cell, Table, Times, label, number
from .verdict import against, of_jobs

#: Most places of a curve of the queue.
_PLACES = 600
_GLOSSARY = (
    ("Recorded", "What the site's own scheduler did, from its accounting."),
    ("slurm", "The model of that scheduler with the site's configuration. What the page says of changes and of other "
     "schedulers is worth as much as this one meets the record."),
    ("Wait", "Time from when a job could have started to its start."),
    ("Bounded slowdown", "Turnaround over the larger of run time and 10 s, at least 1."),
    ("Off the record", "By how much a start differs from the recorded one, either way."),
    ("Correlation", "Of the waits with the recorded ones, job by job (Pearson)."),
)  # fmt: skip


def write_what_if(found: Sequence[WhatIf], submit: FloatArray, facts: Sequence[tuple[str, str]], out: Path) -> Path:
    """Write the page, and the folder of files beside it; return the folder.

    Parameters
    ----------
    found
        Of :func:`~hpcdispatch.analysis.what_if.what_if`: the record, the site's scheduler, the others.
    submit
        When each job could have started, seconds, shape (jobs,).
    facts
        Names and values that stand above.
    out
        The page.
    """
    recorded, model = found[0], found[1]
    met = f"The other figures of this page are worth as much as this. {'; '.join(in_a_sentence(recorded, model))}."
    others = "Of the same jobs, from the same beginning. Sorted as asked for; the record and slurm first."
    sections = [
        Section("How well slurm meets the recorded starts", met, list(_fidelity(recorded, model))),
        Section("What others would have done", others, list(_outlook(found, submit))),
    ]
    told = [*facts, ("Made by", f"hpcdispatch {version('hpcdispatch')}")]
    return write_page(
        Page("What if: a recorded site under other schedulers", answer(found), told, (), sections, _GLOSSARY), out
    )


def answer(found: Sequence[WhatIf], show: Show = time_text) -> str:
    """Return which scheduler would have had the least mean wait, against the model of the site's own."""
    model, others = found[1], found[2:]
    if not others:
        return f"{in_a_sentence(found[0], model)[0]}."
    best = min(others, key=lambda row: row.wait)
    both = ~np.isnan(best.waits) & ~np.isnan(model.waits)
    return of_jobs(best.name, best.waits[both], model.name, model.waits[both], show)


def in_a_sentence(recorded: WhatIf, model: WhatIf) -> list[str]:
    """Return how well the model meets the record: its starts, and its mean wait where jobs waited."""
    near = ", ".join(f"{percent(share)}% within {time_text(within)}" for within, share in model.near.items())
    starts = f"slurm meets the recorded starts: {near}"
    if recorded.wait <= 0:
        return [starts]
    return [starts, f"its mean wait is {against('recorded', model.wait / recorded.wait)}"]


def _fidelity(recorded: WhatIf, model: WhatIf) -> tuple[Part, ...]:
    near = [[label(f"starts within {time_text(within)} of the record (%)"), number(share, percent)]
            for within, share in model.near.items()]  # fmt: skip
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
    figure = _curve("off-the-record", "How far starts are off the record", "distance from the recorded start (s)",
                    {model.name: off}, (recorded.name, model.name))  # fmt: skip
    return Part("fidelity", table), Part("off-the-record", figure)


def _outlook(found: Sequence[WhatIf], submit: FloatArray) -> tuple[Part, ...]:
    names = tuple(row.name for row in found)
    columns = ("scheduler", Times("mean wait"), "to the record (%)", "to slurm (%)", Times("p95 wait"),
               "mean bounded slowdown", Times("off the record"), "correlation")  # fmt: skip
    rows = [
        [label(row.name), number(row.wait, time_text), *(_change(row.wait, base.wait) for base in found[:2]),
         number(row.wait_p95, time_text), number(row.slowdown, ratio), number(row.deviation, time_text),
         number(row.correlation, _hundredths)]
        for row in found
    ]  # fmt: skip
    note = "Compare with slurm, not with the record: what the model misses is then on both sides."
    table = Table("Waits and slowdowns", columns, rows, 1, note, "schedulers")
    waits = {row.name: row.waits for row in found}
    drawn = _curve("ecdf-wait", "Waiting times", "wait (s)", waits, names)
    return Part("schedulers", table), Part("ecdf-wait", drawn), Part("queue", _queues(found, submit, names))


def _queues(found: Sequence[WhatIf], submit: FloatArray, names: tuple[str, ...]) -> Figure:
    parts = []
    for row in found:  # how many jobs wait when, at evenly spaced times
        known = ~np.isnan(row.waits)
        came, began = np.sort(submit[known]), np.sort(submit[known] + row.waits[known])
        first, last = (came[0], began[-1]) if len(came) else (0.0, 0.0)
        times = np.linspace(first, last, _PLACES)
        waiting = np.searchsorted(came, times, side="right") - np.searchsorted(began, times, side="right")
        parts.append(pd.DataFrame({"contender": row.name, "time": times - first, "waiting_jobs": waiting}))
    data = pd.concat(parts, ignore_index=True)
    unit, length = ("hours", 3600) if data["time"].max() > 4 * 3600 else ("minutes", 60)
    data["time"] /= length
    note = "Jobs that wait, from the first arrival that is counted on."
    return Figure("queue", "lines", "Queue over time", note, data.rename(columns={"time": f"time_{unit}"}),
                  f"time_{unit}", "waiting_jobs", f"time ({unit})", "waiting jobs", order=names)  # fmt: skip


def _curve(key: str, title: str, axis: str, values: dict[str, FloatArray], names: tuple[str, ...]) -> Figure:
    grid, parts = GRIDS["wait"], []
    for name, each in values.items():
        known = each[~np.isnan(each)]
        x, y = distribution(grid, grid.counts(known), len(known), _PLACES)
        parts.append(pd.DataFrame({"contender": name, "seconds": x, "share_percent": 100 * y}))
    note = f"Share of the {count(len(known), 'job')} at or below x; below 1 s counts as 1 s. Logarithmic scale."
    data = pd.concat(parts, ignore_index=True)
    return Figure(key, "steps", title, note, data, "seconds", "share_percent", axis, "share of the jobs (%)",
                  log_x=True, order=names)  # fmt: skip


def _change(value: float, base: float) -> Cell:
    change = 100 * (value / base - 1) if base else np.nan
    return number(change, lambda shown: "-" if np.isnan(shown) else f"{shown:+.1f}")


def _hundredths(value: float) -> str:
    return fixed(value, 2)
