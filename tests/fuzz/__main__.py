"""Fuzz for a long time: ``PYTHONPATH=tests python -m fuzz --long 3600 [--first SEED]`` prints what was found."""

import argparse
import resource
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from time import monotonic, process_time

from fuzz.targets import TARGETS, attempt

#: Seconds of a processor and bytes that an input may take.
MOST_SECONDS, MOST_MEMORY = 5, 1 << 30


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--only", choices=TARGETS, nargs="*", default=TARGETS, help="which kinds of inputs")
    given = parser.parse_args()
    begin, slowest, findings, counts, seed = monotonic(), 0.0, Counter(), Counter(), given.first
    with tempfile.TemporaryDirectory() as folder:
        while monotonic() - begin < given.long:
            for target in given.only:
                start = process_time()
                try:
                    attempt(target, seed, Path(folder))
                except Exception as error:  # noqa: BLE001 - whatever comes is what is looked for
                    where = traceback.extract_tb(error.__traceback__)[-1]
                    place = f"{Path(where.filename).name}:{where.lineno}"
                    kind = f"{target}: {type(error).__name__} at {place}: {str(error)[:90]}"
                    if not findings[kind]:
                        print(f"{kind} (seed {seed})", flush=True)
                    findings[kind] += 1
                taken = process_time() - start
                if taken > MOST_SECONDS:
                    print(f"{target}: {taken:.1f} s (seed {seed})", flush=True)
                    findings["slow"] += 1
                slowest = max(slowest, taken)
                counts[target] += 1
            seed += 1
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(", ".join(f"{count:,} {target}" for target, count in counts.items()))
    print(f"{sum(counts.values()):,} inputs in {monotonic() - begin:,.0f} s, seeds {given.first} to {seed - 1}: "
          f"{len(findings)} findings; slowest {slowest:.2f} s, memory {memory >> 20} MB")  # fmt: skip
    raise SystemExit(bool(findings) or memory > MOST_MEMORY)


if __name__ == "__main__":
    main()
