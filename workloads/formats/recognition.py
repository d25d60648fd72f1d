"""Recognise the format of a trace by its suffix and its first lines."""

import difflib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from ...base import InputError, shown
from .column_maps import built_in, column_map, fitting_map, suggested_map
from .json_records import names_in
from .packed_files import plain_path
from .read_log import ReadOptions
from .sacct_lines import NEEDED, Layout
from .table_files import is_parquet, parquet_columns, separator_of
from .trace_files import TraceFile, decode

#: Bytes of a file that decide its format, and lines.
_BEGINNING = 1 << 20
_LINES = 250
#: Formats that are not maps.
PLAIN = ("swf", "sacct", "sacct-json", "jsonl")
#: Texts in a JSON file, and their formats.
_JSON = (('"hpcdispatch-workload"', "jsonl"), ('"attempts"', "philly"), ('"subtime"', "batsim-json"))
#: Texts of which one is in what sacct --json prints, besides job_id.
_SACCT_JSON = ('"meta"', '"association"', '"submission"', '"time"', '"required"')
#: First lines of formats.
_FIRST = (
    ("pbs", r"(?:[^;\s]*:)?\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?;\w+;"),
    ("lsf", r'"?[A-Z]+(?:_[A-Z0-9]+)+"?\s+"?\d+(?:\.\d+)?"?\s+\d'),
    ("lsf", r'"?JOB_[A-Z]+"?\s'),
    ("sge", r"(?:[^:\s]*:){3}[^:]*:[^:]*:\d+:[^:]*:-?\d+:\d+:(?:-?\d+:){4}"),
    ("qacct", r"={20,}\s*$|qname\s+\S"),
    ("htcondor", r"\*\*\* .*ClusterId|[A-Za-z_]\w* = "),
    ("swf", r";|(?:-?\d+(?:\.\d+)?\s+){17}-?\d"),
    ("gwf", r"\d+\s(?:-?\d+(?:\.\d+)?\s+){9,}(?:\S+\s+){10,}"),
)
#: First lines of files that are not read, what they are, and what is.
_FOREIGN = (
    (r"MAUI \d|VERSION \d", "a workload trace of Maui or Moab", "the accounting of its Torque or PBS"),
    (r"JOBID\s+USER\s+STAT", "what bjobs prints", "LSF's accounting file lsb.acct"),
    (r"\s*JOBID\s+PARTITION\s+NAME", "what squeue prints", "sacct -P"),
    (r"job-ID\s+prior\s+name|job-ID\s", "what qstat of Grid Engine prints", "its accounting file"),
    (r"Job Id: \S", "what qstat -f prints", "the accounting files of PBS (server_priv/accounting)"),
    (r"Job: \S+\s*$", "what tracejob prints", "the accounting files of PBS (server_priv/accounting)"),
    (r"Job <\d+>", "what bhist prints", "LSF's accounting file lsb.acct"),
    (r"-+\s*$|\s*ID\s+OWNER\s+SUBMITTED", "what condor_history prints", "condor_history -long or -json"),
    (r"<\?xml", "XML", "a CSV table or JSON"),
    (r"<!doctype html|<html", "a web page", "the file that it links to"),
    (r"%PDF", "a PDF", "a CSV table"),
    (r"PAR1", "Parquet", "the same file, if its name ends in .parquet"),
)
_NUMBER = re.compile(r"[+-]?(?:\d[\d,]*)?\.?\d+(?:[eE][+-]?\d+)?")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|\d{1,2}:\d\d(:\d\d)?")
#: Slurm's own names for columns: with three of them a header is sacct's.
_OF_SACCT = 3
#: How alike names are, and which share of them must be, for a format to be the nearest.
_LIKE, _HALF = 0.8, 0.5
#: Fewest columns of a table without a header.
_FEWEST = 4


class UnknownTableError(InputError):
    """A table that no built-in map fits.

    Attributes
    ----------
    columns
        The names of its columns.
    map_text
        A column map to complete.
    """

    def __init__(self, path: Path, columns: Sequence[str], container: str = "table", *, header: bool = True) -> None:
        names = list(columns)
        listed = shown(", ".join(names))[1:-1]
        what = f"the columns {listed}" if header else f"{len(names)} columns without names"
        kind = "table" if container == "table" else "layout of JSON"
        super().__init__(
            f"{path}: expected a known {kind}, got {what}; --format MAP.toml reads it by a column map, which "
            f"'hpcdispatch workload describe {path}' prints to complete{_nearest(names)}; {_known()}"
        )
        self.columns = names
        self.map_text = suggested_map(names, container, header=header)


