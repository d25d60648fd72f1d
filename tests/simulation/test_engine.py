"""The engine: the order of events, and its messages to dispatchers."""

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import FCFS, SJF, Reject, Start, Wake
from hpcdispatch.predictors import Walltime
from hpcdispatch.simulation import ActionError, SimulationError, check, simulate
from hpcdispatch.workloads import Job, Machine, Shape, Workload

ALL = [0, 0, 0, 0]


class Log(Walltime):
    """A predictor and dispatcher that records the order of its calls."""

    def __init__(self):
        self.lines = []

    def predict(self, job, now):
        self.lines.append(f"{now} predict {job.id}")
        return super().predict(job, now)

    def observe(self, job):
        self.lines.append(f"observe {job.id} {job.runtime}")

    def dispatch(self, state):
        self.lines.append(f"{state.now} dispatch {[w.id for w in state.queue]} {state.free[0, 0]}")
        return FCFS().dispatch(state)


def test_completions_then_arrivals_then_one_dispatch(run):
    log = Log()
    run([(0, 10, 20, 4), (10, 5, 5, 1), (10, 5, 5, 1)], log, log)
    assert log.lines == [
        "0 predict 1",
        "0 dispatch ['1'] 4",
        "observe 1 10",
        "10 predict 2",
        "10 predict 3",
        "10 dispatch ['2', '3'] 4",
        "observe 2 5",
        "observe 3 5",
    ]


def test_all_jobs_of_an_instant_arrive_before_the_dispatch(run):
    # Guards against a block of the reader that ends within an instant. The shortest job is the last of 1500.
    rows = [(0, 10, 10, 4)] * 1499 + [(0, 5, 5, 4)]
    result = run(rows, SJF())
    assert result.jobs["start"].iloc[-1] == 0
    assert result.decisions["queued"].iloc[0] == 1500


def test_waiters_of_a_job_of_zero_seconds_start_at_the_same_second(run):
    result = run([(0, 0, 10, 4), (0, 0, 10, 4), (0, 7, 10, 4), (3, 0, 1, 4)])
    assert result.jobs["start"].tolist() == [0, 0, 0, 7]
    assert result.jobs["end"].tolist() == [0, 0, 7, 7]
    assert result.decisions["time"].tolist() == [0, 0, 0, 3, 7]


def test_the_queue_is_in_order_of_submission(run, scripted):
    dispatcher = scripted({2: []})
    run([(0, 9, 9, 4), (1, 1, 1, 4), (2, 1, 1, 4), (2, 1, 1, 4)], dispatcher)
    assert dispatcher.seen[2] == (2, ["2", "3", "4"], ["1"])


class TestTimers:
    def test_start_later(self, run, scripted):
        result = run([(0, 10, 10, 4)], scripted({0: [Wake(30)]}))
        assert result.jobs["start"].tolist() == [30]
        assert result.decisions["time"].tolist() == [0, 30]

    def test_with_an_empty_queue(self, run, scripted):
        # Calls come while the job runs, and while nothing runs. The one after the last job is not served.
        dispatcher = scripted({0: [Start("1", [0]), Wake(5), Wake(50), Wake(5), Wake(500)]})
        run([(0, 10, 10, 1), (100, 10, 10, 1)], dispatcher)
        assert dispatcher.seen == [(0, ["1"], []), (5, [], ["1"]), (50, [], []), (100, ["2"], [])]

    def test_together_with_an_arrival_is_one_call(self, run, scripted):
        dispatcher = scripted({0: [Start("1", [0]), Wake(5)]})
        run([(0, 10, 10, 1), (5, 10, 10, 1)], dispatcher)
        assert [time for time, *_ in dispatcher.seen] == [0, 5]

    def test_without_end(self, run):
        class Sleepy:
            def dispatch(self, state):
                return [Wake(state.now + 1)]

        with pytest.raises(
            SimulationError, match=r"Sleepy at t=10000: it was asked 10,000 times in a row without starting anything"
        ):
            run([(0, 10, 10, 1)], Sleepy())


