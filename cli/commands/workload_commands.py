"""``hpcdispatch workload``: describe, convert, generate, analyze."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import click

from ...base import InputError
from ...bench.reports.number_formats import count
from ...workloads import GENERATORS, Workload, describe, write
from ...workloads.formats import written_suffix
from ...workloads.formats.read_log import NoRequestedTimesError
from ...workloads.sources import Source
from ..app import debug_option, examples
from ..command_errors import say
from ..output import console, pairs, print_json
from ..progress import spinner
from ..shared_options import ReadingOptions, json_option, reading_options, seed_option
from ..site_options import SiteFiles, site_options
from ..trace_argument import load, resolve
from . import analyze


@click.group("workload")
def command() -> None:
    """Describe, convert and generate workloads; analyze the runs of workflows."""


command.add_command(analyze.command)


@command.command(
    "describe",
    epilog=examples(
        "hpcdispatch workload describe trace.swf.gz", "hpcdispatch workload describe lublin:jobs=5000,load=0.8 --json"
    ),
)
@click.argument("trace", required=False)
@reading_options
@seed_option("Of a generated workload.")
@json_option
@debug_option
def describe_command(trace: str | None, reading: ReadingOptions, seed: int, as_json: bool) -> None:
    """Print what there is to know of a workload: jobs, span, load, sizes, run times, requests, users.

    TRACE is a file, a generator or a published trace, as for 'hpcdispatch run'. With --json, times are in seconds and
    shares are fractions of 1.
    """
    source = resolve(trace)
    try:
        found = describe(load(source, reading, seed, notes=False))
    except NoRequestedTimesError:
        found = describe(load(source, replace(reading, default_walltime="runtime"), seed, notes=False), requests=False)
    if as_json:
        print_json(asdict(found))
    else:
        console().print(pairs(found.rows()))


@command.command("convert", epilog=examples("hpcdispatch workload convert jobs.sacct jobs.swf.gz --lenient"))
@click.argument("trace", metavar="IN")
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path))
@reading_options
@debug_option
def convert_command(trace: str, out: Path, reading: ReadingOptions) -> None:
    """Read a trace and write it as SWF or JSON lines.

    IN is a file (.swf, .sacct, .txt, .csv, .jsonl, each also with .gz) or the name of a published trace; OUT ends in
    .swf or .jsonl, each also with .gz. JSON lines hold all that is known of a job. Records that are left out, and
    what SWF has no field for, are said on stderr.
    """
    written_suffix(out)
    _write(load(resolve(trace), reading), out)


@command.command(
    "from-slurm", epilog=examples("hpcdispatch workload from-slurm --config slurm.conf --sacct jobs.sacct site.jsonl")
)
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path))
@site_options
@debug_option
def from_slurm_command(out: Path, site: SiteFiles) -> None:
    """Write the jobs of a Slurm site, on its machine with its partitions, as JSON lines.

    OUT ends in .jsonl or .jsonl.gz, and holds the machine too. A partition is a resource that its nodes have and its
    jobs ask for, so that every dispatcher keeps to it.
    """
    if written_suffix(out) != ".jsonl":
        raise InputError(f"{out}: expected .jsonl or .jsonl.gz, which hold a machine")
    _write(site.load(), out)


@command.command(
    "generate", epilog=examples("hpcdispatch workload generate lublin:jobs=5000,load=0.8 out.swf.gz --seed 1")
)
@click.argument("spec")
@click.argument("out", metavar="OUT", type=click.Path(path_type=Path))
@seed_option("Of the random numbers.")
@debug_option
def generate_command(spec: str, out: Path, seed: int) -> None:
    """Draw a workload and write it as SWF or JSON lines.

    SPEC is NAME[:key=value,...] of a generator; 'hpcdispatch list' shows them with their options. OUT ends in .swf or
    .jsonl, each also with .gz. The same SPEC and seed write the same bytes.
    """
    written_suffix(out)
    name = spec.partition(":")[0].strip()
    GENERATORS.factory(name)
    _write(load(Source(spec, spec=spec), ReadingOptions(), seed), out)


def _write(workload: Workload, out: Path) -> None:
    with spinner(f"writing {out}"):
        write(workload, out)
    say("note", f"{count(len(workload), 'job')} written to {out}")
