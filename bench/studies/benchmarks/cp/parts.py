"""The constraint-programming dispatchers: time and quality of their decisions.

``python -m hpcdispatch.bench.studies.benchmarks.cp`` has seven parts. ``trace``: a trace under HCP3. The default is the
records of KTH-SP2 with figures of the authors' own code. Source: Galleguillos et al., CP 2019. ``crowd``: jobs behind
others that wait for GPUs. ``nodes``: a heterogeneous machine of 64 nodes with a queue that fills in one instant. It
runs under PCP3 and HCP3. The decision of that instant is measured. The whole schedule is checked. ``decisions``: the
time of all decisions in such workloads, and how many exceed their budget. ``proofs``: how many decisions in such
workloads are proved. ``stream``: the same machine with jobs that arrive one by one, under these and others. ``size``:
machines of 64 to 10,000 nodes of two kinds with 10 to 200 waiting jobs. EASY is the baseline.
"""

import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from .....dispatchers import create_dispatcher
from .....simulation import simulate, violations
from .....workloads import Workload, generate, read
from .....workloads.fetching import TRACES, fetch
from .....workloads.formats.read_log import TraceWarning
from ....reports.tables import Table
from ...one_line_errors import in_one_line
from ...printed_tables import show
from .at_size import DISPATCHERS as AT_SIZE
from .at_size import NODES, Filled, at_size
from .at_size import QUEUED as AT_SIZE_QUEUED
from .decisions import QUEUE, decisions
from .on_nodes import EURORA, Taken, crowded, take
from .on_traces import RECORDS, TIMED, Baseline, run, sheets
from .proofs import PROVED, SIZES, proofs
from .stream import on_stream

PARTS = ("trace", "crowd", "nodes", "decisions", "proofs", "stream", "size")
#: Default dispatchers of each part.
DISPATCHERS = {"trace": ("hcp3",), "nodes": ("pcp3", "pcp-fast", "hcp3"), "decisions": ("pcp3", "pcp-fast", "hcp3")}
STREAM = (
    "easy",
    "easy-sjbf",
    "conservative",
    "lxf",
    "hcp3",
    "pcp3",
    "pcp3:solver=none",
    "pcp-fast",
    "pcp-fast:solver=none",
    "pcp-fast:solver=none,iterations=0",
    "pcp-fast:blocked=5",
    "lookahead",
)
#: Jobs of each half of a crowd.
CROWD, SMALL_CROWD = 300, 40
#: Jobs of a stream, and the share of the machine that they request.
STREAMED, LOADS = 1500, (0.7, 0.9)
QUEUED = (10, 25, 50, 100, 200)
SMALL_QUEUED = (10, 15)
#: A seed that no measured workload has, for the warm-up.
_WARM_UP = 1_000_003


@dataclass(frozen=True, slots=True)
class PartsSetting:
    """What is measured.

    Attributes
    ----------
    dispatchers
        Names with options; empty for the default of each part.
    trace
        Path of a trace; ``None`` for KTH-SP2.
    jobs
        Its first jobs; ``None`` for all, of KTH-SP2 for those with published figures.
    queued, seeds
        Jobs in the queue, and workloads of each size.
    small
        Smoke test: a short generated trace, short queues, HCP3 alone.
    """

    dispatchers: tuple[str, ...] = ()
    trace: Path | None = None
    jobs: int | None = None
    queued: tuple[int, ...] = QUEUED
    seeds: int = 5
    small: bool = False

    def of(self, part: str) -> tuple[str, ...]:
        """Return the dispatchers of a part."""
        return self.dispatchers or (("hcp3",) if self.small else DISPATCHERS[part])


