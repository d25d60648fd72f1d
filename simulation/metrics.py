"""The metrics of a result, with names and definitions of the field (Feitelson, JSSPP 2001)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base import InputError, IntArray, Registry, shown
from ..base.argument_types import names_wrong_types
from .group_metrics import group_metrics
from .trimming import Cut, steady_state

Floats = NDArray[np.float64]
#: Further metrics: functions of :class:`Records` that return numbers by their names.
metrics = Registry("metric", "hpcdispatch.metrics")

#: Bounded slowdown counts shorter run times as this long, seconds.
BOUND = 10
#: Run-time classes: name, least and largest run time, seconds. Half-open, except that 5 h itself is medium.
CLASSES = (("short", 0, 3600), ("medium", 3600, 18001), ("long", 18001, np.inf))
#: Jobs of at most 2**-NARROWEST of the machine form one class.
NARROWEST = 10
#: Entries of the summary for the whole simulation.
_OF_ALL = ("occupancy", "efficiency", "lost", "makespan", "fragmentation")
#: Entries of the whole simulation that only some results have, as they need power, a signal or failures.
OF_ATTEMPTS = (
    "energy_kwh",
    "power_peak_kw",
    "power_mean_kw",
    "energy_wh_per_core_hour",
    "emissions_kg",
    "energy_cost",
    "node_failures",
    "lost_core_hours",
)


@dataclass(frozen=True)
class Records:
    """The tables from which metrics are computed; :class:`~.result.Result` has their columns.

    Attributes
    ----------
    jobs, attempts, decisions
        One row per job, attempt and decision.
    timings
        Measured times.
    manifest
        The settings that determine the records.
    """

    jobs: pd.DataFrame
    attempts: pd.DataFrame
    decisions: pd.DataFrame
    timings: pd.DataFrame
    manifest: dict[str, Any]


@names_wrong_types
def job_metrics(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return ``wait, turnaround, slowdown, bounded_slowdown, run`` of every job that ran to an end.

    Run is the useful run time r. Turnaround T = end - eligible is the time since the job entered the queue. For a job
    of one attempt it is wait + r. Slowdown is T/r (for a job of 0 s: T/1 s, at least 1). Bounded slowdown is max(1, T /
    max(r, 10 s)).

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.simulation import job_metrics
    >>> from hpcdispatch.testing import tiny
    >>> job_metrics(hd.simulate(tiny(), "easy").jobs)["bounded_slowdown"].round(2).tolist()
    [1.0, 1.0, 2.5, 1.0, 1.65]
    """
    # By columns: selecting rows would copy all of them.
    ran = (jobs["status"] != "rejected").to_numpy() & (jobs["end"] >= 0).to_numpy()
    run = jobs["run"].to_numpy(dtype=float)[ran]
    turnaround = (jobs["end"] - _eligible(jobs)).to_numpy(dtype=float)[ran]
    return pd.DataFrame(
        {
            "wait": jobs["wait"].to_numpy(dtype=float)[ran],
            "turnaround": turnaround,
            "slowdown": np.maximum(1.0, turnaround / np.maximum(run, 1.0)),
            "bounded_slowdown": bounded_slowdown(turnaround, run),
            "run": run,
        },
        index=jobs.index[ran],
        copy=False,
    )


def _eligible(jobs: pd.DataFrame) -> pd.Series[int]:
    """Return when jobs entered the queue. Old records without this column have their submissions."""
    return jobs["eligible"] if "eligible" in jobs else jobs["submit"]


def bounded_slowdown(turnaround: Floats, run: Floats) -> Floats:
    """Return max(1, T / max(r, 10 s)) of turnarounds and run times, seconds."""
    slowdown: Floats = np.maximum(1.0, turnaround / np.maximum(run, BOUND))
    return slowdown


