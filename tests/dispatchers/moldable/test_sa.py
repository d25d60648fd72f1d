"""SA: the predictions for each size, the outcomes, and the choices."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import SA, Conservative, create_dispatcher
from hpcdispatch.dispatchers.moldable.forecast import forecast_start
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Shape, Workload

CORES = 8
SIZES = [(1, 8), (2, 5), (4, 3), (8, 2)]


def rigid(number, submit, runtime, walltime, cores):
    return Job(str(number), submit, runtime, walltime, nodes=1, per_node={"core": cores})


def moldable(job, sizes, share=1.0):
    """Let a job run on other sizes, with a share of the walltime each."""
    shapes = [Shape(1, max(1, int(time * share)), time, {"core": cores}) for cores, time in sizes]
    return replace(job, shapes=tuple(shapes))


def on_nodes(workload):
    """Return the same on machines of one core a node."""
    jobs = []
    for job in workload.jobs:
        shapes = tuple(Shape(s.per_node["core"], s.runtime, s.walltime, {"core": 1}) for s in job.shapes)
        jobs.append(replace(job, nodes=job.per_node["core"], per_node={"core": 1}, shapes=shapes))
    return Workload(jobs, Machine.homogeneous(CORES, core=1))


def pool(jobs):
    return Workload(jobs, Machine.pool(CORES))


NUMBERS = st.tuples(st.integers(0, 30), st.integers(1, 20), st.integers(-5, 20), st.integers(1, CORES))


@st.composite
def crowds(draw):
    """Jobs with estimates that may be too long or too short. One is moldable."""
    exact = draw(st.booleans())
    numbers = sorted(draw(st.lists(NUMBERS, min_size=2, max_size=14)))
    jobs = [
        rigid(place, submit, runtime, runtime if exact else max(1, runtime + more), cores)
        for place, (submit, runtime, more, cores) in enumerate(numbers)
    ]
    chooser = draw(st.integers(0, len(jobs) - 1))
    share = 1.0 if exact else draw(st.sampled_from([0.3, 1.0, 1.5]))
    jobs[chooser] = moldable(rigid(chooser, jobs[chooser].submit, 4, 4, 3), SIZES, share)
    workload = pool(jobs)
    return (workload if draw(st.booleans()) else on_nodes(workload)), chooser, exact


class Spy(SA):
    """Keeps what was predicted of every size of every job."""

    def _starts(self, waiting, sizes, state, shown):
        starts = super()._starts(waiting, sizes, state, shown)
        self.predicted = {
            size.shape: start + size.predicted - state.now for size, start in zip(sizes, starts, strict=False)
        }
        return starts


def as_chosen(workload, place, shape):
    """Return the workload with one job's request fixed."""
    jobs = list(workload.jobs)
    job = jobs[place]
    if shape is not None:
        size = job.shapes[shape]
        job = replace(job, nodes=size.nodes, per_node=size.per_node, runtime=size.runtime, walltime=size.walltime)
    jobs[place] = replace(job, shapes=())
    return Workload(jobs, workload.machine)


@settings(max_examples=number_of_inputs(30))
@given(crowds())
def test_no_size_takes_longer_than_predicted_under_conservative(case):
    """Cirne and Berman, section 2: later jobs delay no job. Early ends only help."""
    workload, chooser, exact = case
    spy = Spy()
    result = simulate(workload, spy, overrun="kill")
    check(workload, result)
    took = {}
    for shape, predicted in spy.predicted.items():
        row = simulate(as_chosen(workload, chooser, shape), "conservative", overrun="kill").jobs.iloc[chooser]
        took[shape] = row["end"] - row["submit"]
        assert took[shape] <= predicted
        assert not exact or took[shape] == predicted
    row = result.jobs.iloc[chooser]
    assert row["end"] - row["submit"] in took.values()
    if exact:
        assert row["end"] - row["submit"] == min(took.values())


@settings(max_examples=number_of_inputs(25))
@given(crowds(), st.sampled_from([0, 20]))
def test_choosing_anew_keeps_what_was_predicted_at_first(case, gain):
    """A job takes another size only for an earlier predicted end. That end holds as the first did."""
    workload, chooser, _ = case
    spy = Spy(again=3, gain=gain)
    result = simulate(workload, spy, overrun="kill")
    check(workload, result)
    row = result.jobs.iloc[chooser]
    assert row["end"] - row["submit"] <= min(spy.predicted.values())
    assert result.decisions["changed"].sum() <= 3


