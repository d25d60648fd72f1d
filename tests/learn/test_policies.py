"""Policies as dispatchers: their files, bad answers, and general machines. They need no Gymnasium."""

import json
import pickle
import re
import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import hpcdispatch as hd
from hpcdispatch.base import InputError
from hpcdispatch.learn import Network, PolicyDispatcher, Rules, load_policy, save_policy
from hpcdispatch.testing import cluster
from hpcdispatch.workloads import Job, Machine, Workload, generate

PICK = {"id": "hpcdispatch/PickJob-v0", "visible": 20, "backfill": "easy"}
WORKLOAD = generate("lublin:jobs=150,processors=64,load=1.0", seed=2)


def network(*widths, seed=0):
    rng = np.random.default_rng(seed)
    sizes = pairwise(widths)
    return Network([(rng.normal(size=size), rng.normal(size=size[1])) for size in sizes])


def test_a_saved_policy_is_the_same_dispatcher(tmp_path):
    made = network(8, 6, 1)
    path = tmp_path / "policy.npz"
    save_policy(path, made, PICK)
    first = hd.simulate(WORKLOAD, PolicyDispatcher(made, PICK))
    for dispatcher in (load_policy(path), f"policy:path={path}"):
        assert hd.simulate(WORKLOAD, dispatcher).jobs["start"].equals(first.jobs["start"])
    assert hd.check(WORKLOAD, first) is None
    compared = hd.compare(WORKLOAD, ["easy", f"policy:path={path}"], seeds=1, workers=1)
    assert len(compared.runs) == 2


def test_scores():
    by_row = Network([(np.eye(8)[:, 2:3], np.zeros(1))])
    observation = np.zeros((3, 8), dtype=np.float32)
    observation[:, 2] = 0.1, 0.9, 0.5
    assert by_row(observation, np.array([True, True, True])) == 1
    assert by_row(observation, np.array([True, False, True])) == 2
    hidden = Network([(np.full((8, 2), 0.5), np.zeros(2)), (np.ones((2, 1)), np.ones(1))])
    assert hidden.scores(observation) == pytest.approx(1 + 2 * np.tanh([0.05, 0.45, 0.25]), rel=1e-6)
    whole = Network([(np.zeros((24, 4)), np.arange(4.0))])
    assert whole(observation, np.ones(4, dtype=bool)) == 3
    with pytest.raises(InputError, match="expected 4 scores, one per action, got 3"):
        by_row(observation, np.ones(4, dtype=bool))
    with pytest.raises(InputError, match="expected 24 inputs, got 16"):
        whole(observation[:2], np.ones(4, dtype=bool))


@pytest.mark.parametrize(
    "layers",
    [
        [],
        [(np.zeros((8, 2)), np.zeros(3))],
        [(np.zeros((8, 2)), np.zeros(2)), (np.zeros((3, 1)), np.zeros(1))],
        [(np.full((8, 1), np.nan), np.zeros(1))],
        [(np.zeros(8), np.zeros(1))],
        [(np.ones((8, 1)) + 1j, np.zeros(1))],
        [(np.full((8, 1), "1"), np.zeros(1))],
    ],
)
def test_layers_that_do_not_fit(layers):
    with pytest.raises(InputError, match="network: "):
        Network(layers)


