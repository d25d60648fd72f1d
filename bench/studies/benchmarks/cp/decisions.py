"""CPU time and budget of all decisions while a full queue drains on heterogeneous nodes."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from .....simulation import simulate
from ....reports.tables import Table
from ..decision_clock import Clocked
from .on_nodes import EURORA, eurora_like
from .on_traces import TIMED, WITHOUT_SOLVER

#: Jobs in the queue at first.
QUEUE = 100
#: Requirements on the decisions of the paper's model on 64 nodes, CPU seconds. They hold for the median, 99 of 100, and
#: all.
REQUIRED = (0.5, 2.0, 16.0)
#: A seed that no measured workload has, for the warm-up.
_WARM_UP = 1_000_004


def decisions(dispatchers: Sequence[str], queued: Sequence[int], seeds: int, say: Callable[[str], None]) -> Table:
    """Return the time of planned decisions, and the makers of their schedules."""
    rows = []
    for dispatcher in dispatchers:
        simulate(eurora_like(10, _WARM_UP), dispatcher)
        for many in queued:
            frames = []
            for seed in range(seeds):
                say(f"decisions, {dispatcher}, {many} queued, seed {seed}")
                clocked = Clocked(dispatcher)
                result = simulate(eurora_like(many, seed), clocked, seed=seed)
                frames.append(result.decisions.assign(ms=clocked.ms()))
            rows.append(_row(dispatcher, many, frames))
    columns = (
        "dispatcher",
        "queued",
        "planned decisions",
        "median, s",
        "99 of 100, s",
        "max, s",
        "proved, %",
        "by list, %",
        "by search, %",
        "by CP-SAT, %",
        "over budget",
    )
    note = (
        f"{TIMED}\nA queue that fills in one instant, and all decisions until it is empty. Planned: not all candidates "
        "start, and the state has changed. Over budget: decisions that followed the best schedule that they had. "
        "Required of the paper's model: median {}, 99 of 100 {}, max {} s.".format(*REQUIRED)
    )
    return Table(
        f"Time of decisions on {EURORA} nodes with GPUs or MICs, {seeds} workloads a row", columns, rows, 2, note=note
    )


def _row(dispatcher: str, queued: int, frames: Sequence[pd.DataFrame]) -> list[str]:
    table = pd.concat(frames)
    planned = table[~table["status"].isin(WITHOUT_SOLVER)]
    seconds = planned["ms"].to_numpy() / 1000
    makers = [f"{100 * (planned['used'] == maker).mean():.0f}" for maker in ("list", "local search", "cp-sat")]
    return [
        dispatcher,
        str(queued),
        str(len(planned)),
        f"{np.median(seconds):.3f}",
        f"{np.percentile(seconds, 99):.3f}",
        f"{seconds.max():.3f}",
        f"{100 * planned['proved'].mean():.0f}",
        *makers,
        str(sum(int(each["exceeded"].max()) for each in frames)),
    ]
