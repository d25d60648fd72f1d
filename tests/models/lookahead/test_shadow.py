"""The shadow schedule against EASY."""

import sys

import numpy as np
import pytest

from hpcdispatch.models.backfilling.job_queue import BLOCK, WAITS, LeastTimes, expect_length
from hpcdispatch.models.lookahead.expected_shadow import ExpectedCounts, longest_wait, open_expected, predict
from hpcdispatch.models.lookahead.shadow import begin_with, go_on, longest_since, open_shadow, replay
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate


def shadow_of(workload, known):
    """Return a shadow of a pool workload. In it, the first `known` jobs have ended."""
    jobs = open_shadow(workload.machine.capacity[0], 0, len(workload))
    frame = workload.frame()
    jobs.submit[:] = jobs.arrival[:] = frame["submit"]
    jobs.duration[:] = frame["walltime"]
    jobs.queue.amount[:, 0] = [job.nodes * job.per_node["core"] for job in workload.jobs]
    jobs.run[:known] = frame["runtime"][:known]
    jobs.known[:known] = 1
    return jobs


class TestShadow:
    workload = generate("lublin:jobs=400,processors=32,load=0.9", seed=3)
    easy = simulate(workload, "easy").jobs

    def test_it_is_easy_where_everything_is_known(self):
        jobs = shadow_of(self.workload, 400)
        replay(jobs, 400, 10**9)
        assert jobs.queue.start.tolist() == self.easy["start"].tolist()
        assert longest_since(jobs, 0) == self.easy["wait"].max()

    def test_it_stops_where_an_end_is_unknown_and_goes_on_when_it_is_known(self):
        jobs = shadow_of(self.workload, 200)
        replay(jobs, 400, 10**9)
        done = jobs.queue.start != WAITS
        assert 100 < done.sum() < 400
        assert (jobs.queue.start[done] == self.easy["start"].to_numpy()[done]).all()
        first_unknown = self.easy["start"].to_numpy()[200:].min()
        assert jobs.now.clock[0] <= first_unknown + 1
        jobs.run[200:] = self.workload.frame()["runtime"][200:]
        jobs.known[200:] = 1
        replay(jobs, 400, 10**9)
        assert jobs.queue.start.tolist() == self.easy["start"].tolist()

    def test_it_keeps_no_reference(self):
        jobs = shadow_of(self.workload, 400)
        before = sys.getrefcount(jobs.state), sys.getrefcount(jobs.queue.start)
        replay(jobs, 400, 10**9)
        longest_since(jobs, 0)
        assert (sys.getrefcount(jobs.state), sys.getrefcount(jobs.queue.start)) == before

    def test_it_does_not_run_ahead(self):
        jobs = shadow_of(self.workload, 400)
        now = int(self.easy["start"].median())
        replay(jobs, 400, now)
        assert jobs.now.clock[0] <= now
        assert (jobs.queue.start <= now).all()

    @pytest.mark.parametrize("recent", [0, 5_000, 50_000, 10**9])
    def test_of_late_counts_jobs_that_wait_or_have_started_since(self, recent):
        jobs = shadow_of(self.workload, 400)
        submit = self.easy["submit"].to_numpy()
        start = self.easy["start"].to_numpy()
        for now in np.unique(start):
            arrived = int((submit <= now).sum())
            replay(jobs, arrived, now)
            here = (submit <= now) & ((start > now) | (start >= now - recent))
            assert longest_since(jobs, now - recent) == (np.minimum(start, now) - submit)[here].max()

    def test_it_goes_on_from_what_runs(self):
        """Guards against a schedule in which a running job has yet to arrive. Its run time would count as a wait."""
        start = self.easy["start"].to_numpy()
        end = self.easy["end"].to_numpy()
        at = int(np.median(start))
        runs = np.flatnonzero((start < at) & (end > at))
        rest = np.flatnonzero(start >= at)
        assert len(runs) > 1
        order = np.concatenate((runs, rest))
        jobs = open_shadow(self.workload.machine.capacity[0], at, len(order))
        all_known = shadow_of(self.workload, 400)
        jobs.queue.columns[:] = all_known.queue.columns[:, order]
        jobs.queue.amount[:] = all_known.queue.amount[order]
        jobs.known[:] = all_known.known[order]
        jobs.arrival[:] = np.maximum(jobs.submit, at)
        begin_with(jobs, np.arange(len(runs)), start[runs])
        replay(jobs, len(order), 10**9)
        assert jobs.queue.start.tolist() == start[order].tolist()
        assert longest_since(jobs, 0) == self.easy["wait"].to_numpy()[rest].max()


