"""The hybrid: on the fly while the queue is alike, soft reservations otherwise. Which jobs go first."""

import pytest

from hpcdispatch.dispatchers import Hybrid
from hpcdispatch.dispatchers.onthefly.booking import Book
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Checkpoint, Job, Machine, Workload, generate

TWO = Machine.homogeneous(2, core=1)


def run(jobs, spec="hybrid", machine=TWO, **options):
    workload = Workload(tuple(jobs), machine)
    result = simulate(workload, spec, **options)
    check(workload, result)
    return result


def stays(result, id_):
    table = result.attempts[result.attempts["id"] == id_]
    return [tuple(row) for row in table[["start", "end", "outcome", "useful"]].itertuples(index=False)]


def over(checkpoint=None):
    """'a' overruns its estimate of 100 s. A job of both nodes and one of one node wait."""
    return [
        Job("a", 0, 350, 100, checkpoint=checkpoint),
        Job("b", 0, 90, 90),
        Job("wide", 1, 50, 90, nodes=2),
        Job("last", 2, 500, 80),
    ]


def test_a_job_over_time_is_checkpointed_and_starts_again_before_the_others():
    result = run(over())
    # Checkpointed from 100 to 160, then 'wide' starts, for which it was.
    assert stays(result, "wide") == [(160, 210, "completed", 50)]
    assert stays(result, "a") == [(0, 160, "checkpointed", 100), (210, 460, "completed", 250)]
    assert stays(result, "last") == [(210, 710, "completed", 500)]
    assert result.jobs["lost"].tolist() == [60, 0, 0, 0]


def test_a_checkpoint_that_costs_nothing_lets_the_other_start_at_once():
    result = run(over(), "hybrid:cost=0")
    assert stays(result, "a")[0] == (0, 100, "checkpointed", 100)
    assert stays(result, "wide") == [(100, 150, "completed", 50)]
    assert result.summary()["lost"] == 0


def test_a_job_loses_at_most_its_checkpoint_interval_if_that_is_less_than_the_cost():
    result = run(over(Checkpoint(interval=30)))
    assert stays(result, "a")[0] == (0, 100, "killed", 90)
    assert stays(result, "wide") == [(100, 150, "completed", 50)]
    result = run(over(Checkpoint(interval=70)), "hybrid:cost=20")
    assert stays(result, "a")[0] == (0, 120, "checkpointed", 100)


@pytest.mark.parametrize("cost", [0, 60, 1000])
@pytest.mark.parametrize("interval", [None, 300])
def test_no_job_loses_more_than_the_cost_or_the_interval_at_a_time(cost, interval):
    drawn = generate("accre", pattern="mix", jobs=60, wide=12, nodes=6, mean_er=0.6, interarrival=3000, seed=4)
    checkpoint = None if interval is None else Checkpoint(interval=interval)
    jobs = [Job(job.id, job.submit, job.runtime, job.walltime, job.nodes, checkpoint=checkpoint) for job in drawn.jobs]
    result = run(jobs, Hybrid(cost=cost), drawn.machine)
    lost = result.attempts["end"] - result.attempts["start"] - result.attempts["useful"]
    assert lost.max() <= (cost if interval is None else min(cost, interval))
    assert (result.attempts["outcome"] != "completed").any()
    assert (result.jobs["status"] == "completed").all()


def test_no_job_gives_way_where_none_could_start():
    jobs = over()
    jobs[1] = Job("b", 0, 5000, 5000)
    assert stays(run(jobs), "a") == [(0, 350, "completed", 350)]


def test_short_jobs_do_not_delay_the_first_job():
    # Short jobs beside an overrunning job could begin at each decision, without an end.
    short = [Job(f"s{second}", second, 1, 1, nodes=2) for second in range(90, 400)]
    jobs = [Job("over", 0, 900, 100), Job("wide", 1, 50, 50, nodes=3), *short]
    result = run(jobs, "hybrid:reserve=submission", Machine.homogeneous(3, core=1))
    assert stays(result, "over")[0] == (0, 160, "checkpointed", 100)
    assert stays(result, "wide") == [(160, 210, "completed", 50)]


def test_the_first_job_keeps_the_nodes_beside_those_of_a_job_that_is_stopped():
    # 'x' overruns beside, too wide to give way. Its end is unknown, so that 'long' must not take the free node.
    jobs = [
        Job("x", 0, 2000, 50, nodes=4),
        Job("over", 0, 900, 100),
        Job("short", 0, 100, 100),
        Job("wide", 1, 50, 50, nodes=2),
        Job("long", 2, 800, 800),
    ]
    result = run(jobs, "hybrid:reserve=submission", Machine.homogeneous(6, core=1))
    assert stays(result, "wide") == [(160, 210, "completed", 50)]


def test_no_job_gives_way_to_a_smaller_one():
    jobs = [Job("wide", 0, 900, 100, nodes=2), Job("one", 1, 5000, 5000), Job("other", 2, 50, 50, nodes=2)]
    assert stays(run(jobs), "wide") == [(0, 900, "completed", 900)]
    assert stays(run(jobs), "one") == [(900, 5900, "completed", 5000)]


