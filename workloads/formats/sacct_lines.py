"""Split the text of ``sacct`` into rows with one field per column. Names may contain any characters."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ...base import InputError, shown
from .column_maps import column_map
from .read_log import Malformed, ReadingLog, ReadOptions
from .table_files import further_lines, has_rows

#: Replaces the delimiter between fields, since names may contain that.
SEPARATOR = "\x1f"
#: The columns to read.
COLUMNS = (*column_map("sacct").sources, "SubmitLine")
#: Required columns: at least one of each group.
NEEDED = (
    ("JobID", "JobIDRaw"),
    ("Submit",),
    ("Start",),
    ("End", "ElapsedRaw", "Elapsed"),
    ("AllocCPUS", "NCPUS", "ReqCPUS", "AllocNodes", "NNodes", "ReqNodes"),
)
#: Command that prints all useful columns.
COMMAND = (
    "sacct -a -D -P -o JobID,User,Account,Partition,Submit,Eligible,Start,End,ElapsedRaw,Timelimit,NNodes,NCPUS,State"
)
#: Columns with text from users, which may contain delimiters and line ends.
_FREE = {
    "jobname",
    "comment",
    "admincomment",
    "systemcomment",
    "submitline",
    "constraints",
    "workdir",
    "extra",
    "stdout",
    "stdin",
    "stderr",
    "failednode",
    "container",
    "licenses",
    "prefer",
    "wckey",
}
#: More rows than these are a block. The table of a row takes as long as that of hundreds.
_LEAST_ROWS = 1000
_CANONICAL = {name.lower(): name for name in COLUMNS}
_KEY = re.compile(r"(?<![A-Za-z0-9_])JobID(?:Raw)?(?![A-Za-z0-9_])", re.IGNORECASE)
_BETWEEN = re.compile(r"[^A-Za-z0-9_\"]+")
_JOB = re.compile(r"\s*\d+(?:_(?:\d+|\[.*\]))?(?:\+\d+)?(?:\.\S*)?\s*")
_TIME = re.compile(r"(?:\d{1,4}[-/]\d{1,2}[-/]\d{1,4}[-T _\d:.+Zz]*|\d{9,11}(?:\.\d+)?|Unknown|None|N/A|NONE)?")
_NUMBER = re.compile(r"[\d.-]*[KMGTP]?")
_TYPES = {
    **dict.fromkeys(("submit", "eligible", "start", "end"), _TIME),
    **dict.fromkeys(("elapsed", "timelimit"), re.compile(r"[\d:.-]*|UNLIMITED|Partition_Limit|INVALID")),
    **dict.fromkeys(("elapsedraw", "alloccpus", "ncpus", "reqcpus", "allocnodes", "nnodes", "reqnodes"), _NUMBER),
    "timelimitraw": re.compile(r"\d*|UNLIMITED|Partition_Limit"),
    **dict.fromkeys(("jobid", "jobidraw"), _JOB),
    "state": re.compile(r"[A-Z_]*\+?(?: by \S+)?"),
    **dict.fromkeys(("alloctres", "reqtres"), re.compile(r"(?:[^\s=]+=[^\s]*)?")),
    "reqmem": re.compile(r"\S*"),
    "workdir": re.compile(r"(?:/.*)?", re.DOTALL),
    "exitcode": re.compile(r"\d*(?::\d+)?"),
}
#: Usual begin of the text of a column. Constraints, such as ``thin|fat``, and licences have no blanks.
_USUAL = {
    "submitline": re.compile(r"(?:\S*/)?(?:sbatch|srun|salloc|scrontab)\b"),
    **dict.fromkeys(("constraints", "prefer", "licenses"), re.compile(r"(?:[^\s|](?:\S*[^\s|])?)?\Z")),
}
#: Cost of a text that is unusual for its column. One more delimiter in another text costs less.
_UNUSUAL = 3
#: Bounds: lines before the header, lines of one record, and delimiters in its texts.
_BEFORE = 200
_OF_A_RECORD = 5_000
_BEYOND = 64
#: A line with more fields and an id begins a record, even if its last field is cut.
_CUT = 3


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table and their delimiter.

    Attributes
    ----------
    names
        Of the columns, in Slurm's spelling if it has one.
    delimiter
        Between fields.
    quoted
        Whether fields may be quoted, as in CSV.
    trailing
        Whether lines may end with a delimiter, as with ``sacct -p``.
    """

    names: tuple[str, ...]
    delimiter: str
    quoted: bool = False
    trailing: bool = False

    @property
    def key(self) -> int:
        """The column of the job's id."""
        return self.names.index("JobID" if "JobID" in self.names else "JobIDRaw")

    @classmethod
    def of(cls, line: str, options: ReadOptions) -> Layout | None:
        """Return the layout of a header, in any case and with any delimiter. ``None`` if the line is no header."""
        match = _KEY.search(line)
        if match is None:
            return None
        after = _BETWEEN.match(line, match.end())
        before = None
        if after is None and '"' not in line:
            before = next(iter(_BETWEEN.finditer(line[: match.start()])), None)
        between = after or before
        quoted = '"' in line
        delimiter = options.delimiter or (line[match.end() :].lstrip('"')[:1] if quoted else between and between[0])
        if not delimiter:
            return None
        if not delimiter.strip(" "):
            return cls((), delimiter)
        try:
            cells = next(csv.reader([line], delimiter=delimiter)) if quoted else line.split(delimiter)
        except csv.Error:  # the end of a line outside of quotes
            return None
        names = tuple(_CANONICAL.get(cell.strip().lower(), cell.strip()) for cell in cells)
        named = all(re.fullmatch(r"[A-Za-z_][\w%() /-]*|", name) for name in names)
        trailing = not names[-1]
        names = names[:-1] if trailing else names
        return cls(names, delimiter, quoted, trailing) if named and {"JobID", "JobIDRaw"} & set(names) else None

    def check(self, where: str) -> None:
        """Refuse a layout without the required columns, and name them."""
        missing = [" or ".join(choice) for choice in NEEDED if not set(choice) & set(self.names)]
        if missing:
            names = ", ".join(filter(None, self.names))
            raise InputError(
                f"{where}: expected a column {'; a column '.join(missing)}, got: {shown(names)[1:-1]}; print them with "
                f"{COMMAND}"
            )


