"""Documentation page of all reproductions, made from their stored results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path

from ...reports.tables import Table
from . import outcome_tables as tables
from .catalogue import PAPERS, entries
from .outcome import Claim
from .outcome_files import StoredOutcome, dump, find, find_trials, load

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
hpcdispatch reproduce --all --scale brief --mutate --out results
hpcdispatch reproduce --docs bench/studies/pages/reproduction.md --out results
```

`--scale smoke` takes seconds and says little, `brief` a few minutes, `small` many on two cores, `full` hours. The
table says which scale and commit made each result. Finished simulations are kept in the folder of `--out` and not
done again. A figure is written there as PNG, SVG and CSV. The numbers are JSON that is the same from run to run.
Measured times have a file of their own.

**First mark.** A claim is an inequality between means over independent samples, judged by their ratio. It **holds**
if the interval of the ratio lies on its side. It **does not hold** if the interval lies on the other.
It is **not decided** in between, with fewer than three samples, or if the ratio is within 1% of its limit. Where the
paper prints a size, a claim of that size is judged as well. A claim is *not testable here* if the simulated jobs do
not meet its preconditions. A precondition of the system under test that is not met makes a claim fail. Claims that
follow from the definitions (*by construction*) and claims that the set-up was fitted to (*calibrated*) count only if
they fail.

**Second mark.** Each study is run again with its point removed, on the same samples: models are replaced by their
lists, sequences by [90% quantile, maximum], [mean, maximum] or those of Neuroscience, RBS by EASY, evicted jobs by
random ones, SA by the user's request and by the best choice. These are its controls. A claim that holds **needs the
system** if it fails under each control that removes its point. It **holds without it** if it holds under one of them.
Otherwise that is **not decided**. Only the inequality counts under a control: a claim that fails because a
precondition of the control's system is not met says nothing.

What holds on these samples may not hold on others, and what does not may hold on the paper's. What is marked as ours
is not in the paper.

```python
>>> from hpcdispatch.bench.studies.reproductions import find
>>> find("cp2019/fig3").title
'Slowdown and wait, versions of HCP'

```
"""


def page(outcomes: Sequence[StoredOutcome]) -> str:
    """Return the page about stored results."""
    about = {entry.name: entry for entry in entries()}
    ordered = in_order(outcomes)
    rows = [
        [
            kept.name,
            about[kept.name].title,
            kept.scale,
            kept.runs or "-",
            about[kept.name].paper_runs or "-",
            tables.tally(kept.claims, kept.trials),
            kept.version.partition("commit ")[2] or kept.version or "not known",
        ]
        for kept in ordered
    ]
    columns = ["name", "what", "scale", "runs", "runs in the paper", "claims", "commit"]
    totals, failing = list[str](), list[str]()
    for kind, subject, heading in _KINDS:
        each = [(kept, claim) for kept in ordered for claim in kept.claims if kind_of(kept, claim) == kind]
        totals.append(f"{subject}: {tables.tally_all([(claim, kept.trials) for kept, claim in each])}.\n")
        fails = [
            f"- {kept.name}: {claim.text} ({claim.evidence})\n"
            for kept, claim in each
            if claim.holds is False and claim.counts
        ]
        failing += [f"{heading}:\n", "".join(fails)] if fails else []
    made = dict.fromkeys(kept.version or "an unknown version" for kept in ordered)
    parts = [_HEAD, f"Made with hpcdispatch {'; '.join(made)}.\n", *totals]
    parts += [f"## Claims that need their system\n\n{needed_systems(ordered)}"]
    parts += [Table("## Results", columns, rows, labels=7).markdown(), *failing]
    tried = [kept.trials for kept in ordered if kept.trials is not None and len(kept.trials.verdicts) > 1]
    parts += [tables.under_controls(tried).markdown()] if tried else []
    missing = [name for name in about if name not in {kept.name for kept in ordered}]
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
            parts += [tables.verdicts(kept.claims, kept.trials).markdown()] if kept.claims else []
            parts += [tables.conditions(kept.preconditions).markdown()] if kept.preconditions else []
            parts += [tables.unprinted(kept.parameters).markdown()] if kept.parameters else []
    return "\n".join(parts)


#: Kind of claims, the beginning of their total, and the heading of those that fail.
_KINDS = (
    ("paper", "Claims of the papers in their own settings", "Claims of the papers that do not hold here"),
    ("elsewhere", "The same in other settings", "Claims of the papers that do not hold in other settings"),
    ("ours", "Our own claims", "Ours that do not hold here"),
)


def kind_of(kept: StoredOutcome, claim: Claim) -> str:
    """Return whether a claim is the paper's in its own setting (``paper``), in another (``elsewhere``), or ours."""
    if kept.name in _ours() or tables.is_ours(claim):
        return "ours"
    return "elsewhere" if claim.setting else "paper"


@cache
def _ours() -> frozenset[str]:
    return frozenset(entry.name for entry in entries() if entry.ours)


def in_order(outcomes: Sequence[StoredOutcome]) -> list[StoredOutcome]:
    """Return results in the order of the catalogue. Those that it no longer has are left out."""
    place = {entry.name: number for number, entry in enumerate(entries())}
    return sorted((kept for kept in outcomes if kept.name in place), key=lambda kept: place[kept.name])


def needed_systems(outcomes: Sequence[StoredOutcome]) -> str:
    """Return the claims of the papers that need their system, by paper, and how many there are.

    Only claims in the papers' own settings are listed.
    """
    rows, counts = list[list[str]](), list[list[str]]()
    for paper, group in groupby(in_order(outcomes), key=lambda kept: kept.name.partition("/")[0]):
        own = [(kept, claim) for kept in group for claim in kept.claims if claim.counts]
        own = [(kept, claim) for kept, claim in own if kind_of(kept, claim) == "paper"]
        if not own:  # Published tables have numbers and no claims.
            continue
        held = [(kept, claim) for kept, claim in own if claim.holds]
        marks = [tables.marked(claim, kept.trials) for kept, claim in held]
        verdicts = [len(held), *(sum(claim.holds is holds for _, claim in own) for holds in (False, None))]
        numbers = [*verdicts[:1], *(marks.count(mark) for mark in (True, False, None)), *verdicts[1:]]
        counts.append([paper, *map(str, numbers)])
        for (kept, claim), mark in zip(held, marks, strict=True):
            if mark and kept.trials is not None:
                fails = ", ".join(kept.trials.removing(claim.text))
                rows.append([paper, kept.name.partition("/")[2], claim.text, claim.evidence, fails])
    heads = ["paper", "hold", "need the system", "hold without it", "not decided without it", "do not", "not decided"]
    total = ["all", *(str(sum(int(row[place]) for row in counts)) for place in range(1, len(heads)))]
    counted = Table("", heads, [*counts, total], labels=1)
    listed = Table("", ["paper", "of", "claim that needs its system", "measured", "fails where"], rows, labels=5)
    return "\n".join(part.markdown().lstrip("\n") for part in (counted, listed) if part.rows)


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
    outcomes = {kept.name: kept for kept in (load(data) if data.is_file() else ())}
    for entry in entries():
        if results is None:
            continue
        kept = find(results, entry.name) or outcomes.get(entry.name)
        trials = find_trials(results, entry.name)
        if kept is not None:
            known = outcomes[entry.name].trials if entry.name in outcomes else None
            outcomes[entry.name] = replace(kept, trials=trials or known)
    data.write_text(dump(list(outcomes.values())), encoding="utf-8")
    path.write_text(page(list(outcomes.values())), encoding="utf-8")
    return len(outcomes)
