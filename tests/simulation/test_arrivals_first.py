"""``same_instant="arrivals-first"`` with failures and held jobs. The tests of SC 2015 compare its schedules."""

from dataclasses import replace

from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Outage, Workload


def test_failures_and_held_jobs_take_part():
    machine = replace(Machine.homogeneous(2, core=1), outages=[Outage(50, 60, "0", announced=False, requeue=True)])
    jobs = [
        Job("1", 0, 50, 100, 1),
        Job("2", 0, 100, 100, 1),
        Job("3", 50, 10, 10, 1),
        Job("4", 50, 5, 5, 1, depends=(("1", "afterok"),)),
    ]
    workload = Workload(jobs, machine)
    result = simulate(workload, "fcfs", same_instant="arrivals-first")
    check(workload, result)
    found = result.jobs.set_index("id")
    # The failure of node 0 comes before the end of job 1 in the same second, so that job 1 runs once more.
    assert found["start"].to_dict() == {"1": 0, "2": 0, "3": 100, "4": 110}
    first = result.attempts[result.attempts["id"] == "1"]
    assert first[["start", "end", "outcome"]].to_numpy().tolist() == [[0, 50, "node-fail"], [60, 110, "completed"]]
    assert (found["status"] == "completed").all()
