"""Bring up a real Slurm, run a command beside it, and take it down: ``PYTHONPATH=tests python -m real_slurm COMMAND``.

The clock may run ten times as fast, for the daemons, the jobs and the command. The command finds it by ``SLURM_CONF``.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from real_slurm.daemons import HERE, Daemons, missing

#: Set where the clock is the fast one.
INSIDE = "HPCDISPATCH_FAST_CLOCK"
SHARED = Path("/dev/shm")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", type=int, default=10, help="of the clock")
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--conf", type=Path, default=HERE / "site.conf", help="what is to be in slurm.conf, beside")
    parser.add_argument("--before", type=Path, metavar="SCRIPT", help="for sacctmgr, before the controller begins")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="for all files, which are there afterwards")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if lacking := missing():
        raise SystemExit(f"real_slurm: needs {lacking}")
    if given.speed != 1 and INSIDE not in os.environ:
        return at_speed(given.speed)
    return beside(given)


def at_speed(speed: int) -> int:
    """Do the same with a clock so many times as fast. Remove the files of the jobs' clocks."""
    try:
        command = ["faketime", "-m", "-f", f"+0 x{speed}", sys.executable, "-m", "real_slurm", *sys.argv[1:]]
        return subprocess.run(command, check=False, env=os.environ | {INSIDE: "1", "NO_FAKE_STAT": "1"}).returncode
    finally:
        for path in SHARED.glob("*faketime_*"):
            process = path.name.rpartition("_")[2]
            if process.isdigit() and not Path("/proc", process).exists():
                path.unlink(missing_ok=True)


def beside(given: argparse.Namespace) -> int:
    """Run the command beside a Slurm."""
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        with Daemons(folder.resolve(), given.nodes, given.conf, given.before) as daemons:
            return subprocess.run(given.command, env=daemons.environment, check=False).returncode


raise SystemExit(main())
