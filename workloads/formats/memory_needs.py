"""Estimate the memory for reading a trace, and find the available memory."""

import io
import zlib
from collections.abc import Iterator
from pathlib import Path

from ...base import InputError
from ...base.files import open_regular
from .packed_files import packing_of
from .trace_files import GZIP_MAGIC, Needs, ReadingBounds, TraceFile

SWF = Needs(1.1, 320)
SACCT = Needs(1.0, 800)
TABLE = Needs(2.0, 800)
#: Records of schedulers, of which a few fields are kept.
RECORDS = Needs(0.1, 900)
RUNS = Needs(8.0, 240)
JSONL = Needs(4.0, 2400, json=True)
JSON = Needs(12.0, json=True)
_SAMPLE = 1 << 18
#: Packed bytes that are unpacked at a time.
_STEP = 1 << 10
#: Bytes for which the system is not asked: that takes longer than the reading of a small trace.
_UNASKED = 1 << 24
#: How many times longer an unpacked trace is, for packings whose files are not sampled.
_EXPANDED = 8


def refuse_if_too_large(path: Path, needs: Needs, lines: int | None, memory: int | None, bounds: ReadingBounds) -> None:
    """Refuse a trace that would not fit into memory. Its size and the length of its first lines decide.

    Parameters
    ----------
    path
        The file; a missing one passes.
    needs
        Memory needs of the reader.
    lines
        Number of lines to read; ``None`` for all.
    memory
        Available bytes; ``None`` to ask the system.
    bounds
        Bounds of reading.

    Raises
    ------
    InputError
        With the estimate, and advice.
    """
    if not path.is_file():
        return
    text, length = _size(path)
    text = text if lines is None else min(text, lines * length)
    a_record = needs.text * length + needs.record
    records = text / length
    if memory is None and records * a_record < _UNASKED:
        return
    room = available_memory() if memory is None else memory
    limited = room is None or bounds.memory < room
    room = bounds.memory if room is None else min(room, bounds.memory)
    if records * a_record > room:
        raise InputError(
            f"{path}: expected a trace that fits into memory, got about {_rounded(records)} records, which take "
            f"{_size_text(records * a_record)} of {_size_text(room)}; read its first jobs alone (--head N; about "
            f"{_rounded(0.4 * room / a_record)} fit) or a slice near its beginning"
            + ("; --max-size (max_size) raises the bounds of reading" if limited else "")
        )


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process may still use, within all limits.

    Limits are those of the process (``ulimit -v`` and ``-d``) and of its control groups. ``None`` if the system tells
    none of them. `root` is the folder of the system's files.
    """
    free = [kilobytes * 1024 for name, kilobytes in _fields(root / "proc/meminfo").items() if name == "MemAvailable"]
    return min((max(amount, 0) for amount in (*free, *_of_process(root), *_of_groups(root))), default=None)


def half_the_memory() -> int | None:
    """Return the memory for a reading before a simulation. The simulation needs as much again."""
    memory = available_memory()
    return None if memory is None else memory // 2


def _of_process(root: Path) -> Iterator[int]:
    try:
        import resource  # noqa: PLC0415 - not there on Windows
    except ImportError:
        return
    used = _fields(root / "proc/self/status")
    for limit, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY and name in used:
            yield most - used[name] * 1024


def _of_groups(root: Path) -> Iterator[int]:
    """Yield the remaining memory of each control group (versions 1 and 2)."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, place = (*line.split(":", 2), "", "")[:3]
        if controllers not in ("", "memory"):
            continue
        top = root / "sys/fs/cgroup" / controllers
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if controllers else ("memory.max", "memory.current")
        group = top / place.lstrip("/")
        for folder in (group, *group.parents):
            most, used = (_text(folder / name).strip() for name in names)
            if most.isdecimal() and used.isdecimal():
                cached = _fields(folder / "memory.stat").get("inactive_file", 0)  # freed if memory is short
                yield int(most) - int(used) + cached
            if folder == top:
                break


def _fields(path: Path) -> dict[str, int]:
    """Return the numbers of a file with one name and number per line."""
    rows = (line.replace(":", " ").split() for line in _text(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdecimal()}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _size(path: Path) -> tuple[float, float]:
    """Return the approximate length of an unpacked text. Also return that of a line of its first megabyte."""
    with open_regular(path) as file:
        sample = file.read(_SAMPLE)
    taken = len(sample)
    if sample.startswith(GZIP_MAGIC):
        sample, taken = _unpacked(sample)
    elif packing_of(io.BytesIO(sample), path):
        sample = TraceFile(path, packed=False).begin(_SAMPLE)
        taken = len(sample) // _EXPANDED
    length = len(sample) / (sample.count(b"\n") or 1)
    if len(sample) < _SAMPLE:
        return len(sample), max(length, 1.0)
    return path.stat().st_size * len(sample) / taken, length


def _unpacked(packed: bytes) -> tuple[bytes, int]:
    """Return about the first :data:`_SAMPLE` bytes of gzip, and how many packed bytes have them.

    Return nothing if it is damaged or truncated; its reader says so.
    """
    sample = bytearray()
    taken = 0
    whole = False
    unpack = zlib.decompressobj(31)
    try:
        while len(sample) < _SAMPLE and taken < len(packed):
            part = packed[taken : taken + _STEP]
            sample += unpack.decompress(part)
            taken += len(part) - len(unpack.unused_data)
            whole = unpack.eof
            if whole:
                unpack = zlib.decompressobj(31)
    except zlib.error:
        return b"", taken
    return bytes(sample) if whole or len(sample) >= _SAMPLE else b"", taken


def _rounded(number: float) -> str:
    """Return a number as text, rounded to two digits."""
    return f"{float(f'{number:.2g}'):,.0f}"


def _size_text(amount: float) -> str:
    return f"{amount / 1e9:,.2f} GB" if amount >= 1e7 else f"{amount / 1e6:,.2f} MB"
