"""Accounting of PBS Professional, OpenPBS, Torque and Cray."""

import pytest

from hpcdispatch.base import InputError
from hpcdispatch.workloads import read

EPOCH = 1704067200
USUAL = {
    "user": "ann",
    "group": "g",
    "account": '"A1"',
    "jobname": "a b",
    "queue": "q",
    "ctime": EPOCH,
    "qtime": EPOCH,
    "etime": EPOCH,
    "start": EPOCH + 10,
    "end": EPOCH + 610,
    "exec_host": "n1/0*4+n2/0*4",
    "Resource_List.walltime": "01:00:00",
    "resources_used.walltime": "00:10:00",
    "Exit_status": "0",
}


def record(id="1.head", kind="E", **changed):
    fields = USUAL | {name.replace("__", "."): value for name, value in changed.items()}
    pairs = " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
    return f"01/01/2024 00:10:10;{kind};{id};{pairs}"


def jobs_of(folder, *lines, **options):
    (folder / "20240101").write_text("\n".join([*lines, ""]))
    return read(folder / "20240101", **options)


def amounts(workload):
    return [(int(job.per_node.get("core", 0)), int(job.per_node.get("gpu", 0))) for job in workload.jobs]


HOSTS = [
    ({"exec_host": "n1/0*4"}, 4),
    ({"exec_host": "n1/7"}, 1),
    ({"exec_host": "n1/0-27"}, 28),
    ({"exec_host": "n1/0-1,5,11"}, 4),
    ({"exec_host": "n1/0+n1/1+n2/0+n2/1"}, 4),
    ({"exec_host": "n1/0-27+n2/0-27"}, 56),
    ({"exec_host": "n1/0", "exec_vnode": "(n1:ncpus=16:mem=4gb)"}, 16),
    ({"exec_host": "n1/0+n2/0", "exec_vnode": "(n1:ncpus=13)+(n2:ncpus=13)"}, 26),
    ({"exec_host": "n1/0", "exec_vnode": "(n1[0]:ncpus=8+n1[1]:ncpus=8)"}, 16),
    ({"exec_host": None, "Resource_List__nodes": "1:ppn=28"}, 28),
    ({"exec_host": None, "Resource_List__nodes": "1:ppn=28:gpus=1:default"}, 28),
    ({"exec_host": None, "Resource_List__nodes": "2:ppn=4+4:ppn=1"}, 12),
    ({"exec_host": None, "Resource_List__nodes": "n7:ppn=8+n9:ppn=8"}, 16),
    ({"exec_host": None, "Resource_List__nodes": "3"}, 3),
    ({"exec_host": None, "Resource_List__select": "2:ncpus=8:mpiprocs=8"}, 16),
    ({"exec_host": None, "Resource_List__select": "ncpus=8:mem=4gb"}, 8),
    ({"exec_host": None, "Resource_List__select": "1:ncpus=4+3:ncpus=2"}, 10),
    ({"exec_host": None, "Resource_List__ncpus": "12"}, 12),
    ({"exec_host": None, "Resource_List__procs": "24"}, 24),
    ({"exec_host": "login1/0", "Resource_List__mppwidth": "64"}, 64),
    ({"exec_host": "login1/0", "Resource_List__mppwidth": "8", "Resource_List__mppdepth": "4"}, 32),
]


@pytest.mark.parametrize(("fields", "cores"), HOSTS)
def test_cores(tmp_path, fields, cores):
    assert amounts(jobs_of(tmp_path, record(**fields)))[0][0] == cores


GPUS = [
    ({"Resource_List__nodes": "1:ppn=28:gpus=1"}, 1),
    ({"Resource_List__nodes": "2:ppn=28:gpus=2"}, 4),
    ({"Resource_List__nodes": "2:gpus=2:ppn=4"}, 4),
    ({"Resource_List__nodes": "1:ppn=1:gpus=4:exclusive_process"}, 4),
    ({"Resource_List__nodes": "2:ppn=4:gpus=2+4:ppn=1:gpus=1"}, 8),
    ({"Resource_List__nodes": "n1:ppn=4:gpus=2+n2:ppn=4"}, 2),
    ({"Resource_List__nodes": "1:ppn=28:default", "Resource_List__gpus": "2"}, 2),
    ({"Resource_List__gres": "gpus:2"}, 2),
    ({"Resource_List__gres": "gpu:1"}, 1),
    ({"Resource_List__gres": "matlab:1+gpus:3"}, 3),
    ({"Resource_List__gres": "matlab:1"}, 0),
    ({"Resource_List__ngpus": "3"}, 3),
    ({"Resource_List__ngpus": "0"}, 0),
    ({"Resource_List__select": "2:ncpus=8:ngpus=4"}, 8),
    ({"exec_vnode": "(n1:ncpus=4:ngpus=1)+(n2:ncpus=4:ngpus=1)"}, 2),
    ({"exec_gpus": "n1-gpu/0+n1-gpu/1"}, 2),
    ({"exec_gpus": "n1-gpu/0+n2-gpu/1", "Resource_List__nodes": "2:ppn=4:gpus=1"}, 2),
    ({"Resource_List__neednodes": "1:ppn=28:gpus=1"}, 0),
    ({"Resource_List__nodes": "4:ppn=8"}, 0),
    ({"Resource_List__nodes": "1:gpus=many"}, 0),
]


