"""What a configuration says that is not modelled."""

from dataclasses import fields

import pandas as pd
import pytest

from hpcdispatch.dispatchers.slurm import SlurmOptions
from hpcdispatch.workloads.slurm_conf import read_slurm_conf
from hpcdispatch.workloads.slurm_unmodelled import MODELLED, unmodelled

USUAL = """
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=5,bf_continue
AccountingStorageEnforce=associations
PreemptType=preempt/none
PriorityFlags = (null)
CompleteWait = 0 sec
NodeName=n[1-4] CPUs=4 Weight=8
PartitionName=all Nodes=ALL OverSubscribe=NO QoS=N/A MaxNodes=UNLIMITED
"""


def said(folder, text, **records):
    """Return the report on a site and two jobs in its partition, on n1 and n2."""
    (folder / "slurm.conf").write_text(text)
    given = {"partitions": "all", "node_list": ["n1", "n[1-2]"], "other_options": "", "constraint": ""} | records
    return unmodelled(read_slurm_conf(folder / "slurm.conf"), pd.DataFrame(given))


def test_a_plain_site_has_nothing_that_is_not_modelled(tmp_path):
    assert said(tmp_path, USUAL) == ()


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("preempt/none", "preempt/job_prio", "PreemptType=preempt/job_prio (which jobs stop; 2 jobs)"),
        (
            "preempt/none",
            "preempt/partition_prio\nPreemptMode=SUSPEND,GANG",
            "PreemptMode=SUSPEND,GANG (which jobs stop; 2 jobs)",
        ),
        (
            "bf_continue",
            "bf_continue,bf_one_resv_per_job",
            "SchedulerParameters=bf_one_resv_per_job (which jobs start; 2 jobs)",
        ),
        ("OverSubscribe=NO", "OverSubscribe=FORCE:4", "OverSubscribe=FORCE:4 (beside which jobs; 2 jobs)"),
        ("QoS=N/A", "LLN=YES ExclusiveUser=NO", "LLN=YES (on which nodes; 2 jobs)"),
        ("Nodes=ALL", "Nodes=ALL State=DRAIN", "PartitionName=all State=DRAIN (which jobs start; 2 jobs)"),
        ("Weight=8", "Weight=8 Gres=gpu:1,nic:2", "Gres=nic (on which nodes; 3 jobs)"),
        ("0 sec", "32 sec", "CompleteWait=32 sec (when nodes are free; 2 jobs)"),
        ("0 sec", "0 sec\nSuspendTime=300", "SuspendTime=300 (when nodes are up; 2 jobs)"),
        (
            "0 sec",
            "0 sec\nSelectTypeParameters=CR_Socket_Memory,CR_LLN",
            "SelectTypeParameters=cr_socket_memory,cr_lln (on which nodes; 2 jobs)",
        ),
    ],
)
def test_what_is_not_modelled_is_said_once_with_what_it_changes(tmp_path, before, after, line):
    (found,) = said(tmp_path, USUAL.replace(before, after))
    parts = found.replace(" large effect;", "").replace(" medium effect;", "").replace(" small effect;", "")
    assert parts.startswith(line.removesuffix(")"))


@pytest.mark.parametrize(
    ("records", "lines"),
    [
        (
            {"other_options": ["-w", "-w --contiguous"]},
            ("-w (of jobs; medium effect; 2 jobs)", "--contiguous (of jobs; medium effect; 1 job)"),
        ),
        (
            {"partitions": ["all", "all,fast"]},
            ("Partition=all,fast (which jobs start, only in the first one; large effect; 1 job)",),
        ),
        ({"constraint": ["fat", "slim"]}, ("-C slim (of jobs, no node has it; medium effect; 1 job)",)),
        (
            {"constraint": ["fat*2", ""]},
            ("-C fat*2 (of jobs, how many nodes have which feature; medium effect; 1 job)",),
        ),
    ],
)
def test_options_of_jobs_are_said_with_how_many_have_them(tmp_path, records, lines):
    assert said(tmp_path, USUAL.replace("Weight=8", "Feature=fat"), **records) == lines


def test_limits_are_said_elsewhere_and_idle_partitions_not_at_all(tmp_path):
    more = "PartitionName=idle Nodes=n4 LLN=YES\nPartitionName=busy Nodes=n1 QoS=other\n"
    limited = USUAL.replace("=associations", "=associations,limits,qos,safe") + more
    assert said(tmp_path, limited) == ()
    (found,) = said(tmp_path, limited, partitions=["idle", "all"])
    assert found == "LLN=YES (on which nodes; small effect; 1 job of partition idle)"


def test_what_counts_as_modelled_is():
    assert set(MODELLED) <= {option.name for option in fields(SlurmOptions)}


def test_what_gives_way_by_tiers_is_modelled(tmp_path):
    tiers = "preempt/partition_prio\nPreemptMode=REQUEUE\nPreemptExemptTime=00:00:00"
    assert said(tmp_path, USUAL.replace("preempt/none", tiers)) == ()


def test_the_largest_effect_comes_first_and_names_the_jobs(tmp_path):
    text = USUAL.replace("0 sec", "0 sec\nTopologyPlugin=topology/tree\nMCSPlugin=mcs/group")
    text = text.replace("QoS=N/A", "LLN=YES ReqResv=YES")
    (tmp_path / "slurm.conf").write_text(text)
    given = {"partitions": "all", "node_list": ["n1", "n[1-2]"], "other_options": ["-w", ""], "constraint": ""}
    found = unmodelled(read_slurm_conf(tmp_path / "slurm.conf"), pd.DataFrame(given), ["7", "8"])
    assert found == (
        "ReqResv=YES (which jobs start; large effect; 2 jobs of partition all)",
        "MCSPlugin=mcs/group (beside which jobs; medium effect; 2 jobs)",
        "-w (of jobs; medium effect; 1 job, such as 7)",
        "TopologyPlugin=topology/tree (on which nodes; small effect; 2 jobs)",
        "LLN=YES (on which nodes; small effect; 2 jobs of partition all)",
    )
