"""The content of a campaign's store that is equal in all runs, and checksums for results that a test changes."""

from pathlib import Path

from hpcdispatch.base.checksums import sums_of
from hpcdispatch.bench.campaigns.execution import Store
from hpcdispatch.simulation.result import FILES

_TIMED = {"timings.parquet", "timings.sha256"}


def deterministic(store: Store) -> dict[str, bytes]:
    """Return path to content of the cell files of a store, without measured times."""
    paths = (path for key in store.finished() for path in sorted(store.path(key).iterdir()) if path.name not in _TIMED)
    return {str(path.relative_to(store.folder)): path.read_bytes() for path in paths}


def renew_sums(folder: Path) -> None:
    """Write the checksums of a saved result anew, for what a test has changed on purpose."""
    for name, sums in sums_of({name: folder / name for name in FILES}).items():
        (folder / name).write_bytes(sums)
