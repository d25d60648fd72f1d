"""Read tables of jobs by a column map, and other accounting records as such tables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from ..workload import Workload
from .column_maps import ColumnMap, column_map
from .containers import CONTAINERS
from .mapped_columns import Guesses, check_columns, jobs_of, wanted_rows
from .read_log import FILE_LINES, Malformed, ReadingLog, ReadOptions, counted
from .recognition import UnknownTableError  # noqa: F401 - also found here
from .recorded_jobs import gathered, text, workload_of
from .table_files import TablePart
from .trace_files import TraceFile

#: A note that begins with a count.
_COUNTED = re.compile(r"([\d,]+) (record|job|row|line)s? (.*)")


@dataclass(frozen=True, slots=True)
class TableParser:
    """Reads files of a format: that of a built-in map, or of a map in a file."""

    kind: str

    def __call__(self, file: TraceFile, options: ReadOptions, log: ReadingLog) -> Workload:
        """Convert a file to a workload; errors as :func:`hpcdispatch.workloads.read`."""
        malformed: list[Malformed] = []
        described = column_map(self.kind)
        if options.format is None:
            log.note(f"read as {described.name} (--format): {described.about}")
        frames: list[pd.DataFrame] = []
        filtered = 0
        guesses = Guesses(str(log.path))
        for part in _parts(file, described, malformed, log):
            if part.frame.empty:
                continue
            if described.container == "table":
                check_columns(list(part.frame.columns), described, log)
            kept = wanted_rows(part.frame, described)
            filtered += len(kept) - int(kept.sum())
            if kept.any():
                chosen = TablePart(part.frame[kept].reset_index(drop=True), part.lines[kept])
                zone = options.timezone or described.zone or None
                frames.append(jobs_of(chosen.frame, chosen.lines, described, zone, malformed, guesses))
        if filtered:
            log.note(f"{counted(filtered, 'row')} left out by the filter of the column map", filtered_out=filtered)
        log.joined(file.joined)
        guesses.say(log)
        jobs = gathered(frames, malformed, options, log, described)
        more = {"account": text(jobs, "account")} if "account" in jobs else {}
        return workload_of(jobs, more, options, log, log.machine, relative=described.clock == "relative")


def _parts(file: TraceFile, described: ColumnMap, malformed: list[Malformed], log: ReadingLog) -> Iterator[TablePart]:
    """Yield the rows of all files. The lines of each have their own first number, for :meth:`.ReadingLog.place`."""
    container = CONTAINERS[described.container]
    if not file.others:
        yield from container(file, described, malformed, log)
        return
    logs: list[ReadingLog] = []
    for place, one in enumerate(file.files()):
        logs.append(ReadingLog(one.path))
        bad: list[Malformed] = []
        for part in container(one, described, bad, logs[-1]):
            yield TablePart(part.frame, part.lines + place * FILE_LINES)
        malformed.extend(Malformed(each.line + place * FILE_LINES, each.reason, each.message) for each in bad)
    _say_together(logs, log)


def _say_together(logs: list[ReadingLog], log: ReadingLog) -> None:
    """Add the notes of several files to those of all, each once with the sum of its counts."""
    sums: dict[tuple[str, str], int] = {}
    for one in logs:
        for name, count in one.counts.items():
            log.counts[name] = log.counts.get(name, 0) + count
        for note in one.notes:
            match = _COUNTED.fullmatch(note.partition(", such as ")[0])
            key, count = ((match[2], match[3]), int(match[1].replace(",", ""))) if match else (("", note), 0)
            sums[key] = sums.get(key, 0) + count
    log.notes += [f"{counted(count, noun)} {rest}" if noun else rest for (noun, rest), count in sums.items()]
