"""What compiling costs the first run in a fresh install.

Run it by ``python -m hpcdispatch.bench.studies.benchmarks.first_use``. For each dispatcher two processes simulate the
same jobs one after the other, with a cache folder that is empty at first. The difference of their CPU seconds is what
compiling costs. The control is ``fcfs``, which compiles nothing on few jobs.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile

import click

from ....base import InputError
from ...reports.tables import Table
from ..one_line_errors import in_one_line
from ..printed_tables import show

#: Dispatchers with the number of jobs, and the limit in CPU seconds. ``None`` for no limit.
RUNS: tuple[tuple[str, int, float | None], ...] = (
    ("fcfs", 300, 0.5),
    ("conservative", 300, 5.0),
    ("hcp3", 300, 10.0),
    ("pcp3", 300, 10.0),
    ("slurm", 300, 10.0),
    ("lookahead", 300, 12.0),
    ("lookahead", 11_000, 12.0),
    ("portfolio", 300, 15.0),
    ("easy", 11_000, None),
)
_SMALL: tuple[tuple[str, int, float | None], ...] = (("fcfs", 20, 0.5), ("conservative", 20, 5.0))
ONE = """
import sys
from hpcdispatch.simulation import simulate
from hpcdispatch.workloads import generate
simulate(generate("lublin", jobs=int(sys.argv[2]), processors=64, load=1.0, seed=1), sys.argv[1])
"""
_ALL = "import sys; sys.argv[1:] = ['compile', '--workers', '1']; from hpcdispatch.cli import main; main()"


def seconds_of(program: str, arguments: tuple[str, ...], cache: str) -> float:
    """Return the CPU seconds of a program in its own process that keeps compiled code in a folder."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    subprocess.run([sys.executable, "-c", program, *arguments], env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row_of(name: str, program: str, arguments: tuple[str, ...], wanted: float | None) -> list[str]:
    """Return a row of the table: first and second run, the difference, and the limit."""
    with tempfile.TemporaryDirectory() as cache:
        first, second = (seconds_of(program, arguments, cache) for _ in range(2))
    bound = "-" if wanted is None else f"{wanted:g}"
    return [name, arguments[1] if arguments else "-", f"{first:.1f}", f"{second:.1f}", f"{first - second:.1f}", bound]


@click.command(help=__doc__)
@click.option("--small", is_flag=True, help="Two dispatchers on 20 jobs.")
@click.option("--dispatcher", "dispatchers", multiple=True, help="Only these.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line(InputError)
def main(small: bool, dispatchers: tuple[str, ...], as_markdown: bool) -> None:
    """Print the table."""
    chosen = [run for run in (_SMALL if small else RUNS) if not dispatchers or run[0] in dispatchers]
    rows = [row_of(f"`{name}`", ONE, (name, str(jobs)), wanted) for name, jobs, wanted in chosen]
    if not small and not dispatchers:
        rows.append(row_of("all that `hpcdispatch compile` compiles", _ALL, (), 40.0))
    heads = ("dispatcher", "jobs", "first run, CPU s", "second run", "compiling", "wanted")
    show([Table("Compiling in a fresh install", heads, rows)], as_markdown)


if __name__ == "__main__":
    main()
