"""``--conventions`` on the command line: the settings of a paper, and options beside them."""

import json

import pytest

RECORD = "{} {} 0 {} 4 -1 -1 4 {} -1 1 1 1 1 1 1 -1 -1\n"


@pytest.fixture
def path(tmp_path):
    rows = [(number, 5 * number, 60 if number % 3 else 0, 50 if number % 4 else -1) for number in range(1, 40)]
    (tmp_path / "t.swf").write_text("; MaxProcs: 8\n" + "".join(RECORD.format(*row) for row in rows))
    return tmp_path / "t.swf"


def test_they_set_reading_and_simulation(invoke, path):
    found = invoke("run", path, "--conventions", "sc15", "--json")
    assert found.exit_code == 0, found.stderr
    assert (
        "sc15, where no option says otherwise: --default-walltime drop --overrun kill --same-instant arrivals-first"
        in found.stderr
    )
    told = json.loads(found.stdout)
    explicit = invoke(
        "run", path, "--default-walltime", "drop", "--overrun", "kill", "--same-instant", "arrivals-first", "--json"
    )
    assert told["wait_mean"] == json.loads(explicit.stdout)["wait_mean"]
    assert told["jobs"] == 20


def test_an_option_beside_them_wins(invoke, path):
    found = invoke("run", path, "--conventions", "sc15", "--default-walltime", "runtime", "--json")
    assert json.loads(found.stdout)["jobs"] == 26


def test_they_serve_comparisons(invoke, path):
    found = invoke("compare", path, "--conventions", "hpcopt", "--dispatchers", "fcfs,easy", "--workers", "1", "--json")
    assert found.exit_code == 0, found.stderr
    rows = json.loads(found.stdout)["runs"]
    assert {(row["predictor"], row["jobs"]) for row in rows} == {("oracle", 39)}


def test_generated_jobs_need_no_reading(invoke):
    found = invoke("run", "lublin:jobs=50,seed=1", "--conventions", "rlscheduler")
    assert found.exit_code == 0, found.stderr


def test_an_unknown_name_is_one_line(invoke, path):
    found = invoke("run", path, "--conventions", "sc16")
    assert found.exit_code == 2
    assert "conventions: expected one of sc15, rlscheduler, hpcopt, got 'sc16'" in found.stderr