def summarize(result: Records) -> dict[str, float]:
    """Return the flat dictionary of :meth:`.Result.summary`."""
    of_jobs = job_metrics(result.jobs)
    status = result.jobs["status"]
    summary: dict[str, float] = {"jobs": len(of_jobs)}
    for name in ("completed", "killed", "rejected"):
        summary[name] = int((status == name).sum())
    for suffix, chosen in _classes(of_jobs):
        for name in ("wait", "turnaround", "slowdown", "bounded_slowdown"):
            values = of_jobs[name].to_numpy()[chosen]
            for statistic, value in _statistics(values).items():
                summary[f"{name}_{statistic}{suffix}"] = value
        summary[f"jobs{suffix}"] = int(chosen.sum())
    kinds = result.jobs.get("kind")
    urgent = {} if kinds is None or not (kinds == "on-demand").any() else on_demand_metrics(result)
    turnaround = np.maximum(of_jobs["turnaround"].to_numpy(), 1.0)
    summary["turnaround_gmean"] = float(np.exp(np.log(turnaround).mean())) if len(turnaround) else float("nan")
    if "dropped_shapes" in result.manifest:
        summary["dropped_shapes"] = result.manifest["dropped_shapes"]
    if "failure" in result.decisions:
        summary["failures"] = int((result.decisions["failure"] != "").sum())
    summary = {**summary, **_machine_use(result), **urgent, **group_metrics(result), **_times(result)}
    for name in metrics.names():
        summary |= _plugged_in(name, result, summary)
    return summary


def without_ends(result: Records, warm_up: Cut, cool_down: Cut) -> pd.DataFrame:
    """Return the jobs between the warm-up and the cool-down.

    Raises
    ------
    InputError
        If no job is left.
    """
    return result.jobs[steady_state(result.jobs["submit"].to_numpy(), warm_up, cool_down)]


def cut_summary(result: Records, warm_up: Cut, cool_down: Cut) -> dict[str, float]:
    """Return the summary of a result without its warm-up and cool-down.

    The metrics of jobs are those of the remaining jobs. Utilization is from their first to their last submission. All
    other metrics are of the whole simulation.
    """
    whole = summarize(result)
    chosen = without_ends(result, warm_up, cool_down)
    if len(chosen) == len(result.jobs):
        return whole
    left = summarize(replace(result, jobs=chosen, attempts=result.attempts.iloc[:0]))
    kept = {name: whole[name] for name in (*_OF_ALL, *OF_ATTEMPTS) if name in whole}
    return {**left, **kept, "utilization": utilization(result, chosen)}


def utilization(result: Records, chosen: pd.DataFrame) -> float:
    """Return useful work over capacity.

    For all jobs the period is the whole run. For some jobs it is from their first to their last submission.
    """
    if len(chosen) == len(result.jobs):
        return _machine_use(result)["utilization"]
    machine = result.manifest["machine"]
    capacity = int(machine["total"][machine["resources"].index(machine["primary"])])
    return used_between(result.attempts, capacity, int(chosen["submit"].min()), int(chosen["submit"].max()))


def used_between(attempts: pd.DataFrame, capacity: int, begin: int, end: int) -> float:
    """Return useful work over capacity from `begin` to `end`. The work of an attempt is spread evenly over it."""
    if end <= begin or not capacity:
        return float("nan")
    start = attempts["start"].to_numpy()
    stop = attempts["end"].to_numpy()
    inside = np.clip(stop, begin, end) - np.clip(start, begin, end)
    useful = attempts["useful"].to_numpy() / np.maximum(stop - start, 1)
    return float((inside * useful * attempts["units"].to_numpy()).sum() / (capacity * (end - begin)))


def _plugged_in(name: str, result: Records, known: Mapping[str, float]) -> dict[str, float]:
    """Return the numbers of a registered metric, if they have new names."""
    try:
        values = dict(metrics.factory(name)(result))
        numbers = {str(key): float(value) for key, value in values.items()}
    except Exception as error:  # a third party's function may raise any error
        raise InputError(f"metric {name!r}: {type(error).__name__}: {error}") from error
    taken = sorted(known.keys() & numbers.keys())
    if taken:
        raise InputError(f"metric {name!r}: expected names of its own, got {shown(taken[0])}, which is one already")
    return numbers


