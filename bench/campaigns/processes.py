"""The processes that work off the cells of a campaign."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from ...workloads import Workload
from .cells import Cell, CellError, Samples, simulate_cell
from .comparison_processes import Spawned

if TYPE_CHECKING:
    from .execution import Desk

#: How many processes may be lost over a cell before it counts as failed.
LOSSES = 2


def run_here(desk: Desk) -> None:
    """Work off the cells in this process."""
    samples = Samples()
    while (cell := desk.next()) is not None:
        found = simulate_cell(cell, desk.plan.workload(cell.digest), samples, partial(desk.advance, cell))
        desk.finish(cell, found)


def run_pooled(desk: Desk, workers: int) -> None:
    """Work off the cells in so many processes; one that dies is replaced, its cell simulated again."""

    @lru_cache(maxsize=2)
    def pickled(digest: str) -> bytes:
        return pickle.dumps(desk.plan.workload(digest))

    losses: dict[str, int] = {}
    pool: list[_Worker] = []
    try:
        for _ in range(workers):
            pool.append(_Worker())
        for worker in pool:  # after all have begun to import: it blocks until the worker reads
            worker.give(desk.next(), pickled)
        while busy := {worker.connection: worker for worker in pool if worker.cell is not None}:
            for ready in wait(list(busy)):
                worker = busy[ready]  # type: ignore[index]
                if not _listen(worker, desk, losses):
                    worker.stop()
                    pool.remove(worker)
                    if not desk.waiting:
                        continue
                    worker = _Worker()
                    pool.append(worker)
                if worker.cell is None:
                    worker.give(desk.next(), pickled)
    finally:
        for worker in pool:
            worker.stop()


class _Worker(Spawned):
    """A process that is told a workload now and then, and one cell at a time."""

    def __init__(self) -> None:
        super().__init__(_serve)
        self.cell: Cell | None = None
        self._digest = ""

    def give(self, cell: Cell | None, pickled: Callable[[str], bytes]) -> None:
        """Send a cell, and its workload if it is not the last one; that the process died, the next listening finds."""
        self.cell = cell
        if cell is None:
            return
        with suppress(BrokenPipeError, ConnectionResetError):
            if cell.digest != self._digest:
                self.connection.send_bytes(pickled(cell.digest))
                self._digest = cell.digest
            self.connection.send(cell)


def _listen(worker: _Worker, desk: Desk, losses: dict[str, int]) -> bool:
    """Take one message of a worker; return whether it is still alive."""
    cell = worker.cell
    assert cell is not None
    try:
        message = worker.connection.recv()
    except (EOFError, ConnectionError):
        worker.process.join()
        losses[cell.key] = losses.get(cell.key, 0) + 1
        if losses[cell.key] < LOSSES:
            desk.again(cell)
        else:
            code = worker.process.exitcode
            desk.finish(cell, CellError("WorkerDied", f"{LOSSES} processes of this cell ended, exit code {code}"))
        return False
    if isinstance(message, int):
        desk.advance(cell, message)
    else:
        desk.finish(cell, message)
        worker.cell = None
    return True


def _serve(connection: Connection) -> None:
    """Work off cells until the connection closes; what a worker process runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    samples = Samples()
    workload: Workload | None = None
    try:
        while True:
            message = connection.recv()
            if isinstance(message, Workload):
                workload = message
            else:
                assert workload is not None
                connection.send(simulate_cell(message, workload, samples, connection.send))
    except (EOFError, OSError):
        return  # the parent is gone
