"""Evicted jobs, and jobs of several shapes."""

import pytest

from hpcdispatch.dispatchers import FCFS, Start, Stop, Wake, space_of
from hpcdispatch.simulation import ActionError, check, simulate
from hpcdispatch.testing import assert_same_records, cluster, moldable, overrunning, pool
from hpcdispatch.workloads import Checkpoint, Job, Machine, Shape

ALL = [0, 0, 0, 0]
LONG = (0, 100, 100, 4)
URGENT = (30, 10, 10, 4)


def saving(interval):
    return Job("1", 0, 100, 100, 4, checkpoint=Checkpoint(interval=interval))


class TestStop:
    def test_kill_loses_the_work(self, run, scripted, stays):
        result = run([LONG, URGENT], scripted({30: [Stop("1"), Start("2", ALL)]}))
        assert stays(result) == [(0, 30, "killed", 0), (40, 140, "completed", 100)]
        row = result.jobs.iloc[0]
        assert (row["start"], row["end"], row["wait"], row["lost"], row["attempts"]) == (0, 140, 10, 120, 2)
        assert result.decisions["stopped"].tolist() == [0, 1, 0]

    def test_kill_goes_back_to_the_last_application_checkpoint(self, run, scripted, stays):
        result = run([saving(20), URGENT], scripted({30: [Stop("1"), Start("2", ALL)]}))
        assert stays(result) == [(0, 30, "killed", 20), (40, 120, "completed", 80)]
        assert result.jobs["lost"].tolist() == [40, 0]

    def test_application_checkpoints_count_work_over_all_attempts(self, run, scripted, stays):
        # The first kill keeps 20 s. After 15 s more the job has done 35 s. Still only 20 are kept.
        plan = {30: [Stop("1"), Start("2", ALL)], 55: [Stop("1"), Start("3", ALL)]}
        result = run([saving(20), URGENT, (55, 5, 5, 4)], scripted(plan))
        assert stays(result) == [(0, 30, "killed", 20), (40, 55, "killed", 0), (60, 140, "completed", 80)]

    def test_checkpoint_without_delay_loses_nothing(self, run, scripted, stays):
        result = run([LONG, URGENT], scripted({30: [Stop("1", "checkpoint"), Start("2", ALL)]}))
        assert stays(result) == [(0, 30, "checkpointed", 30), (40, 110, "completed", 70)]
        assert result.jobs["lost"].tolist() == [0, 0]

    def test_checkpoint_with_a_delay_holds_the_nodes(self, run, scripted, stays):
        result = run([LONG, URGENT], scripted({30: [Stop("1", "checkpoint", 5)], 35: [Start("2", ALL)]}))
        assert stays(result) == [(0, 35, "checkpointed", 30), (45, 115, "completed", 70)]
        assert result.jobs["start"].tolist() == [0, 35]
        assert result.jobs["lost"].tolist() == [4 * 5, 0]
        with pytest.raises(ActionError, match="job 2: no room for 4"):
            run([LONG, URGENT], scripted({30: [Stop("1", "checkpoint", 5), Start("2", ALL)]}))

    def test_it_returns_to_its_place_in_the_queue(self, run, scripted, stays):
        # It was submitted at 0, and 2 at 30. First come, first served starts it first.
        result = run([LONG, URGENT], scripted({30: [Stop("1", "checkpoint", 5)]}))
        assert result.jobs["start"].tolist() == [0, 105]
        assert stays(result)[1] == (35, 105, "completed", 70)

    def test_a_job_that_is_written_is_shown_as_stopping(self, run, scripted):
        shown = []
        look = lambda state: shown.extend((r.id, r.stopping, r.predicted_end) for r in state.running) or []  # noqa: E731
        run([LONG, URGENT, (32, 1, 1, 1)], scripted({30: [Stop("1", "checkpoint", 5)], 32: look}))
        assert shown == [("1", True, 35)]

    def test_the_delay_may_last_beyond_the_end_the_job_would_have_had(self, run, scripted, stays):
        for delay in (70, 90):
            result = run([LONG, URGENT], scripted({30: [Stop("1", "checkpoint", delay)]}))
            assert stays(result)[0] == (0, 30 + delay, "checkpointed", 30)

    def test_no_limit_holds_while_it_is_written(self, run, scripted, stays):
        job = (0, 100, 40, 4)
        result = run([job, URGENT], scripted({30: [Stop("1", "checkpoint", 20)]}), overrun="kill")
        assert stays(result)[0][:3] == (0, 50, "checkpointed")

    def test_stopped_and_started_again_at_once(self, run, scripted, stays):
        actions = [Stop("1", "checkpoint"), Start("1", ALL)]
        result = run([LONG, (30, 5, 5, 1)], scripted({30: actions}))
        assert stays(result) == [(0, 30, "checkpointed", 30), (30, 100, "completed", 70)]

    def test_a_job_of_zero_seconds(self, run, scripted, stays):
        result = run([(0, 0, 10, 4), (5, 1, 1, 1)], scripted({0: [Start("1", ALL), Stop("1"), Wake(3)]}))
        assert stays(result) == [(0, 0, "killed", 0), (0, 0, "completed", 0)]

    def test_it_is_predicted_what_is_left(self, run, scripted):
        shown = []
        look = lambda state: shown.extend((w.id, w.predicted) for w in state.queue) or FCFS().dispatch(state)  # noqa: E731
        run([LONG, URGENT], scripted({30: [Stop("1", "checkpoint"), Start("2", ALL)], 40: look}))
        assert shown == [("1", 70)]

    @pytest.mark.parametrize(
        ("actions", "message"),
        [
            ([Stop("2")], "cannot stop job 2: it is not running"),
            ([Stop("1"), Stop("1")], "cannot stop job 1: it is not running"),
            ([Stop("9")], "cannot stop job 9: it is not running"),
            ([Stop("1", delay=3)], "job 1: a kill takes no delay, got 3"),
            ([Stop("1", "checkpoint", -1)], "job 1: delay must be >= 0, got -1"),
            ([Stop("1", "pause")], "job 1: how must be kill or checkpoint, got 'pause'"),
            ([Stop("1", "checkpoint", 3), Stop("1")], "job 1: it is already being checkpointed"),
            ([Stop("1", "checkpoint", 1.5)], "job 1: delay must be a whole number of seconds, got 1.5"),
        ],
    )
    def test_errors(self, run, scripted, actions, message):
        with pytest.raises(ActionError, match=f"Scripted at t=30: {message}"):
            run([LONG, URGENT], scripted({30: actions}))


