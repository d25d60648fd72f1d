"""Replay a site's recorded jobs under its own scheduler, under others, and on a changed site."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ..base import BoolArray, FloatArray, InputError, IntArray, time_text
from ..simulation import check, simulate
from ..simulation.metrics import bounded_slowdown
from ..workloads import Workload
from ..workloads.jitter import jitter
from .site_cases import SiteCase

#: Largest shift of submissions in repeated runs, seconds.
JITTER = 10
#: Upper ends of the classes by walltime (seconds) and by cores.
_WALLTIMES = {"up to 10m": 600, "10m to 1h": 3600, "1h to 6h": 6 * 3600, "6h to 1d": 86400, "over 1d": np.inf}
#: Least jobs of a class for a judgement of the model on it. Its mean wait is off if it differs from the recorded one by
#: more than the model's own spread, by more than this share of the longer one, and by more than so many seconds.
LEAST_JOBS, OFF_BY, OFF_SECONDS = 5, 0.1, 20.0
#: Reasons not to trust the model on a class.
FAR, FEW = "its mean wait is off", "too few jobs to tell"
_SIZES = {"1 core": 1, "2-4 cores": 4, "5-16 cores": 16, "17-64 cores": 64, "65-256 cores": 256, "more cores": np.inf}


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Results of a scheduler on recorded jobs.

    Attributes
    ----------
    name
        Of the scheduler.
    wait, wait_p95, slowdown
        Mean and 95th percentile of the waits, seconds, and the mean bounded slowdown.
    near
        Share of the jobs that start near their real start, by the largest distance in seconds.
    deviation
        Mean distance of the starts from the real ones, seconds.
    correlation
        Of the waits with the real ones; nan if either are all equal.
    utilization
        Share of the cores in use until the last submission.
    unstarted
        Jobs that never start.
    change
        The least and the largest ratio of the mean wait to that of the first scheduler. They include runs with
        submissions shifted by up to :data:`JITTER` seconds.
    waits
        Of all jobs, seconds, shape (jobs,); nan for jobs that are not counted.
    repeated
        The same with shifted submissions, shape (runs, jobs).
    notes
        Remarks for the user.
    """

    name: str
    wait: float
    wait_p95: float
    slowdown: float
    near: Mapping[int, float]
    deviation: float
    correlation: float
    utilization: float
    unstarted: int
    change: tuple[float, float]
    waits: FloatArray = field(repr=False, compare=False)
    repeated: FloatArray = field(repr=False, compare=False)
    notes: tuple[str, ...] = ()


def what_if(cases: Sequence[SiteCase], near: tuple[int, ...], repeats: int = 0, seed: int = 0) -> list[WhatIf]:
    """Return the recorded result, then that of each case. Every schedule is checked.

    A preempted job waits until its last start. Jobs that run at the beginning are fixed and not counted.

    Parameters
    ----------
    cases
        The unchanged site first. Jobs have their recorded waits (``records["wait"]``).
    near
        Largest distances in seconds between a start and the real one that count as near.
    repeats
        Further runs of each case, with submissions shifted by a few seconds. All cases get the same shifts.
    seed
        Of the shifts.

    Raises
    ------
    InputError
        If no waits are recorded, or all jobs ran or had ended at the beginning.
    """
    workload = cases[0].workload
    state = cases[0].state
    real = workload.recorded_waits
    if real is None:
        raise InputError(f"{workload.provenance.source}: expected recorded waits, got none")
    real[np.isin(workload.columns.texts(), [since.id for since in state.running])] = np.nan
    if np.isnan(real).all():
        raise InputError(
            f"{workload.provenance.source}: expected jobs with a recorded wait that start after the simulation begins, "
            f"at {time_text(state.at)}, got none; begin earlier (--begin 0)"
        )
    none = np.empty((0, len(real)))
    results = [_fared(SiteCase("recorded", workload, state, ""), workload, real, real, near, none, (np.nan, np.nan))]
    first = none
    for case in cases:
        waits = _waits(case, workload)
        runs = [_waits(_shifted(case, seed + run), workload) for run in range(1, repeats + 1)]
        repeated = np.array(runs).reshape(repeats, len(real))
        runs_of = np.vstack([waits, repeated])
        # The unchanged site is compared with itself: this shows the effect of the shifts alone.
        ratios = _ratios(runs_of, first if len(first) else runs_of[:1], ~np.isnan(real))
        first = first if len(first) else runs_of
        results.append(_fared(case, workload, waits, real, near, repeated, (float(ratios.min()), float(ratios.max()))))
    return results


