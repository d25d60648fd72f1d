"""The constraint-programming dispatchers on examples worked out by hand, and at their edges."""

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import HCP1, HCP3, PCP3, ConstraintProgramming, create_dispatcher
from hpcdispatch.models import Answer, Status
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload

POOL = Machine.pool(4)
PRESETS = [f"{name}{version}" for name in ("hcp", "pcp") for version in ("", "1", "2", "3")]
SILENT = Answer(Status.UNKNOWN, None, None, 0.0, "none")


def run(rows, dispatcher, machine=POOL, **options):
    """Simulate rows of (submit, runtime, walltime, cores[, queue]); return the result, checked."""
    jobs = [
        Job(str(i), row[0], row[1], row[2], nodes=row[3], queue=row[4] if len(row) > 4 else "", name=str(i))
        for i, row in enumerate(rows, 1)
    ]
    workload = Workload(tuple(jobs), machine)
    result = simulate(workload, dispatcher, **options)
    check(workload, result)
    return result


# 1 holds all four cores until 100; behind it three jobs fit two at a time.
BUSY = [(0, 100, 100, 4), (10, 200, 200, 2), (20, 100, 100, 2), (30, 10, 10, 4)]


def starts(result):
    return result.jobs["start"].tolist()


def test_minimises_the_sum_of_slowdowns():
    # At 100 all fit by themselves. 4 first costs 10/200 + 10/100; 2 and 3 first costs 200/10.
    assert starts(run(BUSY, "hcp3")) == [0, 110, 110, 100]
    assert starts(run(BUSY, "pcp3")) == [0, 110, 110, 100]


def test_the_record_of_a_decision():
    decisions = run(BUSY, "hcp3").decisions
    at = decisions.set_index("time").loc[100]
    assert (at["candidates"], at["intervals"], at["requested"], at["available"]) == (3, 3, 8, 4)
    assert (at["status"], at["used"]) == ("optimal", "hint")
    # (100 - 10 + 10 + 200) / 200 + (100 - 20 + 10 + 100) / 100 + (100 - 30 + 10) / 10
    assert at["objective"] == pytest.approx(1.5 + 1.9 + 8)
    assert at["bound"] == pytest.approx(at["objective"])
    assert at["gain"] == 0
    assert at["deterministic_time"] >= 0
    first = decisions.iloc[0]
    assert (first["status"], first["used"], first["candidates"]) == ("trivial", "list", 1)
    assert first["objective"] == first["bound"] == 1
    waiting = decisions.set_index("time").loc[10]
    assert (waiting["status"], waiting["used"], waiting["candidates"]) == ("none", "none", 0)


def test_weighs_waits_by_the_expected_wait_of_the_queue():
    # At 100 either 2 or 3 can start; a second of the queue that expects less counts more.
    rows = [(0, 100, 100, 4), (10, 50, 50, 4, "long"), (20, 50, 50, 4, "short")]
    assert starts(run(rows, HCP1(ewt="long:3600;short:60;:60"))) == [0, 150, 100]
    assert starts(run(rows, HCP1(ewt="long:60;short:3600;:60"))) == [0, 100, 150]
    assert starts(run(rows, HCP1(ewt="600"))) == [0, 100, 150]


def test_pcp_counts_what_exceeds_the_expected_wait():
    # 2 expects to wait 1000 s and may do so at no cost; 3 is late after 10.
    rows = [(0, 100, 100, 4), (10, 50, 50, 4, "a"), (20, 50, 50, 4, "b")]
    assert starts(run(rows, "pcp1:ewt=a:1000;b:10;:10")) == [0, 150, 100]


def test_measures_the_expected_waits_it_is_not_given():
    dispatcher = HCP1()
    run([(0, 100, 100, 4, "a"), (10, 50, 50, 4, "b")], dispatcher)
    assert dispatcher.waits.of("a") == 1800
    assert dispatcher.waits.of("b") == (3600 + 90) / 2
    assert dispatcher.waits.of("never seen") == 3600
    dispatcher.reset(POOL)
    assert dispatcher.waits.of("a") == 3600


def test_reads_expected_waits_from_a_trace(tmp_path):
    line = "{id} {submit} {wait} 10 1 -1 -1 1 20 -1 1 1 1 1 {queue} -1 -1 -1\n"
    rows = [(1, 0, 30, 1), (2, 5, 50, 1), (3, 9, 0, 2)]
    text = "; MaxProcs: 4\n" + "".join(
        line.format(id=id_, submit=submit, wait=wait, queue=queue) for id_, submit, wait, queue in rows
    )
    path = tmp_path / "log.swf"
    path.write_text(text)
    waits = HCP1(ewt=str(path)).waits
    assert (waits.of("1"), waits.of("2"), waits.longest()) == (40, 1, 40)


def test_a_job_that_outran_its_prediction_runs_for_one_more_second():
    # 1 was to end at 50 and holds 3 cores until 100; 2 and 3 come at 60 and 70 and want 2.
    rows = [(0, 100, 50, 3), (60, 10, 10, 2), (70, 10, 10, 2)]
    for name in ("hcp2", "hcp3", "pcp2"):
        assert starts(run(rows, name, predictor="walltime")) == [0, 100, 100]


