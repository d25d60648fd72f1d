"""``hpcdispatch campaign``: simulate the combinations in a file, each once, and keep the results."""

import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import click

from ...analysis.conclusions import Daily
from ...base import InputError
from ...bench.campaigns.dask_cluster import TLS, connect
from ...bench.campaigns.execution import (
    CampaignInterrupted,
    CampaignOutcome,
    CampaignPlan,
    Store,
    WorkerError,
    plan_campaign,
    run_campaign,
)
from ...bench.campaigns.metrics_table import campaign_table, days_of, write_table
from ...bench.campaigns.store import TRACES
from ...bench.reports.number_formats import count
from ...bench.reports.verdict import left_out, verdict
from ...simulation.metrics import without_ends
from ...workloads import TraceWarning
from ..app import OUTPUT, subcommand
from ..command_errors import InterruptedRunError, RunFailedError, say
from ..output import finish, time
from ..parameters import argument, option
from ..progress import JobBar, spinner
from ..shared_options import NoCacheOption, WorkersOption, cores, say_few_runs

_FILE = click.Path(path_type=Path)
#: With at most this many cells, the answer is read from the store.
MOST_READ = 200


@subcommand(
    "campaign",
    "hpcdispatch campaign campaign.toml --out store",
    "hpcdispatch campaign campaign.toml --out store --table campaign.csv",
    "hpcdispatch campaign campaign.toml --out store --cluster slurm --workers 20",
)
def command(
    file: Annotated[Path, argument()],
    out: Annotated[Path, option("The store: a folder that campaigns may share.", "DIR", group="Simulation")],
    workers: WorkersOption,
    retry: Annotated[bool, option("Try the cells again that failed before.")],
    verify: Annotated[bool, option("Check every file of the store and simulate the damaged cells.")],
    no_cache: NoCacheOption,
    cluster: Annotated[
        str | None,
        option(
            "Run on Dask: tcp://HOST:PORT or tls://HOST:PORT of its scheduler, or slurm.", "ADDRESS", group="Cluster"
        ),
    ],
    tls_ca_file: Annotated[
        Path | None,
        option("The authority's certificate, for tls:// and slurm.  [default for slurm: one made for this run]", "PEM"),
    ],
    tls_cert: Annotated[Path | None, option("One's own certificate.", "PEM")],
    tls_key: Annotated[Path | None, option("Its key.", "PEM")],
    interface: Annotated[
        str | None,
        option(
            "With slurm, the network interface to listen on, as ib0.  [default: that of this machine's address]", "NAME"
        ),
    ],
    insecure: Annotated[
        bool, option("Take plain TCP: every process that reaches the scheduler can then run commands as you.")
    ],
    table: Annotated[Path | None, option("Write the metrics of every finished cell.", "CSV", group=OUTPUT)],
) -> None:
    """Simulate every combination of workloads, dispatchers, predictors, options and seeds in a file.

    FILE is TOML; docs/how-to/campaigns.md describes it. Each combination is a cell. A finished cell stays in the store
    under a hash of all its settings, and is never simulated twice. After an interrupt or a kill, the same command
    continues.

    A failed cell is kept with its error, and the other cells continue. Only --retry simulates it again. Damaged cells
    are listed and simulated again.
    """
    tls = TLS(tls_ca_file, tls_cert, tls_key)
    if tls and cluster is None:
        raise InputError("--tls-ca-file: expected with --cluster only")
    if cluster is None and (interface or insecure):
        raise InputError(f"{'--interface' if interface else '--insecure'}: expected with --cluster only")
    if table is not None and (table.is_dir() or not table.absolute().parent.is_dir()):
        raise InputError(f"--table {table}: expected the name of a file in a folder that exists")
    store = Store(out)
    store.check_schema()
    with warnings.catch_warnings(record=True) as caught, spinner(f"reading the workloads of {file}"):
        warnings.simplefilter("always", TraceWarning)
        plan = plan_campaign(file, None if no_cache else out / TRACES)
    for warning in caught:
        say("warning", warning.message)
    say_few_runs(dict.fromkeys(cell.predictor for cell in plan.cells))
    store.open()  # before a cluster is contacted
    with ExitStack() as stack:
        try:
            client = None
            if cluster is not None:
                with spinner(f"connecting to {cluster}"):
                    client = stack.enter_context(
                        connect(cluster, tls, workers or 1, folder=out, interface=interface, insecure=insecure)
                    )
            bar = stack.enter_context(JobBar("checking the store"))
            outcome = run_campaign(
                plan,
                store,
                workers=workers or cores(),
                cluster=client,
                retry=retry,
                verify=verify,
                isolate=True,
                progress=bar.show,
            )
            interrupted = False
        except CampaignInterrupted as error:
            outcome, interrupted = error.outcome, True
        except (OSError, WorkerError):
            say("note", f"stopped; what was finished is kept in {out}, and the same command goes on")
            raise
    _report(plan, outcome, store, out)
    if table is not None:
        write_table(plan, store, table)
    _end(outcome, interrupted=interrupted)


