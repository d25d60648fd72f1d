"""Studies: benchmarks, and the tables and figures of papers made again.

They are in the repository and not in the installed package, of which only ``hpcdispatch reproduce`` loads them. What
tests hold the package against serves studies too: it stands in ``tests/oracles``, which only a checkout has.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests"))

__all__: list[str] = []
