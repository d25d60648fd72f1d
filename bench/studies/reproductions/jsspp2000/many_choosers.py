"""Workloads where a share of the jobs choose their sizes. Effects on choosers and on others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from .....base import FloatArray, IntArray
from .....dispatchers import SA
from .....dispatchers.registered import create_dispatcher
from .....simulation import Result, simulate
from .....workloads import Workload, generate
from ....campaigns.molding_specs import molded
from ....campaigns.samples import Loaders
from ..outcome import Scale, StudySettings
from ..simulations import finished
from .measured_cases import TableCell
from .recorded_logs import PUBLIC, recorded

#: Raised with every change of the samples or stored columns.
_FORMAT = 1
LUBLIN = "Lublin"
PROCESSORS = 128
MOLD = "downey:choices=5"
OVER = ("conservative", "easy", "hcp3", "lookahead")
#: Shares of the moldable jobs that choose. 0 stands for a single one.
SHARES = (0.0, 0.01, 0.05, 0.25, 0.5, 1.0)
_SEED = 2001


@dataclass(frozen=True, slots=True)
class ChooserSetting:
    """The simulations at a scale.

    Attributes
    ----------
    workloads
        Names of logs, or :data:`LUBLIN`.
    jobs, samples, loads
        Jobs per sample, samples per workload, and their offered loads.
    singles
        Jobs of a sample that choose alone, one at a time.
    waverers
        Jobs of a sample where choosers may change their minds. This takes many times as long, so only the last load has
        it.
    """

    workloads: tuple[str, ...]
    jobs: int
    samples: int
    loads: tuple[float, ...]
    singles: int
    waverers: int


SETTINGS: Mapping[Scale, ChooserSetting] = {
    "smoke": ChooserSetting((LUBLIN,), 20, 1, (0.6, 0.95), 1, 10),
    "brief": ChooserSetting((LUBLIN,), 50, 3, (0.6, 0.95), 2, 30),
    "small": ChooserSetting((*PUBLIC, LUBLIN), 100, 3, (0.6, 0.95), 3, 50),
    "full": ChooserSetting((*PUBLIC, LUBLIN), 500, 10, (0.6, 0.7, 0.8, 0.9, 0.95), 5, 200),
}
#: How often such a chooser may change its mind.
AGAIN = 3


@dataclass(frozen=True)
class Crowd(TableCell):
    """A sample under a dispatcher, with more and more choosers.

    Attributes
    ----------
    load
        Offered; no part of the key, the digest has it.
    singles
        Jobs that choose alone, one at a time.
    shares
        Of the moldable jobs that choose.
    """

    load: float = 0.0
    singles: int = 0
    shares: tuple[float, ...] = ()

    def determined(self) -> dict[str, Any]:
        """Return all that determines the table."""
        return super().determined() | {"choosers": [_FORMAT, self.singles, list(self.shares)]}

    def simulated(self, jobs: Workload, report: Callable[[int], None] | None) -> pd.DataFrame:
        """Return what :func:`measure` finds."""
        del report
        return measure(jobs, self.dispatcher, self.singles, self.shares, self.seed)


def crowds(means: StudySettings) -> pd.DataFrame:
    """Return the results of all samples, one row per simulation. Stored results are not simulated again.

    The columns are those of :func:`measure`. ``workload``, ``load``, ``seed``, ``over`` and ``again`` are added.
    """
    loaders: Loaders = {}
    setting = SETTINGS[means.scale]
    cells = [(over, again, cell) for again in (0, AGAIN) for over, cell in _cells(setting, again, loaders, means)]
    store = finished((cell for _, _, cell in cells), loaders, means)
    return pd.concat(
        [
            cell.kept(store).assign(workload=cell.workload, load=cell.load, seed=cell.seed, over=over, again=again)
            for over, again, cell in cells
        ],
        ignore_index=True,
    )


def samples_of() -> dict[Scale, int]:
    """Return the samples per workload at each scale."""
    return {scale: setting.samples for scale, setting in SETTINGS.items()}


def _cells(setting: ChooserSetting, again: int, loaders: Loaders, means: StudySettings) -> list[tuple[str, Crowd]]:
    """Return the cells with the base dispatcher of each. Loader functions of the jobs are added to `loaders`."""
    cells = []
    jobs, loads = (setting.waverers, setting.loads[-1:]) if again else (setting.jobs, setting.loads)
    for name in setting.workloads:
        for load in loads:
            draws = means.draws(samples_of())
            for seed in draws:
                source = partial(sample, name, jobs, load, seed, len(draws))
                digest = source().digest()
                loaders[digest] = source
                for over in OVER:
                    spec = (means.control or str)(f"sa:again={again},over={over}" if again else f"sa:over={over}")
                    cells.append(
                        (
                            over,
                            Crowd(
                                name,
                                jobs,
                                digest,
                                None,
                                seed,
                                spec,
                                "walltime",
                                "kill",
                                "batch",
                                load=load,
                                singles=setting.singles,
                                shares=SHARES[1:],
                            ),
                        )
                    )
    return cells


def sample(name: str, jobs: int, load: float, seed: int, count: int) -> Workload:
    """Return molded jobs at an offered load. They come from a log; with another name, from Lublin's model.

    Parameters
    ----------
    name
        Of the log; any other is Lublin's model.
    jobs, load
        How many jobs. The load is their processor-seconds over those of the machine, from first to last submission.
    seed, count
        Index and number of disjoint stretches of the log. Also the seed of the model and of the sizes.
    """
    if name not in PUBLIC:
        return molded(generate(f"lublin:jobs={jobs},processors={PROCESSORS},load={load}", seed=seed), MOLD, seed)
    whole = recorded(name)
    begin = len(whole) * seed // count % (len(whole) - jobs)
    return molded(at_load(whole.slice(begin, begin + jobs), load), MOLD, seed)


def at_load(workload: Workload, load: float) -> Workload:
    """Return a workload on a pool at an offered load. The gaps between submissions are stretched."""
    columns = workload.columns
    machine = workload.machine
    submit = columns.submit
    span = int(submit[-1] - submit[0])
    work = float((columns.amounts(machine.resources[0]) * columns.runtime).sum())
    factor = work / (float(machine.capacity[0, 0]) * load * span) if span else 1.0
    times = (submit[0] + np.rint((submit - submit[0]) * factor)).astype(np.int64).tolist()
    return workload.with_jobs(replace(job, submit=time) for job, time in zip(workload.jobs, times, strict=True))


def measure(workload: Workload, spec: str, singles: int, shares: Sequence[float], seed: int) -> pd.DataFrame:
    """Simulate a workload with more and more choosers, with kills. Compare with no choosers.

    Parameters
    ----------
    workload
        Its jobs have shapes. Those that do not choose keep their size and walltime.
    spec
        ``sa`` over any dispatcher.
    singles, shares, seed
        How many jobs choose alone, the shares that choose together, and the seed. Each share contains the previous one.

    Returns
    -------
    DataFrame
        ``share``: 0 where a single job chooses, -1 where none does. ``choosers``: their number. ``gain`` and
        ``others``: mean logarithms of turnaround without choosers over that now, of choosers and of others. ``error``:
        mean logarithm of choosers' turnaround over the predicted one. ``spread``: mean size of the latter.
        ``late``: share of choosers that ended after the prediction. ``other_size``: share of choosers that take another
        size than their own. ``changes``: changes of mind per chooser; ``efficiency``. NaN where there are no jobs to
        average.
    """
    movable = np.array([place for place, job in enumerate(workload.jobs) if job.shapes])
    drawn = np.random.default_rng((_SEED, seed)).permutation(movable)
    groups = [(-1.0, drawn[:0]), *((0.0, drawn[[place]]) for place in range(min(singles, len(drawn))))]
    groups += [(share, drawn[: max(1, round(share * len(drawn)))]) for share in shares]
    work = simulate(workload, "sa:by=user,over=easy", overrun="kill").jobs["sequential_work"].to_numpy()
    rows = list[dict[str, float]]()
    before = np.empty(0)
    for share, choosers in groups:
        result, dispatcher = _simulated(workload, spec, choosers, seed)
        took = _turnaround(result)
        before = took if share < 0 else before
        row = {"share": share, "choosers": float(len(choosers)), "efficiency": _efficiency(result, work)}
        rows.append(row | _effects(before - took, choosers) | _foresight(result, dispatcher, choosers))
    return pd.DataFrame(rows)


def _simulated(workload: Workload, spec: str, choosers: IntArray, seed: int) -> tuple[Result, SA]:
    """Return the results if some jobs choose, and the dispatcher used."""
    choose = set(choosers.tolist())
    jobs = [job if place in choose else replace(job, shapes=()) for place, job in enumerate(workload.jobs)]
    dispatcher = create_dispatcher(spec)
    assert isinstance(dispatcher, SA)
    return simulate(workload.with_jobs(jobs), dispatcher, overrun="kill", seed=seed), dispatcher


def _effects(gains: FloatArray, choosers: IntArray) -> dict[str, float]:
    """Return gains of choosers and of others, from each job's logarithm of its gain."""
    chooses = np.zeros(len(gains), dtype=bool)
    chooses[choosers] = True
    return {"gain": _mean(gains[chooses]), "others": _mean(gains[~chooses])}


