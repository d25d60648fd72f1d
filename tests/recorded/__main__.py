"""Compare schedules with the recorded ones: ``PYTHONPATH=tests python -m recorded [--only WORDS] [--share N]``.

Every registered dispatcher runs on pools, equal nodes and mixed nodes. Queues are short and long. Each overrun policy
and each predictor is tried. A different digest is a changed schedule. Mend it, or record it anew with ``--write``. The
changelog must then say which one changed, and why.
"""

import argparse
import json
import sys
from multiprocessing import get_context
from time import perf_counter

from recorded.cases import DIGESTS, cases, key, recorded, timed

TABLES = ("jobs", "attempts", "decisions", "reports")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="WORDS", help="cases whose name has one of these, e.g. easy,hcp3")
    parser.add_argument("--dispatchers", default="", metavar="NAMES", help="cases of just these dispatchers")
    parser.add_argument("--share", type=int, default=1, metavar="N", help="one case in N")
    parser.add_argument("--processes", type=int, default=1, metavar="N")
    parser.add_argument("--write", action="store_true", help="record what is found")
    parser.add_argument(
        "--slow", type=float, default=float("inf"), metavar="SECONDS", help="name cases that take longer"
    )
    given = parser.parse_args()
    words = given.only.split(",")
    names = set(filter(None, given.dispatchers.split(",")))
    chosen = [
        case
        for case in cases()[:: given.share]
        if any(word in key(case) for word in words) and (not names or case.dispatcher.split(":")[0] in names)
    ]
    kept = recorded()
    differ = 0
    began = perf_counter()
    with get_context("spawn").Pool(given.processes) as pool:
        for case, found, seconds in pool.imap_unordered(timed, chosen, chunksize=8):
            if seconds > given.slow:
                print(f"{seconds:6.1f} s {key(case)}", flush=True)
            before = kept.get(key(case))
            if given.write:
                kept[key(case)] = found
            elif found != before:
                differ += 1
                where = [table for table, old, new in zip(TABLES, before or (), found, strict=False) if old != new]
                print(f"differs: {key(case)}: {', '.join(where) if before and len(found) > 1 else found}", flush=True)
    if given.write:
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(kept[name])}" for name in sorted(kept))
        DIGESTS.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    print(f"{len(chosen) - differ} of {len(chosen)} as recorded, {perf_counter() - began:,.0f} s")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
