"""``--parts``: names that a file of the user registers."""

import os
import subprocess
import sys

import pytest
from patience import PATIENCE

MINE = """
import hpcdispatch as hd

class Half:
    def predict(self, job, now):
        return job.walltime / 2
    def observe(self, job):
        pass

class Area:
    def ranks(self, state):
        return state.queue.nodes * state.queue.predicted

hd.register("predictor", "half", Half)
hd.register("order", "area", Area)
"""
SPEC = "lublin:jobs=40,processors=16,load=1.0"


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", "from hpcdispatch.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=dict(os.environ),
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path):
    """Give a folder with files of parts."""
    files = {
        "myparts.py": MINE,
        "nothing.py": "",
        "broken.py": "raise KeyError('no luck')",
        "taken.py": "import hpcdispatch as hd\nhd.register('order', 'sjf', dict)",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.nightly
def test_names_hold_in_the_command_and_its_workers(folder):
    own = "--parts", "myparts.py", "--predictors", "walltime,half"
    workers = "--seeds", "2", "--workers", "2"
    code, out, err = run(folder, "compare", SPEC, "--dispatchers", "easy:order=area", *own, *workers)
    assert code == 0, err
    assert "half" in out
    assert run(folder, "run", SPEC, "--parts", "myparts.py", "--predictor", "half")[0] == 0


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("missing.py", "--parts missing.py: expected a file of Python, such as myparts.py"),
        (
            "nothing.py",
            "--parts nothing.py: it registers nothing; call hpcdispatch.register(kind, name, factory) in it",
        ),
        ("broken.py", "--parts broken.py: KeyError: 'no luck'"),
        ("json.py", "--parts json.py: json is the name of another module, or none; rename the file"),
        ("taken.py", "order 'sjf' is a name of hpcdispatch already; choose another name"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(invoke, folder, monkeypatch, file, message):
    monkeypatch.chdir(folder)
    (folder / "json.py").write_text(MINE)
    monkeypatch.setattr(sys, "path", list(sys.path))
    found = invoke("run", SPEC, "--parts", file)
    assert found.exit_code == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1
