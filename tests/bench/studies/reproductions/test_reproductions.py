"""Reproductions: what they find at the smallest scale, how claims are judged, what is kept, and the page about them."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from combinations import some

from hpcdispatch.base import InputError
from hpcdispatch.bench.studies.reproductions import (
    SCALES,
    Drawing,
    NotBuiltError,
    PaperResult,
    SimulationFailedError,
    StoredOutcome,
    StudySettings,
    draw,
    entries,
    find,
    write_page,
)
from hpcdispatch.bench.studies.reproductions import outcome_files as kept
from hpcdispatch.bench.studies.reproductions import simulations as runs
from hpcdispatch.bench.studies.reproductions.cp2019 import contenders
from hpcdispatch.bench.studies.reproductions.cp2019.prediction_claims import COLUMNS, TABLE2
from hpcdispatch.bench.studies.reproductions.documentation import page
from hpcdispatch.bench.studies.reproductions.outcome_tables import numbers
from hpcdispatch.workloads import Job, Machine, Workload, generate

DOCS = Path(__file__).parents[4] / "bench" / "studies" / "pages"
FIGURES = ("cp2019/fig1", "cp2019/table2", "cp2019/fig2", "cp2019/fig3", "cp2019/fig4")
#: By day one of each kind: a distribution, a table and bars.
MADE = some(FIGURES, 3)


# What is listed.


def test_every_name_is_listed_once_with_its_paper():
    names = [entry.name for entry in entries()]
    assert len(set(names)) == len(names)
    wanted = {"cp2019/table2", "cp2019/fig2", "icpp2019/fig4", "jsspp2000/table2", "ijhpca2019/fig8", "dsrt2020/fig5"}
    assert wanted <= set(names)
    assert all(entry.title and entry.paper for entry in entries())
    assert {entry.name for entry in entries() if entry.run is not None} >= set(FIGURES)


def test_jobs_of_the_cp_paper_live_past_their_requested_time(tmp_path):
    late = Workload((Job("1", 0, 200, 100), Job("2", 0, 50, 100)), Machine.pool(2))
    contest = contenders.Contest((runs.Samples(late, 1),), "3600", "")
    [part] = contest.results(["HCP3-W"], StudySettings("smoke", tmp_path))["HCP3-W"]
    assert sorted(part.jobs["end"] - part.jobs["start"]) == [50, 200]


def test_an_unknown_name_is_refused_with_a_hint():
    with pytest.raises(
        InputError, match=r"unknown reproduction 'cp2019/tabel2' \(did you mean cp2019/table2\?\); known"
    ):
        find("cp2019/tabel2")


def test_what_is_not_built_says_so(monkeypatch):
    monkeypatch.setattr("hpcdispatch.bench.studies.reproductions.catalogue._runs", lambda paper: {})
    with pytest.raises(NotBuiltError, match="icpp2019/fig4: not built"):
        find("icpp2019/fig4")


def test_a_paper_with_a_module_of_its_own_is_built(monkeypatch):
    run = object()
    monkeypatch.setattr(
        "hpcdispatch.bench.studies.reproductions.catalogue._runs",
        lambda paper: {"dsrt2020/fig5": run, "dsrt2020/no": run},
    )
    assert find("dsrt2020/fig5").run is run


# What they find.


@pytest.mark.nightly
@pytest.mark.parametrize("name", FIGURES)
def test_says_what_was_simulated_and_that_it_is_not_the_paper_s(made, name):
    notes = " ".join(made[name].notes)
    assert "64 nodes" in notes
    assert "not public" in notes
    assert made[name].preconditions[0].met
    assert {parameter.name for parameter in made[name].parameters} > {"PBS"}


@pytest.mark.parametrize("name", MADE)
def test_one_sample_decides_nothing(made, name):
    assert made[name].claims
    assert {claim.holds for claim in made[name].claims} == {None}
    assert all("the paper: " in claim.evidence for claim in made[name].claims)


def test_table_2_has_every_published_number_beside_ours(made):
    rows = {(row.subject, row.metric): row for row in made["cp2019/table2"].rows}
    for label, published in TABLE2.items():
        assert tuple(rows[label, column].published for column in COLUMNS) == published
        assert all(rows[label, column].measured is not None for column in COLUMNS)
    assert ("PCP, first 5 jobs", "intervals") in rows


def test_what_a_budget_stops_is_a_row_and_no_verdict(made):
    crash = made["cp2019/table2"].claims[-1]
    assert crash.text == "PCP cannot process the workload"
    assert not crash.counts
    assert "budget" in crash.unmet


def test_accuracy_is_calibrated_and_does_not_count(made):
    assert {claim.kind for claim in made["cp2019/fig1"].claims} == {"calibrated"}


def test_figure_1_is_a_distribution_and_the_oracle_is_right(made):
    rows = {(row.subject, row.metric): row.measured for row in made["cp2019/fig1"].rows}
    assert rows["real", "mean absolute error, min"] == 0
    assert rows["real", "within 0.75-1.25, %"] == 100
    curves = pd.DataFrame(made["cp2019/fig1"].drawing.data)
    for _, curve in curves.groupby("subject"):
        assert curve["y"].is_monotonic_increasing
        assert curve["y"].between(0, 1).all()
    assert (curves[curves["subject"] == "real"].set_index("x")["y"].loc[[0.99, 1.0]] == [0, 1]).all()


@pytest.mark.parametrize(
    ("name", "panels", "subjects"), some([(FIGURES[2], 2, 13), (FIGURES[3], 2, 10), (FIGURES[4], 4, 20)])
)
def test_figures_2_to_4_have_a_bar_for_each_dispatcher(made, name, panels, subjects):
    data = pd.DataFrame(made[name].drawing.data)
    assert len(data) == panels * subjects
    assert data["panel"].nunique() == panels
    assert {"PCP3-R", "HCP3-R"} & set(data["subject"])


def test_a_simulation_is_done_once(made, means, monkeypatch):
    before = made["cp2019/fig2"]
    monkeypatch.setattr("hpcdispatch.bench.campaigns.processes.simulate_cell", None)
    assert find("cp2019/fig2").run(means) == before


def test_a_failing_simulation_is_named(tmp_path, monkeypatch):
    def fails(*args, **options):
        raise RuntimeError("boom")

    monkeypatch.setattr("hpcdispatch.bench.campaigns.cells.simulate", fails)
    samples = runs.Samples(generate("lublin:jobs=5,processors=8"), 1, 60, "kill", label="few")
    with pytest.raises(SimulationFailedError, match=r"few, fcfs, walltime, overrun kill, jitter 60 s, seed 0: .*boom"):
        runs.simulate_all([(samples, "fcfs", "walltime")], StudySettings("smoke", tmp_path), len)


# What is kept.


def test_times_are_kept_apart_and_the_rest_is_the_same(made, tmp_path):
    entry = find("cp2019/table2")
    slower = replace(
        made[entry.name],
        rows=tuple(replace(one, measured=-1.0) if one.timed else one for one in made[entry.name].rows),
    )
    for folder, outcome in (("one", made[entry.name]), ("other", slower)):
        kept.put(tmp_path / folder, StoredOutcome.of(entry, "smoke", outcome))
    same, times = (tmp_path / "one" / f"{entry.name}{suffix}" for suffix in (".json", ".times.json"))
    assert same.read_bytes() == (tmp_path / "other" / f"{entry.name}.json").read_bytes()
    assert "time, " not in "".join(row["metric"] for row in json.loads(same.read_text())["rows"])
    assert {row["metric"] for row in json.loads(times.read_text())["rows"]} == set(COLUMNS[:3])


def test_what_is_kept_is_the_same_from_run_to_run(made, tmp_path):
    entry = find("cp2019/fig1")
    again = entry.run(StudySettings("smoke", tmp_path / "store"))
    for folder, outcome in (("one", made[entry.name]), ("other", again)):
        kept.put(tmp_path / folder, StoredOutcome.of(entry, "smoke", outcome))
        draw(entry, outcome.drawing, tmp_path / folder)
    for suffix in ("json", "csv", "png", "svg"):
        one, other = (tmp_path / folder / f"{entry.name}.{suffix}" for folder in ("one", "other"))
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("name", MADE)
def test_what_is_kept_comes_back(made, tmp_path, name):
    whole = StoredOutcome.of(find(name), "smoke", made[name])
    kept.put(tmp_path, whole)
    found = kept.find(tmp_path, name)
    assert [claim.text for claim in found.claims] == [claim.text for claim in whole.claims]
    assert numbers(found.rows) == numbers(whole.rows)
    path = tmp_path / "all.json"
    path.write_text(kept.dump([found]), encoding="utf-8")
    assert kept.load(path) == (found,)


def test_what_was_not_made_is_not_there(tmp_path):
    assert kept.find(tmp_path, "cp2019/fig1") is None


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 1, "scale": "huge"}', '{"format": 9, "scale": "smoke"}'])
def test_damaged_files_are_refused(tmp_path, text):
    path = tmp_path / "cp2019" / "fig1.json"
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(InputError, match=r"fig1\.json: expected the result of a reproduction, got"):
        kept.find(tmp_path, "cp2019/fig1")


@pytest.mark.parametrize("text", ["", "[1]", '{"name": "x"}', '[{"name": "x", "timed": false}]'])
def test_a_damaged_page_is_not_overwritten(tmp_path, text):
    (tmp_path / "page.json").write_text(text)
    with pytest.raises(InputError, match=r"page\.json: expected results of reproductions, got"):
        write_page(tmp_path / "page.md", None)
    assert not (tmp_path / "page.md").exists()


def test_bars_are_drawn_whatever_their_number(tmp_path):
    data = {"panel": ["p"] * 3 + ["q", "r"], "subject": ["A-W", "A-R", "B", "A-W", "A-W"]}
    data |= {"value": [1.0, 2.0, float("nan"), 0.0, 5.0], "deviation": [1.0, 0.0, float("nan"), 0.0, 9.0]}
    files = draw(PaperResult("cp2019/fig9", "T", "P"), Drawing("bars", data), tmp_path)
    assert [path.name for path in files] == ["fig9.csv", "fig9.png", "fig9.svg"]
    assert files[1].read_bytes().startswith(b"\x89PNG")
    assert pd.read_csv(files[0]).equals(pd.DataFrame(data))


# The page.


def test_the_page_is_what_its_results_make_it():
    found = kept.load(DOCS / "reproduction.json")
    assert {one.name for one in found} <= {entry.name for entry in entries()}
    assert (DOCS / "reproduction.md").read_text(encoding="utf-8") == page(found)
    assert {one.scale for one in found} <= set(SCALES)


def test_the_page_keeps_what_it_has_and_takes_what_is_new(made, tmp_path):
    results = tmp_path / "results"
    path = tmp_path / "page.md"
    for count, name in enumerate(("cp2019/fig1", "cp2019/fig2"), 1):
        kept.put(results, StoredOutcome.of(find(name), "smoke", made[name]))
        assert write_page(path, results) == count
        (results / f"{name}.json").unlink()
    text = path.read_text(encoding="utf-8")
    assert text.count("which is not public") == 1
    assert text.count("\n### cp2019/") == 2
    assert "Not on this page yet: cp2019/fig3, " in text
    assert (
        "| cp2019/fig1 | Accuracy of the three predictions | smoke | 1 | 1 trace | 0 hold (not counted: 5 calibrated) |"
        in text
    )
