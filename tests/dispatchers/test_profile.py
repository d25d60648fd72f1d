"""The availability profile of a state: searches against brute force, and EASY of a few lines against `easy`."""

import random
import warnings
from dataclasses import replace

import numpy as np
import pytest
from combinations import some
from drawn import number_of_inputs
from ruled_workloads import ruled, written_dispatcher

from hpcdispatch.dispatchers import EASY, JobView, Running, Start, State, Waiting, space_of
from hpcdispatch.dispatchers.rule_book import RuleBook
from hpcdispatch.simulation import ActionError, Budget, VainRuleWarning, simulate, violations
from hpcdispatch.workloads import Job, Limit, Machine, Outage, Power, Reservation, Workload

#: Seconds that brute force looks ahead.
AHEAD = 400


def assert_is_easy(seeds):
    for seed in seeds:
        workload = ruled(seed)
        predictor = ("walltime", "oracle")[seed % 2]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            easy = simulate(workload, "easy", predictor, overrun="kill")
            mine = simulate(workload, written_dispatcher()(), predictor, overrun="kill")
        assert list(violations(workload, mine)) == [], seed
        assert mine.jobs["start"].tolist() == easy.jobs["start"].tolist(), seed
        for one, other in zip(mine.attempts["placement"], easy.attempts["placement"], strict=True):
            assert np.array_equal(one, other), seed
        assert "refused" not in mine.manifest
        assert (mine.jobs["status"] != "waiting").all()


def test_the_dispatcher_of_the_docs_is_easy():
    assert_is_easy(range(4))


@pytest.mark.nightly
def test_the_dispatcher_of_the_docs_is_easy_on_many_workloads():
    assert_is_easy(range(100, 400))


def waiting(machine, number, walltime, nodes, predicted=None, **fields):
    job = Job(str(number), 0, 1, walltime, nodes, fields.pop("per_node", {"core": 1}), **fields)
    view = JobView(job, machine)
    return Waiting(view, predicted or walltime, 0, 0, number, machine.demand(job.per_node))


def running(machine, number, end, placement, walltime=None, **fields):
    job = Job(str(number), 0, 1, walltime or end, len(placement), {"core": 1}, **fields)
    run = Running(JobView(job, machine), 0, np.array(placement), machine.demand(job.per_node), number)
    run.predicted_end = end
    return run


def state_of(machine, queue, runs):
    free = machine.capacity.copy()
    for run in runs:
        np.subtract.at(free[:, 0], run.placement, 1)
    return State(0, queue, sorted(runs, key=lambda run: run.predicted_end), free, machine)


def first_start(state, job):
    """Return the first start of a job by trying each second."""
    machine = state.machine
    free = np.repeat(machine.capacity[None, :, 0], AHEAD, axis=0)
    guard = np.full_like(free, 10**6)
    for run in state.running:
        np.subtract.at(free[: run.predicted_end], (slice(None), run.placement), 1)
    for rule in machine.reservations:
        for begin, end in rule.windows(0, AHEAD):
            nodes = list(rule.indices(machine.nodes))
            amount = machine.capacity[nodes, 0] if rule.amounts is None else rule.amounts["core"]
            free[begin:end, nodes] -= amount
            if 0 < begin < AHEAD:
                guard[begin, nodes] = machine.capacity[nodes, 0] - amount
                for run in state.running:
                    if run.start + run.walltime > begin:
                        np.subtract.at(guard[begin], run.placement, 1)
    for start in range(AHEAD - 2 * 60):
        least = free[start : start + job.predicted].min(axis=0)
        later = guard[start + 1 : start + job.job.walltime]
        if len(later):
            least = np.minimum(least, later.min(axis=0))
        if np.maximum(least, 0).sum() >= job.nodes:
            return start
    return None


