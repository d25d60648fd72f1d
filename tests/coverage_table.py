"""Print how much of the code the tests run, by branches: ``python tests/coverage_table.py coverage.json``.

``coverage json`` writes the file, after ``pytest --cov``. Files under 95% are listed, with the lines that are not run.
"""

# ruff: noqa: T201
import json
import sys
from itertools import pairwise
from pathlib import Path

FOLDERS = ("base", "workloads", "simulation", "bench/campaigns", "cli")
LEAST = 95.0


def share(summaries):
    """Return the percentage of lines and branches that are run."""
    run = sum(one["covered_lines"] + one["covered_branches"] for one in summaries)
    return 100 * run / max(sum(one["num_statements"] + one["num_branches"] for one in summaries), 1)


def spans(lines):
    """Return numbers of lines as text, such as ``3-5, 9``."""
    cuts = [0, *(place for place, (one, other) in enumerate(pairwise(lines), 1) if other > one + 1), len(lines)]
    parts = [lines[begin:end] for begin, end in pairwise(cuts)]
    return ", ".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts if part)


def main():
    files = json.loads(Path(sys.argv[1]).read_text())["files"]
    print("| | branches and lines run | not run |\n|---|---:|---|")
    for folder in FOLDERS:
        chosen = {name: found for name, found in files.items() if name.startswith(f"{folder}/")}
        if not chosen:
            continue
        print(f"| **{folder}** | **{share([found['summary'] for found in chosen.values()]):.1f}%** | |")
        for name, found in sorted(chosen.items()):
            if (percent := share([found["summary"]])) < LEAST:
                print(f"| {name} | {percent:.1f}% | {spans(found['missing_lines']) or 'branches alone'} |")


if __name__ == "__main__":
    main()
