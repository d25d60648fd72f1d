"""Limits of associations and QOS, from what sacctmgr prints."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads.slurm_limits import read_slurm_limits

PRINTED = """Account|User|Par Name|GrpJobs|GrpTRES|MaxJobs
root|||||
chem||root|4|cpu=14|
chem|ben||||5

Name|GrpJobs|GrpTRES|MaxJobsPU|MaxTRESPU
normal||||cpu=20
few|||2|
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "limits.txt"
        path.write_text(text)
        return read_slurm_limits(path)

    return read


def test_each_limit_is_where_it_belongs(read):
    found = read(PRINTED)
    chem = found.associations["chem", ""]
    ben = found.associations["chem", "ben"]
    assert (chem.all, chem.parent, chem.most_jobs) == ({"jobs": 4, "cpu": 14}, "root", None)
    assert (ben.all, ben.most_jobs) == ({}, 5)
    assert {name: each.users for name, each in found.qualities.items()} == {"normal": {"cpu": 20}, "few": {"jobs": 2}}


WHOLE = """Cluster|Account|User|Partition|Share|GrpTRES|GrpTRESRunMins|MaxJobs|MaxTRES|MaxSubmit|MaxWall|Def QOS
c|phys|||10|gres/gpu:a100=4,mem=1G|cpu=600|3||||
c|phys|ann||parent|||||9||fast
Name|Priority|Preempt|PreemptMode|Flags|UsageFactor|GrpTRES|MaxTRES|MaxWall|MaxTRESPA|MinTRES|MaxSubmitPU
fast|100|slow,normal|requeue|OverPartQOS,NoReserve|0.500000|gres/gpu=8|cpu=64|1-00:00:00|cpu=9|cpu=2|7
slow|0||cluster|||||||
"""


def test_all_columns_are_read(read):
    found = read(WHOLE.replace("slow|0||cluster|||||||", "slow|0||cluster||||||||"))
    phys = found.associations["phys", ""]
    ann = found.associations["phys", "ann"]
    assert phys.all == {"gres/gpu:a100": 4, "mem": 1 << 20, "minutes of cpu": 600}
    assert (phys.shares, phys.most_jobs, ann.shares, ann.qos) == (10, 3, None, "fast")
    fast = found.qualities["fast"]
    assert (fast.priority, fast.usage_factor, fast.preempt, fast.preempt_mode) == (
        100,
        0.5,
        ("slow", "normal"),
        "requeue",
    )
    assert (fast.job, fast.least, fast.accounts) == ({"cpu": 64, "wall": 86400}, {"cpu": 2}, {"cpu": 9})
    assert fast.flags == {"overpartqos", "noreserve"}
    assert found.passed == ("MaxSubmit=9", "MaxSubmitPU=7")
    assert [found.quality_of(name, "phys", "ann") for name in ("", "slow")] == ["fast", "slow"]
    assert found.quality_of("", "chem", "ben") == "normal"


def test_tables_of_the_same_add_to_each_other(read, tmp_path):
    (tmp_path / "more.txt").write_text("Name|Priority\nfew|9\n")
    read(PRINTED)
    found = read_slurm_limits(f"{tmp_path / 'limits.txt'};{tmp_path / 'more.txt'}")
    assert (found.qualities["few"].priority, found.qualities["few"].users) == (9, {"jobs": 2})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Name|GrpTRES\nfew|cpu=4,mem=much\n", "limits.txt:2: field 'GrpTRES': expected NAME=N, got 'mem=much'"),
        ("Name|GrpJobs\nfew|many\n", "limits.txt:2: expected a whole number up to .*, got 'many'"),
        ("Name|MaxWall\nfew|soon\n", "limits.txt:2: expected a time such as .*, got 'soon'"),
        ("few|2\n", "limits.txt:1: expected the first line of sacctmgr -P show assoc or qos, got"),
        ("Name|GrpJobs\nfew|2|3\n", "limits.txt:2: expected 2 fields of sacctmgr -P, got 3"),
        ("", "limits.txt: expected what sacctmgr -P show assoc or qos prints, got no line"),
        ("Name|GrpJobs\n", "limits.txt: expected what sacctmgr -P show assoc or qos prints, got no line"),
    ],
)
def test_what_is_no_limit_is_refused(read, text, message):
    with pytest.raises(InputError, match=message):
        read(text)
