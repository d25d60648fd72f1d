"""Compact placements in records."""

from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..dispatchers import NODE_ZERO, Placement

_ONE_SLOT = NODE_ZERO.astype(np.int32)


@cache
def on_node_zero(slots: int) -> NDArray[np.int32]:
    """Return the placement of `slots` slots on node 0: read-only zeros in the memory of one."""
    return np.broadcast_to(np.int32(0), slots)


def compacting(nodes: int) -> Callable[[Placement], NDArray[np.int32]]:
    """Return a function that compacts placements. On one node, equal lengths share one array."""
    return _on_one_node if nodes == 1 else _on_nodes


def stored(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of a one-node machine as stored: with the number of ``slots`` in place of ``placement``."""
    if "placement" not in table:
        return table
    slots = np.fromiter(map(len, table["placement"]), dtype=np.int32, count=len(table))
    return table.drop(columns="placement").assign(slots=slots)


def restored(table: pd.DataFrame) -> pd.DataFrame:
    """Undo :func:`stored`."""
    if "slots" not in table:
        return table
    return table.drop(columns="slots").assign(placement=as_column(map(on_node_zero, table["slots"].tolist())))


def as_column(placements: Iterable[NDArray[np.int32]]) -> NDArray[np.object_]:
    """Return a column of arrays."""
    return np.fromiter(placements, dtype=object)


def _on_one_node(placement: Placement) -> NDArray[np.int32]:
    return on_node_zero(len(placement))


def _on_nodes(placement: Placement) -> NDArray[np.int32]:
    return _ONE_SLOT if placement is NODE_ZERO else placement.astype(np.int32)
