"""What is said while functions are compiled: once, after a while, on a terminal."""

import threading

import numba
import pytest

from hpcdispatch.cli.app import NOTICE
from hpcdispatch.models import compiled
from hpcdispatch.models.compiled import compiling

TRACE = "lublin:jobs=60,processors=32"


def test_every_compilation_begins_and_ends():
    calls = []
    with compiling(lambda: calls.append("begun"), lambda: calls.append("ended")):
        numba.njit(lambda x: x + 1)(1)
    assert calls[0] == "begun"
    assert calls.count("begun") == calls.count("ended") > 0
    numba.njit(lambda x: x + 2)(1)
    assert calls[-1] == "ended"


def said(monkeypatch, patience, compilations):
    """Return what is said when functions are compiled, each until the clock has gone off or long before."""
    lines, told = [], threading.Event()
    monkeypatch.setattr(compiled, "PATIENCE", patience)
    clock = compiled.CompileClock(lambda: (lines.append("said"), told.set()))
    for _ in range(compilations):
        clock.begin()
        clock.begin()
        clock.end()
        if patience == 0:
            assert told.wait(30)
        clock.end()
    return lines


def test_it_is_said_once(monkeypatch):
    assert said(monkeypatch, 0, 3) == ["said"]


def test_nothing_is_said_before(monkeypatch):
    assert said(monkeypatch, 3600, 3) == []


@pytest.mark.parametrize(
    "args",
    [
        ("run", TRACE, "--dispatcher", "compiling"),
        ("compare", TRACE, "--dispatchers", "compiling"),
        ("compare", TRACE, "--dispatchers", "compiling,fcfs", "--workers", "2"),
    ],
)
def test_on_a_terminal_only(on_terminal, invoke, plugin, args):
    shown = on_terminal(*args)
    assert shown.count(NOTICE.encode()) == 1
    assert invoke(*args).stderr == ""
