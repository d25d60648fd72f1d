"""Documentation page of all reproductions, made from their stored results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from ...reports.tables import Table
from . import outcome_tables as tables
from .catalogue import PAPERS, entries
from .controls import Trials
from .outcome_files import Kept, dump, find, find_trials, load

#: The page of the repository.
PAGE = Path(__file__).parents[1] / "pages" / "reproduction.md"
_HEAD = """# Reproductions

<!-- Written by `hpcdispatch reproduce --docs`; changes are lost. -->

Tables and figures of five papers, made again: what is measured beside what the paper has, and which of its claims hold.

```
hpcdispatch reproduce --list
hpcdispatch reproduce cp2019/fig3 --scale small --out results
hpcdispatch reproduce --all --scale small --out results
hpcdispatch reproduce icpp2019/fig2 --seeds 10 --seed 100 --out results
hpcdispatch reproduce --all --mutate --out results
hpcdispatch reproduce --docs bench/studies/pages/reproduction.md --out results
```

`--scale smoke` takes seconds and says little, `small` minutes on two cores, `full` hours; the table says which.
Finished simulations are kept in the folder of `--out` and not done again. A figure is written there as PNG, SVG and
CSV. The numbers are JSON that is the same from run to run. Measured times have a file of their own.

A claim is an inequality between means over independent samples, judged by their ratio. It **holds** if the 95%
bootstrap interval of the ratio lies on its side. It **does not hold** if the interval lies on the other. It is **not
decided** in between, or with fewer than three samples. Only what can fail is counted. A claim that follows from the
definitions is marked *by construction*, and one that the set-up was fitted to *calibrated*. It is *not testable here*
if the simulated jobs do not meet its preconditions. A precondition of the system under test that is not met makes a
claim fail. What holds on these samples may not hold on others, and what does not may hold on the paper's. What is
marked as ours is not in the paper.

Each study is run again with its system under test replaced by a plain one, such as FCFS. These are its controls. A
claim that holds of every control as well is *not informative* and does not count. A claim notices a control if it holds
of the system, and not of the control. Most controls have a smaller scale than the results; the table of controls says
which. If its samples do not decide of the system, a control is noticed only by a claim that it decidedly fails. Where
`none decides`, the samples are too few to tell. `--mutate` prints the claims that notice each control.

```python
>>> from hpcdispatch.bench.studies.reproductions import find
>>> find("cp2019/fig3").title
'Slowdown and wait, versions of HCP'

```
"""


def page(found: Sequence[Kept]) -> str:
    """Return the page about stored results."""
    about = {entry.name: entry for entry in entries()}
    place = list(about)
    ordered = sorted(found, key=lambda kept: place.index(kept.name))
    rows = [
        [
            kept.name,
            about[kept.name].title,
            kept.scale,
            kept.runs or "-",
            about[kept.name].paper_runs or "-",
            tables.tally(kept.claims, kept.trials),
            tables.noticing([(claim, kept.trials) for claim in kept.claims]),
        ]
        for kept in ordered
    ]
    columns = ["name", "what", "scale", "runs", "runs in the paper", "claims", "notice a control"]
    totals, failing = list[str](), list[str]()
    for ours, subject, heading in (
        (False, "Tested claims of the papers", "Claims of the papers that do not hold here"),
        (True, "Our own tested claims", "Ours that do not hold here"),
    ):
        each = [
            (kept, claim)
            for kept in ordered
            for claim in kept.claims
            if (about[kept.name].ours or tables.is_ours(claim)) is ours
        ]
        judged = [(claim, kept.trials) for kept, claim in each]
        told = f"{subject}: {tables.tally_all(judged)}"
        totals.append(f"{told}. Of those that hold, {tables.noticing(judged)} notice a control.\n")
        fails = [
            f"- {kept.name}: {claim.text} ({claim.evidence})\n"
            for kept, claim in each
            if claim.holds is False and claim.counts
        ]
        failing += [f"{heading}:\n", "".join(fails)] if fails else []
    parts = [_HEAD, *totals, Table("## Results", columns, rows, labels=7).markdown(), *failing]
    tried = [kept.trials for kept in ordered if kept.trials is not None]
    parts += [tables.under_controls(tried).markdown()] if tried else []
    missing = [name for name in place if name not in {kept.name for kept in ordered}]
    if missing:
        parts.append(f"Not on this page yet: {', '.join(missing)}.\n")
    for paper, group in groupby(ordered, key=lambda kept: kept.name.partition("/")[0]):
        several = list(group)
        shared = [note for note in several[0].notes if all(note in kept.notes for kept in several)]
        parts += [f"## {PAPERS[paper]}\n", *(f"{note}\n" for note in shared)]
        for kept in several:
            parts.append(f"### {kept.name}: {about[kept.name].title}\n")
            parts += [f"{note}\n" for note in kept.notes if note not in shared]
            parts += [tables.numbers(kept.rows).markdown()] if kept.rows else []
            parts += [tables.verdicts(kept.claims, kept.trials).markdown()]
            parts += [tables.conditions(kept.preconditions).markdown()] if kept.preconditions else []
            parts += [tables.unprinted(kept.parameters).markdown()] if kept.parameters else []
    return "\n".join(parts)


def trials_on_page() -> dict[str, Trials]:
    """Return the controls on the repository's page, by study."""
    data = PAGE.with_suffix(".json")
    return {kept.name: kept.trials for kept in (load(data) if data.is_file() else ()) if kept.trials is not None}


def write_page(path: Path, results: Path | None) -> int:
    """Write the page, and its source results beside it. Return how many results there are.

    Parameters
    ----------
    path
        The page. Its results are in a file with the suffix ``.json``.
    results
        A folder of results that replace those with the same names. ``None`` for none.
    """
    data = path.with_suffix(".json")
    found = {kept.name: kept for kept in (load(data) if data.is_file() else ())}
    for entry in entries():
        if results is None:
            continue
        kept = find(results, entry.name) or found.get(entry.name)
        trials = find_trials(results, entry.name)
        if kept is not None:
            known = found[entry.name].trials if entry.name in found else None
            found[entry.name] = replace(kept, trials=trials or known)
    data.write_text(dump(list(found.values())), encoding="utf-8")
    path.write_text(page(list(found.values())), encoding="utf-8")
    return len(found)
