"""The predictor by a regressor: no look into the future, refits, kinds of regressors, and what is none."""

import math
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

import hpcdispatch as hd
from hpcdispatch.base import InputError
from hpcdispatch.predictors import Correcting, Distributional, SklearnPredictor, Watching, create
from hpcdispatch.predictors.features import NUMBERS, TEXTS, Features
from hpcdispatch.simulation import PredictionWarning, SimulationError
from hpcdispatch.workloads import Job, Machine, Workload

sklearn = pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'hpcdispatch[learn]'")
from sklearn.base import BaseEstimator, RegressorMixin  # noqa: E402
from sklearn.cluster import KMeans  # noqa: E402
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor  # noqa: E402
from sklearn.dummy import DummyRegressor  # noqa: E402
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor, StackingRegressor  # noqa: E402
from sklearn.linear_model import LinearRegression, QuantileRegressor, SGDRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder  # noqa: E402


class Constant(RegressorMixin, BaseEstimator):
    """Predicts a value; keeps what it was fitted and asked with."""

    fits, asked = [], []

    def __init__(self, value=-1.0, shape=None, fails=""):
        self.value = value
        self.shape = shape
        self.fails = fails

    def fit(self, given, logs):
        if self.fails == "fit":
            raise KeyError("no luck")
        self.fits.append((given, logs))
        return self

    def predict(self, given):
        if self.fails == "predict":
            raise KeyError("no luck")
        self.asked.append(given)
        return np.full(len(given) if self.shape is None else self.shape, self.value)


@pytest.fixture(autouse=True)
def _empty():
    Constant.fits.clear()
    Constant.asked.clear()


def jobs_of(count=300, seed=0, users=4):
    """Draw jobs whose run times are a user's own share of the walltime, with some noise, on a busy machine."""
    rng = np.random.default_rng(seed)
    jobs = []
    for number in range(count):
        user = int(rng.integers(users))
        walltime = int(rng.integers(1, 20)) * 600
        runtime = int(walltime * (0.1 + 0.2 * user) * rng.uniform(0.5, 1.5)) + 1
        name = f"app{user}"
        queue = "long" if walltime > 6000 else "short"
        jobs.append(
            Job(
                str(number),
                number // 2 * 1500,
                runtime,
                walltime,
                int(rng.integers(1, 5)),
                user=f"u{user}",
                name=name,
                queue=queue,
            )
        )
    return jobs


def workload_of(jobs):
    return Workload(jobs, Machine.pool(12))


def encoded(regressor):
    """Return a pipeline that codes texts by the names of their columns."""
    codes = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(ColumnTransformer([("codes", codes, ["user", "queue"])], remainder="drop"), regressor)


KINDS = {
    "linear": LinearRegression(),
    "forest": RandomForestRegressor(n_estimators=5, n_jobs=4),
    "pipeline": encoded(LinearRegression()),
    "online": SGDRegressor(),
    "by name": "Ridge",
    "around a pipeline": TransformedTargetRegressor(encoded(LinearRegression())),
    "stack of pipelines": StackingRegressor([("a", encoded(LinearRegression()))], cv=2),
}


class Bare:
    """Has only fit and predict, and spoils what it is given."""

    def fit(self, given, logs):
        self.model = LinearRegression().fit(given, logs)
        given[:], logs[:] = math.nan, math.nan

    def predict(self, given):
        found = self.model.predict(given)
        given[:] = math.nan
        return found


class Unclonable(Bare):
    def __deepcopy__(self, memo):
        raise TypeError("sealed\nfor good")


KINDS["bare"] = Bare()


#: Slow ones for nights.
NESTED = ("pipeline", "stack of pipelines", "around a pipeline")


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[pytest.mark.nightly] * (kind in NESTED)) for kind in KINDS])
def test_learns_and_says_the_same_again(kind):
    workload = workload_of(jobs_of())
    predictor = SklearnPredictor(KINDS[kind], jobs=40, least=40)
    first, second = (hd.simulate(workload, "easy-sjbf", predictor=predictor) for _ in range(2))
    assert first.jobs.equals(second.jobs)
    fresh = hd.simulate(workload, "easy-sjbf", predictor=SklearnPredictor(KINDS[kind], jobs=40, least=40))
    assert first.jobs.equals(fresh.jobs)
    counts = first.manifest["predictions"]
    assert counts["refits"] > 3
    assert counts["fallback"] == 0
    assert 40 <= counts["early"] < counts["predicted"] == len(workload)
    late = first.jobs.iloc[150:]
    miss = (late["predicted"] - late["runtime"]).abs().mean()
    assert miss < 0.5 * (late["walltime"] - late["runtime"]).abs().mean()
    assert hd.check(workload, first) is None