def backfill_rate(result: Records) -> dict[str, float]:
    """Return ``backfill_rate``, the share of started jobs that overtook another one.

    Let e be the time a job entered the queue, and s that of its first start or its rejection. The rate is |{j : e_i <
    e_j and s_j < s_i for some i}| / |{j}| of all jobs j that started.
    """
    jobs = result.jobs
    entered = _eligible(jobs).to_numpy()
    start = jobs["start"].to_numpy()
    started = start >= 0
    left = np.where(started, start, jobs["end"].to_numpy())
    if not started.any():
        return {"backfill_rate": float("nan")}
    order = np.argsort(entered, kind="stable")
    latest = np.maximum.accumulate(left[order])
    before = np.searchsorted(entered[order], entered)  # Number of earlier entries.
    overtaken = np.where(before > 0, latest[np.maximum(before - 1, 0)], -1) > left
    return {"backfill_rate": float(overtaken[started].mean())}


def user_fairness(result: Records) -> dict[str, float]:
    """Return how evenly users are served; empty if no user is known.

    Let x_u be the mean bounded slowdown of the jobs of user u that ran to an end. ``users`` is the number of users.
    ``user_slowdown_mean`` and ``_max`` are of x. ``jain_index`` is (sum of x)^2 / (users * sum of x^2). It is 1 if all
    are equal, and 1 / users at worst. Source: Jain, Chiu and Hawe, DEC-TR-301, 1984.
    """
    slowdown = job_metrics(result.jobs)["bounded_slowdown"]
    user = result.jobs["user"].astype(str).loc[slowdown.index]
    of_users = slowdown[user != ""].groupby(user[user != ""]).mean().to_numpy()
    if not len(of_users):
        return {}
    jain = of_users.sum() ** 2 / (len(of_users) * (of_users**2).sum())
    named = {"user_slowdown_mean": of_users.mean(), "user_slowdown_max": of_users.max(), "jain_index": jain}
    return {"users": len(of_users), **named}


def workflow_makespans(result: Records) -> dict[str, float]:
    """Return the makespans of workflows: jobs connected by dependencies. Empty if there are none.

    The makespan of a workflow is its last end minus its first submission, seconds. The keys are ``workflow_makespan``
    with ``_mean, _median, _p95, _p99, _max``. ``workflows`` counts those whose jobs all ran to an end, and
    ``workflows_broken`` the others.
    """
    jobs = result.jobs
    if "workflow" not in jobs:
        return {}
    jobs = jobs[jobs["workflow"] >= 0]
    ran = (jobs["status"] != "rejected") & (jobs["end"] >= 0)
    whole = ran.groupby(jobs["workflow"]).all()
    grouped = jobs.groupby("workflow")
    makespan = (grouped["end"].max() - grouped["submit"].min())[whole].to_numpy(dtype=float)
    makespans = {f"workflow_makespan_{name}": value for name, value in _statistics(makespan).items()}
    return {"workflows": len(makespan), "workflows_broken": int((~whole).sum()), **makespans}


def energy(result: Records) -> dict[str, float]:
    """Return energy and power; empty if the machine has no power.

    * ``energy_kwh``: (sum of watts * seconds of all attempts + idle watts * makespan) / 3.6e6.
    * ``power_peak_kw``, ``power_mean_kw``: the highest and the mean power from the first submission to the last end.
    * ``energy_wh_per_core_hour``: all energy over the useful work in the primary resource.
    """
    attempts, jobs = result.attempts, result.jobs
    if "watts" not in attempts or attempts.empty:
        return {}
    seconds = attempts["end"] - attempts["start"]
    idle = float(getattr(result, "manifest", {}).get("machine", {}).get("idle_watts", 0.0))
    span = float(attempts["end"].max() - jobs["submit"].min())
    joules = float((attempts["watts"] * seconds).sum()) + idle * span
    useful = float((attempts["useful"] * attempts["units"]).sum())
    return {
        "energy_kwh": joules / 3.6e6,
        "power_peak_kw": (idle + highest_together(attempts, attempts["watts"])) / 1000,
        "power_mean_kw": joules / span / 1000 if span else float("nan"),
        "energy_wh_per_core_hour": joules / useful if useful else float("nan"),
    }


