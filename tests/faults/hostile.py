"""Plug-ins that do what none should: ``PYTHONPATH=tests python -m faults.hostile [--only WORD]``.

Each is given to a command, which must end: with exit code 0 and the result of a good plug-in, or with one line and
exit code 1 or 2. No process is left, and no temporary folder.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic, sleep

import psutil

#: What a plug-in does, as statements; `loop` and its like end by the budget.
MISCHIEF = {
    "none": "pass",
    "exit 0": "os._exit(0)",
    "exit 3": "os._exit(3)",
    "exit 0 in a thread": "threading.Thread(target=os._exit, args=(0,)).start(); time.sleep(1)",
    "sys.exit": "sys.exit(0)",
    "sys.exit with words": "sys.exit('all is well')",
    "kill": "os.kill(os.getpid(), signal.SIGKILL)",
    "terminate": "os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)",
    "interrupt": "os.kill(os.getpid(), signal.SIGINT); time.sleep(30)",
    "segmentation fault": "import ctypes; ctypes.string_at(0)",
    "abort": "os.abort()",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "GeneratorExit": "raise GeneratorExit",
    "StopIteration": "raise StopIteration",
    "BaseException": "raise BaseException('x')",
    "MemoryError": "raise MemoryError",
    "recursion": "f = lambda: f(); f()",
    "long message": "raise ValueError('x' * 10**7)",
    "control characters": "raise ValueError('\\x1b[2J\\u202e\\n' * 50)",
    "broken str": "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})()",
    "leaving str": "raise type('E', (Exception,), {'__str__': lambda self: os._exit(0)})()",
    "str of another kind": "raise type('E', (Exception,), {'__str__': lambda self: 5})()",
    "long name": "raise type('E' * 10**5, (Exception,), {})('x')",
    "error that is not pickled": "raise type('E', (Exception,), {'__reduce__': lambda self: 1 / 0})('x')",
    "group": "raise ExceptionGroup('x', [ValueError('y')] * 1000)",
    "fork": "os.fork()",
    "fork that stays": "os.fork() or time.sleep(3)",
    "process that stays": "subprocess.Popen(['sleep', '2'])",
    "thread": "threading.Thread(target=time.sleep, args=(10**6,)).start()",
    "thread that raises": "threading.Thread(target=lambda: 1 / 0).start()",
    "atexit": "atexit.register(os._exit, 0)",
    "atexit that raises": "atexit.register(lambda: 1 / 0)",
    "signals ignored": "[signal.signal(n, signal.SIG_IGN) for n in (signal.SIGINT, signal.SIGTERM)]",
    "alarm": "signal.alarm(1); time.sleep(3)",
    "children ignored": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "standard output closed": "os.close(1)",
    "standard error closed": "os.close(2)",
    "sys.stdout closed": "sys.stdout.close()",
    "sys.stdout gone": "sys.stdout = None",
    "sys.stderr gone": "sys.stderr = None",
    "all files closed": "os.closerange(0, 1000)",
    "all files but three closed": "os.closerange(3, 1000)",
    "prints": "print('x' * 1000)",
    "prints much": "[print('x' * 10**6) for _ in range(50)]",
    "writes to 1": "os.write(1, b'junk')",
    "prints to stderr": "print('x' * 1000, file=sys.stderr)",
    "reads": "sys.stdin.read()",
    "open": "builtins.open = lambda *a, **k: 1 / 0",
    "len": "builtins.len = lambda x: 0",
    "isinstance": "builtins.isinstance = lambda *a: True",
    "print": "builtins.print = lambda *a, **k: None",
    "json": "json.dumps = lambda *a, **k: '{}'",
    "replace": "os.replace = lambda *a: None",
    "os._exit": "os._exit = lambda code: None",
    "sys.exit of its own": "sys.exit = lambda *a: None",
    "modules": "sys.modules.clear()",
    "recursion limit": "sys.setrecursionlimit(40)",
    "trace": "sys.settrace(lambda *a: 1 / 0)",
    "warnings": "warnings.simplefilter('error')",
    "numpy errors": "np.seterr(all='raise')",
    "folder": "os.chdir('/')",
    "folder that is gone": "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')",
    "environment": "os.environ.clear()",
    "no more files": "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
    "no more bytes": "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
    "no more memory": "resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28)); bytearray(1 << 30)",
    "memory": "bytearray(1 << 50)",
    "temporary folder": "shutil.rmtree(tempfile.gettempdir(), ignore_errors=True)",
    "umask": "os.umask(0o777)",
    "collector": "gc.disable(); gc.set_threshold(0)",
    "destructor": "globals().update(kept=type('D', (), {'__del__': lambda self: os._exit(0)})())",
    "loop": "while True: pass",
    "sleep": "time.sleep(10**6)",
    "deaf loop": "signal.signal(signal.SIGTERM, signal.SIG_IGN); exec('while True: pass')",
    "catches all": "exec('while True:\\n try: time.sleep(1)\\n except BaseException: pass')",
}
#: What a dispatcher returns, as an expression.
ANSWERS = {
    "None": "None",
    "5": "5",
    "text": "'x'",
    "object": "[object()]",
    "nan": "float('nan')",
    "huge": "[10**400]",
    "generator": "(a for a in found)",
    "endless": "iter(lambda: Wake(state.now + 1), 0)",
    "bytes": "b'x'",
    "dictionary": "{1: 2}",
    "raising": "type('R', (list,), {'__iter__': lambda self: 1 / 0})([1])",
    "leaving": "type('R', (list,), {'__iter__': lambda self: os._exit(0)})([1])",
    "placement of floats": "[Start(job, np.array([np.nan])) for job in state.queue]",
    "placement of huge numbers": "[Start(job, np.array([10**18])) for job in state.queue]",
    "all at once": "[Start(job, np.zeros(1, dtype=int)) for job in state.queue] * 3",
    "wake long ago": "[Wake(-5)]",
    "wake of nan": "[Wake(float('nan'))]",
    "wake of huge": "[Wake(10**30)]",
    "itself": "(lambda x: x.append(x) or x)([])",
    "array": "np.zeros((3, 3))",
    "many": "[Wake(state.now + 1)] * 10**6",
}
MODULE = """
import atexit, builtins, gc, json, os, resource, shutil, signal, subprocess, sys, tempfile, threading, time, warnings
import numpy as np
from hpcdispatch.dispatchers import FCFS, Start, Wake
from hpcdispatch.dispatchers.cp import SiteConstraint
from hpcdispatch.dispatchers.cp.site_objectives import objectives
from hpcdispatch.predictors import Walltime
from hpcdispatch.workloads import generate

