"""Drivers for a real Slurm that is there for trials: ``python -m hpcdispatch.bench.studies.benchmarks.slurm.live``.

They submit jobs, stop jobs and reserve nodes; two of them want the whole cluster for themselves, one needs none.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from ...one_line_errors import in_one_line
from ...printed_tables import show
from .live_evictions import evictions
from .live_replay import ReplayLoad, replayed
from .replay_noise import noise

_SEED = click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
_MARKDOWN = click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")


@click.group(help=__doc__)
def main() -> None:
    """Have the commands."""


@main.command("replay")
@click.option("--jobs", type=click.IntRange(1), default=60, show_default=True)
@click.option("--load", type=click.FloatRange(min=0, min_open=True), default=1.4, show_default=True)
@click.option("--arrays", type=click.FloatRange(0, 1), default=0.0, show_default=True, help="Share of job arrays.")
@click.option(
    "--reserved",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Reserve nodes for a user, all nodes later, and have this share of the user's jobs in the former.",
)
@click.option(
    "--memory", type=click.FloatRange(0, 1), default=0.0, show_default=True, help="Share that asks for memory."
)
@click.option("--gpus", type=click.FloatRange(0, 1), default=0.0, show_default=True, help="Share that asks for GPUs.")
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), help="Folder for what is recorded.")
@_SEED
@_MARKDOWN
def replay_command(keep: Path | None, as_markdown: bool, **drawn: Any) -> None:
    """Submit drawn jobs, and compare their waits with those under the dispatcher slurm."""
    with in_one_line(), TemporaryDirectory(prefix="hpcdispatch-") as folder:
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
        show([replayed(ReplayLoad(**drawn), keep or Path(folder))], as_markdown)


@main.command("noise")
@click.argument("folders", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--shares", default="", metavar="A=N;B=N", help="Of accounts and users; else 1.")
@_MARKDOWN
def noise_command(folders: tuple[Path, ...], shares: str, as_markdown: bool) -> None:
    """Compare kept replays of the same jobs with each other, and the dispatcher slurm with each; needs no Slurm."""
    with in_one_line():
        show([noise(folders, shares)], as_markdown)


@main.command("evict")
@click.option("--trials", type=click.IntRange(1), default=20, show_default=True)
@_SEED
@_MARKDOWN
def evict_command(trials: int, seed: int, as_markdown: bool) -> None:
    """Free nodes by a deadline, again and again."""
    with in_one_line():
        show([evictions(trials, seed)], as_markdown)


if __name__ == "__main__":
    main()
