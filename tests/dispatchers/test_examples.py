"""The built-in dispatchers on examples that were worked out by hand."""

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import EASY, FCFS, Conservative, create_dispatcher, registry
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Workload

POOL = Machine.pool(4)
ONE_CORE_NODES = Machine.homogeneous(4, core=1)
MACHINES = {"pool": POOL, "nodes": ONE_CORE_NODES}


def run(rows, dispatcher, machine=POOL, **options):
    """Simulate rows of (submit, runtime, walltime, cores); return the starts."""
    jobs = [
        Job(str(i), submit, runtime, walltime, nodes=cores)
        for i, (submit, runtime, walltime, cores) in enumerate(rows, 1)
    ]
    workload = Workload(tuple(jobs), machine)
    result = simulate(workload, dispatcher, **options)
    check(workload, result)
    return result.jobs["start"].tolist()


@pytest.fixture(params=MACHINES)
def machine(request):
    return MACHINES[request.param]


# Submit, runtime, walltime, cores. Nothing but the last job fits beside the first.
QUEUE = [(0, 10, 10, 3), (1, 20, 30, 2), (1, 30, 40, 2), (1, 5, 20, 4), (1, 2, 50, 1)]


@pytest.mark.parametrize(
    ("dispatcher", "starts"),
    [
        # Job 2 does not fit and holds back 5. Job 5 would fit. Job 4 waits for 2 and 3.
        ("fcfs", [0, 10, 10, 40, 45]),
        ("fcfs:blocked=skip", [0, 10, 10, 40, 1]),
        # By walltime: 4 (20), 2 (30), 3 (40), 5 (50).
        ("sjf", [0, 15, 15, 10, 35]),
        # By walltime: 5 (50), 3 (40), 2 (30), 4 (20).
        ("ljf", [0, 10, 10, 40, 1]),
        # At 10 the factors are (9 + w) / w: 4 first and alone.
        ("lxf", [0, 15, 15, 10, 1]),
        # The shadow of 2 is 10. Job 5 (until 51) would leave 3 cores then. This is enough.
        ("easy", [0, 10, 10, 40, 1]),
        # Job 5 is reserved behind 4 at 70. It moves up as jobs end early.
        ("conservative", [0, 10, 10, 40, 45]),
    ],
)
def test_order(machine, dispatcher, starts):
    assert run(QUEUE, dispatcher, machine) == starts


def test_ties_go_by_the_order_of_the_trace(machine, registered):
    rows = [(0, 10, 10, 4)] + [(1, 20, 20, 4)] * 3
    assert run(rows, registered, machine) == [0, 10, 30, 50]


def test_lxf_counts_the_wait_against_the_prediction(machine):
    # At 100, job 2 has waited 90 of 100, factor 1.9. Job 3 has waited 50 of 20, factor 3.5.
    rows = [(0, 100, 100, 4), (10, 100, 100, 4), (50, 20, 20, 4)]
    assert run(rows, "lxf", machine) == [0, 120, 100]
    assert run(rows, "fcfs", machine) == [0, 100, 200]


