"""The figures that a module names as `FIGURES`, made once for it at the smallest scale."""

import pytest

from hpcdispatch.bench.studies.reproductions import Means, find


@pytest.fixture(scope="module")
def means(tmp_path_factory):
    return Means("smoke", tmp_path_factory.mktemp("made") / "store")


@pytest.fixture(scope="module")
def made(means, request):
    return {name: find(name).run(means) for name in request.module.FIGURES}
