"""Episodes that begin inside the trace, with predictors that learn, and with dispatchers of all kinds."""

import numpy as np
import pytest

import hpcdispatch as hd
from hpcdispatch.base import InputError
from hpcdispatch.workloads import Job, Machine, Workload, generate

gymnasium = pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'hpcdispatch[learn]'")
from hpcdispatch.learn import PolicyDispatcher  # noqa: E402

POOL = generate("lublin:jobs=300,processors=64,load=1.2,users=6", seed=5)
NODES = Workload(
    [Job(job.id, job.submit, job.runtime, job.walltime, min(16, job.nodes), {"core": 4}) for job in POOL.jobs],
    Machine.homogeneous(16, core=4),
)


def make(name="PickJob-v0", workload=POOL, **options):
    return gymnasium.make(f"hpcdispatch/{name}", workload=workload, **{"jobs": 60, "visible": 100, **options})


def play(env, action=0, start=0):
    """Return the info of the end and the sum of rewards, if one action is always taken."""
    env.reset(options={"start": start})
    total, over, info = 0.0, False, {}
    while not over:
        _, reward, over, _, info = env.step(action)
        total += reward
    return info, total


@pytest.mark.parametrize("workload", [POOL, NODES], ids=["pool", "nodes"])
@pytest.mark.parametrize(("backfill", "dispatcher"), [("easy", "easy"), ("sjbf", "easy-sjbf")])
def test_warm_episodes_go_on_from_the_trace(workload, backfill, dispatcher):
    """While no later job has come, the schedule is that of the whole trace."""
    whole = hd.simulate(workload, dispatcher).jobs.set_index("id")
    env = make(workload=workload, backfill=backfill, warm_up=dispatcher)
    for start in (0, 40, 133, 200):
        info, total = play(env, start=start)
        result = info["summary"].result
        found = result.jobs.set_index("id")
        last = workload.jobs[min(start + 60, 299)].submit
        sure = whole.loc[found.index, "start"] < last
        assert sure.sum() > 20
        assert (whole.loc[found.index, "start"][sure] == found["start"][sure]).all()
        expected = hd.simulate(result_workload(workload, found.index), dispatcher, state=result.state)
        assert expected.jobs["start"].tolist() == result.jobs["start"].tolist()
        assert expected.summary()["utilization"] == info["summary"]["utilization"]
        assert hd.check(result_workload(workload, found.index), result) is None
        began = {each.id for each in result.state.running}
        mine = found[~found.index.isin(began)]
        run = mine["end"] - mine["start"]
        slowdown = np.maximum(1, (mine["wait"] + run) / np.maximum(run, 10))
        assert total == pytest.approx(-slowdown.mean())
    assert env.unwrapped.snapshot().facts["warm_up"] == dispatcher


def result_workload(workload, ids):
    kept = set(ids)
    return workload.with_jobs([job for job in workload.jobs if job.id in kept])


def test_a_warm_beginning_has_running_and_waiting_jobs():
    free, queue = {}, {}
    for warm_up in (None, "easy"):
        env = make(warm_up=warm_up)
        seen = [env.reset(options={"start": start}) for start in range(60, 240, 20)]
        free[warm_up] = min(float(observation[0, 6]) for observation, _ in seen)
        queue[warm_up] = max(int((info["jobs"] >= 0).sum()) for _, info in seen)
    assert free[None] == 1 > free["easy"]
    assert queue[None] == 1 < queue["easy"]


@pytest.mark.parametrize("predictor", ["last2", "heuristic", "empirical", "regression"])
def test_predictors_that_learn(predictor):
    """An episode is the simulation with this predictor. Corrections of running jobs are among it."""
    part = POOL.slice(20, 80)
    info, _ = play(make(predictor=predictor, backfill="sjbf"), start=20)
    expected = hd.simulate(part, "easy-sjbf", predictor)
    for column in ("start", "predicted", "placement"):
        assert list(map(str, info["summary"].result.jobs[column])) == list(map(str, expected.jobs[column]))
    if predictor not in ("empirical", "regression"):  # They need more jobs than an episode has.
        assert info["summary"].result.jobs["predicted"].tolist() != part.columns.walltime.tolist()


def test_predictors_learn_from_the_jobs_before_a_warm_episode():
    info, _ = play(make(predictor="last2", warm_up="easy"), start=150)
    result = info["summary"].result
    assert len(result.state.ended) > 80
    part = result_workload(POOL, result.jobs["id"])
    expected = hd.simulate(part, "easy", "last2", state=result.state)
    assert expected.jobs["start"].tolist() == result.jobs["start"].tolist()
    assert expected.jobs["predicted"].tolist() == result.jobs["predicted"].tolist()


