"""Flip single bits of stored files: ``PYTHONPATH=tests python -m faults.flips --count 5000 [--first SEED]``.

A cell, a saved result and the record of a campaign have checksums: each flip is found, or changes nothing that is read.
A trace in Parquet has none: it is read, or refused in one line. No flip ends the process.
"""

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pandas as pd
import small_campaign

from hpcdispatch.base import InputError
from hpcdispatch.bench.campaigns.execution import Store, plan_campaign, run_campaign
from hpcdispatch.bench.campaigns.recorded_names import named
from hpcdispatch.simulation import Result, simulate
from hpcdispatch.simulation.result import TABLES
from hpcdispatch.workloads import generate, read, write

#: Kinds of files. Reading a trace in Parquet starts two processes.
KINDS = ("cell", "result", "campaign", "trace")


class Files:
    """One folder of each kind, how it is read, and what was read before any flip."""

    def __init__(self, folder):
        text = small_campaign.TEXT.format(jobs=20).replace("seeds = 3", "seeds = 1")
        (folder / "campaign.toml").write_text(text)
        plan = plan_campaign(folder / "campaign.toml")
        store = Store(folder / "store")
        run_campaign(plan, store)
        (trace := folder / "trace").mkdir()
        write(generate("lublin", jobs=200, seed=1), trace / "jobs.parquet")
        self.folders = {
            "cell": store.path(plan.cells[0].key),
            "result": simulate("lublin:jobs=50", "easy").save(folder / "result"),
            "campaign": store.folder / "campaigns",
            "trace": trace,
        }
        self.reads = {
            "cell": lambda: _content(store.result(plan.cells[0])),
            "result": lambda: _content(Result.load(self.folders["result"])),
            "campaign": lambda: list(named(store.folder, plan.name)),
            "trace": lambda: read(trace / "jobs.parquet").digest(),
        }
        self.before = {kind: reads() for kind, reads in self.reads.items()}

    def flip(self, kind, rng):
        """Flip a bit, read, and put the bit back. Return what became of it."""
        path = rng.choice(sorted(self.folders[kind].iterdir()))
        data = path.read_bytes()
        place, bit = rng.randrange(len(data)), rng.randrange(8)
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
        try:
            same = _equal(self.reads[kind](), self.before[kind])
            return "the same" if same else f"other data: byte {place}, bit {bit} of {path.name}"
        except (InputError, OSError) as error:
            return "refused" if "\n" not in str(error) else f"several lines: byte {place}, bit {bit} of {path.name}"
        finally:
            path.write_bytes(data)


def _content(result):
    return [result.manifest, *(getattr(result, name) for name in TABLES)]


def _equal(one, other):
    if not isinstance(one, list):
        return one == other
    pairs = zip(one, other, strict=True)
    return all(first.equals(second) if isinstance(first, pd.DataFrame) else first == second for first, second in pairs)


def main():
    """Flip bits of each kind, and print the counts."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--count", type=int, default=100, help="flips of each kind")
    asked.add_argument("--first", type=int, default=0, help="seed of the random numbers")
    asked.add_argument("--kinds", nargs="*", default=KINDS, choices=KINDS)
    given = asked.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        files = Files(folder)
        bad = []
        for kind in given.kinds:
            rng = random.Random(f"{given.first} {kind}")
            ends = Counter()
            for _ in range(given.count):
                became = files.flip(kind, rng)
                known = became in ("the same", "refused") or (kind == "trace" and became.startswith("other data"))
                ends[became.partition(":")[0]] += 1
                if not known:
                    bad.append(f"{kind}: {became}")
            print(f"{kind}: {', '.join(f'{number} {what}' for what, number in sorted(ends.items()))}", flush=True)
        print(*bad, sep="\n")
        sys.exit(bool(bad))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
