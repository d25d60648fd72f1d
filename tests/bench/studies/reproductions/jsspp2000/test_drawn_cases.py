"""Cases are drawn as the paper says, and what becomes of them is what whole simulations of the changed log find."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.bench.studies.reproductions.claims import given
from hpcdispatch.bench.studies.reproductions.jsspp2000 import downey_results, nas_results
from hpcdispatch.bench.studies.reproductions.jsspp2000 import geometric_means as means_of
from hpcdispatch.bench.studies.reproductions.jsspp2000.drawn_cases import BEST, CHOICES, NAS, USER, drawn, spaced
from hpcdispatch.bench.studies.reproductions.jsspp2000.measured_cases import measure
from hpcdispatch.models.moldable import downey
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate

WORKLOAD = generate("lublin:jobs=40,processors=32,load=2", seed=1)


@pytest.mark.parametrize("kind", ["literal", "least-7-for-serial"])
def test_every_case_is_within_its_ranges(kind):
    for case in drawn(WORKLOAD, kind, 60, 1):
        job = WORKLOAD.jobs[case.place]
        facts = case.facts
        own = job.nodes * job.per_node["core"]
        assert case.user.request.processors == facts["n_u"] == own
        assert case.user.runtime == job.runtime
        sizes = [each.request.processors for each in case.tried]
        assert sizes[0] <= own <= max(sizes[-1], own)
        assert 1 <= sizes[0] <= sizes[-1] <= 32
        assert sizes[-1] - sizes[0] == facts["range"]
        assert facts["range"] == 7 or own > 1 or kind == "literal"
        assert facts["range"] >= 7 or kind == "literal"
        for each in case.tried:
            size = each.request.processors
            exact = facts["L"] / float(downey(size, facts["A"], facts["sigma"]))
            assert exact <= each.runtime < max(exact + 1, 2)
            assert each.runtime <= each.request.walltime
        for name, choices in CHOICES.items():
            assert len(case.lists[name]) == len(spaced(sizes[0], sizes[-1], choices)) <= choices


def test_the_sizes_of_three_are_among_those_of_seven():
    assert spaced(3, 40, 3) == [3, 22, 40]
    assert set(spaced(3, 40, 3)) <= set(spaced(3, 40, 7))
    assert spaced(1, 2, 7) == [1, 2]


def test_nas_benchmarks_have_their_sizes():
    cases = drawn(WORKLOAD, "nas", 10, 1)
    sizes = {case.facts["benchmark"]: [each.request.processors for each in case.lists[NAS]] for case in cases}
    assert sizes["MG"] == sizes["LU"] == [8, 16, 32]
    assert sizes["SP"] == sizes["BT"] == [9, 16, 25]
    assert sizes["EP"] == list(range(1, 33))


@pytest.mark.parametrize(("kind", "count"), [("literal", 3), ("nas", 4)])
def test_what_becomes_of_a_case_is_what_whole_simulations_find(kind, count):
    cases = drawn(WORKLOAD, kind, count, 3)
    found = measure(WORKLOAD, cases)
    strategies = [USER, *(CHOICES if kind == "literal" else [NAS])]
    assert (found["same"] == 1).all()
    assert not found["late"].any()
    for case, row in zip(cases, found.to_dict("records"), strict=True):
        took = {each.request.processors: whole(case, each) for each in case.tried}
        assert row[BEST] == min(took.values()) == took[row[f"{BEST} size"]]
        for name in strategies:
            size = row[f"{name} size"]
            each = case.user if name == USER else next(c for c in case.lists[name] if c.request.processors == size)
            assert row[name] == (whole(case, each) if each == case.user or size not in took else took[size])
    assert found["simulated"].any()


def whole(case, candidate):
    """Return the turnaround of a job of the log that is another one."""
    job = WORKLOAD.jobs[case.place]
    asks = candidate.request
    other = replace(job, per_node={"core": asks.processors}, runtime=candidate.runtime, walltime=asks.walltime, nodes=1)
    jobs = [other if each.id == job.id else each for each in WORKLOAD.jobs]
    row = simulate(WORKLOAD.with_jobs(jobs), "conservative", overrun="kill").jobs.set_index("id").loc[job.id]
    return row["end"] - row["submit"]


# Geometric means.


def made(count=400, trend=0.5, seed=0):
    """Return cases whose relative performance is 2, and falls with N by a trend."""
    rng = np.random.default_rng(seed)
    load = rng.uniform(size=count)
    best = np.exp(rng.normal(5, 1, count))
    gain = 2 * np.exp(trend * (0.5 - load) + rng.normal(0, 0.1, count))
    cases = {"N": load, "month": [f"KTH {place % 10}" for place in range(count)], BEST: best, USER: best * gain}
    cases |= dict.fromkeys(CHOICES, best * 1.05)
    return pd.DataFrame(cases | {"a": rng.uniform(size=count)})


def test_a_geometric_mean_and_its_interval():
    cases = made()
    found = means_of.mean(means_of.gains(cases, BEST), cases)
    assert found.value == pytest.approx(np.exp(np.log(cases[USER] / cases[BEST]).mean()))
    assert found.low < found.value < found.high
    assert found.low > 1.9
    assert found.high < 2.1


@pytest.mark.parametrize("count", [2, 3, 5, 20])
def test_values_that_are_drawn_singly_have_the_bootstrap_of_a_plain_mean(count):
    """The intervals of the benchmark of dispatchers are those of the formula that it had for itself."""
    values = np.random.default_rng(count).normal(size=count)
    drawn = values[np.random.default_rng(0).integers(0, count, size=(2000, count))].mean(axis=1)
    assert (means_of.resampled_means(values, np.ones(count)) == drawn).all()
    ratio = means_of.over_samples(values)
    ends = np.exp(np.quantile(drawn, [0.025, 0.975]))
    assert ratio.value == pytest.approx(np.exp(values.mean()))
    assert [ratio.low, ratio.high] == (pytest.approx(ends) if count > 2 else pytest.approx([np.nan] * 2, nan_ok=True))


def test_a_claim_holds_by_its_interval_and_does_not_where_the_opposite_is_true():
    for trend, holds in ((0.5, True), (-0.5, False)):
        claims = {claim.text: claim.holds for claim in downey_results.by_load(made(trend=trend))}
        assert {verdict for text, verdict in claims.items() if "performance falls" in text} == {holds}
    less = means_of.less("t", means_of.Ratio(0.9, 0.8, 1.1, 9), 1.0, "ratio", "so")
    assert less.holds is None


def test_two_months_decide_nothing():
    cases = made()
    cases = cases[cases["month"].isin(["KTH 1", "KTH 2"])]
    ratio = means_of.mean(means_of.gains(cases, BEST), cases)
    assert np.isnan(ratio.low)
    assert means_of.more("t", ratio, 1.0, "ratio", "so").holds is None
    assert means_of.within("t", ratio, (1, 9), "ratio", "so").holds is None


def test_a_system_that_asks_for_the_user_s_size_is_not_what_is_tested():
    cases = made()
    for name in CHOICES:
        cases[f"{name} size"] = cases[f"{USER} size"] = 4
    conditions = downey_results.differing(cases, tuple(CHOICES))
    assert not any(condition.met for condition in conditions.values())
    assert all(condition.of_system for condition in conditions.values())


def test_what_nothing_tells_apart_is_not_decided():
    cases = made()
    same = cases.assign(**{"SA-5": cases["SA-3"]})
    ratio = means_of.contrast(means_of.gains(same, "SA-5"), same, means_of.gains(same, "SA-3"))
    assert means_of.more("t", ratio, 1.0, "ratio", "so").holds is None
    assert means_of.more("t", ratio, 0.9, "ratio", "so").holds is True


def test_a_broken_sa_fails():
    cases = made()
    for name in CHOICES:
        cases[f"{name} size"] = cases[f"{USER} size"] = 4
        cases[name] = cases[USER]
    conditions = downey_results.differing(cases, tuple(CHOICES)).values()
    claims = given([downey_results.close(cases, "SA-7", "")], conditions)
    assert {claim.holds for claim in claims} == {False}


def test_parts_keep_equal_values_together():
    cases = pd.DataFrame({"range": [7] * 50 + list(range(50))})
    parts = means_of.parts(cases, "range")
    assert sum(map(len, parts)) == 100
    assert sum((part["range"] == 7).any() for part in parts) == 1


def test_all_that_is_listed_is_built():
    assert len(downey_results.DOWNEY) == 8
    assert len(nas_results.BENCHMARKS) == 4
