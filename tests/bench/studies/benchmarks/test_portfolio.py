"""The portfolio beside other dispatchers, on stretches of traces."""

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.benchmarks.portfolio import PortfolioResults, Sampling, compared, main, stretches
from hpcdispatch.bench.studies.benchmarks.retuning import main as retuning


@pytest.mark.traces
def test_stretches_are_disjoint_and_draws_differ(trace):
    path = str(trace("KTH-SP2-1996-2.swf.gz"))
    parts = stretches(path, 100, 3)
    assert [len(part) for part in parts] == [100] * 3
    assert len({job.id for part in parts for job in part.jobs}) == 300
    first, second = stretches("lublin:processors=16", 20, 2)
    assert first.jobs[0] != second.jobs[0]


def test_a_stream_is_drawn_on_nodes_of_two_kinds():
    first, second = stretches("stream:0.9", 20, 2)
    assert len(first) == 20
    assert first.machine.capacity.shape == (64, 4)
    assert first.jobs[0] != second.jobs[0]
    assert stretches("stream:0.9:2", 20, 1)[0].jobs == second.jobs
    for load in ("", "much", "0", "nan", "0.9:soon", "0.9:-1"):
        with pytest.raises(InputError, match="the load must be a number above 0"):
            stretches(f"stream:{load}", 20, 2)


def test_samples_of_a_stretch_are_shifted():
    parts = stretches("lublin:processors=16", 40, 2)
    whole = compared(parts, ("fcfs", "sjf"), "walltime", Sampling(samples=3, jitter=7200)).values
    assert whole.shape == (2, 6, 4)
    alone = compared(parts[1:], ("sjf",), "walltime", Sampling(samples=3, jitter=7200)).values
    assert np.array_equal(whole[1, 3:], alone[0])
    assert len(np.unique(alone[0, :, 0])) == 3


def test_regret_is_against_the_best_that_kept_the_bound():
    values = np.array([[[340.0, 1, 0, 100]], [[40.0, 1, 0, 106]], [[165.0, 1, 0, 105]], [[340.0, 1, 0, 100]]])
    found = PortfolioResults(("easy", "lxf", "lookahead", "portfolio"), values)
    assert found.regrets() == pytest.approx([np.sqrt(400 / 225) - 1])
    assert next(found.rows())[1:2] == ["340.0 (1.00)"]


def test_stretches_are_compared_in_pairs():
    # Four stretches of two samples each: two of 0.5, two of 2, in the mean 1.
    values = np.ones((2, 8, 4))
    values[1, :, 0] = [0.25, 0.75, 1.0, 3.0] * 2
    found = PortfolioResults(("easy", "portfolio"), values, samples=2)
    assert found.ratios("portfolio", "easy")[:, 0].tolist() == [0.5, 2.0, 0.5, 2.0]
    (row,) = found.paired("easy")
    assert row[0] == "`portfolio`"
    reach = stats.t.ppf(0.975, 3) * np.log(2) / np.sqrt(3)
    assert row[1] == f"1.00 [{np.exp(-reach):.2f}, {np.exp(reach):.2f}]"
    assert row[2] == "1.00 [1.00, 1.00]"


def test_the_command_prints_a_table(tmp_path):
    given = [
        "--store",
        str(tmp_path),
        "lublin:processors=16",
        "--jobs",
        "30",
        "--stretches",
        "2",
        "--dispatcher",
        "fcfs",
        "--dispatcher",
        "sjf",
        "--against",
        "fcfs",
        "--markdown",
    ]
    done = CliRunner().invoke(main, given)
    assert done.exit_code == 0, done.output
    rows = [line.split(" |")[0] for line in done.output.splitlines() if line.startswith("| `")]
    assert rows == ["| `fcfs`", "| `sjf`", "| `sjf`"]
    assert "Against fcfs" in done.output
    assert "Regret of `sjf`: on" in done.output
    assert "100% of the jobs are within." in done.output
    again = CliRunner().invoke(main, given)
    assert again.output == done.output
    assert len(list(tmp_path.glob("cells/*/*"))) == 4
    assert CliRunner().invoke(main, ["nowhere.swf"]).exit_code == 1
    refused = CliRunner().invoke(main, [*given, "--against", "lxf"])
    assert "expected one of fcfs, sjf, got 'lxf'" in refused.output
    alone = CliRunner().invoke(main, ["lublin:processors=16", "--dispatcher", "easy"])
    assert "expected the reference and at least another one, got 'easy'" in alone.output


@pytest.mark.nightly
def test_the_time_of_a_tuning_is_told_on_a_pool_and_on_nodes():
    asked = ["--days", "2", "--dispatcher", "portfolio:of=easy+lxf,window=1d", "--markdown"]
    done = CliRunner().invoke(retuning, asked)
    assert done.exit_code == 0, done.output
    rows = [line.split(" | ") for line in done.output.splitlines() if "`portfolio" in line]
    assert [cells[0] for cells in rows] == ["| one pool, in the engine", "| one pool", "| nodes"]
    assert all(cells[2] == "1" and float(cells[3]) > 0 for cells in rows)
    assert rows[0][-1].strip("| ") == "1.00"
    refused = CliRunner().invoke(retuning, ["--days", "1", "--dispatcher", "easy"])
    assert "expected a portfolio, got 'easy'" in refused.output
    assert refused.exit_code == 1
