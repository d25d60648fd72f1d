"""Simulate and compare, with workloads by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TypeVar

from .. import simulation
from ..base import InputError
from ..bench.campaigns import comparison
from ..bench.campaigns.board import CampaignProgress
from ..bench.campaigns.comparison import Comparison, Generated
from ..dispatchers import Dispatcher
from ..predictors import Predictor
from ..simulation import Budget, Overrun, Result, SameInstant
from ..workloads import Workload
from ..workloads.machine_state import MachineState
from .progress import job_bar
from .workload_names import WorkloadLike, source_of, workload_of

#: A dispatcher, by name with its options or as an object.
DispatcherLike = str | Dispatcher
PredictorLike = str | Predictor
T = TypeVar("T")


def simulate(
    workload: WorkloadLike,
    dispatcher: DispatcherLike,
    predictor: PredictorLike = "walltime",
    *,
    overrun: str | Overrun = "run",
    seed: int = 0,
    same_instant: SameInstant = "batch",
    progress: bool | Callable[[int], None] | None = None,
    budget: Budget | None = None,
    state: MachineState | None = None,
) -> Result:
    """Simulate a workload under a dispatcher; see :func:`hpcdispatch.simulation.simulate` for all options.

    Parameters
    ----------
    workload
        A :class:`Workload`; the path of a trace; ``"NAME:key=value,..."`` of a generator, drawn with `seed`; or the
        name of a published trace.
    dispatcher, predictor
        Names with options, such as ``"conservative:compress=once"``, or objects. ``hpcdispatch.dispatchers`` and
        ``hpcdispatch.predictors`` list them in a notebook.
    overrun
        What happens to a job that reaches its walltime: ``"run"``, ``"kill"`` or ``"resubmit"``.
    seed
        Of a generated workload and of a dispatcher that draws.
    same_instant, budget, state
        As there.
    progress
        Whether a bar shows the finished jobs, by default in a notebook and at a prompt; or a function that is called
        with their number.

    Raises
    ------
    InputError
        For an unknown name or option, and whatever is wrong with the workload.
    SimulationError
        If the dispatcher asks for something impossible.
    """
    if isinstance(dispatcher, list | tuple):
        raise InputError(f"simulate: expected one dispatcher, got {len(dispatcher)}; compare() takes several")
    if isinstance(predictor, list | tuple):
        raise InputError(f"simulate: expected one predictor, got {len(predictor)}; compare() takes several")
    jobs = workload_of(workload, seed)
    name = dispatcher if isinstance(dispatcher, str) else type(dispatcher).__name__
    with job_bar(name, False if callable(progress) else progress) as advance:
        return simulation.simulate(
            jobs, dispatcher, predictor, overrun=overrun, seed=seed, same_instant=same_instant, budget=budget,
            state=state, progress=progress if callable(progress) else lambda done: advance(done, len(jobs)),
        )  # fmt: skip


def compare(
    workload: WorkloadLike | Callable[[int], Workload],
    dispatchers: DispatcherLike | Sequence[DispatcherLike],
    predictors: PredictorLike | Sequence[PredictorLike] = "walltime",
    *,
    seeds: int = 1,
    jitter: int | None = None,
    overrun: str | Overrun = "run",
    same_instant: SameInstant = "batch",
    check_invariants: bool = False,
    out: str | PathLike[str] | None = None,
    workers: int = 1,
    progress: bool | Callable[[CampaignProgress], None] | None = None,
) -> Comparison:
    """Simulate every pair of dispatcher and predictor on the same samples of a workload.

    See :func:`hpcdispatch.bench.campaigns.comparison.compare` for all options and errors.

    Parameters
    ----------
    workload
        As for :func:`simulate`, or a function from seed to workload. A generator without a seed in its text draws
        another workload for each seed, unless `jitter` is given; any other workload is jittered.
    dispatchers, predictors
        One or several names or objects.
    seeds
        How many samples. Ten give useful intervals.
    jitter
        Largest shift of a submission, seconds; 60 where there are several seeds.
    overrun, same_instant, check_invariants, out
        As there.
    workers
        Processes to run in. With several, a script needs its main guard.
    progress
        As for :func:`simulate`.
    """
    jobs: Workload | Callable[[int], Workload]
    if callable(workload):
        jobs = workload
    elif not isinstance(workload, Workload) and (source := source_of(workload)).sampled and jitter is None:
        jobs = Generated(str(source.spec))
    else:
        jobs = workload_of(workload)
    with job_bar("comparing", False if callable(progress) else progress) as advance:
        return comparison.compare(
            jobs, _several(dispatchers), _several(predictors), seeds=seeds, jitter=jitter, overrun=overrun,
            same_instant=same_instant, check_invariants=check_invariants, out=out, workers=workers,
            progress=progress if callable(progress) else lambda now: advance(now.jobs, now.expected),
        )  # fmt: skip


def _several(given: T | Sequence[T]) -> Sequence[T]:
    """Return one part as a list of one."""
    return given if isinstance(given, list | tuple) else [given]  # type: ignore[list-item]
