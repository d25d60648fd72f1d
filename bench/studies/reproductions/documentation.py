"""Documentation page of all reproductions, made from their stored results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from ...reports.tables import Table
from .catalogue import PAPERS, entries
from .controls import Trials
from .outcome import Claim
from .outcome_files import Kept, dump, find, find_trials, load
from .outcome_tables import conditions, is_ours, noticing, numbers, tally, tally_all, unprinted, verdicts

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
    titles = {entry.name: entry.title for entry in entries()}
    place = list(titles)
    ordered = sorted(found, key=lambda kept: place.index(kept.name))
    papers = {entry.name: entry for entry in entries()}
    rows = [[kept.name, titles[kept.name], kept.scale, kept.runs or "-", papers[kept.name].paper_runs or "-",
             tally(kept.claims, kept.trials), noticing([(claim, kept.trials) for claim in kept.claims])]
            for kept in ordered]  # fmt: skip
    by_source: dict[bool, list[tuple[str, Claim, Trials | None]]] = {False: [], True: []}
    for kept in ordered:
        for claim in kept.claims:
            by_source[papers[kept.name].ours or is_ours(claim)].append((kept.name, claim, kept.trials))
    parts = [_HEAD]
    for ours, subject in ((False, "Tested claims of the papers"), (True, "Our own tested claims")):
        judged = [(claim, trials) for _, claim, trials in by_source[ours]]
        parts.append(f"{subject}: {tally_all(judged)}. Of those that hold, {noticing(judged)} notice a control.\n")
    columns = ["name", "what", "scale", "runs", "runs in the paper", "claims", "notice a control"]
    parts.append(Table("## Results", columns, rows, labels=7).markdown())
    for ours, heading in (
        (False, "Claims of the papers that do not hold here:"),
        (True, "Ours that do not hold here:"),
    ):
        failing = [f"- {name}: {claim.text} ({claim.evidence})\n"
                   for name, claim, _ in by_source[ours] if claim.holds is False and claim.counts]  # fmt: skip
        if failing:
            parts += [f"{heading}\n", "".join(failing)]
    parts += _tried(ordered)
    missing = [name for name in titles if name not in {kept.name for kept in ordered}]
    if missing:
        parts.append(f"Not on this page yet: {', '.join(missing)}.\n")
    for paper, group in groupby(ordered, key=lambda kept: kept.name.partition("/")[0]):
        several = list(group)
        shared = [note for note in several[0].notes if all(note in kept.notes for kept in several)]
        parts += [f"## {PAPERS[paper]}\n", *(f"{note}\n" for note in shared)]
        for kept in several:
            parts.append(f"### {kept.name}: {titles[kept.name]}\n")
            parts += [f"{note}\n" for note in kept.notes if note not in shared]
            parts += [numbers(kept.rows).markdown()] if kept.rows else []
            parts += [verdicts(kept.claims, kept.trials).markdown()]
            parts += [conditions(kept.preconditions).markdown()] if kept.preconditions else []
            parts += [unprinted(kept.parameters).markdown()] if kept.parameters else []
    return "\n".join(parts)


def trials_on_page() -> dict[str, Trials]:
    """Return the controls on the repository's page, by study."""
    data = PAGE.with_suffix(".json")
    return {kept.name: kept.trials for kept in (load(data) if data.is_file() else ()) if kept.trials is not None}


def _tried(ordered: Sequence[Kept]) -> list[str]:
    """Return the table of the controls."""
    rows = []
    for trials in [kept.trials for kept in ordered if kept.trials is not None]:
        held = trials.held()
        for control in [name for name in trials.verdicts if name]:
            noticed = sum(control in trials.notices(text) for text in held)
            rows.append([trials.name, control, trials.scale, trials.runs or "-", str(len(held)), str(noticed)])
    columns = ["name", "what replaces the system", "scale", "runs", "claims that hold of the system", "notice it"]
    return [Table("## Controls", columns, rows, labels=4).markdown()] if rows else []


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
        kept, trials = find(results, entry.name) or found.get(entry.name), find_trials(results, entry.name)
        if kept is not None:
            known = found[entry.name].trials if entry.name in found else None
            found[entry.name] = replace(kept, trials=trials or known)
    data.write_text(dump(list(found.values())), encoding="utf-8")
    path.write_text(page(list(found.values())), encoding="utf-8")
    return len(found)
