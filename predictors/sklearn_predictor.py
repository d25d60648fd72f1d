"""Predict run times with a regressor that has the interface of scikit-learn. It is fitted again as jobs end."""

from __future__ import annotations

import copy
import math
import pickle
from collections import Counter, deque
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import version
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from ..base import FloatArray, InputError
from ..base.argument_types import names_wrong_types
from ..base.checks import MOST_JOBS, check_choice, check_number, check_whole, shown
from ..base.corrections import tsafrir_correction
from ..base.errors import raised
from ..base.time_texts import seconds_of
from ..base.unfinished_files import write_whole
from ..workloads import Job, Workload
from ..workloads.sources import WorkloadLike, resolve, workload_of
from .censoring import errors_beyond
from .features import NEEDS, NUMBERS, TEXTS, Features, cores_of
from .hidden_runtimes import SHOWN
from .histories import WEEK, events_of
from .ranges import QuantileLaw
from .regressors import (
    check_columns,
    clone_of,
    is_fitted,
    predicted,
    prepared,
    quantile_options,
    regressor,
    takes_frames,
    weight_argument,
)

Target = Literal["log-ratio", "log-runtime", "runtime"]
Weights = Literal["none", "work", "log-work"]
#: Quantiles that a quantile regressor is fitted to for distributions, beside the predicted one.
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
#: Number of stored errors, for the quantiles of other regressors.
_ERRORS = 300
#: Errors of predictions that must be known, before they stand for those of running jobs.
_LEAST_ERRORS = 50
#: New jobs for a fit, as a share of those in the last fit.
_LEAST_NEW = 0.5
_COLUMNS = (*NUMBERS, *TEXTS)
#: Largest logarithm of seconds with a finite exponential.
_MOST = 700.0
#: Least weight of a job: a job of one core-second has a logarithm of 0.
_LEAST_WEIGHT = 0.01
#: Share of predictions that are no numbers, above which a note says so.
_NOTED = 0.05
_NEVER = "never"
#: First line of a saved predictor, with the version of scikit-learn behind.
_HEADER = b"hpcdispatch sklearn predictor 1 "
#: What a predictor has learnt.
_LEARNT = ("_past", "_ended", "_errors", "_models", "_fitted", "_clock")


