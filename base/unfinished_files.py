"""Atomic writing of files and folders, and temporary ones.

Each gets an unpredictable new name, created exclusively, so that no link is followed. The name contains machine and
process. The next process in the same folder removes what a killed process left.
"""

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

#: Prefixes of unfinished names, and of temporary folders, which users may see.
UNFINISHED = ".unfinished-"
TEMPORARY = "hpcdispatch-temporary-"
#: Age of another machine's leftovers that counts as abandoned, seconds.
_ABANDONED = 7 * 86_400


def write_whole(path: Path, data: str | bytes, mode: int = 0o666) -> None:
    """Write a file to disk, completely or not at all. Replaces an existing file or link.

    Parameters
    ----------
    path
        The file.
    data
        Text, written as UTF-8, or bytes.
    mode
        Permissions, reduced by the umask.

    Raises
    ------
    OSError
        If it cannot be written, with its name. The old content is unchanged.
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
    """Write a new file to disk. It must not exist, and does not exist after a failure."""
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
    """Make the names in a folder permanent. File systems without support answer EINVAL, which is ignored."""
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
    """Return a free name that contains machine and process."""
    return folder / f"{prefix}{host_name()}-{os.getpid()}-{token_hex(8)}"


@contextmanager
def temporary_folder(parent: Path | None = None, prefix: str = TEMPORARY) -> Iterator[Path]:
    """Create a folder as :func:`make_temporary` does, and remove it at the end."""
    made = make_temporary(parent, prefix)
    try:
        yield made
    finally:
        remove(made)


def make_temporary(parent: Path | None = None, prefix: str = TEMPORARY) -> Path:
    """Create and return a private folder, in `parent` or the system's temporary folder.

    Raises
    ------
    OSError
        If it cannot be created, with its name.
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
    """Remove what killed processes of this user left in a folder, where permitted."""
    try:
        names = [entry.path for entry in os.scandir(folder) if entry.name.startswith(prefix)]
    except OSError:
        return
    for name in names:
        if _is_abandoned(Path(name), prefix):
            remove(Path(name))


#: Cleans a folder once per process, for folders with many written files.
_remove_once = cache(remove_abandoned)


@cache
def host_name() -> str:
    """Return a short id of the machine or container, within which process ids are unique."""
    try:
        place = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        place = 0
    return sha256(f"{socket.gethostname()} {place}".encode()).hexdigest()[:12]


def _is_abandoned(path: Path, prefix: str) -> bool:
    """Return whether an unfinished file belongs to this user and no process works on it."""
    host, _, process = path.name.removeprefix(prefix).rpartition("-")[0].rpartition("-")
    try:
        status = path.lstat()
        if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
            return False
        if host != host_name() or not process.isdecimal():
            return time.time() - status.st_mtime > _ABANDONED
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def remove(path: Path) -> None:
    """Remove a file, or a folder as far as possible. A link's target stays."""
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
    """Return the error with its file name, which a full disk does not report."""
    return OSError(error.errno, error.strerror or str(error), str(error.filename or path))
