"""The next process finds each entry of the event loop in numba's cache."""

import json
import subprocess
import sys

#: What runs each entry: dispatcher, and options of the simulation.
ENTRIES = {
    "run_in_order": ("lxf", {}),
    "run_easy": ("easy-sjbf", {}),
    "run_look_ahead": ("portfolio:every=6h,window=1d,budget=500", {}),
}
PROGRAM = """
import importlib, json, sys
from hpcdispatch.models.compiled import notice
from hpcdispatch.simulation import simulate
from hpcdispatch.simulation.events import compiled_events
from hpcdispatch.workloads import generate
compiled_events.WORTH = 1
jobs = generate("lublin", jobs=150, processors=32, load=1.2, seed=5)
simulate(jobs, "lookahead")
for dispatcher, options in json.loads(sys.argv[1]).values():
    simulate(jobs, dispatcher, **options)
modules = ("events.runs", "lookahead.choosing")
modules = [vars(importlib.import_module(f"hpcdispatch.models.{module}")) for module in modules]
entries = {name: entry for module in modules for name, entry in module.items()}
used = {name: len(getattr(entries[name], "overloads", ())) for name in json.loads(sys.argv[1])}
print(json.dumps([notice.count, used]))
"""


def test_the_second_process_compiles_nothing():
    command = [sys.executable, "-c", PROGRAM, json.dumps(ENTRIES)]
    for _ in range(2):
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        compiled, used = json.loads(printed)
        if not compiled:  # An earlier process has.
            break
    assert compiled == 0
    assert used == dict.fromkeys(ENTRIES, 1)
