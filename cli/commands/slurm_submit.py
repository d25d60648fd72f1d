"""``hpcdispatch slurm submit``: submit a job with a stochastic run time, with one walltime after another."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Annotated

import click

from ...analysis import Planning, advise
from ...analysis.kept_submission import UNDER_WAY, Submission, locked, read_journal, write_journal
from ...base import InputError
from ...models.reservations.resubmission import JobSeen, next_step
from ...workloads.formats.run_times import read_run_history
from ..app import settings, subcommand
from ..command_errors import InterruptedRunError, say
from ..durations import Duration
from ..output import finish
from ..parameters import argument, option
from ..shared_options import ColumnOption, LongestOption, UnitOption
from ..slurm_answers import PATIENCE, CommandFailedError, answer
from ..slurm_jobs import UnknownEndError, check_script, look, submit, submitted
from .sequence import last_request, whole_minutes

#: Failed polls in a row before the command gives up.
_SILENT = 20
#: Exit codes of a job that the last walltime ended, as in timeout(1), and of a cancelled one.
_TIMED_OUT, _CANCELLED = 124, 130


@subcommand(
    "submit",
    "hpcdispatch slurm submit --law runs.csv segment.sh",
    "hpcdispatch slurm submit --law runs.csv --max 1-00:00:00 segment.sh subject-17",
    context_settings={"ignore_unknown_options": True},
)
def submit_job(
    script: Annotated[Path, argument(type=click.Path(dir_okay=False, path_type=Path))],
    arguments: Annotated[tuple[str, ...], argument(type=click.UNPROCESSED)],
    law: Annotated[Path, option("Run times of such jobs, as sequence reads them.", "RUNTIMES", group="Requests")],
    column: ColumnOption,
    unit: UnitOption,
    longest: LongestOption,
    state: Annotated[
        Path | None,
        option(
            "How far it is; the same command goes on from there.  [default: SCRIPT.submission.json here]",
            type=click.Path(dir_okay=False, path_type=Path),
            group="Submission",
        ),
    ],
    poll: Annotated[int, option("How often Slurm is asked.", "TIME", Duration(1), default="30s")],
    anew: Annotated[bool, option("Submit it again where FILE tells how it ended.")],
) -> None:
    """Submit SCRIPT with the first request. When its walltime ends the job, continue with the next request.

    The requests are those of sequence, in whole minutes. If Slurm allows it, a job goes back to the queue with its
    number, and its dependents continue to wait. Otherwise a new job is submitted.

    The command ends with the exit code of the job. It is 124 if the last walltime ended the job, and 130 if the job was
    cancelled. Ctrl-C cancels the job. Any other end of this command leaves the job unchanged. The same command then
    continues, or prints how the job ended. To submit it again, use --anew.
    """
    path = state or Path(f"{script.name}.submission.json")
    with locked(path, PATIENCE) as lock:
        command = (str(script), *arguments)
        found = read_journal(path, Submission, UNDER_WAY)
        if found is not None and found.code is not None:
            if found.command == command and not anew:
                # A kill may have come between recording the end and printing it.
                say("note", f"{path}: job {found.job} has ended with code {found.code}; --anew submits it again")
                click.get_current_context().exit(found.code)
            found = None
        elif found is not None and anew:
            raise InputError(f"{path}: --anew: expected no job under way, got {found.job or 'one just begun'}")
        if found is None:
            history = read_run_history(law, column, unit)
            advice = advise(history, Planning(limit=last_request(longest, history)))
            minutes = tuple(whole_minutes(advice.sequence.values.tolist()))
            check_script(script, minutes[-1])
            for old in path.parent.glob(f".{path.name}.*.answer"):
                old.unlink()
            found = Submission(token_hex(8), command, minutes)
            write_journal(path, found)
            say("note", f"requests of {', '.join(map(str, minutes))} min; kept in {path}")
        elif found.command != command:
            raise InputError(
                f"{path}: expected {' '.join(command)}, got {' '.join(found.command)} under way; give --state"
            )
        else:
            say("note", f"goes on from {path}")
        driver = Driver(path, found, lock, poll)
        ended = driver.run()
    if settings().json:
        fields = {"job": driver.kept.job, "exit_code": ended, "requests_s": [60 * each for each in found.minutes]}
        finish(f"Job {driver.kept.job} ended with exit code {ended}.", fields)
    click.get_current_context().exit(ended)


def _answers(path: Path, request: int) -> Path:
    """Return the file for the answer to the submission of a request."""
    return path.with_name(f".{path.name}.{request}.answer")


@dataclass
class Driver:
    """Advances a submission step by step. Each step is recorded before it is taken, and can be repeated."""

    path: Path
    kept: Submission
    lock: int
    poll: int

    def run(self) -> int:
        """Continue until the job ends. Return the exit code."""
        silent = 0
        while self.kept.code is None:
            try:
                with self._cancelling():
                    waits = self._step()
                    silent = 0
                    if waits:
                        time.sleep(self.poll)
            except InputError as error:
                silent += 1
                if self.kept.job is None or silent > _SILENT or isinstance(error, UnknownEndError):
                    raise
                say("note", f"{error}; asking again")
                time.sleep(self.poll)
        return self.kept.code

    def _keep(self, **changes: object) -> None:
        self.kept = replace(self.kept, **changes)  # type: ignore[arg-type]
        write_journal(self.path, self.kept)

    def _step(self) -> bool:
        """Take one step. Return whether only waiting is left."""
        kept = self.kept
        seen = None if kept.job is None else look(kept.job)
        step = next_step(seen, kept.due, kept.last, kept.change)
        if seen is None or step == "submit":
            job = submit(kept.command, kept.due, self._mark, _answers(self.path, kept.request), self.lock)
            self._keep(job=job, moving=False)
            if not settings().json:
                click.echo(job)
            say("note", f"job {job} with a limit of {kept.due} min")
        elif step == "next":
            # The first request above the walltime that ended the job. That walltime may come from elsewhere.
            ended = seen.limit or kept.due
            longer = next((number for number, minutes in enumerate(kept.minutes) if minutes > ended), None)
            if longer is None:
                self._end(seen)
            else:
                self._keep(request=longer, moving=True)
        elif step == "end":
            self._end(seen)
        elif step == "wait":
            if kept.moving and not seen.held and seen.limit == kept.due:
                self._keep(moving=False)
            return True
        elif step == "replace":
            answer(["scancel", "--", str(kept.job)])
        else:
            self._change(step)
        return False

    @property
    def _mark(self) -> str:
        return f"hpcdispatch:{self.kept.token}:{self.kept.request}"

    def _change(self, step: str) -> None:
        """Requeue the job, set its walltime, or release it. If Slurm refuses, submit a new job."""
        job, due = str(self.kept.job), self.kept.due
        commands = {
            "requeue": ["scontrol", "requeuehold", job],
            "limit": ["scontrol", "update", f"JobId={job}", f"TimeLimit={due}"],
            "release": ["scontrol", "release", job],
        }
        try:
            answer(commands[step])
        except CommandFailedError as error:
            if step == "release":
                raise
            say("note", f"{error}; a new job takes its place, which those that depend on it do not know")
            self._keep(same=False)
            return
        if step == "release":
            say("note", f"job {job} again, with a limit of {due} min")

    def _end(self, seen: JobSeen) -> None:
        """Record the end of the job."""
        codes = {"COMPLETED": seen.code, "TIMEOUT": _TIMED_OUT, "CANCELLED": _CANCELLED}
        code = codes.get(seen.state, seen.code or 1)
        self._keep(code=code)
        say("note", f"job {self.kept.job} ended: {seen.state}, exit code {code}")

    @contextmanager
    def _cancelling(self) -> Iterator[None]:
        """Cancel the job on an interrupt."""
        try:
            yield
        except KeyboardInterrupt:
            job = self.kept.job or submitted(self._mark, _answers(self.path, self.kept.request))
            if job is not None:
                answer(["scancel", "--", job])
            self._keep(job=job, code=_CANCELLED)
            raise InterruptedRunError(f"job {job} is cancelled" if job else "nothing was submitted") from None
