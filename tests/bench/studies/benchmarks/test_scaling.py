"""The scaling benchmark measures what it names, and its exponent is that of the costs."""

import json
import math

import pytest
from click.testing import CliRunner

from hpcdispatch.bench.studies.benchmarks.scaling import (
    BARE,
    STOCK,
    WORKLOADS,
    DecisionCost,
    exponent,
    main,
    measure_point,
    on_nodes,
    picture,
    queued,
    tables,
)


def points(costs, subject="easy", part="queue"):
    return [DecisionCost(part, subject, size, cost, 2 * cost, 9) for size, cost in costs.items()]


@pytest.mark.parametrize("power", [0, 0.5, 1, 2])
def test_the_exponent_is_that_of_the_cost(power):
    assert exponent(points({size: 3.0 * size**power for size in (10, 100, 1000)})) == pytest.approx(power)


def test_two_points_have_no_exponent_and_a_peer_has_that_of_its_run():
    assert math.isnan(exponent(points({10: 1.0, 100: 2.0})))
    peer = [DecisionCost("queue", BARE, size, math.nan, float(size), size) for size in (10, 100, 1000)]
    assert exponent(peer) == pytest.approx(1)


def test_all_jobs_wait_at_once_and_nodes_are_those_asked_for():
    assert {job.submit for job in queued(30).jobs} == {0}
    assert on_nodes(10).machine.nodes == 10
    assert max(job.nodes for job in on_nodes(10).jobs) <= 5


def test_decisions_after_the_first_are_measured_until_the_queue_is_half():
    point = measure_point("queue", "fcfs", 40, 60.0)
    assert 5 <= point.decisions < 40
    assert 0 <= point.decision <= point.step  # The clock of CPU time may be coarse.


def test_an_unknown_dispatcher_is_one_line():
    done = CliRunner().invoke(main, ["--small", "--dispatcher", "esy"])
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: unknown dispatcher 'esy' (did you mean easy?)")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.nightly
@pytest.mark.parametrize("part", WORKLOADS)
def test_a_part_is_printed_as_points_or_a_table(part, tmp_path):
    options = ["--small", "--seconds", "0.01", "--part", part, "--dispatcher", "easy", "--dispatcher", "lxf"]
    done = CliRunner().invoke(main, [*options, "--json"])
    assert done.exit_code == 0, done.output
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["part"] for row in found} == {part}
    peers = set() if part == "nodes" else {BARE, STOCK}
    assert {row["subject"] for row in found} == {"easy", "lxf"} | peers
    done = CliRunner().invoke(main, [*options[:-2], "--markdown", "--plot", str(tmp_path / "a.svg")])
    assert done.exit_code == 0, done.output
    assert "| exponent |" in done.stdout
    assert b"against " in (tmp_path / "a.svg").read_bytes()


def test_a_row_has_a_dash_where_it_was_not_measured():
    (made,) = tables([*points({10: 1.0, 100: 2.0, 1000: 3.0}), *points({10: 4.0}, "lxf")])
    assert made.rows[0][:4] == ["easy", "1 (2)", "2 (4)", "3 (6)"]
    assert made.rows[1] == ["lxf", "4 (8)", "-", "-", "-"]
    assert picture(points({10: 1.0, 100: 2.0}), "png").startswith(b"\x89PNG")
