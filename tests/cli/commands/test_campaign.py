"""``hpcdispatch campaign`` as a user sees it."""

import errno
import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from combinations import some
from patience import PATIENCE

from hpcdispatch.bench.campaigns.execution import Store

EXAMPLE = Path(__file__).parents[3] / "examples" / "campaign.toml"
TEXT = """
dispatchers = ["fcfs", "easy"]
seeds = 2

[[workload]]
source = "lublin:jobs=60,processors=32,load=0.9"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(TEXT)
    return path


def test_done_then_reused(invoke, file, tmp_path):
    args = ("campaign", file, "--out", tmp_path / "store", "--workers", 1)
    first = invoke(*args, "--table", tmp_path / "table.csv")
    assert (first.exit_code, first.stderr) == (0, "")
    assert first.stdout.startswith("study: 4 cells, 4 done, 0 reused, 0 failed (")
    assert len((tmp_path / "table.csv").read_text().splitlines()) == 5
    second = invoke(*args)
    assert second.exit_code == 0
    assert second.stdout.startswith("study: 4 cells, 0 done, 4 reused, 0 failed (")


def test_laws_of_few_runs_are_used_but_said_once(invoke, file, tmp_path):
    file.write_text('predictors = ["empirical:least=2"]\n' + TEXT)
    found = invoke("campaign", file, "--out", tmp_path / "store", "--workers", 1)
    assert found.exit_code == 0
    assert found.stderr.count("note: empirical:least=2: laws of 2 past runs tell little; expected at least 5") == 1


def test_json(invoke, file, tmp_path):
    found = invoke("campaign", file, "--out", tmp_path / "store", "--workers", 1, "--json")
    told = json.loads(found.stdout)
    assert (told["planned"], told["done"], told["failures"], told["missing"]) == (4, 4, [], 0)


@pytest.mark.nightly
def test_the_example_runs(invoke, tmp_path):
    small = tmp_path / "campaign.toml"
    text = EXAMPLE.read_text().replace("jobs=3000", "jobs=150").replace("jobs=6000", "jobs=400")
    text = text.replace("head = 2500", "head = 100").replace("[1000, 3500]", "[100, 200]")
    small.write_text(text.replace("200 jobs", "20 jobs").replace("seeds = 4", "seeds = 1"))
    found = invoke("campaign", small, "--out", tmp_path / "store", "--workers", 1)
    assert found.exit_code == 0
    assert found.stdout.startswith("campaign: 36 cells, 36 done, 0 reused, 0 failed (")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("seeds = 2", "seads = 2"), ":3: seads: unknown key 'seads' (did you mean seeds?); known: workload, "),
        (
            ('"easy"', '"easy:plcement=best-fit"'),
            ":2: dispatchers: dispatcher easy: unknown option 'plcement'; known: ",
        ),
        (("seeds = 2", "seeds = 2 3"), ":3: expected TOML, got an error in column 11: "),
        (
            ('source = "lublin', 'source = "lubline'),
            ":6: workload 1 source: lubline",
        ),
    ],
)
def test_a_mistake_in_the_file_is_one_line_before_anything_runs(invoke, file, tmp_path, change, message):
    file.write_text(TEXT.replace(*change))
    found = invoke("campaign", file, "--out", tmp_path / "store")
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith(f"hpcdispatch: error: {file}{message}")
    assert found.stderr.count("\n") == 1
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("nofile.toml", "--out", "store"), "nofile.toml: No such file or directory"),
        (("study.toml",), "Missing option '--out'"),
        (("study.toml", "--out", "study.toml"), "study.toml: expected a folder for the store, got a file"),
        (("study.toml", "--out", "store", "--workers", "0"), "--workers"),
        (("study.toml", "--out", "store", "--table", "no/table.csv"), "--table no/table.csv: expected the name of a"),
        (("study.toml", "--out", "store", "--tls-ca-file", "x"), "expected all of --tls-ca-file, --tls-cert and"),
        (("study.toml", "--out", "store", "--interface", "eth0"), "--interface: expected with --cluster only"),
        (("study.toml", "--out", "store", "--insecure"), "--insecure: expected with --cluster only"),
    ],
)
def test_bad_usage_is_one_line(invoke, file, tmp_path, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    found = invoke("campaign", *args)
    assert found.exit_code == 2
    assert found.stderr.startswith("hpcdispatch: error: ")
    assert message in found.stderr
    assert found.stderr.count("\n") == 1


def test_failed_cells_are_named_and_tried_again_when_asked(invoke, plugin, file, tmp_path):
    file.write_text(TEXT.replace('"easy"', '"boom"').replace("seeds = 2", "seeds = 1"))
    args = ("campaign", file, "--out", tmp_path / "store", "--workers", 1)
    found = invoke(*args)
    assert found.exit_code == 1
    assert "2 cells, 1 done, 0 reused, 1 failed" in found.stdout
    label = "lublin:jobs=60,processors=32,load=0.9, boom, walltime, seed 0: SimulationError: Boom at t="
    assert found.stderr.startswith(f"hpcdispatch: error: {label}")
    assert found.stderr.endswith(": dispatch raised KeyError: 'boom' (--debug shows the traceback)\n")
    assert "Traceback (most recent call last)" in invoke(*args, "--retry", "--debug").stderr
    again = invoke(*args)
    assert again.exit_code == 1
    assert "2 cells, 0 done, 1 reused, 1 failed" in again.stdout
    assert f"hpcdispatch: note: failed before, --retry tries again: {label}" in again.stderr


def test_a_full_disk_stops_with_what_is_finished(invoke, file, tmp_path, monkeypatch):
    store = Store(tmp_path / "store")
    real, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 25:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        found = invoke("campaign", file, "--out", store.folder, "--workers", 1)
    kept = list(store.finished())
    assert found.exit_code == 2
    assert f"hpcdispatch: note: stopped; what was finished is kept in {store.folder}" in found.stderr
    assert ": No space left on device\n" in found.stderr
    assert 0 < len(kept) < 4
    assert all(store.damage(key) is None for key in kept)
    again = invoke("campaign", file, "--out", store.folder, "--workers", 1)
    assert f"4 cells, {4 - len(kept)} done, {len(kept)} reused, 0 failed" in again.stdout


@pytest.mark.parametrize("verify", some([["--verify"], []]))
def test_damaged_cells_are_named_and_simulated_again(invoke, file, tmp_path, verify):
    store = Store(tmp_path / "store")
    args = ("campaign", file, "--out", store.folder, "--workers", 1)
    invoke(*args)
    first, second, *_ = store.finished()
    with open(store.path(first) / "jobs.parquet", "r+b") as path:
        path.write(b"XXXX")
    os.truncate(store.path(second) / "manifest.json", 20)
    found = invoke(*args, *verify)
    assert found.exit_code == 0
    assert "4 cells, 2 done, 2 reused, 0 failed" in found.stdout
    for key, name in ((first, "jobs.parquet"), (second, "manifest.json")):
        assert f"hpcdispatch: warning: {store.path(key)}: {name} is not what was written (cell lublin" in found.stderr
    assert invoke(*args, "--verify").stderr == ""


def test_damage_of_another_campaign_is_named_and_left(invoke, file, tmp_path):
    store = Store(tmp_path / "store")
    invoke("campaign", file, "--out", store.folder, "--workers", 1)
    file.write_text(TEXT.replace("seeds = 2", "seeds = [1]"))
    for key in store.finished():
        (store.path(key) / "jobs.parquet").write_bytes(b"")
    found = invoke("campaign", file, "--out", store.folder, "--workers", 1, "--verify")
    assert "2 cells, 2 done, 0 reused, 0 failed" in found.stdout
    assert found.stderr.count("of another campaign, whose next run mends it") == 2


@pytest.mark.nightly
def test_ctrl_c_keeps_what_is_finished(start, plugin, file, tmp_path):
    mark = tmp_path / "mark"
    store = Store(tmp_path / "store")
    file.write_text(TEXT.replace('"easy"', f'"stuck:mark={mark}"').replace("seeds = 2", "seeds = 1"))
    process = start("campaign", file, "--out", store.folder, "--workers", 2)
    while process.poll() is None and not (mark.exists() and mark.read_text() and list(store.finished())):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "2 cells, 1 done, 0 reused, 0 failed, 1 to do" in out
    assert err == "hpcdispatch: interrupted: 1 of 2 cells are in the store; the same command goes on\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


def test_a_store_of_0_1_0_is_not_resumed_but_reported(invoke, tmp_path, monkeypatch):
    monkeypatch.setattr("hpcdispatch.bench.reports.html_page.images", lambda figure: {"svg": b"<svg/>"})
    old = Path(__file__).parents[2] / "bench" / "campaigns" / "store_0_1_0"
    store = Path(shutil.copytree(old, tmp_path / "store"))
    found = invoke("campaign", store / "old.toml", "--out", store)
    assert (found.exit_code, found.stdout, found.stderr.count("\n")) == (2, "", 1)
    said = "written by hpcdispatch 0.1.0, so nothing can be added to it; choose another folder (hpcdispatch report"
    assert said in found.stderr
    assert invoke("report", store).exit_code == 0
