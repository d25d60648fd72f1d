"""Zero is not a time on a calendar clock, in every kind of table."""

import itertools

import pandas as pd
import pytest
from combinations import some

from hpcdispatch.workloads import read

EPOCH = 1704067200
MAP = """
[columns]
id = "id"
submit = "submit"
start = "start"
end = "end"
cores = "cores"
walltime = "limit"
"""
#: Texts for a time that never came.
NEVER = (
    "0",
    "0.0",
    "",
    "-",
    "-1",
    "None",
    "Unknown",
    "undefined",
    "1970-01-01",
    "1970-01-01T00:00:00",
    "1970-01-01 00:00:00",
    "1970-01-01T01:00:00+01:00",
    "1969-12-31T23:59:59",
    "1969-12-31 19:00:00",
    "1970/01/01 00:00:00",
    "0001-01-01T00:00:00Z",
    "0000-00-00 00:00:00",
    "4294967295",
    "NULL",
    "N/A",
)


def table(folder, rows, head=""):
    lines = ["id,submit,start,end,cores,limit", *(",".join(map(str, row)) for row in rows)]
    (folder / "t.csv").write_text("\n".join([*lines, ""]))
    (folder / "t.toml").write_text(head + MAP)
    return read(folder / "t.csv", format=str(folder / "t.toml"))


@pytest.mark.parametrize("never", NEVER)
def test_a_job_without_a_start(tmp_path, never):
    workload = table(tmp_path, [(1, EPOCH, EPOCH + 10, EPOCH + 110, 4, 600), (2, EPOCH, never, EPOCH + 50, 4, 600)])
    assert [(job.id, job.runtime) for job in workload.jobs] == [("1", 100)]
    assert workload.provenance.counts["not started"] == 1


@pytest.mark.parametrize("never", NEVER)
def test_a_job_without_an_end(tmp_path, never):
    workload = table(tmp_path, [(1, EPOCH, EPOCH + 10, EPOCH + 110, 4, 600), (2, EPOCH, EPOCH + 20, never, 4, 600)])
    assert [job.id for job in workload.jobs] == ["1"]
    assert workload.provenance.counts["not finished"] == 1


@pytest.mark.parametrize("never", ["0", "1970-01-01T00:00:00"])
def test_a_job_without_a_submission_does_not_set_the_zero_of_time(tmp_path, never):
    workload = table(
        tmp_path, [(1, never, EPOCH + 10, EPOCH + 110, 4, 600), (2, EPOCH, EPOCH + 20, EPOCH + 80, 4, 600)]
    )
    assert [(job.id, job.submit) for job in workload.jobs] == [("2", 0)]
    assert f"; UnixStartTime: {EPOCH}" in workload.provenance.header
    assert workload.provenance.counts["not submitted"] == 1


def test_zero_is_a_time_on_a_relative_clock(tmp_path):
    workload = table(tmp_path, [(1, 0, 0, 100, 4, 600), (2, 5, -1, -1, 4, 600)], 'clock = "relative"\n')
    assert [(job.id, job.submit, job.runtime) for job in workload.jobs] == [("1", 0, 100)]


def test_a_table_with_small_times_alone_has_its_own_clock(tmp_path):
    assert [job.runtime for job in table(tmp_path, [(1, 0, 0, 100, 4, 600), (2, 60, 70, 80, 4, 600)]).jobs] == [100, 10]


@pytest.mark.parametrize(("start", "end"), [*itertools.product(("0", "1970-01-01"), repeat=2)])
def test_the_run_time_stands_in_for_the_end(tmp_path, start, end):
    (tmp_path / "t.toml").write_text(MAP + 'elapsed = "ran"\n')
    rows = (
        f"1,{EPOCH},{EPOCH + 10},{end},500,4,600\n2,{EPOCH},{start},{EPOCH + 700},60,4,600\n3,{EPOCH},{start},0,0,4,9\n"
    )
    (tmp_path / "t.csv").write_text("id,submit,start,end,ran,cores,limit\n" + rows)
    workload = read(tmp_path / "t.csv", format=str(tmp_path / "t.toml"))
    assert [(job.id, job.runtime) for job in workload.jobs] == [("1", 500), ("2", 60)]
    assert workload.records["wait"].tolist() == [10, 640]


@pytest.mark.parametrize("zero", some([pd.Timestamp(0), pd.NaT]))
def test_stamps_of_parquet(tmp_path, zero):
    begin = pd.Timestamp(EPOCH, unit="s")
    frame = {"id": [1, 2], "submit": [begin] * 2, "start": [begin, zero], "end": [begin + pd.Timedelta("60s")] * 2}
    pd.DataFrame(frame | {"cores": [4, 4], "limit": [600, 600]}).to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.toml").write_text(MAP)
    assert [job.id for job in read(tmp_path / "t.parquet", format=str(tmp_path / "t.toml")).jobs] == ["1"]


@pytest.mark.parametrize("never", ["0", "1970-01-01T00:00:00", "Unknown", "None", "1970-01-01T01:00:00"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin", "America/Denver"])
def test_slurm(tmp_path, never, zone):
    text = f"1|{EPOCH}|{EPOCH}|{EPOCH + 60}|4|00:10:00|COMPLETED\n2|{EPOCH}|{never}|{EPOCH + 60}|4|00:10:00|CANCELLED\n"
    (tmp_path / "t.sacct").write_text("JobID|Submit|Start|End|NCPUS|Timelimit|State\n" + text)
    workload = read(tmp_path / "t.sacct", timezone=zone)
    assert [job.id for job in workload.jobs] == ["1"]
    assert workload.machine.capacity.sum() == 4


def test_a_running_job_of_slurm_is_not_finished(tmp_path):
    text = f"1|{EPOCH}|{EPOCH}|{EPOCH + 60}|60|4|COMPLETED\n2|{EPOCH}|{EPOCH}|0|600|4|RUNNING\n"
    (tmp_path / "t.sacct").write_text("JobID|Submit|Start|End|ElapsedRaw|NCPUS|State\n" + text)
    workload = read(tmp_path / "t.sacct", default_walltime=600)
    assert workload.provenance.counts["not finished"] == 1
