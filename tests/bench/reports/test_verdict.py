"""Answers in one sentence."""

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.analysis.conclusions import Estimate
from hpcdispatch.bench.reports.verdict import (
    against,
    beside_replay,
    change,
    choose_baseline,
    left_out,
    of_jobs,
    verdict,
)
from hpcdispatch.simulation.trimming import NOTHING, Cut

NAN = float("nan")


def runs(**waits):
    """Return runs of contenders with these mean waits, one seed per wait. The longest wait is ten times as much."""
    rows = [
        {"workload": "w", "seed": seed, "sample": seed, "contender": name, "wait_mean": wait, "wait_max": 10 * wait}
        for name, each in waits.items()
        for seed, wait in enumerate(each)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0.69, "31% less"), (1.042, "4.2% more"), (2.5, "2.5 times as much"), (1.0, "the same"), (NAN, "not comparable")],
)
def test_a_ratio_in_words(ratio, text):
    assert change(ratio) == text


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((0.69, 0.62, 0.75), "31% less than easy, better (interval 25% to 38% less; 10 runs)"),
        ((1.2, 1.1, 1.3), "20% more than easy, worse (interval 10% to 30% more; 10 runs)"),
        ((3.0, 2.5, 3.5), "3.0 times as much as easy, worse (interval 2.5 to 3.5 times as much; 10 runs)"),
        ((1.5, 1.03, 2.2), "50% more than easy, worse (interval 1.03 to 2.2 times as much; 10 runs)"),
        ((1.02, 1.0001, 1.1), "2.0% more than easy, worse (interval 0.01% to 10% more; 10 runs)"),
        ((0.95, 0.9, 1.02), "5.0% less than easy, not decided (interval 10% less to 2.0% more; 10 runs)"),
        ((0.5, NAN, NAN), "50% less than easy, not decided (10 runs)"),
        ((NAN, NAN, NAN), "not comparable with easy (10 runs)"),
    ],
)
def test_a_comparison_in_words(numbers, text):
    assert against("easy", *numbers, "10 runs") == text


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (runs(easy=[100, 120]), "Under easy a job waits 1m50s on average."),
        (runs(easy=[0, 0], fcfs=[0, 0]), "No job waits under any of them."),
        (
            runs(fcfs=[400], easy=[200]),
            "easy has the least mean wait, 3m20s; next is fcfs, 2.0 times as much as easy, not decided (one sample); "
            "its longest wait, 1h07m, is 2.0 times as much.",
        ),
        (
            runs(easy=[200, 210], hcp3=[100, 105]),
            "hcp3 has the least mean wait, 1m42s: 50% less than easy, better "
            "(interval 50% to 50% less, 2 samples); its longest wait, 17m05s, is 50% less.",
        ),
        (
            runs(easy=[200, 200], hcp3=[100, 100]),
            "hcp3 has the least mean wait, 1m40s: 50% less than easy, not decided (the 2 samples do not differ); "
            "its longest wait, 16m40s, is 50% less.",
        ),
        (pd.DataFrame(), "No run finished."),
    ],
)
def test_the_verdict_of_one_workload(found, text):
    assert verdict(found) == text


def test_the_longest_wait_stands_beside_the_mean():
    found = runs(easy=[200, 220], lxf=[100, 90])
    found.loc[found["contender"] == "lxf", "wait_max"] = 5000
    assert verdict(found).endswith("; its longest wait, 1h23m, is 2.4 times as much.")


def test_resamples_and_shifts_are_told_apart():
    found = runs(easy=[200, 220, 230], lxf=[100, 90, 120])
    assert ", 3 resamples)" in verdict(found.assign(basis="resamples"))
    shifted = verdict(found.assign(basis="shifts"))
    assert "not decided (range over 3 shifts 48% to 59% less)" in shifted
    assert "interval" not in shifted


def test_several_contenders_widen_the_interval():
    told = verdict(runs(easy=[200, 220, 230], lxf=[100, 90, 120], fcfs=[300, 110, 350]))
    assert "3 samples, widened for 2 comparisons" in told


