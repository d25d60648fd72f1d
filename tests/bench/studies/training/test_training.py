"""The studies of learning, in small."""

import pytest
from click.testing import CliRunner

needed = "needs Gymnasium: pip install 'hpcdispatch[learn]'"
pytest.importorskip("gymnasium", reason=needed)

from hpcdispatch.base import InputError  # noqa: E402
from hpcdispatch.bench.studies.training import speed, train  # noqa: E402
from hpcdispatch.learn import Network, Rules, save_policy  # noqa: E402
from hpcdispatch.simulation import simulate  # noqa: E402
from hpcdispatch.workloads import generate  # noqa: E402

#: All jobs are visible, the oldest first.
RULES = Rules.of({**train.ENVIRONMENT, "visible": 400, "order": "submission"})


def test_the_plain_loop_is_easy_behind_the_shortest():
    workload = generate("lublin:jobs=200,processors=64,load=1.1", seed=4)
    starts, steps = speed.plain(workload, 200)
    expected = simulate(workload, "easy:order=sjf,backfill=submission").jobs["start"].tolist()
    assert starts == expected
    assert steps >= 100


@pytest.mark.nightly
def test_speed_compares_equal_schedules(monkeypatch):
    workload = generate("lublin:jobs=300,processors=64,load=1.0", seed=4)
    rows = speed.measured(workload, 64, 0)
    assert [row[0] for row in rows] == ["plain Python loop", "PickJob-v0", "PickJob-v0, 16 side by side"]
    right = speed.plain
    monkeypatch.setattr(speed, "plain", lambda *given: ([1 + start for start in right(*given)[0]], 1))
    with pytest.raises(InputError, match="expected the starts of the plain loop"):
        speed.measured(workload, 64, 0)


def test_a_policy_that_is_the_shortest_first_ties_with_it(tmp_path):
    """The judge finds no difference where there is none, and one where there is."""
    weight = [[0.0]] * len(train.COLUMNS)
    weight[2] = [-1.0]
    path = tmp_path / "policy0.npz"
    save_policy(path, Network([(weight, [0.0])]), RULES)
    workload = generate("lublin:jobs=600,processors=64,load=1.1", seed=4)
    found = train.judge(workload, [path], ["easy:order=sjf,backfill=submission", "fcfs"], 150, 3, 0.2)
    rows = {row[0]: row for row in train.table(found, "").rows}
    same = rows["easy:order=sjf,backfill=submission"]
    assert same[3:] == ["1.000", "1.000 to 1.000", "no difference"]
    assert rows["fcfs"][5] == "wins"


def test_a_continuous_stream_counts_what_follows_its_begin(tmp_path):
    """A policy that is the shortest first ties on a stream, too, and equal policies have no spread."""
    weight = [[0.0]] * len(train.COLUMNS)
    weight[2] = [-1.0]
    paths = [tmp_path / f"policy{seed}.npz" for seed in range(2)]
    for path in paths:
        save_policy(path, Network([(weight, [0.0])]), RULES)
    workload = generate("lublin:jobs=400,processors=64,load=1.1", seed=4)
    found = train.judge_stream(workload, paths, ["easy:order=sjf,backfill=submission"], 0.5)
    same = simulate(workload.slice(160, 400), "easy:order=sjf,backfill=submission").jobs
    rows = found[found["contender"] == "policy policy0"]
    assert len(rows) == train.BLOCKS
    assert rows["wait"].iloc[0] == same["wait"][40:57].mean()
    assert train.table(found, "").rows[0][3:] in (["", "", ""], ["1.000", "1.000 to 1.000", "no difference"])
    assert [row[2] for row in train.spread(found).rows] == ["1.00", "1.00"]


@pytest.mark.nightly
def test_the_cost_of_each_column_is_measured(monkeypatch):
    monkeypatch.setattr(
        speed, "EXTRAS", {"observe cores": {"observe": ["allowed", "cores"]}, "engine": {"order": "fairshare"}}
    )
    rows = speed.costs(generate("lublin:jobs=260,processors=64,load=1.0", seed=4), 32, 0)
    assert [row[0] for row in rows] == ["default", "observe cores", "engine"]
    assert rows[0][2] == ""


@pytest.mark.nightly
def test_training_makes_a_policy(tmp_path):
    pytest.importorskip("sb3_contrib", reason="needs sb3-contrib: pip install 'hpcdispatch[train]'")
    made = train.train(generate("lublin:jobs=2000,processors=64,load=1.0", seed=1), 0, 4096)
    assert made.by_row
    assert made.layers[-1][0].shape[1] == 1


def test_bad_options():
    found = CliRunner().invoke(train.main, ["--steps", "0", "--folder", "nowhere", "--seeds", "1"])
    assert found.exit_code == 1
    assert "nowhere" in found.output
