"""Reading within bounds: packed texts, long files, many rows."""

import gzip
import json
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import Job, Machine, Provenance, Workload, read, write
from hpcdispatch.workloads.formats import RunColumns, memory_needs, read_run_times, read_runs, table_files
from hpcdispatch.workloads.formats.table_files import parts
from hpcdispatch.workloads.formats.trace_files import ReadingBounds, TraceFile

RECORD = "1 0 3 100 4 -1 -1 4 200 -1 1 7 2 9 1 -1 -1 -1\n"
RAISES = r"; --max-size \(max_size\) raises the bounds$"


def packed(path, text, times):
    """Write a text many times in gzip, a part at a time."""
    with gzip.open(path, "wb") as file:
        for _ in range(times):
            file.write(text)
    return path


@pytest.mark.parametrize("name", ["a.swf.gz", "a.sacct.gz", "a.csv.gz", "a.jsonl.gz"])
def test_a_bomb_is_refused(tmp_path, name):
    path = packed(tmp_path / name, b"; comment comment comment comment\n" * 30_000, 60)
    with pytest.raises(InputError, match=r"expected gzip that unpacks to at most 200 times its .* got more" + RAISES):
        TraceFile(path, packed=True).read()
    with pytest.raises(InputError):
        read(path)


def test_a_small_file_may_be_of_one_kind_of_line(tmp_path):
    path = packed(tmp_path / "a.swf.gz", b"; comment\n" * 1000, 100)
    with gzip.open(path, "ab") as file:
        file.write(RECORD.encode())
    assert len(read(path)) == 1


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (ReadingBounds(size=10), "expected a file of at most 10 bytes, got "),
        (ReadingBounds(memory=1600), "expected at most 400 bytes of text, got more"),
        (ReadingBounds(memory=100), "expected a trace that takes at most 100 bytes of memory, got more"),
    ],
)
def test_a_file_beyond_a_bound_is_refused(tmp_path, bounds, message):
    path = tmp_path / "a.swf"
    path.write_text(RECORD * 10)
    with pytest.raises(InputError, match=message + ".*" + RAISES):
        TraceFile(path, packed=False, bounds=bounds).read()
    with pytest.raises(InputError, match="expected a file of at most 10 bytes, got "):
        read(path, max_size=10)


@pytest.mark.parametrize(
    ("needs", "text"),
    [
        (memory_needs.SWF, b"1\n"),
        (memory_needs.SWF, b"1\r"),
        (memory_needs.SACCT, b"\n"),
        (memory_needs.JSONL, b"{}\n"),
        (memory_needs.JSONL, b"[[[]]]," * 99),
        (memory_needs.JSON, b"[],"),
        (memory_needs.RUNS, b"1\n"),
        (memory_needs.TABLE, b"abcdefg\xf0\x9f\x82\xa1" * 999 + b"\n"),
    ],
)
def test_a_text_that_takes_too_much_memory_is_refused_as_it_is_read(tmp_path, needs, text):
    path = tmp_path / "a"
    path.write_bytes(text * (200_000 // len(text)))
    with pytest.raises(InputError, match="expected a trace that takes at most 1,000,000 bytes of memory.*" + RAISES):
        for _ in TraceFile(path, packed=False, bounds=ReadingBounds(memory=1_000_000), needs=needs).blocks():
            pass


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.sacct", b"x" * (17 << 20), "expected lines of at most 16,777,216 bytes, got a longer one"),
        ("a.jsonl", b"{" + b" " * (17 << 20), "expected lines of at most 16,777,216 bytes, got a longer one"),
        ("a.swf", b"1 " * (9 << 20), "expected lines of at most 16,777,216 bytes, got a longer one"),
        ("a.swf", (b"1 " * 65 + b"\n") * 2, "a.swf:1: expected 18 fields, got 65"),
        ("a.csv", b"id,submit,runtime,cores" + b",x" * 9_997 + b"\n1", "expected a table of at most 10,000 columns"),
    ],
)
def test_a_line_has_a_bound(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_bytes(text)
    with pytest.raises(InputError, match=message):
        read(path, format="pm100" if name.endswith("csv") else None)


def test_run_times_have_a_bound_of_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"1" + b",1" * 10_000)
    with pytest.raises(InputError, match="expected run times in at most 10,000 columns, got 10,001"):
        read_run_times(path)


