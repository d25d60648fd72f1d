"""Compiled table behind eviction plans: least loss by nodes freed and time used, and the actions.

A loss is an integer below 2**123. It is a pair (high, low) with 0 <= low < 2**62 and means high * 2**62 + low.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base import IntArray
from ..compiled import compiled

ByteArray = NDArray[np.uint8]

#: Bits of the low half of a loss, and the largest low half.
LOW_BITS = 62
LOW_MASK = (1 << LOW_BITS) - 1
#: High half of the loss of an impossible action.
NEVER = 1 << 62
#: Actions of a job in the table.
STAYS = 0
KILLED = 1
SAVED = 2


class TableJobs(NamedTuple):
    """Jobs of a table, in table order.

    Attributes
    ----------
    nodes
        Nodes that each frees, at least 1, shape (jobs,).
    high, low
        Loss of freeing its nodes in no time, by a kill or its own end, in halves. Shape (jobs,).
    save_high, save_low
        Loss of saving it, in halves, shape (jobs,).
    time
        Steps of saving it, shape (jobs,). More than the horizon if it cannot be saved.
    """

    nodes: IntArray
    high: IntArray
    low: IntArray
    save_high: IntArray
    save_low: IntArray
    time: IntArray


class LossTable(NamedTuple):
    """Result of :func:`fill`.

    Attributes
    ----------
    high, low
        Least loss of freeing at least k nodes in at most t steps, at [t, k].
    choice
        Action of each job there, four cells per byte, by job and step.
    first
        Start of each job's choices, shape (jobs + 1,).
    """

    high: IntArray
    low: IntArray
    choice: ByteArray
    first: IntArray


def places(nodes: IntArray, most: int, horizon: int) -> IntArray:
    """Return the start of each job's choices, and the number of bytes after the last."""
    bytes_each = (np.minimum(np.cumsum(nodes), most) // 4 + 1) * (horizon + 1)
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(bytes_each)])


@compiled
def fill(jobs: TableJobs, most: int, horizon: int, first: IntArray) -> LossTable:
    """Fill the table for 0 to `most` nodes and 0 to `horizon` steps.

    f(k, t) is the least loss of freeing at least k nodes in at most t steps. Job by job,

        f'(k, t) = min(f(k, t), f(max(k - nodes, 0), t) + loss, f(max(k - nodes, 0), t - time) + loss of saving).

    Time and memory grow with jobs * most * horizon. A cell takes two bits.
    """
    before = min(jobs.nodes.max(), most) if len(jobs.nodes) else 0
    high = np.full((horizon + 3, before + most + 1), NEVER, dtype=np.int64)
    low = np.zeros(high.shape, dtype=np.int64)
    row = np.arange(horizon + 1)
    spare, never = horizon + 1, horizon + 2
    high[: horizon + 2, : before + 1] = 0
    choice = np.empty(first[-1], dtype=np.uint8)
    did = np.zeros(most + 4, dtype=np.uint8)
    reach = 0
    for job in range(len(jobs.nodes)):
        nodes = min(jobs.nodes[job], most)
        reach = min(reach + nodes, most)
        size = reach // 4 + 1
        here = slice(before + 1, before + reach + 1)
        rest = slice(before + 1 - nodes, before + reach + 1 - nodes)
        for t in range(horizon, -1, -1):
            stays = row[t]
            saved = row[t - jobs.time[job]] if jobs.time[job] <= t else never
            _decide(
                high[stays, here],
                low[stays, here],
                high[stays, rest],
                low[stays, rest],
                high[saved, rest],
                low[saved, rest],
                jobs.high[job],
                jobs.low[job],
                jobs.save_high[job],
                jobs.save_low[job],
                high[spare, here],
                low[spare, here],
                did[1:],
            )
            begin = first[job] + t * size
            for cell in range(size):
                at = 4 * cell
                choice[begin + cell] = did[at] | did[at + 1] << 2 | did[at + 2] << 4 | did[at + 3] << 6
            row[t], spare = spare, stays
    return LossTable(high[row, before:], low[row, before:], choice, first)


