"""The metrics of a result, by their names and definitions in the field (Feitelson, JSSPP 2001)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from ..base import InputError, IntArray, Registry
from ..base.checks import shown

Floats = NDArray[np.float64]
#: Further metrics: functions of :class:`Records` that return numbers by their names.
metrics = Registry("metric", "hpcdispatch.metrics")

#: Run times below which bounded slowdown counts a job as that long, seconds.
BOUND = 10
#: Run-time classes: name, least and largest run time, seconds, half-open but for 5 h itself, which is medium.
CLASSES = (("short", 0, 3600), ("medium", 3600, 18001), ("long", 18001, np.inf))
#: Jobs of at most 2**-NARROWEST of the machine are one class.
NARROWEST = 10
_RESAMPLES = 999


class Records(Protocol):
    """What metrics are worked out from: the tables of a :class:`~.result.Result`."""

    @property
    def jobs(self) -> pd.DataFrame:
        """One row a job."""
        ...

    @property
    def attempts(self) -> pd.DataFrame:
        """One row a stay on the machine."""
        ...

    @property
    def decisions(self) -> pd.DataFrame:
        """One row a decision."""
        ...

    @property
    def timings(self) -> pd.DataFrame:
        """Measured times."""
        ...

    @property
    def manifest(self) -> dict[str, Any]:
        """What determines the records."""
        ...


def job_metrics(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return ``wait, turnaround, slowdown, bounded_slowdown, run`` of every job that ran to an end.

    With run the useful run time r and turnaround T = end - eligible, the time since the job entered the queue (for a
    job of one attempt, wait + r): slowdown is T/r (of a job of 0 s: T/1 s, at least 1), bounded slowdown
    max(1, T / max(r, 10 s)).
    """
    # Column by column: many jobs as rows are a copy of everything.
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
    """Return when jobs entered the queue; at their submission in records of before that was kept."""
    return jobs["eligible"] if "eligible" in jobs else jobs["submit"]


def bounded_slowdown(turnaround: Floats, run: Floats) -> Floats:
    """Return max(1, T / max(r, 10 s)) of turnarounds and run times, seconds."""
    found: Floats = np.maximum(1.0, turnaround / np.maximum(run, BOUND))
    return found


def summarize(result: Records, confidence: float | None = None) -> dict[str, float]:
    """Return the flat dictionary of :meth:`.Result.summary`."""
    of_jobs = job_metrics(result.jobs)
    status = result.jobs["status"]
    summary: dict[str, float] = {"jobs": len(of_jobs)}
    for name in ("completed", "killed", "rejected"):
        summary[name] = int((status == name).sum())
    for suffix, chosen in _classes(of_jobs):
        for name in ("wait", "turnaround", "slowdown", "bounded_slowdown"):
            values = of_jobs[name].to_numpy()[chosen]
            for statistic, value in _statistics(values, confidence).items():
                summary[f"{name}_{statistic}{suffix}"] = value
        summary[f"jobs{suffix}"] = int(chosen.sum())
    kinds = result.jobs.get("kind")
    urgent = {} if kinds is None or not (kinds == "on-demand").any() else on_demand_metrics(result, confidence)
    turnaround = np.maximum(of_jobs["turnaround"].to_numpy(), 1.0)
    summary["turnaround_gmean"] = float(np.exp(np.log(turnaround).mean())) if len(turnaround) else float("nan")
    if "dropped_shapes" in result.manifest:
        summary["dropped_shapes"] = result.manifest["dropped_shapes"]
    if "failure" in result.decisions:
        summary["failures"] = int((result.decisions["failure"] != "").sum())
    summary = {**summary, **_machine_use(result), **urgent, **_times(result)}
    for name in metrics.names():
        summary |= _plugged_in(name, result, summary)
    return summary


def _plugged_in(name: str, result: Records, known: Mapping[str, float]) -> dict[str, float]:
    """Return what a registered metric says, if it is numbers by new names."""
    try:
        found = dict(metrics.factory(name)(result))
        numbers = {str(key): float(value) for key, value in found.items()}
    except Exception as error:  # a third party's function may raise anything
        raise InputError(f"metric {name!r}: {type(error).__name__}: {error}") from error
    taken = sorted(known.keys() & numbers.keys())
    if taken:
        raise InputError(f"metric {name!r}: expected names of its own, got {shown(taken[0])}, which is one already")
    return numbers


def backfill_rate(result: Records) -> dict[str, float]:
    """Return ``backfill_rate``, the share of started jobs that overtook another one.

    With e when a job entered the queue and s when it first started, or was rejected: |{j : e_i < e_j and s_j < s_i for
    some i}| / |{j}| of all jobs j that started.
    """
    jobs = result.jobs
    entered, start = _eligible(jobs).to_numpy(), jobs["start"].to_numpy()
    started = start >= 0
    left = np.where(started, start, jobs["end"].to_numpy())
    if not started.any():
        return {"backfill_rate": float("nan")}
    order = np.argsort(entered, kind="stable")
    latest = np.maximum.accumulate(left[order])
    before = np.searchsorted(entered[order], entered)  # How many entered earlier.
    overtaken = np.where(before > 0, latest[np.maximum(before - 1, 0)], -1) > left
    return {"backfill_rate": float(overtaken[started].mean())}


