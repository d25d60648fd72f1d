"""The environments: Gymnasium's own checks, schedules of scripted policies, rewards, masks, and bad input."""

import numpy as np
import pytest
from combinations import each_value

import hpcdispatch as hd
from hpcdispatch.base import InputError
from hpcdispatch.workloads import Job, Machine, Workload, generate

gymnasium = pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'hpcdispatch[learn]'")
from gymnasium.utils.env_checker import check_env  # noqa: E402

from hpcdispatch.learn import PolicyDispatcher  # noqa: E402

IDS = ["PickJob-v0", "Backfill-v0", "Inspect-v0", "PolicySelect-v0", "TwoLevel-v0"]
POOL = generate("lublin:jobs=400,processors=64,load=1.1", seed=3)


def on_nodes(workload):
    machine = Machine.homogeneous(16, core=4)
    jobs = [
        Job(job.id, job.submit, job.runtime, job.walltime, min(16, job.nodes), {"core": 4}) for job in workload.jobs
    ]
    return Workload(jobs, machine)


WORKLOADS = {"pool": POOL, "nodes": on_nodes(POOL)}


def make(name, workload=POOL, **options):
    return gymnasium.make(f"hpcdispatch/{name}", workload=workload, **{"jobs": 120, "visible": 200, **options})


def play(env, policy, **reset):
    """Return the info of the end, the sum of the rewards and the number of steps of an episode."""
    observation, _ = env.reset(**reset)
    total = 0.0
    steps = 0
    over = False
    info = {}
    while not over:
        observation, reward, over, cut, info = env.step(policy(observation, env.unwrapped.action_masks()))
        assert not cut
        total, steps = total + reward, steps + 1
    return info, total, steps


def shortest(observation, mask):
    return int(np.where(mask, observation[:, 2], 9).argmin())


def first_backfill(observation, mask):
    return 1


def shortest_backfill(observation, mask):
    return 1 + int(np.where(mask[1:], observation[1:, 2], 9).argmin())


def always(action):
    return lambda observation, mask: action


#: Environment, options, policy, and the dispatcher that does the same.
SCRIPTED = [
    ("PickJob-v0", {"backfill": "none"}, shortest, "sjf"),
    ("PickJob-v0", {"backfill": "none"}, always(0), "fcfs"),
    ("PickJob-v0", {"backfill": "easy"}, always(0), "easy"),
    ("PickJob-v0", {"backfill": "sjbf"}, always(0), "easy-sjbf"),
    ("PickJob-v0", {"backfill": "easy", "commit": True}, always(0), "easy"),
    ("PickJob-v0", {"backfill": "easy"}, shortest, "easy:order=sjf,backfill=submission"),
    ("PickJob-v0", {"backfill": "sjbf"}, shortest, "easy:order=sjf"),
    ("Backfill-v0", {}, first_backfill, "easy"),
    ("Backfill-v0", {"visible": 2}, first_backfill, "easy"),
    ("Backfill-v0", {}, shortest_backfill, "easy-sjbf"),
    ("Backfill-v0", {}, always(0), "fcfs"),
    ("Inspect-v0", {"base": "sjf", "backfill": "none"}, always(0), "sjf"),
    ("Inspect-v0", {"base": "lxf", "backfill": "none"}, always(0), "lxf"),
    ("Inspect-v0", {"base": "fcfs", "backfill": "easy"}, always(0), "easy"),
    ("Inspect-v0", {"base": "fcfs", "backfill": "none", "most": 0}, always(1), "fcfs"),
    ("PolicySelect-v0", {"policies": "fcfs+lxf", "every": 600}, always(1), "lxf"),
    ("PolicySelect-v0", {"policies": "easy-sjbf+sjf", "every": 7}, always(0), "easy-sjbf"),
    ("PickJob-v0", {"backfill": "none", "order": "sjf"}, always(0), "sjf"),
    ("PickJob-v0", {"order": "f1", "visible": 1}, always(0), "easy:order=f1,backfill=submission"),
    ("PickJob-v0", {"order": "unicep", "visible": 3}, always(0), "easy:order=unicep,backfill=submission"),
    ("PickJob-v0", {"order": "wfp3", "backfill": "none"}, always(0), "fcfs:order=wfp3"),
    ("Inspect-v0", {"base": "f2", "backfill": "none"}, always(0), "fcfs:order=f2"),
    ("Backfill-v0", {"order": "sjf"}, first_backfill, "easy-sjbf"),
    ("Backfill-v0", {"order": "f3", "visible": 2}, first_backfill, "easy:backfill=f3"),
    ("TwoLevel-v0", {"head": "fcfs", "visible": 2}, first_backfill, "easy"),
    ("TwoLevel-v0", {"head": "sjf", "fill": "sjbf"}, always(0), "easy:order=sjf"),
    ("TwoLevel-v0", {"head": "fcfs", "fill": "none", "skip": True}, always(0), "fcfs"),
]


