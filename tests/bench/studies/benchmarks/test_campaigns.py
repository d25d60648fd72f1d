"""A campaign on two processes leaves the store that one leaves."""

from dataclasses import replace

from rich.console import Console

from hpcdispatch.bench.campaigns.execution import plan_campaign
from hpcdispatch.bench.studies.benchmarks.campaigns import compared


def test_both_stores_are_compared(tmp_path):
    file = tmp_path / "campaign.toml"
    file.write_text('dispatchers = ["fcfs", "easy"]\n[[workload]]\nsource = "lublin:jobs=120,processors=64,load=0.9"\n')
    plan = plan_campaign(file)
    seconds, equal = compared(replace(plan, cells=plan.cells[:2]), tmp_path, Console(quiet=True))
    assert len(seconds) == 2
    assert equal