def test_without_underestimates_such_a_job_holds_nothing_in_the_model():
    # Both candidates fit by themselves in the free half; the model believes that all of the machine is free.
    rows = [(0, 100, 50, 2), (60, 100, 100, 2), (60, 100, 100, 2)]
    naive = run(rows, ConstraintProgramming(formulation="hcp", version=1))
    aware = run(rows, ConstraintProgramming(formulation="hcp", version=2))
    assert naive.decisions.set_index("time").loc[60]["postponed"] == 1
    assert aware.decisions.set_index("time").loc[60]["postponed"] == 0
    assert starts(naive) == starts(aware) == [0, 60, 100]


def test_underestimates_can_leave_no_schedule_before_version_2():
    # 950 s late, 1 shortens the horizon of the two jobs of 60 s to nothing.
    rows = [(0, 1000, 50, 2), (990, 60, 60, 2), (990, 60, 60, 2), (1200, 1, 1, 1)]
    result = run(rows, "hcp1")
    at = result.decisions.set_index("time").loc[990]
    assert (at["status"], at["used"]) == ("infeasible", "none")
    assert starts(result)[1:3] == [1000, 1000]


def test_version_0_puts_the_jobs_behind_the_first_m_at_the_end():
    rows = [(0, 100, 100, 4), (1, 10, 10, 4), (2, 10, 10, 4), (3, 10, 10, 4)]
    result = run(rows, "hcp:m=1")
    crowded = result.decisions.set_index("time").loc[3]
    # 3 and 4 overlap at the end of the horizon and ask for 8 of 4.
    assert (crowded["status"], crowded["used"]) == ("infeasible", "none")
    idle = result.decisions.set_index("time").loc[100]
    assert (idle["status"], idle["used"]) == ("infeasible", "list")
    assert starts(result) == [0, 100, 110, 120]


def test_only_the_first_m_may_start():
    # 2 does not fit and is the only one considered; 3 would.
    rows = [(0, 100, 100, 3), (1, 10, 10, 4), (50, 10, 10, 1)]
    assert starts(run(rows, "hcp3")) == [0, 100, 50]
    assert starts(run(rows, "hcp3:m=1")) == [0, 100, 110]


def test_what_finds_no_place_is_postponed():
    # Two cores are free on one node and one on the other: three in the pool, but no place for a slot of three.
    jobs = [Job("a", 0, 100, 100, per_node={"core": 2}), Job("b", 0, 100, 100, per_node={"core": 3}),
            Job("wide", 1, 10, 10, per_node={"core": 3}), Job("slim", 1, 50, 50, per_node={"core": 1})]  # fmt: skip
    workload = Workload(tuple(jobs), Machine.homogeneous(2, core=4))
    found = {}
    for name in ("hcp3", "pcp3"):
        result = simulate(workload, name)
        check(workload, result)
        found[name] = result.jobs["start"].tolist(), result.decisions.set_index("time").loc[1, "postponed"]
    # The pool has the wide one first and slim behind it; the nodes have no room for wide before 100.
    assert found == {"hcp3": ([0, 0, 100, 100], 1), "pcp3": ([0, 0, 100, 1], 0)}


def test_a_job_that_needs_a_gpu_only():
    machine = Machine(("core", "gpu"), np.array([[4, 0], [4, 2]]))
    jobs = [Job("g", 0, 10, 10, per_node={"gpu": 2}), Job("h", 0, 10, 10, per_node={"gpu": 1}),
            Job("c", 0, 10, 10, nodes=2, per_node={"core": 4})]  # fmt: skip
    workload = Workload(tuple(jobs), machine)
    for name in ("hcp3", "pcp3"):
        result = simulate(workload, name)
        check(workload, result)
        assert sorted(result.jobs["start"]) == [0, 0, 10]


