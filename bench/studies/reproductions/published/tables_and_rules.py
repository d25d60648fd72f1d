"""Published tables of SC 2015, RLScheduler and HPCOpt: theirs, ours and the deviation; and one rule at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from .....workloads.fetching import at_hand as file_at_hand
from ...published import hpcopt, one_rule, rlscheduler, sc15
from ...published.one_rule import Change
from ...published.values import NEAR, Value, at_hand
from ..outcome import Claim, ComparedFigure, Run, Scale, StudyOutcome, StudySettings

#: Traces of each scale. The smallest takes a minute, `full` all that is there.
_SC15: Mapping[Scale, Sequence[str]] = {
    "smoke": ("kth-sp2",),
    "brief": ("kth-sp2",),
    "small": ("kth-sp2", "ctc-sp2"),
    "full": tuple(sc15.TABLE),
}
_RLSCHEDULER: Mapping[Scale, Sequence[str]] = {
    "smoke": ("lublin-256",),
    **dict.fromkeys(("brief", "small", "full"), tuple(rlscheduler.TABLE)),
}
_HPCOPT: Mapping[Scale, Sequence[str]] = {
    "smoke": ("ctc-sp2",),
    "brief": ("ctc-sp2", "sdsc-sp2"),
    **dict.fromkeys(("small", "full"), tuple(hpcopt.TABLE)),
}
_ALL_EQUAL = "every start is that of an independent simulator with the rules of the paper"
_ALL_MET = f"every value is within {NEAR:.1%} of the published one"


def _files(traces: Iterable[str], notes: list[str]) -> Iterator[tuple[str, Path]]:
    """Yield the traces that are there. Note the others."""
    for trace in traces:
        if trace in sc15.FILES:
            path = file_at_hand(sc15.FILES[trace])
            wanted = f"; put {sc15.FILES[trace]} into the folder that HPCDISPATCH_DATA names"
        else:
            path, wanted = next(at_hand([trace]))[1], ""
        if path is None:
            notes.append(f"{trace} is not at hand and left out{wanted}.")
        else:
            yield trace, path


def _rows(values: Sequence[Value], metric: str, digits: int) -> list[ComparedFigure]:
    rows = []
    for each in values:
        subject = f"{each.trace}, {each.setting}"
        rows.append(ComparedFigure(subject, metric, each.ours, each.theirs, digits=digits))
        rows.append(ComparedFigure(subject, "deviation, %", 100 * each.deviation, digits=2))
        rows.append(ComparedFigure(subject, "jobs", each.jobs))
        rows.append(ComparedFigure(subject, "equal starts", each.equal_starts))
    return rows


def equal_claims(values: Sequence[Value]) -> list[Claim]:
    """Return the claim that all starts are those of an independent simulator."""
    counted = [each for each in values if each.equal_starts is not None]
    if not counted:
        return []
    equal, jobs = sum(each.equal_starts or 0 for each in counted), sum(each.jobs for each in counted)
    return [Claim(_ALL_EQUAL, equal == jobs, f"{equal:,} of {jobs:,} starts in {len(counted)} settings")]


def claim_of(text: str, values: Sequence[Value]) -> list[Claim]:
    """Return the claim that all of some values are met."""
    if not values:
        return []
    met = [each.met for each in values]
    worst = max(values, key=lambda each: abs(each.deviation))
    where = f"{worst.deviation:+.2%}, {worst.trace}, {worst.setting}"
    evidence = f"{sum(met)} of {len(met)}; the largest deviation is {where}"
    return [Claim(text, all(met), evidence)]


def sc15_values(means: StudySettings) -> StudyOutcome:
    """Make the values of SC 2015 again."""
    notes = [f"{sc15.RULES.paper}. Rules: `--conventions sc15`. Simulations are deterministic; there is one run each."]
    most = 3 if means.scale == "smoke" else None
    values = [value for trace, path in _files(_SC15[means.scale], notes) for value in sc15.values(trace, path, most)]
    if any(each.setting.startswith("pyss-easy") for each in values):
        notes.append(
            "`pyss-easy` is EASY of pyss: at an arrival it decides only if the new job fits. Without corrections of "
            "predictions that changes nothing."
        )
    claims = claim_of(_ALL_MET, values) + equal_claims(values)
    return StudyOutcome(tuple(notes), tuple(_rows(values, "bounded slowdown", 2)), tuple(claims), runs="1 trace each")


def rlscheduler_values(means: StudySettings) -> StudyOutcome:
    """Make Table V of RLScheduler again."""
    notes = [
        f"{rlscheduler.RULES.paper}, Table V. Rules: `--conventions rlscheduler`, and its backfilling as the plug-in "
        "`sc20`. Ten windows of 1,024 jobs. The second trace of the Lublin model, with six values, is not at hand."
    ]
    files = _files(_RLSCHEDULER[means.scale], notes)
    values = [value for trace, path in files for value in rlscheduler.values(trace, path)]
    rows = _rows(values, "bounded slowdown", 2)
    claims = claim_of(_ALL_MET, values) + equal_claims(values)
    return StudyOutcome(tuple(notes), tuple(rows), tuple(claims), runs="10 windows")


def hpcopt_values(means: StudySettings) -> StudyOutcome:
    """Make the table of HPCOpt again."""
    notes = [f"{hpcopt.RULES.paper}. Rules: `--conventions hpcopt`, and its backfilling as plug-ins."]
    files = _files(_HPCOPT[means.scale], notes)
    values = [value for trace, path in files for value in hpcopt.values(trace, path)]
    rows = _rows(values, "mean wait, s", 0)
    claims = claim_of(_ALL_MET, values) + equal_claims(values)
    return StudyOutcome(tuple(notes), tuple(rows), tuple(claims), runs="1 trace each")


def one_rule_at_a_time(means: StudySettings) -> StudyOutcome:
    """Show what each rule of the papers changes."""
    notes = [
        "One rule is another one, all others are the paper's. The first line of a setting has the rules of the paper. "
        "SC 2015 and RLScheduler: mean bounded slowdown; HPCOpt: mean wait in seconds.",
        "WFP3 and UNICEP of RLScheduler rest on a wait of -1 less the submission: a job that waits has the start -1. "
        "So they prefer jobs that came early and ask for much time. With real waits they are other orders.",
    ]
    changes = [change for make, trace, path in _studies(means.scale, notes) for change in make(trace, path)]
    rows, base = [], dict[tuple[str, str, str], float]()
    for each in changes:
        key = each.paper, each.trace, each.setting
        base.setdefault(key, each.value)
        subject = f"{', '.join(key)}: {each.rule or 'rules of the paper'}"
        rows.append(ComparedFigure(subject, "value", each.value, digits=2))
        rows.append(ComparedFigure(subject, "change, %", 100 * (each.value / base[key] - 1), digits=1))
    return StudyOutcome(tuple(notes), tuple(rows), (), runs="1 trace each")


_Study = Callable[[str, Path], Iterator[Change]]


def _studies(scale: Scale, notes: list[str]) -> Iterator[tuple[_Study, str, Path]]:
    """Yield what is changed, and on which trace."""
    rows = (("easy", "walltime"), ("easy-sjbf", "AVG2, doubling"), ("pyss-easy", "AVG2, tsafrir"))
    studies: dict[str, list[_Study]] = {
        "lublin-256": [lambda trace, path: one_rule.of_rlscheduler(trace, path, "F1"), one_rule.of_waits]
    }
    if scale == "brief":
        studies["kth-sp2"] = [lambda trace, path: one_rule.of_sc15(trace, path, rows[1:])]
    if scale in ("small", "full"):
        studies["sdsc-sp2"] = [lambda trace, path: one_rule.of_rlscheduler(trace, path, "SJF")]
        studies["kth-sp2"] = [lambda trace, path: one_rule.of_sc15(trace, path, rows)]
        studies["ctc-sp2"] = [one_rule.of_hpcopt]
    if scale == "full":
        studies["ctc-sp2"] += [lambda trace, path: one_rule.of_sc15(trace, path, rows)]
        studies["curie"] = [lambda trace, path: one_rule.of_sc15(trace, path, (("easy", "walltime"),))]
    for trace, path in _files(studies, notes):
        for make in studies[trace]:
            yield make, trace, path


RUNS: Mapping[str, Run] = {
    "published/sc15": sc15_values,
    "published/rlscheduler": rlscheduler_values,
    "published/hpcopt": hpcopt_values,
    "published/rules": one_rule_at_a_time,
}
