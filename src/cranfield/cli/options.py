"""Options that several commands share, and what they share in using them."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cranfield.collection import Collection
    from cranfield.errors import Caution
    from cranfield.formats.problems import Problem
    from cranfield.rendering import Document
    from cranfield.scores import ScoreTable


class Face(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "md"
    LATEX = "latex"


class OrderChoice(StrEnum):
    SCORE = "score"
    RANK = "rank"
    FILE = "file"


class NameChoice(StrEnum):
    AUTO = "auto"
    TAG = "tag"
    FILE = "file"


class MissingChoice(StrEnum):
    """What becomes of a cell without a score in a question that takes complete tables."""

    ZERO = "zero"
    DROP = "drop"


Runs = Annotated[
    list[str],
    typer.Argument(
        help="Run files, folders, patterns, - for standard input (gzip is fine), or one packed collection.",
        metavar="RUNS",
        show_default=False,
    ),
]
Qrels = Annotated[str | None, typer.Option("--qrels", "-q", help="Judgments: topic 0 document grade.", metavar="FILE")]
Intents = Annotated[
    str | None, typer.Option("--intents", help="Per-intent judgments: topic intent document grade.", metavar="FILE")
]
Probabilities = Annotated[
    str | None,
    typer.Option("--intent-probabilities", help="topic intent probability (default: all alike).", metavar="FILE"),
]
Teams = Annotated[str | None, typer.Option("--teams", "-t", help="Team list: run team.", metavar="FILE")]
Ordering = Annotated[
    OrderChoice,
    typer.Option(
        "--order",
        help="What orders a list: its scores (as trec_eval), its rank column, or scores with ties as in the file.",
    ),
]
Naming = Annotated[NameChoice, typer.Option("--name", help="What a system is called: its run tag, or its file's name.")]
Scores = Annotated[
    list[str],
    typer.Argument(
        help="Score tables, one file per collection or per system; or runs with --qrels, or a packed collection.",
        metavar="SCORES",
        show_default=False,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        help="What the columns of a score file are, where it has other names: "
        "topic=query,system=run,score=ndcg (also measure=, seed=, prompt=, judge=, shard=, mean=).",
        metavar="PART=NAME,…",
    ),
]
Missing = Annotated[
    MissingChoice | None,
    typer.Option(
        "--missing",
        help="A missing score: zero counts it as 0, drop leaves out its topic. Unless given, a score table with "
        "missing scores is refused, and a run scores 0 on a topic for which it returned nothing.",
        show_default=False,
    ),
]
Plot = Annotated[str | None, typer.Option("--plot", help="Draw it: .html, .svg, .png or .json.", metavar="FILE")]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask", help="Run on the Dask cluster whose scheduler is there: tcp://host:8786.", metavar="ADDRESS"
    ),
]
Workers = Annotated[
    int | None, typer.Option("--workers", help="Number of processes of this machine to run on.", metavar="N", min=1)
]
Resume = Annotated[
    str | None, typer.Option("--resume", help="Keep finished parts here, and go on from those it has.", metavar="FILE")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_FORMATS: dict[Face, Any] = {
    Face.JSON: Json,
    Face.CSV: Annotated[bool, typer.Option("--csv", help="Print CSV, every digit.")],
    Face.MARKDOWN: Annotated[bool, typer.Option("--md", help="Print Markdown.")],
    Face.LATEX: Annotated[bool, typer.Option("--latex", help="Print LaTeX.")],
}
FORMAT_FLAGS = [
    inspect.Parameter(str(name), inspect.Parameter.KEYWORD_ONLY, default=False, annotation=option)
    for name, option in _FORMATS.items()
]


def chosen_format(given: dict[str, Any]) -> Face:
    """The output format that was asked for, taken out of what was given."""
    wanted = [each for each in _FORMATS if given.pop(each)]
    if len(wanted) > 1:
        raise typer.BadParameter(f"choose one of --{', --'.join(wanted)}")
    return wanted[0] if wanted else Face.TEXT


_NOTED: ContextVar[list[Problem | Caution]] = ContextVar("noted")
"""The warnings of the tables that the running command has read."""


def printed(command: Callable[..., None]) -> Callable[..., None]:
    """A command with --json, --csv, --md and --latex, which is told as ``face`` the one asked for."""
    signature = inspect.signature(command, eval_str=True)
    own = [each for each in signature.parameters.values() if each.name != "face"]

    @functools.wraps(command)
    def asked(**given: Any) -> None:
        chosen = chosen_format(given)
        token = _NOTED.set([])
        try:
            command(**given, face=chosen)
        finally:
            _NOTED.reset(token)

    asked.__signature__ = signature.replace(parameters=[*own, *FORMAT_FLAGS])  # type: ignore[attr-defined]
    asked.__annotations__ = {each.name: each.annotation for each in [*own, *FORMAT_FLAGS]}
    return asked


def note_tables(tables: Mapping[str, ScoreTable]) -> None:
    """Keep what a result from these tables should be read with: `output` puts it into whatever is printed."""
    from cranfield.scores.quality import table_warnings

    _NOTED.get([]).extend(table_warnings(tables))


def warned(document: Document) -> Document:
    """The document with the warnings of the tables that the running command has read."""
    return document.warned(_NOTED.get([]))


def output(document: Document, chosen: Face) -> None:
    """Print a document; in every format, warnings go to standard error."""
    from cranfield.rendering import output_formats, terminal
    from cranfield.rendering.document import spoken

    document = warned(document)
    shown = spoken(document, "command")
    if chosen is Face.TEXT:
        terminal.print_document(shown)
    elif chosen is Face.JSON:
        typer.echo(output_formats.to_json(document))
    elif chosen is Face.CSV:
        typer.echo(output_formats.to_csv(document))
    elif chosen is Face.MARKDOWN:
        typer.echo(output_formats.to_markdown(shown))
    else:
        typer.echo(output_formats.to_latex(shown))
    if chosen in (Face.CSV, Face.LATEX):
        terminal.print_warnings(shown)


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


def load_collection(
    runs: list[str],
    *,
    qrels: str | None,
    intents: str | None,
    probabilities: str | None,
    teams: str | None,
    order: OrderChoice,
    name: NameChoice,
) -> Collection:
    """Runs and judgments, or a packed collection, whichever was named."""
    from cranfield.collection import open_collection, read_collection
    from cranfield.collection.packed import is_packed

    if len(runs) == 1 and is_packed(runs[0]):
        files = (qrels, intents, probabilities, teams)
        flags_of_files = ("--qrels", "--intents", "--intent-probabilities", "--teams")
        given: dict[str, Any] = dict(zip(flags_of_files, files, strict=True))
        if any(given.values()):
            flags = ", ".join(flag for flag, value in given.items() if value)
            raise typer.BadParameter(f"a packed collection brings its own judgments: leave out {flags}")
        if order is not OrderChoice.SCORE or name is not NameChoice.AUTO:
            raise typer.BadParameter("a packed collection is ranked and named already: give --order and --name to pack")
        return open_collection(runs[0])
    with progress_bar("reading runs") as step:
        return read_collection(
            runs,
            qrels,
            intents=intents,
            probabilities=probabilities,
            teams=teams,
            order=order,
            name=name,
            progress=step,
        )


def machines(command: str, *, dask: str | None, workers: int | None, resume: str | None) -> Any:
    """Where long work runs, and where its finished parts are kept."""
    from contextlib import nullcontext

    if dask is None and workers is None and resume is None:
        return nullcontext()
    from cranfield.runtime.dask import work_on

    return work_on(command, dask=dask, workers=workers, resume=resume)


def load_tables(
    scores: list[str],
    *,
    qrels: str | None,
    measures: list[str] | None,
    missing: MissingChoice | None,
    columns: str | None = None,
    replicates: str | None = None,
    noted: bool = True,
) -> dict[str, ScoreTable]:
    """Score tables by collection: from score files, or from runs (or a packed collection) that are scored first.

    Without a policy for missing cells, runs score 0 where they returned nothing, and score files with such are refused.
    What the tables should be read with is put into the result, unless it is not to be ``noted``.
    """
    from cranfield.collection.packed import is_packed
    from cranfield.formats.text import expand
    from cranfield.scores.selection import read_tables

    if qrels is not None or (len(scores) == 1 and is_packed(scores[0])):
        if columns is not None:
            raise typer.BadParameter("--columns goes with score files, not with runs or a packed collection")
        collection = load_collection(
            scores,
            qrels=qrels,
            intents=None,
            probabilities=None,
            teams=None,
            order=OrderChoice.SCORE,
            name=NameChoice.AUTO,
        )
        tables = {scores[0]: collection.score(measures or ["AP"], missing=missing or MissingChoice.ZERO)}
    else:
        tables = read_tables(expand(scores), measures=measures, missing=missing, columns=columns, replicates=replicates)
    if noted:
        note_tables(tables)
    return tables