def test_a_predictor_object_is_not_shared():
    class Counts:
        def __init__(self):
            self.seen = 0

        def predict(self, job, now):
            return job.walltime / (1 + self.seen)

        def observe(self, job):
            self.seen += 1

    mine = Counts()
    env = make(predictor=mine, backfill="sjbf")
    first = play(env, start=0)[1]
    assert play(env, start=0)[1] == first
    assert mine.seen == 0


NAMES = ["f1", "wfp3", "conservative", "lookahead", "easy:order=f2", "hcp3:m=5", "fairshare"]


@pytest.mark.parametrize("number", range(len(NAMES)))
def test_all_dispatchers_can_be_chosen(number):
    part = POOL.slice(0, 40)
    policies = "+".join(NAMES)
    info, _ = play(make("PolicySelect-v0", jobs=40, policies=policies, every=600), action=number)
    name = NAMES[number] if number not in (0, 1, 6) else f"fcfs:order={NAMES[number]}"
    assert info["summary"].result.jobs["start"].tolist() == hd.simulate(part, name).jobs["start"].tolist()
    same = PolicyDispatcher(lambda *_: number, {"id": "PolicySelect-v0", "policies": policies, "every": 600})
    assert hd.simulate(part, same).jobs["start"].tolist() == info["summary"].result.jobs["start"].tolist()


def test_any_registered_order_sorts_the_rows():
    """The usage of users is known in the engine only. Always the first row is the dispatcher with this order."""
    rng = np.random.default_rng(0)
    jobs = [
        Job(str(n), 10 * n, int(rng.integers(20, 400)), 400, int(rng.integers(1, 6)), user=f"u{n % 3}")
        for n in range(60)
    ]
    workload = Workload(jobs, Machine.pool(8))
    for order in ("fairshare", "priority", "wfp3", "ljf"):
        info, _ = play(make(workload=workload, order=order, visible=2))
        expected = hd.simulate(workload, f"easy:order={order},backfill=submission")
        assert info["summary"].result.jobs["start"].tolist() == expected.jobs["start"].tolist()


@pytest.mark.parametrize("options", [{}, {"predictor": "last2"}])
def test_vectors_are_warm_too(options):
    several = gymnasium.make_vec(
        "hpcdispatch/PickJob-v0",
        2,
        vectorization_mode="vector_entry_point",
        workload=POOL,
        jobs=30,
        visible=20,
        warm_up="easy",
        **options,
    )
    _, info = several.reset(seed=3)
    single = [make(jobs=30, visible=20, warm_up="easy", **options) for _ in range(2)]
    seen = [env.reset(seed=3 + place) for place, env in enumerate(single)]
    for _ in range(25):
        assert [each[1]["jobs"].tolist() for each in seen] == info["jobs"].tolist()
        assert [each[1]["now"] for each in seen] == info["now"].tolist()
        observations, rewards, ended, _, info = several.step([0, 0])
        steps = [env.step(0) for env in single]
        assert [each[1] for each in steps] == rewards.tolist()
        if ended.any():
            break
        assert all((each[0] == observations[place]).all() for place, each in enumerate(steps))
        seen = [(each[0], each[4]) for each in steps]


@pytest.mark.parametrize("warm_up", [None, "easy"])
@pytest.mark.parametrize("workload", [POOL, NODES], ids=["pool", "nodes"])
def test_quick_metrics_are_those_of_the_summary(workload, warm_up):
    """Rewards at the end need no records for them, which take longer than the whole episode."""
    env = make(workload=workload, warm_up=warm_up)
    info, _ = play(env, start=120)
    every = env.unwrapped._all
    quick = {name: every._terminal(0, name) for name in info["summary"]}
    known = {name: value for name, value in quick.items() if value is not None}
    assert len(known) == 4 * 4 * 5 + 3
    for name, value in known.items():
        assert value == pytest.approx(info["summary"][name], nan_ok=True, rel=1e-12), name


def test_a_warm_up_that_fails():
    class Raises:
        def dispatch(self, state):
            raise ValueError("no")

    with pytest.raises(hd.simulation.SimulationError, match=r"Raises at t=.*: dispatch raised ValueError: no"):
        make(warm_up=Raises())
    with pytest.raises(InputError, match="warm_up: dispatcher: expected a name or an object with dispatch"):
        make(warm_up=3)