@compiled
def _decide(
    stay_high: IntArray,
    stay_low: IntArray,
    rest_high: IntArray,
    rest_low: IntArray,
    save_high: IntArray,
    save_low: IntArray,
    loss_high: int,
    loss_low: int,
    extra_high: int,
    extra_low: int,
    best_high: IntArray,
    best_low: IntArray,
    did: ByteArray,
) -> None:
    """Set the best losses of a row, and the job's action: stay, kill or save.

    One flat loop over separate arrays compiles to vector instructions.
    """
    for k in range(len(best_high)):
        kill_low = rest_low[k] + loss_low
        kill_high = rest_high[k] + loss_high + (kill_low >> LOW_BITS)
        kill_low &= LOW_MASK
        kept_low = save_low[k] + extra_low
        kept_high = save_high[k] + extra_high + (kept_low >> LOW_BITS)
        kept_low &= LOW_MASK
        saves = (kept_high < kill_high) | ((kept_high == kill_high) & (kept_low <= kill_low))
        gone_high = kept_high if saves else kill_high
        gone_low = kept_low if saves else kill_low
        goes = (gone_high < stay_high[k]) | ((gone_high == stay_high[k]) & (gone_low < stay_low[k]))
        best_high[k] = gone_high if goes else stay_high[k]
        best_low[k] = gone_low if goes else stay_low[k]
        did[k] = np.uint8(goes) * (np.uint8(KILLED) + np.uint8(saves))


@compiled
def least_step(table: LossTable, nodes: int, step: int) -> int:
    """Return the fewest steps with the same loss as freeing `nodes` in at most `step`."""
    least = step
    while (
        least > 0
        and table.high[least - 1, nodes] == table.high[step, nodes]
        and table.low[least - 1, nodes] == table.low[step, nodes]
    ):
        least -= 1
    return least


@compiled
def trace_back(jobs: TableJobs, table: LossTable, nodes: int, step: int) -> ByteArray:
    """Return the action of each job to free `nodes` in at most `step` steps. Shape (jobs,)."""
    does = np.zeros(len(jobs.nodes), dtype=np.uint8)
    reach = np.minimum(np.cumsum(jobs.nodes), table.high.shape[1] - 1)
    for job in range(len(does) - 1, -1, -1):
        if nodes == 0:
            break
        cell = table.first[job] + step * (reach[job] // 4 + 1) + nodes // 4
        does[job] = table.choice[cell] >> (2 * (nodes % 4)) & 3
        if does[job] != STAYS:
            nodes = max(nodes - jobs.nodes[job], 0)
            step -= jobs.time[job] if does[job] == SAVED else 0
    return does


@compiled
def answer_all(jobs: TableJobs, nodes: int, last: int, horizon: int, first: IntArray) -> ByteArray:
    """Fill the table up to step `last`. Return the actions by deadline, shape (horizon + 1, jobs)."""
    table = fill(jobs, nodes, last, first)
    does = np.empty((horizon + 1, len(jobs.nodes)), dtype=np.uint8)
    for step in range(horizon + 1):
        does[step] = trace_back(jobs, table, nodes, least_step(table, nodes, min(step, last)))
    return does


def fill_wide(
    jobs: TableJobs, losses: list[int], extras: list[int], most: int, horizon: int, first: IntArray
) -> LossTable:
    """Fill the table as :func:`fill` does, for losses of any size. Ranks replace the halves.

    `losses` are those of freeing nodes in no time, `extras` those of saving.
    """
    never = sum(losses) + sum(extras) + 1
    best = np.full((horizon + 1, most + 1), never, dtype=object)
    best[:, 0] = 0
    choice = np.empty(first[-1], dtype=np.uint8)
    reach = np.minimum(np.cumsum(jobs.nodes), most)
    for job, loss in enumerate(losses):
        rest = best[:, np.maximum(np.arange(most + 1) - jobs.nodes[job], 0)]
        save = np.full_like(rest, never)
        if jobs.time[job] <= horizon:
            save[jobs.time[job] :] = np.minimum(rest[: horizon + 1 - jobs.time[job]] + extras[job], never)
        kill = rest + loss
        did = np.where(save <= kill, SAVED, KILLED)
        gain = np.minimum(save, kill)
        did = np.where(gain < best, did, STAYS).astype(np.uint8)
        best = np.minimum(best, gain)
        padded = np.zeros((horizon + 1, 4 * (reach[job] // 4 + 1)), dtype=np.uint8)
        padded[:, : reach[job] + 1] = did[:, : reach[job] + 1]
        fours = padded.reshape(horizon + 1, -1, 4)
        packed = fours[..., 0] | fours[..., 1] << 2 | fours[..., 2] << 4 | fours[..., 3] << 6
        choice[first[job] : first[job + 1]] = packed.ravel()
    order = {value: rank for rank, value in enumerate(sorted(set(best.ravel().tolist())))}
    rank = np.array([NEVER if value == never else order[value] for value in best.ravel().tolist()], dtype=np.int64)
    return LossTable(rank.reshape(best.shape), np.zeros(best.shape, dtype=np.int64), choice, first)