def _report(plan: CampaignPlan, outcome: CampaignOutcome, store: Store, out: Path) -> None:
    """Print the results of the cells."""
    for key, reason, cell in outcome.damaged:
        name = f"{out / 'cells' / key[:2] / key}: {reason}"
        what = f"cell {cell.label}; simulated again" if cell else "of another campaign, whose next run mends it"
        say("warning", f"{name} ({what})")
    failed = [*outcome.failed_before, *outcome.failed]
    fields = {
        "campaign": plan.name,
        "planned": outcome.planned,
        "done": len(outcome.done),
        "reused": len(outcome.reused),
        "failed": len(outcome.failed),
        "failed_before": len(outcome.failed_before),
        "damaged": [key for key, _, _ in outcome.damaged],
        "missing": outcome.missing,
        "seconds": outcome.seconds,
        "failures": [
            {"cell": cell.label, "key": cell.key, "type": error.type, "message": error.message}
            for cell, error in failed
        ],
    }
    numbers = f"{len(outcome.done)} done, {len(outcome.reused)} reused, {len(failed)} failed"
    left = f", {outcome.missing} to do" if outcome.missing else ""
    told = f"{plan.name}: {count(outcome.planned, 'cell')}, {numbers}{left} ({outcome.seconds:,.1f} s)"
    finish(_answer(plan, store, out), fields, f"{told}\nin {out}")


def _answer(plan: CampaignPlan, store: Store, out: Path) -> str:
    """Return the dispatcher with the least mean wait, against easy. With many cells, name the report command."""
    kept = sum(store.has(cell.key) for cell in plan.rows)
    if not kept or kept > MOST_READ:
        return f"{count(kept, 'cell')} finished; 'hpcdispatch report {out}' compares them."
    table = campaign_table(plan, store)
    varied = [name for name in ("predictor", "overrun", "same_instant") if table[name].nunique() > 1]
    table["contender"] = table[["dispatcher", *varied]].agg(", ".join, axis=1)
    days = dict[tuple[str, str, int], dict[str, Daily]]()
    finished = [cell for cell in plan.rows if store.has(cell.key)]
    for cell, contender in zip(finished, table["contender"], strict=True):
        result = store.result(cell)
        days[cell.workload, contender, cell.seed] = days_of(result, without_ends(result, cell.warm_up, cell.cool_down))
    runs = table.assign(sample=table["seed"], basis=table["samples"])
    left = list(dict.fromkeys(zip(table["warm_up"], table["cool_down"], strict=True)))
    return left_out(verdict(runs, show=time, days=days), *left[0] if len(left) == 1 else ("", ""))


def _end(outcome: CampaignOutcome, *, interrupted: bool) -> None:
    """Print the failures, and end with their exit code."""
    for cell, error in outcome.failed_before:
        say("note", f"failed before, --retry tries again: {cell.label}: {error}")
    lines = [f"{cell.label}: {error}" for cell, error in outcome.failed]
    for line in lines if interrupted else lines[:-1]:
        say("error", line)
    if interrupted:
        kept = len(outcome.done) + len(outcome.reused)
        raise InterruptedRunError(f"{kept} of {outcome.planned} cells are in the store; the same command goes on")
    if lines:
        raise RunFailedError(lines[-1], outcome.failed[-1][1].traceback)
    if outcome.failed_before:
        raise RunFailedError(f"{count(len(outcome.failed_before), 'cell')} failed before and not tried again")
