"""The rules of a Slurm site as rules of its machine."""

import pytest

from hpcdispatch.analysis.site_rules import absent_rules, under_rules
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, MachineState, Outage, RunningSince, Workload
from hpcdispatch.workloads.slurm_conf import read_slurm_conf
from hpcdispatch.workloads.slurm_limits import read_slurm_limits

CONF = """NodeName=n[1-4] CPUs=4 Gres=gpu:a100:2
PartitionName=batch Nodes=ALL
PartitionName=debug Nodes=n1 QOS=debugq PriorityTier=3
"""
ASSOCIATIONS = (
    "Account|User|ParentName|GrpTRES|MaxJobs\nroot||||\nbio||root|cpu=8|\nlab||bio||\nlab|ann|||2\nchem||root||\n"
)
QUALITIES = (
    "Name|GrpJobs|MaxTRESPU|MaxWall|MaxTRESPA|GrpTRESRunMins\nnormal|||||\nfew|1||||\nsmall||cpu=4,gres/gpu=2|||\n"
)
QUALITIES += "short|||00:10:00||\nteam||||cpu=4|\nlater|||||cpu=100\ndebugq|1||||\n"


@pytest.fixture
def site(tmp_path):
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / "limits.txt").write_text(ASSOCIATIONS + QUALITIES)
    return read_slurm_conf(tmp_path / "slurm.conf"), read_slurm_limits(tmp_path / "limits.txt")


def starts(site, *jobs, dispatcher="easy"):
    """Return the starts of jobs of 100 s that arrive one second apart, `None`: never."""
    conf, limits = site
    queues = [job.get("queue", "batch") for job in jobs]
    made = tuple(
        Job(
            str(place),
            place,
            100,
            job.get("walltime", 120),
            1,
            {"core": job.get("core", 4), "gpu": job.get("gpu", 0), f"partition/{queue}": 1, "node": 1},
            user=job.get("user", "ann"),
            group=job.get("group", "chem"),
            queue=queue,
            qos=job.get("qos", ""),
        )
        for place, (job, queue) in enumerate(zip(jobs, queues, strict=True))
    )
    ruled, missing = under_rules(Workload(made, conf.machine()), conf, limits, (), 0)
    result = simulate(ruled, dispatcher)
    check(ruled, result)
    return [None if start < 0 else start - place for place, start in enumerate(result.jobs["start"])], missing


@pytest.mark.parametrize("dispatcher", ["easy", "lookahead", "conservative"])
@pytest.mark.parametrize(
    ("jobs", "second"),
    [
        ([{"qos": "few"}, {"qos": "few", "user": "bob"}], 99),
        ([{"qos": "few"}, {"qos": ""}], 0),
        ([{"qos": "small"}, {"qos": "small"}], 99),
        ([{"qos": "small"}, {"qos": "small", "user": "bob"}], 0),
        ([{"qos": "small", "core": 1, "gpu": 2}, {"qos": "small", "core": 1, "gpu": 1}], 99),
        ([{"qos": "team"}, {"qos": "team", "user": "bob"}], 99),
        ([{"qos": "team"}, {"qos": "team", "group": "bio"}], 0),
        ([{"queue": "debug", "core": 1}, {"queue": "debug", "core": 1, "user": "bob"}], 99),
        ([{"qos": "short"}, {"qos": "short", "walltime": 900}], None),
    ],
    ids=str,
)
def test_limits_hold_under_every_dispatcher(site, jobs, second, dispatcher):
    assert starts(site, *jobs, dispatcher=dispatcher)[0] == [0, second]


def test_accounts_count_in_those_above(site):
    under = [{"group": "lab"}, {"group": "bio", "user": "bob"}, {"group": "lab", "user": "eve"}, {"group": "chem"}]
    assert starts(site, *under)[0] == [0, 0, 98, 0]
    assert starts(site, *[{"group": "lab", "core": 1}] * 3)[0] == [0, 0, 98]


def test_what_has_no_place_in_the_rules_is_named(site):
    assert "limit of minutes of cpu" in starts(site, {"qos": "later"})[1]
    assert absent_rules(site[0]) == ["tiers of partitions"]


def test_slurm_sees_failed_nodes_as_taken(site):
    # Of four nodes three fail. The fourth is the last in order. Starts elsewhere would be moved there.
    conf, _ = site
    machine = conf.machine()
    per_node = {"core": 4, "partition/batch": 1, "node": 1}
    jobs = tuple(Job(str(place), 10 + place, 50, 60, 1, per_node, queue="batch") for place in range(4))
    down = Outage(5, 500, (0, 1, 2), announced=False, requeue=True)
    workload = Workload(jobs, type(machine)(machine.resources, machine.capacity, outages=(down,)))
    result = simulate(workload, "slurm")
    check(workload, result)
    assert result.manifest.get("refused", 0) == 0
    assert {tuple(where) for where in result.jobs["placement"]} == {(3,)}


def test_a_state_may_have_held_jobs(site):
    machine = site[0].machine()
    per_node = {"core": 4, "partition/batch": 1}
    jobs = tuple(Job(name, 0, 50, 60, 1, per_node, queue="batch", hold=name == "held") for name in ("a", "held", "b"))
    result = simulate(Workload(jobs, machine), "easy", state=MachineState(10, (RunningSince("a", 5, (0,)),)))
    assert result.jobs.set_index("id")["start"].to_dict() == {"a": 5, "held": -1, "b": 10}