class TestSearchControl:
    def test_calls_no_solver_where_none_is_needed(self, monkeypatch):
        def refuse(*arguments, **options):
            raise AssertionError("a solver was called")

        monkeypatch.setattr("hpcdispatch.dispatchers.cp.cp_plan.solve_pooled", refuse)
        rows = [(0, 100, 100, 2), (0, 100, 100, 1), (5, 10, 10, 2), (6, 10, 10, 1)]
        for name in ("hcp1", "hcp3", "pcp1", "pcp3"):
            result = run(rows, name)
            assert set(result.decisions["status"]) <= {"none", "trivial"}

    def test_version_0_calls_it_every_time(self):
        assert set(run(BUSY, "hcp").decisions["status"]) == {"optimal"}

    def test_a_state_that_did_not_change_is_not_solved_again(self, monkeypatch):
        calls = []

        def postpone(problem, hint, limit, **options):
            calls.append(problem.jobs)
            later = hint.starts + 1000
            schedule = type(hint)(later, problem.cost(later), hint.counts)
            return Answer(Status.FEASIBLE, schedule, None, 0.0, "solver")

        monkeypatch.setattr("hpcdispatch.dispatchers.cp.cp_plan.solve_pooled", postpone)
        dispatcher = HCP3()

        class Awake:
            def reset(self, machine, rng):
                dispatcher.reset(machine, rng)

            def report(self):
                return dispatcher.report()

            def dispatch(self, state):
                from hpcdispatch.dispatchers import Wake  # noqa: PLC0415

                actions = list(dispatcher.dispatch(state))
                return actions if actions or state.now > 30 else [Wake(state.now + 5)]

        result = run([(0, 100, 100, 2), (10, 10, 10, 2), (10, 20, 20, 1), (10, 30, 30, 1)], Awake())
        statuses = result.decisions.set_index("time")["status"]
        assert statuses.loc[[10, 15, 20, 35]].tolist() == ["feasible", "unchanged", "unchanged", "unchanged"]
        assert calls[0] == 3

    def test_m_is_halved_while_there_is_no_schedule(self, monkeypatch):
        monkeypatch.setattr("hpcdispatch.dispatchers.cp.cp_plan.solve_pooled", lambda *_, **__: SILENT)
        rows = [(0, 100, 100, 4)] + [(1, 10, 10, 3)] * 8
        decisions = run(rows, "hcp3:m=8").decisions
        solved = decisions[decisions["status"] == "unknown"]
        assert solved["candidates"].tolist()[:3] == [8, 4, 2]


@pytest.mark.parametrize("name", PRESETS)
def test_a_solver_that_fails_loses_no_job(name, monkeypatch):
    for solver in ("solve_pooled", "solve_placed", "solve_direct"):
        monkeypatch.setattr(f"hpcdispatch.dispatchers.cp.cp_plan.{solver}", lambda *_, **__: SILENT)
    for machine in (POOL, Machine.homogeneous(4, core=1)):
        result = run(BUSY, name, machine)
        assert (result.jobs["status"] == "completed").all()
        failed = result.decisions[result.decisions["status"] == "unknown"]
        assert (failed["used"] == "list").all()
        assert len(failed)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_ends_what_it_is_given(name):
    result = run(BUSY + [(40, 0, 20, 1)] * 6, name)
    assert (result.jobs["status"] == "completed").all()


def test_the_local_search_gives_the_hint_it_is_told_to():
    rows = [(0, 100, 100, 4)] + [(i, 10 * i, 10 * i, 1 + i % 4) for i in range(1, 12)]
    plain, searched = run(rows, "hcp3"), run(rows, "hcp3:iterations=50")
    assert plain.jobs["wait"].sum() > 0
    assert searched.decisions["gain"].sum() <= plain.decisions["gain"].sum()


def test_the_wall_clock_is_an_option():
    limit = ConstraintProgramming(limit="wall").settled.solver_limit
    assert (limit.wall, limit.first, limit.most, limit.restarts) == (True, 1, 16, 2)
    assert ConstraintProgramming(version=0, limit="wall").settled.solver_limit.restarts is None
    assert starts(run(BUSY, "hcp3:limit=wall,d=0.5,d_max=2")) == [0, 110, 110, 100]


def test_the_versions_are_the_columns_of_table_1():
    def switches(version):
        made = ConstraintProgramming(formulation="pcp", version=version).settled
        return made.reduced, made.underestimates, made.durations

    assert list(map(switches, range(4))) == [
        (False, False, False), (True, False, False), (True, True, False), (True, True, True)
    ]  # fmt: skip
    assert ConstraintProgramming(version=3, durations=False).settled.durations is False
    assert PCP3().options.formulation == "pcp"
    assert PCP3().name == "PCP3"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hcp3:d=0", "d must be > 0 seconds, got 0"),
        ("hcp3:d=-1", "d must be > 0 seconds, got -1"),
        ("hcp3:d=2,d_max=1", "d_max must be >= d = 2 seconds, got 1"),
        ("hcp3:m=0", "m must be a whole number >= 1, got 0"),
        ("hcp3:k=-1", "k must be a whole number >= 0, got -1"),
        ("hcp3:iterations=-1", "iterations must be a whole number >= 0, got -1"),
        ("cp:version=4", "version must be one of 0, 1, 2, 3, got 4"),
        ("cp:version=x", "option 'version': expected"),
        ("cp:formulation=lp", "option 'formulation': expected one of hcp, pcp, got 'lp'"),
        ("hcp4", "unknown dispatcher 'hcp4'"),
        ("hcp1:ewt=soon", "ewt must be 'measured', seconds > 0, .* got 'soon'"),
        ("hcp1:ewt=0", "ewt must be > 0 seconds for every queue, got 0"),
        ("hcp1:ewt=a:1;b:-5", "ewt must be > 0 seconds for every queue, got -5"),
        ("hcp1:ewt=a:1;b:", "ewt must be 'measured'"),
    ],
)
def test_what_a_spec_may_not_say(spec, message):
    with pytest.raises(InputError, match=message):
        create_dispatcher(spec)


def test_a_queue_without_an_expected_wait_is_named():
    with pytest.raises(InputError, match="got none for queue 'night'; given: day 60"):
        run([(0, 10, 10, 1, "night")], "hcp1:ewt=day:60")
