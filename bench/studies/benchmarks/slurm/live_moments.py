"""The state of a real Slurm's queue, at intervals while a driver continues."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from .live_commands import ask

#: What ``squeue`` prints of a job: number, state, priority, reason, expected or real start, elapsed time.
SHOWN = "%i|%t|%Q|%r|%S|%M"


@contextmanager
def noting_moments(path: Path, every: float) -> Iterator[None]:
    """Write the output of ``squeue`` to a file until the block ends. Each follows ``# SECONDS SINCE 1970``."""
    over = Event()
    thread = Thread(target=_note, args=(path, every, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _note(path: Path, every: float, over: Event) -> None:
    with path.open("w") as file:
        due = time.time()
        while not over.is_set():
            if (now := time.time()) >= due:
                file.write(f"# {now:.2f}\n{ask('squeue', '-h', '-o', SHOWN)}")
                due = now + every
            time.sleep(1)  # Not until the event. A clock that runs ten times as fast does not shorten that.
