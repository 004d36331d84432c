"""cranfield score"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import drawing, options


@options.printed
def score(
    runs: options.Runs,
    qrels: options.Qrels = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            help="A measure, e.g. AP, P@10, nDCG(gains=exp)@10; may be repeated. (default: AP, P@10, nDCG@10)",
            show_default=False,
            metavar="NAME",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", help="Write per-topic scores: .csv, .tsv (also .gz), .json or .parquet.", metavar="FILE"
        ),
    ] = None,
    wide: Annotated[bool, typer.Option("--wide", help="In FILE, a row a topic and a column a system.")] = False,
    intents: options.Intents = None,
    intent_probabilities: options.Probabilities = None,
    order: options.Ordering = options.OrderChoice.SCORE,
    name: options.Naming = options.NameChoice.AUTO,
    missing: Annotated[
        options.UnscoredChoice, typer.Option("--missing", help="A judged topic a run returned nothing for.")
    ] = options.UnscoredChoice.ZERO,
    no_relevant: Annotated[
        options.UnscoredChoice, typer.Option("--no-relevant", help="A topic without relevant documents.")
    ] = options.UnscoredChoice.ZERO,
    dask: options.Dask = None,
    workers: options.Workers = None,
    resume: options.Resume = None,
    plot: options.Plot = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """Score runs against judgments: means here, per-topic scores in a file.

    Example: cranfield score runs/ --qrels qrels.txt -m AP -m nDCG@10 -o scores.csv
    """
    from cranfield.measures import parse_measures, with_companions
    from cranfield.rendering.score_document import score_document
    from cranfield.scores import write_scores

    if plot is not None:
        drawing.check_plot(plot)
    wanted = parse_measures(measure or ["AP", "P@10", "nDCG@10"])
    names = [str(each) for each in wanted]
    with options.machines("score", dask=dask, workers=workers, resume=resume):
        table = options.score_runs(
            runs,
            [str(each) for each in with_companions(wanted)],
            qrels=qrels,
            intents=intents,
            probabilities=intent_probabilities,
            order=order,
            name=name,
            missing=missing,
            no_relevant=no_relevant,
            apart=dask is not None or workers is not None,
        )
    inputs = {
        "runs": runs,
        "qrels": qrels,
        "intents": intents,
        "measures": names,
        "order": str(order),
        "missing": str(missing),
        "no_relevant": str(no_relevant),
    }
    document = score_document(table, inputs)
    if plot is not None:
        drawing.draw_scores(table.select(measures=names), plot)
    if out is not None:
        write_scores(table.select(measures=names), out, wide=wide, details=document.details())
    options.output(document, face)
