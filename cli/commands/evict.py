"""``hpcdispatch evict``: who gives way for an on-demand job, by deadline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import pandas as pd
from rich.table import Table
from rich.text import Text

from ...analysis import Scenario, read_scenario, scenario_of, write_scenario
from ...base import InputError
from ...bench.reports.figures import Figure
from ...bench.reports.number_formats import count
from ...bench.reports.static_figures import images
from ...models.eviction import Eviction, Storage, greedy, plan, plan_sharing
from ...workloads import GENERATORS, generate
from ..app import debug_option
from ..command_errors import say
from ..durations import Duration, clock
from ..help_texts import examples
from ..output import console, print_json
from ..progress import spinner
from ..shared_options import json_option

_SUFFIXES = (".png", ".svg")
_MOST_STEPS = 10_000
_DOES = {"kill": "kill", "system": "system checkpoint", "application": "application checkpoint"}


@dataclass(frozen=True, slots=True)
class _Query:
    """What is asked for: nodes, of those how many are to be freed, and times in seconds."""

    nodes: int
    needed: int
    deadline: int
    step: int
    sharing: bool


@click.command(
    "evict",
    epilog=examples(
        "hpcdispatch evict theta-scenario:jobs=16,seed=1 --nodes 512 --deadline 15m",
        "hpcdispatch evict theta-scenario:jobs=16,seed=1 --nodes 512 --deadline 15m --save scenario.json",
        "hpcdispatch evict scenario.json --nodes 1024 --deadline 10m --plot loss.png",
    ),
)
@click.argument("scenario", metavar="SCENARIO")
@click.option("--nodes", type=click.IntRange(min=1), required=True, metavar="K", help="Nodes of the on-demand job.")
@click.option("--deadline", type=Duration(), required=True, metavar="TIME", help="By when they are needed, as in 15m.")
@click.option(
    "--step", type=Duration(1), default="1s", show_default=True, metavar="TIME",
    help="Resolution of the deadlines; times of checkpoints are rounded up to it.",
)  # fmt: skip
@click.option("--sharing", is_flag=True, help="Write checkpoints side by side instead of one after another.")
@click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Draw the loss by deadline, .png or .svg."
)
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE", help="Write the scenario as JSON.")
@json_option
@debug_option
def command(
    scenario: str,
    nodes: int,
    deadline: int,
    step: int,
    sharing: bool,
    plot: Path | None,
    save: Path | None,
    as_json: bool,
) -> None:
    """Decide which running jobs are killed or checkpointed to free nodes, at the least loss.

    SCENARIO is a JSON file of running jobs, or theta-scenario[:key=value,...], which draws one. Idle nodes are used
    first. Shown are the deadlines at which the answer changes, and who gives way at the one that is asked for; --json
    has both. A loss is the work in node-hours since the last application checkpoint.

    If the machine has too few nodes, that is said and the exit code is 1.
    """
    if plot is not None and plot.suffix.lower() not in _SUFFIXES:
        raise InputError(f"--plot {plot}: expected a file name that ends in {' or '.join(_SUFFIXES)}")
    if deadline // step > _MOST_STEPS:
        raise InputError(f"--step: expected at most {_MOST_STEPS:,} steps up to the deadline, got {deadline // step:,}")
    found = _load(scenario)
    query = _Query(nodes, max(nodes - found.idle, 0), deadline, step, sharing)
    if save is not None:
        write_scenario(found, save)
        say("note", f"{count(len(found.jobs), 'job')} written to {save}")
    with spinner("planning"):
        by_deadline = _decisions(found, query)
    if as_json:
        _print_json(found, query, by_deadline)
    if not by_deadline[-1].feasible:
        say("infeasible", f"{nodes:,} nodes are asked for, and the machine has {found.machine.nodes:,}")
        click.get_current_context().exit(1)
    if not as_json:
        _show(found, query, by_deadline)
    if plot is not None:
        plot.write_bytes(images(_figure(found, query, by_deadline))[plot.suffix.lower()[1:]])
        click.echo(plot, err=as_json)


def _load(scenario: str) -> Scenario:
    """Return what a SCENARIO means: an existing file, else what a generator draws."""
    path = Path(scenario)
    if not path.exists() and scenario.partition(":")[0].strip() in GENERATORS.names():
        return scenario_of(generate(scenario))
    if path.is_dir():
        raise InputError(f"{scenario}: expected a scenario file, got a directory")
    if not path.exists():
        raise InputError(f"{scenario}: no such file, and no generator of scenarios of this name (theta-scenario)")
    return read_scenario(path)


def _decisions(scenario: Scenario, query: _Query) -> list[Eviction]:
    """Return the decision for each deadline, the last one being that which is asked for."""
    if not query.sharing:
        made = plan(scenario.running(), query.needed, query.deadline, query.step)
        return [*made, made[query.deadline]]
    storage = Storage(scenario.storage.aggregate, scenario.storage.node)
    deadlines = [*range(0, query.deadline + 1, query.step), query.deadline]
    return plan_sharing(scenario.writing(), query.needed, deadlines, storage)


def _changes(by_deadline: Sequence[Eviction]) -> list[Eviction]:
    """Return the first decision of each loss and time."""
    first = {(eviction.loss, eviction.checkpoint_time): eviction for eviction in reversed(by_deadline)}
    return list(first.values())[::-1]


def _show(scenario: Scenario, query: _Query, by_deadline: Sequence[Eviction]) -> None:
    out = console()
    busy = f"{count(len(scenario.jobs), 'job')} on {scenario.machine.nodes - scenario.idle:,} nodes"
    out.print(Text(f"{query.nodes:,} nodes within {clock(query.deadline)}", style="bold"))
    out.print(f"{busy}, {scenario.idle:,} idle; {query.needed:,} to be freed")
    out.print()
    out.print(_tradeoff(_changes(by_deadline)))
    out.print()
    out.print(_actions(scenario, by_deadline[-1]))


def _tradeoff(changes: Sequence[Eviction]) -> Table:
    table = Table("deadline from", "loss (node-hours)", "checkpoints take", "killed", "checkpointed", "freed")
    for column in table.columns:
        column.justify = "right"
    for eviction in changes:
        killed = sum(action == "kill" for action in eviction.actions.values())
        numbers = (killed, len(eviction.actions) - killed, eviction.freed)
        row = (
            clock(eviction.deadline),
            f"{eviction.loss:,.1f}",
            clock(eviction.checkpoint_time),
            *(f"{each:,}" for each in numbers),
        )
        table.add_row(*row)
    return table


def _actions(scenario: Scenario, decision: Eviction) -> Table | str:
    if not decision.actions:
        return "nobody has to give way"
    table = Table("job", "nodes", "gives way by", "loss (node-hours)", "takes")
    for column in (1, 3, 4):
        table.columns[column].justify = "right"
    for job in scenario.running():
        action = decision.actions.get(job.id)
        if action is None:
            continue
        loss = f"{float(job.loss):,.1f}" if action == "kill" else "0.0"
        time = {"system": job.system_checkpoint, "application": job.application_checkpoint}.get(action) or 0
        table.add_row(Text(job.id), f"{job.nodes:,}", _DOES[action], loss, clock(time))
    return table


def _print_json(scenario: Scenario, query: _Query, by_deadline: Sequence[Eviction]) -> None:
    print_json(
        {
            "machine_nodes": scenario.machine.nodes,
            "idle": scenario.idle,
            "nodes": query.nodes,
            "freed_at_least": query.needed,
            "deadline_s": query.deadline,
            "decision": _fields(by_deadline[-1]),
            "by_deadline": [_fields(eviction) for eviction in _changes(by_deadline)],
        }
    )


def _fields(decision: Eviction) -> dict[str, Any]:
    return {"feasible": decision.feasible, **asdict(decision)}


def _figure(scenario: Scenario, query: _Query, by_deadline: Sequence[Eviction]) -> Figure:
    """Return the loss by deadline, of the plan and of the greedy approach."""
    jobs = scenario.running()
    curves = {"least loss": [eviction.loss for eviction in by_deadline[:-1]]}
    deadlines = [eviction.deadline for eviction in by_deadline[:-1]]
    if not query.sharing:
        curves["greedy"] = [greedy(jobs, query.needed, deadline, query.step).loss for deadline in deadlines]
    data = pd.DataFrame(
        [
            {"contender": name, "deadline": deadline / 60, "loss": loss}
            for name, losses in curves.items()
            for deadline, loss in zip(deadlines, losses, strict=True)
        ]
    )
    order = tuple(curves)
    labels = ("deadline (min)", "loss (node-hours)")
    return Figure("evict", "steps", "", "", data, "deadline", "loss", *labels, order=order)
