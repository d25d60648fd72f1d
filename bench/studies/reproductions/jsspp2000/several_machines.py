"""SA with several machines to choose from. Section 5 leaves it open. This is our continuation of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from .....workloads import Workload
from ....campaigns.samples import Loaders
from ..claims import by_construction
from ..outcome import Claim, ComparedFigure, Drawing, Run, Scale, StudyOutcome, StudySettings
from ..simulations import finished
from .drawn_cases import USER, MoldableCase, drawn
from .geometric_means import contrast, gains, logarithms, mean, more
from .measured_cases import TOGETHER, CasePlan, TableCell, simulate_cases, with_arrivals, with_months
from .recorded_logs import PUBLIC, recorded
from .strategy_outcomes import RELATIVE, TURNAROUND, ratio_row

#: Raised with every change of the samples or stored columns.
_FORMAT = 1
_SEED, _CHOICES = 2002, "SA-7"
ONE = "SA on the user's machine"
SEVERAL = "SA on the machine it chooses"
ALL = "SA on all machines"
_CASES: dict[Scale, int] = {"smoke": 20, "brief": 100, "small": 200, "full": 2000}
#: Jobs of each machine at the smallest scale.
_HEAD = 1500


@dataclass(frozen=True)
class Tried(TableCell):
    """Cases of a log that may go to any machine.

    Attributes
    ----------
    machines
        Names and digests of all machines, the user's first.
    head
        Keep only that many jobs of each; ``None`` keeps all.
    count, begin
        How many cases, and the number of the first.
    """

    machines: tuple[tuple[str, str], ...] = ()
    head: int | None = None
    count: int = 0
    begin: int = 0

    def determined(self) -> dict[str, Any]:
        """Return all that determines the cases."""
        others = [digest for _, digest in self.machines]
        return super().determined() | {"several": [_FORMAT, others, self.begin, self.count]}

    def simulated(self, jobs: Workload, report: Callable[[int], None] | None) -> pd.DataFrame:
        """Return the cases, one row each."""
        del report
        others = [_log(name, self.head) for name, _ in self.machines[1:]]
        return measure([jobs, *others], self.count, self.seed, self.begin)


def _log(name: str, head: int | None) -> Workload:
    return recorded(name) if head is None else recorded(name).head(head)


def measure(machines: Sequence[Workload], count: int, seed: int, begin: int = 0) -> pd.DataFrame:
    """Return the results of moldable jobs on several machines, one row each. A job may go to any of them.

    A case is sampled on the first machine as for :func:`.measured_cases.measure`. On each other machine it replaces a
    random job, at that job's moment. Sizes that a machine lacks are not tried there.

    Parameters
    ----------
    machines
        Logs on pools, the user's machine first.
    count, seed, begin
        How many cases, the seed, and the number of the first.

    Returns
    -------
    DataFrame
        ``time``: seconds from the first submission. Turnarounds (s) of the user's request and of SA. SA runs on the
        first machine, on the machine with the least predicted turnaround, and on all. On all, the first to end counts.
        ``chosen``, the place of the machine that is chosen.
    """
    cases = drawn(machines[0], "literal", count, seed, begin)
    plans = []
    for number, workload in enumerate(machines):
        rng = np.random.default_rng((seed, begin, number))
        places = [case.place for case in cases] if not number else rng.integers(len(workload), size=len(cases)).tolist()
        own = [_on(workload, case, place) for case, place in zip(cases, places, strict=True)]
        fitting = [place for place, case in enumerate(own) if case is not None]
        each = with_arrivals(workload, [case for case in own if case is not None])
        simulate_cases(workload, each, CasePlan.chosen_ones)
        plans.append(dict(zip(fitting, each, strict=True)))
    first = int(machines[0].columns.submit[0])
    return pd.DataFrame([_row([each.get(place) for each in plans], first) for place in range(len(cases))])


def _on(workload: Workload, case: MoldableCase, place: int) -> MoldableCase | None:
    """Return a case at a place of a machine, with the sizes of that machine. ``None`` if it has none of them."""
    most = int(workload.machine.capacity[0, 0])
    offered = [each for each in case.lists[_CHOICES] if each.request.processors <= most]
    if not offered:
        return None
    user = case.user if case.user.request.processors <= most else offered[0]
    return replace(case, place=place, user=user, lists={_CHOICES: tuple(offered)}, tried=())


def _row(same: Sequence[CasePlan | None], first: int) -> dict[str, Any]:
    """Return the row of a case from its plan on each machine. A plan is ``None`` where no size fits."""
    own = same[0]
    assert own is not None
    predicted = dict[int, int]()
    took = dict[int, int]()
    for machine, plan in enumerate(same):
        if plan is not None:
            key = plan.chosen[_CHOICES]
            predicted[machine] = plan.waits[key] + key[1]
            took[machine] = plan.took[key]
    chosen = min(predicted, key=lambda machine: (predicted[machine], machine))
    return {
        "time": own.now - first,
        USER: own.took[own.chosen[USER]],
        ONE: took[0],
        SEVERAL: took[chosen],
        ALL: min(took.values()),
        "chosen": chosen,
    }


def several(means: StudySettings) -> StudyOutcome:
    """Return SA's turnaround and relative performance by the machines to choose from."""
    cases = _cases(means)
    rows: list[ComparedFigure] = []
    for log in ("all logs", *dict.fromkeys(cases["log"])):
        part = cases if log == "all logs" else cases[cases["log"] == log]
        for name in (USER, ONE, SEVERAL, ALL):
            subject = f"{log}: {name}"
            rows.append(ratio_row(subject, TURNAROUND, mean(logarithms(part, name), part), None, 0))
            if name != USER:
                rows.append(ratio_row(subject, RELATIVE, mean(gains(part, name), part), None, 2))
        rows.append(
            ComparedFigure(
                f"{log}: {SEVERAL}", "another machine, %", 100 * float((part["chosen"] > 0).mean()), digits=1
            )
        )
    count = len(means.draws(_ONCE)) * _CASES[means.scale]
    notes = (
        "Not in the paper. Its section 5 asks what SA gains from several supercomputers, and whether it should "
        'submit "the same job to all available supercomputers". A job is moldable as in table 2, literal ranges, and '
        f"chooses from 7 sizes on each machine: {', '.join(PUBLIC)}, all as fast, each under `conservative` with its "
        "own log, at moments that are drawn independently. On all machines, the copies that have not ended are "
        "cancelled when the first one ends.",
        "One job at a time: what it costs the other jobs if all jobs are submitted everywhere is not simulated.",
    )
    return StudyOutcome(notes, tuple(rows), tuple(_claims(cases)), _drawing(cases), runs=f"{count:,} cases a log")


