"""Call Slurm's commands. Each gets its arguments as a list, and has a time limit."""

import os
import re
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from ..base import InputError
from ..base.unfinished_files import temporary_folder
from ..workloads.slurm_cluster import Snapshot, read_cluster
from ..workloads.slurm_limits import read_slurm_limits
from ..workloads.slurm_reservations import SlurmReservation
from ..workloads.slurm_workload import SACCT_COLUMNS, SCONTROL_SHOWN
from .command_errors import say

#: Arguments of ``sacctmgr show`` for the limits of a site.
SACCTMGR_SHOWN = (
    (
        "assoc",
        "format=Cluster,Account,User,ParentName,Partition,Share,DefaultQOS,GrpJobs,GrpTRES,GrpTRESRunMins,MaxJobs,MaxTRES,MaxWall",
    ),
    ("qos",),
)
#: What sacct says of a column that it does not have, and what is guessed without one.
_UNKNOWN_COLUMN = re.compile(r"Invalid field requested: \W?(\w+)")
_GUESSED = {
    "SubmitLine": "nodes or tasks, memory by core or by node, whole nodes and nice values are guessed, which costs "
    "accuracy",
    "Constraints": "features of jobs are unknown, and jobs start on other nodes in the model",
}
#: Most seconds for a command of Slurm.
PATIENCE = 30


class CommandFailedError(InputError):
    """A command of Slurm ended with an error and changed nothing."""


def answer(arguments: list[str]) -> bytes:
    """Return the output of a command of Slurm; times are seconds since 1970.

    Raises
    ------
    InputError
        If there is no such command, or it does not answer.
    CommandFailedError
        If it fails.
    """
    name = arguments[0]
    known = os.environ | {"SLURM_TIME_FORMAT": "%s"}
    try:
        done = subprocess.run(arguments, capture_output=True, timeout=PATIENCE, check=False, env=known)
    except FileNotFoundError:
        raise InputError(f"{name}: there is no such command here; give files of what it prints") from None
    except subprocess.TimeoutExpired:
        raise InputError(f"{name}: no answer within {PATIENCE} s") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["nothing"]
        raise CommandFailedError(f"{name}: ended with code {done.returncode} and said: {lines[0]}")
    return done.stdout


def answer_with_columns(arguments: list[str]) -> bytes:
    """Return the output of ``sacct``, without those columns at the end of its arguments that its release lacks.

    Slurm before 21.08 has no ``SubmitLine``. A note says what is then guessed. Raises as :func:`answer`.
    """
    *fixed, names = arguments
    while True:
        try:
            return answer([*fixed, names])
        except CommandFailedError as error:
            unknown = _UNKNOWN_COLUMN.search(str(error))
            left = [name for name in names.split(",") if unknown is None or name.lower() != unknown[1].lower()]
            if len(left) == len(names.split(",")) or not left:
                raise
            assert unknown is not None
            say("note", f"sacct here has no column {unknown[1]}: {_GUESSED.get(unknown[1], 'it is guessed')}")
            names = ",".join(left)


def say_of_limits(limits: str) -> None:
    """Print notes on associations and QOS: missing ones, guesses, and limits that are not modelled."""
    if not limits:
        say(
            "note",
            "no associations and QOS are given: all accounts lie below the root with equal shares, and no limits hold; "
            "give what sacctmgr -P show assoc and qos print (--limits)",
        )
        return
    site_limits = read_slurm_limits(limits)
    for guess in site_limits.guesses:
        say("note", guess)
    if not site_limits.associations:
        say("note", f"{limits} has no associations: all accounts lie below the root with equal shares")
    if site_limits.passed:
        say("note", f"{limits} has limits that slurm does not hold: {', '.join(site_limits.passed[:10])}")


def say_of_reservations(reservations: Iterable[SlurmReservation]) -> None:
    """Print notes on what of reservations is not modelled."""
    for each in reservations:
        for told in each.notes:
            say("note", f"reservation {each.name}: {told}")


def cluster(squeue: Path | None, sinfo: Path | None, now: int | None) -> Snapshot:
    """Return the running and waiting jobs, from files or from Slurm.

    Raises
    ------
    InputError
        If only some of the three are given, if a file is invalid, and as :func:`answer`.
    """
    if squeue is not None and sinfo is not None and now is not None:
        return read_cluster(squeue, sinfo, now)
    if squeue is not None or sinfo is not None or now is not None:
        raise InputError("--squeue, --sinfo, --now: expected all of them or none")
    with temporary_folder() as folder:
        squeue = Path(folder, "squeue.json")
        sinfo = Path(folder, "sinfo.json")
        squeue.write_bytes(answer(["squeue", "--json"]))
        sinfo.write_bytes(answer(["sinfo", "-N", "--json"]))
        return read_cluster(squeue, sinfo, int(time.time()))


def accounting(folder: Path, days: int) -> Path:
    """Write the jobs that ended within `days` days to a file in a folder, and return it."""
    path = folder / "jobs.sacct"
    command = ["sacct", "-a", "-D", "-X", "-P", "-S", f"now-{days}days", "-o", SACCT_COLUMNS]
    path.write_bytes(answer_with_columns(command))
    return path


def configuration(folder: Path) -> Path:
    """Write the configuration to a file in a folder, and return it."""
    return _written(folder / "site.txt", *(["scontrol", "show", *what] for what in SCONTROL_SHOWN))


def limits_of(folder: Path) -> Path:
    """Write the limits of associations and QOS to a file in a folder, and return it."""
    return _written(folder / "limits.txt", *(["sacctmgr", "-P", "show", *what] for what in SACCTMGR_SHOWN))


def reservations_of(folder: Path) -> Path:
    """Write the advance reservations to a file in a folder, and return it."""
    command = ["scontrol", "show", "reservation", "-o"]
    return _written(folder / "reservations.txt", command, nothing=b"No reservations in the system\n")


def _written(path: Path, *commands: list[str], nothing: bytes = b"") -> Path:
    """Write the output of commands to a file, or `nothing` if there is none. Return the file."""
    path.write_bytes(b"\n".join(map(answer, commands)) or nothing)
    return path
