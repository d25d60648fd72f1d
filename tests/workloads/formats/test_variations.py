"""Other forms of the same values: durations, units, fractions, dates, packings. Each is one row of a table."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import read

EPOCH = 1704067200
YEAR = 365 * 86400


def table(tmp_path, row, **columns):
    """Read a table of one row, by a map in which some columns are others."""
    named = {"id": '"id"', "submit": '"sub"', "start": '"st"', "end": '"en"', "cores": '"n"', "walltime": '"wall"'}
    named |= columns
    values = {"id": "7", "sub": str(EPOCH), "st": str(EPOCH + 10), "en": str(EPOCH + 110), "n": "4", "wall": "600"}
    values |= row
    head = f"{named.pop('head')}\n" if "head" in named else ""
    text = head + "[columns]\n" + "".join(f"{ours} = {theirs}\n" for ours, theirs in named.items() if theirs)
    (tmp_path / "map.toml").write_text(text)
    cells = ",".join('"' + value.replace('"', '""') + '"' for value in values.values())
    (tmp_path / "jobs.csv").write_text(f"{','.join(values)}\n{cells}\n")
    return read(tmp_path / "jobs.csv", format=str(tmp_path / "map.toml"), default_walltime="runtime")


class TestDurations:
    @pytest.mark.parametrize(
        ("text", "seconds"),
        [
            ("7200", 7200),
            ("7200.0", 7200),
            ("1e4", 10_000),
            ("02:00:00", 7200),
            ("100:00:00", 360_000),
            ("2-00:00:00", 172_800),
            ("1-12", 129_600),
            ("1:02:03:04", 93_784),
            ("1.02:03:04", 93_784),
            ("1 day, 2:03:04", 93_784),
            ("1 days 02:03:04.500000", 93_785),
            ("0 days 00:03:20", 200),
            ("2 days", 172_800),
            ("2h30m", 9000),
            ("2h 30m", 9000),
            ("2 hours 30 minutes", 9000),
            ("2 hrs, 30 mins and 5 secs", 9005),
            ("1.5h", 5400),
            ("90 min", 5400),
            ("3600s", 3600),
            ("1w", 604_800),
            ("PT2H30M", 9000),
            ("PT0.5H", 1800),
            ("P1DT2H", 93_600),
            ("P1W", 604_800),
            ("UNLIMITED", YEAR),
            ("infinite", YEAR),
            ("inf", YEAR),
            ("4294967295", YEAR),
            ("2147483647", YEAR),
            ("9223372036854775807", YEAR),
        ],
    )
    def test_a_walltime(self, text, seconds, tmp_path):
        assert table(tmp_path, {"wall": text}).jobs[0].walltime == seconds

    @pytest.mark.parametrize(
        "text",
        [
            *("", "0", "-1", "00:00:00", "None", "NOT_SET", "unset", "Partition_Limit", "-01:00:00", "-342359:-42:-21"),
            *("4294967294", "N/A", "undefined", "\\N", "#N/A"),
        ],
    )
    def test_no_walltime(self, text, tmp_path):
        assert table(tmp_path, {"wall": text}).jobs[0].walltime == 100

    @pytest.mark.parametrize("text", ["INVALID", "3,600", "1:2:3:4:5", "2 moons", "h", "12:99x", "--1", "P", "1-"])
    def test_no_duration(self, text, tmp_path):
        with pytest.raises(InputError, match=r"jobs.csv:2: field 'wall': expected a number, got "):
            table(tmp_path, {"wall": text})

    @pytest.mark.parametrize("text", ["-5", "-00:00:05", "-342359:-42:-21", "", "nan", "-1"])
    def test_a_run_time_that_is_none_is_that_from_start_to_end(self, text, tmp_path):
        assert table(tmp_path, {"ran": text}, elapsed='"ran"').jobs[0].runtime == 100


SCALES = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
LONG = {"min": 60, "h": 3600, "d": 86400}
MEMORY = {"B": 4 << 20, "KB": 4096, "MB": 4, "GB": 2, "TB": 1}


class TestUnits:
    @pytest.mark.parametrize("unit", SCALES)
    def test_clocks(self, unit, tmp_path):
        times = {name: str((EPOCH + add) * SCALES[unit]) for name, add in (("sub", 0), ("st", 10), ("en", 110))}
        named = {
            ours: f'{{ column = "{theirs}", unit = "{unit}" }}'
            for ours, theirs in zip(("submit", "start", "end"), ("sub", "st", "en"), strict=True)
        }
        found = table(tmp_path, times, **named)
        assert (found.records["wait"].iloc[0], found.jobs[0].runtime) == (10, 100)

    @pytest.mark.parametrize("unit", [*SCALES, *LONG])
    @pytest.mark.parametrize("ours", ["walltime", "elapsed"])
    def test_durations(self, ours, unit, tmp_path):
        amount = 2 * LONG[unit] // LONG[unit] if unit in LONG else 7200 * SCALES[unit]
        seconds = 2 * LONG[unit] if unit in LONG else 7200
        job = table(tmp_path, {"x": str(amount)}, **{ours: f'{{ column = "x", unit = "{unit}" }}'}).jobs[0]
        assert (job.walltime if ours == "walltime" else job.runtime) == seconds

    @pytest.mark.parametrize("unit", MEMORY)
    def test_memory(self, unit, tmp_path):
        kilobytes = {"B": 4096, "KB": 4096, "MB": 4096, "GB": 2 << 20, "TB": 1 << 30}[unit]
        found = table(tmp_path, {"m": str(MEMORY[unit])}, memory=f'{{ column = "m", unit = "{unit}" }}')
        assert found.records["requested_memory"].iloc[0] * 4 == kilobytes

    @pytest.mark.parametrize("unit", ["ms", "us", "ns"])
    @pytest.mark.parametrize("name", ["sub", "st", "en"])
    def test_a_clock_of_another_unit_is_refused_with_it(self, name, unit, tmp_path):
        with pytest.raises(InputError, match=rf'field .{name}.: .* \(unit = "{unit}" in the map reads such numbers\)'):
            table(tmp_path, {name: str((EPOCH + 10) * SCALES[unit])})


class TestFractions:
    @pytest.mark.parametrize(
        ("text", "unit", "cores"),
        [
            *(("4", "", 4), ("4.0", "", 4), ("4.152", "", 5), ("0.5", "", 1), ("0.001", "", 1), ("1e0", "", 1)),
            *((".5", "", 1), ("3.9999999", "", 4), ("4.0000001", "", 4), ("2.5e1", "", 25), ("4000", "ms", 4)),
            *(("4152", "ms", 5), ("500", "ms", 1), ("1", "ms", 1), ("12000", "milli", 12), ("4001", "milli", 5)),
            *(("999", "milli", 1), ("1000", "milli", 1), ("4000000", "us", 4), ("4000001", "us", 5)),
            *(("1500000000", "ns", 2), ("96.0", "", 96), ("95.5", "", 96)),
        ],
    )
    def test_cores(self, text, unit, cores, tmp_path):
        found = table(tmp_path, {"n": text}, cores=f'{{ column = "n", unit = "{unit}" }}')
        assert found.machine.capacity.sum() == cores
        rounded = float(text) * {"": 1, "ms": 1e-3, "milli": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]
        said = any("rounded up" in note for note in found.provenance.notes)
        assert said == (abs(rounded - round(rounded)) > 1e-6)

    @pytest.mark.parametrize(
        ("text", "cores"), [("500m", 1), ("1500m", 2), ("2", 2), ("0.1", 1), ("500m,600m", 2), ("1k", 1000)]
    )
    def test_quantities(self, text, cores, tmp_path):
        found = table(tmp_path, {"n": text}, cores='{ column = "n", parse = "quantity" }')
        assert found.machine.capacity.sum() == cores

    @pytest.mark.parametrize(("text", "gpus"), [("0.5", 1), ("1.25", 2), ("2.0", 2), ("0", 0)])
    def test_gpus(self, text, gpus, tmp_path):
        assert table(tmp_path, {"g": text}, gpus='"g"').jobs[0].per_node.get("gpu", 0) == gpus


def dates(form, day=25, fraction=""):
    """Return the times of a job on a day of January in a format of strftime."""
    begin = datetime(2024, 1, day, 22, tzinfo=UTC)
    times = [begin + timedelta(seconds=add) for add in (0, 10, 110)]
    return dict(zip(("sub", "st", "en"), (time.strftime(form) + fraction for time in times), strict=True))


class TestDates:
    @pytest.mark.parametrize(
        "form",
        [
            *("%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%d-%m-%Y %H:%M:%S", "%m-%d-%Y %H:%M:%S", "%d.%m.%Y %H:%M:%S"),
            *("%d/%m/%y %H:%M:%S", "%m/%d/%y %H:%M:%S", "%d.%m.%y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p"),
            *("%d/%m/%Y %I:%M:%S%p", "%d/%m/%YT%H:%M:%S", "%m/%d/%Y %H:%M:%S.25", "%Y/%m/%d %H:%M:%S"),
            *("%Y-%m-%d %H:%M:%S UTC", "%Y-%m-%d %H:%M:%S +0000 UTC", "%Y-%m-%dT%H:%M:%S.5Z", "%Y-%m-%dT%H:%M:%S+0100"),
            *("%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S UTC %Y", "%d %b %Y %H:%M:%S", "%d-%b-%Y %H:%M:%S"),
            *("%b %d %Y %H:%M:%S", "%b %d, %Y %I:%M:%S %p", "%d/%b/%Y:%H:%M:%S +0000", "%A, %d %B %Y %H:%M:%S"),
            *("%Y%m%d%H%M%S", "%Y%m%dT%H%M%S", "%Y.%m.%d %H:%M:%S"),
        ],
    )
    def test_a_form(self, form, tmp_path):
        found = table(tmp_path, dates(form))
        hour = timedelta(hours=form.endswith("+0100"))
        assert (found.records["wait"].iloc[0], found.jobs[0].runtime) == (10, 100)
        begin = datetime(2024, 1, 25, 22) - hour
        assert f"times count from the first arrival, {begin.isoformat()}" in found.provenance.notes
        assert not any("read as month/day" in note for note in found.provenance.notes)

    @pytest.mark.parametrize("form", ["%d/%m/%Y", "%d-%m-%Y", "%d/%m/%y", "%d-%m-%y", "%d/%m/%Y "])
    @pytest.mark.parametrize("told", ["", "day first", "month first"])
    def test_a_day_that_may_be_a_month(self, form, told, tmp_path):
        found = table(tmp_path, dates(f"{form} %H:%M:%S", day=5), **({"head": f'dates = "{told}"'} if told else {}))
        month, day = (1, 5) if told == "day first" else (5, 1)
        assert any(f"first arrival, 2024-{month:02}-{day:02}T22" in note for note in found.provenance.notes)
        assert any("read as month/day" in note for note in found.provenance.notes) == (not told)

    @pytest.mark.parametrize(
        "text", ["05.01.2024 22:00:00", "5.1.2024 22:00:00", "5.1.24 22:00:00", "5 Jan 2024 22:00:00"]
    )
    def test_dots_and_names_are_day_first(self, text, tmp_path):
        notes = table(tmp_path, {"sub": text, "st": text, "en": text.replace("22:00:00", "23:00:00")}).provenance.notes
        assert any("first arrival, 2024-01-05T22" in note for note in notes)
        assert not any("month/day" in note for note in notes)

    @pytest.mark.parametrize(
        "text",
        ["2024-02-30T00:00:00", "31/31/2024 10:00:00", "25 Foo 2024 10:00:00", "13:00 PM", "01/25/2024 13:00:00 PM"],
    )
    def test_no_date(self, text, tmp_path):
        with pytest.raises(InputError, match=r"field 'st': expected a time as 2024-01-31T12:00:00, got "):
            table(tmp_path, {"st": text})

    @pytest.mark.parametrize(
        "text",
        [
            *("0", "0.0", "-1", "", "-", "--", "-/-", "?", "null", "None", "nil", "NaT", "N/A", "N.A.", "#N/A", "\\N"),
            *(
                "Unknown",
                "undefined",
                "never",
                "None assigned",
                "infinity",
                "1970-01-01T00:00:00",
                "1970-01-01 01:00:00",
            ),
            *("1969-12-31T19:00:00", "01/01/1970 00:00:00", "Thu Jan  1 00:00:00 1970", "0001-01-01T00:00:00Z"),
            *("0000-00-00 00:00:00", "1900-01-01 00:00:00", "1899-12-30", "1601-01-01", "9999-12-31 23:59:59"),
            *("4294967295", "4294967294", "2147483647", "9223372036854775807"),
        ],
    )
    def test_a_start_that_never_came(self, text, tmp_path):
        with pytest.raises(InputError, match=r"none among 1 .1 not started."):
            table(tmp_path, {"st": text})


SWF = b"; MaxProcs: 100\n1 0 5 100 10 -1 -1 10 200 -1 1 1 1 -1 1 -1 -1 -1\n"
WIDE = SWF.decode()


def zipped(**files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def tarred():
    data, entry = io.BytesIO(), tarfile.TarInfo("a.swf")
    entry.size = len(SWF)
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.addfile(entry, io.BytesIO(SWF))
    return data.getvalue()


def named(value):
    """Return the part of a test's name for a parameter. Packed bytes are others at each second."""
    return value if isinstance(value, str) else "data"