HOW, AT = os.environ["HOW"], os.environ["AT"]
DONE = []

def here(place):
    if place == AT and not DONE:
        DONE.append(1)
        exec(HOW, globals())

class Dispatcher:
    def __init__(self):
        here("init")
    def reset(self, machine):
        here("reset")
    def dispatch(self, state):
        here("dispatch")
        found = FCFS().dispatch(state)
        return eval(HOW, globals(), locals()) if AT == "answer" else found
    def report(self):
        here("report")
        return {}

class Predictor(Walltime):
    def __init__(self):
        here("predictor init")
    def predict(self, job, now):
        here("predict")
        return eval(HOW, globals(), locals()) if AT == "prediction" else job.walltime
    def observe(self, job):
        here("observe")

class Order:
    def ranks(self, state):
        here("order")
        return eval(HOW, globals(), locals()) if AT == "ranks" else np.arange(len(state.queue))

class Constraint(SiteConstraint):
    def uses(self, job):
        here("constraint")
        return {}

class Objective(objectives.factory("wait")):
    def objective(self, waiting, now):
        here("objective")
        return super().objective(waiting, now)

def metric(result):
    here("metric")
    return eval(HOW, globals(), locals()) if AT == "number" else {"mine": 1.0}

def workload(seed=0, jobs=20):
    here("workload")
    return eval(HOW, globals(), locals()) if AT == "drawn" else generate("lublin", jobs=20, processors=8, seed=1)