def kind_of(path: Path, options: ReadOptions) -> str:
    """Return the format of a file, by its suffix and its beginning.

    Raises
    ------
    OSError
        If the file cannot be read.
    InputError
        If no format fits.
    """
    suffix = plain_path(path).suffix.lower()
    if suffix in (".swf", ".sacct", ".gwf"):
        return suffix[1:]
    if options.columns or options.delimiter:
        return "sacct"
    if is_parquet(path):
        return _fitting(path, parquet_columns(path))
    text = _beginning(path)
    if suffix == ".jsonl" and ('"hpcdispatch-workload"' in text or not text.lstrip("\ufeff \n").startswith("{")):
        return "jsonl"
    lines = text.splitlines()[:_LINES]
    first = _first(lines)
    if first[:1] in ("{", "["):
        return _json_kind(path, text, jsonl=suffix == ".jsonl")
    if any(line.startswith("# GWF") for line in lines):
        return "gwf"
    for kind, pattern in _FIRST:
        if re.match(pattern, first):
            return kind
    if _is_sacct(lines):
        return "sacct"
    for pattern, what, instead in _FOREIGN:
        if re.match(pattern, first, re.IGNORECASE):
            raise InputError(f"{path}:1: expected a trace, got {what}, which is not read; use {instead}; {_known()}")
    separator = separator_of(first)
    names = [name.strip().strip('"') for name in first.split(separator)]
    if (matching_map := fitting_map(names)) is not None:
        return matching_map.name
    if _is_header(names):
        raise UnknownTableError(path, _named(names))
    if len(names) >= _FEWEST and any(map(_NUMBER.fullmatch, names)):
        raise UnknownTableError(path, _numbered(names), header=False)
    raise InputError(
        f"{path}:1: expected a known format, got {first[:60]!r}; --format NAME says which it is, "
        f"--format MAP.toml reads any table by a column map; {_known()}"
    )


def unknown(path: Path) -> InputError:
    """Return the error with a column map to complete, for any file with named columns."""
    if is_parquet(path):
        return UnknownTableError(path, parquet_columns(path))
    text = _beginning(path)
    first = _first(text.splitlines()[:_LINES])
    if first[:1] in ("{", "["):
        return UnknownTableError(path, names_in(text), "json")
    names = [name.strip().strip('"') for name in first.split(separator_of(first))]
    header = _is_header(names)
    return UnknownTableError(
        path, _named(names) if header else [f"column {n + 1}" for n in range(len(names))], header=header
    )


def _beginning(path: Path) -> str:
    return decode(TraceFile(path, path.suffix.lower() == ".gz").begin(_BEGINNING))


def _first(lines: Sequence[str]) -> str:
    """Return the first line that is neither blank nor a comment."""
    return next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "").lstrip("\ufeff ")


def _json_kind(path: Path, text: str, *, jsonl: bool) -> str:
    for mark, kind in _JSON:
        if mark in text:
            return kind
    if '"job_id"' in text and any(mark in text for mark in _SACCT_JSON) and not jsonl:
        return "sacct-json"
    names = names_in(text)
    if not names and jsonl:
        return "jsonl"
    if not names:
        try:
            json.loads(text)
            problem = "no names of fields"
        except json.JSONDecodeError as error:
            raise InputError(f"{path}:{error.lineno}: expected a trace in JSON, got an error: {error.msg}") from None
        except (ValueError, RecursionError) as error:
            problem = f"an error: {str(error)[:80]}"
        raise InputError(f"{path}:1: expected a trace in JSON, got {problem}; {_known()}")
    matching_map = fitting_map(names, ("json", "htcondor"))
    if matching_map is None and jsonl:
        return "jsonl"
    if matching_map is None:
        raise UnknownTableError(path, names, "json")
    return matching_map.name


def _fitting(path: Path, names: list[str]) -> str:
    matching_map = fitting_map(names)
    if matching_map is None:
        raise UnknownTableError(path, names)
    return matching_map.name


def _is_sacct(lines: Sequence[str]) -> bool:
    """Return whether a line is a header of sacct.

    It has names in Slurm's spelling; or bars between all columns that are needed, in any case.
    """
    slurm = {name for choice in NEEDED for name in choice} | set(column_map("sacct").sources) | {"ExitCode"}
    for line in lines:
        layout = Layout.of(line, ReadOptions())
        if layout is None:
            continue
        words = set(re.split(r"[^A-Za-z0-9_]+", line))
        complete = all(set(choice) & set(layout.names) for choice in NEEDED)
        if len(words & slurm) >= _OF_SACCT or (layout.delimiter == "|" and complete):
            return True
    return False


def _is_header(names: Sequence[str]) -> bool:
    """Return whether the fields of a line are names: several, none of them a number or a time."""
    some = [name for name in names if name]
    return len(some) > 1 and not any(_NUMBER.fullmatch(name) or _DATE.fullmatch(name) for name in some)


def _named(names: Sequence[str]) -> list[str]:
    """Return the names of columns as a table has them: one without a name gets one, but for a last one."""
    columns = [name or f"unnamed {place}" for place, name in enumerate(names, 1)]
    return columns if names[-1] else columns[:-1]


def _numbered(names: Sequence[str]) -> list[str]:
    return [f"column {place}" for place, _ in enumerate(names, 1)]


def _nearest(names: Sequence[str]) -> str:
    """Return the built-in format whose columns are most like these."""
    shares = {}
    for name in built_in():
        wanted = column_map(name).requires
        if wanted:
            like = sum(
                bool(difflib.get_close_matches(one.lower(), [n.lower() for n in names], 1, 0.8)) for one in wanted
            )
            shares[name] = (like / len(wanted), like, len(wanted))
    best = max(shares, key=lambda one: shares[one][0], default="")
    if not best or shares[best][0] < _HALF:
        return ""
    return f"; nearest is {best}, with {shares[best][1]} of {shares[best][2]} columns"


def _known() -> str:
    return f"formats: {', '.join((*PLAIN, *built_in()))}"