def highest_together(attempts: pd.DataFrame, amounts: pd.Series[float]) -> float:
    """Return the highest sum of an amount of attempts that run at one time. At an instant, ends come first."""
    ran = (attempts["end"] > attempts["start"]).to_numpy()
    amount = amounts.to_numpy(dtype=float)[ran]
    times = np.concatenate([attempts["end"].to_numpy()[ran], attempts["start"].to_numpy()[ran]])
    order = np.argsort(times, kind="stable")
    return float(np.cumsum(np.concatenate([-amount, amount])[order]).max(initial=0.0))


def signal_totals(result: Records) -> dict[str, float]:
    """Return ``emissions_kg`` or ``energy_cost`` of all attempts and of the idle machine; empty without a signal.

    ``put_off_mean`` is what jobs were put off by for a better hour, seconds: entry into the queue minus submission.
    """
    given = getattr(result, "manifest", {}).get("signal")
    if given is None:
        return {}
    total = float(result.attempts[given["column"]].sum()) + given["idle"]
    return {given["column"]: total, "put_off_mean": float((_eligible(result.jobs) - result.jobs["submit"]).mean())}


def failure_losses(result: Records) -> dict[str, float]:
    """Return what failures of nodes have cost; empty if no node could fail.

    ``node_failures`` counts the attempts that a failed node ended. ``lost_core_hours`` are the hours of work of these
    attempts that did not count, times their units of the primary resource.
    """
    lost = lost_to_failures(result.attempts) if "outcome" in result.attempts else pd.Series(dtype=float)
    if lost.empty and "failures" not in getattr(result, "manifest", {}):
        return {}
    return {"node_failures": len(lost), "lost_core_hours": float(lost.sum()) / 3600}


def lost_to_failures(attempts: pd.DataFrame) -> pd.Series[float]:
    """Return the unit-seconds of work that did not count, of each attempt that a failed node ended."""
    failed = attempts[attempts["outcome"] == "node-fail"]
    return (failed["end"] - failed["start"] - failed["useful"]) * failed["units"]


def on_demand_metrics(result: Records) -> dict[str, float]:
    """Return the waits of on-demand jobs, and the cost for the batch jobs.

    The delay of an on-demand job is its first start - submit. The job is missed if the delay is above its deadline, or
    if it never started. The lost node-hours (of node slots) are those of batch jobs that did not count. They include
    the writing of checkpoints.
    """
    jobs, attempts = result.jobs, result.attempts
    urgent = jobs[jobs["kind"] == "on-demand"]
    batch = jobs[jobs["kind"] == "batch"]
    started = urgent["start"] >= 0
    delay = (urgent["start"] - _eligible(urgent)).to_numpy(dtype=float)
    due = urgent["deadline"].to_numpy()
    missed = int(((due >= 0) & (~started.to_numpy() | (delay > due))).sum())
    stays = attempts[attempts["id"].isin(set(batch["id"]))]
    outcome = stays["outcome"]
    lost = (stays["end"] - stays["start"] - stays["useful"]) * stays["nodes"] / 3600
    numbers: dict[str, float] = {"on_demand_jobs": len(urgent)}
    numbers |= {f"delay_{name}": value for name, value in _statistics(delay[started]).items()}
    numbers |= {"missed": missed, "missed_share": missed / int((due >= 0).sum()) if (due >= 0).any() else float("nan")}
    numbers |= {"evictions_killed": int((outcome == "killed").sum())}
    numbers |= {"evictions_checkpointed": int((outcome == "checkpointed").sum()), "lost_node_hours": float(lost.sum())}
    numbers |= {"lost_node_hours_killed": float(lost[outcome == "killed"].sum())}
    metrics = job_metrics(batch)
    for name in ("wait", "turnaround", "slowdown", "bounded_slowdown"):
        values = _statistics(metrics[name].to_numpy())
        numbers |= {f"batch_{name}_{statistic}": value for statistic, value in values.items()}
    return numbers


