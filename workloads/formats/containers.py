"""Parsers of files that hold the rows of a table, by the name of their container in a column map."""

from collections.abc import Callable, Iterator

from ..machine import Machine
from .accountings import batsim_part, philly_part
from .column_maps import ColumnMap
from .htcondor import htcondor_parts
from .json_records import json_parts
from .lsf import lsf_parts
from .pbs import pbs_parts
from .read_log import Malformed, ReadingLog
from .sge import qacct_parts, sge_parts
from .table_files import TablePart, parts
from .trace_files import TraceFile

#: Yields the rows of a file, and adds malformed records and notes.
Container = Callable[[TraceFile, ColumnMap, list[Malformed], ReadingLog], Iterator[TablePart]]


def _table(file: TraceFile, described: ColumnMap, malformed: list[Malformed], log: ReadingLog) -> Iterator[TablePart]:
    del log
    comment = described.comment or None
    wanted = described.sources
    separator, header = described.separator, described.header
    yield from parts(file, malformed, wanted=wanted, separator=separator, header=header, comment=comment)


def _philly(file: TraceFile, described: ColumnMap, malformed: list[Malformed], log: ReadingLog) -> Iterator[TablePart]:
    del described, log
    yield philly_part(file, malformed)


def _batsim(file: TraceFile, described: ColumnMap, malformed: list[Malformed], log: ReadingLog) -> Iterator[TablePart]:
    del described
    part, cores = batsim_part(file, malformed)
    log.machine = Machine.pool(cores, name=log.path.name) if cores else None
    yield part


CONTAINERS: dict[str, Container] = {
    "table": _table,
    "json": json_parts,
    "pbs": pbs_parts,
    "sge": sge_parts,
    "qacct": qacct_parts,
    "lsf": lsf_parts,
    "htcondor": htcondor_parts,
    "philly": _philly,
    "batsim": _batsim,
}
#: Containers in JSON.
JSON_CONTAINERS = ("json", "philly", "batsim")