@pytest.mark.parametrize(("fields", "gpus"), GPUS)
def test_gpus(tmp_path, fields, gpus):
    assert amounts(jobs_of(tmp_path, record(**fields)))[0][1] == gpus


USED = [
    ("00:10:00", 600, False),
    ("600", 600, False),
    ("0:10:0", 600, False),
    ("00:09:59", 600, False),
    ("00:00:00", 600, True),
    ("00:00:01", 600, True),
    ("-342359:-42:-21", 600, True),
    ("00:05:00", 600, True),
    ("20:00:00", 600, True),
    (None, 600, False),
]


@pytest.mark.parametrize(("used", "runtime", "noted"), USED)
def test_nodes_are_held_from_start_to_end(tmp_path, used, runtime, noted):
    workload = jobs_of(tmp_path, record(resources_used__walltime=used))
    assert [job.runtime for job in workload.jobs] == [runtime]
    assert any("resources_used.walltime differs" in note for note in workload.provenance.notes) is noted


@pytest.mark.parametrize("missing", [{"end": None}, {"end": "0"}])
def test_the_used_time_stands_in_for_a_missing_end(tmp_path, missing):
    assert [job.runtime for job in jobs_of(tmp_path, record(**missing)).jobs] == [600]


@pytest.mark.parametrize("start", ["0", EPOCH + 10])
def test_an_array_as_a_whole_is_no_job(tmp_path, start):
    parts = [record(f"4[{task}].head", exec_host="n1/0") for task in (1, 2)]
    whole = record("4[].head", start=start, exec_host=None, resources_used__walltime=None, array_indices="1-2")
    workload = jobs_of(tmp_path, *parts, whole)
    assert [job.id for job in workload.jobs] == ["4[1]", "4[2]"]
    assert workload.provenance.counts == {"whole arrays": 1}


def test_a_job_that_never_started(tmp_path):
    workload = jobs_of(tmp_path, record(), record("2.head", start=0, resources_used__walltime=None))
    assert (len(workload), workload.provenance.counts) == (1, {"not started": 1})


SUBMITS = [{"qtime": None, "etime": None}, {"ctime": None}, {"ctime": None, "qtime": None}, {"ctime": "0"}]


@pytest.mark.parametrize("missing", SUBMITS)
def test_any_time_of_a_submission_counts(tmp_path, missing):
    workload = jobs_of(tmp_path, record(**missing))
    assert workload.records["wait"].tolist() == [10]


MEMORY = [("8gb", 8 * 1024**2), ("4gw", 32 * 1024**2), ("2048", 2), ("512mb", 512 * 1024), ("1.5gb", 1.5 * 1024**2)]


@pytest.mark.parametrize(("text", "kilobytes"), MEMORY)
def test_memory(tmp_path, text, kilobytes):
    workload = jobs_of(tmp_path, record(exec_host="n1/0", Resource_List__mem=text))
    assert workload.records["requested_memory"].tolist() == [kilobytes]


def test_memory_of_each_process(tmp_path):
    workload = jobs_of(tmp_path, record(Resource_List__pmem="1gb"))
    assert workload.records["requested_memory"].tolist() == [1024**2]


def test_names_and_accounts(tmp_path):
    workload = jobs_of(tmp_path, record(), record("2.head", account=None, project="_pbs_project_default"))
    assert workload.records["account"].tolist() == ["A1", ""]
    assert [job.name for job in workload.jobs] == ["a b", "a b"]


def test_a_file_name_in_front_of_each_line(tmp_path):
    workload = jobs_of(tmp_path, f"20240101:{record()}", f"logs/20240102:{record('2.head')}")
    assert [job.id for job in workload.jobs] == ["1", "2"]


def test_an_id_that_comes_again_is_another_job(tmp_path):
    later = dict.fromkeys(("ctime", "qtime", "etime"), EPOCH + 10**6)
    again = record(Exit_status="1", start=EPOCH + 10**6 + 5, end=EPOCH + 10**6 + 65, **later)
    workload = jobs_of(tmp_path, record(Exit_status="1"), again)
    assert [(job.id, job.runtime) for job in workload.jobs] == [("1", 600), ("1#2", 60)]


def test_a_bad_line_is_named(tmp_path):
    with pytest.raises(InputError, match=r"20240101:2: expected a record as 'date time;E;id.*--lenient"):
        jobs_of(tmp_path, record(), "nonsense")
