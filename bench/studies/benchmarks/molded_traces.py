"""Choice of sizes: by jobs for themselves under several dispatchers, or by a dispatcher for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from ....base import FloatArray
from ....workloads import Workload
from ...campaigns.comparison import compare
from ...campaigns.molding_specs import molded
from ...campaigns.samples import Generated, Sampler
from ...reports.tables import Table
from ..reproductions.jsspp2000.geometric_means import resampled_means
from ..reproductions.jsspp2000.recorded_logs import PUBLIC, recorded

#: How the jobs choose, see :class:`~hpcdispatch.dispatchers.SA`.
RULES = ("turnaround", "user", "widest", "narrowest", "knee", "range")
#: The dispatchers under which they do, and those that choose for them.
OVER = ("easy", "lookahead", "hcp3")
FOR_ALL = ("hcp3:molds=true",)
MOLD = "downey:choices=5"


@dataclass(frozen=True, slots=True)
class LogStretches:
    """Disjoint stretches of a log, evenly spread over it. The seed for molding a stretch is its number.

    Attributes
    ----------
    log
        Its name.
    jobs, count
        Jobs of a stretch, and how many stretches there are.
    """

    log: str
    jobs: int
    count: int

    def __call__(self, seed: int) -> Workload:
        """Return the stretch of a number."""
        whole = _log(self.log)
        begin = len(whole) * seed // self.count
        return molded(whole.slice(begin, begin + self.jobs), MOLD, seed)


@cache
def _log(name: str) -> Workload:
    return recorded(name)


def samplers(jobs: int, count: int) -> dict[str, Sampler]:
    """Return the workloads, each as a function from a number to its jobs."""
    logs: dict[str, Sampler] = {name: LogStretches(name, jobs, count) for name in PUBLIC}
    return {**logs, "Lublin": Generated(f"lublin:jobs={jobs},processors=128,load=0.8", mold=MOLD)}


def contenders() -> list[str]:
    """Return the dispatchers that are compared."""
    return [*FOR_ALL, *(f"sa:over={over},by={rule}" for over in OVER for rule in RULES)]


def compared(
    name: str, sampler: Sampler, count: int, out: str | None, workers: int, specs: Sequence[str] = ()
) -> Table:
    """Return turnarounds and efficiency under each dispatcher, with jobs killed at their walltimes.

    Parameters
    ----------
    name, sampler, count
        A workload and how many samples of it are simulated.
    out, workers
        As of :func:`~hpcdispatch.bench.campaigns.comparison.compare`.
    specs
        The dispatchers, by default all; the first is compared with the others.
    """
    chosen = list(specs) or contenders()
    runs = compare(sampler, chosen, seeds=count, overrun="kill", out=out, workers=workers, check_invariants=True).runs
    by_seed = {str(spec): group.sort_values("seed") for spec, group in runs.groupby("dispatcher", sort=False)}
    logs = {spec: np.log(group["turnaround_gmean"].to_numpy(float)) for spec, group in by_seed.items()}
    rows = [_row(spec, group, logs) for spec, group in by_seed.items()]
    note = (
        f"{count} samples. Turnaround: geometric mean over the jobs, then over the samples. The ratio is that of the "
        f"first row to this one, below 1 where the first is shorter. Intervals over the samples, drawn in pairs."
    )
    columns = ("", "turnaround, s", f"{next(iter(by_seed))} over it", "efficiency")
    return Table(f"{name}: moldable jobs", columns, rows, note=note)


def _row(spec: str, group: pd.DataFrame, logs: dict[str, FloatArray]) -> tuple[str, ...]:
    first = next(iter(logs.values()))
    efficiency = group["efficiency"].to_numpy(float)
    return (
        spec,
        f"{np.exp(logs[spec].mean()):,.0f}",
        _interval(first - logs[spec], np.exp),
        _interval(efficiency, np.copy),
    )


def _interval(values: FloatArray, of: Callable[[FloatArray], FloatArray]) -> str:
    """Return `of` the mean of some values, with its interval."""
    low, high = of(np.quantile(resampled_means(values, np.ones(len(values))), [0.025, 0.975]))
    return f"{of(values.mean()):.2f} [{low:.2f}, {high:.2f}]"