def test_earliest_starts_equal_brute_force():
    g = random.Random(5)
    later = 0
    for _ in range(number_of_inputs(400, least=50)):
        nodes = g.choice([1, 3, 5])
        machine = Machine.homogeneous(nodes, core=4)
        begin, length = g.randint(1, 60), g.randint(1, 30)
        closed = Reservation(
            begin,
            begin + length,
            g.choice(["all", [0]]),
            amounts=g.choice([None, {"core": 2}]),
            every=g.choice([None, length + 70]),
        )
        machine = replace(machine, reservations=[closed])
        left = dict.fromkeys(range(nodes), 4)
        runs = []
        for number in range(g.randint(0, 5)):
            placement = [node for node in (g.randrange(nodes) for _ in range(3)) if left[node]]
            placement = sorted(set(placement))
            if placement:
                for node in placement:
                    left[node] -= 1
                runs.append(running(machine, number, g.randint(1, 40), placement, walltime=g.randint(40, 60)))
        wall = g.randint(1, 50)
        job = waiting(machine, 99, wall, g.randint(1, 3 * nodes), predicted=g.randint(1, wall))
        state = state_of(machine, [job], runs)
        found = state.profile().earliest(job)
        expected = first_start(state, job)
        assert (None if found is None else found[0]) == expected
        if found is not None:
            assert len(found[1]) == job.nodes
            later += found[0] > 0
    assert later > 20


def test_a_reservation_of_room_names_no_nodes():
    # On two nodes job 2 needs one node at 10. Job 3 may run on either, and leaves the other.
    machine = Machine.homogeneous(2, core=1)
    queue = [waiting(machine, 2, 50, 2), waiting(machine, 3, 50, 1), waiting(machine, 4, 10, 1)]
    state = state_of(machine, queue, [running(machine, 1, 10, [0])])
    room = state.profile()
    room.keep(queue[0])
    assert [start.job.id for start in room.start_now(queue[1:])] == ["4"]
    taken = state.profile()
    taken.take(queue[0], *taken.earliest(queue[0]))
    assert [start.job.id for start in taken.start_now(queue[1:])] == ["4"]
    assert taken.earliest(queue[1])[0] == 60


def test_a_job_counts_by_its_walltime_against_closures_only():
    machine = replace(Machine.pool(4), reservations=[Reservation(100, 200)])
    job = waiting(machine, 1, 120, 2, predicted=10)
    room = state_of(machine, [job], []).profile()
    assert room.earliest(job)[0] == 200
    assert room.earliest(job, seconds=100)[0] == 0
    assert room.earliest(job, seconds=101)[0] == 200
    other = waiting(machine, 2, 90, 4, predicted=30)
    room.take(other, 0, np.zeros(4, dtype=int))
    assert room.earliest(waiting(machine, 3, 60, 4, predicted=5))[0] == 30


def test_a_profile_tells_how_long_room_lasts():
    machine = replace(Machine.homogeneous(2, core=1), reservations=[Reservation(100, 200, [0])])
    one, two = waiting(machine, 1, 10, 1), waiting(machine, 2, 10, 2)
    room = state_of(machine, [one, two], []).profile()
    assert room.free_until(two)[0] == 100
    assert room.free_until(one) == (None, [1])
    room.take(one, 0, np.array([1]))
    assert room.free_until(two) is None
    assert room.free_until(two, at=50)[0] == 100


def test_nodes_of_a_stopped_job_are_given_back():
    machine = Machine.pool(4)
    job = waiting(machine, 2, 10, 4)
    run = running(machine, 1, 50, [0, 0])
    state = state_of(machine, [job], [run])
    room = state.profile()
    assert room.earliest(job)[0] == 50
    room.give(run, delay=7)
    assert room.earliest(job)[0] == 7
    room.give(run)
    assert room.earliest(job)[0] == 0
    assert state.profile().earliest(job)[0] == 50


def test_changes_of_a_profile_stay_with_its_owner():
    machine = replace(Machine.pool(4), licences={"x": 1})
    job = waiting(machine, 1, 10, 4, licences={"x": 1})
    state = state_of(machine, [job], [])
    first = state.profile()
    assert len(first.start_now([job])) == 1
    assert first.start_now([job]) == []
    assert len(state.profile().start_now([job])) == 1