"""
ENTRY_POINTS = {
    "dispatchers": "Dispatcher",
    "predictors": "Predictor",
    "orders": "Order",
    "constraints": "Constraint",
    "objectives": "Objective",
    "metrics": "metric",
    "workloads": "workload",
}
JOBS = "lublin:jobs=20,processors=8"
#: The words of a command by where a plug-in misbehaves.
PLACES = {
    **dict.fromkeys(("init", "reset", "dispatch", "report", "answer"), ("run", JOBS, "--dispatcher", "hostile")),
    **dict.fromkeys(("predictor init", "predict", "observe", "prediction"), ("run", JOBS, "--predictor", "hostile")),
    **dict.fromkeys(("order", "ranks"), ("run", JOBS, "--dispatcher", "list:order=hostile")),
    "constraint": ("run", JOBS, "--dispatcher", "hcp3:constraints=hostile"),
    "objective": ("run", JOBS, "--dispatcher", "hcp3:objective=hostile"),
    **dict.fromkeys(("metric", "number"), ("run", JOBS)),
    **dict.fromkeys(("workload", "drawn"), ("run", "hostile")),
}
#: What each other place does of it, too; and what it answers.
OFTEN = (
    "none",
    "exit 0",
    "exit 0 in a thread",
    "sys.exit",
    "KeyboardInterrupt",
    "broken str",
    "control characters",
    "fork",
    "thread",
    "signals ignored",
    "standard output closed",
    "open",
    "len",
    "modules",
    "loop",
)
VALUES = {
    "prediction": ("10**400", "float('nan')", "'x'", "None", "(1 for _ in [])", "object()", "-1"),
    "ranks": ("None", "[1]", "np.full(len(state.queue), np.nan)", "'x'", "10**400", "(1 for _ in [])"),
    "number": ("None", "5", "{'x': 'y'}", "{1: 10**400}", "{'wait_mean': 1}", "{'\\x1b[2J': 1}", "iter([])"),
    "drawn": ("None", "5", "'x'", "generate", "[]"),
}
CASES = {
    **{f"dispatch: {name}": ("dispatch", how) for name, how in MISCHIEF.items()},
    **{f"answer: {name}": ("answer", how) for name, how in ANSWERS.items()},
    **{f"{place}: {value}": (place, value) for place, values in VALUES.items() for value in values},
    **{
        f"{place}: {name}": (place, MISCHIEF[name])
        for place in PLACES
        for name in OFTEN
        if place not in ("dispatch", "answer", *VALUES)
    },
}
#: Places in the command's own process, which no budget ends: there a signal does.
OWN = ("init", "predictor init", "metric", "workload")
BUDGET, PATIENCE = 3, 60


def install(folder):
    """Write the package to a folder."""
    info = folder / "hostile-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "hostilemodule.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n")
    groups = (f"[hpcdispatch.{group}]\nhostile = hostilemodule:{name}\n" for group, name in ENTRY_POINTS.items())
    (info / "entry_points.txt").write_text("\n".join(groups))


def failure(folder, case, expected=None):
    """Run a command with a plug-in; return what it did that it must not, empty if nothing."""
    place, how = CASES[case]
    work = Path(tempfile.mkdtemp(dir=folder))
    (work / "tmp").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(folder), "HOW": how, "AT": place, "TMPDIR": str(work / "tmp")}
    words = [sys.executable, "-m", "hpcdispatch.cli", *PLACES[place], "--json"]
    words += [] if place in OWN else ["--budget-seconds", str(BUDGET)]
    with open(work / "out", "w+b") as out, open(work / "err", "w+b") as err:
        process = subprocess.Popen(
            words, env=environment, cwd=work, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        try:
            code = process.wait(15 if place in OWN else PATIENCE)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            try:
                code = process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return "no end"
        out.seek(0)
        err.seek(0)
        said = out.read().decode("utf-8", "replace")
        wrong = err.read().decode("utf-8", "replace")
    found = []
    left = processes_of(process.pid)
    if left and how not in MISCHIEF["fork that stays"] + MISCHIEF["process that stays"]:
        found.append(f"processes left: {left}")
    for pid in processes_of(process.pid, 0):
        os.kill(pid, signal.SIGKILL)
    if names := [path.name for path in (work / "tmp").glob("*")]:
        found.append(f"left: {names}")
    lines = [line for line in wrong.splitlines() if line.strip()]
    if "stderr" not in how and "closerange" not in how and "os.close(2)" not in how:
        if "Traceback" in wrong and "Thread-" not in wrong and "ignored" not in wrong:
            found.append(f"traceback: {wrong[-300:]!r}")
        if code and len(lines) != 1 and "Thread-" not in wrong:
            found.append(f"{len(lines)} lines: {wrong[:300]!r}")
        found += [f"a line of {len(line):,} letters" for line in lines if len(line) > 1000][:1]
        if re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", wrong):
            found.append(f"control characters: {wrong[:100]!r}")
    if code not in (0, 1, 2):
        found.append(f"exit code {code}")
    if code == 0 and expected is not None:
        try:
            result = figures(said)
        except ValueError:
            result = said[:200]
        if result != expected(place):
            found.append(f"exit code 0 with {result!r}")
    return "; ".join(found)


def processes_of(session, seconds=5):
    """Return the processes of a session, after those that end have had time to."""
    until = monotonic() + seconds
    while True:
        found = [one.pid for one in psutil.process_iter() if _session(one.pid) == session]
        if not found or monotonic() > until:
            return found
        sleep(0.1)


def _session(pid):
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def figures(said):
    """Return what a command says that does not depend on measured time."""
    summary = json.loads(said)
    summary = summary.get("metrics", summary)
    return {name: summary[name] for name in ("jobs", "completed", "wait_mean") if name in summary}


def good(folder):
    """Return a function that returns what a good plug-in leads to, by its place."""
    found = {}

    def expected(place):
        if place not in found:
            known = {
                "answer": "dispatch",
                "prediction": "predict",
                "ranks": "order",
                "number": "metric",
                "drawn": "workload",
            }
            place_ = known.get(place, place)
            words = [sys.executable, "-m", "hpcdispatch.cli", *PLACES[place], "--json"]
            environment = {**os.environ, "PYTHONPATH": str(folder), "HOW": "pass", "AT": place_}
            done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
            found[place] = figures(done.stdout)
        return found[place]

    return expected


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD")
    given = parser.parse_args()
    chosen = [case for case in CASES if given.only in case]
    findings = 0
    with tempfile.TemporaryDirectory() as name:
        install(Path(name))
        expected = good(Path(name))
        for case in chosen:
            if found := failure(Path(name), case, expected):
                findings += 1
                print(f"{case}: {found}", flush=True)  # noqa: T201
    print(f"{len(chosen)} hostile plug-ins, {findings} findings")  # noqa: T201
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