def test_fields_beyond_the_known_ones_are_read(tmp_path):
    path = tmp_path / "a.swf"
    path.write_text(RECORD + RECORD.replace("1 0 3", "2 0 3").strip() + " 7 x 9\n")
    assert read(path).records[["field_19", "field_21"]].to_numpy().tolist() == [[-1, -1], [7, 9]]


def test_a_larger_size_raises_all_bounds():
    assert ReadingBounds.of(None) == ReadingBounds.of(4 * 10**9) == ReadingBounds()
    assert ReadingBounds.of(8 * 10**9) == ReadingBounds(8 * 10**9, 400, 200_000_000, 4 * 10**9)
    assert ReadingBounds.of(10).memory == ReadingBounds().memory


def test_many_rows_in_a_small_file_are_refused(tmp_path, monkeypatch):
    """As 60 million rows of one value are in Parquet."""
    path = tmp_path / "a.parquet"
    frame = pd.DataFrame({"job_id": [1], "submit_time": [0], "wallclock_req": [9], "processors_req": [1], "s": [1]})
    frame.loc[[0] * 3_000_000].to_parquet(path, index=False)
    assert path.stat().st_size < 2_000_000
    with pytest.raises(InputError, match=r"a\.parquet: expected at most 500,000 rows, got 3,000,000" + RAISES):
        next(parts(TraceFile(path, packed=False, bounds=ReadingBounds(memory=10**8)), []))
    monkeypatch.setattr(ReadingBounds, "of", lambda _: ReadingBounds(rows=1000))
    with pytest.raises(InputError, match=r"a\.parquet: expected at most 1,000 rows, got 3,000,000" + RAISES):
        read(path)


@pytest.mark.parametrize("how", ["truncated", "flipped", "garbage"])
def test_damaged_gzip_is_one_line(tmp_path, how):
    data = bytearray(gzip.compress((RECORD * 4000).encode()))
    if how == "truncated":
        data = data[: len(data) // 2]
    elif how == "flipped":
        data[len(data) // 2] ^= 0xFF
    else:
        data[10:] = b"\xff" * 40
    for name in ("a.swf.gz", "a.sacct.gz", "a.csv.gz"):
        path = tmp_path / name
        path.write_bytes(bytes(data))
        with pytest.raises(InputError, match=r"expected a (whole|sound) gzip file") as caught:
            read(path, memory=10**6)  # so little that its size is worked out first
        assert "\n" not in str(caught.value)
    runs = tmp_path / "runs.csv.gz"
    runs.write_bytes(bytes(data))
    with pytest.raises(InputError, match=r"expected a (whole|sound) gzip file"):
        read_runs(runs, RunColumns("a", "b"))


def test_an_end_of_a_line_in_a_header_writes_no_record(tmp_path):
    injected = "x\n99 0 0 50 1 -1 -1 1 60 -1 1 9 9 9 1 -1 -1 -1"
    header = ("; Version: 2.2", f"; Note: {injected}", f"; Computer: {injected}\r\n1 2")
    for given in (header, ()):
        workload = Workload([Job("1", 0, 10, 20)], Machine.pool(4, name=injected), Provenance(injected, header=given))
        write(workload, tmp_path / "a.swf")
        assert [job.id for job in read(tmp_path / "a.swf").jobs] == ["1"]


JOB = {"job_id": 1, "time": {"submission": 1, "start": 2, "end": 9, "elapsed": 7}, "required": {"CPUs": 1}}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("sacct-json", json.dumps({"jobs": [JOB | {"allocation_nodes": float("inf")}]})),
        ("sacct-json", json.dumps({"jobs": [JOB | {"time": JOB["time"] | {"end": 1e999}}]})),
        (
            "batsim-json",
            json.dumps(
                {
                    "jobs": [{"id": 1, "subtime": 1e999, "res": float("nan"), "profile": "p"}],
                    "profiles": {"p": {"type": "delay", "delay": 1e999}},
                }
            ),
        ),
        ("philly", json.dumps([{"jobid": 1, "submitted_time": 1e999, "attempts": []}])),
    ],
)
def test_numbers_without_end_are_one_line(tmp_path, kind, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"a\.json"):
        read(path, format=kind)


