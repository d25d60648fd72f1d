"""Write the report of a study as one offline page. Every figure and table is also a file for a paper."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from .figures import Figure, figures_of
from .html_page import Page, PagePart, Section, write_page
from .number_formats import count
from .study import Study
from .summaries import tables_of
from .tables import Table
from .verdict import verdict

#: Tables and figures of a workload, in their order on the page. Others follow at the end.
_ORDER = (
    "leaderboard",
    "paired",
    "paired-figure",
    "utilization",
    "queue",
    "ecdf-wait",
    "ecdf-bounded-slowdown",
    "details",
    "waits-by-run-time",
    "by-run-time",
    "waits-by-width",
    "by-width",
    "fairness",
    "conditions",
    "power",
    "lost-work",
    "tunings",
    "tunings-figure",
    "schedule",
    "prediction",
    "ecdf-prediction",
    "decisions",
    "ecdf-decision",
)
_GLOSSARY = (
    ("Wait", "Time in the queue, over all attempts of a job."),
    ("Turnaround", "Time from submission to the end."),
    ("Slowdown", "Turnaround over run time, at least 1; run times below 1 s count as 1 s."),
    ("Bounded slowdown", "Turnaround over the larger of run time and 10 s, at least 1."),
    (
        "Utilization",
        "Useful work over the capacity of the primary resource, from first submission to last end; with "
        "a warm-up or cool-down, from the first to the last submission that is left.",
    ),
    ("Median, p90, p95, p99", "Percentiles over jobs. p95: 95% of the jobs have at most that."),
    (
        "Seeds",
        "Each seed is a sample: of a generator, a resample of a trace, or a copy of it with shifted submissions. All "
        "contenders get the same samples, so that they are compared in pairs.",
    ),
    (
        "Intervals",
        "Of independent samples: Student's distribution of the logarithm of the ratio. Of resamples: how the ratio "
        "varies over them. Of one trace: a jackknife over its blocks.",
    ),
    (
        "Range over shifts",
        "Least and largest value over copies of one trace with shifted submissions. It shows how chaotic a schedule "
        "is, and nothing about other workloads.",
    ),
    (
        "Verdict",
        "Better or worse if the interval of the ratio leaves out 1, else not decided. Of several contenders each is "
        "corrected by Holm's method, so that all verdicts together hold in 95% of the cases.",
    ),
    (
        "Lost to failures",
        "Work of attempts that a failed node ended, as far as no checkpoint kept it, in hours of the primary resource.",
    ),
    (
        "Jain's index",
        "(sum x)² / (n sum x²) of the users' mean bounded slowdowns: 1 if all fare alike, 1/n if one has it all.",
    ),
)


def write_report(study: Study, out: Path) -> Path:
    """Write the page, and the folder of files beside it. Return the folder, ``report_files`` for ``report.html``.

    The page is written last, and in one step.
    """
    sections = [_section(study, index, workload) for index, workload in enumerate(study.workloads)]
    answer = verdict(study.runs, study.baseline, days=study.days)
    return write_page(Page(title_of(study), answer, _facts(study), study.left_out, sections, _GLOSSARY), out)


def title_of(study: Study) -> str:
    """Return the title of a page: its contenders, and its workload if there is only one."""
    names = study.order
    workloads = study.workloads
    where = f" on {workloads[0]}" if len(workloads) == 1 else f" on {len(workloads)} workloads"
    if len(names) == 1:
        return names[0] + where
    if len(names) == 2:
        return f"{names[1]} against {names[0]}{where}"
    return f"{len(names)} dispatchers compared{where}"


def _parts(study: Study, index: int, workload: str) -> Iterator[PagePart]:
    """Yield tables and figures of a workload in their order."""
    prefix = "" if len(study.workloads) == 1 else f"{index + 1}-"
    tables = tables_of(study, workload)
    figures = figures_of(study, workload)
    figures["paired-figure"] = figures.pop("paired")
    contents: dict[str, Table | Figure] = {**figures, **tables}
    for key in dict.fromkeys((*_ORDER, *tables, *figures)):
        content = contents.get(key)
        if content is not None and len(content.rows if isinstance(content, Table) else content.data):
            yield PagePart(prefix + key, content)


def _section(study: Study, index: int, workload: str) -> Section:
    runs = study.runs[study.runs["workload"] == workload]
    jobs = runs["jobs"]
    shown = count(jobs.min()) if jobs.min() == jobs.max() else f"{count(jobs.min())} to {count(jobs.max())}"
    told = "" if len(study.workloads) == 1 else f"{verdict(runs, study.baseline, days=study.days)} "
    note = f"{told}{count(len(runs), 'run')}; {shown} jobs measured in each; seeds {_seeds(runs['seed'])}."
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
    """Return the subject of the page."""
    runs = study.runs
    cuts = [
        (f"{name} left out", "; ".join(dict.fromkeys(str(cuts[index]) for cuts in study.cuts.values())))
        for index, name in enumerate(("Warm-up", "Cool-down"))
    ]
    return [
        *([] if study.campaign is None else [("Campaign", study.campaign)]),
        ("Contenders", "; ".join(study.order)),
        *([("Baseline", study.baseline)] if len(study.order) > 1 else []),
        ("Runs", f"{count(len(runs), 'run')}, with {runs['jobs'].sum():,} jobs measured"),
        *(cut for cut in cuts if cut[1] != "none"),
        ("Made by", f"hpcdispatch {version('hpcdispatch')}"),
    ]
