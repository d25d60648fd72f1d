"""Calibrate forecasts of starts by how past starts fell into their intervals (split conformal prediction)."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..dispatchers import Dispatcher
from ..workloads import Workload, recorded_state
from .start_forecasts import SHARE, Learns, StartForecast, forecast_starts

#: Fewest past forecasts, of a partition or of all, for a calibration.
LEAST = 20
#: Added to times until a start, seconds: starts within seconds are no large errors.
_SOON = 30.0
#: Part of the accounting from which on past moments are taken; before, too little has ended.
_LEARNED_BY = 0.3


@dataclass(frozen=True, slots=True)
class PastForecast:
    """A past forecast and its start, in seconds after it was made.

    Attributes
    ----------
    low, high
        The interval, as forecast without a calibration.
    start
        The start, or how long the job had waited when it was last seen waiting.
    partition
        Of the job.
    """

    low: float
    high: float
    start: float
    partition: str = ""

    @property
    def score(self) -> float:
        """By how much the start is outside of the interval, as a logarithm of a ratio; below 0 inside of it."""
        low, high, start = (math.log(max(each, 0.0) + _SOON) for each in (self.low, self.high, self.start))
        return max(low - start, start - high)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Factors on both ends of intervals.

    Attributes
    ----------
    stretch
        Logarithm of the factor, by partition where it has :data:`LEAST` past forecasts.
    pooled
        The same of all past forecasts; ``None`` if they are fewer.
    count
        Number of past forecasts.
    """

    stretch: dict[str, float]
    pooled: float | None
    count: int

    @classmethod
    def of(cls, past: Iterable[PastForecast], share: float = SHARE) -> Calibration:
        """Return the calibration by past forecasts.

        The factor is the ceil((n + 1) share)-th smallest of n scores. A new forecast like them then holds with at least
        this probability (Vovk, Gammerman and Shafer, "Algorithmic learning in a random world", 2005).
        """
        known = list(past)
        by_partition: dict[str, list[float]] = {}
        for each in known:
            by_partition.setdefault(each.partition, []).append(each.score)
        stretch = {name: _quantile(scores, share) for name, scores in by_partition.items() if len(scores) >= LEAST}
        pooled = _quantile([each.score for each in known], share) if len(known) >= LEAST else None
        return cls(stretch, pooled, len(known))

    def applied(self, forecast: StartForecast, now: float, partition: str = "") -> StartForecast:
        """Return a forecast with calibrated ends. Both are seconds on the same clock. The median stays inside."""
        stretch = self.stretch.get(partition, self.pooled)
        if stretch is None:
            return forecast
        low, high = (max(each - now, 0.0) + _SOON for each in (forecast.low, forecast.high))
        ends = low * math.exp(-stretch) - _SOON, high * math.exp(stretch) - _SOON
        return replace(
            forecast,
            low=min(now + max(0.0, ends[0]), forecast.median),
            high=max(now + max(0.0, ends[1]), forecast.median),
        )


def _quantile(scores: Sequence[float], share: float) -> float:
    """Return the ceil((n + 1) share)-th smallest score."""
    place = min(math.ceil((len(scores) + 1) * share), len(scores))
    return sorted(scores)[place - 1]


def past_forecasts(
    workload: Workload,
    dispatcher: Dispatcher,
    predictor: Learns,
    now: int,
    *,
    moments: int = 6,
    draws: int = 10,
    seed: int = 0,
) -> list[PastForecast]:
    """Return forecasts at moments of the past, each from what was known then, with the starts that came.

    Parameters
    ----------
    workload
        The recorded jobs with their waits (``records["wait"]``). One without a known wait, or that starts after `now`,
        waits until `now`.
    dispatcher, predictor
        As in :func:`.forecast_starts`; the predictor is untrained.
    now
        Seconds on the clock of the workload.
    moments, draws, seed
        Number of moments at which jobs waited, simulations of each, and the seed.
    """
    jobs = workload.columns
    wait = workload.recorded_waits
    if wait is None or not len(jobs):
        return []
    start = np.where(np.isnan(wait), np.inf, jobs.submit + wait)
    first = jobs.submit[0] + _LEARNED_BY * (now - jobs.submit[0])
    candidates = np.unique(jobs.submit[(jobs.submit >= first) & (start > jobs.submit + 1) & (jobs.submit < now)] + 1)
    if not len(candidates):
        return []
    chosen = candidates[np.unique(np.linspace(0, len(candidates) - 1, moments).astype(int))].tolist()
    starts = dict(zip(jobs.texts(), start.tolist(), strict=True))
    partitions = dict(zip(jobs.texts(), jobs.queue.each(), strict=True))
    forecasts = []
    for at in chosen:
        standing, state = recorded_state(workload, int(at))
        here = standing.slice(0, int(np.searchsorted(standing.columns.submit, state.at)))
        hidden = replace(here, jobs=tuple(replace(job, runtime=job.walltime) for job in here.jobs), records=None)
        made = forecast_starts(hidden, state, dispatcher, copy.deepcopy(predictor), draws=draws, seed=seed)
        for id_, each in made.items():
            came = min(starts.get(id_, math.inf), now)
            if came < now or now > each.high:  # One that still may start within its interval tells nothing.
                forecasts.append(PastForecast(each.low - at, each.high - at, came - at, partitions.get(id_, "")))
    return forecasts
