"""Files that some commands write besides what they print."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import typer

from cranfield.errors import RequestError

Write = Callable[[Any, str, dict[str, Any]], None]


@dataclass(frozen=True)
class OutputFile:
    """A flag that names a file to write.

    ``has_wide_form`` where a second flag chooses the form of the table in it; ``is_needed`` where the file is the point
    of the command, and it is said whether it was written; ``endings`` are those that its name may have, if not all.
    """

    name: str
    help: str
    write: Write
    short: str = ""
    has_wide_form: bool = False
    is_needed: bool = False
    endings: tuple[str, ...] = ()

    def remark(self, path: str | None) -> str:
        """Whether it was written, where that is said."""
        if not self.is_needed:
            return ""
        return f"Written to {path}." if path else f"Nothing was written: name a file with `{self.name}`."

    def options(self) -> dict[str, Any]:
        short = [self.short] if self.short else []
        own: dict[str, Any] = {
            self.name: (str | None, typer.Option(f"--{self.name}", *short, help=self.help, metavar="FILE"))
        }
        wide = typer.Option("--wide", help="In FILE, one row per topic and one column per system.")
        return own | ({"wide": (bool, wide)} if self.has_wide_form else {})

    def check(self, given: dict[str, Any]) -> None:
        path = given[self.name]
        if path is not None and self.endings and not path.removesuffix(".gz").endswith(self.endings):
            raise RequestError(f"«{path}» cannot be written", fix=f"End the name in {' or '.join(self.endings)}.")
        if given.get("wide") and given[self.name] is None:
            raise RequestError(
                "`wide` chooses the form of the file, and none is written", fix=f"Name it with `{self.name}`."
            )


def _scores(result: Any, path: str, given: dict[str, Any]) -> None:
    from cranfield.scores import write_scores

    write_scores(result.table, path, wide=given["wide"], details=result.document().details())


def _badge(result: Any, path: str, given: dict[str, Any]) -> None:
    from cranfield.formats.text import write_text
    from cranfield.rendering.views import view

    write_text(path, view(type(result)).files["badge"](result))


def _pairs(result: Any, path: str, given: dict[str, Any]) -> None:
    result.write_pairs(path)


_SCORES = OutputFile(
    "out", "Write per-topic scores: .csv, .tsv (also .gz), .json or .parquet.", _scores, short="-o", has_wide_form=True
)
FILES: dict[str, OutputFile] = {
    "score": _SCORES,
    "simulate": replace(_SCORES, is_needed=True),
    "compare": OutputFile(
        "out", "Write all pairs: .csv or .tsv (also .gz).", _pairs, short="-o", endings=(".csv", ".tsv")
    ),
    "power": OutputFile("badge", "Write the card as a small SVG.", _badge),
}
"""By question."""
