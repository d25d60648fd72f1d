"""The benchmark of the constraint-programming dispatchers: the small setting, its workload, its tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from hpcdispatch.bench.reports.tables import Table
from hpcdispatch.bench.studies.benchmarks.cp import PartsSetting, load, main
from hpcdispatch.bench.studies.benchmarks.cp.at_size import Filled
from hpcdispatch.bench.studies.benchmarks.cp.on_nodes import INSTANT, crowded, eurora_like, take
from hpcdispatch.bench.studies.benchmarks.cp.on_traces import RECORDS, Baseline, TraceRun, run, sheets
from hpcdispatch.bench.studies.benchmarks.decision_clock import Clocked
from hpcdispatch.dispatchers.cp.candidates import CandidateJobs, fitting, most_urgent
from hpcdispatch.simulation import simulate


@pytest.fixture(scope="module")
def printed():
    """What the small setting prints as Markdown, as title to rows."""
    done = CliRunner().invoke(main, ["--small", "--markdown", "--seeds", "2"])
    assert done.exit_code == 0, done.output
    found: dict[str, list[list[str]]] = {}
    title = ""
    for line in done.stdout.splitlines():
        if line.startswith("|"):
            found.setdefault(title, []).append([cell.strip() for cell in line.split("|")[1:-1]])
        elif line:
            title = line
    return found


def rows(printed, title):
    [table] = [table for name, table in printed.items() if title in name]
    return [dict(zip(table[0], row, strict=True)) for row in table[2:]]


@pytest.mark.nightly
def test_every_decision_is_of_one_kind(printed):
    decisions = int(rows(printed, "time of a decision")[0]["decisions"])
    counts = {row[""]: int(row["decisions"]) for row in rows(printed, ": decisions")}
    assert sum(list(counts.values())[:4]) == decisions
    kinds = list(counts.values())
    assert counts["planned"] == sum(kinds[4:9]) == sum(kinds[9:12]) > 0
    assert counts["other jobs start now than by the list"] <= sum(kinds[10:12])


@pytest.mark.nightly
def test_every_solver_call_is_of_one_size(printed):
    called = next(row for row in rows(printed, ": decisions") if row[""] == "planned")
    assert sum(int(row["decisions"]) for row in rows(printed, "by size")) == int(called["decisions"])


@pytest.mark.nightly
def test_a_generated_trace_is_compared_with_nothing(printed):
    assert [set(row) for row in rows(printed, "quality")] == [{"metric", "ours"}] * 2


@pytest.mark.nightly
def test_the_jobs_behind_a_crowd_do_not_wait_for_it(printed):
    easy, fcfs, hcp3 = rows(printed, "behind them as many")
    assert (easy["dispatcher"], fcfs["dispatcher"], hcp3["dispatcher"]) == ("easy", "fcfs", "hcp3")
    assert float(hcp3["mean wait, s"].replace(",", "")) <= float(easy["mean wait, s"].replace(",", ""))
    assert hcp3["schedule valid"] == "yes"


def test_a_crowd_tells_which_candidates_are_taken_first(monkeypatch):
    """Taken by priority before it is asked what fits, the others wait for the GPU jobs."""

    def by_priority_first(state, space, goal, filtered, most, blocked, allowed):
        fits = fitting(state, space, filtered)
        first = most_urgent(state, goal, np.arange(len(state.queue)), most)
        able = {entry.order for place, entry in enumerate(state.queue) if fits[place]}
        return CandidateJobs([entry for entry in first if entry.order in able], [])

    def others_wait():
        return simulate(crowded(40), "hcp3:m=5").jobs["wait"].to_numpy()[40:].mean()

    right = others_wait()
    monkeypatch.setattr("hpcdispatch.dispatchers.cp.constraint_programming.candidates_of", by_priority_first)
    assert others_wait() > 2 * right


@pytest.mark.nightly
def test_decisions_are_sampled_on_the_way(printed):
    """Another dispatcher is asked for the decisions that one takes without a solver."""
    [row] = rows(printed, "Decisions proved")
    assert row["dispatcher"] == "hcp3"
    assert int(row["decisions"]) > 0
    assert 0 <= int(row["proved, %"]) <= 100


@pytest.mark.nightly
def test_the_time_of_all_decisions(printed):
    [row] = rows(printed, "Time of decisions")
    assert (row["dispatcher"], row["queued"]) == ("hcp3", "10")
    assert int(row["planned decisions"]) > 0
    assert float(row["median, s"]) <= float(row["99 of 100, s"]) <= float(row["max, s"])
    assert sum(int(row[f"by {maker}, %"]) for maker in ("list", "search", "CP-SAT")) in {99, 100, 101}


@pytest.mark.nightly
def test_the_queue_is_full_and_all_schedules_hold(printed):
    found = rows(printed, "The decision at which the queue fills")
    assert [(row["dispatcher"], row["queued"]) for row in found] == [("hcp3", "10"), ("hcp3", "15")]
    for row in found:
        assert row["schedules valid"] == "2 of 2"
        assert 0.7 * int(row["queued"]) <= float(row["candidates"]) <= int(row["queued"])


@pytest.mark.nightly
def test_the_size_of_the_machine(printed):
    """All schedules hold. The queue is as long as it says for a while."""
    found = rows(printed, "machines of two kinds")
    assert [row["nodes"] for row in found] == ["64", "96", "64"] * 2
    assert {row["violations"] for row in found} == {"0"}
    assert all(int(row["decisions"]) >= 5 for row in found)


def test_a_workload_of_a_size_is_the_same_each_time():
    first, second = (Filled(1173, 20).workload(3) for _ in range(2))
    assert first.jobs == second.jobs
    assert sum(job.submit == INSTANT for job in first.jobs) == 20
    assert first.machine.nodes == 1173
    assert int(first.machine.capacity[:, 0].sum()) == 1152 * 20 + 21 * 48


def test_one_part_alone():
    done = CliRunner().invoke(main, ["--small", "--part", "trace", "--dispatcher", "easy", "--jobs", "50"])
    assert done.exit_code == 0
    assert "easy on 50 jobs of a generated trace: quality" in done.stdout
    assert "64 nodes" not in done.stdout
    assert "solver" not in done.stdout  # EASY reports nothing.


def test_an_unknown_dispatcher_is_told_in_one_line():
    done = CliRunner().invoke(main, ["--small", "--dispatcher", "hpc3"])
    assert done.exit_code == 1
    assert "unknown dispatcher 'hpc3'" in done.stderr
    assert done.stdout == ""


def outcome(ms, **means):
    return TraceRun("KTH", "hcp3", RECORDS, means["wait"], means["slowdown"], np.array(ms), pd.DataFrame())


@pytest.mark.parametrize(
    ("ms", "wait", "slowdown", "verdicts"),
    [(1.0, 6890, 137, "pass pass pass"), (2.0, 7010, 130, "MISS MISS MISS"), (1.5, 6730, 145, "pass pass pass")],
)
def test_the_verdicts_follow_the_bounds(ms, wait, slowdown, verdicts):
    found = sheets(outcome([ms / 2, 1.5 * ms], wait=wait, slowdown=slowdown), Baseline())
    assert [row[-1] for sheet in found for row in sheet.rows] == verdicts.split()
    assert f"{31.7 / ms:.1f} x" in found[1].rows[0]


@pytest.mark.traces
def test_the_published_records_are_compared(trace):
    name, workload, published = load(PartsSetting(trace=trace("KTH-SP2-1996-2.swf.gz")))
    assert (name, len(workload), published) == ("KTH-SP2-1996-2", RECORDS, True)
    assert not load(PartsSetting(trace=trace("KTH-SP2-1996-2.swf.gz"), jobs=100))[2]


def test_the_clocked_dispatcher_decides_as_the_other():
    _, workload, _ = load(PartsSetting(small=True, jobs=150))
    clocked = Clocked("hcp3")
    pd.testing.assert_frame_equal(simulate(workload, clocked).decisions, simulate(workload, "hcp3").decisions)
    found = run("trace", workload, "hcp3")
    assert len(found.ms) == len(clocked.ms()) == len(found.decisions)


@pytest.mark.parametrize("seed", range(3))
def test_the_machine_is_busy_and_its_queue_empty_when_the_jobs_arrive(seed):
    workload = eurora_like(20, seed)
    assert workload == eurora_like(20, seed)
    assert sum(job.submit == INSTANT for job in workload.jobs) == 20
    assert workload.machine.capacity.sum(axis=0).tolist() == [1024, 1024, 64, 64]
    jobs = simulate(workload, "hcp3").jobs
    held = jobs[jobs["submit"] < INSTANT]
    assert (held["start"] == held["submit"]).all()
    assert (held["end"] > INSTANT).all()
    cores, memory = (
        sum(job.nodes * job.per_node[name] for job in workload.jobs if job.submit < INSTANT) / 1024
        for name in ("core", "mem")
    )
    assert 0.9 <= max(cores, memory) < 1


def test_a_decision_is_that_of_the_instant():
    taken = take("hcp3", 5, 1)
    assert (taken.waiting, taken.violations) == (5, 0)
    assert 0 < taken.started + taken.postponed <= taken.candidates <= 5
    assert 0 <= taken.gap <= 1


def test_tables_print_as_markdown():
    table = Table("Title", ("a", "b"), [["x", "1"]], note="Note.")
    assert table.markdown() == "Title\n\n| a | b |\n| --- | ---: |\n| x | 1 |\n\nNote.\n"


def test_half_of_a_queue_of_narrow_jobs_finds_no_room_however_large_the_machine():
    """A tenth of a large machine would hold them all, and no decision would be contested."""
    for nodes in (64, 1500):
        workload = Filled(nodes, 40, narrow=True).workload(0)
        cores = {
            when: sum(job.nodes * job.per_node["core"] for job in workload.jobs if when(job))
            for when in (
                lambda job: job.id.startswith("held"),
                lambda job: job.submit == INSTANT and job.id.startswith("queued"),
            )
        }
        held, asked = cores.values()
        assert int(workload.machine.capacity[:, 0].sum()) - held < 0.75 * asked
