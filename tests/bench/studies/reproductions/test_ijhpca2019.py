"""Figures 8, 9 and 12 of the on-the-fly paper at the smallest scale, their claims on made-up numbers, their drawing."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.bench.studies.reproductions import Drawing, PaperResult, draw, find
from hpcdispatch.bench.studies.reproductions.ijhpca2019.pattern_claims import (
    RBS,
    hybrid_claims,
    stretch_claims,
    utilization_claims,
)
from hpcdispatch.bench.studies.reproductions.ijhpca2019.patterns import (
    CHOSEN,
    FAILURES,
    MIX,
    PATTERNS,
    RESERVED,
    STRETCH,
    UTILIZATION,
    WAIT,
    WINDOW,
    jobs,
)
from hpcdispatch.bench.studies.reproductions.ijhpca2019.public_runs import predicted_share

FIGURES = ("ijhpca2019/fig8", "ijhpca2019/fig9", "ijhpca2019/fig12")


# What they find.


@pytest.mark.nightly
@pytest.mark.parametrize("name", FIGURES)
def test_one_run_decides_nothing_and_the_paper_stands_beside_it(made, name):
    assert {claim.holds for claim in made[name].claims} == {None}
    assert all("the paper" in claim.evidence for claim in made[name].claims)
    assert "neither the number of nodes nor the arrivals" in " ".join(made[name].notes)


@pytest.mark.nightly
def test_only_rbs_has_failures_and_they_fall(made):
    rows = [row for row in made[FIGURES[0]].rows if row.metric.endswith(FAILURES)]
    assert {row.metric for row in rows} == {f"{rbs}: {FAILURES}" for rbs in RBS}
    for name, rbs in product(PATTERNS.values(), RBS):
        found = [row.measured for row in rows if row.subject.startswith(name) and row.metric.startswith(f"{rbs}:")]
        assert found == sorted(found, reverse=True)
        assert found[0] > 60  # more failures than jobs


@pytest.mark.nightly
def test_what_is_not_printed_is_varied_where_it_matters(made):
    told = {parameter.name: parameter.sensitivity for parameter in made[FIGURES[0]].parameters}
    assert "RBS, (a), ratio 0.5: 1.3: " in told["growth of a request that failed"]  # where requests fail
    assert "RBS, (b), ratio 1.7: 3600: " in told["longest request that RBS backfills, s"]  # where jobs are small
    told = {parameter.name: parameter.sensitivity for parameter in made[FIGURES[2]].parameters}
    for name in (
        "nodes and inter-arrival time",
        "phases, of which every other has all wide jobs",
        "seconds that a checkpoint takes",
        "share of the queue that must be alike",
    ):
        assert told[name].count("; ") == 2


@pytest.mark.nightly
def test_figures_8_and_9_come_from_the_same_simulations(made, means, monkeypatch):
    assert made[FIGURES[0]].rows
    monkeypatch.setattr("hpcdispatch.bench.campaigns.processes.simulate_cell", None)
    assert find(FIGURES[1]).run(means) == made[FIGURES[1]]


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "panels", "subjects"), [(FIGURES[0], 4, 8), (FIGURES[1], 4, 8), (FIGURES[2], 2, 10)])
def test_each_is_drawn_with_a_line_for_each_dispatcher(made, name, panels, subjects, tmp_path):
    data = pd.DataFrame(made[name].drawing.data)
    assert data["panel"].nunique() == panels
    assert data["subject"].nunique() == subjects
    assert len(data) == panels * subjects * 3
    assert (data["low"] <= data["value"]).all()
    assert (data["value"] <= data["high"]).all()
    files = draw(find(name), made[name].drawing, tmp_path)
    assert [path.suffix for path in files] == [".csv", ".png", ".svg"]
    assert files[1].read_bytes().startswith(b"\x89PNG")


@pytest.mark.nightly
def test_lines_are_the_same_from_call_to_call(made, tmp_path):
    drawn = [draw(find(FIGURES[0]), made[FIGURES[0]].drawing, tmp_path / name) for name in ("one", "other")]
    for one, other in zip(*drawn, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_lines_are_drawn_without_counts_at_a_single_place(tmp_path):
    data = {
        "panel": ["p"],
        "subject": ["s"],
        "x": [1.0],
        "value": [2.0],
        "low": [1.0],
        "high": [3.0],
        "counted": [False],
    }
    files = draw(PaperResult("ijhpca2019/fig8", "T", "P"), Drawing("lines", data), tmp_path)
    assert all(path.stat().st_size for path in files)


def test_a_run_has_the_same_jobs_at_every_ratio():
    one, other = (jobs("a", ratio, "small", CHOSEN, 3).jobs for ratio in (0.5, 1.7))
    assert [(job.submit, job.runtime) for job in one] == [(job.submit, job.runtime) for job in other]
    assert sum(job.walltime for job in one) < sum(job.walltime for job in other)


# How the claims are judged.


def numbers(utilization=50.0, stretch=2.0, wait=3.0, failures=0.0, reserved=50.0, window=30.0):
    found = {UTILIZATION: utilization, STRETCH: stretch, WAIT: wait, FAILURES: failures}
    found |= {RESERVED: reserved, WINDOW: window}
    return {metric: [value] * 3 for metric, value in found.items()}


def found(rbs, fly=None):
    """Return numbers at three ratios: of RBS by ratio, and the same for all on the fly."""
    fly = numbers(80.0, 1.5, 1.0) if fly is None else fly
    made = {}
    for pattern in PATTERNS:
        for ratio, one in zip((0.5, 1.2, 1.7), rbs, strict=True):
            made[pattern, "RBS", ratio] = one
            made[pattern, "SEJF", ratio] = made[pattern, "LEJF", ratio] = fly
    return made


def verdicts(claims, words):
    return {claim.holds for claim in claims if words in claim.text}


def test_what_the_paper_has_holds():
    claims = utilization_claims(found([numbers(30, failures=1600), numbers(60, failures=100), numbers(55)]))
    assert verdicts(claims, "Utilization of RBS") == {True}
    assert verdicts(claims, "Utilization of LEJF") == {True}
    assert {claim.holds for claim in claims if "uses less" in claim.text and "published" not in claim.text} == {True}
    assert verdicts(claims, "by as much as published, -35%") == {False}  # 60 and 80 are 25% apart
    assert verdicts(claims, "is flat") == {True}
    assert verdicts(claims, "Failures of RBS fall") == {True}
    assert verdicts(claims, "50-200") == {True}
    assert verdicts(claims, "no less") == {False}
    claims = stretch_claims(found([numbers(stretch=4), numbers(stretch=3), numbers(stretch=1.6)]))
    assert {claim.holds for claim in claims if "SEJF stretches" not in claim.text} == {True}
    assert verdicts(claims, "SEJF stretches") == {False}  # they are the same


def test_what_it_does_not_have_does_not():
    claims = utilization_claims(found([numbers(10), numbers(70, failures=300), numbers(72, failures=400)], numbers(30)))
    for words in ("Utilization of RBS", "Utilization of LEJF", "uses less", "Failures of RBS fall", "50-200"):
        assert verdicts(claims, words) == {False}
    assert verdicts(claims, "no less") == {True}
    claims = stretch_claims(found([numbers(stretch=9, wait=9)] * 3, numbers(stretch=4, wait=8)))
    for words in ("Average stretch of", "under RBS", "comes close"):
        assert False in verdicts(claims, words)
    assert verdicts(claims, "Average wait under RBS") == {False}


def test_where_no_job_waits_the_ratio_of_waits_is_not_decided():
    claims = stretch_claims(found([numbers(wait=0.0)] * 3, numbers(wait=0.0)))
    assert verdicts(claims, "Average wait under RBS") == {None}


def test_the_hybrid_must_be_better_at_most_ratios():
    made = {}
    for ratio, mine in ((0.5, 80.0), (1.2, 70.0), (1.7, 40.0)):
        made[MIX, "RBS", ratio] = numbers(50, stretch=5)
        made[MIX, "hybrid", ratio] = numbers(mine, stretch=4 if ratio == 0.5 else 6)
    more, less = hybrid_claims(made)
    assert (more.holds, less.holds) == (True, False)
    assert more.evidence.startswith("at 2 of 3; over all, 63.3 and 50.0;")
    assert not more.unmet


@pytest.mark.parametrize("reserved", [9.0, 91.0])
def test_a_hybrid_that_works_in_one_mode_only_is_no_hybrid(reserved):
    made = {}
    for ratio in (0.5, 1.2, 1.7):
        made[MIX, "RBS", ratio] = numbers(50, stretch=5)
        made[MIX, "hybrid", ratio] = numbers(80, stretch=4, reserved=reserved if ratio == 1.2 else 50)
    claims = hybrid_claims(made)
    assert {(claim.holds, claim.counts) for claim in claims} == {(False, True)}
    assert all("not so: either mode starts at least 10% of the jobs" in claim.evidence for claim in claims)


def test_what_follows_or_was_fitted_does_not_count():
    claims = utilization_claims(found([numbers(30, failures=1600), numbers(60, failures=100), numbers(55)]))
    kinds = {claim.kind: claim.text for claim in claims}
    assert set(kinds) == {"tested", "construction", "calibrated"}
    assert {claim.kind for claim in claims if "Failures of RBS fall" in claim.text} == {"construction"}
    assert {claim.kind for claim in claims if " is 20-65" in claim.text or "24 to 48 h" in claim.text} == {"calibrated"}


@pytest.mark.nightly
def test_the_surface_has_what_the_paper_prints_of_each_machine(means):
    outcome = find("ijhpca2019/surface").run(means)
    found_rows = {row.metric: row.measured for row in outcome.rows}
    assert found_rows["utilization of RBS, least, %"] < found_rows["utilization of LEJF, most, %"]
    assert found_rows["stretch, RBS to on the fly"] > 1
    assert not outcome.claims


# What can be made of what is printed, and what cannot.


@pytest.mark.parametrize(
    "number", [4, 5, *(pytest.param(number, marks=pytest.mark.traces) for number in (1, 2, 10, 11))]
)
def test_figures_of_logs_that_are_not_public_say_so_and_count_nothing(means, number):
    outcome = find(f"ijhpca2019/fig{number}").run(means)
    assert outcome.claims
    assert not any(claim.counts for claim in outcome.claims if not claim.text.startswith("Ours"))
    assert "not public" in outcome.notes[0]


def test_the_patterns_are_those_of_the_words(means):
    outcome = find("ijhpca2019/fig6").run(means)
    assert {claim.holds for claim in outcome.claims} == {True}
    assert {claim.kind for claim in outcome.claims} == {"construction"}
    found = {(row.subject, row.metric): row.measured for row in outcome.rows}
    assert found["(a) normal", "mean, h"] == pytest.approx(8, abs=0.2)
    assert found["(d) 20% large", "up to 1 h, %"] == pytest.approx(80, abs=3)


def test_more_estimates_fall_short_than_the_paper_has_drawn(means):
    outcome = find("ijhpca2019/fig7").run(means)
    assert [claim.holds for claim in outcome.claims] == [False, True, True]
    assert [claim.counts for claim in outcome.claims] == [True, False, False]  # what fails counts


@pytest.mark.nightly
def test_sorting_follows_its_complexity(means, tmp_path):
    outcome = find("ijhpca2019/fig3").run(means)
    assert [claim.holds for claim in outcome.claims] == [True, True]
    assert [claim.counts for claim in outcome.claims] == [True, False]
    assert draw(find("ijhpca2019/fig3"), outcome.drawing, tmp_path)


def test_the_range_of_most_runs_before_is_predicted():
    assert predicted_share(np.array([1.0] * 30 + [9.0] * 10), 2) == 0.5  # of the last twenty, ten are as before
    assert np.isnan(predicted_share(np.array([1.0, 9.0] * 11), 2))


@pytest.mark.traces
@pytest.mark.parametrize("number", [1, 2, 10, 11])
def test_public_runs_are_drawn_where_the_paper_s_are_not_public(means, number, tmp_path):
    outcome = find(f"ijhpca2019/fig{number}").run(means)
    assert any("iSBatch" in note for note in outcome.notes)
    assert outcome.rows
    assert draw(find(f"ijhpca2019/fig{number}"), outcome.drawing, tmp_path)[0].suffix == ".csv"
