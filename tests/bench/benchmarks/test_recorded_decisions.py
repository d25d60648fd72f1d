"""Decisions of a real Slurm with its own parameters of backfill and two tiers, and with weights, made again."""

from pathlib import Path

import numpy as np
from real_slurm.daemons import HERE, configuration, filled_in

from hpcdispatch.bench.benchmarks.slurm.controller_log import read_jobs, read_log
from hpcdispatch.bench.benchmarks.slurm.recorded_decisions import RecordedDecisions
from hpcdispatch.dispatchers.slurm import SlurmOptions, configured

RECORDED = Path(__file__).parent / "recorded"


def settings(folder, name, nodes):
    """Return the options and the site of a configuration."""
    (folder / "site.conf").write_text(filled_in(configuration(HERE / f"{name}.conf"), nodes))
    return configured(SlurmOptions(config=str(folder / "site.conf")))


def decided(name, site, options, **more):
    """Return the counts of the decisions on record."""
    again = RecordedDecisions(site, read_jobs(RECORDED / f"{name}.sacct.gz"), options.rules(), **more)
    again.follow(read_log(RECORDED / f"{name}.slurmctld.log.gz"))
    return again.counts


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
    assert counts["near"] >= 0.97 * counts["planned"]
    assert counts["same nodes"] >= 0.97 * counts["planned"]
    assert counts["start nodes"] >= 0.97 * counts["started"]
    alike = decided("weights", site, options, weights=np.ones(8, np.int64))
    assert alike["same nodes"] < 0.8 * counts["planned"]
    assert alike["start nodes"] < 0.8 * counts["started"]
