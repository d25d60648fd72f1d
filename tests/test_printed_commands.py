"""Every printed command of README.md and the documentation runs on the samples in examples/.

A block of output (``text``) right behind a block of commands is what these print, but for blanks. Commands without such
a block print nothing, but those of `UNPRINTED`. Where they print measured times or many lines, the page shows a part:
``| tail -1``.

A block runs in bash, in a folder with the samples alone. Blocks of a page run one after the other. Slurm's commands
print the samples. `ELSEWHERE` lists the commands that do not run here, why, and what is checked instead.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

ROOT = Path(__file__).parents[1]
SITE = sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *SITE]
#: Pages with slow commands, more than a few seconds together, for nights. By day there are the README and small ones.
SLOW = {
    "dispatchers/eviction.md",
    "dispatchers/moldable.md",
    "dispatchers/slurm.md",
    "evidence/performance.md",
    "evidence/reproductions.md",
    "evidence/results.md",
    "evidence/verification.md",
    "explanation/conclusions.md",
    "explanation/reliability.md",
    "how-to/campaigns.md",
    "how-to/completion.md",
    "how-to/conventions.md",
    "how-to/figures.md",
    "how-to/from-pyss.md",
    "how-to/live-slurm.md",
    "how-to/machines.md",
    "how-to/reports.md",
    "how-to/traces.md",
    "how-to/walltimes.md",
    "how-to/what-if.md",
    "how-to/workflow-analysis.md",
    "index.md",
    "start/first-comparison.md",
    "start/install.md",
}
#: Commands that do not run here, why, and what is checked instead.
ELSEWHERE = {
    r"hpcdispatch campaign .* --cluster ": "needs a cluster; tests/bench/campaigns and the tutorial have Dask ones",
    r"make ": "installs, or takes minutes; `make -n` knows the target",
    r"python -m pip install ": "downloads; tests/test_package.py installs what is built",
    r"python -m hpcdispatch\.bench\.studies\.": "needs traces and hours; --help has the options; see nightly-studies",
    r"PYTHONPATH=tests python -m (fuzz|faults|mutants|ruled)": "takes an hour; --help has the options; see nightly",
    r"docker ": "needs Docker; the workflow of the tests builds the image and runs it",
    r"python -m pytest ": "runs tests, which nights run as well",
}
#: Commands whose output stands on no page, and why.
UNPRINTED = {"hpcdispatch slurm forecast 4711\n": "it counts from the present second"}
#: They need what is not here, so that they are not even started.
CLUSTER = re.compile(r"--cluster ")
STAND_INS = {
    "make": 'exec /usr/bin/make -n -C "$ROOT" "$@" > /dev/null',
    "python": """[ "$2" = pip ] && exit 0
help=$("$PYTHON" "$1" "$2" --help) || exit 1
for word; do
  case "$word" in --*) echo "$help" | grep -q -e "$word" || { echo "$2 has no $word"; exit 1; } ;; esac
done""",
    "sacct": 'case "$*" in *" -o Elapsed"*) cat examples/runs.csv ;; *) cat examples/slurm/jobs.sacct ;; esac',
    "scontrol": """case "$*" in
  "show partition -o") grep ^Partition examples/slurm/nodes.txt ;;
  "show node -o") grep ^Node examples/slurm/nodes.txt ;;
  "show config") echo "KillWait = 30"; echo "SchedulerParameters = bf_interval=30" ;;
esac""",
    "sinfo": 'case "$*" in *--json*) cat examples/slurm/sinfo.json ;; *) echo "batch*|2-00:00:00" ;; esac',
    "sacctmgr": """case "$*" in *"show user"*) echo Administrator ;; esac""",
    "docker": "exit 0",
    "sbatch": "echo 4720",
    # The sample is of one instant. Here it is of now, at the begin of a second: the clock is read after the answers.
    "squeue": """case "$*" in
  *--json*) "$PYTHON" -c '
import json, time
found = json.load(open("examples/slurm/squeue.json"))
time.sleep(1 - time.time() % 1)
late = int(time.time()) - 1795219200
for job in found["jobs"]:
    job["submit_time"] += late
    job["start_time"] += late
print(json.dumps(found))' ;;
  *-O*) echo "COMPLETED |60 |0 |1" ;;
esac""",
}


def short(page):
    return page.relative_to(ROOT).as_posix().removeprefix("docs/")


def blocks(page):
    """Return the blocks of commands of a page with their outputs, without lines that need a cluster."""
    pattern = r"^```sh\n(.*?)^```\n(?:\n*^```text\n(.*?)^```)?"
    pairs = re.findall(pattern, page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [
        ("".join(line for line in block.splitlines(True) if not CLUSTER.search(line)), output)
        for block, output in pairs
    ]


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """Return a folder with the samples. Its commands are those above and ours."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    commands = tmp_path / ".commands"
    commands.mkdir()
    for name, text in STAND_INS.items():
        (commands / name).write_text(f"#!/bin/sh\n{text}\n")
        (commands / name).chmod(0o755)
    (commands / "hpcdispatch").symlink_to(Path(sys.executable).with_name("hpcdispatch"))
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    variables = {"ROOT": ROOT, "PYTHON": sys.executable, "XDG_CACHE_HOME": tmp_path / "cache", "COLUMNS": 100}
    for name, value in variables.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("NUMBA_CACHE_DIR", os.environ.get("NUMBA_CACHE_DIR", ""))
    if not os.environ["NUMBA_CACHE_DIR"]:
        monkeypatch.delenv("NUMBA_CACHE_DIR")
    return tmp_path


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.nightly] * (short(page) in SLOW), id=short(page))
        for page in PAGES
        if blocks(page)
    ],
)
def test_commands_run_as_printed(page, desk):
    for block, output in blocks(page):
        command = ["bash", "-euo", "pipefail", "-c", block.replace("=tests ", f"={ROOT / 'tests'} ")]
        ran = subprocess.run(command, cwd=desk, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
        assert ran.returncode == 0, f"{page.name}:\n{block}\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"
        assert "hpcdispatch: error" not in ran.stderr
        assert block in UNPRINTED or output.split() == ran.stdout.split(), ran.stdout


def test_commands_that_do_not_run_are_listed():
    """A command that a stand-in replaces, or that is left out, has one reason; and each reason has a command."""
    assert set(UNPRINTED) <= {block for page in PAGES for block, output in blocks(page) if not output}
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    lines = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)).splitlines()
    left_out = [
        line for line in lines if re.match(r"(PYTHONPATH=tests )?(make|python|docker) ", line) or CLUSTER.search(line)
    ]
    reasons = [[reason for reason in ELSEWHERE if re.match(reason, line)] for line in left_out]
    assert [line for line, why in zip(left_out, reasons, strict=True) if len(why) != 1] == []
    assert {why[0] for why in reasons} == set(ELSEWHERE)


def test_every_output_stands_behind_its_commands():
    """A block of output anywhere else would be compared with nothing."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(re.findall(r"^```text", text, re.MULTILINE)) == sum(bool(output) for _, output in blocks(page)), page


def test_every_block_of_commands_is_marked_as_one():
    """A block without a language is output. If it begins with a command, that would not run."""
    for page in PAGES:
        for block in re.findall(r"^```\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            assert not re.match(r"(hpcdispatch|python|make|sacct) ", block), page.name


def test_python_blocks_are_examples_with_their_output_or_files_of_the_samples():
    for page in PAGES:
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
            samples = {file.read_text(encoding="utf-8") for file in (ROOT / "examples").rglob("*.py")}
            assert block.startswith(">>> ") or block in samples, page.name
