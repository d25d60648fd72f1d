"""``hpcdispatch compare``: dispatchers and predictors on one workload."""

from functools import partial
from pathlib import Path

import click

from ...bench.campaigns.comparison import Comparison, ComparisonInterrupted, Generated, compare
from ...bench.campaigns.molding_specs import molded
from ...bench.campaigns.samples import Sampler
from ...simulation import Overrun, SameInstant
from ...workloads import Workload
from ...workloads.sources import Source
from ..app import OUTPUT, options, subcommand
from ..command_errors import InterruptedRunError, RunFailedError, say
from ..comparison_table import comparison_answer, comparison_json, comparison_shown
from ..durations import Duration
from ..output import finish
from ..progress import JobBar
from ..shared_options import (
    ReadingOptions,
    check_option,
    cores,
    dispatchers_option,
    make_folder,
    mold_option,
    overrun_option,
    path_option,
    predictors_option,
    reading_options,
    same_instant_option,
    split_specs,
    validate,
    workers_option,
)
from ..trace_argument import load, resolve

DISPATCHERS = "fcfs,lxf,easy,easy-sjbf,conservative"
BUILT_IN_SEEDS = 10


@subcommand(
    "compare",
    "hpcdispatch compare trace.swf.gz --dispatchers easy,hcp3,lookahead --seeds 10",
    "hpcdispatch compare lublin:jobs=5000,load=0.9 --seeds 5 --overrun kill --out results",
)
@click.argument("trace", required=False)
@options(
    "What is compared",
    dispatchers_option(DISPATCHERS),
    predictors_option("walltime", "Each is paired with each dispatcher."),
    click.option(
        "--seeds",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"How many samples.  [default: 1; {BUILT_IN_SEEDS} of the built-in workload]",
    ),
    click.option(
        "--jitter",
        type=Duration(),
        metavar="TIME",
        help="Largest shift of a submission in a sample of a trace.  [default: 1m; none for one seed]",
    ),
)
@options("Simulation", overrun_option, same_instant_option, mold_option, check_option, workers_option)
@reading_options
@options(OUTPUT, path_option("--out", "Keep the results; what is there is not simulated again.", metavar="DIR"))
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
) -> None:
    """Compare every pair of dispatcher and predictor on a workload.

    TRACE is a file, or NAME[:key=value,...] of a generator, or the name of a published trace. 'hpcdispatch list' shows
    the names. Without TRACE: the built-in workload.

    Every pair runs on the same samples, seeds 0 to N-1. A sample is a run of a generator, or a trace with its
    submissions shifted by up to --jitter. Ctrl-C shows the finished runs.

    A comma before key=value belongs to the item before it.
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
                isolate=True,
                progress=partial(bar.show, noun="runs"),
            )
        except ComparisonInterrupted as error:
            found = error.comparison
    _report(found, source, out)


def _report(found: Comparison, source: Source, out: Path | None) -> None:
    """Print the table of the finished runs, then the failures."""
    shown = comparison_shown(found, source.name, drawn=source.sampled and found.jitter is None)
    finish(comparison_answer(found), comparison_json(found, source.name), *shown)
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
