"""Rules for every registered predictor. New ones are tested without further work."""

import math
from importlib.util import find_spec
from typing import Any

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.predictors import (
    Correcting,
    Distributional,
    Heuristic,
    LastTwo,
    Oracle,
    Predictor,
    Resettable,
    Walltime,
    create,
    registry,
)
from hpcdispatch.workloads import Job

learns = find_spec("sklearn") is not None
needed = pytest.mark.skipif(not learns, reason="needs scikit-learn: pip install 'hpcdispatch[learn]'")
NAMES = [pytest.param(name, marks=needed if name == "sklearn" else ()) for name in registry.names()]


@pytest.fixture
def jobs() -> list[Job]:
    """Give jobs of a few users, some of which run past their request."""
    return [
        Job(
            str(i),
            submit=10 * i,
            runtime=1 + (i * 7919) % 5000,
            walltime=600 * (1 + i % 6),
            nodes=1 + i % 3,
            user=f"user{i % 4}" if i % 5 else "",
            name=["", "307", f"align_{i % 7}", "sort"][i % 4],
            queue=["", "long"][i % 2],
        )
        for i in range(300)
    ]


def predictions(predictor: Predictor, jobs: list[Job]) -> list[float]:
    """Predict each job, and let it end 20 jobs later."""
    found = []
    for i, job in enumerate(jobs):
        if i >= 20:
            predictor.observe(jobs[i - 20])
        found.append(predictor.predict(job, now=job.submit))
    return found


class Hidden(Job):
    """A job with a forbidden run time."""

    __slots__ = ()

    @property
    def runtime(self) -> int:  # type: ignore[override]
        raise AssertionError("a predictor read the run time of a job that has not finished")


def hide(job: Job) -> Job:
    values = {name: getattr(job, name) for name in Job.__slots__ if name != "runtime"}
    return Hidden.trusted(**values)


def test_the_built_in_ones_are_registered():
    assert {"heuristic", "last2", "oracle", "walltime"} <= set(registry.names())
    kinds = {"heuristic": Heuristic, "last2": LastTwo, "oracle": Oracle, "walltime": Walltime}
    assert {name: type(create(name)) for name in kinds} == kinds


@pytest.mark.parametrize("name", NAMES)
class TestEvery:
    def test_is_a_predictor(self, name):
        assert isinstance(create(name), Predictor)

    def test_has_a_summary_of_one_line(self, name):
        assert registry.summary(name).endswith(".")

    def test_predictions_are_finite_and_positive(self, name, jobs):
        for seconds in predictions(create(name), jobs):
            assert isinstance(seconds, float)
            assert math.isfinite(seconds)
            assert seconds > 0

    def test_is_deterministic(self, name, jobs):
        assert predictions(create(name), jobs) == predictions(create(name), jobs)

    def test_after_a_reset_it_says_the_same_again(self, name, jobs):
        predictor = create(name)
        first = predictions(predictor, jobs)
        if isinstance(predictor, Resettable):
            predictor.reset()
        assert predictions(predictor, jobs) == first

    def test_predicting_changes_nothing(self, name, jobs):
        predictor = create(name)
        predictions(predictor, jobs)
        assert predictor.predict(jobs[0], 0) == predictor.predict(jobs[0], 0)

    def test_corrections_never_lie_behind(self, name, jobs):
        predictor = create(name)
        if isinstance(predictor, Correcting):
            for job in jobs:
                for misses, elapsed in enumerate((1, 60, job.walltime, 10 * job.walltime)):
                    assert predictor.correct(job, elapsed, misses) >= elapsed

    def test_none_but_the_oracle_reads_the_run_time(self, name, jobs):
        predictor = create(name)
        if isinstance(predictor, Oracle):
            with pytest.raises(AssertionError, match="has not finished"):
                predictor.predict(hide(jobs[0]), 0)
            return
        predictions(predictor, jobs)
        for job in jobs:
            assert predictor.predict(hide(job), 0) == predictor.predict(job, 0)
            if isinstance(predictor, Correcting):
                predictor.correct(hide(job), 10, 0)


@pytest.mark.parametrize("name", ["heuristic", "last2", "walltime"])
def test_never_above_the_walltime(name, jobs):
    assert all(s <= job.walltime for s, job in zip(predictions(create(name), jobs), jobs, strict=True))


def test_which_optional_parts_there_are():
    def having(part: Any) -> set[type]:
        return {kind for kind in (Heuristic, LastTwo, Oracle, Walltime) if isinstance(kind(), part)}

    assert having(Correcting) == {Heuristic, LastTwo, Oracle, Walltime}
    assert having(Resettable) == {Heuristic, LastTwo}
    assert having(Distributional) == set()


def test_options_are_given_in_the_name():
    assert create("last2:count=3,correction=sc15").count == 3
    assert create("last2:correction=sc15").correction == "sc15"
    assert create("heuristic:prefix=4").prefix == 4
    assert create("heuristic:prefix=1").prefix == 1


def test_an_object_passes_as_it_is():
    class Mine:
        def predict(self, job: Job, now: int) -> float:
            return 1.0

        def observe(self, job: Job) -> None:
            pass

    mine = Mine()
    assert create(mine) is mine


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "last3",
            r"^unknown predictor 'last3' \(did you mean last2\?\); known: .*heuristic.*last2.*walltime",
        ),
        ("last2:n=2", r"^predictor last2: unknown option 'n'; known: count, correction$"),
        ("oracle:n=2", r"^predictor oracle: unknown option 'n'; known: correction$"),
        ("last2:count=two", r"^predictor last2: option 'count': expected a whole number, got 'two'$"),
        ("last2:count=0", r"^predictor last2: count must be a whole number >= 1 and <= 100000, got 0$"),
        (
            "last2:correction=x",
            r"^unknown correction 'x'; known: doubling, none, reqtime, tsafrir",
        ),
        ("heuristic:prefix=-1", r"^predictor heuristic: prefix must be a whole number >= 1, got -1$"),
        ("last2:count", r"expected NAME:key=value,key=value, got 'count'"),
        (Walltime, r"^predictor: expected a name or an object with predict and observe, got <class"),
        (3, r"^predictor: expected a name or an object with predict and observe, got 3$"),
    ],
)
def test_bad_specs_are_named(spec, message):
    with pytest.raises(InputError, match=message):
        create(spec)
