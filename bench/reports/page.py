"""The report of a study: one page that opens offline, and beside it every figure and table as a file for a paper."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from .figures import Figure, figures_of
from .html_page import Page, Part, Section, write_page
from .number_formats import count
from .study import Study
from .summaries import tables_of
from .tables import Table

TITLE = "Simulations compared"
#: Tables and figures of a workload, in their order on the page; others come last.
_ORDER = (
    "leaderboard", "paired", "paired-figure", "utilization", "queue", "ecdf-wait", "ecdf-bounded-slowdown", "details",
    "by-run-time", "by-width", "fairness", "tunings", "tunings-figure",
    "schedule", "prediction", "ecdf-prediction", "decisions", "ecdf-decision",
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


def write_report(study: Study, out: Path) -> Path:
    """Write the page, and the folder of files beside it; return the folder, ``report_files`` for ``report.html``.

    The page is written last, and in one step.
    """
    sections = [_section(study, index, workload) for index, workload in enumerate(study.workloads)]
    return write_page(Page(TITLE, _facts(study), study.left_out, sections, _GLOSSARY), out)


def _parts(study: Study, index: int, workload: str) -> Iterator[Part]:
    """Yield tables and figures of a workload in their order."""
    prefix = "" if len(study.workloads) == 1 else f"{index + 1}-"
    tables, figures = tables_of(study, workload), figures_of(study, workload)
    figures["paired-figure"] = figures.pop("paired")
    found: dict[str, Table | Figure] = {**figures, **tables}
    for key in dict.fromkeys((*_ORDER, *tables, *figures)):
        if key in found:
            yield Part(prefix + key, found[key])


def _section(study: Study, index: int, workload: str) -> Section:
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
    return Section(workload, note, list(_parts(study, index, workload)))


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
