"""SEJF and LEJF: by estimate alone. No job is killed, and no large job starves."""

import warnings
from dataclasses import replace

import pytest
from ruled_workloads import ruled

from hpcdispatch.dispatchers import SEJF
from hpcdispatch.simulation import check, simulate, violations
from hpcdispatch.workloads import Job, Machine, Workload, generate


def starts(jobs, dispatcher, machine=None, **options):
    ordered = sorted(jobs, key=lambda job: job.submit)
    workload = Workload(tuple(ordered), Machine.homogeneous(2, core=1) if machine is None else machine)
    result = simulate(workload, dispatcher, **options)
    check(workload, result)
    return dict(zip(result.jobs["id"], result.jobs["start"], strict=True)), result


@pytest.mark.parametrize(("dispatcher", "first"), [("sejf", {"b", "d"}), ("lejf", {"a", "c"})])
def test_starts_by_the_estimate_whatever_the_run_time(dispatcher, first):
    running = [Job("r", 0, 100, 100, nodes=2)]
    waiting = [Job("a", 1, 10, 900), Job("b", 1, 500, 20), Job("c", 1, 50, 90), Job("d", 1, 5, 50)]
    found, _ = starts([*running, *waiting], dispatcher)
    assert {id_ for id_, start in found.items() if start == 100} == first


def test_ties_go_by_submission():
    jobs = [Job("r", 0, 10, 10, nodes=2), Job("b", 1, 5, 7, nodes=2), Job("a", 2, 5, 7, nodes=2)]
    assert [starts(jobs, name)[0] for name in ("sejf", "lejf")] == [{"r": 0, "b": 10, "a": 15}] * 2


@pytest.mark.parametrize("dispatcher", ["sejf", "lejf"])
def test_no_job_is_killed_however_short_the_estimates(dispatcher):
    workload = generate("accre", pattern="b", jobs=150, nodes=8, mean_er=0.5, seed=1)
    assert sum(job.walltime < job.runtime for job in workload.jobs) > 140
    result = simulate(workload, dispatcher)
    assert (result.jobs["status"] == "completed").all()
    assert (result.attempts["outcome"] == "completed").all()
    assert result.summary()["lost"] == 0


def narrow_stream(count):
    """A job of one node and 100 s arrives every 60 s. Two nodes are then never free together."""
    return [Job(f"n{index}", 60 * index, 100, 100) for index in range(count)]


def test_a_wide_job_waits_for_ever_without_drain_and_not_with_it():
    jobs = [*narrow_stream(200), Job("wide", 61, 50, 50, nodes=2)]
    never, _ = starts(jobs, "sejf")
    soon, _ = starts(jobs, "sejf:drain=600")
    assert never["wide"] >= 60 * 199
    assert soon["wide"] <= 120 + 600 + 200


@pytest.mark.parametrize("dispatcher", ["sejf", "lejf", "hybrid:alike=0.001"])
def test_draining_is_off_by_default(dispatcher):
    # A drain one day after a job was passed over makes the mean wait of a real trace 19 times as long.
    jobs = [*narrow_stream(1600), Job("wide", 61, 50, 50, nodes=2)]
    assert starts(jobs, dispatcher)[0]["wide"] >= 60 * 1599


def test_time_counts_only_from_when_a_smaller_job_went_ahead():
    # All jobs request the same. Shorter jobs overtake the long one, by policy. It never goes first.
    jobs = [Job("long", 1, 500, 500), *(Job(f"s{index}", 10 * index, 20, 20) for index in range(200))]
    found, _ = starts(jobs, "sejf:drain=0", Machine.homogeneous(1, core=1))
    assert found["long"] == max(found.values())


def test_a_job_of_another_resource_is_not_left_behind():
    # The machine has room for the cores of 'both', but never with the GPU. Short jobs use the GPU in turn.
    machine = Machine(("core", "gpu"), [[4, 1]])
    passing = [Job(f"g{index}", 50 * index, 60, 60, per_node={"gpu": 1}) for index in range(100)]
    both = Job("both", 51, 600, 600, per_node={"core": 1, "gpu": 1})
    jobs = [*passing, both]
    assert starts(jobs, "sejf:drain=none", machine)[0]["both"] > 5000
    assert starts(jobs, "sejf:drain=300", machine)[0]["both"] < 1000


@pytest.mark.parametrize("dispatcher", ["sejf", "lejf", "sejf:drain=60", "hybrid"])
def test_rules_hold_and_no_start_is_dropped(dispatcher):
    for seed in range(1000, 1004):
        workload = ruled(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = simulate(workload, dispatcher, overrun="kill")
        assert list(violations(workload, result)) == [], seed
        assert "refused" not in result.manifest, seed
        assert (result.jobs["status"] != "waiting").all(), seed


def test_a_job_that_lacks_a_licence_keeps_none():
    # Its two licences are never free together while jobs with one follow each other.
    machine = replace(Machine.pool(4), licences={"x": 2})
    jobs = [Job(f"n{index}", 60 * index, 100, 100, licences={"x": 1}) for index in range(100)]
    jobs.append(Job("both", 61, 50, 50, licences={"x": 2}))
    assert starts(jobs, "sejf", machine)[0]["both"] >= 60 * 99


def test_the_same_object_forgets():
    jobs = [*narrow_stream(40), Job("wide", 61, 50, 50, nodes=2)]
    dispatcher = SEJF(drain=600)
    assert starts(jobs, dispatcher)[0] == starts(jobs, dispatcher)[0]


@pytest.mark.parametrize("spec", ["sejf:drain=-1", "lejf:placement=worst", "sejf:drain=soon"])
def test_bad_options_are_refused(spec):
    with pytest.raises(ValueError, match=r"drain|placement"):
        simulate(Workload((Job("a", 0, 1, 1),), Machine.pool(1)), spec)
