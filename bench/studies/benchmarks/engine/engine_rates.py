"""Costs of the engine against stock AccaSim, against a bare loop, and on large traces.

``python -m hpcdispatch.bench.studies.benchmarks.engine`` measures everything in one run. Each part has a process of its
own. It prints a table of rates with their requirements. ``--small`` is a smoke test of the same in seconds.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from oracles.stock_accasim import Schedule, run_stock, write_inputs
from rich.console import Console
from rich.table import Table

from .....simulation import simulate
from .....workloads import Workload
from .....workloads.fetching import at_hand
from ...one_line_errors import in_one_line
from ..measurements import run_module
from ..reading import swf_lines
from ..traces import CTC, HPC2N, KTH, RICC, THETA, lay_end_to_end, theta_like, trace_or_generated

COUNTED = """\
CPU seconds, child processes included, on the same two files (SWF and AccaSim system file), on nodes.
stock: from the making of AccaSim's Simulator to the closing of its writers, its default outputs on; once.
ours:  from reading the files to the finished tables of the Result; median, after a warm-up on 200 jobs.
bare loop and our EASY on a pool: jobs in memory for both; the loop builds its tuples, ours its Result; medians.
a job of it: what the plug-in's simulation was at, at ticks of CPU time; libraries count as their callers.
large traces on their pools: from reading the file to the summary, imports and compiled code loaded on the way; once.
rates on their pools: jobs in memory, to the finished tables of the Result, after a warm-up that loads compiled code.
reading: pandas.read_csv into the same 18 columns; both, and the simulations, medians of one process in turns.
a rejected job: by how much the simulation takes longer with as many jobs again that are larger than the machine."""
SMALL_TRACE, SMALL_THETA = 800, 120
#: Records of the file that is read by us and by pandas.
READ_JOBS = 12_000
MILLION = 1_000_000
WIDTH = 160


@dataclass(frozen=True, slots=True)
class RatesSetting:
    """What is measured.

    Attributes
    ----------
    trace
        The trace of the first rows; ``None`` for a generated workload.
    jobs
        Cut every workload to its first jobs; ``None`` takes all.
    small
        Smoke test: everything cut down, large traces left out.
    repeat
        How often our side is measured.
    parts
        Names of :data:`PARTS`, empty for all.
    """

    trace: Path | None = None
    jobs: int | None = None
    small: bool = False
    repeat: int = 3
    parts: tuple[str, ...] = ()

    def cut(self, small: int) -> int | None:
        """Return the number of jobs to take, `small` in the smoke test."""
        return min(small, self.jobs or small) if self.small else self.jobs


@dataclass(frozen=True, slots=True)
class MeasuredRate:
    """A measured figure and its requirement.

    Attributes
    ----------
    case
        What was run.
    jobs
        How many jobs.
    reference, ours
        Jobs per CPU second of stock AccaSim or the bare loop, and of ours. ``None`` where that is not the question.
    value, unit
        The figure. Units are a ratio (``"x"``), CPU seconds (``"s"``), CPU microseconds (``"us"``), megabytes
        (``"MB"``) or jobs per CPU second (``"jobs/s"``). ``None`` if it was not measured.
    required, at_least
        The bound, ``None`` where nothing is required, and whether it is a lower one.
    note
        What else was found: whether the schedules agree, or why nothing was measured.
    """

    case: str
    jobs: int
    reference: float | None
    ours: float | None
    value: float | None
    unit: str
    required: float | None
    at_least: bool
    note: str = ""

    @property
    def passed(self) -> bool | None:
        """Whether the requirement is met. ``None`` if there is none or the figure was not measured."""
        if self.value is None or self.required is None:
            return None
        return self.value >= self.required if self.at_least else self.value <= self.required


def measure(setting: RatesSetting) -> Iterator[MeasuredRate]:
    """Yield the rows one by one as they are measured."""
    for part in PARTS if not setting.parts else setting.parts:
        yield from PARTS[part](setting)


def _against_accasim(setting: RatesSetting) -> Iterator[MeasuredRate]:
    traced, case = _traced(setting)
    case = f"{case}, {traced.machine.nodes} one-core nodes"
    yield against_stock(f"FIFO, {case}", traced, "fifo", 220, setting.repeat)
    yield against_stock(f"EASY, {case}", traced, "easy", 120, setting.repeat)


def _on_wide_nodes(setting: RatesSetting) -> Iterator[MeasuredRate]:
    theta = theta_like(setting.cut(SMALL_THETA) or 5000)
    yield against_stock("FIFO, Theta-like, 4,392 x 64 cores", theta, "fifo", 50, setting.repeat)
    yield against_stock("EASY, Theta-like, 4,392 x 64 cores", theta, "easy", 50, setting.repeat)


def _on_a_pool(setting: RatesSetting) -> Iterator[MeasuredRate]:
    traced, case = _traced(setting)
    yield from against_floor(f"EASY, {case}, pool, times the bare loop", traced, setting.repeat)


def _of_traces(setting: RatesSetting) -> Iterator[MeasuredRate]:
    yield from large(setting, "HPC2N, EASY", "easy", HPC2N, None, 700)
    yield from large(setting, "RICC, EASY", "easy", RICC, 60, 1000)
    yield from large(setting, "RICC, EASY-SJBF", "easy-sjbf", RICC, 60, 1000)
    yield from large(setting, "HPC2N, conservative", "conservative", HPC2N, 60, None)
    yield rate_of(setting, "RICC, first 20,000, look-ahead", "lookahead", RICC, 3_000, 20_000)
    yield rate_of(setting, "Theta, look-ahead", "lookahead", THETA, 6_000)


def _of_reservations(setting: RatesSetting) -> Iterator[MeasuredRate]:
    yield from large(setting, "RICC, first 100,000, conservative", "conservative", RICC, 92, None, 100_000)


def _in_sequence(setting: RatesSetting) -> Iterator[MeasuredRate]:
    for dispatcher in ("fcfs", "easy"):
        took, reason = _took(setting, "sequence", dispatcher, CTC, None)
        jobs = took.get("jobs", 0)
        rate = jobs / took["cpu"] if took else None
        case = f"CPU time, CTC-SP2, {dispatcher}, a decision after each event"
        yield MeasuredRate(case, jobs, None, rate, took.get("cpu"), "s", 1, False, reason)


def _of_a_million(setting: RatesSetting) -> Iterator[MeasuredRate]:
    with tempfile.TemporaryDirectory(prefix="hpcdispatch-bench-") as folder:
        laid = Path(folder) / "million.swf"
        trace = at_hand(KTH)
        if trace is not None and not setting.small:
            lay_end_to_end(trace, MILLION, laid)
        yield from large(setting, "a million records of KTH, EASY", "easy", laid if laid.is_file() else KTH, 90, 1000)


def _of_small_costs(setting: RatesSetting) -> Iterator[MeasuredRate]:
    """Measure reading against pandas, two simulations, and a rejected job."""
    jobs = setting.cut(SMALL_TRACE) or READ_JOBS
    with tempfile.TemporaryDirectory(prefix="hpcdispatch-bench-") as folder:
        swf = Path(folder) / "trace.swf"
        swf.write_text("".join(f"{line}\n" for line in swf_lines(jobs)), encoding="ascii")
        took = run_module("engine.engine_process", "small", str(max(setting.repeat, 5)), str(swf))
    jobs = took["jobs"]
    ratio = took["read"] / took["pandas"]
    rates = jobs / took["pandas"], jobs / took["read"]
    yield MeasuredRate("reading SWF, times pandas.read_csv", jobs, *rates, ratio, "x", 1.5, False)
    for name in ("fcfs", "easy"):
        yield MeasuredRate(f"simulating it, {name}", jobs, None, jobs / took[name], took[name], "s", None, False)
    yield MeasuredRate("a rejected job", jobs, None, None, 1e6 * took["rejected"], "us", 10, False)


#: What is measured, in this order.
PARTS: dict[str, Callable[[RatesSetting], Iterator[MeasuredRate]]] = {
    "accasim": _against_accasim,
    "wide-nodes": _on_wide_nodes,
    "bare-loop": _on_a_pool,
    "traces": _of_traces,
    "reservations": _of_reservations,
    "sequence": _in_sequence,
    "million": _of_a_million,
    "small-costs": _of_small_costs,
}


def _traced(setting: RatesSetting) -> tuple[Workload, str]:
    """Return the workload of the first rows, and its name."""
    name = setting.trace.name.partition(".")[0] if setting.trace else "generated"
    return trace_or_generated(setting.trace, setting.cut(SMALL_TRACE)), name


def against_stock(case: str, workload: Workload, scheduler: str, required: float, repeat: int) -> MeasuredRate:
    """Measure a scheduler of stock AccaSim and ours on the same files. Compare the schedules of FIFO.

    EASY schedules differ by design: AccaSim's is not EASY.
    """
    dispatcher = {"fifo": "fcfs", "easy": "easy"}[scheduler]
    stock = run_stock(workload, scheduler)
    with tempfile.TemporaryDirectory(prefix="hpcdispatch-bench-") as folder:
        swf, system = write_inputs(workload, Path(folder))
        ours = run_module("engine.engine_process", "nodes", str(repeat), dispatcher, str(swf), str(system))
    count, note = len(workload), ""
    if scheduler == "fifo":
        note = f"start and nodes equal for {equal_jobs(workload, stock.schedule):,} of {count:,} jobs"
    reference = count / stock.cpu
    rate = count / ours["cpu"]
    return MeasuredRate(case, count, reference, rate, rate / reference, "x", required, True, note)


def equal_jobs(workload: Workload, schedule: Schedule) -> int:
    """Return the number of jobs with equal start and nodes under our FCFS and in AccaSim's schedule."""
    jobs = simulate(workload, "fcfs").jobs
    columns = zip(jobs["id"], jobs["start"], jobs["end"], jobs["placement"], strict=True)
    return sum(
        schedule[id_] == (start, end, tuple(sorted(placement.tolist()))) for id_, start, end, placement in columns
    )


