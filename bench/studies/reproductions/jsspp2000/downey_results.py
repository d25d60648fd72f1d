"""Jobs with Downey's speedup under each strategy. Table 2 and figures 3 to 9."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pandas as pd

from ..claims import by_construction, elsewhere, given
from ..outcome import Claim, ComparedFigure, Parameter, Run, StudyOutcome, StudySettings
from .drawn_cases import BEST, CHOICES, USER, Kind
from .geometric_means import Ratio, contrast, gains, less, logarithms, mean, more, parts, within
from .measured_cases import cases_in_words, measured
from .recorded_logs import LOGS_NOTE, PUBLIC
from .strategy_outcomes import (
    STRATEGIES,
    agreeing,
    close,
    differing,
    drawing_by,
    overall_rows,
    promises,
    rows_by,
    sizes_drawing,
)

_KINDS: dict[str, Kind] = {"literal": "literal", "least 7": "least-7-for-serial"}
_PUBLISHED = {
    USER: (1259.9, None),
    "SA-3": (600.2, 2.10),
    "SA-5": (525.3, 2.40),
    "SA-7": (453.3, 2.78),
    BEST: (423.6, 2.98),
}
_NOTES = (
    LOGS_NOTE,
    "A job is drawn with its log's run time and size. A in 2 to 200, sigma in 0 to 2 and the accuracy a in 0 to 1 are "
    "uniform. The walltime is replaced by t_r = t_e / a. Every strategy chooses from equally spaced sizes of the "
    "same range, rounded. Means are geometric, intervals are over the months of the logs, drawn with replacement.",
    "Ranges are drawn as printed (literal), or (least 7) with a range of 7 for jobs of one processor and of at least 7 "
    "for all others. The paper has 29.2% of them at 7 and none below. Claims are about literal ranges unless "
    "they say otherwise.",
)


def cases_of(means: StudySettings) -> dict[str, pd.DataFrame]:
    """Return the cases by how their ranges were sampled."""
    frame = measured(tuple(_KINDS.values()), means)
    return {name: frame[frame["kind"] == kind] for name, kind in _KINDS.items()}


def table2(means: StudySettings) -> StudyOutcome:
    """Return turnaround and relative performance of all strategies. By log and over all."""
    by_sampling = cases_of(means)
    rows, claims = list[ComparedFigure](), list[Claim]()
    conditions = differing(by_sampling["literal"], tuple(CHOICES))
    for name, cases in by_sampling.items():
        rows += overall_rows(cases, name, _PUBLISHED)
        for log in PUBLIC:
            own = cases[cases["log"] == log]
            rows += overall_rows(own, f"{name}, {log}") if len(own) else []
        overall = _overall(cases, f": {name} ranges")
        claims += overall if name == "literal" else elsewhere(overall, f"{name} ranges")
    agreement = [agreeing(cases) for cases in by_sampling.values()]
    claims += promises(pd.concat(by_sampling.values()))
    every = given(claims, [*conditions.values(), *agreement])
    return StudyOutcome(
        _NOTES,
        tuple(rows),
        every,
        sizes_drawing(by_sampling["literal"], (USER, "SA-3", "SA-7", BEST)),
        (*conditions.values(), *agreement),
        _parameters(by_sampling),
        cases_in_words(means),
    )


def _overall(cases: pd.DataFrame, which: str) -> Iterator[Claim]:
    each = {name: gains(cases, name) for name in STRATEGIES}
    yield more(f"SA with 3 choices halves the turnaround{which}", mean(each["SA-3"], cases), 2.0, "ratio", "2.10")
    for few, many in (("SA-3", "SA-5"), ("SA-5", "SA-7")):
        ratio = contrast(each[many], cases, each[few])
        before, after = _PUBLISHED[few][1], _PUBLISHED[many][1]
        assert before is not None
        assert after is not None
        text = f"{many} does better than {few}"
        published = f"{after:.2f} / {before:.2f}"
        yield more(f"{text}{which}", ratio, 1.0, "ratio", published)
        yield more(f"{text}, by as much as published{which}", ratio, after / before, "ratio", published)
    yield within(f"The best choice takes about a third{which}", mean(each[BEST], cases), (2.5, 3.5), "ratio", "2.98")
    yield close(cases, "SA-7", which)
    ratio = contrast(each[BEST], cases, each["SA-7"])
    yield by_construction(more(f"No choice beats the best{which}", ratio, 1.0, "ratio", "2.98 / 2.78"))


def _parameters(by_sampling: Mapping[str, pd.DataFrame]) -> tuple[Parameter, ...]:
    seven = {name: mean(gains(cases, "SA-7"), cases) for name, cases in by_sampling.items()}
    shares = {
        name: f"{100 * float((cases['range'] < 7).mean()):.1f}% below 7, "
        f"{100 * float((cases['range'] == 7).mean()):.1f}% at 7"
        for name, cases in by_sampling.items()
    }
    text = "; ".join(f"{name}: {shares[name]}, SA-7 {seven[name]}" for name in by_sampling)
    return (
        Parameter("the range of choices of small jobs", "as printed", "the text; the share at 7 contradicts it", text),
        Parameter(
            "run time of a job of the log that outlives its request",
            "it is killed there",
            "section 2: the scheduler kills it",
            "not tried",
        ),
        Parameter("turnaround of 0 s", "1 s", "a geometric mean needs it", "no case has one"),
    )


Judge = Callable[[pd.DataFrame], Iterator[Claim]]


def _figure(column: str, label: str, judge: Judge, *, log_x: bool = False, only: str | None = None) -> Run:
    """Return a function that makes a figure of the cases by a column."""

    def run(means: StudySettings) -> StudyOutcome:
        by_sampling = cases_of(means)
        if only is not None and means.scale != "smoke":
            by_sampling = {name: cases[cases["log"] == only] for name, cases in by_sampling.items()}
        conditions = differing(by_sampling["literal"], tuple(CHOICES))
        claims = given(judge(by_sampling["literal"]), conditions.values())
        drawing = drawing_by(by_sampling, column, label, (USER, *STRATEGIES), log_x)
        return StudyOutcome(
            _NOTES,
            rows_by(by_sampling, column, ("SA-3", "SA-7")),
            claims,
            drawing,
            tuple(conditions.values()),
            runs=cases_in_words(means),
        )

    return run


def _ends(cases: pd.DataFrame, column: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the first and last tenth of the cases by a column."""
    each = parts(cases, column)
    return each[0], each[-1]


