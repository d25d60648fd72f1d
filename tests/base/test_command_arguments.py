"""Values from files reach a program as ids, names or paths. They are never options."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.base.command_arguments import job_argument, node_argument


@pytest.mark.parametrize("job", ["7", "17_3", "17_[1-5,9%2]", "17+1"])
def test_job_ids_of_slurm(job):
    assert job_argument(job, "here") == job


@pytest.mark.parametrize(
    "job", ["", "-1", "--user=root", "7 8", "7\n", "7;id", "\u0663", "7_", "7_[x]", "7.batch", "7" * 11, 7, None, "all"]
)
def test_other_texts_are_no_job_ids(job):
    with pytest.raises(InputError, match="here: expected a job id of Slurm"):
        job_argument(job, "here")


@pytest.mark.parametrize("node", ["", "-w", "ALL,x", "n1 Flags=IGNORE", "n1\n", "n[1-3]", "x" * 256, None])
def test_other_texts_are_no_nodes(node):
    with pytest.raises(InputError, match="here: expected the name of a node"):
        node_argument(node, "here")


def test_a_node_name_of_slurm():
    assert node_argument("cn-01.a_b", "here") == "cn-01.a_b"
