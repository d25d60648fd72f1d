from __future__ import annotations

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcdispatch.base import InputError
from hpcdispatch.workloads import Job, Machine, Provenance, Shape, Workload, generate, jitter, read, write

small = st.integers(-1, 50)
cpu = st.one_of(small, st.floats(0, 1e6).map(lambda value: round(value, 2)))
rows = st.lists(
    st.tuples(
        st.integers(0, 10**6),
        small,
        st.integers(1, 10**6),
        st.integers(1, 64),
        cpu,
        small,
        st.integers(1, 64),
        st.integers(1, 10**6),
        small,
        st.sampled_from((-1, 0, 1, 5)),
        small,
        small,
        small,
        small,
        small,
        small,
        small,
    ),
    min_size=1,
    max_size=12,
)


def fields(path):
    data = path.read_bytes()
    lines = (gzip.decompress(data) if path.name.endswith("gz") else data).splitlines()
    records = [line for line in lines if line.strip() and not line.startswith(b";")]
    return np.array([[float(one) for one in line.split()] for line in records])


@settings(max_examples=number_of_inputs(60))
@given(rows, st.sampled_from(["o.swf", "o.swf.gz"]))
def test_read_and_write_keep_all_18_fields(drawn, name):
    with TemporaryDirectory() as folder:
        source = Path(folder) / "s.swf"
        target = Path(folder) / name
        lines = [" ".join(map(str, (number, *row))) for number, row in enumerate(sorted(drawn), 1)]
        source.write_text("; MaxProcs: 64\n; Note: kept\n" + "\n".join(lines) + "\n")
        workload = read(source)
        write(workload, target)
        again = read(target)
        assert again.jobs == workload.jobs
        assert again.provenance.header == workload.provenance.header
        assert again.records.equals(workload.records)
        np.testing.assert_array_equal(fields(source), fields(target))


@pytest.mark.traces
@pytest.mark.parametrize(
    "name",
    ["KTH-SP2-1996-2.swf.gz", pytest.param("SDSC-SP2-1998-4.2-cln.swf.gz", marks=pytest.mark.nightly)],
)
@pytest.mark.filterwarnings("ignore:.*no walltime")
def test_a_published_trace_is_written_back_whole(trace, tmp_path, name):
    workload = read(trace(name))
    write(workload, tmp_path / name)
    source = fields(trace(name))
    np.testing.assert_array_equal(fields(tmp_path / name), source[source[:, 3] > 0])
    again = read(tmp_path / name)
    assert again.jobs == workload.jobs
    assert again.provenance.header == workload.provenance.header


def test_given_requested_times_are_written(tmp_path):
    path = tmp_path / "a.swf"
    path.write_text("; MaxProcs: 8\n1 0 -1 60 4 -1 -1 -1 -1 -1 1 -1 -1 -1 0 -1 -1 -1\n")
    write(read(path, default_walltime="runtime"), path)
    assert read(path).jobs[0].walltime == 60


def test_a_generated_workload_survives(tmp_path):
    workload = generate("lublin", jobs=200, processors=64)
    write(workload, tmp_path / "a.swf.gz")
    again = read(tmp_path / "a.swf.gz")
    assert again.jobs == workload.jobs
    assert again.digest() == workload.digest()
    for line in ("; MaxJobs: 200", "; MaxNodes: 1", "; MaxProcs: 64", "; UnixStartTime: 0"):
        assert line in again.provenance.header


def test_the_same_bytes_every_time(tmp_path):
    workload = generate("lublin", jobs=50)
    write(workload, tmp_path / "a.swf.gz")
    write(workload, tmp_path / "b.swf.gz")
    assert (tmp_path / "a.swf.gz").read_bytes() == (tmp_path / "b.swf.gz").read_bytes()
    assert (tmp_path / "a.swf.gz").read_bytes()[4:8] == b"\0\0\0\0"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.swf.gz", "b.swf.gz"]


