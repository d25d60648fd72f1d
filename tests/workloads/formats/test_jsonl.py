"""Workloads as JSON lines: nothing is lost. Errors name the line."""

import gzip
import json
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from drawn import number_of_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from random_workloads import workloads
from scipy import stats

from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import SA
from hpcdispatch.models.moldable import amdahl
from hpcdispatch.simulation import simulate
from hpcdispatch.testing import assert_same_records
from hpcdispatch.workloads import Checkpoint, Job, Machine, Provenance, Shape, Workload, generate, mold, read, write

MACHINE = Machine.homogeneous(4, core=2, gpu=1, name="small")
FULL = Job(
    "a b",
    3,
    10,
    20,
    2,
    {"core": 2, "gpu": 1},
    "ann",
    "staff",
    "söll",
    "long",
    "on-demand",
    (Shape(1, 30, 40), Shape(4, 5, 6, {"core": 1})),
    Checkpoint(1.5, 0.5, 100, 3, 7),
    stats.lognorm(0.5, scale=3600),
    60,
    "7%2",
    "kept",
    (("", "singleton", 60),),
    5,
    True,
    3,
    "urgent",
    True,
    11,
    {"matlab": 2},
    "71",
    (2, 2),
    "rack",
    2,
    60,
)


def saved(tmp_path, workload, name="w.jsonl"):
    write(workload, tmp_path / name)
    return tmp_path / name


@settings(max_examples=number_of_inputs(40))
@given(workloads(moldable=True).filter(len), st.sampled_from(["w.jsonl", "w.jsonl.gz"]))
def test_a_workload_comes_back(workload, name):
    with TemporaryDirectory() as folder:
        path = saved(Path(folder), workload, name)
        again = read(path)
        assert (again.jobs, again.machine, again.provenance) == (workload.jobs, workload.machine, workload.provenance)
        assert again.digest() == workload.digest()
        written = path.read_bytes()
        write(again, path)
        assert path.read_bytes() == written


def test_every_field_of_a_job_comes_back(tmp_path):
    assert [field.name for field in fields(Job) if getattr(FULL, field.name) == field.default] == ["slots"]
    provenance = Provenance("made", {"seed": 1}, ("; Note: x",), ("one dropped",), {"dropped": 1})
    workload = Workload([FULL, replace(FULL, id="2")], MACHINE, provenance)
    again = read(saved(tmp_path, workload))
    assert again.digest() == workload.digest()
    assert (again.provenance, again.machine.name) == (provenance, "small")
    job = again.jobs[0]
    assert replace(job, law=None) == replace(FULL, law=None)
    assert job.law is again.jobs[1].law
    assert job.law.mean() == FULL.law.mean()


def test_levels_and_unequal_slots_come_back(tmp_path):
    job = Job("a", 0, 5, 9, slots=[{"core": 2}, {"core": 1}], within="rack")
    workload = Workload([job], Machine.homogeneous(4, core=2, levels={"rack": ["0-1", "2;3"]}))
    again = read(saved(tmp_path, workload))
    assert (again.jobs[0], again.machine) == (job, workload.machine)
    assert again.machine.levels == {"rack": ((0, 1), (2, 3))}
    assert again.digest() == workload.digest()


def test_what_a_trace_has_besides_comes_back(tmp_path):
    (tmp_path / "t.swf").write_text("; MaxProcs: 8\n" + "1 0 7 60 4 50.5 -1 4 90 -1 1 1 1 1 1 -1 -1 -1\n")
    workload = read(tmp_path / "t.swf")
    again = read(saved(tmp_path, workload))
    assert again.jobs == tuple(workload.jobs)
    pd.testing.assert_frame_equal(again.records, workload.records)
    write(again, tmp_path / "again.swf")
    assert (tmp_path / "again.swf").read_text() == (tmp_path / "t.swf").read_text()


def test_a_generated_workload_of_laws_comes_back(tmp_path):
    workload = generate("stochastic", seed=1)
    assert read(saved(tmp_path, workload)).digest() == workload.digest()


def test_a_molded_workload_is_simulated_the_same(tmp_path):
    workload = mold(generate("lublin:jobs=40,processors=16", seed=1), lambda n: amdahl(n, 0.1), 3)
    again = read(saved(tmp_path, workload))
    assert_same_records(simulate(workload, SA()), simulate(again, SA()))


def test_the_first_jobs_alone(tmp_path):
    workload = generate("lublin:jobs=20,processors=16", seed=1)
    assert read(saved(tmp_path, workload), head=5).jobs == workload.head(5).jobs


