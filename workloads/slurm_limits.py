"""Limits of associations and of qualities of service, as ``sacctmgr`` prints them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from ..base import InputError
from ..base.checks import MOST_PROCESSORS, shown
from ..base.files import read_bounded

#: The quality of service of jobs that name none.
NORMAL = "normal"
_MOST_BYTES = 1 << 24
#: The first column of each table.
_ASSOCIATIONS, _QUALITIES = "Account", "Name"
#: Columns that are modelled; others must be empty, but for those that hold no job back.
_LIMITS = ("GrpJobs", "GrpTRES", "MaxJobs", "MaxJobsPU", "MaxTRESPU")
_HARMLESS = {
    "Account", "User", "ParentName", "Par Name", "Name", "Cluster", "Partition", "Share", "Priority", "QOS", "Def QOS",
    "GraceTime", "PreemptMode", "UsageFactor", "ID", "Descr",
}  # fmt: skip


class Most(NamedTuple):
    """How many jobs may run at a time, and with how many CPUs in all; ``None``: no limit."""

    jobs: int | None = None
    cpus: int | None = None

    def over(self, other: Most) -> Most:
        """Return these limits, those of another where there are none."""
        return Most(*(own if own is not None else less for own, less in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class SlurmLimits:
    """Who may run how much at a time.

    Attributes
    ----------
    groups
        Of all jobs of an account or, with a user, of an association (``GrpJobs``, ``GrpTRES``), by account and user.
    parents
        The account above each.
    users
        Of each user in an account (``MaxJobs``), by account and user.
    quality, quality_users
        Of a quality of service, in all and for each user, by its name.
    """

    groups: Mapping[tuple[str, str], Most] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    users: Mapping[tuple[str, str], Most] = field(default_factory=dict)
    quality: Mapping[str, Most] = field(default_factory=dict)
    quality_users: Mapping[str, Most] = field(default_factory=dict)


def read_slurm_limits(path: str | PathLike[str]) -> SlurmLimits:
    """Read what ``sacctmgr -P show assoc`` and ``sacctmgr -P show qos`` print, in one file.

    Raises
    ------
    InputError
        For a line without a header, a number that is none, or a limit that is not modelled, with file and line; if
        there is nothing in it.
    """
    found = SlurmLimits({}, {}, {}, {}, {})
    for where, row in _rows(Path(path)):
        for name, value in row.items():
            if value and name not in _HARMLESS and name not in _LIMITS:
                raise InputError(f"{where}: expected limits among {', '.join(_LIMITS)}, got {name}={shown(value)}")
        group = Most(_whole(row.get("GrpJobs", ""), where), _cpus(row.get("GrpTRES", ""), where))
        if _ASSOCIATIONS in row:
            key = row[_ASSOCIATIONS], row.get("User", "")
            found.groups[key] = group  # type: ignore[index]
            found.users[key] = Most(_whole(row.get("MaxJobs", ""), where))  # type: ignore[index]
            if not key[1]:
                found.parents[key[0]] = row.get("ParentName", row.get("Par Name", ""))  # type: ignore[index]
        else:
            each = Most(_whole(row.get("MaxJobsPU", ""), where), _cpus(row.get("MaxTRESPU", ""), where))
            found.quality[row[_QUALITIES]] = group  # type: ignore[index]
            found.quality_users[row[_QUALITIES]] = each  # type: ignore[index]
    if not found.groups and not found.quality:
        raise InputError(f"{path}: expected what sacctmgr -P show assoc or qos prints, got no line of it")
    return found


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the lines of all tables, each with where it stands."""
    header: list[str] = []
    text = read_bounded(path, "limits of Slurm", _MOST_BYTES).decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), 1):
        cells, where = [cell.strip() for cell in line.split("|")], f"{path}:{number}"
        if {_ASSOCIATIONS, "User"} <= set(cells) or cells[0] == _QUALITIES:
            header = cells
        elif line.strip():
            if not header:
                raise InputError(
                    f"{where}: expected the first line of sacctmgr -P show assoc or qos, got {shown(line)}"
                )
            if len(cells) != len(header):
                raise InputError(f"{where}: expected {len(header)} fields of sacctmgr -P, got {len(cells)}")
            yield where, dict(zip(header, cells, strict=True))


def _whole(text: str, where: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or len(text) > len(str(MOST_PROCESSORS)):
        raise InputError(f"{where}: expected a whole number up to {MOST_PROCESSORS}, got {shown(text)}")
    return int(text)


def _cpus(text: str, where: str) -> int | None:
    """Return the CPUs of a list such as ``cpu=16``."""
    if not text:
        return None
    found = re.fullmatch(r"cpu=(\d{1,15})", text)
    if found is None:
        raise InputError(f"{where}: expected cpu=N, got {shown(text)}: other limits are not modelled")
    return int(found[1])