def by_load(cases: pd.DataFrame) -> Iterator[Claim]:
    """Return the claims of figure 3."""
    low, high = _ends(cases, "N")
    for name in (USER, "SA-7"):
        ratio = contrast(logarithms(high, name), high, logarithms(low, name), low)
        yield more(f"The turnaround rises with N: {name}, last tenth over first", ratio, 1.0, "ratio", "it increases")
    for name in ("SA-3", "SA-7", BEST):
        ratio = contrast(gains(high, name), high, gains(low, name), low)
        yield less(
            f"The relative performance falls with N: {name}, last tenth over first", ratio, 1.0, "ratio", "it decreases"
        )


#: What the paper calls medium values of L, seconds.
_MEDIUM = (2000.0, 50_000.0)


def _by_work(cases: pd.DataFrame) -> Iterator[Claim]:
    """Return the claims of figure 4."""
    work = cases["L"]
    small = cases[work < _MEDIUM[0]]
    large = cases[work > _MEDIUM[1]]
    medium = cases[work.between(*_MEDIUM)]
    first, last = _ends(cases, "L")
    rest = cases[work < last["L"].min()]
    ratio = contrast(logarithms(last, USER), last, logarithms(first, USER), first)
    yield more("The turnaround rises with L: user, last tenth over first", ratio, 1.0, "ratio", "it does")
    for name in ("SA-7", BEST):
        ratio = contrast(gains(last, name), last, gains(rest, name), rest)
        yield less(
            f"The relative performance is less in the last tenth of L than before: {name}",
            ratio,
            1.0,
            "ratio",
            "it decreases in the 10th decile",
        )
        for other, text in ((small, "small"), (large, "large")):
            ratio = contrast(gains(medium, name), medium, gains(other, name), other)
            yield more(
                f"It is best for medium L, 2,000 to 50,000 s: {name}, over {text}",
                ratio,
                1.0,
                "ratio",
                "medium values are best",
            )
    ratio = contrast(gains(small, "SA-7", "SA-3"), small, gains(large, "SA-7", "SA-3"), large)
    yield more(
        "The smaller L, the more do more choices help: SA-7 over SA-3, small over large",
        ratio,
        1.0,
        "ratio",
        "the smaller, the more advantageous",
    )


#: From this A on the gain grows slower.
_SLOWER = 100.0


def _by_parallelism(cases: pd.DataFrame) -> Iterator[Claim]:
    """Return the claims of figure 5."""
    first, last = _ends(cases, "A")
    few = cases[cases["A"] < _SLOWER]
    many = cases[cases["A"] >= _SLOWER]
    for name in STRATEGIES:
        ratio = contrast(gains(last, name), last, gains(first, name), first)
        yield more(
            f"The relative performance grows with A: {name}, last tenth over first",
            ratio,
            1.0,
            "ratio",
            "the larger A, the greater",
        )
    ratio = contrast(gains(many, "SA-7", "SA-3"), many, gains(few, "SA-7", "SA-3"), few)
    yield more(
        "More choices help more with larger A: SA-7 over SA-3, A from 100 on over below",
        ratio,
        1.0,
        "ratio",
        "the utility grows with A",
    )
    [a, b] = parts(few, "A", 2)
    [c, d] = parts(many, "A", 2)
    for name in ("SA-7", BEST):
        values = [gains(part, name) for part in (b, a, d, c)]
        yield _slower(name, contrast(values[0], b, values[1], a), contrast(values[2], d, values[3], c))


