"""Options that several commands share, and the files that some of them write besides what they print."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cranfield.cli.streams import json_in_ascii, takes_all
from cranfield.errors import RequestError, visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from cranfield.rendering.document import Document


class OutputFormat(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "md"
    LATEX = "latex"
    TREC_EVAL = "trec_eval"


OUTPUT, ADVANCED = "Output", "Advanced"
Plot = Annotated[
    str | None,
    typer.Option("--plot", help="Write a chart: .svg, .png, .pdf or .html.", metavar="FILE", rich_help_panel=OUTPUT),
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        help="Address of a Dask scheduler, such as tcp://host:8786.",
        metavar="ADDRESS",
        rich_help_panel=ADVANCED,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", help="Number of processes on this machine.", metavar="N", min=1, rich_help_panel=ADVANCED
    ),
]
Resume = Annotated[
    str | None,
    typer.Option(
        "--resume", help="Store finished parts here, and continue from them.", metavar="FILE", rich_help_panel=ADVANCED
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)]
_FORMATS: dict[OutputFormat, Any] = {
    OutputFormat.JSON: Json,
    OutputFormat.CSV: Annotated[
        bool, typer.Option("--csv", help="Print CSV, with every digit.", rich_help_panel=OUTPUT)
    ],
    OutputFormat.MARKDOWN: Annotated[bool, typer.Option("--md", help="Print Markdown.", rich_help_panel=OUTPUT)],
    OutputFormat.LATEX: Annotated[bool, typer.Option("--latex", help="Print LaTeX.", rich_help_panel=OUTPUT)],
}
FORMAT_FLAGS = [
    inspect.Parameter(str(name), inspect.Parameter.KEYWORD_ONLY, default=False, annotation=option)
    for name, option in _FORMATS.items()
]


_EveryWarning = Annotated[bool, typer.Option("--warnings", help="Print all warnings.", rich_help_panel=OUTPUT)]
WARNING_FLAG = inspect.Parameter("warnings", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_EveryWarning)
"""Of commands that say at first which warnings matter most."""


_Named = Annotated[
    OutputFormat | None,
    typer.Option("--format", help="Print this format; trec_eval has the lines of trec_eval.", rich_help_panel=OUTPUT),
]
_PerTopic = Annotated[
    bool,
    typer.Option(
        "--per-topic",
        help="With --format trec_eval, the lines of every topic too, as trec_eval -q.",
        rich_help_panel=OUTPUT,
    ),
]
LINE_FLAGS = [
    inspect.Parameter("format", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_Named),
    inspect.Parameter("per_topic", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_PerTopic),
]
"""Of commands whose results can be printed as trec_eval does."""


def chosen_format(given: dict[str, Any]) -> OutputFormat:
    """The output format that was asked for, taken out of what was given."""
    wanted = [each for each in _FORMATS if given.pop(each)]
    named = given.pop("format", None)
    wanted += [named] if named is not None and named not in wanted else []
    if len(wanted) > 1:
        raise typer.BadParameter(f"choose one of --{', --'.join(_FORMATS)}")
    chosen = wanted[0] if wanted else OutputFormat.TEXT
    if given.get("per_topic") and chosen is not OutputFormat.TREC_EVAL:
        raise RequestError("only lines of trec_eval can be per topic", fix="Add --format trec_eval, or name a file.")
    return chosen


def printed(command: Callable[..., None]) -> Callable[..., None]:
    """A command with --json, --csv, --md and --latex, which is given the one chosen as ``output_format``."""
    signature = inspect.signature(command, eval_str=True)
    own = [each for each in signature.parameters.values() if each.name != "output_format"]

    @functools.wraps(command)
    def asked(**given: Any) -> None:
        command(output_format=chosen_format(given), **given)

    asked.__signature__ = signature.replace(parameters=[*own, *FORMAT_FLAGS])  # type: ignore[attr-defined]
    asked.__annotations__ = {each.name: each.annotation for each in [*own, *FORMAT_FLAGS]}
    return asked


def output(document: Document, chosen: OutputFormat, *, every_warning: bool = False) -> None:
    """Print a document; warnings go to standard error, and so does a verdict where the format has no place for it."""
    from cranfield.rendering.document import spoken
    from cranfield.rendering.terminal import print_document, print_text, print_warnings

    shown = spoken(document, "command")
    if chosen is OutputFormat.TEXT:
        print_document(shown, every_warning=every_warning)
        return
    from cranfield.rendering import output_formats

    if chosen is OutputFormat.JSON:
        echo_json(output_formats.json_pieces(document))
        typer.echo()
    elif chosen is OutputFormat.CSV:
        _echo(output_formats.csv_pieces(document))
    elif chosen is OutputFormat.MARKDOWN:
        typer.echo(output_formats.to_markdown(shown))
    else:
        typer.echo(output_formats.to_latex(shown))
    if chosen in (OutputFormat.CSV, OutputFormat.LATEX):
        if document.inputs.get("gate"):
            print_text(shown.answer, stderr=True)
        print_warnings(shown, every=every_warning)


def output_lines(lines: str, document: Document, *, every_warning: bool = False) -> None:
    """Print lines as they are, and warnings to standard error."""
    from cranfield.rendering.document import spoken
    from cranfield.rendering.terminal import print_warnings

    _echo(iter([lines]))
    print_warnings(spoken(document, "command"), every=every_warning)


def echo_json(pieces: Iterator[str]) -> None:
    """Print JSON; values are the same in every encoding."""
    _echo(pieces if takes_all(sys.stdout) else map(json_in_ascii, pieces))


def _echo(pieces: Iterator[str]) -> None:
    """Print a text that may be too long to hold; in a terminal, without what would act on it."""
    seen = sys.stdout.isatty()
    for piece in pieces:
        typer.echo(visible(piece, keep="\n\t") if seen else piece, nl=False)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error, when that is a terminal, from the first report on; gone when the work is done."""
    bars: list[Any] = []

    def step(done: int, total: int) -> None:
        if not bars and sys.stderr.isatty():
            bars.append(_started_bar(what))
        for bar, task in bars:
            bar.update(task, completed=done, total=total)

    try:
        yield step
    finally:
        for bar, _ in bars:
            bar.stop()


