"""Predictors judged alone, job after job in the order of time, and by what each does to the waits of a dispatcher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from ..base import FloatArray, InputError, IntArray, check_whole, distinct_labels, shown
from ..base.argument_types import names_wrong_types
from ..base.checks import LONGEST, is_real
from ..base.contracts import PredictorContract
from ..dispatchers.reservations.value_laws import ValueLaw
from ..models.reservations.laws import ROUNDING
from ..predictors import Predictor, Walltime
from ..predictors import create as create_predictor
from ..predictors.hidden_runtimes import honest
from ..simulation import SimulationError, simulate
from ..simulation.forecasts import Forecasts
from ..simulation.metrics import CLASSES, bounded_slowdown
from ..simulation.plots.axes import axes_or_new, labelled
from ..simulation.recorder import Recorder
from ..simulation.simulation_errors import asked, failed
from ..workloads import Job, Workload
from ..workloads.sources import WorkloadLike, workload_of
from .conclusions import Daily, Estimate, corrected, of_days

#: A prediction is close within this part of the run time.
CLOSE = 0.25
#: The quantiles over which the pinball loss of a distribution is a mean, and its central intervals.
SHARES = np.arange(1, 10) / 10
INTERVALS = {"coverage_50": (0.25, 0.75), "coverage_80": (0.1, 0.9)}
#: Points of the run time at which a distribution is looked at.
_POINTS = 64
#: What happens first at one instant, as in a simulation.
_END, _SUBMIT, _START = range(3)


@dataclass(frozen=True)
class PredictorEvaluation:
    """How good predictors are.

    Attributes
    ----------
    table
        A row per predictor. ``jobs``: their number. ``mae``: mean absolute error, s. ``close``: share within 25% of the
        run time. ``under``, ``over``: shares; ``under_by``, ``over_by``: their mean errors, s.
        ``accuracy``: mean of min(p / r, r / p) of prediction p and run time r (Tsafrir et al., TPDS 2007).
        ``log_error``: mean of the absolute ln(p / r). ``e_loss``: see :func:`e_loss`.
        ``pinball_50``, ``pinball_90``: mean pinball loss of the prediction as that quantile, s. ``ms``: CPU time a job.

        Distributions have ``pinball``, the mean loss of the quantiles 0.1 to 0.9, s. ``coverage_50``, ``coverage_80``:
        shares of run times in the central intervals, 0.5 and 0.8 if calibrated.

        Under the dispatcher: ``wait`` and bounded ``slowdown``, means. ``wait_ratio``: mean wait over that with
        walltimes on the same jobs. ``wait_low``, ``wait_high``: its interval, by ``blocks`` of the trace, widened for
        ``corrected`` predictors. ``verdict``: better, worse or not decided; ``reason``: why there is no interval.
        ``tested``: whether a study shows that it may be called one of 95%.
    by_length, by_user, over_time
        The same errors, a row per predictor and class. The classes of ``by_length`` are short (< 1 h), medium and long
        (> 5 h). Those of ``by_user`` are the users of most jobs. Those of ``over_time`` are parts of the trace.
    jobs
        A row per job and predictor: ``predictor, id, submit, user, runtime, walltime, predicted``.
    counts
        What predictors count, by name.
    oracles
        Names of the predictors that read run times of jobs that have not ended.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> evaluation = hd.evaluate_predictors(hd.example(), ["walltime", "last2"])
    >>> evaluation.by_length.columns[:3].tolist()
    ['predictor', 'length', 'jobs']
    """

    table: pd.DataFrame
    by_length: pd.DataFrame
    by_user: pd.DataFrame
    over_time: pd.DataFrame
    jobs: pd.DataFrame = field(repr=False)
    counts: Mapping[str, Mapping[str, int]] = field(repr=False)
    oracles: tuple[str, ...] = ()

    def best(self) -> str:
        """Return the predictor of the least mean absolute error but for an oracle."""
        known = self.table[~self.table["predictor"].isin(self.oracles)]
        known = known if len(known) else self.table
        return str(known["predictor"].iloc[int(known["mae"].to_numpy().argmin())])

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean absolute error over time, a line per predictor, on matplotlib Axes, new ones by default."""
        axes = axes_or_new(ax)
        for name, group in self.over_time.groupby("predictor", sort=False):
            axes.plot(group["submit"] / 86_400, group["mae"] / 3600, marker="o", markersize=3, label=str(name))
        axes.legend(fontsize=8)
        return labelled(axes, "Error of predictions", "submission (days)", "mean absolute error (h)")


