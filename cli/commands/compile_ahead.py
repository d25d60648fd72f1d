"""``hpcdispatch compile``: compile in advance what a first simulation needs."""

import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Annotated, Any

from ...bench.campaigns.fresh_processes import in_processes
from ...bench.reports.number_formats import count
from ...dispatchers import create_dispatcher, registry
from ...models.compiled import notice
from ...simulation import simulate
from ...simulation.events.compiled_events import WORTH
from ...testing.small_workloads import cluster, overrunning, pool, stochastic, urgent
from ...workloads import Limit, Machine, Reservation, Workload, generate
from ..app import subcommand
from ..completion import part_names
from ..output import finish, pairs, time
from ..parameters import argument
from ..shared_options import WorkersOption, cores

#: Dispatchers whose simulations together call all compiled functions that simulations have, in groups that share
#: functions. The portfolio is last: its replays use functions that lookahead has compiled by then.
FAMILIES = (
    (
        "conservative",
        "lookahead",
        "guarded:over=lxf",
        "toptimal:backfill=speculative",
        "toptimal:backfill=speculative,over=rounds",
        "toptimal:checkpoint=60",
        "evict",
        "evict:policy=greedy",
    ),
    (
        "easy",
        "fcfs",
        "easy:placement=compact",
        "easy-sjbf",
        "lxf",
        "hcp3",
        "pcp3",
        "pcp-fast:constraints=same-rack()",
        "slurm",
        "policy",
        "portfolio",
    ),
)
#: The shorter of the two run times of the long queue, seconds.
_RUN = 1800


@subcommand("compile", "hpcdispatch compile", "hpcdispatch compile easy lookahead")
def command(
    names: Annotated[tuple[str, ...], argument("[DISPATCHER]...", shell_complete=part_names("dispatchers"))],
    workers: WorkersOption,
) -> None:
    """Compile in advance what the first simulation needs: at installation, or for an image with read-only folders.

    Without DISPATCHER: all that backfilling, lookahead, the guard, the portfolio, constraint programming, request
    sequences and eviction need, with the rules of a machine and on groups of nodes.
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
                simulate(workload, _hurried(name)).summary()
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
    kind, options, _ = name.partition(":")
    if "d_max" in name or "d_max" not in {each.name for each in registry.options(kind)}:
        return name
    return f"{name}{',' if options else ':'}d=0.0005,d_max=0.001"


def _workloads(name: str) -> Iterator[Workload]:
    """Yield a long queue on a pool, one on nodes of two kinds, and long traces for compiled steps.

    Those that have functions for rules, levels, overrun, stochastic or on-demand jobs get such a workload. The
    portfolio gets only one on which it tunes. Its candidates compile its other functions.
    """
    kind = name.partition(":")[0]
    if name == "portfolio":
        yield generate("lublin:jobs=300,processors=32,load=0.9", seed=5)
    elif kind == "evict":
        yield urgent()
    elif kind == "toptimal":
        yield stochastic()
        yield Workload(stochastic().jobs, Machine.homogeneous(16, core=1))
    elif "compact" in name or "rack" in name:
        yield _with(cluster(40), levels={"rack": 3})
        if "compact" in name:
            yield _with(Workload(_long_trace().jobs, Machine.homogeneous(128, core=1)), levels={"rack": 16})
    else:
        yield crowd()
        yield cluster(150)
        if kind in ("lookahead", "pcp3"):
            rules: dict[str, Any] = {"reservations": [Reservation(3600, 7200, every=86400)], "limits": [Limit(4)]}
            yield _with(pool(40), **rules)
            yield _with(cluster(40), **rules)
        if kind == "conservative":
            yield overrunning()
        if kind == "policy":
            yield _in_racks()
        if name in ("easy", "fcfs", "lookahead"):
            trace = _long_trace()
            yield trace
            if name != "lookahead":  # It has a compiled loop on pools alone.
                yield Workload(trace.jobs, Machine.homogeneous(2, core=128))


def _long_trace() -> Workload:
    """Return a workload that is long enough for compiled steps."""
    return generate(f"lublin:jobs={WORTH},processors=128", seed=5)


def _in_racks() -> Workload:
    """Return a workload whose jobs lie in one rack or have unequal slots."""
    drawn = _with(cluster(40), levels={"rack": 3})
    near = [replace(job, within="rack") for job in drawn.jobs[::3]]
    unequal = [replace(job, nodes=2, per_node={}, slots=({"core": 8}, {"core": 6})) for job in drawn.jobs[2::3]]
    return drawn.with_jobs([*near, *unequal, *drawn.jobs[1::3]])


def _with(workload: Workload, **fields: Any) -> Workload:
    """Return a workload on its machine with other fields."""
    return Workload(workload.jobs, replace(workload.machine, **fields))
