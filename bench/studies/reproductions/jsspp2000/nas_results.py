"""Results for NAS benchmarks in place of jobs. Table 3 and figures 10 to 12."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pandas as pd

from ..claims import given
from ..outcome import Claim, ComparedFigure, Parameter, Run, StudyOutcome, StudySettings
from .downey_results import by_accuracy, cases_of
from .drawn_cases import BEST, NAS, OPERATIONS, RATE, SERIAL, USER
from .geometric_means import contrast, gains, less, logarithms, mean, more, parts
from .measured_cases import cases_in_words, measured
from .recorded_logs import LOGS_NOTE
from .strategy_outcomes import (
    agreeing,
    close,
    differing,
    drawing_by,
    overall_rows,
    promises,
    rows_by,
    sizes_drawing,
)

_PUBLISHED = {USER: (1164.70, None), NAS: (278.04, 4.19), BEST: (253.05, 4.60)}
_SHOWN = (USER, NAS, BEST)
_NOTES = (
    LOGS_NOTE,
    "The timings of the SP2 are not to be had. A model takes their place: the operations of class B at "
    f"{RATE / 1e6:g} million a second on one processor, and Amdahl's speedup with each benchmark's serial share. So "
    "the figures say how SA does with the sizes of the benchmarks, and nothing of these. A job of the log is replaced "
    "by a benchmark on its size, even if the benchmark does not allow it. Its accuracy a is uniform in 0 to 1.",
    "MG and LU may run on 8 to 256 processors, powers of two. SP and BT may run on 9, 16, 25, 36, 64, 121 and 256, EP "
    "on any number. The best of EP is that of 16 equally spaced sizes and of SA's choice, which flatters SA there.",
)
Judge = Callable[[pd.DataFrame], Iterator[Claim]]


def table3(means: StudySettings) -> StudyOutcome:
    """Return turnaround and relative performance, over all. Downey's model is beside them."""
    cases = measured(["nas"], means)
    conditions = differing(cases, [NAS])
    agreement = agreeing(cases)
    rows = [*overall_rows(cases, "all benchmarks", _PUBLISHED)]
    claims = [*_overall(cases, cases_of(means)["literal"])]
    every = (*given(claims, [*conditions.values(), agreement]), *promises(cases))
    shown = (*conditions.values(), agreement)
    return StudyOutcome(
        _NOTES,
        tuple(rows),
        every,
        sizes_drawing(cases, _SHOWN),
        shown,
        _parameters(cases),
        cases_in_words(means, "nas"),
    )


def _overall(cases: pd.DataFrame, drawn: pd.DataFrame) -> Iterator[Claim]:
    yield more("SA improves the turnaround at least fourfold", mean(gains(cases, NAS), cases), 4.0, "ratio", "4.19")
    yield close(cases, NAS, "")
    ratio = contrast(gains(cases, NAS), cases, gains(drawn, "SA-7"), drawn)
    text = "SA gains more than with Downey's model and 7 choices"
    yield more(text, ratio, 1.0, "ratio", "4.19 / 2.78")
    yield more(f"{text}, by as much as published", ratio, 4.19 / 2.78, "ratio", "4.19 / 2.78")


def _parameters(cases: pd.DataFrame) -> tuple[Parameter, ...]:
    """Return the substitute for the timings, and SA's gain with it."""
    by_benchmark = "; ".join(
        f"{name} ({OPERATIONS[name] * 1e9 / RATE:,.0f} s, serial {SERIAL[name]:g}) "
        f"{mean(gains(cases[cases['benchmark'] == name], NAS), cases[cases['benchmark'] == name])}"
        for name in OPERATIONS
    )
    return (
        Parameter(
            "run times of the benchmarks",
            "a model",
            "operations counted in NAS-95-010, class B; the rate and the serial shares by nothing better known",
            f"relative performance by benchmark: {by_benchmark}",
        ),
    )


def fig10(means: StudySettings) -> StudyOutcome:
    """Return turnaround and relative performance by what restricts the sizes."""
    cases = measured(["nas"], means)
    groups = {"powers of two (MG, LU)": ("MG", "LU"), "squares (SP, BT)": ("SP", "BT"), "any (EP)": ("EP",)}
    each = {name: cases[cases["benchmark"].isin(members)] for name, members in groups.items()}
    rows: list[ComparedFigure] = []
    for name, part in each.items():
        rows += overall_rows(part, name)
    conditions = differing(cases, [NAS])
    free = each["any (EP)"]
    bound = cases[cases["benchmark"] != "EP"]
    ratio = contrast(gains(free, BEST), free, gains(bound, BEST), bound)
    claims = [
        more("The maximum improvement is greater for EP than for the others", ratio, 1.0, "ratio", "it is"),
        close(free, NAS, ": EP"),
    ]
    shown = tuple(conditions.values())
    return StudyOutcome(
        _NOTES, tuple(rows), given(claims, shown), sizes_drawing(free, _SHOWN), shown, runs=cases_in_words(means, "nas")
    )


def _figure(column: str, label: str, judge: Judge) -> Run:
    def run(means: StudySettings) -> StudyOutcome:
        cases = measured(["nas"], means)
        conditions = tuple(differing(cases, [NAS]).values())
        drawing = drawing_by({"NAS": cases}, column, label, _SHOWN, log_x=False)
        rows = rows_by({"NAS": cases}, column, (NAS,))
        return StudyOutcome(
            _NOTES, rows, given(judge(cases), conditions), drawing, conditions, runs=cases_in_words(means, "nas")
        )

    return run


def _by_load(cases: pd.DataFrame) -> Iterator[Claim]:
    """Return the claims of figure 11."""
    each = parts(cases, "N")
    for name in _SHOWN:
        ratio = contrast(logarithms(each[-1], name), each[-1], logarithms(each[0], name), each[0])
        yield more(f"The turnaround rises with N: {name}, last tenth over first", ratio, 1.0, "ratio", "it increases")
    low = cases[cases["N"] < 0.1]
    middle = cases[cases["N"].between(0.1, 0.2)]
    for name in (NAS, BEST):
        ratio = contrast(gains(middle, name), middle, gains(low, name), low)
        yield less(
            f"The relative performance falls with N up to 0.2: {name}, 0.1 to 0.2 over below",
            ratio,
            1.0,
            "ratio",
            "it tends to decrease",
        )


def _by_accuracy(cases: pd.DataFrame) -> Iterator[Claim]:
    """Return the claims of figure 12."""
    return by_accuracy(cases, NAS)


BENCHMARKS: dict[str, Run] = {
    "jsspp2000/table3": table3,
    "jsspp2000/fig10": fig10,
    "jsspp2000/fig11": _figure("N", "jobs in the system over processors, N", _by_load),
    "jsspp2000/fig12": _figure("a", "accuracy of the requests a", _by_accuracy),
}
