"""Files are recognised, or refused in one line that says what to do."""

import bz2
import gzip
import json
import lzma
import tarfile
import zipfile

import pyarrow as pa
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import read
from hpcdispatch.workloads.formats.column_maps import column_map
from hpcdispatch.workloads.formats.recognition import UnknownTableError

EPOCH = 1704067200
SWF = "; MaxProcs: 8\n" + "".join(f"{n} {n * 60} 5 100 4 -1 -1 4 200 -1 1 1 1 1 1 1 -1 -1\n" for n in (1, 2, 3))
CSV = f"id,submit,start,end,cores,limit\n1,{EPOCH},{EPOCH},{EPOCH + 60},4,600\n2,{EPOCH},{EPOCH},{EPOCH + 90},4,600\n"
MAP = '[columns]\nid = "id"\nsubmit = "submit"\nstart = "start"\nend = "end"\ncores = "cores"\nwalltime = "limit"\n'

FOREIGN = [
    ("maui.trace", "MAUI 230\njob1 0 4 user1\n", "a workload trace of Maui"),
    ("bjobs.txt", "JOBID   USER    STAT  QUEUE\n1 a b c\n", "what bjobs prints.*lsb.acct"),
    ("squeue.txt", "  JOBID PARTITION NAME USER ST TIME\n1 a b c d e\n", "what squeue prints.*sacct -P"),
    ("qstat.txt", "Job Id: 17.head\n    Job_Name = a\n", "what qstat -f prints"),
    ("tracejob.txt", "Job: 17.head\n\n01/01/2024 00:00:00  S    Job Queued\n", "what tracejob prints"),
    ("sge.txt", "job-ID  prior   name       user\n---\n1 0.5 a b\n", "what qstat of Grid Engine prints"),
    ("bhist.txt", "Job <17>, User <ann>, Project <x>\n", "what bhist prints"),
    ("condor.txt", " ID     OWNER          SUBMITTED   RUN_TIME\n 1.0 a\n", "what condor_history prints.*-json"),
    ("a.xml", "<?xml version='1.0'?><jobs/>\n", "XML"),
    ("a.html", "<!DOCTYPE html><html></html>\n", "a web page"),
    ("a.pdf", "%PDF-1.4\n", "a PDF"),
    ("a.txt", "some text that is no trace at all\n", "a known format, got 'some text"),
    ("a.log", "hello\n", "a known format, got 'hello'"),
]


