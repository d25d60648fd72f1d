"""The benchmark of eviction plans runs, and what it draws is what it says."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from hpcdispatch.bench.studies.benchmarks.eviction import DEADLINES, child, main, random_jobs, respond, scenario


@pytest.mark.nightly
def test_prints_both_tables():
    done = CliRunner().invoke(main, ["--small", "--markdown"])
    assert done.exit_code == 0, done.output
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.output.splitlines() if line[:2] == "| "]
    scenarios = [row for row in rows if row[0] in {"12", "16"}]
    assert [row[1] for row in scenarios] == ["512", "1,024", "512", "1,024"]
    assert all(row[-1] == "1 of 1" for row in scenarios)
    assert [row for row in rows if row[:3] == ["20", "2,000", "10"]]


@pytest.mark.nightly
def test_a_response_has_every_deadline():
    found = respond(scenario(6, 1), 1024, limit=10**6)
    for values in (found.greedy_ms, found.backtracking_ms, found.visited, found.looked, found.best, found.greedy):
        assert len(values) == len(DEADLINES)
    assert found.complete
    assert found.agree
    assert found.looked == sorted(found.looked)
    assert 0 < found.looked[-1] <= 2 * 6 * len(DEADLINES)
    assert found.cells <= 6 * 1024 * len(DEADLINES)
    assert all(quick >= best for quick, best in zip(found.greedy, found.best, strict=True))
    assert found.best == sorted(found.best, reverse=True)


@pytest.mark.nightly
def test_a_search_that_was_ended_says_so():
    assert not respond(scenario(12, 1), 1024, limit=10).complete


@pytest.mark.parametrize("jobs", [12, 24])
def test_a_scenario_fills_the_nodes(jobs):
    running = scenario(jobs, 3)
    assert len(running) == jobs
    assert sum(job.nodes for job in running) == 4352
    assert scenario(jobs, 3) == running != scenario(jobs, 4)


def test_random_jobs_have_the_nodes():
    assert sum(job.nodes for job in random_jobs(30, 777, 10)) == 777


@pytest.mark.nightly
def test_a_process_of_its_own_measures_its_memory():
    assert child(10, 100, 5)["mb"] > 0