HALVES = [rigid("a", 0, 100, 100, 4), rigid("b", 0, 10, 100, 4)]
LATE = moldable(rigid("m", 1, 40, 40, 2), [(8, 10), (4, 20)])


@pytest.mark.parametrize("over", ["conservative", "easy", "fcfs"])
@pytest.mark.parametrize(("options", "end"), [({}, 110), ({"again": 1}, 30), ({"again": 1, "gain": 85}, 110)])
def test_a_job_that_waits_may_choose_anew(over, options, end):
    """At t=10 b ends early. Four processors for 20 s replace eight from 100 on."""
    dispatcher = SA(over=over, **options)
    result = simulate(pool([*HALVES, LATE]), dispatcher)
    assert result.jobs["end"].iloc[2] == end
    assert result.decisions.get("changed", pd.Series([0])).sum() == (end == 30) == sum(dispatcher.changes.values())


@pytest.mark.parametrize("over", ["conservative", "easy", "fcfs"])
@pytest.mark.parametrize(("busy", "cores", "start"), [(8, 8, 20), (5, 3, 1), (4, 4, 1)])
def test_a_range_takes_what_is_free_when_it_may_start(over, busy, cores, start):
    """Slurm: "as many nodes as possible within the range without delaying the initiation of the job"."""
    jobs = [rigid("busy", 0, 20, 20, busy), moldable(rigid("m", 1, 4, 4, 3), SIZES)]
    result = simulate(pool(jobs), SA(over=over, by="range"))
    row = result.jobs.iloc[1]
    assert (row["start"], result.attempts.set_index("id").loc["m", "units"]) == (start, cores)


def test_jobs_of_a_range_take_turns_in_the_order_of_the_queue():
    jobs = [rigid("busy", 0, 20, 20, 8), *(moldable(rigid(name, 1, 4, 4, 3), [(1, 8), (5, 3)]) for name in "mn")]
    result = simulate(pool(jobs), SA(over="fcfs", by="range"))
    assert result.attempts.set_index("id")["units"].to_dict() == {"busy": 8, "m": 5, "n": 3}


def test_a_forecast_knows_what_is_reserved():
    """For a dispatcher that keeps guaranteed starts between decisions. Not for one that plans anew."""
    seen = []

    class Looks:
        over = Conservative(compress="never")

        def dispatch(self, state):
            seen.extend(forecast_start(self.over, state, 2) for waiting in state.queue if waiting.id == "d")
            return self.over.dispatch(state)

    # b ends early, but the guaranteed start of c stays.
    jobs = [rigid("a", 0, 100, 100, 4), rigid("b", 0, 10, 50, 4), rigid("c", 1, 30, 30, 4), rigid("d", 12, 9, 9, 5)]
    assert simulate(pool(jobs), Looks()).jobs["start"].iloc[2] == 50
    assert seen[0] == 50


@pytest.mark.parametrize("over", ["fcfs", "easy", "easy-sjbf", "lxf", "lookahead", "hcp3", "conservative"])
@pytest.mark.parametrize("place", [pool, lambda jobs: on_nodes(pool(jobs))])
def test_a_forecast_is_what_happens_without_further_jobs(over, place):
    rng = np.random.default_rng(5)
    jobs = [
        rigid(number, int(rng.integers(0, 10)), time, time, int(rng.integers(1, CORES + 1)))
        for number, time in enumerate(rng.integers(1, 20, size=12).tolist())
    ]
    jobs.sort(key=lambda job: job.submit)
    workload = place([*jobs, moldable(rigid("last", 11, 4, 4, 3), SIZES)])
    spy = Spy(over=over)
    result = simulate(workload, spy)
    check(workload, result)
    last = len(jobs)
    for shape, predicted in spy.predicted.items():
        row = simulate(as_chosen(workload, last, shape), over).jobs.iloc[last]
        # Those that another one beats are not followed to their start.
        took = row["end"] - row["submit"]
        assert took == predicted or (predicted == np.inf and took > min(spy.predicted.values()))
    row = result.jobs.iloc[last]
    assert row["end"] - row["submit"] == min(spy.predicted.values())