class TestExpected:
    workload = generate("lublin:jobs=1200,processors=32,load=1.1", seed=4)

    @pytest.mark.parametrize(("shorter", "recent"), [(False, 10**9), (True, 10**9), (False, 40_000)])
    def test_it_goes_on_from_the_exact_one_to_now_though_little_is_copied(self, shorter, recent):
        """Guards against leftovers: old starts, or a least duration that is not the least."""
        frame = self.workload.frame()
        jobs = shadow_of(self.workload, 0)
        jobs.duration[:] = jobs.duration if shorter else frame["runtime"] * 2 + 1
        expected = open_expected(jobs, self.workload.machine.capacity[0])
        submit = frame["submit"].to_numpy()
        run = frame["runtime"].to_numpy()
        rng = np.random.default_rng(5)
        begun = 0
        for now in range(0, int(submit.max()), 1800):
            arrived = int((submit <= now).sum())
            # These jobs have ended by now. They ran at once or waited for a day.
            late = np.where(np.arange(len(run)) % 3 == 0, 86_400, 0)
            jobs.known[:arrived] = submit[:arrived] + late[:arrived] + run[:arrived] <= now
            jobs.run[:arrived] = np.where(jobs.known[:arrived], run[:arrived], 1)
            waits = np.flatnonzero(jobs.known[:arrived] == 0)
            guess = rng.integers(1, jobs.duration[waits] + 1)
            if shorter:
                jobs.duration[waits] = np.maximum(jobs.duration[waits] * 9 // 10, 1)
                for row in waits:
                    expect_length(jobs.queue, row)
            predict(jobs, expected, waits, guess, jobs.duration[waits])
            found = longest_wait(jobs, expected, arrived, now, recent)
            schedule = expected.jobs
            rows = np.flatnonzero(schedule.queue.start[: schedule.queue.counts.rows[0]] == WAITS)
            assert (LeastTimes(*schedule.queue.least_times).predicted[rows // BLOCK] <= jobs.duration[rows]).all()
            counts = ExpectedCounts(*expected.numbers)
            if counts.begun[0] == now and not counts.anew[0]:
                begun += 1
                queue = jobs.queue._replace(
                    **{
                        name: getattr(jobs.queue, name).copy()
                        for name in ("start", "least_amount", "least_times", "numbers")
                    }
                )
                copies = {name: getattr(jobs, name).copy() for name in ("running", "peaks", "state")}
                whole = jobs._replace(queue=queue, **copies)
                go_on(whole, arrived, now, expected.guessed)
                assert found == max(longest_since(jobs, now - recent), longest_since(whole, now - recent))
                assert schedule.queue.start[:arrived].tolist() == whole.queue.start[:arrived].tolist()
                assert schedule.state.tolist() == whole.state.tolist()
        assert begun > 30

    def test_as_long_as_those_that_ended_ran_by_what_was_predicted_of_them(self):
        """Amounts weigh: 2 of 32 units ran a tenth, 6 of 32 ran half. Units at the walltime are separate."""
        jobs = open_shadow(np.array([32]), 0, 5)
        jobs.submit[:] = jobs.arrival[:] = [0, 0, 0, 0, 10**6]
        jobs.duration[:] = 10_000
        jobs.queue.amount[:, 0] = [2, 6, 8, 32, 32]
        expected = open_expected(jobs, np.array([32]))
        rows = np.arange(4)
        predict(jobs, expected, rows, np.array([1000, 1000, 10_000, 1000]), jobs.duration[:4])
        assert expected.guessed.tolist() == [1000, 1000, 10_000, 1000, 0]
        longest_wait(jobs, expected, 4, 1, 10**9)
        jobs.run[:3] = [100, 500, 2000]
        jobs.known[:3] = 1
        jobs.run[3] = 600
        longest_wait(jobs, expected, 4, 5000, 10**9)
        predict(jobs, expected, rows[3:], np.array([1000]), jobs.duration[3:4])
        predict(jobs, expected, rows[2:3], np.array([10_000]), jobs.duration[2:3])
        assert expected.guessed[3] == round(1000 * (2 * 100 + 6 * 500) / (8 * 1000))
        assert expected.guessed[2] == 2000
