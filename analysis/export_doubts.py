"""Doubts about the export of a Slurm site: what its files do not have of each other, and what its records leave out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from ..base import read_bounded
from ..base.printed import first_of
from ..simulation import simulate
from ..workloads import Snapshot, Workload
from ..workloads.slurm_conf import SlurmSite
from ..workloads.slurm_limits import NORMAL, SlurmLimits
from .site_cases import SiteRecord

#: Days between two files of an export from which on they are of different days.
_DAYS = 2
#: Least jobs that have ended by the middle of a record, and that have not, for a judgement of the latter's effect.
_LEAST_ENDED, _LEAST_LEFT = 20, 3
#: States of records of jobs that had not ended.
_UNFINISHED = ("PENDING", "RUNNING", "COMPLETING", "SUSPENDED")
_PRINTED = re.compile(rb"Configuration data as of (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|\d{9,11})")


def printed_at(config: Path) -> int | None:
    """Return when ``scontrol show config`` was printed, seconds since 1970 as if in UTC. ``None``: it does not say."""
    match = _PRINTED.search(read_bounded(config, "a configuration of Slurm")[:1000])
    if match is None:
        return None
    text = match[1].decode()
    return int(text) if text.isdecimal() else int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def of_different_days(times: Sequence[tuple[str, int | None]]) -> Iterator[str]:
    """Yield a line if files are of different days.

    Parameters
    ----------
    times
        Names of files, and when they were printed, seconds since 1970. The last time of accounting records is that of
        their last event.
    """
    known = [(time, name) for name, time in times if time is not None]
    if len(known) > 1 and max(known)[0] - min(known)[0] >= _DAYS * 86400:
        told = ", ".join(f"{name} of {datetime.fromtimestamp(time, UTC):%Y-%m-%d}" for time, name in sorted(known))
        yield f"files of different days: {told}; nodes, limits and shares that changed between are taken as exported"


def of_other_sites(workload: Workload, site: SlurmSite, limits: SlurmLimits | None) -> Iterator[str]:
    """Yield a line for each kind of names in the records that other files do not have, with the effect."""
    assert workload.records is not None
    total = len(workload)
    columns = workload.columns
    nodes = Counter(name for text in workload.records["on_nodes"] for name in text.split())
    if strange := {name: jobs for name, jobs in nodes.items() if name not in site.nodes}:
        yield (
            f"{_listed(strange)}: jobs ran on these {len(strange):,} nodes, which {site.source} does not have: "
            "is it of another day or cluster? The model is too small, and its waits are too long"
        )
    if limits is None:
        return
    if known := limits.associations:
        jobs = zip(columns.group.each(), columns.user.each(), columns.queue.each(), strict=True)
        owners = Counter((account, limits.member(account, user, queue)) for account, user, queue in jobs)
        lacking = {f"{user} in {account}": n for (account, user), n in owners.items() if (account, user) not in known}
        if lacking:
            yield (
                f"{_listed(lacking)}: the associations lack these {len(lacking):,} users of "
                f"{sum(lacking.values()):,} of {total:,} jobs: are they of another day or cluster, or cut off? "
                "Each gets one share, and no limits"
            )
    if limits.qualities:
        asked = Counter(name or NORMAL for name in columns.qos.each())
        named = [each.quality for each in site.partitions if each.quality]
        lacking = {name: n for name, n in asked.items() if name not in limits.qualities and name != NORMAL}
        lacking |= {name: asked.get(name, 0) for name in named if name not in limits.qualities}
        if lacking:
            yield (
                f"{_listed(lacking)}: these QOS are used, and sacctmgr's QOS lack them: they have no priority and no "
                "limits in the model, so that their jobs start at another time"
            )


def _listed(counts: Collection[str]) -> str:
    return first_of(sorted(map(str, counts)))


@dataclass(frozen=True, slots=True)
class Bias:
    """The effect of jobs that records leave out because they have not ended.

    Attributes
    ----------
    jobs, left_out
        Jobs of the record that had ended at an earlier time, and those that had arrived and had not.
    without, whole
        Mean wait of the former in the model without and with the latter, seconds.
    """

    jobs: int
    left_out: int
    without: float
    whole: float

    @property
    def change(self) -> float:
        """Relative change of the mean wait."""
        return self.without / self.whole - 1 if self.whole > 0 else 0.0


def unfinished(workload: Workload, snapshot: Snapshot) -> tuple[int, int]:
    """Return how many jobs that ran or could start at a moment the records lack, and how many there were."""
    known = set(workload.columns.texts())
    able = [job for job in snapshot.waiting if job.starts and not job.depends and job.begin <= snapshot.now]
    there = [*(job.id for job in snapshot.running), *(id_ for job in able for id_ in job.ids or (job.id,))]
    return sum(id_ not in known for id_ in there), len(there)


def all_ended(workload: Workload) -> bool:
    """Return whether no record is of a job that ran or waited when the records were printed."""
    assert workload.records is not None
    return not {text.partition(" ")[0] for text in set(workload.records["state"])} & set(_UNFINISHED)


def ended_only_bias(record: SiteRecord) -> Bias | None:
    """Return the effect on waits if only ended jobs are exported, measured on the record itself.

    The record is cut at the middle of its submissions. The model runs twice from its begin: with all jobs submitted by
    then, and only with those that had ended by then. ``None`` if the record is too short for that.
    """
    workload, state = record.workload, record.state
    waits, columns = workload.recorded_waits, workload.columns
    if waits is None:
        return None
    submit = columns.submit
    middle = int(np.median(submit))
    submitted = submit <= middle
    ended = submitted & (submit + waits + columns.runtime <= middle)
    if ended.sum() < _LEAST_ENDED or (submitted & ~ended).sum() < _LEAST_LEFT:
        return None
    means = []
    runs = {each.id for each in state.running}
    counted = [
        job.id for job, chosen in zip(workload.jobs, ended.tolist(), strict=True) if chosen and job.id not in runs
    ]
    for chosen in (ended, submitted):
        jobs = tuple(job for job, one in zip(workload.jobs, chosen.tolist(), strict=True) if one)
        ids = {job.id for job in jobs}
        assert workload.records is not None
        part = replace(workload, jobs=jobs, records=workload.records[chosen].reset_index(drop=True))
        begin = replace(state, running=tuple(each for each in state.running if each.id in ids))
        frame = simulate(part, record.slurm(), state=begin).jobs.set_index("id")
        means.append(float(frame["wait"].reindex(counted).mean()))
    return Bias(len(counted), int((submitted & ~ended).sum()), *means)