def test_types_that_are_out_of_use_are_no_warning(tmp_path, recwarn):
    workload = Workload([Job("1", 0, 5, 9)], Machine.pool(4), Provenance("x"), pd.DataFrame({"q": ["x"]}))
    path = write(workload, tmp_path / "a.jsonl") or tmp_path / "a.jsonl"
    path.write_text(
        path.read_text()
        .replace('"records":{"q":"', '"records":{"q":"a","ignored":"', 1)
        .replace(',"ignored":"str"', "")
        .replace(',"ignored":"object"', "")
    )
    assert '"records":{"q":"a"}' in path.read_text()
    with warnings.catch_warnings(action="always"):
        assert read(path).records["q"].tolist() == ["x"]
    assert not recwarn.list


LONG = "x" * 10_000


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("column", "how"),
    [
        (pa.array([LONG] * 1000), {}),
        (pa.array([LONG] * 1000), {"use_dictionary": False}),
        (pa.array([LONG] * 1000), {"use_dictionary": False, "column_encoding": {"s": "DELTA_BYTE_ARRAY"}}),
        (pa.array([LONG.encode()] * 1000, pa.binary(len(LONG))), {}),
    ],
    ids=["dictionary", "plain", "prefixes", "fixed width"],
)
def test_a_long_text_in_every_row_of_parquet_counts_as_often(tmp_path, column, how):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": range(1000), "s": column}), path, compression="zstd", **how)
    assert path.stat().st_size < 50_000
    refused = r"a\.parquet: expected a trace that takes at most 30,000,000 bytes of memory, got more" + RAISES
    with pytest.raises(InputError, match=refused):
        list(parts(TraceFile(path, packed=False, bounds=ReadingBounds(memory=3 * 10**7)), []))
    found = pd.concat([part.frame for part in parts(TraceFile(path, packed=False), [])])
    assert found["n"].tolist() == list(range(1000))
    assert set(found["s"]) == {column[0].as_py()}


def test_a_saved_table_with_a_long_text_in_every_row(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    frame = pd.DataFrame({"s": [LONG] * 1000, "texts": [[LONG, "a"]] * 1000, "kind": pd.Categorical(["a"] * 1000)})
    frame.to_parquet(path)
    monkeypatch.setattr(table_files, "LARGEST_FILE", 10**8)
    with open(path, "rb") as file:
        pd.testing.assert_frame_equal(table_files.bounded_table(path, file), pd.read_parquet(path))
    monkeypatch.setattr(table_files, "LARGEST_FILE", 5 * 10**7)
    with open(path, "rb") as file, pytest.raises(InputError, match="at most 50,000,000 bytes of memory, got more"):
        table_files.bounded_table(path, file)


def test_long_lists_in_parquet_count(tmp_path):
    path = tmp_path / "a.parquet"
    lists = pa.ListArray.from_arrays(range(0, 1_000_001, 100_000), np.zeros(1_000_000, dtype=np.int8))
    pq.write_table(pa.table({"n": range(10), "power": lists}), path)
    assert path.stat().st_size < 50_000
    with pytest.raises(InputError, match=r"at most 10,000,000 bytes of memory, got more" + RAISES):
        list(parts(TraceFile(path, packed=False, bounds=ReadingBounds(memory=10**7)), []))
    (part,) = parts(TraceFile(path, packed=False), [])
    assert [len(each) for each in part.frame["power"]] == [100_000] * 10


def test_a_time_with_a_zone_beyond_all_calendars(tmp_path):
    path = tmp_path / "a.parquet"
    submit = pa.array([2**62], pa.timestamp("us", "Asia/Tokyo"))
    pq.write_table(pa.table({"id": [1], "submit": submit, "runtime": [1], "walltime": [2], "cores": [1]}), path)
    with pytest.raises(InputError, match=r"field 'submit': expected a time after 1970-01-01, .*, got '148108-07-06 "):
        read(path)
