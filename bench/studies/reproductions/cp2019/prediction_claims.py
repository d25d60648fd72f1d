"""What the CP 2019 paper claims, as inequalities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..claims import given, less, more, within
from ..outcome import Claim
from .conditions import Conditions

#: Label to metric to a value of each sample.
Values = dict[str, dict[str, list[float]]]
_METRICS = ("slowdown", "wait")
#: Plain schedulers, which are not in the paper.
PLAIN = ("FCFS-W", "EASY-W")
#: A value up to this factor times the other counts as no worse, or as alike.
_TOLERANCE = 1.05


def accuracy_claims(values: Values) -> tuple[Claim, ...]:
    """Return the claims about the predictors (section 5)."""
    error = "mean absolute error, min"
    near = "within 0.75-1.25, %"
    wall = values["walltime"]
    guess = values["heuristic"]
    return (
        less(
            "The heuristic errs less than the walltime",
            ("heuristic", guess[error]),
            ("walltime", wall[error]),
            "-82% (40 and 225 min)",
        ),
        more(
            "The heuristic is within 0.75-1.25 of the truth more often",
            ("heuristic", guess[near]),
            ("walltime", wall[near]),
            "about 50% and below 10% of the jobs",
        ),
        within("Less than 10% of the walltimes are within 0.75-1.25", "walltime", wall[near], 0, 10, "below 10%"),
        within("About half of the heuristic's predictions are: 40-60%", "heuristic", guess[near], 40, 60, "about 50%"),
        more(
            "The heuristic underestimates more often than the walltime",
            ("heuristic", guess["underestimated, %"]),
            ("walltime", wall["underestimated, %"]),
            "25.8% and 3.6% of the jobs",
        ),
    )


def pcp_claims(values: Values, conditions: Conditions) -> tuple[Claim, ...]:
    """Return claims about the versions of PCP (section 6.2, figure 2)."""
    told = Told(values, conditions)
    return (
        *told.better("PCP3-R", "PCP1-R", ("up to -58%", "up to -13%"), (0.42, 0.87)),
        *told.better("PCP3-D", "PCP2-D", ("-37%", "-29%"), (0.63, 0.71)),
        *told.better("PCP2-D", "PCP1-W", ("better", "better")),
        *told.better("PCP2-D", "PCP1-D", ("PCP1-D did not end in two weeks",) * 2),
        *told.no_better("PCP3-W", "PCP1-W", "lower performance"),
        *told.better("PCP3-R", "PBS", ("outperforms PBS",) * 2),
        *told.better("PCP3-D", "PBS", ("outperforms PBS",) * 2),
    )


def hcp_claims(values: Values, conditions: Conditions) -> tuple[Claim, ...]:
    """Return claims about the versions of HCP (section 6.2, figure 3)."""
    told = Told(values, conditions)
    return (
        *told.best("HCP3-R"),
        *told.better("HCP2-D", "HCP1-D", ("better", "better")),
        *told.better("HCP3-D", "HCP2-D", ("better", "better")),
        *told.no_better("HCP3-W", "HCP1-W", "not better"),
        *told.better("HCP3-R", "PBS", ("significantly better",) * 2),
        *told.better("HCP3-D", "PBS", ("significantly better",) * 2),
    )


def early_claims(values: Values, conditions: Conditions) -> tuple[Claim, ...]:
    """Return claims about version 0 of HCP (section 6.2, figure 3)."""
    told = Told(values, conditions)
    return (
        *told.worse("HCP1-D", "HCP"),
        *told.better("HCP2-D", "HCP", ("better", "better")),
        *told.better("HCP1-W", "HCP", ("better", "better")),
        *told.better("HCP3-D", "HCP", ("significantly better",) * 2),
    )


def class_claims(values: Values, conditions: Conditions) -> tuple[Claim, ...]:
    """Return claims about medium and long jobs (figure 4). Others are about the utilization, which it does not show."""
    claims: list[Claim] = []
    for family in [family for family in ("PCP", "HCP") if f"{family}1-W" in values]:
        for letter in "RD":
            mine = f"{family}3-{letter}"
            base = f"{family}1-W"
            for kind in ("medium", "long"):
                text = f"{mine} does not penalise {kind} jobs: wait at most 5% above {base}"
                pair = _pair(values, f"wait_{kind}", mine, base)
                claim = less(text, *pair, "not penalised", factor=_TOLERANCE)
                claims += given([claim], conditions.of(mine, base))
    each = {label: metrics["utilization"] for label, metrics in values.items() if label not in PLAIN}
    ordered = sorted(each, key=lambda label: float(np.mean(each[label])))
    least, most = ordered[0], ordered[-1]
    percent = {label: [100 * value for value in each[label]] for label in (least, most)}
    text = "The utilization is alike: the highest at most 5% above the lowest"
    pair = (f"{most}, %", percent[most]), (f"{least}, %", percent[least])
    alike = less(text, *pair, "no major differences", factor=_TOLERANCE)
    return (*claims, *given([alike], conditions.of(least, most)))


#: Published columns of Table 2 by label. Dispatching time (ms), prediction and simulation time (s), average intervals,
#: requested and available resources.
TABLE2: dict[str, tuple[float | None, ...]] = {
    "PCP1-W": (743, None, 262_436, 145, 853, 1476),
    "PCP3-R": (692, None, 261_985, 94, 142, 1471),
    "PCP3-D": (701, 289, 262_764, 115, 584, 1473),
    "HCP": (1014, None, 374_788, 379, 6267, 1487),
    "HCP1-W": (703, None, 245_663, 100, 1292, 1477),
    "HCP3-R": (523, None, 201_223, 51, 258, 1473),
    "HCP3-D": (575, 308, 215_814, 63, 571, 1474),
}
#: Names of its columns, in that order. The first three are measured times.
COLUMNS = (
    "dispatching time, ms",
    "prediction time, s",
    "simulation time, s",
    "intervals",
    "requested resources",
    "available resources",
)
TIMED = COLUMNS[:3]
#: Pairs of Table 2 where one is below the other. They hold for dispatching time and problem size. The first three also
#: hold for simulation time.
_CUTS = (("HCP1-W", "HCP"), ("HCP3-R", "HCP1-W"), ("HCP3-D", "HCP1-W"), ("PCP3-R", "PCP1-W"), ("PCP3-D", "PCP1-W"))


def size_claims(values: Values, conditions: Conditions, *, with_zero: bool = False) -> tuple[Claim, ...]:
    """Return claims about times and problem sizes (section 6.1, table 2). They are judged by the published sizes.

    Those about version 0 are separate.
    """
    cuts = [(mine, base, "simulation time, s") for mine, base in _CUTS[:3]]
    columns = ("dispatching time, ms", "intervals", "requested resources")
    cuts += [(mine, base, column) for column in columns for mine, base in _CUTS]
    claims: list[Claim] = []
    for mine, base, column in cuts:
        if (base == "HCP") != with_zero or not {mine, base} <= values.keys():
            continue
        claims += given([_cut(values, mine, base, column)], conditions.of(mine, base))
    return tuple(claims)


def _cut(values: Values, mine: str, base: str, column: str) -> Claim:
    place = COLUMNS.index(column)
    first = TABLE2[mine][place]
    second = TABLE2[base][place]
    assert first is not None
    assert second is not None
    ratio = first / second
    published = f"{100 * (ratio - 1):+.1f}%"
    text = f"{mine} has less than {base}, by as much as published, {published}: {column}"
    return less(text, *_pair(values, column, mine, base), published, factor=ratio, timed=column in TIMED)


def _pair(
    values: Values, metric: str, named: str, other: str
) -> tuple[tuple[str, list[float]], tuple[str, list[float]]]:
    """Return both over the parts where a mean exists, such as long jobs."""
    every = zip(values[named][metric], values[other][metric], strict=True)
    pairs = [pair for pair in every if np.isfinite(pair).all()] or [(np.nan, np.nan)]
    return (named, [first for first, _ in pairs]), (other, [second for _, second in pairs])


@dataclass(frozen=True)
class Told:
    """Claims about two dispatchers, in slowdown and wait, with their preconditions.

    There are none if a dispatcher was not simulated.

    Attributes
    ----------
    values
        Label to metric to a value of each sample.
    conditions
        Preconditions of the claims.
    """

    values: Values
    conditions: Conditions

    def better(
        self, named: str, other: str, published: tuple[str, str], ratios: tuple[float, ...] = ()
    ) -> tuple[Claim, ...]:
        """Return that one is better than the other, and by as much as published where `ratios` has the sizes."""
        if not {named, other} <= self.values.keys():
            return ()
        text = f"{named} is better than {other}"
        pairs = [_pair(self.values, metric, named, other) for metric in _METRICS]
        claims = [
            less(f"{text}: {metric}", *pair, said)
            for metric, pair, said in zip(_METRICS, pairs, published, strict=True)
        ]
        claims += [
            less(f"{text}, by as much as published, {100 * (ratio - 1):+.0f}%: {metric}", *pair, said, factor=ratio)
            for metric, pair, said, ratio in zip(_METRICS, pairs, published, ratios, strict=False)
        ]
        return given(claims, self.conditions.of(named, other))

    def no_better(self, named: str, other: str, published: str) -> tuple[Claim, ...]:
        """Return that one is not better than the other."""
        if not {named, other} <= self.values.keys():
            return ()
        claims = [
            more(f"{named} is not better than {other}: {metric}", *_pair(self.values, metric, named, other), published)
            for metric in _METRICS
        ]
        return given(claims, self.conditions.of(named, other))

    def worse(self, named: str, other: str) -> tuple[Claim, ...]:
        """Return that one is worse than the other."""
        if not {named, other} <= self.values.keys():
            return ()
        claims = [
            more(
                f"{named} is worse than {other}: {metric}",
                *_pair(self.values, metric, named, other),
                "worse",
                strictly=True,
            )
            for metric in _METRICS
        ]
        return given(claims, self.conditions.of(named, other))

    def best(self, named: str) -> Iterator[Claim]:
        """Compare with the best of the others."""
        for metric in _METRICS:
            others = {label: each[metric] for label, each in self.values.items() if label != named}
            best = min(others, key=lambda label: float(np.mean(others[label])))
            text = f"{named} is the best of all: {metric}"
            claim = less(text, (named, self.values[named][metric]), (best, others[best]), "best")
            yield from given([claim], self.conditions.of(named, best))