def _classes(metrics: pd.DataFrame) -> list[tuple[str, NDArray[np.bool_]]]:
    run = metrics["run"].to_numpy()
    everything = np.ones(len(run), dtype=bool)
    return [("", everything)] + [(f"_{name}", (run >= low) & (run < high)) for name, low, high in CLASSES]


def _statistics(values: Floats) -> dict[str, float]:
    if not len(values):
        values = np.array([np.nan])
    p95, p99 = np.percentile(values, (95, 99)).tolist()
    return {
        "mean": float(values.mean()),
        "median": float(np.median(values)),
        "p95": p95,
        "p99": p99,
        "max": float(values.max()),
    }


def _machine_use(result: Records) -> dict[str, float]:
    attempts = result.attempts
    machine = result.manifest["machine"]
    capacity = machine["total"][machine["resources"].index(machine["primary"])]
    started = result.jobs["submit"].to_numpy()[(result.jobs["attempts"] > 0).to_numpy()]
    begin = result.manifest.get("state", {}).get("at")
    span = int(attempts["end"].max() - (started.min() if begin is None else begin)) if len(attempts) else 0
    units = attempts["units"].to_numpy()
    before = 0 if begin is None else np.maximum(begin - attempts["start"].to_numpy(), 0)
    used = int((((attempts["end"] - attempts["start"]).to_numpy() - before) * units).sum())
    useful = int((np.maximum(attempts["useful"].to_numpy() - before, 0) * units).sum())
    available = float(capacity * span)
    return {
        "utilization": useful / available if available else float("nan"),
        "occupancy": used / available if available else float("nan"),
        "efficiency": _sequential_work(result.jobs) / used if used else float("nan"),
        "lost": used - useful,
        "makespan": span,
    }


def _sequential_work(jobs: pd.DataFrame) -> float:
    """Return the sequential work of the completed jobs; NaN for old records without this column."""
    if "sequential_work" not in jobs:
        return float("nan")
    return float(jobs["sequential_work"].to_numpy()[(jobs["status"] == "completed").to_numpy()].sum())


def _times(result: Records) -> dict[str, float]:
    timings = result.timings
    seconds = timings["seconds"].to_numpy()
    what = timings["what"]
    decisions = seconds[(what == "decision").to_numpy()] * 1e3
    nothing = not len(decisions)
    return {
        "decisions": len(decisions),
        "decision_ms_mean": 0.0 if nothing else float(decisions.mean()),
        "decision_ms_p95": 0.0 if nothing else float(np.percentile(decisions, 95)),
        "decision_ms_max": 0.0 if nothing else float(decisions.max()),
        "prediction_s": float(seconds[(what == "prediction").to_numpy()].sum()),
        "simulation_s": float(seconds[(what == "simulation").to_numpy()].sum()),
    }


def width_class(units: IntArray, capacity: int) -> IntArray:
    """Return k for jobs with more than 2**-(k+1) and at most 2**-k of the primary resource.

    The largest k is :data:`NARROWEST`. It includes narrower jobs and jobs without this resource.
    """
    share = capacity / np.maximum(units, 1)
    exponent = np.frexp(share)[1].astype(np.int64) - 1
    return np.where(units > 0, np.clip(exponent, 0, NARROWEST), NARROWEST)


def width_name(exponent: int) -> str:
    """Return the name of a width class."""
    if exponent == NARROWEST:
        return f"up to 1/{2**NARROWEST}"
    return f"1/{2 ** (exponent + 1)} to {'1' if exponent == 0 else f'1/{2**exponent}'}"
