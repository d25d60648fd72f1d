"""Jobs that still run, as data for a fit: of each only a lower bound of the run time is known."""

from __future__ import annotations

import numpy as np

from ..base import FloatArray


def errors_beyond(errors: FloatArray, least: FloatArray, last: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw an error for each running job, from those that are larger than what is known of it.

    The mass of a censored value goes in equal parts to all larger ones, censored or not (B. Efron, "The two sample
    problem with censored data", Berkeley Symposium 1967). So the ended and the drawn errors together have about the
    distribution of all jobs, and not of those that happened to end first.

    Parameters
    ----------
    errors
        Errors of predictions of ended jobs, shape (ended,).
    least
        Error of each running job if it ended now, shape (running,).
    last
        Error for a running job beyond all others, shape (running,).
    rng
        Draws.
    """
    known = np.sort(errors)
    samples = np.array(last, dtype=np.float64)
    drawn: list[float] = []
    for place in np.argsort(-least, kind="stable").tolist():
        first = int(np.searchsorted(known, least[place], side="right"))
        ended = len(known) - first
        if ended + len(drawn):
            chosen = int(rng.integers(ended + len(drawn)))
            samples[place] = known[first + chosen] if chosen < ended else drawn[chosen - ended]
        drawn.append(float(samples[place]))
    return samples
