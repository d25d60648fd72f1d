"""Regressors that know something at the beginning: fitted ones, histories, stored predictors; and what fits know."""

import math
import warnings
from typing import ClassVar

import numpy as np
import pytest

import hpcdispatch as hd
from hpcdispatch.base import InputError
from hpcdispatch.predictors import SklearnPredictor, create, training_table
from hpcdispatch.predictors.censoring import errors_beyond
from hpcdispatch.predictors.features import NUMBERS, TEXTS
from hpcdispatch.predictors.histories import WEEK
from hpcdispatch.simulation import PredictionWarning, SimulationError
from hpcdispatch.workloads import Job, Machine, Workload

sklearn = pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'hpcdispatch[learn]'")
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.dummy import DummyRegressor  # noqa: E402
from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: E402
from sklearn.linear_model import LinearRegression, Ridge, SGDRegressor  # noqa: E402
from sklearn.neighbors import KNeighborsRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder  # noqa: E402


def workload_of(count=200, seed=0, begin=0, prefix=""):
    """Draw jobs whose run times are a user's own share of the walltime, with some noise."""
    rng = np.random.default_rng(seed)
    jobs = []
    for number in range(count):
        user = int(rng.integers(4))
        walltime = int(rng.integers(1, 20)) * 600
        runtime = int(walltime * (0.1 + 0.2 * user) * rng.uniform(0.8, 1.2)) + 1
        submit = begin + number * 1200
        jobs.append(Job(f"{prefix}{number}", submit, runtime, walltime, 1 + number % 4, user=f"u{user}"))
    return Workload(jobs, Machine.pool(16))


HISTORY = workload_of(300, 1)
ROWS, VALUES = training_table(HISTORY)
NUMERIC = ROWS[[*NUMBERS]]


def early_error(predictor, workload=None):
    """Return counts, and the mean absolute error of the first 60 predictions."""
    result = hd.simulate(workload or workload_of(), "easy-sjbf", predictor)
    first = result.jobs.iloc[:60]
    return result.manifest["predictions"], float((first["predicted"] - first["runtime"]).abs().mean())


def pipeline(regressor):
    codes = ("texts", OneHotEncoder(handle_unknown="ignore"), ["user"])
    return make_pipeline(ColumnTransformer([codes, ("numbers", "passthrough", ["walltime"])]), regressor)


