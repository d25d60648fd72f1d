from __future__ import annotations

import gzip
import json
import os
import warnings

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import Machine, TraceWarning, read, write
from hpcdispatch.workloads.formats.slots import Slotter, divisors

HEADER = "; Computer: Test\n; MaxProcs: 64 (batch partition; 512 total)\n"


def record(number, submit=0, run=100, allocated=4, requested=4, time=200, memory=-1, queue=1, **other):
    fields = [number, submit, 3, run, allocated, "1.5", -1, requested, time, memory, 1, 7, 2, 9, queue, -1, -1, -1]
    for position, value in other.items():
        fields[int(position[1:]) - 1] = value
    return " ".join(map(str, fields))


@pytest.fixture
def swf(tmp_path):
    def make(*lines, header=HEADER, name="t.swf"):
        path = tmp_path / name
        text = (header + "\n".join(lines) + "\n").encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return path

    return make


@pytest.mark.parametrize("name", ["t.swf", "t.swf.gz"])
def test_a_record_becomes_a_job_and_the_rest_goes_to_records(swf, name):
    workload = read(swf(record(5, submit=10), record(6, submit=10, f12=-1), name=name))
    job = workload.jobs[0]
    assert (job.id, job.submit, job.runtime, job.walltime, job.nodes) == ("5", 10, 100, 200, 1)
    assert dict(job.per_node) == {"core": 4}
    assert (job.user, job.group, job.name, job.queue) == ("7", "2", "9", "1")
    assert workload.jobs[1].user == ""
    assert workload.records.loc[0, ["wait", "cpu_time", "allocated_processors"]].tolist() == [3, 1.5, 4]
    assert workload.machine == Machine.pool(64)
    assert workload.machine.name == "Test"
    assert workload.provenance.header == tuple(HEADER.splitlines())
    assert workload.provenance.notes == ()


def test_the_content_decides_about_gzip(swf, tmp_path):
    packed = swf(record(1), name="a.swf.gz")
    plain = tmp_path / "b.swf"
    plain.write_bytes(packed.read_bytes())
    assert read(plain).jobs == read(packed).jobs


@pytest.mark.parametrize(
    ("header", "cores", "note"),
    [
        ("; MaxNodes: 8\n", 8, "no MaxProcs"),
        ("; MaxProcs: unknown\n", 8, "in use at once by the recorded starts: 8"),
        ("", 8, "in use at once by the recorded starts: 8"),
        ("; MaxNodes: 1\n", 8, "in use at once"),
        ("; MaxProcs: 4,096\n", 4096, ""),
    ],
)
def test_without_maxprocs_the_machine_is_guessed_and_noted(swf, header, cores, note):
    workload = read(swf(record(1), record(2), header=header))
    assert workload.machine == Machine.pool(cores)
    assert not note or any(note in line for line in workload.provenance.notes)


def test_without_starts_the_machine_is_the_largest_request(swf):
    workload = read(swf(record(1, f3=-1), record(2, f3=-1), header=""))
    assert workload.machine == Machine.pool(4)
    assert "the largest request: 4" in workload.provenance.notes[0]


@pytest.mark.parametrize("value", ["9223372036854775808", "9" * 5000, "5.5", "1e10"])
def test_a_maxprocs_that_is_no_number_of_processors(swf, value):
    with pytest.raises(InputError, match=r"t\.swf: header MaxProcs: expected a whole number up to 1000000000, got"):
        read(swf(record(1), header=f"; MaxProcs: {value}\n"))


def test_a_maxprocs_with_an_exponent_and_a_byte_order_mark(swf):
    assert read(swf(record(1), header="\ufeff; MaxProcs: 1e9\n")).machine == Machine.pool(10**9)