class Plain(RandomForestRegressor):
    """A forest that is asked as scikit-learn does."""


def test_trees_of_a_forest_add_up_to_its_own_answer():
    predicted = []
    for forest in (RandomForestRegressor, Plain):
        predictor = SklearnPredictor(forest(n_estimators=7), jobs=40, least=40)
        predicted.append(hd.simulate(workload_of(jobs_of()), "easy-sjbf", predictor=predictor).jobs["predicted"])
    assert predicted[0].equals(predicted[1])


class Sealed(Job):
    """A job whose run time is poison until it has ended."""

    @property
    def runtime(self):
        if not self.__dict__.get("ended", False):
            raise AssertionError("the run time was read before the end")
        return self.__dict__["time"]


def sealed(job):
    values = {name: getattr(job, name) for name in Job.__slots__ if name != "runtime"}
    made = Sealed.trusted(**values)
    made.__dict__["time"] = job.runtime
    return made


@pytest.mark.parametrize("quantile", [None, 0.7])
def test_no_run_time_is_read_before_the_end(quantile):
    jobs = [sealed(job) for job in jobs_of(120)]
    predictor = SklearnPredictor(LinearRegression(), jobs=10, least=10, quantile=quantile)
    for place, job in enumerate(jobs):
        predictor.predict_many([job, *jobs[place + 1 : place + 3]], job.submit)
        predictor.started(job, job.submit)
        if quantile is not None:
            predictor.distribution(job)
        predictor.correct(job, 30, 0)
        if place >= 5:
            old = jobs[place - 5]
            predictor.stopped(old, job.submit)
            old.__dict__["ended"] = True
            predictor.observe(old)
    assert predictor.counts()["refits"] > 5


def test_a_poisoned_run_time_changes_no_earlier_prediction():
    jobs = jobs_of()
    poisoned = [
        *jobs[:200],
        *(Job(**{**{name: getattr(job, name) for name in Job.__slots__}, "runtime": 1}) for job in jobs[200:]),
    ]
    rows = []
    for each in (jobs, poisoned):
        Constant.fits.clear()
        result = hd.simulate(workload_of(each), "fcfs", predictor=SklearnPredictor("Ridge", jobs=20, least=20))
        rows.append(result.jobs.set_index("id"))
    # Nothing that was predicted before the first poisoned job can have ended depends on it.
    first_end = rows[1].loc[[job.id for job in poisoned[200:]], "end"].min()
    before = rows[0]["submit"] < first_end
    assert before.sum() > 200
    assert (rows[0]["predicted"][before] == rows[1]["predicted"][before]).all()
    assert (rows[0]["predicted"] != rows[1]["predicted"]).any()


def test_rows_are_those_of_the_submission():
    """A row for the fit is what was known when the job came, not when it ended."""
    predictor = SklearnPredictor(Constant(), jobs=2, least=2)
    jobs = [Job(str(number), 10 * number, 50, 100, user="u") for number in range(4)]
    predictor.predict_many(jobs[:2], 0)
    for job in jobs[:2]:
        predictor.observe(job)
    predictor.predict(jobs[2], 60)
    given, logs = Constant.fits[0]
    assert given.shape == (2, len(NUMBERS))
    at = list(NUMBERS).index("user_jobs")
    assert given[:, at].tolist() == [0.0, 0.0]
    assert Constant.asked[0][0, at] == pytest.approx(math.log(3) / 10)
    assert logs == pytest.approx([math.log(0.5)] * 2)


def test_features_follow_the_past():
    past = Features()
    job = Job("1", 3600 * 6, 100, 1000, 3, user="u", name="a")
    named = [*NUMBERS, *TEXTS]
    empty = dict(zip(named, past.row(job, job.submit), strict=True))
    assert empty["walltime"] == empty["user_last"] == pytest.approx(math.log(1001) / 10)
    assert empty["hour_sin"] == pytest.approx(1.0)
    assert (empty["user_running"], empty["user_longest"], empty["user"]) == (0, 0, "u")
    past.started(job, 22_000)
    during = dict(zip(named, past.row(job, 22_060), strict=True))
    assert during["user_running"] == pytest.approx(math.log(2) / 10)
    assert during["user_running_cores"] == pytest.approx(math.log(4) / 10)
    assert during["user_longest"] == pytest.approx(math.log(61) / 10)
    past.observe(job, 22_100)
    after = dict(zip(named, past.row(Job("2", 23_000, 5, 60, user="u", name="b"), 23_000), strict=True))
    assert after["user_running"] == 0
    assert after["name_last"] == after["user_last"] == pytest.approx(math.log(101) / 10)
    assert after["user_ratio"] == pytest.approx(math.log(0.1) / 10)
    assert after["user_idle"] == pytest.approx(math.log(901) / 10)


