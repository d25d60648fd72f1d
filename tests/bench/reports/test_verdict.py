"""Answers in one sentence."""

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.bench.reports.verdict import against, change, choose_baseline, of_jobs, verdict

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
        ((0.69, 0.62, 0.75), "31% less than easy (95% interval 25% to 38% less, 10 seeds)"),
        ((1.2, 1.1, 1.3), "20% more than easy (95% interval 10% to 30% more, 10 seeds)"),
        ((3.0, 2.5, 3.5), "3.0 times as much as easy (95% interval 2.5 to 3.5 times as much, 10 seeds)"),
        ((0.95, 0.9, 1.02), "5.0% less than easy, no clear difference (95% interval 10% less to 2.0% more, 10 seeds)"),
        ((0.5, NAN, NAN), "50% less than easy (10 seeds)"),
    ],
)
def test_a_comparison_in_words(numbers, text):
    assert against("easy", *numbers, "10 seeds") == text


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (runs(easy=[100, 120]), "Under easy a job waits 1m50s on average."),
        (runs(easy=[0, 0], fcfs=[0, 0]), "No job waits under any of them."),
        (
            runs(fcfs=[400], easy=[200]),
            "easy has the least mean wait, 3m20s; next is fcfs, 2.0 times as much as easy "
            "(one sample, so that there is no interval).",
        ),
        (
            runs(easy=[200, 200], hcp3=[100, 100]),
            "hcp3 has the least mean wait, 1m40s: 50% less than easy (95% interval 50% to 50% less, 2 seeds).",
        ),
        (pd.DataFrame(), "No run finished."),
    ],
)
def test_the_verdict_of_one_workload(found, text):
    assert verdict(found) == text


def test_a_longest_wait_that_is_longer_is_told():
    found = runs(easy=[200, 220], lxf=[100, 90])
    found.loc[found["contender"] == "lxf", "wait_max"] = 5000
    assert verdict(found).endswith("; its longest wait is 2.4 times as much.")


def test_a_contender_with_fewer_runs_does_not_win():
    found = runs(easy=[200, 220], fcfs=[300, 300], lucky=[1])
    assert verdict(found).startswith("easy has the least mean wait")


def test_several_workloads_are_one_sentence():
    one = runs(easy=[200, 200], hcp3=[100, 100])
    two = runs(easy=[200, 200], hcp3=[150, 150])
    found = pd.concat([one, two.assign(workload="v")])
    assert verdict(found) == (
        "hcp3 has the least mean wait on 2 of 2 workloads: 25% to 50% less than easy on those that both have."
    )


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


def test_jobs_of_one_trace_are_compared_in_parts():
    rng = np.random.default_rng(1)
    base = rng.exponential(1000, 400)
    told = of_jobs("hcp3", 0.5 * base, "easy", base)
    assert told.endswith("50% less than easy (95% interval 50% to 50% less, 20 parts of the trace).")
    assert "too few jobs for an interval" in of_jobs("hcp3", base[:5], "easy", base[:5])
    assert of_jobs("hcp3", np.zeros(5), "easy", np.zeros(5)) == (
        "Under hcp3 a job waits 0s on average; under easy none does."
    )