@pytest.mark.parametrize(
    ("by", "cores"), [("user", 3), ("widest", 8), ("narrowest", 1), ("knee", 8), ("turnaround", 2), ("range", 2)]
)
def test_rules_that_do_not_look_at_the_machine(by, cores):
    busy = rigid("busy", 0, 100, 100, 6)
    result = simulate(pool([busy, moldable(rigid("m", 1, 4, 4, 3), SIZES)]), SA(by=by))
    assert result.attempts.loc[result.attempts["id"] == "m", "units"].tolist() == [cores]


def test_only_a_share_chooses_and_the_seed_says_which():
    jobs = [moldable(rigid(number, 100 * number, 4, 4, 3), SIZES) for number in range(40)]
    shapes = [simulate(pool(jobs), SA(share=0.5), seed=seed).attempts["shape"].to_numpy() for seed in (1, 1, 2)]
    assert 8 < (shapes[0] >= 0).sum() < 32
    assert (shapes[0] == shapes[1]).all()
    assert (shapes[0] != shapes[2]).any()
    assert (simulate(pool(jobs), SA(share=0.0)).attempts["shape"] == -1).all()


def test_rigid_jobs_pass_as_they_are():
    jobs = [rigid(number, number, 5, 9, 1 + number % 8) for number in range(30)]
    for over in ("conservative", "easy"):
        ours, theirs = (simulate(pool(jobs), dispatcher).jobs for dispatcher in (SA(over=over), over))
        assert ours["start"].tolist() == theirs["start"].tolist()


def test_a_job_that_comes_back_keeps_its_size():
    jobs = [rigid("busy", 0, 60, 60, 6), moldable(rigid("m", 1, 30, 4, 3), [(1, 8), (2, 5)])]
    jobs[1] = replace(jobs[1], shapes=tuple(replace(shape, runtime=3 * shape.walltime) for shape in jobs[1].shapes))
    workload = pool(jobs)
    result = simulate(workload, SA(), overrun="resubmit:factor=2")
    check(workload, result)
    assert result.attempts.loc[result.attempts["id"] == "m", "shape"].nunique() == 1
    assert (result.attempts["id"] == "m").sum() > 1


def test_predictors_are_shown_what_ran():
    seen = []

    class Listens:
        def predict(self, job, now):
            return job.walltime

        def observe(self, job):
            seen.append((job.per_node["core"], job.walltime, job.runtime))

    simulate(pool([moldable(rigid("m", 0, 4, 4, 3), SIZES, 0.5)]), SA(by="widest"), Listens())
    assert seen == [(8, 2, 1)]


def test_the_prediction_of_a_shape_is_the_predictor_s():
    seen = []

    class Looks(Conservative):
        def dispatch(self, state):
            seen.extend(shape.predicted for waiting in state.queue for shape in waiting.job.shapes)
            return super().dispatch(state)

    simulate(pool([moldable(rigid("m", 0, 4, 4, 3), SIZES, 0.5)]), Looks(), "oracle")
    assert seen == [4, 2, 1, 1]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sa:by=luck", "option 'by': expected one of turnaround, user, widest, narrowest, knee, range, got 'luck'"),
        ("sa:again=-1", "again must be a whole number >= 0, got -1"),
        ("sa:gain=100", "gain must be a number >= 0 and < 100, got 100"),
        ("sa:again=1,by=knee", "again must be 0 unless by is turnaround, got 1 with by knee"),
        ("sa:share=2", "share must be a number >= 0 and <= 1, got 2"),
        ("sa:over=sa", "over: expected a dispatcher of rigid jobs, got one that chooses shapes itself"),
    ],
)
def test_bad_options_are_named(spec, message):
    with pytest.raises(InputError, match=message):
        create_dispatcher(spec)


def test_sa_tells_when_choosers_were_predicted_to_end_and_how_often_they_changed_their_minds():
    crowd = pool([rigid(0, 0, 10, 10, 8), moldable(rigid(1, 1, 4, 4, 3), SIZES), rigid(2, 2, 4, 4, 3)])
    dispatcher = SA()
    jobs = simulate(crowd, dispatcher).jobs
    assert dispatcher.predicted_ends == {1: jobs.loc[1, "end"]} == {1: 12}
    assert dispatcher.changes == {}
    by_user = SA(by="user")
    simulate(crowd, by_user)
    assert by_user.predicted_ends == {}
