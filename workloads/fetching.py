"""Get published traces and run times by name."""

import hashlib
import os
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from ..base import InputError, read_bounded, shown, write_whole
from ..base.argument_types import names_wrong_types
from ..base.files import MOST_BYTES

ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload"
_ISBATCH = "https://raw.githubusercontent.com/anagainaru/iSBatch/0e70961a95910bbbe00c5e7b1766d86c1f575057/examples/logs"


@dataclass(frozen=True, slots=True)
class Published:
    """A published file: its name, its folder's address (empty if unknown), the begin of its SHA-256, its licence."""

    file: str
    folder: str
    sha256: str
    licence: str = "free for research with acknowledgement"


TRACES = {
    "kth-sp2": Published("KTH-SP2-1996-2.swf.gz", f"{ARCHIVE}/l_kth_sp2", "07f87eefc377964b"),
    "ctc-sp2": Published("CTC-SP2-1996-3.1-cln.swf.gz", f"{ARCHIVE}/l_ctc_sp2", "9fa28ac16c4386fb"),
    "sdsc-sp2": Published("SDSC-SP2-1998-4.2-cln.swf.gz", f"{ARCHIVE}/l_sdsc_sp2", "e03fe48be50c4ab0"),
    "hpc2n": Published("HPC2N-2002-2.2-cln.swf.gz", f"{ARCHIVE}/l_hpc2n", "3c534857d6065cfd"),
    "lublin-256": Published("lublin-256.swf.gz", "", "ba3ee5b59b5bd8df"),
    "theta-2022": Published("theta-2022.swf.gz", "", "ebf105dee1beec6c"),
}
#: Run times of single applications, from the repository of iSBatch (Gainaru).
RUN_TIMES = {
    "slant-walltime": Published("SLANT_walltime.log", _ISBATCH, "e21a56c0671ab5d2", "BSD 3-Clause"),
    "slant-memory": Published("SLANT_memory.log", "", "11a79fc1d91f98ff", "BSD 3-Clause"),
    "ct-eye-segmentation": Published("CT_eye_segmentation.log", "", "06ac5be82ff2cb4a", "BSD 3-Clause"),
}


@names_wrong_types
def fetch(name: str) -> Path:
    """Return the path of a published trace, or file of run times. Download it if it is missing.

    :func:`at_hand` has the places of existing files. A download goes to the cache. The traces are free for research
    with acknowledgement; their headers name the authors. The run times are under BSD 3-Clause.

    Parameters
    ----------
    name
        One of :data:`TRACES`, such as ``kth-sp2``, or of :data:`RUN_TIMES`, such as ``slant-walltime``.

    Raises
    ------
    InputError
        For an unknown name, or a file without the published SHA-256.
    OSError
        If it cannot be downloaded or stored.

    Examples
    --------
    >>> from hpcdispatch.workloads import fetch
    >>> path = fetch("kth-sp2")  # doctest: +SKIP
    >>> try:
    ...     fetch("kth-sp3")
    ... except ValueError as error:
    ...     print(str(error).partition(";")[0])
    unknown trace 'kth-sp3'
    """
    known = TRACES | RUN_TIMES
    if not isinstance(name, str) or name.lower() not in known:
        raise InputError(f"unknown trace {shown(name)}; known: {', '.join(known)}")
    trace = known[name.lower()]
    path = at_hand(trace.file)
    cache = cache_folder()
    if path is not None:
        _verify(read_bounded(path, "a published trace"), trace, str(path))
        return path
    if not trace.folder:
        where = f"the folder HPCDISPATCH_DATA names or in {cache}"
        raise InputError(f"{trace.file}: expected in {where}, got neither; it has no address to download it from")
    return _download(trace, cache)


@names_wrong_types
def at_hand(file: str) -> Path | None:
    """Return the path of a trace's file, or ``None``.

    The first place is the folder in the environment variable ``HPCDISPATCH_DATA``. Without it, it is ``shared/data``
    beside the checkout around the current folder. The second place is the cache (``$XDG_CACHE_HOME/hpcdispatch`` or
    ``~/.cache/hpcdispatch``).

    Examples
    --------
    >>> from hpcdispatch.workloads import at_hand
    >>> at_hand("a-trace-that-does-not-exist.swf.gz") is None
    True
    """
    own = os.environ.get("HPCDISPATCH_DATA")
    here = Path.cwd()
    checkouts = [parent for parent in (here, *here.parents) if (parent / "bench").is_dir()]
    folders = [Path(own)] if own else [checkout.parent / "shared" / "data" for checkout in checkouts]
    return next((folder / file for folder in (*folders, cache_folder()) if (folder / file).is_file()), None)


def cache_folder() -> Path:
    """Return the user's cache folder: ``$XDG_CACHE_HOME`` or ``~/.cache``, with ``/hpcdispatch``."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "hpcdispatch"


def _verify(data: bytes, trace: Published, where: str) -> None:
    received = hashlib.sha256(data).hexdigest()
    if not received.startswith(trace.sha256):
        raise InputError(f"{where}: expected SHA-256 {trace.sha256}..., got {received[:16]}...")


def _download(trace: Published, cache: Path) -> Path:
    url = f"{trace.folder}/{trace.file}"
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            data: bytes = answer.read(MOST_BYTES)
    except (urllib.error.URLError, TimeoutError) as error:
        reason = getattr(error, "reason", error)
        raise OSError(f"{url}: cannot be downloaded ({reason}); put {trace.file} into {cache}") from None
    _verify(data, trace, url)
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / trace.file
    write_whole(path, data)
    return path