@pytest.mark.parametrize("target", ["log-ratio", "log-runtime"])
def test_target_and_cap(target):
    value = {"log-ratio": math.log(0.25), "log-runtime": math.log(250)}[target]
    for log, expected in ((value, 250), (50.0, 1000), (-50.0, 1)):
        predictor = SklearnPredictor(Constant(log), jobs=2, least=2, target=target)
        jobs = [Job(str(number), 0, 10, 1000) for number in range(3)]
        for job in jobs[:2]:
            predictor.observe(job)
        assert predictor.predict(jobs[2], 20) == pytest.approx(expected)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_falls_back_to_the_walltime(value):
    with pytest.warns(PredictionWarning, match="Constant gave no finite number for"):
        result = hd.simulate(workload_of(jobs_of(100)), "easy", predictor=SklearnPredictor(Constant(value), least=10))
    counts = result.manifest["predictions"]
    assert counts["fallback"] == counts["predicted"] - counts["early"] > 0
    assert (result.jobs["predicted"] == result.jobs["walltime"]).all()


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (Constant(shape=3), r"estimator Constant: expected \d+ numbers, got an array of shape \(3,\)"),
        (Constant(shape=(1, 2)), "estimator Constant: expected"),
        (Constant("long"), "estimator Constant: expected"),
        (Constant([[1], [1, 2]]), "estimator Constant: predict raised ValueError"),
        (Constant(fails="fit"), "estimator Constant: fit raised KeyError: 'no luck'"),
        (Constant(fails="predict"), "estimator Constant: predict raised KeyError: 'no luck'"),
        (encoded(Constant(fails="fit")), "estimator Pipeline: fit raised KeyError: 'no luck'"),
    ],
)
def test_a_regressor_that_fails_says_so(estimator, message):
    with pytest.raises((SimulationError, InputError), match=message) as caught:
        hd.simulate(workload_of(jobs_of(100)), "easy", predictor=SklearnPredictor(estimator, least=10))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": 3}, "estimator: expected a regressor with fit and predict"),
        ({"estimator": "NoSuchRegressor"}, "got 'NoSuchRegressor'"),
        ({"estimator": "LogisticRegression"}, "got 'LogisticRegression'"),
        ({"estimator": "RidgeClassifier"}, "got 'RidgeClassifier'"),
        ({"estimator": "OneClassSVM"}, "got 'OneClassSVM'"),
        ({"estimator": KMeans()}, "estimator: expected a regressor"),
        ({"estimator": make_pipeline(OneHotEncoder())}, "estimator: expected a regressor"),
        ({"estimator": Unclonable()}, "estimator: expected one that scikit-learn can clone: TypeError: sealed"),
        ({"estimator": LinearRegression}, "got <class"),
        ({"estimator": OneHotEncoder()}, "estimator: expected a regressor"),
        ({"features": "walltime;cpu"}, "features: expected names among walltime, nodes"),
        ({"features": ["walltime", "walltime"]}, "one or more different names"),
        ({"target": "seconds"}, "target must be one of log-ratio, log-runtime, runtime"),
        ({"refit": "soon"}, "refit: expected a time such as"),
        ({"refit": 0}, "refit must be a whole number >= 1"),
        ({"jobs": 0}, "jobs must be"),
        ({"window": 1}, "window must be"),
        ({"quantile": 1.0}, "quantile must be"),
        ({"quantile": 1.5}, "predictor sklearn: quantile must be a number > 0 and < 1 or none, got 1.5"),
        ({"least": 1}, "least must be"),
        ({"window": 50}, "least must be a whole number >= 2 and <= 50"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message) as caught:
        SklearnPredictor(**{"estimator": "Ridge", **options})
    assert "\n" not in str(caught.value)