class TestEASY:
    # Job 1 holds 2 of 4 until 100. Job 2 requests 3. Its shadow is 100. Then 4 are free, and 1 core is extra.
    head = ((0, 100, 100, 2), (0, 50, 50, 3))

    def test_what_ends_by_the_shadow_starts(self, machine):
        assert run([*self.head, (1, 99, 99, 2)], "easy", machine) == [0, 100, 1]

    def test_what_would_delay_the_head_waits(self, machine):
        # One second longer, and 2 would have to wait for it.
        assert run([*self.head, (1, 100, 100, 2)], "easy", machine) == [0, 100, 150]

    def test_what_needs_no_more_than_the_spare_starts(self, machine):
        assert run([*self.head, (1, 500, 500, 1)], "easy", machine) == [0, 100, 1]

    def test_the_spare_is_used_once(self, machine):
        # Job 3 takes the extra core. Job 4 would take a core of the head. It starts when 2 has ended.
        assert run([*self.head, (1, 500, 500, 1), (1, 500, 500, 1)], "easy", machine) == [0, 100, 1, 150]

    def test_two_short_ones_share_what_is_free(self, machine):
        # The third takes the extra core at 61, and ends after the shadow.
        assert run([*self.head, (1, 60, 60, 1), (1, 60, 60, 1), (1, 60, 60, 1)], "easy", machine) == [0, 100, 1, 1, 61]

    def test_the_reservation_counts_the_jobs_started_just_now(self, machine):
        # Jobs 1 and 2 start together. Job 3 requests all, with shadow 30. Job 4 may run until then, 5 not.
        rows = [(0, 30, 30, 1), (0, 10, 10, 1), (0, 5, 5, 4), (0, 30, 30, 1), (0, 31, 31, 1)]
        assert run(rows, "easy", machine) == [0, 0, 30, 0, 35]

    def test_only_the_head_has_a_reservation(self, machine):
        # 4 delays 3, which has none.
        rows = [(0, 10, 10, 3), (0, 20, 20, 4), (0, 10, 10, 4), (0, 10, 10, 1)]
        assert run(rows, "easy", machine) == [0, 10, 30, 0]

    def test_sjbf_backfills_the_shortest_first(self, machine):
        rows = [(0, 100, 100, 3), (0, 10, 10, 4), (1, 80, 80, 1), (1, 40, 40, 1), (1, 50, 50, 1)]
        assert run(rows, "easy", machine) == [0, 100, 1, 110, 110]
        # 4 (until 41), then 5 (until 91). Job 3 would not end by 100.
        assert run(rows, "easy-sjbf", machine) == [0, 100, 110, 1, 41]

    def test_a_job_past_its_prediction_ends_the_next_second(self, machine):
        # 1 is predicted to end at 10 and runs to 50. At 20 the shadow is 21. Job 3 (1 s) may run, 4 (2 s) not.
        rows = [(0, 50, 10, 3), (0, 5, 5, 4), (20, 1, 1, 1), (20, 2, 2, 1)]
        assert run(rows, "easy", machine) == [0, 50, 20, 55]

    def test_predictions_count_and_not_requests(self, machine):
        rows = [(0, 100, 1000, 2), (0, 50, 500, 3), (1, 99, 99, 2)]
        assert run(rows, "easy", machine, predictor="oracle") == [0, 100, 1]
        rows[2] = (1, 100, 100, 2)
        assert run(rows, "easy", machine, predictor="oracle") == [0, 100, 150]
        assert run(rows, "easy", machine, predictor="walltime") == [0, 101, 1]


class TestConservative:
    def test_no_reservation_is_delayed(self, machine):
        # Under EASY, job 4 starts on the extra core and delays 3. Conservative keeps 3 at 30.
        rows = [(0, 10, 10, 3), (0, 20, 20, 3), (0, 10, 10, 4), (0, 35, 35, 1)]
        assert run(rows, "easy", machine) == [0, 10, 35, 0]
        assert run(rows, "conservative", machine) == [0, 10, 30, 40]

    def test_later_arrivals_delay_no_job(self, machine):
        first = [(0, 20, 30, 2), (0, 30, 40, 3), (2, 10, 10, 2), (5, 25, 40, 4)]
        late = [(7, 10, 10, 1), (7, 50, 50, 1), (8, 5, 5, 2)]
        for dispatcher in ("conservative:compress=never", "conservative"):
            alone = run(first, dispatcher, machine, predictor="oracle")
            assert run(first + late, dispatcher, machine, predictor="oracle")[: len(first)] == alone

    # 1 ends at 10 instead of 100. Reserved: 2 at 100, 3 at 150, 4 at 200 (4 cores each).
    early = ((0, 10, 100, 4), (1, 50, 50, 4), (1, 50, 50, 4), (1, 50, 50, 4))

    def test_compress_moves_everybody_up(self, machine):
        assert run(self.early, "conservative", machine) == [0, 10, 60, 110]
        assert run(self.early, "conservative:compress=once", machine) == [0, 10, 60, 110]

    def test_never_keeps_the_reservations(self, machine):
        assert run(self.early, "conservative:compress=never", machine) == [0, 100, 150, 200]

    def test_until_stable_goes_back_to_jobs_that_were_passed(self, machine):
        # 1 (3 cores) ends at 5 instead of 100. Reserved: 2 (2 cores, 20 s) at 100, 3 (4 cores, 10 s) at 120,
        # 4 (2 cores, 20 s) beside 2 at 100. Compressed in order, 2 moves to 5, 3 to 25 after it, and 4 to 5.
        rows = [(0, 5, 100, 3), (1, 20, 20, 2), (1, 10, 10, 4), (1, 20, 20, 2)]
        assert run(rows, "conservative", machine) == [0, 5, 25, 5]

    def test_a_reservation_is_the_earliest_gap(self, machine):
        # 3 fits beside 1 before 2 is due at 20.
        rows = [(0, 20, 20, 2), (0, 10, 10, 4), (0, 20, 20, 2), (0, 21, 21, 2)]
        assert run(rows, "conservative", machine) == [0, 20, 0, 30]


