"""Replays of a real Slurm beside each other, and what is noted while one goes on."""

import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.benchmarks.slurm import live_moments, replay_noise
from hpcdispatch.bench.studies.benchmarks.slurm.forecast_table import read_moments
from hpcdispatch.bench.studies.benchmarks.slurm.live import main


def rows_of(*waits):
    names = ("recorded", "slurm")
    return [
        SimpleNamespace(name=name, waits=np.array(each, dtype=float)) for name, each in zip(names, waits, strict=True)
    ]


@pytest.fixture
def records(monkeypatch):
    found = {
        Path("a"): rows_of([10, 20, 30], [10, 20, 30]),
        Path("b"): rows_of([20, 40, 60], [10, 20, 30]),
        Path("other"): rows_of([1], [1]),
    }
    monkeypatch.setattr(replay_noise, "compared", lambda folder, share: found[folder])


def test_replays_are_held_against_each_other(records):
    table = replay_noise.noise([Path("a"), Path("b")], "")
    real, model = ([cell.text for cell in row] for row in table.cells)
    assert real[:3] == ["another run of the real Slurm", "+25.0%", "-50.0% to +100.0%"]
    assert model[:3] == ["slurm", "-25.0%", "-50.0% to +0.0%"]
    assert real[-1] == model[-1] == "1.00"


def test_replays_of_other_jobs_are_refused(records):
    with pytest.raises(InputError, match="expected two records of a replay or more, got 1"):
        replay_noise.noise([Path("a")], "")
    with pytest.raises(InputError, match="other: expected the 3 jobs of a, got 1"):
        replay_noise.noise([Path("a"), Path("other")], "")


def test_a_record_that_cannot_be_compared_is_one_line(tmp_path):
    for folders, message in (
        ([tmp_path], "expected two records"),
        ([tmp_path, tmp_path], "no such configuration of Slurm"),
    ):
        done = CliRunner().invoke(main, ["noise", *map(str, folders)])
        assert done.exit_code == 1
        assert done.output.startswith("Error: ")
        assert message in done.output


@pytest.mark.parametrize("name", ["replay", "evict"])
def test_without_a_slurm_that_is_one_line(monkeypatch, tmp_path, name):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = CliRunner().invoke(main, [name])
    assert done.exit_code == 1
    assert done.output.startswith("Error: ")
    assert "there is no such command here" in done.output


def test_moments_that_were_noted_can_be_read(monkeypatch, tmp_path):
    monkeypatch.setattr(live_moments, "ask", lambda *_: "7|PD|100|Resources|1700000100|0:00\n8|R|90|None|N/A|0:10\n")
    with live_moments.noting_moments(tmp_path / "moments.txt", 3600):
        time.sleep(0.1)
    [moment] = read_moments(tmp_path / "moments.txt", 1)
    assert moment.expected == {"7": 1_700_000_100.0}
    assert moment.priorities == {"7": 100}
