"""Submit, query and change one job of Slurm."""

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ..base import InputError, read_bounded, seconds_of
from ..base.command_arguments import job_argument, path_argument
from ..models.reservations.resubmission import JobSeen
from .slurm_answers import PATIENCE, CommandFailedError, answer

#: Queried fields of a job. None holds text from a user.
_FIELDS = ("State", "TimeLimit", "exit_code", "PriorityLong")
#: Most bytes of a batch script.
_MOST_BYTES = 1 << 22
#: Options that a script must not have, and the reasons.
_NOT_HERE = {
    "time": ("-t", "it would be the limit of every request"),
    "array": ("-a", "each of its tasks ends by itself"),
    "test-only": ("", "nothing would be submitted"),
    "wait": ("-W", "it is waited for here"),
}


class UnknownEndError(InputError):
    """A job is over, and its end is unknown."""


@dataclass(frozen=True, slots=True)
class Directive:
    """An option of a batch script, and its line."""

    option: str
    value: str
    line: int


def directives(script: Path) -> list[Directive]:
    """Return the ``#SBATCH`` options of a script.

    Raises
    ------
    OSError
        If the file cannot be read.
    InputError
        If the file is no script.
    """
    text = read_bounded(script, "a batch script", _MOST_BYTES).decode("utf-8", "replace")
    lines = text.splitlines()
    if not lines or not lines[0].startswith("#!"):
        raise InputError(f"{script}:1: expected a script that begins with #!, got {lines[0][:40] if lines else ''!r}")
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            break
        if line.startswith("#SBATCH"):
            found += _options(line.removeprefix("#SBATCH"), number, script)
    return found


def _options(text: str, number: int, script: Path) -> list[Directive]:
    try:
        words = shlex.split(text, comments=True)
    except ValueError as error:
        raise InputError(f"{script}:{number}: expected options of sbatch, got {text.strip()!r} ({error})") from None
    found: list[Directive] = []
    for word in words:
        option, _, value = word.partition("=")
        if re.fullmatch(r"-[A-Za-z].+", word) and not word.startswith("--"):
            option = word[:2]
            value = word[2:].removeprefix("=")
        if word.startswith("-"):
            found.append(Directive(option, value, number))
        elif found and not found[-1].value:
            found[-1] = Directive(found[-1].option, word, number)
    return found


def check_script(script: Path, longest: int) -> None:
    """Refuse a script with excluded options.

    Also refuse it if its partition does not allow the longest walltime, minutes.

    Raises
    ------
    InputError
        With the line, or the partition.
    """
    partition = ""
    for found in directives(script):
        for name, (short, why) in _NOT_HERE.items():
            if found.option in (f"--{name}", short):
                raise InputError(f"{script}:{found.line}: expected no {found.option}, got one: {why}")
        if found.option in ("-p", "--partition"):
            partition = found.value
    partition = os.environ.get("SBATCH_PARTITION", partition)
    asked = ["sinfo", "-h", "-o", "%P|%l", *([f"--partition={partition}"] if partition else [])]
    limits = {}
    for line in answer(asked).decode(errors="replace").splitlines():
        name, _, limit = line.strip().rpartition("|")
        if partition or name.endswith("*"):
            limits[name.rstrip("*")] = minutes_of(limit)
    if partition and not limits:
        raise InputError(f"{script}: expected a partition of this cluster, got {partition!r}")
    allowed = [limit for limit in limits.values() if limit is not None]
    if limits and len(allowed) == len(limits) and max(allowed) < longest:
        raise InputError(
            f"{script}: the last request is {longest} min and partition {','.join(limits)} allows {max(allowed)}; "
            "give --max"
        )


def submit(command: tuple[str, ...], minutes: int, mark: str, answered: Path, lock: int) -> str:
    """Submit a job and return its number. Repeated calls with the same mark and file submit it once.

    The answer of sbatch goes straight to a file. It is there even if this process ends before sbatch. Sbatch inherits
    the lock, so that no other process reads the file too early.

    Parameters
    ----------
    command
        Script and arguments.
    minutes
        The walltime.
    mark
        Text in the job's comment.
    answered
        The file of the answer.
    lock
        A descriptor that sbatch inherits.
    """
    known = submitted(mark, answered)
    if known is not None:
        return known
    made = ["sbatch", "--parsable", f"--time={minutes}", f"--comment={mark}", path_argument(command[0]), *command[1:]]
    with answered.open("wb") as out:
        try:
            done = subprocess.run(
                made,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                timeout=PATIENCE,
                check=False,
                pass_fds=(lock,),
                start_new_session=True,
            )
        except FileNotFoundError:
            raise InputError("sbatch: there is no such command here") from None
        except subprocess.TimeoutExpired:
            raise InputError(f"sbatch: no answer within {PATIENCE} s; the same command looks what came of it") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["nothing"]
        raise CommandFailedError(f"sbatch: ended with code {done.returncode} and said: {said[-1]}")
    known = submitted(mark, answered)
    if known is None:
        raise InputError(f"sbatch: expected the number of a job, got {answered.read_text(errors='replace')[:60]!r}")
    return known


def submitted(mark: str, answered: Path) -> str | None:
    """Return the number of the job submitted with a mark; ``None`` if there is none."""
    if answered.is_file():
        told = read_bounded(answered, "an answer of sbatch", _MOST_BYTES).decode("utf-8", "replace")
        number = told.strip().partition(";")[0]
        if number.isdigit():
            return job_argument(number, "sbatch")
        for line in answer(["squeue", "-h", "-t", "all", "-o", "%A %k"]).decode(errors="replace").splitlines():
            found, _, comment = line.strip().partition(" ")
            if comment == mark:
                return job_argument(found, "squeue")
    return None


def look(job: str) -> JobSeen:
    """Return the state of a job, from the controller or else from the accounting records.

    Raises
    ------
    InputError
        If the controller does not answer.
    UnknownEndError
        If neither has it.
    """
    asked = ",".join(f"{name}:|" for name in _FIELDS)
    try:
        lines = answer(["squeue", "-h", "-t", "all", "-j", job, "-O", asked]).decode(errors="replace").splitlines()
    except CommandFailedError as error:
        if "Invalid job id" not in str(error):
            raise
        lines = []
    if not lines:
        return _accounted(job)
    state, limit, code, priority = [field.strip() for field in lines[-1].split("|")[:4]]
    held = state == "PENDING" and priority == "0"
    ended = os.waitstatus_to_exitcode(int(code)) if code.isdigit() else 0
    return JobSeen(state, minutes_of(limit), held, ended if ended >= 0 else 128 - ended)


def _accounted(job: str) -> JobSeen:
    missing = f"job {job}: the controller has forgotten it, and its end is not known"
    try:
        asked = ["sacct", "-X", "-n", "-P", "-j", job, "-o", "State,TimelimitRaw,ExitCode"]
        lines = answer(asked).decode(errors="replace").splitlines()
    except InputError as error:
        raise UnknownEndError(f"{missing}: {error}") from None
    if not lines:
        raise UnknownEndError(f"{missing}: the accounting has none either")
    state, limit, code = lines[-1].split("|")[:3]
    exited, _, sent = code.partition(":")
    ended = int(exited) if exited.isdigit() else 1
    signal = int(sent) if sent.isdigit() else 0
    return JobSeen(state.split()[0], int(limit) if limit.isdigit() else None, code=128 + signal if signal else ended)


def minutes_of(text: str) -> int | None:
    """Return a limit in Slurm's format, ``[D-][H:]MM:SS``, in minutes; ``None`` for none."""
    try:
        return -(-seconds_of(text) // 60)
    except ValueError:
        return None
