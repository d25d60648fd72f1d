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
from .slurm_advise import advise
from .slurm_evict import evict
from .slurm_forecast import forecast
from .slurm_submit import submit_job
from .slurm_why import why


@click.group("slurm", cls=Group)
def command() -> None:
    """Commands for a running Slurm."""


for each in (advise, evict, forecast, submit_job, why):
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
    found = cluster_state(snapshot, unit)
    write_scenario(found, out)
    waiting = sum(job.tasks for job in snapshot.waiting)
    used = found.machine.nodes - found.idle
    fields = {
        "file": str(out),
        "running": len(found.jobs),
        "waiting": waiting,
        "used": used,
        "total": found.machine.nodes,
        "unit": unit,
    }
    machine = f"{used:,} of {count(found.machine.nodes, unit)}"
    finish(f"{count(len(found.jobs), 'running job')} on {machine}, {waiting:,} waiting: written to {out}.", fields)
