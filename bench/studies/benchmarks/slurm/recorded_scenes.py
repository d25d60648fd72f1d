"""Scenes of a few jobs on a real Slurm: how far each start of the model is from the real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .....analysis.site_cases import SiteRecord
from .....analysis.site_scenarios import Texts
from .....base import InputError
from .....simulation import check, simulate
from .....workloads.slurm_workload import slurm_workload
from ....reports.tables import Table

#: Seconds that a start may be off.
NEAR = 15
_LIMITS = ("assoc.txt", "assoc2.txt", "limits.txt", "qos.txt")


def scenes(folder: Path) -> Table:
    """Return a row for each scene in a folder.

    A scene is a file ``NAME.sacct`` beside ``site.txt`` and what ``sacctmgr`` printed, or a folder with ``jobs.sacct``
    and its own ``site.txt``. Of ``assoc.txt`` and ``assoc2.txt`` the second counts if there are both.

    Raises
    ------
    InputError
        If there is no scene, or a file is invalid.
    """
    entries = list(_scenes(folder))
    if not entries:
        raise InputError(f"{folder}: expected files NAME.sacct beside a site.txt, got none")
    rows = []
    for name, jobs, beside in entries:
        off = distances(jobs, beside)
        job, seconds = max(off.items(), key=lambda each: abs(each[1]), default=("-", 0))
        rows.append((name, f"{len(off):,}", f"{seconds:+,d}", job, "yes" if abs(seconds) <= NEAR else "no"))
    note = f"Near: all starts within {NEAR} s of the real ones."
    return Table("scenes", ("scene", "starts", "largest distance (s)", "of job", "near"), rows, note=note)


def distances(jobs: Path, folder: Path) -> dict[str, int]:
    """Return by how many seconds the model's start of each job is later than the real one.

    Parameters
    ----------
    jobs
        Accounting records.
    folder
        The site: ``site.txt``, and what ``sacctmgr`` and ``scontrol show reservation`` printed.
    """
    names = [name for name in _LIMITS if (folder / name).exists()]
    if "assoc2.txt" in names and "assoc.txt" in names:
        names.remove("assoc.txt")
    reservations = folder / "reservations.txt"
    texts = Texts(
        folder / "site.txt",
        ";".join(str(folder / name) for name in names),
        reservations if reservations.exists() else None,
    )
    record = SiteRecord.read(texts, "", lambda config: slurm_workload(jobs, config), None)
    case = record.baseline()
    result = simulate(case.workload, case.dispatcher, state=case.state)
    check(case.workload, result)
    starts = result.attempts.groupby("id")["start"].max()
    waits = record.workload.recorded_waits
    assert waits is not None
    pairs = zip(record.workload.jobs, waits.tolist(), strict=True)
    never = 2**31  # A job that never starts is as far off as can be.
    return {
        job.id: int(starts[job.id]) - job.submit - int(wait) if job.id in starts.index else never
        for job, wait in pairs
        if wait >= 0
    }


def _scenes(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """Yield the name, the records and the folder of the site of each scene."""
    for path in sorted(folder.glob("*.sacct")) if (folder / "site.txt").exists() else ():
        yield path.stem, path, folder
    for inside in sorted(folder.iterdir()):
        if (inside / "jobs.sacct").is_file() and (inside / "site.txt").is_file():
            yield inside.name, inside / "jobs.sacct", inside