def test_a_start_against_a_rule_names_job_node_and_time():
    class Reckless:
        on_profile = True

        def dispatch(self, state):
            job = state.queue[0]
            return [Start(job, space_of(state).place(job.nodes, job.demand))]

    machine = Machine.homogeneous(2, core=1)
    cases = [
        (
            {"reservations": [Reservation(50, 80, [0])]},
            "node 0 is closed for maintenance from 50 to 80, and its walltime",
        ),
        ({"limits": [Limit(1, of="core")]}, None),
        (
            {"power": Power({"core": 10}, cap=((0, 30), (20, 15), (40, 30)))},
            r"power: 15,000 of mW from 20 on, 0 are in use",
        ),
    ]
    for rules, message in cases:
        jobs = (Job("a", 0, 10, 60, 2, user="ann"), Job("b", 1, 10, 60, 2, user="ann"))
        workload = Workload(jobs, replace(machine, **rules))
        if message is None:
            with pytest.warns(VainRuleWarning):
                result = simulate(workload, Reckless())
            assert result.jobs["status"].tolist() == ["rejected", "rejected"]
            continue
        with pytest.raises(ActionError, match=f"Reckless at t=0: job a: must not start: {message}"):
            simulate(workload, Reckless())


def test_an_outage_that_is_not_announced_forbids_no_start_before():
    rules = {
        "reservations": [Reservation(100, 150, amounts={"core": 4})],
        "outages": [Outage(90, 120, announced=False)],
    }
    job = Job("1", 30, 50, 80, 4, {"core": 1})
    result = simulate(Workload([job], replace(Machine.pool(8), **rules)), "easy", budget=Budget(), overrun="kill")
    assert result.jobs["start"].tolist() == [30]


def test_a_cap_that_changes_holds_by_walltimes():
    # 20 W at most from 100 on. Job 1 may last beyond that, so job 2 waits until it ends. Job 3 ends before.
    machine = replace(Machine.pool(8), power=Power({"core": 10}, cap=((0, 60), (100, 20)), every=200))
    jobs = (
        Job("1", 0, 60, 120, 2),
        Job("2", 1, 50, 120, 1),
        Job("3", 2, 50, 90, 4),
        Job("4", 3, 10, 101, 3),
    )
    workload = Workload(jobs, machine)
    for dispatcher in ("easy", "conservative", "lxf", "hcp3", written_dispatcher()()):
        result = simulate(workload, dispatcher, overrun="kill")
        assert list(violations(workload, result)) == []
        assert result.jobs["status"].tolist() == ["completed"] * 3 + ["rejected"] * (dispatcher != "x")
    assert simulate(workload, "easy", overrun="kill").jobs["start"].tolist() == [0, 60, 2, -1]


def test_a_job_that_lacks_an_amount_stops_none_behind_a_job_with_kept_room():
    # Job 1 waits for the maintenance, job 2 for its user's limit. The others end before both start.
    machine = replace(Machine.pool(8), reservations=[Reservation(50, 60)], limits=[Limit(4, of="core")])
    runs = [running(machine, 0, 40, [0, 0, 0], 40)]
    queue = [
        waiting(machine, 1, 100, 2, user="ann"),
        waiting(machine, 2, 30, 4),
        waiting(machine, 3, 10, 2, user="bob"),
    ]
    state = state_of(machine, queue, runs)
    assert [start.job.id for start in EASY().dispatch(state)] == ["3"]


def test_a_job_that_lacks_an_amount_keeps_it_only_if_asked():
    # Job 1 lacks a licence that job 2 would use beyond the end of the running one.
    machine = replace(Machine.pool(8), licences={"x": 2})
    runs = [running(machine, 0, 40, [0], 40, licences={"x": 1})]
    queue = [
        waiting(machine, 1, 30, 1, licences={"x": 2}),
        waiting(machine, 2, 100, 1, licences={"x": 1}),
    ]
    state = state_of(machine, queue, runs)
    assert state.profile().start_now(queue) == []
    started = state.profile().start_now(queue, keep_amounts=False)
    assert [start.job.id for start in started] == ["2"]


