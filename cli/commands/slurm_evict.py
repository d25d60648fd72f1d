"""``hpcdispatch slurm evict``: print the commands that free nodes of Slurm by a deadline at the least loss."""

import getpass
import os
import re
import shlex
from typing import Annotated

import click

from ...analysis.cluster_state import Unit, cluster_state
from ...base import InputError, read_bounded
from ...base.command_arguments import job_argument, node_argument
from ...bench.reports.number_formats import count, ratio
from ...models.eviction import Eviction, cost, plan
from ...workloads.slurm_cluster import Snapshot
from ..app import settings, subcommand
from ..command_errors import say
from ..durations import Duration, DurationWithUnit, Whole
from ..output import exact, finish
from ..parameters import option
from ..site_folder import SiteFolder
from ..site_options import SnapshotFiles
from ..slurm_answers import answer

#: Levels that may stop the jobs of other users.
_OPERATORS = ("Operator", "Administrator")
#: Seconds between two checks of walltimes by the controller, and from the signal to the kill of a job.
_LOOKS, _KILL_WAIT = 30, 30


@subcommand("evict", "hpcdispatch slurm evict --nodes 64 --deadline 15m")
def evict(
    nodes: Annotated[int, option("Nodes, or cores, that are needed.", "K", Whole(1), group="Decision")],
    unit: Annotated[Unit, option("What is counted: cores where jobs share nodes.", default="node")],
    deadline: Annotated[int, option("By when, as in 15m.", "TIME", DurationWithUnit())],
    hold: Annotated[int, option("For how long after it they are reserved.", "TIME", Duration(60), default="15m")],
    moment: SnapshotFiles,
) -> None:
    """Print the commands that free K nodes by a deadline at the least loss. Nothing is run.

    The first command reserves the nodes, so that no other job starts there. It needs the rights of an operator, and so
    does stopping the jobs of other users. A job that starts on these nodes before the reservation keeps its node.
    Evicted jobs go back to the queue. A loss is the run time of a job so far, in node-hours. A job is not stopped if
    its walltime ends in time, with KillWait and half a minute.
    """
    snapshot = moment.read()
    state = cluster_state(snapshot, unit, _late(moment))
    jobs = state.running()
    decision = plan(jobs, max(nodes - state.idle, 0), deadline)[deadline]
    if not decision.feasible:
        say("infeasible", f"{count(nodes, unit)} asked for, and the machine has {state.machine.nodes:,}")
        click.get_current_context().exit(1)
    operator = _is_operator()
    commands = _commands(snapshot, decision, (nodes, unit), deadline + hold, reserve=operator)
    _refuse_others(snapshot, decision, operator=operator)
    loss = sum(float(cost(job, decision.actions[job.id])) for job in jobs if job.id in decision.actions)
    killed = sum(action == "kill" for action in decision.actions.values())
    lines = [shlex.join(command) for command in commands]
    fields = {
        "nodes": nodes,
        "unit": unit,
        "deadline_s": deadline,
        "jobs": killed,
        "loss_node_hours": loss,
        "reserved": operator,
        "commands": lines,
    }
    if not operator:
        say("note", "the nodes are not reserved, which operators may: others may start there")
    gives = f"{count(killed, 'job')} to give way, {ratio(loss)} {unit}-hours lost"
    if settings().json:
        finish(f"{gives}, {count(nodes, unit)} by {exact(deadline)}.", fields)
        return
    for line in lines:
        click.echo(line)
    say("note", f"{gives}, {count(nodes, unit)} by {exact(deadline)}")


def _commands(
    snapshot: Snapshot, decision: Eviction, amount: tuple[int, Unit], seconds: int, *, reserve: bool
) -> list[list[str]]:
    """Return the commands: reserve the nodes, or an amount of cores on them, then stop jobs."""
    nodes, unit = amount
    taken = {name for job in snapshot.running for name in job.nodes}
    freed = [name for job in snapshot.running if job.id in decision.actions for name in job.nodes]
    idle = [node.name for node in snapshot.nodes if node.usable and node.name not in taken]
    if unit == "core":
        idle = [node.name for node in snapshot.nodes if node.usable]
    chosen = [node_argument(name, "squeue, sinfo") for name in dict.fromkeys(freed + idle)]
    chosen = chosen[:nodes] if unit == "node" else chosen
    cores = [f"CoreCnt={nodes}"] if unit == "core" else []
    made = [
        [
            "scontrol",
            "create",
            "reservation",
            f"Users={getpass.getuser()}",
            "StartTime=now",
            f"Duration={-(-seconds // 60)}",
            f"Nodes={','.join(chosen)}",
            *cores,
            "Flags=IGNORE_JOBS",
        ]
    ]
    stops = [
        ["scontrol", "requeue", job_argument(id_, "squeue")]
        for id_, action in decision.actions.items()
        if action == "kill"
    ]
    return made * reserve + stops


def _late(moment: SnapshotFiles) -> int:
    """Return how many seconds a job may use its nodes after its walltime: from Slurm, or its defaults."""
    config = None if moment.site is None else SiteFolder(moment.site).config
    told = answer(["scontrol", "show", "config"]).decode(errors="replace") if moment.asks else ""
    if config is not None:
        told = read_bounded(config, "a configuration of Slurm").decode(errors="replace")
    known = {name: int(value) for name, value in re.findall(r"(?m)^(KillWait|OverTimeLimit)\s*=\s*(\d+)", told)}
    return _LOOKS + known.get("KillWait", _KILL_WAIT) + 60 * known.get("OverTimeLimit", 0)


def _is_operator() -> bool:
    """Return whether this user may stop the jobs of others."""
    if os.geteuid() == 0:
        return True
    told = answer(["sacctmgr", "-n", "-P", "show", "user", getpass.getuser(), "format=AdminLevel"])
    return told.decode(errors="replace").strip() in _OPERATORS


def _refuse_others(snapshot: Snapshot, decision: Eviction, *, operator: bool) -> None:
    """Refuse to stop jobs of other users."""
    me = getpass.getuser()
    others = [
        f"{job.id} of {job.user}"
        for job in snapshot.running
        if decision.actions.get(job.id) == "kill" and job.user != me
    ]
    if others and not operator:
        raise InputError(f"evict: expected jobs of {me} or the rights of an operator, got {', '.join(others[:3])}")