class TestLimit:
    def test_ends_the_attempt_and_not_the_job(self, run, scripted, stays):
        result = run([(0, 100, 200, 4), (5, 10, 10, 4)], scripted({0: [Start("1", ALL, limit=20)]}))
        # It goes to the end of the queue: the other one is first.
        assert stays(result) == [(0, 20, "limit", 0), (30, 130, "completed", 100)]
        assert result.jobs["lost"].tolist() == [80, 0]
        assert result.jobs["wait"].tolist() == [10, 15]

    def test_of_a_job_that_ends_before(self, run, scripted, stays):
        assert stays(run([(0, 20, 200, 4)], scripted({0: [Start("1", ALL, limit=20)]}))) == [(0, 20, "completed", 20)]

    def test_below_the_request_is_no_overrun(self, run, scripted, stays):
        for overrun in ("kill", "resubmit"):
            result = run([(0, 100, 200, 4)], scripted({0: [Start("1", ALL, limit=20)]}), overrun=overrun)
            assert stays(result) == [(0, 20, "limit", 0), (20, 120, "completed", 100)]

    def test_above_the_request_does_not_help(self, run, scripted):
        result = run([(0, 100, 50, 4)], scripted({0: [Start("1", ALL, limit=80)]}), overrun="kill")
        assert result.jobs["end"].tolist() == [50]

    def test_is_what_the_dispatcher_is_shown(self, run, scripted):
        shown = []
        look = lambda state: shown.extend((r.kill_at, r.predicted_end) for r in state.running) or []  # noqa: E731
        run([(0, 100, 200, 4), (5, 9, 9, 1)], scripted({0: [Start("1", ALL, limit=20)], 5: look}))
        assert shown == [(20, 20)]

    def test_tells_the_predictor_that_more_is_needed(self, run, scripted):
        shown = []
        look = lambda state: shown.extend(w.predicted for w in state.queue) or FCFS().dispatch(state)  # noqa: E731
        predictor = Log()
        predictor.predict = lambda job, now: 7
        run([(0, 100, 200, 4)], scripted({0: [Start("1", ALL, limit=20)], 20: look}), predictor)
        assert shown == [21]


class Growing:
    """Predicts 10 s, and 5 s more at each miss."""

    def __init__(self):
        self.asked = []

    def predict(self, job, now):
        return 9.2

    def correct(self, job, elapsed, misses):
        self.asked.append((job.id, elapsed, misses))
        return elapsed + 4.5

    def observe(self, job):
        pass


class TestCorrections:
    def test_are_made_when_a_prediction_passes(self, run, scripted):
        predictor, shown = Growing(), []

        class Look(FCFS):
            def dispatch(self, state):
                shown.extend((state.now, r.predicted_end) for r in state.running)
                return super().dispatch(state)

        # They do not cause a call of the dispatcher. It sees them when a job has arrived.
        run([(0, 22, 30, 4), (1, 3, 9, 4), (10, 1, 9, 4), (17, 1, 9, 4), (21, 1, 9, 4)], Look(), predictor)
        assert predictor.asked == [("1", 10, 0), ("1", 15, 1), ("1", 20, 2)]
        assert shown == [(1, 10), (10, 15), (17, 20), (21, 25)]

    def test_not_of_a_job_that_ends_there(self, run):
        predictor = Growing()
        run([(0, 10, 30, 4)], "fcfs", predictor)
        assert predictor.asked == []

    def test_do_not_pass_the_kill(self, run):
        predictor = Growing()
        run([(0, 50, 17, 4)], "fcfs", predictor, overrun="kill")
        assert predictor.asked == [("1", 10, 0), ("1", 15, 1)]

    def test_count_the_work_before_a_preemption(self, run, scripted):
        from hpcdispatch.dispatchers import Stop  # noqa: PLC0415

        predictor = Growing()
        run(
            [(0, 30, 99, 4), (6, 4, 9, 4)],
            scripted({6: [Stop("1", "checkpoint"), Start("2", ALL)]}),
            predictor,
        )
        # 6 s are done. It resumes at 10 with 4 s predicted. It ends at 34.
        assert predictor.asked == [("1", 10, 0), ("1", 15, 1), ("1", 20, 2), ("1", 25, 3)]

    def test_without_them_a_late_job_ends_the_next_second(self, run):
        shown = []

        class Look(FCFS):
            def dispatch(self, state):
                shown.extend((state.now, r.predicted_end, r.expected_end(state.now)) for r in state.running)
                return super().dispatch(state)

        run([(0, 50, 10, 4), (20, 1, 1, 1)], Look())
        assert shown == [(20, 10, 21)]


