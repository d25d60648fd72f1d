"""Decisions of a real Slurm with its own parameters of backfill and partitions of two tiers, made again."""

from pathlib import Path

from real_slurm.daemons import HERE

from hpcdispatch.bench.benchmarks.slurm.controller_log import read_jobs, read_log
from hpcdispatch.bench.benchmarks.slurm.recorded_decisions import RecordedDecisions
from hpcdispatch.dispatchers.slurm import SlurmOptions, configured

RECORDED = Path(__file__).parent / "recorded"


def test_decisions_under_the_default_parameters_and_tiers_are_made_alike(tmp_path):
    known = {"FOLDER": "", "HOST": "", "NODES": 16, "CONTROLLER": 1, "ACCOUNTING": 1, "FIRST": 1, "LAST": 16}
    parts = [(HERE / name).read_text() for name in ("slurm.conf", "tiers.conf")]
    (tmp_path / "site.conf").write_text("".join(parts).format_map(known))
    options, site = configured(SlurmOptions(config=str(tmp_path / "site.conf")))
    assert (options.bf_interval, options.bf_resolution) == (30, 60)
    again = RecordedDecisions(site, read_jobs(RECORDED / "tiers.sacct.gz"), options.rules())
    again.follow(read_log(RECORDED / "tiers.slurmctld.log.gz"))
    counts = again.counts
    assert (counts["planned"], counts["started"]) == (403, 31)
    assert counts["near"] >= 0.97 * counts["planned"]
    assert counts["same nodes"] >= 0.97 * counts["planned"]
    assert counts["started here"] == counts["started"]
