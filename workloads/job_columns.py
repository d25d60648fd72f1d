"""Jobs as columns: one array per field. :class:`Job` objects exist only while they are in use."""

from __future__ import annotations

import hashlib
import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import repeat
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..base import LONGEST, InputError, IntArray
from ..base.checks import LARGEST
from .job import Job

#: The fields that are whole numbers, with their bounds. Then text fields with repeated values, and the others.
NUMBERS = {"submit": (0, LONGEST), "runtime": (0, LONGEST), "walltime": (1, LONGEST), "nodes": (1, LARGEST)}
TEXTS = ("user", "group", "name", "queue", "kind")
#: Most texts of a type of columns that is kept for the next table, see :func:`text_categories`.
_KEPT = 16
OTHERS = (
    "per_node",
    "shapes",
    "checkpoint",
    "law",
    "deadline",
    "array",
    "reservation",
    "depends",
    "begin",
    "hold",
    "priority",
    "qos",
    "exclusive",
    "soft_walltime",
    "licences",
    "together",
    "spread",
    "within",
    "within_groups",
    "within_wait",
    "slots",
)
#: Fields that enter a digest only if a job has one: they are newer than the digest.
_LATER = {each.name: each.default for each in fields(Job) if each.name in OTHERS[OTHERS.index("array") :]}
#: Jobs made at a time.
_BLOCK = 512
#: Setters of the fields of a job, which bypass its immutability.
_SETTERS = {field.name: Job.__dict__[field.name].__set__ for field in fields(Job)}


def text_categories(texts: tuple[str, ...]) -> pd.CategoricalDtype:
    """Return the type of columns with these texts. It takes longer than a small table, so that short ones are kept."""
    return _kept_categories(texts) if len(texts) <= _KEPT else pd.CategoricalDtype(pd.Index(list(texts)))