def against_floor(case: str, workload: Workload, repeat: int) -> Iterator[MeasuredRate]:
    """Measure our EASY on a pool, itself and as a plug-in, against the bare loop. Measure the plug-in's parts."""
    with tempfile.TemporaryDirectory(prefix="hpcdispatch-bench-") as folder:
        swf, _ = write_inputs(workload, Path(folder))
        took = run_module("engine.engine_process", "pool", str(repeat), str(swf))
    count, floor = took["jobs"], took["floor"]
    note = f"start equal for {took['equal']:,} of {count:,} jobs"
    yield MeasuredRate(case, count, count / floor, count / took["cpu"], took["cpu"] / floor, "x", 3, False, note)
    slower = took["plugged"] / floor
    rate = count / took["plugged"]
    yield MeasuredRate(f"{case}, as a plug-in", count, count / floor, rate, slower, "x", None, False)
    for part, share in took["parts"].items():
        spent = 1e6 * share * took["plugged"] / count
        yield MeasuredRate(f"a job of it: {part}", count, None, None, spent, "us", None, False, f"{share:.0%}")


def large(
    setting: RatesSetting,
    case: str,
    dispatcher: str,
    trace: str | Path,
    seconds: int | None,
    megabytes: int | None,
    head: int | None = None,
) -> Iterator[MeasuredRate]:
    """Measure CPU time and peak memory of a large trace, by name or path, where there is a bound."""
    took, reason = _took(setting, "whole", dispatcher, trace, head)
    jobs = took.get("jobs", 0)
    rate = jobs / took["cpu"] if took else None
    if seconds is not None:
        yield MeasuredRate(f"CPU time, {case}", jobs, None, rate, took.get("cpu"), "s", seconds, False, reason)
    if megabytes is not None:
        yield MeasuredRate(
            f"peak memory, {case}", jobs, None, rate, took.get("megabytes"), "MB", megabytes, False, reason
        )