def _slower(name: str, below: Ratio, above: Ratio) -> Claim:
    """Return the claim that a ratio is nearer to 1 than another. Their intervals must not overlap."""
    decided = None if max(above.low, below.low) <= min(above.high, below.high) else above.value < below.value
    holds = None if pd.isna(below.low) or pd.isna(above.low) else decided
    return Claim(
        f"The increase slows down from A = 100 on: {name}, upper half over lower half",
        holds,
        f"below 100 {below}, from 100 on {above}; the paper: it does",
    )


def _by_parallelism_on_ctc(cases: pd.DataFrame) -> Iterator[Claim]:
    """Return the claims of figure 6."""
    low, high = parts(cases[cases["A"] >= _SLOWER], "A", 2)
    for name in ("SA-7", BEST):
        ratio = contrast(gains(high, name), high, gains(low, name), low)
        yield more(
            f"The relative performance keeps increasing beyond A = 100: {name}, upper half over lower half",
            ratio,
            1.0,
            "ratio",
            "steadily",
        )


#: Ratios of numbers that count as equal.
_SAME = (1 / 1.1, 1.1)


def _by_variance(cases: pd.DataFrame) -> Iterator[Claim]:
    """Return the claims of figure 7."""
    low, high = parts(cases, "sigma", 2)
    for name in STRATEGIES:
        ratio = contrast(gains(high, name), high, gains(low, name), low)
        yield within(
            f"{name} is indifferent to sigma, to 10%: upper half over lower half",
            ratio,
            _SAME,
            "ratio",
            "completely indifferent",
        )


def by_accuracy(cases: pd.DataFrame, strategy: str = "SA-7") -> Iterator[Claim]:
    """Return the claims of figures 8 and 12."""
    small = cases[cases["a"] <= 0.2]
    large = cases[cases["a"] > 0.2]
    tiny = cases[cases["a"] <= 0.1]
    rest = cases[cases["a"] > 0.1]
    for name in (USER, strategy, BEST):
        ratio = contrast(logarithms(small, name), small, logarithms(large, name), large)
        yield more(f"The turnaround is greater for a up to 0.2: {name}", ratio, 1.0, "ratio", "for all strategies")
    ratio = contrast(gains(tiny, strategy), tiny, gains(rest, strategy), rest)
    yield less(f"a up to 0.1 reduces the relative performance: {strategy}", ratio, 1.0, "ratio", "it does")
    upper, lower = parts(rest, "a", 2)[::-1]
    for name in (strategy, BEST):
        ratio = contrast(gains(upper, name), upper, gains(lower, name), lower)
        yield within(
            f"Above 0.1 a has little impact, to 10%: {name}, upper half over lower half",
            ratio,
            _SAME,
            "ratio",
            "almost none",
        )


def _by_range(cases: pd.DataFrame) -> Iterator[Claim]:
    """Return the claims of figure 9."""
    first, last = _ends(cases, "range")
    for name in ("SA-7", BEST):
        ratio = contrast(gains(last, name), last, gains(first, name), first)
        yield more(
            f"The relative performance grows with the range: {name}, last tenth over first",
            ratio,
            1.0,
            "ratio",
            "it grows",
        )
        wide = cases[cases["range"] > 100]
        rest = cases[cases["range"] <= 100]
        ratio = contrast(gains(wide, name), wide, gains(rest, name), rest)
        yield more(f"Ranges above 100 give a substantial boost, a quarter: {name}", ratio, 1.25, "ratio", "substantial")


DOWNEY: dict[str, Run] = {
    "jsspp2000/table2": table2,
    "jsspp2000/fig3": _figure("N", "jobs in the system over processors, N", by_load),
    "jsspp2000/fig4": _figure("L", "sequential time L, s", _by_work, log_x=True),
    "jsspp2000/fig5": _figure("A", "average parallelism A", _by_parallelism),
    "jsspp2000/fig6": _figure("A", "average parallelism A", _by_parallelism_on_ctc, only="CTC"),
    "jsspp2000/fig7": _figure("sigma", "variance in parallelism sigma", _by_variance),
    "jsspp2000/fig8": _figure("a", "accuracy of the requests a", by_accuracy),
    "jsspp2000/fig9": _figure("range", "size of the range of choices", _by_range),
}
