"""Predictors alone: errors that are worked out by hand, what they see, and waits that are those of simulations."""

import numpy as np
import pytest
from scipy.stats import expon

import hpcdispatch as hd
from hpcdispatch.analysis import evaluate_predictors
from hpcdispatch.base import InputError
from hpcdispatch.predictors import Scaled
from hpcdispatch.simulation import SimulationError
from hpcdispatch.workloads import Job, Machine, Workload, generate

JOBS = [
    Job("a", 0, 100, 400, user="u"),
    Job("b", 10, 8000, 8000, user="v"),
    Job("c", 200, 120, 400, user="u"),
    Job("d", 200, 0, 50, user=""),
    Job("e", 90_000, 30_000, 40_000, user="u"),
]
SMALL = Workload(JOBS, Machine.pool(8))


class Spy:
    """Predicts 110 s with a law, and notes what it is told."""

    def __init__(self):
        self.told = []

    def predict(self, job, now):
        self.told.append(("predict", job.id, now))
        return 110.0

    def observe(self, job):
        self.told.append(("observe", job.id))

    def started(self, job, now):
        self.told.append(("started", job.id, now))

    def stopped(self, job, now):
        self.told.append(("stopped", job.id, now))

    def distribution(self, job):
        return Uniform()


class Uniform:
    def cdf(self, x):
        return np.clip(np.asarray(x) / 1000, 0, 1)

    def support(self):
        return 0.0, 1000.0


def test_a_law_without_an_end():
    class Endless(Spy):
        def distribution(self, job):
            return expon(scale=1000)

    row = evaluate_predictors(SMALL, Endless()).table.iloc[0]
    shares = np.arange(1, 10) / 10
    runtime = np.array([[job.runtime] for job in JOBS])
    above = runtime + 1000 * np.log(1 - shares)
    assert row["pinball"] == pytest.approx(np.maximum(shares * above, (shares - 1) * above).mean(), rel=0.02)


class Observed:
    """Run times as they were seen, each as likely."""

    def __init__(self, values, **probabilities):
        self.values = values
        vars(self).update(probabilities)


@pytest.mark.parametrize(
    ("law", "quantiles"),
    [
        (Observed([300, 100, 200]), [100, 100, 100, 200, 200, 200, 300, 300, 300]),
        (Observed([100, 900], probabilities=[0.5, 0.5]), [100] * 5 + [900] * 4),
        (Observed([120]), [120] * 9),
    ],
)
def test_a_law_of_values_is_judged_by_its_quantiles(law, quantiles):
    class Seen(Spy):
        def distribution(self, job):
            return law

    row = evaluate_predictors(SMALL, Seen()).table.iloc[0]
    shares = np.arange(1, 10) / 10
    above = np.array([[job.runtime] for job in JOBS]) - np.array(quantiles)
    assert row["pinball"] == pytest.approx(np.maximum(shares * above, (shares - 1) * above).mean())


def test_a_law_of_no_values_is_one_error():
    class Empty(Spy):
        def distribution(self, job):
            return Observed([])

    with pytest.raises(InputError, match="values must be finite numbers"):
        evaluate_predictors(SMALL, Empty())


def test_two_objects_of_one_class_are_two_rows():
    found = evaluate_predictors(SMALL, [Spy(), "walltime", Spy(), "walltime"])
    assert found.table["predictor"].tolist() == ["Spy", "walltime", "Spy #2"]
    assert found.jobs.groupby("predictor").size().tolist() == [5, 5, 5]


def test_errors_by_hand():
    found = evaluate_predictors(SMALL, [Spy()], dispatcher="fcfs", parts=2)
    row = found.table.iloc[0]
    errors = np.array([10, -7890, -10, 110, -29_890])
    assert row["mae"] == np.abs(errors).mean()
    assert (row["close"], row["under"], row["over"]) == (0.4, 0.6, 0.4)
    assert row["under_by"] == pytest.approx((7890 + 10 + 29_890) / 3)
    assert row["over_by"] == 60
    # Of 110 s to 100, 8000, 120, 0 (as 1) and 30000 s.
    ratios = np.array([100 / 110, 110 / 8000, 110 / 120, 1 / 110, 110 / 30_000])
    assert row["accuracy"] == pytest.approx(ratios.mean())
    assert row["log_error"] == pytest.approx(-np.log(ratios).mean())
    # Squared if too long, linear if too short; a job of no work counts nothing.
    losses = np.log([100, 8000, 120, 1, 30_000]) * [10**2, 7890, 10, 110**2, 29_890]
    assert row["e_loss"] == pytest.approx(losses.mean())
    assert row["pinball_50"] == row["mae"] / 2
    assert row["pinball_90"] == pytest.approx((0.1 * 10 + 0.9 * 7890 + 0.9 * 10 + 0.1 * 110 + 0.9 * 29_890) / 5)
    assert row["coverage_80"] == 0.4  # 100 and 120 s are in 100 to 900 s.
    assert row["coverage_50"] == 0
    shares = np.arange(1, 10) / 10
    losses = [np.mean([max(s * (t - 1000 * s), (s - 1) * (t - 1000 * s)) for s in shares]) for t in (100, 8000, 120, 0)]
    losses.append(np.mean([s * (30_000 - 1000 * s) for s in shares]))
    assert row["pinball"] == pytest.approx(np.mean(losses), rel=0.01)
    assert row["wait_ratio"] != row["wait_ratio"]  # no job waits
    assert found.by_length.set_index("length")["jobs"].to_dict() == {"short": 3, "medium": 1, "long": 1}
    assert found.by_user.set_index("user")["jobs"].to_dict() == {"u": 3, "v": 1}
    assert found.over_time[["part", "submit", "jobs"]].to_numpy().tolist() == [[0, 0, 3], [1, 200, 2]]