@names_wrong_types
def evaluate_predictors(
    workload: WorkloadLike,
    predictors: Sequence[str | Predictor] | str | Predictor = ("walltime", "last2", "heuristic"),
    *,
    dispatcher: str = "easy-sjbf",
    users: int = 5,
    parts: int = 10,
) -> PredictorEvaluation:
    """Judge predictors on a workload, in the order of time.

    Each predicts every job at its submission, and learns a run time when the job has ended in one and the same
    schedule, that of the dispatcher with walltimes. Then it predicts for the dispatcher itself. Both times the run time
    of a job is hidden until it ends, but for an oracle (``reads_runtimes``).

    Parameters
    ----------
    workload
        A :data:`~hpcdispatch.workloads.sources.WorkloadLike`.
    predictors
        Names with options, or objects.
    dispatcher
        A name with options.
    users, parts
        How many users of most jobs, and parts of the trace, are told apart; at least 1.

    Raises
    ------
    InputError
        For an unknown name, or no job that ran.
    SimulationError
        If a predictor gives no time, or reads a run time before the end of the job.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> evaluation = hd.evaluate_predictors(hd.example(), ["walltime", "last2"])
    >>> evaluation.table[["predictor", "jobs", "mae"]].round()
      predictor  jobs      mae
    0  walltime   900  23215.0
    1     last2   900   3824.0
    """
    trace = workload_of(workload)
    try:
        check_whole("users", users, 1)
        check_whole("parts", parts, 1)
    except ValueError as error:
        raise InputError(str(error)) from None
    given: Any = predictors if isinstance(predictors, list | tuple) else [predictors]
    named: dict[str, str | Predictor] = dict(zip(distinct_labels(given), given, strict=True))
    if not named:
        raise InputError("predictors: expected one or more, got none")
    baseline = simulate(trace, dispatcher, "walltime").jobs
    ran = (baseline["start"] >= 0).to_numpy()
    if not ran.any():
        raise InputError("workload: expected jobs that run, got none")
    users_of = pd.Series(trace.columns.user.categories()).astype(str)
    most = users_of[ran & (users_of != "").to_numpy()].value_counts().index[:users]
    # Those of the slots, where jobs ask for no cores.
    columns_of = trace.columns
    cores = columns_of.nodes * np.maximum(1, columns_of.per_node.numbers(lambda amounts: amounts.get("core", 0)))
    frames = []
    rows: list[dict[str, Any]] = []
    effects: list[Estimate] = []
    counts = {}
    oracles = []
    for name, predictor in named.items():
        given = create_predictor(predictor)
        if PredictorContract(given).reads_runtimes:
            oracles.append(name)
        made = honest(given)
        predictions, laws, ms = _replayed(made, name, trace, baseline, ran)
        counted = PredictorContract(made).counts
        if counted is not None:
            counts[name] = dict(asked(name.__str__, "counts", counted))
        frame = baseline.loc[ran, ["id", "submit", "runtime", "walltime"]].reset_index(drop=True)
        frame = frame.assign(
            predictor=name, user=users_of[ran].to_numpy(), cores=cores[ran], predicted=predictions, **laws
        )
        # Walltimes have compiled code of their own, and no run time to hide.
        under = simulate(trace, dispatcher, given if type(given) is Walltime else made).jobs
        submit = baseline["submit"].to_numpy()[ran]
        days = (Daily.of(submit, each["wait"].to_numpy(dtype=float)[ran]) for each in (under, baseline))
        effect = of_days(*days)
        turnaround = (under["end"] - under["eligible"]).to_numpy(dtype=float)[ran]
        slowdown = bounded_slowdown(turnaround, under["run"].to_numpy(dtype=float)[ran])
        rows.append(
            {
                "predictor": name,
                **_errors(frame),
                "ms": ms,
                "wait": float(under["wait"].to_numpy()[ran].mean()),
                "slowdown": float(slowdown.mean()),
            }
        )
        effects.append(effect)
        frames.append(frame)
    for row, effect in zip(rows, corrected(effects), strict=True):
        row |= {"wait_ratio": effect.ratio, "wait_low": effect.low, "wait_high": effect.high}
        row |= {"verdict": effect.verdict(), "blocks": effect.blocks, "corrected": effect.corrected}
        row |= {"reason": effect.reason, "tested": effect.tested}
    jobs = pd.concat(frames, ignore_index=True)
    length = pd.cut(
        jobs["runtime"], [low for _, low, _ in CLASSES] + [np.inf], right=False, labels=[name for name, _, _ in CLASSES]
    )
    place = jobs.groupby("predictor").cumcount()
    part = place * min(parts, int(ran.sum())) // int(ran.sum())
    over_time = _classed(jobs, part, "part")
    over_time.insert(2, "submit", jobs.groupby(["predictor", part], sort=False)["submit"].min().to_numpy())
    users_rows = jobs["user"].isin(most)
    by_user = _classed(jobs[users_rows], jobs.loc[users_rows, "user"], "user")
    columns = ["predictor", "id", "submit", "user", "runtime", "walltime", "predicted"]
    by_length = _classed(jobs, length, "length")
    return PredictorEvaluation(pd.DataFrame(rows), by_length, by_user, over_time, jobs[columns], counts, tuple(oracles))


