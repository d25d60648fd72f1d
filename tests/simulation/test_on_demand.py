"""Deadlines of on-demand jobs, from the workload to the metrics. The completed work in a dispatcher's view."""

import math

import numpy as np
import pytest

from hpcdispatch.dispatchers import FCFS, JobView, Start, Stop, Wake
from hpcdispatch.simulation import Result, simulate
from hpcdispatch.testing import pool
from hpcdispatch.workloads import Checkpoint, Job, Machine, Shape, Workload, read, write

ALL = [0, 0, 0, 0]
LONG = Job("1", 0, 100, 120, 4, checkpoint=Checkpoint(interval=20))
SOON = Job("2", 30, 10, 10, 4, kind="on-demand", deadline=25)


class TestTheField:
    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            (
                {"kind": "on-demand", "deadline": -1},
                "job 1: deadline must be a whole number >= 0 and <= 10000000000, got -1",
            ),
            (
                {"kind": "on-demand", "deadline": 1.5},
                "job 1: deadline must be a whole number >= 0 and <= 10000000000, got 1.5",
            ),
            ({"deadline": 60}, "job 1: deadline is for on-demand jobs, got 60 for a batch job"),
        ],
    )
    def test_refusals(self, fields, message):
        with pytest.raises(ValueError, match=message):
            Job("1", 0, 10, 10, **fields)

    def test_zero_is_a_deadline_and_none_is_none(self):
        assert Job("1", 0, 10, 10, kind="on-demand", deadline=np.int64(0)).deadline == 0
        assert Job("1", 0, 10, 10, kind="on-demand").deadline is None

    def test_dispatchers_see_it(self):
        assert JobView(SOON, Machine.pool(4)).deadline == 25

    def test_it_counts_in_the_digest(self):
        machine = Machine.pool(4)
        digests = {
            Workload((Job("1", 0, 1, 1, kind="on-demand", deadline=deadline),), machine).digest()
            for deadline in (None, 0, 1)
        }
        assert len(digests) == 3

    def test_swf_has_no_field_for_it(self, tmp_path):
        write(Workload((LONG, SOON), Machine.pool(4)), tmp_path / "a.swf")
        assert "no field for deadline, left out of 1 jobs" in (tmp_path / "a.swf").read_text()
        assert [job.deadline for job in read(tmp_path / "a.swf").jobs] == [None, None]

    def test_results_keep_it(self, run, tmp_path):
        result = run([LONG, SOON])
        assert result.jobs["deadline"].tolist() == [-1, 25]
        assert Result.load(result.save(tmp_path)).summary()["missed"] == result.summary()["missed"] == 1


class TestMetrics:
    def test_by_hand(self, run, scripted):
        # Job 1 is killed at 30 with 20 s of work kept. At 60 it has 20 s more, written within 5 s. Job 2 is in time, 4
        # is late.
        plan = {
            30: [Stop("1"), Start("2", ALL)],
            40: [Start("1", ALL), Wake(60)],
            60: [Stop("1", "checkpoint", 5)],
            65: [Start("4", ALL)],
        }
        late = Job("4", 50, 10, 10, 4, kind="on-demand", deadline=10)
        silent = Job("3", 45, 10, 10, 4, kind="on-demand")
        summary = run([LONG, SOON, silent, late], scripted(plan)).summary()
        assert summary["on_demand_jobs"] == 3
        assert (summary["missed"], summary["missed_share"]) == (1, 0.5)
        # The silent one comes after 1. That has 60 s left: 75 + 60 - 45.
        assert [summary[f"delay_{name}"] for name in ("mean", "median", "max")] == [(0 + 90 + 15) / 3, 15, 90]
        assert (summary["evictions_killed"], summary["evictions_checkpointed"]) == (1, 1)
        assert summary["lost_node_hours"] == pytest.approx(4 * (10 + 5) / 3600)
        assert summary["lost_node_hours_killed"] == pytest.approx(4 * 10 / 3600)
        assert summary["batch_turnaround_mean"] == 135
        assert summary["batch_bounded_slowdown_max"] == 1.35

    def test_a_job_that_never_starts_is_missed(self, run):
        summary = run([LONG, Job("2", 0, 1, 1, 5, kind="on-demand", deadline=50)]).summary()
        assert (summary["missed"], summary["missed_share"]) == (1, 1)
        assert math.isnan(summary["delay_mean"])

    def test_without_deadlines_nothing_is_missed(self, run):
        summary = run([LONG, Job("2", 0, 1, 1, kind="on-demand")]).summary()
        assert summary["missed"] == 0
        assert math.isnan(summary["missed_share"])

    def test_none_of_it_without_on_demand_jobs(self):
        summary = simulate(pool(20), "easy").summary()
        assert not [key for key in summary if key.startswith(("delay", "batch", "missed", "evictions", "on_demand"))]


class TestWorkDone:
    def test_is_shown_of_a_job_that_goes_on(self, run, scripted):
        shown = []
        look = lambda state: shown.extend((r.id, r.done) for r in state.running) or FCFS().dispatch(state)  # noqa: E731
        plan = {30: [Stop("1"), Start("2", ALL)], 50: look}
        run([LONG, SOON, Job("3", 50, 1, 1)], scripted(plan))
        assert shown == [("1", 20)]

    def test_counts_on_the_shape_it_runs_on(self, run, scripted):
        shown = []
        look = lambda state: shown.extend((r.id, r.done) for r in state.running) or FCFS().dispatch(state)  # noqa: E731
        moldable = Job("1", 0, 100, 110, 2, shapes=(Shape(4, 60, 70),))
        plan = {50: [Stop("1", "checkpoint"), Start("1", ALL, shape=0)], 60: look}
        run([moldable, Job("2", 50, 1, 1, 4), Job("3", 60, 1, 1)], scripted(plan))
        assert shown == [("1", 30)]
