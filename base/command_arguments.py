"""Arguments of external commands: a value that a file or a user gave never reaches a program as an option.

A job id or a node name has one of the forms below, none of which begins with a dash. A file is given as a path that
begins with ``/`` or ``./``. What is left stands after ``--``. There is no shell between us and the program.
"""

from __future__ import annotations

import re
from typing import Any

from .checks import shown
from .errors import InputError

#: A job, a task or some tasks of an array, a component of a heterogeneous job.
_JOB = re.compile(r"[0-9]{1,10}(?:_[0-9]{1,10}|_\[[0-9,:%-]{1,200}\]|\+[0-9]{1,6})?")
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}")


def job_argument(value: Any, where: str) -> str:
    """Return the id of a job of Slurm: ``17``, ``17_3``, ``17_[1-5%2]`` or ``17+1``; `where` it stands is for messages.

    Raises
    ------
    InputError
        For anything else.
    """
    return _checked(_JOB, value, where, "a job id of Slurm, such as 17, 17_3 or 17+1")


def node_argument(value: Any, where: str) -> str:
    """Return the name of a node: letters, digits, ``_``, ``.`` and ``-``, of which it begins with one of the first two.

    Raises
    ------
    InputError
        For anything else.
    """
    return _checked(_NODE, value, where, "the name of a node")


def path_argument(path: str) -> str:
    """Return a path that no program takes for an option."""
    return path if path.startswith("/") else f"./{path.removeprefix('./')}"


def _checked(form: re.Pattern[str], value: Any, where: str, what: str) -> str:
    if not isinstance(value, str) or not form.fullmatch(value):
        raise InputError(f"{where}: expected {what}, got {shown(value)}")
    return value
