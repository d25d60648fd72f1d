"""The first jobs alone, memory, and what was read before."""

import gzip
import os
import pickle
import subprocess
import sys
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pandas as pd
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import Machine, TraceWarning, read
from hpcdispatch.workloads.formats import memory_needs, parsed_traces, reading

SACCT = "JobID|User|Group|JobName|Partition|Submit|Start|End|TimelimitRaw|AllocCPUS|State\n"


def swf(count, *, wide=(), unusable=(), header="; MaxProcs: 16\n"):
    lines = [
        f"{number} {number * 10} 3 {0 if number in unusable else 50 + number % 9} {9 if number in wide else 2} -1 -1 "
        f"-1 {100 + number % 7} -1 1 {number % 5} 1 {number % 11} {number % 3} -1 -1 -1.5"
        for number in range(1, count + 1)
    ]
    return header + "\n".join(lines) + "\n"


def sacct(count):
    rows = (
        f"{number}|u{number % 5}|g|n {number % 9}|p|2024-01-01T00:{number % 3600 // 60:02}:{number % 60:02}|"
        f"2024-01-02T00:00:00|2024-01-02T01:00:0{number % 10}|90|{1 + number % 4}|COMPLETED\n"
        for number in range(count)
    )
    return SACCT + "".join(rows)


@pytest.fixture
def trace(tmp_path):
    def write(text, name="a.swf"):
        data = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return tmp_path / name

    return write


def same(one, other):
    assert one == other
    assert one.digest() == other.digest()
    assert (one.machine.name, one.machine.equivalence) == (other.machine.name, other.machine.equivalence)
    pd.testing.assert_frame_equal(one.records, other.records)


class TestHead:
    @pytest.mark.parametrize("name", ["a.swf", "a.swf.gz"])
    def test_is_the_beginning_of_the_whole(self, trace, name):
        path = trace(swf(40, unusable={2, 7}), name)
        for count in (1, 20, 38, 39, 1000):
            same(read(path, head=count), read(path).head(count))

    @pytest.mark.parametrize("name", ["a.swf", "a.swf.gz"])
    def test_reads_no_further_than_it_must(self, trace, name, monkeypatch):
        monkeypatch.setattr(reading, "LEAST_LINES", 8)
        text = swf(30, unusable=range(1, 12), wide={30}, header="; Computer: x\n")
        whole = read(trace(text, name))
        path = trace(text + "no record\n", name)
        with pytest.raises(InputError, match=r":32: expected 18 fields, got 2"):
            read(path)
        found = read(path, head=5)
        assert found.jobs == whole.jobs[:5]
        assert (whole.machine.capacity.sum(), found.machine.capacity.sum()) == (19, 12)

    def test_of_what_sacct_prints(self, trace):
        path = trace(sacct(30), "a.sacct")
        same(read(path, head=9), read(path).head(9))

    def test_is_at_least_one(self, trace):
        with pytest.raises(InputError, match=r"a.swf: head must be a whole number >= 1, got 0$"):
            read(trace(swf(3)), head=0)


