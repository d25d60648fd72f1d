"""What the reproductions of the eviction paper find at the smallest scale, and how their claims are judged."""

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.bench.studies.benchmarks.eviction import DEADLINES, NODES
from hpcdispatch.bench.studies.reproductions import StudySettings, draw, find
from hpcdispatch.bench.studies.reproductions.dsrt2020.eviction_plans import RUNS, above_greedy, quality_claims
from hpcdispatch.bench.studies.reproductions.outcome import Control

NAMES = tuple(f"dsrt2020/fig{number}" for number in (5, 6, 7, 8))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    means = StudySettings("smoke", tmp_path_factory.mktemp("made") / "store")
    return {name: find(name).run(means) for name in NAMES}


def test_all_figures_are_built():
    assert set(RUNS) >= set(NAMES)


@pytest.mark.traces
def test_what_is_not_printed_is_varied(made):
    for name in ("dsrt2020/fig5", "dsrt2020/fig8"):
        told = {parameter.name: parameter.sensitivity for parameter in made[name].parameters}
        assert told.pop("starts, ends and the moment") == "moments of the trace stand beside them"
        for text in told.values():
            values = [float(part.rpartition(" ")[2]) for part in text.split("; ")]
            assert len(set(values)) >= 3


@pytest.mark.traces
@pytest.mark.parametrize("name", NAMES)
def test_says_what_was_drawn_and_decides_nothing_with_one_sample(made, name):
    assert "drawn by theta-scenario, seeds 0 to 0" in made[name].notes[0]
    assert {claim.holds for claim in made[name].claims if claim.counts} == {None}
    assert all("the paper: " in claim.evidence or "agree" in claim.evidence for claim in made[name].claims)


@pytest.mark.traces
@pytest.mark.parametrize("name", NAMES[:3])
def test_times_are_kept_apart(made, name):
    rows = made[name].rows
    drawn = {f"K = {nodes:,}" for nodes in NODES}
    assert {row.subject for row in rows} == drawn | ({f"log, {each}" for each in drawn} if name != NAMES[2] else set())
    assert all(row.timed is ("ms" in row.metric or "/" in row.metric) for row in rows)
    assert [row.published for row in rows if row.published] == ([1e5] if name == NAMES[2] else [])
    data = pd.DataFrame(made[name].drawing.data)
    assert len(data) == len(NODES) * 3 * len(DEADLINES)
    for _, curve in data[data["subject"] == "backtracking"].groupby(["panel", "subject"]):
        assert curve["value"].is_monotonic_increasing


@pytest.mark.traces
def test_the_extra_loss_is_never_below_zero(made, tmp_path):
    outcome = made[NAMES[3]]
    data = pd.DataFrame(outcome.drawing.data)
    assert (data["value"] >= 0).all()
    assert (data["value"] > 0).any()
    assert list(dict.fromkeys(data["subject"])) == [
        "12 jobs, drawn",
        "16 jobs, drawn",
        "24 jobs, drawn",
        "12 jobs, trace",
        "16 jobs, trace",
    ]
    files = draw(find(NAMES[3]), outcome.drawing, tmp_path)
    assert [path.suffix for path in files] == [".csv", ".png", ".svg"]


@pytest.mark.traces
def test_random_jobs_that_give_way_lose_more(made, tmp_path):
    random = find(NAMES[3]).run(StudySettings("smoke", tmp_path, control=Control("random", part="victims")))
    least, losses = (
        [row.measured for row in outcome.rows if row.metric == "least loss at 15 min"]
        for outcome in (made[NAMES[3]], random)
    )
    assert all(loss >= best for loss, best in zip(losses, least, strict=True))
    assert sum(losses) > 2 * sum(least)


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        ((2, 2.5, 3), True),
        ((-2, -2.5, -3), False),
        ((1, 2, 3), None),
        ((-5, 1, 5), None),
        ((1, 2), None),
        ((0, 0, 0), None),
    ],
)
def test_a_difference_is_judged_by_its_interval(values, holds):
    assert above_greedy("t", np.array(values, dtype=float), "by", "p").holds is holds


def test_losses_that_rise_with_the_deadline_are_counted():
    keys = [(jobs, nodes) for jobs in (12, 16, 24) for nodes in NODES]
    best = {key: np.tile(np.linspace(9, 0, 16), (3, 1)) for key in keys}
    quick = {key: best[key] + np.linspace(1, 3, 16) for key in keys}
    quick[keys[0]][1, 5] += 4
    claims = {claim.text: claim for claim in quality_claims(best, quick, {key: quick[key] - best[key] for key in keys})}
    assert claims["drawn: the loss of plan never rises with the deadline"].holds is True
    assert claims["drawn: the loss of greedy never rises with the deadline"].holds is False
    assert claims["drawn: the loss of greedy never rises with the deadline"].evidence.startswith("in 26 of 27 cases")
    assert claims["drawn, 12 jobs: its extra loss is larger at 13 min than at 1 min"].holds is True
    assert claims["drawn: at 15 min the least loss is 0 in most cases"].holds is True