@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(lambda: Ridge(alpha=0.01).fit(NUMERIC, VALUES), id="data frame"),
        pytest.param(lambda: Ridge(alpha=0.01).fit(NUMERIC.to_numpy(), VALUES), id="array", marks=pytest.mark.nightly),
        pytest.param(lambda: pipeline(Ridge(alpha=0.01)).fit(ROWS, VALUES), id="pipeline"),
        pytest.param(lambda: KNeighborsRegressor(3).fit(NUMERIC, VALUES), id="neighbors", marks=pytest.mark.nightly),
    ],
)
def test_a_fitted_regressor_predicts_from_the_first_job_on(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts, error = early_error(SklearnPredictor(estimator(), least=50))
    assert (counts["early"], counts["refits"]) == (0, 0)
    assert error < 0.5 * early_error(SklearnPredictor("Ridge", least=150))[1]


def test_a_fitted_regressor_is_fitted_again_if_that_is_asked_for():
    fitted = Ridge(alpha=0.01).fit(NUMERIC, VALUES)
    before = fitted.coef_.copy()
    counts, _ = early_error(SklearnPredictor(fitted, jobs=50, least=50))
    assert counts["early"] == 0
    assert counts["refits"] >= 3
    assert (fitted.coef_ == before).all()


def test_a_fitted_online_regressor_goes_on():
    fitted = SGDRegressor(random_state=0).fit(NUMERIC, VALUES)
    predictor = SklearnPredictor(fitted, jobs=20, least=20)
    first, second = (hd.simulate(workload_of(), "easy", predictor) for _ in range(2))
    assert first.jobs.equals(second.jobs)
    assert first.manifest["predictions"]["early"] == 0


def test_a_fit_of_other_columns_is_an_error():
    with pytest.raises(InputError, match="the fitted estimator expects 5 columns, got 18; name them by features"):
        SklearnPredictor(Ridge().fit(NUMERIC.to_numpy()[:, :5], VALUES))
    some = Ridge().fit(NUMERIC[["walltime", "nodes"]], VALUES)
    assert SklearnPredictor(some).features == ("walltime", "nodes")
    with pytest.raises(InputError, match="the fitted estimator expects walltime, nodes; give these as features"):
        SklearnPredictor(some, features=["nodes", "walltime"])


def test_a_training_table_has_what_was_known_at_each_submission():
    jobs = [Job("a", 0, 50, 100, user="u"), Job("b", 20, 10, 100, user="u"), Job("c", 60, 100, 100, user="u")]
    rows, values = training_table(Workload(jobs, Machine.pool(4)), target="runtime")
    assert [*rows] == [*NUMBERS, *TEXTS]
    assert rows["user_jobs"].tolist() == pytest.approx([0, 0, math.log(3) / 10])
    assert rows["user_running"].tolist() == pytest.approx([0, math.log(2) / 10, 0])
    assert values.tolist() == [50, 10, 100]
    with pytest.raises(InputError, match="training_table: target must be one of log-ratio, log-runtime, runtime"):
        training_table(HISTORY, target="seconds")


@pytest.mark.parametrize("begin", [0, 10**9])
def test_a_history_warms_up(begin):
    later = workload_of(begin=begin)
    predictor = SklearnPredictor("Ridge", warm=HISTORY, least=50)
    counts, error = early_error(predictor, later)
    assert counts["early"] == 0
    assert counts["predicted"] == len(later)
    assert error < 0.5 * early_error(SklearnPredictor("Ridge", least=150), later)[1]
    assert early_error(predictor, later)[1] == error


def test_a_history_on_another_clock_is_moved_by_whole_weeks():
    predictor = SklearnPredictor("Ridge", warm=workload_of(200, 1, begin=10**8), least=50)
    predictor.predict(workload_of().jobs[0], 0)
    known = [each[5] for each in predictor._past._past.values()]
    assert -WEEK <= max(known) <= 0


def test_a_history_by_name(tmp_path):
    path = tmp_path / "history.swf"
    hd.write(HISTORY, path)
    counts, _ = early_error(create(f"sklearn:estimator=Ridge,least=50,warm={path}"))
    assert counts["early"] == 0
    for given, message in (("missing.swf", "missing.swf: no such file"), (3, "warm: expected a Workload, a path")):
        with pytest.raises(InputError, match=message):
            SklearnPredictor("Ridge", warm=given)


@pytest.mark.parametrize(
    ("estimator", "quantile"),
    [
        (Ridge(), 0.8),
        *(
            pytest.param(estimator, quantile, marks=pytest.mark.nightly)
            for estimator in (Ridge(), SGDRegressor(random_state=0), pipeline(Ridge()))
            for quantile in (None, 0.8)
            if not (isinstance(estimator, Ridge) and quantile)
        ),
    ],
    ids=repr,
)
def test_a_stored_predictor_goes_on_where_it_was(estimator, quantile, tmp_path):
    predictor = SklearnPredictor(estimator, jobs=40, least=40, quantile=quantile)
    hd.simulate(HISTORY, "easy", predictor)
    predictor.save(tmp_path / "model")
    loaded = SklearnPredictor.load(tmp_path / "model")
    counts, error = early_error(loaded)
    assert counts["early"] == 0
    assert early_error(loaded) == (counts, error)
    assert early_error(SklearnPredictor.load(tmp_path / "model")) == (counts, error)
    assert hasattr(loaded, "distribution") == (quantile is not None)
    # The original begins with nothing, as before.
    assert early_error(predictor)[0]["early"] > 0


def test_a_file_that_holds_no_predictor(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"\x80\x04K\x01.")
    with pytest.raises(InputError, match=r"model: expected a file of SklearnPredictor.save, got b'"):
        SklearnPredictor.load(path)
    predictor = SklearnPredictor("Ridge")
    predictor.save(path)
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    with pytest.raises(InputError, match="model: expected a stored predictor: "):
        SklearnPredictor.load(path)
    path.write_bytes(content.replace(sklearn.__version__.encode(), b"9" * len(sklearn.__version__)))
    with pytest.raises(InputError, match=r"model: expected one of scikit-learn .*, got '9.*; train it anew"):
        SklearnPredictor.load(path)


class Sealed(Ridge):
    def __reduce__(self):
        raise TypeError("sealed")


def test_a_regressor_that_cannot_be_stored(tmp_path):
    predictor = SklearnPredictor("Ridge")
    predictor.estimator = Sealed()
    with pytest.raises(InputError, match="expected a regressor that can be pickled: TypeError: sealed"):
        predictor.save(tmp_path / "model")


# What a fit knows.


def test_errors_of_running_jobs_are_drawn_from_the_larger_ones():
    rng = np.random.default_rng(0)
    true = rng.normal(size=4000)
    bound = rng.normal(size=4000)
    ended, running = true <= bound, true > bound
    drawn = errors_beyond(true[ended], bound[running], bound[running], rng)
    assert (drawn >= bound[running]).all()
    assert true[ended].mean() < -0.4
    assert np.concatenate((true[ended], drawn)).mean() == pytest.approx(0, abs=0.1)
    # Beyond all others there is only the last resort.
    assert errors_beyond(np.array([1.0]), np.array([2.0]), np.array([3.0]), rng).tolist() == [3.0]
    assert errors_beyond(np.zeros(0), np.array([2.0, 1.0]), np.array([3.0, 3.0]), rng).tolist() == [3.0, 3.0]


class Noted(DummyRegressor):
    """Keeps the values that it was fitted to."""

    fits: ClassVar = []

    def fit(self, rows, values):
        self.fits.append(np.array(values))
        return super().fit(rows, values)


@pytest.mark.parametrize("target", ["log-ratio", "log-runtime", "runtime"])
def test_early_fits_do_not_lean_short(target):
    """Half of the jobs take ten times as long. As the first fit comes, most that have ended are short."""
    jobs = [Job(str(number), number, 5000 if number % 2 else 500, 10_000, user="u") for number in range(900)]
    workload = Workload(jobs, Machine.pool(900))
    means = {}
    for running in (False, True):
        Noted.fits.clear()
        hd.simulate(workload, "fcfs", SklearnPredictor(Noted(), target=target, least=100, running=running))
        means[running] = Noted.fits[-1].mean()
    truth = {"log-ratio": math.log(0.05), "log-runtime": math.log(500), "runtime": 500}[target]
    assert means[False] == pytest.approx(truth)
    assert means[True] > means[False] + 0.3


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("HistGradientBoostingRegressor", "absolute_error"),
        ("GradientBoostingRegressor", "absolute_error"),
        ("SGDRegressor", "squared_error"),
    ],
)
def test_boosting_by_name_minimizes_the_absolute_error(name, loss):
    assert SklearnPredictor(name).estimator.loss == loss
    assert SklearnPredictor(HistGradientBoostingRegressor()).estimator.loss == "squared_error"
    assert create(f"sklearn:estimator={name},loss=squared_error").estimator.loss == "squared_error"
    with pytest.raises(InputError, match="loss: LinearRegression has no option loss or objective"):
        SklearnPredictor("LinearRegression", loss="absolute_error")
    with pytest.raises((InputError, SimulationError), match="raised InvalidParameterError"):
        hd.simulate(workload_of(), "easy", SklearnPredictor(name, least=20, loss="wrong"))


