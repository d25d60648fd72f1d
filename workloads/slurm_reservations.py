"""Read advance reservations from ``scontrol show reservation -o``."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ..base import InputError, read_bounded, shown
from .slurm_conf import SlurmSite, expand_names

_MOST_BYTES = 1 << 24
_FIELD = re.compile(r"(?<!\S)(\w+)=(\S*)")
#: Flags that change neither the reserved times nor the jobs; others are refused.
_KNOWN = {"MAINT", "IGNORE_JOBS", "SPEC_NODES", "ALL_NODES", "ANY_NODES", "OVERLAP", "NO_HOLD_JOBS_AFTER_END"}


@dataclass(frozen=True, slots=True)
class SlurmReservation:
    """Nodes that only some jobs may use for some time.

    Attributes
    ----------
    name
        Its name for jobs.
    start, end
        Seconds since 1970.
    nodes
        As places in the site's.
    """

    name: str
    start: int
    end: int
    nodes: tuple[int, ...]


def read_slurm_reservations(path: str | PathLike[str], site: SlurmSite) -> tuple[SlurmReservation, ...]:
    """Read the output of ``scontrol show reservation -o``, with ``SLURM_TIME_FORMAT=%s`` in its environment, or --json.

    Raises
    ------
    InputError
        For a line that is no reservation of whole nodes of the site. For a time that is not seconds since 1970, or an
        unsupported flag. The message has file and line. Also if there is no content.
    """
    places = {name: place for place, name in enumerate(site.nodes)}
    text = read_bounded(Path(path), "reservations of Slurm", _MOST_BYTES).decode("utf-8", "replace")
    if not text.strip():
        raise InputError(f"{path}: expected what scontrol show reservation -o prints, got blank lines")
    if text.lstrip().startswith("{"):
        return tuple(_reservation(fields, places, site, where) for where, fields in _entries(text, str(path)))
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and line.strip() != "No reservations in the system":
            found.append(_reservation(dict(_FIELD.findall(line)), places, site, f"{path}:{number}"))
    return tuple(found)


def _entries(text: str, path: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the fields from ``scontrol show reservation --json``, each with its place."""
    try:
        read = json.loads(text)
    except ValueError as error:
        raise InputError(
            f"{path}: expected JSON of scontrol show reservation, got an error: {str(error)[:80]}"
        ) from None
    entries = read.get("reservations")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(
            f"{path}: expected a list 'reservations', as scontrol show reservation --json prints it, got none"
        )

    def number(value: Any) -> str:
        return str(value.get("number") if isinstance(value, dict) else value)

    for place, entry in enumerate(entries, 1):
        fields = {
            "ReservationName": str(entry.get("name") or "(null)"),
            "Nodes": str(entry.get("node_list") or "(null)"),
        }
        fields |= {"StartTime": number(entry.get("start_time")), "EndTime": number(entry.get("end_time"))}
        flags = entry.get("flags") or []
        yield f"{path}: reservation {place}", fields | {"Flags": ",".join(map(str, flags))}


def _reservation(fields: Mapping[str, str], places: Mapping[str, int], site: SlurmSite, where: str) -> SlurmReservation:
    for name in ("ReservationName", "StartTime", "EndTime", "Nodes"):
        if fields.get(name, "(null)") == "(null)":
            raise InputError(f"{where}: expected a line of scontrol show reservation -o, got none of {name}=")
    for name in ("StartTime", "EndTime"):
        if not fields[name].isdecimal() or len(fields[name]) > 15:
            wanted = "seconds since 1970, as with SLURM_TIME_FORMAT=%s"
            raise InputError(f"{where}: field {name!r}: expected {wanted}, got {shown(fields[name])}")
    flags = {flag for flag in fields.get("Flags", "").split(",") if flag} - _KNOWN
    if flags:
        raise InputError(f"{where}: field 'Flags': expected flags among {', '.join(sorted(_KNOWN))}, got {min(flags)}")
    names = expand_names(fields["Nodes"], where)
    unknown = [name for name in names if name not in places]
    if unknown:
        raise InputError(f"{where}: field 'Nodes': expected nodes of {site.source}, got {shown(unknown[0])}")
    nodes = tuple(sorted(places[name] for name in names))
    cores = int(site.capacity[list(nodes), 0].sum())
    if fields.get("CoreCnt", str(cores)) != str(cores):
        raise InputError(
            f"{where}: field 'CoreCnt': expected {cores}, all of its nodes, got {shown(fields['CoreCnt'])}"
        )
    return SlurmReservation(fields["ReservationName"], int(fields["StartTime"]), int(fields["EndTime"]), nodes)
