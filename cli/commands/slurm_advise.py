"""``hpcdispatch slurm advise``: compare the next starts of another dispatcher with Slurm's plan. Judge them later."""

import math
import shlex
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import click
import numpy as np

from ...analysis.kept_forecasts import keep, read_kept
from ...analysis.kept_submission import locked, read_journal, write_journal
from ...analysis.site_cases import SiteRecord
from ...analysis.site_rules import under_rules
from ...analysis.site_scenarios import Texts
from ...analysis.start_advice import Advice, NiceChange, NiceJournal, advised_starts, nice_changes
from ...analysis.start_forecasts import LEARNED
from ...analysis.what_if import what_if
from ...base import InputError
from ...base.command_arguments import job_argument
from ...base.unfinished_files import temporary_folder
from ...bench.reports.number_formats import NOTHING, count
from ...bench.reports.tables import Table
from ...bench.reports.verdict import against
from ...predictors import create as create_predictor
from ...workloads.fetching import cache_folder
from ...workloads.slurm_workload import slurm_workload, started_at
from ..app import OUTPUT, subcommand
from ..command_errors import say
from ..output import exact, finish, headed, time
from ..parameters import option
from ..progress import spinner
from ..shared_options import validate
from ..site_options import SnapshotFiles
from ..slurm_answers import PATIENCE, CommandFailedError, answer
from ..slurm_moment import Moment, SiteAnswers, asked_files, moment_of


@dataclass(frozen=True, slots=True)
class Advising:
    """The advising dispatcher, the amount of output, and the folder of the records."""

    dispatcher: Annotated[str, option("Whose advice.", "NAME", default="lookahead", group="Advice")]
    predictor: Annotated[str, option("Learns run times.", "NAME[:...]", default=LEARNED)]
    next: Annotated[int, option("Starts.", "N", default=10)]
    most_nice: Annotated[
        int, option("Most that --yes adds to the Nice of a job.", "N", click.IntRange(1, 10_000), default=100)
    ]
    kept: Annotated[
        Path | None,
        option("Where advice and its journal are kept.", "FOLDER", click.Path(file_okay=False, path_type=Path)),
    ]


@subcommand(
    "advise",
    "hpcdispatch slurm advise --dispatcher lookahead",
    "hpcdispatch slurm advise --judge",
    "hpcdispatch slurm advise --undo",
)
def advise(
    moment: SnapshotFiles,
    answers: SiteAnswers,
    advising: Advising,
    judged: Annotated[bool, option("Say what came of the advice that was kept.", name="--judge", group=OUTPUT)],
    yes: Annotated[bool, option("Set Nice of jobs that the dispatcher starts later.")],
    undo: Annotated[bool, option("Set Nice back to what it was before --yes.")],
) -> None:
    """Print which jobs a dispatcher would start next, beside Slurm's plan, with reasons.

    Nothing is changed by default. With --yes, the Nice of waiting jobs grows, within --most-nice. Then the first jobs
    of the dispatcher come before them. Option --undo restores it. No job is held, released or stopped. Advice is kept,
    and --judge compares it with the later starts.
    """
    if judged + yes + undo > 1:
        raise InputError("--judge, --yes, --undo: expected one of them")
    folder = advising.kept or cache_folder() / "advice"
    log = folder / "advice.jsonl"
    journal = folder / "nice.json"
    if undo:
        _undo(journal)
        return
    if judged:
        _judge(read_kept(log, Advice, "advice record"), answers)
        return
    validate([advising.dispatcher], [advising.predictor])
    with moment_of(moment, answers, f"planning with {advising.dispatcher}") as now:
        made = _advice(now, advising)
    keep(log, made)
    commands = []
    if yes:
        if moment.squeue is not None:
            raise InputError("--yes: expected to ask Slurm itself, got files of what it printed")
        folder.mkdir(parents=True, exist_ok=True)
        with locked(journal, PATIENCE):
            commands = _set_nice(now, made, advising, journal)
    _print(made[: advising.next], advising, commands)


def _advice(now: Moment, advising: Advising) -> list[Advice]:
    """Return the advice on all waiting jobs, the first start first."""
    ruled, missing = under_rules(now.workload, now.site, now.limits, now.reservations, now.zero)
    if missing:
        say("note", f"{advising.dispatcher} has no {', '.join(missing)}")
    learned = create_predictor(advising.predictor), create_predictor(advising.predictor)
    found = advised_starts(now.workload, ruled, now.state, now.slurm(), advising.dispatcher, learned)
    waiting = now.snapshot.by_id()
    return [
        Advice(
            now.snapshot.now,
            id_,
            advising.dispatcher,
            advising.predictor,
            start + now.zero,
            None if math.isnan(model) else model + now.zero,
            waiting[id_].expected if id_ in waiting else None,
            reason,
        )
        for id_, (start, model, reason) in found.items()
    ]