class Weighted(DummyRegressor):
    given: ClassVar = []

    def fit(self, rows, values, sample_weight=None):
        self.given.append((np.array(values), sample_weight))
        return super().fit(rows, values)


@pytest.mark.parametrize("piped", [False, True])
def test_weights_of_jobs(piped):
    estimator = make_pipeline(ColumnTransformer([("all", "passthrough", ["walltime"])]), Weighted())
    for weights, expected in (
        ("none", lambda work: None),
        ("work", lambda work: work / work.mean()),
        ("log-work", np.log),
        (lambda job: job.nodes * max(1, job.runtime), lambda work: work),
    ):
        Weighted.given.clear()
        jobs = [Job(str(number), 10 * number, 5 + number, 100, 2, user="u") for number in range(60)]
        predictor = SklearnPredictor(
            estimator if piped else Weighted(), target="runtime", least=20, weights=weights, running=False
        )
        hd.simulate(Workload(jobs, Machine.pool(99)), "fcfs", predictor)
        values, given = Weighted.given[-1]
        wanted = expected(2 * np.maximum(1, values))
        assert given is None if wanted is None else given == pytest.approx(wanted)


@pytest.mark.parametrize("weights", ["none", "log-work", lambda job: 1 + job.runtime])
def test_run_times_of_running_jobs_stay_hidden(weights):
    predictor = SklearnPredictor("Ridge", jobs=20, least=20, weights=weights)
    found = hd.evaluate_predictors(workload_of(100), [predictor])
    assert found.counts[found.table["predictor"][0]]["refits"] > 2


