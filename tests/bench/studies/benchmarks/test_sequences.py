"""The benchmark of reservation sequences: the small setting and its tables."""

import numpy as np
import pytest
from click.testing import CliRunner

from hpcdispatch.bench.studies.benchmarks.reservation_draws import READINGS, drawn
from hpcdispatch.bench.studies.benchmarks.reservation_traces import CONTENDERS
from hpcdispatch.bench.studies.benchmarks.sequences import agreement, main
from hpcdispatch.workloads import generate, write


def test_every_table_is_printed():
    done = CliRunner().invoke(main, ["--small", "--markdown"])
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stdout.splitlines() if line.startswith("|") and "---" not in line]
    assert sum("| equal |" in line for line in lines) == 4
    assert sum("DIFFERENT" in line for line in lines) == 0
    assert sum(line.endswith("- | - | - |") for line in lines) == 6
    assert sum("x |" in line for line in lines) == 2 + 6
    assert [line.split(" |")[0] for line in lines if "to 16 |" in line] == [
        "| TruncNormal(8, 2), 6 to 16",
        "| Exponential(1), 0 to 16",
    ]


def test_makespans_that_differ_are_refused():
    with pytest.raises(RuntimeError, match=r"makespans differ: 1\.0 and 1\.1"):
        agreement(1.0, 1.1)


@pytest.mark.nightly
def test_the_papers_scheduler_is_compared_with_the_published_figures():
    done = CliRunner().invoke(main, ["--part", "scheduleflow", "--small", "--markdown"])
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stdout.splitlines() if line.startswith("|") and "---" not in line]
    assert sum("points |" in line for line in lines) == 3 * 4
    assert sum(line.startswith("| pareto | beta") for line in lines) == 2
    assert len(lines) == 3 * (1 + 9) + 2 * (1 + 12) + 2 + len(READINGS)


def test_readings_differ_in_what_they_say():
    jobs = {text: drawn(reading, 40, 0.5, 1).jobs for text, reading in READINGS.items()}
    small = {text: [job for job in each if job.queue == "small"] for text, each in jobs.items()}
    assert {len(each) for each in small.values()} == {20}
    below, cut = (
        np.mean([job.runtime <= 5 for job in small[text]])
        for text in (next(iter(READINGS)), "normal run times of small jobs cut at the bounds")
    )
    assert below == 0 < cut
    assert {job.nodes for job in small["small jobs sequential"]} == {1}
    assert {job.nodes for job in jobs["all on all processors"]} == {100}
    assert {job.walltime for job in small["all of the authors' scripts"]} == {6 * 3600}
    assert [job.submit for job in jobs["all of the authors' scripts"]] == [0] * 20 + [10] * 20


def test_what_checkpoints_save_is_shown_by_law():
    done = CliRunner().invoke(main, ["--part", "checkpoints", "--small", "--markdown"])
    assert done.exit_code == 0, done.output
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if " to " in line and line.startswith("|")]
    saved = [[float(cell.split("%")[0]) for cell in row[1:-1]] for row in rows]
    assert len(saved) == 4
    assert all(row == sorted(row, reverse=True) and row[0] > 15 for row in saved)


def test_traces_are_compared_with_easy(tmp_path):
    path = tmp_path / "small.swf"
    write(generate("lublin", jobs=150, processors=32, load=0.9, seed=1), path)
    done = CliRunner().invoke(main, ["--part", "traces", "--trace", str(path), "--small", "--markdown"])
    assert done.exit_code == 0, done.output
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")][1:]
    assert [row[0] for row in rows if "---" not in row[0]] == [f"| {name}" for name in CONTENDERS]
