"""Commands on drawn files. Saved results and submissions with changes."""

import base64
import json
import re
import shutil
from contextlib import chdir
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from click.testing import CliRunner

from hpcdispatch.base.checksums import SUMS, TIMINGS_SUM
from hpcdispatch.cli import cli
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate

from . import inputs
from .inputs import changed, mangled
from .sites import conf, jsonl

#: Parts of a command line: a command that reads a file F, the generator of this file, and its suffix.
LINES = (
    ("workload describe F --lenient", inputs.sacct, ".sacct"),
    ("workload describe F", inputs.swf, ".swf"),
    ("workload describe F", jsonl, ".jsonl"),
    ("workload convert F out.swf", jsonl, ".jsonl"),
    ("run F --dispatcher fcfs", inputs.swf, ".swf"),
    ("run F --lenient", inputs.sacct, ".sacct"),
    ("evict F --nodes 4 --deadline 10m", inputs.scenario, ".json"),
    ("sequence F", inputs.runs, ".csv"),
    ("partition --requests F", inputs.table, ".csv"),
    ("workload from-slurm out.jsonl --config F --sacct F", conf, ".conf"),
    ("campaign F --out store --workers 1", inputs.campaign, ".toml"),
)
#: Forbidden output: an unexpected exception as a one-line error of the program.
_OURS = re.compile(r"(RunFailedError|SimulationError|BudgetError|InvariantError|ActionError)")
_ERROR = re.compile(r"error: (?:dispatcher [^:]*: )?(\w+(?:Error|Exception|Interrupt)): ")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
MOST_LETTERS = 1000


def command(rng):
    """Return a command line and its file, as JSON. Sometimes a word of the line is replaced."""
    line, make, suffix = rng.choice(LINES)
    words = line.split()
    if rng.random() < 0.3:
        words.insert(
            rng.randint(1, len(words)),
            rng.choice(("--seed", "-1", "--json", "--check", "", "x" * 5000, "\x1b[2J", "--out", "\u202e")),
        )
    data = make(rng)
    data = mangled(rng, data) if rng.random() < 0.3 else data
    return json.dumps({"words": words, "suffix": suffix, "data": base64.b64encode(data).decode()}).encode()


def run_command(path):
    """Run a command line in its own folder. Raise its violations."""
    try:
        given = json.loads(path.read_bytes())
        words = [str(word) for word in given["words"]]
        data = base64.b64decode(given["data"])
        file = Path("input" + re.sub(r"[^a-z.]", "", given["suffix"]))
    except (ValueError, KeyError, TypeError):
        return
    with TemporaryDirectory(dir=path.parent) as folder, chdir(folder):
        file.write_bytes(data)
        check_printed(CliRunner().invoke(cli, [str(file) if word == "F" else word for word in words]))


def check_printed(done):
    """Raise unless a command ended as commands do."""
    assert done.exit_code in (0, 1, 2), f"exit code {done.exit_code}"
    assert "Traceback" not in done.stderr
    for line in done.stderr.splitlines():
        assert len(line) <= MOST_LETTERS, f"a line of {len(line):,} letters"
    found = _CONTROL.search(done.stdout + done.stderr)
    assert not found, f"a control character {found[0]!r}"
    error = _ERROR.search(done.stderr)
    assert done.exit_code == 0 or not error or _OURS.match(error[1]), done.stderr[:300]


@cache
def saved():
    """Return a folder with a saved result."""
    folder = Path(mkdtemp(prefix="hpcdispatch-fuzz-"))
    simulate(generate("lublin", jobs=20, processors=8, seed=1), "easy").save(folder / "result")
    return folder / "result"


def result(rng):
    """Return a manifest of which some values are others."""
    manifest = json.loads((saved() / "manifest.json").read_bytes())
    return changed(rng, manifest) if rng.random() < 0.8 else mangled(rng, json.dumps(manifest).encode())


def report(path):
    """Make a report about a result with a drawn manifest."""
    folder = path.parent / "results"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(saved(), folder / "result")
    shutil.copy(path, folder / "result" / "manifest.json")
    for sums in (SUMS, TIMINGS_SUM):  # as an earlier version saved it
        (folder / "result" / sums).unlink()
    check_printed(CliRunner().invoke(cli, ["report", str(folder), "--out", str(folder)]))


#: What is drawn, the suffix of its file, and what reads it.
COMMANDS = {
    "command": (command, ".json", run_command),
    "result": (result, ".json", report),
}
