"""Safe arguments of external commands: no value from a file or a user becomes an option.

Job ids and node names have one of the forms below, and never begin with a dash. No shell is used.
"""

import re
from typing import Any

from .checks import shown
from .errors import InputError

#: A job, a task or some tasks of an array, or a component of a heterogeneous job.
_JOB = re.compile(r"[0-9]{1,10}(?:_[0-9]{1,10}|_\[[0-9,:%-]{1,200}\]|\+[0-9]{1,6})?")
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}")


def job_argument(value: Any, where: str) -> str:
    """Return a Slurm job id: ``17``, ``17_3``, ``17_[1-5%2]`` or ``17+1``. `where` is for messages.

    Raises
    ------
    InputError
        For anything else.
    """
    return _checked(_JOB, value, where, "a job id of Slurm, such as 17, 17_3 or 17+1")


def node_argument(value: Any, where: str) -> str:
    """Return a node name: letters, digits, ``_``, ``.`` and ``-``, beginning with a letter or digit.

    Raises
    ------
    InputError
        For anything else.
    """
    return _checked(_NODE, value, where, "the name of a node")


def _checked(form: re.Pattern[str], value: Any, where: str, what: str) -> str:
    if not isinstance(value, str) or not form.fullmatch(value):
        raise InputError(f"{where}: expected {what}, got {shown(value)}")
    return value