def test_another_machine_may_stand_for_its_own(tmp_path):
    path = saved(tmp_path, Workload([Job("1", 0, 5, 5, 2), Job("2", 0, 5, 5, 9)], Machine.pool(9)))
    found = read(path, Machine.pool(4))
    assert (found.machine.capacity.tolist(), len(found)) == ([[4]], 1)
    assert found.provenance.counts == {"larger than the machine": 1}


def lines(*jobs, machine=None):
    header = {
        "format": "hpcdispatch-workload",
        "version": 1,
        "provenance": {},
        "machine": {"resources": ["core"], "capacity": [[4]]} if machine is None else machine,
    }
    return [json.dumps(line) if isinstance(line, dict) else line for line in (header, *jobs)]


GOOD = {"id": "1", "submit": 5, "runtime": 3, "walltime": 9, "nodes": 1, "per_node": {"core": 2}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"w.jsonl:3: expected a JSON object, got '\{'"),
        ("[1]", r"w.jsonl:3: expected a JSON object, got '\[1\]'"),
        ({**GOOD, "id": "1"}, "w.jsonl:3: field 'id': expected one of its own, got '1'"),
        ({**GOOD, "id": 7}, "w.jsonl:3: job 7: id must be a non-empty text, got 7"),
        ({**GOOD, "id": "2", "submit": 4}, "w.jsonl:3: field 'submit': expected >= 5, as the job before, got 4"),
        (
            {**GOOD, "id": "2", "submit": -4},
            "w.jsonl:3: job 2: submit must be a whole number >= 0 and <= 10000000000, got -4",
        ),
        (
            {**GOOD, "id": "2", "runtime": 1.5},
            "w.jsonl:3: job 2: runtime must be a whole number >= 0 and <= 10000000000, got 1.5",
        ),
        ({**GOOD, "id": "2", "cores": 2}, "w.jsonl:3: unknown field 'cores'; known: id, submit, runtime"),
        ({"id": "2", "submit": 9, "runtime": 1}, "w.jsonl:3: field 'walltime': expected it, got none"),
        ({**GOOD, "id": "2", "user": 3}, "w.jsonl:3: field 'user': expected a text, got 3"),
        ({**GOOD, "id": "2", "per_node": None}, "w.jsonl:3: field 'per_node': expected an object, got None"),
        ({**GOOD, "id": "2", "shapes": 3}, "w.jsonl:3: field 'shapes': expected a list, got 3"),
        ({**GOOD, "id": "2", "shapes": [3]}, "w.jsonl:3: shapes: expected an object, got 3"),
        ({**GOOD, "id": "2", "shapes": [{"nodes": 2, "runtime": 3}]}, "w.jsonl:3: shapes: field 'walltime': expected"),
        (
            {**GOOD, "id": "2", "shapes": [{"nodes": 0, "runtime": 3, "walltime": 3}]},
            "w.jsonl:3: shape: nodes must be a whole number >= 1 and <= 9007199254740992, got 0",
        ),
        ({**GOOD, "id": "2", "checkpoint": {"every": 3}}, "w.jsonl:3: checkpoint: unknown field 'every'; known: sys"),
        ({**GOOD, "id": "2", "law": {"name": "dice"}}, "w.jsonl:3: field 'law': name: expected a distribution of sci"),
        ({**GOOD, "id": "2", "law": {"name": "gamma"}}, "w.jsonl:3: field 'law': expected parameters of gamma, got"),
        ({**GOOD, "id": "2", "record": [1]}, r"w.jsonl:3: field 'record': expected a list of 0 values, got \[1\]"),
        ({**GOOD, "id": "2", "kind": "odd"}, "w.jsonl:3: job 2: kind must be one of batch, on-demand, got 'odd'"),
    ],
)
def test_a_malformed_line_is_named_or_dropped(tmp_path, line, message):
    path = tmp_path / "w.jsonl"
    path.write_text("\n".join(lines(GOOD, line, {**GOOD, "id": "last", "submit": 30})))
    with pytest.raises(InputError, match=message) as raised:
        read(path)
    assert "\n" not in str(raised.value)
    found = read(path, lenient=True)
    assert [job.id for job in found.jobs] == ["1", "last"]
    assert sum(found.provenance.counts.values()) == 1
    assert "1 malformed record dropped" in found.provenance.notes[0]
    assert found.provenance.notes[0].endswith("line 3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"format": "x"}',
            r"w.jsonl:1: expected a header with format 'hpcdispatch-workload' and version 1, got \{'fo",
        ),
        (json.dumps(GOOD), "w.jsonl:1: expected a header with format"),
        (lines(machine=3)[0], "w.jsonl:1: field 'machine': expected an object, got 3"),
        (lines(machine={"resources": ["core"], "capacity": [[-1]]})[0], "field 'machine': machine: node 0 must have"),
        (lines(machine={"resources": ["core"], "cap": 1})[0], "w.jsonl:1: machine: unknown field 'cap'; known: reso"),
        (lines()[0], "w.jsonl: expected jobs, a JSON object a line after the header, got none"),
        ("\n".join(lines({**GOOD, "nodes": 9})), "w.jsonl: expected jobs that fit the machine, got none among 1"),
    ],
)
def test_a_wrong_file_is_named(tmp_path, text, message):
    (tmp_path / "w.jsonl").write_text(text)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "w.jsonl")


