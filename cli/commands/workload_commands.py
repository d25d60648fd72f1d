"""``hpcdispatch workload``: describe, convert, generate, analyze."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import click

from ...base import InputError
from ...bench.reports.number_formats import count
from ...workloads import GENERATORS, Workload, describe, write
from ...workloads.describe import reading_report
from ...workloads.formats import save, written_suffix
from ...workloads.formats.read_log import NoRequestedTimesError
from ...workloads.formats.recognition import UnknownTableError
from ...workloads.sources import Source
from ..app import OUTPUT, Group, examples
from ..command_errors import say
from ..completion import part_names, workload_names
from ..output import clean, finish, pairs, time
from ..parameters import argument, option
from ..progress import spinner
from ..shared_options import ReadingOptions, check_writable, seed_option
from ..site_options import SiteFiles
from ..trace_argument import load, resolve
from . import analyze


@click.group("workload", cls=Group)
def command() -> None:
    """Describe, convert and generate workloads; analyze the runs of workflows."""


command.add_command(analyze.command)


@command.command(
    "describe",
    epilog=examples(
        "hpcdispatch workload describe slurm_jobs.parquet --format pm100",
        "hpcdispatch workload describe lublin:jobs=5000,load=0.8 --json",
    ),
)
def describe_command(
    trace: Annotated[tuple[str, ...], argument(shell_complete=workload_names)],
    reading: ReadingOptions,
    seed: Annotated[int, seed_option("Of a generated workload.", group=OUTPUT)],
    report: Annotated[Path | None, option("Write what was dropped, merged, sorted, renumbered and inferred, as JSON.")],
) -> None:
    """Print statistics of a workload: jobs, span, load, sizes, run times, requests, users.

    TRACE is a file, several of one trace, a folder, a generator or a published trace, as for 'hpcdispatch run'. For a
    table or JSON of an unknown layout it prints a column map to begin with; with --format map it does so for any.
    """
    check_writable(report, "--report", ("json",))
    source, requests = resolve(*trace), True
    try:
        workload = load(source, reading, seed, notes=False)
    except NoRequestedTimesError:
        workload = load(source, replace(reading, default_walltime="runtime"), seed, notes=False)
        requests = False
    except UnknownTableError as error:
        say("note", f"{source.name}: no built-in column map fits; complete this one and give it as --format MAP.toml")
        click.echo(error.map_text, nl=False)
        return
    description = describe(workload, requests=requests)
    if report is not None:
        save(report, json.dumps(clean(reading_report(workload)), indent=2) + "\n", packed=False)
    text = f"{count(description.jobs, 'job')} in {time(description.span)}"
    answer = f"{text} offer {description.load:.0%} of what {count(description.processors, 'processor')} can do."
    finish(answer if description.load >= 0 else f"{text}.", asdict(description), pairs(description.rows(time)))


@command.command("convert", epilog=examples("hpcdispatch workload convert jobs.sacct jobs.swf.gz --lenient"))
def convert_command(
    trace: Annotated[tuple[str, ...], argument("IN...", required=True, shell_complete=workload_names)],
    out: Annotated[Path, argument("OUT")],
    reading: ReadingOptions,
) -> None:
    """Read a trace and write it as SWF, JSON lines, CSV or Parquet.

    IN is a file, several of one trace, or the name of a published trace. OUT ends in .swf, .jsonl, .csv or .parquet,
    each also with .gz. JSON lines hold all data of a job. Dropped records, and data without a field in SWF, are
    listed on stderr.
    """
    written_suffix(out)
    _write(load(resolve(*trace), reading), out)


@command.command(
    "from-slurm", epilog=examples("hpcdispatch workload from-slurm --config slurm.conf --sacct jobs.sacct site.jsonl")
)
def from_slurm_command(
    out: Annotated[Path, argument("OUT")],
    site: SiteFiles,
) -> None:
    """Write the jobs of a Slurm site, on its machine with its partitions, as JSON lines.

    OUT ends in .jsonl or .jsonl.gz. It also holds the machine. A partition is a resource of its nodes that its jobs
    request. Therefore every dispatcher respects it.
    """
    if written_suffix(out) != ".jsonl":
        raise InputError(f"{out}: expected .jsonl or .jsonl.gz, which hold a machine")
    _write(site.load(), out)


@command.command(
    "generate", epilog=examples("hpcdispatch workload generate lublin:jobs=5000,load=0.8 out.swf.gz --seed 1")
)
def generate_command(
    spec: Annotated[str, argument(shell_complete=part_names("workloads"))],
    out: Annotated[Path, argument("OUT")],
    seed: Annotated[int, seed_option("Of the random numbers.", group=OUTPUT)],
) -> None:
    """Generate a workload and write it as SWF or JSON lines.

    SPEC is NAME[:key=value,...] of a generator; 'hpcdispatch list' shows them with their options. OUT ends in .swf or
    .jsonl, each also with .gz. The same SPEC and seed write the same bytes.
    """
    name = spec.partition(":")[0].strip()
    GENERATORS.factory(name)
    written_suffix(out)
    _write(load(Source(spec, spec=spec), ReadingOptions(), seed), out)


def _write(workload: Workload, out: Path) -> None:
    with spinner(f"writing {out}"):
        write(workload, out)
    answer = f"{count(len(workload), 'job')} written to {out}."
    finish(answer, {"file": str(out), "jobs": len(workload), "machine": workload.machine.describe()})
