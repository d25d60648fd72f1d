"""``hpcdispatch compare``: dispatchers and predictors on one workload."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from ...bench.campaigns.comparison import Comparison, ComparisonInterrupted, Generated, compare
from ...bench.campaigns.molding_specs import molded
from ...bench.campaigns.samples import Sampler
from ...simulation import Overrun
from ...simulation.trimming import NOTHING
from ...workloads import Workload
from ...workloads.resampling import way_of
from ...workloads.sources import Source
from ..app import OUTPUT, subcommand
from ..command_errors import InterruptedRunError, RunFailedError, say
from ..comparison_table import comparison_answer, comparison_json, comparison_shown
from ..completion import workload_names
from ..output import finish
from ..parameters import argument, option
from ..progress import JobBar
from ..shared_options import (
    SEEDS,
    CheckOption,
    ConditionOptions,
    ConventionsOption,
    CoolDownOption,
    MoldOption,
    OverrunOption,
    ReadingOptions,
    SameInstantOption,
    UsersOption,
    WarmUpOption,
    WorkersOption,
    cores,
    dispatchers_option,
    make_folder,
    predictors_option,
    split_specs,
    validate,
)
from ..trace_argument import load, resolve, under_conventions

DISPATCHERS = "fcfs,lxf,easy,easy-sjbf,conservative"
BUILT_IN_SEEDS = 10
#: How short traces are resampled.
RESAMPLED_BY_DAYS = "its samples are drawn by days; they keep neither its weekly cycle nor its load"
AS_IT_STANDS = "all its samples are the trace as it stands, so that they tell nothing about other samples"


@subcommand(
    "compare",
    "hpcdispatch compare trace.swf.gz --dispatchers easy,hcp3,lookahead --seeds 10",
    "hpcdispatch compare lublin:jobs=5000,load=0.9 --seeds 5 --overrun kill --out results",
)
def command(
    trace: Annotated[tuple[str, ...], argument(shell_complete=workload_names)],
    dispatchers: Annotated[tuple[str, ...], dispatchers_option(DISPATCHERS, group="What is compared")],
    predictors: Annotated[tuple[str, ...], predictors_option("walltime", "Each is paired with each dispatcher.")],
    seeds: Annotated[
        Any,
        option(
            f"How many samples, or their seeds such as 20-29.  [default: 1; {BUILT_IN_SEEDS} of the built-in workload]",
            "N|A-B",
            SEEDS,
            default=None,
        ),
    ],
    jitter: Annotated[
        int | None,
        option("Shift each submission by up to this. Copies of a trace that are only shifted give a range.", "TIME"),
    ],
    warm_up: WarmUpOption,
    cool_down: CoolDownOption,
    overrun: OverrunOption,
    same_instant: SameInstantOption,
    conventions: ConventionsOption,
    mold: MoldOption,
    users: UsersOption,
    checked: CheckOption,
    workers: WorkersOption,
    conditions: ConditionOptions,
    reading: ReadingOptions,
    out: Annotated[Path | None, option("Keep the results; what is there is not simulated again.", "DIR", group=OUTPUT)],
) -> None:
    """Compare every pair of dispatcher and predictor on a workload.

    TRACE is a file, or several of one trace, or NAME[:key=value,...] of a generator, or the name of a published trace.
    'hpcdispatch list' shows the names. Without TRACE: the built-in workload.

    Every pair runs on the same samples, seeds 0 to N-1. A sample is a run of a generator, or a resample of a trace: its
    users with their sessions, drawn with replacement in whole weeks. One seed is the trace as it stands. With --jitter
    the seeds are copies of the trace with shifted submissions, which only show how chaotic a schedule is. The samples
    of a generator are shifted in addition. Ctrl-C shows the finished runs.

    With --users react, jobs of a session (gaps of 20 minutes) follow the end of the job before by the recorded think
    time. The answer says where the replay with the recorded submissions disagrees.

    Failures of nodes, a cap and a signal of the grid are the same for every contender. Failures are drawn by the seed.

    A comma before key=value belongs to the item before it.
    """
    policies = split_specs(dispatchers, "dispatcher")
    beliefs = split_specs(predictors, "predictor")
    policy = Overrun.parse(overrun)
    validate(policies, beliefs)
    given = conditions.read()
    source = resolve(*trace)
    reading = under_conventions(conventions, source, reading)
    samples: Workload | Sampler = molded(load(source, reading), mold)
    if source.spec is not None and source.sampled:
        samples = Generated(source.spec, reading.head, mold)
    make_folder(out)
    with JobBar("comparing") as bar:
        try:
            comparison = compare(
                samples,
                policies,
                beliefs,
                seeds=seeds or (1 if trace else BUILT_IN_SEEDS),
                jitter=jitter,
                warm_up=warm_up or NOTHING,
                cool_down=cool_down or NOTHING,
                overrun=policy,
                same_instant=same_instant,
                users=users,
                failures=given.failures,
                signal=given.signal,
                may_wait=given.may_wait,
                power_cap=given.power_cap,
                check_invariants=checked,
                out=out,
                workers=workers or cores(),
                isolate=True,
                progress=partial(bar.show, noun="runs"),
            )
        except ComparisonInterrupted as error:
            comparison = error.comparison
    if comparison.basis == "resamples" and isinstance(samples, Workload) and (reason := way_of(samples).reason):
        say("note", f"{source.name} is {reason}: {RESAMPLED_BY_DAYS if way_of(samples).unit else AS_IT_STANDS}")
    _report(comparison, source, out)


def _report(comparison: Comparison, source: Source, out: Path | None) -> None:
    """Print the table of the finished runs, then the failures."""
    shown = comparison_shown(comparison, source.name)
    finish(comparison_answer(comparison), comparison_json(comparison, source.name), *shown)
    if out is not None:
        say("note", f"{len(comparison.runs)} results saved in {out}")
    failed = [
        f"dispatcher {failure.dispatcher}, predictor {failure.predictor}, seed {failure.seed}: {failure.error}"
        for failure in comparison.failures
    ]
    for line in failed[:-1]:
        say("error", line)
    if comparison.interrupted:
        for line in failed[-1:]:
            say("error", line)
        raise InterruptedRunError(f"{len(comparison.runs)} of {comparison.planned} runs finished")
    if failed:
        raise RunFailedError(failed[-1], comparison.failures[-1].traceback)
