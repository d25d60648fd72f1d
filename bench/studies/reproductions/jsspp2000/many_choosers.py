"""Workloads of which a share of the jobs choose their sizes, and what becomes of these and of the others."""

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
from ..outcome import Means, Scale
from ..simulations import finished
from .measured_cases import TableCell
from .recorded_logs import PUBLIC, recorded

#: Raised with every change of what is drawn or kept.
_FORMAT = 1
LUBLIN = "Lublin"
PROCESSORS = 128
MOLD = "downey:choices=5"
OVER = ("conservative", "easy", "hcp3", "lookahead")
#: Shares of the moldable jobs that choose; 0 stands for a single one.
SHARES = (0.0, 0.01, 0.05, 0.25, 0.5, 1.0)
_SEED = 2001


@dataclass(frozen=True, slots=True)
class Setting:
    """What is simulated at a scale.

    Attributes
    ----------
    workloads
        Names of logs, or :data:`LUBLIN`.
    jobs, samples, loads
        Jobs of a sample, samples of a workload, and the offered loads that each is brought to.
    singles
        Jobs of a sample that choose while nobody else does, one at a time.
    waverers
        Jobs of a sample in which choosers may change their minds, which takes many times as long; at the last load.
    """

    workloads: tuple[str, ...]
    jobs: int
    samples: int
    loads: tuple[float, ...]
    singles: int
    waverers: int


SETTINGS: Mapping[Scale, Setting] = {
    "smoke": Setting((LUBLIN,), 20, 1, (0.6, 0.95), 1, 10),
    "small": Setting((*PUBLIC, LUBLIN), 100, 3, (0.6, 0.95), 3, 50),
    "full": Setting((*PUBLIC, LUBLIN), 500, 10, (0.6, 0.7, 0.8, 0.9, 0.95), 5, 200),
}
#: How often a chooser may change its mind, where it may.
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


def crowds(means: Means) -> pd.DataFrame:
    """Return what becomes of all samples, a row a simulation; what is kept is not simulated again.

    Its columns are those of :func:`measure`, and ``workload``, ``load``, ``seed``, ``over`` and ``again``.
    """
    loaders: Loaders = {}
    setting = SETTINGS[means.scale]
    cells = [(over, again, cell) for again in (0, AGAIN) for over, cell in _cells(setting, again, loaders, means)]
    store = finished((cell for _, _, cell in cells), loaders, means)
    return pd.concat([
        cell.kept(store).assign(workload=cell.workload, load=cell.load, seed=cell.seed, over=over, again=again)
        for over, again, cell in cells
    ], ignore_index=True)  # fmt: skip


def samples_of() -> dict[Scale, int]:
    """Return how many samples of a workload there are at each scale."""
    return {scale: setting.samples for scale, setting in SETTINGS.items()}


def _cells(setting: Setting, again: int, loaders: Loaders, means: Means) -> list[tuple[str, Crowd]]:
    """Return the cells with the dispatcher that each stands on; what loads the jobs is added to `loaders`."""
    found = []
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
                    found.append((over, Crowd(
                        name, jobs, digest, None, seed, spec, "walltime", "kill", "batch",
                        load=load, singles=setting.singles, shares=SHARES[1:],
                    )))  # fmt: skip
    return found


def sample(name: str, jobs: int, load: float, seed: int, count: int) -> Workload:
    """Return jobs of a log, of Lublin's model with another name, brought to an offered load and molded.

    Parameters
    ----------
    name
        Of the log; any other is Lublin's model.
    jobs, load
        How many, and their processor-seconds over those of the machine from the first submission to the last.
    seed, count
        Which of how many disjoint stretches of the log; the seed of the model and of the sizes.
    """
    if name not in PUBLIC:
        return molded(generate(f"lublin:jobs={jobs},processors={PROCESSORS},load={load}", seed=seed), MOLD, seed)
    whole = recorded(name)
    begin = len(whole) * seed // count % (len(whole) - jobs)
    return molded(at_load(whole.slice(begin, begin + jobs), load), MOLD, seed)


def at_load(workload: Workload, load: float) -> Workload:
    """Return a workload on a pool with its gaps between submissions stretched, so that it offers a load."""
    columns, machine = workload.columns, workload.machine
    submit = columns.submit
    span = int(submit[-1] - submit[0])
    work = float((columns.amounts(machine.resources[0]) * columns.runtime).sum())
    factor = work / (float(machine.capacity[0, 0]) * load * span) if span else 1.0
    times = (submit[0] + np.rint((submit - submit[0]) * factor)).astype(np.int64).tolist()
    return workload.with_jobs(replace(job, submit=time) for job, time in zip(workload.jobs, times, strict=True))


