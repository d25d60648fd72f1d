"""A runner for the commands. A third party's package with faulty parts."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from patience import PATIENCE

from hpcdispatch.cli import cli
from hpcdispatch.workloads import generate, write

PLUGIN = '''
import os
import time


class Boom:
    """Raises at its first decision."""

    def dispatch(self, state):
        raise KeyError("boom")


class Cheat:
    """Starts a job where it has no room."""

    def dispatch(self, state):
        return [object()]


class Stuck:
    """Never decides; says that it began, and in which process, in the file `mark`."""

    def __init__(self, mark: str, name: str = ""):
        self.mark = mark

    def dispatch(self, state):
        with open(self.mark, "w") as file:
            file.write(str(os.getpid()))
        while True:
            time.sleep(0.01)


class Gone:
    """Ends its process without a word."""

    def __init__(self, code: int = 0, at: str = "decision"):
        self.code, self.at = code, at
        if at == "making":
            os._exit(code)

    def dispatch(self, state):
        os._exit(self.code)


class Deaf:
    """Takes no notice of signals, and leaves a thread behind."""

    def dispatch(self, state):
        import signal
        import threading

        from hpcdispatch.dispatchers import FCFS

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        threading.Thread(target=time.sleep, args=(10**6,)).start()
        return FCFS().dispatch(state)


class Slow:
    """First come, first served, a little late."""

    def dispatch(self, state):
        from hpcdispatch.dispatchers import FCFS

        time.sleep(0.001)
        return FCFS().dispatch(state)


class Compiling:
    """First come, first served, after a function was compiled that takes a while."""

    def dispatch(self, state):
        import numba
        from hpcdispatch.dispatchers import FCFS

        if not hasattr(self, "made"):
            made = {}
            exec("def long(x):\\n" + "    x = x + 1\\n" * 400 + "    return x", made)
            self.made = numba.njit(made["long"])(1)
        return FCFS().dispatch(state)
'''
ENTRY_POINTS = """[hpcdispatch.dispatchers]
boom = misbehaved:Boom
cheat = misbehaved:Cheat
stuck = misbehaved:Stuck
slow = misbehaved:Slow
compiling = misbehaved:Compiling
nothere = misbehaved:NotThere
gone = misbehaved:Gone
deaf = misbehaved:Deaf
absent = nosuchmodule:Thing
broken = brokenmodule:Thing
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install the package, for this process and its children."""
    site = tmp_path / "site"
    info = site / "misbehaved-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "misbehaved.py").write_text(PLUGIN)
    (site / "brokenmodule.py").write_text("raise RuntimeError('not today')\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: misbehaved\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.delitem(sys.modules, "misbehaved", raising=False)
    return site


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run a command in this process, 100 columns wide."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*args: object, columns: int = 100) -> Result:
        monkeypatch.setenv("COLUMNS", str(columns))
        return CliRunner().invoke(cli, [str(arg) for arg in args])

    return run


def _hear_interrupts() -> None:
    """Undo how a shell starts background programs: they and their children ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the program in its own process and session. Leftovers of a failed test are killed."""
    started: list[subprocess.Popen[str]] = []

    def run(*args: object, **options: object) -> subprocess.Popen[str]:
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        command = [sys.executable, "-m", "hpcdispatch.cli", *map(str, args)]
        environment = {**os.environ, "COLUMNS": "100"}
        process = subprocess.Popen(  # type: ignore[call-overload]
            command,
            text=True,
            start_new_session=True,
            env=environment,
            preexec_fn=_hear_interrupts,  # noqa: PLW1509
            **pipes,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Return a trace of 60 jobs. The last has no processor count."""
    path = tmp_path / "small.swf"
    write(generate("lublin:jobs=60,processors=32,load=0.9"), path)
    lines = path.read_text().splitlines()
    fields = lines[-1].split()
    fields[4] = fields[7] = "-1"
    path.write_text("\n".join([*lines[:-1], " ".join(fields)]) + "\n")
    return path


@pytest.fixture
def on_terminal(start):
    """Return a function that runs a command with a terminal as stderr. It returns the shown text."""

    def run(*args: str) -> bytes:
        ours, theirs = pty.openpty()
        process = start(*args, stderr=theirs)
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += (chunk := os.read(ours, 4096))
            except OSError:  # the other side is closed
                break
            if not chunk:
                break
        os.close(ours)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        return shown

    return run