def _started_bar(what: str) -> tuple[Any, Any]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from cranfield.rendering.terminal import console

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console(stderr=True), transient=True)
    bar.start()
    return bar, bar.add_task(what, total=None)


def machines(command: str, *, dask: str | None, workers: int | None, resume: str | None) -> Any:
    """Where long work runs, and where its finished parts are kept."""
    from contextlib import nullcontext

    if dask is None and workers is None and resume is None:
        return nullcontext()
    from cranfield.runtime.dask import work_on

    return work_on(command, dask=dask, workers=workers, resume=resume)


Write = Callable[[Any, str, dict[str, Any]], None]


@dataclass(frozen=True)
class OutputFile:
    """A flag that names a file to write.

    ``has_wide_form`` where a second flag chooses the form of the table in it, ``add`` where a flag names a file that is
    there and gets more; ``is_needed`` where the file is the point
    of the command, and it is said whether it was written; ``endings`` are those that its name may have, if not all,
    and ``check_name`` refuses what cannot be written here, before any work.
    """

    name: str
    help: str
    write: Write
    short: str = ""
    has_wide_form: bool = False
    add: Write | None = None
    is_needed: bool = False
    endings: tuple[str, ...] = ()
    check_name: Callable[[str], None] | None = None

    def remark(self, path: str | None) -> str:
        """Whether it was written, where that is said."""
        if not self.is_needed:
            return ""
        return f"Written to {path}." if path else f"Nothing was written: name a file with `{self.name}`."

    def options(self) -> dict[str, Any]:
        short = [self.short] if self.short else []
        own: dict[str, Any] = {
            self.name: (
                str | None,
                typer.Option(f"--{self.name}", *short, help=self.help, metavar="FILE", rich_help_panel=OUTPUT),
            )
        }
        wide = typer.Option(
            "--wide", help="In FILE, one row per topic and one column per system.", rich_help_panel=OUTPUT
        )
        own |= {"wide": (bool, wide)} if self.has_wide_form else {}
        added = typer.Option(
            "--add-to",
            help="Add the measures to a score file of the same runs.",
            metavar="FILE",
            rich_help_panel=OUTPUT,
        )
        return own | ({"add_to": (str | None, added)} if self.add is not None else {})

    def check(self, given: dict[str, Any]) -> None:
        path = given[self.name]
        if path is not None and self.endings and not path.removesuffix(".gz").endswith(self.endings):
            raise RequestError(f"«{path}» cannot be written", fix=f"End the name in {' or '.join(self.endings)}.")
        if path is not None and self.check_name is not None:
            self.check_name(path)
        if given.get("wide") and given[self.name] is None:
            raise RequestError(
                "`wide` chooses the form of the file, and none is written", fix=f"Name it with `{self.name}`."
            )
        if given.get("add_to") is not None:
            from cranfield.scores.score_files import check_added_to

            check_added_to(given["add_to"])

    def put(self, result: Any, given: dict[str, Any]) -> None:
        """Write the files that are named."""
        if given[self.name] is not None:
            self.write(result, given[self.name], given)
        if self.add is not None and given["add_to"] is not None:
            self.add(result, given["add_to"], given)


def _scores(result: Any, path: str, given: dict[str, Any]) -> None:
    from cranfield.formats.text import write_text
    from cranfield.scores import write_scores
    from cranfield.scores.score_files import trec_eval_lines

    relstrings = getattr(result, "relstrings", None)
    if relstrings and path.removesuffix(".gz").endswith(".eval"):
        write_text(path, "".join(trec_eval_lines(result.table, relstrings=relstrings, where=path)))
        return
    write_scores(result.table, path, wide=given["wide"], details=result.document().details())


def _add_scores(result: Any, path: str, given: dict[str, Any]) -> None:
    from cranfield.scores.score_files import add_scores

    add_scores(result.table, path)


def _check_scores(path: str) -> None:
    from cranfield.scores.score_files import check_scores_name

    check_scores_name(path)


def _badge(result: Any, path: str, given: dict[str, Any]) -> None:
    from cranfield.formats.text import write_text
    from cranfield.rendering.document import view

    write_text(path, view(type(result)).files["badge"](result))


def _pairs(result: Any, path: str, given: dict[str, Any]) -> None:
    result.write_pairs(path)


def _board(result: Any, path: str, given: dict[str, Any]) -> None:
    result.write_page(path)


_SCORES = OutputFile(
    "out",
    "Write per-topic scores: .csv, .tsv (also .gz), .json, .parquet, or .eval (as trec_eval -q prints them).",
    _scores,
    short="-o",
    has_wide_form=True,
    check_name=_check_scores,
)
FILES: dict[str, OutputFile] = {
    "score": replace(_SCORES, add=_add_scores),
    "simulate": replace(_SCORES, is_needed=True),
    "compare": OutputFile(
        "out", "Write all pairs: .csv or .tsv (also .gz).", _pairs, short="-o", endings=(".csv", ".tsv")
    ),
    "leaderboard": OutputFile(
        "out",
        "Write the board as a page that can be sorted and filtered: .html (also .gz).",
        _board,
        short="-o",
        endings=(".html",),
    ),
    "power": OutputFile("badge", "Write the card as a small SVG.", _badge),
}
"""By question."""
