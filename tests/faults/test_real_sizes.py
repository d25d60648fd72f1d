"""Small files that unpack to gigabytes, tables of very many rows, devices: one line, exit code 2, bounded memory."""

import gzip
import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hpcdispatch.base.checksums import SUMS, TIMINGS_SUM
from hpcdispatch.bench.campaigns.execution import Store, plan_campaign, run_campaign
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate

#: Bytes of memory that a command may take, and seconds of a processor.
MEMORY, SECONDS = 2 << 30, 120
ROWS = 60_000_000


#: Starts a command as its only child, and writes the child's largest memory in bytes to a file. A child of a large
#: process begins with the memory of that.
LAUNCH = f"""
import resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_CPU, ({SECONDS}, {SECONDS + 5}))
code = subprocess.call(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, file=file)
sys.exit(code)
"""


def told(*words, folder):
    """Run a command; return its exit code and what it said, once its memory was looked at."""
    used = folder / "used"
    command = [sys.executable, "-m", "hpcdispatch.cli", *map(str, words)]
    process = subprocess.run(
        [sys.executable, "-c", LAUNCH, used, *command],
        cwd=folder,
        text=True,
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert int(used.read_text()) < MEMORY
    return process.returncode, process.stderr


def bomb(path, line, unpacked):
    """Write gzip of so many bytes of one line, as members that are alike."""
    part = gzip.compress(line * ((1 << 25) // len(line)), 9)
    with open(path, "wb") as file:
        for _ in range(unpacked >> 25):
            file.write(part)
    return path


def rows(path, count):
    """Write a table of jobs in Parquet that are all alike, a million at a time."""
    names = {"id": 1, "submit": 0, "runtime": 60, "walltime": 120, "cores": 4}
    part = pa.table({name: pa.array([value] * 1_000_000) for name, value in names.items()})
    with pq.ParquetWriter(path, part.schema, compression="zstd") as writer:
        for _ in range(count // 1_000_000):
            writer.write_table(part)
    return path


BOMBS = {
    "comments in SWF": ("a.swf.gz", b"; " + b"a comment " * 9 + b"\n", ("workload", "describe")),
    "hashes in SWF": ("a.swf.gz", b"# " + b"a comment " * 9 + b"\n", ("run",)),
    "lines before a header": ("a.sacct.gz", b"\n", ("workload", "describe")),
    "one line": ("a.sacct.gz", b"x", ("workload", "describe")),
    "blank lines of a table": ("a.csv.gz", b",,,,,,\n", ("workload", "describe")),
    "JSON lines": ("a.jsonl.gz", b"{}\n", ("workload", "describe")),
    "JSON": ("a.json.gz", b"[" * 64, ("workload", "describe")),
    "run times": ("a.csv.gz", b"\n", ("sequence",)),
    "times": ("b.csv.gz", b"100\n", ("sequence",)),
}
#: A first line that makes the estimate of a file small, and the columns of a table.
LONG = b"x" * (1 << 20)
COLUMNS = b"id,submit,runtime,walltime,cores,user"
HEADER = json.dumps(
    {
        "format": "hpcdispatch-workload",
        "version": 1,
        "machine": {"resources": ["core"], "capacity": [[8]]},
        "provenance": {"source": "x" * (1 << 20)},
    }
).encode()
SACCT = b"JobID|Submit|Start|End|NCPUS|User|JobName"
#: Files of most gigabytes that are stored: name, first line, what follows again and again, and the command.
FULL = {
    "short lines": ("a.swf", b";" + LONG, b"1\n", ("workload", "describe")),
    "short lines, lenient": ("a.swf", b";" + LONG, b"1\n", ("workload", "describe", "--lenient")),
    "ends of lines of old": ("a.swf", b";" + LONG, b"1\r", ("workload", "describe", "--lenient")),
    "many fields": ("a.swf", b";" + LONG, b"1 0 0 9 4" + b" 1" * 50 + b"\n", ("workload", "describe")),
    "one record": ("a.swf", b";" + LONG, b"1 1 1 1 1 1 1 1 ", ("workload", "describe")),
    "objects": ("a.jsonl", HEADER, b"{}\n", ("workload", "describe", "--lenient")),
    "lists in an object": ("a.jsonl", HEADER, b'{"record":[' + b"[]," * 99 + b"[]]}\n", ("run", "--lenient")),
    "lists": ("a.json", b'{"jobs":[', b"[[[[[]]]]],", ("run",)),
    "lists of Philly": ("a.json", b'[{"attempts":[', b"[[[[[]]]]],", ("workload", "describe")),
    "names": ("a.json", b'{"jobs":[', b'{"a":"bc","d":"\xf0\x9f\x82\xa1"},', ("run",)),
    "columns": ("a.csv", COLUMNS, b",xy", ("workload", "describe")),
    "fields": ("a.csv", COLUMNS + b",xy" * 9000, b"1,0,60,90,4,ann" + b",ab" * 9000 + b"\n", ("run", "--lenient")),
    "wide names": ("a.csv", COLUMNS, b"1,0,60,90,4," + b"abcd" * 90 + b"\xf0\x9f\x82\xa1\n", ("run", "--lenient")),
    "no records": ("a.csv", COLUMNS + b"," + LONG, b"1\n", ("workload", "describe", "--lenient")),
    "parts of a record": ("a.sacct", SACCT, b"7|\n", ("workload", "describe", "--lenient")),
    "a quote": ("a.sacct", SACCT.replace(b"|", b",").replace(b"JobID", b'"JobID"'), b'"\n', ("run", "--lenient")),
    "columns of run times": ("a.csv", b"1" + b",1" * 9000, b"1" + b",1" * 9000 + b"\n", ("sequence",)),
    "scenario": ("a.json", b'{"machine":', b"[[[[[]]]]],", ("evict", "--nodes", "1", "--deadline", "1h")),
}
#: Those of which ``workload describe`` prints a column map to complete.
MAPPED = ("lists", "names")


def check_refused(words, path):
    """Run a command on a file; it must refuse it in one line."""
    code, err = told(*words, path, folder=path.parent)
    assert (code, err.count("\n")) == (2, 1), err
    assert f"error: {path}" in err


@pytest.mark.nightly
@pytest.mark.parametrize("case", BOMBS)
def test_a_small_file_of_five_gigabytes(tmp_path, case):
    name, line, words = BOMBS[case]
    check_refused(words, bomb(tmp_path / name, line, 5 << 30))


@pytest.mark.nightly
@pytest.mark.parametrize("case", FULL)
def test_a_file_that_takes_much_memory(tmp_path, case):
    name, first, again, words = FULL[case]
    path = tmp_path / name
    with open(path, "wb") as file:
        file.write(first + b"\n" * (b"\n" in again or b"\r" in again))
        for _ in range(64):
            file.write(again * ((1 << 24) // len(again)))
    check_refused(words, path)
    if case in MAPPED:
        code, err = told("workload", "describe", path, folder=tmp_path)
        assert (code, err.count("\n")) == (0, 1), err
        assert "no built-in column map fits" in err


@pytest.mark.nightly
def test_sixty_million_rows(tmp_path):
    path = rows(tmp_path / "a.parquet", ROWS)
    for words in (("workload", "describe", path), ("run", path), ("run", path, "--lenient")):
        code, err = told(*words, folder=tmp_path)
        assert (code, err.count("\n")) == (2, 1), err
        assert "a.parquet: expected at most 10,000,000 rows, got 60,000,000; --max-size" in err
    simulate(generate("lublin", jobs=20, seed=1), "easy").save(tmp_path / "saved" / "one")
    rows(tmp_path / "saved" / "one" / "jobs.parquet", ROWS)
    for sums in (SUMS, TIMINGS_SUM):  # as an earlier version saved it
        (tmp_path / "saved" / "one" / sums).unlink()
    code, err = told("report", tmp_path / "saved", folder=tmp_path)
    assert (code, err.count("\n")) == (2, 1), err


def with_a_device(folder, name):
    """Return a finished plan and its store, in which one file of the cell is a device without end."""
    (folder / "a.toml").write_text('dispatchers = ["fcfs"]\n[[workload]]\nsource = "lublin:jobs=5,processors=32"\n')
    plan = plan_campaign(folder / "a.toml")
    store = Store(folder / "store")
    run_campaign(plan, store)
    file = store.path(plan.cells[0].key) / name
    file.unlink()
    file.symlink_to("/dev/zero")
    return plan, store


@pytest.mark.parametrize("name", ["cell.json", "manifest.json", "jobs.parquet", "timings.parquet", "SHA256SUMS"])
def test_a_device_in_a_store(tmp_path, name):
    plan, store = with_a_device(tmp_path, name)
    assert store.damage(plan.cells[0].key)
    assert len(run_campaign(plan, store).damaged) == 1
    assert store.damage(plan.cells[0].key) is None


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["cell.json", "manifest.json", "jobs.parquet", "SHA256SUMS"])
def test_a_device_in_a_store_that_a_command_reads(tmp_path, name):
    _, store = with_a_device(tmp_path, name)
    code, err = told("report", store.folder, folder=tmp_path)
    assert (code, err.count("\n")) == (2, 1), err
    for words in (("run", "/dev/zero"), ("workload", "describe", "/dev/zero"), ("sequence", "/dev/zero")):
        code, err = told(*words, folder=tmp_path)
        assert (code, err.count("\n")) == (2, 1), err