def test_a_feature_that_the_trace_lacks():
    jobs = [Job(str(number), number, 10, 100) for number in range(50)]
    with pytest.raises((SimulationError, InputError), match="feature 'user_last': expected jobs with a user, got none"):
        hd.simulate(workload_of(jobs), "easy", SklearnPredictor("Ridge", "walltime;user_last", least=10))
    hd.simulate(workload_of(jobs), "easy", SklearnPredictor("Ridge", least=10))


@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(QuantileRegressor(alpha=0.0), marks=pytest.mark.nightly, id="option quantile"),
        pytest.param(GradientBoostingRegressor(n_estimators=20), marks=pytest.mark.nightly, id="loss and alpha"),
        pytest.param(LinearRegression(), marks=pytest.mark.nightly, id="by its errors"),
        pytest.param(Bare(), id="by its errors, bare"),
        pytest.param(SGDRegressor(), marks=pytest.mark.nightly, id="alpha and another loss"),
        pytest.param(DummyRegressor(), id="strategy"),
    ],
)
def test_quantiles_are_met(estimator):
    jobs, shares = jobs_of(400), {}
    for quantile in (0.25, 0.9):
        predictor = SklearnPredictor(estimator, jobs=100, least=100, quantile=quantile)
        assert isinstance(predictor, Distributional)
        result = hd.simulate(workload_of(jobs), "fcfs", predictor).jobs.iloc[200:]
        shares[quantile] = (result["runtime"] <= result["predicted"]).mean()
        law = predictor.distribution(jobs[-1])
        low, high = law.support()
        assert 0 <= low < high <= jobs[-1].walltime
        assert (np.diff(law.cdf(np.linspace(low, high, 50))) >= 0).all()
        assert law.cdf(high) == 1
        assert law.quantile(0.9, above=high / 2) >= high / 2
    assert shares[0.25] == pytest.approx(0.25, abs=0.15)
    assert shares[0.9] == pytest.approx(0.9, abs=0.1)


def test_optional_parts():
    plain = SklearnPredictor("Ridge")
    assert isinstance(plain, Correcting)
    assert isinstance(plain, Watching)
    assert not isinstance(plain, Distributional)
    assert create("sklearn:estimator=Ridge,refit=1d,quantile=0.8").quantile == 0.8
    assert create("sklearn:estimator=Ridge,refit=12h,features=walltime;nodes").refit == 43_200


def test_a_missed_prediction_is_corrected():
    jobs = jobs_of(100)
    predictor = SklearnPredictor(Constant(-3.0), jobs=10, least=10)
    result = hd.simulate(workload_of(jobs), "easy", predictor=predictor)
    assert (result.jobs["predicted"] < result.jobs["runtime"]).any()
    assert predictor.correct(jobs[0], 30, 0) == min(90, jobs[0].walltime)


def test_refits_by_time_and_by_jobs():
    jobs = jobs_of(400)
    by_time = SklearnPredictor(Constant(), refit="2h", least=10, running=False)
    hd.simulate(workload_of(jobs), "fcfs", predictor=by_time)
    sizes = [len(logs) for _, logs in Constant.fits]
    assert all(later >= 1.2 * earlier for earlier, later in pairwise(sizes))
    Constant.fits.clear()
    windowed = SklearnPredictor(Constant(), jobs=25, least=10, window=60, running=False)
    hd.simulate(workload_of(jobs), "fcfs", predictor=windowed)
    sizes = [len(logs) for _, logs in Constant.fits]
    assert max(sizes) == 60
    assert len(sizes) >= 400 // 25 - 4


def test_jobs_of_one_instant_are_predicted_together():
    class Counting(SklearnPredictor):
        calls = ()

        def predict_many(self, jobs, now):
            self.calls = (*self.calls, len(jobs))
            return super().predict_many(jobs, now)

    predictor = Counting("Ridge", least=10)
    hd.simulate(workload_of(jobs_of(20)), "easy", predictor=predictor)
    assert predictor.calls == (2,) * 10

    class Wrong(SklearnPredictor):
        def predict_many(self, jobs, now):
            return [1.0]

    with pytest.raises(SimulationError, match="predict_many must return 2 predictions, one per job, got 1"):
        hd.simulate(workload_of(jobs_of(20)), "easy", predictor=Wrong("Ridge"))


def test_without_scikit_learn_it_says_what_to_install():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import hpcdispatch as hd\n"
        "from hpcdispatch.predictors import SklearnPredictor, registry\n"
        "assert registry.summary('sklearn')\n"
        "try:\n    SklearnPredictor()\n"
        "except ValueError as error:\n    print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "predictor sklearn: it needs scikit-learn: pip install 'hpcdispatch[learn]'\n"
