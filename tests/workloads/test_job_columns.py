import pickle
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from hpcdispatch.base import InputError
from hpcdispatch.testing import samples
from hpcdispatch.workloads import Job, Machine, Workload, generate, read
from hpcdispatch.workloads.job_columns import Coded, JobColumns

EACH = pytest.mark.parametrize("workload", samples(), ids=lambda workload: workload.provenance.source)


def as_columns(workload):
    return replace(workload, jobs=workload.columns)


@EACH
def test_jobs_come_out_as_they_went_in(workload):
    columns = JobColumns.of(workload.jobs)
    assert columns == workload.jobs
    assert workload.jobs == columns
    for job, made in zip(workload.jobs, columns, strict=True):
        for field in fields(Job):
            assert type(getattr(made, field.name)) is type(getattr(job, field.name))


@EACH
def test_digest_and_frame_are_the_same_however_jobs_are_kept(workload):
    other = as_columns(workload)
    assert other.digest() == workload.digest()
    pd.testing.assert_frame_equal(other.frame(), workload.frame())
    shuffled = {name: getattr(other.jobs, name) for name in JobColumns.__slots__}
    for name, column in shuffled.items():
        if isinstance(column, Coded):
            last = len(column.values) - 1
            shuffled[name] = Coded(last - column.codes, column.values[::-1])
    assert replace(other, jobs=JobColumns(**shuffled)).digest() == workload.digest()


@pytest.mark.parametrize(
    "change",
    [
        {"id": "x"},
        {"submit": 1},
        {"runtime": 7},
        {"walltime": 7},
        {"nodes": 3},
        {"per_node": {"core": 2}},
        {"user": "u"},
        {"name": "1"},
        {"kind": "on-demand"},
        {"kind": "on-demand", "deadline": 0},
        {"array": "2%1"},
        {"reservation": "kept"},
        {"depends": (("", "singleton"),)},
        {"begin": 1},
        {"hold": True},
    ],
)
def test_digest_tells_jobs_apart(change):
    machine = Machine.pool(8)
    jobs = [Job("1", 1, 5, 9), Job("2", 1, 5, 9)]
    changed = [jobs[0], replace(jobs[1], **change)]
    same = change == {"submit": 1}
    assert (Workload(changed, machine).digest() == Workload(jobs, machine).digest()) == same


def test_ids_do_not_run_into_each_other():
    machine = Machine.pool(8)
    pairs = ("1", "11"), ("11", "1")
    assert len({Workload([Job(id_, 0, 1, 1) for id_ in pair], machine).digest() for pair in pairs}) == 2


def test_is_a_sequence():
    jobs = generate("lublin", jobs=1500).jobs
    every = tuple(jobs)
    assert (len(jobs), jobs[3], jobs[-1]) == (1500, every[3], every[-1])
    assert jobs[500:1200] == every[500:1200]
    assert jobs[500:1200][-5:] == every[1195:1200]
    assert [*reversed(jobs)] == [*reversed(every)]
    assert jobs + every[:1] == every + jobs[:1] == (*every, every[0])
    assert every[700] in jobs
    assert jobs.index(every[700]) == 700
    assert (hash(jobs), jobs) == (hash(every), every)
    assert jobs != every[:-1]
    assert jobs != list(every)
    with pytest.raises(IndexError):
        jobs[1500]
    assert pickle.loads(pickle.dumps(jobs)) == every


def test_cannot_be_changed():
    jobs = generate("lublin", jobs=10).jobs
    for column in (jobs.submit, jobs.ids, jobs.user.codes):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 5
    with pytest.raises(AttributeError):
        jobs[0].submit = 5


@pytest.mark.parametrize("kept", [tuple, JobColumns.of])
def test_a_workload_refuses_the_first_wrong_job(kept):
    jobs = [Job("a", 5, 1, 1), Job("b", 9, 1, 1), Job("c", 7, 1, 1), Job("a", 9, 1, 1)]
    with pytest.raises(InputError, match=r"^job c: submit must not fall, got 7 after 9$"):
        Workload(kept(jobs), Machine.pool(4))
    with pytest.raises(InputError, match=r"^job a: id must be unique in a workload, got it twice$"):
        Workload(kept([*jobs[:2], jobs[3]]), Machine.pool(4))
    assert len(Workload(kept([]), Machine.pool(4)).frame()) == 0


def test_columns_are_checked():
    with pytest.raises(InputError, match=r"^job 2: walltime must be a whole number >= 1, got 0$"):
        JobColumns.made(np.array([1, 2]), submit=[0, 0], runtime=[1, 1], walltime=[1, 0])
    with pytest.raises(InputError, match=r"^jobs: runtime must have 2 values, one a job, got 1$"):
        JobColumns.made(np.array([1, 2]), submit=[0, 0], runtime=[1], walltime=[1, 1])


def test_makes_no_job_where_none_is_looked_at(tmp_path, monkeypatch):
    lines = [f"{number} {number} 0 5 1 -1 -1 1 9 -1 1 {number % 7} 1 1 1 1 -1 -1" for number in range(1, 2001)]
    (tmp_path / "a.swf").write_text("; MaxProcs: 4\n" + "\n".join(lines))
    monkeypatch.setattr(JobColumns, "_jobs", lambda *_: pytest.fail("a job was made"))
    workload = read(tmp_path / "a.swf")
    assert len(workload.slice(10, 90).digest()) == 64
    assert len(workload.frame()) == 2000
