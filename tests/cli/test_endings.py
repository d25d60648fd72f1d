"""How the program ends: exit codes, one line of error, Ctrl-C, a broken pipe, progress."""

import os
import signal
import subprocess
import sys
import time

import pytest
from patience import PATIENCE

from hpcdispatch.simulation import InvariantError

LONG = "lublin:jobs=300,processors=32,load=0.9"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("run", "nofile.swf"), "nofile.swf: no such file, and no workload of this name (generators: accre, "),
        (("run", "lublin:jobz=3"), "unknown option 'jobz'"),
        (("run", "lublin", "--dispatcher", "esy"), "did you mean easy?"),
        (
            ("run", "lublin", "--dispatcher", "easy:placement=any"),
            "expected one of first-fit, best-fit, compact, got 'any'",
        ),
        (("run", "lublin", "--predictor", "nope"), "unknown predictor 'nope'"),
        (("run", "lublin", "--overrun", "explode"), "expected one of run, kill, resubmit, got 'explode'"),
        (("run", "lublin", "--machine", "m.json"), "--machine: it says how to read a trace"),
        (("run", "--default-walltime", "0"), "expected at least 1 s, got '0'"),
        (("run", "--seed", "-1"), "--seed"),
        (("run", "--nope"), "No such option"),
        (("compare", "--dispatchers", "easy,esy"), "unknown dispatcher 'esy'"),
        (("compare", "--seeds", "0"), "--seeds"),
        (("nope",), "No such command 'nope'"),
    ],
)
def test_bad_usage_and_input_are_one_line(invoke, args, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = invoke(*args)
    assert found.exit_code == 2
    assert found.stdout == ""
    assert found.stderr.startswith("hpcdispatch: error: ")
    assert found.stderr.count("\n") == 1
    assert message in found.stderr


def test_unusable_out(invoke, tmp_path):
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        found = invoke("run", LONG, "--out", out)
        assert found.exit_code == 2
        assert found.stderr.startswith(f"hpcdispatch: error: {out}: ")


@pytest.mark.parametrize(("name", "error"), [("boom", "SimulationError: Boom at t="), ("cheat", "ActionError: ")])
def test_a_failed_run_names_exception_and_dispatcher(invoke, plugin, name, error):
    found = invoke("run", LONG, "--dispatcher", name)
    assert found.exit_code == 1
    assert found.stderr.startswith(f"hpcdispatch: error: dispatcher {name}, predictor walltime: {error}")
    assert found.stderr.count("\n") == 1
    for args in (("--debug", "run", LONG, "--dispatcher", name), ("run", LONG, "--dispatcher", name, "--debug")):
        assert "Traceback (most recent call last)" in invoke(*args).stderr


def test_a_part_that_does_not_import(invoke, plugin):
    assert invoke("run", LONG, "--dispatcher", "absent").exit_code == 2
    found = invoke("run", LONG, "--dispatcher", "broken")
    assert found.exit_code == 2
    assert found.stderr.startswith("hpcdispatch: error: dispatcher 'broken': cannot load brokenmodule:Thing: Runtime")


def test_a_broken_invariant(invoke, monkeypatch):
    def broken(workload, result):
        raise InvariantError("job 1: started twice\njob 2: never ended")

    monkeypatch.setattr("hpcdispatch.cli.commands.run.check", broken)
    found = invoke("run", LONG, "--check")
    assert found.exit_code == 1
    assert "InvariantError: job 1: started twice; job 2: never ended" in found.stderr
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "args", [("--help",), ("run", "--help"), ("compare", "-h"), ("list", "--help"), ("--version",)]
)
def test_help_and_version(invoke, args):
    found = invoke(*args)
    assert found.exit_code == 0
    assert "hpcdispatch" in found.stdout
    assert "version" in found.stdout or "Example:" in found.stdout


def test_no_arguments_show_the_help(invoke):
    found = invoke()
    assert found.exit_code == 2
    assert "Commands:" in found.stderr


