"""What happens to a job that reaches its walltime."""

import pytest

from hpcdispatch.dispatchers import FCFS
from hpcdispatch.simulation import Overrun, simulate
from hpcdispatch.workloads import Checkpoint, Job, Machine, Workload

LATE = (0, 100, 40, 2)


def test_run(run, stays):
    result = run([LATE])
    assert stays(result) == [(0, 100, "completed", 100)]
    assert result.summary()["lost"] == 0


def test_kill(run, stays):
    result = run([LATE, (0, 9, 9, 4)], overrun="kill")
    assert stays(result) == [(0, 40, "limit", 0)]
    row = result.jobs.iloc[0]
    assert (row["status"], row["reason"]) == ("killed", "reached its walltime of 40 s")
    assert (row["end"], row["run"], row["lost"]) == (40, 40, 80)
    assert result.jobs["start"].tolist() == [0, 40]


def test_a_job_that_takes_just_what_it_requested_is_not_killed(run):
    for overrun in ("kill", "resubmit"):
        result = run([(0, 40, 40, 2)], overrun=overrun)
        assert (result.jobs["status"].iloc[0], result.jobs["attempts"].iloc[0]) == ("completed", 1)


def test_resubmit_enlarges_the_request(run, stays):
    result = run([LATE], overrun="resubmit")
    # Requests of 40, 60, 90, 135 s.
    assert stays(result) == [
        (0, 40, "limit", 0),
        (40, 100, "limit", 0),
        (100, 190, "limit", 0),
        (190, 290, "completed", 100),
    ]
    row = result.jobs.iloc[0]
    assert (row["status"], row["attempts"], row["lost"], row["run"]) == ("completed", 4, 2 * 190, 100)
    assert (row["start"], row["end"], row["wait"]) == (0, 290, 0)
    assert result.summary()["lost"] == 380
    assert result.summary()["utilization"] == pytest.approx(200 / (4 * 290))
    assert result.summary()["occupancy"] == pytest.approx(580 / (4 * 290))


def test_factor(run, stays):
    result = run([LATE], overrun="resubmit:factor=3")
    assert stays(result) == [(0, 40, "limit", 0), (40, 140, "completed", 100)]


def test_cap(run, stays):
    result = run([LATE], overrun="resubmit:factor=1.5,cap=70")
    assert [(start, end) for start, end, *_ in stays(result)] == [(0, 40), (40, 100), (100, 170)]
    row = result.jobs.iloc[0]
    assert (row["status"], row["reason"]) == ("rejected", "killed at the largest request of 70 s")
    assert (row["end"], row["lost"]) == (170, 2 * 170)
    assert result.summary()["rejected"] == 1


def test_goes_to_the_end_of_the_queue(run, stays):
    result = run([(0, 50, 40, 4), (1, 10, 10, 4), (2, 10, 10, 4)], overrun="resubmit")
    assert stays(result) == [(0, 40, "limit", 0), (60, 110, "completed", 50)]
    assert result.jobs["wait"].tolist() == [20, 39, 48]


def test_resumes_from_the_last_application_checkpoint(run, stays):
    job = Job("1", 0, 100, 40, 2, checkpoint=Checkpoint(interval=15))
    result = run([job], overrun="resubmit")
    # 30 s are saved, then 90 in all; 10 are left.
    assert stays(result) == [(0, 40, "limit", 30), (40, 100, "limit", 60), (100, 110, "completed", 10)]
    assert result.jobs["lost"].tolist() == [20]


def test_what_is_predicted_after_a_kill(run):
    shown = []

    class Look(FCFS):
        def dispatch(self, state):
            shown.extend((w.job.walltime, w.predicted, w.attempt, w.since) for w in state.queue)
            return super().dispatch(state)

    run([LATE], Look(), overrun="resubmit")
    assert shown == [(40, 40, 0, 0), (60, 60, 1, 40), (90, 90, 2, 100), (135, 135, 3, 190)]
    shown.clear()
    # If the walltime ends the job, no prediction is above it.
    run([LATE], Look(), "oracle", overrun="kill")
    assert shown == [(40, 40, 0, 0)]


@pytest.mark.parametrize(
    ("policy", "walltime", "larger"),
    [
        (Overrun("resubmit"), 40, 60),
        (Overrun("resubmit", factor=1.01), 10, 11),
        (Overrun("resubmit", cap=50), 40, 50),
        (Overrun("resubmit", cap=50), 50, None),
        (Overrun("resubmit", cap=30), 40, None),
    ],
)
def test_enlarge(policy, walltime, larger):
    assert policy.enlarge(walltime) == larger


@pytest.mark.parametrize("text", ["run", "kill", "resubmit:factor=1.5", "resubmit:factor=2.0,cap=86400"])
def test_text_round_trip(text):
    assert str(Overrun.parse(text)) == text
    assert Overrun.parse(str(Overrun.parse(text))) == Overrun.parse(text)


@pytest.mark.parametrize("overrun", ["run", "kill", "resubmit"])
def test_an_object_does_as_well(run, overrun):
    one, other = (run([LATE], overrun=given).jobs for given in (overrun, Overrun(overrun)))
    assert one["end"].tolist() == other["end"].tolist()


@pytest.mark.parametrize(("predictor", "seen"), [("walltime", (100, 100)), ("scaled:factor=2", (200, None))])
def test_dispatchers_count_on_the_walltime_unless_a_predictor_keeps_more(predictor, seen):
    ends = []

    class Watch(FCFS):
        def dispatch(self, state):
            ends.extend((run.predicted_end, run.kill_at) for run in state.running)
            return super().dispatch(state)

    jobs = [Job("1", 0, 90, 100, 1), Job("2", 10, 5, 5, 1)]
    simulate(Workload(jobs, Machine.pool(1)), Watch(), predictor, overrun="kill")
    assert ends[0] == seen
