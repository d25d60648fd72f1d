"""Try random decisions: ``PYTHONPATH=tests python -m ruled [--count N] [--first SEED] [--long SECONDS] [WHAT]...``.

Decisions and simulations are under random rules: precedences, exclusions and caps, as rules of the package and as own
constraints. They are held against a model that shares no code with the package. Instances of schedule-or-postpone are
held against the optimum over all orders.
"""

import argparse
from collections import Counter
from functools import partial
from time import monotonic

from ruled import decisions, postponed

WHAT = {f"decisions, {form}": partial(decisions.wrong, options=options) for form, options in decisions.FORMS.items()}
WHAT |= {
    f"simulations, {name}": partial(decisions.simulated, options=options)
    for name, options in (("default", {}), ("m=1", {"m": 1}), ("no budget", {"budget": 0.0}))
}
WHAT |= {"schedule-or-postpone": postponed.wrong}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", metavar="WHAT", help=f"words of {'; '.join(WHAT)}")
    parser.add_argument("--count", type=int, default=3000, metavar="N", help="of each kind")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--long", type=float, default=float("inf"), metavar="SECONDS", help="of each kind at most")
    given = parser.parse_args()
    findings = 0
    for name, attempt in WHAT.items():
        if given.what and not any(word in name for word in given.what):
            continue
        begin, counts, wrong = monotonic(), Counter(), 0
        for seed in range(given.first, given.first + given.count):
            if monotonic() - begin > given.long:
                break
            found = attempt(seed, counts=counts)
            wrong += bool(found)
            for line in found[:3]:
                print(f"{name}, seed {seed}: {line}", flush=True)
        told = ", ".join(f"{count:,} {what}" for what, count in counts.items())
        print(f"{name}: {told}; {wrong} wrong; {monotonic() - begin:,.0f} s", flush=True)
        findings += wrong
    raise SystemExit(findings > 0)


if __name__ == "__main__":
    main()