@pytest.mark.parametrize("kind", ["pool", pytest.param("nodes", marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("name", "options", "policy", "dispatcher"), SCRIPTED)
def test_a_scripted_policy_has_the_schedule_of_the_dispatcher(name, options, policy, dispatcher, kind):
    workload = WORKLOADS[kind]
    env = make(name, workload, **options)
    for predictor, start in (("walltime", 0), ("walltime", 200)):
        info, total, _ = play(env, policy, options={"start": start})
        part = workload.slice(start, start + 120)
        result = info["summary"].result
        expected = hd.simulate(part, dispatcher, predictor)
        for column in ("id", "start", "end", "wait", "status", "predicted", "placement"):
            assert list(map(str, result.jobs[column])) == list(map(str, expected.jobs[column])), column
        assert hd.check(part, result) is None
        told = expected.summary()
        known = info["summary"]
        assert set(told) == set(known)
        for metric in ("wait_mean", "bounded_slowdown_p95", "utilization", "makespan", "backfill_rate"):
            assert known[metric] == told[metric]
        assert total == pytest.approx(-told["bounded_slowdown_mean"])


@pytest.mark.parametrize("predictor", ["walltime", "oracle"])
def test_what_is_shown_of_run_times(predictor):
    rng = np.random.default_rng(0)
    jobs = [
        Job(str(n), 10 * n, int(rng.integers(1, 500)), int(rng.integers(500, 900)), int(rng.integers(1, 9)))
        for n in range(150)
    ]
    workload = Workload(jobs, Machine.pool(10))
    env = make("PickJob-v0", workload, backfill="none", predictor=predictor)
    info, _, _ = play(env, shortest, options={"start": 0})
    expected = hd.simulate(workload.head(120), "sjf", predictor)
    assert info["summary"].result.jobs["start"].equals(expected.jobs["start"])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", IDS)
def test_gymnasium_checks_it(name):
    check_env(make(name).unwrapped, skip_render_check=True)
    env = make(name)
    env.action_space.seed(0)
    first = play(env, lambda *_: env.action_space.sample(), seed=4)[1]
    env.action_space.seed(0)
    assert first == play(env, lambda *_: env.action_space.sample(), seed=4)[1]


@pytest.mark.parametrize("name", IDS)
def test_a_vector_of_environments_is_each_of_them(name):
    options = {"workload": POOL, "jobs": 30, "visible": 20}
    several = gymnasium.make_vec(f"hpcdispatch/{name}", 3, vectorization_mode="vector_entry_point", **options)
    single = [make(name, **options) for _ in range(3)]
    observations, told = several.reset(seed=5)
    for place, env in enumerate(single):
        # The generator of a seed is the same in both.
        observation, info = env.reset(seed=5 + place)
        assert info["start"] == told["start"][place]
        assert (observation == observations[place]).all()
    over, ends = [False] * 3, 0
    rng = np.random.default_rng(1)
    while ends < 6:
        masks = several.unwrapped.action_masks()
        actions = np.array([rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks])
        observations, rewards, ended, cut, info = several.step(actions)
        assert not cut.any()
        for place, env in enumerate(single):
            if over[place]:
                observation, _ = env.reset(options={"start": int(several.unwrapped._all.first[place])})
                reward, over[place] = 0.0, False
            else:
                observation, reward, over[place], _, told = env.step(int(actions[place]))
            assert (observation == observations[place]).all()
            assert reward == rewards[place]
            assert over[place] == ended[place]
            if over[place]:
                ends += 1
                assert info["summary"][place]["wait_mean"] == told["summary"]["wait_mean"]


def test_vectors_of_gymnasium_run_it_too():
    """Gymnasium's own vectors make environments by name, and take metrics from other processes."""
    for mode in ("sync", "async"):
        several = gymnasium.make_vec("hpcdispatch/PickJob-v0", 2, vectorization_mode=mode, workload=POOL, jobs=1)
        several.reset(seed=0)
        *_, info = several.step(np.zeros(2, dtype=int))
        summary = info["summary"] if mode == "async" else info["summary"][1]
        assert np.all(np.asarray(summary["wait_mean"]) == 0)
        several.close()


def test_a_mask_is_one_for_samples():
    """Gymnasium samples with a mask of int8 only."""
    env = make("Backfill-v0")
    _, info = env.reset(seed=0)
    assert info["action_mask"].dtype == np.int8
    assert info["action_mask"].tolist() == env.unwrapped.action_masks().tolist()
    env.action_space.seed(0)
    over = False
    while not over:
        *_, over, _, info = env.step(env.action_space.sample(info["action_mask"]) if info["action_mask"].any() else 0)
    assert info["masked_actions"] == 0


def test_observations_are_as_documented():
    jobs = [Job("0", 0, 5000, 5000, 6), Job("1", 100, 50, 99, 4), Job("2", 200, 80, 1000, 8), Job("3", 200, 10, 10, 2)]
    env = make("PickJob-v0", Workload(jobs, Machine.pool(8)), jobs=4, visible=3)
    observation, _ = env.reset(options={"start": 0})
    ln = np.log1p
    expected = np.zeros((3, 8))
    expected[0] = 1, 0, ln(5000) / 18.42, 6 / 8, 1, 0, 1, 1 / 129
    assert observation == pytest.approx(expected, abs=1e-6)
    observation, *_ = env.step(0)
    # At 100 s nothing fits, so that nothing is asked until 200 s.
    expected[0] = 1, 100 / 3700, ln(99) / 18.42, 4 / 8, 0, 100 / 199, 2 / 8, 3 / 131
    expected[1] = 1, 0, ln(1000) / 18.42, 1, 0, 0, 2 / 8, 3 / 131
    expected[2] = 1, 0, ln(10) / 18.42, 2 / 8, 1, 0, 2 / 8, 3 / 131
    assert observation == pytest.approx(expected, abs=1e-6)
    assert env.unwrapped.action_masks().tolist() == [True] * 3


@pytest.mark.parametrize("reward", ["wait", "slowdown", "turnaround", "-makespan", "utilization", "own"])
@pytest.mark.parametrize("name", ["PickJob-v0", "PolicySelect-v0"])
def test_rewards(name, reward):
    given = (lambda result: float(result.jobs["wait"].max())) if reward == "own" else reward
    info, total, _ = play(make(name, reward=given), always(0), seed=2)
    summary = info["summary"]
    expected = {"own": summary["wait_max"], "-makespan": -summary["makespan"], "utilization": summary["utilization"]}
    assert total == pytest.approx(expected.get(reward, -summary.get(f"{reward}_mean", 0)))


@pytest.mark.parametrize("reward", ["wait_mean_long", lambda result: float("nan")])
def test_a_reward_that_is_no_number(reward):
    """No job is long, so that the mean wait of long jobs is undefined."""
    jobs = [Job(str(n), 10 * n, 5, 5) for n in range(4)]
    env = make("PickJob-v0", Workload(jobs, Machine.pool(2)), jobs=2, reward=reward)
    with pytest.raises(InputError, match="reward: expected a number, got nan in the episode from 1"):
        play(env, always(0), options={"start": 1})


def test_a_metric_that_the_first_jobs_do_not_have():
    jobs = [Job(str(n), n, 5, 5, user="u" if n > 3 else "") for n in range(8)]
    info, total, _ = play(make("PickJob-v0", Workload(jobs, Machine.pool(2)), jobs=8, reward="users"), always(0))
    assert total == info["summary"]["users"] == 1


def test_a_chosen_job_stays_chosen():
    """A commitment is one choice a job that is not backfilled, and nothing overtakes it but what it lets pass."""
    jobs = [Job("0", 0, 100, 100, 6), Job("1", 1, 10, 10, 4), Job("2", 50, 5, 5, 5)]
    starts = {}
    for commit in (False, True):
        env = make("PickJob-v0", Workload(jobs, Machine.pool(8)), jobs=3, backfill="none", commit=commit)
        info, _, steps = play(env, shortest, options={"start": 0})
        starts[commit] = info["summary"].result.jobs["start"].tolist(), steps
    assert starts == {True: ([0, 100, 110], 3), False: ([0, 105, 100], 3)}


def test_a_job_that_is_put_off_starts_later():
    jobs = [Job("0", 0, 10, 10, 1), Job("1", 5, 10, 10, 1)]
    env = make("Inspect-v0", Workload(jobs, Machine.pool(8)), jobs=2, delay=3, most=4, base="fcfs")
    for late in (1, True, np.True_, np.int8(1), np.array(1)):
        info, _, steps = play(env, always(late), options={"start": 0})
        assert info["summary"].result.jobs["start"].tolist() == [9, 19]
        assert steps == 8


def test_bad_actions():
    env = make("Backfill-v0", masked="error", visible=8)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    with pytest.raises(InputError, match="Backfill-v0: the episode is over"):
        env.unwrapped.step(0)
    env.reset(seed=0)
    assert not env.unwrapped.action_masks()[-1]
    for action, message in (
        (8, "action: expected 0 to 7, got 8"),
        (-1, "got -1"),
        (0.5, "got 0.5"),
        (7, r"action: expected one of \d allowed, got 7, masked"),
    ):
        with pytest.raises(InputError, match=message):
            env.step(action)
    info, _, _ = play(env, always(0), seed=0)
    assert info["masked_actions"] == 0
    with pytest.raises(InputError, match="the episode is over; expected reset"):
        env.step(0)
    info, _, steps = play(make("Backfill-v0", visible=200), always(199), seed=0)
    assert info["masked_actions"] == steps
    several = gymnasium.make_vec("hpcdispatch/PickJob-v0", 2, vectorization_mode="vector_entry_point", workload=POOL)
    with pytest.raises(InputError, match=r"expected reset\(\) before the first step"):
        several.step([0, 0])
    with pytest.raises(InputError, match="seed: expected 2, one per environment, got 1"):
        several.reset(seed=[1])
    with pytest.raises(gymnasium.error.Error, match="Seed must be"):
        several.reset(seed=[0, -1])
    starts = [several.reset(seed=seed)[1]["start"].tolist() for seed in (3, np.int64(3), [3, 4])]
    assert starts == [starts[0]] * 3
    with pytest.raises(InputError, match="environment: num_envs must be a whole number >= 1"):
        gymnasium.make_vec("hpcdispatch/PickJob-v0", 0, vectorization_mode="vector_entry_point", workload=POOL)
    several.reset(seed=0)
    for actions, message in (([0], "actions: expected 2"), ([[0], [0]], "actions: expected 2"), ([0, 999], "got 999")):
        with pytest.raises(InputError, match=message):
            several.step(np.array(actions))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("PickJob-v0", {"jobs": 0}, "jobs must be"),
        ("PickJob-v0", {"jobs": 401}, "part: expected at least 401 jobs, got 400"),
        ("PickJob-v0", {"part": (0.5, 0.6)}, "part: expected at least 120 jobs, got 40"),
        ("PickJob-v0", {"part": (0.6, 0.5)}, "part: expected two rising numbers"),
        ("PickJob-v0", {"visible": 0}, "visible must be"),
        ("PickJob-v0", {"backfill": "all"}, "backfill must be one of none, easy, sjbf"),
        ("PickJob-v0", {"predictor": "last3"}, "environment: unknown predictor 'last3'"),
        ("PickJob-v0", {"predictor": 3}, "predictor: expected a name or an object with predict"),
        ("PickJob-v0", {"order": "f9"}, "environment: unknown order 'f9'"),
        ("PickJob-v0", {"order": 3}, "order must be the name of an order, got 3"),
        ("PickJob-v0", {"observe": ["colour"]}, "observe: unknown column 'colour'; expected allowed, wait"),
        ("PickJob-v0", {"observe": ["next_end"]}, "observe: unknown column 'next_end'; .* next_end:N"),
        ("PickJob-v0", {"observe": ["next_end:0"]}, "next_end: expected a number from 1 to 64, got '0'"),
        ("PickJob-v0", {"observe": ["cores", "cores"]}, "expected each column once, got 'cores' twice"),
        ("PickJob-v0", {"observe": 7}, "observe: expected a list of names of columns, got 7"),
        ("PickJob-v0", {"warm_up": "esay"}, "warm_up: unknown dispatcher 'esay'"),
        ("PickJob-v0", {"reward": "fun"}, "reward: expected wait, turnaround"),
        ("PickJob-v0", {"masked": "maybe"}, "masked must be one of replace, error, got 'maybe'"),
        ("PickJob-v0", {"color": "red"}, "unknown option 'color'; of decisions: visible, backfill"),
        ("PickJob-v0", {"every": 60}, "every is no option of PickJob-v0"),
        ("Backfill-v0", {"backfill": "none"}, "backfill is no option of Backfill-v0"),
        ("Inspect-v0", {"base": "easy"}, "base must be one of fcfs, sjf, .*f4, got 'easy'"),
        ("Inspect-v0", {"base": "fcfs:order=f1"}, "base must be one of"),
        ("PolicySelect-v0", {"policies": "fcfs+hcp33"}, "unknown dispatcher 'hcp33'"),
        ("PolicySelect-v0", {"every": 0}, "every must be"),
        ("PolicySelect-v0", {"policies": ["fcfs"]}, "policies must be names with"),
        ("PickJob-v0", {"skip": True}, "skip is no option of PickJob-v0"),
        ("TwoLevel-v0", {"head": "easy"}, "head must be one of policy, fcfs, .* got 'easy'"),
        ("TwoLevel-v0", {"fill": "all"}, "fill must be one of policy, none, easy, sjbf, got 'all'"),
    ],
)
def test_bad_options(name, options, message):
    with pytest.raises(InputError, match=message) as caught:
        make(name, **options)
    assert "\n" not in str(caught.value)