class Chaos:
    """Stops and starts at random, on any shape."""

    def __init__(self, stops):
        self.stops = stops

    def reset(self, machine, rng):
        self.rng = rng
        self.left = self.stops

    def dispatch(self, state):
        rng = self.rng
        space = space_of(state)
        actions = []
        for run in state.running:
            if self.left and not run.stopping and rng.random() < 0.3:
                self.left -= 1
                how = ("kill", "checkpoint")[rng.integers(2)]
                delay = int(rng.integers(3)) * int(rng.integers(100)) if how == "checkpoint" else 0
                actions.append(Stop(run, how, delay))
                if not delay:
                    space.give(run.placement, run.demand)
        for place in rng.permutation(len(state.queue)):
            waiting = state.queue[place]
            shape = int(rng.integers(-1, len(waiting.job.shapes)))
            nodes, demand = waiting.nodes, waiting.demand
            if shape >= 0:
                nodes = waiting.job.shapes[shape].nodes
                demand = waiting.job.shapes[shape].demand
            placement = space.place(nodes, demand)
            if placement is not None:
                limit = int(rng.integers(1, 2000)) if self.left and rng.random() < 0.2 else None
                actions.append(Start(waiting, placement, limit, None if shape < 0 else shape))
        if self.left:
            actions.append(Wake(state.now + 1 + int(rng.integers(300))))
        return actions


