"""The figures that a module names as `FIGURES`, made once for it at the smallest scale."""

import pytest

from hpcdispatch.bench.studies.reproductions import StudySettings, find


@pytest.fixture(scope="module")
def means(tmp_path_factory):
    return StudySettings("smoke", tmp_path_factory.mktemp("made") / "store")


@pytest.fixture(scope="module")
def made(means, request):
    return {name: find(name).run(means) for name in request.module.FIGURES}
