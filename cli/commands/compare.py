"""``hpcdispatch compare``: dispatchers and predictors on one workload."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from ...bench.campaigns.comparison import Comparison, ComparisonInterrupted, Generated, compare
from ...bench.campaigns.molding_specs import molded
from ...bench.campaigns.samples import Sampler
from ...simulation import Overrun, SameInstant
from ...workloads import Workload
from ...workloads.sources import Source
from ..app import debug_option
from ..command_errors import InterruptedRunError, RunFailedError, say
from ..comparison_table import comparison_json, print_comparison
from ..help_texts import examples
from ..output import print_json
from ..progress import JobBar
from ..shared_options import (
    ReadingOptions,
    cores,
    json_option,
    make_folder,
    mold_option,
    overrun_option,
    reading_options,
    same_instant_option,
    split_specs,
    validate,
)
from ..trace_argument import load, resolve

DISPATCHERS = "fcfs,lxf,easy,easy-sjbf,conservative,hcp3,lookahead"
BUILT_IN_SEEDS = 5


@click.command(
    "compare",
    epilog=examples(
        "hpcdispatch compare trace.swf.gz --dispatchers easy,conservative --predictors walltime,last2 --seeds 10",
        "hpcdispatch compare lublin:jobs=5000,load=0.9 --seeds 5 --overrun kill --out results",
    ),
)
@click.argument("trace", required=False)
@click.option(
    "--dispatchers",
    multiple=True,
    default=(DISPATCHERS,),
    metavar="A,B,...",
    help=f"Names with options, see above.  [default: {DISPATCHERS}]",
)
@click.option(
    "--predictors",
    multiple=True,
    default=("walltime",),
    metavar="X,Y,...",
    help="Names with options; each is paired with each dispatcher.  [default: walltime]",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"How many samples of the workload.  [default: 1; {BUILT_IN_SEEDS} of the built-in workload]",
)
@click.option(
    "--jitter",
    type=click.IntRange(min=0),
    metavar="SECONDS",
    help="Largest shift of a submission in a sample of a trace.  [default: 60; none for one seed]",
)
@overrun_option
@same_instant_option
@reading_options
@mold_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep the results there; what is there already is not simulated again.",
)
@click.option("--check", "checked", is_flag=True, help="Check each schedule against the invariants.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="K",
    help="Processes; 1 simulates in this one. The metrics are the same, whatever K.  [default: the cores]",
)
@json_option
@debug_option
def command(
    trace: str | None,
    dispatchers: tuple[str, ...],
    predictors: tuple[str, ...],
    seeds: int | None,
    jitter: int | None,
    overrun: str,
    same_instant: SameInstant,
    reading: ReadingOptions,
    mold: str | None,
    out: Path | None,
    checked: bool,
    workers: int | None,
    as_json: bool,
) -> None:
    """Compare every pair of dispatcher and predictor on a workload.

    TRACE is a file (.swf, .swf.gz, output of sacct -P as .sacct), else NAME[:key=value,...] of a generator, else the
    name of a published trace; 'hpcdispatch list' shows the names. Without TRACE: the built-in workload.

    Lists are separated by commas, and an option may be repeated. A comma that is followed by key=value belongs to the
    options of the item before: easy,conservative:compress=once,placement=best-fit,fcfs are three dispatchers.

    Seeds: every pair runs on the same samples, seeds 0 to N-1. A sample of a trace is the trace with each submission
    shifted by whole seconds, uniform in [0, jitter]; with one seed and no --jitter it is the trace as it stands. A
    sample of a generator is another draw, unless --jitter or a seed in its options makes it one trace to be shifted.

    The table shows means over the seeds, with 95% bootstrap intervals below them, and marks the best of each column.
    Times are in seconds, decision times in milliseconds. Ctrl-C shows the runs that were finished.
    """
    policies, beliefs = split_specs(dispatchers, "dispatcher"), split_specs(predictors, "predictor")
    policy = Overrun.parse(overrun)
    validate(policies, beliefs)
    source = resolve(trace)
    samples: Workload | Sampler = molded(load(source, reading), mold)
    if source.spec is not None and source.sampled and jitter is None:
        samples = Generated(source.spec, reading.head, mold)
    make_folder(out)
    with JobBar("comparing") as bar:
        try:
            found = compare(
                samples,
                policies,
                beliefs,
                seeds=seeds or (BUILT_IN_SEEDS if trace is None else 1),
                jitter=jitter,
                overrun=policy,
                same_instant=same_instant,
                check_invariants=checked,
                out=out,
                workers=workers or cores(),
                progress=partial(bar.show, noun="runs"),
            )
        except ComparisonInterrupted as error:
            found = error.comparison
    _report(found, source, out, as_json=as_json)
    if trace is None and len(found.table) > 1 and not as_json:
        say("note", _seen(found))


def _seen(found: Comparison) -> str:
    """Return what the means of the waits say, in words."""
    table = found.table.sort_values("wait_mean", kind="stable")
    best, worst = table.iloc[0], table.iloc[-1]
    times = f", {worst['wait_mean'] / best['wait_mean']:.1f} times as long" if best["wait_mean"] > 0 else ""
    return (
        f"seen: a job waits {best['wait_mean'] / 3600:.1f} h on average under {best['dispatcher']}, "
        f"and {worst['wait_mean'] / 3600:.1f} h under {worst['dispatcher']}{times}"
    )


def _report(found: Comparison, source: Source, out: Path | None, *, as_json: bool) -> None:
    """Print the table of what was finished, then say what was not."""
    if as_json:
        print_json(comparison_json(found, source.name))
    else:
        print_comparison(found, source.name, drawn=source.sampled and found.jitter is None)
    if out is not None:
        say("note", f"{len(found.runs)} results saved in {out}")
    failed = [
        f"dispatcher {failure.dispatcher}, predictor {failure.predictor}, seed {failure.seed}: {failure.error}"
        for failure in found.failures
    ]
    for line in failed[:-1]:
        say("error", line)
    if found.interrupted:
        for line in failed[-1:]:
            say("error", line)
        raise InterruptedRunError(f"{len(found.runs)} of {found.planned} runs finished")
    if failed:
        raise RunFailedError(failed[-1], found.failures[-1].traceback)
