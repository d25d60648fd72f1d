"""What the rules of several papers share: how they read a trace, and when a job could start."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

#: Columns of a line of SWF: submission, run time, processors used, processors and time requested.
_COLUMNS = [1, 3, 4, 7, 8]


def records(path: Path) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield submission, run time, processors used, processors and time requested of each record, as they stand.

    Papers read unknown and zero values each in their own way, so that the reader of the product does not serve here.
    """
    table = pd.read_csv(path, sep=r"\s+", comment=";", header=None, usecols=_COLUMNS)[_COLUMNS]
    yield from map(tuple, table.to_numpy(np.int64).tolist())


def shadow_time(nodes: int, free: int, ends: Iterable[tuple[int, int]], now: int) -> int:
    """Return when so many nodes are free. Running jobs are given by their ends and nodes, in the order of the ends."""
    time = now
    for end, more in ends:
        if free >= nodes:
            break
        free, time = free + more, end
    return time
