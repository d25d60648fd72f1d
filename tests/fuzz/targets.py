"""All drawn inputs: name, suffix of the file, and reader."""

import gzip
import random

from hpcdispatch.analysis import read_scenario
from hpcdispatch.bench.campaigns.campaign_file import read_campaign
from hpcdispatch.workloads.formats import read_run_times

from . import inputs
from .commands import COMMANDS
from .inputs import mangled, outcome
from .parts import PARTS
from .sites import SITES, jsonl
from .tables import TABLES

#: What is drawn, the suffix of its file, and what reads it.
TARGETS = {
    "swf": (inputs.swf, ".swf", inputs.read_trace),
    "sacct": (inputs.sacct, ".sacct", inputs.read_trace),
    "machine": (inputs.machine, ".json", inputs.read_machine),
    "scenario": (inputs.scenario, ".json", read_scenario),
    "campaign": (inputs.campaign, ".toml", read_campaign),
    "runs": (inputs.runs, ".csv", read_run_times),
    "table": (inputs.table, ".csv", inputs.read_table),
    "option": (lambda rng: inputs.option(rng).encode(), ".txt", inputs.read_option),
    "jsonl": (jsonl, ".jsonl", inputs.read_trace),
    **TABLES,
    **SITES,
    **PARTS,
    **COMMANDS,
}


def draw(target, seed):
    """Return the bytes of an input and its suffix. Equal seeds give equal bytes."""
    rng = random.Random(f"{target} {seed}")
    make, suffix, _ = TARGETS[target]
    data = make(rng)
    if rng.random() < 0.25:
        data = mangled(rng, data)
    if target in ("swf", "sacct") and rng.random() < 0.1:
        data = gzip.compress(data, mtime=0)
        data = mangled(rng, data) if rng.random() < 0.5 else data
        suffix += ".gz"
    return data, suffix


def attempt(target, seed, folder):
    """Give an input to its reader; raises what it finds."""
    data, suffix = draw(target, seed)
    path = folder / f"input{suffix}"
    path.write_bytes(data)
    outcome(TARGETS[target][2], path)
