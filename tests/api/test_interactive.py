"""Simulations and comparisons from a script. Any name of a workload, one or several dispatchers."""

import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import hpcdispatch as hd
from hpcdispatch.api import interactive
from hpcdispatch.base import InputError
from hpcdispatch.dispatchers import EASY
from hpcdispatch.models.compiled import notice
from hpcdispatch.workloads import jitter

SPEC = "lublin:jobs=60,processors=16"


@pytest.fixture
def trace_file(tmp_path):
    path = tmp_path / "trace.swf"
    hd.write(hd.generate(SPEC, seed=1), path)
    return path


@pytest.mark.parametrize("kind", ["workload", "path", "text", "generator"])
def test_a_workload_goes_by_any_name(kind, trace_file):
    given = {
        "workload": hd.read(trace_file),
        "path": trace_file,
        "text": str(trace_file),
        "generator": SPEC + ",seed=1",
    }[kind]
    expected = hd.simulate(hd.read(trace_file), "easy").jobs["start"]
    assert hd.simulate(given, "easy").jobs["start"].equals(expected)
    assert hd.compare(given, "easy").runs["jobs"].tolist() == [60]


@pytest.mark.traces
def test_a_published_trace_goes_by_its_name(trace, tmp_path, monkeypatch):
    shutil.copy(trace("KTH-SP2-1996-2.swf.gz"), tmp_path)
    monkeypatch.setenv("HPCDISPATCH_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert len(hd.fetch("kth-sp2")) == len(hd.simulate("kth-sp2", "fcfs").jobs) > 28_000


def test_a_seed_draws_a_generated_workload():
    starts = [tuple(hd.simulate(SPEC, "easy", seed=seed).jobs["start"]) for seed in (0, 1, 1)]
    assert starts[0] != starts[1] == starts[2]
    drawn = hd.compare(SPEC, "easy", seeds=2).runs
    assert drawn["wait_mean"].nunique() == 2


def test_shifts_add_to_the_samples_of_a_generator():
    drawn, shifted = (hd.compare(SPEC, "easy", seeds=2, jitter=each) for each in (None, 5))
    assert (drawn.basis, shifted.basis) == ("independent", "independent")
    assert (drawn.jitter, shifted.jitter) == (None, 5)
    for seed in (0, 1):
        sample = jitter(hd.generate(SPEC, seed=seed), 5, np.random.default_rng(seed))
        expected = hd.simulate(sample, "easy", seed=seed).summary()["wait_mean"]
        assert shifted.runs["wait_mean"][seed] == expected
    assert hd.compare(SPEC + ",seed=4", "easy", seeds=2).basis == "resamples"


def test_compares_one_or_several():
    workload = hd.generate(SPEC)
    assert len(hd.compare(workload, EASY()).table) == 1
    assert len(hd.compare(workload, ("fcfs", "easy"), ["walltime", "oracle"]).table) == 4


def test_simulates_one_at_a_time():
    with pytest.raises(
        InputError, match=r"dispatcher: expected a name or an object with dispatch\(state\), got \['easy', "
    ):
        hd.simulate(SPEC, ["easy", "fcfs"])


def test_a_script_sees_no_bar(capfd):
    hd.simulate(SPEC, "easy")
    hd.compare(SPEC, ["easy", "fcfs"])
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def prompt(monkeypatch):
    """Let Python be used at a prompt."""
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")


@pytest.mark.parametrize("run", [hd.simulate, hd.compare])
def test_a_person_sees_a_bar(run, capfd, prompt, terminal):
    run(SPEC, "easy", progress=lambda _: None)
    assert capfd.readouterr().err == ""
    run(hd.generate(SPEC), "easy")
    shown = capfd.readouterr().err
    assert f"{run.__name__} " in shown
    assert "0/60" in shown or "60/60" in shown


def test_a_file_gets_no_bar(capfd, prompt):
    hd.simulate(SPEC, "easy")
    assert capfd.readouterr().err == ""


def test_says_that_it_compiles(capfd, prompt, terminal):
    def compiles(progress):
        notice.tell(3.2)
        return progress

    before = notice.tell
    advance = interactive.with_bar(compiles)()
    assert "compiling for about 3 s, which the next call finds done" in capfd.readouterr().err
    assert callable(advance)
    assert notice.tell == before


def test_a_function_follows_the_jobs():
    simulated, compared = [], []
    hd.simulate("lublin:jobs=3000,processors=64", "easy", progress=simulated.append)
    hd.compare(SPEC, "easy", progress=compared.append)
    assert simulated[-1] == 3000
    assert simulated == sorted(simulated)
    assert compared[-1].jobs == 60


def test_keeps_the_help():
    assert "Simulate a workload under a dispatcher" in hd.simulate.__doc__
    assert hd.compare.__name__ == "compare"


@pytest.fixture
def notebook(monkeypatch, prompt):
    """Return the list of what a notebook shows in the place of the bar, one after the other."""
    shown = []
    display = SimpleNamespace(HTML=str, display=lambda first, display_id: SimpleNamespace(update=shown.append))
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=display))
    return shown


def test_a_notebook_sees_a_bar_without_widgets(notebook):
    shown = notebook
    hd.simulate(hd.generate("lublin:jobs=3000,processors=64"), "easy")
    assert shown[0] == "simulate <progress value='0' max='3000'></progress> 0 jobs"
    assert len(shown) > 2
    assert shown[-1] == ""


def test_a_notebook_keeps_no_notice_of_compilation(notebook, capfd):
    interactive.with_bar(lambda progress: notice.tell(3.2))()
    assert notebook[-2:] == ["compiling for about 3 s, which the next call finds done", ""]
    assert capfd.readouterr() == ("", "")