def _claims(cases: pd.DataFrame) -> Iterator[Claim]:
    ratio = contrast(gains(cases, SEVERAL), cases, gains(cases, ONE))
    yield more("SA gains from a choice of machines", ratio, 1.0, "ratio")
    ratio = contrast(gains(cases, SEVERAL), cases, gains(cases, ALL))
    yield more("SA on the machine it chooses has at least 90% of the performance on all machines", ratio, 0.9, "ratio")
    ratio = contrast(gains(cases, ALL), cases, gains(cases, SEVERAL))
    yield by_construction(more("No machine is better than all machines", ratio, 1.0, "ratio"))


def _drawing(cases: pd.DataFrame) -> Drawing:
    data: dict[str, list[Any]] = {name: [] for name in ("panel", "subject", "value", "low", "high")}
    for log in dict.fromkeys(cases["log"]):
        part = cases[cases["log"] == log]
        for name in (ONE, SEVERAL, ALL):
            ratio = mean(gains(part, name), part)
            ends = (ratio.value, ratio.value) if np.isnan(ratio.low) else (ratio.low, ratio.high)
            for column, value in zip(data.values(), (f"{log}: {RELATIVE}", name, ratio.value, *ends), strict=True):
                column.append(value)
    return Drawing("bars", data)


_ONCE: Mapping[Scale, int] = {"smoke": 1, "brief": 1, "small": 1, "full": 1}


def _cases(means: StudySettings) -> pd.DataFrame:
    """Return the cases of all logs, one row each. Under the control SA cannot choose a machine."""
    loaders: Loaders = {}
    head = _HEAD if means.scale == "smoke" else None
    names = ("KTH",) * 3 if head else PUBLIC
    logs = {name: _log(name, head) for name in names}
    cells = []
    for place, name in enumerate(dict.fromkeys(names)):
        loaders[logs[name].digest()] = partial(_log, name, head)
        machines = tuple((each, logs[each].digest()) for each in (*names[place:], *names[:place]))
        sample = name, len(logs[name]), logs[name].digest(), None
        for seed, begin in product(means.draws(_ONCE), range(0, _CASES[means.scale], TOGETHER)):
            some = min(TOGETHER, _CASES[means.scale] - begin)
            cells.append(
                Tried(
                    *sample,
                    _SEED + seed,
                    "sa",
                    "walltime",
                    "kill",
                    "batch",
                    machines=machines,
                    head=head,
                    count=some,
                    begin=begin,
                )
            )
    store = finished(cells, loaders, means)
    frames = [cell.kept(store).assign(log=cell.workload, seed=cell.seed) for cell in cells]
    cases = with_months(pd.concat(frames, ignore_index=True))
    return cases.assign(**{SEVERAL: cases[ONE]}) if means.broken("machines") else cases


SEVERAL_MACHINES: dict[str, Run] = {"jsspp2000/several": several}
