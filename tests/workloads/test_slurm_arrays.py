"""Arrays that are recorded as a whole, beside their own tasks. Records that are cut short."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads.slurm_workload import slurm_workload

COLUMNS = "JobID|User|Account|Partition|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|NNodes|NCPUS|State|SubmitLine"


def record(id_, start, end, state="COMPLETED", submit=1795669000, eligible=1795669000):
    ran = end - start if isinstance(end, int) and isinstance(start, int) else 0
    return f"{id_}|ann|phys|p|{submit}|{eligible}|{start}|{end}|{ran}|5|1|1|{state}|sbatch x"


@pytest.fixture
def read(tmp_path):
    def read(*lines):
        (tmp_path / "slurm.conf").write_text("NodeName=n1 CPUs=4\nPartitionName=p Nodes=n1\n")
        (tmp_path / "jobs.sacct").write_text("\n".join([COLUMNS, record("1", 1795669000, 1795669060), *lines]))
        return [job.id for job in slurm_workload(tmp_path / "jobs.sacct", tmp_path / "slurm.conf").jobs]

    return read


WAITS = ("Unknown", "Unknown", "PENDING")


@pytest.mark.parametrize("array", ["2_[0-1]", "2_[0-1%1]", "2_[0,1,...]"])
@pytest.mark.parametrize("eligible", [1795669000, 1795669600, "Unknown"])
def test_a_task_that_has_ended_beside_its_array_that_waits_is_read(read, array, eligible):
    task = record("2_0", 1795669001, 1795669050)
    whole = record(array, *WAITS, eligible=eligible)
    waiting = [] if eligible == "Unknown" else ["2_1"]
    assert sorted(read(task, whole)) == sorted(read(whole, task)) == ["1", "2_0", *waiting]


@pytest.mark.parametrize("length", [12, 30, 60])
def test_a_record_that_is_cut_short_is_refused(read, length):
    with pytest.raises(InputError, match=r"jobs\.sacct:3: expected 14 fields, got \d+"):
        read(record("3", 1795669001, 1795669050)[:length])
