"""A benchmark that is given a trace that is not there says so in one line."""

import pytest
from click.testing import CliRunner

from hpcdispatch.bench.studies.benchmarks import cp, published, results, tradeoff
from hpcdispatch.bench.studies.benchmarks.engine import engine_rates


@pytest.mark.parametrize(
    ("benchmark", "arguments"),
    [
        (engine_rates, ["--trace", "nosuch"]),
        (cp, ["--trace", "nosuch"]),
        (published, ["--trace", "nosuch"]),
        (tradeoff, ["nosuch"]),
        (results, ["--trace", "nosuch"]),
    ],
    ids=lambda value: value.__name__.rpartition(".")[2] if hasattr(value, "__name__") else None,
)
def test_is_one_line_and_no_traceback(benchmark, arguments):
    done = CliRunner().invoke(benchmark.main, arguments)
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code in (1, 2)
    errors = [line for line in done.output.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert "nosuch" in errors[0]