@lru_cache(maxsize=256)
def _kept_categories(texts: tuple[str, ...]) -> pd.CategoricalDtype:
    return pd.CategoricalDtype(pd.Index(list(texts)))


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A column of few distinct values: ``values[codes[row]]``.

    Attributes
    ----------
    codes
        Shape (rows,), read-only.
    values
        Each distinct value, once.
    """

    codes: NDArray[np.int32]
    values: Sequence[Any]

    def __post_init__(self) -> None:
        codes = np.asarray(self.codes, dtype=np.int32)
        codes.flags.writeable = False
        object.__setattr__(self, "codes", codes)

    @classmethod
    def of(cls, column: Any, render: Callable[[Any], Any] = str) -> Coded:
        """Encode an array of numbers or texts. Each distinct value is rendered once, to a distinct result."""
        codes, values = pd.factorize(np.asarray(column))
        return cls(codes.astype(np.int32), [render(value) for value in values.tolist()])

    @classmethod
    def gathered(cls, values: Iterable[Any]) -> Coded:
        """Encode objects. Unhashable ones are equal only if they are the same object."""
        values = list(values)
        try:
            known = {value: place for place, value in enumerate(dict.fromkeys(values))}
        except TypeError:
            pass
        else:
            return cls(np.fromiter(map(known.__getitem__, values), np.int32, len(values)), [*known])
        places: dict[Any, int] = {}
        different: list[Any] = []

        def code(value: Any) -> int:
            try:
                place = places.setdefault(value, len(different))
            except TypeError:
                place = places.setdefault(("object", id(value)), len(different))
            if place == len(different):
                different.append(value)
            return place

        return cls(np.array([code(value) for value in values], dtype=np.int32), different)

    @classmethod
    def same(cls, value: Any, count: int) -> Coded:
        """Return a column with the same value in all rows."""
        return cls(np.broadcast_to(np.int32(0), count), (value,))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.codes)

    def take(self, rows: Any) -> Coded:
        """Return the column at some rows: a slice, a mask or indices."""
        if len(self.values) == 1:
            return Coded.same(self.values[0], len(np.broadcast_to(True, len(self))[rows]))
        return Coded(self.codes[rows], self.values)

    def each(self) -> Iterable[Any]:
        """Return the value of every row. Equal values are one object."""
        if len(self.values) == 1:
            return repeat(self.values[0], len(self))
        return map(self.values.__getitem__, self.codes.tolist())

    def numbers(self, number: Callable[[Any], int]) -> IntArray:
        """Return an array of a number computed from each value."""
        return np.array([number(value) for value in self.values], dtype=np.int64)[self.codes]

    def categories(self) -> pd.Categorical:
        """Return a column of texts as a categorical with the sorted values that occur."""
        used, codes = np.unique(self.codes, return_inverse=True)
        texts = [self.values[code] for code in used.tolist()]
        order = sorted(range(len(texts)), key=texts.__getitem__)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        return pd.Categorical.from_codes(rank[codes], dtype=text_categories(tuple(texts[place] for place in order)))

    def canonical(self, text: Callable[[Any], str]) -> tuple[IntArray, list[str]]:
        """Return codes and texts in order of appearance. They do not depend on the coding of the values."""
        merged = Coded.gathered(text(value) for value in self.values)
        codes, used = pd.factorize(merged.codes[self.codes])
        return codes.astype(np.int64), [merged.values[code] for code in used.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class JobColumns(Sequence[Job]):
    """Jobs in order of submission: a sequence that makes :class:`Job` objects on access.

    Attributes
    ----------
    ids
        Whole numbers or texts; a job has the text.
    submit, runtime, walltime, nodes
        As of :class:`Job`, arrays of shape (jobs,), read-only.
    per_node, user, group, name, queue, kind, shapes, checkpoint, law, deadline, array,
    reservation, depends, begin, hold, priority, qos, exclusive, soft_walltime, licences, together, spread,
    within, within_groups, within_wait, slots
        The same, coded.

    Raises
    ------
    InputError
        If a number is out of its range, or the columns differ in length.
    """

    ids: NDArray[Any]
    submit: IntArray
    runtime: IntArray
    walltime: IntArray
    nodes: IntArray
    per_node: Coded
    user: Coded
    group: Coded
    name: Coded
    queue: Coded
    kind: Coded
    shapes: Coded
    checkpoint: Coded
    law: Coded
    deadline: Coded
    array: Coded
    reservation: Coded
    depends: Coded
    begin: Coded
    hold: Coded
    priority: Coded
    qos: Coded
    exclusive: Coded
    soft_walltime: Coded
    licences: Coded
    together: Coded
    spread: Coded
    within: Coded
    within_groups: Coded
    within_wait: Coded
    slots: Coded

    def __post_init__(self) -> None:
        for name in ("ids", *NUMBERS):
            column = np.asarray(getattr(self, name), dtype=None if name == "ids" else np.int64)
            column.flags.writeable = False
            object.__setattr__(self, name, column)
        for field in fields(self):
            if len(getattr(self, field.name)) != len(self):
                length = len(getattr(self, field.name))
                raise InputError(f"jobs: {field.name} must have {len(self)} values, one a job, got {length}")
        for name, (least, most) in NUMBERS.items():
            column = getattr(self, name)
            wrong = (column < least) | (column > most)
            if wrong.any():
                row = int(wrong.argmax())
                wanted = f"a whole number >= {least}" + f" and <= {most}" * int(column[row] > most)
                raise InputError(f"job {self.ids[row]}: {name} must be {wanted}, got {column[row]}")

    @classmethod
    def made(cls, ids: NDArray[Any], **columns: Any) -> JobColumns:
        """Return the columns of jobs. Missing columns have the defaults of :class:`Job`."""
        count = len(ids)
        for field in fields(Job):
            if field.name not in (*columns, "id"):
                value = 1 if field.name == "nodes" else field.default
                columns[field.name] = np.full(count, 1) if field.name == "nodes" else Coded.same(value, count)
        return cls(ids, **columns)

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> JobColumns:
        """Return the columns of job objects."""
        count = len(jobs)
        columns: dict[str, Any] = {"ids": np.array([job.id for job in jobs], dtype=object)}
        for name in NUMBERS:
            columns[name] = np.fromiter(map(operator.attrgetter(name), jobs), dtype=np.int64, count=count)
        for name in (*TEXTS, *OTHERS):
            columns[name] = Coded.gathered(map(operator.attrgetter(name), jobs))
        return cls(**columns)

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> Job: ...
    @overload
    def __getitem__(self, index: slice) -> JobColumns: ...
    def __getitem__(self, index: int | slice) -> Job | JobColumns:
        """Return one job, or a slice of them as columns."""
        if isinstance(index, slice):
            return self.take(index)
        return self._job(range(len(self))[operator.index(index)])

    def __iter__(self) -> Iterator[Job]:
        """Yield the jobs, made in blocks."""
        for start in range(0, len(self), _BLOCK):
            yield from self._jobs(start, start + _BLOCK)

    def __eq__(self, other: object) -> bool:
        """Compare job by job, also with a tuple of jobs."""
        if not isinstance(other, JobColumns | tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(operator.eq, self, other))

    def __hash__(self) -> int:
        """Hash as a tuple of the jobs."""
        return hash(tuple(self))

    def __add__(self, other: Iterable[Job]) -> tuple[Job, ...]:
        """Return these jobs and others after them."""
        return (*self, *other)

    def __radd__(self, other: Iterable[Job]) -> tuple[Job, ...]:
        """Return these jobs and others before them."""
        return (*other, *self)

    def __repr__(self) -> str:
        """Return the number of jobs as text."""
        return f"<{len(self):,} jobs>"

    def take(self, rows: Any, **changed: Any) -> JobColumns:
        """Return the jobs of a slice, a mask or indices, with some columns replaced."""
        for field in fields(self):
            if field.name not in changed:
                column = getattr(self, field.name)
                changed[field.name] = column.take(rows) if isinstance(column, Coded) else column[rows]
        return JobColumns(**changed)

    def texts(self) -> list[str]:
        """Return the ids as texts."""
        return list(map(str, self.ids.tolist()))

    def amounts(self, resource: str) -> IntArray:
        """Return every job's amount of a resource, over all its slots."""
        amounts = self.nodes * self.per_node.numbers(lambda amounts: amounts.get(resource, 0))
        if any(self.slots.values):
            unequal = self.slots.numbers(lambda slots: -1 if slots is None else sum(s.get(resource, 0) for s in slots))
            amounts = np.where(unequal < 0, amounts, unequal)
        return amounts

    def add_to(self, sha: hashlib._Hash) -> None:
        """Add all data of the jobs to a hash, independently of their coding."""
        ids = self.texts()
        sha.update(repr(len(ids)).encode())
        sha.update(np.fromiter(map(len, ids), dtype="<i8", count=len(ids)).tobytes())
        sha.update("".join(ids).encode("utf-8", "surrogatepass"))
        for name in NUMBERS:
            sha.update(getattr(self, name).astype("<i8").tobytes())
        for name in (*TEXTS, *OTHERS):
            codes, texts = getattr(self, name).canonical(_CANONICAL.get(name, repr))
            if name in _LATER and texts in ([], [repr(_LATER[name])]):
                continue
            sha.update(repr((name, texts)).encode("utf-8", "backslashreplace"))
            sha.update(codes.astype("<i8").tobytes())

    def _job(self, row: int) -> Job:
        """Make the job of one row, without an array for any of its fields."""
        job = object.__new__(Job)
        _SETTERS["id"](job, str(self.ids.item(row)))
        for name in NUMBERS:
            _SETTERS[name](job, getattr(self, name).item(row))
        for name in (*TEXTS, *OTHERS):
            column = getattr(self, name)
            _SETTERS[name](job, column.values[column.codes.item(row)])
        return job

    def _jobs(self, start: int, stop: int) -> list[Job]:
        """Make the jobs of some rows, field by field, which is fastest."""
        rows = slice(start, stop)
        ids = self.ids[rows].tolist()
        jobs = [object.__new__(Job) for _ in ids]
        columns: dict[str, Iterable[Any]] = {"id": map(str, ids)}
        columns |= {name: getattr(self, name)[rows].tolist() for name in NUMBERS}
        columns |= {name: getattr(self, name).take(rows).each() for name in (*TEXTS, *OTHERS)}
        for name, values in columns.items():
            deque(map(_SETTERS[name], jobs, values), maxlen=0)
        return jobs


_CANONICAL: dict[str, Callable[[Any], str]] = {
    "law": lambda law: repr(None if law is None else (law.dist.name, law.args, sorted(law.kwds.items()))),
    "per_node": lambda per_node: repr(sorted(per_node.items())),
    "licences": lambda licences: repr({**licences}),
    "slots": lambda slots: repr(slots and [sorted(slot.items()) for slot in slots]),
}
