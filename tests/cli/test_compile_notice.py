"""Compiling is announced on stderr before it begins, with an estimate. Terminals, pipes and scripts."""

import logging
import re
import subprocess
import sys

import numba
import pytest
from patience import PATIENCE

from hpcdispatch.models.compiled import LOGGER, CompileNotice, notice

TRACE = "lublin:jobs=60,processors=32"
LINE = re.compile(r"hpcdispatch: compiling for about \d+ s, which the next call finds done")
CALLS = [
    ("run", TRACE, "--dispatcher", "compiling"),
    ("compare", TRACE, "--dispatchers", "compiling", "--workers", "1"),
    ("compare", TRACE, "--dispatchers", "compiling,fcfs", "--workers", "2"),
]


def test_every_compilation_counts():
    before = notice.count
    numba.njit(lambda x: x + 1)(1)
    assert notice.count > before


def long_function(lines):
    """Return a function of so many statements, not compiled yet."""
    made = {}
    exec("def long(x):\n" + "    x = x + 1\n" * lines + "    return x", made)
    return numba.njit(made["long"])


class Event:
    """What numba says of a compilation."""

    def __init__(self, dispatcher):
        self.data = {"dispatcher": dispatcher}


def told(functions):
    """Return the seconds of each notice. Functions are compiled one after the other."""
    made, seconds = CompileNotice(), []
    made.tell = seconds.append
    for function in functions:
        made.on_start(Event(function))
        made.on_start(Event(long_function(5)))  # what it calls is in its own estimate
        made.on_end(None)
        made.on_end(None)
    return seconds


def test_a_long_function_is_told_before_a_short_one_is_not():
    assert told([long_function(10)]) == []
    (seconds,) = told([long_function(400)])
    assert 1 <= seconds <= 4


def test_short_ones_are_told_once_they_are_long_together():
    assert len(told([long_function(150) for _ in range(3)])) == 1


def test_the_same_function_is_told_once():
    assert len(told([long_function(400)] * 3)) == 1


def test_what_it_calls_counts():
    inner = long_function(400)
    outer = numba.njit(lambda x: x)
    scope = {"inner": inner}
    exec("def outer(x):\n    return inner(x)", scope)
    assert told([outer]) == []
    assert len(told([numba.njit(scope["outer"])])) == 1


@pytest.mark.nightly
@pytest.mark.parametrize("args", CALLS)
def test_in_a_pipe(start, plugin, args):
    piped = start(*args)
    out, errors = piped.communicate(timeout=PATIENCE)
    assert piped.returncode == 0, errors
    assert len(LINE.findall(errors)) == 1
    assert not LINE.search(out)


# By day a script, below, has it in a pipe.
@pytest.mark.nightly
@pytest.mark.parametrize("args", CALLS)
def test_on_a_terminal(on_terminal, plugin, args):
    shown = on_terminal(*args).decode()
    # It has its own line. Cursor moves and bars are on other lines.
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", shown).splitlines()]
    assert len([line for line in lines if LINE.fullmatch(line)]) == 1


@pytest.mark.nightly
def test_in_a_script(plugin):
    script = (
        "from hpcdispatch.simulation import simulate\n"
        "from hpcdispatch.workloads import generate\n"
        f"simulate(generate({TRACE!r}), 'compiling')\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert len(LINE.findall(ran.stderr)) == 1
    assert ran.stdout == ""


def test_a_script_silences_it_as_any_logger(caplog):
    for level, notices in ((logging.ERROR, 0), (logging.WARNING, 1)):
        caplog.clear()
        with caplog.at_level(level, logger=LOGGER):
            CompileNotice().on_start(Event(long_function(400)))
        assert len(caplog.records) == notices
