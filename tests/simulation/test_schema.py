"""Results that version 0.1.0 saved, and the table of names."""

import json
import shutil
from pathlib import Path

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.simulation import Result
from hpcdispatch.simulation.schema import RENAMED, SCHEMA, schema_of
from hpcdispatch.testing import assert_same_records, cluster

#: A result that version 0.1.0 saved: the workload `cluster()` of `hpcdispatch.testing` under easy-sjbf.
OLD = Path(__file__).with_name("result_0_1_0")


@pytest.mark.nightly
def test_a_result_of_0_1_0_is_read(tmp_path):
    result = Result.load(OLD)
    assert result.manifest["schema"] == SCHEMA
    assert "format" not in result.manifest
    assert result.manifest["versions"]["hpcdispatch"] == "0.1.0"
    assert result.manifest["workload"]["sha256"] == cluster().digest()
    summary = result.summary()
    assert summary["wait_mean"] == pytest.approx(9645.475)
    assert summary["utilization"] == pytest.approx(0.6297333319575147)
    again = Result.load(result.save(tmp_path / "again"))
    assert_same_records(result, again)
    assert again.manifest == result.manifest


def test_one_table_renames_columns_and_fields(tmp_path, monkeypatch):
    before = Result.load(OLD)
    for part, names in {
        "jobs": {"units": "amount"},
        "attempts": {"request": "walltime", "useful": "work"},
        "decisions": {"queued": "waiting"},
        "timings": {"index": "decision"},
        "manifest": {"seed": "random_seed", "sha256": "digest"},
    }.items():
        monkeypatch.setitem(RENAMED, part, names)
    after = Result.load(OLD)
    assert after.jobs["amount"].tolist() == before.jobs["units"].tolist()
    assert after.attempts["work"].tolist() == before.attempts["useful"].tolist()
    assert after.attempts.columns.get_loc("walltime") == before.attempts.columns.get_loc("walltime")
    assert {"amount", "units"} & set(after.jobs) == {"amount"}
    assert "waiting" in after.decisions
    assert "decision" in after.timings
    assert after.manifest["random_seed"] == 7
    assert after.manifest["workload"]["digest"] == cluster().digest()
    new = Result.load(before.save(tmp_path / "new"))  # of this schema: its names stay
    assert new.jobs.columns.tolist() == before.jobs.columns.tolist()
    assert new.manifest == before.manifest


@pytest.mark.parametrize("number", [SCHEMA + 1, 10**30])
def test_a_newer_result_is_refused(tmp_path, number):
    folder = Path(shutil.copytree(OLD, tmp_path / "newer"))
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"schema": number}))
    with pytest.raises(InputError, match=r"manifest\.json: written by a newer hpcdispatch, .* update") as said:
        Result.load(folder)
    assert len(str(said.value)) < len(str(folder)) + 200


@pytest.mark.parametrize("number", [0, -1, True, "2", 2.0, None, [2]])
def test_a_schema_that_is_no_number(number):
    with pytest.raises(InputError, match=r"here: expected a schema number of at least 1, got "):
        schema_of({"schema": number}, "here")
