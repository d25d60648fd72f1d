"""``hpcdispatch slurm``: beside a Slurm that runs."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from ...analysis.cluster_state import Unit, cluster_state
from ...analysis.eviction_scenario import write_scenario
from ...base import InputError
from ...bench.reports.number_formats import count
from ...workloads.slurm_cluster import Snapshot, read_cluster
from ..app import debug_option
from ..command_errors import say
from ..help_texts import examples

#: Seconds that a command of Slurm may take.
PATIENCE = 30
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("slurm")
def command() -> None:
    """Ask a Slurm that runs here."""


@command.command(
    "state",
    epilog=examples(
        "hpcdispatch slurm state state.json",
        "hpcdispatch slurm state state.json --squeue squeue.json --sinfo sinfo.json --now 1795308804",
    ),
)
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--squeue", type=_FILE, metavar="FILE", help="What squeue --json printed, in place of asking.")
@click.option("--sinfo", type=_FILE, metavar="FILE", help="What sinfo -N --json printed, likewise.")
@click.option("--now", type=click.IntRange(0), metavar="SECONDS", help="When they were printed, since 1970.")
@click.option("--unit", type=click.Choice(["node", "core"]), default="node", show_default=True, help="What is counted.")
@debug_option
def state(out: Path, squeue: Path | None, sinfo: Path | None, now: int | None, unit: Unit) -> None:
    """Write to OUT what runs, as evict and partition read it.

    Jobs end at their limits. Nodes that are down, drained or reserved are left out. Where jobs share nodes, cores are
    counted in place of nodes.
    """
    if len({squeue is None, sinfo is None, now is None}) > 1:
        raise InputError("--squeue, --sinfo, --now: expected all of them or none")
    snapshot = _asked() if squeue is None or sinfo is None or now is None else read_cluster(squeue, sinfo, now)
    found = cluster_state(snapshot, unit)
    write_scenario(found, out)
    waiting = sum(job.tasks for job in snapshot.waiting)
    used = found.machine.nodes - found.idle
    say("note", f"{count(len(found.jobs), 'running job')} on {used:,} of {count(found.machine.nodes, unit)}, "
                f"{waiting:,} waiting")  # fmt: skip


def _asked() -> Snapshot:
    with TemporaryDirectory(prefix="hpcdispatch-") as folder:
        squeue, sinfo = Path(folder, "squeue.json"), Path(folder, "sinfo.json")
        squeue.write_bytes(_answer(["squeue", "--json"]))
        sinfo.write_bytes(_answer(["sinfo", "-N", "--json"]))
        return read_cluster(squeue, sinfo, int(time.time()))


def _answer(arguments: list[str]) -> bytes:
    """Return what a command of Slurm prints.

    Raises
    ------
    InputError
        If there is none, it fails or does not answer.
    """
    name = arguments[0]
    try:
        done = subprocess.run(arguments, capture_output=True, timeout=PATIENCE, check=False)
    except FileNotFoundError:
        raise InputError(f"{name}: there is no such command here; give --squeue, --sinfo and --now") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"{name}: no answer within {PATIENCE} s") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["nothing"]
        raise InputError(f"{name}: ended with code {done.returncode} and said: {lines[0]}")
    return done.stdout
