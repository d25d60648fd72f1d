"""Results of a log's cases under each strategy. One simulation answers predictions and another branches off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from .....base.checksums import TIMINGS
from .....models.moldable import choose
from .....workloads import Job, Shape, Workload
from ....campaigns.cells import Cell, Files
from ....campaigns.samples import Loaders
from ....campaigns.store import Store
from ...arrival_starts import ArrivalStarts, arrival_starts
from ...branching import Branch, branches
from ..claims import LEAST
from ..outcome import Scale, StudySettings
from ..simulations import finished
from .drawn_cases import BEST, CHOICES, NAS, USER, CandidateRequest, Kind, MoldableCase, drawn
from .recorded_logs import PUBLIC, recorded

#: Raised with every change of the samples or stored columns.
_FORMAT = 2
#: Cases of a log that are simulated together and stored before the next.
TOGETHER = 100
#: The file of a table.
_TABLE = "cases.parquet"
_SEED = 2000
#: Cases of a log. The paper has 14,000. For NAS benchmarks it has 10,000 of all four logs.
_CASES: dict[Kind, dict[Scale, int]] = {
    "literal": {"smoke": 40, "brief": 100, "small": 500, "full": 14_000},
    "least-7-for-serial": {"smoke": 30, "brief": 100, "small": 500, "full": 3500},
    "nas": {"smoke": 30, "brief": 100, "small": 250, "full": 3335},
}
#: At the smallest scale this many jobs of one log.
_SMOKE = ("KTH", 1500)
#: Cases of a log that also use the dispatcher ``sa``. It chooses for itself.
CHECKED = 20
_MONTH = 30 * 86400
#: Processors and walltime.
Key = tuple[int, int]


class TableCell(Cell):
    """A cell with a stored table."""

    def files(self, table: pd.DataFrame) -> Files:
        """Return the table; nothing was timed."""
        return {_TABLE: table.to_parquet(), TIMINGS: table[[]].to_parquet()}

    def kept(self, store: Store) -> pd.DataFrame:
        """Return the stored table."""
        return pd.read_parquet(store.path(self.key) / _TABLE)


@dataclass(frozen=True)
class Batch(TableCell):
    """Cases of a log that are simulated together.

    Attributes
    ----------
    kind
        How sizes are sampled.
    count, begin
        How many cases, and the number of the first.
    """

    kind: Kind = "literal"
    count: int = 0
    begin: int = 0

    def determined(self) -> dict[str, Any]:
        """Return all that determines the cases."""
        return super().determined() | {"cases": [_FORMAT, self.kind, self.begin, self.count]}

    def simulated(self, jobs: Workload, report: Callable[[int], None] | None) -> pd.DataFrame:
        """Return the cases, one row each."""
        del report
        return measure(
            jobs, drawn(jobs, self.kind, self.count, self.seed, self.begin), CHECKED if not self.begin else 0
        )


def measured(kinds: Sequence[Kind], means: StudySettings) -> pd.DataFrame:
    """Return the cases of all logs, one row each. Stored cases are not simulated again.

    The columns are those of :func:`measure`, and ``log``, ``kind`` and ``month``. Months differ between logs. Under a
    control they come from the control's system.
    """
    loaders: Loaders = {}
    batches = [batch for kind in kinds for batch in _batches(kind, means, loaders)]
    store = finished(batches, loaders, means)
    frames = [batch.kept(store).assign(log=batch.workload, kind=batch.kind, seed=batch.seed) for batch in batches]
    return _replaced(with_months(pd.concat(frames, ignore_index=True)), means)


def with_months(cases: pd.DataFrame) -> pd.DataFrame:
    """Return the cases with their months, which the intervals sample.

    With fewer than three months, as at the smallest scale, the sets of random values replace them.
    """
    months = cases["log"] + " " + (cases["time"] // _MONTH).astype(str)
    return cases.assign(month=months if months.nunique() >= LEAST else months + ", seed " + cases["seed"].astype(str))


def _replaced(cases: pd.DataFrame, means: StudySettings) -> pd.DataFrame:
    """Replace SA by the user's request or by the best, the best by the user's, or shuffle the facts. Return the cases.

    A request's turnaround does not depend on what chose it. Nothing is simulated again.
    """
    names = [name for name in (*CHOICES, NAS) if name in cases]
    if means.broken("best"):
        names = [BEST]
    if means.broken("choice") or means.broken("best") or means.broken("oracle"):
        source = BEST if means.broken("oracle") else USER
        same = (cases[names] == cases[[source] * len(names)].to_numpy()).all(axis=1)
        replaced = {f"{name}{what}": cases[f"{source}{what}"] for name in names for what in ("", " size")}
        return cases.assign(**replaced, same=cases["same"].where(cases["same"] < 0, same.astype(int)))
    if means.broken("facts"):
        order = np.random.default_rng(0).permutation(len(cases))
        facts = [name for name in ("N", "L", "A", "sigma", "a", "range", "benchmark") if name in cases]
        return cases.assign(**{name: cases[name].to_numpy()[order] for name in facts})
    return cases


def cases_in_words(means: StudySettings, kind: Kind = "literal") -> str:
    """Return how many cases of each log there are."""
    draws = len(means.draws(_DRAWS))
    return f"{draws * _CASES[kind][means.scale]:,} cases a log"


#: Sets of samples.
_DRAWS: dict[Scale, int] = {"smoke": 1, "brief": 1, "small": 1, "full": 1}


def _batches(kind: Kind, means: StudySettings, loaders: Loaders) -> list[Batch]:
    """Return the simulations of a kind at a scale. Loader functions of the jobs are added to `loaders`."""
    batches, count = [], _CASES[kind][means.scale]
    for log, head in [_SMOKE] if means.scale == "smoke" else [(log, None) for log in PUBLIC]:
        load = partial(_jobs, log, head)
        jobs = load()
        loaders[jobs.digest()] = load
        for seed, begin in product(means.draws(_DRAWS), range(0, count, TOGETHER)):
            sample = log, len(jobs), jobs.digest(), None, _SEED + seed
            some = min(TOGETHER, count - begin)
            batches.append(Batch(*sample, "sa", "walltime", "kill", "batch", kind=kind, count=some, begin=begin))
    return batches


def _jobs(log: str, head: int | None) -> Workload:
    """Return the jobs of a log, all or the first."""
    return recorded(log) if head is None else recorded(log).head(head)


def measure(workload: Workload, cases: Sequence[MoldableCase], checked: int = CHECKED) -> pd.DataFrame:
    """Return the results of cases, one row each.

    A request that starts at once takes its run time. Any other request is simulated in a copy of the whole simulation
    until its job starts. First come the strategies' choices. Then come tried requests that may beat all known
    turnarounds. A request starts no later than its guaranteed start, so its turnaround has a known bound. Bounds count
    as known turnarounds. Simulation stops once it cannot be better.

    Returns
    -------
    DataFrame
        ``place``; the facts of the cases; ``time``, seconds from the first submission. ``N``: jobs in the system over
        the processors. Turnaround (s) and size of each strategy, as ``SA-3`` and ``SA-3 size``. ``simulated``: requests
        simulated until they started. ``late``: those that started after their guaranteed start. ``same``: 1 if the
        dispatcher ``sa`` did as well, else 0. It is -1 where ``sa`` was not used.
    """
    plans = with_arrivals(workload, cases)
    submits = workload.columns.submit
    processors = workload.machine.capacity[0, 0]
    for turn in (CasePlan.chosen_ones, CasePlan.better_ones):
        simulate_cases(workload, plans, turn)
    rows = []
    for plan, agrees in zip(plans, _by_dispatcher(workload, plans, checked), strict=True):
        facts = {"place": plan.case.place, "time": plan.now - int(submits[0]), **plan.case.facts}
        late = sum(plan.took[key] - plan.runtimes[key] > plan.waits[key] for key in plan.took)
        facts |= {"N": plan.told.present / int(processors), "simulated": plan.simulated, "late": late, "same": agrees}
        rows.append(facts | plan.found())
    return pd.DataFrame(rows)


def with_arrivals(workload: Workload, cases: Sequence[MoldableCase]) -> list[CasePlan]:
    """Return the plans of cases, each with the answer at its arrival."""
    asked: dict[int, set[Key]] = {}
    for case in cases:
        asked.setdefault(case.place, set()).update(_key(each) for each in _all(case))
    told = arrival_starts(workload, {place: sorted(requests) for place, requests in asked.items()})
    return [CasePlan(case, told[case.place], int(workload.columns.submit[case.place])) for case in cases]


class CasePlan:
    """A case's requests to simulate, and its known results.

    Attributes
    ----------
    waits, runtimes
        Each request's bound on its wait, and its run time, in seconds.
    chosen
        The request of each strategy.
    took
        The turnarounds that are known.
    simulated
        How many of these are of simulations.
    """

    def __init__(self, case: MoldableCase, told: ArrivalStarts, now: int) -> None:
        self.case = case
        self.told = told
        self.now = now
        self.waits = {key: start - now for key, start in told.starts.items() if start is not None}
        self.runtimes = {_key(each): each.runtime for each in _all(case)}
        self.chosen = {USER: _key(case.user)}
        for name, offered in case.lists.items():
            choice = choose(self, [each.request for each in offered], now)
            assert choice is not None
            self.chosen[name] = choice.request.processors, choice.request.walltime
        self.took = {key: seconds for key, seconds in self.runtimes.items() if not self.waits[key]}
        self.simulated = 0
        #: The best is one of these, along with the longest list's choice.
        self._tried = [*dict.fromkeys([*map(_key, case.tried), list(self.chosen.values())[-1]])]

    def earliest_start(self, processors: int, duration: int, after: int = 0) -> int | None:
        """Return the answer at the job's arrival, ignoring `after`."""
        del after
        return self.told.starts[processors, duration]

    def chosen_ones(self) -> dict[Key, int | None]:
        """Return the strategies' requests, which are simulated to their end."""
        return dict.fromkeys(sorted({*self.chosen.values()} - self.took.keys()))

    def better_ones(self) -> dict[Key, int | None]:
        """Return other requests that may be better than the known ones. Each has the instant when it no longer is."""
        least = min(self.took.get(key, self.waits[key] + self.runtimes[key]) for key in self._tried)
        return {
            key: self.now + least - self.runtimes[key]
            for key in self._tried
            if key not in self.took and self.runtimes[key] < least
        }

    def found(self) -> dict[str, Any]:
        """Return turnaround and size of each strategy."""
        best = min((key for key in self._tried if key in self.took), key=lambda key: (self.took[key], key[0]))
        each = {**self.chosen, BEST: best}
        took = {name: self.took[key] for name, key in each.items()}
        return took | {f"{name} size": key[0] for name, key in each.items()}


