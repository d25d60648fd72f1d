"""Tells what this process and its children open outside the clone, and whom they call over the network.

:func:`watch` adds an audit hook. Children of Python have it as well, by ``sitecustomize`` in `tests/watched`. What they
report is in one file per process of tests.
"""

import os
import socket
import sys
import sysconfig
import tempfile
from pathlib import Path

#: The variable with the file of reports. Children report to the same one.
REPORTS = "HPCDISPATCH_TESTS_OUTSIDE"
ROOT = Path(__file__).resolve().parents[1]
#: Folders of the system. What is in them is not made by hand for a test.
SYSTEM = ("/bin", "/dev", "/etc", "/lib", "/lib64", "/opt", "/proc", "/run", "/sbin", "/sys", "/usr", "/var/lib")
#: Hosts on this machine.
HERE = ("127.", "localhost", "::1", "0.0.0.0")


def allowed():
    """Return the folders from which tests read: the clone, temporary folders, Python, and the system's."""
    python = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values()}
    kept = os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("PYTHONPYCACHEPREFIX")
    folders = {str(ROOT), tempfile.gettempdir(), *python, *SYSTEM, *filter(None, kept)}
    return tuple(sorted({os.path.join(os.path.realpath(folder), "") for folder in folders} | {"/dev/null"}))


def outside(event, arguments, folders):
    """Return what an audit event shows of the outside, or ``None``."""
    if event == "open":
        path = arguments[0]
        if not isinstance(path, (str, bytes, os.PathLike)):
            return None
        path = os.path.abspath(os.fsdecode(path))
        if path.startswith(folders) or os.path.realpath(path).startswith(folders) or not os.path.isfile(path):
            return None
        return f"opened {path}"
    if event == "socket.connect":
        used, address = arguments
        # An address of another family has no host, and a datagram socket that is connected has sent nothing.
        datagram = used is not None and used.type == socket.SOCK_DGRAM
        return None if datagram or not isinstance(address, tuple) else _called(address[0])
    return _called(arguments[0]) if event == "socket.getaddrinfo" else None


def _called(host):
    """Return that a host was called, or ``None`` for an address of this machine."""
    host = host.decode(errors="replace") if isinstance(host, bytes) else host
    if not host or host.startswith(HERE):
        return None
    import psutil  # noqa: PLC0415 - children that call no host do without

    own = {address.address for addresses in psutil.net_if_addrs().values() for address in addresses}
    return None if host in {*own, socket.gethostname()} else f"called {host}"


def watch(reports):
    """Report each look outside as a line of the file `reports`."""
    folders = allowed()

    def hook(event, arguments):
        if event != "open" and not event.startswith("socket."):
            return
        # The file of reports may be outside as well, where a child has a temporary folder of its own.
        if event == "open" and arguments[0] == reports:
            return
        seen = outside(event, arguments, folders)
        if seen is not None:
            file = os.open(reports, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(file, f"{seen}\n".encode())
            os.close(file)

    sys.addaudithook(hook)
