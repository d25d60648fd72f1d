"""Figures and tables at the smallest scale, each made when a module first asks for it."""

import pytest

from hpcdispatch.bench.studies.reproductions import StudyOutcome, StudySettings, find


class Made(dict[str, StudyOutcome]):
    """Outcomes by name."""

    def __init__(self, means: StudySettings):
        super().__init__()
        self._means = means

    def __missing__(self, name: str) -> StudyOutcome:
        self[name] = find(name).run(self._means)
        return self[name]


@pytest.fixture(scope="module")
def means(tmp_path_factory):
    return StudySettings("smoke", tmp_path_factory.mktemp("made") / "store")


@pytest.fixture(scope="module")
def made(means):
    return Made(means)
