"""``hpcdispatch run``: one simulation."""

from pathlib import Path
from typing import Annotated, Any

import click
import pandas as pd

from ...analysis import read_scenario
from ...analysis.simulated_state import from_state
from ...base import LONGEST, FloatArray, InputError
from ...base.installed import names_plug_in
from ...bench.campaigns.cells import CellError
from ...bench.campaigns.molding_specs import molded
from ...bench.campaigns.single_runs import simulate_apart
from ...bench.reports.number_formats import count
from ...bench.reports.verdict import beside_replay, estimate_of_jobs, left_out, of_jobs
from ...simulation import Overrun, Result, check, job_metrics, simulate
from ...simulation.metrics import without_ends
from ...simulation.trimming import NOTHING, Cut
from ...workloads import Workload, closed_loop
from ...workloads.sources import Source
from ..app import OUTPUT, subcommand
from ..command_errors import InterruptedRunError, RunFailedError, say
from ..completion import part_names, workload_names
from ..durations import SecondsOrDuration
from ..interrupts import Interrupts
from ..output import finish, summary_shown, time
from ..parameters import argument, option
from ..progress import JobBar, spinner
from ..shared_options import (
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
    make_folder,
    seed_option,
    split_specs,
    validate,
)
from ..trace_argument import load, resolve, under_conventions

#: The baseline of the answer.
BASE = "easy"
#: Most jobs of a workload for which the baseline is simulated as well.
MOST_COMPARED = 100_000


