"""``hpcdispatch run``: one simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ...analysis import read_scenario
from ...analysis.simulated_state import from_state
from ...base import InputError
from ...bench.campaigns.molding_specs import molded
from ...bench.reports.number_formats import count
from ...simulation import Overrun, SameInstant, check, simulate
from ...workloads.sources import Source
from ..app import debug_option, examples
from ..command_errors import InterruptedRunError, RunFailedError, say
from ..output import print_json, print_summary
from ..progress import JobBar, spinner
from ..shared_options import (
    ReadingOptions,
    json_option,
    make_folder,
    mold_option,
    overrun_option,
    path_option,
    reading_options,
    same_instant_option,
    seed_option,
    validate,
)
from ..trace_argument import load, resolve


@click.command(
    "run",
    epilog=examples(
        "hpcdispatch run trace.swf.gz --dispatcher easy --predictor last2 --overrun kill --check --out results",
        "hpcdispatch run lublin:jobs=5000,load=0.9 --dispatcher conservative:compress=once",
    ),
)
@click.argument("trace", required=False)
@click.option("--dispatcher", default="easy", show_default=True, metavar="NAME[:key=value,...]", help="Who decides.")
@click.option(
    "--predictor",
    default="walltime",
    show_default=True,
    metavar="NAME[:key=value,...]",
    help="What it believes of run times.",
)
@overrun_option
@same_instant_option
@reading_options
@mold_option
@seed_option("Of a generated workload and of a dispatcher that draws.")
@path_option("--out", "Save the result there (Parquet and a manifest).", metavar="DIR")
@click.option(
    "--check", "checked", is_flag=True, help="Check the schedule against the invariants; exit code 1 if one is broken."
)
@click.option(
    "--state", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="Begin with what runs and waits there, a file as evict reads it; the jobs of TRACE, if any, come after it.",
)  # fmt: skip
@json_option
@debug_option
def command(
    trace: str | None,
    dispatcher: str,
    predictor: str,
    overrun: str,
    same_instant: SameInstant,
    reading: ReadingOptions,
    mold: str | None,
    seed: int,
    out: Path | None,
    checked: bool,
    state: Path | None,
    as_json: bool,
) -> None:
    """Simulate one dispatcher on a workload and print its metrics.

    TRACE is a file (.swf, .swf.gz, output of sacct -P as .sacct), else NAME[:key=value,...] of a generator, else the
    name of a published trace; 'hpcdispatch list' shows the names. Without TRACE: the built-in workload.

    Times are in seconds. With --json: the flat summary as one object; what is not defined is null.
    """
    policy = Overrun.parse(overrun)
    validate([dispatcher], [predictor])
    begin = None if state is None else read_scenario(state)
    if begin is not None and trace is None:
        source, (workload, started) = Source(str(state)), from_state(begin)
    else:
        source, started = resolve(trace), None
        workload = molded(load(source, reading, seed), mold, seed)
        if begin is not None:
            workload, started = from_state(begin, workload)
    make_folder(out)
    options: dict[str, Any] = {"overrun": policy, "same_instant": same_instant, "seed": seed, "state": started}
    try:
        with JobBar(dispatcher, len(workload)) as bar:
            result = simulate(workload, dispatcher, predictor, **options, progress=bar.update)
        if checked:
            with spinner("checking the invariants"):
                check(workload, result)
    except KeyboardInterrupt:
        raise InterruptedRunError(f"after {bar.done:,} of {len(workload):,} jobs") from None
    except Exception as error:
        if started is not None and isinstance(error, InputError):
            raise
        where = f"dispatcher {dispatcher}, predictor {predictor}"
        raise RunFailedError(f"{where}: {type(error).__name__}: {error}") from error
    summary = result.summary()
    if "dropped_shapes" in summary:
        say("note", f"{count(summary['dropped_shapes'], 'shape')} dropped: the machine has no room for them")
    if summary.get("failures"):
        failures = result.decisions["failure"]
        counts = failures[failures != ""].value_counts()
        other = f" ({counts.iloc[0]:,} times, and others)" if len(counts) > 1 else ""
        say("note", f"failures in {count(int(counts.sum()), 'decision')}: {counts.index[0]}{other}")
    if as_json:
        print_json(summary)
    else:
        print_summary(summary, source.name, result.manifest)
    if checked:
        say("note", "checked: every invariant holds")
    if out is not None:
        result.save(out)
        say("note", f"saved in {out}")
