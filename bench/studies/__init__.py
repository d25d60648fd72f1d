"""Studies: benchmarks, and the tables and figures of papers made again.

They are in the repository, not in the installed package. There, only ``hpcdispatch reproduce`` loads them. Studies also
use the oracles that the tests compare with. These are in ``tests/oracles``, which only a checkout has.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests"))

__all__: list[str] = []
