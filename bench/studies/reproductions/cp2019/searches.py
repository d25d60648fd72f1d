"""HCP with three searches side by side: CP-SAT, the paper's schedule-or-postpone, and lists alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from .....base import parse_spec
from .....simulation.metrics import job_metrics
from ....campaigns.samples import Samples
from ..claims import less, row
from ..outcome import Claim, ComparedFigure, Drawing, Scale, StudyOutcome, StudySettings
from . import contenders as runs
from . import crowds
from .eurora import Draws
from .months import SimulatedPart

#: Versions and predictions of figure 3.
LABELS = ("HCP1-W", "HCP1-R", "HCP1-D", "HCP2-D", "HCP3-W", "HCP3-R", "HCP3-D")
#: Options of each system. Version 0 has no other option for lists alone than a budget of nothing.
CP_SAT, PAPER, LISTS = "CP-SAT", "schedule or postpone", "lists"
SYSTEMS = {CP_SAT: "", PAPER: "search=schedule-or-postpone", LISTS: "solver=none,iterations=0"}
_FIRST_LISTS = "budget=0"
#: Draws, and jobs of each that are measured. A decision about 100 jobs by the paper's search takes up to a second.
DRAWS: dict[Scale, int] = {"smoke": 1, "brief": 3, "small": 5, "full": 5}
JOBS: dict[Scale, int] = {"smoke": 20, "brief": 60, "small": 500, "full": 3000}
#: What made a schedule that no list has.
_SEARCHED = ("local search", "cp-sat", "schedule-or-postpone")
_UNPLANNED = ("none", "trivial", "unchanged")
_SLOWDOWN, _WAIT = "mean slowdown", "mean wait, s"


def searches(means: StudySettings) -> StudyOutcome:
    """Return slowdown, wait and decisions of HCP by search. Version 0 runs under its budget, where many jobs wait."""
    contest = searched(means)
    pairs = {
        (label, system): with_options(contest.spec(label), options)
        for label in LABELS
        for system, options in SYSTEMS.items()
    }
    results = dict(zip(pairs, contest.simulated(list(pairs.values()), means), strict=True))
    first = [with_options(contest.spec("HCP"), each) for each in (*list(SYSTEMS.values())[:-1], _FIRST_LISTS)]
    stretches = crowds.stretches(contest, means)
    early = zip(*(stretch.simulated(first, means) for stretch in stretches), strict=True)
    results |= {("HCP", system): list(parts) for system, parts in zip(SYSTEMS, early, strict=True)}
    values = {
        place: {metric: _measured(parts, metric) for metric in (_SLOWDOWN, _WAIT)} for place, parts in results.items()
    }
    data: dict[str, list[float | str]] = {"panel": [], "subject": [], "value": [], "deviation": []}
    for (label, system), each in values.items():
        for metric, samples in each.items():
            data["panel"].append(metric)
            data["subject"].append(f"{label}, {system}")
            data["value"].append(float(np.mean(samples)))
            data["deviation"].append(float(np.std(samples)))
    note = (
        "Not in the paper, which has one search. All three get the same jobs and the same model. CP-SAT comes after "
        "lists, bounds and local search. Schedule or postpone is OR-Tools' original solver with the paper's branching, "
        "stopped after 10,000 failures or 20,000 branches for a second of its limit. Lists are list schedules alone, "
        "the best of six. Other than lists: share of the planned decisions that follow a schedule that no list has. "
        "The deviation in the figure is over the draws."
    )
    sizes = f"Here there are {len(means.draws(DRAWS))} draws, and {JOBS[means.scale]} jobs of each are measured."
    return StudyOutcome(
        (*runs.notes(means)[1:], crowds.note(means.scale, len(stretches)), sizes, note),
        tuple(_rows(results, values)),
        tuple(_claims(values)),
        Drawing("bars", data),
        runs=str(len(means.draws(DRAWS))),
    )


def searched(means: StudySettings) -> runs.Contest:
    """Return the samples: those of the other figures with fewer jobs, and fewer of them."""
    contest = runs.eurora(means)
    past = contest.past or runs.PAST["small"]
    [drawn] = contest.samples
    jobs = Draws(runs.JOBS["small"] if means.scale == "full" else runs.JOBS[means.scale], past + JOBS[means.scale])
    samples = Samples(jobs, len(means.draws(DRAWS)), label=f"{drawn.label}, first {past + JOBS[means.scale]}")
    return replace(contest, samples=(samples,), past=past, monthly=False)


def with_options(pair: tuple[str, str], options: str) -> tuple[str, str]:
    """Return dispatcher and predictor with more options of the dispatcher."""
    dispatcher, predictor = pair
    name, known = parse_spec(dispatcher)
    every = [*(f"{key}={value}" for key, value in known.items()), *([options] if options else [])]
    return f"{name}:{','.join(every)}" if every else name, predictor


def _measured(parts: Sequence[SimulatedPart], metric: str) -> list[float]:
    column = "slowdown" if metric == _SLOWDOWN else "wait"
    return [float(job_metrics(part.jobs)[column].mean()) for part in parts]


_Place = tuple[str, str]


def _rows(
    results: dict[_Place, list[SimulatedPart]], values: dict[_Place, dict[str, list[float]]]
) -> Iterator[ComparedFigure]:
    for (label, system), parts in results.items():
        subject = f"{label}, {system}"
        yield row(subject, _SLOWDOWN, values[label, system][_SLOWDOWN], digits=1)
        yield row(subject, _WAIT, values[label, system][_WAIT])
        planned = [part.decisions[~part.decisions["status"].isin(_UNPLANNED)] for part in parts]
        yield ComparedFigure(subject, "planned decisions", float(sum(map(len, planned))))
        searched = sum(int(each["used"].isin(_SEARCHED).sum()) for each in planned)
        yield ComparedFigure(subject, "other than lists, %", 100 * searched / max(1, sum(map(len, planned))), digits=1)
        yield row(subject, "decision, ms", [1000 * float(part.seconds.mean()) for part in parts], digits=2, timed=True)


def _claims(values: dict[_Place, dict[str, list[float]]]) -> Iterator[Claim]:
    for label in dict.fromkeys(label for label, _ in values):
        for system in (CP_SAT, PAPER):
            for metric in (_SLOWDOWN, _WAIT):
                pair = [(f"{label} by {each}", values[label, each][metric]) for each in (system, LISTS)]
                yield less(f"Ours: {label} is better by {system} than by lists: {metric}", pair[0], pair[1])


__all__ = ["LABELS", "SYSTEMS", "searches"]