def by_class(workload: Workload, found: Sequence[WhatIf]) -> pd.DataFrame:
    """Return the results of classes of jobs, a row for each kind of class, class and scheduler.

    Columns:

    ``kind, jobs_of``
        Partition, qos, account, size or walltime, and the class.
    ``scheduler, jobs, wait, slowdown``
        The wait is the mean, s. The slowdown is the mean bounded one.
    ``utilization``
        Core-seconds of the class over those of the machine until the last submission.
    ``change``
        Ratio of the mean wait to that of the unchanged site, the second row of `found`.
    ``least, most``
        Of that ratio over repeated runs.
    """
    jobs, parts = workload.columns, []
    runtime = jobs.runtime.astype(np.float64)
    kinds: dict[str, Any] = {
        "partition": jobs.queue.categories(),
        "qos": jobs.qos.categories(),
        "account": jobs.group.categories(),
        "size": _binned(jobs.amounts(_primary(workload)), _SIZES),
        "walltime": _binned(jobs.walltime, _WALLTIMES),
    }
    counted = ~np.isnan(found[0].waits)
    site = found[1]
    base = np.vstack([site.waits, site.repeated])
    for kind, names in kinds.items():
        for name in names.categories if len(names.categories) > 1 else ():
            mine = counted & (names == name)
            for row in found if mine.any() else ():
                waits = row.waits[mine]
                ran = ~np.isnan(waits)
                ratios = _ratios(np.vstack([row.waits, row.repeated]), base, mine)
                parts.append(
                    {
                        "kind": kind,
                        "jobs_of": name or "(none)",
                        "scheduler": row.name,
                        "jobs": int(mine.sum()),
                        "wait": _mean(waits[ran]),
                        "slowdown": _mean(bounded_slowdown(waits[ran] + runtime[mine][ran], runtime[mine][ran])),
                        "utilization": _utilization(workload, np.where(mine, row.waits, np.nan)),
                        "change": float(ratios[0]),
                        "least": float(ratios.min()),
                        "most": float(ratios.max()),
                    }
                )
    columns = ("kind", "jobs_of", "scheduler", "jobs", "wait", "slowdown", "utilization", "change", "least", "most")
    return pd.DataFrame(parts, columns=list(columns))


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """The model on the record, for a class of jobs.

    Attributes
    ----------
    kind, jobs_of
        Partition, account, QOS or size, and the class.
    jobs
        Number of its jobs.
    recorded, model
        Mean waits, seconds.
    spread
        Largest distance between the model's mean waits over its repeated runs, seconds; 0 without repeated runs.
    deviation
        Mean distance of the starts from the real ones, seconds.
    trusted
        Whether the mean wait of the model is near the recorded one.
    reason
        Why it is not; empty if it is.
    """

    kind: str
    jobs_of: str
    jobs: int
    recorded: float
    model: float
    spread: float
    deviation: float
    trusted: bool
    reason: str


def self_check(workload: Workload, found: Sequence[WhatIf]) -> list[SelfCheck]:
    """Return how well the model meets the record by partition, account, QOS and size.

    A class is trusted if it has :data:`LEAST_JOBS` jobs and the model misses its recorded mean wait by no more than the
    model's own spread over repeated runs, or by little: :data:`OFF_BY` of it or :data:`OFF_SECONDS`.

    Parameters
    ----------
    workload
        The jobs.
    found
        Of :func:`what_if`: the record, then the unchanged site.
    """
    jobs = workload.columns
    kinds = {
        "partition": jobs.queue.categories(),
        "account": jobs.group.categories(),
        "qos": jobs.qos.categories(),
        "size": _binned(jobs.amounts(_primary(workload)), _SIZES),
    }
    real, waits = found[0].waits, found[1].waits
    runs = np.vstack([waits, found[1].repeated])
    both = ~np.isnan(real) & ~np.isnan(waits)
    checks = []
    for kind, names in kinds.items():
        for name in names.categories:
            mine = both & (names == name)
            count = int(mine.sum())
            if not count:
                continue
            recorded, model = _mean(real[mine]), _mean(waits[mine])
            means = [_mean(run[mine & ~np.isnan(run)]) for run in runs]
            spread = float(np.nanmax(means) - np.nanmin(means))
            off = abs(model - recorded)
            reason = ""
            if off > max(spread, OFF_BY * max(recorded, model), OFF_SECONDS) and count >= LEAST_JOBS:
                reason = FAR
            elif count < LEAST_JOBS:
                reason = FEW
            deviation = _mean(np.abs(waits[mine] - real[mine]))
            checks.append(
                SelfCheck(kind, name or "(none)", count, recorded, model, spread, deviation, not reason, reason)
            )
    return checks


