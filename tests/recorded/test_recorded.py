"""A share of the recorded schedules. All cases are recorded. A changed schedule is found."""

from dataclasses import replace

import pytest

from hpcdispatch.dispatchers import registry as dispatchers
from recorded import cases as under_test
from recorded.cases import LEARNED, OVERRUNS, SLOW, Case, cases, digests, key, recorded

#: One case in so many.
SHARE = 151
SHARED = cases()[::SHARE]


@pytest.mark.parametrize("case", SHARED, ids=key)
def test_schedule_is_as_recorded(case):
    assert digests(case) == recorded()[key(case)]


def test_every_case_is_recorded():
    assert sorted(recorded()) == sorted(map(key, cases()))
    assert {case.dispatcher for case in cases()} >= set(dispatchers.names()) - {*SLOW, *LEARNED}


def test_no_case_was_recorded_as_an_error():
    assert [name for name, found in recorded().items() if len(found) != 4] == []


def test_the_share_has_every_overrun_policy():
    assert {case.overrun for case in SHARED} == set(OVERRUNS)


def test_another_schedule_has_other_digests(monkeypatch):
    case = Case("easy", "pool-load", "run", "walltime")
    workload = under_test.workload("pool-load")
    jobs = list(workload.jobs)
    jobs[0] = replace(jobs[0], runtime=jobs[0].runtime + 1)
    monkeypatch.setattr(under_test, "workload", lambda _: replace(workload, jobs=tuple(jobs)))
    assert digests(case)[:2] != recorded()[key(case)][:2]
