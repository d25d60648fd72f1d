"""Many SAs on one machine, the "bushel of AppLeS". Section 5 leaves it open. This is our continuation of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ..claims import LEAST, by_construction, given
from ..outcome import Claim, ComparedFigure, Drawing, Parameter, Precondition, Run, StudyOutcome, StudySettings
from .geometric_means import Ratio, less, more, over_samples
from .many_choosers import AGAIN, LUBLIN, MOLD, OVER, PROCESSORS, SETTINGS, SHARES, ChooserSetting, crowds, samples_of
from .strategy_outcomes import DIFFER, ratio_row

NAMES = {-1.0: "none", 0.0: "one job", **{share: f"{100 * share:g}%" for share in SHARES[1:]}}
_GAIN = "turnaround with none choosing over that now: choosers"
_OTHERS = "the same: others"
#: Columns shown as a ratio, and as a number with digits.
_RATIOS = {"gain": _GAIN, "others": _OTHERS, "error": "turnaround of choosers over that predicted"}
_NUMBERS = {
    "efficiency": ("efficiency", 1.0, 3),
    "late": ("choosers that end later than predicted, %", 100.0, 1),
    "other_size": ("choosers with another size, %", 100.0, 1),
}
_CHANGES = "changes of mind a chooser"


def bushel(means: StudySettings) -> StudyOutcome:
    """Return turnaround, efficiency and predictions by share of choosers, load and dispatcher."""
    setting = SETTINGS[means.scale]
    frame = crowds(means)
    table = _by_sample(frame)
    conditions = {over: _differing(table, over) for over in OVER}
    claims = [claim for over in OVER for claim in given(_claims(table, over, setting), [conditions[over]])]
    rows = (*_rows(table, setting), *_by_workload(table, setting))
    samples = len(means.draws(samples_of()))
    claims += given([promises(frame)], [conditions["conservative"]])
    return StudyOutcome(
        _notes(setting, samples),
        rows,
        tuple(claims),
        _drawing(table, setting),
        tuple(conditions.values()),
        _parameters(),
        f"{samples} samples a workload",
    )


def _by_sample(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a row per sample, load, dispatcher and share. Jobs that choose alone give their mean."""
    keys = ["again", "over", "load", "share", "workload", "seed"]
    return frame.groupby(keys, sort=True).mean(numeric_only=True)


def _values(table: pd.DataFrame, column: str, over: str, load: float, share: float, again: int = 0) -> pd.Series:
    """Return a value of each sample, by workload and seed. Samples without the share are left out."""
    values: pd.Series = table[column].xs((again, over, load, share))
    return values.dropna()


def _ratio(values: pd.Series) -> Ratio:
    return over_samples(values.to_numpy(dtype=float))


def _contrast(
    table: pd.DataFrame, column: str, over: str, first: tuple[float, float], other: tuple[float, float]
) -> Ratio:
    """Return the value at a load and share over that at another. The ratio is per sample."""
    return _ratio((_values(table, column, over, *first) - _values(table, column, over, *other)).dropna())


def _claims(table: pd.DataFrame, over: str, setting: ChooserSetting) -> Iterator[Claim]:
    """Return the claims about a dispatcher. They hold at the largest load, unless stated otherwise."""
    low = setting.loads[0]
    high = setting.loads[-1]
    under = f" under {over}, load {high:g}"
    for share in (0.0, 1.0):
        gain = _ratio(_values(table, "gain", over, high, share))
        yield more(f"A chooser gains, against none choosing: {NAMES[share]}{under}", gain, 1.0, "ratio")
    for share in (0.25, 0.5):
        others = _ratio(_values(table, "others", over, high, share))
        yield less(f"A job that does not choose loses where others do: {NAMES[share]}{under}", others, 1.0, "ratio")
    falls = _contrast(table, "gain", over, (high, 1.0), (high, 0.0))
    yield less(f"A chooser gains less where all choose than where one does{under}", falls, 1.0, "ratio")
    loads = _contrast(table, "gain", over, (high, 1.0), (low, 1.0))
    yield less(f"Where all choose they gain less at load {high:g} than at {low:g} under {over}", loads, 1.0, "ratio")
    yield _efficiency(table, over, high, under)
    if over != "conservative":
        worse = _contrast(table, "spread", over, (high, 1.0), (high, 0.0))
        yield more(f"Predictions are further off where all choose than where one does{under}", worse, 1.0, "ratio")


def _efficiency(table: pd.DataFrame, over: str, load: float, under: str) -> Claim:
    """Return the claim that choosers lower efficiency. It compares all jobs choosing with none choosing."""
    each = [_values(table, "efficiency", over, load, share).map(np.log) for share in (1.0, -1.0)]
    return less(f"The machine is less efficient where all choose{under}", _ratio(each[0] - each[1]), 1.0, "ratio")


def promises(frame: pd.DataFrame) -> Claim:
    """Return the claim that no chooser ends later than predicted under conservative. It holds at any load and share."""
    rows = frame[(frame["over"] == "conservative") & (frame["choosers"] > 0)]
    late, asked = (float((rows["choosers"] * share).sum()) for share in (rows["late"], 1.0))
    holds = bool(late == 0) if asked >= LEAST else None
    text = "No chooser ends later than predicted under conservative"
    return by_construction(Claim(text, holds, f"{late:g} of {asked:,.0f} choices"))