def _foresight(result: Result, dispatcher: SA, choosers: IntArray) -> dict[str, float]:
    """Return the choosers' prediction errors, and their choices."""
    jobs = result.jobs.iloc[choosers]
    ends = np.array([dispatcher.predicted_ends.get(place, np.nan) for place in choosers.tolist()], dtype=np.float64)
    submit, end = (jobs[name].to_numpy(dtype=np.float64) for name in ("submit", "end"))
    error = np.log(np.maximum(end - submit, 1)) - np.log(np.maximum(ends - submit, 1))
    changes = [dispatcher.changes.get(place, 0) for place in choosers.tolist()]
    each = {
        "error": error,
        "spread": np.abs(error),
        "late": end > ends,
        "other_size": jobs["shape"] >= 0,
        "changes": changes,
    }
    return {name: _mean(np.asarray(values, dtype=np.float64)) for name, values in each.items()}


def _efficiency(result: Result, work: IntArray) -> float:
    """Return efficiency: the least work of completed jobs over the resources used.

    It counts jobs that may choose and others.
    """
    stays = result.attempts
    held = ((stays["end"] - stays["start"]) * stays["units"]).sum()
    return float(work[(result.jobs["status"] == "completed").to_numpy()].sum() / held)


def _turnaround(result: Result) -> FloatArray:
    """Return the logarithms of the turnarounds. A turnaround of 0 s counts as 1 s."""
    values: FloatArray = np.log(np.maximum((result.jobs["end"] - result.jobs["submit"]).to_numpy(np.float64), 1.0))
    return values


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else float("nan")
