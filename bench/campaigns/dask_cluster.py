"""Run campaigns on many machines: the cells are tasks of Dask. Needs the extra ``hpcdispatch[cluster]``.

A Dask scheduler and its workers run whatever any client sends, as the user that started them. Therefore a cluster
started here accepts only clients with the files of its own authority, and listens on one interface.
"""

import pickle
import signal
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ...base import InputError
from ...base.unfinished_files import UNFINISHED, temporary_folder, write_new
from ...base.user_warnings import Told, gathered, repeat
from ...workloads import Workload
from .board import Board
from .cells import Cell, CellError, Files, LastSample, simulate_cell
from .script_parts import PickledPart, pickled_parts, register_again

#: Job queues: their names here, and their classes in dask_jobqueue.
QUEUES = {"slurm": "SLURMCluster"}
#: Only users of the machine itself see a dashboard.
_LOOPBACK = "127.0.0.1:0"
#: Risk of a connection without TLS, for messages.
_OPEN = "over plain TCP every process that reaches the scheduler runs commands as you"
#: Cells sent ahead per thread of the workers, so that none waits for the next.
_AHEAD = 2
#: Seconds to wait for a scheduler.
_PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class TLS:
    """The files of an encrypted connection: the authority's certificate, the own certificate, and its key."""

    ca_file: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        given = [path for path in (self.ca_file, self.cert, self.key) if path is not None]
        if given and len(given) < 3:
            raise InputError("cluster: expected all of --tls-ca-file, --tls-cert and --tls-key or none, got some")
        for path in given:
            if not path.is_file():
                raise InputError(f"{path}: expected a file in PEM format, got none")

    def __bool__(self) -> bool:
        """Return whether there are any files."""
        return self.ca_file is not None

    def security(self) -> Any:
        """Return the files in Dask's form, for client, scheduler and workers; ``None`` without files."""
        if self.ca_file is None:
            return None
        files = {"tls_ca_file": str(self.ca_file.resolve())}
        for role in ("client", "scheduler", "worker"):
            for kind, path in (("cert", self.cert), ("key", self.key)):
                assert path is not None
                files[f"tls_{role}_{kind}"] = str(path.resolve())
        return _library("distributed.security").Security(require_encryption=True, **files)


@contextmanager
def generated(folder: Path) -> Iterator[TLS]:
    """Make an authority with a certificate and a key, as files that only this user can read.

    They are removed at the end. Workers read them there, so they must see `folder` under the same name.
    """
    try:
        made = _library("distributed.security").Security.temporary()
    except ImportError as error:
        raise _missing(error.name or "cryptography") from None
    with temporary_folder(folder.resolve(), UNFINISHED) as place:
        paths = [place / name for name in ("ca.pem", "cert.pem", "key.pem")]
        for path, text in zip(paths, (made.tls_ca_file, made.tls_client_cert, made.tls_client_key), strict=True):
            write_new(path, text.encode(), 0o600)
        yield TLS(*paths)


