"""Fuzz for a long time: ``PYTHONPATH=tests python -m fuzz --long 3600 [--first SEED]`` prints what was found.

Each kind of inputs gets its share of a processor's time, so that those that are read fast are many.
"""

import argparse
import resource
import signal
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from time import monotonic, process_time

from fuzz.targets import TARGETS, attempt

#: Seconds of a processor and bytes that an input may take; after so many seconds it is given up.
MOST_SECONDS, MOST_MEMORY, ENDLESS = 5, 1 << 30, 30
#: Kinds that get more of the time: traces, simulations and commands, each of which has much behind it.
SHARES = dict.fromkeys(
    ("swf", "sacct", "csv", "quoted", "pbs", "jsonl", "sacct-json", "philly", "simulated", "command"), 4
)


def give_up(*_):
    raise TimeoutError(f"no end within {ENDLESS} s of a processor")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--count", type=int, default=10**9, metavar="N", help="stop after so many inputs")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--only", choices=TARGETS, nargs="*", default=TARGETS, help="which kinds of inputs")
    given = parser.parse_args()
    begin, slowest, findings, counts = monotonic(), 0.0, Counter(), Counter()
    used = dict.fromkeys(given.only, 0.0)
    signal.signal(signal.SIGVTALRM, give_up)
    with tempfile.TemporaryDirectory() as folder:
        while monotonic() - begin < given.long and counts.total() < given.count:
            target = min(used, key=used.__getitem__)
            seed, start = given.first + counts[target], process_time()
            signal.setitimer(signal.ITIMER_VIRTUAL, ENDLESS)
            try:
                attempt(target, seed, Path(folder))
            except Exception as error:  # noqa: BLE001 - whatever comes is what is looked for
                where = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{Path(where.filename).name}:{where.lineno}"
                kind = f"{target}: {type(error).__name__} at {place}: {str(error)[:90]}"
                if not findings[kind]:
                    print(f"{kind} (seed {seed})", flush=True)
                findings[kind] += 1
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            taken = process_time() - start
            if taken > MOST_SECONDS and counts[target]:  # the first one compiles
                print(f"{target}: {taken:.1f} s (seed {seed})", flush=True)
                findings["slow"] += 1
            slowest = max(slowest, taken)
            used[target] += (taken + 1e-4) / SHARES.get(target, 1)
            counts[target] += 1
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(", ".join(f"{count:,} {target}" for target, count in counts.items()))
    print(f"{counts.total():,} inputs in {monotonic() - begin:,.0f} s, seeds from {given.first} on for each kind: "
          f"{len(findings)} findings; slowest {slowest:.2f} s, memory {memory >> 20} MB")  # fmt: skip
    raise SystemExit(bool(findings) or memory > MOST_MEMORY)


if __name__ == "__main__":
    main()