def test_what_a_predictor_is_told_is_in_the_order_of_time():
    spy = Spy()
    evaluate_predictors(SMALL, spy, dispatcher="fcfs")
    half = spy.told[: spy.told.index(("observe", "e")) + 1]
    assert half == [
        ("predict", "a", 0),
        ("started", "a", 0),
        ("predict", "b", 10),
        ("started", "b", 10),
        ("stopped", "a", 100),
        ("observe", "a"),
        ("predict", "c", 200),
        ("predict", "d", 200),
        ("started", "c", 200),
        ("started", "d", 200),
        ("stopped", "d", 200),
        ("observe", "d"),
        ("stopped", "c", 320),
        ("observe", "c"),
        ("stopped", "b", 8010),
        ("observe", "b"),
        ("predict", "e", 90_000),
        ("started", "e", 90_000),
        ("stopped", "e", 120_000),
        ("observe", "e"),
    ]


def test_waits_are_those_of_simulations():
    workload = generate("lublin:jobs=300,processors=32,load=0.9", seed=1)
    found = evaluate_predictors(workload, ["walltime", "oracle", "regression"], dispatcher="easy-sjbf")
    rows = found.table.set_index("predictor")
    for name in ("walltime", "oracle", "regression"):
        summary = hd.simulate(workload, "easy-sjbf", name).summary()
        assert rows.loc[name, "wait"] == pytest.approx(summary["wait_mean"])
        assert rows.loc[name, "slowdown"] == pytest.approx(summary["bounded_slowdown_mean"])
    assert rows.loc["walltime", "wait_ratio"] == 1
    assert rows.loc["oracle", ["mae", "under", "over"]].tolist() == [0, 0, 0]
    assert rows.loc["oracle", "close"] == 1
    assert rows["coverage_80"].notna().tolist() == [False, False, True]
    assert found.best() in ("walltime", "regression")
    assert len(found.plot().lines) == 3
    assert len(found.jobs) == 900


def test_e_loss_counts_the_work_of_all_cores():
    jobs = [Job("a", 0, 100, 400, nodes=2, per_node={"core": 4})]
    row = evaluate_predictors(Workload(jobs, Machine.homogeneous(2, core=4)), "walltime").table.iloc[0]
    assert row["e_loss"] == pytest.approx(np.log(800) * 300**2)


class Cheat(Spy):
    """Looks at the run time in one of its methods, and may hide the error."""

    distribution = None

    def __init__(self, method, catches=False):
        super().__init__()
        self.method, self.catches = method, catches
        if method == "distribution":
            self.distribution = lambda job: self.look(job, None)
        if method == "predict_many":
            self.predict_many = lambda jobs, now: [self.look(job, 1.0) for job in jobs]

    def look(self, job, otherwise):
        try:
            return float(job.runtime)
        except AssertionError:
            if not self.catches:
                raise
            return otherwise

    def predict(self, job, now):
        return self.look(job, 1.0) if self.method == "predict" else 1.0

    def correct(self, job, elapsed, misses):
        return self.look(job, elapsed) if self.method == "correct" else 2.0 * elapsed

    def started(self, job, now):
        if self.method == "started":
            self.look(job, None)


@pytest.mark.parametrize("catches", [False, True])
@pytest.mark.parametrize("method", ["predict", "predict_many", "correct", "started", "distribution"])
def test_a_run_time_before_the_end_is_refused(method, catches):
    with pytest.raises(SimulationError, match=f"Cheat.* at t=.*: {method} read the run time of a job that has"):
        evaluate_predictors(SMALL, Cheat(method, catches))


def test_an_oracle_says_that_it_is_one():
    class Known(Cheat):
        reads_runtimes = True

    found = evaluate_predictors(SMALL, [Known("predict"), "walltime", "scaled:of=oracle,factor=1", "ranges"])
    assert found.table["mae"].tolist()[0] < 1
    assert found.oracles == ("Known:method=predict", "scaled:of=oracle,factor=1", "ranges")
    assert found.best() == "walltime"


def test_a_scaled_one_hides_run_times_from_the_inner_one():
    with pytest.raises(SimulationError, match="predict read the run time"):
        evaluate_predictors(SMALL, Scaled(of=Cheat("predict")))


def test_bad_input():
    class Bad(Spy):
        def predict(self, job, now):
            return float("nan")

    class Raises(Spy):
        def observe(self, job):
            raise KeyError("no")

    class NoLaw(Spy):
        def distribution(self, job):
            return 5

    class RaisesAtReset(Spy):
        def reset(self):
            raise KeyError("no")

    with pytest.raises(SimulationError, match="NoLaw at t=0: job a: a distribution must have"):
        evaluate_predictors(SMALL, NoLaw())
    with pytest.raises(SimulationError, match="RaisesAtReset: reset raised KeyError"):
        evaluate_predictors(SMALL, RaisesAtReset())
    with pytest.raises(SimulationError, match="Bad at t=0: a prediction must be >= 0 s, got nan"):
        evaluate_predictors(SMALL, Bad())
    with pytest.raises(SimulationError, match="Raises at t=100: job a: observe raised KeyError"):
        evaluate_predictors(SMALL, Raises())
    for predictors, message in (([], "expected one or more, got none"), ("lst2", "did you mean last2")):
        with pytest.raises(InputError, match=message):
            evaluate_predictors(SMALL, predictors)
    with pytest.raises(InputError, match="parts must be"):
        evaluate_predictors(SMALL, "walltime", parts=0)
    with pytest.raises(InputError, match="expected jobs that run, got none"):
        evaluate_predictors(Workload([Job("a", 0, 1, 1, 9)], Machine.pool(8)), "walltime")