def test_what_no_machine_could_run_is_dropped_and_counted_or_refused(tmp_path):
    shapes = [{"nodes": nodes, "runtime": 3, "walltime": 3} for nodes in (3, 1, 2)]
    wide = {**GOOD, "id": "wide", "nodes": 3, "shapes": shapes}
    path = tmp_path / "w.jsonl"
    path.write_text("\n".join(lines(GOOD, wide, {**GOOD, "id": "never", "nodes": 3})))
    found = read(path)
    assert [job.id for job in found.jobs] == ["1", "wide"]
    # Its request does not fit, but two of its shapes do.
    assert [shape.nodes for shape in found.jobs[1].shapes] == [1, 2]
    assert found.provenance.counts == {"larger than the machine": 1, "shapes larger than the machine": 1}
    assert simulate(found, "fcfs").jobs["shape"].tolist() == [-1, 0]
    with pytest.raises(InputError, match="job wide: expected shapes that fit"):
        read(path, strict=True)
    path.write_text("\n".join(lines({**GOOD, "nodes": 3})))
    with pytest.raises(InputError, match="job 1: expected a job that fits the machine, got one that asks for 3 slots"):
        read(path, strict=True)


def test_a_law_that_json_does_not_know_is_named(tmp_path):
    odd = replace(FULL, law=stats.rv_histogram(([1, 2], [0, 1, 2])))
    with pytest.raises(InputError, match="job a b: law: expected a distribution of scipy"):
        write(Workload([odd], MACHINE), tmp_path / "w.jsonl")


def test_gzip_has_no_time(tmp_path):
    workload = Workload([FULL], MACHINE)
    assert saved(tmp_path, workload, "a.jsonl.gz").read_bytes() == saved(tmp_path, workload, "b.jsonl.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()) == saved(tmp_path, workload).read_bytes()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("zz", "w.jsonl:3: job b: depends: no job 'zz' in the workload, for afterok"),
        ("b", "w.jsonl:3: job b: depends: it waits for itself (afterok:b)"),
        ("c", "w.jsonl:3: job b: depends: jobs wait for each other: b -> c -> b"),
    ],
)
def test_a_dependency_that_cannot_be_is_refused_with_its_line(tmp_path, other, message):
    jobs = [
        Job("a", 0, 9, 9),
        Job("b", 0, 9, 9, depends=(("a", "afterok"),)),
        Job("c", 0, 9, 9, depends=(("b", "after"),)),
    ]
    path = saved(tmp_path, Workload(jobs, MACHINE))
    path.write_text(path.read_text().replace('[["a","afterok"]]', f'[["{other}","afterok"]]'))
    with pytest.raises(InputError) as raised:
        read(path)
    assert str(raised.value).removeprefix(f"{tmp_path}/") == message


@pytest.mark.parametrize("lenient", [False, True])
def test_no_job_waits_for_one_that_is_left_out(tmp_path, lenient):
    """Because the machine has no room for it, or its line is malformed."""
    jobs = [Job("a", 0, 9, 9, 1 if lenient else 99), Job("b", 0, 9, 9, depends=(("a", "afterok"), ("", "singleton")))]
    path = saved(tmp_path, Workload(jobs, MACHINE))
    if lenient:
        path.write_text(path.read_text().replace('"id":"a","submit":0', '"id":"a","submit":-1'))
    workload = read(path, lenient=lenient)
    assert [job.depends for job in workload.jobs] == [(("", "singleton"),)]
    assert workload.provenance.counts["links to missing jobs"] == 1
