"""The report of a study: one page that opens offline, and beside it every figure and table as a file for a paper."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

from ...base.atomic_files import write_whole
from ...workloads.formats.csv_text import csv_text
from .figure_style import CLASS_STYLE, COLOURS, DASHES
from .figures import Figure, figures_of, rounded
from .number_formats import count
from .static_figures import images
from .study import Study
from .summaries import tables_of
from .tables import Table

TITLE = "Simulations compared"
#: Tables and figures of a workload, in their order on the page; others come last.
_ORDER = (
    "leaderboard", "paired", "paired-figure", "utilization", "queue", "ecdf-wait", "ecdf-bounded-slowdown", "details",
    "by-run-time", "by-width", "fairness", "schedule", "prediction", "ecdf-prediction", "decisions", "ecdf-decision",
)  # fmt: skip
_GLOSSARY = (
    ("Wait", "Seconds in the queue, over all attempts of a job."),
    ("Turnaround", "Seconds from submission to the end."),
    ("Slowdown", "Turnaround over run time, at least 1; run times below 1 s count as 1 s."),
    ("Bounded slowdown", "Turnaround over the larger of run time and 10 s, at least 1."),
    ("Utilization", "Useful work over the capacity of the primary resource, from first submission to last end; with "
     "a warm-up or cool-down, from the first to the last submission that is left."),
    ("Median, p90, p95, p99", "Percentiles over jobs. p95: 95% of the jobs have at most that."),
    ("Seeds", "Each seed is another sample of the workload; all contenders get the same samples, so that they are "
     "compared in pairs."),
    ("Intervals", "Percentile bootstrap over the seeds, 95%. Few seeds make them too narrow."),
    ("p", "How probable at least such a difference would be if contender and baseline were alike. Not corrected for "
     "the number of comparisons."),
    ("Jain's index", "(sum x)² / (n sum x²) of the users' mean bounded slowdowns: 1 if all fare alike, 1/n if one has "
     "it all."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """A table or a figure of a workload, and the name of its files without an ending."""

    name: str
    content: Table | Figure


def write_report(study: Study, out: Path) -> Path:
    """Write the page, and the folder of files beside it; return the folder, ``report_files`` for ``report.html``.

    The page is written last, and in one step.
    """
    folder = out.with_name(f"{out.stem}_files")
    sections = [list(_parts(study, index, workload)) for index, workload in enumerate(study.workloads)]
    for part in (part for section in sections for part in section):
        _write_files(part, folder)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, page(study, sections, folder.name))
    return folder


def page(study: Study, sections: list[list[Part]], folder: str) -> str:
    """Return the page."""
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 - other commands do without
    from markupsafe import Markup  # noqa: PLC0415
    from plotly.offline import get_plotlyjs  # noqa: PLC0415

    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False, "separators": (",", ":"), "allow_nan": False}
    environment.filters["pieces"] = re.compile(r"(?<=[:,=])(?=\S)").split
    template = environment.from_string(_text("report.html.j2"))
    js, plotly = _text("report.js"), get_plotlyjs()
    return template.render(
        title=TITLE,
        policy=_policy(js, plotly),
        version=version("hpcdispatch"),
        folder=folder,
        facts=_facts(study),
        warnings=study.left_out,
        sections=[
            _section(study, workload, parts, folder) for workload, parts in zip(study.workloads, sections, strict=True)
        ],
        glossary=_GLOSSARY,
        styles={"colours": COLOURS, "dashes": DASHES, "classes": [[name, *look] for name, look in CLASS_STYLE.items()]},
        css=Markup(_text("report.css")),
        js=Markup(js),
        plotly=Markup(plotly),
    )


def _policy(*scripts: str) -> str:
    """Return a Content-Security-Policy that runs these scripts alone and loads nothing from anywhere.

    Styles may stand in the page, since plotly writes them on what it draws.
    """
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _parts(study: Study, index: int, workload: str) -> Iterator[Part]:
    """Yield tables and figures of a workload in their order."""
    prefix = "" if len(study.workloads) == 1 else f"{index + 1}-"
    tables, figures = tables_of(study, workload), figures_of(study, workload)
    figures["paired-figure"] = figures.pop("paired")
    for key in dict.fromkeys((*_ORDER, *tables, *figures)):
        yield Part(prefix + key, tables[key] if key in tables else figures[key])


def _write_files(part: Part, folder: Path) -> None:
    """Write a table as CSV, Markdown and LaTeX, a figure as CSV, PNG and SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    content = part.content
    if isinstance(content, Table):
        texts = {"csv": csv_text(content.frame()), "md": content.markdown(escaped=True), "tex": content.latex()}
        found = {kind: text.encode() for kind, text in texts.items()}
    else:
        found = {"csv": csv_text(rounded(content.data)).encode(), **images(content)}
    for kind, data in found.items():
        (folder / f"{part.name}.{kind}").write_bytes(data)


