"""Advance reservations: which jobs may use the nodes, and when."""

import json
from dataclasses import replace
from random import Random

import pytest
from combinations import some

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import Slurm
from hpcdispatch.simulation import check, simulate
from hpcdispatch.workloads import Job, Machine, Reservation, Workload
from hpcdispatch.workloads.slurm_conf import read_slurm_conf
from hpcdispatch.workloads.slurm_reservations import SlurmReservation, read_slurm_reservations

CONF = """NodeName=n[1-2] CPUs=4
SchedulerParameters=bf_interval=5,bf_resolution=1,batch_sched_delay=0
PartitionName=all Nodes=ALL
"""
#: The second node, from 300 s to 600 s.
KEPT = "ReservationName=kept StartTime=1300 EndTime=1600 Nodes=n2 CoreCnt=4 Flags=MAINT,SPEC_NODES Users=ann"


@pytest.fixture
def site(tmp_path):
    (tmp_path / "slurm.conf").write_text(CONF)

    def given(*lines):
        (tmp_path / "kept.txt").write_text("\n".join([*lines, ""]))
        return {"config": str(tmp_path / "slurm.conf"), "reservations": str(tmp_path / "kept.txt"), "epoch": 1000}

    return given


def starts(options, *jobs, **more):
    """Return the starts of jobs, -1 if refused. Jobs are (submit, run time, walltime, whole nodes, reservation)."""
    made = [
        Job(
            str(place),
            submit,
            runtime,
            request,
            nodes,
            {"core": 4, "partition/all": 1},
            queue="all",
            reservation=within,
        )
        for place, (submit, runtime, request, nodes, within) in enumerate(jobs)
    ]
    workload = Workload(tuple(made), read_slurm_conf(options["config"]).machine())
    result = simulate(workload, Slurm(**(options | more)))
    check(workload, result)
    return result.jobs["start"].tolist()


def test_a_job_whose_limit_reaches_into_it_waits_until_its_end(site):
    assert starts(site(KEPT), (0, 60, 300, 2, "")) == [0]
    assert starts(site(KEPT), (0, 60, 360, 2, "")) == [600]
    assert starts(site(KEPT), (10, 60, 300, 2, "")) == [600]


def test_the_other_nodes_are_used_meanwhile(site):
    assert starts(site(KEPT), (0, 60, 360, 2, ""), (1, 50, 60, 1, ""), (400, 100, 120, 1, "")) == [600, 5, 400]


def test_backfill_plans_around_it(site):
    # The first has the nodes until 200. A job of both for four minutes is planned after the reservation.
    jobs = (0, 200, 240, 2, ""), (1, 10, 240, 2, ""), (2, 10, 180, 1, "")
    assert starts(site(KEPT), *jobs) == [0, 600, 200]


def test_its_own_jobs_run_on_its_nodes_while_it_lasts(site):
    found = starts(site(KEPT), (0, 60, 60, 1, "kept"), (0, 60, 60, 1, "kept"), (310, 60, 300, 1, "kept"))
    assert found == [300, 360, -1]  # The last one would end after it, and is refused at its end.


def test_a_job_in_one_that_is_not_there_is_refused(site):
    assert starts(site(KEPT), (0, 60, 60, 1, "other"), (601, 60, 60, 1, "kept")) == [-1, -1]


def test_without_one_nothing_changes(site):
    assert starts(site("No reservations in the system"), (0, 60, 360, 2, "")) == [0]


@pytest.mark.parametrize("seed", some(range(4), 2))
def test_all_amounts_of_a_node_are_the_whole_node(seed):
    # Slurm rounds the times of whole nodes to bf_resolution, and allows no job that ends when they close.
    random = Random(seed)
    reserved = []
    starts = []
    submits = sorted(60 * random.randrange(30) for _ in range(14))
    jobs = [
        Job(str(place), submit, 60 * random.randint(1, 20), 60 * random.randint(1, 25), random.randint(1, 8))
        for place, submit in enumerate(submits)
    ]
    for first in (0, 3, 6):
        begin = 60 * random.randint(1, 60) + 31
        length = 60 * random.randint(5, 40) + 7
        every = random.choice([None, None, length + 60 * random.randint(20, 60)])
        nodes = range(first, min(8, first + random.randint(1, 3)))
        reserved.append(Reservation(begin, begin + length, nodes, every=every))
    for amounts in (None, {"core": 1}):
        rules = [replace(each, amounts=amounts) for each in reserved]
        workload = Workload(jobs, replace(Machine.homogeneous(8, core=1), reservations=rules))
        result = simulate(workload, "slurm:bf_resolution=1")
        check(workload, result)
        starts.append(result.jobs["start"].tolist())
    assert starts[0] == starts[1]