class TestRejected:
    @pytest.mark.parametrize(
        ("job", "reason"),
        [
            (Job("1", 3, 9, 9, nodes=5), "asks for 5 slots of core 1; the machine has room for 4"),
            (Job("1", 3, 9, 9, per_node={"core": 5}), "asks for 1 slots of core 5; the machine has room for 0"),
            (Job("1", 3, 9, 9, per_node={"gpu": 1}), "unknown resource 'gpu'; the machine has: core"),
            (
                Job("1", 3, 9, 9, nodes=5, shapes=(Shape(6, 9, 9),)),
                "asks for 5 slots of core 1; the machine has room for 4",
            ),
        ],
    )
    def test_what_can_never_run(self, run, job, reason):
        result = run([job, (4, 5, 5, 4)])
        row = result.jobs.iloc[0]
        assert (row["status"], row["reason"], row["start"], row["end"]) == ("rejected", reason, -1, 3)
        assert (row["attempts"], row["lost"], len(row["placement"])) == (0, 0, 0)
        assert result.jobs["start"].tolist() == [-1, 4]
        assert result.summary()["rejected"] == 1

    def test_by_the_dispatcher(self, run, scripted):
        result = run([(0, 9, 9, 4), (2, 9, 9, 4)], scripted({2: [Reject("2", "not today")]}))
        row = result.jobs.iloc[1]
        assert (row["status"], row["reason"], row["end"], row["wait"]) == ("rejected", "not today", 2, 0)
        assert result.decisions["rejected"].tolist() == [0, 1]

    def test_one_that_ran_before(self, run, scripted):
        dispatcher = scripted({0: [Start("1", ALL, limit=5)], 5: [Reject("1", "again no")]})
        result = run([(0, 9, 9, 4), (7, 1, 1, 1)], dispatcher)
        assert result.jobs["status"].tolist() == ["rejected", "completed"]
        assert result.jobs["lost"].tolist() == [20, 0]

    def test_all_of_them(self, run):
        summary = run([(0, 9, 9, 5), (9, 9, 9, 5)]).summary()
        assert (summary["jobs"], summary["rejected"], summary["decisions"]) == (0, 2, 0)
        assert np.isnan(summary["wait_mean"])

    def test_do_not_lengthen_the_makespan(self, run):
        # It counts to the last end of a job that ran.
        assert run([(0, 100, 100, 4), (1000, 9, 9, 5)]).summary()["makespan"] == 100


def test_no_jobs_at_all():
    workload = Workload((), Machine.pool(4))
    result = simulate(workload, "easy")
    check(workload, result)
    assert result.summary()["jobs"] == 0


def test_a_dispatcher_that_starts_nothing(run, nothing):
    message = "Nothing at t=3: 2 jobs wait, nothing runs and nothing is to come, but nothing was started; .* job 1"
    with pytest.raises(SimulationError, match=message):
        run([(0, 9, 9, 1), (3, 9, 9, 1)], nothing)


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf")])
def test_a_prediction_that_is_no_time(run, value):
    predictor = Growing()
    predictor.predict = lambda job, now: value
    with pytest.raises(SimulationError, match=f"Growing at t=3: job 1: a prediction must be >= 0 s, got {value}"):
        run([(3, 9, 9, 1)], "fcfs", predictor)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"predictor": "orcale"}, r"unknown predictor 'orcale' \(did you mean oracle\?\)"),
        ({"overrun": "burn"}, "overrun: expected one of run, kill, resubmit, got 'burn'"),
        ({"overrun": "resubmit:factor=1"}, "overrun: factor must be a number > 1, got 1.0"),
        ({"overrun": "resubmit:cap=0"}, "overrun: cap must be a whole number >= 1 and <= 10000000000, got 0"),
        ({"overrun": "resubmit:cap=a"}, "overrun: cap: expected a time such as 90s, 15m, .*, got 'a'"),
        ({"overrun": "resubmit:top=1"}, "overrun resubmit: unknown option 'top'; known: factor, cap"),
    ],
)
def test_options(run, options, message):
    with pytest.raises(InputError, match=message):
        run([(0, 1, 1, 1)], **options)


def test_an_error_leaves_nothing_behind(run, nothing):
    with pytest.raises(SimulationError):
        run([(0, 9, 9, 1)], nothing)
    assert run([(0, 9, 9, 1)]).jobs["end"].tolist() == [9]


def test_progress_is_told(run, monkeypatch):
    monkeypatch.setattr("hpcdispatch.simulation.life_cycle.REPORT_EVERY", 0.0)
    told = []
    run([(0, 1, 1, 1)] * 6, progress=told.append)
    assert told == [1, 2, 3, 4, 5, 6, 6]