def without_untrusted(classes: pd.DataFrame, checks: Sequence[SelfCheck]) -> pd.DataFrame:
    """Return the classes of :func:`by_class`. Where the model is off, results but the record's and slurm's are nan."""
    untrusted = {(each.kind, each.jobs_of) for each in checks if each.reason == FAR}
    keys = zip(classes["kind"], classes["jobs_of"], classes["scheduler"], strict=True)
    hidden = [(kind, name) in untrusted and scheduler not in ("recorded", "slurm") for kind, name, scheduler in keys]
    trusted_classes = classes.copy()
    trusted_classes.loc[np.array(hidden, np.bool_), ["wait", "slowdown", "utilization", "change", "least", "most"]] = (
        np.nan
    )
    return trusted_classes


def _primary(workload: Workload) -> str:
    return workload.machine.resources[workload.machine.primary]


def _binned(values: IntArray, ends: Mapping[str, float]) -> Any:
    """Return the class of each value, in the order of the classes that occur."""
    names = list(ends)
    places = np.searchsorted(np.array([*ends.values()]), values).tolist()
    return pd.Categorical([names[place] for place in places], categories=names).remove_unused_categories()


def _shifted(case: SiteCase, seed: int) -> SiteCase:
    shifted = jitter(case.workload, JITTER, np.random.default_rng(seed), case.state.at)
    return replace(case, workload=shifted)


def _waits(case: SiteCase, workload: Workload) -> FloatArray:
    """Return the wait of each job of a workload in a case; nan if it never starts."""
    result = simulate(case.workload, case.dispatcher, case.predictor, state=case.state)
    check(case.workload, result)
    jobs = result.jobs.set_index("id")
    starts = result.attempts.groupby("id")["start"].max()
    return (starts - jobs["submit"]).reindex(workload.columns.texts()).to_numpy(dtype=np.float64)


def _ratios(waits: FloatArray, base: FloatArray, counted: BoolArray) -> FloatArray:
    """Return the ratio of the mean waits of the same jobs, for each run."""
    both = counted & ~np.isnan(waits) & ~np.isnan(base)
    sums = [np.where(both, each, 0).sum(axis=1) for each in (waits, base)]
    ratios: FloatArray = np.divide(sums[0], sums[1], out=np.full(len(both), np.nan), where=sums[1] > 0)
    return ratios


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else np.nan


def _utilization(workload: Workload, waits: FloatArray) -> float:
    """Return the share of the cores that the jobs with waits use between the first and the last submission."""
    jobs = workload.columns
    known = ~np.isnan(waits)
    begin = jobs.submit.min(initial=0)
    end = jobs.submit.max(initial=0)
    start = jobs.submit[known] + waits[known]
    used = np.clip(np.minimum(start + jobs.runtime[known], end) - np.maximum(start, begin), 0, None)
    machine = workload.machine
    total = float(machine.capacity[:, machine.primary].sum()) * (end - begin)
    return float((used * jobs.amounts(_primary(workload))[known]).sum() / total) if total > 0 else np.nan


def _fared(
    case: SiteCase,
    recorded: Workload,
    wait: FloatArray,
    real: FloatArray,
    near: tuple[int, ...],
    repeated: FloatArray,
    change: tuple[float, float],
) -> WhatIf:
    same_jobs = case.workload.columns.texts() == recorded.columns.texts()
    workload = case.workload if same_jobs else recorded
    counted = ~np.isnan(real)
    ran = ~np.isnan(wait) & counted
    waits = np.where(ran, wait, np.nan)
    wait = wait[ran]
    real = real[ran]
    runtime = workload.columns.runtime[ran].astype(np.float64)
    off = np.abs(wait - real)
    same = not len(wait) or wait.std() == 0 or real.std() == 0
    return WhatIf(
        case.name,
        _mean(wait),
        float(np.percentile(wait, 95)) if len(wait) else np.nan,
        _mean(bounded_slowdown(wait + runtime, runtime)),
        {within: _mean((off <= within).astype(np.float64)) for within in near},
        _mean(off),
        np.nan if same else float(np.corrcoef(wait, real)[0, 1]),
        _utilization(workload, waits),
        int(counted.sum() - ran.sum()),
        change,
        waits,
        repeated,
        case.notes,
    )