def test_a_walltime_that_is_no_whole_minute_is_planned_in_seconds():
    # Job 1 would end 9 s after the nodes close. It waits, and does not hold up job 2.
    jobs = [Job("0", 0, 40, 60, 4), Job("1", 1, 600, 600, 4), Job("2", 2, 60, 120, 2), Job("3", 3, 601, 601, 1)]
    for amounts in (None, {"core": 4}):
        machine = replace(Machine.pool(4), reservations=[Reservation(631, 1200, amounts=amounts)])
        result = simulate(Workload(jobs, machine), "slurm")
        assert result.jobs["start"].tolist() == [0, 1200, 60, 1800]
        assert "refused" not in result.manifest


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("n1 is free", "kept.txt:1: expected a line of scontrol show reservation -o, got none of ReservationName="),
        (KEPT.replace("1300", "2026-11-22T00:00:00"), "'StartTime': expected seconds since 1970, as with SLURM_TIME_F"),
        (KEPT.replace("n2", "n3"), "field 'Nodes': expected nodes of .*, got 'n3'"),
    ],
)
def test_a_line_that_is_no_reservation_is_refused(site, line, message):
    options = site(line)
    with pytest.raises(InputError, match=message):
        read_slurm_reservations(options["reservations"], read_slurm_conf(options["config"]))


def test_they_need_a_configuration(site):
    with pytest.raises(InputError, match=r"reservations: expected a configuration beside it \(config\)"):
        Slurm(reservations=site(KEPT)["reservations"])


def test_json_says_the_same(tmp_path):
    (tmp_path / "slurm.conf").write_text("NodeName=n[1-2] CPUs=4\n")
    site = read_slurm_conf(tmp_path / "slurm.conf")
    line = "ReservationName=upkeep StartTime=1000 EndTime=1600 Nodes=n2 Flags=MAINT,IGNORE_JOBS\n"
    entry = {
        "name": "upkeep",
        "start_time": {"set": True, "number": 1000},
        "end_time": 1600,
        "node_list": "n2",
        "flags": ["MAINT", "IGNORE_JOBS"],
    }
    found = []
    for name, text in (("lines", line), ("json", json.dumps({"reservations": [entry]}))):
        (tmp_path / name).write_text(text)
        found.append(read_slurm_reservations(tmp_path / name, site))
    assert found[0] == found[1] == (SlurmReservation("upkeep", 1000, 1600, (1,)),)
    (tmp_path / "json").write_text('{"reservations": [')
    with pytest.raises(InputError, match="json: expected JSON of scontrol show reservation, got an error"):
        read_slurm_reservations(tmp_path / "json", site)


def test_it_comes_back_every_day(site):
    daily = KEPT.replace("MAINT", "DAILY")
    day = 86400
    # A job of six minutes on both nodes waits for the end, today and tomorrow.
    assert starts(site(daily), (0, 60, 360, 2, ""), (day, 60, 360, 2, "")) == [600, day + 600]
    assert starts(site(daily), (100, 50, 60, 1, "kept"), (day, 50, 60, 1, "kept")) == [300, day + 300]
    hourly = KEPT.replace("MAINT", "HOURLY")
    assert starts(site(hourly), (3600, 60, 360, 2, "")) == [4200]


def test_weekends_close_no_node_on_other_days(site):
    # Time 1,300 s since 1970 is a Thursday; day 2 is a Saturday.
    weekend = KEPT.replace("MAINT", "WEEKEND")
    two = 2 * 86400
    assert starts(site(weekend), (0, 60, 360, 2, ""), (two, 60, 360, 2, "")) == [0, two + 600]


def test_flexible_ones_let_their_jobs_start_earlier(site):
    flexible = KEPT.replace("MAINT", "FLEX")
    assert starts(site(flexible), (0, 60, 60, 2, "kept"), (1, 60, 400, 1, "kept")) == [0, 60]
    assert starts(site(flexible), (0, 60, 360, 2, "")) == [600]


def test_some_cores_of_a_node_stay_open(site):
    some = KEPT.replace("CoreCnt=4", "CoreCnt=2")
    options = site(some)
    jobs = [
        Job(str(place), 0, 60, 900, 1, {"core": cores, "partition/all": 1}, queue="all")
        for place, cores in enumerate([4, 2, 2])
    ]
    workload = Workload(tuple(jobs), read_slurm_conf(options["config"]).machine())
    result = simulate(workload, Slurm(**options))
    first, second, third = result.jobs["start"].tolist()
    assert max(first, second) < 5
    assert third >= 60


@pytest.mark.parametrize(
    ("line", "note"),
    [
        (KEPT.replace("MAINT", "PURGE_COMP=00:05:00"), "PURGE_COMP: it may end earlier, when it is idle"),
        (KEPT.replace("MAINT", "SOMETHING"), "SOMETHING: it is not modelled"),
        (KEPT.replace("Nodes=n2 CoreCnt=4", "Nodes=(null) Licenses=matlab:2"), "its licences matlab:2 stay open"),
    ],
)
def test_what_is_not_modelled_is_said(site, line, note):
    options = site(line)
    (found,) = read_slurm_reservations(options["reservations"], read_slurm_conf(options["config"]))
    assert note in found.notes
    assert starts(options, (0, 60, 120, 1, "")) == [0]
