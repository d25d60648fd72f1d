"""On-demand jobs: which jobs are evicted, when they start, and what the batch jobs lose."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from random_workloads import workloads

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import EASY, FCFS, Evict, Wake, create_dispatcher
from hpcdispatch.simulation import check, simulate, state_at
from hpcdispatch.testing import assert_same_records, check_dispatcher, cluster, moldable, overrunning, pool, urgent
from hpcdispatch.workloads import Checkpoint, Job, Machine, Workload

FOUR = Machine.homogeneous(4, core=1)
#: Its memory takes 100 s. Its own checkpoint takes 10 s and is due every 360 s.
SAVES = Checkpoint(system_size=70, application_size=7, interval=360)
SYSTEM = Checkpoint(system_size=70)
OWN = Checkpoint(application_size=7, interval=360)
POLICIES = [
    {"policy": "dp"},
    {"policy": "greedy"},
    {"policy": "kill"},
    {"policy": "random"},
    {"policy": "wait"},
    {"policy": "static", "reserve": 3},
]


def batch(id_, nodes, runtime=1000, submit=0, checkpoint=None):
    return Job(id_, submit, runtime, 2 * runtime, nodes, checkpoint=checkpoint)


def demand(id_, nodes, submit=300, deadline=900, runtime=50):
    return Job(id_, submit, runtime, runtime, nodes, kind="on-demand", deadline=deadline)


def run(jobs, dispatcher="evict", machine=FOUR):
    workload = Workload(tuple(sorted(jobs, key=lambda job: job.submit)), machine)
    result = simulate(workload, dispatcher)
    check(workload, result)
    return result


def stays(result, id_):
    rows = result.attempts[result.attempts["id"] == id_]
    return [tuple(row) for row in rows[["start", "end", "outcome", "useful"]].itertuples(index=False)]


def start(result, id_):
    return int(result.jobs.set_index("id").loc[id_, "start"])


def evictions(result):
    names = ["evicted_kill", "evicted_system", "evicted_application"]
    return tuple(int(result.decisions[name].sum()) if name in result.decisions else 0 for name in names)


class TestOneGivesWay:
    def test_after_a_checkpoint_of_its_memory(self):
        result = run([batch("long", 4, checkpoint=SYSTEM), demand("now", 2)])
        assert start(result, "now") == 400
        assert stays(result, "long") == [(0, 400, "checkpointed", 300), (450, 1150, "completed", 700)]
        assert evictions(result) == (0, 1, 0)

    def test_after_the_next_checkpoint_it_writes_itself(self):
        result = run([batch("long", 4, checkpoint=OWN), demand("now", 2)])
        assert start(result, "now") == 370
        assert stays(result, "long") == [(0, 370, "checkpointed", 360), (420, 1060, "completed", 640)]
        assert evictions(result) == (0, 0, 1)

    def test_the_phase_of_its_own_checkpoints_outlasts_an_eviction(self):
        jobs = [batch("long", 4, checkpoint=SAVES), demand("first", 2, 100, 200), demand("second", 2, 500, 200)]
        result = run(jobs)
        # It had done 100 s at its first checkpoint. It resumes at 250. It writes again at 250 + 260.
        assert stays(result, "long")[:2] == [(0, 200, "checkpointed", 100), (250, 520, "checkpointed", 260)]
        assert evictions(result) == (0, 1, 1)

    @pytest.mark.parametrize(("deadline", "begins", "killed"), [(0, 300, True), (99, 300, True), (105, 400, False)])
    def test_it_is_killed_where_no_checkpoint_is_in_time(self, deadline, begins, killed):
        result = run([batch("long", 4, checkpoint=SYSTEM), demand("now", 2, deadline=deadline)])
        assert start(result, "now") == begins
        assert result.jobs.set_index("id").loc["long", "lost"] == 4 * (300 if killed else 100)
        assert evictions(result) == (int(killed), int(not killed), 0)

    def test_the_one_that_loses_least(self):
        jobs = [batch("old", 2), batch("young", 2, submit=200), demand("now", 2)]
        result = run(jobs, "evict:policy=kill")
        assert [row[2] for row in stays(result, "old")] == ["completed"]
        assert stays(result, "young")[0] == (200, 300, "killed", 0)

    def test_a_job_to_be_killed_works_until_the_nodes_are_needed(self):
        # One is written in 100 s. The other has no checkpoint, and ends before that.
        jobs = [batch("saved", 2, checkpoint=SYSTEM), batch("short", 2, runtime=350), demand("now", 4)]
        result = run(jobs)
        assert start(result, "now") == 400
        assert stays(result, "short") == [(0, 350, "completed", 350)]
        assert evictions(result) == (0, 1, 0)

    def test_checkpoints_are_written_one_after_the_other(self):
        jobs = [batch("a", 2, checkpoint=SYSTEM), batch("b", 2, checkpoint=SYSTEM), demand("now", 4)]
        result = run(jobs)
        assert start(result, "now") == 500
        assert {stays(result, "a")[0], stays(result, "b")[0]} == {
            (0, 400, "checkpointed", 300),
            (0, 500, "checkpointed", 400),
        }

    def test_what_is_not_needed_any_more_is_not_stopped(self):
        # The second in line for its checkpoint goes on: another job ends first.
        jobs = [batch("a", 1, checkpoint=SYSTEM), batch("b", 1, checkpoint=SYSTEM), batch("ends", 2, runtime=350)]
        result = run([*jobs, demand("now", 2)])
        assert start(result, "now") == 350
        assert [len(stays(result, id_)) for id_ in "ab"].count(1) == 1


class TestOwnEnds:
    """Jobs that are predicted to end in time. Walltimes are twice the run time by default."""

    def test_a_job_that_ends_in_time_is_left_to_do_so(self):
        jobs = [Job("ends", 0, 600, 600, 2), batch("long", 2, checkpoint=SYSTEM), demand("now", 2)]
        assert evictions(run(jobs)) == (0, 1, 0)
        result = run(jobs, "evict:ends=true")
        assert start(result, "now") == 600
        assert len(result.attempts) == 3
        assert evictions(result) == (0, 0, 0)

    def test_one_that_has_not_ended_is_replaced_by_a_new_choice(self):
        # It is predicted to end at 600 and does not. A job is then checkpointed or killed in time.
        job = Job("outlives", 0, 5000, 600, 2)
        result = run([job, batch("long", 2, checkpoint=SYSTEM), demand("now", 2)], "evict:ends=true")
        assert start(result, "now") == 700
        assert result.jobs.set_index("id").loc["now", "wait"] <= 900
        assert evictions(result) == (0, 1, 0)

    def test_what_may_not_end_is_not_relied_on_where_that_risks_more(self):
        jobs = [Job("ends", 0, 600, 600, 2), batch("long", 2), demand("now", 2, deadline=300)]
        assert evictions(run(jobs, Evict(ends=True, unsure=0.4))) == (0, 0, 0)
        other = [jobs[0], batch("young", 2, submit=250), jobs[2]]
        assert evictions(run(other, Evict(ends=True, unsure=0.4))) == (1, 0, 0)

    def test_nodes_of_jobs_that_ended_early_are_kept(self):
        jobs = [
            Job("ends", 0, 400, 600, 2),
            batch("long", 2, checkpoint=None),
            demand("now", 2),
            batch("next", 1, 1000, 1),
        ]
        result = run(jobs, "evict:ends=true")
        assert start(result, "now") == 400

    def test_with_side_by_side_checkpoints(self):
        jobs = [Job("ends", 0, 600, 600, 2), batch("long", 2, checkpoint=SYSTEM), demand("now", 2)]
        result = run(jobs, "evict:ends=true,sharing=true")
        assert (start(result, "now"), evictions(result)) == (600, (0, 0, 0))

    def test_a_dearer_restart_moves_the_choice(self):
        dear = replace(SYSTEM, restart=2000)
        jobs = [batch("dear", 2, checkpoint=dear), batch("cheap", 2), demand("now", 2)]
        assert [row[2] for row in stays(run(jobs), "dear")] == ["completed"]
        free = [replace(jobs[0], checkpoint=SYSTEM), *jobs[1:]]
        assert stays(run(free), "dear")[0][2] == "checkpointed"

    def test_a_chance_without_own_ends_is_refused(self):
        with pytest.raises(ValueError, match=r"unsure must be 0 without ends=true, got 0\.5"):
            Evict(unsure=0.5)


class TestNobodyGivesWayInVain:
    def test_to_a_job_that_no_machine_could_run(self):
        result = run([batch("long", 4), demand("now", 5)])
        assert result.jobs["status"].tolist() == ["completed", "rejected"]
        assert len(result.attempts) == 1
        assert result.summary()["missed"] == 1

    def test_to_a_job_that_on_demand_jobs_leave_no_room(self):
        result = run([batch("long", 2), demand("first", 2, runtime=500), demand("second", 3, 310, 100)])
        assert len(stays(result, "long")) == 1
        assert start(result, "second") == 1000

    def test_to_a_job_past_its_deadline(self):
        jobs = [demand("first", 4, 0, 0, runtime=500), batch("long", 2, submit=1), demand("late", 3, 2, 10, 100)]
        result = run([*jobs, batch("other", 2, submit=3)])
        assert start(result, "late") == 500
        assert evictions(result) == (0, 0, 0)

    @pytest.mark.parametrize("policy", ["dp", "greedy", "kill"])
    def test_every_stopped_job_makes_room(self, policy):
        workload = crowd(200, seed=3)
        result = simulate(workload, Evict(policy=policy, most=None))
        check(workload, result)
        jobs = result.jobs[result.jobs["kind"] == "on-demand"]
        starts = set(jobs["start"])
        gone = result.attempts[result.attempts["outcome"].isin(["killed", "checkpointed"])]
        assert len(gone) > 100
        for row in gone.itertuples():
            if row.outcome == "killed":
                assert row.end in starts
            else:
                assert ((jobs["submit"] <= row.end) & (jobs["start"] >= row.start + row.useful)).any()


@settings(max_examples=number_of_inputs(60))
@given(
    st.lists(
        st.tuples(
            st.integers(1, 4),
            st.integers(1, 400),
            st.integers(0, 300),
            st.sampled_from([0, 20, 70, 200]),
            st.sampled_from([None, 60, 250]),
        ),
        min_size=1,
        max_size=8,
    ),
    st.integers(1, 8),
    st.integers(0, 500),
    st.integers(0, 400),
    st.sampled_from(["dp", "greedy", "kill"]),
    st.booleans(),
)
def test_one_on_demand_job_always_starts_by_its_deadline(rows, nodes, submit, deadline, policy, sharing):
    # Kills take no time. While only batch jobs run, each deadline has a plan.
    jobs = [
        batch(f"b{number}", size, runtime, begin, Checkpoint(system, system / 7, interval) if system else None)
        for number, (size, runtime, begin, system, interval) in enumerate(rows)
    ]
    result = run(
        [*jobs, demand("now", nodes, submit, deadline)],
        Evict(policy=policy, sharing=sharing),
        Machine.homogeneous(8, core=1),
    )
    assert result.summary()["missed"] == 0
    assert (result.jobs["status"] == "completed").all()


@settings(max_examples=number_of_inputs(50))
@given(
    workloads(max_jobs=10, moldable=True),
    st.lists(st.sampled_from([None, 0, 20, 60]), min_size=10, max_size=10),
    st.sampled_from(["fcfs", "easy", "conservative"]),
    st.sampled_from([{"policy": "dp", "step": 1}, {"policy": "kill", "most": None}, {"policy": "wait"}]),
    st.sampled_from(["run", "kill", "resubmit"]),
)
def test_any_jobs_on_any_nodes(drawn, deadlines, over, options, overrun):
    jobs = [
        job if deadline is None else replace(job, kind="on-demand", deadline=deadline)
        for job, deadline in zip(drawn.jobs, deadlines, strict=False)
    ]
    workload = drawn.with_jobs(jobs)
    result = simulate(workload, Evict(over=over, **options), "walltime", overrun=overrun)
    check(workload, result)
    assert not (result.jobs["status"] == "rejected").any()
    urgent_ids = {job.id for job in jobs if job.kind == "on-demand"}
    starts = set(result.attempts.loc[result.attempts["id"].isin(urgent_ids), "start"])
    assert set(result.attempts.loc[result.attempts["outcome"] == "killed", "end"]) <= starts


class TestNodesAreKept:
    def test_while_not_all_are_free(self):
        jobs = [batch("a", 3, checkpoint=SYSTEM), batch("small", 1, runtime=50, submit=310), demand("now", 3)]
        result = run(jobs)
        assert start(result, "now") == 400
        assert start(result, "small") == 400

    @pytest.mark.parametrize("policy", POLICIES, ids=lambda options: options["policy"])
    def test_the_other_dispatcher_sees_neither_them_nor_jobs_that_wait_for_them(self, policy):
        class Spy(FCFS):
            def dispatch(self, state):
                assert all(waiting.job.kind == "batch" for waiting in state.queue)
                assert (state.free >= 0).all()
                held = state.free.copy()
                for one in state.running:
                    np.add.at(held, one.placement, one.demand)
                assert (held == state.machine.capacity).all()
                return super().dispatch(state)

        workload = crowd(60, seed=1)
        check(workload, simulate(workload, Evict(over=Spy(), **policy)))


class TestSeveralAtOnce:
    def test_both_start(self):
        jobs = [batch("a", 2), batch("b", 2), demand("x", 2, deadline=0), demand("y", 2, deadline=0)]
        result = run(jobs)
        assert [start(result, id_) for id_ in "xy"] == [300, 300]

    def test_the_second_does_not_take_what_the_first_waits_for(self):
        jobs = [batch("a", 2, checkpoint=SYSTEM), batch("b", 2, checkpoint=SYSTEM)]
        result = run([*jobs, demand("x", 2), demand("y", 2, 310, 0, 200)])
        assert [start(result, id_) for id_ in "xy"] == [400, 310]
        assert evictions(result) == (1, 1, 0)

    def test_the_file_system_is_busy_for_the_second(self):
        jobs = [batch("a", 2, checkpoint=SYSTEM), batch("b", 2, checkpoint=SYSTEM)]
        result = run([*jobs, demand("x", 2, runtime=500), demand("y", 2, 310)])
        assert [start(result, id_) for id_ in "xy"] == [400, 500]


class TestNodesThatAreShared:
    def test_one_pool(self):
        jobs = [Job("a", 0, 900, 900, per_node={"core": 3}), Job("b", 0, 900, 900, per_node={"core": 2})]
        urgent_ = Job("now", 10, 5, 5, per_node={"core": 5}, kind="on-demand", deadline=0)
        result = run([*jobs, urgent_], machine=Machine.pool(6))
        assert start(result, "now") == 10
        assert evictions(result) == (2, 0, 0)

    def test_room_that_several_jobs_leave_together(self):
        halves = [
            Job(id_, submit, 900, 900, per_node={"core": 2}) for id_, submit in zip("abcd", range(4), strict=True)
        ]
        urgent_ = Job("now", 10, 5, 5, per_node={"core": 4}, kind="on-demand", deadline=0)
        result = run([*halves, urgent_], machine=Machine.homogeneous(2, core=4))
        assert start(result, "now") == 10
        # c and d, the youngest, share a node.
        assert [len(stays(result, id_)) for id_ in "abcd"] == [1, 1, 2, 2]


class TestPolicies:
    JOBS = (batch("long", 4, checkpoint=SAVES), demand("now", 2))

    @pytest.mark.parametrize(("spec", "begins"), [("wait", 1000), ("kill", 300), ("greedy", 370), ("dp", 370)])
    def test_when_it_starts(self, spec, begins):
        assert start(run(self.JOBS, f"evict:policy={spec}"), "now") == begins

    def test_nodes_set_apart(self):
        jobs = [batch("fits", 2), batch("wide", 3), demand("now", 2, 10), demand("next", 1, 20), demand("big", 3, 30)]
        result = run(jobs, "evict:policy=static,reserve=2")
        table = result.jobs.set_index("id")
        assert table.loc[["now", "next"], "start"].tolist() == [10, 60]
        assert table.loc["wide", "reason"] == "asks for 3 slots; the part left to batch jobs has room for 2"
        assert table.loc["big", "reason"] == "asks for 3 slots; the part set apart for on-demand jobs has room for 2"

    def test_cores_set_apart_of_a_pool(self):
        jobs = [Job("a", 0, 100, 100, per_node={"core": 4}), Job("b", 0, 100, 100, per_node={"core": 2})]
        urgent_ = Job("now", 10, 5, 5, per_node={"core": 2}, kind="on-demand", deadline=0)
        result = run([*jobs, urgent_], "evict:policy=static,reserve=2", Machine.pool(6))
        assert [start(result, id_) for id_ in ("a", "b", "now")] == [0, 100, 10]

    def test_too_many_nodes_set_apart(self):
        with pytest.raises(InputError, match="dispatcher evict: reserve must be below the 4 nodes there are, got 4"):
            run(self.JOBS, "evict:policy=static,reserve=4")

    @pytest.mark.parametrize("options", [POLICIES[0], POLICIES[-1]], ids=["dp", "static"])
    @pytest.mark.parametrize("over", ["fcfs", "easy", "conservative"])
    def test_they_keep_the_rules(self, options, over):
        check_dispatcher(
            lambda: Evict(over=over, **options),
            [urgent(), moldable(), cluster(20)],
            overruns=["resubmit"],
            predictors=["last2"],
        )


class TestWithoutOnDemandJobs:
    @pytest.mark.parametrize("over", ["fcfs", "lxf", "easy-sjbf", "conservative:compress=once", "lookahead"])
    @pytest.mark.parametrize("make", [pool, cluster, overrunning])
    def test_the_schedule_is_that_of_the_other_dispatcher(self, make, over):
        workload = make(40)
        alone = simulate(workload, over, "last2", overrun="resubmit")
        assert_same_records(alone, simulate(workload, f"evict:over={over}", "last2", overrun="resubmit"))

    def test_timers_of_the_other_dispatcher_before_a_cut_still_run(self):
        """Also those at which no job waits."""

        class WakesLater(FCFS):
            def __init__(self):
                super().__init__()
                self.times = []

            def dispatch(self, state):
                self.times.append(state.now)
                starts = super().dispatch(state)
                return [*starts, *(Wake(state.now + 50) for _ in starts)]

        workload = Workload([batch("a", 2), batch("b", 2, submit=2000)], FOUR)
        rest, state = state_at(workload, Evict(over=WakesLater()), at=20)
        alone, under = WakesLater(), Evict(over=WakesLater())
        for dispatcher in (alone, under):
            simulate(rest, dispatcher, state=state)
        assert under.over.times == alone.times
        assert 50 in alone.times


def crowd(count, seed=0, nodes=8):
    """Return a machine full of jobs with checkpoints of 20 to 200 s. On-demand jobs arrive about every minute."""
    rng = np.random.default_rng(seed)
    jobs = [
        Job(
            f"b{number}",
            0,
            int(rng.integers(600, 7200)),
            9000,
            int(rng.integers(1, 4)),
            checkpoint=Checkpoint(*rng.uniform((14, 5), (140, 14)).tolist(), int(rng.integers(300, 1800))),
        )
        for number in range(count // 10)
    ]
    when = np.cumsum(rng.exponential(75, count).astype(int)).tolist()
    jobs += [
        demand(f"u{number}", int(rng.integers(1, nodes // 2)), at, int(rng.integers(5)) * 60, int(rng.integers(5, 60)))
        for number, at in enumerate(when)
    ]
    return Workload(tuple(sorted(jobs, key=lambda job: job.submit)), Machine.homogeneous(nodes, core=1))


#: Number of urgent jobs of the crowd, nearly each of which evicts one.
NUMBER = 600


@pytest.fixture(scope="module")
def made():
    workload = crowd(NUMBER)
    return workload, simulate(workload, Evict(most=None))


class TestManyEvictions:
    def test_conserve_the_work(self, made):
        workload, result = made
        check(workload, result)
        assert sum(evictions(result)) > NUMBER * 5 // 6
        assert all(evictions(result))
        assert (result.jobs["status"] == "completed").all()

    def test_are_the_same_again(self, made):
        workload, result = made
        assert_same_records(result, simulate(workload, Evict(most=None)))

    @pytest.mark.parametrize("most", [0, 1, 4])
    def test_hit_no_job_more_often_than_allowed(self, most):
        workload = crowd(300)
        result = simulate(workload, Evict(most=most))
        check(workload, result)
        kinds = dict(zip(result.jobs["id"], result.jobs["kind"], strict=True))
        stopped = result.attempts[result.attempts["outcome"].isin(["killed", "checkpointed"])]
        often = Counter(stopped["id"])
        assert max(often.values(), default=0) == most
        assert all(kinds[id_] == "batch" for id_ in often)


class TestOptions:
    def test_options_of_the_other_dispatcher(self):
        made = create_dispatcher("evict:over=sjf:blocked=skip/placement=best-fit,policy=kill,most=none")
        assert (made.over.blocked, made.over.placement) == ("skip", "best-fit")
        assert (made.options.policy, made.options.most) == ("kill", None)
        assert Evict(over=EASY("best-fit")).over == EASY("best-fit")

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            ("evict:over=esay", r"unknown dispatcher 'esay' \(did you mean easy\?\)"),
            ("evict:over=easy:x=1", "dispatcher easy: unknown option 'x'"),
            ("evict:over=evict", "dispatcher evict: over must be another dispatcher than evict"),
            ("evict:policy=static", "reserve must be > 0 with policy=static and 0 without it, got 0 with static"),
            ("evict:reserve=3", "reserve must be > 0 with policy=static and 0 without it, got 3 with dp"),
            ("evict:policy=best", "expected one of dp, greedy, kill, random, wait, static, got 'best'"),
            ("evict:most=-1", "most must be a whole number >= 0, got -1"),
            ("evict:step=0", "step must be a whole number >= 1, got 0"),
            ("evict:deadline=-5", "deadline must be a whole number >= 0, got -5"),
            ("evict:aggregate=0", "aggregate must be a finite number > 0, got 0"),
        ],
    )
    def test_refusals(self, spec, message):
        with pytest.raises(InputError, match=message):
            create_dispatcher(spec)

    def test_a_policy_that_is_none(self):
        with pytest.raises(
            ValueError, match="policy must be one of dp, greedy, kill, random, wait, static, got 'best'"
        ):
            Evict(policy="best")

    def test_the_deadline_of_a_job_that_says_nothing(self):
        silent = Job("now", 300, 50, 50, 2, kind="on-demand")
        jobs = [batch("long", 4, checkpoint=SYSTEM), silent]
        assert [start(run(jobs, f"evict:deadline={given}"), "now") for given in (0, 900)] == [300, 400]

    def test_bandwidths(self):
        assert start(run(TestPolicies.JOBS, Evict(node=7)), "now") == 310
        assert start(run(TestPolicies.JOBS, Evict(aggregate=1)), "now") == 388


class TestSharing:
    JOBS = (batch("a", 2, checkpoint=SYSTEM), batch("b", 2, checkpoint=SAVES), demand("now", 4))

    def test_checkpoints_are_written_at_once(self):
        result = run(self.JOBS, "evict:sharing=true")
        # The nodes are the limit: 100 s for a. Job b writes its own, due at 360, in 10 s.
        assert start(result, "now") == 400
        assert stays(result, "a")[0] == (0, 400, "checkpointed", 300)
        assert stays(result, "b")[0] == (0, 400, "checkpointed", 360)

    def test_they_share_the_file_system(self):
        jobs = [batch("a", 2, checkpoint=SYSTEM), batch("b", 2, checkpoint=SYSTEM), demand("now", 4)]
        assert start(run(jobs, Evict(sharing=True, aggregate=1.4)), "now") == 500

    def test_a_deadline_that_is_too_short_in_turn(self):
        jobs = [batch("a", 2, checkpoint=SYSTEM), batch("b", 2, checkpoint=SYSTEM), demand("now", 4, deadline=120)]
        assert evictions(run(jobs, "evict:step=1")) == (1, 1, 0)
        assert evictions(run(jobs, "evict:step=1,sharing=true")) == (0, 2, 0)

    def test_it_keeps_the_rules(self):
        check_dispatcher(lambda: Evict(sharing=True), [urgent()], overruns=["kill"], predictors=["walltime"])
        workload = crowd(100)
        result = simulate(workload, Evict(sharing=True, most=None))
        check(workload, result)
        assert sum(evictions(result)) > 60