def test_a_job_that_gave_way_starts_before_jobs_of_more_priority():
    more = [Job("later", 101, 9000, 9000), Job("latest", 101, 9000, 9000)]
    result = run([*over(), *more], "hybrid:first=longest")
    assert stays(result, "a")[1] == (210, 460, "completed", 250)
    assert [stays(result, job.id)[0][0] for job in more] == [210, 460]


def test_reservations_after_each_time_over_are_longer_so_that_it_ends():
    wide = [Job(f"w{index}", 1 + index, 10, 10, nodes=2) for index in range(60)]
    narrow = [Job(f"n{index}", 1 + index, 10, 10) for index in range(60)]
    jobs = [Job("a", 0, 50_000, 10), *(job for pair in zip(wide, narrow, strict=True) for job in pair)]
    result = run(jobs, "hybrid:cost=5,gain=0")
    assert 2 <= len(stays(result, "a")) <= 30
    lengths = [useful for _, _, outcome, useful in stays(result, "a") if outcome == "checkpointed"]
    assert lengths == sorted(lengths)


@pytest.mark.parametrize("order", ["shortest", "longest"])
def test_while_the_queue_is_alike_it_is_sejf_or_lejf(order):
    workload = generate("accre", pattern="b", jobs=120, nodes=8, mean_er=0.7, seed=2)
    mine = simulate(workload, f"hybrid:first={order}")
    other = simulate(workload, "sejf" if order == "shortest" else "lejf")
    assert mine.jobs.equals(other.jobs)
    assert set(mine.decisions["reserving"]) == {0}


def test_it_reserves_while_the_queue_is_not_alike():
    decisions = run(over()).decisions.set_index("time")["reserving"]
    assert decisions.loc[0] == 0
    assert decisions.loc[2] == 1


def test_a_share_of_the_queue_may_do_to_be_alike():
    jobs = [Job("r", 0, 1000, 1000, nodes=2), Job("w", 1, 10, 10, nodes=2), *(Job(str(i), 2, 5, 5) for i in range(8))]
    assert run(jobs, "hybrid:alike=0.8").decisions["reserving"].iloc[2] == 0
    assert run(jobs, "hybrid:alike=0.9").decisions["reserving"].iloc[2] == 1


@pytest.mark.parametrize("overrun", ["run", "kill", "resubmit"])
def test_mixed_jobs_under_each_overrun_policy(overrun):
    workload = generate("accre", pattern="mix", jobs=40, wide=8, nodes=6, mean_er=0.7, interarrival=3000, seed=4)
    for same_instant in ("batch", "sequence"):
        result = simulate(workload, "hybrid", overrun=overrun, same_instant=same_instant)
        check(workload, result)
    assert (result.jobs["status"] == "completed").all() or overrun == "kill"


def test_it_keeps_the_machine_busier_than_reservations_do():
    workload = generate("accre", pattern="mix", jobs=100, wide=10, nodes=8, mean_er=0.7, interarrival=2000, seed=5)
    mine, other = (simulate(workload, name).summary() for name in ("hybrid", "rbs"))
    assert mine["utilization"] > 1.2 * other["utilization"]
    assert mine["slowdown_mean"] < other["slowdown_mean"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("first", "widest"),
        ("alike", 0),
        ("alike", 1.1),
        ("reservations", 0),
        ("cost", -1),
        ("growth", 1),
        ("ageing", 0),
        ("drain", -1),
    ],
)
def test_bad_options_are_refused(option, value):
    with pytest.raises(ValueError, match=option):
        Hybrid(**{option: value})


@pytest.mark.parametrize(("reserve", "first"), [("submission", "early"), ("shortest", "short"), ("priority", "long")])
def test_reservations_are_made_in_the_order_that_is_asked_for(reserve, first):
    jobs = [
        Job("all", 0, 100, 100, nodes=2),
        Job("early", 1, 300, 300, nodes=2),
        Job("short", 2, 100, 100, nodes=2),
        Job("long", 3, 900, 900, nodes=2),
        Job("narrow", 4, 50, 50),
    ]
    result = run(jobs, f"hybrid:reserve={reserve},threshold=100000")
    started = result.jobs.set_index("id")["start"]
    assert started[["early", "short", "long"]].idxmin() == first


def test_another_order_of_reservations_is_refused():
    with pytest.raises(ValueError, match="reserve must be one of priority, submission, shortest"):
        Hybrid(reserve="random")


def test_nothing_is_reserved_behind_the_last_job_that_has_room(monkeypatch):
    asked, reserve = [], Book.reserve
    monkeypatch.setattr(
        Book, "reserve", lambda self, waiting, *more: asked.append(waiting.id) or reserve(self, waiting, *more)
    )
    machine = Machine(("core", "gpu"), [[4, 1], [4, 0]])
    first = [Job("run", 0, 100, 100, per_node={"core": 4}), Job("gpu", 0, 500, 500, per_node={"core": 4, "gpu": 1})]
    later = [Job(f"j{number}", 1, 50, 60, per_node={"core": 1 + number % 4}) for number in range(40)]
    workload = Workload((*first, *later), machine)
    check(workload, simulate(workload, "hybrid"))
    assert len(asked) < 100  # 149 if all jobs up to the last with room at first get reservations
