"""Any file or option gives a result or a one-line error. No record is lost."""

import pytest

from fuzz.targets import TARGETS, attempt


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("part", range(3))
def test_one_line_or_a_result(target, part, tmp_path):
    for seed in range(part * 15, part * 15 + 15):
        try:
            attempt(target, seed, tmp_path)
        except Exception as error:
            raise AssertionError(f"{target}, seed {seed}: {type(error).__name__}: {error}") from error
