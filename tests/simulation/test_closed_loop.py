"""Users that react: sessions, submissions of a simulation, and an independent replay of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from combinations import each_value

import hpcdispatch as hd
from hpcdispatch.base import InputError
from hpcdispatch.simulation import violations
from hpcdispatch.workloads import Job, Machine, Workload, jitter


def traced(*rows, cores=4):
    """Return a workload of (user, submit, wait, runtime, cores) with the recorded waits."""
    jobs = [
        Job(str(number), submit, runtime, max(1, runtime), per_node={"core": cores}, user=user)
        for number, (user, submit, _, runtime, cores) in enumerate(rows, 1)
    ]
    waits = pd.DataFrame({"wait": [float(row[2]) for row in rows]})
    return Workload(jobs, Machine.pool(cores), records=waits)


def drawn(seed, jobs=300):
    """Return a random trace of few users with recorded waits."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 60_000, jobs)).tolist()
    rows = zip(
        rng.integers(1, 7, jobs).astype(str).tolist(),
        submit,
        (rng.integers(0, 4, jobs) * rng.integers(0, 900, jobs)).tolist(),
        rng.integers(0, 2500, jobs).tolist(),
        rng.integers(1, 9, jobs).tolist(),
        strict=True,
    )
    return traced(*rows, cores=8)


def replayed(trace, order, gap=1200):
    """Return submission and start by job: first come first served, or EASY, one second after the other by events.

    It reads the recorded trace alone.
    """
    jobs = trace.jobs
    recorded = [job.submit + int(wait) + job.runtime for job, wait in zip(jobs, trace.records["wait"], strict=True)]
    last, rule, floor = {}, [], []
    for row, job in enumerate(jobs):
        before = last.get(job.user)
        last[job.user] = row
        think = None if before is None else job.submit - recorded[before]
        if think is None or think > gap:
            rule.append((None, job.submit))
        elif think >= 0:
            rule.append((before, think))
        else:
            rule.append((rule[before][0], rule[before][1] + job.submit - jobs[before].submit))
        parent, seconds = rule[row]
        floor.append(seconds if parent is None else floor[parent] + seconds)
    submit = {row: at for row, (parent, at) in enumerate(rule) if parent is None}
    start, end, running, queue, now = {}, {}, [], [], 0
    while len(end) < len(jobs):
        now = min(
            [at for row, at in submit.items() if row not in start and row not in queue] + [end for end, _ in running]
        )
        for pair in sorted(pair for pair in running if pair[0] <= now):
            running.remove(pair)
            end[pair[1]] = pair[0]
        submit |= {row: end[on] + wait for row, (on, wait) in enumerate(rule) if on in end}
        queue += [row for row, at in submit.items() if at <= now and row not in start and row not in queue]
        queue.sort(key=lambda row: (submit[row], floor[row], row))
        free = trace.machine.capacity.sum() - sum(jobs[row].per_node["core"] for _, row in running)
        for place, row in enumerate(list(queue)):
            need = jobs[row].per_node["core"]
            if place and queue[0] != row and row in queue:
                if order == "fcfs":
                    break
                head, room, shadow = jobs[queue[0]].per_node["core"], free, now
                for _, other in sorted(running, key=lambda pair: start[pair[1]] + jobs[pair[1]].walltime):
                    shadow = max(now, start[other] + jobs[other].walltime) if room < head else shadow
                    room += jobs[other].per_node["core"] if room < head else 0
                if need > free or not (now + jobs[row].walltime <= shadow or need <= room - head):
                    continue
            elif need > free:
                continue
            queue.remove(row)
            start[row] = now
            free -= need
            running.append((now + jobs[row].runtime, row))
    return submit, start


def test_think_times_sessions_and_batches():
    """Within the gap a job follows the end before it; a batch follows its first job; others keep their time."""
    trace = traced(
        ("a", 0, 50, 100, 4),  # ends at 150
        ("a", 200, 0, 60, 4),  # 50 s after
        ("a", 230, 40, 10, 4),  # a batch: 30 s after the submission before it; ends at 280
        ("a", 1480, 0, 5, 4),  # 1200 s after
        ("a", 2686, 0, 5, 4),  # 1201 s after: a session
        ("", 2690, 0, 5, 4),
        ("a", 2690, 0, 5, 4),  # a batch behind the first job of a session keeps its time
    )
    made = hd.closed_loop(trace)
    kept = {job.id: (job.submit, job.depends) for job in made.jobs}
    assert kept["2"] == (50, (("1", "react", 50),))
    assert kept["3"] == (80, (("1", "react", 80),))
    assert kept["4"] == (1280, (("3", "react", 1200),))
    assert [kept[id_] for id_ in "1567"] == [(0, ()), (2686, ()), (2690, ()), (2690, ())]
    assert "2 sessions (gaps above 1200 s), 2 jobs after a think time, 2 in batches" in made.provenance.notes[-1]
    assert "1 jobs without a known user" in made.provenance.notes[-1]


@pytest.mark.parametrize(("order", "seed"), each_value(["fcfs", "easy"], range(6)))
def test_an_own_replay_agrees(order, seed):
    """Submissions and starts are those of a replay that shares no code."""
    trace = drawn(seed)
    made = hd.closed_loop(trace)
    result = hd.simulate(made, order)
    hd.check(made, result)
    submit, start = replayed(trace, order)
    rows = result.jobs.set_index("id")
    assert {job.id: start[row] for row, job in enumerate(trace.jobs)} == rows["start"].to_dict()
    assert {job.id: submit[row] for row, job in enumerate(trace.jobs)} == rows["submit"].to_dict()
    assert (rows["wait"] == rows["start"] - rows["submit"]).all()
    assert (rows["submit"] != [job.submit for job in made.jobs]).any()


