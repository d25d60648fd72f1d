"""The rules of the framework, as checks that a dispatcher or a predictor passes or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from ..dispatchers import Dispatcher, create_dispatcher
from ..predictors import Predictor
from ..predictors import create as create_predictor
from ..simulation import InvariantError, Overrun, Result, check, simulate
from ..workloads import Workload
from .observers import WatchedDispatcher, WatchedPredictor, hidden_runtimes, quiet
from .records import assert_same_records
from .small_workloads import samples

T = TypeVar("T")

OVERRUNS: tuple[str | Overrun, ...] = ("run", "kill", "resubmit")
PREDICTORS: tuple[str | Predictor, ...] = ("walltime", "oracle", "heuristic", "last2", "empirical:by=user,least=3")


def check_dispatcher(
    dispatcher: str | Dispatcher | Callable[[], Dispatcher],
    workloads: Iterable[Workload] | None = None,
    overruns: Iterable[str | Overrun] = OVERRUNS,
    predictors: Sequence[str | Predictor] = PREDICTORS,
    *,
    seed: int = 0,
) -> None:
    """Raise unless a dispatcher keeps the rules, on each workload under each overrun policy and predictor.

    Every schedule is checked by :func:`hpcdispatch.simulation.check`. The same arguments must give the same records: by
    the same object again and, for a spec or a factory, by a new one. The dispatcher must not change the state it is
    shown, read a run time, print, leave a thread, or touch the process-wide random generators.

    Parameters
    ----------
    dispatcher
        ``NAME:key=value,...``, an object with ``dispatch(state)``, or a class or function that returns one.
    workloads
        What to simulate; :func:`~hpcdispatch.testing.samples` by default.
    overruns
        Policies for jobs that reach their requested time.
    predictors
        Predictors to go with it.
    seed
        For its random draws.

    Raises
    ------
    AssertionError
        If a rule is broken; the message says which, on which workload.
    InvariantError
        If a schedule breaks an invariant.
    """
    name = _name(dispatcher)
    build = _builder(dispatcher, create_dispatcher)
    subjects = [build()]
    repeats = [subjects[0]] if subjects[0] is build() else [subjects[0], build()]
    for workload, overrun, predictor in _cases(workloads, overruns, predictors):
        where = f"{name} on {_title(workload)} with overrun={overrun}, predictor={_name(predictor)}"

        def run(
            subject: Dispatcher,
            where: str = where,
            workload: Workload = workload,
            overrun: str | Overrun = overrun,
            predictor: str | Predictor = predictor,
        ) -> Result:
            with quiet(where), hidden_runtimes(where):
                return simulate(workload, WatchedDispatcher(subject, where), predictor, overrun=overrun, seed=seed)

        first = run(subjects[0])
        _check(workload, first, where)
        for repeat in repeats:
            which = "the same object, used again," if repeat is subjects[0] else "a new object"
            assert_same_records(first, run(repeat), f"{where}: the first run and {which}")


def check_predictor(
    predictor: str | Predictor | Callable[[], Predictor],
    workloads: Iterable[Workload] | None = None,
    overruns: Iterable[str | Overrun] = OVERRUNS,
    dispatchers: Sequence[str | Dispatcher] = ("fcfs", "easy"),
    *,
    oracle: bool = False,
) -> None:
    """Raise unless a predictor keeps the rules, in simulations of each workload under each policy and dispatcher.

    Predictions must be finite and >= 0, corrections finite; the same object must predict the
    same in the next simulation (give it a ``reset()`` that forgets), and so must a new one. It must not read the run
    time of a job before the job has ended, print, leave a thread, or touch the process-wide random generators.

    Parameters
    ----------
    predictor
        ``NAME:key=value,...``, an object with ``predict`` and ``observe``, or a class or function that returns one.
    workloads
        What to simulate; :func:`~hpcdispatch.testing.samples` by default.
    overruns
        Policies for jobs that reach their requested time.
    dispatchers
        Dispatchers to go with it.
    oracle
        Let it read run times.

    Raises
    ------
    AssertionError
        If a rule is broken; the message says which, on which workload.
    """
    name = _name(predictor)
    build = _builder(predictor, create_predictor)
    subjects = [build()]
    repeats = [subjects[0]] if subjects[0] is build() else [subjects[0], build()]
    for workload, overrun, dispatcher in _cases(workloads, overruns, dispatchers):
        where = f"{name} on {_title(workload)} with overrun={overrun}, dispatcher={_name(dispatcher)}"

        def run(
            subject: Predictor,
            where: str = where,
            workload: Workload = workload,
            overrun: str | Overrun = overrun,
            dispatcher: str | Dispatcher = dispatcher,
        ) -> Result:
            with quiet(where):
                return simulate(workload, dispatcher, WatchedPredictor(subject, where, oracle), overrun=overrun)

        first = run(subjects[0])
        _check(workload, first, where)
        for repeat in repeats:
            which = "the same object after reset()" if repeat is subjects[0] else "a new object"
            assert_same_records(first, run(repeat), f"{where}: the first run and {which}")


def _cases(
    workloads: Iterable[Workload] | None, overruns: Iterable[str | Overrun], others: Sequence[T]
) -> Iterator[tuple[Workload, str | Overrun, T]]:
    policies = list(overruns)
    for workload in samples() if workloads is None else workloads:
        for overrun in policies:
            for other in others:
                yield workload, overrun, other


def _check(workload: Workload, result: Result, where: str) -> None:
    try:
        check(workload, result)
    except InvariantError as error:
        raise InvariantError(f"{where}: {error}") from None


def _builder(given: Any, create: Callable[[Any], T]) -> Callable[[], T]:
    """Return a function that makes a new part from a spec or factory, or gives the one object there is."""
    method = "dispatch" if create is create_dispatcher else "predict"
    if callable(given) and (isinstance(given, type) or not hasattr(given, method)):
        return lambda: create(given())
    return lambda: create(given)


def _name(part: Any) -> str:
    return part if isinstance(part, str) else getattr(part, "__name__", None) or type(part).__name__


def _title(workload: Workload) -> str:
    return workload.provenance.source or f"{len(workload)} jobs"
