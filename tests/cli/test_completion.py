"""A shell that asks for proposals gets commands, options, names and files."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hpcdispatch.cli import cli
from hpcdispatch.cli.completion import ASKED


def _proposed(monkeypatch, capsys, line):
    words = line.split(" ")
    monkeypatch.setenv(ASKED, "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
    with pytest.raises(SystemExit) as end:
        cli.main()
    printed = capsys.readouterr()
    assert end.value.code == 0
    assert not printed.err
    return printed.out.split()


@pytest.mark.parametrize(
    ("line", "proposed"),
    [
        ("hpcdispatch comp", ["plain,compare", "plain,compile", "plain,completion"]),
        ("hpcdispatch --deb", ["plain,--debug"]),
        ("hpcdispatch run --dispatch", ["plain,--dispatcher"]),
        ("hpcdispatch run --dispatcher easy-", ["plain,easy-sjbf"]),
        ("hpcdispatch run --predictor las", ["plain,last2"]),
        ("hpcdispatch compare --dispatchers easy,hcp3", ["plain,easy,hcp3"]),
        ("hpcdispatch compare --predictors walltime,las", ["plain,walltime,last2"]),
        ("hpcdispatch run kth", ["plain,kth-sp2"]),
        ("hpcdispatch run lub", ["plain,lublin", "plain,lublin-256"]),
        ("hpcdispatch run my/tra", ["file,my/tra"]),
        ("hpcdispatch workload describe trace.s", ["file,trace.s"]),
        ("hpcdispatch slurm fore", ["plain,forecast"]),
        ("hpcdispatch completion z", ["plain,zsh"]),
        ("hpcdispatch list easy-", ["plain,easy-sjbf"]),
        ("hpcdispatch nonsense x", []),
    ],
)
def test_what_is_proposed(monkeypatch, capsys, line, proposed):
    assert _proposed(monkeypatch, capsys, line) == proposed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_asks_hpcdispatch(invoke, shell):
    assert f"{ASKED}={shell}_complete" in invoke("completion", shell).stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_takes_the_script(tmp_path):
    program = tmp_path / "hpcdispatch"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hpcdispatch "$@"\n')
    program.chmod(0o755)
    typed = (
        "source <(hpcdispatch completion bash); COMP_WORDS=(hpcdispatch camp); COMP_CWORD=1; "
        '_hpcdispatch_completion hpcdispatch; echo "${COMPREPLY[@]}"'
    )
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"], str(Path(sys.executable).parent)])
    ended = subprocess.run(
        ["bash", "--norc", "-c", typed],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert ended.stdout.split() == ["campaign"]
