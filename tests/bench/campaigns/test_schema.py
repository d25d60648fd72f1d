"""Stores of hpcdispatch 0.1.0 and later: which are read, and which are refused."""

import hashlib
import json
import re
import shutil
from pathlib import Path

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.bench.campaigns.comparison import compare
from hpcdispatch.bench.campaigns.execution import Store, plan_campaign, run_campaign
from hpcdispatch.bench.campaigns.recorded_names import named
from hpcdispatch.bench.reports.page import write_report
from hpcdispatch.bench.reports.saved_results import runs_of
from hpcdispatch.bench.reports.study import study
from hpcdispatch.simulation.schema import RENAMED, SCHEMA
from hpcdispatch.testing import tiny

#: A store that version 0.1.0 wrote, and the campaign file it ran.
OLD = Path(__file__).with_name("store_0_1_0")


@pytest.fixture
def old(tmp_path):
    return Path(shutil.copytree(OLD, tmp_path / "store"))


@pytest.fixture
def newer(tmp_path):
    """Return a store in the next schema with whole cells."""
    store = Store(tmp_path / "newer")
    for place in OLD.glob("cells/??/*"):
        files = {path.name: path.read_bytes() for path in place.iterdir() if "sha256" not in path.name.lower()}
        for name in ("cell.json", "manifest.json"):
            files[name] = json.dumps(json.loads(files[name]) | {"schema": SCHEMA + 1}).encode()
        key = hashlib.sha256(files["cell.json"]).hexdigest()
        store.path(key).parent.mkdir(parents=True, exist_ok=True)
        store.put(key, files)
    return store.folder


def test_a_store_of_0_1_0_is_reported(old, tmp_path, monkeypatch):
    monkeypatch.setattr("hpcdispatch.bench.reports.html_page.images", lambda figure: {"svg": b"<svg/>"})
    found = runs_of(old)
    assert (found.campaign, found.left_out) == ("old", ())
    assert {(run.workload, str(run.warm_up), run.jobs) for run in found.runs} == {("small", "2 jobs", 20)}
    made = study(found)
    assert made.runs["dispatcher"].str.partition(":")[0].tolist() == ["easy", "easy", "portfolio", "portfolio"]
    waits = [5170.0555556, 810.6666667, 9508.8333333, 1120.0]
    assert made.runs["wait_mean"].tolist() == pytest.approx(waits)
    write_report(made, tmp_path / "page.html")
    assert "portfolio:every=1h" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_renamed_fields_of_a_campaign_are_read(old, monkeypatch):
    path = old / "campaigns" / "old.json"
    before = list(named(old, "old"))
    path.write_text(path.read_text().replace('"workload"', '"jobs_of"'))
    with pytest.raises(InputError, match="expected the cells of a campaign"):
        list(named(old, "old"))
    monkeypatch.setitem(RENAMED, "campaign", {"jobs_of": "workload"})
    assert list(named(old, "old")) == before


def test_a_store_of_0_1_0_is_not_resumed(old):
    before = {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}
    said = re.escape(f"{old}: written by hpcdispatch 0.1.0, so nothing can be added to it; choose another folder")
    with pytest.raises(InputError, match=said):
        run_campaign(plan_campaign(old / "old.toml"), Store(old))
    with pytest.raises(InputError, match=said):
        compare(tiny(), ["easy"], out=old)
    assert {path: path.read_bytes() for path in old.rglob("*") if path.is_file()} == before


def test_a_damaged_cell_does_not_hide_the_schema(old):
    next(iter(sorted(old.glob("cells/??/*/cell.json")))).write_text("{")
    with pytest.raises(InputError, match=r"written by hpcdispatch 0\.1\.0"):
        Store(old).open()


def test_a_newer_store_is_refused(newer):
    said = f"written by a newer hpcdispatch, in schema {SCHEMA + 1}, and this one reads up to {SCHEMA}"
    with pytest.raises(InputError, match=f"newer: {said}; update hpcdispatch"):
        Store(newer).open()
    found = runs_of(newer)
    assert (len(found.runs), len(found.left_out)) == (0, 4)
    assert all(f"manifest.json: {said}" in line for line in found.left_out)
    (newer / "campaigns").mkdir()
    (newer / "campaigns" / "new.json").write_text(json.dumps({"schema": SCHEMA + 1}))
    with pytest.raises(InputError, match=said):
        runs_of(newer)


def test_a_store_says_its_schema(tmp_path):
    compare(tiny(), ["easy"], out=tmp_path)
    (folder,) = tmp_path.glob("cells/??/*")
    for name in ("cell.json", "manifest.json"):
        assert json.loads((folder / name).read_text())["schema"] == SCHEMA
