"""What the README says works from the wheel, in a folder without the clone."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE
from test_printed_commands import blocks

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
OWN = shutil.ignore_patterns(".*", "build", "dist", "results", "*.egg-info", "__pycache__", "_build")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return the folder in which a wheel is unpacked."""
    where = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, where / "source", ignore=OWN)
    build = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--target", where / "site", where / "source"], check=True, timeout=10 * PATIENCE)
    return where / "site"


def run(command, installed, folder):
    """Return what a command prints with the installed package alone."""
    shown = {**os.environ, "PYTHONPATH": str(installed), "PATH": f"{folder}:{os.environ['PATH']}", "COLUMNS": "100"}
    ran = subprocess.run(
        command, cwd=folder, env=shown, capture_output=True, text=True, timeout=4 * PATIENCE, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.nightly
def test_the_readme_holds(installed, tmp_path):
    program = tmp_path / "hpcdispatch"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hpcdispatch "$@"\n')
    program.chmod(0o755)
    where = run([sys.executable, "-c", "import hpcdispatch; print(hpcdispatch.__file__)"], installed, tmp_path)
    assert Path(where.strip()).is_relative_to(installed)
    commands = [(block, output) for block, output in blocks(README) if block.startswith("hpcdispatch ")]
    assert commands
    for block, output in commands:
        printed = run(["bash", "-euo", "pipefail", "-c", block], installed, tmp_path)
        assert printed.split() == output.split()
    code = "\n".join(re.findall(r"^>>> (.*)$", README.read_text(encoding="utf-8"), re.MULTILINE))
    assert "import hpcdispatch as hd" in code
    run([sys.executable, "-c", code], installed, tmp_path)