def of_reservation(machine, now, *requests):
    """Return the jobs of these requests, and the state in which they wait."""
    jobs = [Job(str(number), 0, 1, **request) for number, request in enumerate(requests)]
    queue = [
        Waiting(JobView(job, machine), job.walltime, 0, 0, number, machine.demand(job.per_node))
        for number, job in enumerate(jobs)
    ]
    return queue, State(now, queue, [], machine.capacity, machine)


def test_a_job_starts_only_in_the_reservation_that_it_names():
    machine = replace(Machine.homogeneous(4, core=1), reservations=[Reservation(100, 200, [2, 3], name="r")])
    core = {"core": 1}
    requests = [
        {"walltime": 50, "nodes": 1, "per_node": core, "reservation": "r"},
        {"walltime": 50, "nodes": 3, "per_node": core, "reservation": "r"},
        {"walltime": 101, "nodes": 1, "per_node": core, "reservation": "r"},
        {"walltime": 90, "nodes": 1, "per_node": core, "reservation": "r"},
        {"walltime": 50, "nodes": 2, "per_node": core},
    ]
    found = {}
    for now in (0, 100, 120):
        queue, state = of_reservation(machine, now, *requests)
        each = [state.profile().earliest(job) for job in queue]
        found[now] = [None if fit is None else fit[0] for fit in each]
        assert all(fit is None or set(fit[1].tolist()) <= {2, 3} for fit in each[:4])
        assert state.profile().fit_now(queue).tolist() == [start == now for start in found[now]]
        started = {start.job.id: start.placement.tolist() for start in state.profile().start_now(queue)}
        assert started == {0: {"4": [0, 1]}, 100: {"0": [2], "3": [3], "4": [0, 1]}, 120: {"0": [2], "4": [0, 1]}}[now]
    assert found == {0: [100, None, None, 100, 0], 100: [100, None, None, 100, 100], 120: [120, None, None, None, 120]}


def test_jobs_of_a_reservation_share_its_amounts_and_all_licences():
    weekly = Reservation(100, 200, name="r", amounts={"core": 5}, every=1000)
    machine = replace(Machine.pool(16), licences={"x": 1}, reservations=[weekly])
    inside = {"walltime": 50, "per_node": {"core": 1}, "reservation": "r"}
    requests = [{**inside, "nodes": 4, "licences": {"x": 1}}, {**inside, "nodes": 2}, {**inside, "nodes": 6}]
    requests += [{"walltime": 50, "nodes": 1, "per_node": {"core": 1}, "licences": {"x": 1}}]
    queue, state = of_reservation(machine, 100, *requests)
    assert [start.job.id for start in state.profile().start_now(queue)] == ["0"]
    profile = state.profile()
    profile.take(queue[0], 100, np.zeros(4, dtype=int))
    assert [profile.earliest(job) and profile.earliest(job)[0] for job in queue] == [150, 150, None, 150]
    queue, state = of_reservation(machine, 160, *requests)
    assert [fit and fit[0] for fit in map(state.profile().earliest, queue)] == [1100, 1100, None, 160]


def test_a_running_job_in_a_reservation_holds_its_amounts():
    machine = replace(Machine.pool(16), reservations=[Reservation(100, 200, name="r", amounts={"core": 5})])
    job = {"walltime": 20, "nodes": 3, "per_node": {"core": 1}, "reservation": "r"}
    (waiting,), state = of_reservation(machine, 110, job)
    runs = []
    for number, (name, nodes) in enumerate((("r", 3), ("", 11))):
        held = Job(f"run {number}", 0, 1, 40, nodes, {"core": 1}, reservation=name)
        run = Running(JobView(held, machine), 100, np.zeros(nodes, dtype=int), (1,), number + 5)
        run.predicted_end = 140
        runs.append(run)
    state = State(110, [waiting], runs, machine.capacity - 14, machine)
    assert state.profile().earliest(waiting)[0] == 140


