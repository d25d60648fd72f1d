"""Doubts about the export of a site: files that do not belong together, and records of ended jobs alone."""

import pytest

from hpcdispatch.analysis.export_doubts import (
    all_ended,
    ended_only_bias,
    of_different_days,
    of_other_sites,
    printed_at,
)
from hpcdispatch.analysis.site_cases import SiteRecord
from hpcdispatch.analysis.site_scenarios import Texts
from hpcdispatch.workloads.slurm_conf import read_slurm_conf
from hpcdispatch.workloads.slurm_limits import read_slurm_limits
from hpcdispatch.workloads.slurm_workload import slurm_workload

CONF = "ClusterName=c\nNodeName=n[1-2] CPUs=4\nPartitionName=all Nodes=ALL QoS=part\n"
HEADER = "JobID|User|Account|Partition|Submit|Start|End|TimelimitRaw|NNodes|NCPUS|State|NodeList|QOS|SubmitLine"
ASSOC = "Cluster|Account|User|ParentName|Share\nc|root|||1\nc|a||root|1\nc|a|ann||1\n"
QOS = "Name|Priority\nnormal|0\npart|0\n"
DAY = 86400
#: A day of November 2026, seconds since 1970.
NOON = 1_795_867_200


def job(id_, submit, start, end, *, user="ann", state="COMPLETED", nodes=1, node="n1", qos="normal"):
    known = [f"{NOON + time}" if time is not None else "Unknown" for time in (submit, start, end)]
    return (
        f"{id_}|{user}|a|all|{'|'.join(known)}|100|{nodes}|{4 * nodes}|{state}|{node}|{qos}|"
        f"sbatch -N {nodes} --ntasks-per-node=4 x.sh"
    )


@pytest.fixture
def record(tmp_path):
    """Return the record of jobs at a site with limits."""

    def read(*jobs, assoc=ASSOC, qos=QOS):
        for name, text in (("site.txt", CONF), ("assoc.txt", assoc), ("qos.txt", qos)):
            (tmp_path / name).write_text(text)
        (tmp_path / "jobs.sacct").write_text("\n".join([HEADER, *jobs, ""]))
        limits = f"{tmp_path / 'assoc.txt'};{tmp_path / 'qos.txt'}"
        texts = Texts(tmp_path / "site.txt", limits, None)
        return SiteRecord.read(texts, "", lambda conf: slurm_workload(tmp_path / "jobs.sacct", conf), 0)

    return read


def doubts(found):
    return [*of_other_sites(found.workload, found.site, read_slurm_limits(found.texts.limits))]


ONE = job(1, 0, 0, 60)


@pytest.mark.parametrize(
    ("changed", "files", "told"),
    [
        ({}, {}, None),
        ({"user": "bob"}, {}, "bob in a: the associations lack these 1 users of 1 of 2 jobs"),
        ({}, {"assoc": ASSOC.replace("ann", "eve")}, "ann in a: the associations lack these 1 users of 2 of 2 jobs"),
        ({"qos": "gold"}, {}, "gold: these QOS are used, and sacctmgr's QOS lack them"),
        ({}, {"qos": "Name|Priority\nnormal|0\n"}, "part: these QOS are used"),
        ({"node": "x7"}, {}, "x7: jobs ran on these 1 nodes, which"),
        ({"node": "x[7-8]", "nodes": 2}, {}, "x7, x8: jobs ran on these 2 nodes"),
    ],
)
def test_names_of_another_site_are_said(record, changed, files, told):
    found = doubts(record(ONE, job(2, 5, 70, 100, **changed), **files))
    assert [line.startswith(told) for line in found] == ([] if told is None else [True])


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("2026-11-28T12:00:00", NOON + DAY, 0),
        ("2026-11-28T12:00:00", NOON + 3 * DAY, 1),
        (str(NOON), NOON - 30 * DAY, 1),
        ("never", NOON, 0),
    ],
)
def test_files_of_different_days_are_said(tmp_path, first, second, told):
    (tmp_path / "site.txt").write_text(f"Configuration data as of {first}\n{CONF}")
    assert read_slurm_conf(tmp_path / "site.txt").nodes == ("n1", "n2")
    lines = [*of_different_days([("site.txt", printed_at(tmp_path / "site.txt")), ("now", second), ("more", None)])]
    assert len(lines) == told
    assert all("site.txt of 2026-11-28" in line for line in lines)


def crowd():
    """Return jobs that wait for n1, because a long job has n2."""
    jobs, free = [job(0, 0, 0, 5000, node="n2")], 0
    for place in range(1, 60):
        start = max(40 * place, free)
        free = start + 50
        jobs.append(job(place, 40 * place, start, free))
    return jobs


def test_the_effect_of_missing_jobs_is_measured_on_the_record(record):
    found = record(*crowd())
    assert all_ended(found.workload)
    bias = ended_only_bias(found)
    assert bias.jobs >= 20
    assert bias.left_out >= 3
    assert bias.without < bias.whole
    assert bias.change == pytest.approx(bias.without / bias.whole - 1)


def test_without_waiting_jobs_nothing_is_missing(record):
    assert (
        ended_only_bias(record(*(job(place, 100 * place, 100 * place, 100 * place + 30) for place in range(60))))
        is None
    )
    assert ended_only_bias(record(ONE)) is None


def test_a_record_with_running_jobs_has_all(record):
    found = record(ONE, job(2, 5, 70, None, state="RUNNING"), job(3, 6, None, None, state="PENDING", node=""))
    assert not all_ended(found.workload)
