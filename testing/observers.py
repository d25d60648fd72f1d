"""Wrappers of dispatchers and predictors that check their behaviour."""

from __future__ import annotations

import io
import math
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, NoReturn
from unittest.mock import patch

import numpy as np

from ..base.checks import is_real
from ..dispatchers import Action, Dispatcher, JobView, Reject, Start, State, Stop, Wake
from ..dispatchers.registered import reset_part
from ..dispatchers.reservations.value_laws import with_cdf
from ..predictors import Predictor
from ..predictors.hidden_runtimes import HonestPredictor
from ..simulation import SimulationError
from ..workloads import Job, Machine


@contextmanager
def rules_first() -> Iterator[None]:
    """Raise a broken rule itself, not as an error of a part in a simulation."""
    try:
        yield
    except SimulationError as error:
        if isinstance(error.__cause__, AssertionError):
            raise error.__cause__ from None
        raise


class WatchedDispatcher:
    """Wraps a dispatcher, and checks that it does not change its input.

    Parameters
    ----------
    inner
        The dispatcher.
    where
        Begin of messages.
    """

    def __init__(self, inner: Dispatcher, where: str) -> None:
        self._inner = inner
        self._where = where
        if hasattr(inner, "report"):
            self.report = inner.report

    def reset(self, machine: Machine, rng: np.random.Generator) -> None:
        """Reset a dispatcher that supports it."""
        reset_part(self._inner, machine, rng)

    @property
    def over(self) -> Dispatcher:
        """The dispatcher."""
        return self._inner

    def dispatch(self, state: State) -> Sequence[Action]:
        """Run the dispatcher. Raise if it changes the state, or returns anything but actions."""
        before = _image(state)
        actions = self._inner.dispatch(state)
        if _image(state) != before:
            raise AssertionError(f"{self._where}: the state was changed at t={state.now}; copy what is to be modified")
        for action in actions:
            if not isinstance(action, Start | Stop | Wake | Reject):
                raise AssertionError(f"{self._where}: expected actions at t={state.now}, got {action!r}")
        return actions


def _image(state: State) -> tuple[Any, ...]:
    """Return all mutable data of a state, as values."""
    return (
        state.free.tobytes(),
        state.free.flags.writeable,
        [(id(w), id(w.job), w.predicted, w.since, w.attempt, w.order, w.nodes, w.demand) for w in state.queue],
        [(id(r), r.start, r.predicted_end, r.kill_at, r.placement.tobytes(), r.stopping) for r in state.running],
        state.machine.capacity.tobytes(),
    )


class WatchedPredictor(HonestPredictor):
    """Wraps a predictor, hides run times of jobs until they end, and checks its answers.

    Parameters
    ----------
    inner
        The predictor.
    where
        Begin of messages.
    oracle
        Whether to show run times.
    """

    def __init__(self, inner: Predictor, where: str, oracle: bool = False) -> None:
        super().__init__(inner)
        self._where = where
        self._oracle = oracle or self._contract.reads_runtimes
        vars(self).pop("notes", None)  # Small workloads have too few jobs for much.

    def predict(self, job: Job, now: int) -> float:
        """Run the predictor. Raise if it returns no valid time."""
        return self._checked(job, super().predict(job, now))

    def _predict_many(self, jobs: Sequence[Job], now: int) -> list[float]:
        """Run the predictor for jobs of one instant. Raise if it returns another number of valid times."""
        predictions = super()._predict_many(jobs, now)
        if len(predictions) != len(jobs):
            problem = f"expected {len(jobs)} predictions, one per job, got {len(predictions)}"
            raise AssertionError(f"{self._where}: predict_many at t={now}: {problem}")
        return [self._checked(job, predicted) for job, predicted in zip(jobs, predictions, strict=True)]

    def _checked(self, job: Job, predicted: float) -> float:
        if not (is_real(predicted) and math.isfinite(predicted) and predicted >= 0):
            raise AssertionError(f"{self._where}: job {job.id}: a prediction must be >= 0 s, got {predicted!r}")
        return predicted

    def correct(self, job: Job, elapsed: int, misses: int) -> float:
        """Correct a prediction. Raise if the answer is no finite time."""
        whole = super().correct(job, elapsed, misses)
        if not (is_real(whole) and math.isfinite(whole)):
            raise AssertionError(f"{self._where}: job {job.id}: a correction must be a finite time, got {whole!r}")
        return whole

    def _distribution(self, job: Job) -> Any:
        law = super()._distribution(job)
        if law is not None:
            law = with_cdf(law)
            low, high = law.support()
            if not 0 <= low <= high or float(law.cdf(high)) < 1:
                support = f"{low}..{high} with {law.cdf(high)} of the mass"
                raise AssertionError(f"{self._where}: job {job.id}: a distribution must lie above 0, got {support}")
        return law

    def _hidden(self, job: Job) -> Job:
        return job if self._oracle else super()._hidden(job)


@contextmanager
def quiet(where: str) -> Iterator[None]:
    """Raise if the block prints, starts a thread, or uses the global random generators."""
    states = random.getstate(), _legacy_state()
    threads = threading.active_count()
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        yield
    if out.getvalue():
        raise AssertionError(f"{where}: printed {out.getvalue()[:80]!r}; a library call prints nothing")
    if threading.active_count() > threads:
        raise AssertionError(f"{where}: left a thread running")
    if (random.getstate(), _legacy_state()) != states:
        raise AssertionError(f"{where}: drew from the process-wide random state; use the generator given to reset")


def _legacy_state() -> Mapping[str, Any]:
    state = np.random.get_state(legacy=False)  # noqa: NPY002
    return {**state, "state": {name: np.asarray(value).tolist() for name, value in state["state"].items()}}


@contextmanager
def hidden_runtimes(where: str) -> Iterator[None]:
    """Raise if a dispatcher reads a run time, even if it catches ``AttributeError``."""

    def refuse(view: JobView) -> NoReturn:
        raise AssertionError(f"{where}: job {view.id}: the run time was read; dispatchers see predictions only")

    with patch.object(JobView, "runtime", property(refuse)):
        yield
