from __future__ import annotations

import math

import pytest

from hpcdispatch.workloads import Job, Machine, Workload, describe, generate


def test_numbers_by_hand():
    hour = 3600
    jobs = (
        Job("1", 0, 10, 100, per_node={"core": 1}, user="a", queue="q"),
        Job("2", 100, hour, hour, per_node={"core": 3}, user="b", queue="q"),
        Job("3", 1000, 6 * hour, 5 * hour, per_node={"core": 4}, user="b"),
        Job("4", 2 * hour, 10, 1000, per_node={"core": 2}),
    )
    told = describe(Workload(jobs, Machine.pool(10)))
    work = 10 + 3 * hour + 24 * hour + 20
    assert (told.jobs, told.span, told.jobs_per_hour, told.users) == (4, 2 * hour, 2.0, 2)
    assert told.load == work / (10 * 2 * hour)
    assert (told.serial, told.power_of_two) == (0.25, 0.75)
    assert (told.size_mean, told.size_median, told.size_max) == (2.5, 2.5, 4)
    assert [one.jobs for one in told.classes] == [0.5, 0.25, 0.25]
    assert sum(one.work for one in told.classes) == pytest.approx(1)
    assert told.accuracy == pytest.approx((0.1 + 1 + 1.2 + 0.01) / 4)
    assert (told.loose, told.overrun) == (0.25, 0.25)
    assert told.top_users[0].name == "b"
    assert told.top_users[0].work == pytest.approx(27 * hour / work)
    assert [(one.name, one.jobs) for one in told.queues] == [("q", 0.5)]
    assert told.requested_top[0] == (100, 0.25)


def test_rows_are_text():
    rows = dict(describe(generate("lublin", jobs=100)).rows())
    assert rows["jobs"] == "100"
    assert rows["offered load"] == "0.70"
    assert all(isinstance(value, str) for value in rows.values())


def test_no_jobs_at_all():
    told = describe(Workload((), Machine.pool(1)))
    assert told.jobs == 0
    assert math.isnan(told.load)
    assert told.rows()
