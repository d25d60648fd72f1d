"""``hpcdispatch evict``: decide which jobs to evict for an on-demand job, by deadline."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

import click
import numpy as np
import pandas as pd
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ...analysis import (
    Scenario,
    eviction_front,
    read_scenario,
    recorded_starts,
    scenario_at,
    scenario_of,
    write_scenario,
)
from ...base import InputError, write_whole
from ...bench.reports.figures import Figure
from ...bench.reports.number_formats import NOTHING, count
from ...bench.reports.static_figures import images
from ...bench.reports.tables import terminal_table
from ...bench.reports.verdict import change
from ...models.eviction import Eviction, cost, greedy_by_deadline, plan, plan_sharing
from ...workloads import GENERATORS, generate
from ..app import settings, subcommand
from ..command_errors import say
from ..durations import Duration, DurationWithUnit, Whole
from ..output import exact, finish, headed
from ..parameters import argument, option
from ..progress import spinner
from ..shared_options import ReadingOptions, check_writable, seed_option
from ..trace_argument import load, resolve

_MOST_STEPS = 10_000
#: Losses are on a logarithmic scale if the largest is at least this many times the least above 0.
_WIDE = 20
_DOES = {
    "kill": "kill",
    "system": "system checkpoint",
    "application": "application checkpoint",
    "end": "its own end",
}


@dataclass(frozen=True, slots=True)
class _Query:
    """The query: nodes, the nodes to free, and times in seconds."""

    nodes: int
    needed: int
    deadline: int
    step: int
    sharing: bool


@subcommand(
    "evict",
    "hpcdispatch evict theta-scenario:jobs=16,seed=1 --nodes 512 --deadline 15m",
    "hpcdispatch evict theta-scenario:jobs=16,seed=1 --nodes 512 --deadline 15m --save scenario.json",
    "hpcdispatch evict scenario.json --nodes 1024 --deadline 10m --plot loss.png",
    "hpcdispatch evict scenario.json --nodes 1024 --deadline 10m --front --plot front.png",
)
def command(
    scenario: Annotated[str, argument("SCENARIO")],
    nodes: Annotated[int, option("Nodes that are needed.", "K", Whole(1), group="Decision")],
    deadline: Annotated[int, option("By when, as in 15m.", "TIME", DurationWithUnit())],
    step: Annotated[
        int,
        option(
            "Resolution of the deadlines; times of checkpoints are rounded up to it.", "TIME", Duration(1), default="1s"
        ),
    ],
    at: Annotated[int | None, option("Take what ran then, from the first start of a trace.", "TIME")],
    seed: Annotated[int, seed_option("With --at: of the checkpoints that are drawn.")],
    sharing: Annotated[bool, option("Write checkpoints side by side instead of one after another.")],
    front: Annotated[bool, option("Show the loss for eighths of the nodes and of the time instead.", group="Results")],
    plot: Annotated[Path | None, option("Draw the loss by deadline, .png or .svg.")],
    save: Annotated[Path | None, option("Write the scenario as JSON.")],
) -> None:
    """Decide which running jobs to kill or checkpoint to free nodes, at the least loss.

    SCENARIO is a JSON file of running jobs, or theta-scenario[:key=value,...] for a random one. With --at it is a trace
    with recorded waits. Its jobs get checkpoints as in section IV.B of Maurya et al., DS-RT 2020. Idle nodes are used
    first. The output has the deadlines at which the answer changes, and the evicted jobs at the given deadline; --json
    has both. A loss is the work in node-hours since the last application checkpoint, plus the restart.

    If the machine has too few nodes, a message says so and the exit code is 1.
    """
    check_writable(plot, "--plot", ("png", "svg"))
    if deadline // step > _MOST_STEPS:
        raise InputError(f"--step: expected at most {_MOST_STEPS:,} steps up to the deadline, got {deadline // step:,}")
    if at is None:
        situation = _load(scenario)
    else:
        workload = load(resolve(scenario), ReadingOptions())
        situation = scenario_at(workload, int(recorded_starts(workload).min()) + at, seed)
    query = _Query(nodes, max(nodes - situation.idle, 0), deadline, step, sharing)
    if save is not None:
        write_scenario(situation, save)
        say("note", f"{count(len(situation.jobs), 'job')} written to {save}")
    if front:
        _front(situation, query, plot)
        return
    with spinner("planning"):
        # One decision per deadline. The last one is that of the given deadline.
        if sharing:
            deadlines = [*range(0, deadline + 1, step), deadline]
            by_deadline = plan_sharing(situation.writing(), query.needed, deadlines, situation.bandwidth)
        else:
            made = plan(situation.running(), query.needed, deadline, step)
            by_deadline = [*made, made[deadline]]
    last = by_deadline[-1]
    fields = {
        "machine_nodes": situation.machine.nodes,
        "idle": situation.idle,
        "nodes": nodes,
        "freed_at_least": query.needed,
        "deadline_s": deadline,
        "decision": _fields(last),
        "by_deadline": [_fields(eviction) for eviction in _changes(by_deadline)],
    }
    if not last.feasible:
        _infeasible(situation, nodes, fields)
    finish(_answer(situation, query, last), fields, *_shown(situation, query, by_deadline))
    if plot is not None:
        _draw(_figure(situation, query, by_deadline), plot)


def _infeasible(scenario: Scenario, nodes: int, fields: dict[str, Any]) -> NoReturn:
    """Report that the machine has too few nodes, and end."""
    told = f"{nodes:,} nodes are needed, and the machine has {scenario.machine.nodes:,}"
    if settings().json:
        finish(f"{told}.", fields)
    say("infeasible", told)
    click.get_current_context().exit(1)


def _answer(scenario: Scenario, query: _Query, decision: Eviction) -> str:
    """Return the number of evicted jobs, and their loss against the greedy choice."""
    ends = f"{query.nodes:,} nodes are free within {exact(query.deadline)}"
    gone = sum(action != "end" for action in decision.actions.values())
    if not gone:
        return f"{ends} without a loss: no job has to give way."
    text = f"{ends} at a loss of {decision.loss:,.1f} node-hours, from {count(gone, 'job')}"
    if query.sharing:
        return f"{text}."
    (greedy,) = greedy_by_deadline(scenario.running(), query.needed, [query.deadline], query.step)
    if not greedy.loss:
        return f"{text}."
    told = change(decision.loss / greedy.loss)
    return f"{text}: {told} {'as' if told == 'the same' else 'than'} the greedy choice loses (exact, no sampling)."


def _draw(figure: Figure, plot: Path) -> None:
    kind = plot.suffix.lower()[1:]
    write_whole(plot, images(figure, titled=True, kinds=(kind,))[kind])
    say("note", f"drawn in {plot}")


def _front(scenario: Scenario, query: _Query, plot: Path | None) -> None:
    """Show the loss by number of nodes and deadline."""
    with spinner("planning"):
        front = eviction_front(scenario, query.nodes, query.deadline, query.step, sharing=query.sharing)
    possible = front[np.isfinite(front["loss"])]
    fields = {"idle": scenario.idle, "front": possible.to_dict("records")}
    if possible.empty:
        _infeasible(scenario, query.nodes, fields)
    least, most = (possible["loss"].iloc[at] for at in (possible["loss"].argmin(), possible["loss"].argmax()))
    answer = f"Up to {query.nodes:,} nodes within {exact(query.deadline)} cost {least:,.1f} to {most:,.1f} node-hours."
    title = Text(f"loss in node-hours, {scenario.idle:,} nodes idle", style="bold")
    finish(answer, fields, title, _grid(front))
    if plot is not None:
        named = {nodes: f"{nodes:,} nodes" for nodes in possible["nodes"].unique()[::-1]}
        data = pd.DataFrame(
            {
                "contender": possible["nodes"].map(named),
                "deadline": possible["deadline"] / 60,
                "loss": possible["loss"],
            }
        )
        title_of = "Loss by deadline, for eighths of the nodes"
        figure = Figure(
            "front", "steps", title_of, "", data, "deadline", "loss", *_scale(data), order=tuple(named.values())
        )
        _draw(figure, plot)


def _scale(data: pd.DataFrame) -> tuple[str, str, bool, bool]:
    """Return the labels of the axes, and whether x and y are logarithmic. Y is if small losses would be invisible."""
    losses = data["loss"][data["loss"] > 0]
    wide = bool(len(losses) and losses.max() > _WIDE * losses.min())
    return "deadline (min)", "loss (node-hours, logarithmic)" if wide else "loss (node-hours)", False, wide


def _grid(front: pd.DataFrame) -> Table:
    """Return a row for each number of nodes and a column for each deadline."""
    wide = front.pivot(index="nodes", columns="deadline", values="loss")
    table = terminal_table(["nodes", *(exact(int(deadline)) for deadline in wide.columns)])
    for nodes, losses in zip(wide.index, wide.to_numpy(), strict=True):
        table.add_row(f"{nodes:,}", *(f"{loss:,.1f}" if np.isfinite(loss) else NOTHING for loss in losses))
    return table


def _load(scenario: str) -> Scenario:
    """Return the scenario of SCENARIO: an existing file, else one of a generator."""
    path = Path(scenario)
    if not path.exists() and scenario.partition(":")[0].strip() in GENERATORS.names():
        return scenario_of(generate(scenario))
    if path.is_dir():
        raise InputError(f"{scenario}: expected a scenario file, got a directory")
    if not path.exists():
        raise InputError(f"{scenario}: no such file, and no generator of scenarios of this name (theta-scenario)")
    if {suffix.lower() for suffix in path.suffixes} & {".swf", ".gz", ".sacct", ".parquet", ".jsonl"}:
        raise InputError(f"{scenario}: expected a scenario in JSON, got a trace; --at TIME takes what ran at one time")
    return read_scenario(path)


def _changes(by_deadline: Sequence[Eviction]) -> list[Eviction]:
    """Return the first decision of each loss and time."""
    first = {(eviction.loss, eviction.checkpoint_time): eviction for eviction in reversed(by_deadline)}
    return list(first.values())[::-1]


def _shown(scenario: Scenario, query: _Query, by_deadline: Sequence[Eviction]) -> list[RenderableType]:
    busy = f"{count(len(scenario.jobs), 'job')} on {scenario.machine.nodes - scenario.idle:,} nodes"
    told = f"{busy}, {scenario.idle:,} idle; {query.needed:,} to be freed\n"
    title = Text(f"{query.nodes:,} nodes within {exact(query.deadline)}", style="bold")
    shown: list[RenderableType] = [title, told, _tradeoff(_changes(by_deadline))]
    if by_deadline[-1].actions:
        shown += ["", _actions(scenario, by_deadline[-1])]
    return shown


def _tradeoff(changes: Sequence[Eviction]) -> Table:
    ended = [list(eviction.actions.values()).count("end") for eviction in changes]
    names = ["killed", "checkpointed", *(["end"] * any(ended)), "freed"]
    table = terminal_table([headed("deadline from"), "loss (node-hours)", headed("checkpoints take"), *names], 0)
    for eviction, own in zip(changes, ended, strict=True):
        actions = list(eviction.actions.values())
        killed = actions.count("kill")
        numbers = (killed, len(actions) - killed - own, *([own] * any(ended)), eviction.freed)
        times = exact(eviction.deadline), f"{eviction.loss:,.1f}", exact(eviction.checkpoint_time)
        table.add_row(*times, *(f"{each:,}" for each in numbers))
    return table


def _actions(scenario: Scenario, decision: Eviction) -> Table:
    table = terminal_table(["job", "gives way by", "nodes", "loss (node-hours)", headed("takes")], 2)
    for job in scenario.running():
        action = decision.actions.get(job.id)
        if action is None:
            continue
        loss = f"{float(cost(job, action)):,.1f}"
        times = {"system": job.system_checkpoint, "application": job.application_checkpoint, "end": job.ends}
        time = times.get(action) or 0
        table.add_row(Text(job.id), _DOES[action], f"{job.nodes:,}", loss, exact(time))
    return table


def _fields(decision: Eviction) -> dict[str, Any]:
    return {"feasible": decision.feasible, **asdict(decision)}


def _figure(scenario: Scenario, query: _Query, by_deadline: Sequence[Eviction]) -> Figure:
    """Return the loss by deadline, of the plan and of the greedy approach."""
    curves = {"least loss": by_deadline[:-1]}
    deadlines = [eviction.deadline for eviction in by_deadline[:-1]]
    if not query.sharing:
        curves["greedy"] = greedy_by_deadline(scenario.running(), query.needed, deadlines, query.step)
    rows = [
        (name, deadline / 60, eviction.loss)
        for name, evictions in curves.items()
        for deadline, eviction, before in zip(deadlines, evictions, [None, *evictions], strict=False)
        if before is None or eviction.loss != before.loss or deadline == deadlines[-1]
    ]
    data = pd.DataFrame(rows, columns=["contender", "deadline", "loss"])
    title = f"Least loss of freeing {query.needed:,} nodes, by deadline"
    return Figure("evict", "steps", title, "", data, "deadline", "loss", *_scale(data), order=tuple(curves))
