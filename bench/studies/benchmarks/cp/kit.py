"""PCP'21 and the other CP dispatchers on a machine like KIT's ForHLR II, the paper's test machine.

``python -m hpcdispatch.bench.studies.benchmarks.cp.kit`` samples jobs of Lublin and Feitelson. The machine has 1,152
nodes of 20 cores and 21 of 48. Cores become slots as in the authors' code. A job below a node's cores has one slot of
that size. A wider one has whole nodes. PCP'21 is Galleguillos, Kiziltan and Soto, CP 2021 (arXiv 2009.10348).
"""

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time

import click
import numpy as np

from .....dispatchers import create_dispatcher
from .....models import NodeBoxes, Problem, SchedulingModel
from .....simulation import simulate, violations
from .....workloads import Job, Machine, Provenance, Workload, generate
from .....workloads.job import ResourceMap
from ....reports.tables import Table
from ...one_line_errors import in_one_line
from ...printed_tables import show
from ..decision_clock import Clocked
from .on_traces import TIMED, WITHOUT_SOLVER

#: Nodes and cores of each, thin and fat ones. The share of jobs for the fat ones is ours.
THIN = (1152, 20)
FAT = (21, 48)
FAT_SHARE = 0.02
DISPATCHERS = ("easy", "hcp3", "pcp-fast", "pcp3", "pcp21")
JOBS = 120
SEEDS = 3
LOAD = 1.2
#: Jobs of a decision whose model is measured, and by what the nodes are divided.
QUEUED = 10
SHRINKS = (64, 16, 4, 1)
#: A seed that no measured workload has, and the jobs of the warm-up.
_WARM_UP = 1_000_003


