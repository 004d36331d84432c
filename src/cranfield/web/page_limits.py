"""How much a page answers in a moment; the command has no such limits."""

from __future__ import annotations

from collections.abc import Mapping

from cranfield.errors import RequestError
from cranfield.methods.design.grid import parse_grid
from cranfield.rendering.document import Document
from cranfield.rendering.streamed_rows import StreamedRows

MOST_ROWS = 2_000  # of a grid
MOST_LISTED = 500_000  # rows of a file to download
REACH = {
    "systems": (2, 1e4),
    "correlation": (1e-6, 1),
    "topics": (2, 1e7),
    "trial_size": (2, 1e5),
    "alpha": (1e-6, 1),
    "power": (1e-6, 1),
}


def parse_numbers(given: Mapping[str, str], *, counts: tuple[str, ...] = ()) -> dict[str, list[float]]:
    """The numbers, as many and as extreme as a page answers in a moment; ``counts`` are whole and may be large."""
    found = {name: parse_grid(text, name=name, most=MOST_ROWS) for name, text in given.items()}
    cells = 1
    for name, values in found.items():
        _check_reach(name, values, REACH.get(name, (0, 1e7) if name in counts else (1e-5, 1e3)))
        cells *= len(values)
    if cells > MOST_ROWS:
        raise RequestError(
            f"the grid has {cells:,} cells", fix=f"A page shows at most {MOST_ROWS:,}; the command has no such limit."
        )
    return found


def _check_reach(name: str, values: list[float], reach: tuple[float, float]) -> None:
    """Far out, the distributions take minutes; that is for the command, which can be interrupted."""
    low, high = reach
    bad = next((value for value in values if not value <= high or 0 < value < low), None)
    if bad is not None:
        raise RequestError(
            f"{name.replace('_', ' ')} cannot be {bad:g} on a page",
            fix=f"A page takes {low:g} to {high:,g}; the command has no such limit.",
        )


def check_length(document: Document) -> None:
    """Refuse lists that are made while they are written and take minutes."""
    for part in document.extra.values():
        if isinstance(part, StreamedRows) and len(part) > MOST_LISTED:
            raise RequestError(
                f"{len(part):,} rows are too many for a page",
                fix=f"A page lists at most {MOST_LISTED:,}; the command has no such limit.",
            )