# Each kind of workload and each overrun mode once or twice by day. Nights have all, and more preemptions.
@pytest.mark.parametrize(
    ("make", "overrun", "jobs"),
    [
        (pool, "run", 60),
        (cluster, "kill", 60),
        (overrunning, "resubmit", 60),
        (moldable, "run", 60),
        *(
            pytest.param(make, overrun, 150, marks=pytest.mark.nightly)
            for make in (pool, cluster, overrunning, moldable)
            for overrun in ("run", "kill", "resubmit")
        ),
    ],
)
def test_many_preemptions_conserve_the_work(make, overrun, jobs):
    workload = make(jobs, seed=3)
    dispatcher = Chaos(10 * jobs)
    first = simulate(workload, dispatcher, "last2", overrun=overrun, seed=5)
    check(workload, first)
    assert first.decisions["stopped"].sum() > 3 * jobs
    if overrun == "run":
        assert (first.jobs["status"] == "completed").all()
    assert_same_records(first, simulate(workload, dispatcher, "last2", overrun=overrun, seed=5))


MOLDABLE = Job("1", 0, 100, 110, 2, shapes=(Shape(4, 60, 70), Shape(1, 180, 200)))


class TestShapes:
    def test_each_has_its_run_time(self, run, scripted):
        for shape, nodes, end in ((None, 2, 100), (0, 4, 60), (1, 1, 180)):
            result = run([MOLDABLE], scripted({0: [Start("1", [0] * nodes, shape=shape)]}))
            row = result.attempts.iloc[0]
            assert (row["end"], row["shape"], row["nodes"], row["units"]) == (
                end,
                -1 if shape is None else shape,
                nodes,
                nodes,
            )
            assert result.jobs["run"].tolist() == [end]

    def test_each_has_its_request(self, run, scripted):
        late = Job("1", 0, 100, 110, 2, shapes=(Shape(4, 60, 30),))
        result = run([late], scripted({0: [Start("1", ALL, shape=0)]}), overrun="kill")
        assert result.jobs["end"].tolist() == [30]
        assert result.jobs["reason"].tolist() == ["reached its walltime of 30 s"]

    def test_a_resubmission_enlarges_all_of_them(self, run, scripted, stays):
        late = Job("1", 0, 100, 110, 2, shapes=(Shape(4, 60, 30),))
        result = run([late], scripted({t: [Start("1", ALL, shape=0)] for t in (0, 30, 75)}), overrun="resubmit")
        assert [row[:3] for row in stays(result)] == [(0, 30, "limit"), (30, 75, "limit"), (75, 135, "completed")]

    @pytest.mark.parametrize(("shape", "nodes", "rest"), [(None, 2, 50), (0, 4, 30), (1, 1, 90)])
    def test_it_resumes_on_another_one(self, run, scripted, stays, shape, nodes, rest):
        # Half the work is done on the requested shape. The rest takes half the time of the other shape.
        actions = [Stop("1", "checkpoint"), Start("1", [0] * nodes, shape=shape)]
        result = run([MOLDABLE, (50, 5, 5, 4)], scripted({50: actions}))
        assert stays(result) == [(0, 50, "checkpointed", 50), (50, 50 + rest, "completed", rest)]
        assert result.jobs["lost"].tolist() == [0, 0]

    def test_there_and_back(self, run, scripted, stays):
        plan = {
            50: [Stop("1", "checkpoint"), Start("1", ALL, shape=0)],
            65: [Stop("1", "checkpoint"), Start("1", [0, 0])],
        }
        result = run([MOLDABLE, (50, 5, 5, 4), (65, 5, 5, 4)], scripted(plan))
        # 50 of 100, 15 of 60, 25 of 100.
        assert [row[:2] for row in stays(result)] == [(0, 50), (50, 65), (65, 90)]

    @pytest.mark.parametrize("shape", [None, 0, 1])
    def test_what_is_left_is_predicted(self, run, scripted, shape):
        # The oracle knows when it ends, on whichever shape it began and resumed.
        shown = []
        look = lambda state: shown.extend((r.id, r.predicted_end) for r in state.running) or []  # noqa: E731
        start = Start("1", [0] * (2 if shape is None else MOLDABLE.shapes[shape].nodes), shape=shape)
        plan = {0: [start], 30: [Stop("1", "checkpoint"), Start("1", ALL, shape=0)], 31: look}
        result = run([MOLDABLE, (30, 5, 5, 4), (31, 5, 5, 4)], scripted(plan), "oracle")
        assert shown == [("1", result.jobs["end"].iloc[0])]

    @pytest.mark.parametrize("dispatcher", ["fcfs", "conservative", "easy", "sa", "hcp3"])
    def test_one_runs_where_the_request_does_not_fit(self, run, dispatcher):
        shapes = (Shape(9, 10, 11), Shape(3, 70, 75, {"core": 1}), Shape(2, 90, 95, {"gpu": 1}), Shape(4, 60, 70))
        result = run([Job("1", 0, 100, 110, 8, {"core": 1}, shapes=shapes), (5, 20, 20, 1)], dispatcher)
        row = result.jobs.iloc[0]
        expected = (3, 4, 70) if dispatcher == "sa" else (1, 3, 75)
        assert (row["status"], row["shape"], row["run_nodes"], row["run_walltime"]) == ("completed", *expected)
        assert result.manifest["dropped_shapes"] == result.summary()["dropped_shapes"] == 2

    def test_one_that_does_not_say_its_resources_has_those_of_the_request_that_is_gone(self, run):
        wide = Job("1", 0, 100, 110, 8, {"core": 1}, shapes=(Shape(1, 60, 70, {"core": 4}), Shape(4, 50, 55)))
        assert run([wide], "sa").jobs["shape"].tolist() == [1]

    def test_a_larger_request_of_it_is_recorded(self, run):
        wide = Job("1", 0, 100, 110, 8, shapes=(Shape(4, 60, 40),))
        result = run([wide], "fcfs", overrun="resubmit")
        assert result.jobs[["shape", "run_walltime"]].to_numpy().tolist() == [[0, 60]]
        assert result.attempts["shape"].tolist() == [0, 0]

    def test_a_shape_has_its_own_resources(self, run, scripted):
        machine = Machine.homogeneous(2, core=4, gpu=1)
        job = Job("1", 0, 100, 110, 2, {"core": 4}, shapes=(Shape(1, 20, 30, {"core": 1, "gpu": 1}),))
        result = run([job], scripted({0: [Start("1", [1], shape=0)]}), machine=machine)
        assert (result.attempts["units"].tolist(), result.jobs["end"].tolist()) == ([1], [20])

    def test_one_there_is_not(self, run, scripted):
        for shape in (2, -1):
            with pytest.raises(ActionError, match=f"job 1: shape must be below 2, got {shape}"):
                run([MOLDABLE], scripted({0: [Start("1", ALL, shape=shape)]}))


