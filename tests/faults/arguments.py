"""Commands with odd arguments: ``PYTHONPATH=tests python -m faults.arguments [--only WORD] [--every N]``.

Each argument and option of each command is given files that are none, places that cannot be written, numbers out of all
bounds, and texts with control characters. A command must end in time, with exit code 0, 1 or 2, and say what is wrong
in one printable line.
"""

# ruff: noqa: T201
import argparse
import os
import shutil
import signal
import socket
import tempfile
import traceback
import warnings
from contextlib import chdir, suppress
from pathlib import Path

import click
from click.testing import CliRunner
from fuzz.commands import check_printed

from hpcdispatch.cli import cli
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate, write

EXAMPLES = Path(__file__).parents[2] / "examples"
SITE = "--squeue squeue.json --sinfo sinfo.json"
#: A call of each command that works.
CALLS = (
    "run jobs.swf",
    "compare jobs.swf --dispatchers fcfs,easy --workers 1",
    "campaign small.toml --out store --workers 1",
    "evict scenario.json --nodes 2 --deadline 10m",
    "partition --requests requests.csv",
    "predict jobs.swf --predictors walltime,last2",
    "report saved",
    "reproduce --list",
    "sequence runs.csv --column runtime",
    "what-if --config slurm.conf --sacct jobs.sacct --dispatchers fcfs",
    f"slurm evict --nodes 1 --deadline 10m {SITE} --now 1704100000",
    f"slurm forecast {SITE} --config slurm.conf --sacct jobs.sacct --now 1704100000 --draws 2",
    f"slurm state state.json {SITE} --now 1704100000",
    f"slurm why 1 {SITE} --config slurm.conf --sacct jobs.sacct --now 1704100000",
    "workload analyze workflows.csv --size-column size --time-column time",
    "workload convert jobs.swf out.swf",
    "workload describe jobs.swf",
    "workload from-slurm out.jsonl --config slurm.conf --sacct jobs.sacct",
    "workload generate lublin:jobs=5 out.swf",
    "list easy",
)
NUMBERS = ("-1", "0", "1" * 30, "nan", "inf", "-inf", "1e308", "1e-320", "", "x", "٣", "1_0", "-9223372036854775808")
TEXTS = ("", "\x1b[2J", "\u202eabc\u2066", "x" * 5000, "a\nb", ",", ":", "=", "%s{}", "../x", "--seed", "\udcff")
#: Odd files by name; each is made anew.
FILES = {
    "pipe": os.mkfifo,
    "zero": lambda path: path.symlink_to("/dev/zero"),
    "full": lambda path: path.symlink_to("/dev/full"),
    "folder": Path.mkdir,
    "loop": lambda path: path.symlink_to(path.name),
    "dangling": lambda path: path.symlink_to("nowhere/at/all"),
    "memory": lambda path: path.symlink_to("/proc/self/mem"),
    "linked": lambda path: path.symlink_to("kept"),
    "socket": lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
    "empty": Path.touch,
    "\x1b[2Jname": lambda path: path.write_bytes(b"\xff\xfe\x1b[2J|\n" * 9),
}
PATHS = (*FILES, "none", "below/none", "kept/below", "x" * 300, "y/" * 3000, "", "-", "/", "/proc/1/none", "~")
#: Begins of lines that may come before an error.
NOTES = ("hpcdispatch: note: ", "hpcdispatch: warning: ")
#: Seconds of a processor that a command may take.
MOST_SECONDS = 10


def cases(every=1):
    """Return the words of each call with an odd value, every so many."""
    found = []
    for call in CALLS:
        words = call.split()
        command = cli
        while isinstance(command, click.Group):
            command = command.get_command(click.Context(command), words[0])
            words = words[1:]
        head = call.split()[: len(call.split()) - len(words)]
        arguments = [
            place
            for place, word in enumerate(words)
            if not word.startswith("-") and (place == 0 or not words[place - 1].startswith("--"))
        ]
        for place in arguments:
            found += [(*head, *words[:place], odd, *words[place + 1 :]) for odd in (*PATHS, *TEXTS)]
        for option in command.params:
            if (
                isinstance(option, click.Option)
                and not option.is_flag
                and option.opts[0] not in ("--workers", "--help")
            ):
                odd = PATHS if isinstance(option.type, click.Path) else (*NUMBERS, *TEXTS)
                kept = list(words)
                if option.opts[0] in kept:
                    place = kept.index(option.opts[0])
                    del kept[place : place + 2]
                found += [(*head, *kept, f"{option.opts[0]}={value}") for value in odd]
    return found[::every]


def prepare(folder):
    """Write the files of the calls. What commands keep goes to the same folder."""
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    for path in (*EXAMPLES.glob("*.*"), *(EXAMPLES / "slurm").iterdir()):
        shutil.copy(path, folder)
    jobs = generate("lublin", jobs=8, processors=8, seed=1)
    write(jobs, folder / "jobs.swf")
    simulate(jobs, "fcfs").save(folder / "saved" / "one")
    (folder / "small.toml").write_text('dispatchers = ["fcfs"]\n[[workload]]\nsource = "jobs.swf"\n')


def give_up(*_):
    raise TimeoutError(f"no end within {MOST_SECONDS} s of a processor")


def finding(words, folder, codes=(0, 1, 2)):
    """Run a command in a folder; return what it did that it must not, empty if nothing.

    It must end with one of `codes`.
    """
    (folder / "kept").write_text("kept")
    for name, make in FILES.items():
        with suppress(OSError):
            shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink()
        with warnings.catch_warnings(action="ignore"), suppress(FileExistsError):
            make(folder / name)
    signal.signal(signal.SIGVTALRM, give_up)
    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
    signal.alarm(30 * MOST_SECONDS)
    try:
        with chdir(folder), warnings.catch_warnings(action="ignore"):
            done = CliRunner().invoke(cli, list(words))
        check_printed(done)
        raised = done.exception
        assert raised is None or isinstance(raised, SystemExit), traceback.format_exception(raised)[-3:]
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith(NOTES)]
        assert done.exit_code == 0 or len(lines) <= 1, f"{len(lines)} lines: {lines[:3]}"
        assert done.exit_code in codes, f"exit code {done.exit_code}"
        assert (folder / "kept").read_text() == "kept", "the target of a link is changed"
    except (AssertionError, TimeoutError, OSError) as error:
        return str(error)[:600] or type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.alarm(0)
    return ""


def try_all(about, cases, prepare, calls=(), codes=(0, 1, 2)):
    """Run what the command line asks for of the cases, after the calls that work. Print what is found."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    given = parser.parse_args()
    chosen = [words for words in cases(given.every) if given.only in " ".join(words)]
    findings = 0
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        for call in calls:
            if given.only in call and (found := finding(call.split(), Path(name))):
                print(f"{call}: {found}", flush=True)
        for words in chosen:
            if found := finding(words, Path(name), codes):
                findings += 1
                print(f"{' '.join(words)[:200]!r}: {found}", flush=True)
    print(f"{len(chosen):,} calls, {findings} findings")
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    try_all(__doc__, cases, prepare, CALLS)
