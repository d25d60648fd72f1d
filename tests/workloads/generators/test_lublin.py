from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import GENERATORS, describe, generate, read


def marginals(workload):
    size = np.array([job.per_node["core"] for job in workload.jobs])
    logarithm = np.log([job.runtime for job in workload.jobs])
    exponent = np.log2(size)
    return (
        (size == 1).mean(),
        (exponent == np.rint(exponent)).mean(),
        exponent.mean(),
        np.quantile(logarithm, [0.1, 0.25, 0.5, 0.75, 0.9]),
    )


@pytest.mark.traces
def test_the_marginals_are_those_of_the_authors_sample(trace):
    published = marginals(read(trace("lublin-256.swf.gz"), default_walltime="runtime"))
    drawn = marginals(generate("lublin", jobs=10_000, processors=256, seed=1))
    assert drawn[0] == pytest.approx(published[0], abs=0.02)
    assert drawn[1] == pytest.approx(published[1], abs=0.02)
    assert drawn[2] == pytest.approx(published[2], abs=0.1)
    np.testing.assert_allclose(drawn[3], published[3], atol=0.35)


@pytest.mark.parametrize("load", [0.3, 0.7, 1.06, 2.0])
@pytest.mark.parametrize("processors", [1, 100, 512])
def test_the_load_is_the_one_asked_for(load, processors):
    workload = generate("lublin", jobs=500, processors=processors, load=load)
    assert describe(workload).load == pytest.approx(load, rel=0.01)
    assert max(job.per_node["core"] for job in workload.jobs) <= processors


def test_days_are_busier_than_nights():
    hours = np.array([job.submit // 3600 % 24 for job in generate("lublin", jobs=5000, load=0.7).jobs])
    assert np.isin(hours, range(11, 17)).sum() > 3 * np.isin(hours, range(1, 7)).sum()


def test_requests_are_round_and_never_below_the_run_time():
    workload = generate("lublin", jobs=5000)
    run = np.array([job.runtime for job in workload.jobs])
    requested = np.array([job.walltime for job in workload.jobs])
    assert (run <= requested).all()
    assert len(np.unique(requested)) <= 25
    assert 0.04 < (run == requested).mean() < 0.12
    long = run > 600
    tenths = np.histogram((run / requested)[long & (run < requested)], bins=10, range=(0, 1))[0] / long.sum()
    assert tenths.min() > 0.03
    assert tenths.max() < 0.25


def test_users_repeat_themselves():
    jobs = generate("lublin", jobs=5000).jobs
    spread = np.std(np.log([job.runtime for job in jobs]))
    mine: dict[str, list[float]] = {}
    for job in jobs:
        mine.setdefault(job.name, []).append(np.log(job.runtime))
    within = np.mean([np.std(one) for one in mine.values() if len(one) > 4])
    assert within < 0.4 * spread
    owners: dict[str, set[str]] = {}
    for job in jobs:
        owners.setdefault(job.name, set()).add(job.user)
    assert {len(one) for one in owners.values()} == {1}


def test_global_random_state_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    generate("lublin", jobs=50)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_names_and_options():
    assert "lublin" in GENERATORS.names()
    assert generate("lublin:jobs=20,processors=8,seed=5").jobs == generate("lublin", 5, jobs=20, processors=8).jobs
    assert len(generate("lublin:jobs=20,load=none")) == 20
    with pytest.raises(InputError, match=r"unknown workload 'lubin' \(did you mean lublin\?\)"):
        generate("lubin")
    with pytest.raises(InputError, match=r"workload lublin: unknown option 'cores'; known: jobs, processors"):
        generate("lublin", cores=4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "jobs must be a whole number >= 1 and <= 10000000, got 0"),
        ({"processors": -2}, "processors must be a whole number >= 1 and <= 1000000000, got -2"),
        ({"load": 0.0}, "load must be a number > 1e-06 and <= 10 or none, got 0.0"),
        ({"load": float("nan")}, "load must be a number > 1e-06"),
        ({"seed": -1}, "seed must be a whole number >= 0, got -1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        generate("lublin", **options)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_tiny_ones(jobs):
    assert len(generate("lublin", jobs=jobs, processors=1)) == jobs


def test_chains_wait_for_the_job_before_of_the_same_user():
    plain = generate("lublin:jobs=400", seed=3)
    chained = generate("lublin:jobs=400,chains=0.5", seed=3)
    assert [replace(job, depends=()) for job in chained.jobs] == list(plain.jobs)
    last, waiting = {}, 0
    for job in chained.jobs:
        if job.depends:
            ((id_, condition, think),) = job.depends
            assert (id_, condition) == (last[job.user], "afterany")
            assert think >= 0
            waiting += 1
        last[job.user] = job.id
    assert 150 < waiting < 220
