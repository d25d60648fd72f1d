"""A share of the full cross. Its second check must find errors."""

from dataclasses import replace

import pytest
from oracles.replaying import complaints

from cross.cases import CASES, MACHINES, drawn_workload, try_case
from hpcdispatch.simulation import simulate

#: Every so many cases, among them each overrun mode, predictor and machine.
SHARE = 101


@pytest.mark.parametrize("index", range(0, len(CASES), SHARE))
def test_a_share_of_the_cross(index):
    found, _ = try_case(CASES[index], index)
    assert found == []


def test_the_share_has_every_mode_predictor_and_machine():
    share = CASES[::SHARE]
    assert [len({case[part] for case in share}) for part in (1, 2, 3)] == [
        len({case[part] for case in CASES}) for part in (1, 2, 3)
    ]


@pytest.fixture(scope="module")
def simulated():
    workload = drawn_workload(3, MACHINES[0])
    return workload, simulate(workload, "easy", overrun="kill")


@pytest.mark.parametrize(
    ("table", "column", "change", "expected"),
    [
        ("attempts", "end", 1, "on the machine for"),
        ("attempts", "start", -1, "there are"),
        ("jobs", "wait", 1, "start, end, wait, attempts"),
        ("decisions", "running", 1, "said to run"),
        ("decisions", "started", 1, "decisions say"),
    ],
)
def test_the_second_check_sees(simulated, table, column, change, expected):
    workload, result = simulated
    assert list(complaints(workload, result, "kill", strict=True)) == []
    frame = getattr(result, table).copy()
    frame[column] += change
    found = list(complaints(workload, replace(result, **{table: frame}), "kill", strict=True))
    assert [line for line in found if expected in line]


def test_the_second_check_sees_a_node_that_is_full(simulated):
    workload, result = simulated
    attempts = result.attempts.copy()
    attempts["placement"] = [placement * 0 for placement in attempts["placement"]]
    found = complaints(workload, replace(result, attempts=attempts), "kill", strict=True)
    assert [line for line in found if "that node 0 does not have" in line]
