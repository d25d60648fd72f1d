"""Fair share with all associations, PriorityWeightTRES and --nice."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import Slurm
from hpcdispatch.dispatchers.slurm import AccountUsage
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Workload
from hpcdispatch.workloads.slurm_conf import read_slurm_conf
from hpcdispatch.workloads.slurm_limits import read_slurm_limits

#: Two faculties above four groups. Nobody of law has ever run a job.
TREE = """Cluster|Account|User|ParentName|Share
c|root|||1
c|root|root||1
c|arts||root|10
c|law||arts|1
c|law|zoe||1
c|music||arts|9
c|music|max||1
c|science||root|90
c|bio||science|50
c|bio|ida||1
c|geo||science|50
c|geo|leo||1
"""


def associations(tmp_path, text):
    path = tmp_path / "assoc.txt"
    path.write_text(text)
    return read_slurm_limits(path)


def factors(known, used, shares=None):
    usage = AccountUsage(shares or {}, 600, 0, known.associations)
    usage.tick(60, [(owner, 0, cpus) for owner, cpus in used.items()])
    return {user: usage.user(account, user).factor for account, user in [*used, ("law", "zoe")]}


def test_branches_come_before_groups(tmp_path):
    # Science has 90% of the shares and half of the usage, arts has 10%: both of science come before max.
    used = {("music", "max"): 8, ("bio", "ida"): 5, ("geo", "leo"): 3}
    found = factors(associations(tmp_path, TREE), used)
    assert found == {"leo": 4 / 5, "ida": 3 / 5, "zoe": 2 / 5, "max": 1 / 5}


def test_a_flat_tree_ranks_otherwise(tmp_path):
    flat = TREE.replace("|arts|", "|root|").replace("|science|", "|root|")
    used = {("music", "max"): 1, ("bio", "ida"): 50, ("geo", "leo"): 3}
    found = factors(associations(tmp_path, flat), used)
    assert found["zoe"] == 1
    assert found["leo"] > found["max"] > found["ida"]


def test_users_without_jobs_count(tmp_path):
    idle = "".join(f"c|law|idle{place}||1\n" for place in range(20))
    used = {("bio", "ida"): 50, ("geo", "leo"): 3}
    few = factors(associations(tmp_path, TREE), used)
    many = factors(associations(tmp_path, TREE + idle), used)
    assert few["leo"] - few["ida"] == pytest.approx(1 / 5)
    assert many["leo"] - many["ida"] == pytest.approx(1 / 25)


def test_given_shares_have_priority(tmp_path):
    used = {("bio", "ida"): 50, ("geo", "leo"): 50}
    found = factors(associations(tmp_path, TREE), used, {"bio": 51})
    assert found["ida"] > found["leo"]


def test_users_with_the_shares_of_their_account_tie(tmp_path):
    text = TREE + "c|bio|kim||parent\nc|bio|lin||parent\n"
    used = {("bio", "kim"): 50, ("bio", "lin"): 3, ("geo", "leo"): 1}
    found = factors(associations(tmp_path, text), used)
    assert found["kim"] == found["lin"]


def test_parents_are_guessed_from_the_order(tmp_path):
    lines = [line.split("|") for line in TREE.splitlines()]
    text = "".join("|".join([*cells[:3], cells[4]]) + "\n" for cells in lines)
    found = associations(tmp_path, text.replace("c|law|", "c|aaa|"))
    assert {name: each.parent for (name, user), each in found.associations.items() if not user} == {
        "root": "",
        "arts": "root",
        "aaa": "arts",
        "music": "arts",
        "science": "root",
        "bio": "science",
        "geo": "science",
    }
    assert "has no ParentName" in found.guesses[0]


def test_accounts_in_a_circle_are_below_the_root():
    usage = AccountUsage({}, 600)
    assert usage.user("bio", "ida").factor == 1
    with pytest.raises(InputError, match="PriorityWeightTRES must be parts NAME=N"):
        Slurm(PriorityWeightTRES="cpu:3")


def test_associations_of_another_cluster_are_refused(tmp_path):
    path = tmp_path / "assoc.txt"
    path.write_text(TREE)
    with pytest.raises(InputError, match="expected associations of cluster 'other', got those of c"):
        read_slurm_limits(path, "other")
    assert read_slurm_limits(path, "C").associations


CONF = """NodeName=n[1-4] CPUs=4
PriorityType=priority/multifactor
PriorityWeightTRES={}
PartitionName=all Nodes=ALL
"""


@pytest.mark.parametrize(
    ("weights", "nice", "order"),
    [("(null)", 0, ["1", "2"]), ("CPU=500,node=0", 0, ["2", "1"]), ("cpu=500", 1000, ["1", "2"])],
)
def test_large_requests_and_kind_users_change_the_order(tmp_path, weights, nice, order):
    conf = tmp_path / "slurm.conf"
    conf.write_text(CONF.format(weights))
    needs = {"core": 4, "partition/all": 1}
    jobs = (
        Job("0", 0, 100, 120, 4, needs, queue="all"),
        Job("1", 5, 100, 120, 3, needs, queue="all"),
        Job("2", 6, 100, 120, 4, needs, queue="all", priority=-nice),
    )
    workload = Workload(jobs, read_slurm_conf(conf).machine())
    result = simulate(workload, Slurm(config=str(conf), PriorityWeightAge=1))
    check(workload, result)
    found = result.jobs.set_index("id")["start"]
    assert sorted(["1", "2"], key=found.get) == order
