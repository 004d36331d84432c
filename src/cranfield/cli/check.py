"""cranfield check"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import options


@options.printed
def check(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files or folders of any kind; what each is shows in its lines.", metavar="FILES", show_default=False
        ),
    ] = None,
    run: Annotated[list[str] | None, typer.Option("--run", help="A run.", metavar="FILE", show_default=False)] = None,
    qrels: Annotated[
        list[str] | None, typer.Option("--qrels", "-q", help="Judgments.", metavar="FILE", show_default=False)
    ] = None,
    intents: Annotated[
        list[str] | None, typer.Option("--intents", help="Per-intent judgments.", metavar="FILE", show_default=False)
    ] = None,
    teams: Annotated[
        list[str] | None, typer.Option("--teams", "-t", help="A team list.", metavar="FILE", show_default=False)
    ] = None,
    scores: Annotated[
        list[str] | None, typer.Option("--scores", help="A score table.", metavar="FILE", show_default=False)
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Count warnings as errors.")] = False,
    show_all: Annotated[
        bool, typer.Option("--all", help="List every problem, not the first few of each kind.")
    ] = False,
    order: options.Ordering = options.OrderChoice.SCORE,
    name: options.Naming = options.NameChoice.AUTO,
    face: options.Face = options.Face.TEXT,
) -> None:
    """Check files before anything is computed from them; exit code 2 when scores would be wrong.

    Example: cranfield check runs/ qrels.txt teams.tsv
    """
    from cranfield.formats.file_check import FileKind, check_files
    from cranfield.formats.runs import Order
    from cranfield.formats.text import expand
    from cranfield.rendering.check_document import check_document
    from cranfield.scores.foreign_formats import OTHER_FORMATS

    told = {"run": run, "qrels": qrels, "intents": intents, "teams": teams, "scores": scores}
    kinds = {path: FileKind(kind) for kind, paths in told.items() for path in expand(paths or [])}
    everything = list(dict.fromkeys([*kinds, *expand(files or [])]))
    if not everything:
        raise typer.BadParameter("name at least one file")
    with options.progress_bar("checking") as step:
        by_tag = name is options.NameChoice.TAG
        by_file = name is options.NameChoice.FILE
        report = check_files(
            everything,
            kinds=kinds,
            order=Order(order),
            by_tag=by_tag,
            by_file=by_file,
            others=OTHER_FORMATS,
            progress=step,
        )
    options.output(check_document(report, strict=strict, most=None if show_all else 5), face)
    raise typer.Exit(2 if report.failed(strict=strict) else 0)
