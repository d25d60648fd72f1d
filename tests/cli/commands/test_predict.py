"""``hpcdispatch predict``."""

import json

import pandas as pd
import pytest

SPEC = "lublin:jobs=60,processors=16,load=0.9"


def test_tables_files_and_the_answer(invoke, tmp_path):
    out = tmp_path / "predictions.csv"
    plot = tmp_path / "errors.svg"
    found = invoke("predict", SPEC, "--predictors", "walltime,oracle", "--out", out, "--plot", plot)
    assert found.exit_code == 0, found.stderr
    assert found.stdout.splitlines()[-1].startswith("walltime predicts best, with a mean error of ")
    assert plot.read_text().startswith("<?xml")
    kept = pd.read_csv(out)
    assert kept["predictor"].value_counts().to_dict() == {"walltime": 60, "oracle": 60}
    shown = json.loads(invoke("predict", SPEC, "--predictors", "walltime,oracle", "--json").stdout)
    assert [row["predictor"] for row in shown["table"]] == ["walltime", "oracle"]
    assert shown["table"][1]["mae"] == 0
    assert shown["table"][1]["accuracy"] == 1
    assert shown["table"][0]["e_loss"] > shown["table"][1]["e_loss"] == 0
    assert "E-Loss" in found.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--predictors", "lst2"), "unknown predictor 'lst2' (did you mean last2?)"),
        (("--predictors", "last2", "--plot", "errors.doc"), "expected a file name ending in .png"),
        (("--predictors", "last2,last2"), "'last2' is given twice"),
        (("--dispatcher", "esay"), "unknown dispatcher 'esay'"),
        (("--predictors", "sklearn:estimator=Nothing"), "got 'Nothing'"),
    ],
)
def test_bad_input(invoke, options, message):
    found = invoke("predict", SPEC, *options)
    assert found.exit_code == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1


def test_the_answer_has_a_verdict_and_what_it_rests_on(invoke):
    found = invoke("predict", "lublin:jobs=60,processors=16,load=1.5,seed=2", "--predictors", "last2,empirical")
    assert found.exit_code == 0, found.stderr
    answer = found.stdout.splitlines()[-1]
    assert "under easy-sjbf a job waits " in answer
    assert "too short for an interval)" in answer
    table = json.loads(invoke("predict", "lublin:jobs=60,processors=16,load=1.5,seed=2", "--json").stdout)["table"]
    assert {row["verdict"] for row in table} == {"not decided"}
    assert all(row["reason"] for row in table)
