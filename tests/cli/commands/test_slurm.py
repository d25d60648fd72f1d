"""``hpcdispatch slurm``."""

import json

import pytest

SQUEUE = {
    "meta": {"Slurm": {"version": {"major": 22, "minor": 5}}},
    "jobs": [
        {"job_id": 1, "job_state": "RUNNING", "nodes": "n[1-2]", "cpus": 8, "submit_time": 1, "start_time": 900,
         "time_limit": 60},
    ],
}  # fmt: skip
SINFO = {"meta": SQUEUE["meta"], "nodes": [{"name": f"n{place}", "cpus": 4, "state": "idle"} for place in (1, 2, 3)]}


@pytest.fixture
def printed(tmp_path):
    (tmp_path / "q.json").write_text(json.dumps(SQUEUE))
    (tmp_path / "i.json").write_text(json.dumps(SINFO))
    return ["--squeue", tmp_path / "q.json", "--sinfo", tmp_path / "i.json", "--now", 1000]


def script(folder, name, text):
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def test_the_state_is_what_evict_reads(invoke, printed, tmp_path):
    found = invoke("slurm", "state", tmp_path / "state.json", *printed)
    assert found.exit_code == 0, found.stderr
    assert "1 running job on 2 of 3 nodes, 0 waiting" in found.stderr
    assert invoke("evict", tmp_path / "state.json", "--nodes", 3, "--deadline", "10m").exit_code == 0


def test_slurm_is_asked_where_nothing_is_given(invoke, printed, tmp_path, monkeypatch):
    script(tmp_path, "squeue", f"cat {printed[1]}")
    script(tmp_path, "sinfo", f"cat {printed[3]}")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert invoke("slurm", "state", tmp_path / "state.json").exit_code == 0
    assert json.loads((tmp_path / "state.json").read_text())["machine"] == {"nodes": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "echo 'slurm_load_jobs error: Unable to contact' >&2; exit 1",
            "squeue: ended with code 1 and said: slurm_load",
        ),
        ("exec sleep 60", "squeue: no answer within 0.2 s"),
    ],
)
def test_a_controller_that_does_not_answer_is_told_in_one_line(invoke, tmp_path, monkeypatch, text, message):
    monkeypatch.setattr("hpcdispatch.cli.commands.slurm_commands.PATIENCE", 0.2)
    script(tmp_path, "squeue", text)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = invoke("slurm", "state", tmp_path / "state.json")
    assert found.exit_code == 2
    assert message in found.stderr
    assert not (tmp_path / "state.json").exists()


def test_without_slurm_that_is_said(invoke, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = invoke("slurm", "state", tmp_path / "state.json")
    assert found.exit_code == 2
    assert "squeue: there is no such command here" in found.stderr


def test_files_come_together(invoke, printed, tmp_path):
    found = invoke("slurm", "state", tmp_path / "state.json", *printed[:2])
    assert found.exit_code == 2
    assert "expected all of them or none" in found.stderr
