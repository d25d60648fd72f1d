"""The page of the documentation about all reproductions, made from their kept results."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from ...reports.tables import Table
from .catalogue import PAPERS, entries
from .outcome_files import Kept, dump, find, load
from .outcome_tables import conditions, numbers, tally, unprinted, verdicts

_HEAD = """# Reproductions

<!-- Written by `hpcdispatch reproduce --docs`; changes are lost. -->

Tables and figures of five papers, made again: what is measured beside what the paper has, and which of its claims hold.

```
hpcdispatch reproduce --list
hpcdispatch reproduce cp2019/fig3 --scale small --out results
hpcdispatch reproduce --all --scale small --out results
hpcdispatch reproduce --docs bench/studies/pages/reproduction.md --out results
```

`--scale smoke` takes seconds and says little, `small` minutes on two cores, `full` hours; the table says which.
Finished simulations are kept in the folder of `--out` and not done again. A figure is written there as PNG, SVG and
CSV, the numbers as JSON that is the same from run to run; measured times have a file of their own.

A claim is an inequality between means over independent samples, judged by their ratio: it **holds** if the 95%
bootstrap interval of the ratio lies on its side, it **does not hold** if the interval lies on the other, and is **not
decided** in between, or with fewer than three samples. Only what can fail is counted. A claim that follows from the
definitions stands there as *by construction*, one that the set-up was fitted to as *calibrated*, and one whose
preconditions the simulated jobs do not meet as *not testable here*. What holds on these samples may not hold on others,
and what does not may hold on the paper's. What is marked as ours is not in the paper.

```python
>>> from hpcdispatch.bench.studies.reproductions import find
>>> find("cp2019/fig3").title
'Slowdown and wait, versions of HCP'

```
"""


def page(found: Sequence[Kept]) -> str:
    """Return the page about kept results."""
    titles = {entry.name: entry.title for entry in entries()}
    place = list(titles)
    ordered = sorted(found, key=lambda kept: place.index(kept.name))
    rows = [[kept.name, titles[kept.name], kept.scale, tally(kept.claims)] for kept in ordered]
    every = [claim for kept in ordered for claim in kept.claims]
    parts = [_HEAD, f"Tested claims of all papers: {tally(every)}.\n"]
    parts.append(Table("## Results", ["name", "what", "scale", "claims"], rows, labels=4).markdown())
    failing = [f"- {kept.name}: {claim.text} ({claim.evidence})\n"
               for kept in ordered for claim in kept.claims if claim.holds is False and claim.counts]  # fmt: skip
    if failing:
        parts += ["Claims that do not hold here:\n", "".join(failing)]
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
            parts += [verdicts(kept.claims).markdown()]
            parts += [conditions(kept.preconditions).markdown()] if kept.preconditions else []
            parts += [unprinted(kept.parameters).markdown()] if kept.parameters else []
    return "\n".join(parts)


def write_page(path: Path, results: Path | None) -> int:
    """Write the page, and beside it the results it is made from; return how many there are.

    Parameters
    ----------
    path
        The page; its results are in a file with the suffix ``.json``.
    results
        A folder of results, which replace those of the same names; ``None`` for none.
    """
    data = path.with_suffix(".json")
    found = {kept.name: kept for kept in (load(data) if data.is_file() else ())}
    for entry in entries():
        kept = None if results is None else find(results, entry.name)
        if kept is not None:
            found[entry.name] = kept
    data.write_text(dump(list(found.values())), encoding="utf-8")
    path.write_text(page(list(found.values())), encoding="utf-8")
    return len(found)
