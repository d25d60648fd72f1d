"""Format an outcome as text tables, for the terminal and Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from ...reports.number_formats import NOTHING, fixed, interval
from ...reports.tables import Table
from .controls import Trials
from .outcome import Claim, ClaimKind, ComparedFigure, Parameter, Precondition

VERDICTS = {True: "holds", False: "does not hold", None: "not decided"}
UNTESTABLE = "not testable here"
#: The second mark of a claim that holds.
MARKS = {True: "needs the system", False: "holds without it", None: "not decided without it"}
#: Marker of a paper's claim in its evidence. Claims without it are ours.
PAPER = "; the paper"
#: How a claim of each kind is marked.
KINDS: dict[ClaimKind, str] = {"tested": "", "construction": "by construction", "calibrated": "calibrated"}


def published(value: float) -> str:
    """Return a number with the digits that the paper prints."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,g}"


def numbers(rows: Sequence[ComparedFigure]) -> Table:
    """Return one line per subject and one column per metric. Published numbers add a column.

    If the paper has none and metrics outnumber the subjects, metrics become the lines.
    """
    metrics = list(dict.fromkeys(row.metric for row in rows))
    subjects = list(dict.fromkeys(row.subject for row in rows))
    figures = {(row.subject, row.metric): row for row in rows}
    printed = {row.metric for row in rows if row.published is not None}
    if not printed and len(metrics) > len(subjects):
        flipped = [[metric, *(_cell(figures.get((subject, metric))) for subject in subjects)] for metric in metrics]
        return Table("Measured", ["", *subjects], flipped)
    columns = [""]
    for metric in metrics:
        columns += [metric, "paper"] if metric in printed else [metric]
    lines = []
    for subject in subjects:
        line = [subject]
        for metric in metrics:
            row = figures.get((subject, metric))
            line.append(_cell(row))
            if metric in printed:
                line.append("" if row is None or row.published is None else published(row.published))
        lines.append(line)
    return Table("Measured, and what the paper has" if printed else "Measured", columns, lines)


def verdicts(claims: Sequence[Claim], trials: Trials | None = None) -> Table:
    """Return one line per claim: its verdict, its mark, what was measured, and what it does under controls."""
    timed = {True: " (measured times)", False: ""}
    lines = [
        [
            claim.text,
            verdict(claim),
            mark(claim, trials),
            _grounds(claim) + timed[claim.timed],
            _controls(claim, trials),
        ]
        for claim in claims
    ]
    if trials is None or len(trials.verdicts) < 2:
        return Table("Claims", ["claim", "", "measured"], [[*line[:2], line[3]] for line in lines], labels=3)
    return Table("Claims", ["claim", "", "system", "measured", "under controls"], lines, labels=5)


def _controls(claim: Claim, trials: Trials | None) -> str:
    if trials is None:
        return ""
    controls = {words: trials.under(claim.text, holds) for holds, words in VERDICTS.items()}
    return "; ".join(f"{words}: {', '.join(names)}" for words, names in controls.items() if names)


def marked(claim: Claim, trials: Trials | None) -> bool | None:
    """Return whether a claim that holds needs its system. ``None`` if no control decides."""
    return None if trials is None else trials.needs(claim.text)


def mark(claim: Claim, trials: Trials | None) -> str:
    """Return the second mark of a claim, in words. Only a claim that holds has one."""
    return MARKS[marked(claim, trials)] if claim.holds and claim.counts else ""


def is_ours(claim: Claim) -> bool:
    """Return whether the paper has no such claim."""
    return PAPER not in claim.evidence or claim.text.startswith("Ours")


def verdict(claim: Claim) -> str:
    """Return the result of a claim, in words."""
    if claim.unmet:
        return UNTESTABLE
    return ", ".join(filter(None, (VERDICTS[claim.holds], KINDS[claim.kind])))


def under_controls(trials: Sequence[Trials]) -> Table:
    """Return, by study and control, what the claims that hold of the system do whose point it removes."""
    rows = []
    for each in trials:
        held = each.held()
        for control in filter(None, each.verdicts):
            own = [text for text in held if control in each.removing(text)]
            judgements = [each.verdicts[control].get(text) for text in own]
            counts = [str(sum(holds is kind for holds in judgements)) for kind in (False, True, None)]
            rows.append([each.name, control, each.scale, each.runs or "-", str(len(own)), *counts])
    columns = [
        "name",
        "what replaces the system",
        "scale",
        "runs",
        "claims that hold and that it concerns",
        "fail",
        "hold",
        "not decided",
    ]
    return Table("## Controls", columns, rows, labels=4)


def conditions(preconditions: Sequence[Precondition]) -> Table:
    """Return one line per precondition."""
    met = {True: "met", False: "not met"}
    lines = [[condition.text, met[condition.met], condition.evidence] for condition in preconditions]
    return Table("Preconditions", ["precondition", "", "measured"], lines, labels=3)


def unprinted(parameters: Sequence[Parameter]) -> Table:
    """Return one line per parameter that the paper does not print."""
    lines = [[parameter.name, parameter.value, parameter.chosen_by, parameter.sensitivity] for parameter in parameters]
    return Table("Not printed in the paper", ["parameter", "value", "chosen by", "with other values"], lines, labels=4)


def tally(claims: Sequence[Claim], trials: Trials | None = None) -> str:
    """Return how many claims hold, fail or are undecided. Others are counted separately."""
    return tally_all([(claim, trials) for claim in claims])


def tally_all(judged: Sequence[tuple[Claim, Trials | None]]) -> str:
    """Return the tally of several studies' claims. Each study comes with its results under controls.

    Those that hold are split by their mark.
    """
    counted = [(claim, trials) for claim, trials in judged if claim.counts]
    count = {verdict: sum(claim.holds is verdict for claim, _ in counted) for verdict in VERDICTS}
    marks = [marked(claim, trials) for claim, trials in counted if claim.holds]
    short = {True: "need the system", False: "hold without it", None: "not decided without it"}
    split = ", ".join(f"{marks.count(kind)} {words}" for kind, words in short.items() if kind in marks)
    named = {True: f"hold ({split})" if split else "hold", False: "do not", None: "not decided"}
    tested = ", ".join(f"{count[verdict]} {name}" for verdict, name in named.items() if count[verdict] or verdict)
    left = [claim for claim, _ in judged if not claim.counts]
    others = {name: sum(claim.kind == kind and not claim.unmet for claim in left) for kind, name in KINDS.items()}
    others[UNTESTABLE] = sum(bool(claim.unmet) for claim in left)
    shown = ", ".join(f"{number} {name}" for name, number in others.items() if name and number)
    return f"{tested} (not counted: {shown})" if shown else tested


def _grounds(claim: Claim) -> str:
    return f"{claim.evidence}; not met: {claim.unmet}" if claim.unmet else claim.evidence


def _cell(row: ComparedFigure | None) -> str:
    if row is None:
        return ""
    if row.measured is None:
        return NOTHING
    show = partial(fixed, digits=row.digits)
    ends = "" if row.low is None or row.high is None else interval(row.low, row.high, show)
    return f"{show(row.measured)} {ends}".rstrip()


def clean(value: Any) -> Any:
    """Return a JSON value without non-finite numbers and unneeded digits."""
    if isinstance(value, float):
        return float(f"{value:.10g}") if math.isfinite(value) else None
    return value
