"""Generate a load like Theta's, with on-demand jobs that evict batch jobs, over a month."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...base import LONGEST, IntArray, check_number, check_whole
from ...base.checks import IN_MEMORY, MOST_NODES
from ..job import Checkpoint, ResourceMap
from ..job_columns import Coded, JobColumns
from ..machine import Machine
from ..workload import Workload
from .eviction_scenarios import CORES, SMALLEST, THETA_NODES, draw_checkpoints
from .generator import generator, provenance_of
from .lublin import ROUND_TIMES

DAY = 86400
#: Bounds of the options: years, loads far above any capacity, an on-demand job every ten seconds.
MOST_DAYS = 3660
MOST_LOAD = 100
MOST_RATE = 8640
#: Frequency of each doubling of a partition over the one before.
RARER = 0.42
#: Share of the jobs under half an hour, and the bounds of the run times, seconds.
SHORT, RUNTIMES = 0.61, (60, 1800, 12 * 3600)
#: Nodes and run times of on-demand jobs, seconds.
URGENT_NODES = (512, 1024, 2048)
URGENT_RUNTIMES = (300, 3600)
_NODE = ResourceMap(core=CORES)
_USERS = 60
_BLOCK = 256


@generator("theta")
def theta(
    *,
    days: int = 30,
    nodes: int = THETA_NODES,
    load: float = 0.95,
    rate: float = 4.0,
    deadline: int = 900,
    checkpoints: bool = True,
    seed: int = 0,
) -> Workload:
    """Draw batch jobs as on Theta, near its capacity, and on-demand jobs among them.

    The facts on Theta are from Maurya, Nicolae, Guliani and Rafique, DS-RT 2020, section IV. It has 4,392 nodes, and is
    mostly close to full. Of its jobs, 61% are under 30 minutes. Application checkpoints are hourly. A job uses 40-90%
    of its memory, and an application checkpoint has 20-60% of that. The rest is ours:

    * Partitions are 128 nodes and up in powers of two, each doubling 0.42 times as frequent. Run times are log-uniform
      from 1 to 30 minutes and from 30 minutes to 12 hours. Walltimes are round, up to about 3 times the run time.
    * Batch jobs arrive at random at a constant rate. On-demand jobs arrive as a Poisson process, on 512, 1,024 or 2,048
      nodes, for 5 to 60 minutes. Their walltime is an hour.

    Parameters
    ----------
    days
        Length of the time in which jobs arrive, at least 1.
    nodes
        Of the machine, at least 128. No job has more.
    load
        Offered load of batch and on-demand jobs together. It is their node-seconds over `nodes` times the days.
    rate
        On-demand jobs per day on average, at least 0; 0 for none.
    deadline
        Seconds within which an on-demand job should start.
    checkpoints
        Whether batch jobs can be checkpointed.
    seed
        Of the random numbers.

    Examples
    --------
    >>> from hpcdispatch.workloads import theta
    >>> workload = theta(days=1, nodes=512, seed=1)
    >>> sorted({job.kind for job in workload.jobs})
    ['batch', 'on-demand']
    """
    check_whole("days", days, 1, MOST_DAYS, IN_MEMORY)
    check_whole("nodes", nodes, SMALLEST, MOST_NODES)
    check_whole("deadline", deadline, 0, LONGEST)
    check_whole("seed", seed, 0)
    check_number("load", load, above=0, most=MOST_LOAD)
    check_number("rate", rate, least=0, most=MOST_RATE)
    rng = np.random.default_rng(seed)
    urgent = _urgent(rng, days, nodes, rate)
    batch = _batch(rng, days, nodes, load * nodes * days * DAY - float((urgent["runtime"] * urgent["nodes"]).sum()))
    saves = draw_checkpoints(rng, len(batch)) if checkpoints else []
    options = {
        "days": days,
        "nodes": nodes,
        "load": load,
        "rate": rate,
        "deadline": deadline,
        "checkpoints": checkpoints,
        "seed": seed,
    }
    machine = Machine.homogeneous(nodes, core=CORES, name="Theta-like")
    return Workload(_together(batch, urgent, saves, deadline), machine, provenance_of("theta", options))


def _drawn(
    rng: np.random.Generator, days: int, runtime: IntArray, walltime: IntArray, nodes: IntArray, user: Any
) -> pd.DataFrame:
    """Return jobs of one kind, with submissions uniform over the days."""
    submit = rng.integers(0, days * DAY, len(runtime))
    return pd.DataFrame({"submit": submit, "runtime": runtime, "walltime": walltime, "nodes": nodes, "user": user})


def _urgent(rng: np.random.Generator, days: int, nodes: int, rate: float) -> pd.DataFrame:
    """Draw the on-demand jobs. On a smaller machine they use at most half of it."""
    count = int(rng.poisson(rate * days))
    runtime = _log_uniform(rng, np.full(count, URGENT_RUNTIMES[0]), np.full(count, URGENT_RUNTIMES[1]))
    sizes = np.minimum(rng.choice(URGENT_NODES, count), nodes // 2)
    return _drawn(rng, days, runtime, np.full(count, URGENT_RUNTIMES[1]), sizes, 0)


def _batch(rng: np.random.Generator, days: int, nodes: int, work: float) -> pd.DataFrame:
    """Draw batch jobs until their work is at least `work`, node-seconds; at least one."""
    sizes: list[IntArray] = []
    runtimes: list[IntArray] = []
    done = 0.0
    while done < work or not sizes:
        size = _sizes(rng, nodes)
        runtime = _runtimes(rng)
        sizes.append(size)
        runtimes.append(runtime)
        done += float((size * runtime).sum())
    size = np.concatenate(sizes)
    runtime = np.concatenate(runtimes)
    count = min(int(np.searchsorted(np.cumsum(size * runtime), work)) + 1, len(size))
    size, runtime = size[:count], runtime[:count]
    asked = runtime / rng.uniform(1 / 3, 1, count)
    walltime = ROUND_TIMES[np.searchsorted(ROUND_TIMES, asked)]
    user = 1 + np.minimum(rng.geometric(0.06, count), _USERS)
    return _drawn(rng, days, runtime, walltime, size, user)


def _sizes(rng: np.random.Generator, nodes: int) -> IntArray:
    sizes = SMALLEST * 2 ** np.arange(int(np.log2(nodes / SMALLEST)) + 1)
    weight = RARER ** np.arange(len(sizes))
    return np.asarray(rng.choice(sizes, _BLOCK, p=weight / weight.sum()), dtype=np.int64)


def _runtimes(rng: np.random.Generator) -> IntArray:
    least, half, most = RUNTIMES
    short = rng.random(_BLOCK) < SHORT
    return _log_uniform(rng, np.where(short, least, half), np.where(short, half, most))


def _log_uniform(rng: np.random.Generator, low: IntArray, high: IntArray) -> IntArray:
    """Draw whole numbers from `low` to below `high`."""
    return np.exp(rng.uniform(np.log(low), np.log(high))).astype(np.int64)


def _together(batch: pd.DataFrame, urgent: pd.DataFrame, saves: Sequence[Checkpoint], deadline: int) -> JobColumns:
    """Return batch jobs and on-demand jobs in order of submission. In a tie, batch jobs are first."""
    jobs = pd.concat([batch, urgent], ignore_index=True).sort_values("submit", kind="stable")
    place = jobs.index.to_numpy()
    on_demand = (place >= len(batch)).astype(np.int32)
    return JobColumns.made(
        np.arange(1, len(jobs) + 1),
        **{name: jobs[name].to_numpy() for name in ("submit", "runtime", "walltime", "nodes")},
        per_node=Coded.same(_NODE, len(jobs)),
        user=Coded.of(jobs["user"]),
        kind=Coded(on_demand, ["batch", "on-demand"]),
        checkpoint=Coded(np.where(place < len(saves), place + 1, 0), [None, *saves]),
        deadline=Coded(on_demand, [None, deadline]),
    )
