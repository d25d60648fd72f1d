"""Commands of the drivers to a real Slurm: submit jobs of its users, and read their state and records."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from typing import NamedTuple

from .....base import InputError

#: Seconds that a command may take.
PATIENCE = 300
#: Number of tries of a command that a signal ends, as a lost connection does.
_TIMES = 3


class Owner(NamedTuple):
    """The submitting user and its account."""

    user: str
    account: str


def ask(*command: str) -> str:
    """Return what a command prints; times are seconds since 1970.

    Raises
    ------
    InputError
        If there is none, or it fails.
    """
    known = os.environ | {"SLURM_TIME_FORMAT": "%s"}
    for _ in range(1 if command[0] == "sbatch" else _TIMES):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=known)
        except FileNotFoundError:
            raise InputError(f"{command[0]}: there is no such command here; this needs a running Slurm") from None
        if done.returncode >= 0 and "timed out" not in done.stderr:  # A busy controller may answer the next time.
            break
    if done.returncode:
        raise InputError(f"{' '.join(command[:4])}: ended with code {done.returncode} and said: {done.stderr.strip()}")
    return done.stdout


def owners() -> list[Owner]:
    """Return the users that jobs can be submitted for. As root these are all, else the own one."""
    if os.geteuid() != 0:
        return [Owner("", "")]
    lines = ask("sacctmgr", "-n", "-P", "show", "association", "format=User,Account").splitlines()
    known = [Owner(*line.split("|")) for line in lines]
    return sorted(owner for owner in known if owner.user not in ("", "root")) or [Owner("", "")]


def partitions() -> list[str]:
    """Return the partitions of the cluster."""
    return list(dict.fromkeys(ask("sinfo", "-h", "-o", "%R").split()))


def shares() -> str:
    """Return the shares of the accounts, as the dispatcher ``slurm`` takes them."""
    lines = ask("sacctmgr", "-n", "-P", "show", "association", "format=User,Account,Share").splitlines()
    known = [line.split("|") for line in lines]
    return ";".join(f"{account}={share}" for user, account, share in known if not user and account != "root")


def submit(owner: Owner, minutes: int, command: str, options: Sequence[str] = ()) -> str:
    """Submit a job that runs one command; return its number."""
    whose = [f"--uid={owner.user}", f"--gid={owner.user}", f"--account={owner.account}"] if owner.user else []
    return ask(
        "sbatch",
        "--parsable",
        "--output=/dev/null",
        "--chdir=/",
        f"--time={minutes}",
        *whose,
        *options,
        f"--wrap=exec {command}",
    ).strip()


def until_empty() -> None:
    """Wait until no job waits or runs, or ends."""
    while ask("squeue", "-h", "-o", "%i").strip():
        time.sleep(5)


def node_names() -> list[str]:
    """Return the nodes of the cluster."""
    return list(dict.fromkeys(ask("sinfo", "-h", "-N", "-o", "%N").split()))
