from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from hpcdispatch.bench.studies.reproductions.cp2019.eurora_calibration import PAIRS, TARGETS, fit, main, moved, reached
from hpcdispatch.bench.studies.reproductions.cp2019.eurora_habits import Habits


@pytest.fixture(scope="module")
def means():
    found = [reached(20_000, seed, Habits()) for seed in range(2)]
    return {key: float(np.mean([figures[key] for figures in found])) for key in TARGETS}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("target", "tolerance"),
    [
        ("short", 0.02),
        ("request_error", 0.2),
        ("request_under", 0.6),
        ("request_over", 0.03),
        ("heuristic_error", 0.35),
        ("heuristic_under", 0.3),
        ("heuristic_over", 0.2),
        ("heuristic_near", 0.25),
        ("units", 0.3),
        ("calls", 0.2),
        ("running", 0.3),
        ("queued", 0.6),
        ("used", 0.3),
    ],
)
def test_a_month_comes_near_the_targets(means, target, tolerance):
    assert means[target] == pytest.approx(TARGETS[target][0], rel=tolerance)


@pytest.mark.nightly
def test_the_heuristic_is_much_better_than_the_requests(means):
    assert means["heuristic_error"] < 0.3 * means["request_error"]
    assert means["request_near"] < 10 < means["heuristic_near"]


def test_a_round_moves_a_habit_towards_its_target():
    met = {key: value for key, (value, _) in TARGETS.items()}
    assert moved(Habits(), met) == Habits()
    more = moved(Habits(), {**met, "queued": met["queued"] / 2, "medium": met["medium"] * 1.1})
    assert more.campaign[0] > Habits().campaign[0]
    assert more.shares[2] < Habits().shares[2]


def test_every_fitted_habit_is_within_its_bounds():
    for pair in PAIRS:
        value = getattr(Habits(), pair.habit)
        assert pair.bounds[0] <= (value if pair.place is None else value[pair.place]) <= pair.bounds[1]


def test_the_fit_gives_the_best_of_its_rounds():
    told = []
    best = fit(Habits(typed=0.05), 1000, [0], "fcfs", 2, told.append)
    assert len(told) == 2
    assert best.typed >= 0.05


def test_the_command_prints_a_table():
    done = CliRunner().invoke(main, ["--jobs", "1000", "--seeds", "1", "--dispatcher", "fcfs", "--markdown"])
    assert done.exit_code == 0
    assert "| jobs under 1 h, % | 93.14 |" in done.output
    assert "typed to request_error" in done.output
    wrong = CliRunner().invoke(main, ["--jobs", "1000", "--dispatcher", "fifo"])
    assert wrong.exit_code == 1
    assert "unknown dispatcher 'fifo'" in wrong.output
