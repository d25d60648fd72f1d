"""Read records of one key and value per line, as ``qacct -j`` and ``condor_history -long`` print them."""

import re
from collections.abc import Iterator

from ...base import shown
from .read_log import Malformed
from .trace_files import TraceFile, decode


def key_value_records(
    file: TraceFile, malformed: list[Malformed], pair: str, between: str, last: str = ""
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the first line and the fields of each record.

    Parameters
    ----------
    file
        The file.
    malformed
        Gets the first line of a record with a line that is no pair.
    pair
        Pattern of a line, with groups of the key and the value.
    between
        Pattern of a line between records.
    last
        Pattern of the line after all records, such as that before sums. Empty if there is none.

    Raises
    ------
    OSError, InputError
        As :meth:`.TraceFile.blocks`.
    """
    split, stop, over = re.compile(pair), re.compile(between), re.compile(last)
    fields: dict[str, str] = {}
    first = line = 0
    bad = ""

    def ended() -> Iterator[tuple[int, dict[str, str]]]:
        if bad:
            malformed.append(Malformed(first, "no record", f"expected a key and a value per line, got {shown(bad)}"))
        elif fields:
            yield first, fields

    for block in file.blocks():
        lines = decode(block).split("\n")
        if not lines[-1]:  # a block ends with its last line, which is no blank line
            lines.pop()
        for text in lines:
            line += 1
            plain = text.rstrip("\r")
            if last and over.fullmatch(plain):
                yield from ended()
                return
            if stop.fullmatch(plain):
                yield from ended()
                fields, first, bad = {}, 0, ""
                continue
            if not plain.strip():
                continue
            first = first or line
            match = split.fullmatch(plain)
            if match is None:
                bad = bad or plain
            else:
                fields[match[1]] = match[2]
    yield from ended()