class TestRestartsAndWrites:
    def test_a_job_that_gave_way_starts_again_before_it_works(self, run, scripted, stays):
        job = Job("1", 0, 100, 100, 4, checkpoint=Checkpoint(restart=7))
        for how, useful in (("kill", 0), ("checkpoint", 30)):
            result = run([job, URGENT], scripted({30: [Stop("1", how), Start("2", ALL)]}))
            assert stays(result)[1] == (40, 40 + 7 + 100 - useful, "completed", 100 - useful)
            assert result.jobs["lost"].iloc[0] == 4 * (30 - useful + 7)

    def test_what_is_stopped_while_it_starts_again_has_done_nothing(self, run, scripted, stays):
        job = Job("1", 0, 100, 100, 4, checkpoint=Checkpoint(restart=7))
        for how in ("kill", "checkpoint"):
            plan = {30: [Stop("1", "checkpoint"), Start("2", ALL)], 45: [Stop("1", how), Start("3", ALL)]}
            result = run([job, URGENT, (45, 5, 5, 4)], scripted(plan))
            assert stays(result)[1:] == [
                (40, 45, "killed" if how == "kill" else "checkpointed", 0),
                (50, 127, "completed", 70),
            ]

    def test_its_limit_does_not_count_the_restart(self, run, scripted, stays):
        job = Job("1", 0, 100, 100, 4, checkpoint=Checkpoint(restart=7))
        result = run([job, URGENT], scripted({30: [Stop("1"), Start("2", ALL)]}), overrun="kill")
        assert stays(result)[1] == (40, 147, "completed", 100)

    def test_it_is_predicted_with_its_restart(self, run, scripted):
        shown = []
        look = lambda state: shown.extend(r.predicted_end for r in state.running) or []  # noqa: E731
        job = Job("1", 0, 100, 100, 4, checkpoint=Checkpoint(restart=7))
        run([job, URGENT, (42, 1, 1, 4)], scripted({30: [Stop("1", "checkpoint"), Start("2", ALL)], 42: look}))
        assert shown == [40 + 7 + 70]

    def test_a_checkpoint_counts_once_it_is_written(self, run, scripted, stays):
        job = Job("1", 0, 100, 100, 4, checkpoint=Checkpoint(interval=20, write=5))
        for at, kept in ((24, 0), (25, 25), (44, 25), (45, 45)):
            result = run([job, (at, 10, 10, 4)], scripted({at: [Stop("1"), Start("2", ALL)]}))
            assert stays(result)[0] == (0, at, "killed", kept)
            assert stays(result)[1][1:] == (at + 10 + 100 - kept, "completed", 100 - kept)

    def test_a_checkpoint_at_the_end_of_a_limit_keeps_what_was_done(self, run, scripted, stays):
        job = Job("1", 0, 100, 100, 4, checkpoint=Checkpoint(restart=7))
        starts = {0: Start("1", ALL, limit=40, write=10), 40: Start("1", ALL, limit=20), 67: Start("1", ALL)}
        result = run([job], scripted({at: [start] for at, start in starts.items()}))
        assert stays(result) == [(0, 40, "limit", 30), (40, 67, "limit", 0), (67, 144, "completed", 70)]

    def test_what_ends_before_the_checkpoint_writes_none(self, run, scripted, stays):
        for limit, write, ends in ((110, 10, True), (109, 10, False)):
            plan = {0: [Start("1", ALL, limit=limit, write=write)], limit: [Start("1", ALL)]}
            result = run([Job("1", 0, 100, 100, 4)], scripted(plan))
            assert stays(result)[0][1:3] == ((100, "completed") if ends else (limit, "limit"))

    @pytest.mark.parametrize(("limit", "said"), [(None, "0 without a limit"), (10, "in 0..9, below its limit")])
    def test_a_checkpoint_longer_than_the_limit_is_refused(self, run, scripted, limit, said):
        with pytest.raises(ActionError, match=f"job 1: write must be {said}, got 10"):
            run([Job("1", 0, 100, 100, 4)], scripted({0: [Start("1", ALL, limit=limit, write=10)]}))

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"restart": -1}, "checkpoint: restart must be a whole number >= 0 and <= 10000000000, got -1"),
            ({"interval": 5, "write": 5}, "checkpoint: write must be below the interval of 5 s, got 5"),
            ({"write": 5}, "checkpoint: write must be 0 without an interval, got 5"),
        ],
    )
    def test_bad_costs_are_refused(self, fields, said):
        with pytest.raises(ValueError, match=said):
            Checkpoint(**fields)