@contextmanager
def connect(
    address: str,
    tls: TLS | None = None,
    workers: int = 1,
    *,
    folder: Path = Path(),
    interface: str | None = None,
    insecure: bool = False,
) -> Iterator[Any]:
    """Connect to a Dask cluster, over TLS.

    Parameters
    ----------
    address
        ``tcp://HOST:PORT`` or ``tls://HOST:PORT`` of a running scheduler. Or ``slurm`` to start one here and request
        workers from the queue, with dask-jobqueue's own configuration.
    tls
        The files of the connection. Without them, a cluster started here makes its own, for as long as it runs.
    workers
        Number of workers to request from a queue.
    folder
        Parent of the folder of these files. The workers must see it, too.
    interface
        The network interface of scheduler and workers. Without it the scheduler listens on the address by which other
        machines know this one.
    insecure
        Whether plain TCP is accepted.

    Yields
    ------
    distributed.Client

    Raises
    ------
    InputError
        If Dask is not installed, the address is invalid or without TLS, or no scheduler answers.
    """
    tls = tls or TLS()
    distributed = _library("distributed")
    with ExitStack() as stack:
        if interface and address not in QUEUES:
            raise InputError(f"--interface: expected with --cluster {', '.join(QUEUES)} only")
        if address in QUEUES:
            if not tls and not insecure:
                tls = stack.enter_context(generated(folder))
            target = stack.enter_context(queue_cluster(address, tls, interface))
            _ask(target, address, workers)
        elif address.startswith(("tcp://", "tls://")):
            if bool(tls) != address.startswith("tls://"):
                raise InputError(f"--cluster {address}: expected tls:// with --tls-... files and tcp:// without")
            if not tls and not insecure:
                raise InputError(
                    f"--cluster {address}: {_OPEN}; start the scheduler with TLS and give tls:// and the "
                    "--tls-... files, or --insecure"
                )
            target = address
        else:
            raise InputError(
                f"--cluster: expected tcp://HOST:PORT, tls://HOST:PORT or {', '.join(QUEUES)}, got {address!r}"
            )
        try:
            client = distributed.Client(target, security=tls.security(), timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:  # a timeout is an OSError
            raise InputError(f"--cluster {address}: no scheduler answers there ({_line(error)})") from None
        yield stack.enter_context(client)


def queue_cluster(queue: str, tls: TLS, interface: str | None = None) -> Any:
    """Return a cluster that runs its workers as jobs of a queue and listens on one interface.

    Raises
    ------
    InputError
        If its configuration is incomplete.
    """
    interrupt = signal.getsignal(signal.SIGINT)
    made = getattr(_library("dask_jobqueue"), QUEUES[queue])
    if signal.getsignal(signal.SIGINT) is not interrupt:
        signal.signal(signal.SIGINT, interrupt)  # the import makes Ctrl-C end the program, silently and with 0
    secure = {"security": tls.security(), "protocol": "tls://"} if tls else {}
    listening: dict[str, Any] = {"dashboard_address": _LOOPBACK}
    interface = interface or _library("dask.config").get(f"jobqueue.{queue}.interface", None)
    if interface is None:
        listening["host"] = _library("distributed.utils").get_ip()
    try:
        return made(**secure, interface=interface, scheduler_options=listening, worker_extra_args=["--no-dashboard"])
    except (ValueError, TypeError) as error:
        raise InputError(f"--cluster {queue}: {_line(error)} (set it in dask-jobqueue's configuration)") from None


def _ask(cluster: Any, queue: str, workers: int) -> None:
    """Request workers from a queue, and new ones when their jobs end.

    Raises
    ------
    InputError
        If the queue accepts no job.
    """

    async def submitted() -> None:
        try:
            await cluster
        except (OSError, RuntimeError):
            for job in cluster.workers.values():
                job.status = _library("distributed.core").Status.failed  # otherwise the cluster does not close
            raise

    cluster.worker_spec.update(cluster.new_worker_spec())  # adapt() only logs a refused job
    try:
        cluster.sync(submitted)
    except (OSError, RuntimeError) as error:
        said = " ".join(str(error).rpartition("stderr:")[2].split())
        raise InputError(f"--cluster {queue}: the queue takes no job ({said})") from None
    cluster.adapt(minimum=workers, maximum=workers)


def run_on_cluster(board: Board, client: Any) -> None:
    """Simulate the cells on a cluster.

    If a worker is lost, Dask simulates its cells on another one. A cell fails if several workers are lost with it.
    """
    distributed = _library("distributed")

    @lru_cache(maxsize=2)
    def packed(digest: str) -> bytes:
        return zlib.compress(pickle.dumps(board.plan.workload(digest)), 1)

    # A workload is one task that several cells wait for. Unlike scattered data, it survives the loss of its worker.
    sent: dict[str, Any] = {}
    parts = pickled_parts(by_value=True)
    running: dict[Any, Cell] = {}
    done = distributed.as_completed(loop=client.loop)
    try:
        while True:
            while (
                len(running) < _AHEAD * max(1, sum(client.nthreads().values())) and (cell := board.next()) is not None
            ):
                if cell.digest not in sent:
                    at_work = {cell.digest for cell in running.values()}
                    sent = {digest: unpacked for digest, unpacked in sent.items() if digest in at_work}
                    sent[cell.digest] = client.submit(_unpacked, packed(cell.digest), pure=False)
                future = client.submit(_simulated, cell, sent[cell.digest], parts, pure=False)
                running[future] = cell
                done.add(future)
            if not running:
                return
            future = next(done)
            cell = running.pop(future)
            board.finish(cell, _outcome(future, distributed))
    finally:
        client.cancel([*running, *sent.values()])


def _outcome(future: Any, distributed: Any) -> Files | CellError:
    """Return the result of a task, or the error if its workers were lost."""
    if future.status == "cancelled":
        raise ConnectionError("the scheduler is gone; what was finished is in the store")
    error = future.exception() if future.status == "error" else None
    if error is None:
        result: Files | CellError
        result, told = future.result()
        repeat(told)
        return result
    if isinstance(error, distributed.scheduler.KilledWorker):
        return CellError("WorkerDied", _line(error))
    return CellError(type(error).__name__, str(error))


def _unpacked(data: bytes) -> Workload:
    workload: Workload = pickle.loads(zlib.decompress(data))
    return workload


def _simulated(
    cell: Cell, workload: Workload, parts: Sequence[PickledPart] = ()
) -> tuple[Files | CellError, list[Told]]:
    register_again(parts)
    with gathered() as told:
        result = simulate_cell(cell, workload, LastSample())
    return result, told


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _library(name: str) -> Any:
    """Import a part of Dask.

    Raises
    ------
    InputError
        If it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise _missing(error.name or name) from None


def _missing(name: str) -> InputError:
    return InputError(f"--cluster: needs {name}; python -m pip install 'hpcdispatch[cluster]'")