class Trap:
    """Does harm when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("a file was unpickled",)


def test_files_that_are_no_policies(tmp_path):
    path = tmp_path / "policy.npz"
    rules = np.array(json.dumps(Rules.of(PICK).fields()))
    layer = {"weight0": np.zeros((8, 1)), "bias0": np.zeros(1)}
    wrong = {
        "pickled": {"rules": rules, **layer, "weight0": np.array([Trap()], dtype=object)},
        "no rules": layer,
        "no bias": {"rules": rules, "weight0": layer["weight0"]},
        "empty": {"rules": rules},
        "other rules": {"rules": np.array('{"id": "CartPole-v1"}'), **layer},
        "unknown rules": {"rules": np.array('{"id": "PickJob-v0", "color": 3}'), **layer},
        "no object": {"rules": np.array("[1]"), **layer},
        "no json": {"rules": np.array("{"), **layer},
    }
    # Options of dispatchers would make it read another file, and show its first line.
    other = tmp_path / "other.conf"
    other.write_text("secret line")
    for name, rule in ("PolicySelect-v0", "policies"), ("Inspect-v0", "base"):
        wrong[rule] = {"rules": np.array(json.dumps({"id": name, rule: f"slurm:config={other}"})), **layer}
    for name, arrays in wrong.items():
        np.savez(path, **arrays)
        with pytest.raises(InputError, match=r"policy\.npz: expected a policy") as caught:
            load_policy(path)
        assert "\n" not in str(caught.value), name
        assert "secret" not in str(caught.value), name
    for content in (b"PK\x03\x04 nothing", pickle.dumps(Trap()), b"", b"text"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="expected a policy that save_policy wrote, got File is not a zip file"):
            load_policy(path)
    with pytest.raises(OSError, match="missing"):
        load_policy(tmp_path / "missing.npz")


@pytest.mark.parametrize("answer", [20, -1, 19, None, 0.5, "first"])
def test_answers_that_are_no_actions(answer):
    with pytest.raises(InputError, match=r"PickJob-v0: action: expected .*, got "):
        hd.simulate(WORKLOAD, PolicyDispatcher(lambda *_: answer, PICK))


@pytest.mark.parametrize(
    ("policy", "spec", "message"),
    [
        (3, PICK, "policy: expected a function"),
        (min, {"id": "CartPole-v1"}, "id must be one of"),
        (min, {"visible": 3}, "env_spec: expected an environment"),
        (min, {"id": "PickJob-v0", "color": 3}, "unknown option 'color'"),
        (min, None, "env_spec: expected"),
    ],
)
def test_what_is_no_policy(policy, spec, message):
    with pytest.raises(InputError, match=message):
        PolicyDispatcher(policy, spec)


def test_a_model_is_asked_for_predictions():
    class Model:
        def predict(self, observation, action_masks, deterministic):
            assert deterministic
            assert observation.shape == (20, 8)
            return np.array(int(action_masks.argmax())), None

    result = hd.simulate(WORKLOAD, PolicyDispatcher(Model(), PICK))
    assert result.jobs["start"].equals(hd.simulate(WORKLOAD, "easy").jobs["start"])


class Plain:
    """A model that takes no masks, as those of Stable-Baselines3."""

    def __init__(self, shape=(20, 8), actions=20, error=None):
        self.observation_space = SimpleNamespace(shape=shape)
        self.action_space = SimpleNamespace(n=actions)
        self.error = error

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        if self.error is not None:
            raise self.error
        return np.array(19), None


def test_a_masked_action_of_a_model_without_masks_is_action_0():
    dispatcher = PolicyDispatcher(Plain(), PICK)
    result = hd.simulate(WORKLOAD, dispatcher)
    assert dispatcher.replaced > 0
    first = hd.simulate(WORKLOAD, PolicyDispatcher(lambda _, mask: 19 if mask[19] else 0, PICK))
    assert result.jobs["start"].equals(first.jobs["start"])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Plain((64, 8)), r"policy: expected a model for observations of shape \(20, 8\), got one for \(64, 8\); give"),
        (Plain((20, 14)), r"policy: expected a model for observations of shape \(20, 8\), got one for \(20, 14\)"),
        (Plain(actions=5), "policy: expected a model with 20 actions, got one with 5"),
    ],
)
def test_models_of_other_environments(model, message):
    with pytest.raises(InputError, match=message):
        PolicyDispatcher(model, PICK)


@pytest.mark.parametrize("policy", [Plain(error=ValueError("wrong\nshape")), lambda *_: {}["column"]])
def test_a_policy_that_fails(policy):
    with pytest.raises(
        InputError, match=r"policy PickJob-v0: expected an action for an observation of shape \(20, 8\)"
    ) as e:
        hd.simulate(WORKLOAD, PolicyDispatcher(policy, PICK))
    assert "\n" not in str(e.value)
    assert re.search("got (ValueError: wrong|KeyError: .column.)$", str(e.value))


@pytest.mark.nightly
def test_a_choice_of_dispatchers():
    for choice, dispatcher in enumerate(("fcfs", "easy-sjbf")):
        spec = {"id": "PolicySelect-v0", "policies": "fcfs+easy-sjbf", "visible": 4}
        result = hd.simulate(WORKLOAD, PolicyDispatcher(lambda *_, choice=choice: choice, spec))
        assert result.jobs["start"].equals(hd.simulate(WORKLOAD, dispatcher).jobs["start"])


def test_slots_of_different_demands():
    workload = cluster(60)
    result = hd.simulate(workload, PolicyDispatcher(network(8, 1), PICK))
    assert hd.check(workload, result) is None
    assert (result.jobs["status"] == "completed").all()
    jobs = [Job("1", 0, 9, 9, 2, {"core": 3}), Job("2", 0, 9, 9, 1, {"core": 2}), Job("3", 1, 5, 5, 1, {"core": 1})]
    crowded = Workload(jobs, Machine.homogeneous(2, core=4))
    assert hd.simulate(crowded, PolicyDispatcher(lambda *_: 0, PICK)).jobs["start"].tolist() == [0, 9, 9]


def test_without_gymnasium_policies_run_and_environments_say_what_to_install():
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import hpcdispatch.learn as learn, hpcdispatch as hd\n"
        "assert len(hd.simulate(hd.generate('lublin:jobs=20,processors=8'), 'policy').jobs) == 20\n"
        "try:\n    learn.DispatchEnv\nexcept ImportError as error:\n    print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "hpcdispatch.learn.DispatchEnv needs Gymnasium: pip install 'hpcdispatch[learn]'\n"
