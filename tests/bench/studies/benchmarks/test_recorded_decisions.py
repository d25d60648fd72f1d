"""Decisions of a real Slurm, again: its own parameters of backfill and tiers; weights, unequal cores, memory, GPUs."""

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
from real_slurm.daemons import HERE, configuration, filled_in

from hpcdispatch.bench.studies.benchmarks.slurm.controller_log import (
    began_at,
    read_jobs,
    read_log,
    site_jobs,
    with_shares,
)
from hpcdispatch.bench.studies.benchmarks.slurm.recorded_decisions import RecordedDecisions, compared_priorities
from hpcdispatch.dispatchers.slurm import SlurmOptions, configured

RECORDED = Path(__file__).parent / "recorded"


def settings(folder, name, nodes):
    """Return the options and the site of a configuration."""
    (folder / "site.conf").write_text(filled_in(configuration(HERE / f"{name}.conf"), nodes))
    return configured(SlurmOptions(config=str(folder / "site.conf")))


def jobs_of(name, folder):
    """Return the jobs on record, with all that they asked for."""
    (folder / "jobs.sacct").write_bytes(gzip.decompress((RECORDED / f"{name}.sacct.gz").read_bytes()))
    return site_jobs(folder / "jobs.sacct", folder / "site.conf")


def decided(name, site, options, jobs=None, **more):
    """Return the counts of the decisions on record."""
    jobs = jobs or read_jobs(RECORDED / f"{name}.sacct.gz")
    again = RecordedDecisions(site, jobs, options.rules(), **more)
    again.follow(read_log(RECORDED / f"{name}.slurmctld.log.gz"))
    return again.counts


def assert_alike(counts):
    """Assert that nearly all decisions are those on record."""
    assert counts["near"] >= 0.97 * counts["planned"]
    assert counts["same nodes"] >= 0.97 * counts["planned"]
    assert counts["start nodes"] >= 0.97 * counts["started"]


def test_decisions_under_the_default_parameters_and_tiers_are_made_alike(tmp_path):
    options, site = settings(tmp_path, "tiers", 16)
    assert (options.bf_interval, options.bf_resolution) == (30, 60)
    counts = decided("tiers", site, options)
    assert (counts["planned"], counts["started"]) == (403, 31)
    assert counts["near"] >= 0.97 * counts["planned"]
    assert counts["same nodes"] >= 0.97 * counts["planned"]
    assert counts["started here"] == counts["started"]


def test_decisions_on_nodes_of_several_weights_are_made_alike(tmp_path):
    options, site = settings(tmp_path, "weights", 8)
    counts = decided("weights", site, options)
    assert_alike(counts)
    alike = decided("weights", site, options, weights=np.ones(8, np.int64))
    assert alike["same nodes"] < 0.8 * counts["planned"]
    assert alike["start nodes"] < 0.8 * counts["started"]


def test_decisions_and_priorities_on_nodes_of_unequal_cores_are_made_alike(tmp_path):
    options, site = settings(tmp_path, "uneven", 12)
    jobs = jobs_of("uneven", tmp_path)
    log = RECORDED / "uneven.slurmctld.log.gz"
    counts = decided("uneven", site, options, jobs)
    assert (counts["planned"], counts["started"]) == (496, 55)
    assert_alike(counts)
    assert counts["start nodes"] == counts["started"]
    began = began_at(log)
    shares = {"phys": 10, "chem": 20}
    for small in (True, False):
        order = compared_priorities(site, jobs, read_log(log), began, 120, 300, options.weights(), shares, small=small)
        assert order["equal"] == (order["seen"] if small else 0)
    assert order["seen"] == 150


def without(names, resources, jobs):
    """Return the jobs without some of what they ask for."""
    kept = np.array([name not in names for name in resources])
    return {
        id_: replace(job, demand=tuple(job.demand * kept), per_cpu=tuple(job.per_cpu * kept))
        for id_, job in jobs.items()
    }


def test_decisions_about_memory_are_made_alike(tmp_path):
    options, site = settings(tmp_path, "memory", 8)
    jobs = jobs_of("memory", tmp_path)
    counts = decided("memory", site, options, jobs)
    assert_alike(counts)
    blind = decided("memory", site, options, without(["mem"], with_shares(site.machine()).resources, jobs))
    assert blind["near"] < 0.5 * counts["planned"]
    assert blind["started here"] < 0.7 * counts["started"]


def test_decisions_about_gpus_are_made_alike(tmp_path):
    options, site = settings(tmp_path, "gpus", 8)
    jobs = jobs_of("gpus", tmp_path)
    counts = decided("gpus", site, options, jobs)
    assert (counts["planned"], counts["started"]) == (943, 58)
    assert_alike(counts)
    assert counts["started here"] >= 0.99 * counts["started"]
    blind = decided("gpus", site, options, without(["gpu"], with_shares(site.machine()).resources, jobs))
    assert blind["near"] < 0.7 * counts["planned"]
    assert blind["start nodes"] < 0.8 * counts["started"]


def test_decisions_hang_on_the_jobs_with_gpus_that_were_tested_before(tmp_path):
    options, site = settings(tmp_path, "gpus", 8)
    jobs = jobs_of("gpus", tmp_path)
    again = RecordedDecisions(site, jobs, options.rules())
    again.follow(event for event in read_log(RECORDED / "gpus.slurmctld.log.gz") if event.kind != "evaluated")
    assert again.counts["same nodes"] < 0.95 * again.counts["planned"]


def test_tasks_that_ask_for_memory_or_gpus_by_node_are_no_nodes(tmp_path):
    _, site = settings(tmp_path, "gpus", 8)
    jobs = jobs_of("gpus", tmp_path)
    names = with_shares(site.machine()).resources
    tasks = jobs["29"]  # --ntasks=8 --gres=gpu:1, which had three nodes
    assert (tasks.slots, tasks.cores, tasks.apart) == (8, 1, False)
    assert dict(zip(names, tasks.by_node, strict=True))["gpu"] == 1
    assert dict(zip(names, tasks.demand, strict=True)) == {
        "core": 1,
        "mem": 500 * 1024,
        "mem_per_cpu": 1,
        "gpu": 0,
        "node": 0,
        "partition/all": 1,
        "shares": 1,
    }