def rate_of(
    setting: RatesSetting, case: str, dispatcher: str, trace: str | Path, rate: int, head: int | None = None
) -> MeasuredRate:
    """Measure jobs per CPU second of a simulation of a large trace, by name or path, or of its first jobs."""
    took, reason = _took(setting, "warm", dispatcher, trace, head)
    jobs = took.get("jobs", 0)
    ours = jobs / took["cpu"] if took else None
    return MeasuredRate(f"rate, {case}", jobs, None, ours, ours, "jobs/s", rate, True, reason)


def _took(
    setting: RatesSetting, task: str, dispatcher: str, trace: str | Path, head: int | None
) -> tuple[dict[str, Any], str]:
    """Return what a task measured of a trace in a process of its own, or else the failure."""
    path = at_hand(trace) if isinstance(trace, str) else trace
    if setting.small:
        return {}, "skipped: not in the small setting"
    if path is None:
        return {}, f"skipped: {trace} is not there; set HPCDISPATCH_DATA"
    most = min(filter(None, (setting.jobs, head)), default="")
    return run_module("engine.engine_process", task, "1", dispatcher, str(path), str(most)), ""


def table(rows: list[MeasuredRate], setting: RatesSetting) -> Table:
    """Return the rows as a table for people."""
    title = "Engine against stock AccaSim 1.1.3 and a bare EASY loop"
    if setting.small or setting.jobs:
        title += " (cut short: the requirements are meant for the whole)"
    made = Table(title=title, caption=COUNTED, caption_justify="left")
    made.add_column("case")
    for column in ("jobs", "reference jobs/s", "ours jobs/s", "figure", "required"):
        made.add_column(column, justify="right")
    made.add_column("", no_wrap=True)
    made.add_column("note")
    verdicts = {True: "[green]pass[/]", False: "[red]miss[/]", None: "-"}
    for row in rows:
        rates = ["-" if rate is None else f"{rate:,.0f}" for rate in (row.reference, row.ours)]
        figure = "-" if row.value is None else f"{row.value:,.1f} {row.unit}"
        bound = "-" if row.required is None else f"{'>=' if row.at_least else '<='} {row.required:g} {row.unit}"
        made.add_row(row.case, f"{row.jobs:,}", *rates, figure, bound, verdicts[row.passed], row.note)
    return made


