"""What resamples keep of a trace, and the control that keeps none of it."""

import numpy as np
import pytest
from click.testing import CliRunner

from hpcdispatch.bench.studies.resampled_cycles import main
from hpcdispatch.workloads import Job, Machine, Workload, write


@pytest.fixture
def trace(tmp_path):
    """Six weeks of 40 users with sessions of three jobs, in office hours of five days."""
    rng = np.random.default_rng(5)
    jobs = []
    for session in range(800):
        begin = (
            int(rng.integers(0, 42)) // 7 * 604_800 + int(rng.integers(0, 5)) * 86_400 + int(rng.integers(8, 17)) * 3600
        )
        for place in range(3):
            cores = int(rng.integers(1, 17))
            jobs.append((begin + 300 * place, cores, f"user{session % 40}"))
    made = [
        Job(str(number), submit, 600, 1200, 1, {"core": cores}, user=user)
        for number, (submit, cores, user) in enumerate(sorted(jobs))
    ]
    path = tmp_path / "office.swf"
    write(Workload(made, Machine.pool(64)), path)
    return path


def test_resamples_keep_the_cycles_and_jobs_at_random_times_do_not(trace, tmp_path):
    figure = tmp_path / "hours.svg"
    done = CliRunner().invoke(main, [str(trace), "--samples", "2", "--markdown", "--figure", str(figure)])
    assert done.exit_code == 0, done.output
    lines = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    own, *samples, control = lines[2:]
    correlation, jobs_per_session, load = 2, 4, 7
    for sample in samples:
        assert float(sample[correlation]) > 0.9
        assert float(sample[jobs_per_session]) == pytest.approx(float(own[jobs_per_session]), abs=0.1)
        assert float(sample[load]) == pytest.approx(float(own[load]), abs=0.005)
    assert abs(float(control[correlation])) < 0.3
    assert float(control[jobs_per_session]) < 1.5
    assert figure.read_text(encoding="utf-8").count("<svg") == 1


def test_a_short_trace_is_refused():
    done = CliRunner().invoke(main, ["lublin:jobs=20,processors=32,load=0.5"])
    assert done.exit_code == 1
    assert "expected a trace that is resampled by users, got one shorter than" in done.stderr