def _set_nice(now: Moment, made: list[Advice], advising: Advising, journal: Path) -> list[str]:
    """Set Nice of the jobs that the dispatcher starts later. Each change is recorded before it is made."""
    waiting = now.snapshot.by_id()
    order = list(dict.fromkeys(waiting[each.job].id for each in made))
    priorities = {job.id: job.priority for job in now.snapshot.waiting}
    before = dict(line.split("|") for line in answer(["squeue", "-h", "-t", "PD", "-o", "%A|%y"]).decode().split())
    nice = {id_: int(value) for id_, value in before.items()}
    kept = read_journal(journal, NiceJournal, "changes of Nice") or NiceJournal()
    commands = []
    for change in nice_changes(order, priorities, nice, advising.most_nice, advising.next):
        if change.job not in nice:
            continue
        kept = NiceJournal((*kept.changes, change))
        write_journal(journal, kept)
        commands += _given(change.job, change.nice)
    return commands


def _undo(journal: Path) -> None:
    """Restore Nice, the last change first. Each restored change is removed from the record."""
    journal.parent.mkdir(parents=True, exist_ok=True)
    with locked(journal, PATIENCE):
        kept = read_journal(journal, NiceJournal, "changes of Nice") or NiceJournal()
        commands = []
        changes: tuple[NiceChange, ...] = kept.changes
        while changes:
            commands += _given(changes[-1].job, changes[-1].before)
            changes = changes[:-1]
            write_journal(journal, NiceJournal(changes))
    finish(f"{count(len(commands), 'change')} taken back.", {"commands": commands, "advice": []}, *commands)


def _given(job: str, nice: int) -> list[str]:
    """Set the Nice of a job. Return the command, empty if Slurm refuses it."""
    command = ["scontrol", "update", f"JobId={job_argument(job, 'advise')}", f"Nice={nice}"]
    try:
        answer(command)
    except CommandFailedError as error:
        say("note", f"job {job}: {error}")
        return []
    return [shlex.join(command)]


def _print(made: list[Advice], advising: Advising, commands: list[str]) -> None:
    rows = [
        (
            each.job,
            exact(max(0, each.start - each.made)),
            *(NOTHING if at is None else exact(max(0, at - each.made)) for at in (each.model, each.slurm)),
            each.reason,
        )
        for each in made
    ]
    columns = ("job", *map(headed, ("starts in", "in the model", "Slurm says")), "why")
    fields = {"advice": [asdict(each) for each in made], "commands": commands}
    if not made:
        finish("No job waits that can be planned.", fields)
        return
    sooner = sum(each.model is None or each.start < each.model for each in made)
    answered = (
        f"{advising.dispatcher} starts job {made[0].job} next; of the next {count(len(made), 'job')} "
        f"it starts {sooner} sooner than the model of Slurm."
    )
    finish(answered, fields, Table("", columns, rows).terminal(), *commands)


def _judge(made: list[Advice], answers: SiteAnswers) -> None:
    """Simulate the dispatcher from each moment on with the recorded jobs, and compare the waits."""
    groups: dict[tuple[int, str, str], list[Advice]] = {}
    for each in made:
        groups.setdefault((each.made, each.dispatcher, each.predictor), []).append(each)
    waits = []
    with temporary_folder() as folder, spinner("simulating what really came"):
        config, sacct, limits, reserved = asked_files(answers, Path(folder))
        load = partial(slurm_workload, sacct, timezone=answers.timezone)
        zero = started_at(load(config))
        for (at, dispatcher, predictor), group in groups.items():
            texts = Texts(config, limits, reserved)
            try:
                record = SiteRecord.read(texts, answers.shares, load, at - zero)
            except InputError:  # All recorded jobs had ended by then.
                continue
            ids = {each.job for each in group}
            chosen = np.array([id_ in ids for id_ in record.workload.columns.texts()])
            rival = replace(record.rivals([dispatcher])[0], predictor=predictor)
            real, model, other = what_if([record.baseline(), rival], ())
            since = at - zero - record.workload.columns.submit
            known = chosen & ~np.isnan(real.waits) & ~np.isnan(model.waits) & ~np.isnan(other.waits)
            waits.append(np.array([each.waits[known] - since[known] for each in (real, model, other)]))
    found = np.concatenate([np.empty((3, 0)), *waits], axis=1)
    fields = {"moments": len(groups), "known": found.shape[1]}
    if not found.shape[1]:
        finish("None of the jobs has started: nothing to judge yet.", fields)
        return
    recorded, model_wait, other_wait = found.mean(axis=1)
    fields |= {"recorded_s": recorded, "model_s": model_wait, "dispatcher_s": other_wait}
    told = (
        f"{count(found.shape[1], 'job')} of {count(len(groups), 'moment')} waited {time(recorded)} more on average, "
        f"and {time(model_wait)} in the model"
    )
    ratio = other_wait / model_wait if model_wait > 0 else math.nan
    names = ", ".join(dict.fromkeys(each.dispatcher for each in made))
    finish(f"{told}; under {names} {time(other_wait)}, {against('the model', ratio)}.", fields)