class TestPackings:
    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("a.swf.gz", gzip.compress(SWF)),
            ("a", gzip.compress(SWF)),
            ("two.swf.gz", gzip.compress(SWF[:40]) + gzip.compress(SWF[40:])),
            ("a.swf.bz2", bz2.compress(SWF)),
            ("a.swf", bz2.compress(SWF)),
            ("a.swf.xz", lzma.compress(SWF)),
            ("a.swf.lzma", lzma.compress(SWF, format=lzma.FORMAT_ALONE)),
            ("a.swf.zst", pa.compress(SWF, codec="zstd", asbytes=True)),
            ("a.swf.zip", zipped(**{"a.swf": SWF})),
            ("mac.zip", zipped(**{"a.swf": SWF, "__MACOSX/._a.swf": b"x"})),
            ("folder.zip", zipped(**{"d/": b"", "d/a.swf": SWF})),
            ("b.swf", b"\xef\xbb\xbf" + SWF),
            ("b.swf", WIDE.encode("utf-16")),
            ("b.swf", WIDE.encode("utf-16-le")),
            ("b.swf", WIDE.encode("utf-16-be")),
            ("b.swf", WIDE.encode("utf-32")),
            ("b.swf.gz", gzip.compress(WIDE.encode("utf-16"))),
            ("b.swf", SWF.replace(b"\n", b"\r\n")),
            ("b.swf", SWF.replace(b"\n", b"\r")),
            ("b.swf", SWF.rstrip(b"\n")),
        ],
        ids=named,
    )
    def test_read(self, name, data, tmp_path):
        (tmp_path / name).write_bytes(data)
        assert [job.runtime for job in read(tmp_path / name).jobs] == [100]

    @pytest.mark.parametrize(
        ("name", "data", "message"),
        [
            ("two.zip", zipped(**{"a.swf": SWF, "b.swf": SWF}), "a zip with one file, got 2 .a.swf, b.swf."),
            ("e.zip", zipped(), "got an empty zip archive; pack it again"),
            ("a.tar", tarred(), "got a tar archive; unpack it"),
            ("a.tgz", gzip.compress(tarred()), "got a tar archive; unpack it"),
            ("a.7z", b"7z\xbc\xaf\x27\x1c" + bytes(40), "packed with 7-Zip; unpack it"),
            ("a.Z", b"\x1f\x9d" + bytes(40), "packed with compress; unpack it"),
            ("a.lz4", b"\x04\x22\x4d\x18" + bytes(40), "packed with LZ4; unpack it"),
            ("a.rar", b"Rar!" + bytes(40), "packed with RAR; unpack it"),
            ("a.sz", b"\xff\x06\x00\x00sNaPpY" + bytes(9), "packed with Snappy; unpack it"),
            ("a.swf.gz", gzip.compress(gzip.compress(SWF)), "packed twice; unpack the outer gzip first"),
            ("a.swf.gz", gzip.compress(SWF)[:-12], "a truncated one"),
            ("a.swf.bz2", bz2.compress(SWF)[:-12], "a truncated one"),
            ("a.swf.xz", lzma.compress(SWF)[:-12], "a truncated one"),
            ("a.swf.gz", SWF, "expected gzip data"),
            ("a.feather", b"ARROW1" + bytes(40), "a table of Arrow .Feather.; save it as CSV or Parquet"),
            ("a.orc", b"ORC" + bytes(40), "a table in ORC; save it"),
            ("a.db", b"SQLite format 3" + bytes(40), "a database of SQLite; save it"),
            ("a.h5", b"\x89HDF" + bytes(40), "a file in HDF5; save it"),
            ("a.pkl", b"\x80\x04\x95" + bytes(40), "a pickle of Python; save it"),
            ("a.xlsx", zipped(**{"[Content_Types].xml": b"x"}), "a workbook of Excel; save it as CSV"),
            ("a.xls", b"\xd0\xcf\x11\xe0" + bytes(40), "a workbook of Excel; save it as CSV"),
        ],
        ids=named,
    )
    def test_refused(self, name, data, message, tmp_path):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match=message) as caught:
            read(tmp_path / name)
        assert "\n" not in str(caught.value)


