"""Limits of associations and QOS, from what sacctmgr prints."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads.slurm_limits import Most, read_slurm_limits

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
    assert found.groups["chem", ""] == Most(4, 14)
    assert found.parents["chem"] == "root"
    assert found.users["chem", "ben"] == Most(5)
    assert found.groups["chem", "ben"] == Most()
    assert found.quality_users == {"normal": Most(None, 20), "few": Most(2)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Name|GrpTRES\nfew|cpu=4,mem=8G\n", "limits.txt:2: expected cpu=N, got 'cpu=4,mem=8G'"),
        ("Name|GrpJobs\nfew|many\n", "limits.txt:2: expected a whole number up to .*, got 'many'"),
        ("Name|MaxWall\nfew|1:00\n", "limits.txt:2: expected limits among GrpJobs, .* got MaxWall='1:00'"),
        ("few|2\n", "limits.txt:1: expected the first line of sacctmgr -P show assoc or qos, got"),
        ("Name|GrpJobs\nfew|2|3\n", "limits.txt:2: expected 2 fields of sacctmgr -P, got 3"),
        ("", "limits.txt: expected what sacctmgr -P show assoc or qos prints, got no line"),
        ("Name|GrpJobs\n", "limits.txt: expected what sacctmgr -P show assoc or qos prints, got no line"),
    ],
)
def test_what_is_not_modelled_is_said(read, text, message):
    with pytest.raises(InputError, match=message):
        read(text)
