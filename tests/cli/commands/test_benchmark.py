"""``hpcdispatch benchmark``: an own file, its row, and the same scores in another environment."""

import json
import os
import subprocess
import sys

import pytest
from patience import PATIENCE

#: Runs a small suite in the place of quick: a task of two samples.
PROGRAM = """
import sys
from dataclasses import replace
from hpcdispatch.bench.frozen import suites
quick = suites.SUITES["quick"]
first = replace(quick.tasks[0], seeds=((0, 0), (1, 1), (2, 4)), source="lublin:jobs=60,processors=32,load=0.9")
first = replace(first, digests=tuple(suites.digest_of(first, part) for part in suites.PARTS))
suites.SUITES["quick"] = replace(quick, version=99, tasks=(first,))
from hpcdispatch.cli import main
main()
"""
MINE = """
from hpcdispatch.dispatchers import Start

class SmallestFirst:
    def dispatch(self, state):
        free, starts = int(state.free.sum()), []
        for job in sorted(state.queue, key=lambda job: job.nodes * job.demand[0]):
            if job.nodes * job.demand[0] <= free:
                free -= job.nodes * job.demand[0]
                starts.append(Start(job, [0] * job.nodes))
        return starts
"""


@pytest.fixture
def run(tmp_path):
    def command(*arguments, **environment):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, **environment},
            timeout=PATIENCE,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    (tmp_path / "mine.py").write_text(MINE)
    return command


def test_a_file_of_ten_lines_gets_its_row_and_a_wrong_one_is_told(run, tmp_path):
    code, out, err = run("benchmark", "quick", "--dispatcher", "mine.py", "--workers", "1")
    assert code == 0, err
    assert "mine has rank 1 of " in out.splitlines()[-1]
    card = json.loads((tmp_path / "benchmark-results" / "mine.json").read_text())
    assert card["source"]["dispatcher_file"] == "mine.py"
    assert card["command"] == "hpcdispatch benchmark quick --dispatcher mine.py"
    (tmp_path / "benchmark-results" / "zz.json").write_text("{}")
    code, out, err = run("benchmark", "--table", "benchmark-results")
    assert code == 2
    assert err.count("\n") == 1
    assert "zz.json: " in err
    assert "leaderboard.md has 1 entry." in out
    assert "| mine | walltime | 1 |" in (tmp_path / "benchmark-results" / "leaderboard.md").read_text()


@pytest.mark.nightly
def test_an_entry_that_fails_has_its_row_without_a_rank(run, tmp_path):
    (tmp_path / "bad.py").write_text(
        "class Bad:\n    def dispatch(self, state):\n        raise ValueError('no plan')\n"
    )
    code, out, err = run("benchmark", "quick", "--dispatcher", "bad.py", "--workers", "1")
    assert code == 1
    assert out.splitlines()[-1] == "bad has no score in quick 99: it failed on a task."
    assert "dispatch raised ValueError: no plan" in err.splitlines()[-1]
    assert "Traceback" not in err


@pytest.mark.nightly
def test_scores_are_the_same_in_another_environment(run, tmp_path):
    common = ("benchmark", "quick", "--dispatcher", "mine.py", "--predictor", "last2")
    first = run(*common, "--workers", "1", "--out", "a", PYTHONHASHSEED="1")
    second = run(*common, "--workers", "2", "--out", "b", PYTHONHASHSEED="2", TMPDIR=str(tmp_path))
    assert (first[0], second[0]) == (0, 0), first[2] + second[2]
    cards = [json.loads(next((tmp_path / name).glob("*.json")).read_text()) for name in "ab"]
    times = [card.pop("decision_times") for card in cards]
    assert json.dumps(cards[0]) == json.dumps(cards[1])
    assert list(times[0]) == list(times[1]) == ["full"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["quick"], "expected --dispatchers or --baselines"),
        ([], "expected a SUITE (quick, standard) or --table DIR"),
        (["quck", "--dispatcher", "easy"], "suite: expected one of quick, standard, got 'quck'"),
        (["quick", "--dispatcher", "no.py"], "--dispatcher no.py: expected a name or a file, got no such file"),
        (["quick", "--dispatcher", "none.py"], "none.py: expected one class with dispatch(), got none"),
        (["quick", "--dispatcher", "esy"], "unknown dispatcher 'esy'"),
        (["quick", "--dispatcher", "easy", "--predictor", "mine.py"], "expected one class with predict(), got none"),
        (["quick", "--dispatchers", "easy,fcfs", "--name", "x"], "expected it with one dispatcher, got 2"),
        (["quick", "--table", "x"], "expected no SUITE and no other task beside it"),
        (["--table", "nowhere"], "nowhere: expected a folder of scorecards, got none"),
    ],
)
def test_bad_input_is_one_line(invoke, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "none.py").write_text("x = 1\n")
    (tmp_path / "mine.py").write_text(MINE)
    found = invoke("benchmark", *arguments)
    assert found.exit_code == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1
    for name in ("none", "mine"):
        sys.modules.pop(name, None)


def test_jobs_for_learning_are_written(invoke, tmp_path):
    found = invoke("benchmark", "quick", "--export", tmp_path / "jobs")
    assert found.exit_code == 0, found.stderr
    names = {path.name.rpartition("-")[0] for path in (tmp_path / "jobs").iterdir()}
    assert names == {f"{task}-{part}" for task in ("full", "wide", "sample") for part in ("train", "validation")}
