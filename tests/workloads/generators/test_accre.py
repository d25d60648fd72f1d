"""Jobs modelled on ACCRE: the paper's figures, and the effects of options."""

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import generate

HOUR = 3600


def columns(**options):
    frame = generate("accre", **options).frame()
    return frame["submit"].to_numpy(), frame["runtime"].to_numpy(), frame["walltime"].to_numpy()


def test_the_default_is_pattern_a_of_800_jobs_on_single_nodes():
    workload = generate("accre", seed=1)
    assert len(workload) == 800
    assert {(job.nodes, *job.per_node.items()) for job in workload.jobs} == {(1, ("core", 1))}
    assert workload.machine.capacity.tolist() == [[1]] * 40
    assert generate(workload.provenance.source) == workload


def test_arrivals_are_a_poisson_process():
    submit, _, _ = columns(jobs=20_000, seed=2)
    gaps = np.diff(submit)
    assert np.mean(gaps) == pytest.approx(480, rel=0.03)
    assert np.std(gaps) == pytest.approx(480, rel=0.03)
    assert np.mean(np.diff(columns(jobs=20_000, interarrival=60, seed=2)[0])) == pytest.approx(60, rel=0.03)


def test_pattern_a_is_normal_around_8_hours_up_to_15():
    _, runtime, _ = columns(pattern="a", jobs=20_000, seed=3)
    assert runtime.mean() == pytest.approx(8 * HOUR, rel=0.01)
    assert runtime.std() == pytest.approx(2.5 * HOUR, rel=0.02)
    assert runtime.min() >= 300
    assert runtime.max() <= 15 * HOUR
    assert columns(jobs=20_000, deviation=1.5 * HOUR, seed=3)[1].std() == pytest.approx(1.5 * HOUR, rel=0.02)
    workload = generate("accre", jobs=5, deviation=1.5 * HOUR, seed=3)
    assert generate(workload.provenance.source) == workload


@pytest.mark.parametrize(("pattern", "small"), [("b", 0.5), ("c", 0.2), ("d", 0.8)])
def test_the_other_patterns_are_small_and_large_jobs(pattern, small):
    _, runtime, _ = columns(pattern=pattern, jobs=20_000, seed=4)
    assert np.mean(runtime <= HOUR) == pytest.approx(small, abs=0.01)
    assert runtime.min() >= 300
    assert runtime.max() <= 15 * HOUR
    assert not ((runtime > HOUR) & (runtime < 3 * HOUR)).any()


@pytest.mark.parametrize("ratio", [0.5, 1.2, 1.7])
def test_requests_are_estimates_around_the_run_time(ratio):
    _, runtime, walltime = columns(jobs=20_000, mean_er=ratio, seed=5)
    found = walltime / runtime
    assert found.mean() == pytest.approx(ratio, abs=0.01)
    assert found.std() == pytest.approx(0.2, abs=0.01)
    assert found.min() > 0.09


def test_16_percent_fall_short_at_the_ratio_of_real_logs():
    _, runtime, walltime = columns(jobs=20_000, seed=6)
    assert np.mean(walltime < runtime) == pytest.approx(0.16, abs=0.01)


def test_an_estimate_has_a_positive_floor():
    _, runtime, walltime = columns(jobs=5000, mean_er=0.01, seed=7)
    assert walltime.min() >= 29  # a tenth of 5 min
    assert (walltime / runtime).min() > 0.09


def test_the_ratio_changes_the_requests_and_nothing_else():
    one, other = (columns(pattern="c", mean_er=ratio, seed=8) for ratio in (0.9, 1.4))
    assert (one[0] == other[0]).all()
    assert (one[1] == other[1]).all()
    assert np.allclose((other[2] - one[2]) / one[1], 0.5, atol=2e-3)


def test_the_mix_has_wide_jobs_among_those_of_one_node():
    workload = generate("accre", pattern="mix", seed=9)
    nodes = np.array([job.nodes for job in workload.jobs])
    assert np.bincount(nodes)[[1, 20]].tolist() == [300, 30]
    assert len(nodes) == 330
    places = np.flatnonzero(nodes == 20)
    assert places.min() < 110
    assert places.max() > 220
    narrow = np.array([job.runtime for job in workload.jobs if job.nodes == 1])
    assert sorted(narrow) == sorted(job.runtime for job in generate("accre", jobs=300, seed=9).jobs)


def test_wide_jobs_go_with_any_pattern_and_machine():
    workload = generate("accre:pattern=d,jobs=10,wide=2,nodes=5", seed=1)
    assert sorted(job.nodes for job in workload.jobs) == [1] * 10 + [2] * 2
    assert {job.nodes for job in generate("accre", jobs=0, wide=3, nodes=1).jobs} == {1}


def test_the_seed_alone_decides():
    assert generate("accre", seed=1) == generate("accre", seed=1)
    assert generate("accre", seed=1) != generate("accre", seed=2)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("pattern", "e"),
        ("jobs", -1),
        ("jobs", 0),
        ("wide", -1),
        ("nodes", 0),
        ("mean_er", 0.0),
        ("seed", -1),
        ("interarrival", 0.0),
        ("interarrival", float("inf")),
        ("jobs", 1.5),
        ("deviation", 0.0),
    ],
)
def test_bad_options_are_refused(option, value):
    with pytest.raises(InputError, match=f"workload accre: .*{option}.*(: expected| must be)"):
        generate("accre", **{option: value})


def test_wide_jobs_come_in_every_other_phase():
    workload = generate("accre", pattern="mix", phases=6, seed=2)
    wide = [place for place, job in enumerate(workload.jobs) if job.nodes > 1]
    assert len(wide) == 30
    assert {place * 6 // len(workload) % 2 for place in wide} == {1}
    strewn = generate("accre", pattern="mix", seed=2)
    assert [job.submit for job in strewn.jobs] == [job.submit for job in workload.jobs]
    with pytest.raises(InputError, match=r"phases must be a whole number >= 0 and <= 10000000, got -1"):
        generate("accre", phases=-1)


def test_workflows_are_names_and_change_nothing_else():
    named, plain = (generate("accre", pattern="b", workflows=count, seed=2).jobs for count in (4, 0))
    assert [(job.submit, job.runtime, job.walltime) for job in named] == [
        (job.submit, job.runtime, job.walltime) for job in plain
    ]
    assert {job.name for job in plain} == {""}
    times = {name: [job.runtime for job in named if job.name == name] for name in sorted({job.name for job in named})}
    assert list(times) == ["workflow-1", "workflow-2", "workflow-3", "workflow-4"]
    assert {len(each) for each in times.values()} == {200}
    means = [sum(each) for each in times.values()]
    assert means == sorted(means)
    assert max(times["workflow-2"]) > min(times["workflow-3"])  # they overlap
    with pytest.raises(InputError, match="workflows must be a whole number >= 0 and <= 10000000, got -1"):
        generate("accre", workflows=-1)
