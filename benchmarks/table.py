"""Tables of text, and how times, ratios and memory are written in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchmarks.child import LackError
from benchmarks.sizes import SMALLEST, size

ABSENT = "–"


@dataclass(frozen=True)
class Goal:
    """Something promised, and what came of it."""

    text: str
    met: bool

    def __str__(self) -> str:
        return f"{self.text}: {'met' if self.met else 'MISSED'}"


@dataclass
class Table:
    """A title, headings, rows of cells and notes.

    ``goals`` are those of the rows, ``failures`` what raised an error, ``lacking`` what was not tried because something
    is not there, all with the name of the row.
    """

    title: str
    headings: Sequence[str]
    notes: Sequence[str] = ()
    promised: bool = True
    rows: list[Sequence[str]] = field(default_factory=list)
    goals: list[tuple[str, Goal]] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    lacking: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.promised = self.promised and size() != SMALLEST

    @contextmanager
    def attempt(self, name: str, goals: int = 1) -> Iterator[None]:
        """Measure and add rows in here; what fails becomes a row that says why, and its goals count as not met.

        ``goals`` is how many goals depend on it.
        """
        before = len(self.goals)
        try:
            yield
        except LackError as lack:
            self.add(name, str(lack))
            self.lacking.append((name, str(lack)))
        except Exception as error:
            reason = f"failed: {type(error).__name__}: {' '.join(str(error).split())}"[:240]
            self.add(name, reason)
            self.failures.append((name, reason))
            unmet = max(1, goals - (len(self.goals) - before))
            self.goals.extend([(name, Goal(reason, False))] * unmet)

    def add(self, *cells: str | Goal) -> None:
        """One row, filled up with empty cells; goals in it count where something is promised at all."""
        if len(cells) > len(self.headings):
            raise ValueError(f"{len(cells)} cells under {len(self.headings)} headings: {self.title}")
        promises = [cell for cell in cells if isinstance(cell, Goal)]
        if self.promised:
            self.goals.extend((str(cells[0]), goal) for goal in promises)
        shown = [str(cell) if self.promised or cell not in promises else "" for cell in cells]
        self.rows.append(shown + [""] * (len(self.headings) - len(shown)))

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(self.headings, *self.rows, strict=True)]
        rules = ["─" * width for width in widths]
        lines = [self._line(cells, widths) for cells in (self.headings, rules, *self.rows)]
        return "\n".join([self.title, "", *lines, *(f"  {note}" for note in self.notes), ""])

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        """Words to the left, numbers to the right."""
        placed = (
            cell.ljust(width) if at == 0 or "goal" in heading else cell.rjust(width)
            for at, (heading, cell, width) in enumerate(zip(self.headings, cells, widths, strict=True))
        )
        return "  ".join(placed).rstrip()


def at_least(ratio: float, wanted: float) -> Goal:
    """A goal on how much faster something is."""
    return Goal(f"at least {wanted:g} ×", ratio >= wanted)


def at_most(value: float, wanted: float, unit: str) -> Goal:
    """A goal on something that should be small."""
    return Goal(f"at most {wanted:g} {unit}", value <= wanted)


def duration(seconds: float) -> str:
    """Three digits or so, in the unit that suits.

    >>> duration(0.0000412), duration(0.0043), duration(0.0871), duration(1.234), duration(41.2)
    ('41 µs', '4.3 ms', '87 ms', '1.23 s', '41.2 s')
    """
    for below, factor, digits, unit in ((1e-3, 1e6, 0, "µs"), (0.00995, 1e3, 1, "ms"), (0.0995, 1e3, 0, "ms")):
        if seconds < below:
            return f"{seconds * factor:.{digits}f} {unit}"
    return f"{seconds:.2f} s" if seconds < 9.95 else f"{seconds:.1f} s"


def times(ratio: float) -> str:
    return f"{ratio:.1f} ×" if ratio < 99.5 else f"{ratio:,.0f} ×"


def megabytes(value: float) -> str:
    return f"{value:,.0f} MB"


def score(value: float) -> str:
    return f"{value:.4f}"
