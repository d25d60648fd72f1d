"""Print where each dispatcher decides on pools and on nodes: ``PYTHONPATH=tests python -m deciding_functions``.

A dispatcher decides in the functions that make its :class:`Start` actions. A profiler records them while a pool, equal
nodes and mixed nodes are simulated.
"""

import sys
from collections import defaultdict

from conftest import quick
from recorded.cases import workload

from hpcdispatch.dispatchers import Start, registry
from hpcdispatch.simulation import simulate

#: The first jobs of each workload. They are enough for every way to decide.
JOBS = 60
#: Kind of machine to a workload on it.
MACHINES = {"pool": "pool", "equal nodes": "equal", "mixed nodes": "mixed"}


def deciding_functions(name):
    """Return the functions that make a dispatcher's starts, per kind of machine."""
    found = defaultdict(set)
    for machine, jobs in MACHINES.items():

        def note(frame, event, _, places=found[machine]):
            if event == "call" and frame.f_code is Start.__init__.__code__:
                made = frame.f_back
                while made.f_code.co_name.startswith("<"):
                    made = made.f_back
                if made.f_globals["__name__"] != "dataclasses":  # A copy of what was decided elsewhere.
                    places.add(f"{made.f_globals['__name__'].removeprefix('hpcdispatch.')}.{made.f_code.co_qualname}")

        sys.setprofile(note)
        try:
            simulate(workload(jobs).head(JOBS), quick(name))
        finally:
            sys.setprofile(None)
    return found


def main():
    for name in registry.names():
        if name == "pcp":  # Minutes on nodes. It decides as `pcp1` does.
            continue
        for machine, places in deciding_functions(name).items():
            print(f"{name:14} {machine:12} {', '.join(sorted(places))}")


if __name__ == "__main__":
    main()
