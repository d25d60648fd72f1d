"""What a dispatcher shows to another one of the jobs."""

import re
from pathlib import Path

import numpy as np
import pytest

from hpcdispatch.dispatchers import JobView, Running, Waiting
from hpcdispatch.dispatchers.protocol import DispatcherContract
from hpcdispatch.workloads import Job, Machine

JOB = JobView(Job("a", 1, 5, 9), Machine.pool(4))
CHANGED = {"waiting": ("predicted", 77), "running": ("predicted_end", 77)}


def waiting():
    """Return a waiting job. None of its fields has the default value."""
    return Waiting(
        JobView(Job("a", 1, 5, 9), Machine.pool(4)), 3, 2, attempt=4, order=6, demand=(1,), law=object(), done=8
    )


def running():
    """Return a running job like that."""
    run = Running(JOB, 2, np.array([1, 0]), (1,), 6)
    run.predicted_end = 5
    run.kill_at = 11
    run.stopping = True
    run.done = 3
    run.restart = 7
    return run


@pytest.mark.parametrize("make", [waiting, running])
def test_another_is_shown_everything_but_what_is_changed(make):
    job = make()
    changed, value = CHANGED[make.__name__]
    shown = job.shown_as(**{changed: value})
    assert getattr(shown, changed) == value != getattr(job, changed)
    for name in set(job.__slots__) - {changed}:
        assert getattr(shown, name) is getattr(job, name), name


ROOT = Path(__file__).parents[2]
#: Members that orders, predictors and other parts have, too.
SHARED = {"reset", "name", "uses"}


def test_code_reads_capabilities_from_the_contract():
    names = "|".join(sorted(DispatcherContract.members().keys() - SHARED))
    asked = re.compile(rf"(?:getattr|hasattr)\((?!action\b)[^)]*\"(?:{names})\"")
    for folder in ("simulation", "dispatchers", "learn"):
        for path in (ROOT / folder).rglob("*.py"):
            assert not asked.search(path.read_text(encoding="utf-8")), path


def test_plugin_page_has_each_member_of_the_contract():
    page = (ROOT / "docs/reference/plugins.md").read_text(encoding="utf-8")
    for name in DispatcherContract.members():
        assert re.search(rf"^\|.*`{name}[`(]", page, re.MULTILINE), name
