"""Rules of the framework as checks of a dispatcher or a predictor."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ..base.argument_types import names_wrong_types
from ..base.contracts import PredictorContract
from ..dispatchers import Dispatcher, create_dispatcher
from ..dispatchers.protocol import DispatcherContract
from ..predictors import Predictor
from ..predictors import create as create_predictor
from ..simulation import InvariantError, Overrun, Result, check, simulate
from ..workloads import Workload
from .observers import WatchedDispatcher, WatchedPredictor, hidden_runtimes, quiet, rules_first
from .small_workloads import samples

T = TypeVar("T")
_Case = tuple[Workload, str | Overrun, Any]

OVERRUNS: tuple[str | Overrun, ...] = ("run", "kill", "resubmit")
PREDICTORS: tuple[str | Predictor, ...] = ("walltime", "oracle", "heuristic", "last2", "empirical:by=user,least=3")


@names_wrong_types
def check_dispatcher(
    dispatcher: str | Dispatcher | Callable[[], Dispatcher],
    workloads: Workload | Iterable[Workload] | None = None,
    overruns: str | Overrun | Iterable[str | Overrun] = OVERRUNS,
    predictors: str | Predictor | Iterable[str | Predictor] = PREDICTORS,
    *,
    seed: int = 0,
) -> None:
    """Raise unless a dispatcher keeps the rules of the framework.

    It simulates each workload with each overrun policy and predictor:

    * :func:`hpcdispatch.simulation.check` accepts every schedule.
    * Equal arguments give equal records: with the same object again, and with a new one of a spec or factory.
    * The dispatcher does not change its state or read a run time.
    * It does not print, leave a thread, or use the global random generators.

    Parameters
    ----------
    dispatcher
        ``NAME:key=value,...``, an object with ``dispatch(state)``, or a class or function that returns one.
    workloads
        One or several workloads to simulate. :func:`~hpcdispatch.testing.samples` by default.
    overruns
        One or several policies for jobs that reach their walltime.
    predictors
        One or several predictors to use.
    seed
        Seed of its random numbers.

    Raises
    ------
    AssertionError
        If a rule is broken. The message names the rule and the workload.
    InvariantError
        If a schedule breaks an invariant.

    Examples
    --------
    >>> from hpcdispatch.testing import check_dispatcher, tiny
    >>> check_dispatcher("easy:depth=2", [tiny()], overruns="kill", predictors=["walltime"])
    """

    def run(subject: Dispatcher, case: _Case, where: str) -> Result:
        workload, overrun, predictor = case
        with rules_first(), quiet(where), hidden_runtimes(where):
            return simulate(workload, WatchedDispatcher(subject, where), predictor, overrun=overrun, seed=seed)

    cases = _cases(workloads, overruns, predictors)
    _check_part(dispatcher, create_dispatcher, run, cases, ("predictor", "the same object, used again,"))


@names_wrong_types
def check_predictor(
    predictor: str | Predictor | Callable[[], Predictor],
    workloads: Workload | Iterable[Workload] | None = None,
    overruns: str | Overrun | Iterable[str | Overrun] = OVERRUNS,
    dispatchers: str | Dispatcher | Iterable[str | Dispatcher] = ("fcfs", "easy"),
    *,
    oracle: bool = False,
) -> None:
    """Raise unless a predictor keeps the rules of the framework.

    It simulates each workload with each overrun policy and dispatcher:

    * Predictions are finite and >= 0, corrections finite.
    * The same object repeats its predictions in the next simulation, and so does a new one. A stateful predictor needs
      a ``reset()`` that drops its data.
    * The predictor does not read the run time of a job before its end.
    * It does not print, leave a thread, or use the global random generators.

    Parameters
    ----------
    predictor
        ``NAME:key=value,...``, an object with ``predict`` and ``observe``, or a class or function that returns one.
    workloads
        One or several workloads to simulate. :func:`~hpcdispatch.testing.samples` by default.
    overruns
        One or several policies for jobs that reach their walltime.
    dispatchers
        One or several dispatchers to use.
    oracle
        Whether it may read run times.

    Raises
    ------
    AssertionError
        If a rule is broken. The message names the rule and the workload.

    Examples
    --------
    >>> from hpcdispatch.testing import check_predictor, pool
    >>> class Half:
    ...     "Predict half the walltime."
    ...
    ...     def predict(self, job, now):
    ...         return job.walltime / 2
    ...
    ...     def observe(self, job):
    ...         pass
    >>> check_predictor(Half, [pool(20)], overruns=["run"], dispatchers=["easy"])
    """

    def run(subject: Predictor, case: _Case, where: str) -> Result:
        workload, overrun, dispatcher = case
        with rules_first(), quiet(where):
            return simulate(workload, dispatcher, WatchedPredictor(subject, where, oracle), overrun=overrun)

    cases = _cases(workloads, overruns, dispatchers)
    _check_part(predictor, create_predictor, run, cases, ("dispatcher", "the same object after reset()"))


def _check_part(
    part: Any,
    create: Callable[[Any], T],
    run: Callable[[T, _Case, str], Result],
    cases: Iterable[_Case],
    words: tuple[str, str],
) -> None:
    """Raise unless each case keeps the rules and repeats its result. `words`: the other part, the same object."""
    method = "dispatch" if create is create_dispatcher else "predict"
    makes = callable(part) and (isinstance(part, type) or not hasattr(part, method))
    subject, another = (create(part() if makes else part) for _ in range(2))
    contract = PredictorContract if create is create_predictor else DispatcherContract
    for fault in contract(subject).faults():
        raise AssertionError(f"{_name(part)}: {fault}")
    repeats = [subject] if another is subject else [subject, another]
    for case in cases:
        workload, overrun, other = case
        title = workload.provenance.source or f"{len(workload)} jobs"
        where = f"{_name(part)} on {title} with overrun={overrun}, {words[0]}={_name(other)}"
        first = run(subject, case, where)
        try:
            check(workload, first)
        except InvariantError as error:
            raise InvariantError(f"{where}: {error}") from None
        for repeat in repeats:
            which = words[1] if repeat is subject else "a new object"
            assert_same_records(first, run(repeat, case, where), f"{where}: the first run and {which}")


def _cases(workloads: Any, overruns: Any, others: Any) -> Iterator[_Case]:
    """Yield each combination of workload, overrun policy and other part, each given as one or several."""
    policies, parts = _several(overruns), _several(others)
    for workload in samples() if workloads is None else _several(workloads):
        for overrun in policies:
            for part in parts:
                yield workload, overrun, part


def _several(given: Any) -> list[Any]:
    """Return what was given as a list. Text, a workload and a single part are one element."""
    return [given] if isinstance(given, str | Workload) or not isinstance(given, Iterable) else list(given)


def _name(part: Any) -> str:
    return part if isinstance(part, str) else getattr(part, "__name__", None) or type(part).__name__


@names_wrong_types
def assert_same_records(first: Result, second: Result, where: str = "two runs") -> None:
    """Raise unless jobs, attempts and decisions of two results are equal.

    Parameters
    ----------
    first, second
        The results.
    where
        Begin of the message.

    Raises
    ------
    AssertionError
        With the first difference: table, column, row, both values.

    Examples
    --------
    >>> import hpcdispatch as hd
    >>> from hpcdispatch.testing import assert_same_records, tiny
    >>> assert_same_records(hd.simulate(tiny(), "easy"), hd.simulate(tiny(), "easy"))
    >>> try:
    ...     assert_same_records(hd.simulate(tiny(), "easy"), hd.simulate(tiny(), "fcfs"), "easy and fcfs")
    ... except AssertionError as error:
    ...     print(error)
    easy and fcfs differ in jobs: start of row 3 is 20 and 160
    """
    for table in ("jobs", "attempts", "decisions"):
        difference = _difference(getattr(first, table), getattr(second, table))
        if difference:
            raise AssertionError(f"{where} differ in {table}: {difference}")


def _difference(first: pd.DataFrame, second: pd.DataFrame) -> str:
    if list(first.columns) != list(second.columns):
        return f"columns {list(first.columns)} and {list(second.columns)}"
    for name in first.columns:
        pairs = zip(first[name].tolist(), second[name].tolist(), strict=False)
        for row, (one, other) in enumerate(pairs):
            if not _same(one, other):
                return f"{name} of row {row} is {one} and {other}"
    return f"{len(first)} and {len(second)} rows" if len(first) != len(second) else ""


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other) or bool(pd.isna(one) and pd.isna(other))
