"""Predictions at a moment of a trace hold for the job they are made for."""

from dataclasses import replace

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.analysis.eviction_scenario import checked_scenario
from hpcdispatch.analysis.partition_sizes import advise_size, moment_of_state, moment_of_trace, read_own_runs
from hpcdispatch.base import InputError
from hpcdispatch.models.moldable import Request
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import Job, Machine, Workload, generate

NUMBERS = st.tuples(st.integers(0, 30), st.integers(1, 20), st.integers(-5, 20), st.integers(1, 8))


@settings(max_examples=number_of_inputs(25))
@given(st.lists(NUMBERS, min_size=2, max_size=12), st.data())
def test_no_request_takes_longer_than_predicted(numbers, data):
    jobs = [
        Job(str(place), submit, runtime, max(1, runtime + more), per_node={"core": cores})
        for place, (submit, runtime, more, cores) in enumerate(sorted(numbers))
    ]
    exact = data.draw(st.booleans())
    jobs = [replace(job, runtime=job.walltime) for job in jobs] if exact else jobs
    workload = Workload(jobs, Machine.pool(8))
    at = data.draw(st.integers(0, jobs[-1].submit - jobs[0].submit))
    moment = moment_of_trace(workload, at)
    assert (moment.kept <= 1).all()
    advice = advise_size(moment, [Request(1, 8), Request(3, 4), Request(8, 2)])
    for option in advice.options:
        asks = Job(
            "asks",
            moment.now,
            option.request.walltime,
            option.request.walltime,
            per_node={"core": option.request.processors},
        )
        found = simulate(workload.with_jobs([*jobs, asks]), "conservative", overrun="kill").jobs.set_index("id")
        took = found.loc["asks", "end"] - moment.now
        assert took <= option.turnaround
        # Later jobs delay no earlier job. Exact estimates therefore come true.
        assert not exact or took == option.turnaround
    assert advice.choice.turnaround == min(option.turnaround for option in advice.options)


def test_the_share_that_was_kept_is_that_of_the_trace():
    workload = generate("lublin:jobs=100,processors=32,load=1.0", seed=2)
    moment = moment_of_trace(workload, 3600)
    jobs = simulate(workload, "conservative", overrun="kill").jobs
    assert len(moment.kept) == 100
    # Walltimes of this workload are far above the run times.
    assert np.median(moment.kept) < 1
    assert (moment.kept[(jobs["wait"] == 0) & (jobs["status"] == "killed")] == 1).all()


def test_jobs_that_never_end_keep_their_nodes():
    jobs = [{"id": "a", "nodes": 4, "loss": 1, "ends": 9.5}, {"id": "b", "nodes": 3, "loss": 1}]
    moment = moment_of_state(checked_scenario({"machine": {"nodes": 8}, "jobs": jobs}, "s"))
    assert moment.profile.steps() == [(0, 10, 1), (10, None, 5)]
    with pytest.raises(InputError, match="expected one that fits the machine, 5 processors"):
        advise_size(moment, [Request(6, 10)])


def test_runs_from_slurm(tmp_path):
    (tmp_path / "r.sacct").write_text(
        "JobID|User|Submit|Start|End|Timelimit|NNodes|NCPUS|State\n"
        "1|u|2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00|02:00:00|1|4|COMPLETED\n"
        "2|u|2026-01-01T02:00:00|2026-01-01T02:00:00|2026-01-01T02:20:00|02:00:00|1|16|COMPLETED\n"
    )
    assert read_own_runs(tmp_path / "r.sacct") == [(4, 3600), (16, 1200)]


def test_only_pools_have_a_list():
    workload = Workload([Job("1", 0, 5, 5)], Machine.homogeneous(2, core=4))
    with pytest.raises(InputError, match="expected a pool of one resource, got 2 nodes"):
        moment_of_trace(workload, 0)
