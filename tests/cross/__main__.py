"""Try the full cross: ``PYTHONPATH=tests python -m cross [--first SEED] [--rounds N] [--long SECONDS]``.

Cross every registered dispatcher, overrun mode and predictor on random workloads of mixed nodes and pools. The order is
random. A run that is cut short has therefore tried some of all.
"""

import argparse
import random
from collections import Counter
from time import monotonic

from cross.cases import CASES, try_case


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--rounds", type=int, default=1, metavar="N")
    parser.add_argument("--long", type=float, default=float("inf"), metavar="SECONDS", help="stop after so long")
    given = parser.parse_args()
    begin, counts = monotonic(), Counter()
    drawn = list(enumerate(CASES * given.rounds, given.first))
    random.Random(given.first).shuffle(drawn)
    for seed, case in drawn:
        if monotonic() - begin > given.long:
            break
        try:
            found, result = try_case(case, seed)
        except Exception as error:  # noqa: BLE001 - whatever comes is what is looked for
            found = [f"{type(error).__name__}: {error}"]
        else:
            counts.update(jobs=len(result.jobs), stays=len(result.attempts), decisions=len(result.decisions))
            counts.update(result.jobs["status"])
        counts.update(schedules=1, wrong=bool(found))
        for line in found[:3]:
            print(f"{' '.join(case)}, seed {seed}: {line[:300]}", flush=True)
    told = ", ".join(f"{count:,} {what}" for what, count in counts.items())
    print(f"of {len(drawn):,} cases {told}; {monotonic() - begin:,.0f} s")
    raise SystemExit(counts["wrong"] > 0)


main()