def test_what_is_left_out_is_said():
    assert left_out("Told.", "5%", Cut.parse("2d")) == "Told. Left out: warm-up 5%, cool-down 2d."
    assert left_out("Told.", NOTHING, NOTHING) == "Told."


def test_a_contender_with_fewer_runs_does_not_win():
    found = runs(easy=[200, 220], fcfs=[300, 300], lucky=[1])
    assert verdict(found).startswith("easy has the least mean wait")


def test_several_workloads_are_one_sentence():
    one = runs(easy=[200, 200], hcp3=[100, 100])
    two = runs(easy=[200, 200], hcp3=[150, 150])
    found = pd.concat([one, two.assign(workload="v")])
    assert verdict(found) == (
        "hcp3 has the least mean wait on 2 of 2 workloads: 25% to 50% less than easy on those that both have; "
        "not decided on 2."
    )


@pytest.mark.parametrize(
    ("rivals", "text"),
    [
        (([0, 0], [0, 0]), "No contender is better on any of 2 workloads; no job waits on 2."),
        (
            ([200, 0], [200, 0]),
            "No contender is better on any of 2 workloads; all wait equally long on 1; no job waits on 1.",
        ),
        (
            ([200, 200], [200, 100]),
            "lxf has the least mean wait on 1 of 2 workloads: 50% to 50% less than easy on those that both have; "
            "not decided on 1; all wait equally long on 1.",
        ),
        (([0, 100], [0, 200]), "easy has the least mean wait on 1 of 2 workloads; no job waits on 1."),
    ],
)
def test_equal_workloads_have_no_best(rivals, text):
    easy, lxf = rivals
    found = [
        runs(easy=[a], lxf=[b]).assign(workload=str(number))
        for number, (a, b) in enumerate(zip(easy, lxf, strict=True))
    ]
    assert verdict(pd.concat(found)) == text


@pytest.mark.parametrize(
    ("names", "base"),
    [
        (["fcfs", "easy"], "easy"),
        (["lxf", "fcfs"], "fcfs"),
        (["b", "a"], "a"),
        (["easy, last2", "easy, walltime"], "easy, walltime"),
    ],
)
def test_the_baseline_is_easy_where_there_is_one(names, base):
    assert choose_baseline(names) == base


def test_jobs_of_one_trace_are_compared_in_blocks():
    rng = np.random.default_rng(1)
    base, submit = rng.exponential(1000, 400), np.arange(400) * 10_000
    told = of_jobs("hcp3", 0.5 * base, "easy", base, submit)
    assert "50% less than easy, better (interval 50% to 50% less, 6 blocks of the trace); its longest" in told
    assert "1 day is too short for an interval" in of_jobs("hcp3", base[:5], "easy", 2 * base[:5], submit[:5])
    assert "equal schedules" in of_jobs("hcp3", base, "easy", base, submit)
    assert of_jobs("hcp3", np.zeros(5), "easy", np.zeros(5), submit[:5]) == (
        "Under hcp3 a job waits 0s on average; under easy none does."
    )
    assert of_jobs("hcp3", np.full(5, NAN), "easy", base[:5], submit[:5]) == "No job starts under both hcp3 and easy."


def test_where_two_replays_disagree():
    """Another verdict is told with both differences; the same one is not called a disagreement."""
    react = {"sjf": Estimate(0.8, 0.7, 0.9), "lxf": Estimate(1.1, 0.9, 1.3)}
    replay = {"sjf": Estimate(0.9, 0.7, 1.1), "lxf": Estimate(0.9, 0.8, 1.2)}
    assert beside_replay(react, replay, "easy") == (
        "The replay with recorded submissions disagrees, against easy: "
        "sjf 10% less, not decided, and here 20% less, better."
    )
    assert "agrees, against easy: lxf 10% less, not decided." in beside_replay({"lxf": react["lxf"]}, replay, "easy")
    assert beside_replay(react, {}, "easy").endswith("cannot be compared with it.")
    assert "nan" not in beside_replay({"sjf": Estimate(NAN)}, replay, "easy")