def test_weights_that_cannot_be():
    with pytest.raises(InputError, match="weights: KNeighborsRegressor takes no sample_weight; leave weights out"):
        SklearnPredictor("KNeighborsRegressor", weights="work")
    with pytest.raises(InputError, match="weights must be one of none, work, log-work"):
        SklearnPredictor("Ridge", weights="cores")
    with pytest.raises((InputError, SimulationError), match=r"weights: job .*: expected a number >= 0, got -1"):
        hd.simulate(workload_of(), "easy", SklearnPredictor("Ridge", weights=lambda job: -1, least=20))
    with pytest.raises(InputError, match=r"refit: .*, or never"):
        SklearnPredictor("Ridge", refit="soon")


class Nothing(LinearRegression):
    def predict(self, rows):
        return np.full(len(rows), math.nan)


def test_a_regressor_without_numbers_is_said():
    with pytest.warns(PredictionWarning, match="Nothing gave no finite number for (.*) of \\1 jobs, which got walltim"):
        hd.simulate(workload_of(), "easy", SklearnPredictor(Nothing(), least=20))
    with pytest.warns(PredictionWarning, match=r"Ridge was never fitted, and all 200 jobs .* less than 1000 jobs"):
        hd.simulate(workload_of(), "easy", SklearnPredictor("Ridge", least=1000))


# Other packages.


@pytest.mark.parametrize(("package", "name"), [("lightgbm", "LGBMRegressor"), ("xgboost", "XGBRegressor")])
def test_boosting_of_other_packages(package, name, capfd):
    pytest.importorskip(package)
    plain = SklearnPredictor(name, least=50)
    assert plain.estimator.objective in ("regression_l1", "reg:absoluteerror")
    shares = {}
    for quantile in (0.2, 0.9):
        predictor = SklearnPredictor(name, least=50, quantile=quantile)
        jobs = hd.simulate(workload_of(300), "easy", predictor).jobs.iloc[150:]
        shares[quantile] = float((jobs["runtime"] <= jobs["predicted"]).mean())
        assert len(predictor._models) == len({0.1, 0.25, 0.5, 0.75, 0.9, quantile})
    # With so few jobs the trees learn the noise, so that quantiles lie too near the middle.
    assert shares[0.2] < shares[0.9] - 0.1
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("package", "name"), [("lightgbm", "LGBMRegressor"), ("xgboost", "XGBRegressor")])
def test_a_missing_package_is_named(package, name, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(InputError, match=f"estimator {name} needs {package}: pip install {package}"):
        SklearnPredictor(name)


def test_a_regressor_of_river():
    pytest.importorskip("river")
    from river import compat, linear_model, preprocessing, tree  # noqa: PLC0415

    models = (
        preprocessing.StandardScaler() | linear_model.LinearRegression(),
        tree.HoeffdingTreeRegressor(),
        compat.convert_river_to_sklearn(tree.HoeffdingTreeRegressor()),
    )
    for model in models:
        predictor = SklearnPredictor(model, jobs=20, least=20)
        first, second = (hd.simulate(workload_of(), "easy", predictor) for _ in range(2))
        assert first.jobs.equals(second.jobs)
        assert first.manifest["predictions"]["refits"] > 3