class KeepsAtStart:
    """EASY that asks for the start of the job with kept room, and tries each other job alone."""

    on_profile = True

    def dispatch(self, state):
        room = state.profile()
        starts = room.start_now(state.queue, skip=False)
        if room.behind:
            head, *others = room.behind
            fit = room.earliest(head)
            if fit is not None:
                room.keep(head, fit[0])
            for job in others:
                starts += room.start_now([job])
        return starts


def test_jobs_on_a_pool_end_before_it_closes():
    machine = replace(Machine.pool(8), reservations=[Reservation(100, 130)])
    fits, exceeds = (waiting(machine, number, walltime, 2) for number, walltime in ((1, 100), (2, 101)))
    runs = [running(machine, 3, 50, [0] * 4)]
    for jobs in ([fits], [exceeds], [exceeds, fits]):
        started = state_of(machine, jobs, runs).profile().start_now(jobs)
        assert [start.job.id for start in started] == ["1"] * (fits in jobs)
    for walltime, start in ((50, 50), (51, 130)):
        head, other = waiting(machine, 4, walltime, 8), waiting(machine, 5, 60, 2)
        state = state_of(machine, [head, other], runs)
        assert state.profile().earliest(head)[0] == start
        assert state.profile().earliest(head, seconds=51)[0] == 130
        for at in (None, start):
            room = state.profile()
            room.keep(head, at)
            assert len(room.start_now([other])) == (start == 130)
    with pytest.raises(ValueError, match="job 4: keep: does not fit at 50"):
        state.profile().keep(head, 50)


def test_jobs_that_start_one_by_one_share_what_a_kept_job_leaves():
    machine = replace(Machine.pool(8), reservations=[Reservation(1000, 1030)])
    head, *others = (waiting(machine, number, walltime, nodes) for number, walltime, nodes in JOBS)
    room = state_of(machine, [head, *others], [running(machine, 9, 50, [0] * 4)]).profile()
    room.keep(head)
    assert [len(room.start_now([job])) for job in others] == [1, 0, 1]


#: The first needs 6 slots from 50 s on and leaves 2 of 8. The last ends before.
JOBS = (1, 100, 6), (2, 100, 1), (3, 100, 2), (4, 50, 2)


def closing_pool(g):
    """Return a pool of 16 cores that closes, at most in part, once or again and again."""
    begin, length = g.randint(20, 90), g.randint(5, 30)
    amounts = {"core": 5} if g.random() < 0.4 else None
    every = g.choice([None, g.randint(130, 200)])
    down = Outage(200, 230, [0], announced=g.random() < 0.5, requeue=True)
    reserved = Reservation(begin, begin + length, amounts=amounts, every=every)
    return replace(Machine.pool(16), reservations=[reserved], outages=[down] if g.random() < 0.4 else [])


@pytest.mark.parametrize(
    "kind",
    [
        *some(["easy:depth=3", "easy", "easy-sjbf", "easy:reserve_by=walltimes", "easy:strict=false"]),
        KeepsAtStart(),
    ],
)
def test_plain_numbers_before_the_next_closure_equal_the_whole_profile(monkeypatch, kind):
    plain_until = RuleBook.plain_until
    used = 0
    for seed in range(number_of_inputs(100)):
        g = random.Random(seed)
        machine = closing_pool(g)
        jobs = [
            replace(job, reservation="", licences={}, per_node={"core": job.per_node["core"]})
            for job in ruled(seed).jobs
        ]
        predictor = g.choice(["walltime", "oracle", "last2"])
        overrun = g.choice(["kill", "run", "resubmit:factor=1.5,cap=90"])
        starts = []
        for plain in (True, False):

            def until(book, now, plain=plain):
                nonlocal used
                used += plain_until(book, now) > now
                return plain_until(book, now) if plain else now

            monkeypatch.setattr(RuleBook, "plain_until", until)
            # With a budget no whole trace is compiled.
            budget = Budget(decisions=10**6)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = simulate(Workload(jobs, machine), kind, predictor, overrun=overrun, budget=budget)
            starts.append(result.jobs[["start", "end"]].to_numpy().tolist())
        assert starts[0] == starts[1], (seed, predictor, overrun)
    assert used
