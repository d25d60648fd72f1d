"""Growth of run times with the input size: fit and compare complexity classes.

Source: Gainaru, Sun, Aupy, Huo, Landman, Raghavan: "On-the-fly scheduling vs. reservation-based scheduling for
unpredictable workflows", IJHPCA 2019, section 3.2. The paper chooses the class with the smallest mean squared error.
But a curve with one more coefficient never has a larger error than a constant, for any data. So here classes are
compared by their errors on runs left out of the fit. If the difference may be chance, the slower growth is chosen.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from ..base import FloatArray
from ..base.argument_types import names_wrong_types

#: Classes, slowest growth first: the powers of n and of log n.
COMPLEXITIES: dict[str, tuple[int, int]] = {
    "1": (0, 0),
    "log n": (0, 1),
    "n": (1, 0),
    "n log n": (1, 1),
    "n^2": (2, 0),
    "n^2 log n": (2, 1),
    "n^3": (3, 0),
}
CONSTANT = "1"
#: Least number of different sizes.
LEAST_SIZES = 3
#: Largest size and time, so that no square or cube overflows.
LARGEST = 1e30
#: Standard errors of the difference within which two classes are tied.
TIE = 1.0
#: A run with all but this share of the leverage decides the slope alone. Without it, only a constant remains.
_ALONE = 1e-9


@dataclass(frozen=True, slots=True)
class ClassFit:
    """The least-squares curve ``intercept + slope * g(n)``.

    Attributes
    ----------
    complexity
        Class of g, one of :data:`COMPLEXITIES`. log n is the natural logarithm of 1 + n, which is 0 for no input.
    intercept, slope
        In units of time, and of time per unit of g.
    mse
        Mean squared error of the points.
    left_out_mse
        The same, with each point left out of the fit that predicts it.
    correlation
        Pearson's correlation of time and g. NaN for a constant, and for times that do not vary.
    tied
        Whether its left-out errors exceed the least only by chance. Only for a growing curve or the constant.
    """

    complexity: str
    intercept: float
    slope: float
    mse: float
    left_out_mse: float
    correlation: float
    tied: bool

    def times(self, sizes: ArrayLike) -> FloatArray:
        """Return the times of the curve at given sizes."""
        return self.intercept + self.slope * growth(self.complexity, sizes)


@dataclass(frozen=True, slots=True)
class ComplexityFit:
    """All classes, fitted to the same runs.

    Attributes
    ----------
    classes
        In the order of :data:`COMPLEXITIES`.
    best
        The tied class of slowest growth.
    pearson, spearman
        Correlations of time and size, and of their ranks. NaN if the times do not vary. Ranks are equal for all
        classes. They show growth that no class has.
    """

    classes: tuple[ClassFit, ...]
    best: ClassFit
    pearson: float
    spearman: float

    def of(self, complexity: str) -> ClassFit:
        """Return the fit of a class."""
        return self.classes[list(COMPLEXITIES).index(complexity)]

    @property
    def tied(self) -> tuple[str, ...]:
        """Classes that the runs cannot distinguish from the best."""
        return tuple(one.complexity for one in self.classes if one.tied)

    @property
    def smallest(self) -> ClassFit:
        """The class with the smallest mean squared error, the paper's choice."""
        return min(self.classes, key=lambda one: one.mse)

    @property
    def correlation(self) -> float:
        """Correlation of the best class, or of time and size if that is the constant."""
        return self.pearson if self.best.complexity == CONSTANT else self.best.correlation


def growth(complexity: str, sizes: ArrayLike) -> FloatArray:
    """Return g(n) of a class at sizes n >= 0."""
    power, logarithm = COMPLEXITIES[complexity]
    n = np.asarray(sizes, dtype=np.float64)
    values: FloatArray = n**power * np.log1p(n) ** logarithm
    return values


