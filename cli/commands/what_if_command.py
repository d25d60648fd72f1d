"""``hpcdispatch what-if``: replay a Slurm site's recorded jobs under its own scheduler, changed, and under others."""

from dataclasses import asdict
from datetime import UTC
from pathlib import Path
from typing import Annotated

import click
import numpy as np
import pandas as pd
from click.core import ParameterSource
from rich.console import RenderableType

from ...analysis.export_doubts import (
    all_ended,
    ended_only_bias,
    of_different_days,
    of_other_sites,
    printed_at,
    unfinished,
)
from ...analysis.site_cases import SiteRecord
from ...analysis.site_scenarios import FORMS, Texts
from ...analysis.what_if import FAR, SelfCheck, WhatIf, by_class, self_check, what_if, without_untrusted
from ...base import InputError, shown
from ...base.unfinished_files import temporary_folder
from ...bench.reports.number_formats import count, percent, ratio
from ...bench.reports.tables import Table
from ...bench.reports.what_if_page import (
    answer,
    band,
    class_tables,
    furthest,
    in_a_sentence,
    losers,
    short_names,
    write_what_if,
)
from ...workloads import MachineState, Workload
from ...workloads.formats.read_log import zone_of
from ...workloads.slurm_reservations import read_slurm_reservations
from ...workloads.slurm_workload import started_at
from ..app import OUTPUT, subcommand
from ..command_errors import say
from ..output import exact, finish, headed, time
from ..parameters import option
from ..progress import spinner
from ..shared_options import dispatchers_option, seed_option, split_specs, validate
from ..site_options import FILE, SiteFiles
from ..slurm_answers import cluster, say_of_limits, say_of_reservations

#: Largest distances in seconds from the real start that count as near.
NEAR = (10, 60, 600)
#: Most records that are simulated whole by default, and of more the number of last jobs for a quick first answer.
MANY, LAST = 20_000, 1_000
#: Least relative change of the mean wait that is worth a note.
_LEAST_BIAS = 0.1
#: Left out of the first answer on many records.
_SLOW = "lookahead"
#: Schedulers beside the record and slurm in a table on a terminal.
_SIDE_BY_SIDE = 3


