"""``hpcdispatch workload analyze``."""

import json

import pandas as pd
import pytest
from workflow_runs import workflow_runs

OPTIONS = ("--size-column", "size", "--time-column", "time")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "runs.csv"
    workflow_runs().to_csv(path, index=False)
    return path


def test_names_the_best_class_of_each_workflow(invoke, table):
    found = invoke("workload", "analyze", table, *OPTIONS, "--workflow-column", "workflow")
    assert found.exit_code == 0
    best = found.stdout.partition("best class")[2].partition("time = a")[0]
    rows = {line.split()[0]: line for line in best.splitlines() if line.strip()}
    assert rows["grows"].split()[1:6] == ["n", "n", "log", "n", "0.90"]
    assert rows["varies"].split()[1:4] == ["1", "-", "-0.01"]
    assert "varies: unpredictable from the size: correlation with the size -0.01, limit 0.7\n" in found.stdout
    assert found.stdout.count("n^2 log n") >= 2


def test_without_a_workflow_column_there_is_one(invoke, table):
    found = invoke("workload", "analyze", table, *OPTIONS, "--json")
    shown = json.loads(found.stdout)
    assert [row["workflow"] for row in shown["workflows"]] == ["runs.csv"]
    assert shown["workflows"][0]["runs"] == 400
    assert len(shown["classes"]) == 7
    assert shown["classes"][0]["correlation"] is None


def test_writes_fits_and_picture(invoke, table, tmp_path):
    out = tmp_path / "fits.csv"
    plot = tmp_path / "runs.png"
    found = invoke(
        "workload", "analyze", table, *OPTIONS, "--workflow-column", "workflow", "--out", out, "--plot", plot
    )
    assert found.exit_code == 0
    assert found.stderr == f"hpcdispatch: note: fits written to {out}\nhpcdispatch: note: picture written to {plot}\n"
    fits = pd.read_csv(out)
    assert len(fits) == 14
    assert (fits["verdict"] == "best").sum() == 2
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (None, (), "runs.csv: no such file"),
        ("size,time\n1,2\n2,x\n", (), "runs.csv:3: column 'time': expected a number in [0, 1e+30], got 'x'"),
        ("size,t\n1,2\n", (), "runs.csv: no column 'time'; columns: 'size', 't'"),
        ("size,time\n1,2\n2,3\n", (), "runs.csv: column 'size': expected at least 3 different sizes to fit, got 2"),
        ("", ("--plot", "x.gif"), "--plot x.gif: expected a file name ending in .png or .svg or .pdf"),
        ("", ("--out", "x.txt"), "--out x.txt: expected a file name ending in .csv"),
        ("", ("--plot", "nodir/x.png"), "--plot nodir/x.png: no such directory to write to: nodir"),
        ("", ("--explains", "2"), "Invalid value for '--explains'"),
    ],
)
def test_bad_input(invoke, tmp_path, text, options, message):
    path = tmp_path / "runs.csv"
    if text is not None:
        path.write_text(text)
    found = invoke("workload", "analyze", path, *OPTIONS, *options)
    assert found.exit_code == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1
