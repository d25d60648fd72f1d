"""Files and folders that are written whole or not at all, and temporary ones.

Each is made under a name that no other process can foresee, exclusively, so that no link is followed. The name says
which process of which machine is at work on it. What a killed process left is removed by the next one that works in
the same folder.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

#: How the names of what is unfinished begin, and those of temporary folders, which users may see.
UNFINISHED, TEMPORARY = ".unfinished-", "hpcdispatch-temporary-"
#: Age at which what another machine left is taken for abandoned, seconds.
_ABANDONED = 7 * 86_400


def write_whole(path: Path, data: str | bytes, mode: int = 0o666) -> None:
    """Write a file, all of it or nothing, down to the disk; one that is there already is replaced, and so is a link.

    Parameters
    ----------
    path
        The file.
    data
        Text, which becomes UTF-8, or bytes.
    mode
        Its permissions, of which the umask takes some away.

    Raises
    ------
    OSError
        If it cannot be written, with its name; what was there is as before.
    """
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "expected a file to write to, got a folder or a device", str(path))
        _remove_once(path.parent)
        made = unfinished_path(path.parent)
        try:
            write_new(made, data.encode() if isinstance(data, str) else data, mode)
            os.replace(made, path)
        except BaseException:
            remove(made)
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise named(error, path) from None


def write_new(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Write a file that must not be there yet, down to the disk; if that fails, it is not there."""
    try:
        with open(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), mode), "wb"
        ) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        if not isinstance(error, FileExistsError):
            remove(path)
        raise


def sync_folder(folder: Path) -> None:
    """Make names in a folder last; file systems that cannot do that refuse with EINVAL."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def unfinished_path(folder: Path, prefix: str = UNFINISHED) -> Path:
    """Return a name that is not taken and says which process of which machine is at work on it."""
    return folder / f"{prefix}{host_name()}-{os.getpid()}-{token_hex(8)}"


@contextmanager
def temporary_folder(parent: Path | None = None, prefix: str = TEMPORARY) -> Iterator[Path]:
    """Make a folder as :func:`make_temporary` does, and remove it at the end."""
    made = make_temporary(parent, prefix)
    try:
        yield made
    finally:
        remove(made)


def make_temporary(parent: Path | None = None, prefix: str = TEMPORARY) -> Path:
    """Make a folder for this user alone, in `parent` or where the system has temporary files, and return it.

    Raises
    ------
    OSError
        If it cannot be made, with its name.
    """
    place = Path(tempfile.gettempdir()) if parent is None else parent
    remove_abandoned(place, prefix)
    made = unfinished_path(place, prefix)
    try:
        made.mkdir(0o700)
    except OSError as error:
        raise named(error, made) from None
    return made


def remove_abandoned(folder: Path, prefix: str = UNFINISHED) -> None:
    """Remove what killed processes of this user left in a folder, as far as that may be done."""
    try:
        names = [entry.path for entry in os.scandir(folder) if entry.name.startswith(prefix)]
    except OSError:
        return
    for name in names:
        if _is_abandoned(Path(name), prefix):
            remove(Path(name))


@cache
def _remove_once(folder: Path) -> None:
    """Look through a folder that many files may be written to a single time."""
    remove_abandoned(folder)


@cache
def host_name() -> str:
    """Return a short name of where process ids are unique: the machine, or a container on it."""
    try:
        place = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        place = 0
    return sha256(f"{socket.gethostname()} {place}".encode()).hexdigest()[:12]


def _is_abandoned(path: Path, prefix: str) -> bool:
    """Return whether something unfinished is this user's and no process works on it any more."""
    host, _, process = path.name.removeprefix(prefix).rpartition("-")[0].rpartition("-")
    try:
        found = path.lstat()
        if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
            return False
        if host != host_name() or not process.isdecimal():
            return time.time() - found.st_mtime > _ABANDONED
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def remove(path: Path) -> None:
    """Remove a file, or a folder as far as it can be removed; of a link what it points to stays."""
    try:
        folder = stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return
    if folder:
        shutil.rmtree(path, ignore_errors=True)
        if path.exists():  # a lack of descriptors may be over
            shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def named(error: OSError, path: Path) -> OSError:
    """Return the error with the file it is about; a full disk does not say."""
    return OSError(error.errno, error.strerror or str(error), str(error.filename or path))
