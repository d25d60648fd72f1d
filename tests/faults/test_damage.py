"""Each kind of damage to a stored cell. Readers report it, and the campaign repairs it."""

import json
import os
import shutil

import pytest
import small_campaign
from combinations import some
from kept_cells import deterministic

from hpcdispatch.bench.campaigns.execution import Store, plan_campaign, run_campaign
from hpcdispatch.bench.reports.saved_results import runs_of
from hpcdispatch.bench.reports.study import study


def flipped(name):
    """Turn over a bit in the middle of a file."""

    def damage(cell):
        data = bytearray((cell / name).read_bytes())
        data[len(data) // 2] ^= 1
        (cell / name).write_bytes(data)

    return damage


def truncated(name):
    def damage(cell):
        os.truncate(cell / name, (cell / name).stat().st_size // 2)

    return damage


def missing(*names):
    def damage(cell):
        for name in names:
            (cell / name).unlink()

    return damage


def another_seed(cell):
    for name in ("cell.json", "manifest.json"):
        found = json.loads((cell / name).read_text())
        found["seed"] = 77
        (cell / name).write_text(json.dumps(found))


def altered(cell):
    text = (cell / "cell.json").read_text()
    (cell / "cell.json").write_text(text.replace("fcfs", "sjf ") + " ")


def a_file(cell):
    shutil.rmtree(cell)
    cell.write_text("no cell")


def a_folder_instead_of_a_table(cell):
    (cell / "jobs.parquet").unlink()
    (cell / "jobs.parquet").mkdir()


def a_dead_link(cell):
    (cell / "attempts.parquet").unlink()
    (cell / "attempts.parquet").symlink_to("nowhere")


def of_another_cell(cell):
    other = next(path for path in cell.parents[1].glob("*/*") if path != cell)
    shutil.rmtree(cell)
    shutil.copytree(other, cell)


def shortened(cell):
    """Change a table and remove its checksum."""
    flipped("jobs.parquet")(cell)
    lines = (cell / "SHA256SUMS").read_text().splitlines(keepends=True)
    (cell / "SHA256SUMS").write_text("".join(line for line in lines if "jobs.parquet" not in line))


#: By day there are the first eight.
KINDS = {
    "flipped bit in a table": flipped("jobs.parquet"),
    "altered description": altered,
    "no sums at all": missing("SHA256SUMS", "timings.sha256"),
    "no table": missing("decisions.parquet"),
    "truncated table": truncated("attempts.parquet"),
    "a file where the cell should be": a_file,
    "a link to nowhere": a_dead_link,
    "the files of another cell": of_another_cell,
    "flipped bit in the times": flipped("timings.parquet"),
    "flipped bit in the sums": flipped("SHA256SUMS"),
    "altered seed": another_seed,
    "no sums": missing("SHA256SUMS"),
    "no description": missing("cell.json"),
    "no sums and no description": missing("SHA256SUMS", "timings.sha256", "cell.json"),
    "no manifest": missing("manifest.json"),
    "truncated description": truncated("cell.json"),
    "truncated sums": truncated("SHA256SUMS"),
    "a table without its sum": shortened,
    "a folder where a table should be": a_folder_instead_of_a_table,
}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return the plan of a campaign of three cells, its store and the content."""
    folder = tmp_path_factory.mktemp("campaign")
    text = small_campaign.TEXT.format(jobs=20).replace('"easy", "easy-sjbf", "lxf"', '"easy"')
    (folder / "campaign.toml").write_text(text.replace(', "last2"', ""))
    plan = plan_campaign(folder / "campaign.toml")
    store = Store(folder / "store")
    assert len(run_campaign(plan, store).done) == 6
    return plan, store, deterministic(store)


@pytest.mark.parametrize("kind", some(list(KINDS), 8))
def test_is_found_and_healed(undisturbed, kind, tmp_path):
    plan, whole, expected = undisturbed
    store = Store(shutil.copytree(whole.folder, tmp_path / "store"))
    key = plan.cells[0].key
    KINDS[kind](store.path(key))
    assert store.damage(key)
    told = study(runs_of(store.folder))
    assert len(told.runs) == 5
    assert [line for line in told.left_out if key[:8] in line]
    outcome = run_campaign(plan, store)
    assert [found for found, *_ in outcome.damaged] == [key]
    assert [cell.key for cell in outcome.done] == [key]
    assert deterministic(store) == expected
