"""Every registered dispatcher on random small machines and traces. New ones are tested without further work."""

from drawn import number_of_inputs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_workloads import workloads

from hpcdispatch.simulation import check, simulate

#: Dispatchers that end attempts of jobs, by their walltimes or for others.
STOPS_JOBS = ("rbs", "hybrid")
QUICK = settings(max_examples=number_of_inputs(36), suppress_health_check=[HealthCheck.too_slow])


@given(
    overrun=st.sampled_from(["run", "kill", "resubmit"]),
    workload=workloads(),
    predictor=st.sampled_from(["walltime", "oracle", "heuristic", "last2"]),
)
@QUICK
def test_every_schedule_is_valid(registered, overrun, workload, predictor):
    result = simulate(workload, registered, predictor, overrun=overrun)
    check(workload, result)
    if overrun == "run":
        assert (result.jobs["status"] == "completed").all()
        assert (result.jobs["attempts"] == 1).all() or registered in STOPS_JOBS
