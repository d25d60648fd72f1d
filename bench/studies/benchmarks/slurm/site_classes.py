"""Whole runs per class: ``slurm`` and a second real run against a recorded site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isnan
from pathlib import Path

import pandas as pd

from .....base import InputError
from .....dispatchers import Slurm
from .....simulation import check, simulate
from .....workloads import Workload, recorded_state
from .....workloads.slurm_workload import slurm_workload, started_at
from ....reports.number_formats import fixed
from ....reports.tables import Table
from .recorded_text import recorded_lines

#: By what jobs are divided.
CLASSES = ("all", "partition", "qos", "account", "kind")
#: Largest mean deviation, times that of the second run. Largest error of a class's mean wait.
WANTED, OFF = 1.3, 0.3
_NAME = re.compile(r"\s(?:-J\s*|--job-name[ =])(\S+)")


def classes(folder: Path, shares: str, again: Path | None) -> Table:
    """Return metrics of a recorded site's jobs, real and under ``slurm``, by class.

    Parameters
    ----------
    folder
        ``site.txt``, ``jobs.sacct``, and what ``sacctmgr`` printed in ``limits.txt`` and ``qos.txt``.
    shares
        Of the accounts.
    again
        The accounting of a second run of the same jobs, which have the same names; ``None``: there is none.
    """
    config = folder / "site.txt"
    accounting = folder / "jobs.sacct"
    limits = ";".join(str(folder / name) for name in ("limits.txt", "qos.txt") if (folder / name).exists())
    workload = slurm_workload(accounting, config)
    jobs = _waits(workload, accounting)
    begun, state = recorded_state(workload, 0)
    slurm = Slurm(config=str(config), limits=limits, shares=shares, epoch=started_at(workload))
    result = simulate(begun, slurm, state=state)
    check(begun, result)
    jobs["model"] = result.jobs.set_index("id")["wait"]
    jobs["second"] = float("nan")
    if again is not None:
        other = _waits(slurm_workload(again, config), again).set_index("name")["wait"]
        if missing := sorted(set(jobs["name"]) - set(other.index)):
            raise InputError(f"{again}: expected the jobs of {accounting}, got none with the name {missing[0]}")
        jobs["second"] = other.reindex(jobs["name"]).to_numpy()
    columns = ("class", "jobs", "mean wait (s)", "slurm", "off by", "deviation (s)", "second run", "within")
    note = f"Within: a deviation of at most {WANTED} times that of the second run, or a mean wait within {OFF:.0%}."
    return Table("class by class", columns, list(_rows(jobs)), note=note)


def _waits(workload: Workload, accounting: Path) -> pd.DataFrame:
    """Return the classes, the name and the recorded wait of each job, by id."""
    assert workload.records is not None
    rows = [
        ("all", job.queue, job.qos or "normal", job.group, _kind(dict(job.per_node), job.array, alone=job.exclusive))
        for job in workload.jobs
    ]
    table = pd.DataFrame(rows, [job.id for job in workload.jobs], CLASSES)
    table["wait"] = workload.records["wait"].to_numpy(dtype=float)
    named = {}
    for line in recorded_lines(accounting):
        if name := _NAME.search(line):
            named[line.partition("|")[0].partition("_")[0]] = name[1]
    ids = (id_.partition("_") for id_ in table.index)
    return table.assign(name=[f"{named.get(array, array)}_{task}" for array, _, task in ids])


def _kind(per_node: dict[str, int], array: str, *, alone: bool) -> str:
    if alone:
        return "exclusive"
    if any(name.startswith("feature/") for name in per_node):
        return "constraint"
    return "gpu" if "gpu" in per_node else "array" if array else "other"


def _rows(jobs: pd.DataFrame) -> Iterator[list[str]]:
    for column in CLASSES:
        for name, part in jobs.groupby(column):
            real = part["wait"].mean()
            model = part["model"].mean()
            off, noise = (float((part[each] - part["wait"]).abs().mean()) for each in ("model", "second"))
            near = off <= WANTED * noise or abs(model - real) <= OFF * real
            more = f"{model / real - 1:+.0%}" if real else "-"
            label = name if column == "all" else f"{column} {name}"
            met = "yes" if near else "no"
            noisy = "-" if isnan(noise) else fixed(noise, 1)
            yield [str(label), f"{len(part):,}", fixed(real, 1), fixed(model, 1), more, fixed(off, 1), noisy, met]
