"""``hpcdispatch run``: one simulation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from ...analysis import read_scenario
from ...analysis.simulated_state import from_state
from ...base import InputError
from ...bench.campaigns.molding_specs import molded
from ...bench.reports.number_formats import count
from ...simulation import Overrun, Result, SameInstant, check, simulate
from ...workloads import MachineState, Workload
from ...workloads.sources import Source
from ..app import debug_option
from ..command_errors import InterruptedRunError, RunFailedError, say
from ..help_texts import examples
from ..output import print_json, print_summary
from ..progress import JobBar, spinner
from ..shared_options import (
    ReadingOptions,
    json_option,
    make_folder,
    mold_option,
    overrun_option,
    reading_options,
    same_instant_option,
    validate,
)
from ..trace_argument import load, resolve


@dataclass(frozen=True, slots=True)
class Setup:
    """What is simulated."""

    dispatcher: str
    predictor: str
    overrun: Overrun
    same_instant: SameInstant
    seed: int
    state: MachineState | None = None


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
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    show_default=True,
    help="Of a generated workload and of a dispatcher that draws.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Save the result there (Parquet and a manifest)."
)
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
    setup = Setup(dispatcher, predictor, policy, same_instant, seed, started)
    make_folder(out)
    result = _simulate(workload, setup)
    if checked:
        try:
            with spinner("checking the invariants"):
                check(workload, result)
        except Exception as error:
            raise _failed(setup, error) from error
    summary = result.summary()
    if "dropped_shapes" in summary:
        say("note", f"{count(summary['dropped_shapes'], 'shape')} dropped: the machine has no room for them")
    if summary.get("failures"):
        found = result.decisions["failure"]
        counts = found[found != ""].value_counts()
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


def _simulate(workload: Workload, setup: Setup) -> Result:
    with JobBar(setup.dispatcher, len(workload)) as bar:
        try:
            return simulate(
                workload,
                setup.dispatcher,
                setup.predictor,
                overrun=setup.overrun,
                same_instant=setup.same_instant,
                seed=setup.seed,
                state=setup.state,
                progress=bar.update,
            )
        except KeyboardInterrupt:
            raise InterruptedRunError(f"after {bar.done:,} of {len(workload):,} jobs") from None
        except Exception as error:
            if setup.state is not None and isinstance(error, InputError):
                raise
            raise _failed(setup, error) from error


def _failed(setup: Setup, error: Exception) -> RunFailedError:
    where = f"dispatcher {setup.dispatcher}, predictor {setup.predictor}"
    return RunFailedError(f"{where}: {type(error).__name__}: {error}")
