"""SA with several machines to choose from."""

import pytest

from hpcdispatch.bench.studies.reproductions import StudySettings, find, try_controls
from hpcdispatch.bench.studies.reproductions.jsspp2000.several_machines import ALL, ONE, SEVERAL, measure
from hpcdispatch.workloads import Job, Machine, Workload, generate


def busy(processors, until):
    """Return a machine that is full until an instant, and a job that comes at second 10 and 11."""
    jobs = (Job("full", 0, until, until, 1, {"core": processors}), Job("a", 10, 100, 100), Job("b", 11, 100, 100))
    return Workload(jobs, Machine.pool(processors))


def test_the_free_machine_is_chosen():
    found = measure([busy(8, 100_000), busy(8, 20), busy(8, 50_000)], 6, 1)
    waits = found[found["time"] >= 10]  # those that replace the first job find the machine empty
    assert len(waits)
    assert (waits[SEVERAL] <= waits[ONE]).all()
    assert (waits.loc[waits["chosen"] > 0, SEVERAL] < waits.loc[waits["chosen"] > 0, ONE]).any()


def test_all_machines_are_never_worse_and_alike_ones_change_nothing():
    logs = [generate("lublin:jobs=60,processors=32,load=0.9", seed=seed) for seed in (1, 2)]
    found = measure(logs, 8, 3)
    assert (found[ALL] <= found[[ONE, SEVERAL]].min(axis=1)).all()
    alone = measure(logs[:1], 8, 3)
    assert (alone[SEVERAL] == alone[ONE]).all()
    assert (alone[ONE] == found[ONE]).all()


def test_a_machine_without_a_fitting_size_is_left_out():
    wide = Workload(tuple(Job(str(place), 9 * place, 50, 60, 1, {"core": 40}) for place in range(9)), Machine.pool(64))
    narrow = Workload(tuple(Job(str(place), 9 * place, 5, 6) for place in range(9)), Machine.pool(1))
    found = measure([wide, narrow], 6, 5)
    assert len(found) == 6


@pytest.mark.traces
def test_the_control_meets_no_gain(tmp_path):
    means = StudySettings("smoke", tmp_path, seeds=3)
    outcome = find("jsspp2000/several").run(means)
    trials = try_controls(find("jsspp2000/several"), means, outcome)
    text = "SA gains from a choice of machines"
    assert all(each[text] is not True for control, each in trials.verdicts.items() if control)