class SklearnPredictor:
    """A regressor with `fit` and `predict`, fitted to ended jobs.

    Its input is described in :mod:`.features`. A row holds the features at the submission of a job, and nothing of its
    future. A prediction is at least 1 s and at most the walltime. It is the walltime until `least` jobs have ended, and
    if the regressor gives no finite number. :meth:`counts` says how often that was. After an overrun, a job gets the
    corrections of :func:`.tsafrir_correction`. With a `quantile`, it gets that of the longer run times.

    Parameters
    ----------
    estimator
        A regressor, a pipeline that ends in one, or the name of a class in scikit-learn, LightGBM or XGBoost. Or a
        regressor of river, which learns each job once. It is copied and not changed. One with ``partial_fit`` learns
        only the new jobs at each refit. One that has been fitted, to rows of :func:`training_table`, predicts from the
        first job on.
    features
        Names of columns, as a sequence, or as text with ``;`` between. By default a pipeline, or a regressor around
        one, gets all columns as a data frame, for the names of a ``ColumnTransformer``. Any other regressor gets the
        numbers as an array.
    target
        What is learned: the logarithm of run time / walltime, or of the run time, or the run time in seconds.
    refit
        Least time between two fits on the simulation's clock, in seconds or as ``1d``, or ``never``. A full fit waits
        until enough jobs have ended: half the number in the last fit. So it takes little time per job. ``None``: never
        for a regressor that has been fitted, 1 day for any other.
    jobs
        Number of ended jobs between two fits, instead of `refit`, at least 1.
    window
        Number of last ended jobs that are fitted, at least 2.
    quantile
        Quantile to predict, above 0 and below 1. Then ``distribution(job)`` exists too. A regressor with an option
        ``quantile``, gradient boosting (also of LightGBM and XGBoost), and one with ``alpha`` beside the loss
        ``"quantile"`` are fitted for it and for :data:`QUANTILES`. Other predictions are shifted by the quantiles of
        the last 300 errors. ``None`` for what the regressor predicts.
    least
        Number of ended jobs before the first fit, from 2 to `window`.
    seed
        Seed for every ``random_state`` of the regressor that is not set.
    loss
        What a regressor given by name minimizes, as its option ``loss`` or ``objective`` names it. ``None``: the
        absolute error for gradient boosting, and the default of any other.
    weights
        Weight of a job in a fit. ``"work"``: its cores times its run time; ``"log-work"``: the logarithm of that, as in
        E-Loss (Gaussier et al., SC 2015). Or a function of an ended job.
    running
        Whether a fit also knows the jobs that run, as censored data: that they take longer than until now. Without
        them early fits lean short, because short jobs end first. See :mod:`.censoring`. Not with ``partial_fit``.
    warm
        Trace from which it learns before each simulation, as it would if the trace came before. A
        :data:`~hpcdispatch.workloads.sources.WorkloadLike`. Its times may be any: they are moved by whole weeks.

    Raises
    ------
    InputError
        If an option is out of its range, or scikit-learn is not installed. In a simulation, if the trace has no values
        for a column that was given by name. Also if the regressor raises, or does not return one number per job.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import SklearnPredictor
    >>> from sklearn.linear_model import Ridge
    >>> result = hd.simulate("example", "easy", SklearnPredictor(Ridge(), features="walltime;nodes;user_last"))
    >>> result.manifest["predictions"]["predicted"]
    900
    """

    uses: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        estimator: Any = "HistGradientBoostingRegressor",
        features: str | Sequence[str] | None = None,
        target: Target = "log-ratio",
        refit: str | int | None = None,
        jobs: int | None = None,
        window: int = 10_000,
        quantile: float | None = None,
        least: int = 100,
        seed: int = 0,
        loss: str | None = None,
        weights: Weights | Callable[[Job], float] = "none",
        running: bool = True,
        warm: WorkloadLike | None = None,
    ) -> None:
        try:
            self.estimator = regressor(estimator, loss)
            self.loss = loss
            self.pretrained = is_fitted(self.estimator)
            self._use(features)
            check_choice("target", target, Target)
            given = refit if refit is not None else _NEVER if self.pretrained else "1d"
            try:
                self._every = math.inf if given == _NEVER else check_whole("refit", seconds_of(given), 1)
            except ValueError as error:
                raise ValueError(f"refit: {error}, or {_NEVER}") from None
            self.refit = None if refit is None else self._every
            self.jobs = None if jobs is None else check_whole("jobs", jobs, 1)
            self.window = check_whole("window", window, 2, MOST_JOBS)
            self.least = check_whole("least", least, 2, self.window, "window is so long")
            check_number("quantile", quantile, above=0, below=1, none=True)
            self.seed = check_whole("seed", seed, 0, 2**32 - 1)
            if not callable(weights):
                check_choice("weights", weights, Weights)
            if not isinstance(running, bool):
                raise ValueError(f"running must be true or false, got {shown(running)}")
            if isinstance(warm, str | PathLike):
                resolve(fspath(warm))
            elif warm is not None and not isinstance(warm, Workload):
                raise ValueError(f"warm: expected a Workload, a path or a name, got {shown(warm)}")
        except ValueError as error:
            raise InputError(f"predictor sklearn: {error}") from None
        self.target, self.quantile, self.weights, self.running = target, quantile, weights, running
        self._shares: list[float | None] = [None]
        if quantile is not None:
            self.distribution = self._distribution
        self.estimator = prepared(self.estimator, self.seed, self.pretrained)
        self._learns = hasattr(self.estimator, "partial_fit")
        # A fitted regressor knows one quantile at most, and not which.
        self._settings = {} if self.pretrained else quantile_options(self.estimator)
        if self._settings and quantile is not None:
            self._shares = [*sorted({*QUANTILES, quantile})]
        else:
            self._settings = {}
        self._weight = self._weight_argument()
        self._history: WorkloadLike | None = warm
        self.warm = (
            warm.provenance.source or f"{len(warm)} jobs" if isinstance(warm, Workload) else warm and fspath(warm)
        )
        #: What it knows at the beginning of a simulation.
        self._beginning: dict[str, Any] = {"_models": {None: self.estimator}} if self.pretrained else {}
        self.reset()

    def reset(self) -> None:
        """Return to the beginning: to nothing, or to what a fitted regressor, `warm` or a file brought."""
        self._past = Features()
        self._rows: dict[str, list[Any]] = {}
        #: Predictions of jobs that have not ended, in terms of the target.
        self._told: dict[str, float] = {}
        #: Running jobs by id, with their starts.
        self._running: dict[str, tuple[Job, int]] = {}
        self._ended: deque[tuple[list[Any], float, Job]] = deque(maxlen=self.window)
        self._errors: deque[float] = deque(maxlen=_ERRORS)
        self._shift: FloatArray | None = None
        self._models: dict[float | None, Any] = {}
        self._new = 0
        self._fitted = 0
        self._next = -math.inf
        self._clock = 0
        self._counts: Counter[str] = Counter(predicted=0, early=0, fallback=0, refits=0)
        vars(self).update(self._copied(self._beginning))
        self._begun = not self._beginning

    def counts(self) -> dict[str, int]:
        """Return the numbers of predictions, early walltimes, other fallbacks to the walltime, and fits.

        Early means before the first fit.
        """
        return dict(self._counts)

    def notes(self) -> list[str]:
        """Return what a user should know of the predictions of a simulation."""
        counts, name = self._counts, type(self.estimator).__name__
        asked = counts["predicted"] - counts["early"]
        notes = []
        if counts["fallback"] > _NOTED * asked:
            notes.append(f"{name} gave no finite number for {counts['fallback']} of {asked} jobs, which got walltimes")
        if counts["predicted"] and not asked:
            notes.append(
                f"{name} was never fitted, and all {counts['predicted']} jobs got walltimes: "
                f"less than {self.least} jobs (least) had ended"
            )
        return notes

    def predict(self, job: Job, now: int) -> float:
        """Return the predicted run time, at most the walltime, seconds."""
        return self.predict_many([job], now)[0]

    def predict_many(self, jobs: Sequence[Job], now: int) -> list[float]:
        """Return the predictions of jobs submitted at the same time, from one call of the regressor."""
        if self._history is not None or not self._begun:
            self._begin(now)
        self._clock = now
        self._fit_if_due(now)
        rows = [self._past.row(job, now) for job in jobs]
        for job, row in zip(jobs, rows, strict=True):
            self._rows[job.id] = row
        self._counts["predicted"] += len(jobs)
        if not self._models:
            self._counts["early"] += len(jobs)
            return [float(job.walltime) for job in jobs]
        values = self._asked(self.quantile if self._settings else None, rows)
        predictions = []
        for job, value in zip(jobs, values.tolist(), strict=True):
            if not math.isfinite(value):
                self._counts["fallback"] += 1
                predictions.append(float(job.walltime))
                continue
            self._told[job.id] = value
            predictions.append(self._seconds(value + self._shifted(), job))
        return predictions

    def observe(self, job: Job) -> None:
        """Learn from the run time of an ended job."""
        now = max(self._clock, job.submit + job.runtime)
        row = self._rows.pop(job.id, None) or self._past.row(job, job.submit)
        self._running.pop(job.id, None)
        self._past.observe(job, now)
        value = self._value(job.runtime, job)
        self._ended.append((row, value, job))
        told = self._told.pop(job.id, None)
        if told is not None:
            self._errors.append(value - told)
            self._shift = None
        self._new += 1

    def started(self, job: Job, now: int) -> None:
        """Record that a job runs. This changes the features of its user's next jobs."""
        self._clock = now
        self._running[job.id] = job, now
        self._past.started(job, now)

    def stopped(self, job: Job, now: int) -> None:
        """Record that a job has left the machine, for now or for good."""
        self._clock = now
        self._running.pop(job.id, None)
        self._past.stopped(job)

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Return a longer prediction of an overrunning job, seconds."""
        law = None if self.quantile is None else self._distribution(job)
        if law is None or self.quantile is None or elapsed >= job.walltime:
            return tsafrir_correction(job, elapsed, misses)
        least = min(math.ceil(elapsed * 1.01), job.walltime)
        return float(max(least, math.ceil(law.quantile(self.quantile, elapsed))))

    def save(self, path: str | PathLike[str]) -> None:
        """Store the predictor with what it has learnt, such as in a simulation, for :meth:`load`.

        Raises
        ------
        InputError
            If the regressor cannot be pickled.
        OSError
            If the file cannot be written.
        """
        made = copy.copy(self)
        made._history = None
        made._beginning = self._copied({name: getattr(self, name) for name in _LEARNT})
        made._beginning["_past"] = self._past.ended()
        made.reset()
        # A bound method would bring the original.
        vars(made).pop("distribution", None)
        try:
            packed = pickle.dumps(made)
        except Exception as error:  # noqa: BLE001 - pickle raises errors of many types
            raise InputError(f"{fspath(path)}: expected a regressor that can be pickled: {raised(error)}") from None
        write_whole(Path(path), _HEADER + version("scikit-learn").encode() + b"\n" + packed)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> SklearnPredictor:
        """Return a stored predictor. Each simulation begins with what it had learnt.

        The file is a pickle, which can run any code: load only what you have stored yourself.

        Raises
        ------
        InputError
            If it is no such file, or of another version of scikit-learn.
        """
        content = Path(path).read_bytes()
        if not content.startswith(_HEADER):
            raise InputError(f"{fspath(path)}: expected a file of SklearnPredictor.save, got {shown(content[:20])}")
        first, _, packed = content.partition(b"\n")
        theirs, ours = first.removeprefix(_HEADER).decode(errors="replace"), version("scikit-learn")
        if theirs != ours:
            raise InputError(f"{fspath(path)}: expected one of scikit-learn {ours}, got {shown(theirs)}; train it anew")
        try:
            made = pickle.loads(packed)
        except Exception as error:  # noqa: BLE001 - as when a class of the regressor is missing
            raise InputError(f"{fspath(path)}: expected a stored predictor: {raised(error)}") from None
        if not isinstance(made, cls):
            raise InputError(f"{fspath(path)}: expected a SklearnPredictor, got {shown(made)}")
        if made.quantile is not None:
            made.distribution = made._distribution
        return made

    def _copied(self, learnt: dict[str, Any]) -> dict[str, Any]:
        """Return what has been learnt as a copy. A fit makes new models, but ``partial_fit`` changes them."""
        models = {"_models": learnt["_models"]} if "_models" in learnt and not self._learns else {}
        return copy.deepcopy({name: value for name, value in learnt.items() if name not in models}) | {
            name: dict(value) for name, value in models.items()
        }

    def _begin(self, now: int) -> None:
        """Learn from the history, at the first use, and move the past before the first job."""
        if self._history is not None:
            history, self._history = workload_of(self._history), None
            kept = self._counts.copy()
            for what, job, when in events_of(history):
                self._clock = when
                if what == "submit":
                    self._rows[job.id] = self._past.row(job, when)
                elif what == "start":
                    self.started(job, when)
                else:
                    self.observe(job)
            self._counts = kept
            self._rows.clear()
            self._running.clear()
            self._fit_if_due(self._clock, True)
            learnt = {name: getattr(self, name) for name in _LEARNT}
            self._beginning = self._copied(learnt)
        self._begun = True
        if self._clock > now:
            self._past.move(-WEEK * math.ceil((self._clock - now) / WEEK))
        self._next = now + self._every

    def _distribution(self, job: Job) -> QuantileLaw | None:
        """Return the distribution of the run time up to the walltime.

        ``None`` before the first fit, or if the regressor gives no finite number.
        """
        if not self._models:
            return None
        row = self._rows.get(job.id) or self._past.row(job, job.submit)
        if self._settings:
            shares = sorted(share for share in self._models if share is not None)
            values = np.array([self._asked(share, [row])[0] for share in shares])
        else:
            shares = [*QUANTILES]
            values = self._asked(None, [row])[0] + self._quantiles(shares)
        if not np.isfinite(values).all():
            return None
        times = np.array([self._seconds(value, job) for value in np.maximum.accumulate(values).tolist()])
        # Beyond the outer quantiles: from nothing, and to the walltime.
        times = np.concatenate(([0.0], times, [float(job.walltime)]))
        return QuantileLaw(times, np.array([0.0, *shares, 1.0]))

    def _value(self, seconds: float, job: Job) -> float:
        """Return a run time in terms of the target."""
        return value_of(seconds, job, self.target)

    def _seconds(self, value: float, job: Job) -> float:
        if self.target != "runtime":
            value += math.log(job.walltime) if self.target == "log-ratio" else 0.0
            value = math.exp(min(value, _MOST))
        return min(max(1.0, value), float(job.walltime))

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

    def _use(self, features: str | Sequence[str] | None) -> None:
        """Take the names of the columns."""
        framed = takes_frames(self.estimator)
        given: Any = _COLUMNS if framed else tuple(NUMBERS)
        known = getattr(self.estimator, "feature_names_in_", None) if self.pretrained else None
        if features is None and known is not None and {*map(str, known)} <= {*_COLUMNS}:
            given = tuple(map(str, known))
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
        if self.pretrained:
            check_columns(self.estimator, self.features)
        self._wanted = () if features is None else tuple(name for name in self.features if name in NEEDS)
        self._framed = framed or known is not None or any(name in TEXTS for name in self.features)
        self._places = [_COLUMNS.index(name) for name in self.features]

    def _weight_argument(self) -> str | None:
        """Return the name of the argument for weights; ``None`` if all jobs count alike."""
        if self.weights == "none":
            return None
        name = weight_argument(self.estimator, "partial_fit" if self._learns else "fit")
        if name is None:
            kind = type(self.estimator).__name__
            raise InputError(f"predictor sklearn: weights: {kind} takes no sample_weight; leave weights out")
        return name

    def _weights_of(self, jobs: Sequence[Job]) -> FloatArray:
        """Return the weight of each job."""
        if callable(self.weights):
            job_weights = [self.weights(job) for job in jobs]
            wrong = next((at for at, each in enumerate(job_weights) if not 0 <= each < math.inf), None)
            if wrong is not None:
                raise InputError(
                    f"weights: job {jobs[wrong].id}: expected a number >= 0, got {shown(job_weights[wrong])}"
                )
            return np.array(job_weights, dtype=np.float64)
        work = np.array([cores_of(job) * max(1, job.runtime) for job in jobs], dtype=np.float64)
        weights: FloatArray = np.log(work) if self.weights == "log-work" else work / work.mean()
        return np.maximum(_LEAST_WEIGHT, weights)

    def _fit_if_due(self, now: int, forced: bool = False) -> None:
        enough = self._learns or self._new >= self._fitted * _LEAST_NEW
        due = self._new >= self.jobs if self.jobs is not None else now >= self._next and enough
        if not (due or forced) or not self._new or len(self._ended) < self.least:
            return
        for name in self._wanted:
            if not any(getattr(job, NEEDS[name]) for _, _, job in self._ended):
                expected = f"feature {name!r}: expected jobs with a {NEEDS[name]}"
                raise InputError(f"{expected}, got none in {len(self._ended):,}; leave it out of features")
        ended = list(self._ended)[-self._new if self._learns and self._models else 0 :]
        rows, values, jobs = (
            [row for row, _, _ in ended],
            [value for _, value, _ in ended],
            [job for _, _, job in ended],
        )
        running = self._known_of_running(now)
        if running and not self._models:
            self._fit(rows, values, jobs)
        if running:
            more = self._ends_of_running(running, rows, values)
            rows += [row for _, row, _ in running]
            for (job, _, _), value in zip(running, more, strict=True):
                jobs.append(_with_runtime(job, round(self._seconds(value, job))) if self._weight else job)
            values += more
        self._fit(rows, values, jobs)
        self._counts["refits"] += 1
        self._new = 0
        self._next = now + self._every
        self._fitted = len(ended)

    def _fit(self, rows: list[list[Any]], values: list[float], jobs: list[Job]) -> None:
        """Fit the regressor, for each quantile."""
        call = "partial_fit" if self._learns else "fit"
        for share in self._shares:
            model = self._models.get(share) if self._learns else None
            if model is None:
                model = clone_of(self.estimator)
                if share is not None:
                    model.set_params(**{name: value or share for name, value in self._settings.items()})
            # Each fit gets its own arrays: it may change them.
            weights = {} if self._weight is None else {self._weight: self._weights_of(jobs)}
            self._called(model, call, self._table(rows), np.array(values), **weights)
            self._models[share] = model

    def _known_of_running(self, now: int) -> list[tuple[Job, list[Any], int]]:
        """Return the jobs that run, with their rows and how long they have run, seconds."""
        if not self.running or self._learns:
            return []
        known = [(job, self._rows.get(job.id), now - start) for job, start in self._running.values()]
        return [(job, row, elapsed) for job, row, elapsed in known if row is not None and elapsed > 0]

    def _ends_of_running(
        self, running: Sequence[tuple[Job, list[Any], int]], rows: list[list[Any]], values: list[float]
    ) -> list[float]:
        """Return run times for jobs that run, in terms of the target: drawn from those that are longer than known."""
        share = min(self._models, key=lambda each: abs((0.5 if each is None else each) - 0.5))
        middle = self._asked(share, [row for _, row, _ in running])
        errors = np.array(self._errors)
        if len(errors) < _LEAST_ERRORS:
            errors = np.array(values) - self._asked(share, rows)
        errors = errors[np.isfinite(errors)]
        middle = np.where(np.isfinite(middle), middle, 0.0)
        least = np.array([self._value(elapsed, job) for job, _, elapsed in running])
        # Beyond all errors: between what is known and the walltime.
        last = [self._value(math.sqrt(elapsed * max(elapsed, job.walltime)), job) for job, _, elapsed in running]
        most = [self._value(max(elapsed, job.walltime), job) for job, _, elapsed in running]
        rng = np.random.default_rng((self.seed, self._counts["refits"]))
        targets = middle + errors_beyond(errors, least - middle, np.array(last) - middle, rng)
        return [float(value) for value in np.clip(targets, least, most)]

    def _asked(self, share: float | None, rows: list[list[Any]]) -> FloatArray:
        output = self._called(self._models[share], "predict", self._table(rows))
        if output.shape not in ((len(rows),), (len(rows), 1)) or output.dtype.kind not in "fiu":
            description = f"an array of shape {output.shape} and type {output.dtype}"
            raise InputError(
                f"estimator {type(self.estimator).__name__}: expected {len(rows)} numbers, got {description}"
            )
        values: FloatArray = output.reshape(-1).astype(np.float64)
        return values

    def _called(self, model: Any, call: str, *given: Any, **named: Any) -> Any:
        """Call the regressor on one thread. Return its predictions as an array."""
        if not _POOLS:
            _POOLS.append(import_module("threadpoolctl").ThreadpoolController())
        try:
            with _POOLS[0].limit(limits=1):
                if call == "predict":
                    return np.asarray(predicted(model, *given))
                return getattr(model, call)(*given, **named)
        except Exception as error:
            raise InputError(f"estimator {type(self.estimator).__name__}: {call} raised {raised(error)}") from error

    def _table(self, rows: list[list[Any]]) -> Any:
        """Return rows as a data frame, or as an array if all columns are numbers."""
        if self._framed:
            columns = {name: [row[at] for row in rows] for name, at in zip(self.features, self._places, strict=True)}
            return import_module("pandas").DataFrame(columns, copy=False)
        return np.array([[row[at] for at in self._places] for row in rows])


def _with_runtime(job: Job, runtime: int) -> Job:
    """Return a running job with a run time. Its own one stays unread."""
    return Job(runtime=runtime, **{name: getattr(job, name) for name in SHOWN})


def value_of(seconds: float, job: Job, target: Target) -> float:
    """Return a run time in terms of a target."""
    if target == "runtime":
        return float(seconds)
    return math.log(max(1, seconds) / (job.walltime if target == "log-ratio" else 1))


@names_wrong_types
def training_table(history: WorkloadLike, target: Target = "log-ratio") -> tuple[Any, FloatArray]:
    """Return the columns of the jobs of a trace at their submission, and what there is to learn of them.

    A regressor that is fitted to them, or to some of the columns, can be the `estimator` of a
    :class:`SklearnPredictor`. The past of a job holds the jobs that had ended by then, with the recorded waits.

    Parameters
    ----------
    history
        A :data:`~hpcdispatch.workloads.sources.WorkloadLike`.
    target
        As of :class:`SklearnPredictor`.

    Returns
    -------
    tuple
        A data frame with the columns of :mod:`.features` and a row per job, and an array of shape (jobs,).

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.predictors import training_table
    >>> table, targets = training_table(hd.example(), target="log-runtime")
    >>> table.shape, targets.shape
    ((900, 22), (900,))
    """
    try:
        check_choice("target", target, Target)
    except ValueError as error:
        raise InputError(f"training_table: {error}") from None
    past, rows, values = Features(), [], []
    for what, job, now in events_of(workload_of(history)):
        if what == "submit":
            rows.append(past.row(job, now))
            values.append(value_of(job.runtime, job, target))
        elif what == "start":
            past.started(job, now)
        else:
            past.observe(job, now)
    return import_module("pandas").DataFrame(rows, columns=[*_COLUMNS]), np.array(values, dtype=np.float64)


#: Control of the threads, from the first use of a regressor on. Finding the libraries takes milliseconds.
_POOLS: list[Any] = []
