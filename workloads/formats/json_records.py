"""Read records in JSON as a table: a list, a list in an object, objects by id, or one object per line."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...base import InputError, shown
from .column_maps import ColumnMap
from .read_log import Malformed, ReadingLog
from .table_files import RowBlocks, TablePart
from .trace_files import TraceFile, decode

#: Names of the list of records in an object.
_LISTS = ("jobs", "items", "records", "data", "results", "hits")
#: The name of the column with the key of a record, where records are the values of an object.
KEY = "@key"
#: Levels of an object whose names are listed.
_DEEP = 5


def json_parts(
    file: TraceFile, described: ColumnMap, malformed: list[Malformed], log: ReadingLog
) -> Iterator[TablePart]:
    """Yield the records of a file with the columns that a map names. Names of inner objects have dots.

    A record is a line, or an entry of a list. The number of its line or entry is its place.

    Raises
    ------
    OSError
        If the file cannot be read.
    InputError
        If it is no JSON, with the line; or beyond a bound.
    """
    names = described.sources
    paths = [name.split(".") for name in names]
    rows = RowBlocks(names)
    filled: set[str] = set()
    for place, record in _records(file, malformed):
        if not isinstance(record, dict):
            message = f"entry {place}: expected an object with the fields of a job, got {shown(record)}"
            malformed.append(Malformed(place, "no job", message))
            continue
        row = [_text(_pick(record, path)) for path in paths]
        filled.update(name for name, text in zip(names, row, strict=True) if text)
        rows.add(place, row)
        yield from rows.full()
    yield from rows.rest()
    missing = [name for name in names if name not in filled]
    if missing and described.own:
        log.note(f"no record has {', '.join(map(repr, missing))}, which the map {described.name} names")


def names_in(text: str) -> list[str]:
    """Return the names of the fields of the first record in a text, with dots for inner objects. Empty if none."""
    document = next(_documents_of(text), None)
    record = next((each for _, each in _expanded(document)), None) if document is not None else None
    return list(_names(record)) if isinstance(record, dict) else _guessed_names(text)


def _guessed_names(text: str) -> list[str]:
    """Return the names that a text without a whole record has."""
    return list(dict.fromkeys(re.findall(r'"([A-Za-z_@][\w @./-]{0,80})"\s*:', text)))


def _documents_of(text: str) -> Iterator[Any]:
    """Yield the first JSON value of a text, as long as it is whole."""
    try:
        yield json.JSONDecoder().raw_decode(text.lstrip("\ufeff \t\r\n"))[0]
    except (ValueError, RecursionError):
        return


def _names(record: Mapping[str, Any], before: str = "", depth: int = 0) -> Iterator[str]:
    for key, value in record.items():
        name = f"{before}{key}"
        inner = value[0] if isinstance(value, list) and value else value
        if isinstance(inner, dict) and inner and depth < _DEEP:
            yield from _names(inner, f"{name}.", depth + 1)
        else:
            yield name


def _records(file: TraceFile, malformed: list[Malformed]) -> Iterator[tuple[int, Any]]:
    """Yield the records with their places: of JSON lines as they are read, else of the whole file."""
    head = b""
    lines: bool | None = None
    line = 0
    blocks: list[bytes] = []
    for block in file.blocks():
        if lines is None:
            head += block
            lines = _has_lines(decode(head))
        if not lines:
            blocks.append(block)
            file.take(file.needs.of(block))
            continue
        for text in decode(block).split("\n"):
            line += 1
            if not text.strip():
                continue
            try:
                record = json.loads(text)
            except (ValueError, RecursionError) as error:
                message = f"expected an object in JSON, got {shown(text)} ({str(error)[:60]})"
                malformed.append(Malformed(line, "no JSON", message))
                continue
            yield line, record
        line -= block.endswith(b"\n")
    if blocks:
        place = 0
        for document in _documents(file, decode(b"".join(blocks))):
            for _, record in _expanded(document):
                place += 1
                yield place, record


def _has_lines(text: str) -> bool:
    """Return whether a text has one record per line."""
    first, _, rest = text.lstrip("\ufeff \t\r\n").partition("\n")
    try:
        document = json.loads(first)
    except (ValueError, RecursionError):
        # a bad first line, if the next one is a record
        following = rest.partition("\n")[0].strip()
        return first.startswith("{") and following.startswith("{") and following.rstrip("\r").endswith("}")
    return isinstance(document, dict) and not any(place == KEY or place for place, _ in _expanded(document))


def _documents(file: TraceFile, text: str) -> Iterator[Any]:
    """Yield all JSON values of a text."""
    decoder = json.JSONDecoder()
    blank = re.compile(r"[\ufeff\s,]*")
    at = blank.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        try:
            document, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            message = f"expected records in JSON, got an error: {error.msg}"
            raise InputError(f"{file.path}:{error.lineno}: {message}") from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"{file.path}: expected records in JSON, got an error: {str(error)[:80]}") from None
        yield document
        at = blank.match(text, at).end()  # type: ignore[union-attr]


def _expanded(document: Any) -> Iterable[tuple[str, Any]]:
    """Yield the records of a JSON value, each with the name of its container; empty if it is the record."""
    if isinstance(document, list):
        return (("[", each) for each in document)
    if isinstance(document, dict):
        for name in _LISTS:
            inner = document.get(name)
            if isinstance(inner, dict) and isinstance(inner.get("hits"), list):
                inner = inner["hits"]
            if isinstance(inner, list) and all(isinstance(each, dict) for each in inner[:10]):
                return ((name, each) for each in inner)
        if document and all(isinstance(each, dict) for each in document.values()) and all(map(_is_id, document)):
            return ((KEY, {KEY: key, **each}) for key, each in document.items())
    return [("", document)]


def _is_id(key: str) -> bool:
    return re.fullmatch(r"[\d.\[\]_-]+", key) is not None


def _pick(value: Any, path: Sequence[str]) -> Any:
    """Return the value at a path of names. A name may have dots itself. Of a list, a number chooses an entry."""
    if not path:
        return value
    if isinstance(value, dict):
        for cut in range(len(path), 0, -1):
            key = path[0] if cut == 1 else ".".join(path[:cut])
            if key in value:
                return _pick(value[key], path[cut:])
        return None
    if isinstance(value, list):
        if path[0].isdigit():
            return _pick(value[int(path[0])], path[1:]) if len(path[0]) < 5 and int(path[0]) < len(value) else None
        return [item for each in value if (item := _pick(each, path)) is not None]
    return None


def _text(value: Any) -> str:
    """Return a value as text: numbers plain, lists with commas between, and nothing for none."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, int) and value.bit_length() > 1000:
        return shown(value)
    if isinstance(value, list):
        return ",".join(_text(each).replace(",", " ") for each in value)
    if isinstance(value, dict):  # Slurm's numbers
        known = value.get("set", True) and not value.get("infinite")
        return _text(value["number"]) if known and isinstance(value.get("number"), int | float) else ""
    return str(value)
