"""``slurm submit`` on a real Slurm, with its commands killed at random instants, and every job's end."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ....reports.tables import Table
from .live_commands import ask, partitions

#: Run times of the law, seconds, and the count of each.
_LAW = {20: 8, 40: 6, 75: 4, 110: 4, 170: 2}
#: Seconds between two kills, on average, and the exit code of the jobs.
_BETWEEN, _CODE = 20.0, 3
#: Number of queries to the accounting, every ten seconds, for ends that it does not have yet.
_LATE = 30


@dataclass
class Attended:
    """A job, the command that brings it to its end, and its number of kills."""

    folder: Path
    name: str
    run: int
    process: subprocess.Popen[bytes] | None = None
    kills: int = 0

    def begin(self) -> None:
        """Start the command, anew after a kill."""
        script = self.folder / f"{self.name}.sh"
        script.write_text(f"#!/bin/sh\n#SBATCH --output=/dev/null --chdir=/\nsleep {self.run}\nexit {_CODE}\n")
        command = [sys.executable, "-m", "hpcdispatch.cli", "slurm", "submit", "--law", "law.csv", "--poll", "5s"]
        with (self.folder / f"{self.name}.out").open("ab") as out:
            self.process = subprocess.Popen([*command, script.name], cwd=self.folder, stdout=out, stderr=out)

    def kill(self) -> None:
        """Kill the command as it is, and start it again."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            self.kills += 1
            self.begin()

    @property
    def code(self) -> int | None:
        """How the command ended; ``None`` before."""
        return self.process.poll() if self.process is not None else None


def submissions(jobs: int, kills: int, seed: int, folder: Path) -> Table:
    """Have jobs submitted, kill their commands this many times in all, and return each job's end."""
    partitions()  # Without Slurm, this fails before any command waits for one.
    rng = np.random.default_rng(seed)
    law = [run for run, often in _LAW.items() for _ in range(often)]
    (folder / "law.csv").write_text("runtime\n" + "".join(f"{run}\n" for run in law))
    attended = [Attended(folder, f"job{number}", int(rng.choice(law))) for number in range(jobs)]
    for job in attended:
        job.begin()
    while any(job.code is None for job in attended):
        time.sleep(float(rng.exponential(_BETWEEN)) if kills else 5)
        live = [job for job in attended if job.code is None]
        if kills > 0 and live:
            before = sum(job.kills for job in live)
            live[rng.integers(len(live))].kill()
            kills -= sum(job.kills for job in live) - before
    return _table(attended, _accounted(attended))


def _accounted(attended: list[Attended]) -> list[list[str]]:
    """Return the name, number, state and exit code of every run. The accounting must have every job's end."""
    since = f"now-{86400}seconds"
    columns = "JobName,JobIDRaw,State,ExitCode"
    for _ in range(_LATE):
        lines = ask("sacct", "-D", "-X", "-n", "-P", "-S", since, "-o", columns).splitlines()
        runs = [line.split("|") for line in lines]
        if all(any(_ended(job, run) for run in runs) for job in attended):
            break
        time.sleep(10)
    return runs


def _ended(job: Attended, run: list[str]) -> bool:
    """Return whether a run is one of the job that ended by itself."""
    return run[0] == f"{job.name}.sh" and run[2] == "FAILED" and run[3] == f"{_CODE}:0"


def _table(attended: list[Attended], runs: list[list[str]]) -> Table:
    rows, once = [], 0
    for job in attended:
        own = [run for run in runs if run[0] == f"{job.name}.sh"]
        ends = [run for run in own if _ended(job, run)]
        numbers = len({run[1] for run in own})
        once += len(ends) == 1 and numbers == 1 and job.code == _CODE
        counts = (job.run, job.kills, numbers, len(own), len(ends), job.code)
        rows.append([job.name, *map(str, counts)])
    columns = ("job", "run time (s)", "kills", "numbers", "runs", "ends", "exit code")
    kills = sum(job.kills for job in attended)
    note = f"{once} of {len(attended)} jobs ended once, under one number, with their exit code, after {kills} kill -9."
    return Table("submissions", columns, rows, note=note)
