"""Interrupt reproductions half way: ``PYTHONPATH=tests python -m faults.reproductions [--only WORD] [--first SEED]``.

Each is made once without a signal. Then it is made in another folder, where kill -9, Ctrl-C or SIGTERM ends it twice.
The last call must finish with the same files, and use the simulations that were finished before.
"""

# ruff: noqa: T201
import argparse
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from time import monotonic, sleep

from faults.hostile import processes_of
from faults.signals import ends, used
from hpcdispatch.bench.campaigns.store import Store

#: Two of each paper, one with many simulations.
NAMES = (
    "cp2019/fig1",
    "cp2019/hpc2n",
    "icpp2019/fig3",
    "icpp2019/fig4",
    "ijhpca2019/fig9",
    "ijhpca2019/fig12",
    "jsspp2000/table2",
    "jsspp2000/fig4",
    "dsrt2020/fig5",
    "dsrt2020/policies",
)
#: Those of public traces.
OF_TRACES = ("cp2019/hpc2n", "jsspp2000/table2", "jsspp2000/fig4", "dsrt2020/fig5")
ENDS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)


def start(name, out):
    """Start a reproduction in a session of its own."""
    words = [sys.executable, "-m", "hpcdispatch.cli", "reproduce", name, "--out", str(out)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def made(name, out):
    """Make a reproduction without a signal. Return the processor seconds that it took."""
    process, seconds = start(name, out), 0.0
    while process.poll() is None:
        seconds = max(seconds, used(process.pid))
        sleep(0.05)
    err = process.communicate()[1]
    assert process.returncode == 0, (name, err[-600:])
    return seconds


def interrupted(name, out, number, after):
    """Start a reproduction and signal it after so many processor seconds. Return what is wrong, and if it was ended."""
    process = start(name, out)
    while process.poll() is None and used(process.pid) < after:
        sleep(0.05)
    if process.poll() is not None:
        err = process.communicate()[1]
        return ("" if process.returncode == 0 else f"code {process.returncode}: {err[-300:]!r}"), False
    begin = monotonic()
    process.send_signal(number)
    err = process.communicate()[1]
    if number == signal.SIGKILL:
        return "", True
    wrong = f"{number.name} after {after:.1f} s: code {process.returncode}, {monotonic() - begin:.1f} s, {err[-300:]!r}"
    return ("" if process.returncode == 1 and len(ends(err)) == 1 and not processes_of(process.pid) else wrong), True


def results(out, name):
    """Return the files of a reproduction that have no measured times, and its stored simulations."""
    paper, _, which = name.partition("/")
    found = {path.name: path.read_bytes() for path in sorted((out / paper).glob(f"{which}.*")) if not _timed(path)}
    return found, set(Store(out / "store").finished())


def _timed(path):
    return "time" in path.name or path.suffix != ".json"  # a table as CSV has the times beside the other figures


def failure(name, rng, folder):
    """Return what differs between a reproduction that was interrupted twice and one that was not, and how often."""
    seconds = made(name, folder / "whole")
    ended = 0
    for _ in range(2):
        number = rng.choice(ENDS)
        wrong, was = interrupted(name, folder / "again", number, rng.uniform(0.2, 0.6) * seconds)
        if wrong:
            return wrong, ended
        ended += was
    before = {cell: _written(folder / "again", cell) for cell in results(folder / "again", name)[1]}
    made(name, folder / "again")
    if results(folder / "again", name) != results(folder / "whole", name):
        pairs = zip(results(folder / "again", name), results(folder / "whole", name), strict=True)
        (files, others), (cells, more) = pairs
        names = [file for file in files | others if files.get(file) != others.get(file)]
        return f"the files differ: {names}, and {len(cells ^ more)} of {len(more)} simulations", ended
    again = [cell for cell, when in before.items() if when is not None and _written(folder / "again", cell) != when]
    return (f"{len(again)} finished simulations were done again" if again else ""), ended


def _written(out, cell):
    """Return when a simulation was finished, ``None`` if it was not."""
    found = list((out / "store").glob(f"cells/*/{cell}/SHA256SUMS"))
    return found[0].stat().st_mtime_ns if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    given = parser.parse_args()
    chosen = [name for name in NAMES if given.only in name]
    findings = 0
    ends = 0
    rng = random.Random(given.first)
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            wrong, ended = failure(name, rng, Path(folder))
        ends += ended
        findings += bool(wrong)
        print(f"{name}: {wrong or f'same after {ended} ends'}", flush=True)
    print(f"{len(chosen)} reproductions, {ends} ended early, {findings} findings")
    raise SystemExit(bool(findings))


if __name__ == "__main__":
    main()
