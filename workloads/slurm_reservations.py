"""Read advance reservations from ``scontrol show reservation -o``."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ..base import InputError, read_bounded, shown
from .slurm_conf import SlurmSite, count_numbers, expand_names
from .workload import Workload

_MOST_BYTES = 1 << 24
_FIELD = re.compile(r"(?<!\S)(\w+)=(\S*)")
_DAY = 86400
#: Flags of repetition: seconds from one begin to the next, and the weekdays of it (Monday is 0).
_REPEATED = {
    "HOURLY": (3600, ()),
    "DAILY": (_DAY, ()),
    "WEEKDAY": (_DAY, (0, 1, 2, 3, 4)),
    "WEEKEND": (_DAY, (5, 6)),
    "WEEKLY": (7 * _DAY, ()),
}
#: Flags that change neither the reserved times nor the jobs.
_KNOWN = {
    "MAINT",
    "IGNORE_JOBS",
    "SPEC_NODES",
    "ALL_NODES",
    "ANY_NODES",
    "PART_NODES",
    "FIRST_CORES",
    "OVERLAP",
    "NO_HOLD_JOBS_AFTER_END",
    "STATIC",
    "STATIC_ALLOC",
    "USER_DELETE",
    "FLEX",
    *_REPEATED,
}
#: Flags with an effect that is not modelled.
_UNMODELLED = {
    "PURGE_COMP": "it may end earlier, when it is idle",
    "MAGNETIC": "jobs that do not name it may use it",
    "TIME_FLOAT": "its times move with the clock",
    "REPLACE": "its nodes may change",
    "REPLACE_DOWN": "its nodes may change",
}
_CORES = re.compile(r"NodeName=(\S+)\s+CoreIDs=(\S+)")


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
    repeat
        Seconds from one begin to the next (``DAILY``, ``WEEKLY``, ...); 0: once.
    days
        Weekdays of its begins in UTC, Monday is 0 (``WEEKDAY``, ``WEEKEND``); empty: all.
    flexible
        Whether its jobs may start earlier, run longer and use other nodes, too (``FLEX``).
    cores
        Reserved cores of each of its nodes; empty: all.
    notes
        What of it is not modelled.
    """

    name: str
    start: int
    end: int
    nodes: tuple[int, ...]
    repeat: int = 0
    days: tuple[int, ...] = ()
    flexible: bool = False
    cores: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    def spans(self, now: int, count: int = 2) -> list[tuple[int, int]]:
        """Return the begins and ends that are current or next at a time, seconds since 1970."""
        if not self.repeat:
            return [(self.start, self.end)] if self.end > now else []
        shift = (now - self.start) // self.repeat * self.repeat
        spans: list[tuple[int, int]] = []
        for place in range(-1, count + 7):
            begin = self.start + shift + place * self.repeat
            end = begin + self.end - self.start
            weekday = (begin // _DAY + 3) % 7
            if end > now and (not self.days or weekday in self.days):
                spans.append((begin, end))
            if len(spans) == count:
                break
        return spans


def read_slurm_reservations(path: str | PathLike[str], site: SlurmSite) -> tuple[SlurmReservation, ...]:
    """Read the output of ``scontrol show reservation -o``, with ``SLURM_TIME_FORMAT=%s`` in its environment, or --json.

    What a reservation has beyond the model is in its notes.

    Raises
    ------
    InputError
        For a line that is no reservation, of nodes that the site does not have, or with a time that is not seconds
        since 1970. The message has file and line. Also if there is no content.
    """
    places = {name: place for place, name in enumerate(site.nodes)}
    text = read_bounded(Path(path), "reservations of Slurm", _MOST_BYTES).decode("utf-8", "replace")
    if not text.strip():
        raise InputError(f"{path}: expected what scontrol show reservation -o prints, got blank lines")
    if text.lstrip().startswith("{"):
        return tuple(_reservation(fields, places, site, where) for where, fields in _entries(text, str(path)))
    reservations = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and line.strip() != "No reservations in the system":
            fields = dict(reversed(_FIELD.findall(line)))  # A list of cores at the end repeats NodeName.
            fields["cores"] = " ".join(f"{names}={ids}" for names, ids in _CORES.findall(line))
            reservations.append(_reservation(fields, places, site, f"{path}:{number}"))
    return tuple(reservations)


def inferred_reservations(
    workload: Workload, site: SlurmSite, known: Collection[str], zero: int
) -> tuple[SlurmReservation, ...]:
    """Return the reservations that jobs name and that are not known, as far as their jobs show them.

    Such a reservation has the nodes of its jobs. It begins when its first job became eligible, if that was later than
    its submission, otherwise when it started. It ends with the last walltime of its jobs.

    Parameters
    ----------
    workload
        Jobs of accounting records, see :func:`~.slurm_workload.slurm_workload`.
    site
        The configuration.
    known
        Names of known reservations.
    zero
        Seconds since 1970 at time 0.
    """
    records = workload.records
    if records is None or not {"wait", "submitted", "on_nodes"} <= set(records):
        return ()
    places = {name: place for place, name in enumerate(site.nodes)}
    spans: dict[str, list[tuple[int, int, set[int]]]] = {}
    waits, submitted, nodes = (records[name].tolist() for name in ("wait", "submitted", "on_nodes"))
    for job, wait, submit, text in zip(workload.jobs, waits, submitted, nodes, strict=True):
        if job.reservation and job.reservation not in known and wait >= 0:
            begin = job.submit if job.submit > submit else job.submit + int(wait)
            where = {places[name] for name in text.split() if name in places}
            # A job starts only if its walltime ends within its reservation.
            spans.setdefault(job.reservation, []).append((begin, job.submit + int(wait) + job.walltime, where))
    return tuple(
        SlurmReservation(
            name,
            zero + min(begin for begin, _, _ in windows),
            zero + max(end for _, end, _ in windows) + 60,
            tuple(sorted(set.union(*(where for _, _, where in windows)))),
        )
        for name, windows in spans.items()
        if any(where for _, _, where in windows)
    )


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
        fields |= {"Licenses": str(entry.get("licenses") or "(null)"), "Flags": ",".join(map(str, flags))}
        if entry.get("core_count"):
            fields["CoreCnt"] = number(entry["core_count"])
        yield f"{path}: reservation {place}", fields


def _reservation(fields: Mapping[str, str], places: Mapping[str, int], site: SlurmSite, where: str) -> SlurmReservation:
    for name in ("ReservationName", "StartTime", "EndTime"):
        if fields.get(name, "(null)") == "(null)":
            raise InputError(f"{where}: expected a line of scontrol show reservation -o, got none of {name}=")
    for name in ("StartTime", "EndTime"):
        if not fields[name].isdecimal() or len(fields[name]) > 15:
            wanted = "seconds since 1970, as with SLURM_TIME_FORMAT=%s"
            raise InputError(f"{where}: field {name!r}: expected {wanted}, got {shown(fields[name])}")
    name, start, end = fields["ReservationName"], int(fields["StartTime"]), int(fields["EndTime"])
    notes = []
    repeat = 0
    days: tuple[int, ...] = ()
    flags = {flag.partition("=")[0].upper() for flag in fields.get("Flags", "").split(",")} - {"", "(NULL)"}
    for flag in sorted(flags):
        if flag in _REPEATED:
            repeat, days = _REPEATED[flag]
        elif flag not in _KNOWN:
            notes.append(f"{flag}: {_UNMODELLED.get(flag, 'it is not modelled')}")
    listed = fields.get("Nodes", "(null)")
    names = [] if listed.lower() in ("(null)", "") else expand_names(listed, where)
    unknown = [each for each in names if each not in places]
    if unknown:
        raise InputError(f"{where}: field 'Nodes': expected nodes of {site.source}, got {shown(unknown[0])}")
    if not names:
        notes.append("it has no nodes, and what else it reserves stays open")
    if fields.get("Licenses", "(null)") not in ("(null)", ""):
        notes.append(f"its licences {fields['Licenses']} stay open")
    nodes = tuple(sorted(places[each] for each in names))
    cores = _cores_of(fields, nodes, places, site, where)
    if repeat and end - start > repeat:
        end = start + repeat
    return SlurmReservation(name, start, end, nodes, repeat, days, "FLEX" in flags, cores, tuple(notes))


def _cores_of(
    fields: Mapping[str, str], nodes: tuple[int, ...], places: Mapping[str, int], site: SlurmSite, where: str
) -> tuple[int, ...]:
    """Return the reserved cores of each node, none if all are. Without a list they are spread evenly."""
    total = site.capacity[list(nodes), 0].tolist() if nodes else []
    text = fields.get("CoreCnt", "")
    count = int(text) if text.isdecimal() and len(text) < 10 else 0
    if not count or count >= sum(total):
        return ()
    given = dict.fromkeys(nodes, 0)
    for part in fields.get("cores", "").split():
        names, _, ids = part.partition("=")
        for name in expand_names(names, where):
            if places.get(name, -1) in given:
                given[places[name]] = count_numbers(ids, where)
    if any(given.values()):
        return tuple(min(given[node], most) for node, most in zip(nodes, total, strict=True))
    return tuple(min(-(-count // len(nodes)), most) for most in total)