@names_wrong_types
def fit_complexity(sizes: ArrayLike, times: ArrayLike) -> ComplexityFit:
    """Fit every class to runs.

    The squared errors of two classes are compared run by run. They are tied if the mean difference is at most
    :data:`TIE` of its standard errors. A class with a falling curve is excluded.

    Parameters
    ----------
    sizes
        Sizes of the inputs, shape (runs,). Most should be well above one unit, such as bytes.
    times
        Run times, in any unit, shape (runs,).

    Raises
    ------
    ValueError
        If the shapes differ, or a value is not in [0, :data:`LARGEST`]. Also if a size is above 0 and below the inverse
        of that, or there are fewer than :data:`LEAST_SIZES` different sizes.
    """
    n, time = _checked(sizes, times)
    fits, errors = zip(*(_fit(name, n, time) for name in COMPLEXITIES), strict=True)
    tied = _tied(np.array(errors), np.array([fit.slope > 0 or fit.complexity == CONSTANT for fit in fits]))
    classes = tuple(replace(fit, tied=bool(ties)) for fit, ties in zip(fits, tied, strict=True))
    best = next(fit for fit in classes if fit.tied)
    return ComplexityFit(
        classes, best, _correlation(n, time), _correlation(scipy.stats.rankdata(n), scipy.stats.rankdata(time))
    )


def _checked(sizes: ArrayLike, times: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return both as arrays, or raise the errors of :func:`fit_complexity`."""
    n, time = (np.asarray(values, dtype=np.float64) for values in (sizes, times))
    if n.ndim != 1 or n.shape != time.shape:
        raise ValueError(
            f"sizes and times: expected one row of each of the same length, got {n.shape} and {time.shape}"
        )
    for name, values in (("sizes", n), ("times", time)):
        wrong = ~((values >= 0) & (values <= LARGEST))
        if wrong.any():
            index = int(wrong.argmax())
            raise ValueError(f"{name}[{index}]: expected a number in [0, {LARGEST:g}], got {values[index]}")
    tiny = (n > 0) & (n < 1 / LARGEST)
    if tiny.any():
        index = int(tiny.argmax())
        raise ValueError(f"sizes[{index}]: expected 0 or at least {1 / LARGEST:g}, got {n[index]}")
    different = len(np.unique(n))
    if different < LEAST_SIZES:
        raise ValueError(f"sizes: expected at least {LEAST_SIZES} different ones, got {different}")
    return n, time


def _fit(complexity: str, n: FloatArray, time: FloatArray) -> tuple[ClassFit, FloatArray]:
    """Return a class, not yet tied, and its squared left-out errors. g is scaled to at most 1 and centred."""
    g = growth(complexity, n)
    largest = float(g.max())
    x = g / largest - (g / largest).mean()
    y = time - time.mean()
    weight = float(x @ x)
    slope = float(x @ y) / weight if weight > 0 else 0.0
    own = x * x / weight if weight > 0 else 0 * x
    rest = 1 - 1 / len(n) - own
    alone = rest < _ALONE
    left_out = np.where(alone, y / (1 - 1 / len(n)), (y - slope * x) / np.where(alone, 1, rest)) ** 2
    fit = ClassFit(
        complexity=complexity,
        intercept=float(time.mean() - slope * (g / largest).mean()),
        slope=slope / largest,
        mse=float(((y - slope * x) ** 2).mean()),
        left_out_mse=float(left_out.mean()),
        correlation=_correlation(x, time),
        tied=False,
    )
    return fit, left_out


def _tied(errors: FloatArray, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the classes that are as good as the best, up to chance. Errors have the shape (classes, runs)."""
    least = int(np.where(allowed, errors.mean(axis=1), np.inf).argmin())
    difference = errors - errors[least]
    chance = TIE * difference.std(axis=1, ddof=1) / np.sqrt(errors.shape[1])
    ties: NDArray[np.bool_] = allowed & (difference.mean(axis=1) <= chance)
    return ties


def _correlation(one: FloatArray, other: FloatArray) -> float:
    """Return Pearson's correlation. NaN if either does not vary."""
    x, y = (values - values.mean() for values in (one, other))
    scale = float(np.sqrt((x @ x) * (y @ y)))
    varies = np.ptp(one) > 0 and np.ptp(other) > 0 and scale > 0
    return float(np.clip(x @ y / scale, -1, 1)) if varies else float("nan")
