"""Users' texts in the output of sacct: bars, ends of lines, other delimiters, headers and text before them."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import read
from hpcdispatch.workloads.formats.trace_files import TraceFile

NAMES = ("JobID", "Submit", "Start", "End", "Timelimit", "NCPUS", "AllocTRES", "State", "JobName", "User")
DAY = "2024-01-01T"
#: All columns in the order of the alphabet, as --format=ALL prints them. Texts of users are in the middle.
ALL = (
    "Account",
    "AdminComment",
    "AllocCPUS",
    "AllocTRES",
    "Comment",
    "Constraints",
    "Elapsed",
    "ElapsedRaw",
    "Eligible",
    "End",
    "ExitCode",
    "JobID",
    "JobIDRaw",
    "JobName",
    "NNodes",
    "NodeList",
    "Partition",
    "ReqMem",
    "Start",
    "State",
    "Submit",
    "SubmitLine",
    "SystemComment",
    "Timelimit",
    "TimelimitRaw",
    "User",
    "WCKey",
    "WorkDir",
)


def row(number, names=NAMES, delimiter="|", **changed):
    fields = {
        "JobID": str(number),
        "JobIDRaw": str(number),
        "Submit": f"{DAY}00:00:0{number}",
        "Eligible": f"{DAY}00:00:0{number}",
        "Start": f"{DAY}00:01:00",
        "End": f"{DAY}01:01:00",
        "Timelimit": "02:00:00",
        "TimelimitRaw": "120",
        "NCPUS": "4",
        "AllocCPUS": "4",
        "AllocTRES": "cpu=4,mem=1G",
        "State": "COMPLETED",
        "JobName": "run",
        "User": "ann",
        "Elapsed": "01:00:00",
        "ElapsedRaw": "3600",
        "ExitCode": "0:0",
        "NNodes": "1",
        "NodeList": "n1",
        "Partition": "p",
        "ReqMem": "1G",
        "WorkDir": "/home/ann",
        "SubmitLine": "sbatch a.sh",
        "Account": "acc",
    } | changed
    return delimiter.join(fields.get(name, "") for name in names)


@pytest.fixture
def table(tmp_path):
    def make(*rows, names=NAMES, delimiter="|", before=""):
        path = tmp_path / "a.sacct"
        path.write_text(before + "\n".join([delimiter.join(names), *rows]) + "\n")
        return path

    return make


HOSTILE = ["a|b", "a\nb", "a|\n|b", "|", "\n\n", "x\n1|2", "for i in 1 2\ndo\n  echo $i | tee log\ndone", "|" * 20]


# The columns of comments are read alike: by day one of them, and those with a rule of their own.
@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "column",
    [
        pytest.param("AdminComment", marks=pytest.mark.nightly),
        "Comment",
        "JobName",
        "SubmitLine",
        pytest.param("SystemComment", marks=pytest.mark.nightly),
    ],
)
def test_texts_of_users_in_the_middle_of_all_columns(table, text, column):
    text = f"sbatch {text}" if column == "SubmitLine" else text
    jobs = read(table(row(1, ALL), row(2, ALL, **{column: text}), row(3, ALL), names=ALL)).jobs
    assert [(job.id, job.user, job.runtime, job.walltime) for job in jobs] == [
        (str(number), "ann", 3600, 7200) for number in (1, 2, 3)
    ]
    if column == "JobName":
        assert jobs[1].name == text.replace("\n", " ").strip()


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("last", ["JobName", "SubmitLine"])
def test_texts_of_users_at_the_end(table, text, last):
    names = (*(name for name in NAMES if name != "JobName"), last)
    jobs = read(table(row(1, names), row(2, names, **{last: text}), row(3, names), names=names)).jobs
    assert [(job.id, job.user, job.runtime) for job in jobs] == [(str(number), "ann", 3600) for number in (1, 2, 3)]


def test_a_text_over_the_end_of_a_block(table, monkeypatch):
    whole = TraceFile.blocks
    rows = [row(number, JobName=f"a{number}\n|b") for number in range(1, 10)]
    path = table(*rows)
    expected = read(path).jobs
    for size in (7, 100, 150):
        monkeypatch.setattr(TraceFile, "blocks", lambda self, size_=0, size=size: whole(self, size))
        assert read(path).jobs == expected
    assert len(expected) == 9


@pytest.mark.parametrize("delimiter", ["\t", ",", ";", "~", "^", "^|^", "@@", "|||"])
def test_delimiters(table, delimiter):
    path = table(row(1, delimiter=delimiter), row(2, delimiter=delimiter), delimiter=delimiter)
    jobs = read(path).jobs
    assert [(job.id, job.user, job.per_node["core"]) for job in jobs] == [("1", "ann", 4), ("2", "ann", 4)]
    assert read(path, delimiter=delimiter).jobs == jobs


def test_quotes_as_other_programs_write_them(tmp_path):
    path = tmp_path / "a.csv"
    quoted = [
        ",".join(f'"{cell}"' for cell in line.split("|")) for line in ("|".join(NAMES), row(1), row(2, JobName="x,y"))
    ]
    path.write_text("\n".join(quoted).replace("run", 'a\nb ""c""') + "\n")
    assert [(job.id, job.name) for job in read(path).jobs] == [("1", 'a b "c"'), ("2", "x,y")]


def test_headers_in_other_words_and_orders(table):
    again = ("jobidraw", *reversed([name.lower() for name in NAMES[1:]]))
    path = table(
        row(1),
        "|".join(again),
        "|".join(reversed(row(2).split("|"))).replace("ann|", "2|ann|", 1)[:-2],
        before="\ufeffWelcome to the cluster!\n\n# jobs of January\n",
    )
    workload = read(path)
    assert [(job.id, job.user, job.name) for job in workload.jobs] == [("1", "ann", "run"), ("2", "ann", "run")]
    assert workload.provenance.counts == {"lines before the header": 2, "header lines skipped": 1}


MALFORMED = [
    ("x|y|z", 3, "expected 10 fields, got 3"),
    (row(2).replace("2|", "x|", 1), 3, "field 'JobID': expected the id of a job, got 'x'"),
    (row(2).rpartition("|")[0], 3, "expected 10 fields, got 9"),
]


@pytest.mark.parametrize(("line", "number", "message"), MALFORMED)
def test_what_is_no_record_takes_no_good_one_with_it(table, line, number, message):
    path = table(row(1), line, row(3), row(4))
    with pytest.raises(InputError, match=rf"a\.sacct:{number}: {message}; --lenient"):
        read(path)
    assert [job.id for job in read(path, lenient=True).jobs] == ["1", "3", "4"]


def test_attempts_are_told_by_time_and_state(table):
    late = {"Submit": f"{DAY}05:00:00", "Start": f"{DAY}05:01:00", "End": f"{DAY}06:01:00"}
    running = {"State": "RUNNING", "End": "Unknown"}
    rows = [
        row(1, **late),
        row(1, State="NODE_FAIL"),  # the later attempt stands first
        row(2, **late),
        row(2),  # an id that is used again
        row(3, **running),
        row(3),
        row(4),
        row(4, **running),
        row(4),  # exports one after the other
        row(5, **late, User="bob"),
        row(5, State="CANCELLED by 7"),
    ]
    workload = read(table(*rows))
    assert sorted((job.id, job.submit) for job in workload.jobs) == [
        ("1", 17998),
        ("2", 0),
        ("2#2", 17998),
        ("3", 1),
        ("4", 2),
        ("5", 3),
        ("5#2", 17998),
    ]
    assert workload.provenance.counts == {"earlier attempts": 1, "repeated records": 3, "jobs renumbered": 2}
    assert workload.provenance.examples["jobs renumbered"] == "line 4"


def test_of_several_clusters_one_is_named(table):
    names = (*NAMES, "Cluster")
    path = table(row(1, names, Cluster="a"), row(1, names, Cluster="b"), row(2, names, Cluster="b"), names=names)
    with pytest.raises(InputError, match=r"got 2: b \(2 records\), a \(1 record\); --cluster NAME"):
        read(path)
    assert len(read(path, cluster="b")) == 2
    with pytest.raises(InputError, match=r"--cluster: expected one of: b \(2 records\), a \(1 record\), got 'c'"):
        read(path, cluster="c")


TIMES = [
    ("2024-01-01T08:00:00+0100", 1704092400),
    ("2024-01-01T08:00:00-05:00", 1704114000),
    ("2024-01-01T08:00:00Z", 1704096000),
    ("2024-01-01 08:00:00", 1704096000),
    ("2024/01/01-08:00:00", 1704096000),
    ("2024/01/01 08:00", 1704096000),
    ("01/01/2024 08:00:00", 1704096000),
    ("2024-01-01T08:00", 1704096000),
    ("1704096000", 1704096000),
]


@pytest.mark.parametrize(("text", "seconds"), TIMES)
def test_times(table, text, seconds):
    workload = read(table(row(1, Submit=text, Start=text, End="1704182400")))
    assert f"; UnixStartTime: {seconds}" in workload.provenance.header


MARKS = "JobID|JobName|Submit|Start|End|Timelimit|NCPUS|State|Constraints|Comment|SubmitLine"
JOB = "{}|{}|1795867000|1795867001|1795867011|1|4|COMPLETED|{}|{}|{}"


@pytest.mark.parametrize(
    ("name", "constraint", "comment", "line"),
    [
        ("a", "x|y", "", "sbatch -C x|y job.sh"),
        ("a|b", "", "", "sbatch -J a|b job.sh"),
        ("a", "[x|y]", "to do|now", "sbatch -C [x|y] job.sh"),
        ("a", "x|y|z", "", "sbatch --wrap cat f | grep x|y"),
        ("a", "", "free|text", "sbatch job.sh | tee log"),
        ("a|b", "x|y", "", "sbatch -J a|b -C x|y --nice=7 job.sh"),
    ],
)
def test_each_text_keeps_its_delimiters(tmp_path, name, constraint, comment, line):
    path = tmp_path / "jobs.sacct"
    path.write_text("\n".join([MARKS, JOB.format(1, name, constraint, comment, line), ""]))
    found = read(path)
    assert found.records["constraint"].tolist() == [constraint]
    assert found.jobs[0].name == name
    assert found.records["nice"].tolist() == [7 if "nice" in line else 0]