@pytest.mark.nightly  # By day tests of comparisons and of one run, below, are interrupted.
@pytest.mark.parametrize("workers", [1, 2])
def test_interrupted_comparison_shows_what_is_finished(start, plugin, tmp_path, workers):
    # With two workers the second stuck run begins when fcfs is complete. With one, the first does.
    first = tmp_path / "first"
    second = tmp_path / "second"
    specs = f"fcfs,stuck:mark={first},stuck:mark={second},name=second"
    process = start("compare", LONG, "--dispatchers", specs, "--workers", workers)
    marks = [first, second][:workers]
    _wait_for(process, lambda: all(mark.exists() and mark.read_text() for mark in marks))
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert err.strip() == "hpcdispatch: interrupted: 1 of 3 runs finished"
    assert "1 dispatcher with walltime predictions" in out
    assert [line for line in out.splitlines() if line.startswith("fcfs ")]
    for mark in marks:
        with pytest.raises(ProcessLookupError):
            os.kill(int(mark.read_text()), 0)


@pytest.mark.nightly
def test_interrupted_run(start, plugin, tmp_path):
    process = start("run", LONG, "--dispatcher", f"stuck:mark={tmp_path / 'mark'}")
    _wait_for(process, (tmp_path / "mark").exists)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (1, "", "hpcdispatch: interrupted: after 0 of 300 jobs\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(  # by day in tests/bench/campaigns
            "gone",
            "dispatcher gone, predictor walltime: WorkerDied: its process ended with exit code 0",
            marks=pytest.mark.nightly,
        ),
        ("gone:at=making", "dispatcher gone: it cannot be made: SystemExit: 0"),
        pytest.param(  # by day a budget of decisions in tests/faults
            "stuck:mark=m --budget-seconds 1",
            "BudgetError: expected an end within the budget of 1 s, got none",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_part_that_ends_its_process_or_never_returns(start, plugin, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = start("run", "lublin:jobs=20,processors=8", "--dispatcher", *options.split())
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode in (1, 2), out) == (True, "")
    assert message in err
    assert err.count("\n") == 1
    assert not list(tmp_path.glob("hpcdispatch-*"))


@pytest.mark.nightly
def test_a_deaf_part_does_not_outlive_its_run(start, plugin):
    process = start("run", "lublin:jobs=20,processors=8", "--dispatcher", "deaf")
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert "Under" in out or "deaf" in out


#: Announces itself and then holds the interpreter in one instruction, as a compiled loop does: it waits for its own
#: lock, which costs no CPU time.
HELD = """
import ctypes
from hpcdispatch.cli import interrupts
interrupts.stand_by()
interrupts.raise_interrupts()
library, lock = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
library.pthread_mutex_lock(lock)
print("ready", flush=True)
try:
    library.pthread_mutex_lock(lock)
finally:
    interrupts.leave(0)
"""


def held(*ignored, blocked=()):
    """Start what Python cannot interrupt, with some signals ignored or blocked from the start on."""

    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)

    process = subprocess.Popen(
        [sys.executable, "-c", HELD],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=ignore,  # noqa: PLW1509 - no threads here
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)  # until it is within that instruction
    return process


NOHUP = (signal.SIGHUP, signal.SIGINT)
MANY = (*NOHUP, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE, signal.SIGUSR1)


@pytest.mark.parametrize(
    ("number", "ignored", "blocked"),
    [
        (signal.SIGINT, (signal.SIGHUP,), ()),
        pytest.param(signal.SIGTERM, MANY, (), marks=pytest.mark.nightly),
        (signal.SIGTERM, (), (*NOHUP, signal.SIGTERM)),
        pytest.param(signal.SIGINT, (), (), marks=pytest.mark.nightly),
        pytest.param(signal.SIGINT, MANY, (), marks=pytest.mark.nightly),
        pytest.param(signal.SIGTERM, (), (), marks=pytest.mark.nightly),
        pytest.param(signal.SIGTERM, (signal.SIGHUP,), (), marks=pytest.mark.nightly),
        pytest.param(signal.SIGTERM, NOHUP, NOHUP, marks=pytest.mark.nightly),
    ],
)
def test_a_signal_ends_what_python_cannot_interrupt(number, ignored, blocked):
    process = held(*ignored, blocked=blocked)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (1, "hpcdispatch: interrupted\n")


