"""``hpcdispatch slurm``: commands for a running Slurm."""

from pathlib import Path
from typing import Annotated

import click

from ...analysis.cluster_state import Unit, cluster_state
from ...analysis.eviction_scenario import write_scenario
from ...bench.reports.number_formats import count
from ..app import OUTPUT, Group, examples
from ..output import finish
from ..parameters import argument, option
from ..site_options import SnapshotFiles
from .slurm_evict import evict
from .slurm_export import export
from .slurm_forecast import forecast
from .slurm_why import why

#: Commands that left, and what to use. No command changes a cluster any more.
_LEFT = {
    "advise": "use 'hpcdispatch what-if --dispatchers NAME' to compare another dispatcher with Slurm",
    "submit": "use 'hpcdispatch sequence' for the walltimes, and submit the job with sbatch",
}


class _SlurmGroup(Group):
    """The commands for Slurm, and what took the place of those that left."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name what to use in its place."""
        if args and args[0] in _LEFT:
            ctx.fail(f"'slurm {args[0]}' was removed in 0.2; {_LEFT[args[0]]}")
        return super().resolve_command(ctx, args)


@click.group("slurm", cls=_SlurmGroup)
def command() -> None:
    """Commands that read a running Slurm. None of them changes it."""


for each in (evict, export, forecast, why):
    command.add_command(each)


@command.command(
    "state",
    epilog=examples(
        "hpcdispatch slurm state state.json",
        "hpcdispatch slurm state state.json --squeue squeue.json --sinfo sinfo.json --now 1795308804",
    ),
)
def state(
    out: Annotated[Path, argument(type=click.Path(dir_okay=False, path_type=Path))],
    moment: SnapshotFiles,
    unit: Annotated[Unit, option("What is counted.", default="node", group=OUTPUT)],
) -> None:
    """Write the running and waiting jobs to OUT, for evict and partition.

    Jobs end at their walltimes. Nodes that are down, drained or reserved are left out. If jobs share nodes, use cores
    in place of nodes.
    """
    snapshot = moment.read()
    scenario = cluster_state(snapshot, unit)
    write_scenario(scenario, out)
    waiting = sum(job.tasks for job in snapshot.waiting)
    used = scenario.machine.nodes - scenario.idle
    fields = {
        "file": str(out),
        "running": len(scenario.jobs),
        "waiting": waiting,
        "used": used,
        "total": scenario.machine.nodes,
        "unit": unit,
    }
    machine = f"{used:,} of {count(scenario.machine.nodes, unit)}"
    finish(f"{count(len(scenario.jobs), 'running job')} on {machine}, {waiting:,} waiting: written to {out}.", fields)
