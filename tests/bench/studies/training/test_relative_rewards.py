"""Rewards as parts of what a dispatcher reaches on the same jobs."""

import pytest

gymnasium = pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'hpcdispatch[learn]'")

import numpy as np  # noqa: E402

from hpcdispatch.bench.studies.training import train  # noqa: E402
from hpcdispatch.learn import Network  # noqa: E402
from hpcdispatch.simulation import simulate  # noqa: E402
from hpcdispatch.simulation.metrics import job_metrics  # noqa: E402
from hpcdispatch.workloads import generate  # noqa: E402


@pytest.mark.nightly
def test_rewards_are_shares_of_the_bounded_slowdown_under_easy(monkeypatch):
    monkeypatch.setattr(train, "EPISODE", 100)
    workload = generate("lublin:jobs=300,processors=64,load=1.1", seed=4)
    made = gymnasium.make("hpcdispatch/PickJob-v0", workload=workload, jobs=100, visible=100, backfill="none")
    env = train.relative_reward(made, workload, "easy")
    weight = np.zeros((8, 1))
    weight[2] = -1.0  # the shortest predicted run time first
    losses = [train.loss_of(Network([(weight, [0.0])]), env, [start]) for start in (50, 150)]
    easy = job_metrics(simulate(workload, "easy").jobs)["bounded_slowdown"].to_numpy()
    for start, loss in zip((50, 150), losses, strict=True):
        mine = simulate(workload.slice(start, start + 100), "sjf").summary()["bounded_slowdown_mean"]
        assert loss == pytest.approx(mine / easy[start : start + 100].mean(), rel=1e-6)
    both = train.loss_of(Network([(weight, [0.0])]), env, [50, 150])
    assert both == pytest.approx(np.mean(losses))