def _differing(table: pd.DataFrame, over: str) -> Precondition:
    """Return that choosers take another size than their own in at least a fifth of the cases."""
    share = float(table.query("again == 0 and over == @over")["other_size"].mean())
    text = f"choosers under {over} take another size in at least {100 * DIFFER:g}% of the cases"
    return Precondition(text, share >= DIFFER, f"{100 * share:.1f}%", of_system=True)


def _rows(table: pd.DataFrame, setting: ChooserSetting) -> Iterator[ComparedFigure]:
    """Return means over all workloads, by dispatcher, load and share."""
    for over in OVER:
        for load in setting.loads:
            for share, name in NAMES.items():
                yield from _row(table, over, load, share, f"{over}, load {load:g}: {name}")
                if load == setting.loads[-1] and share >= 0:
                    changes = _values(table, "changes", over, load, share, AGAIN).mean()
                    yield ComparedFigure(f"{over}, load {load:g}: {name}", _CHANGES, float(changes), digits=2)


def _row(table: pd.DataFrame, over: str, load: float, share: float, subject: str) -> Iterator[ComparedFigure]:
    for column, metric in _RATIOS.items():
        values = _values(table, column, over, load, share)
        if len(values) and share >= 0 and (column != "others" or share < 1):
            yield ratio_row(subject, metric, _ratio(values), None, 2)
    for column, (metric, unit, digits) in _NUMBERS.items():
        values = _values(table, column, over, load, share)
        if len(values):
            yield ComparedFigure(subject, metric, unit * float(values.mean()), digits=digits)


def _by_workload(table: pd.DataFrame, setting: ChooserSetting) -> Iterator[ComparedFigure]:
    """Return what choosers gain at the largest load, per workload. One chooses, or all do."""
    for over in OVER:
        for share in (0.0, 1.0):
            values = _values(table, "gain", over, setting.loads[-1], share)
            for name in setting.workloads:
                subject = f"{name}, {over}, load {setting.loads[-1]:g}: {NAMES[share]}"
                yield ratio_row(subject, _GAIN, _ratio(values.loc[[name]]), None, 2)


def _drawing(table: pd.DataFrame, setting: ChooserSetting) -> Drawing:
    """Draw what choosers and others gain by share, one panel per dispatcher."""
    data: dict[str, list[Any]] = {name: [] for name in ("panel", "subject", "x", "value", "low", "high")}
    for over in OVER:
        for load in (setting.loads[0], setting.loads[-1]):
            for column, group in (("gain", "choosers"), ("others", "others")):
                for place, share in enumerate(SHARES[:-1] if column == "others" else SHARES):
                    ratio = _ratio(_values(table, column, over, load, share))
                    ends = (ratio.value, ratio.value) if pd.isna(ratio.low) else (ratio.low, ratio.high)
                    point = (f"gain: {over}", f"{group}, load {load:g}", place, ratio.value, *ends)
                    for values, value in zip(data.values(), point, strict=True):
                        values.append(value)
    return Drawing("lines", data, "jobs that choose", x_ticks=tuple(NAMES[share] for share in SHARES), log_y=True)


def _notes(setting: ChooserSetting, samples: int) -> tuple[str, ...]:
    logs = [name for name in setting.workloads if name != LUBLIN]
    stretches = f"disjoint stretches of {', '.join(logs)} and " if logs else ""
    loads = ", ".join(f"{load:g}" for load in setting.loads)
    return (
        "Not in the paper, which has one job choose and asks in section 5 what many would do. A share of the moldable "
        "jobs choose by `sa`, once, as they come; the others keep the requests of the log or model. The jobs of a "
        "larger share are those of a smaller one and others. Every chooser is compared with itself on the same jobs "
        f"with none choosing. One job: {setting.singles} a sample, each alone.",
        f"{samples} samples a workload of {setting.jobs} jobs, {stretches}draws of Lublin's model on {PROCESSORS} "
        f"processors. They are molded with `{MOLD}`. Gaps between submissions are stretched to an offered load of "
        f"{loads} on the users' own sizes. The machine is empty at first, and jobs are killed at their walltimes. "
        "Means are geometric, over jobs and then over samples of all workloads alike; intervals are over the samples.",
        f"Changes of mind are of other simulations, `again={AGAIN}`, of {setting.waverers} jobs a sample at the last "
        "load. Efficiency counts every job's least work, whether it may choose or not.",
    )


def _parameters() -> tuple[Parameter, ...]:
    return (
        Parameter(
            "how jobs speed up",
            MOLD,
            "the paper's draws of A and sigma",
            "not tried: Cirne and Berman's laws of A and sigma from a survey of users (IPDPS 2001). Their "
            "constants are not in this paper, and no public program was found that has them",
        ),
        Parameter(
            "what makes a chooser change its mind",
            f"10% of the time left, {AGAIN} times",
            "the default gain",
            "not tried",
        ),
    )


BUSHEL: dict[str, Run] = {"jsspp2000/bushel": bushel}
