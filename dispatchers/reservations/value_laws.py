"""Run-time laws given by values only, with a distribution function."""

from functools import lru_cache
from typing import Any

import numpy as np

from ...base import FloatArray
from ...models.onthefly import law_on_values

#: Number of cached laws. Many jobs share one.
_KEPT = 512


class ValueLaw:
    """A law on finitely many values.

    Parameters
    ----------
    law
        An object with ``values``, seconds, and, unless they are equally likely, ``probabilities``.

    Attributes
    ----------
    values, probabilities
        Those of the law. ``None`` without probabilities.

    Raises
    ------
    InputError
        If the values are not finite numbers >= 0, or not as many as their probabilities.
    """

    __slots__ = ("_below", "probabilities", "values")

    def __init__(self, law: Any) -> None:
        self._below = law_on_values(law)[1]
        self.values: FloatArray = np.asarray(law.values, dtype=np.float64)
        self.probabilities = getattr(law, "probabilities", None)

    def cdf(self, x: Any) -> FloatArray:
        """Return the probability of a run time of at most `x`, element by element."""
        return self._below(np.asarray(x, dtype=np.float64))

    def support(self) -> tuple[float, float]:
        """Return the shortest and the longest run time."""
        return float(self.values.min()), float(self.values.max())


def with_cdf(law: Any) -> Any:
    """Return a law with ``cdf(x)`` and ``support()``: itself, or one of its values."""
    return law if hasattr(law, "cdf") and hasattr(law, "support") else _of_values(law)


_of_values = lru_cache(_KEPT)(ValueLaw)
