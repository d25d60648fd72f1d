"""The processes that work off the runs of a comparison."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait

from .comparison_runs import Board, Latest, Plan, Task, failure, run


def run_here(tasks: list[Task], plan: Plan, board: Board) -> None:
    """Work off the tasks in this process."""
    samples = Latest(plan.samples)
    for task in tasks:
        board.finish(task, run(task, plan, samples, partial(board.advance, task)))


class Spawned:
    """A process and the connection to it.

    Parameters
    ----------
    serve
        What it runs, with its end of the connection.
    """

    def __init__(self, serve: Callable[[Connection], None]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        with _interrupts_held():
            self.process.start()
        theirs.close()

    def stop(self) -> None:
        """End the process, whatever it does."""
        self.process.terminate()
        self.process.join()
        self.connection.close()


class _Worker(Spawned):
    """A process that is told the plan, then one task at a time."""

    def __init__(self) -> None:
        super().__init__(_serve)
        self.task: Task | None = None

    def tell(self, pickled: bytes) -> None:
        """Send something; that the process died, the next listening finds out."""
        with suppress(BrokenPipeError):
            self.connection.send_bytes(pickled)

    def give(self, waiting: deque[Task]) -> None:
        """Send the next task, if there is one."""
        self.task = waiting.popleft() if waiting else None
        if self.task is not None:
            self.tell(pickle.dumps(self.task))


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let Ctrl-C wait: a process started meanwhile inherits that, and never sees one before it can ignore it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start lets interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_pooled(tasks: list[Task], plan: Plan, board: Board, workers: int) -> None:
    """Work off the tasks in so many processes; one that dies fails its run and is replaced."""
    waiting = deque(tasks)
    pickled = pickle.dumps(plan)
    pool: list[_Worker] = []
    try:
        for _ in range(workers):
            pool.append(_Worker())
        for worker in pool:  # after all have begun to import: it blocks until the worker reads
            worker.tell(pickled)
            worker.give(waiting)
        while busy := {worker.connection: worker for worker in pool if worker.task is not None}:
            for ready in wait(list(busy)):
                worker = busy[ready]  # type: ignore[index]
                if not _listen(worker, board, waiting):
                    worker.stop()
                    pool.remove(worker)
                    if waiting:
                        pool.append(_Worker())
                        pool[-1].tell(pickled)
                        pool[-1].give(waiting)
    finally:
        for worker in pool:
            worker.stop()


def _listen(worker: _Worker, board: Board, waiting: deque[Task]) -> bool:
    """Take one message of a worker; return whether it is still alive."""
    task = worker.task
    assert task is not None
    try:
        message = worker.connection.recv()
    except (EOFError, ConnectionError):
        worker.process.join()
        code = worker.process.exitcode
        board.finish(task, failure(task, f"WorkerDied: the process of this run ended with exit code {code}"))
        return False
    if isinstance(message, int):
        board.advance(task, message)
    else:
        board.finish(task, message)
        worker.give(waiting)
    return True


def _serve(connection: Connection) -> None:
    """Read the plan, then work off tasks until the connection closes; what a worker process runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        plan = connection.recv()
        samples = Latest(plan.samples)
        while True:
            task = connection.recv()
            connection.send(run(task, plan, samples, connection.send))
    except (EOFError, OSError):
        return  # the parent is gone