def test_names_become_numbers_and_the_header_says_so(tmp_path):
    jobs = (
        Job("a", 0, 10, 20, nodes=2, per_node={"core": 3, "mem": 6}, user="ann", queue="4"),
        Job("b", 5, 10, 20, user="bob", name="x\ny", shapes=(Shape(1, 1, 1),), kind="on-demand"),
    )
    workload = Workload(jobs, Machine.homogeneous(4, core=4, mem=100), Provenance("hand"))
    write(workload, tmp_path / "a.swf")
    text = (tmp_path / "a.swf").read_text()
    assert fields(tmp_path / "a.swf")[:, [0, 7, 9, 11, 13, 14]].tolist() == [[1, 6, 2, 1, -1, 4], [2, 1, -1, 2, 1, -1]]
    for note in ("numbered from 1", "user 1 is ann", "executable 1 is x y", "no field for shapes, left out of 1 jobs"):
        assert note in text
    assert "kind on-demand" in text
    again = read(tmp_path / "a.swf", workload.machine)
    assert [(job.nodes, dict(job.per_node)) for job in again.jobs] == [(2, {"core": 3, "mem": 6}), (1, {"core": 1})]


def test_integer_ids_stay(tmp_path):
    write(Workload((Job("12", 0, 1, 1), Job("7", 0, 1, 1)), Machine.pool(2)), tmp_path / "a.swf")
    assert [job.id for job in read(tmp_path / "a.swf").jobs] == ["12", "7"]


def test_places_that_cannot_be_written(tmp_path):
    workload = generate("lublin", jobs=2)
    with pytest.raises(InputError, match=r"expected a file name ending in \.swf or .*, got suffix '\.txt'"):
        write(workload, tmp_path / "a.txt")
    with pytest.raises(FileNotFoundError, match="no such directory to write to"):
        write(workload, tmp_path / "none" / "a.swf")
    (tmp_path / "d.swf").mkdir()
    with pytest.raises(IsADirectoryError, match="got a directory"):
        write(workload, tmp_path / "d.swf")


def test_jitter_shifts_and_sorts(tmp_path):
    workload = generate("lublin", jobs=300)
    write(workload, tmp_path / "a.swf")
    workload = read(tmp_path / "a.swf")
    shifted = jitter(workload, 3600, np.random.default_rng(1))
    before = {job.id: job for job in workload.jobs}
    assert all(0 <= job.submit - before[job.id].submit <= 3600 for job in shifted.jobs)
    assert [job.submit for job in shifted.jobs] == sorted(job.submit for job in shifted.jobs)
    assert [job.id for job in shifted.jobs] != [job.id for job in workload.jobs]
    sizes = shifted.records["requested_processors"].tolist()
    assert sizes == [job.per_node["core"] for job in shifted.jobs]
    assert jitter(workload, 3600, np.random.default_rng(1)).jobs == shifted.jobs
    assert jitter(workload, 0, np.random.default_rng(1)).jobs == workload.jobs
    with pytest.raises(InputError, match="seconds must be a whole number >= 0, got -1"):
        jitter(workload, -1, np.random.default_rng(1))
    assert jitter(workload, "1h", np.random.default_rng(1)).jobs == shifted.jobs
    with pytest.raises(InputError, match=r"jitter: seconds: expected a time such as 90s, .*, got 'soon'"):
        jitter(workload, "soon", np.random.default_rng(1))


def test_chains_are_the_preceding_job_and_the_think_time(tmp_path):
    jobs = [
        Job("1", 0, 10, 10),
        Job("2", 5, 10, 10, depends=(("1", "afterany", 60),)),
        Job("3", 6, 10, 10, depends=(("2", "afterok"),)),
    ]
    path = tmp_path / "chain.swf"
    write(Workload(jobs, Machine.pool(4)), path)
    text = path.read_text(encoding="utf-8")
    rows = [line.split() for line in text.splitlines() if not line.startswith(";")]
    assert [row[16:] for row in rows] == [["-1", "-1"], ["1", "60"], ["-1", "-1"]]
    assert "SWF has no field for depends, left out of 1 jobs" in text
    assert [job.depends for job in read(path).jobs] == [(), (("1", "afterany", 60),), ()]
