"""Processes that have nothing of this one but what they are given."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.context import BaseContext
from typing import Any, TypeVar

from ...base.unfinished_files import make_temporary, remove

T = TypeVar("T")
R = TypeVar("R")
#: Letters of the folder of temporary files in which the path of a socket is not too long for the system.
_MOST_LETTERS = 24


def fresh_processes(*modules: str) -> BaseContext:
    """Return how such processes are started.

    On Linux they are copies of a server, which has imported `modules` once for all of them, and are there at once. A
    process that is being started itself, and has come here as it imports a main module without a guard, ends.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):  # as multiprocessing tells it, with a page
        os._exit(1)
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    _keep_together()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(modules))
    return context


def _keep_together() -> None:
    """Let multiprocessing have its sockets in a folder of ours, which the next command removes if we are killed."""
    how: dict[str, Any] = getattr(multiprocessing.current_process(), "_config", {})
    if how.get("tempdir") is None and len(tempfile.gettempdir()) <= _MOST_LETTERS:
        how["tempdir"] = str(made := make_temporary())
        atexit.register(remove, made)


def in_processes(function: Callable[[T], R], items: Sequence[T], workers: int) -> list[R]:
    """Return what `function` makes of each item, so many at a time; without processes if that is one.

    For work that need not outlive the loss of a process; campaigns have a pool that does.
    """
    workers = min(workers, len(items))
    if workers < 2:
        return [function(item) for item in items]
    with ProcessPoolExecutor(workers, fresh_processes()) as pool:
        return list(pool.map(function, items))
