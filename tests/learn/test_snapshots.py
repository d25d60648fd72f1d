"""Snapshots, deep copies and pickles of environments go on step by step as the environment itself."""

import copy
import pickle

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import Job, Machine, Workload, generate

gymnasium = pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'hpcdispatch[learn]'")
import hpcdispatch.learn  # noqa: E402 - registers the environments

#: Environments. The last three run in the engine.
CASES = [
    ("PickJob-v0", {}),
    ("Backfill-v0", {"warm_up": "easy"}),
    ("Inspect-v0", {"observe": ["allowed", "user", "user_running", "shadow"]}),
    ("PolicySelect-v0", {"warm_up": "fcfs"}),
    ("TwoLevel-v0", {"skip": True, "order": "f1"}),
    ("PickJob-v0", {"predictor": "last2", "warm_up": "easy"}),
    ("PolicySelect-v0", {"policies": "conservative+lookahead+f1", "every": 900}),
    ("TwoLevel-v0", {"order": "fairshare", "commit": True}),
]
#: Episodes of a test, and of a night.
FEW, MANY = 8, 200
COUNTS = [FEW, pytest.param(MANY, marks=pytest.mark.nightly)]


def workload(seed):
    """Return a small trace on a pool, or on nodes for odd seeds."""
    made = generate("lublin:jobs=90,processors=64,load=1.1", seed=seed)
    if seed % 2 == 0:
        return made
    jobs = [Job(job.id, job.submit, job.runtime, job.walltime, min(16, job.nodes), {"core": 4}) for job in made.jobs]
    return Workload(jobs, Machine.homogeneous(16, core=4))


def chosen(env, rng):
    """Return an allowed action. An episode without decisions takes any."""
    masks = env.unwrapped.action_masks()
    return int(rng.choice(np.flatnonzero(masks))) if masks.any() else 0


def restored(env):
    """Return another environment at the snapshot of this one, which has been stored in between."""
    made = gymnasium.make(env.spec)
    made.reset()
    made.unwrapped.restore(pickle.loads(pickle.dumps(env.unwrapped.snapshot())))
    return made


def returned(env):
    """Return the environment itself, back from other steps and another episode."""
    kept = env.unwrapped.snapshot()
    for _ in range(7):
        if env.step(chosen(env, np.random.default_rng(0)))[2]:
            break
    env.reset(options={"start": 0})
    env.unwrapped.restore(kept)
    return env


COPIES = {
    "deep copy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "snapshot": restored,
    "return": returned,
}


