"""Associations of a user for one partition: their limits, QOS and shares, in place of the user's plain ones."""

import pytest

from hpcdispatch.dispatchers import Slurm
from hpcdispatch.dispatchers.slurm import AccountUsage
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Workload
from hpcdispatch.workloads.slurm_conf import read_slurm_conf
from hpcdispatch.workloads.slurm_limits import SiteLimits, read_slurm_limits

CONF = "NodeName=n[1-4] CPUs=4\nPartitionName=cpu Nodes=ALL\nPartitionName=gpu Nodes=ALL\nPriorityWeightQOS=1000\n"
HEADER = "Account|User|ParentName|Partition|Share|DefQOS|GrpJobs|MaxJobs|MaxTRES"
TREE = "root||||1||||\nphys||root||1||||\nphys|ann|||3||||\nphys|ann||gpu|5||||\nphys|ben|||1||||\n"
QOS = "Name|Priority\nnormal|0\nfast|9\n"


@pytest.fixture
def site(tmp_path):
    """Return the configuration and the limits with changed rows."""

    def files(before="", after=""):
        assert before in TREE
        (tmp_path / "slurm.conf").write_text(CONF)
        (tmp_path / "limits.txt").write_text(f"{HEADER}\n{TREE.replace(before, after)}{QOS}")
        return tmp_path / "slurm.conf", tmp_path / "limits.txt"

    return files


def starts(files, *queues, user="ann", nodes=1):
    """Return the starts of jobs of 100 s, each in one partition."""
    config, limits = files
    machine = read_slurm_conf(config).machine()
    jobs = [
        Job(
            str(place),
            place,
            100,
            120,
            nodes,
            {"core": 4, "node": 1, f"partition/{queue}": 1},
            user=user,
            group="phys",
            queue=queue,
        )
        for place, queue in enumerate(queues)
    ]
    workload = Workload(tuple(jobs), machine)
    result = simulate(workload, Slurm(config=str(config), limits=str(limits)), overrun="kill")
    check(workload, result)
    return [int(start) for start in result.jobs["start"]]


ANN_GPU = "phys|ann||gpu|5||||"


@pytest.mark.parametrize(
    ("row", "queues", "late"),
    [
        ("phys|ann||gpu|5||1||", ("gpu", "gpu", "cpu"), [False, True, False]),
        ("phys|ann||gpu|5|||1|", ("gpu", "gpu", "cpu"), [False, True, False]),
        ("phys|ann||gpu|5||2||", ("gpu", "gpu", "gpu"), [False, False, True]),
        ("phys|ann||gpu|5||1||", ("cpu", "cpu", "cpu"), [False, False, False]),
        ("phys|ann||cpu|5||1||", ("cpu", "cpu", "gpu"), [False, True, False]),
    ],
)
def test_limits_of_a_partition_hold_there(site, row, queues, late):
    found = starts(site(ANN_GPU, row), *queues)
    assert [start >= 100 for start in found] == late


def test_plain_limits_hold_elsewhere(site):
    files = site("phys|ann|||3||||", "phys|ann|||3||1||")
    assert [start >= 100 for start in starts(files, "cpu", "gpu", "cpu", "gpu")] == [False, False, True, False]


def test_another_user_has_no_part_in_it(site):
    found = starts(site(ANN_GPU, "phys|ann||gpu|5||1||"), "gpu", "gpu", user="ben")
    assert max(found) < 100


def test_the_default_qos_is_that_of_the_partition(site):
    config, limits = site(ANN_GPU, "phys|ann||gpu|5|fast|||")
    rows = SiteLimits(read_slurm_limits(limits), read_slurm_conf(config), read_slurm_conf(config).machine())
    jobs = [Job("1", 0, 1, 1, 1, {"core": 1}, user="ann", group="phys", queue=queue) for queue in ("gpu", "cpu")]
    assert [rows.quality(job).priority for job in jobs] == [9, 0]


def test_a_job_beyond_the_largest_of_its_partition_never_starts(site):
    config, limits = site(ANN_GPU, "phys|ann||gpu|5||||cpu=2")
    rows = SiteLimits(read_slurm_limits(limits), read_slurm_conf(config), read_slurm_conf(config).machine())
    jobs = [Job("1", 0, 1, 1, 1, {"core": 4}, user="ann", group="phys", queue=queue) for queue in ("gpu", "cpu")]
    assert [rows.over(job) for job in jobs] == [{"cpu"}, set()]


def test_each_association_has_its_own_usage_and_shares(site):
    known = read_slurm_limits(site()[1]).associations
    assert known["phys", "ann/gpu"].shares == 5
    usage = AccountUsage({}, 600, 0, known)
    assert usage.owner("phys", "ann", "gpu") == ("phys", "ann/gpu")
    assert usage.owner("phys", "ann", "cpu") == ("phys", "ann")
    # The same usage: of five shares, of three, of one. Root's own user has none.
    usage.tick(60, [(("phys", name), 0, 2.0) for name in ("ann/gpu", "ann", "ben")])
    factors = [usage.user("phys", name).factor for name in ("ann/gpu", "ann", "ben")]
    assert factors[0] > factors[1] > factors[2]
