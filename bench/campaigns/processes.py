"""Worker processes for the cells of a campaign."""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import resource_tracker
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar

import psutil
from pebble import ProcessExpired, ProcessPool

from ...base.unfinished_files import named, temporary_folder
from ...base.user_warnings import Told, gathered, repeat
from ...models.compiled import log_compiling, notice
from ...simulation.events.compiled_events import MAKERS
from ...workloads import Workload
from .board import Board, WorkerError
from .cells import Cell, CellError, Files, LastSample, simulate_cell
from .fresh_processes import fresh_processes
from .script_parts import PickledPart, pickled_parts, register_again
from .versions import OwnSource, own_source, take_own_source

#: After this many lost processes a cell counts as failed.
LOSSES = 2
#: Seconds between checks of running cells, and after which the pool must have missed an end.
_TICK, _MISSED = 0.1, 2.0
#: The error if no process has begun.
_NONE_BEGUN = "worker: no process could be started; a script that starts some needs the guard if __name__ == '__main__'"
#: The signal with which a system without free memory ends a process.
_KILLED = 9


def run_here(board: Board) -> None:
    """Simulate the cells in this process."""
    last = LastSample()
    while (cell := board.next()) is not None:
        result = simulate_cell(cell, board.plan.workload(cell.digest), last, partial(board.advance, cell))
        board.finish(cell, result)


def run_pooled(board: Board, workers: int, most_losses: int = LOSSES) -> None:
    """Simulate the cells in `workers` processes. A process that dies is replaced, and its cell is simulated again.

    Large data goes through files. The processes share one pipe. A process that is killed while it writes more than a
    line to it would damage the pipe. A cell that loses `most_losses` processes fails.
    """
    losses: Counter[str] = Counter()
    with temporary_folder() as folder:
        try:
            while board.waiting:
                with _Pool(board, workers, folder, losses, most_losses) as pool:
                    pool.run()
        except OSError as error:  # a full disk reports no file
            raise (error if error.errno is None else named(error, folder)) from None


@dataclass
class _Running:
    """A running cell: its seat for reports of its process, and the time since the process has been gone."""

    cell: Cell
    seat: int
    gone: float | None = None