GPUS = Machine(("core", "mem", "gpu"), np.array([[4, 8, 0], [4, 8, 2], [2, 4, 2]]))


def gpu_run(dispatcher, *jobs, **options):
    workload = Workload(jobs, GPUS)
    result = simulate(workload, dispatcher, **options)
    check(workload, result)
    return result.jobs


def job(id_, submit, time, nodes, core=0, mem=0, gpu=0):
    return Job(id_, submit, time, time, nodes, {"core": core, "mem": mem, "gpu": gpu})


class TestManyResources:
    def test_only_nodes_with_everything_count(self):
        jobs = gpu_run("fcfs", job("a", 0, 10, 2, core=1, gpu=1), job("b", 0, 10, 1, core=1))
        assert jobs["start"].tolist() == [0, 0]
        assert [p.tolist() for p in jobs["placement"]] == [[1, 1], [0]]

    @pytest.mark.parametrize("dispatcher", ["easy", "conservative"])
    def test_the_head_keeps_its_gpus(self, dispatcher):
        # a holds all GPUs of node 1 until 50. The head b wants three GPUs: shadow 50.
        a = job("a", 0, 50, 2, core=1, gpu=1)
        b = job("b", 1, 10, 3, core=1, gpu=1)
        # Job c needs a GPU for longer. All but one are b's. It therefore starts. Job d with another one waits.
        c = job("c", 2, 100, 1, core=1, gpu=1)
        d = job("d", 3, 100, 1, core=1, gpu=1)
        e = job("e", 3, 100, 2, core=2)  # no GPU: free beside them
        jobs = gpu_run(dispatcher, a, b, c, d, e)
        assert jobs["start"].tolist() == [0, 50, 2, 60, 3]

    @pytest.mark.parametrize("dispatcher", ["easy", "conservative"])
    def test_cores_without_gpus_left_do_not_help_the_head(self, dispatcher):
        # Job b requests the memory of a whole node twice. There are two nodes. Job c leaves cores, but no memory.
        a = job("a", 0, 50, 1, core=1)
        b = job("b", 1, 10, 2, core=1, mem=8)
        c = job("c", 2, 100, 3, core=1, mem=4)
        assert gpu_run(dispatcher, a, b, c)["start"].tolist() == [0, 1, 11]

    def test_best_fit_keeps_the_empty_node_free(self):
        first = [job("a", 0, 100, 1, core=1, gpu=1), job("b", 1, 10, 1, core=1), job("c", 2, 10, 1, core=4)]
        jobs = gpu_run("fcfs:placement=first-fit", *first)
        assert [p.tolist() for p in jobs["placement"]] == [[1], [0], [0]]
        assert jobs["start"].tolist() == [0, 1, 11]
        # Free shares before b: node 0 has both of its 2 resources. Node 1 has 3/4 + 1 + 1/2, node 2 all three.
        jobs = gpu_run("fcfs:placement=best-fit", *first)
        assert [p.tolist() for p in jobs["placement"]] == [[1], [0], [0]]

    def test_best_fit_differs_from_first_fit(self):
        machine = Machine.homogeneous(2, core=4)
        jobs = (
            Job("a", 0, 5, 5, 1, {"core": 3}),
            Job("b", 0, 50, 50, 1, {"core": 2}),
            Job("c", 10, 9, 9, 1, {"core": 2}),
            Job("d", 10, 9, 9, 1, {"core": 4}),
        )
        for placement, nodes, starts in (("first-fit", [0, 1, 0, 0], 19), ("best-fit", [0, 1, 1, 0], 10)):
            result = simulate(Workload(jobs, machine), f"fcfs:placement={placement}").jobs
            assert [p.tolist() for p in result["placement"]] == [[node] for node in nodes]
            assert result["start"].tolist() == [0, 0, 10, starts]

    def test_slots_of_one_job_may_share_a_node(self):
        jobs = gpu_run("easy", job("a", 0, 10, 5, core=2))
        assert jobs["placement"][0].tolist() == [0, 0, 1, 1, 2]

    def test_a_single_node_of_many_resources(self):
        # The case of one node with several resources under EASY. Job c would take the memory of b.
        machine = Machine(("core", "mem"), np.array([[4, 8]]))
        jobs = (
            Job("a", 0, 50, 50, 1, {"core": 3, "mem": 2}),
            Job("b", 1, 10, 10, 1, {"core": 2, "mem": 6}),
            Job("c", 2, 100, 100, 1, {"core": 1, "mem": 3}),
            Job("d", 3, 100, 100, 1, {"core": 1, "mem": 2}),
        )
        for dispatcher in ("easy", "conservative"):
            assert simulate(Workload(jobs, machine), dispatcher).jobs["start"].tolist() == [0, 50, 60, 3]


