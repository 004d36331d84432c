"""Rows that are too many to hold: made some at a time, each time they are gone through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False)
class StreamedRows(Sequence[Mapping[str, Any]]):
    """A sequence of ``length`` rows, all with the same words; ``make`` starts over and yields them as columns."""

    length: int
    make: Callable[[], Iterator[Columns]]

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for part in self.parts():
            yield from (dict(zip(part, row, strict=True)) for row in zip(*part.values(), strict=True))

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            start, stop, step = at.indices(self.length)
            return list(islice(self, start, stop, step)) if step > 0 else list(self)[at]
        place = range(self.length)[at]
        return next(islice(self, place, None))

    def parts(self) -> Iterator[Columns]:
        """The rows as columns, some at a time."""
        return self.make()

    @property
    def words(self) -> list[str]:
        return list(next(self.parts(), {}))