def test_workloads_that_the_loop_does_not_know():
    jobs = [Job("0", 0, 1, 1), Job("1", 0, 1, 1, depends=(("0", "afterok"),))]
    with pytest.raises(InputError, match="expected rigid jobs without dependencies or begin times"):
        make("PickJob-v0", Workload(jobs, Machine.pool(2)), jobs=1)
    jobs = [Job("0", 0, 1, 1, 1, {"core": 1}), Job("1", 0, 1, 1, 1, {"core": 2})]
    with pytest.raises(InputError, match="on nodes, expected slots that all ask for the same amounts"):
        make("PickJob-v0", Workload(jobs, Machine.homogeneous(2, core=2)), jobs=1)
    jobs = [Job(str(n), n, 1, 1, n + 1) for n in range(4)]
    env = make("PickJob-v0", Workload(jobs, Machine.pool(3)), jobs=3)
    assert len(env.unwrapped.workload) == 3
    for options in ({"start": 1}, {"start": -1}, {"stop": 1}, "start", 3):
        with pytest.raises(InputError, match="reset: options"):
            env.reset(options=options)


def test_part_and_seed():
    env = make("PickJob-v0", jobs=10, part=(0.5, 0.6))
    starts = [env.reset(seed=seed)[1]["start"] for seed in range(60)]
    assert min(starts) >= 200
    assert max(starts) <= 230
    assert len(set(starts)) > 15
    assert starts == [env.reset(seed=seed)[1]["start"] for seed in range(60)]