def kit(jobs: int, seed: int = 0, load: float = LOAD, shrink: int = 1) -> Workload:
    """Sample jobs for the machine, or for one with fewer nodes by a factor.

    Parameters
    ----------
    jobs, seed, load
        As for the generator ``lublin``.
    shrink
        By what the nodes are divided.
    """
    thin = max(THIN[0] // shrink, 2)
    fat = max(FAT[0] // shrink, 1)
    machine = Machine(("core",), np.array([[THIN[1]]] * thin + [[FAT[1]]] * fat), f"{thin} + {fat} nodes")
    cores = int(machine.capacity.sum())
    drawn = generate("lublin", seed=seed, jobs=jobs, processors=cores, load=load)
    rng = np.random.default_rng(seed)
    rows = [
        _on_nodes(job, fat if is_fat else thin, FAT[1] if is_fat else THIN[1])
        for job, is_fat in zip(drawn.jobs, (rng.random(jobs) < FAT_SHARE).tolist(), strict=True)
    ]
    return Workload(tuple(rows), machine, Provenance(f"kit(jobs={jobs}, seed={seed}, load={load}, shrink={shrink})"))


def _on_nodes(job: Job, nodes: int, cores: int) -> Job:
    """Return a job of some cores as one of slots on nodes of `cores` each."""
    wanted = job.nodes * job.per_node["core"]
    slots, each = (1, wanted) if wanted < cores else (min(wanted // cores, nodes), cores)
    return replace(job, nodes=slots, per_node=ResourceMap({"core": each}))


def on_kit(
    dispatchers: Sequence[str], jobs: int, seeds: int, load: float, shrink: int, say: Callable[[str], None]
) -> Table:
    """Return time and quality of some dispatchers on the machine. Every schedule is checked.

    Raises
    ------
    RuntimeError
        If a schedule breaks an invariant.
    """
    rows = []
    for name in dispatchers:
        simulate(kit(30, _WARM_UP, 2.0, 8), name)
        ms = []
        planned = []
        counts = np.zeros(4, dtype=np.int64)
        metrics = []
        for seed in range(seeds):
            say(f"{name}, seed {seed}")
            workload = kit(jobs, seed, load, shrink)
            clocked = Clocked(name)
            result = simulate(workload, clocked, seed=seed)
            for broken in violations(workload, result):
                raise RuntimeError(f"{name}, {workload.provenance}: {broken}")
            decisions = result.decisions
            summary = result.summary()
            ms.append(clocked.ms())
            metrics.append((float(summary["wait_mean"]), float(summary["bounded_slowdown_mean"])))
            if "status" in decisions:
                solved = ~decisions["status"].isin(list(WITHOUT_SOLVER)).to_numpy()
                planned.append(clocked.ms()[solved])
                used = decisions["used"][solved]
                proved = decisions["proved"][solved]
                counts += [solved.sum(), proved.sum(), (used == "cp-sat").sum(), decisions["exceeded"].max()]
        every = np.concatenate(ms)
        of_plans = np.concatenate(planned or [np.zeros(0)])
        wait, slowdown = np.mean(metrics, axis=0)
        shown = [f"{count:,}" for count in counts] if planned else ["-"] * 4
        plans = [f"{np.median(of_plans):.1f}", f"{np.percentile(of_plans, 99):.0f}"] if len(of_plans) else ["-"] * 2
        rows.append(
            [
                name,
                f"{len(every):,}",
                *shown,
                *plans,
                f"{every.mean():.2f}",
                f"{every.max():,.0f}",
                f"{wait:,.0f}",
                f"{slowdown:.2f}",
            ]
        )
    columns = (
        "dispatcher",
        "decisions",
        "planned",
        "proved",
        "by CP-SAT",
        "over budget",
        "median of plans, ms",
        "p99 of plans, ms",
        "mean of all, ms",
        "max, ms",
        "mean wait, s",
        "mean bounded slowdown",
    )
    machine = kit(2, 0, load, shrink).machine
    note = (
        f"{TIMED}\nPlanned: not all candidates start. Proved: no schedule of the dispatcher's model in which other "
        "jobs start now costs less. Over budget: a part of the decision was refused or cut short. Walltimes are the "
        "predictions. Every schedule passed the independent check."
    )
    return Table(f"{jobs} jobs at load {load:g} on {machine.describe()}, {seeds} samples", columns, rows, note=note)


def sizes(jobs: int, shrinks: Sequence[int] = SHRINKS) -> Table:
    """Return the size of one decision's model by number of nodes, and the time to build it.

    The same jobs wait on each machine, for an empty one. They are those of the smallest machine.
    """
    drawn = kit(jobs, 0, LOAD, max(shrinks))
    rows = []
    for shrink in sorted(shrinks, reverse=True):
        capacity = kit(2, 0, LOAD, shrink).machine.capacity
        problem = Problem(
            np.array([job.walltime for job in drawn.jobs]),
            np.array([job.nodes for job in drawn.jobs]),
            np.array([[job.per_node["core"]] for job in drawn.jobs]),
            np.ones(jobs, dtype=np.int64),
            capacity,
        )
        for name, boxes in (("pcp3", False), ("pcp21", True)):
            for _ in range(2):  # The first one also loads what it needs.
                begin = process_time()
                allocation = NodeBoxes(problem) if boxes else None
                model = SchedulingModel(problem, problem.horizon, allocation=allocation).build().variables.model
                spent = process_time() - begin
            proto = model.proto
            with tempfile.NamedTemporaryFile(suffix=".pb") as file:
                model.export_to_file(file.name)
                size = Path(file.name).stat().st_size
            listed = sum(len(variable.domain) > 2 for variable in proto.variables)
            counts = len(proto.variables), len(proto.constraints), listed, size
            rows.append([f"{len(capacity):,}", name, *(f"{count:,}" for count in counts), f"{1e3 * spent:.0f}"])
    columns = (
        "nodes",
        "dispatcher",
        "variables",
        "constraints",
        "variables with gaps in their domain",
        "bytes",
        "CPU ms to build",
    )
    note = (
        f"The model of one decision about {jobs} jobs, {int(sum(job.nodes for job in drawn.jobs))} slots together. "
        "Bytes: of the model as CP-SAT stores it."
    )
    return Table("Size of the models", columns, rows, note=note)


def _say(what: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"running: {what}", err=True)


@click.command(help=__doc__)
@click.option("--dispatcher", "dispatchers", multiple=True, default=DISPATCHERS, metavar="NAME", help="With options.")
@click.option("--jobs", type=click.IntRange(min=2), default=JOBS, show_default=True, help="Of a sample.")
@click.option("--seeds", type=click.IntRange(min=1), default=SEEDS, show_default=True, help="Samples.")
@click.option("--load", type=click.FloatRange(min=0, min_open=True), default=LOAD, show_default=True)
@click.option("--sizes", "of_models", is_flag=True, help="The size of the models by number of nodes, and nothing else.")
@click.option("--small", is_flag=True, help="Smoke test: 40 jobs on a machine of 18 + 1 nodes.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(
    dispatchers: tuple[str, ...], jobs: int, seeds: int, load: float, of_models: bool, small: bool, as_markdown: bool
) -> None:
    """Print the table."""
    if of_models:
        show([sizes(QUEUED, SHRINKS[:2] if small else SHRINKS)], as_markdown)
        return
    for name in dispatchers:
        create_dispatcher(name)
    scale = (40, 1, 2.0, 64) if small else (jobs, seeds, load, 1)
    show([on_kit(dispatchers, *scale, _say)], as_markdown)


if __name__ == "__main__":
    main()