class TestOptions:
    def test_a_spec_sets_them(self):
        assert create_dispatcher("easy:placement=best-fit") == EASY("best-fit")
        assert create_dispatcher("fcfs:blocked=skip,placement=best-fit") == FCFS("best-fit", "skip")
        assert create_dispatcher("conservative:compress=never").options.compress == "never"

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            ("eazy", r"unknown dispatcher 'eazy' \(did you mean easy\?\); known: "),
            ("easy:place=x", "dispatcher easy: unknown option 'place'; known: placement"),
            (
                "easy:placement=x",
                "dispatcher easy: option 'placement': expected one of first-fit, best-fit, compact, got 'x'",
            ),
            ("fcfs:blocked=no", "dispatcher fcfs: option 'blocked': expected one of wait, skip, got 'no'"),
            (
                "conservative:compress=x",
                "dispatcher conservative: option 'compress': expected one of until-stable, once, never, got 'x'",
            ),
            ("easy:placement", "'easy:placement': expected NAME:key=value,key=value, got 'placement' as an option"),
        ],
    )
    def test_what_a_spec_may_not_say(self, spec, message):
        with pytest.raises(InputError, match=message):
            create_dispatcher(spec)

    @pytest.mark.parametrize("made", [lambda: EASY("x"), lambda: FCFS("x"), lambda: Conservative(placement="x")])
    def test_a_bad_value_is_refused(self, made):
        with pytest.raises(ValueError, match="placement must be one of first-fit, best-fit, compact, got 'x'"):
            made()

    @pytest.mark.parametrize("given", [3, EASY, None])
    def test_what_is_no_dispatcher(self, given):
        with pytest.raises(InputError, match="dispatcher: expected a name or an object with dispatch"):
            create_dispatcher(given)

    def test_every_dispatcher_says_in_a_line_what_it_does(self):
        for name in registry.names():
            assert registry.summary(name).endswith(".")