def _replaced(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> None:
    """Refuse ``--set``, and show the option that replaced it."""
    if value:
        now = " ".join(value)
        raise click.UsageError(f"--set has become --scenario: give --scenario {shown(now)}", ctx)


@subcommand(
    "what-if",
    "hpcdispatch what-if --config slurm.conf --sacct jobs.sacct --scenario bf_interval=60",
    "hpcdispatch what-if --config slurm.conf --sacct jobs.sacct --scenario add-nodes=8:like=c1 --scenario load=1.2",
    "hpcdispatch what-if --config site.txt --sacct jobs.sacct --dispatchers easy,hcp3 --shares 'phys=10;chem=20'",
)
@click.option("--set", multiple=True, hidden=True, expose_value=False, callback=_replaced)
def command(
    site: SiteFiles,
    dispatchers: Annotated[
        tuple[str, ...],
        dispatchers_option(
            "slurm,easy,lookahead", "Names with options; slurm has the configuration.", group="What is simulated"
        ),
    ],
    scenarios: Annotated[
        tuple[str, ...],
        option(
            f"A change of the site, several with blanks between: {', '.join(FORMS)}, or a parameter of slurm.",
            "NAME=VALUE",
            name="--scenario",
        ),
    ],
    shares: Annotated[str, option("Shares of accounts and users; 1 where not named.", "A=N;B=N", default="")],
    limits: Annotated[tuple[Path, ...], option("What sacctmgr prints of associations and QOS.", type=FILE)],
    reservations: Annotated[Path | None, option("What scontrol show reservation -o prints.", type=FILE)],
    begin: Annotated[
        int | None, option("Begin so long after the first arrival.  [default: when the first job ends]", "TIME")
    ],
    last: Annotated[
        int | None,
        option(
            f"Simulate the last N jobs; earlier ones count as past usage.  [default: all; {LAST:,} of over {MANY:,}]",
            "N",
            click.IntRange(1),
        ),
    ],
    repeats: Annotated[
        int | None,
        option(
            "Further runs with shifted submissions, for the noise.  [default: 4, 0 for many jobs]",
            "N",
            click.IntRange(0, 1000),
        ),
    ],
    seed: Annotated[int, seed_option("Of the shifts.")],
    out: Annotated[
        Path | None,
        option(
            "Make a page; its figures and tables go into a folder.",
            "FILE.html",
            click.Path(dir_okay=False, path_type=Path),
            group=OUTPUT,
        ),
    ],
) -> None:
    """Replay recorded jobs under other schedulers and on a changed site.

    The output begins with the accuracy of slurm, with the site's configuration, on the real starts. It limits the
    accuracy of all other results. The other dispatchers follow, under the site's limits and reservations, and slurm on
    the changed site.
    """
    if out is not None and out.suffix.lower() != ".html":
        raise InputError(f"--out: expected a name that ends in .html, got {out}")
    if begin is not None and last is not None:
        raise click.UsageError("--begin, --last: expected one of them, got both")
    specs = [spec for spec in split_specs(dispatchers, "dispatcher") if spec != "slurm"]
    validate(specs, ["walltime"])
    there = site.folder
    if there is not None:
        limits, reservations = limits or there.limits, reservations or there.reservations
        for name, lack in there.lacking():
            say("note", f"{there.folder} has no {name}: {lack}")
        for name in there.cut_off():
            say("note", f"{there.folder / name} ends within a line: is it cut off? What it lacks is not modelled")
    given = ";".join(map(str, limits))
    say_of_limits(given)
    texts = Texts(site.config_file, given, reservations, zone_of(site.timezone) if site.timezone else UTC)
    record = SiteRecord.read(texts, shares, site.load, begin, last or LAST, 0 if last else MANY)
    quick = begin is None and last is None and record.begin is not None
    if quick:
        standard = click.get_current_context().get_parameter_source("dispatchers") == ParameterSource.DEFAULT
        specs = [spec for spec in specs if spec != _SLOW] if standard else specs
        left_out = f"; {_SLOW} is left out for its time, --dispatchers slurm,{_SLOW} tries it" if standard else ""
        say(
            "note",
            f"{site.sacct_file} has more than {MANY:,} jobs: for a quick first answer the last {LAST:,} are simulated, "
            f"and earlier ones count as past usage; --last N or --begin 0 simulates more{left_out}",
        )
    _say_doubts(record, site)
    if repeats is None:
        repeats = 4 if len(record.workload) <= MANY and not quick else 0
    with temporary_folder() as folder:
        cases = [record.baseline(), *record.rivals(dict.fromkeys(specs))]
        for number, text in enumerate(dict.fromkeys(scenarios), 1):
            cases.append(record.scenario(text, Path(folder, str(number))))
        with spinner(f"simulating {count(len(cases), 'case')}, {count(1 + repeats, 'time')} each"):
            results = what_if(cases, NEAR, repeats, seed)
    if reservations is not None:
        say_of_reservations(read_slurm_reservations(reservations, record.site))
    for case in cases:
        for note in case.notes:
            say("note", f"{case.name}: {note}")
    for row in results[1:]:
        if row.unstarted:
            say("note", f"{row.name}: {count(row.unstarted, 'job')} without a start, not in its means")
    checks = self_check(record.workload, results)
    classes = without_untrusted(by_class(record.workload, results), checks)
    if out is not None:
        _write(record, results, classes, site, out)
    rows = [{key: value for key, value in asdict(row).items() if key not in ("waits", "repeated")} for row in results]
    finish(
        answer(results, record.workload.columns.submit.astype(np.float64), time),
        {
            "schedulers": rows,
            "classes": classes.to_dict("records"),
            "self_check": [asdict(each) for each in checks],
        },
        *_checked(checks),
        *_shown(record.workload, results, record.state, classes),
    )


def _say_doubts(record: SiteRecord, site: SiteFiles) -> None:
    """Print notes on files that do not belong together, and on records without jobs that ran or waited."""
    workload, there = record.workload, site.folder
    now = None if there is None else there.now
    last = int(workload.columns.submit.max()) + started_at(workload)
    printed = (record.texts.config.name, printed_at(record.texts.config))
    doubts = [*of_different_days([(site.sacct_file.name, last), printed, ("now", now)])]
    for doubt in (*doubts, *of_other_sites(workload, record.site, record.limits())):
        say("note", doubt)
    lacking: tuple[int, int] | None = None
    if there is not None and there.squeue is not None and there.sinfo is not None and now is not None:
        snapshot = cluster(there.squeue, there.sinfo, now)
        named = record.site.settings.get("clustername", "")
        clusters = snapshot.clusters - {named.lower()}
        if clusters and named:
            say("note", f"{there.squeue} is of cluster {', '.join(sorted(clusters))}, {record.site.source} of {named}")
        lacking = unfinished(workload, snapshot)
        if lacking[0]:
            say(
                "note",
                f"{site.sacct_file} lacks {lacking[0]:,} of the {lacking[1]:,} jobs that ran or waited in "
                f"{there.squeue}: waits in the model are too short; sacct without --state, and with -S before their "
                "submission, has them",
            )
    if (lacking is None or lacking[0]) and all_ended(workload):
        bias = ended_only_bias(record)
        if bias is not None and abs(bias.change) >= _LEAST_BIAS:
            say(
                "note",
                f"{site.sacct_file} has no job that ran or waited when it was printed. If there were some, the model "
                f"is biased: without {bias.left_out:,} such jobs at the middle of this record, the same "
                f"{bias.jobs:,} jobs wait {exact(bias.without)} in the model, with them {exact(bias.whole)}",
            )


def _write(record: SiteRecord, results: list[WhatIf], classes: pd.DataFrame, site: SiteFiles, out: Path) -> None:
    """Write the page."""
    facts = [
        ("Files", f"{site.sacct_file.name}, {site.config_file.name}"),
        ("Jobs", _begun(record.workload, record.state)),
        *(("To be known", note) for note in record.workload.provenance.notes),
        *(("To be known", f"{row.name}: {note}") for row in results for note in row.notes),
    ]
    submit = record.workload.columns.submit.astype(np.float64)
    folder = write_what_if(results, submit, classes, facts, out)
    say("note", f"{out}, with its figures and tables in {folder}")


def _checked(checks: list[SelfCheck]) -> list[RenderableType]:
    """Return the table of the model on the record, and the classes that get no advice."""
    columns = ("of", "jobs", *map(headed, ("recorded wait", "model", "spread", "deviation")), "trust")
    rows = [
        (
            f"{each.kind} {each.jobs_of}",
            f"{each.jobs:,}",
            *map(time, (each.recorded, each.model, each.spread, each.deviation)),
            "yes" if each.trusted else f"no: {each.reason}",
        )
        for each in checks
    ]
    shown: list[RenderableType] = ["Self-check: the model on the record", Table("", columns, rows).terminal()]
    if untrusted := [f"{each.kind} {each.jobs_of}" for each in checks if each.reason == FAR]:
        shown.append(f"No advice for {', '.join(untrusted)}: the model does not meet their recorded waits.")
    return [*shown, ""]


def _begun(workload: Workload, state: MachineState) -> str:
    ran = len(state.running)
    begun = f"{count(len(workload) - ran, 'job')} on {workload.machine.describe()}, from {exact(state.at)} on, when"
    return f"{begun} {count(ran, 'job')} ran; {count(len(state.ended), 'job')} before that"


def _shown(
    workload: Workload, results: list[WhatIf], state: MachineState, classes: pd.DataFrame
) -> list[RenderableType]:
    names = short_names(results)
    waits = map(headed, ("mean wait", "p95 wait"))
    columns = ("scheduler", *waits, "mean bounded slowdown", "utilization (%)", "to slurm (%)")
    rows = [
        (names[row.name], time(row.wait), time(row.wait_p95), ratio(row.slowdown), percent(row.utilization), band(row))
        for row in results
    ]
    told = [_begun(workload, state), *in_a_sentence(results[0], results[1]), *filter(None, [furthest(classes)]), ""]
    legend = [f"{short}: {name}" for name, short in names.items() if short != name]
    others = [row.name for row in results[2:]] or [""]
    tables: list[RenderableType] = []
    for first in range(0, len(others), _SIDE_BY_SIDE):  # As many as fit a terminal.
        shown_names = (results[0].name, results[1].name, *others[first : first + _SIDE_BY_SIDE])
        for table in class_tables(classes[classes["scheduler"].isin(shown_names)], names, time):
            tables += ["", table.title, table.terminal()]
    return [*told, Table("", columns, rows).terminal(), *legend, *tables, *losers(classes)]
