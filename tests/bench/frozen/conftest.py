"""A small suite in the place of the frozen ones, with an entry's scorecard."""

from dataclasses import replace

import pytest

from hpcdispatch.base import installed
from hpcdispatch.bench.frozen import suites
from hpcdispatch.bench.frozen.evaluation import Evaluation, LeaderboardEntry


def frozen(suite):
    """Return a suite with the hashes of its own jobs."""
    tasks = tuple(
        replace(task, digests=tuple(suites.digest_of(task, part) for part in suites.PARTS)) for task in suite.tasks
    )
    return replace(suite, tasks=tasks)


@pytest.fixture(autouse=True)
def no_parts(monkeypatch):
    """Forget the parts that a test registers."""
    monkeypatch.setattr(installed, "_OF_SCRIPT", {})


@pytest.fixture(scope="session")
def suite():
    nothing = ("", "", "")
    tasks = (
        suites.Task("pool", "lublin:jobs=60,processors=32,load=0.9", nothing, ((0, 1), (10, 11), (20, 22))),
        suites.Task("sample", "example", nothing, ends=(0.4, 0.9)),
    )
    return frozen(suites.Suite("small", 1, "", tasks))


@pytest.fixture
def small(monkeypatch, suite):
    monkeypatch.setitem(suites.SUITES, "small", suite)
    return suite


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    """Return a folder in which the schedules of the baselines are kept from test to test."""
    return tmp_path_factory.mktemp("cards") / "store"


@pytest.fixture
def card_of(small, store):
    evaluation = Evaluation(small, str(store))

    def card(name="easy-sjbf", dispatcher=None, predictor="walltime"):
        return evaluation.card(LeaderboardEntry(name, dispatcher or name, predictor))

    return card