def test_the_check_knows_submissions():
    """A submission that does not follow the end of the job before it is told."""
    made = hd.closed_loop(drawn(1))
    result = hd.simulate(made, "easy")
    row = next(place for place, job in enumerate(made.jobs) if job.depends)
    jobs = result.jobs.assign(submit=result.jobs["submit"].where(result.jobs.index != row, result.jobs["submit"] + 1))
    assert any(
        f"job {made.jobs[row].id}: submitted at" in line for line in violations(made, replace(result, jobs=jobs))
    )
    plain = hd.simulate(drawn(1), "easy")
    late = replace(plain, jobs=plain.jobs.assign(submit=plain.jobs["submit"] - 1))
    assert any("expected" in line for line in violations(drawn(1), late))


def test_the_same_every_time_and_no_workflow():
    """Two replays are equal; jobs that follow others by think times are no workflow."""
    first, second = (hd.simulate(hd.closed_loop(drawn(2)), "easy-sjbf") for _ in range(2))
    pd.testing.assert_frame_equal(first.jobs, second.jobs)
    assert "workflow" not in first.jobs
    assert "workflows" not in first.summary()


def test_a_faster_machine_gets_more_jobs_early():
    """Users react to their waits: on an idle machine the last session is over sooner."""
    trace = traced(*[("a", 1000 * place, 500, 400, 4) for place in range(10)])
    rows = hd.simulate(hd.closed_loop(trace), "fcfs").jobs
    assert rows["submit"].tolist() == [500 * place for place in range(10)]
    assert (rows["wait"] == 0).all()


def test_rejected_held_and_large_jobs():
    """No job follows one that never runs; the others do, and the check holds."""
    trace = traced(("a", 0, 0, 10, 4), ("a", 20, 0, 10, 9), ("a", 40, 0, 10, 4), ("a", 60, 0, 10, 4))
    held = [replace(job, hold=job.id == "3") for job in trace.jobs]
    made = hd.closed_loop(replace(trace, jobs=held))
    assert made.jobs[-1].depends == (("1", "react", 50),) or made.jobs[-2].depends == (("1", "react", 50),)
    result = hd.simulate(made, "easy")
    hd.check(made, result)
    assert result.jobs.set_index("id")["status"].to_dict() == {
        "1": "completed",
        "2": "rejected",
        "3": "rejected",
        "4": "completed",
    }


def test_dependencies_stay():
    """A job with a dependency of its own waits for both."""
    trace = traced(("b", 0, 0, 500, 2), ("a", 0, 0, 10, 2), ("a", 30, 470, 10, 2))
    jobs = [replace(job, depends=(("1", "afterok"),)) if job.id == "3" else job for job in trace.jobs]
    made = hd.closed_loop(replace(trace, jobs=jobs))
    result = hd.simulate(made, "easy")
    hd.check(made, result)
    last = result.jobs.set_index("id").loc["3"]
    assert (last["submit"], last["eligible"], last["wait"]) == (30, 500, 0)


def test_what_cannot_be_told():
    """Unknown users, a second call, and resampling afterwards are refused; missing waits are counted."""
    with pytest.raises(InputError, match="no job has a known user"):
        hd.closed_loop(traced(("", 0, 0, 5, 4)))
    trace = traced(("a", 0, -1, 100, 4), ("a", 150, -1, 10, 4))
    made = hd.closed_loop(trace)
    assert "2 jobs without a recorded wait count as started at once" in made.provenance.notes[-1]
    with pytest.raises(InputError, match="react already"):
        hd.closed_loop(made)
    with pytest.raises(InputError, match="apply closed_loop after it"):
        hd.resample(made, 1)
    with pytest.raises(InputError, match="closed_loop: gap, seconds, must be a whole number >= 0, got -1"):
        hd.closed_loop(trace, gap=-1)
    with pytest.raises(InputError, match="closed_loop: expected a time such as"):
        hd.closed_loop(trace, gap="soon")
    assert hd.closed_loop(trace, gap="20m").digest() == hd.closed_loop(trace, gap=1200).digest()
    assert len(hd.closed_loop(Workload((Job("1", 5, 5, 5, user="a"),), Machine.pool(4)))) == 1


def test_shifts_move_sessions_alone():
    """A shift moves the first jobs of sessions; the others follow."""
    made = hd.closed_loop(drawn(3))
    moved = {job.id: job for job in jitter(made, 60, np.random.default_rng(1)).jobs}
    assert all(moved[job.id].submit == job.submit for job in made.jobs if job.depends)
    assert any(moved[job.id].submit != job.submit for job in made.jobs)


def test_resamples_react(tmp_path):
    """A resample keeps recorded waits, so that its users react; its schedule is written as SWF."""
    weeks = [("abcde"[place // 4 % 5], 3600 * place, 100, 3000, 3) for place in range(24 * 24)]
    sample = hd.closed_loop(hd.resample(traced(*weeks), 3))
    assert any(job.depends for job in sample.jobs)
    result = hd.simulate(sample, "easy")
    hd.check(sample, result)
    result.to_swf(tmp_path / "schedule.swf")
    assert len(hd.read(tmp_path / "schedule.swf")) == len(sample)
