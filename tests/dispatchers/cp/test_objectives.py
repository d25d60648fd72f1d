"""Objectives as plug-ins: formulas, names, and the errors of faulty ones."""

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import ConstraintProgramming, State, create_dispatcher
from hpcdispatch.dispatchers.cp import (
    FairShare,
    Goal,
    Objective,
    Slowdown,
    SquaredBoundedSlowdown,
    create_objective,
    objectives,
)
from hpcdispatch.dispatchers.protocol import JobView, Running, Waiting
from hpcdispatch.simulation import check, simulate
from hpcdispatch.testing import check_dispatcher, cluster, tiny
from hpcdispatch.workloads import Job, Machine, Workload

POOL = Machine.pool(4)


def state(now, waiting, running=(), machine=POOL):
    """Return a state. Waiting jobs are (user, submit, predicted), running jobs (user, cores, predicted end)."""
    jobs = tiny().jobs
    entries = []
    for order, (user, submit, predicted) in enumerate(waiting):
        view = JobView(jobs[0], machine)
        view.user, view.submit = user, submit
        entries.append(Waiting(view, predicted, submit, 0, order, (1,)))
    runs = []
    for order, (user, cores, end) in enumerate(running, 100):
        view = JobView(jobs[0], machine)
        view.user = user
        run = Running(view, 0, np.zeros(cores, dtype=np.int64), (1,), order)
        run.predicted_end = end
        runs.append(run)
    return State(now, entries, runs, machine.capacity, machine)


def test_the_squared_bounded_slowdown_is_its_tangent():
    terms = SquaredBoundedSlowdown().objective(state(100, [("a", 40, 60), ("a", 98, 2)]).queue, 100)
    # (60 + 60) / 60 = 2, and its square rises by 2 * 2 / 60. The other is below 10 s for 6 more seconds.
    assert terms.rates.tolist() == pytest.approx([4 / 60, 2 / 10])
    assert terms.due.tolist() == [0, 6]
    assert terms.constant == pytest.approx(4 + 1)
    square = ((60 + 60 + 1) / 60) ** 2
    assert terms.value(np.array([1, 0])) == pytest.approx(square + 1, abs=1e-3)


def test_a_user_who_used_more_waits_at_a_lower_rate():
    goal = FairShare(half_life=100, of="wait")
    goal.observe(state(0, [("a", 0, 10), ("b", 0, 10)], [("a", 3, 50)]))
    goal.observe(state(50, [("a", 0, 10), ("b", 0, 10)], [("b", 1, 90)]))
    # a held 3 cores for 50 s, and all usage is a's: U / S = 1 / (1 / 2).
    assert goal.usage["a"] == pytest.approx(3 * (1 - 2**-0.5) / (np.log(2) / 100))
    assert (goal.factor("a"), goal.factor("b")) == (0.25, 1.0)
    terms = goal.objective(state(50, [("a", 0, 10), ("b", 0, 10)]).queue, 50)
    assert terms.rates.tolist() == [0.25, 1.0]
    before = goal.usage["a"]
    goal.observe(state(150, [("a", 0, 10)]))
    assert goal.usage["a"] == pytest.approx(before / 2)
    # b's job has ended unseen. It is charged until its predicted end, 40 s after it was last seen.
    assert goal.usage["b"] == pytest.approx((1 - 2**-0.4) / (np.log(2) / 100))


def test_the_user_who_used_less_starts_first():
    # At 100 either 2 or 3 can start. The user of 2 had all cores. Job 2 came first and is as long.

    rows = [("a", 0, 100), ("a", 10, 50), ("b", 10, 50)]
    jobs = tuple(Job(str(i), submit, run, run, nodes=4, user=user) for i, (user, submit, run) in enumerate(rows))
    workload = Workload(jobs, POOL)
    assert simulate(workload, "hcp3").jobs["start"].tolist() == [0, 100, 150]
    assert simulate(workload, "hcp3:objective=fair-share").jobs["start"].tolist() == [0, 150, 100]


@pytest.mark.parametrize("name", objectives.names())
def test_every_objective_keeps_the_rules(name):
    check_dispatcher(f"hcp3:iterations=50,objective={name}", [tiny()], ("run",), ("last2",))
    check_dispatcher(f"pcp3:iterations=50,objective={name}", [cluster(8)], ("resubmit",), ("walltime",))


