"""SEJF and LEJF by the laws of run times: by mean, Gittins index and quantile."""

import pytest
from scipy import stats

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import SEJF
from hpcdispatch.predictors import RunTimeRanges, RunTimes
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Checkpoint, Job, Machine, Workload, generate

#: Laws of jobs with one walltime: mostly short, certain, and in between.
LOTTERY = RunTimes((10, 10, 400))
SURE = RunTimes((100, 100))
BETWEEN = RunTimes((60, 180))


class Told:
    """The walltime as one number. A law per job id."""

    def __init__(self, **laws):
        self.laws = laws

    def predict(self, job, now):
        return job.walltime

    def observe(self, job):
        pass

    def distribution(self, job):
        return self.laws.get(job.id)


def order(dispatcher, walltimes=(), /, **laws):
    """Return the ids in order of their starts on one node. Another job has it until 1000."""
    requests = {**dict.fromkeys(laws, 500), **dict(walltimes)}
    jobs = (Job("first", 0, 1000, 1000), *(Job(id_, 1, 50, walltime) for id_, walltime in requests.items()))
    workload = Workload(jobs, Machine.homogeneous(1, core=1))
    result = simulate(workload, dispatcher, predictor=Told(**laws))
    check(workload, result)
    return list(result.jobs.sort_values("start")["id"][1:])


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("sejf", ["lottery", "sure", "between"]),  # the same request: by submission
        ("sejf:order=mean", ["sure", "between", "lottery"]),  # 100, 120, 140
        ("sejf:order=gittins", ["lottery", "sure", "between"]),  # 15, 100, 120
        ("sejf:order=quantile", ["lottery", "between", "sure"]),  # 10, 60, 100
        ("sejf:order=quantile,quantile=0.9", ["sure", "between", "lottery"]),  # 100, 180, 400
        ("lejf:order=mean", ["lottery", "between", "sure"]),
        ("lejf:order=gittins", ["between", "sure", "lottery"]),
    ],
)
def test_the_order_is_by_what_the_law_tells(spec, expected):
    assert order(spec, lottery=LOTTERY, sure=SURE, between=BETWEEN) == expected


def test_jobs_without_a_law_stand_at_their_estimate():
    walltimes = {"long": 130, "short": 90}
    laws = {"sure": SURE, "lottery": LOTTERY}
    assert order("sejf:order=mean", walltimes, **laws) == ["short", "sure", "long", "lottery"]
    assert order("sejf:order=gittins", walltimes, **laws) == ["lottery", "short", "sure", "long"]


def test_the_law_of_the_job_itself_counts_where_the_predictor_gives_none():
    jobs = [Job("first", 0, 99, 99), Job("a", 1, 50, 500, law=stats.uniform(300, 10)), Job("b", 1, 50, 400)]
    workload = Workload(jobs, Machine.homogeneous(1, core=1))
    found = [list(simulate(workload, spec).jobs.sort_values("start")["id"]) for spec in ("sejf", "sejf:order=gittins")]
    assert found == [["first", "b", "a"], ["first", "a", "b"]]


def test_learned_laws_order_jobs_and_ranges_do():
    workload = generate("accre", pattern="c", jobs=120, nodes=8, interarrival=1200, seed=1)
    found = {
        (spec, predictor): simulate(workload, spec, predictor=predictor).summary()["slowdown_mean"]
        for spec in ("sejf", "sejf:order=gittins", "lejf:order=gittins")
        for predictor in ("walltime", "ranges:accuracy=1")
    }
    # Without a law, every order is that of the estimates.
    assert found["sejf", "walltime"] == found["sejf:order=gittins", "walltime"]
    assert found["sejf:order=gittins", "ranges:accuracy=1"] < found["lejf:order=gittins", "ranges:accuracy=1"]


def test_what_is_left_counts_and_not_the_whole():
    # By the law most jobs end at 50 s. After 100 s of work only its long tail is left.
    law = RunTimes((50, 50, 50, 2000))
    jobs = (
        Job("old", 0, 2000, 2500, checkpoint=Checkpoint(interval=10)),
        Job("demand", 100, 60, 60, kind="on-demand", deadline=30),
        Job("new", 120, 300, 300),
    )
    workload = Workload(jobs, Machine.homogeneous(1, core=1))
    result = simulate(workload, "evict:over=sejf:order=gittins", predictor=Told(old=law))
    check(workload, result)
    starts = dict(zip(result.attempts["id"], result.attempts["start"], strict=True))
    assert starts["new"] < starts["old"]


@pytest.mark.parametrize("spec", ["sejf:order=gittins", "lejf:order=mean"])
def test_a_law_without_a_finite_mean_is_named(spec):
    with pytest.raises(Exception, match=r"job b: law: must have a finite mean, got inf \(order=(gittins|mean)\)"):
        order(spec, a=SURE, b=stats.pareto(0.9))
    assert order("sejf:order=quantile", a=SURE, b=stats.pareto(0.9)) == ["b", "a"]


def test_a_range_whose_lower_end_is_above_its_upper_is_named():
    with pytest.raises(ValueError, match="range: its lower end must be below its upper end, got 600 to 300 s"):
        RunTimeRanges([600, 300])
    with pytest.raises(Exception, match="job b: law: its lower end must not be above its upper"):
        order("sejf:order=gittins", b=stats.uniform(600, -300))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sejf:order=shortest", "expected one of estimate, mean, gittins, quantile, got 'shortest'"),
        ("sejf:quantile=1", "quantile must be a number > 0 and < 1, got 1"),
        ("lejf:first=shortest", "unknown option 'first'"),
    ],
)
def test_bad_options_are_refused(spec, message):
    with pytest.raises(InputError, match=message):
        order(spec, a=SURE)


def test_the_same_object_serves_twice():
    for dispatcher in (SEJF(order="gittins"), SEJF(order="quantile")):
        assert order(dispatcher, a=SURE, b=LOTTERY) == order(dispatcher, a=SURE, b=LOTTERY) == ["b", "a"]
