"""The content of a campaign's store that is equal in all runs."""

from hpcdispatch.bench.campaigns.execution import Store

_TIMED = {"timings.parquet", "timings.sha256"}


def deterministic(store: Store) -> dict[str, bytes]:
    """Return path to content of the cell files of a store, without measured times."""
    paths = (path for key in store.finished() for path in sorted(store.path(key).iterdir()) if path.name not in _TIMED)
    return {str(path.relative_to(store.folder)): path.read_bytes() for path in paths}
