"""A campaign on one and on two processes: the times, and whether both stores are equal.

``python -m hpcdispatch.bench.studies.benchmarks.campaigns`` simulates 60 cells twice, in two stores. It prints the
ratio of the times.
"""

import tempfile
from pathlib import Path

import click
from kept_cells import deterministic
from rich.console import Console

from ....base import InputError
from ...campaigns.execution import CampaignPlan, Store, plan_campaign, run_campaign
from ...reports.tables import Table
from ..one_line_errors import in_one_line
from ..printed_tables import show
from .measurements import Seconds, measured

#: Of one process, what two may take.
WANTED = 0.6
_CAMPAIGN = """
dispatchers = ["easy", "easy-sjbf", "lxf", "conservative:compress=once", "hcp3"]
predictors = ["walltime", "last2"]
seeds = 3

[[workload]]
source = "lublin:jobs={jobs},processors=128,load=0.85"

[[workload]]
source = "lublin:jobs={jobs},processors=256,load=0.9"
"""


def compared(plan: CampaignPlan, folder: Path, console: Console) -> tuple[list[Seconds], bool]:
    """Return the times on one and on two processes, and whether the stores are equal."""
    stores = [Store(folder / "one"), Store(folder / "two")]
    seconds = list[Seconds]()
    for workers, store in enumerate(stores, start=1):
        with console.status(f"{len(plan.cells)} cells on {workers} of 2 processes"):
            outcome, taken = measured(lambda: run_campaign(plan, store, workers=workers))  # noqa: B023
        if len(outcome.done) != len(plan.cells):
            raise InputError(f"campaign: expected {len(plan.cells)} finished cells, got {len(outcome.done)}")
        seconds.append(taken)
    return seconds, deterministic(stores[0]) == deterministic(stores[1])


@click.command(help=__doc__)
@click.option("--jobs", type=click.IntRange(min=10), default=3000, show_default=True, help="Jobs of each cell.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(jobs: int, as_markdown: bool) -> None:
    """Measure and print; exit code 1 if the ratio is not the wanted one or the stores differ."""
    with tempfile.TemporaryDirectory(prefix="hpcdispatch-bench-") as folder:
        file = Path(folder) / "campaign.toml"
        file.write_text(_CAMPAIGN.format(jobs=jobs), encoding="utf-8")
        plan = plan_campaign(file)
        (one, two), equal = compared(plan, Path(folder), Console(stderr=True))
    ratio = two.wall / one.wall
    numbers = [f"{taken:,.1f}" for seconds in (one, two) for taken in seconds]
    columns = ("cells", "one process, s", "its CPU, s", "two, s", "their CPU, s", "ratio", "same stores")
    row = [str(len(plan.cells)), *numbers, f"{ratio:.2f}", "yes" if equal else "no"]
    note = "Where the CPU time is far below twice the time of two processes, other programs had the cores."
    title = f"A campaign on two processes against one, ratio wanted <= {WANTED}"
    show([Table(title, columns, [row], note=note)], as_markdown)
    if ratio > WANTED or not equal:
        raise click.ClickException("the ratio is above the wanted one" if equal else "the stores differ")


if __name__ == "__main__":
    main()