@pytest.mark.parametrize(("name", "text", "message"), FOREIGN)
def test_foreign_text(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=rf"{name}:1: expected .*{message}.*formats: swf, sacct") as caught:
        read(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


HEADERS = [
    "jobid,user,submit,start,end,cores,walltime",
    ",jobid,submit,start,end,cores,walltime",
    "jobid,submit[s],start,end,cores",
    "Job ID,Submit Time (UTC),Start,End,# Cores",
    "jobid,submit,start,end,n_cpu:alloc",
    "@id,submit,start,end,cores",
    "id,1st,start,end,cores",
    "id,submit,start,end,cores,",
    "id,user@host,start,end,cores",
    "jobid,user,partition,submit,start,end,ncpus,timelimit,state",
    "JOBID|STAT|SUBMIT_TIME|START_TIME|FINISH_TIME|SLOTS|RUNTIMELIMIT",
    "job\tuser\tsubmit_time\twait_time\trun_time",
    "JobID,SubmitTime,WaitTime,RunTime,NProc,ReqTime: ",
    "JobID;Queued;Began",
    '"id","submit","start"',
    "JOB,WHEN,WHERE",
    "job-id,submit-time,start-time",
    "job.id,job.submit,job.start",
    "Name,Größe,Start",
    "id,submit",
]


@pytest.mark.parametrize("header", HEADERS)
def test_a_table_gets_a_map_to_complete(tmp_path, header):
    separator = max(",\t;|", key=header.count)
    (tmp_path / "t.csv").write_text(f"{header}\n{separator.join(['1'] * (header.count(separator) + 1))}\n")
    with pytest.raises(UnknownTableError, match=r"expected a known table, got the columns .*--format MAP") as caught:
        read(tmp_path / "t.csv")
    text = caught.value.map_text.replace("# id = ", 'id = "x"').replace("# submit = ", 'submit = "y"')
    (tmp_path / "m.toml").write_text(text)
    assert {"id", "submit"} <= set(column_map(str(tmp_path / "m.toml")).columns)
    with pytest.raises(UnknownTableError):
        read(tmp_path / "t.csv", format="map")


def test_a_table_of_another_site_names_the_nearest_format(tmp_path):
    (tmp_path / "t.csv").write_text("job_id,user,gpu_num,cpu_num,submit_time,state\n1,a,0,4,5,x\n")
    with pytest.raises(UnknownTableError, match=r"nearest is (helios|acme), with"):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize("text", ["M1,task_1,j_1,1,Terminated,87076,87083,50.00\n", "0,,6218406404,0,3081,0,gH\n"])
def test_a_table_without_a_header_gets_a_map_with_one(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(UnknownTableError, match="columns without names") as caught:
        read(tmp_path / "t.csv")
    assert caught.value.map_text.count('"column 1"') == 2  # the header, and the columns without a use


@pytest.mark.parametrize("form", ["lines", "list"])
def test_unknown_json_gets_a_map_to_complete(tmp_path, form):
    job = {"jobid": 1, "times": {"submit": EPOCH, "start": EPOCH + 10, "end": EPOCH + 70}, "cores": 4}
    text = json.dumps([job, job]) if form == "list" else f"{json.dumps(job)}\n{json.dumps(job)}\n"
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(UnknownTableError, match=r"layout of JSON, got the columns jobid, times\.sub") as caught:
        read(tmp_path / "t.json")
    (tmp_path / "m.toml").write_text(caught.value.map_text)
    workload = read(tmp_path / "t.json", format=str(tmp_path / "m.toml"), default_walltime="runtime")
    assert [(job.runtime, dict(job.per_node)) for job in workload.jobs] == [(60, {"core": 4})]


def test_a_suggested_map_reads_the_table(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    with pytest.raises(UnknownTableError) as caught:
        read(tmp_path / "t.csv")
    (tmp_path / "m.toml").write_text(caught.value.map_text)
    assert [job.runtime for job in read(tmp_path / "t.csv", format=str(tmp_path / "m.toml")).jobs] == [60, 90]


SLURM = "JobID|Submit|Start|End|NCPUS|Timelimit|State"
ROW = f"1|{EPOCH}|{EPOCH}|{EPOCH + 60}|4|{{}}|COMPLETED"


@pytest.mark.parametrize("separator", ["|", ",", ";", "\t"])
def test_what_sacct_prints_is_known_by_its_names(tmp_path, separator):
    text = f"{SLURM}\n{ROW.format('00:10:00')}\n".replace("|", separator)
    (tmp_path / "export.txt").write_text(text)
    workload = read(tmp_path / "export.txt")
    assert [job.walltime for job in workload.jobs] == [600]
    assert any(note.startswith("read as sacct (--format)") for note in workload.provenance.notes)


@pytest.mark.parametrize(("limit", "walltime"), [("60", 3600), ("1.5", 90), ("00:10:00", 600), ("1-00:00:00", 86400)])
def test_a_limit_without_a_colon_is_in_minutes(tmp_path, limit, walltime):
    (tmp_path / "t.sacct").write_text(f"{SLURM}\n{ROW.format(limit)}\n")
    workload = read(tmp_path / "t.sacct")
    assert [job.walltime for job in workload.jobs] == [walltime]
    assert any("read as minutes" in note for note in workload.provenance.notes) is (":" not in limit)


def packings(folder):
    data = SWF.encode()
    yield "t.swf.gz", gzip.compress(data)
    yield "t.swf.bz2", bz2.compress(data)
    yield "t.swf.xz", lzma.compress(data)
    yield "t.swf.lzma.xz", lzma.compress(data, preset=0)
    yield "t.swf.zst", pa.compress(data, codec="zstd", asbytes=True)
    yield "t.swf", bz2.compress(data)
    yield "u.swf", lzma.compress(data)
    yield "v.swf", gzip.compress(data[:100]) + gzip.compress(data[100:])
    yield "w.swf", bz2.compress(data[:100]) + bz2.compress(data[100:])
    with zipfile.ZipFile(folder / "made.zip", "w") as archive:
        archive.writestr("folder/t.swf", data)
    yield "t.swf.zip", (folder / "made.zip").read_bytes()
    for coding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        yield f"{coding}.swf", SWF.encode(coding)
    yield "bom.swf", b"\xef\xbb\xbf" + data
    yield "wide.swf.gz", gzip.compress(SWF.encode("utf-16"))


@pytest.mark.parametrize("place", range(15))
def test_a_packed_file_is_read(tmp_path, place):
    name, data = list(packings(tmp_path))[place]
    (tmp_path / name).write_bytes(data)
    assert [job.runtime for job in read(tmp_path / name, format="swf").jobs] == [100] * 3
    assert len(read(tmp_path / name)) == len(SWF.splitlines()) - 1


DAMAGED = [
    ("t.swf.bz2", bz2.compress(SWF.encode() * 50)[:-20], "a truncated one|a damaged one"),
    ("t.swf.xz", lzma.compress(SWF.encode() * 50)[:-20], "a truncated one|a damaged one"),
    ("t.swf.bz2", b"BZh9" + b"x" * 90, "expected a sound bzip2 file"),
    ("t.swf.xz", b"\xfd7zXZ\x00" + b"x" * 90, "expected a sound xz file"),
    ("t.swf.zst", b"(\xb5/\xfd" + b"x" * 90, "expected a sound zstd file"),
    ("t.zip", b"PK\x03\x04" + b"x" * 90, "expected a sound zip file"),
    ("t.7z", b"7z\xbc\xaf\x27\x1c" + b"x" * 90, "packed with 7-Zip; unpack it, or pack it with gzip"),
    ("t.rar", b"Rar!\x1a\x07" + b"x" * 90, "packed with RAR"),
    ("t.Z", b"\x1f\x9d" + b"x" * 90, "packed with compress"),
    ("t.lz4", b"\x04\x22\x4d\x18" + b"x" * 90, "packed with LZ4"),
    ("t.png", b"\x89PNG\0\0\0\r" + b"x" * 90, "expected text, got binary data"),
]


@pytest.mark.parametrize(("name", "data", "message"), DAMAGED)
def test_a_packing_that_is_not_read_is_named(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_archives(tmp_path):
    (tmp_path / "t.swf").write_text(SWF)
    with tarfile.open(tmp_path / "t.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "t.swf", "t.swf")
    with pytest.raises(InputError, match="got a tar archive; unpack it"):
        read(tmp_path / "t.tar.gz")
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.swf", SWF)
        archive.writestr("b.swf", SWF)
    with pytest.raises(InputError, match=r"expected a zip with one file, got 2 \(a.swf, b.swf\); unpack it"):
        read(tmp_path / "two.zip")


def pbs(*numbers):
    usual = f"user=a group=g queue=q ctime={EPOCH} start={EPOCH} end={EPOCH + 60} exec_host=n1/0"
    lines = [f"01/01/2024 00:00:00;E;{n}.head;{usual} Resource_List.walltime=01:00:00\n" for n in numbers]
    return "".join(["01/01/2024 00:00:00;Q;1.head;queue=q\n", *lines])


def test_a_folder_of_day_files_is_one_trace(tmp_path):
    (tmp_path / "20240101").write_text(pbs(1, 2))
    (tmp_path / "20240102.gz").write_bytes(gzip.compress(pbs(3).encode()))
    (tmp_path / "README.md").write_text("Nothing\n")
    (tmp_path / ".hidden").write_text("Nothing\n")
    workload = read(tmp_path)
    assert [job.id for job in workload.jobs] == ["1", "2", "3"]
    assert workload.provenance.counts == {"other records": 2}
    assert "2 records left out that say no end of a job" in workload.provenance.notes
    paths = [tmp_path / "20240102.gz", tmp_path / "20240101"]
    assert len(read(paths)) == len(read(str(tmp_path / "2024*"))) == len(read(tmp_path, head=3)) == 3


def test_an_error_in_a_folder_names_its_file(tmp_path):
    (tmp_path / "20240101").write_text(pbs(1, 2))
    (tmp_path / "20240102").write_text(pbs(3) + "nonsense\n")
    with pytest.raises(InputError, match=r"20240102:3: expected a record as 'date time;E;id"):
        read(tmp_path)
    workload = read(tmp_path, lenient=True)
    assert (len(workload), workload.provenance.examples["no record"]) == (3, "line 3 of file 2")


def test_parts_of_tables_and_of_sacct(tmp_path):
    for place in (1, 2):
        (tmp_path / f"part{place}.csv").write_text(CSV.replace("\n1,", f"\n1{place},").replace("\n2,", f"\n2{place},"))
        (tmp_path / f"month{place}.sacct").write_text(
            f"{SLURM}\n{ROW.format('00:10:00').replace('1|', f'{place}|', 1)}"
        )
    (tmp_path / "m.toml").write_text(MAP)
    assert len(read(str(tmp_path / "*.csv"), format=str(tmp_path / "m.toml"))) == 4
    assert [job.id for job in read(str(tmp_path / "*.sacct")).jobs] == ["1", "2"]


def test_folders_that_are_no_trace(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(IsADirectoryError, match="expected a file, got a directory without any"):
        read(tmp_path / "a")
    with pytest.raises(InputError, match="expected a pattern that fits files, got one that fits none"):
        read(str(tmp_path / "*.swf"))
    (tmp_path / "a" / "20240101").write_text(pbs(1))
    (tmp_path / "a" / "t.swf").write_text(SWF)
    with pytest.raises(InputError, match=r"a directory of several formats: pbs \(20240101\), swf \(t.swf\); give"):
        read(tmp_path / "a")
    (tmp_path / "a" / "notes").write_text("Some words.\n")
    with pytest.raises(InputError, match=r"got a directory with notes, which is no trace: expected a known format"):
        read(tmp_path / "a")
    (tmp_path / "a" / "notes").unlink()
    (tmp_path / "a" / "20240101").rename(tmp_path / "a" / "u.swf")
    (tmp_path / "a" / "u.swf").write_text(SWF)
    with pytest.raises(InputError, match="expected one file, as swf has a header of its own, got 2"):
        read(tmp_path / "a")
    with pytest.raises(InputError, match="expected at least one path"):
        read([])