class TestRecords:
    """Records of other versions of a scheduler."""

    def pbs(self, tmp_path, more, name="7.server", **times):
        known = {"ctime": EPOCH, "qtime": EPOCH, "etime": EPOCH, "start": EPOCH + 10, "end": EPOCH + 110} | times
        fields = " ".join(f"{key}={value}" for key, value in known.items())
        (tmp_path / "log").write_text(
            f"# put together\n01/25/2024 22:00:00;E;{name};user=ann queue=q {fields} {more}\n"
        )
        return read(tmp_path / "log", default_walltime="runtime")

    @pytest.mark.parametrize(
        ("more", "cores"),
        [
            *(("total_execution_slots=12 unique_node_count=1", 12), ("Resource_List.size=64", 64)),
            *(
                ("Resource_List.procs=32", 32),
                ("Resource_List.ncpus=8", 8),
                ("Resource_List.nodes=2:ppn=4+1:ppn=8", 16),
            ),
            *(("Resource_List.select=2:ncpus=16:mem=64gb+1:ncpus=4", 36), ("exec_host=n1/0-3+n2/0-3", 8)),
            *(
                ("exec_host=n1/0*4+n2/0*4", 8),
                ("exec_host=n1/0+n1/1", 2),
                ("exec_vnode=(n1[0]:ncpus=2+n1[1]:ncpus=2)", 4),
            ),
            ("Resource_List.nodes=n01:ppn=4+n02:ppn=4", 8),
        ],
    )
    def test_cores_of_pbs(self, more, cores, tmp_path):
        found = self.pbs(tmp_path, f"{more} Resource_List.walltime=01:00:00")
        assert found.machine.capacity.sum() == cores
        assert found.provenance.counts["comments skipped"] == 1

    @pytest.mark.parametrize(
        ("text", "seconds"), [("01:00:00", 3600), ("1:00:00:00", 86400), ("3600", 3600), ("1-00:00:00", 86400)]
    )
    def test_walltimes_of_pbs(self, text, seconds, tmp_path):
        found = self.pbs(tmp_path, f"exec_host=n1/0 Resource_List.walltime={text}")
        assert found.jobs[0].walltime == seconds

    @pytest.mark.parametrize(
        ("text", "ids"),
        [
            ("278_[1-3%2]", ["278_1", "278_2", "278_3"]),
            ("278_[1,5-6]", ["278_1", "278_5", "278_6"]),
            ("278_[1-5:2]", ["278_1", "278_3", "278_5"]),
            ("278_[1,3,...]", ["278_1", "278_3"]),
            ("278_[1-2...]", ["278_1", "278_2"]),
        ],
    )
    def test_tasks_of_slurm(self, text, ids, tmp_path):
        header = "JobID|Submit|Start|End|ElapsedRaw|Timelimit|NCPUS|State\n"
        row = f"{text}|{EPOCH}|Unknown|Unknown|100|01:00:00|4|PENDING\n"
        (tmp_path / "jobs.sacct").write_text(header + row)
        assert [job.id for job in read(tmp_path / "jobs.sacct").jobs] == ids

    def test_a_history_is_not_split_at_the_last_line(self, tmp_path):
        """A file may end without an end of line, and a block of it in the middle of a job."""
        text = "\n".join(
            f"ClusterId = {n}\nProcId = 0\nQDate = {EPOCH}\nJobStartDate = {EPOCH + 10}\n"
            f"CompletionDate = {EPOCH + 110}\nRequestCpus = 0.5\n"
            for n in range(3)
        )
        (tmp_path / "history").write_text(text + "JobStatus = 4")
        found = read(tmp_path / "history", default_walltime="runtime")
        assert [job.id for job in found.jobs] == ["0.0", "1.0", "2.0"]

    def test_sums_after_qacct(self, tmp_path):
        record = (
            f"{'=' * 62}\njobnumber 7\nqsub_time Mon Jan  1 00:00:00 2024\nstart_time Mon Jan  1 00:00:10 2024\n"
            "end_time Mon Jan  1 00:01:50 2024\nslots 4\n"
        )
        sums = f"Total System Usage\n    WALLCLOCK         UTIME\n{'=' * 80}\n         1234      1.0\n"
        (tmp_path / "qacct").write_text(record + sums)
        assert [job.runtime for job in read(tmp_path / "qacct", default_walltime="runtime").jobs] == [100]