def _section(study: Study, workload: str, parts: list[Part], folder: str) -> dict[str, Any]:
    runs = study.runs[study.runs["workload"] == workload]
    jobs = runs["jobs"]
    shown = count(jobs.min()) if jobs.min() == jobs.max() else f"{count(jobs.min())} to {count(jobs.max())}"
    note = f"{len(runs):,} runs; {shown} jobs measured in each; seeds {_seeds(runs['seed'])}."
    warm_up, cool_down = study.cuts[workload]
    if warm_up.amount or cool_down.amount:
        note += f" Simulated and not measured: warm-up {warm_up}, cool-down {cool_down}."
    several = runs.groupby("contender")["seed"].apply(lambda seeds: tuple(sorted(seeds)))
    if several.nunique() > 1:
        note += " Contenders have not all the same seeds: compare the paired differences, not the means."
    if runs.groupby("seed")["sample"].nunique().max() > 1:
        note += " Some seeds stand for different samples; only runs of the same sample are paired."
    shown_parts = [
        ("table", _table(part)) if isinstance(part.content, Table) else ("figure", _figure(part, folder))
        for part in parts
    ]
    return {"title": workload, "note": note, "parts": shown_parts}


def _seeds(seeds: pd.Series) -> str:
    known = sorted({int(seed) for seed in seeds})
    if len(known) > 2 and known == list(range(known[0], known[-1] + 1)):
        return f"{known[0]} to {known[-1]} ({len(known)})"
    shown = ", ".join(str(seed) for seed in known[:20])
    return shown if len(known) <= 20 else f"{shown}, ... ({len(known)})"


def _facts(study: Study) -> list[tuple[str, str]]:
    runs = study.runs
    return [
        *([] if study.campaign is None else [("Campaign", study.campaign)]),
        ("Workloads", count(len(study.workloads))),
        ("Contenders", "; ".join(sorted(set(runs["contender"])))),
        ("Baseline", study.baseline),
        ("Runs", f"{len(runs):,}, with {runs['jobs'].sum():,} jobs measured"),
        *(
            (f"{name} left out", "; ".join(dict.fromkeys(str(cuts[index]) for cuts in study.cuts.values())))
            for index, name in enumerate(("Warm-up", "Cool-down"))
        ),
        ("Made by", f"hpcdispatch {version('hpcdispatch')}"),
    ]


def _table(part: Part) -> dict[str, Any]:
    table = part.content
    assert isinstance(table, Table)
    return {
        "id": part.name, "title": table.title, "note": table.note, "columns": table.columns, "labels": table.labels,
        "rows": table.cells,
    }  # fmt: skip


def _figure(part: Part, folder: str) -> dict[str, Any]:
    figure = part.content
    assert isinstance(figure, Figure)
    data = {
        "file": part.name, "kind": figure.kind, "x": figure.x, "y": figure.y, "x_label": figure.x_label,
        "y_label": figure.y_label, "log_x": figure.log_x, "columns": columns(rounded(figure.data)),
        "window": figure.shown, "panels": figure.panels, "names": figure.names,
        "places": [figure.place(name) for name in figure.names],
    }  # fmt: skip
    return {
        "id": part.name, "kind": figure.kind, "title": figure.title, "note": figure.note, "data": data,
        "href": f"{quote(folder)}/{part.name}",
    }  # fmt: skip


def columns(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the columns of a frame for JSON: numbers, ``None`` for those that are not finite, and coded texts."""
    found: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column):
            whole = pd.api.types.is_integer_dtype(column)
            found[name] = [
                None if not math.isfinite(value) else value if whole else _short(value) for value in column.tolist()
            ]
        else:
            codes, names = pd.factorize(column)
            found[name] = {"codes": codes.tolist(), "names": [str(category) for category in names]}
    return found


def _short(value: float) -> float:
    return int(value) if value.is_integer() else value


@cache
def _text(name: str) -> str:
    return (files("hpcdispatch.bench.reports") / "templates" / name).read_text(encoding="utf-8")
