"""The benchmark of reading: the small setting prints a row per format, of the same jobs."""

import pytest
from click.testing import CliRunner

from hpcdispatch.bench.studies.benchmarks.reading import PBS, SACCT, SGE, SWF, main, write_traces
from hpcdispatch.workloads import read


@pytest.mark.nightly
def test_all_formats_are_measured():
    done = CliRunner().invoke(main, ["--small", "--markdown"])
    assert done.exit_code == 0, done.output
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| trace.")]
    assert [(row[0], row[1]) for row in rows] == [(f"| {name}", "2,000") for name in (SWF, SACCT, PBS, SGE)]


def test_both_formats_have_the_same_jobs(tmp_path):
    write_traces(tmp_path, 200)
    swf, sacct = (read(tmp_path / name) for name in (SWF, SACCT))
    assert [(job.runtime, job.per_node) for job in swf.jobs] == [(job.runtime, job.per_node) for job in sacct.jobs]
    assert swf.records["wait"].tolist() == sacct.records["wait"].tolist()


@pytest.mark.parametrize(("name", "form"), [(PBS, "pbs"), (SGE, "sge")])
def test_logs_have_the_jobs_too(tmp_path, name, form):
    write_traces(tmp_path, 200)
    swf, log = read(tmp_path / SWF), read(tmp_path / name, format=form)
    assert [job.runtime for job in log.jobs] == [job.runtime for job in swf.jobs]
    assert log.records["wait"].tolist() == swf.records["wait"].tolist()