class TestMemory:
    @pytest.mark.parametrize("name", ["a.swf", "a.swf.gz"])
    def test_a_trace_that_does_not_fit_is_refused(self, trace, name):
        path = trace(swf(20_000), name)
        with pytest.raises(InputError, match=r"a trace that fits into memory, got about (19|20),000 records") as error:
            read(path, memory=2_000_000)
        assert "\n" not in str(error.value)
        for part in (str(path), " take 7.", " MB of 2.00 MB;", "--head N; about 2,100 fit", "slice"):
            assert part in str(error.value)

    def test_its_beginning_is_read(self, trace, monkeypatch):
        monkeypatch.setattr(reading, "LEAST_LINES", 100)
        path = trace(swf(20_000))
        assert len(read(path, head=2000, memory=2_000_000)) == 2000
        with pytest.raises(InputError, match="about 8,000 records"):
            read(path, head=4000, memory=2_000_000)

    @pytest.mark.parametrize(("text", "name"), [(swf(15_000), "a.swf"), (sacct(15_000), "a.txt.gz")])
    def test_the_estimate_is_an_upper_bound(self, trace, text, name):
        path = trace(text, name)
        tracemalloc.start()
        read(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(read(path, memory=6 * peak))
        with pytest.raises(InputError, match="fits into memory"):
            read(path, memory=peak // 2)

    def test_a_limit_of_the_process_is_known(self, trace):
        resource = pytest.importorskip("resource")
        path, limit = trace(swf(60_000)), 8_000_000
        code = (
            "import resource, sys\nfrom hpcdispatch.workloads import read\n"
            "from hpcdispatch.workloads.formats.memory_needs import _fields, Path\n"
            "used = _fields(Path('/proc/self/status'))['VmSize'] * 1024\n"
            f"resource.setrlimit(resource.RLIMIT_AS, (used + {limit}, -1))\n"
            "read(sys.argv[1])"
        )
        assert resource.getrlimit(resource.RLIMIT_AS)
        ended = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
        assert ended.returncode == 1
        assert "InputError" in ended.stderr.splitlines()[-1]
        assert "fits into memory, got about 6" in ended.stderr.splitlines()[-1]

    def test_control_groups_and_the_system_are_asked(self, tmp_path):
        files = {
            "proc/meminfo": "MemTotal: 90 kB\nMemAvailable: 80 kB\n",
            "proc/self/cgroup": "4:memory:/old\n0::/user/job\n",
            "sys/fs/cgroup/user/job/memory.max": "max\n",
            "sys/fs/cgroup/user/job/memory.current": "5000\n",
            "sys/fs/cgroup/user/memory.max": "70000\n",
            "sys/fs/cgroup/user/memory.current": "9000\n",
            "sys/fs/cgroup/user/memory.stat": "anon 3\ninactive_file 1000\n",
        }
        assert memory_needs.available_memory(tmp_path) is None
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        assert memory_needs.available_memory(tmp_path) == 62_000
        old = tmp_path / "sys/fs/cgroup/memory/old"
        old.mkdir(parents=True)
        (old / "memory.limit_in_bytes").write_text("50000\n")
        (old / "memory.usage_in_bytes").write_text("60000\n")
        assert memory_needs.available_memory(tmp_path) == 0


class TestCache:
    @pytest.fixture(autouse=True)
    def _small(self, monkeypatch):
        monkeypatch.setattr(parsed_traces, "LEAST", 5)

    @pytest.fixture
    def parsed(self, monkeypatch):
        """Return how often a trace was parsed."""
        calls = []
        for suffix, (parser, needs) in list(reading.PARSERS.items()):
            counted = lambda *given, parser=parser: calls.append(1) or parser(*given)  # noqa: E731
            monkeypatch.setitem(reading.PARSERS, suffix, (counted, needs))
        return calls

    @pytest.mark.parametrize(
        ("text", "name"), [(swf(30, unusable={4}), "a.swf.gz"), (sacct(30), "a.sacct"), (swf(9, header=""), "a.swf")]
    )
    @pytest.mark.parametrize("machine", [None, Machine.homogeneous(8, core=4, mem=64, name="m")])
    def test_holds_all_that_was_read(self, trace, tmp_path, parsed, text, name, machine):
        path = trace(text, name)
        first, again = (read(path, machine, cache=tmp_path / "kept") for _ in range(2))
        assert len(parsed) == 1
        same(again, first)
        same(again, read(path, machine))
        assert pickle.loads(pickle.dumps(again)) == first

    def test_depends_on_content_options_and_code(self, trace, tmp_path, parsed, monkeypatch):
        def kept(*given, **options):
            before = len(parsed)
            read(path, *given, cache=tmp_path / "kept", **options)
            return len(parsed) == before

        path = trace(swf(30))
        assert not kept()
        assert kept()
        for options in ({"lenient": True}, {"strict": True}, {"default_walltime": 9}, {"machine": Machine.pool(99)}):
            assert not kept(**options)
            assert kept(**options)
        trace(swf(30).replace(" 51 ", " 52 "))
        assert not kept()
        trace(swf(30))
        assert kept()
        monkeypatch.setattr(parsed_traces, "_reader", lambda: "another")
        assert not kept()

    @pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:-9], lambda data: b"x" * len(data)])
    def test_a_damaged_file_is_written_again(self, trace, tmp_path, parsed, damage):
        path = trace(swf(30))
        whole = read(path, cache=tmp_path / "kept")
        (kept,) = (tmp_path / "kept").iterdir()
        kept.write_bytes(damage(kept.read_bytes()))
        for _ in range(2):
            same(read(path, cache=tmp_path / "kept"), whole)
        assert len(parsed) == 2

    def test_no_changed_byte_gives_another_workload(self, trace, tmp_path):
        path = trace(swf(300))
        whole = read(path, cache=tmp_path / "kept")
        (kept,) = (tmp_path / "kept").iterdir()
        data = kept.read_bytes()
        for place in range(0, len(data), len(data) // 60):
            kept.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
            same(read(path, cache=tmp_path / "kept"), whole)

    def test_warnings_come_each_time(self, trace, tmp_path):
        path = trace(swf(30).replace(" 101 ", " -1 "))
        for _ in range(2):
            with pytest.warns(TraceWarning, match="no walltime"):
                read(path, cache=tmp_path / "kept")

    def test_nothing_is_written_unasked_or_for_small_traces(self, trace, tmp_path, monkeypatch):
        path = trace(swf(30))
        read(path)
        read(path, head=20, cache=tmp_path / "kept")
        monkeypatch.setattr(parsed_traces, "LEAST", 31)
        read(path, cache=tmp_path / "kept")
        assert os.listdir(tmp_path) == ["a.swf"]

    def test_a_folder_that_cannot_be_is_none(self, trace, tmp_path):
        path = trace(swf(30))
        same(read(path, cache=path / "kept"), read(path))

    def test_forgets_the_oldest(self, trace, tmp_path, monkeypatch):
        monkeypatch.setattr(parsed_traces, "KEPT", 2)
        for count in (10, 11, 12):
            read(trace(swf(count)), cache=tmp_path / "kept")
        assert len(os.listdir(tmp_path / "kept")) == 2

    @pytest.mark.nightly  # It starts processes, each of which takes seconds.
    def test_several_processes_share_it(self, trace, tmp_path):
        path = trace(swf(60_000))
        whole = read(path)
        with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
            digests = set(pool.map(_digest, [(path, tmp_path / "kept")] * 6))
        assert digests == {whole.digest()}
        assert [name.rpartition(".")[2] for name in os.listdir(tmp_path / "kept")] == ["parquet"]


def _digest(given):
    path, cache = given
    return read(path, cache=cache).digest()