@pytest.mark.parametrize(
    ("name", "options", "kind"),
    each_value(
        [
            ("PickJob-v0", {}),
            ("PickJob-v0", {"commit": True, "backfill": "none"}),
            ("PickJob-v0", {"visible": 5}),
            ("Backfill-v0", {"visible": 4}),
            ("Inspect-v0", {"base": "fcfs", "delay": 50, "most": 3}),
            ("PolicySelect-v0", {"every": 900}),
        ],
        list(WORKLOADS),
    ),
)
def test_a_policy_dispatches_as_it_played(name, options, kind):
    """A policy that reads all of an observation has the same schedule in the environment and in the simulator."""
    weights = np.random.default_rng(7).normal(size=8)

    def policy(observation, mask):
        allowed = np.flatnonzero(mask)
        if len(mask) == 5:  # Not rows, but visible jobs or dispatchers: any of them.
            return int(allowed[int(observation.sum() * 1e4) % len(allowed)])
        scores = (observation @ weights)[: len(mask)]
        return int(np.where(mask, scores, -np.inf).argmax())

    workload = WORKLOADS[kind]
    env = make(name, workload, **options)
    info, _, _ = play(env, policy, options={"start": 100})
    part = workload.slice(100, 220)
    for spec in (env, env.spec, {"id": name, "visible": 200, **options}):
        result = hd.simulate(part, PolicyDispatcher(policy, spec))
        assert result.jobs["start"].tolist() == info["summary"].result.jobs["start"].tolist()
        assert hd.check(part, result) is None