def test_a_hangup_ends_a_command_unless_it_is_ignored():
    process = held()
    process.send_signal(signal.SIGHUP)
    assert process.communicate(timeout=PATIENCE) == ("", "")
    assert process.returncode == 1
    process = held(signal.SIGHUP)
    os.killpg(process.pid, signal.SIGHUP)
    time.sleep(0.2)
    assert process.poll() is None
    process.kill()
    assert process.communicate(timeout=PATIENCE) == ("", "")  # once no process has its output
    assert process.returncode == -signal.SIGKILL


#: Drops the first interrupt, as a destructor or a compiler's callback does.
DROPPED = """
import os, time
from hpcdispatch.cli import interrupts
interrupts.stand_by()
interrupts.raise_interrupts()
class Held:
    def __del__(self):
        print("ready", flush=True)
        time.sleep(60)
try:
    Held()
    time.sleep(60)
except KeyboardInterrupt:
    os.write(2, b"interrupted again\\n")
    interrupts.leave(1)
"""


def test_an_interrupt_that_is_dropped_comes_again():
    process = subprocess.Popen(
        [sys.executable, "-c", DROPPED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    # Not by the watcher, which would end it after 30 s with another line: the second sleep is interrupted as well.
    assert (process.returncode, err) == (1, "interrupted again\n")


#: A command whose work is a function.
COMMAND = """
import atexit, os, signal, sys, time, types
from hpcdispatch import cli
from hpcdispatch.cli.app import Command
{}
sys.modules["hpcdispatch.cli.commands.list_parts"] = types.SimpleNamespace(command=Command("list", work, []))
sys.argv[1:] = ["list"]
cli.main()
"""
#: It is interrupted where something is half made, and again while the program ends.
TWICE = """
class HalfMade:
    def __del__(self):
        os.abort()
def work():
    atexit.register(os.kill, os.getpid(), signal.SIGINT)
    made = HalfMade()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
"""
#: It has finished its work, and Python clears up.
LATE = """
class Last:
    def __del__(self, kill=os.kill, process=os.getpid(), number=signal.SIGTERM):
        kill(process, number)
last = Last()
def work():
    print("done")
"""


@pytest.mark.parametrize(
    ("work", "expected"), [(TWICE, (1, "", "hpcdispatch: interrupted")), (LATE, (0, "done", ""))], ids=["twice", "late"]
)
def test_a_signal_while_a_command_ends_changes_nothing(work, expected):
    done = subprocess.run(
        [sys.executable, "-c", COMMAND.format(work)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr.strip()) == expected


@pytest.mark.parametrize("delay", [0.15, 0.4, 1.0])
def test_a_signal_at_the_start_is_one_line(start, delay):
    process = start("run", LONG, "--dispatcher", "hcp3")
    time.sleep(delay)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in err
    assert sum(map(bool, err.splitlines())) <= 1  # Maybe after the end of a line that was begun.


@pytest.mark.nightly
def test_broken_pipe_is_silent(start):
    read, write = os.pipe()
    os.close(read)
    process = start("list", stdout=write)
    os.close(write)
    assert process.communicate(timeout=PATIENCE)[1] == ""
    assert process.returncode == 1


@pytest.mark.nightly
def test_progress_on_a_terminal_only(on_terminal, invoke, plugin):
    args = ("run", "lublin:jobs=300,processors=32,load=0.9", "--dispatcher", "slow")
    shown = on_terminal(*args)
    assert b"/300" in shown
    assert b"jobs/s" in shown
    assert invoke(*args).stderr == ""


def _wait_for(process: subprocess.Popen[str], condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
