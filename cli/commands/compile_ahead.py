"""``hpcdispatch compile``: compile in advance what a first simulation needs."""

import itertools
import warnings
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Annotated

from ...bench.campaigns.fresh_processes import in_processes
from ...bench.reports.number_formats import count
from ...dispatchers import create_dispatcher
from ...models.compiled import notice
from ...simulation import simulate
from ...simulation.events.compiled_events import WORTH
from ...testing.small_workloads import cluster
from ...workloads import Workload, generate
from ..app import subcommand
from ..output import finish, pairs, time
from ..parameters import argument
from ..shared_options import WorkersOption, cores

#: Dispatchers that together call all compiled functions, in groups that share functions. The portfolio is last: its
#: replays use functions that lookahead has compiled by then.
FAMILIES = (
    ("conservative", "lookahead", "guarded:over=lxf"),
    ("easy", "easy-sjbf", "lxf", "hcp3", "pcp3", "slurm", "policy", "portfolio"),
)


@subcommand("compile", "hpcdispatch compile", "hpcdispatch compile easy lookahead")
def command(
    names: Annotated[tuple[str, ...], argument("[DISPATCHER]...")],
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
    found = list(itertools.chain.from_iterable(in_processes(compile_for, groups, workers)))
    total = sum(number for _, number, _ in found)
    fields = {"compiled": [{"dispatcher": name, "functions": number, "seconds": took} for name, number, took in found]}
    shown = pairs([(name, f"{count(number, 'function')}, {time(took)}") for name, number, took in found])
    finish(f"{count(total, 'function')} compiled; what was compiled before is kept.", fields, shown)


def compile_for(names: Sequence[str]) -> list[tuple[str, int, float]]:
    """Run each dispatcher on a pool and on nodes. Return its name, the number of compiled functions, and seconds."""
    found = []
    for name in names:
        before, begun = notice.count, perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # The workloads are no user's.
            for workload in _workloads(name):
                simulate(workload, name)
        found.append((name, notice.count - before, perf_counter() - begun))
    return found


def crowd() -> Workload:
    """Return a workload with so many waiting jobs on a pool that compiled code searches the queue."""
    return generate("lublin:jobs=1000,processors=32,load=20", seed=5)


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
