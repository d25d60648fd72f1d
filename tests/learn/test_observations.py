"""Selected columns of observations, against what a dispatcher sees in the simulator."""

import numpy as np
import pytest

import hpcdispatch as hd
from hpcdispatch.base import InputError
from hpcdispatch.workloads import Job, Machine, Workload

gymnasium = pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'hpcdispatch[learn]'")
from hpcdispatch.learn import Network, PolicyDispatcher, load_policy, save_policy  # noqa: E402
from hpcdispatch.learn.columns import DEFAULT, NAMES, NUMBERED  # noqa: E402

ALL = [f"{name}:3" if name in NUMBERED else name for name in NAMES]


def trace(nodes):
    rng = np.random.default_rng(1)
    jobs = []
    for number in range(80):
        run = int(rng.integers(50, 900))
        jobs.append(
            Job(
                str(number),
                40 * number,
                run,
                run + int(rng.integers(0, 300)),
                int(rng.integers(1, 6)),
                {"core": 2} if nodes else {"core": 1},
                user=f"user{number % 4}" if number % 5 else "",
                group=f"group{number % 2}",
                name=f"name{number % 3}",
                queue=f"queue{number % 2}",
            )
        )
    return Workload(jobs, Machine.homogeneous(8, core=2) if nodes else Machine.pool(9))


def ln(seconds):
    return min(1.0, np.log1p(seconds) / 18.42)


def expected_columns(state, visible):
    """Return columns by their names, shape (jobs,), from the state before the first decision of an instant."""
    now, queue, running = state.now, state.queue.entries[:visible], state.running.entries
    whole = int(state.machine.capacity.sum())
    free = int(state.free.sum())
    ends = sorted((each.expected_end(now), each.nodes * each.demand[0]) for each in running)
    shown = {name: [] for name in ("walltime", "cores", "shadow", "user_running", "running", "hour", "weekday")}
    shown |= {f"next_end:{k}": [] for k in (1, 2, 3)} | {f"next_free:{k}": [] for k in (1, 2, 3)}
    for each in queue:
        need, room, shadow = each.nodes * each.demand[0], free, now
        for end, amount in ends:
            if room >= need and end > shadow:
                break
            room, shadow = room + amount, end
        same = sum(other.job.user == each.job.user for other in running)
        shown["walltime"].append(ln(each.walltime))
        shown["cores"].append(ln(need))
        shown["shadow"].append(0 if need <= free else ln(shadow - now))
        shown["user_running"].append(same / (same + 8))
        shown["running"].append(len(running) / (len(running) + 128))
        shown["hour"].append(now % 86400 / 86400)
        shown["weekday"].append(now // 86400 % 7 / 7)
        for k in (1, 2, 3):
            shown[f"next_end:{k}"].append(ln(ends[k - 1][0] - now) if k <= len(ends) else 1)
            shown[f"next_free:{k}"].append((free + sum(amount for _, amount in ends[:k])) / whole)
    return shown


class Watched(PolicyDispatcher):
    """Compares the first observation of each instant with the state."""

    def dispatch(self, state):
        self.state, self.first = state, True
        return super().dispatch(state)


@pytest.mark.parametrize("nodes", [False, True], ids=["pool", "nodes"])
def test_columns_are_as_documented(nodes):
    workload = trace(nodes)
    env = gymnasium.make("hpcdispatch/PickJob-v0", workload=workload, jobs=80, visible=6, observe=ALL, backfill="none")
    columns = env.unwrapped.columns
    seen, compared = [], 0
    observation, _ = env.reset(options={"start": 0})
    over = False
    while not over:
        seen.append(observation)
        observation, _, over, _, info = env.step(0)

    def policy(observation, mask):
        nonlocal compared
        assert (observation == seen.pop(0)).all()
        if dispatcher.first:
            expected = expected_columns(dispatcher.state, 6)
            for name, values in expected.items():
                found = observation[: len(values), columns.index(name)]
                assert found == pytest.approx(np.array(values), abs=1e-5), name
            compared += len(dispatcher.state.running) > 1
            dispatcher.first = False
        return 0

    dispatcher = Watched(policy, env)
    result = hd.simulate(workload, dispatcher)
    assert compared > 20
    assert result.jobs["start"].tolist() == info["summary"].result.jobs["start"].tolist()


def test_equal_users_have_equal_numbers():
    workload = trace(False)
    env = gymnasium.make("hpcdispatch/PickJob-v0", workload=workload, jobs=80, visible=40, observe=["user", "wait"])
    _, info = env.reset(options={"start": 0})
    observation = None
    for _ in range(30):
        observation, _, _, _, info = env.step(0)
    users = [workload.jobs[job].user for job in info["jobs"] if job >= 0]
    values = dict(zip(users, observation[:, 0].tolist(), strict=False))
    assert len(set(values.values())) == len(values) > 3
    assert values[""] == 0
    assert observation[: len(users), 0].tolist() == [values[user] for user in users]


def test_default_columns_by_name_are_the_default():
    workload = trace(False)
    seen = []
    for observe in ((), DEFAULT, "+".join(DEFAULT), list(reversed(DEFAULT))):
        env = gymnasium.make("hpcdispatch/Backfill-v0", workload=workload, jobs=80, visible=6, observe=observe)
        env.reset(options={"start": 0})
        seen.append([env.step(number % 3)[0] for number in range(12)])
    for first, second, text, turned in zip(*seen, strict=True):
        assert (first == second).all()
        assert (first == text).all()
        assert first == pytest.approx(turned[:, ::-1])


def test_a_policy_of_other_columns(tmp_path):
    """A file has the columns with it, and a network of another width says what differs."""
    workload = trace(False)
    env = gymnasium.make("hpcdispatch/PickJob-v0", workload=workload, jobs=80, visible=20, observe=["allowed", "cores"])
    path = tmp_path / "policy.npz"
    save_policy(path, Network([(np.array([[0.0], [1.0]]), np.zeros(1))]), env)
    loaded = load_policy(path)
    assert loaded.rules.observe == ("allowed", "cores")
    wide = Network([(np.zeros((8, 1)), np.zeros(1))])
    assert (hd.simulate(workload, loaded).jobs["status"] == "completed").all()
    with pytest.raises(InputError, match="network: expected 8 columns of an observation, got 2"):
        hd.simulate(workload, PolicyDispatcher(wide, env))