@click.command()
@click.option(
    "--trace",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="SWF trace of a pool of processors; KTH-SP2 from HPCDISPATCH_DATA or ../shared/data, or else generated.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Cut every workload to its first jobs.")
@click.option("--small", is_flag=True, help="Smoke test: small workloads, no large traces.")
@click.option("--repeat", type=click.IntRange(min=1), default=3, show_default=True, help="Measure our side so often.")
@click.option("--part", "parts", type=click.Choice([*PARTS]), multiple=True, help="Only this; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@in_one_line(RuntimeError, ValueError)
def main(trace: Path | None, jobs: int | None, small: bool, repeat: int, parts: tuple[str, ...], as_json: bool) -> None:
    """Measure the engine against stock AccaSim, against a bare EASY loop, and on large traces."""
    setting = RatesSetting(trace or at_hand(KTH), jobs, small, repeat, parts)
    rows: list[MeasuredRate] = []
    for row in measure(setting):
        rows.append(row)
        if sys.stderr.isatty():
            click.echo(f"measured: {row.case}", err=True)
    if as_json:
        counted = COUNTED.splitlines()
        records = [{**asdict(row), "passed": row.passed} for row in rows]
        click.echo(json.dumps({"counted": counted, "small": small, "jobs": jobs, "rows": records}, indent=2))
    else:
        console = Console(width=None if sys.stdout.isatty() else WIDTH)
        console.print(table(rows, setting))