class _Pool:
    """Processes with one seat each.

    Parameters
    ----------
    board, workers
        As in :func:`run_pooled`.
    folder
        Of the files to and from the processes.
    losses
        Lost processes by the key of the cell.
    most_losses
        As in :func:`run_pooled`.
    """

    def __init__(self, board: Board, workers: int, folder: Path, losses: Counter[str], most_losses: int) -> None:
        context = fresh_processes(__name__, "hpcdispatch.models.compiled")
        self._board = board
        self._folder = folder
        self._losses = losses
        self._most_losses = most_losses
        self._begun_ones: dict[int, psutil.Process] = {}
        self._jobs = context.RawArray("q", workers)
        self._pids = context.RawArray("q", workers)
        self._begun = context.RawValue("b")
        self._compiling = context.RawValue("d")
        self._free = list(range(workers))
        self._running: dict[Future[None], _Running] = {}
        self._broken = self._told = False
        self._threads: set[threading.Thread] = set()
        self._pool = ProcessPool(
            workers,
            initializer=_Worker.begin,
            initargs=(
                folder,
                self._jobs,
                self._pids,
                self._begun,
                self._compiling,
                MAKERS,
                pickled_parts(),
                own_source(),
            ),
            context=context,
        )

    def __enter__(self) -> _Pool:
        """Start the processes."""
        before = set(threading.enumerate())
        with _interrupts_held():
            self._broken = not self._pool.active
        self._threads = set(threading.enumerate()) - before
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes in any state, even if they ignore a termination. Their results are in files."""
        for process in self._begun_ones.values():
            with suppress(psutil.Error):
                process.kill()
        self._pool.stop()  # type: ignore[no-untyped-call]
        self._pool.join()

    def run(self) -> None:
        """Simulate the cells, until all are done or the pool is broken."""
        while True:
            while self._free and not self._broken and (cell := self._board.next()) is not None:
                self._give(cell)
            if not self._running:
                return
            ended, _ = wait(self._running, _TICK, FIRST_COMPLETED)
            for future in ended or self._missed():
                self._take(future, self._running.pop(future))
            if self._compiling.value and not self._told:
                self._told = True
                log_compiling(self._compiling.value)
            for running in self._running.values():
                self._know(self._pids[running.seat])
                self._board.advance(running.cell, self._jobs[running.seat])

    def _know(self, pid: int) -> None:
        """Record a process with more than its number, which another process may have later."""
        if pid and pid not in self._begun_ones:
            with suppress(psutil.Error):
                self._begun_ones[pid] = psutil.Process(pid)

    def _give(self, cell: Cell) -> None:
        """Send a cell, and its workload if no process has it yet."""
        seat = self._free.pop()
        self._jobs[seat] = self._pids[seat] = 0
        spooled = self._folder / f"{cell.digest}.workload"
        if not spooled.exists():
            at_work = {running.cell.digest for running in self._running.values()}
            for path in self._folder.glob("*.workload"):
                if path.stem not in at_work:
                    path.unlink()
            spooled.write_bytes(pickle.dumps(self._board.plan.workload(cell.digest)))
        try:
            (self._folder / f"{cell.key}.cell").write_bytes(pickle.dumps(cell))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            self._free.append(seat)
            self._board.finish(cell, CellError.of(error))
            return
        # One decision may take for ever.
        seconds = cell.patience
        future = self._pool.schedule(_Worker.simulate, (cell.key, cell.digest, seat), timeout=seconds)
        self._running[future] = _Running(cell, seat)

    def _take(self, future: Future[None], running: _Running) -> None:
        """Store the result of a cell. If its process was lost, simulate it again."""
        self._free.append(running.seat)
        error = ProcessExpired("") if future.cancelled() else future.exception()  # type: ignore[no-untyped-call]
        if error is None:
            path = self._folder / f"{running.cell.key}.result"
            result, told = pickle.loads(path.read_bytes())
            repeat(told)
            self._board.finish(running.cell, result)
            path.unlink()
        elif isinstance(error, ProcessExpired | BrokenProcessPool):
            self._lost(running.cell, error)
        elif isinstance(error, TimeoutError):
            self._board.finish(running.cell, CellError("BudgetError", running.cell.overdue))
        else:
            if isinstance(error, OSError):
                raise error
            self._board.finish(running.cell, CellError(type(error).__name__, str(error)))

    def _lost(self, cell: Cell, error: ProcessExpired | BrokenProcessPool) -> None:
        """Queue a cell again, unless it lost too many processes."""
        self._broken = self._broken or isinstance(error, BrokenProcessPool)
        self._losses[cell.key] += 1
        if self._losses[cell.key] < self._most_losses:
            self._board.again(cell)
        elif isinstance(error, BrokenProcessPool) and not self._begun.value:
            raise WorkerError(_NONE_BEGUN)
        else:
            self._board.finish(cell, CellError("WorkerDied", _reason(error)))

    def _missed(self) -> Iterator[Future[None]]:
        """Yield cells with a process that ended unnoticed by the pool. This happens with exit code 0.

        If a thread of the pool has ended, no cells are sent or received: then all cells are yielded. `multiprocessing`
        is not used to check processes: if two threads check, one gets the exit code 255.
        """
        self._broken = self._broken or not (self._pool.active and all(thread.is_alive() for thread in self._threads))
        if self._broken:
            yield from (future for future in list(self._running) if future.done() or future.cancel())
            return
        for future, running in list(self._running.items()):
            pid = self._pids[running.seat]
            if pid and not psutil.pid_exists(pid):
                running.gone = running.gone or monotonic()
                if monotonic() - running.gone > _MISSED and future.cancel():
                    yield future


def _reason(error: ProcessExpired | BrokenProcessPool) -> str:
    """Return how a process ended."""
    if isinstance(error, BrokenProcessPool):
        return "its process could not be started"
    code: int = error.exitcode
    if code < 0:
        return f"its process was killed (signal {-code})" + ": out of memory?" * (-code == _KILLED)
    return f"its process ended with exit code {code}"


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold back Ctrl-C. A process started meanwhile inherits this, and gets no interrupt before it can ignore it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start would let interrupts through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@dataclass
class _Worker:
    """State of a process between cells.

    Attributes
    ----------
    folder
        Of the files.
    jobs, pids
        Number of finished jobs and process number, for each seat.
    workload
        Digest and jobs of the last cell.
    last
        The last sample of them.
    """

    here: ClassVar[_Worker]
    folder: Path
    jobs: Any
    pids: Any
    workload: tuple[str, Workload] | None = None
    last: LastSample = field(default_factory=LastSample)

    @classmethod
    def begin(
        cls,
        folder: Path,
        jobs: Any,
        pids: Any,
        begun: Any,
        compiles: Any,
        makers: Any,
        parts: Sequence[PickledPart],
        source: OwnSource | None,
    ) -> None:
        """Make this process a worker that a termination ends at once, even in a solver.

        It sets `begun`, and sets `compiles` to the expected seconds of a compilation.
        """
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        tempfile.tempdir = str(folder)
        MAKERS[:] = makers
        register_again(parts)
        take_own_source(source)
        begun.value = True
        notice.tell = partial(setattr, compiles, "value")
        cls.here = cls(folder, jobs, pids)

    @classmethod
    def simulate(cls, key: str, digest: str, seat: int) -> None:
        """Simulate a cell and write its result."""
        here = cls.here
        here.pids[seat] = os.getpid()
        if here.workload is None or here.workload[0] != digest:
            here.workload = digest, pickle.loads((here.folder / f"{digest}.workload").read_bytes())
        result: Files | CellError
        told: list[Told] = []
        try:
            cell = pickle.loads((here.folder / f"{key}.cell").read_bytes())
        except Exception as error:  # noqa: BLE001 - what a plugged-in part raises where it is read
            result = CellError.of(error)
        else:
            with gathered() as told:
                result = simulate_cell(cell, here.workload[1], here.last, partial(here.jobs.__setitem__, seat))
        (here.folder / f"{key}.result").write_bytes(pickle.dumps((result, told)))
