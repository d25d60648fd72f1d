"""`slurm submit`: every job ends once and none is doubled, wherever it is interrupted."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from hpcdispatch.analysis.kept_submission import UNDER_WAY, Submission, locked, read_journal, write_journal
from hpcdispatch.base import InputError
from hpcdispatch.cli import slurm_jobs
from hpcdispatch.cli.command_errors import InterruptedRunError
from hpcdispatch.cli.commands import slurm_submit
from hpcdispatch.cli.commands.slurm_submit import Driver
from hpcdispatch.cli.slurm_answers import CommandFailedError
from hpcdispatch.models.reservations.resubmission import JobSeen, next_step


class Crash(BaseException):
    """A kill -9, as far as one process can tell of it."""


@dataclass
class FakeSlurm:
    """Jobs of one script with so many minutes. Each command may be the last before a crash."""

    needs: int
    requeues: bool = True
    raises_limits: bool = True
    crash_at: int = -1
    calls: int = 0
    jobs: dict[str, dict] = field(default_factory=dict)
    ended: int = 0

    def crash(self) -> None:
        self.calls += 1
        if self.calls == self.crash_at:
            raise Crash

    @property
    def live(self) -> list[dict]:
        return [job for job in self.jobs.values() if job["state"] in ("PENDING", "RUNNING")]

    def tick(self) -> None:
        """Let what may start run to its end."""
        for job in self.live:
            if not job["held"]:
                done = self.needs <= job["limit"]
                job["state"] = "FAILED" if done else "TIMEOUT"
                self.ended = self.ended + done
        assert len(self.live) <= 1

    def run(self, arguments, stdout, **options):
        self.crash()
        limit = int(arguments[2].removeprefix("--time="))
        mark = arguments[3].removeprefix("--comment=")
        id_ = str(len(self.jobs) + 1)
        self.jobs[id_] = {"state": "PENDING", "limit": limit, "held": False, "mark": mark}
        assert len(self.live) == 1
        stdout.write(f"{id_}\n".encode())
        stdout.flush()
        self.crash()
        return SimpleNamespace(returncode=0, stderr=b"")

    def answer(self, arguments):
        self.crash()
        told = self._told(arguments)
        self.crash()
        return told.encode()

    def _told(self, arguments):
        if arguments[0] == "sinfo":
            return "long*|1-00:00:00\n"
        if arguments[0] == "squeue" and "-j" not in arguments:
            return "".join(f"{id_} {job['mark']}\n" for id_, job in self.jobs.items())
        id_ = (
            arguments[-1]
            if arguments[0] == "scancel"
            else next(part for part in arguments if part.strip("JobId=").isdigit())
        )
        job = self.jobs[id_.removeprefix("JobId=")]
        if arguments[0] == "squeue":
            self.tick()
            return f"{job['state']}|{job['limit']}:00|{3 << 8}|{0 if job['held'] else 9}|\n"
        self._change(job, arguments)
        return ""

    def _change(self, job, arguments):
        if arguments[0] == "scancel":
            if job["state"] == "PENDING":
                job["state"] = "CANCELLED"
        elif arguments[1] == "requeuehold":
            if not self.requeues or job["state"] == "PENDING":
                raise CommandFailedError("scontrol: refused")
            job.update(state="PENDING", held=True)
        elif arguments[1] == "update":
            if not self.raises_limits:
                raise CommandFailedError("scontrol: refused")
            job["limit"] = int(arguments[3].removeprefix("TimeLimit="))
        else:
            assert arguments[1] == "release"
            job["held"] = False


@pytest.fixture
def instead(monkeypatch):
    """Return a function that puts a fake in place of Slurm."""

    def instead(slurm) -> None:
        monkeypatch.setattr(slurm_jobs, "answer", slurm.answer)
        monkeypatch.setattr(slurm_submit, "answer", slurm.answer)
        monkeypatch.setattr(
            slurm_jobs,
            "subprocess",
            SimpleNamespace(run=slurm.run, DEVNULL=None, PIPE=None, TimeoutExpired=subprocess.TimeoutExpired),
        )

    return instead


@pytest.fixture
def bring(instead, tmp_path):
    def bring(slurm: FakeSlurm) -> Submission:
        """Drive a submission to its end, anew after each crash."""
        instead(slurm)
        path = tmp_path / f"{slurm.crash_at}.json"
        write_journal(path, Submission("token", ("job.sh",), (1, 2, 5)))
        for _ in range(3):
            try:
                Driver(path, read_journal(path, Submission, UNDER_WAY), 0, 0).run()
            except Crash:
                continue
            break
        return read_journal(path, Submission, UNDER_WAY)

    return bring


@pytest.mark.parametrize("refused", [{}, {"requeues": False}, {"raises_limits": False}])
@pytest.mark.parametrize(("needs", "code"), [(1, 3), (2, 3), (4, 3), (9, 124)])
def test_it_ends_once_wherever_it_is_interrupted(bring, needs, code, refused, capsys):
    whole = FakeSlurm(needs, **refused)
    assert bring(whole).code == code
    assert whole.calls > 2
    for crash_at in range(1, whole.calls + 1):
        slurm = FakeSlurm(needs, crash_at=crash_at, **refused)
        ended = bring(slurm)
        assert slurm.calls >= crash_at
        assert (ended.code, slurm.ended, slurm.live) == (code, int(code == 3), [])
        if not refused:
            assert len(slurm.jobs) == 1


@pytest.fixture
def submitting(instead, invoke, monkeypatch, tmp_path):
    """Return a function that submits job.sh, with requests of 1 and 10 minutes, without waiting between polls."""
    (tmp_path / "runs.csv").write_text("50\n" * 9 + "600\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(slurm_submit.time, "sleep", lambda seconds: None)
    script(tmp_path)

    def submitting(slurm, *more):
        instead(slurm)
        return invoke("slurm", "submit", "--law", "runs.csv", *more, "job.sh")

    return submitting


def test_from_the_history_to_the_exit_code(submitting):
    slurm = FakeSlurm(2)
    done = submitting(slurm)
    assert (done.exit_code, done.stdout, slurm.ended) == (3, "1\n", 1)
    for line in (
        "requests of 1, 10 min; kept in",
        "job 1 again, with a limit of 10 min",
        "job 1 ended: FAILED, exit code 3",
    ):
        assert line in done.stderr
    again = submitting(FakeSlurm(99), "--anew", "--json")
    assert again.exit_code == 124
    told = json.loads(again.stdout)
    assert [told[name] for name in ("job", "exit_code", "requests_s")] == ["1", 124, [60, 600]]


def test_a_submission_that_was_killed_goes_on(submitting):
    slurm = FakeSlurm(2, crash_at=7)
    assert submitting(slurm).exit_code == 1
    done = submitting(slurm)
    assert (done.exit_code, slurm.ended) == (3, 1)
    assert "goes on from job.sh.submission.json" in done.stderr


@dataclass
class Silent(FakeSlurm):
    """The controller answers no question about a job so many times."""

    silent: int = 0

    def answer(self, arguments):
        if "-j" in arguments and self.silent:
            self.silent -= 1
            raise InputError("squeue: no answer within 30 s")
        return super().answer(arguments)


def test_a_controller_that_is_silent_is_asked_again(submitting):
    done = submitting(Silent(1, silent=5))
    assert done.exit_code == 3
    assert done.stderr.count("squeue: no answer within 30 s; asking again") == 5
    done = submitting(Silent(1, silent=99), "--anew")
    assert (done.exit_code, done.stderr.count("asking again")) == (2, 20)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"returncode": 1, "stderr": b"sbatch: a warning\nsbatch: Invalid account\n"}, "said: sbatch: Invalid account"),
        ({"returncode": 0, "stderr": b""}, "expected the number of a job, got 'Welcome"),
        (FileNotFoundError(), "sbatch: there is no such command here"),
        (subprocess.TimeoutExpired("sbatch", 30), "sbatch: no answer within 30 s; the same command looks"),
    ],
)
def test_a_submission_that_slurm_refuses(submitting, run, message):
    class Refusing(FakeSlurm):
        def run(self, arguments, stdout, **options):
            if isinstance(run, Exception):
                raise run
            stdout.write(b"Welcome to the cluster\n")
            return SimpleNamespace(**run)

    done = submitting(Refusing(1))
    assert done.exit_code == 2
    assert message in done.stderr


@pytest.mark.parametrize(
    ("told", "seen"),
    [
        ("COMPLETED|5|0:0\n", JobSeen("COMPLETED", 5)),
        ("RUNNING|5|0:0\nFAILED|5|3:0\n", JobSeen("FAILED", 5, code=3)),
        ("CANCELLED by 0|UNLIMITED|0:15\n", JobSeen("CANCELLED", None, code=143)),
        ("NODE_FAIL|5|\n", JobSeen("NODE_FAIL", 5, code=1)),
    ],
)
def test_a_job_that_the_controller_forgot_is_in_the_accounting(monkeypatch, told, seen):
    def answer(arguments):
        if arguments[0] == "squeue":
            raise CommandFailedError(
                "squeue: ended with code 1 and said: slurm_load_jobs error: Invalid job id specified"
            )
        return told.encode()

    monkeypatch.setattr(slurm_jobs, "answer", answer)
    assert slurm_jobs.look("7") == seen


def test_a_job_that_nobody_knows(monkeypatch):
    def answer(arguments):
        if arguments[0] == "squeue" or told is None:
            raise CommandFailedError(f"{arguments[0]}: Invalid job id" if told is not None else "sacct: is down")
        return told

    told = b""
    monkeypatch.setattr(slurm_jobs, "answer", answer)
    with pytest.raises(slurm_jobs.UnknownEndError, match=r"job 7: .* the accounting has none either"):
        slurm_jobs.look("7")
    told = None
    with pytest.raises(InputError, match="sacct: is down"):
        slurm_jobs.look("7")


def test_a_job_that_its_owner_holds_or_changes_is_left_alone():
    held = JobSeen("PENDING", 2, held=True)
    assert next_step(held, 2, last=False, change="none") == "wait"
    assert next_step(held, 2, last=False, change="same") == "release"
    assert next_step(JobSeen("RUNNING", 9), 2, last=False, change="none") == "wait"
    assert next_step(JobSeen("TIMEOUT", 9), 2, last=False, change="none") == "next"
    assert next_step(JobSeen("CANCELLED", 1), 2, last=False, change="same") == "end"


def script(tmp_path, *lines):
    path = tmp_path / "job.sh"
    path.write_text("\n".join(["#!/bin/bash", *lines, "true"]) + "\n")
    return path


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["#SBATCH --nodes=2 --time=10"], r"job.sh:2: expected no --time, got one"),
        (["# a word", "#SBATCH -t10"], r"job.sh:3: expected no -t, got one"),
        (["#SBATCH -a 1-5"], r"job.sh:2: expected no -a, got one: each of its tasks"),
        (["#SBATCH --comment='x"], r"job.sh:2: expected options of sbatch"),
        (["#SBATCH -p short"], r"job.sh: the last request is 5 min and partition short allows 2; give --max"),
    ],
)
def test_a_script_that_does_not_go_with_it(tmp_path, monkeypatch, lines, message):
    monkeypatch.setattr(
        slurm_jobs,
        "answer",
        lambda arguments: b"short|2:00\n" if "--partition=short" in arguments else b"long*|1-00:00:00\n",
    )
    with pytest.raises(InputError, match=message):
        slurm_jobs.check_script(script(tmp_path, *lines), 5)


def test_options_behind_the_first_command_do_not_count(tmp_path, monkeypatch):
    monkeypatch.setattr(slurm_jobs, "answer", lambda arguments: b"short|2:00\nlong*|1-00:00:00\n")
    slurm_jobs.check_script(script(tmp_path, "#SBATCH -J a", "true", "#SBATCH --time=3"), 5)


def test_no_script_and_no_slurm(tmp_path, monkeypatch):
    runs = tmp_path / "runs.csv"
    runs.write_text("50\n100\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    for made, word in [(tmp_path / "nosuch.sh", "nosuch.sh"), (script(tmp_path), "sinfo: there is no such command")]:
        done = CliRunner().invoke(slurm_submit.submit_job, ["--law", str(runs), str(made)])
        assert isinstance(done.exception, OSError | InputError)
        assert word in str(done.exception)
    assert not list(tmp_path.glob("*.submission.json"))


def test_one_that_has_ended_is_not_submitted_again_unless_asked(tmp_path, monkeypatch):
    # A kill after the note of the end, but before the command ends, looks the same.
    (tmp_path / "runs.csv").write_text("50\n100\n")
    monkeypatch.chdir(tmp_path)
    script(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    args = ["--law", "runs.csv", "job.sh"]
    path = tmp_path / "job.sh.submission.json"

    def invoke(*more):
        return CliRunner().invoke(slurm_submit.submit_job, [*args, *more])

    write_journal(path, Submission("token", ("job.sh",), (1, 2), 1, "7", code=3))
    done = invoke()
    assert done.exit_code == 3
    assert "job 7 has ended with code 3; --anew submits it again" in done.stderr
    assert read_journal(path, Submission, UNDER_WAY).job == "7"
    assert "sinfo: there is no such command" in str(invoke("--anew").exception)  # It then submits.
    assert "sinfo: there is no such command" in str(invoke("subject-2").exception)  # Another job.
    write_journal(path, Submission("token", ("job.sh",), (1, 2), 1, "7"))
    assert "--anew: expected no job under way, got 7" in str(invoke("--anew").exception)


def test_what_is_kept_is_read_as_anything_else(tmp_path):
    path = tmp_path / "state.json"
    write_journal(path, Submission("token", ("job.sh", "$x", "a\nb"), (1, 2), 1, "7", moving=True, same=False))
    assert read_journal(path, Submission, UNDER_WAY).command == ("job.sh", "$x", "a\nb")
    for change in (
        {"minutes": [2, 1]},
        {"request": 2},
        {"minutes": []},
        {"job": 7},
        {"job": "--user=root"},
        {"job": "7 8"},
        {"job": "\u00b2"},
        {"job": "-7"},
        {"command": []},
        {"token": "-x"},
        {"code": 256},
        {"minutes": [10**12]},
    ):
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
        with pytest.raises(InputError, match="expected a submission that is under way"):
            read_journal(path, Submission, UNDER_WAY)
        write_journal(path, Submission("token", ("job.sh",), (1, 2)))


RECORD = """#!/bin/sh
printf '%s\\n' "$0" "$@" | tr '\\n' '|' >> "$CALLS"; echo >> "$CALLS"
case "$0" in *sbatch) echo 7;; *squeue) exit 1;; esac
"""


def test_no_name_and_no_file_makes_an_option_of_slurm(tmp_path, monkeypatch):
    """A script named like an option is a path. A job without a valid file stops before any command."""
    (tmp_path / "bin").mkdir()
    for name in ("sbatch", "scancel", "squeue", "sinfo", "sacct", "scontrol"):
        (tmp_path / "bin" / name).write_text(RECORD)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.chdir(tmp_path)
    for name in ("--wrap=id", "-n9", "job.sh"):
        (tmp_path / "calls").write_text("")
        (tmp_path / "answered").unlink(missing_ok=True)
        with (tmp_path / "lock").open("w") as lock:
            assert slurm_jobs.submit((name, "--x"), 5, "mark", tmp_path / "answered", lock.fileno()) == "7"
        assert f"|--comment=mark|./{name}|--x|" in (tmp_path / "calls").read_text()
    (tmp_path / "calls").unlink()
    (tmp_path / "runs.csv").write_text("50\n100\n")
    state = Submission("ab", ("job.sh",), (10, 12, 20), 1, "7")
    write_journal(tmp_path / "state.json", state)
    text = (tmp_path / "state.json").read_text().replace('"7"', '"--user=root"')
    (tmp_path / "state.json").write_text(text)
    done = CliRunner().invoke(slurm_submit.submit_job, ["--law", "runs.csv", "--state", "state.json", "job.sh"])
    assert "expected a job id of Slurm, such as 17, 17_3 or 17+1, got '--user=root'" in str(done.exception)
    assert not (tmp_path / "calls").exists()
    driver = Driver(tmp_path / "state.json", state, 0, 0)
    with pytest.raises(InterruptedRunError), driver._cancelling():
        raise KeyboardInterrupt
    assert (tmp_path / "calls").read_text().strip().endswith("/scancel|--|7|")


def test_one_at_a_time(tmp_path):
    held, again = (locked(tmp_path / "state.json", 0) for _ in range(2))
    with held, pytest.raises(InputError, match="another process is at work"), again:
        pass


def test_a_folder_as_the_state_is_one_line(tmp_path, monkeypatch):
    """An empty name is the folder here."""
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path, Path("")):
        with pytest.raises(InputError, match="expected a file, got a directory"), locked(folder, 0):
            pass


@pytest.mark.parametrize(
    ("text", "minutes"), [("1:00", 1), ("1:30", 2), ("2:00:00", 120), ("1-01:00:00", 1500), ("UNLIMITED", None)]
)
def test_limits_as_slurm_writes_them(text, minutes):
    assert slurm_jobs.minutes_of(text) == minutes
