"""``hpcdispatch what-if``: a Slurm site's recorded jobs under its own scheduler, changed, and under others."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click
import numpy as np
from rich.console import RenderableType

from ...analysis.what_if import WhatIf, what_if
from ...base import InputError
from ...base.checks import shown
from ...bench.reports.number_formats import count, fixed, ratio
from ...bench.reports.tables import Table
from ...bench.reports.what_if_page import answer, in_a_sentence, write_what_if
from ...dispatchers import Dispatcher, Slurm, create_dispatcher
from ...workloads import MachineState, Workload, recorded_state
from ...workloads.slurm_workload import started_at
from ..app import OUTPUT, options, subcommand
from ..command_errors import say
from ..durations import Duration
from ..output import exact, finish, headed, time
from ..progress import spinner
from ..shared_options import dispatchers_option, split_specs, validate
from ..site_options import FILE, SiteFiles, site_options

#: Seconds within which a start counts as met.
NEAR = (10, 60, 600)


@subcommand(
    "what-if",
    "hpcdispatch what-if --config slurm.conf --sacct jobs.sacct --set bf_interval=60",
    "hpcdispatch what-if --config site.txt --sacct jobs.sacct --dispatchers easy,hcp3 --shares 'phys=10;chem=20'",
)
@site_options
@options(
    "What is simulated",
    dispatchers_option("slurm,easy,lookahead", "Names with options; slurm has the configuration."),
    click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="A parameter of slurm, changed."),
    click.option("--shares", default="", metavar="A=N;B=N", help="Shares of accounts and users; 1 where not named."),
    click.option("--limits", type=FILE, metavar="FILE", help="What sacctmgr prints of associations and QOS."),
    click.option("--reservations", type=FILE, metavar="FILE", help="What scontrol show reservation -o prints."),
    click.option(
        "--begin",
        type=Duration(),
        metavar="TIME",
        help="Begin so long after the first arrival.  [default: when the first job ends]",
    ),
)
@options(
    OUTPUT,
    click.option(
        "--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.html",
        help="Make a page; its figures and tables go into a folder.",
    ),
)  # fmt: skip
def command(
    site: SiteFiles,
    dispatchers: tuple[str, ...],
    changes: tuple[str, ...],
    shares: str,
    limits: Path | None,
    reservations: Path | None,
    begin: int | None,
    out: Path | None,
) -> None:
    """Say how recorded jobs would have fared.

    First how well slurm, with the site's configuration, meets the starts that really happened: what it says of changes
    is worth as much as that. Then the other dispatchers, and slurm with what --set changes. The simulation begins with
    what ran and what waited at its beginning; what ended before is the past usage of users.
    """
    if out is not None and out.suffix.lower() != ".html":
        raise InputError(f"--out: expected a name that ends in .html, got {out}")
    workload, state = recorded_state(site.load(), begin)
    own = {"config": str(site.config), "shares": shares, "limits": str(limits or "")}
    own["reservations"] = str(reservations or "")
    policies = _policies(workload, own, split_specs(dispatchers, "dispatcher"), changes)
    with spinner(f"simulating {count(len(policies), 'scheduler')}"):
        found = what_if(workload, policies, NEAR, state)
    if out is not None:
        _write(workload, found, state, site, out)
    rows = [{key: value for key, value in asdict(row).items() if key != "waits"} for row in found]
    finish(answer(found, time), {"schedulers": rows}, *_shown(workload, found, state))


def _policies(
    workload: Workload, own: dict[str, str], specs: list[str], changes: tuple[str, ...]
) -> dict[str, str | Dispatcher]:
    """Return the dispatchers by name: slurm as the site has it first."""
    site = Slurm(**own, epoch=started_at(workload))
    policies: dict[str, str | Dispatcher] = {"slurm": site}
    validate(specs, ["walltime"])
    for spec in specs:
        made = create_dispatcher(spec)
        policies[spec] = _with_site(made, site, spec) if isinstance(made, Slurm) else spec
    for change in changes:
        if "=" not in change:
            raise InputError(f"--set: expected KEY=VALUE, as in bf_interval=60, got {shown(change)}")
    if changes:
        spec = f"slurm:{','.join(changes)}"
        validate([spec], ["walltime"])
        policies[spec] = _with_site(create_dispatcher(spec), site, spec)
    return policies


def _with_site(made: Dispatcher, site: Slurm, spec: str) -> Dispatcher:
    """Return slurm as it was asked for, with the configuration of the site where nothing else is said."""
    if not isinstance(made, Slurm):
        raise InputError(f"--set: expected parameters of slurm, got {spec!r}")
    return Slurm(**(site.given | made.given))


def _write(workload: Workload, found: list[WhatIf], state: MachineState, site: SiteFiles, out: Path) -> None:
    """Write the page."""
    facts = [
        ("Files", f"{site.sacct.name}, {site.config.name}"),
        ("Jobs", _begun(workload, state)),
        *(("To be known", note) for note in workload.provenance.notes),
    ]
    submit = workload.columns.submit.astype(np.float64)
    folder = write_what_if(found, submit, facts, out)
    say("note", f"{out}, with its figures and tables in {folder}")


def _begun(workload: Workload, state: MachineState) -> str:
    ran = len(state.running)
    begun = f"{count(len(workload) - ran, 'job')} on {workload.machine.describe()}, from {exact(state.at)} on, when"
    return f"{begun} {count(ran, 'job')} ran; {count(len(state.ended), 'job')} before that"


def _shown(workload: Workload, found: list[WhatIf], state: MachineState) -> list[RenderableType]:
    waits = map(headed, ("mean wait", "p95 wait", "off the record"))
    columns = ("scheduler", *waits, "mean bounded slowdown", "correlation")
    rows = [
        (row.name, time(row.wait), time(row.wait_p95), time(row.deviation), ratio(row.slowdown),
         fixed(row.correlation, 2))
        for row in found
    ]  # fmt: skip
    told = [_begun(workload, state), *in_a_sentence(found[0], found[1]), ""]
    return [*told, Table("", columns, rows).terminal()]
