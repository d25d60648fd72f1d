"""Plans, requests and checkpoints from learned laws on real traces. EASY with the users' requests is the baseline."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....base import FloatArray
from ....predictors import Empirical, Predictor
from ....simulation import simulate
from ....simulation.metrics import bounded_slowdown
from ....workloads import Checkpoint, Job, Workload, read
from ....workloads.sources import resolve
from ...reports.tables import Table
from ..intervals import ratio_of_means

TRACES = ("kth-sp2", "ctc-sp2", "sdsc-sp2", "hpc2n")
#: Seconds that a checkpoint takes, and a restart from one.
WRITE, RESTART = 300, 120
#: Stretches of a trace, for intervals. They have equally many jobs in order of submission.
STRETCHES = 20


class LongestOfLast(Empirical):
    """The longest of the last run times."""

    def predict(self, job: Job, now: int) -> float:
        """Return the longest known run time up to the request, seconds. If too few are known, return the request."""
        law = self.distribution(job)
        return float(job.walltime if law is None else min(max(law.samples), job.walltime))


#: Name to dispatcher and predictor; the first is the baseline.
CONTENDERS: Mapping[str, tuple[str, str | Callable[[], Predictor]]] = {
    "EASY, walltime": ("easy", "walltime"),
    "EASY, last2": ("easy", "last2"),
    "EASY, mean": ("easy", "empirical"),
    "EASY, maximum": ("easy", LongestOfLast),
    "soft-toptimal": ("soft-toptimal", "empirical"),
    "soft-toptimal:quantile=0.5": ("soft-toptimal:quantile=0.5", "empirical"),
    "neuroscience": ("neuroscience", "empirical"),
    "toptimal": ("toptimal", "empirical"),
    f"toptimal:checkpoint={WRITE}": (f"toptimal:checkpoint={WRITE}", "empirical"),
    f"toptimal:checkpoint={WRITE},gamma=3600": (f"toptimal:checkpoint={WRITE},gamma=3600", "empirical"),
}


@dataclass(frozen=True, slots=True)
class Fared:
    """Results of a trace.

    Attributes
    ----------
    wait, slowdown
        Of each job: seconds from its submission to its end in which it did not run for good; bounded slowdown.
    lost
        Core-hours that were used in vain.
    kills
        Runs that ended at a request, with a checkpoint or without.
    """

    wait: FloatArray
    slowdown: FloatArray
    lost: float
    kills: int


def prepared(workload: Workload) -> Workload:
    """Return jobs that end at their request at the latest, and can restart from a checkpoint."""
    saves = Checkpoint(restart=RESTART)
    jobs = [replace(job, runtime=min(job.runtime, job.walltime), checkpoint=saves) for job in workload.jobs]
    return replace(workload, jobs=tuple(jobs), records=None)


def fare(workload: Workload, dispatcher: str, predictor: str | Callable[[], Predictor]) -> Fared:
    """Return how a dispatcher fares."""
    given = predictor if isinstance(predictor, str) else predictor()
    result = simulate(workload, dispatcher, predictor=given, overrun="kill")
    runs = np.array([job.runtime for job in workload.jobs], dtype=float)
    response = (result.jobs["end"] - result.jobs["submit"]).to_numpy(dtype=float)
    slowdown = bounded_slowdown(response, runs)
    kills = int((result.attempts["outcome"] == "limit").sum())
    return Fared(response - runs, slowdown, float(result.jobs["lost"].sum()) / 3600, kills)


def traces(names: Sequence[str], jobs: int | None) -> Iterator[Table]:
    """Yield a table of every trace, of its first `jobs` jobs, or of all."""
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole = read(resolve(name).file())
        workload = prepared(whole if jobs is None else whole.head(jobs))
        yield compared(name, workload)


def compared(name: str, workload: Workload) -> Table:
    """Compare the contenders on one workload."""
    by_contender = {contender: fare(workload, *parts) for contender, parts in CONTENDERS.items()}
    base = next(iter(by_contender.values()))
    rows = [
        [
            contender,
            *_cell(each.wait, base.wait, "{:,.0f}"),
            *_cell(each.slowdown, base.slowdown, "{:.1f}"),
            f"{each.wait.max() / 3600:.0f}",
            f"{each.lost:,.0f}",
            f"{each.kills:,}",
        ]
        for contender, each in by_contender.items()
    ]
    columns = (
        "dispatcher",
        "mean wait, s",
        "to EASY",
        "bounded slowdown",
        "to EASY",
        "longest wait, h",
        "lost core-hours",
        "runs ended at a request",
    )
    note = (
        f"Ratios of means with intervals over {STRETCHES} stretches of the trace. Wait: all time in which a job "
        f"did not run for good. A checkpoint takes {WRITE} s, a restart {RESTART} s. Jobs end at their request at the "
        "latest."
    )
    return Table(f"{name}: the first {len(workload.jobs):,} jobs", columns, rows, note=note)


def _cell(values: FloatArray, base: FloatArray, form: str) -> tuple[str, str]:
    mine, other = (np.array([part.mean() for part in np.array_split(all_, STRETCHES)]) for all_ in (values, base))
    if values is base:
        return form.format(values.mean()), ""
    ratio, low, high = ratio_of_means(mine, other)
    return form.format(values.mean()), f"{ratio:.2f} [{low:.2f}, {high:.2f}]"
