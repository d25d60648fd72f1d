"""What ran and what waited at an instant of a trace."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import Job, Machine, RunningSince, Workload, generate, recorded_state
from hpcdispatch.workloads.slurm_workload import slurm_workload

CONF = """NodeName=n[1-3] CPUs=4
PartitionName=all Nodes=ALL
"""
HEADER = "JobID|User|Account|Partition|Submit|Start|End|TimelimitRaw|ReqNodes|NNodes|NCPUS|NodeList"
JOBS = [
    "1|a|x|all|1000|1000|1300|5|2|2|8|n[1,3]",
    "2|a|x|all|1001|1001|1300|5|1|1|2|n2",
    "3|a|x|all|1002|1005|1035|1|1|1|1|n2",
    "4|a|x|all|1003|1035|1065|1|1|1|1|n2",
    "5|a|x|all|1200|1300|1330|1|1|1|4|None assigned",
]


@pytest.fixture
def site(tmp_path):
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "jobs.sacct").write_text("\n".join([HEADER, *JOBS, ""]))
    return slurm_workload(tmp_path / "jobs.sacct", tmp_path / "slurm.conf")


def test_by_default_it_is_when_the_first_job_ends(site):
    kept, state = recorded_state(site)
    assert state.at == 35
    assert [job.id for job in kept.jobs] == ["1", "2", "4", "5"]
    assert state.running == (
        RunningSince("1", 0, (0, 2)),
        RunningSince("2", 1, (1,)),
    )
    assert [(each.job.id, each.end) for each in state.ended] == [("3", 35)]


def test_what_had_ended_is_the_past(site):
    kept, state = recorded_state(site, 40)
    assert [job.id for job in kept.jobs] == ["1", "2", "4", "5"]
    assert [since.id for since in state.running] == ["1", "2", "4"]
    assert [(each.job.id, each.start, each.end) for each in state.ended] == [("3", 5, 35)]
    assert kept.records["wait"].tolist() == [0, 0, 32, 100]


def test_a_trace_without_waits_has_no_state():
    with pytest.raises(InputError, match="expected recorded waits, got none"):
        recorded_state(generate("lublin:jobs=5", 0))
    with pytest.raises(InputError, match="expected recorded waits, got none"):
        recorded_state(Workload((Job("a", 0, 1, 1),), Machine.homogeneous(1, core=1)))