def test_the_default_by_its_name_gives_the_same_records():
    workload = cluster(30)
    given, named = (simulate(workload, name).jobs for name in ("hcp3", "hcp3:objective=slowdown"))
    assert given["start"].tolist() == named["start"].tolist()


def test_an_objective_has_its_options_and_those_of_the_dispatcher():
    goal = create_objective("fair-share:half_life=60/of=wait")
    assert (goal.half_life, goal.of) == (60, "wait")
    assert create_dispatcher("hcp3:objective=weighted-wait,ewt=600").goal.inner.waits.of("") == 600
    assert create_dispatcher("hcp3:objective=weighted-wait:ewt=60,ewt=600").goal.inner.waits.of("") == 60


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("wait", "unknown objective 'wait'; known: .*excess-wait.*slowdown"),
        ("fair-share:decay=1", "objective fair-share: unknown option 'decay'; known: half_life, of"),
        ("fair-share:half_life=0", "objective fair-share: half_life must be a number > 0, got 0"),
        ("squared-bounded-slowdown:threshold=0", "threshold must be >= 1 second, got 0"),
    ],
)
def test_an_option_says_what_is_wrong(spec, message):
    with pytest.raises(InputError, match=message):
        create_dispatcher(f"hcp3:objective={spec}")


def test_what_is_no_objective():
    with pytest.raises(InputError, match="expected a name or a Goal with objective"):
        ConstraintProgramming(objective=object())


class Given(Goal):
    """Returns the slowdown until a time. From then on it returns a given value."""

    name = "given"

    def __init__(self, answer, since=0):
        self.answer, self.since = answer, since

    def objective(self, waiting, now):
        if now < self.since:
            return Slowdown().objective(waiting, now)
        return self.answer(len(waiting))


def raises(count):
    raise KeyError("user")


#: How a message begins.
AT = "objective given at .* for job .*: "
WRONG = [
    (raises, AT + r"KeyError: 'user'"),
    (
        lambda count: 3.0,
        AT + r"expected linear terms, an Objective\(rates, due, constant\), got 3.0",
    ),
    (
        lambda count: Objective(np.full(count, -1.0), None, 0.0),
        AT + r"rates must be >= 0, got -1",
    ),
    (
        lambda count: Objective(np.full(count, np.nan), None, 0.0),
        AT + r"rates must be finite, got nan",
    ),
    (
        lambda count: Objective(np.full(count, 5e-324), None, 0.0),
        AT + r"rates must be >= 0, got 4.9",
    ),
    (
        lambda count: Objective(np.ones(count), np.full(count, 1e30), 0.0),
        AT + r"due must be .*, got 1e\+30",
    ),
    (
        lambda count: Objective(np.ones(count + 1), None, 0.0),
        AT + r"rates must have shape",
    ),
    (
        lambda count: Objective(np.ones(count), None, np.inf),
        AT + r"constant must be a number, got inf",
    ),
]


LATER = [(*WRONG[0], "hcp"), (*WRONG[2], "pcp"), (*WRONG[5], "hcp")]


@pytest.mark.parametrize(("answer", "message"), WRONG)
def test_a_wrong_objective_is_named(answer, message):
    with pytest.raises(InputError, match=message):
        simulate(tiny(), ConstraintProgramming(objective=Given(answer)))


@pytest.mark.parametrize(("answer", "message", "formulation"), LATER)
def test_one_that_fails_later_leaves_the_list_schedule_and_is_on_record(answer, message, formulation):
    workload = cluster(30)
    dispatcher = ConstraintProgramming(formulation=formulation, iterations=50, objective=Given(answer, since=2000))
    result = simulate(workload, dispatcher)
    check(workload, result)
    decisions = result.decisions
    failed = decisions[decisions["failure"] != ""]
    assert failed["failure"].str.match(message).all()
    assert failed["time"].min() >= 2000
    planned = failed[~failed["status"].isin(["none", "trivial"])]
    assert len(planned) > 0
    assert (planned["used"] == "list").all()
    assert (planned["status"] == "unknown").all()
    assert (result.jobs["status"] == "completed").all()
