"""``hpcdispatch compile``: compile in advance what a first simulation needs."""

import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Annotated

from ...bench.campaigns.fresh_processes import in_processes
from ...bench.reports.number_formats import count
from ...dispatchers import create_dispatcher, registry
from ...models.compiled import notice
from ...simulation import simulate
from ...simulation.events.compiled_events import WORTH
from ...testing.small_workloads import cluster
from ...workloads import Workload, generate
from ..app import subcommand
from ..completion import part_names
from ..output import finish, pairs, time
from ..parameters import argument
from ..shared_options import WorkersOption, cores

#: Dispatchers that together call all compiled functions, in groups that share functions. The portfolio is last: its
#: replays use functions that lookahead has compiled by then.
FAMILIES = (
    ("conservative", "lookahead", "guarded:over=lxf"),
    ("easy", "easy-sjbf", "lxf", "hcp3", "pcp3", "slurm", "policy", "portfolio"),
)
#: The shorter of the two run times of the long queue, seconds.
_RUN = 1800


@subcommand("compile", "hpcdispatch compile", "hpcdispatch compile easy lookahead")
def command(
    names: Annotated[tuple[str, ...], argument("[DISPATCHER]...", shell_complete=part_names("dispatchers"))],
    workers: WorkersOption,
) -> None:
    """Compile in advance what the first simulation needs: at installation, or for an image with read-only folders.

    Without DISPATCHER: all that backfilling, lookahead, the guard, the portfolio and constraint programming need.
    Compiled functions are kept beside the byte code, or in the folder that NUMBA_CACHE_DIR names. Existing ones are
    kept.
    """
    for name in names:
        create_dispatcher(name)
    workers = workers or cores()
    groups = [names[first::workers] for first in range(min(workers, len(names)))] or FAMILIES
    compilations = list(itertools.chain.from_iterable(in_processes(compile_for, groups, workers)))
    total = sum(number for _, number, _ in compilations)
    fields = {
        "compiled": [{"dispatcher": name, "functions": number, "seconds": took} for name, number, took in compilations]
    }
    shown = pairs([(name, f"{count(number, 'function')}, {time(took)}") for name, number, took in compilations])
    finish(f"{count(total, 'function')} compiled; what was compiled before is kept.", fields, shown)


def compile_for(names: Sequence[str]) -> list[tuple[str, int, float]]:
    """Run each dispatcher on a pool and on nodes. Return its name, the number of compiled functions, and seconds."""
    compilations = []
    for name in names:
        before, begun = notice.count, perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # The workloads are no user's.
            for workload in _workloads(name):
                simulate(workload, _hurried(name))
        compilations.append((name, notice.count - before, perf_counter() - begun))
    return compilations


def crowd() -> Workload:
    """Return a workload with so many waiting jobs on a pool that compiled code searches the queue.

    Jobs arrive at few instants, and run for one of two times, so that few decisions have the long queue.
    """
    drawn = generate("lublin:jobs=330,processors=32", seed=5)
    first = drawn.jobs[0].submit
    jobs = []
    for place, job in enumerate(drawn.jobs):
        runtime = _RUN * (1 + place % 2)
        jobs.append(replace(job, submit=first + place // 300, runtime=runtime, walltime=job.walltime + 2 * _RUN))
    return drawn.with_jobs(jobs)


def _hurried(name: str) -> str:
    """Return a dispatcher with hardly any time for the solver, which compiles nothing, or with few cycles."""
    if name == "slurm":
        return "slurm:bf_interval=1800,sched_interval=1800"
    solves = ":" not in name and "d_max" in {each.name for each in registry.options(name)}
    return f"{name}:d=0.0005,d_max=0.001" if solves else name


def _workloads(name: str) -> Iterator[Workload]:
    """Yield a long queue on a pool, one on nodes of two kinds, and a long trace for compiled steps.

    The portfolio gets only a workload on which it tunes. Its candidates compile its other functions.
    """
    if name == "portfolio":
        yield generate("lublin:jobs=300,processors=32,load=0.9", seed=5)
        return
    yield crowd()
    yield cluster(150)
    if name in ("easy", "fcfs", "lookahead"):
        yield generate(f"lublin:jobs={WORTH}", seed=5)
