"""Predict run times with a regressor that has the interface of scikit-learn. It is fitted again as jobs end."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Sequence
from importlib import import_module
from typing import Any, ClassVar, Literal

import numpy as np

from ..base import FloatArray, InputError
from ..base.checks import MOST_JOBS, check_choice, check_number, check_whole, shown
from ..base.corrections import tsafrir_correction
from ..base.errors import raised
from ..base.time_texts import seconds_of
from ..workloads import Job
from .features import NEEDS, NUMBERS, TEXTS, Features
from .ranges import QuantileLaw

Target = Literal["log-ratio", "log-runtime"]
#: Quantiles that a quantile regressor is fitted to for distributions, beside the predicted one.
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
#: Modules to search for the name of a regressor.
_MODULES = (
    "linear_model",
    "ensemble",
    "tree",
    "neighbors",
    "neural_network",
    "svm",
    "kernel_ridge",
    "gaussian_process",
    "dummy",
)
#: Number of stored errors, for the quantiles of other regressors.
_ERRORS = 300
#: New jobs for a fit, as a share of those in the last fit.
_LEAST_NEW = 0.5
_COLUMNS = (*NUMBERS, *TEXTS)
#: Largest logarithm of seconds with a finite exponential.
_MOST = 700.0


class SklearnPredictor:
    """A regressor with `fit` and `predict`, fitted to ended jobs.

    Its input is described in :mod:`.features`. A row holds the features at the submission of a job, and nothing of its
    future. A prediction is at least 1 s and at most the walltime. It is the walltime until `least` jobs have ended, and
    if the regressor gives no finite number. :meth:`counts` says how often that was. After an overrun, a job gets the
    corrections of :func:`.tsafrir_correction`. With a `quantile`, it gets that of the longer run times.

    Parameters
    ----------
    estimator
        A regressor, a pipeline that ends in one, or the name of a class in scikit-learn. It is cloned and not changed;
        an object without ``get_params`` is copied. One with ``partial_fit`` learns only the new jobs at each refit.
    features
        Names of columns, as a sequence, or as text with ``;`` between. By default a pipeline, or a regressor around
        one, gets all columns as a data frame, for the names of a ``ColumnTransformer``. Any other regressor gets the
        numbers as an array.
    target
        What is learned: the logarithm of run time / walltime, or of the run time.
    refit
        Least time between two fits on the simulation's clock, in seconds or as ``1d``. A full fit waits until enough
        jobs have ended: half the number in the last fit. So it takes little time per job.
    jobs
        Number of ended jobs between two fits, instead of `refit`, at least 1.
    window
        Number of last ended jobs that are fitted, at least 2.
    quantile
        Quantile to predict, above 0 and below 1. Then ``distribution(job)`` exists too. A regressor with an option
        ``quantile``, gradient boosting, and one with ``alpha`` beside the loss ``"quantile"`` are fitted for it and for
        :data:`QUANTILES`. Other predictions are shifted by the quantiles of the last 300 errors. ``None`` for what the
        regressor predicts.
    least
        Number of ended jobs before the first fit, from 2 to `window`.
    seed
        Seed for every ``random_state`` of the regressor that is not set.

    Raises
    ------
    InputError
        If an option is out of its range, or scikit-learn is not installed. In a simulation, if the trace has no values
        for a column that was given by name. Also if the regressor raises, or does not return one number per job.
    """

    uses: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        estimator: Any = "HistGradientBoostingRegressor",
        features: str | Sequence[str] | None = None,
        target: Target = "log-ratio",
        refit: str | int = "1d",
        jobs: int | None = None,
        window: int = 10_000,
        quantile: float | None = None,
        least: int = 100,
        seed: int = 0,
    ) -> None:
        try:
            self._use(estimator, features)
            check_choice("target", target, Target)
            try:
                self.refit = check_whole("refit", seconds_of(refit), 1)
            except ValueError as error:
                raise ValueError(f"refit: {error}") from None
            self.jobs = None if jobs is None else check_whole("jobs", jobs, 1)
            self.window = check_whole("window", window, 2, MOST_JOBS)
            self.least = check_whole("least", least, 2, self.window, "window is so long")
            check_number("quantile", quantile, above=0, below=1, none=True)
            self.seed = check_whole("seed", seed, 0, 2**32 - 1)
        except ValueError as error:
            raise InputError(f"predictor sklearn: {error}") from None
        self.target, self.quantile = target, quantile
        self._shares: list[float | None] = [None]
        if quantile is not None:
            self.distribution = self._distribution
        self._settings = self._set_up()
        if self._settings and quantile is not None:
            self._shares = [*sorted({*QUANTILES, quantile})]
        self.reset()

    def reset(self) -> None:
        """Drop all jobs and fits."""
        self._past = Features()
        self._rows: dict[str, list[Any]] = {}
        #: Predictions of jobs that have not ended, as logarithms.
        self._told: dict[str, float] = {}
        self._ended: deque[tuple[list[Any], float, Job]] = deque(maxlen=self.window)
        self._errors: deque[float] = deque(maxlen=_ERRORS)
        self._shift: FloatArray | None = None
        self._models: dict[float | None, Any] = {}
        self._new = 0
        self._fitted = 0
        self._next = -math.inf
        self._clock = 0
        self._counts: Counter[str] = Counter(predicted=0, early=0, fallback=0, refits=0)

    def counts(self) -> dict[str, int]:
        """Return the numbers of predictions, early walltimes, other fallbacks to the walltime, and fits.

        Early means before the first fit.
        """
        return dict(self._counts)

    def predict(self, job: Job, now: int) -> float:
        """Return the predicted run time, at most the walltime, seconds."""
        return self.predict_many([job], now)[0]

    def predict_many(self, jobs: Sequence[Job], now: int) -> list[float]:
        """Return the predictions of jobs submitted at the same time, from one call of the regressor."""
        self._clock = now
        self._fit_if_due(now)
        rows = [self._past.row(job, now) for job in jobs]
        for job, row in zip(jobs, rows, strict=True):
            self._rows[job.id] = row
        self._counts["predicted"] += len(jobs)
        if not self._models:
            self._counts["early"] += len(jobs)
            return [float(job.walltime) for job in jobs]
        logs = self._asked(self.quantile if self._settings else None, rows)
        found = []
        for job, log in zip(jobs, logs.tolist(), strict=True):
            if not math.isfinite(log):
                self._counts["fallback"] += 1
                found.append(float(job.walltime))
                continue
            self._told[job.id] = log
            found.append(self._seconds(log + self._shifted(), job))
        return found

    def observe(self, job: Job) -> None:
        """Learn from the run time of an ended job."""
        now = max(self._clock, job.submit + job.runtime)
        row = self._rows.pop(job.id, None) or self._past.row(job, job.submit)
        self._past.observe(job, now)
        log = math.log(max(1, job.runtime) / (job.walltime if self.target == "log-ratio" else 1))
        self._ended.append((row, log, job))
        told = self._told.pop(job.id, None)
        if told is not None:
            self._errors.append(log - told)
            self._shift = None
        self._new += 1

    def started(self, job: Job, now: int) -> None:
        """Record that a job runs. This changes the features of its user's next jobs."""
        self._clock = now
        self._past.started(job, now)

    def stopped(self, job: Job, now: int) -> None:
        """Record that a job has left the machine, for now or for good."""
        self._clock = now
        self._past.stopped(job)

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return a longer prediction of an overrunning job, seconds."""
        law = None if self.quantile is None else self._distribution(job)
        if law is None or self.quantile is None or elapsed >= job.walltime:
            return tsafrir_correction(job, elapsed, misses)
        least = min(math.ceil(elapsed * 1.01), job.walltime)
        return float(max(least, math.ceil(law.quantile(self.quantile, elapsed))))

    def _distribution(self, job: Job) -> QuantileLaw | None:
        """Return the distribution of the run time up to the walltime.

        ``None`` before the first fit, or if the regressor gives no finite number.
        """
        if not self._models:
            return None
        row = self._rows.get(job.id) or self._past.row(job, job.submit)
        if self._settings:
            shares = sorted(share for share in self._models if share is not None)
            logs = np.array([self._asked(share, [row])[0] for share in shares])
        else:
            shares = [*QUANTILES]
            logs = self._asked(None, [row])[0] + self._quantiles(shares)
        if not np.isfinite(logs).all():
            return None
        times = np.array([self._seconds(log, job) for log in np.maximum.accumulate(logs).tolist()])
        # Beyond the outer quantiles: from nothing, and to the walltime.
        times = np.concatenate(([0.0], times, [float(job.walltime)]))
        return QuantileLaw(times, np.array([0.0, *shares, 1.0]))

    def _seconds(self, log: float, job: Job) -> float:
        log += math.log(job.walltime) if self.target == "log-ratio" else 0.0
        return min(max(1.0, math.exp(min(log, _MOST))), float(job.walltime))

    def _shifted(self) -> float:
        """Return the shift of predictions to the quantile. 0 if the regressor fits quantiles itself."""
        if self.quantile is None or self._settings:
            return 0.0
        if self._shift is None:
            self._shift = self._quantiles([self.quantile])
        return float(self._shift[0])

    def _quantiles(self, shares: Sequence[float]) -> FloatArray:
        return np.quantile(self._errors, shares) if self._errors else np.zeros(len(shares))

    # The regressor.

    def _use(self, estimator: Any, features: str | Sequence[str] | None) -> None:
        """Take the regressor and the names of its columns."""
        self.estimator = _regressor(estimator)
        parts: dict[str, Any] = getattr(self.estimator, "get_params", dict)()
        framed = any(hasattr(each, "steps") for each in (self.estimator, *parts.values()))
        given: Any = _COLUMNS if framed else tuple(NUMBERS)
        if features is not None:
            given = [name.strip() for name in features.split(";")] if isinstance(features, str) else features
        if not isinstance(given, Sequence):
            raise ValueError(f"features: expected names of columns, got {shown(given)}")
        self.features = tuple(given)
        for name in self.features:
            if name not in _COLUMNS:
                raise ValueError(f"features: expected names among {', '.join(_COLUMNS)}; got {shown(name)}")
        if not self.features or len(set(self.features)) < len(self.features):
            raise ValueError(f"features: expected one or more different names, got {shown(self.features)}")
        self._wanted = () if features is None else tuple(name for name in self.features if name in NEEDS)
        self._framed = framed or any(name in TEXTS for name in self.features)
        self._places = [_COLUMNS.index(name) for name in self.features]

    def _set_up(self) -> dict[str, Any]:
        """Seed the regressor, and keep it on one thread. Return its options for a quantile, which is ``None`` there."""
        clone = import_module("sklearn.base").clone
        try:
            self.estimator = clone(self.estimator, safe=False)
            options: dict[str, Any] = getattr(self.estimator, "get_params", dict)()
            given = {name: self.seed for name in options if name.endswith("random_state") and options[name] is None}
            given |= {name: 1 for name in options if name.rpartition("__")[2] == "n_jobs"}
            if given:
                self.estimator.set_params(**given)
        except Exception as error:  # noqa: BLE001 - another project's part may raise anything
            raise InputError(f"estimator: expected one that scikit-learn can clone: {raised(error)}") from None
        name, last = getattr(self.estimator, "steps", [("", self.estimator)])[-1]
        own: dict[str, Any] = getattr(last, "get_params", dict)()
        prefix = f"{name}__" if name else ""
        boosts = own.get("loss") == "quantile" or type(last).__name__ == "GradientBoostingRegressor"
        share = "quantile" if "quantile" in own else "alpha" if boosts and "alpha" in own else ""
        if self.quantile is None or not share:
            return {}
        return {prefix + share: None} | {prefix + name: "quantile" for name in ("loss", "strategy") if name in own}

    def _fit_if_due(self, now: int) -> None:
        learns = hasattr(self.estimator, "partial_fit")
        enough = learns or self._new >= self._fitted * _LEAST_NEW
        due = self._new >= self.jobs if self.jobs is not None else now >= self._next and enough
        if not due or not self._new or len(self._ended) < self.least:
            return
        for name in self._wanted:
            if not any(getattr(job, NEEDS[name]) for _, _, job in self._ended):
                expected = f"feature {name!r}: expected jobs with a {NEEDS[name]}"
                raise InputError(f"{expected}, got none in {len(self._ended):,}; leave it out of features")
        rows = list(self._ended)[-self._new if learns and self._models else 0 :]
        for share in self._shares:
            model = self._models.get(share) if learns else None
            if model is None:
                model = import_module("sklearn.base").clone(self.estimator, safe=False)
                if share is not None:
                    model.set_params(**{name: value or share for name, value in self._settings.items()})
            # Each fit gets its own arrays: it may change them.
            logs = np.array([log for _, log, _ in rows])
            self._called(model, "partial_fit" if learns else "fit", self._table([row for row, _, _ in rows]), logs)
            self._models[share] = model
        self._counts["refits"] += 1
        self._new = 0
        self._next = now + self.refit
        self._fitted = len(rows)

    def _asked(self, share: float | None, rows: list[list[Any]]) -> FloatArray:
        found = self._called(self._models[share], "predict", self._table(rows))
        if found.shape not in ((len(rows),), (len(rows), 1)) or found.dtype.kind not in "fiu":
            got = f"an array of shape {found.shape} and type {found.dtype}"
            raise InputError(f"estimator {type(self.estimator).__name__}: expected {len(rows)} numbers, got {got}")
        logs: FloatArray = found.reshape(-1).astype(np.float64)
        return logs

    def _called(self, model: Any, call: str, *given: Any) -> Any:
        """Call the regressor on one thread. Return its predictions as an array."""
        if not _POOLS:
            _POOLS.append(import_module("threadpoolctl").ThreadpoolController())
        try:
            with _POOLS[0].limit(limits=1):
                return np.asarray(_predicted(model, *given)) if call == "predict" else getattr(model, call)(*given)
        except Exception as error:
            raise InputError(f"estimator {type(self.estimator).__name__}: {call} raised {raised(error)}") from error

    def _table(self, rows: list[list[Any]]) -> Any:
        """Return rows as a data frame, or as an array if all columns are numbers."""
        if self._framed:
            columns = {name: [row[at] for row in rows] for name, at in zip(self.features, self._places, strict=True)}
            return import_module("pandas").DataFrame(columns, copy=False)
        return np.array([[row[at] for at in self._places] for row in rows])


def _regressor(given: Any) -> Any:
    """Return a regressor, given as an object or by name."""
    try:
        import_module("sklearn")
    except ImportError:
        raise ValueError("it needs scikit-learn: pip install 'hpcdispatch[learn]'") from None
    made = given
    if isinstance(given, str):
        modules = (import_module(f"sklearn.{name}") for name in _MODULES)
        made = next((found for module in modules if isinstance(found := getattr(module, given, None), type)), None)
        try:
            made = made and made()
        except TypeError:
            made = None
    # One that stacks others has no method to predict before its first fit.
    kind = "class" if isinstance(made, type) else _kind_of(made)
    predicts = kind == "regressor" or (kind is None and callable(getattr(made, "predict", None)))
    if not predicts or not callable(getattr(made, "fit", None)):
        expected = "a regressor with fit and predict, or the name of one in scikit-learn"
        raise ValueError(f"estimator: expected {expected}, got {shown(given)}")
    return made


def _kind_of(estimator: Any) -> Any:
    """Return what scikit-learn calls an estimator, such as ``"classifier"``. ``None`` if it does not say."""
    tags = getattr(estimator, "__sklearn_tags__", None)  # from scikit-learn 1.6 on
    return tags().estimator_type if tags else getattr(estimator, "_estimator_type", None)


def _predicted(model: Any, table: Any) -> Any:
    """Return what a regressor predicts. Ask the trees of a forest directly: its own call takes ten times as long."""
    ensemble = import_module("sklearn.ensemble")
    if type(model) not in (ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor):
        return model.predict(table)
    rows = np.asarray(table, dtype=np.float32)
    return sum(tree.tree_.predict(rows) for tree in model.estimators_) / len(model.estimators_)


#: Control of the threads, from the first use of a regressor on. Finding the libraries takes milliseconds.
_POOLS: list[Any] = []