@dataclass(slots=True)
class SacctRows:
    """Rows of one layout: their lines, and their fields with :data:`SEPARATOR` between; ``None`` for job steps."""

    layout: Layout
    numbers: list[int] = field(default_factory=list)
    texts: list[str | None] = field(default_factory=list)


class RowReader:
    """Joins records with delimiters or line ends in their texts.

    A record has one field per column and the id of a job. Otherwise lines are joined until the fields fit the columns.
    Each column of numbers, times or ids must have such a text.
    """

    def __init__(self, options: ReadOptions, log: ReadingLog, malformed: list[Malformed]) -> None:
        self._options = options
        self._log = log
        self._malformed = malformed
        self._layout: Layout | None = None
        self._rows = SacctRows(Layout((), "|"))
        self._pending: tuple[int, str] | None = None
        self._before: list[str] = []
        self._headers, self._line = 0, 0
        self._joined = 0
        self._comments = 0
        self._join = 0
        if options.columns is not None:
            names = tuple(_CANONICAL.get(name.strip().lower(), name.strip()) for name in options.columns.split(","))
            self._use(Layout(names, options.delimiter or "|"), "--columns")

    def begin(self, line: int) -> None:
        """Count the lines of another file from this number on."""
        self._line = line

    def feed(self, text: str) -> Iterator[SacctRows]:
        """Yield the complete rows of a block of lines and of those before, once they are many."""
        lines = text.split("\n")  # a name may contain any other line end
        if lines and not lines[-1]:
            lines.pop()
        for line in lines:
            self._line += 1
            yield from self._take(line.removesuffix("\r"))
        if len(self._rows.texts) > _LEAST_ROWS:  # but for the last one, as its text may go on
            yield SacctRows(self._rows.layout, self._rows.numbers[:-1], self._rows.texts[:-1])
            self._rows = SacctRows(self._rows.layout, self._rows.numbers[-1:], self._rows.texts[-1:])

    def finish(self) -> Iterator[SacctRows]:
        """Yield the last rows, and note the skipped lines."""
        if self._layout is None:
            first = next((line for line in self._before if line.strip()), "")
            wanted = "the header line of sacct -P, with JobID and columns separated by '|'"
            raise InputError(
                f"{self._log.path}:1: expected {wanted}, got {first[:60]!r}; --columns JobID,Submit,... "
                "names the columns of a file without one"
            )
        self._drop_pending()
        yield self._rows
        self._log.joined(self._joined, f"line {self._join}")
        self._log.commented(self._comments)
        if self._headers:
            count = self._headers
            self._log.note(
                f"{count:,} repeated header line{'s'[: count > 1]} skipped, as in exports put together",
                header_lines_skipped=count,
            )

    def _use(self, layout: Layout, where: str) -> None:
        layout.check(where)
        self._layout = layout
        self._rows = SacctRows(layout)
        self._types = [_type(name, layout.delimiter) for name in layout.names]
        self._count = len(layout.names) - 1
        self._key = layout.key
        last = layout.names[-1].lower()
        self._ends_free = last in _FREE and last != "workdir"
        self._trailing = layout.trailing or last not in _FREE

    def _take(self, line: str) -> Iterator[SacctRows]:
        if self._layout is None:
            self._look_for_header(line)
            return
        delimiter = self._layout.delimiter
        if self._trailing and line.endswith(delimiter) and line.count(delimiter) > self._count:
            line = line.removesuffix(delimiter)
        if self._layout.quoted:
            self._quoted(line)
        elif (
            self._pending is None
            and line.count(delimiter) == self._count
            and _JOB.fullmatch(line.split(delimiter, self._key + 1)[self._key])
        ):
            self._add(self._line, line.replace(SEPARATOR, " ").replace(delimiter, SEPARATOR))
        elif _KEY.search(line) and (layout := Layout.of(line, self._options)) is not None and layout.names:
            self._drop_pending()
            self._headers += 1
            if layout != self._layout:
                yield self._rows
                self._use(layout, f"{self._log.path}:{self._line}")
        else:
            self._irregular(line.replace(SEPARATOR, " "))

    def _look_for_header(self, line: str) -> None:
        layout = Layout.of(line, self._options)
        where = f"{self._log.path}:{self._line}"
        if layout is None:
            if line.strip():
                self._before.append(line)
            if len(self._before) > _BEFORE:
                list(self.finish())
            return
        if not layout.names:
            raise InputError(
                f"{where}: expected the header line of sacct -P, with columns separated by '|', got "
                f"columns of fixed width {line[:40]!r}; print them with {COMMAND}"
            )
        self._use(layout, where)
        if self._before:
            count = len(self._before)
            self._log.note(
                f"{count:,} line{'s'[: count > 1]} before the header skipped",
                shown(self._before[0]),
                lines_before_the_header=count,
            )

    def _add(self, number: int, row: str) -> None:
        cell = row.split(SEPARATOR, self._key + 1)[self._key]
        self._rows.numbers.append(number)
        step = "." in cell and not cell.endswith("]")  # Slurm cuts long lists of tasks, as in 278_[1,3,...]
        self._rows.texts.append(None if step else row)

    def _quoted(self, line: str) -> None:
        """Add a line of CSV with quotes. Lines are joined until the quotes are closed."""
        assert self._layout is not None
        number, text = self._line, line
        if self._pending is not None:
            (number, before) = self._pending
            self._pending = None
            text = f"{before}\n{line}"
        if text.count('"') % 2 and len(text) < 1 << 20:
            self._pending = (number, text)
        elif text.strip() and Layout.of(text, self._options) == self._layout:
            self._headers += 1
        elif text.strip():
            try:
                cells = next(csv.reader([text], delimiter=self._layout.delimiter))
            except csv.Error:  # a field of more than 128 kB
                cells = []
            if len(cells) == self._count + 1 and not has_rows(cells, self._layout.delimiter, len(cells)):
                self._add(number, SEPARATOR.join(cell.replace(SEPARATOR, " ") for cell in cells).replace("\n", " "))
                self._count_joined(number, text)
            else:
                self._pending = (number, text)
                self._drop_pending()

    def _irregular(self, line: str) -> None:
        """Add a line that is a part of a record, or has delimiters in its texts."""
        assert self._layout is not None
        delimiter = self._layout.delimiter
        if self._pending is not None:
            number, before = self._pending
            joined = f"{before}\n{line}"
            whole = joined.count(delimiter) > 1.5 * self._count and self._aligned(line) is not None
            if not whole and (row := self._aligned(joined)) is not None:  # unless it contains a complete record
                self._pending = None
                self._add(number, row)
                self._count_joined(number, joined)
                return
            if self._aligned(line) is None and self._line - number < _OF_A_RECORD and len(joined) < 1 << 20:
                self._pending = (number, joined)
                return
            self._drop_pending()
        if not line.strip():
            return
        if (row := self._aligned(line)) is not None:
            self._add(self._line, row)
        elif not self._ends_free or self._begins(line.split(delimiter)):
            if line.lstrip().startswith("#"):
                self._comments += 1
                return
            self._pending = (self._line, line)
        elif self._rows.texts:
            if self._rows.texts[-1] is not None:
                self._rows.texts[-1] += f" {line.strip()}"
            self._count_joined(self._line - 1, f"\n{line}")
        else:
            self._refuse(self._line, line)

    def _count_joined(self, number: int, text: str) -> None:
        """Count the lines of a record after its first, the line with this number, unless they are blank."""
        self._joined += (count := further_lines(text))
        self._join = self._join or (number + 1 if count else 0)

    def _begins(self, parts: Sequence[str]) -> bool:
        """Return whether a record begins with these fields: it has an id, and the fields up to the first free text fit.

        The last of several may be cut short, as at the end of a file.
        """
        if len(parts) <= self._key or not _JOB.fullmatch(parts[self._key]):
            return False
        fields = parts[:-1] if len(parts) > _CUT else parts
        for cost, free, part in zip(*zip(*self._types, strict=True), fields, strict=False):
            if free:
                return True
            if cost(part) is None:
                return False
        return True

    def _aligned(self, text: str) -> str | None:
        """Return the fields of a record, each with a text of its kind. ``None`` if there is no such division.

        Of several divisions, take the one with the fewest delimiters in texts, and the first of these.
        """
        assert self._layout is not None
        delimiter = self._layout.delimiter
        beyond = text.count(delimiter) - self._count
        if not 0 <= beyond <= _BEYOND:
            return None
        parts = text.split(delimiter)
        best: dict[int, tuple[int, tuple[str, ...]]] = {0: (0, ())}  # by delimiters in texts so far
        for column, (cost, free) in enumerate(self._types):
            following: dict[int, tuple[int, tuple[str, ...]]] = {}
            for used, (total, row) in best.items():
                for more in range(beyond - used, -1, -1) if free else (0,):
                    at = column + used
                    cell = parts[at] if not more else delimiter.join(parts[at : at + more + 1])
                    price = cost(cell)
                    if price is None:
                        continue
                    # A name or constraint with delimiters is likely if the command line repeats it.
                    price += total + (more > 0 and text.count(cell) == 1)
                    if used + more not in following or price < following[used + more][0]:
                        following[used + more] = (price, (*row, cell))
            best = following
        if beyond not in best:
            return None
        return SEPARATOR.join(best[beyond][1]).replace("\n", " ")

    def _drop_pending(self) -> None:
        """Refuse lines that form no record together, each on its own."""
        if self._pending is not None:
            (first, text) = self._pending
            self._pending = None
            for number, line in enumerate(text.split("\n"), first):
                if line.strip():
                    self._refuse(number, line)

    def _refuse(self, number: int, text: str) -> None:
        assert self._layout is not None
        cells = text.split(self._layout.delimiter)
        reason = "wrong number of fields"
        message = f"expected {self._count + 1} fields, got {len(cells)}"
        if len(cells) == self._count + 1:
            reason = "no id"
            key = self._layout.names[self._key]
            message = f"field {key!r}: expected the id of a job, got {shown(cells[self._key])}"
        self._malformed.append(Malformed(number, reason, message))


def _type(name: str, delimiter: str) -> tuple[Callable[[str], int | None], bool]:
    """Return a function for the cost of a text in a column, and whether the text may contain delimiters.

    The cost is ``None`` for a text that does not fit.
    """
    name = name.lower()
    pattern = _TYPES.get(name)
    usual = _USUAL.get(name)
    tres = name.endswith("tres")
    free = name in _FREE
    free = free or (delimiter == "," and (tres or name == "nodelist"))

    def cost(text: str) -> int | None:
        if (pattern is not None and not pattern.fullmatch(text)) or (not free and "\n" in text):
            return None
        if tres:
            keys = [item.partition("=")[0] for item in text.split(",")]
            return len(keys) - len(set(keys)) + 2 * sum("=" not in item for item in text.split(",") if item)
        if not text:  # prefer an empty text from a user to one from Slurm
            return int(pattern is not None and not free)
        return _UNUSUAL * int(usual is not None and not usual.match(text))

    return cost, free