def steps_of(env, rng):
    """Return all that is seen of the rest of an episode, and where the next one starts."""
    seen, over = [], False
    while not over:
        action = chosen(env, rng)
        observation, reward, over, _, info = env.step(action)
        seen.append((action, observation.tobytes(), reward, env.unwrapped.action_masks().tobytes()))
    starts = info["summary"].result.jobs["start"].tolist()
    return seen, starts, env.reset()[1]["start"]


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("count", COUNTS)
def test_copies_go_on_alike(how, count):
    for episode in range(count):
        rng = np.random.default_rng(episode)
        name, special = CASES[episode % len(CASES)]
        options = {"workload": workload(episode // 8), "jobs": 60, "visible": int(rng.integers(1, 30)), **special}
        env = gymnasium.make(f"hpcdispatch/{name}", **options)
        env.reset(seed=episode)
        for _ in range(int(rng.integers(0, 12))):
            if env.step(chosen(env, rng))[2]:
                env.reset()
        # The original goes on first, so that a copy that shares an array with it would differ.
        own = copy.deepcopy(env) if how == "return" else env
        other = COPIES[how](env)
        assert steps_of(own, np.random.default_rng(1)) == steps_of(other, np.random.default_rng(1))


@pytest.mark.parametrize("how", ["deep copy", "pickle", "snapshot"])
@pytest.mark.parametrize("count", COUNTS)
def test_copies_of_vectors_go_on_alike(how, count):
    for episode in range(0, count, 4):
        name, special = CASES[episode // 4 % len(CASES)]
        name = f"hpcdispatch/{name}"
        options = {"workload": workload(episode // 4), "jobs": 20, "visible": 8, **special}
        vector = {"num_envs": 4, "vectorization_mode": "vector_entry_point"}
        several = gymnasium.make_vec(name, **vector, **options)
        several.reset(seed=episode)
        walk(several, 9, 0)
        if how == "snapshot":
            other = gymnasium.make_vec(name, **vector, **options)
            kept = pickle.loads(pickle.dumps(several.unwrapped.snapshot()))
            other.reset(seed=3)
            other.unwrapped.restore(kept)
        else:
            other = COPIES[how](several)
        assert walk(several, 40, 1) == walk(other, 40, 1)


def walk(several, steps, seed):
    rng = np.random.default_rng(seed)
    seen = []
    for _ in range(steps):
        masks = several.unwrapped.action_masks()
        actions = np.array([rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks])
        observations, rewards, ended, _, _ = several.step(actions)
        seen.append((observations.tobytes(), rewards.tolist(), ended.tolist()))
    return seen


def test_a_tree_search_finds_the_best_first_choice():
    """Two jobs wait. The short one first has the smaller slowdown, and the search sees it by trying both."""
    jobs = [Job("0", 0, 100, 100, 4), Job("1", 1, 1000, 1000, 4), Job("2", 2, 10, 10, 4)]
    options = {"workload": Workload(jobs, Machine.pool(4)), "jobs": 3, "visible": 3, "backfill": "none"}
    env = gymnasium.make("hpcdispatch/PickJob-v0", **options).unwrapped
    env.reset(options={"start": 0})
    env.step(0)
    here = env.snapshot()
    values = []
    for first in range(2):
        env.restore(here)
        total, over, action = 0.0, False, first
        while not over:
            _, reward, over, _, _ = env.step(action)
            total, action = total + reward, 0
        values.append(total)
    assert values[1] > values[0]


def test_snapshots_of_other_environments():
    def make(kind="PickJob-v0", **options):
        made = gymnasium.make(f"hpcdispatch/{kind}", **{"workload": workload(0), "jobs": 20, "visible": 8, **options})
        made.reset(seed=0)
        return made.unwrapped

    kept = make().snapshot()
    make(workload=workload(0)).restore(kept)
    for env, message in (
        (make(workload=workload(2)), r"restore: workload: expected .* SHA-256 .*, got a snapshot with .*SHA-256"),
        (make(visible=9), "restore: visible: expected 9, got a snapshot with 8"),
        (make("Backfill-v0"), "restore: id: expected 'Backfill-v0', got a snapshot with 'PickJob-v0'"),
        (make(jobs=21), "restore: jobs: expected 21, got a snapshot with 20"),
        (make(reward="wait"), "restore: reward: expected 'wait', got a snapshot with 'bounded_slowdown'"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            env.restore(kept)
        assert "\n" not in str(caught.value)
    several = gymnasium.make_vec(
        "hpcdispatch/PickJob-v0",
        2,
        vectorization_mode="vector_entry_point",
        workload=workload(0),
        jobs=20,
        visible=8,
    )
    with pytest.raises(InputError, match="restore: environments: expected 2, got a snapshot with 1"):
        several.unwrapped.restore(kept)
    with pytest.raises(InputError, match=r"restore: expected what snapshot\(\) returned, got 3"):
        make().restore(3)


@pytest.mark.parametrize("mode", [None, "rgb_array"])
def test_entry_points_of_other_libraries_pass_a_render_mode(mode):
    options = {"workload": workload(0), "jobs": 20}
    env = gymnasium.make("hpcdispatch/PickJob-v0", render_mode=mode, **options)
    several = gymnasium.make_vec(
        "hpcdispatch/PickJob-v0", 2, vectorization_mode="vector_entry_point", render_mode=mode, **options
    )
    env.reset(seed=0)
    several.reset(seed=0)
    if mode is None:
        assert env.unwrapped.render() is None
        assert several.unwrapped.render() is None
    else:
        empty = env.render()
        assert empty.shape == several.render()[0].shape == (192, 256, 3)
        env.step(0)
        assert (env.render() != empty).any()
    with pytest.raises(InputError, match="render_mode: expected rgb_array or None, got 'ansi'"):
        hpcdispatch.learn.DispatchEnv("PickJob-v0", render_mode="ansi", **options)
