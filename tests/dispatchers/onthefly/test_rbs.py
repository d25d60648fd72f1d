"""RBS: reservations by priority. Small jobs fill gaps. Jobs are killed at their request and then request more."""

from dataclasses import replace

import pytest

from hpcdispatch.dispatchers import RBS
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Checkpoint, Job, Limit, Machine, Reservation, Workload, generate

ONE, TWO = (Machine.homogeneous(nodes, core=1) for nodes in (1, 2))


def run(jobs, spec="rbs", machine=ONE, **options):
    workload = Workload(tuple(jobs), machine)
    result = simulate(workload, spec, **options)
    check(workload, result)
    return result


def stays(result, id_="a"):
    table = result.attempts[result.attempts["id"] == id_]
    return [tuple(row) for row in table[["start", "end", "outcome"]].itertuples(index=False)]


def starts(result):
    return dict(zip(result.jobs["id"], result.jobs["start"], strict=True))


# Requests.


def test_a_job_is_killed_at_its_request_and_comes_back_with_a_larger_one():
    result = run([Job("a", 0, 1000, 500)])
    assert stays(result) == [(0, 500, "limit"), (500, 1250, "limit"), (1250, 2250, "completed")]
    assert result.jobs["lost"].tolist() == [1250]
    assert result.jobs["run"].tolist() == [1000]
    assert result.summary()["slowdown_mean"] == 2.25  # equation 2: from submission to the end, over the run time


def test_a_killed_job_waits_behind_the_others():
    result = run([Job("a", 0, 150, 100), Job("b", 1, 90, 90)])
    assert stays(result) == [(0, 100, "limit"), (190, 340, "completed")]


def test_growth_is_an_option_and_a_request_grows_by_a_second_at_least():
    assert [end - start for start, end, _ in stays(run([Job("a", 0, 12, 9)], "rbs:growth=1.3"))] == [9, 11, 12]
    assert len(stays(run([Job("a", 0, 4, 1)], "rbs:growth=1.01"))) == 4


@pytest.mark.parametrize("walltime", [100, 5000])
def test_an_endless_underestimate_ends_at_the_machine_s_limit(walltime):
    result = run([Job("a", 0, 10**9, walltime)], "rbs:max_walltime=1000")
    lengths = [end - start for start, end, _ in stays(result)]
    assert lengths == ([100, 150, 225, 337, 505, 757, 1000] if walltime == 100 else [1000])
    assert result.jobs[["status", "reason"]].values.tolist() == [
        ["rejected", "killed at the longest walltime of 1000 s"]
    ]
    assert result.jobs["lost"].tolist() == [sum(lengths)]


def test_without_a_limit_it_ends_too_for_requests_grow_geometrically():
    result = run([Job("a", 0, 10**6, 1)])
    assert result.jobs["status"].tolist() == ["completed"]
    assert len(result.attempts) < 50


@pytest.mark.parametrize(
    ("overrun", "expected", "status"),
    [
        ("run", [100, 150, 210], "completed"),
        ("kill", [100], "killed"),
        ("resubmit:factor=1.2", [100, 120, 144, 172, 206, 210], "completed"),
        ("resubmit:factor=3", [100, 210], "completed"),
        ("resubmit:factor=1.2,cap=120", [100, 120], "rejected"),
    ],
)
def test_requests_under_each_overrun_policy(overrun, expected, status):
    result = run([Job("a", 0, 210, 100)], overrun=overrun)
    assert [end - start for start, end, _ in stays(result)] == expected
    assert result.jobs["status"].tolist() == [status]


def test_work_up_to_an_application_checkpoint_is_kept():
    result = run([Job("a", 0, 250, 100, checkpoint=Checkpoint(interval=40))])
    assert result.attempts["useful"].tolist() == [80, 120, 50]


# Reservations.


def test_long_requests_come_first_until_others_have_waited():
    jobs = [Job("r", 0, 100, 100), Job("short", 1, 1000, 1000), Job("long", 2, 5000, 5000)]
    assert starts(run(jobs, "rbs:move=always,small=0"))["long"] == 100
    patient = [Job("r", 0, 6000, 6000), Job("short", 1, 1000, 1000), Job("long", 5900, 5000, 5000)]
    found = starts(run(patient, "rbs:move=always,small=0"))
    # By t=6000 'short' has gained 3 x 1200 s, in steps of 1200 s of wait beyond 1200 s. That is 4600 s, against 5000 s.
    assert (found["long"], found["short"]) == (6000, 11000)
    found = starts(run(patient, "rbs:move=always,small=0,gain=1500"))
    assert (found["short"], found["long"]) == (6000, 7000)


def gap():
    """Job 'r' ends long before its request. Job 'b' has a guaranteed start at its end, and 'c' one behind."""
    return [
        Job("r", 0, 100, 10_000),
        Job("b", 1, 9000, 9000),
        Job("c", 2, 800, 800),
        Job("d", 3, 5000, 8000),
    ]