def load(setting: PartsSetting) -> tuple[str, Workload, bool]:
    """Return the name and the jobs of the trace, and whether they are the published ones."""
    if setting.small and setting.trace is None:
        jobs = setting.jobs or 400
        return "a generated trace", generate("lublin", jobs=jobs, processors=64, load=1.1, seed=1), False
    path = setting.trace or fetch("kth-sp2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TraceWarning)
        workload = read(path)
    published = path.name == TRACES["kth-sp2"].file and setting.jobs in {None, RECORDS}
    jobs = RECORDS if published else setting.jobs or len(workload)
    return path.name.partition(".")[0], workload.head(jobs), published


def on_the_trace(setting: PartsSetting) -> Iterator[Table]:
    """Yield the tables of the first part."""
    name, workload, published = load(setting)
    for dispatcher in setting.of("trace"):
        _say(f"{name}, {dispatcher}")
        yield from sheets(run(name, workload, dispatcher), Baseline() if published and dispatcher == "hcp3" else None)


def on_nodes(setting: PartsSetting) -> Table:
    """Return the table of the second part."""
    rows = []
    for dispatcher in setting.of("nodes"):
        take(dispatcher, 10, _WARM_UP)
        for queued in setting.queued:
            samples = []
            for seed in range(setting.seeds):
                _say(f"64 nodes, {dispatcher}, {queued} queued, seed {seed}")
                samples.append(take(dispatcher, queued, seed))
            rows.append(_row(samples))
    columns = (
        "dispatcher",
        "queued",
        "candidates",
        "median, ms",
        "max, ms",
        "planned",
        "decision proved",
        "mean gap, %",
        "by search",
        "by CP-SAT",
        "started",
        "postponed",
        "schedules valid",
    )
    title = f"The decision at which the queue fills: 64 nodes with GPUs or MICs, {setting.seeds} workloads a row"
    note = (
        f"{TIMED}\nCandidates: waiting jobs that fit by themselves; their number and those of started and postponed "
        "jobs are means. Planned: not all candidates start. Decision proved: no schedule in which other jobs start now "
        "costs less. Gap: (objective - bound) / what a schedule can change of the objective. By search, by CP-SAT: who "
        "made the schedule, if not the best list. Valid: an independent check of the whole simulation found no "
        "violation."
    )
    return Table(title, columns, rows, labels=2, note=note)


def at_sizes(setting: PartsSetting, queued: tuple[int, ...]) -> Table:
    """Return the table of the fourth part."""
    machines = [Filled(nodes, jobs) for nodes in NODES for jobs in queued or AT_SIZE_QUEUED]
    machines += [Filled(nodes, 100, narrow=True) for nodes in NODES]
    if setting.small:
        machines = [Filled(64, 10), Filled(96, 10), Filled(64, 10, narrow=True)]
    names = setting.dispatchers or (("easy", "hcp3") if setting.small else AT_SIZE)
    return at_size(names, tuple(machines), setting.seeds, _say)


def on_the_crowd(setting: PartsSetting) -> Table:
    """Return mean waits of jobs that request GPUs and of those behind them, under each dispatcher."""
    workload = crowded(SMALL_CROWD if setting.small else CROWD)
    rows = []
    for dispatcher in ("easy", "fcfs", *setting.of("nodes")):
        _say(f"a crowd, {dispatcher}")
        result = simulate(workload, dispatcher)
        waits = result.jobs["wait"].to_numpy()
        half = len(workload) // 2
        means = [f"{part.mean():,.0f}" for part in (waits, waits[:half], waits[half:])]
        rows.append([dispatcher, *means, "yes" if not list(violations(workload, result)) else "NO"])
    columns = ("dispatcher", "mean wait, s", "of the GPU jobs, s", "of the others, s", "schedule valid")
    title = f"{len(workload) // 2} jobs that ask for GPUs, and behind them as many that do not, on 64 nodes"
    note = "Under FCFS the second half waits for the first, as it would if candidates were chosen before what fits."
    return Table(title, columns, rows, note=note)


def _row(samples: Sequence[Taken]) -> list[str]:
    solved = [one for one in samples if one.solved]
    ms = [one.ms for one in samples]
    gaps = [one.gap for one in samples if not np.isnan(one.gap)]
    return [
        samples[0].dispatcher,
        "/".join(str(waiting) for waiting in sorted({one.waiting for one in samples})),
        f"{np.mean([one.candidates for one in samples]):.1f}",
        f"{np.median(ms):.1f}",
        f"{max(ms):.1f}",
        f"{len(solved)} of {len(samples)}",
        f"{sum(one.proved for one in solved)} of {len(solved)}",
        f"{100 * np.mean(gaps):.1f}" if gaps else "-",
        f"{sum(one.used == 'local search' for one in solved)} of {len(solved)}",
        f"{sum(one.used == 'cp-sat' for one in solved)} of {len(solved)}",
        f"{np.mean([one.started for one in samples]):.1f}",
        f"{np.mean([one.postponed for one in samples]):.1f}",
        f"{sum(not one.violations for one in samples)} of {len(samples)}",
    ]


def _say(what: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"running: {what}", err=True)


@click.command(help=__doc__)
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), help="Only this one.")
@click.option(
    "--dispatcher",
    "dispatchers",
    multiple=True,
    metavar="NAME",
    help="Name with options, instead of those of each part.",
)
@click.option(
    "--trace",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Another trace; KTH-SP2 comes from HPCDISPATCH_DATA, ../shared/data or the archive.",
)
@click.option("--jobs", type=click.IntRange(min=1), help=f"First jobs of the trace.  [default: {RECORDS:,} of KTH-SP2]")
@click.option(
    "--queued",
    multiple=True,
    type=click.IntRange(min=1),
    help=f"Jobs that arrive on the nodes.  [default: {', '.join(map(str, QUEUED))}]",
)
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="Workloads of each size.")
@click.option("--streamed", type=click.IntRange(min=1), default=STREAMED, show_default=True, help="Jobs of a stream.")
@click.option(
    "--nodes",
    type=click.IntRange(min=EURORA),
    default=EURORA,
    show_default=True,
    help="Of the streams' machine.",
)
@click.option(
    "--load",
    "loads",
    multiple=True,
    type=click.FloatRange(min=0, min_open=True),
    help=f"Of the streams.  [default: {', '.join(map(str, LOADS))}]",
)
@click.option("--small", is_flag=True, help="Smoke test: a short generated trace, short queues, two seeds, hcp3.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(
    parts: tuple[str, ...],
    dispatchers: tuple[str, ...],
    trace: Path | None,
    jobs: int | None,
    queued: tuple[int, ...],
    seeds: int,
    streamed: int,
    nodes: int,
    loads: tuple[float, ...],
    small: bool,
    as_markdown: bool,
) -> None:
    """Print the tables part by part."""
    asked = queued
    queued = queued or (SMALL_QUEUED if small else QUEUED)
    setting = PartsSetting(dispatchers, trace, jobs, queued, min(seeds, 2) if small else seeds, small)
    for name in dispatchers:
        create_dispatcher(name)
    if "trace" in (parts or PARTS):
        show(list(on_the_trace(setting)), as_markdown)
    if "crowd" in (parts or PARTS):
        show([on_the_crowd(setting)], as_markdown)
    if "nodes" in (parts or PARTS):
        show([on_nodes(setting)], as_markdown)
    if "decisions" in (parts or PARTS):
        most = (10,) if small else asked or (QUEUE,)
        show([decisions(setting.of("decisions"), most, setting.seeds, _say)], as_markdown)
    if "proofs" in (parts or PARTS):
        deciding = [name for name in setting.of("nodes") if name in PROVED]
        show([proofs(deciding, (10,) if small else asked or SIZES, setting.seeds, _say)], as_markdown)
    if "stream" in (parts or PARTS):
        jobs_of = 60 if small else streamed
        names = dispatchers or (("easy", "hcp3") if small else STREAM)
        show([on_stream(names, jobs_of, setting.seeds, load, nodes) for load in loads or LOADS], as_markdown)
    if "size" in (parts or PARTS):
        show([at_sizes(setting, asked)], as_markdown)