def e_loss(runtime: FloatArray, predicted: FloatArray, cores: FloatArray) -> FloatArray:
    """Return the loss by which EASY's backfilling suffers (Gaussier, Glesser, Reis and Trystram, SC 2015, "E-Loss").

    It is the square of an error that is too long, and the amount of one that is too short. Jobs of much work count
    more. So log(q r) (p - r)^2 if p >= r, and log(q r) (r - p) otherwise, of the run time r, the prediction p, and q
    cores. Work below a core-second counts nothing.

    Parameters
    ----------
    runtime, predicted
        Seconds, shape (jobs,).
    cores
        Of each job, shape (jobs,).
    """
    error = predicted - runtime
    loss: FloatArray = np.log(np.maximum(1.0, cores * runtime)) * np.where(error >= 0, error**2, -error)
    return loss


def _name(predictor: Any) -> str:
    return PredictorContract(predictor).name or type(predictor).__name__


def _classed(jobs: pd.DataFrame, by: pd.Series[Any], name: str) -> pd.DataFrame:
    groups = jobs.groupby(["predictor", by], sort=False, observed=True)
    rows = [{"predictor": keys[0], name: keys[1], **_errors(group)} for keys, group in groups]
    return pd.DataFrame(rows, columns=None if rows else ["predictor", name])


def _errors(jobs: pd.DataFrame) -> dict[str, float]:
    """Return the errors of the predictions of some jobs."""
    runtime = jobs["runtime"].to_numpy(dtype=float)
    predicted = jobs["predicted"].to_numpy(dtype=float)
    error = predicted - runtime
    under, over = error < 0, error > 0
    # A job of 0 s counts as one of 1 s, as predictions do.
    logs = np.log(np.maximum(predicted, 1.0) / np.maximum(runtime, 1.0))
    told: dict[str, float] = {
        "jobs": len(jobs),
        "mae": float(np.abs(error).mean()),
        "close": float((np.abs(error) <= CLOSE * runtime).mean()),
        "under": float(under.mean()),
        "over": float(over.mean()),
        "under_by": float(-error[under].mean()) if under.any() else 0.0,
        "over_by": float(error[over].mean()) if over.any() else 0.0,
        "accuracy": float(np.exp(-np.abs(logs)).mean()),
        "log_error": float(np.abs(logs).mean()),
        "e_loss": float(e_loss(runtime, predicted, jobs["cores"].to_numpy(dtype=float)).mean()),
    }
    for share in (0.5, 0.9):
        told[f"pinball_{round(100 * share)}"] = float(_pinball(runtime, predicted, share).mean())
    for name in ("pinball", *INTERVALS):
        values = jobs[name].to_numpy(dtype=float) if name in jobs else np.zeros(0)
        known = values[~np.isnan(values)]
        told[name] = float(known.mean()) if len(known) else float("nan")
    return told