class TestActionErrors:
    @pytest.mark.parametrize(
        ("actions", "message"),
        [
            ([Start("9", [0])], "cannot start job 9: it is not waiting"),
            ([Start("1", [0])], "cannot start job 1: it is not waiting"),
            ([Reject("1", "")], "cannot reject job 1: it is not waiting"),
            ([Start("2", [0]), Start("2", [0])], "cannot start job 2: it is not waiting"),
            ([Reject("2", "no"), Start("2", [0])], "cannot start job 2: it is not waiting"),
            ([Start("2", [0, 0])], r"job 2: placement must be 1 node indices, got int64 of shape \(2,\)"),
            ([Start("2", [0.0])], r"job 2: placement must be 1 node indices, got float64 of shape \(1,\)"),
            ([Start("2", [[0]])], r"job 2: placement must be 1 node indices, got int64 of shape \(1, 1\)"),
            ([Start("2", [True])], r"job 2: placement must be 1 node indices, got bool of shape \(1,\)"),
            ([Start("2", [1])], r"job 2: placement must lie in 0..0, got \[1\]"),
            ([Start("2", [-1])], r"job 2: placement must lie in 0..0, got \[-1\]"),
            ([Start("2", [0]), Start("3", [0, 0])], r"job 3: no room for 2 x \(1,\) at \[0 0\]"),
            ([Start("2", [0], limit=0)], "job 2: limit must be >= 1 s, got 0"),
            ([Start("2", [0], shape=0)], "job 2: shape must be below 0, got 0"),
            ([Wake(5)], "a timer must lie in the future, got 5"),
            ([Wake(4)], "a timer must lie in the future, got 4"),
            (["start 2"], "expected Start, Stop, Wake or Reject, got 'start 2'"),
            # Times are whole seconds, and a job is named by an entry or an id.
            ([Wake(5.5)], "a timer must be a whole number of seconds, got 5.5"),
            ([Start("2", [0], limit=2.5)], "job 2: limit must be a whole number of seconds, got 2.5"),
            ([Start(2, [0])], "cannot start: expected a job or its id, got 2"),
        ],
    )
    def test_say_when_which_job_and_what(self, run, scripted, actions, message):
        rows = [(0, 9, 9, 2), (5, 9, 9, 1), (5, 9, 9, 2)]
        with pytest.raises(ActionError, match=f"Scripted at t=5: {message}"):
            run(rows, scripted({5: actions}))

    def test_an_answer_that_is_no_list(self, run, scripted):
        with pytest.raises(ActionError, match="Scripted at t=0: expected a sequence of actions, got None"):
            run([(0, 9, 9, 2)], scripted({0: lambda state: None}))

    @pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64])
    def test_any_whole_numbers_place_a_job(self, run, scripted, dtype, tmp_path):
        machine = Machine.homogeneous(4, core=1)
        rows = [(0, 9, 9, 2), (0, 9, 9, 2), (0, 9, 9, 9)]
        plan = {0: [Start("1", np.array([3, 1], dtype=dtype)), Start("2", [0, 2])]}
        result = run(rows, scripted(plan), machine=machine)
        assert [p.tolist() for p in result.jobs["placement"]] == [[3, 1], [0, 2], []]
        result.save(tmp_path)

    def test_a_placement_is_the_dispatchers_own(self, run, scripted):
        # A dispatcher may reuse its array once it has answered.
        class Reuses(FCFS):
            buffer = np.zeros(1, dtype=np.int64)

            def dispatch(self, state):
                self.buffer[0] = state.now % 4
                return [Start(state.queue[0], self.buffer)]

        result = run([(t, 9, 9, 1) for t in range(4)], Reuses(), machine=Machine.homogeneous(4, core=1))
        assert [p.tolist() for p in result.jobs["placement"]] == [[0], [1], [2], [3]]


def test_dispatchers_get_a_generator_of_the_seed(run):
    class Draws(FCFS):
        def reset(self, machine, rng):
            drawn.append(rng.integers(1000))

    drawn = []
    for seed in (1, 1, 2):
        run([(0, 1, 1, 1)], Draws(), seed=seed)
    assert drawn[0] == drawn[1] != drawn[2]


def test_reports_become_columns_of_the_decisions(run):
    class Reports(FCFS):
        def report(self):
            return {"nodes": 3}

    assert run([(0, 1, 1, 1), (5, 1, 1, 1)], Reports()).decisions["nodes"].tolist() == [3, 3]