def simulate_cases(
    workload: Workload, plans: Sequence[CasePlan], turn: Callable[[CasePlan], dict[Key, int | None]]
) -> None:
    """Simulate requests of all cases in one run. Abandoned ones stay unknown."""
    asked = [(plan, key, before) for plan in plans for key, before in turn(plan).items()]
    changed = [
        Branch(_job(workload, plan.case.place, key, plan.runtimes[key]), before=before) for plan, key, before in asked
    ]
    ends = branches(workload, "conservative", "walltime", changed, overrun="kill", stays=True)
    for (plan, key, _), end in zip(asked, ends, strict=True):
        if end.start >= 0:
            plan.took[key] = end.turnaround
            plan.simulated += 1


def _by_dispatcher(workload: Workload, plans: Sequence[CasePlan], checked: int) -> list[int]:
    """Return, for the first cases, whether ``sa`` chooses like the longest list."""
    asked, wanted = [], []
    for plan in plans[:checked]:
        name, offered = list(plan.case.lists.items())[-1]
        first, *others = offered
        job = _job(workload, plan.case.place, _key(first), first.runtime)
        resource = workload.machine.resources[0]
        shapes = tuple(
            Shape(1, each.runtime, each.request.walltime, {resource: each.request.processors}) for each in others
        )
        asked.append(Branch(replace(job, shapes=shapes)))
        wanted.append(plan.took[plan.chosen[name]])
    ends = branches(workload, "sa", "walltime", asked, overrun="kill", stays=True)
    same = [int(end.turnaround == seconds) for end, seconds in zip(ends, wanted, strict=True)]
    return same + [-1] * (len(plans) - len(same))


def _job(workload: Workload, place: int, key: Key, runtime: int) -> Job:
    """Return a job with another request and run time."""
    job = workload.jobs[place]
    return replace(job, nodes=1, per_node={workload.machine.resources[0]: key[0]}, runtime=runtime, walltime=key[1])


def _all(case: MoldableCase) -> Iterable[CandidateRequest]:
    yield case.user
    for offered in case.lists.values():
        yield from offered


def _key(candidate: CandidateRequest) -> Key:
    return candidate.request.processors, candidate.request.walltime
