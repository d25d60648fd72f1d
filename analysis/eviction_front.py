"""The trade-off of an eviction: how many nodes, how soon, at what loss (Maurya et al., DS-RT 2020, section III.C)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ..models.eviction import Eviction, plan, plan_sharing
from .eviction_scenario import Scenario

#: Into how many parts the nodes and the time are divided.
_PARTS = 8


def eviction_front(
    scenario: Scenario, nodes: int, deadline: int, step: int = 1, *, sharing: bool = False
) -> pd.DataFrame:
    """Return the least loss of freeing eighths of some nodes within eighths of some time.

    All of it is read off one plan; with `sharing` it is solved anew for each number of nodes. Idle nodes count as free.

    Parameters
    ----------
    scenario
        What runs.
    nodes, deadline
        The most nodes, at least 1, and the longest time, seconds.
    step, sharing
        As for the plan: its resolution, seconds, and whether checkpoints are written side by side.

    Returns
    -------
    DataFrame
        A row each: ``nodes``; ``deadline``, s; ``loss``, node-hours, infinite where there are too few nodes;
        ``checkpoint_time``, s; ``killed``, ``checkpointed`` and ``ended``, numbers of jobs.
    """
    asked = sorted({-(-nodes * part // _PARTS) for part in range(1, _PARTS + 1)})
    deadlines = sorted({deadline * part // _PARTS // step * step for part in range(_PARTS + 1)} | {deadline})
    needed = [max(0, each - scenario.idle) for each in asked]
    found: list[list[Eviction]]
    if sharing:
        found = [plan_sharing(scenario.writing(), each, deadlines, scenario.bandwidth) for each in needed]
    else:
        made = plan(scenario.running(), needed[-1], deadline, step)
        found = [[made.for_nodes(each)[end] for end in deadlines] for each in needed]
    rows = [
        (count, end, eviction.loss, eviction.checkpoint_time, *_numbers(eviction))
        for count, evictions in zip(asked, found, strict=True)
        for end, eviction in zip(deadlines, evictions, strict=True)
    ]
    columns = ["nodes", "deadline", "loss", "checkpoint_time", "killed", "checkpointed", "ended"]
    return pd.DataFrame(rows, columns=columns)


def _numbers(eviction: Eviction) -> Sequence[int]:
    """Return how many jobs are killed, checkpointed, and left to end."""
    actions = list(eviction.actions.values())
    killed, ended = actions.count("kill"), actions.count("end")
    return killed, len(actions) - killed - ended, ended
