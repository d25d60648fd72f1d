"""What a shell proposes while a command is typed: names of parts and of published traces, and files."""

from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

from ..base.installed import entry_points_of

#: The variable by which a shell asks for proposals.
ASKED = "_HPCDISPATCH_COMPLETE"

Propose = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def part_names(*kinds: str, several: bool = False) -> Propose:
    """Return a function that proposes the names of parts.

    Parameters
    ----------
    kinds
        Last parts of entry-point groups, such as ``dispatchers``.
    several
        Whether the value is a list with commas. Then the last item is completed.
    """

    def propose(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        first, comma, last = incomplete.rpartition(",") if several else ("", "", incomplete)
        return [CompletionItem(first + comma + name) for name in _names(*kinds) if name.startswith(last)]

    return propose


def workload_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Propose generators and published traces, and files. A shell shows the files if no name begins like the text."""
    # Each key press pays for what is imported: a command's name is proposed without these.
    from ..workloads.fetching import TRACES  # noqa: PLC0415
    from ..workloads.sources import EXAMPLE  # noqa: PLC0415

    names = [name for name in (EXAMPLE, *_names("workloads"), *TRACES) if name.startswith(incomplete)]
    return [*map(CompletionItem, names)] or [CompletionItem(incomplete, type="file")]


def _names(*kinds: str) -> list[str]:
    return sorted({name for kind in kinds for name in entry_points_of(f"hpcdispatch.{kind}")})