def user_fairness(result: Records) -> dict[str, float]:
    """Return how evenly users are served; nothing where no user is known.

    With x_u the mean bounded slowdown of the jobs of user u that ran to an end: ``users``, how many there are,
    ``user_slowdown_mean`` and ``_max`` of x, and ``jain_index``, (sum of x)^2 / (users * sum of x^2), which is 1 where
    all are served alike and 1 / users at worst (Jain, Chiu and Hawe, DEC-TR-301, 1984).
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
    """Return the makespans of workflows, which are jobs connected by dependencies; nothing where there are none.

    The makespan of a workflow is its last end - its first submission, seconds: ``workflow_makespan`` with ``_mean,
    _median, _p95, _p99, _max``, of the ``workflows`` all of whose jobs ran to an end; ``workflows_broken`` are others.
    """
    jobs = result.jobs
    if "workflow" not in jobs:
        return {}
    jobs = jobs[jobs["workflow"] >= 0]
    ran = (jobs["status"] != "rejected") & (jobs["end"] >= 0)
    whole = ran.groupby(jobs["workflow"]).all()
    grouped = jobs.groupby("workflow")
    makespan = (grouped["end"].max() - grouped["submit"].min())[whole].to_numpy(dtype=float)
    found = {f"workflow_makespan_{name}": value for name, value in _statistics(makespan, None).items()}
    return {"workflows": len(makespan), "workflows_broken": int((~whole).sum()), **found}


def energy(result: Records) -> dict[str, float]:
    """Return ``energy_kwh``: (sum of watts * seconds of all stays + idle watts * makespan) / 3.6e6.

    Nothing where the machine has no power.
    """
    attempts, jobs = result.attempts, result.jobs
    if "watts" not in attempts or attempts.empty:
        return {}
    held = float((attempts["watts"] * (attempts["end"] - attempts["start"])).sum())
    idle = getattr(result, "manifest", {}).get("machine", {}).get("idle_watts", 0.0)
    return {"energy_kwh": (held + idle * float(attempts["end"].max() - jobs["submit"].min())) / 3.6e6}


def on_demand_metrics(result: Records, confidence: float | None = None) -> dict[str, float]:
    """Return what on-demand jobs waited, and what the batch jobs paid for it.

    The delay of an on-demand job is its first start - submit; it is missed if that is above its deadline, or if it
    never started. Lost are the node-hours (of node slots) that batch jobs held and that did not count; those
    held while a checkpoint was written, too.
    """
    jobs, attempts = result.jobs, result.attempts
    urgent, batch = jobs[jobs["kind"] == "on-demand"], jobs[jobs["kind"] == "batch"]
    started = urgent["start"] >= 0
    delay = (urgent["start"] - _eligible(urgent)).to_numpy(dtype=float)
    due = urgent["deadline"].to_numpy()
    missed = int(((due >= 0) & (~started.to_numpy() | (delay > due))).sum())
    stays = attempts[attempts["id"].isin(set(batch["id"]))]
    outcome = stays["outcome"]
    lost = (stays["end"] - stays["start"] - stays["useful"]) * stays["nodes"] / 3600
    found: dict[str, float] = {"on_demand_jobs": len(urgent)}
    found |= {f"delay_{name}": value for name, value in _statistics(delay[started], confidence).items()}
    found |= {"missed": missed, "missed_share": missed / int((due >= 0).sum()) if (due >= 0).any() else float("nan")}
    found |= {"evictions_killed": int((outcome == "killed").sum())}
    found |= {"evictions_checkpointed": int((outcome == "checkpointed").sum()), "lost_node_hours": float(lost.sum())}
    found |= {"lost_node_hours_killed": float(lost[outcome == "killed"].sum())}
    metrics = job_metrics(batch)
    for name in ("wait", "turnaround", "slowdown", "bounded_slowdown"):
        values = _statistics(metrics[name].to_numpy(), confidence)
        found |= {f"batch_{name}_{statistic}": value for statistic, value in values.items()}
    return found


def _classes(metrics: pd.DataFrame) -> list[tuple[str, NDArray[np.bool_]]]:
    run = metrics["run"].to_numpy()
    everything = np.ones(len(run), dtype=bool)
    return [("", everything)] + [(f"_{name}", (run >= low) & (run < high)) for name, low, high in CLASSES]


def _statistics(values: Floats, confidence: float | None) -> dict[str, float]:
    if not len(values):
        values = np.array([np.nan])
    p95, p99 = np.percentile(values, (95, 99)).tolist()
    found = {
        "mean": float(values.mean()),
        "median": float(np.median(values)),
        "p95": p95,
        "p99": p99,
        "max": float(values.max()),
    }
    if confidence is not None:
        found["mean_low"], found["mean_high"] = mean_interval(values, confidence)
    return found


def mean_interval(values: Floats, confidence: float = 0.95) -> tuple[float, float]:
    """Return a percentile bootstrap interval of the mean, always the same for the same values."""
    if len(values) < 2 or np.isnan(values).any():
        return float("nan"), float("nan")
    found = scipy.stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=_RESAMPLES,
        batch=max(1, 10_000_000 // len(values)),
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


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
    """Return the sequential work of the jobs that completed; NaN for records of before it was kept."""
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
    """Return k for jobs that ask for more than 2**-(k+1) and at most 2**-k of the primary resource.

    It is at most :data:`NARROWEST`, which also takes all that is narrower, and the jobs that ask for none of it.
    """
    share = capacity / np.maximum(units, 1)
    exponent = np.frexp(share)[1].astype(np.int64) - 1
    return np.where(units > 0, np.clip(exponent, 0, NARROWEST), NARROWEST)


def width_name(exponent: int) -> str:
    """Return what a width class is called."""
    if exponent == NARROWEST:
        return f"up to 1/{2**NARROWEST}"
    return f"1/{2 ** (exponent + 1)} to {'1' if exponent == 0 else f'1/{2**exponent}'}"
