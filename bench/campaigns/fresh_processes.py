"""Start processes that inherit only what they are given."""

import atexit
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any, TypeVar

from ...base.unfinished_files import make_temporary, remove

T = TypeVar("T")
R = TypeVar("R")
#: Longest temporary folder for which the path of a socket is not too long for the system.
_MOST_LETTERS = 24


def fresh_processes(*modules: str) -> BaseContext:
    """Return the way to start such processes.

    On Linux they are copies of a server, which has imported `modules` once, and start at once. A starting process can
    come here by importing a main module without a guard. Then it ends.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # multiprocessing prints a page of text
        os._exit(1)
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    _keep_together()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    return context


def _keep_together() -> None:
    """Move multiprocessing's sockets to our folder. After a kill, the next command removes it.

    With a long TMPDIR the folder is in /tmp.
    """
    how: dict[str, Any] = getattr(multiprocessing.current_process(), "_config", {})
    place = tempfile.gettempdir()
    if len(os.fsencode(place)) > _MOST_LETTERS:
        place = "/tmp"
    if how.get("tempdir") is None:
        with suppress(OSError):  # multiprocessing makes a folder of its own
            how["tempdir"] = str(made := make_temporary(Path(place)))
            atexit.register(remove, made)


def in_processes(function: Callable[[T], R], items: Sequence[T], workers: int) -> list[R]:
    """Return `function` of each item, with up to `workers` processes; without processes for one worker.

    It does not survive the loss of a process. Campaigns have a pool that does.
    """
    workers = min(workers, len(items))
    if workers < 2:
        return [function(item) for item in items]
    with ProcessPoolExecutor(workers, fresh_processes()) as pool:
        return list(pool.map(function, items))
