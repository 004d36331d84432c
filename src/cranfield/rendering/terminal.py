"""A document in the terminal: the answer, tables that fit the width, notes; warnings go to standard error."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TextIO

from cranfield.errors import speak, visible
from cranfield.rendering.document import (
    Column,
    Document,
    Table,
    first_warnings,
    fitting,
    more_warnings,
    priorities,
    show,
)

if TYPE_CHECKING:
    from rich.console import Console

WIDEST = 100_000  # characters on a line in a pipe
GAP = 2  # blanks between columns
SHORTEST_NAME, NARROWEST_TEXT = 12, 24  # to which names are shortened, and within which sentences are wrapped
WORDY = 3  # words in a cell that is a sentence rather than a name
_NARROW = frozenset("–−…×±√≤≥αβδεσωχτ∞")  # of the characters above Latin-1, some that are surely one column wide


def console(*, stderr: bool = False) -> Console:
    """Return the console; lines are not wrapped in a pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(
        stderr=stderr, width=None if stream.isatty() else WIDEST, highlight=False, soft_wrap=not stream.isatty()
    )


def print_document(document: Document, *, every_warning: bool = False) -> None:
    """Print the answer, the tables and the notes; warnings go to standard error."""
    is_terminal = sys.stdout.isatty()
    lines = document_lines(document, _width(sys.stdout) if is_terminal else sys.maxsize)
    if is_terminal or any(name in os.environ for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")):
        _print_styled(lines)
    else:  # importing what styles lines takes 40 ms
        sys.stdout.write("".join(f"{line}\n" for line, _ in lines))
    print_warnings(document, every=every_warning)


def print_text(text: str, *, stderr: bool = False) -> None:
    """Print lines, in a terminal wrapped between words."""
    stream = sys.stderr if stderr else sys.stdout
    stream.write(fitted_text(text, stream) + "\n")


def fitted_text(text: str, stream: TextIO) -> str:
    """The text with lines that fit the terminal that ``stream`` is, if it is one; no word is broken."""
    if not stream.isatty():
        return text
    return "\n".join(part for line in text.split("\n") for part in _wrapped(line, _width(stream)) or [""])


def print_warnings(document: Document, *, every: bool = False) -> None:
    """Print the warnings that may change the answer most to standard error, one line per kind; or ``every`` one."""
    lines, others = first_warnings(document.warnings)
    if not lines:
        return
    from rich.text import Text

    sys.stdout.flush()  # the answer first, where both go to one place
    aside = console(stderr=True)
    for line in [*lines, *(others if every else [])]:
        shown = Text(fitted_text(f"warning: {line}", sys.stderr))
        shown.stylize("yellow", 0, len("warning:"))
        aside.print(shown, soft_wrap=True)
    if others and not every:
        print_text(speak(more_warnings(len(others)), "command"), stderr=True)


def _width(stream: TextIO) -> int:
    """Columns of a terminal; ``COLUMNS`` says another number."""
    try:
        wide = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(stream.fileno()).columns
    except (ValueError, OSError):
        wide = 0
    return wide or shutil.get_terminal_size().columns


def document_lines(document: Document, wide: int) -> list[tuple[str, str]]:
    """The lines of a document in ``wide`` columns, each with its style: the answer, tables, notes."""
    parts = [_paragraph(document.answer, wide)]
    for table in document.tables:
        head, body, left_out = fitted_table(table, wide)
        lines = [(line, "italic") for line in _wrapped(table.title, wide)] + [(line, "bold") for line in head]
        lines += [(line, "") for line in body]
        parts.append(lines + [(line, "dim") for line in _wrapped(_where_columns_are(left_out, wide), wide)])
    parts.append(_paragraph(document.notes, wide))
    first, *others = [part for part in parts if part] or [[]]
    return [*first, *(line for part in others for line in [("", ""), *part])]


def _paragraph(text: str, wide: int) -> list[tuple[str, str]]:
    return [(part, "") for line in text.splitlines() for part in _wrapped(line, wide)]


def _print_styled(lines: Sequence[tuple[str, str]]) -> None:
    from rich.text import Text

    out = console()
    for line, style in lines:
        out.print(Text(line, style=style), soft_wrap=True)


def _cells(table: Table) -> list[list[str]]:
    """The titles of the columns, then the rows, as text."""
    shown = [[show(value, column.kind) for value, column in zip(row, table.columns, strict=True)] for row in table.rows]
    return [[visible(column.title) for column in table.columns], *shown]


def _where_columns_are(titles: Sequence[str], wide: int) -> str:
    if not titles:
        return ""
    them = "them" if len(titles) > 1 else "it"
    return speak(
        f"Not shown in {wide} columns: {'; '.join(titles)}. See {them} in a wider terminal, with `csv` or `json`.",
        "command",
    )


def fitted_table(table: Table, wide: int) -> tuple[list[str], list[str], list[str]]:
    """The lines of the titles and of the rows of a table in ``wide`` columns, and the titles of columns left out.

    Columns are left out by their priority, names are shortened in the middle, and sentences are wrapped between words;
    numbers and words are never broken.
    """
    if not table.columns:
        return [], [], []
    rows = _cells(table)
    fields = [_Field.of(column, [row[at] for row in rows]) for at, column in enumerate(table.columns)]
    ranked = priorities(table.columns, [field.cells for field in fields])
    kept = [fields[at] for at in fitting([field.least for field in fields], ranked, wide, GAP)]
    widths = _widths(kept, wide)
    placed = [field.placed(width) for field, width in zip(kept, widths, strict=True)]
    title, *body = ([(" " * GAP).join(line).rstrip() for line in _beside(cells)] for cells in zip(*placed, strict=True))
    return title, [line for row in body for line in row], [each.title for each in fields if each not in kept]


@dataclass(frozen=True, eq=False)
class _Field:
    """A column as text: its title, its cells, and whether they are numbers, names or sentences."""

    title: str
    cells: Sequence[str]
    is_number: bool
    is_prose: bool

    @classmethod
    def of(cls, column: Column, cells: Sequence[str]) -> _Field:
        is_number = column.kind != "text"
        is_prose = not is_number and any(len(cell.split()) >= WORDY for cell in cells[1:])
        return cls(cells[0], cells[1:], is_number, is_prose)

    @cached_property
    def longest(self) -> int:
        return max(map(_size, self.cells), default=1) or 1

    @cached_property
    def least(self) -> int:
        """The narrowest that it can be."""
        whole = max((_size(cell) for cell in self.cells if self.is_number or not _has_letters(cell)), default=1)
        title = max((_size(word) for word in self.title.split()), default=1)
        return max(whole, title, min(self.longest, NARROWEST_TEXT if self.is_prose else SHORTEST_NAME))

    def placed(self, width: int) -> list[list[str]]:
        """The title and the cells, each as lines of this width: words to the left, numbers to the right."""
        if self.is_prose:
            cells = [_wrapped(cell, width, shorten=True) for cell in self.cells]
        else:
            cells = [[cell] for cell in shortened_names(self.cells, width)]
        lines = [_wrapped(self.title, width), *cells]
        return [[_padded(line, width, to_the_right=self.is_number) for line in each or [""]] for each in lines]


def _widths(fields: Sequence[_Field], wide: int) -> list[int]:
    """Share the width that is left: first so that names and sentences are whole, then that titles stand on one line."""
    widths = [field.least for field in fields]
    spare = wide - sum(widths) - GAP * (len(fields) - 1)
    for wanted in ([field.longest for field in fields], [_size(field.title) for field in fields]):
        for at in sorted(range(len(fields)), key=lambda at: wanted[at] - widths[at]):
            more = max(0, min(wanted[at] - widths[at], spare))
            widths[at], spare = widths[at] + more, spare - more
    return [min(width, wide) for width in widths]


def _beside(cells: Sequence[list[str]]) -> list[tuple[str, ...]]:
    """The lines of a row, from cells with several lines."""
    most = max(map(len, cells))
    return list(zip(*([*cell, *[" " * _size(cell[0])] * (most - len(cell))] for cell in cells), strict=True))


def _padded(text: str, width: int, *, to_the_right: bool) -> str:
    blanks = " " * (width - _size(text))
    return blanks + text if to_the_right else text + blanks


def shortened_names(names: Sequence[str], width: int) -> list[str]:
    """The names with an ellipsis where they are too long, placed so that as many as can be remain different.

    >>> shortened_names(["runs/2024/aldgate-1.txt", "runs/2024/dovedale-1.txt"], 12)
    ['run…te-1.txt', 'run…le-1.txt']
    """
    if max(map(_size, names), default=0) <= width:
        return list(names)
    heads = (width // 2, width // 3, width // 4, 2 * width // 3, 3 * width // 4)
    choices = [[shortened(name, width, head) for name in names] for head in heads]
    return max(choices, key=lambda names: len(set(names)))


def shortened(text: str, width: int, start: int | None = None) -> str:
    """The text with an ellipsis after ``start`` columns, by default in its middle, if it is longer than ``width``.

    >>> shortened("a-name-that-is-much-too-long", 12)
    'a-name…-long'
    """
    if _size(text) <= width or not _has_letters(text):
        return text
    start = width // 2 if start is None else start
    head, tail = text, text
    while _size(head) > start:
        head = head[:-1]
    while _size(tail) > width - 1 - start:
        tail = tail[1:]
    return f"{head}…{tail}"


def _has_letters(text: str) -> bool:
    return any(map(str.isalpha, text))


def _size(text: str) -> int:
    """Columns that a text takes: some letters take two."""
    if text.isascii() or all(mark < "\u0300" or mark in _NARROW for mark in text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _wrapped(text: str, width: int, *, shorten: bool = False) -> list[str]:
    """Lines of whole words; a word that is longer than a line has one of its own, or is shortened."""
    if _size(text) <= width:
        return [text] if text else []
    lines: list[str] = []
    for word in text.split():
        word = shortened(word, width) if shorten else word
        if lines and _size(lines[-1]) + 1 + _size(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