@pytest.mark.parametrize("name", ["Backfill-v0", "PickJob-v0"])
def test_an_episode_without_a_decision_ends_with_its_first_step(name):
    """Of Backfill-v0: here no job is ever behind another one. Its rewards are there all the same."""
    jobs = [Job(str(n), 100 * n, 10, 10, 1) for n in range(3)]
    env = make(name, Workload(jobs, Machine.pool(2)), jobs=3, masked="error")
    info, total, steps = play(env, always(0), seed=0)
    assert (total, steps) == (-1.0, 3 if name == "PickJob-v0" else 1)
    assert info["summary"]["wait_mean"] == 0


def test_a_node_that_no_job_can_use_is_left_out():
    workload = generate("lublin", jobs=30, processors=16, seed=4)
    other = Workload(workload.jobs, Machine(("core", "licence"), [[16, 0], [0, 7]]))
    seen = [make("PickJob-v0", each, jobs=30).reset(options={"start": 0})[0] for each in (workload, other)]
    assert (seen[0] == seen[1]).all()


@pytest.mark.nightly
@pytest.mark.parametrize("name", IDS)
def test_stable_baselines3_makes_and_checks_it(name):
    needed = "needs sb3-contrib: pip install 'hpcdispatch[train]'"
    stable = pytest.importorskip("stable_baselines3", reason=needed)
    from stable_baselines3.common import env_checker, env_util  # noqa: PLC0415

    env_checker.check_env(gymnasium.make(f"hpcdispatch/{name}", render_mode="rgb_array"), warn=False)
    several = env_util.make_vec_env(f"hpcdispatch/{name}", 2)
    several.reset()
    assert several.step(np.zeros(2, dtype=int))[1].shape == (2,)
    stable.PPO("MlpPolicy", f"hpcdispatch/{name}", n_steps=16, batch_size=16).learn(16)
