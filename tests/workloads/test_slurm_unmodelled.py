"""What a configuration says that is not modelled."""

from dataclasses import fields

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


def said(folder, text):
    (folder / "slurm.conf").write_text(text)
    site = read_slurm_conf(folder / "slurm.conf")
    return unmodelled(site)


def test_a_plain_site_has_nothing_that_is_not_modelled(tmp_path):
    assert said(tmp_path, USUAL) == ()


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("preempt/none", "preempt/qos", "PreemptType=preempt/qos (who gives way)"),
        (
            "preempt/none",
            "preempt/partition_prio\nPreemptMode=SUSPEND,GANG",
            "PreemptMode=SUSPEND,GANG (who gives way)",
        ),
        ("preempt/none", "preempt/none\nPreemptExemptTime=00:05:00", "PreemptExemptTime=00:05:00 (who gives way)"),
        ("bf_continue", "bf_continue,bf_max_job_user=2", "SchedulerParameters=bf_max_job_user=2 (who starts)"),
        (
            "associations",
            "associations,limits",
            "AccountingStorageEnforce=limits (who has to wait, as far as no limits are given)",
        ),
        ("OverSubscribe=NO", "OverSubscribe=EXCLUSIVE", "OverSubscribe=EXCLUSIVE (with whom nodes are shared)"),
        ("0 sec", "32 sec", "CompleteWait=32 sec (when nodes are free)"),
    ],
)
def test_what_is_not_modelled_is_said_once_with_what_it_changes(tmp_path, before, after, line):
    assert said(tmp_path, USUAL.replace(before, after)) == (line,)


def test_what_counts_as_modelled_is():
    assert set(MODELLED) <= {option.name for option in fields(SlurmOptions)}


def test_what_gives_way_by_tiers_is_modelled(tmp_path):
    tiers = "preempt/partition_prio\nPreemptMode=REQUEUE\nPreemptExemptTime=00:00:00"
    assert said(tmp_path, USUAL.replace("preempt/none", tiers)) == ()