def measure(workload: Workload, spec: str, singles: int, shares: Sequence[float], seed: int) -> pd.DataFrame:
    """Simulate a workload with more and more choosers, with kills, and compare with nobody choosing.

    Parameters
    ----------
    workload
        Its jobs have shapes; those that do not choose keep their requests.
    spec
        ``sa`` over any dispatcher.
    singles, shares, seed
        How many jobs choose alone; the shares that choose together, of which each has all of the one before; of the
        draw.

    Returns
    -------
    DataFrame
        ``share``, 0 where a single job chooses and -1 where none does; ``choosers``, how many; the means of
        logarithms ``gain`` and ``others``, of the turnaround with nobody choosing over that now, of choosers and of
        the others, and ``error``, of the turnaround of choosers over that predicted; ``spread``, the mean size of the
        latter; ``late``, the share of choosers that ended after that; ``other_size``, the share whose size is not their
        own; ``changes`` of mind a chooser; ``efficiency``. NaN where there is nobody to take a mean of.
    """
    movable = np.array([place for place, job in enumerate(workload.jobs) if job.shapes])
    drawn = np.random.default_rng((_SEED, seed)).permutation(movable)
    groups = [(-1.0, drawn[:0]), *((0.0, drawn[[place]]) for place in range(min(singles, len(drawn))))]
    groups += [(share, drawn[: max(1, round(share * len(drawn)))]) for share in shares]
    work = simulate(workload, "sa:by=user,over=easy", overrun="kill").jobs["sequential_work"].to_numpy()
    rows, before = list[dict[str, float]](), np.empty(0)
    for share, choosers in groups:
        result, dispatcher = _simulated(workload, spec, choosers, seed)
        took = _turnaround(result)
        before = took if share < 0 else before
        row = {"share": share, "choosers": float(len(choosers)), "efficiency": _efficiency(result, work)}
        rows.append(row | _effects(before - took, choosers) | _foresight(result, dispatcher, choosers))
    return pd.DataFrame(rows)


def _simulated(workload: Workload, spec: str, choosers: IntArray, seed: int) -> tuple[Result, SA]:
    """Return what becomes of the jobs if some choose, and the dispatcher by which they did."""
    choose = set(choosers.tolist())
    jobs = [job if place in choose else replace(job, shapes=()) for place, job in enumerate(workload.jobs)]
    dispatcher = create_dispatcher(spec)
    assert isinstance(dispatcher, SA)
    return simulate(workload.with_jobs(jobs), dispatcher, overrun="kill", seed=seed), dispatcher


def _effects(gains: FloatArray, choosers: IntArray) -> dict[str, float]:
    """Return what choosers and others gain, given the logarithms of what every job does."""
    chooses = np.zeros(len(gains), dtype=bool)
    chooses[choosers] = True
    return {"gain": _mean(gains[chooses]), "others": _mean(gains[~chooses])}


def _foresight(result: Result, dispatcher: SA, choosers: IntArray) -> dict[str, float]:
    """Return how far predictions of the choosers were off, and what they chose."""
    jobs = result.jobs.iloc[choosers]
    ends = np.array([dispatcher.predicted_ends[place] for place in choosers.tolist()], dtype=np.float64)
    submit, end = (jobs[name].to_numpy(dtype=np.float64) for name in ("submit", "end"))
    error = np.log(np.maximum(end - submit, 1)) - np.log(np.maximum(ends - submit, 1))
    changes = [dispatcher.changes.get(place, 0) for place in choosers.tolist()]
    each = {"error": error, "spread": np.abs(error), "late": end > ends, "other_size": jobs["shape"] >= 0,
            "changes": changes}  # fmt: skip
    return {name: _mean(np.asarray(values, dtype=np.float64)) for name, values in each.items()}


def _efficiency(result: Result, work: IntArray) -> float:
    """Return the least work of the jobs that completed over all that was held, whether they may choose or not."""
    stays = result.attempts
    held = ((stays["end"] - stays["start"]) * stays["units"]).sum()
    return float(work[(result.jobs["status"] == "completed").to_numpy()].sum() / held)


def _turnaround(result: Result) -> FloatArray:
    """Return the logarithms of the turnarounds; one of 0 s counts as 1 s."""
    found: FloatArray = np.log(np.maximum((result.jobs["end"] - result.jobs["submit"]).to_numpy(np.float64), 1.0))
    return found


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else float("nan")
