"""Any file or option gives a result or a one-line error. No record is lost."""

import pytest

from fuzz.targets import TARGETS, attempt


@pytest.mark.parametrize("target", TARGETS)
# By day a part of the seeds for each target; nightly-fuzz draws many more.
@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 45), marks=pytest.mark.nightly)], ids=len)
def test_one_line_or_a_result(target, seeds, tmp_path):
    for seed in seeds:
        try:
            attempt(target, seed, tmp_path)
        except Exception as error:
            raise AssertionError(f"{target}, seed {seed}: {type(error).__name__}: {error}") from error