def _pinball(runtime: Any, predicted: Any, share: Any) -> FloatArray:
    above: FloatArray = np.asarray(runtime - predicted, dtype=np.float64)
    loss: FloatArray = np.maximum(share * above, (share - 1) * above)
    return loss


def _replayed(
    predictor: Predictor, name: str, workload: Workload, schedule: pd.DataFrame, ran: Any
) -> tuple[FloatArray, dict[str, FloatArray], float]:
    """Return the predictions of the jobs that ran, what their distributions tell, and milliseconds per job."""
    contract = PredictorContract(predictor)
    if contract.reset is not None:
        asked(name.__str__, "reset", contract.reset)
    forecasts = Forecasts(predictor, Recorder(workload), bounded=False)
    times = [schedule[column].to_numpy() for column in ("end", "eligible", "start")]
    rows = np.flatnonzero(ran)
    when: IntArray = np.concatenate([each[rows] for each in times])
    kind = np.repeat([_END, _SUBMIT, _START], len(rows))
    job_of = np.tile(rows, 3)
    # A job of 0 s ends after it starts.
    kind[: len(rows)] += 3 * (times[0][rows] == times[2][rows])
    order = np.lexsort((job_of, kind, when))
    events = list(zip(when[order].tolist(), kind[order].tolist(), job_of[order].tolist(), strict=True))
    jobs: Sequence[Job] = list(workload.jobs)
    predicted = np.full(len(jobs), np.nan)
    laws = {each: np.full(len(jobs), np.nan) for each in ("pinball", *INTERVALS)}
    spent, at = 0.0, 0
    while at < len(events):
        now, what, row = events[at]
        last = at + 1
        while what == _SUBMIT and last < len(events) and events[last][:2] == (now, _SUBMIT):
            last += 1
        begun = process_time()
        if what == _SUBMIT:
            together = [each for _, _, each in events[at:last]]
            try:
                predicted[together] = _asked(predictor, [jobs[each] for each in together], now)
            except Exception as error:  # noqa: BLE001 - a plugged-in part may raise anything
                call = "predict" if contract.predict_many is None else "predict_many"
                failed(f"{name} at t={now}: job {jobs[row].id}", call, error)
        elif what == _START:
            forecasts.started(jobs[row], now)
        else:
            forecasts.stopped(jobs[row], now)
            forecasts.observe(jobs[row], jobs[row].runtime, now)
        spent += process_time() - begun
        if what == _SUBMIT and contract.distribution is not None:
            for each in together:
                _judge(forecasts.law(jobs[each], now), jobs[each].runtime, laws, each)
        at = last
    return predicted[rows], {each: values[rows] for each, values in laws.items()}, 1e3 * spent / len(rows)


def _asked(predictor: Any, jobs: list[Job], now: int) -> list[float]:
    many = PredictorContract(predictor).predict_many
    predictions = list(many(jobs, now)) if many is not None else [predictor.predict(job, now) for job in jobs]
    for value in predictions:
        if not is_real(value) or not 0 <= value < np.inf:
            raise SimulationError(f"{_name(predictor)} at t={now}: a prediction must be >= 0 s, got {shown(value)}")
    return [max(1.0, float(value)) for value in predictions]


def _judge(law: Any, runtime: int, laws: Mapping[str, FloatArray], row: int) -> None:
    """Note the losses of the quantiles of a distribution, and in which of its intervals the run time is."""
    if law is None:
        return
    if hasattr(law, "cdf") and hasattr(law, "support"):
        low, high = law.support()
        points = np.linspace(np.log1p(max(0.0, low)), np.log1p(min(high, LONGEST)), _POINTS)
        times = np.expm1(points)
        quantiles = np.interp(SHARES, np.maximum.accumulate(law.cdf(times)), times)
    else:
        law = ValueLaw(law)
        times = np.unique(law.values)
        quantiles = times[np.searchsorted(law.cdf(times)[:-1], SHARES - ROUNDING)]
    laws["pinball"][row] = _pinball(runtime, quantiles, SHARES).mean()
    share = float(law.cdf(runtime))
    for name, (least, most) in INTERVALS.items():
        laws[name][row] = least <= share <= most
