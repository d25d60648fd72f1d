"""Plausible mistakes get one line that says what to do."""

import re

import pytest

import hpcdispatch as hd
from hpcdispatch.base import InputError

POOL = hd.Machine.pool(8)


def job(**changed):
    return hd.Job(**{"id": "1", "submit": 0, "runtime": 5, "walltime": 9, "nodes": 1, **changed})


@pytest.fixture(scope="module")
def done():
    """Give a workload, a result and a comparison."""
    workload = hd.generate("lublin", jobs=20, processors=16, seed=1)
    return workload, hd.simulate(workload, "easy"), hd.compare(workload, "easy")


#: Calls with a workload, a result and a comparison, and the expected errors. Each error says what to do.
MISTAKES = {
    # No such workload.
    "a missing file": (
        lambda w, r, c: hd.simulate("missing.swf", "easy"),
        r"missing.swf: no such file, .*\(generators: .*lublin",
    ),
    "a missing file to read": (lambda w, r, c: hd.read("missing.swf"), "missing.swf: no such file"),
    "a published trace to read": (
        lambda w, r, c: hd.read("kth-sp2"),
        r"no such file; hpcdispatch.fetch\('kth-sp2'\) gets",
    ),
    "a workload to read": (lambda w, r, c: hd.read(w), "read: expected the path of a trace, got Workload"),
    "a malformed trace": (lambda w, r, c: hd.read("bad.swf"), r"bad.swf:1: expected 18 fields, got 3; .*lenient=True"),
    "a folder": (lambda w, r, c: hd.simulate(".", "easy"), "bad.swf:1: expected 18 fields, got 3"),
    "a list of jobs": (
        lambda w, r, c: hd.simulate([job()], "easy"),
        r"expected a Workload, a path, a generator .*; got \[Job",
    ),
    "a number": (lambda w, r, c: hd.compare(3, "easy"), "expected a Workload, a path, .*; got 3"),
    "arguments swapped": (lambda w, r, c: hd.simulate("easy", w), r"easy: no such file, and no workload of this name"),
    "an unknown trace": (lambda w, r, c: hd.fetch("kth-sp3"), "unknown trace 'kth-sp3'; known: kth-sp2"),
    "no name of a trace": (lambda w, r, c: hd.fetch(w), "unknown trace Workload .*; known: kth-sp2"),
    "an unknown generator": (
        lambda w, r, c: hd.generate("lublinn"),
        r"unknown workload 'lublinn' \(did you mean lublin\?\)",
    ),
    "an unknown option": (
        lambda w, r, c: hd.generate("lublin", job=5),
        "unknown option 'job'; known: jobs, processors",
    ),
    "text for a number": (
        lambda w, r, c: hd.generate("lublin", jobs="many"),
        "'jobs': expected a whole number, got 'many'",
    ),
    "no text for a generator": (lambda w, r, c: hd.generate(5), "expected NAME or NAME:key=value,key=value, got 5"),
    # No such dispatcher or predictor.
    "an unknown dispatcher": (
        lambda w, r, c: hd.simulate(w, "eazy"),
        r"unknown dispatcher 'eazy' \(did you mean easy\?\)",
    ),
    "its option": (lambda w, r, c: hd.simulate(w, "easy:dept=3"), "easy: unknown option 'dept'"),
    "the wrong way round": (
        lambda w, r, c: hd.check(r, w),
        "check: expected a Workload and then a Result, got Result and",
    ),
    "amounts of nothing": (lambda w, r, c: hd.Job("1", 0, 1, 1, 1, 4), "job 1: per_node must be amounts by resource"),
    "its class": (
        lambda w, r, c: hd.simulate(w, hd.dispatchers.EASY),
        "got <class .*EASY'>, which is a class: call it",
    ),
    "no dispatcher": (
        lambda w, r, c: hd.simulate(w, None),
        r"expected a name or an object with dispatch\(state\), got None",
    ),
    "an unknown predictor": (
        lambda w, r, c: hd.simulate(w, "easy", "last3"),
        r"unknown predictor 'last3' \(did you mean last2\?\)",
    ),
    "a dispatcher that predicts": (
        lambda w, r, c: hd.simulate(w, "easy", hd.dispatchers.EASY()),
        "a name or an object with predict and observe",
    ),
    "several to simulate": (
        lambda w, r, c: hd.simulate(w, ["easy"]),
        r"expected a name or an object .*, got \['easy'\]",
    ),
    # Options.
    "an unknown overrun": (
        lambda w, r, c: hd.simulate(w, "easy", overrun="stop"),
        "expected one of run, kill, resubmit, got",
    ),
    "an unknown order": (
        lambda w, r, c: hd.simulate(w, "easy", same_instant="x"),
        "expected one of batch, sequence, arrivals-first, arrivals-alone-first, got 'x'",
    ),
    "text as a seed": (lambda w, r, c: hd.simulate(w, "easy", seed="1"), "seed must be a whole number >= 0, got '1'"),
    "a number as a budget": (
        lambda w, r, c: hd.simulate(w, "easy", budget=5),
        r"expected a Budget, such as Budget\(decis",
    ),
    # Comparisons.
    "nothing to compare": (lambda w, r, c: hd.compare(w, []), "expected at least one dispatcher and one predictor"),
    "the same twice": (lambda w, r, c: hd.compare(w, ["easy", "easy"]), "dispatcher 'easy' is given twice"),
    "names in one text": (
        lambda w, r, c: hd.compare(w, "easy,fcfs"),
        r"unknown dispatcher 'easy,fcfs' \(several are a list",
    ),
    "no seeds": (lambda w, r, c: hd.compare(w, "easy", seeds=0), "seeds must be a whole number >= 1, got 0"),
    "text as seeds": (
        lambda w, r, c: hd.compare(w, "easy", seeds="three"),
        "seeds must be a whole number >= 1, a range .*, got 'three'",
    ),
    "no seed in a range": (
        lambda w, r, c: hd.compare(w, "easy", seeds=range(0)),
        r"expected 1 to \d+ distinct seeds, got range\(0, 0\)",
    ),
    "seeds that are none": (lambda w, r, c: hd.compare(w, "easy", seeds=[1, "x"]), "each of the seeds must be a whole"),
    "a negative jitter": (lambda w, r, c: hd.compare(w, "easy", jitter=-5), "must be a whole number >= 0, got -5"),
    "no workers": (lambda w, r, c: hd.compare(w, "easy", workers=0), "workers must be >= 1, got 0"),
    "a file for a folder": (
        lambda w, r, c: hd.compare(w, "easy", out="bad.swf"),
        "expected a folder for the store, got a file",
    ),
    # Jobs, machines and workloads.
    "a job of no nodes": (lambda w, r, c: job(nodes=0), "job 1: nodes must be a whole number >= 1 .*, got 0"),
    "text for a time": (lambda w, r, c: job(submit="now"), "job 1: submit must be a whole number >= 0 .*, got 'now'"),
    "part of a second": (lambda w, r, c: job(runtime=1.5), "job 1: runtime must be a whole number >= 0 .*, got 1.5"),
    "a number as id": (lambda w, r, c: job(id=7), "job 7: id must be a non-empty text, got 7"),
    "a machine of nothing": (
        lambda w, r, c: hd.Machine.homogeneous(4),
        "at least one resource must be given, such as core=16",
    ),
    "a flat capacity": (
        lambda w, r, c: hd.Machine(("core",), [4, 4]),
        r"capacity must have shape \(nodes, 1\), got \(2,\)",
    ),
    "a number as machine": (
        lambda w, r, c: hd.Workload([job()], 64),
        r"machine must be one such as Machine.pool\(64\)",
    ),
    "one job": (lambda w, r, c: hd.Workload(5, POOL), "jobs must be a sequence of Job objects, got 5 as one"),
    "an id twice": (
        lambda w, r, c: hd.Workload([job(), job()], POOL),
        "job 1: id must be unique in a workload, got it twice",
    ),
    "jobs out of order": (
        lambda w, r, c: hd.Workload([job(submit=5), job(id="2")], POOL),
        "submit must not fall, got 0 after 5",
    ),
    # Results.
    "an unknown suffix": (lambda w, r, c: hd.write(w, "x.txt"), "expected a file name ending in .swf or .jsonl"),
    "a result to write": (
        lambda w, r, c: hd.write(r, "x.swf"),
        "expected a workload and a path, .*; Result.to_swf writes",
    ),
    "a path first": (lambda w, r, c: hd.write("x.swf", w), "expected a workload and a path, got 'x.swf'"),
    "no saved result": (
        lambda w, r, c: hd.Result.load("none"),
        "no such file; expected a directory written by Result.save",
    ),
    "a number as warm-up": (
        lambda w, r, c: r.summary(95),
        "warm_up: expected a share of the jobs such as 5%, .*got 95",
    ),
    "half a window": (lambda w, r, c: r.plot.gantt("1d"), r"window: expected \(from, to\) after the first submission"),
    "no axes": (lambda w, r, c: r.plot.waits(3), r"ax: expected one matplotlib Axes, such as plt.subplots\(\)\[1\]"),
    "another metric": (lambda w, r, c: c.best("wait"), "best: expected a metric of wait_mean, .*; got 'wait'"),
    "a folder as report": (lambda w, r, c: c.report("."), "expected a file such as report.html, got a folder"),
    "another dispatcher": (
        lambda w, r, c: c.result("fcfs"),
        "result: expected a finished run of easy, seeds .*; got 'fcfs'",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_says_what_to_do(done, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HPCDISPATCH_DATA", str(tmp_path))
    (tmp_path / "bad.swf").write_text("1 2 3\n", encoding="utf-8")
    call, said = MISTAKES[name]
    with pytest.raises((ValueError, OSError), match=said) as caught:
        call(*done)
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 600
    assert not re.search(r"object at 0x|Errno", line)


def test_input_errors_are_value_errors():
    assert issubclass(InputError, ValueError)
