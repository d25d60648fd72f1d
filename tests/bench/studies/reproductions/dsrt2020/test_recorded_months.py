"""The trace of Theta at the smallest scale: figures 1 to 4, months under each policy, and how often a job gives way."""

import pytest

from hpcdispatch.bench.studies.reproductions import StudySettings, find
from hpcdispatch.bench.studies.reproductions.dsrt2020.recorded_moments import recorded_scenarios

pytestmark = pytest.mark.traces


@pytest.fixture(scope="module")
def means(tmp_path_factory):
    return StudySettings("smoke", tmp_path_factory.mktemp("made"))


def measured(outcome):
    return {(row.subject, row.metric): row.measured for row in outcome.rows}


def test_the_trace_stands_beside_the_generator(means):
    outcome = find("dsrt2020/fig1").run(means)
    assert [claim.holds for claim in outcome.claims] == [True, True]
    rows = measured(outcome)
    assert rows["trace", "jobs under 30 min, %"] < rows["generator", "jobs under 30 min, %"]
    assert rows["the machine", "days with 4,352 nodes occupied"] == pytest.approx(32.6, abs=0.05)


def test_the_trace_has_moments_of_12_and_16_jobs_and_none_of_24(means):
    found = [find(f"dsrt2020/fig{number}").run(means) for number in (2, 3, 4)]
    assert [outcome.claims[0].holds for outcome in found] == [True, True, False]
    assert [measured(outcome)["trace", "moments"] for outcome in found] == [53, 6, 0]
    assert [measured(outcome)["trace", "of 10 min or more"] for outcome in found[:2]] == [37, 3]


def test_moments_that_are_compared_share_no_job():
    for jobs, count in ((12, 17), (16, 4)):
        each = [{job.id for job in running} for running in recorded_scenarios(jobs, 99)]
        assert len(each) == count
        assert len(set.union(*each)) == jobs * count


def test_months_have_every_policy(means):
    outcome = find("dsrt2020/recorded-months").run(means)
    assert sum("relies on own ends" in claim.text for claim in outcome.claims) == 2
    rows = measured(outcome)
    assert rows["kill only", "mean delay of on-demand jobs, min"] <= rows["wait", "mean delay of on-demand jobs, min"]
    assert rows["wait", "lost node-hours"] == 0
    assert {subject for subject, _ in rows} == {
        "least loss",
        "greedy",
        "kill only",
        "wait",
        "least loss, own ends",
        "1,024 nodes apart",
        "FCFS",
    }


def test_a_bound_on_evictions_is_one(means):
    rows = measured(find("dsrt2020/starvation").run(means))
    for bound in range(4):
        assert rows[f"most={bound}", "most evictions of one job"] <= bound
    assert rows["most=0", "node-hours lost"] == 0 < rows["most=none", "node-hours lost"]
