"""The job that waits longest, and what held it back.

``python -m hpcdispatch.bench.benchmarks.longest_wait TRACE...`` prints a table a trace, with a row a dispatcher: the
job that waited longest under it, how long under the reference as well, and what held the machine meanwhile: jobs that
ran when it came, that came before it, and that overtook it, in parts of the capacity; and for how long it would have
fitted.

A TRACE is what :mod:`.tradeoff` takes.
"""

from __future__ import annotations

import click

from ...analysis.held_back import held_back, longest_waiter
from ...simulation import simulate
from ...workloads import Workload, generate
from ...workloads.generators import workload_names
from ..one_line_errors import in_one_line
from ..reports.tables import Table, show
from .traces import named_trace

COLUMNS = (
    "dispatcher", "job", "units", "wait, h", "under the reference, h", "ran before", "came before", "overtook",
    "idle", "room for it, h", "overtakers", "ended last",
)  # fmt: skip


def explained(workload: Workload, dispatchers: tuple[str, ...], predictor: str) -> list[list[str]]:
    """Return the cells of a row a dispatcher, the reference first."""
    rows, reference = list[list[str]](), dict[str, int]()
    for name in dispatchers:
        result = simulate(workload, name, predictor)
        waits = dict(zip(result.jobs["id"], result.jobs["start"] - result.jobs["submit"], strict=True))
        reference = reference or waits
        found = held_back(result, workload.machine, longest_waiter(result))
        shares = (f"{share:.0%}" for share in (found.running, found.older, found.overtaking, found.idle))
        hours = (f"{seconds / 3600:.1f}" for seconds in (found.wait, reference[found.id]))
        room = f"{found.room / 3600:.1f}"
        rows.append([f"`{name}`", found.id, f"{found.units}", *hours, *shares, room, f"{found.overtakers}", found.last])
    return rows


def workload_of(trace: str) -> Workload:
    """Return a trace, jobs of it, or a draw of a generator."""
    if trace.partition(":")[0] in workload_names():
        return generate(trace, seed=1)
    return named_trace(trace)


@click.command(help=__doc__)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("--dispatcher", "dispatchers", multiple=True, default=("easy", "lookahead"), help="The reference first.")
@click.option("--predictor", default="walltime", show_default=True)
@click.option("--jobs", type=click.IntRange(1), help="The first so many only.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@in_one_line()
def main(
    traces: tuple[str, ...], dispatchers: tuple[str, ...], predictor: str, jobs: int | None, as_markdown: bool
) -> None:
    """Print a table a trace."""
    for trace in traces:
        workload = workload_of(trace)
        rows = explained(workload if jobs is None else workload.head(jobs), dispatchers, predictor)
        show([Table(f"{trace}, {predictor}", COLUMNS, rows)], as_markdown)


if __name__ == "__main__":
    main()
