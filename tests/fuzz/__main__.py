"""Fuzz for a long time: ``PYTHONPATH=tests python -m fuzz --count 100000 [--first SEED]`` prints what was found.

Every second input is of the kind with the fewest so far. The others are of the kind that had the least time of a
processor for its share, so that kinds that are read fast are many. Only the processor counts, so other programs on the
machine make no findings. Readers and commands run in this process, which imports and compiles once.
"""

import argparse
import resource
import signal
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from time import monotonic, process_time

from fuzz.inputs import COUNTED
from fuzz.targets import TARGETS, attempt

#: Seconds of a processor that an input may take, and after how many it is given up. The first of its kind compiles.
MOST_SECONDS = 5
ENDLESS = 10
COMPILING = 60
#: Bytes of memory for all inputs, one after the other. What is compiled takes half a gigabyte of it.
MOST_MEMORY = 2 << 30
#: Kinds that get more of the time: traces, simulations and commands, each of which has much behind it.
SHARES = dict.fromkeys(
    ("swf", "sacct", "csv", "quoted", "pbs", "jsonl", "sacct-json", "philly", "simulated", "command"), 4
)


def give_up(*_):
    raise TimeoutError("no end within its seconds of a processor")


def found_by(target, seed, folder, most):
    """Return the finding for an input, empty for none, and the seconds of a processor that it took."""
    start, finding = process_time(), ""
    signal.setitimer(signal.ITIMER_VIRTUAL, most)
    try:
        attempt(target, seed, folder)
    except Exception as error:  # noqa: BLE001 - whatever comes is what is looked for
        where = traceback.extract_tb(error.__traceback__)[-1]
        finding = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {str(error)[:90]}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    taken = process_time() - start
    return finding or (f"more than {MOST_SECONDS} s" if taken > MOST_SECONDS else ""), taken


def memory():
    """Return the most bytes of memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", type=float, default=float("inf"), metavar="SECONDS", help="stop after so long")
    parser.add_argument("--count", type=int, default=1000, metavar="N", help="stop after so many inputs")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--only", choices=TARGETS, nargs="*", default=TARGETS, help="which kinds of inputs")
    parser.add_argument("--records", type=int, metavar="N", help="stop a kind after so many records of traces")
    given = parser.parse_args()
    begin = monotonic()
    slowest = 0.0
    findings = Counter()
    used = dict.fromkeys(given.only, 0.0)
    counts = Counter(dict.fromkeys(given.only, 0))
    records = Counter(dict.fromkeys(given.only, 0))
    signal.signal(signal.SIGVTALRM, give_up)
    with tempfile.TemporaryDirectory() as folder:
        while used and monotonic() - begin < given.long and (total := counts.total()) < given.count:
            target = min(used, key=(used if total % 2 else counts).__getitem__)
            seed = given.first + counts[target]
            before, counted = memory(), COUNTED.total()
            finding, taken = found_by(target, seed, Path(folder), COMPILING)
            used[target] += (taken + 1e-4) / SHARES.get(target, 1)
            if taken > MOST_SECONDS:
                finding, taken = found_by(target, seed, Path(folder), ENDLESS)
            if before <= MOST_MEMORY < memory():
                finding = f"more than {MOST_MEMORY >> 20} MB"
            if finding:
                if not findings[f"{target}: {finding}"]:
                    print(f"{target}: {finding} (seed {seed})", flush=True)
                findings[f"{target}: {finding}"] += 1
            slowest = max(slowest, taken)
            counts[target] += 1
            records[target] += COUNTED.total() - counted
            if given.records and records[target] >= given.records:
                del used[target]
            if counts.total() % 10_000 == 0:
                print(f"{counts.total():,} inputs, {process_time():,.0f} s of a processor", flush=True)
    print(", ".join(f"{count:,} {target}" for target, count in counts.items()))
    if records.total():
        print("records read or left out: " + ", ".join(f"{n:,} {target}" for target, n in records.items() if n))
    print(
        f"{counts.total():,} inputs in {monotonic() - begin:,.0f} s ({process_time():,.0f} s of a processor), seeds "
        f"from {given.first} on for each kind: {len(findings)} findings; slowest {slowest:.2f} s, memory "
        f"{memory() >> 20} MB"
    )
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