def _one(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Refuse a list."""
    if len(names := split_specs((value,), str(param.name))) > 1:
        told = f"expected one {param.name}, got {len(names)}; 'hpcdispatch compare' takes several"
        raise click.BadParameter(told, ctx, param)
    return value


@subcommand(
    "run",
    "hpcdispatch run trace.swf.gz --dispatcher easy --predictor last2 --overrun kill --check --out results",
    "hpcdispatch run lublin:jobs=5000,load=0.9 --dispatcher conservative:compress=once",
)
def command(
    trace: Annotated[tuple[str, ...], argument(shell_complete=workload_names)],
    dispatcher: Annotated[
        str,
        option(
            "Name with options.",
            "NAME",
            default="easy",
            callback=_one,
            group="Simulation",
            shell_complete=part_names("dispatchers"),
        ),
    ],
    predictor: Annotated[
        str,
        option("Of run times.", "NAME", default="walltime", callback=_one, shell_complete=part_names("predictors")),
    ],
    overrun: OverrunOption,
    same_instant: SameInstantOption,
    conventions: ConventionsOption,
    mold: MoldOption,
    users: UsersOption,
    warm_up: WarmUpOption,
    cool_down: CoolDownOption,
    seed: Annotated[int, seed_option("Of a generated workload and of a dispatcher that draws.")],
    state: Annotated[
        Path | None,
        option(
            "Begin with what runs and waits there, a file as evict reads it; the jobs of TRACE, if any, come after.",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
        ),
    ],
    checked: CheckOption,
    budget_seconds: Annotated[
        float | None,
        option(
            "End it after so long, in seconds or as 5m; it then runs in a process of its own, as with a plug-in.",
            "S",
            SecondsOrDuration(min=0, min_open=True, max=LONGEST),
        ),
    ],
    conditions: ConditionOptions,
    reading: ReadingOptions,
    out: Annotated[Path | None, option("Save the result (Parquet and a manifest).", "DIR", group=OUTPUT)],
) -> None:
    """Simulate one dispatcher on a workload and print its metrics.

    TRACE is a file, or several of one trace, or NAME[:key=value,...] of a generator, or the name of a published trace.
    'hpcdispatch list' shows the names. Without TRACE: the built-in workload.

    The answer compares the mean wait with that of easy on the same jobs, for up to 100,000 jobs.

    With --users react, jobs of a session (gaps of 20 minutes) follow the end of the job before by the recorded think
    time. The answer says whether the replay with the recorded submissions agrees.
    """
    policy = Overrun.parse(overrun)
    validate([dispatcher], [predictor])
    given_conditions = conditions.read()
    begin = None if state is None else read_scenario(state)
    if begin is not None and not trace:
        source = Source(str(state))
        (workload, started) = from_state(begin)
    else:
        source, started = resolve(*trace), None
        reading = under_conventions(conventions, source, reading)
        workload = molded(load(source, reading, seed), mold, seed)
        if begin is not None:
            workload, started = from_state(begin, workload)
    recorded = workload
    if users == "react":
        if begin is not None:
            raise InputError("--users react: expected a trace alone, got --state, whose jobs have no recorded waits")
        workload = closed_loop(workload)
        say("note", workload.provenance.notes[-1])
    before = len(workload.provenance.notes)
    workload = given_conditions.on(workload, seed)
    for note in workload.provenance.notes[before:]:
        say("note", note)
    make_folder(out)
    given: dict[str, Any] = {"overrun": str(policy), "same_instant": same_instant, "seed": seed, "state": started}
    try:
        with JobBar(dispatcher, len(workload)) as bar:
            result = _simulated(workload, dispatcher, predictor, bar, given, budget_seconds)
        if checked:
            with spinner("checking the invariants"):
                check(workload, result)
    except KeyboardInterrupt:
        raise InterruptedRunError(f"after {bar.done:,} of {len(workload):,} jobs") from None
    except (RunFailedError, OSError):
        raise
    except Exception as error:
        if started is not None and isinstance(error, InputError):
            raise
        where = f"dispatcher {dispatcher}, predictor {predictor}"
        raise RunFailedError(f"{where}: {type(error).__name__}: {error}") from error
    if given_conditions.grid is not None:
        result = result.with_signal(given_conditions.grid)
    cuts = (warm_up or NOTHING, cool_down or NOTHING)
    summary = result.summary(*cuts)
    if "dropped_shapes" in summary:
        say("note", f"{count(summary['dropped_shapes'], 'shape')} dropped: the machine has no room for them")
    if summary.get("failures"):
        told = result.decisions["failure"]
        told = told[told != ""]
        first = ", the first" if len(told) > 1 else ""
        say("note", f"failures in {count(len(told), 'decision')}{first}: {told.iloc[0]}")
    refused = result.jobs[result.jobs["status"] == "rejected"]
    if len(refused):
        say("note", f"{count(len(refused), 'job')} rejected, job {refused['id'].iloc[0]}: {refused['reason'].iloc[0]}")
    easy = _baseline(workload, result, predictor, given)
    fields: dict[str, Any] = {
        **summary,
        "baseline": easy and {"dispatcher": BASE, "wait_mean": easy.summary(*cuts)["wait_mean"]},
    }
    fields |= {"warm_up": str(cuts[0]), "cool_down": str(cuts[1]), "submissions": users}
    answer = _answer(result, easy, *cuts)
    if users == "react":
        answer = f"As users react: {answer}"
        if easy is not None:
            answer += " " + _replayed(recorded, (result, easy), (dispatcher, predictor), given, budget_seconds, cuts)
    finish(answer, fields, *summary_shown(summary, source.name, result.manifest))
    if checked:
        say("note", "checked: every invariant holds")
    if out is not None:
        result.save(out)
        say("note", f"saved in {out}")


def _simulated(
    workload: Workload,
    dispatcher: str,
    predictor: str,
    bar: JobBar,
    given: dict[str, Any],
    seconds: float | None = None,
) -> Result:
    """Simulate, in another process if there is a plug-in or a budget."""
    if seconds is None and not names_plug_in(dispatcher) and not names_plug_in(predictor):
        return simulate(workload, dispatcher, predictor, **given, progress=bar.update)
    result = simulate_apart(workload, dispatcher, predictor, **given, progress=bar.update, seconds=seconds)
    if isinstance(result, CellError):
        if result.type == "InputError":
            raise InputError(result.message)
        raise RunFailedError(f"dispatcher {dispatcher}, predictor {predictor}: {result}", result.traceback)
    return result


def _baseline(workload: Workload, result: Result, predictor: str, given: dict[str, Any]) -> Result | None:
    """Return the result of easy on the same jobs. None if it is the result itself, takes too long, or fails."""
    if result.manifest["dispatcher"].partition(":")[0] == BASE or len(workload) > MOST_COMPARED:
        return None
    try:
        with JobBar(f"{BASE}, to compare with", len(workload)) as bar:
            return _simulated(workload, BASE, predictor, bar, given)
    except Exception as error:
        if Interrupts.told:
            raise
        say("note", f"no comparison with {BASE}: {type(error).__name__}: {error}")
        return None


def _replayed(
    workload: Workload,
    reacting: tuple[Result, Result],
    named: tuple[str, str],
    given: dict[str, Any],
    seconds: float | None,
    cuts: tuple[Cut, Cut],
) -> str:
    """Return whether a replay with the recorded submissions agrees, in one sentence."""
    dispatcher, predictor = named
    try:
        with JobBar(f"{dispatcher}, submissions as recorded", len(workload)) as bar:
            result = _simulated(workload, dispatcher, predictor, bar, given, seconds)
    except Exception as error:
        if Interrupts.told:
            raise
        return f"The replay with recorded submissions failed: {type(error).__name__}: {error}"
    easy = _baseline(workload, result, predictor, given)
    if easy is None:
        return f"There is no replay of {BASE} with recorded submissions."
    name = result.manifest["dispatcher"]
    here, there = (
        {name: estimate_of_jobs(*waits.T)} if len(waits) else {}
        for waits in (_waits(*pair, *cuts) for pair in (reacting, (result, easy)))
    )
    return beside_replay(here, there, BASE)


def _waits(result: Result, easy: Result, warm_up: Cut, cool_down: Cut) -> FloatArray:
    """Return the waits under both and the submissions of the jobs that ran under both, seconds, shape (jobs, 3)."""
    chosen = [without_ends(each, warm_up, cool_down) for each in (result, easy)]
    waits = [job_metrics(each)["wait"] for each in chosen]
    return pd.concat([*waits, chosen[0]["submit"]], axis=1, join="inner").to_numpy(dtype=float)


def _answer(result: Result, easy: Result | None, warm_up: Cut, cool_down: Cut) -> str:
    """Return the mean wait, against easy."""
    name = result.manifest["dispatcher"]
    chosen = without_ends(result, warm_up, cool_down)
    metrics = job_metrics(chosen)
    if metrics.empty:
        return left_out(f"Under {name} no job starts.", warm_up, cool_down)
    if easy is None:
        mean, longest = time(float(metrics["wait"].mean())), time(float(metrics["wait"].max()))
        told = f"Under {name} a job waits {mean} on average, {longest} at most"
        return left_out(f"{told}; 'hpcdispatch compare' sets others beside it.", warm_up, cool_down)
    both = _waits(result, easy, warm_up, cool_down)
    return left_out(of_jobs(name, both[:, 0], BASE, both[:, 1], both[:, 2], time), warm_up, cool_down)
