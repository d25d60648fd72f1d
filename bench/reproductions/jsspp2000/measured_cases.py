"""What becomes of the cases of a log under each strategy: asked for in one simulation, branched off in another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from ....base.atomic_files import write_whole
from ....models.moldable import choose
from ....simulation import ArrivalStarts, Branch, arrival_starts, branches
from ....workloads import Job, Shape, Workload
from ...campaigns.fresh_processes import in_processes
from ...campaigns.versions import made_by
from ..outcome import Means, Scale
from .drawn_cases import BEST, USER, Candidate, Case, Kind, drawn
from .recorded_logs import PUBLIC, recorded

#: Raised with every change of what is drawn or kept.
_FORMAT = 1
_SEED = 2000
#: Cases of a log. In the paper 14,000, and of NAS benchmarks 10,000 of all four logs.
_CASES: dict[Kind, dict[Scale, int]] = {
    "literal": {"smoke": 12, "small": 500, "full": 14_000},
    "least-7-for-serial": {"smoke": 8, "small": 500, "full": 3500},
    "nas": {"smoke": 5, "small": 250, "full": 3335},
}
#: At the smallest scale so many jobs of one log.
_SMOKE = ("KTH", 150)
#: So many cases of a log also go through the dispatcher ``sa``, which chooses for itself.
CHECKED = 20
_MONTH = 30 * 86400
#: Processors and requested time.
Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Batch:
    """Cases that are simulated together.

    Attributes
    ----------
    log
        Its name.
    kind
        How sizes are drawn.
    count
        How many cases.
    head
        Only the first so many jobs of the log; ``None`` for all.
    """

    log: str
    kind: Kind
    count: int
    head: int | None = None

    def jobs(self) -> Workload:
        """Return the jobs of the log."""
        whole = recorded(self.log)
        return whole if self.head is None else whole.head(self.head)

    def path(self, folder: Path) -> Path:
        """Return where its cases are kept: under a name that says all that determines them."""
        described = [_FORMAT, _SEED, self.kind, self.count, self.jobs().digest(), made_by("sa", "walltime")]
        key = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()
        return folder / "moldable" / f"{self.log}-{self.kind}-{key[:16]}.json"


def measured(kinds: Sequence[Kind], means: Means) -> pd.DataFrame:
    """Return the cases of all logs, a row each; what is kept is not simulated again.

    Its columns are those of :func:`measure`, and ``log``, ``kind`` and ``month``, which is another one for each log.
    """
    batches = [batch for kind in kinds for batch in _batches(kind, means.scale)]
    missing = [batch for batch in batches if not batch.path(means.store).is_file()]
    in_processes(partial(_keep, means.store), missing, means.workers)
    return pd.concat([_kept(batch, means.store) for batch in batches], ignore_index=True)


def _batches(kind: Kind, scale: Scale) -> list[Batch]:
    """Return what is simulated of a kind at a scale."""
    name, head = _SMOKE
    count = _CASES[kind][scale]
    return [Batch(name, kind, count, head)] if scale == "smoke" else [Batch(log, kind, count) for log in PUBLIC]


def _keep(folder: Path, batch: Batch) -> None:
    """Simulate a batch, and keep what is found."""
    workload, path = batch.jobs(), batch.path(folder)
    found = measure(workload, drawn(workload, batch.kind, batch.count, _SEED))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps({name: values.tolist() for name, values in found.items()}))


def _kept(batch: Batch, folder: Path) -> pd.DataFrame:
    found = pd.DataFrame(json.loads(batch.path(folder).read_text(encoding="utf-8")))
    found["month"] = [f"{batch.log} {month}" for month in found["time"] // _MONTH]
    return found.assign(log=batch.log, kind=batch.kind)


def measure(workload: Workload, cases: Sequence[Case]) -> pd.DataFrame:
    """Return what becomes of cases, a row each.

    A request that would be served at once takes its run time. Any other is simulated in a copy of the whole simulation
    until its job starts, as far as it matters: first those that a strategy chooses; then of those that are tried the
    ones that may be better than all of which is known how long they take, or take at most since nobody starts later
    than promised, for as long as they may be.

    Returns
    -------
    DataFrame
        ``place``, the facts of the cases, ``time``, seconds from the first submission; ``N``, the jobs that are there
        over the processors; turnaround, seconds, and size of each strategy, as ``SA-3`` and ``SA-3 size``;
        ``simulated`` and ``late``, how many requests were simulated until they started and how many of these did so
        later than promised;
        ``same``, whether the dispatcher ``sa`` did just as well, 1 or 0, and -1 where it was not asked.
    """
    asked: dict[int, set[Key]] = {}
    for case in cases:
        asked.setdefault(case.place, set()).update(_key(each) for each in _all(case))
    told = arrival_starts(workload, {place: sorted(requests) for place, requests in asked.items()})
    submits, processors = workload.columns.submit, int(workload.machine.capacity[0, 0])
    plans = [_Plan(case, told[case.place], int(submits[case.place])) for case in cases]
    for turn in (_Plan.chosen_ones, _Plan.better_ones):
        _simulate(workload, plans, turn)
    rows = []
    for plan, agrees in zip(plans, _by_dispatcher(workload, plans), strict=True):
        facts = {"place": plan.case.place, "time": plan.now - int(submits[0]), **plan.case.facts}
        late = sum(plan.took[key] - plan.runtimes[key] > plan.waits[key] for key in plan.took)
        facts |= {"N": plan.told.present / processors, "simulated": plan.simulated, "late": late, "same": agrees}
        rows.append(facts | plan.found())
    return pd.DataFrame(rows)


class _Plan:
    """What is to be simulated of a case, and what is known of it.

    Attributes
    ----------
    waits, runtimes
        Seconds that each request would wait at most, and run.
    chosen
        The request of each strategy.
    took
        The turnarounds that are known.
    simulated
        How many of these are of simulations.
    """

    def __init__(self, case: Case, told: ArrivalStarts, now: int) -> None:
        self.case, self.told, self.now = case, told, now
        self.waits = {key: start - now for key, start in told.starts.items() if start is not None}
        self.runtimes = {_key(each): each.runtime for each in _all(case)}
        self.chosen = {USER: _key(case.user)}
        for name, offered in case.lists.items():
            choice = choose(self, [each.request for each in offered], now)
            assert choice is not None
            self.chosen[name] = choice.request.processors, choice.request.requested_time
        self.took = {key: seconds for key, seconds in self.runtimes.items() if not self.waits[key]}
        self.simulated = 0
        #: Of which the best is one, with what the longest list chose.
        self._tried = [*dict.fromkeys([*map(_key, case.tried), list(self.chosen.values())[-1]])]

    def earliest_start(self, processors: int, duration: int, after: int = 0) -> int | None:
        """Return what the job was told when it came, ``after`` which there is nothing to ask."""
        del after
        return self.told.starts[processors, duration]

    def chosen_ones(self) -> dict[Key, int | None]:
        """Return the requests of the strategies that are to be simulated, to their end."""
        return dict.fromkeys(sorted({*self.chosen.values()} - self.took.keys()))

    def better_ones(self) -> dict[Key, int | None]:
        """Return the other requests that may be better than what is known, with the instant at which they are not."""
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


def _simulate(workload: Workload, plans: Sequence[_Plan], turn: Callable[[_Plan], dict[Key, int | None]]) -> None:
    """Simulate requests of all cases in one go; those that are given up stay unknown."""
    asked = [(plan, key, before) for plan in plans for key, before in turn(plan).items()]
    changed = [
        Branch(_job(workload, plan.case.place, key, plan.runtimes[key]), before=before) for plan, key, before in asked
    ]
    ends = branches(workload, "conservative", "walltime", changed, overrun="kill", stays=True)
    for (plan, key, _), end in zip(asked, ends, strict=True):
        if end.start >= 0:
            plan.took[key] = end.turnaround
            plan.simulated += 1


def _by_dispatcher(workload: Workload, plans: Sequence[_Plan]) -> list[int]:
    """Return of the first cases whether ``sa`` itself takes the job where the longest list does."""
    asked, wanted = [], []
    for plan in plans[:CHECKED]:
        name, offered = list(plan.case.lists.items())[-1]
        first, *others = offered
        job = _job(workload, plan.case.place, _key(first), first.runtime)
        resource = workload.machine.resources[0]
        shapes = tuple(
            Shape(1, each.runtime, each.request.requested_time, {resource: each.request.processors}) for each in others
        )
        asked.append(Branch(replace(job, shapes=shapes)))
        wanted.append(plan.took[plan.chosen[name]])
    found = branches(workload, "sa", "walltime", asked, overrun="kill", stays=True)
    same = [int(end.turnaround == seconds) for end, seconds in zip(found, wanted, strict=True)]
    return same + [-1] * (len(plans) - len(same))


def _job(workload: Workload, place: int, key: Key, runtime: int) -> Job:
    """Return a job of the workload with another request and run time."""
    job = workload.jobs[place]
    return replace(job, nodes=1, per_node={workload.machine.resources[0]: key[0]}, runtime=runtime, walltime=key[1])


def _all(case: Case) -> Iterable[Candidate]:
    yield case.user
    for offered in case.lists.values():
        yield from offered


def _key(candidate: Candidate) -> Key:
    return candidate.request.processors, candidate.request.requested_time