def test_a_kept_reservation_stands_and_leaves_a_gap_for_small_jobs():
    found = starts(run(gap()))
    assert (found["b"], found["c"]) == (10_000, 100)
    assert found["d"] == 19_800  # it would also fit in the gap, and in that behind 'c'


@pytest.mark.parametrize("options", ["move=always", "small=none"])
def test_reservations_move_up_if_made_anew_or_if_everybody_is_backfilled(options):
    assert starts(run(gap(), f"rbs:{options}")) == {"r": 0, "b": 100, "d": 9100, "c": 14_100}


def test_a_small_job_is_not_backfilled_where_it_would_delay_a_reservation():
    jobs = [Job("r", 0, 100, 100), Job("b", 1, 9000, 9000, nodes=2), Job("s", 2, 50, 99), Job("t", 3, 50, 97)]
    found = starts(run(jobs, "rbs", TWO))
    assert found["b"] == 100
    assert found["t"] == 3
    assert found["s"] == 9100


def test_only_so_many_jobs_have_reservations():
    # With one reservation, 'b' holds it. Job 'c' is not small. It waits for its turn, though its node is free.
    jobs = [Job("r", 0, 8000, 8000), Job("b", 1, 9000, 9000, nodes=2), Job("c", 2, 7500, 7500)]
    assert starts(run(jobs, "rbs:reservations=1", TWO))["c"] == 17_000
    assert starts(run(jobs, "rbs", TWO))["c"] == 2


def test_the_least_loaded_node_is_the_one_that_is_free_first():
    jobs = [Job("r", 0, 1000, 1000), Job("s", 0, 300, 300), Job("a", 1, 10, 400), Job("b", 2, 10, 350)]
    found = starts(run(jobs, "rbs:small=0,move=always", TWO))
    assert (found["a"], found["b"]) == (300, 310)


def test_jobs_that_ask_for_different_amounts_are_booked_on_their_nodes():
    machine = Machine(("core", "gpu"), [[4, 0], [4, 1]])
    jobs = [
        Job("r", 0, 100, 100, per_node={"core": 4, "gpu": 1}),
        Job("g", 1, 50, 8000, per_node={"core": 1, "gpu": 1}),
        Job("c", 2, 50, 60, per_node={"core": 3}),
        Job("w", 3, 50, 70, nodes=2, per_node={"core": 4}),
    ]
    found = starts(run(jobs, "rbs", machine))
    assert (found["g"], found["c"]) == (100, 2)
    assert found["w"] > 100


@pytest.mark.parametrize("same_instant", ["batch", "sequence"])
@pytest.mark.parametrize("move", ["never", "always"])
@pytest.mark.parametrize("wide", [0, 12])
def test_promises_are_kept_whatever_the_estimates(move, wide, same_instant):
    workload = generate("accre", pattern="b", jobs=60, wide=wide, nodes=6, mean_er=0.8, interarrival=3000, seed=3)
    result = simulate(workload, RBS(move=move, reservations=10), same_instant=same_instant)
    check(workload, result)
    assert (result.jobs["status"] == "completed").all()
    assert set(result.attempts["outcome"]) == {"completed", "limit"}


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("growth", 1.0),
        ("growth", float("inf")),
        ("reservations", 0),
        ("small", -1),
        ("max_walltime", 0),
        ("ageing", 0),
        ("threshold", -1),
        ("gain", -1),
        ("move", "broken"),
        ("placement", "worst"),
    ],
)
def test_bad_options_are_refused(option, value):
    with pytest.raises(ValueError, match=option):
        RBS(**{option: value})


def test_a_job_that_a_rule_keeps_from_starting_keeps_its_walltime():
    machine = replace(Machine.pool(4), limits=[Limit(1, by="all")])
    jobs = [Job("1", 0, 50, 100, 1), Job("2", 0, 90, 100, 1), Job("3", 0, 140, 100, 1)]
    result = simulate(Workload(jobs, machine), "rbs")
    # 2 and 3 are started at once with 1, which the limit does not allow; that is no kill at their walltimes.
    assert [stays(result, id_)[0][1:] for id_ in "123"] == [(50, "completed"), (140, "completed"), (240, "limit")]


def test_the_longest_walltime_that_closures_allow_is_the_last_one():
    """Jobs asked for more again and again, which no time between two closures has."""
    closed = Reservation(100, 150, every=150)
    kept = Checkpoint(interval=25)
    jobs = (Job("a", 0, 90, 40), Job("b", 0, 120, 40), Job("c", 0, 400, 40, checkpoint=kept))
    result = run(jobs, RBS(), replace(Machine.pool(4), reservations=(closed,)))
    tried = result.attempts.groupby("id")["walltime"].apply(list)
    assert tried["a"] == [40, 60, 90]
    assert tried["b"] == [40, 60, 90, 100]
    assert set(tried["c"][3:]) == {100}
    assert result.jobs["status"].tolist() == ["completed", "rejected", "completed"]
    assert result.jobs["reason"].tolist()[1] == "constraint maintenance: leaves it no place ever"
