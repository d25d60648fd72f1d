"""A cap on the power from a file."""

from dataclasses import replace

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Power, Workload, with_power_cap

HOUR = 3600


def powered(jobs, power=None):
    return Workload(jobs, replace(Machine.pool(4), power=Power({"core": 100}, idle=50) if power is None else power))


def written(tmp_path, *pairs):
    path = tmp_path / "cap.csv"
    path.write_text("Watts,Time\n" + "".join(f"{watts},{time}\n" for time, watts in pairs))
    return path


@pytest.mark.parametrize("dispatcher", ["easy", "conservative", "lxf"])
def test_it_holds_as_one_of_the_machine(tmp_path, dispatcher):
    rng = np.random.default_rng(4)
    jobs = [Job(str(at), 1200 * at, *sorted(rng.integers(60, 5000, 2).tolist()), at % 4 + 1) for at in range(60)]
    hours = range(25)
    pairs = [(hour * HOUR, 260 if 8 <= hour % 24 < 20 else 450) for hour in hours]
    workload = with_power_cap(powered(jobs), written(tmp_path, *pairs))
    result = simulate(workload, dispatcher, overrun="kill")
    check(workload, result)
    same = powered(workload.jobs, Power({"core": 100}, idle=50, cap=tuple(pairs)))
    assert simulate(same, dispatcher, overrun="kill").jobs["start"].equals(result.jobs["start"])
    free = simulate(powered(workload.jobs), dispatcher, overrun="kill")
    assert not free.jobs["start"].equals(result.jobs["start"])


def test_a_job_waits_for_the_step_with_room(tmp_path):
    path = written(tmp_path, (0, 150), (HOUR, 150), (2 * HOUR, 450))
    result = simulate(powered([Job("a", 0, 10, 10, 4)]), "easy", power_cap=path)
    assert result.jobs["start"].tolist() == [2 * HOUR]
    assert "power cap of 3 steps from cap.csv" in result.manifest["workload"]["notes"]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (((0, 300), (HOUR, 50)), "expected watts above those of the idle machine, 50, at t=3600, got 50"),
        (((0, 300), (HOUR, "nan")), "at t=3600, got nan"),
        (((0, 300), (0, 300)), "expected times that rise, got 0 after 0"),
        (((0, 300), (60, 300), (120, 300), (HOUR, 300)), "a gap from t=120 to 3600"),
        (((0, 300), (60, 300)), "it tells of t=0 to 120, and is asked for 0 to 7,200"),
        (((0, 300),), "expected two steps or more"),
    ],
)
def test_a_wrong_cap_is_one_line(tmp_path, pairs, message):
    path = written(tmp_path, *pairs)
    with pytest.raises(InputError) as told:
        with_power_cap(powered([Job("a", 0, 1, 1), Job("b", 2 * HOUR, 1, 1)]), path)
    assert message in str(told.value)
    assert str(path) in str(told.value)
    assert "\n" not in str(told.value)


def test_machines_that_it_does_not_fit(tmp_path):
    path = written(tmp_path, (0, 300), (HOUR, 300))
    with pytest.raises(InputError, match="expected a machine with power, got none"):
        with_power_cap(Workload([Job("a", 0, 1, 1)], Machine.pool(4)), path)
    with pytest.raises(InputError, match="expected a machine without a cap, got one with its own"):
        with_power_cap(powered([Job("a", 0, 1, 1)], Power({"core": 1}, cap=9)), path)
    path.write_text("time,kilowatts\n0,1\n")
    with pytest.raises(InputError, match="expected the columns time and watts in the first line"):
        with_power_cap(powered([Job("a", 0, 1, 1)]), path)


@pytest.mark.parametrize("dispatcher", ["easy", "conservative", "fcfs", "hcp3"])
def test_a_file_that_ends_low_leaves_no_job_waiting(tmp_path, dispatcher):
    path = written(tmp_path, (0, 450), (HOUR, 150), (2 * HOUR, 150))
    jobs = [Job("a", 0, 3000, 3000, 4), Job("b", 0, 3000, 3000, 4), Job("c", 3500, 60, 60, 1)]
    result = simulate(powered(jobs), dispatcher, overrun="kill", power_cap=path)
    assert result.jobs["start"].tolist()[:2] == [0, 3 * HOUR]


DISPATCHERS = ["easy", "lxf", "conservative", "hcp3", "pcp-fast", "sejf", "lookahead", "slurm"]


@pytest.mark.parametrize("dispatcher", DISPATCHERS)
def test_a_job_above_the_last_cap_is_rejected(dispatcher):
    # From 100 on, two cores may run, for ever.
    machine = replace(Machine.pool(8), power=Power({"core": 10}, cap=((0, 80), (100, 20))))
    jobs = (Job("a", 0, 90, 120, 2), Job("b", 95, 50, 60, 6), Job("c", 96, 5, 10, 1))
    result = simulate(Workload(jobs, machine), dispatcher, overrun="kill")
    assert result.jobs["status"].tolist() == ["completed", "rejected", "completed"]
    assert "power" in result.jobs["reason"][1]
