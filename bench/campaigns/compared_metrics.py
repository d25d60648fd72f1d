"""The metrics of a comparison's table, listed once: their names, words, headers, and the kind of their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ComparedMetric:
    """A metric.

    Attributes
    ----------
    name
        Its entry in ``Result.summary()``.
    words
        Its name in sentences and plots.
    header
        Its name in narrow tables; lines may break.
    kind
        A time in seconds, a share, or a number.
    conditional
        Whether only some runs have it: those of a machine with power, under a signal, or with failures of nodes.
    most
        Whether the largest value is the best.
    """

    name: str
    words: str
    header: str
    kind: Literal["time", "share", "number"] = "number"
    conditional: bool = False
    most: bool = False


COMPARED = (
    ComparedMetric("wait_mean", "mean wait", "mean\nwait", "time"),
    ComparedMetric("bounded_slowdown_mean", "mean bounded slowdown", "mean\nbounded\nslowdown"),
    ComparedMetric("slowdown_mean", "mean slowdown", "\nmean\nslowdown"),
    ComparedMetric("wait_max", "longest wait", "max\nwait", "time"),
    ComparedMetric("utilization", "utilization", "utili-\nzation\n(%)", "share", most=True),
    ComparedMetric("decision_ms_mean", "mean decision time", "mean\ndecision\n(ms)"),
    ComparedMetric("energy_kwh", "energy", "energy\n(kWh)", conditional=True),
    ComparedMetric("power_peak_kw", "highest power", "peak\npower\n(kW)", conditional=True),
    ComparedMetric("emissions_kg", "emissions", "CO2\n(kg)", conditional=True),
    ComparedMetric("energy_cost", "cost of energy", "cost of\nenergy", conditional=True),
    ComparedMetric("put_off_mean", "mean time put off", "mean\nput off", "time", conditional=True),
    ComparedMetric("lost_core_hours", "work lost to failures", "lost to\nfailures\n(core h)", conditional=True),
)
#: Names of those that all runs have, and of the conditional ones.
METRICS = tuple(each.name for each in COMPARED if not each.conditional)
CONDITIONAL = tuple(each.name for each in COMPARED if each.conditional)
#: Names in sentences and plots.
WORDS = {each.name: each.words for each in COMPARED}
