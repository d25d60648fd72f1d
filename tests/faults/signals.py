"""Send signals to commands at random instants: ``PYTHONPATH=tests python -m faults.signals --signals 100``.

Each command stays in compiled code or in a solver for long. It must end within two seconds, with one line and exit
code 1, and leave no process.
"""

# ruff: noqa: T201
import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic, sleep

import psutil

from faults.hostile import processes_of

#: Seconds that an end may take, and how much more on a machine where other programs run as well.
MOST, WAITING = 2.0, 1.0
#: After how many seconds of a processor that a command has had signals come.
LONGEST = 12.0
CROWD = "crowd.swf"
COMMANDS = {
    "EASY on a million jobs": f"run {CROWD} --dispatcher easy",
    "look-ahead on a million jobs": f"run {CROWD} --dispatcher lookahead",
    "conservative, 100,000 waiting": "run queue.swf --dispatcher conservative",
    "conservative with moves": "run queue.swf --dispatcher conservative:compress=until-stable",
    "slurm": "run queue.swf --dispatcher slurm",
    "pool search": "run queue.swf --dispatcher sa",
    "rounds": "run queue.swf --dispatcher rounds",
    "portfolio": "run queue.swf --dispatcher portfolio",
    "CP model": "run nodes.jsonl --dispatcher hcp3",
    "look-ahead, 100,000 waiting": "run queue.swf --dispatcher lookahead",
    "guarded, 100,000 waiting": "run queue.swf --dispatcher guarded",
    "slurm around closed amounts": "run queue.swf --dispatcher slurm --machine closing.json",
    "hybrid, 100,000 waiting": "run queue.swf --dispatcher hybrid",
    "predictors": f"predict {CROWD}",
    "comparison in processes": "compare queue.swf --dispatchers easy,lookahead,guarded",
    "report of a million jobs": "report result --out page.html",
    "eviction": "evict scenario.json --nodes 9000 --deadline 10m",
    "sequences": "sequence runs.csv",
    "sequences of a million": "sequence many.csv",
    "generator": "workload generate lublin:jobs=3000000 out.swf",
    "reading": f"workload describe {CROWD}",
}


def make_inputs(folder):
    """Write what the commands read."""
    rng = random.Random(1)
    line = "{} {} -1 {} {} -1 -1 {} {} -1 1 {} 1 1 1 1 -1 -1\n"
    for name, jobs, span in ((CROWD, 1_000_000, 40), ("queue.swf", 100_000, 0)):
        with open(folder / name, "w") as file:
            file.write("; MaxProcs: 4096\n")
            for number in range(jobs):
                size = rng.randint(1, 512)
                time = rng.randint(60, 80_000)
                file.write(
                    line.format(number + 1, number * span, time, size, size, time + rng.randint(0, 9000), number % 99)
                )
    jobs = [{"id": f"j{n}", "nodes": rng.randint(1, 99), "loss": rng.random() * 1e6} for n in range(3000)]
    scenario = {"machine": {"nodes": sum(job["nodes"] for job in jobs)}, "jobs": jobs}
    (folder / "scenario.json").write_text(json.dumps(scenario))
    for name, runs in (("runs.csv", 30_000), ("many.csv", 1_000_000)):
        (folder / name).write_text("\n".join(f"{rng.lognormvariate(8, 1):.3f}" for _ in range(runs)) + "\n")
    closed = {"begin": 86400, "end": 90_000, "every": 604_800, "amounts": {"core": 999}}
    machine = {"groups": {"all": {"core": 4096}}, "resources": {"all": 1}, "reservations": [closed]}
    (folder / "closing.json").write_text(json.dumps(machine))
    for command in ("workload generate accre:jobs=5000 nodes.jsonl", f"run {CROWD} --dispatcher easy --out result"):
        words = [sys.executable, "-m", "hpcdispatch.cli", *command.split()]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)


def signalled(words, folder, number, after):
    """Start a command, signal it; return what it said, its code, seconds, and the processes left. None if it ended.

    SIGTERM comes to a command that ignores a hangup, as under ``nohup``.
    """
    process = subprocess.Popen(
        [*(["nohup"] if number == signal.SIGTERM else []), sys.executable, "-m", "hpcdispatch.cli", *words],
        cwd=folder,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while process.poll() is None and used(process.pid) < after:
        sleep(0.05)
    if process.poll() is not None:
        return process.communicate()[1], process.returncode, None, 0
    begin = monotonic()
    process.send_signal(number)
    err = process.communicate()[1]
    seconds = monotonic() - begin
    left = len(processes_of(process.pid))
    return err, process.returncode, seconds, left


def ends(err):
    """Return the lines that a command wrote to stderr as it ended: all but notices of what it reads or compiles."""
    notices = ("hpcdispatch: compil", "hpcdispatch: note: ")
    return [line for line in err.splitlines() if line.strip() and not line.startswith(notices)]


def used(pid):
    """Return the seconds of a processor that a process and those that it has started have had."""
    try:
        process = psutil.Process(pid)
        return sum(sum(one.cpu_times()[:2]) for one in (process, *process.children(recursive=True)))
    except psutil.Error:
        return 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--signals", type=int, default=26, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--slack", type=float, default=WAITING, metavar="SECONDS", help="for other programs")
    parser.add_argument("--least", type=float, default=0.3, metavar="SECONDS", help="of a processor before a signal")
    parser.add_argument("--only", choices=COMMANDS, nargs="*", default=list(COMMANDS))
    given = parser.parse_args()
    rng = random.Random(given.first)
    findings = 0
    slowest = 0.0
    early = 0
    with tempfile.TemporaryDirectory() as name:
        make_inputs(Path(name))
        for count in range(given.signals):
            what = given.only[count % len(given.only)]
            number = rng.choice((signal.SIGINT, signal.SIGTERM))
            after = rng.uniform(given.least, LONGEST)
            err, code, seconds, left = signalled(COMMANDS[what].split(), name, number, after)
            lines = ends(err)
            early += seconds is None
            slowest = max(slowest, seconds or 0.0)
            good = seconds is None or (code == 1 and len(lines) == 1 and seconds < MOST + given.slack and not left)
            if not good or (seconds is None and code):
                findings += 1
                print(
                    f"{what}, {number.name} after {after:.1f} s: code {code}, {seconds} s, {left} left, {err[-600:]!r}",
                    flush=True,
                )
            elif seconds is None:
                print(f"{what}: it ended within {after:.1f} s", flush=True)
    print(f"{given.signals} signals, {early} after the end: {findings} findings; slowest end {slowest:.2f} s")
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
