"""What jobs may depend on, and which jobs that is."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import Job, Machine, Workload
from hpcdispatch.workloads.dependencies import Link, links

POOL = Machine.pool(4)


def job(id_, *depends, **fields):
    return Job(id_, 0, 5, 5, depends=depends, **fields)


def found(*jobs):
    return links(Workload(jobs, POOL).columns)


def test_without_dependencies_there_are_no_links():
    assert found(job("1"), job("2")) == {}


def test_conditions_and_delays():
    listed = found(job("1"), job("2"), job("3", ("1", "after"), ("2", "afternotok", 60)))
    assert listed == {2: (Link(0, "after", 0), Link(1, "afternotok", 60))}


def test_the_id_of_an_array_names_all_its_tasks():
    tasks = [job(f"7_{task}", array="7%2") for task in range(3)]
    listed = found(*tasks, job("8", ("7", "afterok")))
    assert listed == {3: tuple(Link(task, "afterok", 0) for task in range(3))}


def test_aftercorr_names_the_same_task():
    tasks = [job(f"7_{task}", array="7") for task in range(2)]
    listed = found(*tasks, *(job(f"8_{task}", ("7", "aftercorr"), array="8") for task in range(2)))
    assert listed == {2: (Link(0, "afterok", 0),), 3: (Link(1, "afterok", 0),)}


def test_a_singleton_waits_back_to_the_last_singleton_of_its_user_and_name():
    one = {"user": "u", "name": "n"}
    single = ("", "singleton")
    listed = found(
        job("1", **one),
        job("2", **one),
        job("3", single, **one),
        job("4", **one),
        job("5", single, **one),
        job("6", single, user="v", name="n"),
    )
    assert {place: [link.parent for link in each] for place, each in listed.items()} == {2: [0, 1], 4: [2, 3], 5: []}


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ([job("1", ("1", "afterok"))], "job 1: depends: it waits for itself (afterok:1)"),
        ([job("1", ("9", "afterok"))], "job 1: depends: no job '9' in the workload, for afterok"),
        ([job("1", ("2", "after")), job("2", ("1", "after"))], "job 1: depends: jobs wait for each other: 1 -> 2 -> 1"),
        (
            [job("0"), job("1", ("3", "after")), job("2", ("1", "after")), job("3", ("2", "after"), ("0", "after"))],
            "job 1: depends: jobs wait for each other: 1 -> 3 -> 2 -> 1",
        ),
        (
            [job("7_1", array="7"), job("8_2", ("7", "aftercorr"), array="8")],
            "job 8_2: depends: array 7 has no such task (aftercorr:7)",
        ),
    ],
)
def test_dependencies_that_cannot_be_are_refused(jobs, message):
    with pytest.raises(InputError) as raised:
        Workload(jobs, POOL)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    "depends",
    [
        "17",
        [("17",)],
        [("17", "afterwards")],
        [(17, "after")],
        [("", "after")],
        [("17", "after", -1)],
        5,
        [("17", "after", 1.5)],
        [("17", "after", 1, 2)],
    ],
)
def test_what_is_no_dependency_is_refused(depends):
    with pytest.raises(ValueError, match=r"^job 1: depends: "):
        Job("1", 0, 5, 5, depends=depends)


def test_a_part_of_a_workload_leaves_out_dependencies_on_the_rest():
    whole = Workload([job("1"), job("2", ("1", "afterok"), ("", "singleton")), job("3", ("2", "after"))], POOL)
    part = whole.slice(1, 3)
    assert [each.depends for each in part.jobs] == [(("", "singleton"),), (("2", "after"),)]
