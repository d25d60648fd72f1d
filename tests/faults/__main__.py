"""Kill campaigns at random instants: ``PYTHONPATH=tests python -m faults --kills 1000 [--first SEED]``.

Each kill -9 hits the client, one of its two workers, or the whole group. After each no stored cell may be damaged; a
campaign that comes to its end must have left, byte for byte, the store of an undisturbed one.
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import monotonic, sleep

import small_campaign

from hpcdispatch.bench.benchmarks.campaigns import deterministic
from hpcdispatch.bench.campaigns.execution import Store, plan_campaign, run_campaign

TEXT = small_campaign.TEXT.format(jobs=150)


def children(pid):
    """Return the processes that a process has started."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, task.read_text().split())
    return found


def strike(rng, process, counts):
    """Kill the client, a worker or all of them; count what was hit."""
    workers = children(process.pid)
    victim = rng.choice(("client", "group", "worker" if workers else "client"))
    counts[victim] += 1
    if victim == "worker":
        try:
            os.kill(rng.choice(workers), signal.SIGKILL)
        except ProcessLookupError:
            counts["gone before"] += 1
        return
    if victim == "client":
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_once(rng, command, most, counts):
    """Run the command, struck up to `most` times; return whether it came to its end."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    until = monotonic() + rng.uniform(0.5, 12)
    while process.poll() is None:
        if counts.total() < most and monotonic() > until:
            strike(rng, process, counts)
            until = monotonic() + rng.uniform(0.5, 12)
        sleep(0.01)
    return process.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    given = parser.parse_args()
    rng, counts, ended, begin = random.Random(given.first), Counter(), 0, monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "campaign.toml"
        file.write_text(TEXT)
        whole = Store(folder / "whole")
        run_campaign(plan_campaign(file), whole)
        expected = deterministic(whole)
        while counts.total() < given.kills:
            store = Store(folder / f"store{ended}")
            command = [sys.executable, "-m", "hpcdispatch.cli", "campaign", file, "--out", store.folder, "--retry"]
            while not run_once(rng, [*command, "--workers", "2"], given.kills, counts):
                for key in store.finished():
                    assert store.damage(key) is None, (key, store.damage(key))
            assert deterministic(store) == expected
            ended += 1
    struck = ", ".join(f"{count} {victim}" for victim, count in sorted(counts.items()))
    print(f"{counts.total()} kills ({struck}) over {ended} campaigns of {len(plan_cells(TEXT))} cells in "
          f"{monotonic() - begin:,.0f} s: no damaged cell, every store as an undisturbed one")  # fmt: skip


def plan_cells(text):
    """Return the cells of a campaign."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "campaign.toml"
        file.write_text(text)
        return plan_campaign(file).cells


if __name__ == "__main__":
    main()
