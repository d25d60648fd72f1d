"""``hpcdispatch compile``: what a first simulation would compile, compiled beforehand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from time import perf_counter

import click

from ...bench.campaigns.fresh_processes import in_processes
from ...bench.reports.number_formats import count
from ...dispatchers import create_dispatcher
from ...models.compiled import notice
from ...simulation import simulate
from ...simulation.events.compiled_events import WORTH
from ...testing.small_workloads import cluster
from ...workloads import Workload, generate
from ..app import OUTPUT, options, subcommand
from ..output import finish, pairs, time
from ..shared_options import cores, workers_option

#: Those that between them call all compiled functions of their families, apart by what they share; the portfolio last,
#: since its replays have in them what look-ahead has compiled meanwhile.
FAMILIES = (
    ("conservative", "lookahead", "guarded:over=lxf"),
    ("easy", "easy-sjbf", "lxf", "hcp3", "pcp3", "slurm", "portfolio"),
)


@subcommand("compile", "hpcdispatch compile", "hpcdispatch compile easy lookahead")
@click.argument("names", nargs=-1, metavar="[DISPATCHER]...")
@options(OUTPUT, workers_option)
def command(names: tuple[str, ...], workers: int | None) -> None:
    """Compile what the first simulation would: when installing, or for an image whose folders cannot be written to.

    Without DISPATCHER all that backfilling, lookahead, the guard, the portfolio and constraint programming need.
    What is compiled is kept beside the byte code, or in the folder that NUMBA_CACHE_DIR names; what is there is kept.
    """
    for name in names:
        create_dispatcher(name)
    workers = workers or cores()
    groups = [names[first::workers] for first in range(min(workers, len(names)))] or FAMILIES
    found = list(itertools.chain.from_iterable(in_processes(compile_for, groups, workers)))
    total = sum(number for _, number, _ in found)
    fields = {"compiled": [{"dispatcher": name, "functions": number, "seconds": took} for name, number, took in found]}
    shown = pairs([(name, f"{count(number, 'function')}, {time(took)}") for name, number, took in found])
    finish(f"{count(total, 'function')} compiled; what was compiled before is kept.", fields, shown)


def compile_for(names: Sequence[str]) -> list[tuple[str, int, float]]:
    """Run each dispatcher on a pool and on nodes; return its name, how many functions were compiled, and seconds."""
    found = []
    for name in names:
        before, begun = notice.count, perf_counter()
        for workload in _workloads(name):
            simulate(workload, name)
        found.append((name, notice.count - before, perf_counter() - begun))
    return found


def crowd() -> Workload:
    """Return jobs of which so many wait at once on a pool that the queue is searched by compiled code."""
    return generate("lublin:jobs=1000,processors=32,load=20", seed=5)


def _workloads(name: str) -> Iterator[Workload]:
    """Yield a crowd on a pool, one on nodes of two kinds, and a trace long enough for compiled steps.

    For the portfolio only one in which it tunes: what else it calls is compiled for its candidates.
    """
    if name == "portfolio":
        yield generate("lublin:jobs=300,processors=32,load=0.9", seed=5)
        return
    yield crowd()
    yield cluster(150)
    if name in ("easy", "fcfs"):
        yield generate(f"lublin:jobs={WORTH}", seed=5)