GOOD = record(1)
MALFORMED = {
    "seventeen": (GOOD.rsplit(" ", 1)[0], "wrong number of fields", r"t\.swf:4: expected 18 fields, got 17; --lenient"),
    "too many processors": (
        record(2, requested=9007199254740992),
        "number too large",
        r":4: field 'requested processors': expected a whole number up to 1000000000, got",
    ),
    "letters": (record(2, run="abc"), "not a number", r":4: field 'run time': expected a number, got 'abc'; --lenient"),
    "nan": (record(2, run="nan"), "not a number", r":4: field 'run time': expected a number, got 'nan'; --lenient"),
    "inf": (
        record(2, time="inf"),
        "not a number",
        r":4: field 'walltime': expected a number, got 'inf'; --lenient",
    ),
    "underscore": (record(2, run="1_0"), "not a number", r":4: .* got '1_0'; --lenient"),
    "huge": (record(2, run="1e300"), "number too large", r":4: field 'run time': expected seconds up to 1"),
    "fraction": (record(2, requested="2.5"), "not a whole number", r":4: .*requested processors.* got 2\.5; --lenient"),
    "negative": (
        record(2, submit=-5),
        "negative submission time",
        r":4: field 'submit time': expected .* >= 0, got -5; --lenient",
    ),
    "negative fraction": (record(2, submit=-0.5), "negative submission time", r":4: field 'submit time'"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_records_stop_the_reading_unless_lenient(swf, case):
    line, reason, message = MALFORMED[case]
    path = swf(GOOD, line, record(3, submit=9))
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    workload = read(path, lenient=True)
    assert [job.id for job in workload.jobs] == ["1", "3"]
    assert workload.provenance.counts[reason] == 1
    assert any(reason in note and note.endswith("line 4") for note in workload.provenance.notes)


def test_unsorted_submissions(swf):
    path = swf(record(1, submit=10), record(2, submit=5), record(3, submit=9), record(4, submit=10))
    workload = read(path)
    assert [job.id for job in workload.jobs] == ["2", "3", "1", "4"]
    assert workload.provenance.counts == {"records sorted": 2}
    assert workload.records["wait"].tolist() == [3] * 4
    assert workload.jobs == read(path, lenient=True).jobs


def test_numbers_that_come_twice(swf):
    path = swf(record(1), record(7), record(1, submit=5), record(1), record(7, submit=6, run=9))
    workload = read(path)
    assert [(job.id, job.submit) for job in workload.jobs] == [("1", 0), ("7", 0), ("8", 5), ("9", 6)]
    assert workload.provenance.counts == {"repeated records": 1, "jobs renumbered": 2}


def test_fields_beyond_the_eighteen(swf):
    names = "; Fields: " + " ".join(f"f{number}" for number in range(1, 18)) + " watts tag"
    workload = read(swf(record(1) + " 350 a:b", record(2) + " -1 c", header=f"{HEADER}{names}\n"))
    assert workload.records["watts"].tolist() == [350, -1]
    assert "tag" not in workload.records
    frontier = read(swf(record(1) + " 8 -1 site:excl:1x56", record(2)))
    assert frontier.records[["gpus", "soft_walltime"]].values.tolist() == [[8, -1], [-1, -1]]


def test_a_second_for_a_run_time_of_zero(swf):
    path = swf(record(1), record(2, run=0), record(3, run=0, f11=5))
    assert [job.id for job in read(path).jobs] == ["1"]
    kept = read(path, keep_zero=True)
    assert [(job.id, job.runtime) for job in kept.jobs] == [("1", 100), ("2", 1)]
    assert kept.provenance.counts == {"kept as one second": 1, "run time <= 0": 1}
    assert "1 job with run time 0 not kept: 1 cancelled" in kept.provenance.notes


def test_run_times_of_0_and_unknown_ones_as_papers_count_them(swf):
    path = swf(record(1), record(2, run=0), record(3, run=0, f11=5), record(4, run=-1))
    counted = read(path, zero_runtime=0, unknown_runtime=10)
    assert [job.runtime for job in counted.jobs] == [100, 0, 0, 10]
    assert counted.provenance.notes[:2] == (
        "2 jobs with run time 0 counted as 0 s",
        "1 job with an unknown run time counted as 10 s",
    )
    assert [job.id for job in read(path, unknown_runtime=7).jobs] == ["1", "4"]
    with pytest.raises(InputError, match=r"zero_runtime: expected whole seconds >= 0 and <= .*, got -1"):
        read(path, zero_runtime=-1)
    with pytest.raises(InputError, match="keep_zero: expected it or zero_runtime, got both"):
        read(path, keep_zero=True, zero_runtime=1)


def test_jobs_without_a_walltime_can_be_left_out(swf):
    path = swf(record(1), record(2, time=-1))
    known = read(path, default_walltime="drop")
    assert [job.id for job in known.jobs] == ["1"]
    assert "1 of 2 jobs have no walltime and are left out" in known.provenance.notes
    with pytest.raises(InputError, match="give another default_walltime than drop"):
        read(swf(record(1, time=-1)), default_walltime="drop")


def test_the_machine_of_a_paper_has_other_processors(swf):
    path = swf(record(1))
    assert read(path, processors=80640).machine.capacity.sum() == 80640
    with pytest.raises(InputError, match="processors: expected it or a machine, got both"):
        read(path, Machine.pool(3), processors=4)
    with pytest.raises(InputError, match="processors must be a whole number >= 1 and "):
        read(path, processors=0)


def test_partial_executions_without_a_summary(swf):
    path = swf(record(1, f11=2), record(1, run=30, f11=3), record(2))
    assert [(job.id, job.runtime) for job in read(path).jobs] == [("1", 130), ("2", 100)]


def test_the_first_malformed_line_is_the_one_named(swf):
    with pytest.raises(InputError, match=r":4: field 'submit time'"):
        read(swf(record(1), record(2, submit=-2), "1 2 3"))


def test_a_number_of_400_digits_beside_text(swf):
    rows = [
        f"{number} 10 0 60 4 {field} -1 4 120 -1 1 1 1 1 1 1 -1 -1" for number, field in ((1, "9" * 400), (2, "1_0"))
    ]
    with pytest.raises(InputError, match=r":3: field 'average CPU time used': expected a number up to"):
        read(swf("\n".join(rows)))


def test_long_lists_of_lines_are_capped(swf):
    workload = read(swf(record(1), *["x"] * 30), lenient=True)
    assert workload.provenance.counts == {"wrong number of fields": 30}
    assert workload.provenance.notes[0].endswith("lines 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, ...")


UNUSABLE = {
    "run time <= 0": record(2, run=0),
    "no processor count": record(2, requested=-1, allocated=-1),
    "larger than the machine": record(2, requested=65, allocated=65),
}


@pytest.mark.parametrize("reason", UNUSABLE)
def test_unusable_records_are_counted_or_refused(swf, reason):
    path = swf(record(1), UNUSABLE[reason], record(3))
    workload = read(path)
    assert [job.id for job in workload.jobs] == ["1", "3"]
    assert len(workload.records) == 2
    assert workload.provenance.counts == {reason: 1}
    assert workload.provenance.notes == (f"1 of 3 records left out as unusable: 1 {reason}",)
    with pytest.raises(InputError, match=r"t\.swf:4: field .* expected .* got .*1 unusable record in all"):
        read(path, strict=True)


def test_a_trace_without_usable_records(swf):
    with pytest.raises(InputError, match="expected usable records, got none among 1"):
        read(swf(record(1, run=0)))


def test_allocated_processors_stand_in_for_requested_ones(swf):
    assert read(swf(record(1, requested=-1, allocated=3))).jobs[0].per_node["core"] == 3


def test_missing_requested_times(swf):
    path = swf(record(1, time=50), record(2, time=-1), record(3, time=900, queue=2), record(4, time=0, queue=3))
    with pytest.warns(TraceWarning, match="2 of 4 jobs have no walltime"):
        workload = read(path)
    assert [job.walltime for job in workload.jobs] == [50, 100, 900, 900]  # as long as it ran
    assert workload.provenance.counts == {"walltime filled in": 2}
    assert workload.records["requested_time"].tolist() == [50, -1, 900, 0]
    assert [job.walltime for job in read(path, default_walltime=7).jobs] == [50, 7, 900, 7]
    assert [job.walltime for job in read(path, default_walltime="runtime").jobs] == [50, 100, 900, 100]


def test_a_trace_with_no_requested_time_needs_a_default(swf):
    path = swf(record(1, time=-1))
    with pytest.raises(InputError, match=r"'walltime': expected some > 0, got none.*default_walltime"):
        read(path)
    assert read(path, default_walltime="runtime").jobs[0].walltime == 100


@pytest.mark.parametrize("value", [0, -1, "long", True, 1.5])
def test_default_walltime_is_checked(swf, value):
    with pytest.raises(
        InputError, match="default_walltime: expected whole seconds >= 1 and <= 10000000000, 'runtime' or 'drop', got"
    ):
        read(swf(GOOD), default_walltime=value)


def test_fractions_of_a_second(swf):
    workload = read(swf(record(1, submit="1.9", run="0.2", time="9.5"), record(2, submit=2)))
    assert (workload.jobs[0].submit, workload.jobs[0].runtime, workload.jobs[0].walltime) == (1, 1, 10)
    assert workload.provenance.counts == {"rounded to seconds": 1}


def test_an_overrun_stays(swf):
    job = read(swf(record(1, run=500))).jobs[0]
    assert (job.runtime, job.walltime) == (500, 200)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.swf: no such file$"):
        read(tmp_path / "none.swf")
    folder = tmp_path / "d.swf"
    folder.mkdir()
    with pytest.raises(IsADirectoryError, match=r"d\.swf: expected a file, got a directory"):
        read(folder)
    with pytest.raises(FileNotFoundError, match=r"x\.json: no such file$"):
        read(tmp_path / "x.json")
    with pytest.raises(InputError, match=r"--format: expected one of swf, sacct, .*pm100.* got 'x'$"):
        read(tmp_path / "x.json", format="x")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_no_permission(swf):
    path = swf(GOOD)
    path.chmod(0)
    with pytest.raises(PermissionError, match=r"t\.swf: no permission to read it"):
        read(path)


CONTENT = {
    "wrong magic": ("a.swf.gz", b"; MaxProcs: 3\n", r"expected gzip data \(it begins with 1f 8b\), got 3b 20"),
    "truncated": ("a.swf.gz", gzip.compress(GOOD.encode() * 50, mtime=0)[:-12], "expected a whole gzip file"),
    "damaged": ("a.swf.gz", gzip.compress(GOOD.encode(), mtime=0)[:-8] + b"\1" * 8, "expected a sound gzip file"),
    "empty": ("a.swf", b"", "expected a trace, got an empty file"),
    "empty gz": ("a.swf.gz", gzip.compress(b""), "got an empty file in gzip"),
    "binary": ("a.swf", b"\x89PNG\0\0", "expected text, got binary data"),
    "header only": ("a.swf", b"; MaxProcs: 3\n", "expected records of 18 fields, got none"),
}


@pytest.mark.parametrize("case", CONTENT)
def test_bad_content_is_one_line(tmp_path, case):
    name, data, message = CONTENT[case]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_processors_are_grouped_as_the_nodes_allow(swf):
    machine = Machine.homogeneous(16, core=4, mem=1000)
    lines = [
        record(1, requested=12),
        record(2, requested=7),
        record(3, requested=4, memory=500),
        record(4, requested=65, allocated=65),
    ]
    workload = read(swf(*lines), machine)
    assert [(job.nodes, dict(job.per_node)) for job in workload.jobs] == [
        (3, {"core": 4}),
        (7, {"core": 1}),
        (2, {"core": 2, "mem": 1000}),
    ]
    assert workload.provenance.counts == {"larger than the machine": 1}
    single = read(swf(*lines), Machine.homogeneous(100, core=1))
    assert [job.nodes for job in single.jobs] == [12, 7, 4, 65]
    assert {dict(job.per_node)["core"] for job in single.jobs} == {1}


def test_smaller_slots_where_large_ones_do_not_fit():
    slotter = Slotter(Machine.homogeneous(4, core=4))
    assert slotter.shape(15) == (15, {"core": 1})  # 5 slots of 3 would not fit on 4 nodes
    assert slotter.shape(17) is None


@pytest.mark.parametrize("number", [1, 2, 12, 36, 97, 100])
def test_divisors(number):
    assert divisors(number) == [one for one in range(1, number + 1) if number % one == 0]


def test_a_machine_from_an_accasim_file(swf, tmp_path):
    path = tmp_path / "m.json"
    path.write_text(
        json.dumps(
            {
                "groups": {"g": {"core": 4, "mem": 10}},
                "resources": {"g": 8},
                "equivalence": {"processor": {"core": 2}},
            }
        )
    )
    assert read(swf(GOOD), path).jobs[0].nodes == 2
    assert dict(read(swf(GOOD), path).jobs[0].per_node) == {"core": 4}


def test_a_machine_without_the_resource(swf):
    message = r"machine has no resource 'core', which the processors .* ask for; it has: gpu"
    with pytest.raises(InputError, match=message):
        read(swf(GOOD), Machine.homogeneous(4, gpu=4))


COUNTS = {
    "KTH-SP2-1996-2.swf.gz": (28481, 8, 0, 100),
    "CTC-SP2-1996-3.1-cln.swf.gz": (77205, 17, 6, 338),
    "SDSC-SP2-1998-4.2-cln.swf.gz": (54034, 5681, 35, 128),
}


@pytest.mark.traces
@pytest.mark.parametrize("name", COUNTS)
def test_published_traces(trace, name):
    jobs, unusable, filled, cores = COUNTS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TraceWarning)
        workload = read(trace(name))
    assert len(workload) == jobs
    assert workload.machine == Machine.pool(cores)
    expected = {"run time <= 0": unusable} | ({"walltime filled in": filled} if filled else {})
    assert workload.provenance.counts == expected
    overruns = np.sum([job.runtime > job.walltime for job in workload.jobs])
    if name.startswith("KTH"):
        assert overruns == 475


def test_a_preceding_job_and_its_think_time_are_a_dependency(swf, tmp_path):
    lines = [
        record(1),
        record(2, f17=1, f18=60),
        record(3, f17=2),
        record(4, f17=99),
        record(5, f17=6),
        record(6, f17=6),
    ]
    workload = read(swf(*lines))
    assert [job.depends for job in workload.jobs] == [
        (),
        (("1", "afterany", 60),),
        (("2", "afterany", 0),),
        (),
        (),
        (),
    ]
    assert workload.provenance.counts == {"with a preceding job": 2, "preceding jobs not found": 3}
    write(workload, tmp_path / "b.swf")
    assert read(tmp_path / "b.swf").jobs == workload.jobs
    jobs = simulate(workload, "fcfs").jobs
    assert jobs["start"].tolist()[:3] == [0, 160, 260]
