"""``hpcdispatch workload``."""

import json

import pytest

from hpcdispatch.workloads import generate, read


def test_describe(invoke, trace):
    found = invoke("workload", "describe", trace)
    assert found.exit_code == 0
    assert "1 of 60 records left out" in found.stdout
    rows = dict(line.split(maxsplit=1) for line in found.stdout.splitlines() if line.startswith(("jobs", "machine")))
    assert rows["jobs"].strip() == "59"


def test_describe_json(invoke):
    shown = json.loads(invoke("workload", "describe", "lublin:jobs=40,load=0.5", "--seed", 2, "--json").stdout)
    assert shown["jobs"] == 40
    assert shown["load"] == pytest.approx(0.5, rel=0.01)


def test_generate_is_reproducible_and_convert_reads_it(invoke, tmp_path):
    one, two, plain = (tmp_path / name for name in ("one.swf.gz", "two.swf.gz", "plain.swf"))
    for path in (one, two):
        found = invoke("workload", "generate", "lublin:jobs=50,load=0.8", path, "--seed", 4)
        assert found.exit_code == 0
        assert f"50 jobs written to {path}" in found.stdout
    assert one.read_bytes() == two.read_bytes()
    assert invoke("workload", "convert", one, plain, "--head", 20).exit_code == 0
    expected = generate("lublin:jobs=50,load=0.8", seed=4).jobs[:20]
    assert [job.runtime for job in read(plain).jobs] == [job.runtime for job in expected]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("generate", "lublin", "out.txt"), "out.txt: expected a file name ending in .swf or .jsonl"),
        (("generate", "nope", "out.swf"), "unknown workload 'nope'"),
        (("generate", "lublin", "nodir/out.swf"), "nodir/out.swf: no such directory"),
        (("convert", "nope.swf", "out.swf"), "nope.swf: no such file"),
    ],
)
def test_bad_input(invoke, args, message):
    found = invoke("workload", *args)
    assert found.exit_code == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1


def test_a_trace_without_requested_times_is_described(invoke, tmp_path):
    path = tmp_path / "bare.swf"
    path.write_text(
        "; MaxProcs: 8\n1 0 0 60 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n2 9 0 60 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n"
    )
    found = invoke("workload", "describe", path)
    assert found.exit_code == 0
    assert "not recorded" in found.stdout
    refused = invoke("run", path)
    assert refused.exit_code == 2
    assert "give --default-walltime" in refused.stderr


def test_a_table_without_a_map_gets_a_suggestion(invoke, tmp_path):
    path = tmp_path / "u.csv"
    own = tmp_path / "own.toml"
    path.write_text("JobNumber,SubmitTime,StartTime,EndTime,NodeCount,TimeLimit\n1,0,10,3610,4,7200\n")
    found = invoke("workload", "describe", path)
    assert (found.exit_code, found.stderr.count("\n")) == (0, 1)
    own.write_text(found.stdout)
    described = invoke("workload", "describe", path, "--format", own)
    assert "(node 4)" in described.stdout
    refused = invoke("run", path)
    assert refused.exit_code == 2
    assert "--format MAP.toml" in refused.stderr


def test_the_report_says_what_reading_changed(invoke, tmp_path):
    path = tmp_path / "t.swf"
    report = tmp_path / "r.json"
    line = "{} {} 0 {} 4 -1 -1 4 90 -1 1 1 1 1 1 1 -1 -1\n"
    path.write_text("; MaxProcs: 8\n" + "".join(line.format(*each) for each in ((1, 9, 60), (2, 5, 60), (3, 9, 0))))
    assert invoke("workload", "describe", path, "--report", report).exit_code == 0
    found = json.loads(report.read_text())
    assert found["findings"] == [
        {"what": "records sorted", "count": 1, "example": "job 2"},
        {"what": "run time <= 0", "count": 1, "example": "job 3"},
    ]
    assert (found["jobs"], len(found["notes"])) == (2, 2)
    assert "1 job with run time 0 kept" in invoke("workload", "describe", path, "--keep-zero").stdout


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--max-size", "big", "expected a size such as 8GB, got 'big'"),
        ("--max-size", "10", "expected a file of at most 10 bytes, got "),
        ("--format", "nope", "--format: expected one of swf, sacct, "),
        ("--report", "r.txt", "expected a file name ending in .json"),
    ],
)
def test_bad_options_of_reading(invoke, tmp_path, option, value, message):
    (tmp_path / "t.swf").write_text("1 0 0 60 4 -1 -1 4 90 -1 1 1 1 1 1 1 -1 -1\n")
    found = invoke("workload", "describe", tmp_path / "t.swf", option, value)
    assert found.exit_code == 2
    assert message in found.stderr
