"""A view of a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, SupportsIndex, TypeVar, overload

T = TypeVar("T")


class ReadOnly(Sequence[T], Generic[T]):
    """A sequence that shows a list, without a copy and without a way to change it."""

    __slots__ = ("_items",)

    def __init__(self, items: list[T]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    @overload
    def __getitem__(self, index: SupportsIndex) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> T | Sequence[T]:
        return self._items[index]

    def __repr__(self) -> str:
        return repr(list(self))
