"""cranfield simulate"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import drawing, options

Margins = Annotated[str, typer.Option("--margins", help="auto, beta, normal, kernel or empirical.", metavar="NAME")]
Dependence = Annotated[
    str,
    typer.Option(
        "--dependence", help="rows (the pilot's topics with a little noise), gaussian or vine.", metavar="NAME"
    ),
]


@options.printed
def simulate(
    scores: options.Scores,
    topics: Annotated[
        int | None, typer.Option("--topics", help="New topics to draw (default: as many as there are).", metavar="N")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", help="Write their scores: .csv, .tsv (also .gz), .json or .parquet.", metavar="FILE"
        ),
    ] = None,
    wide: Annotated[bool, typer.Option("--wide", help="In FILE, one row per topic and one column per system.")] = False,
    equal: Annotated[bool, typer.Option("--equal", help="Make all systems equally good.")] = False,
    gap: Annotated[
        float | None, typer.Option("--gap", help="Put the best system so far above all others.", metavar="D")
    ] = None,
    means: Annotated[
        str | None,
        typer.Option("--means", help="True means: 0.3,0.25,… for all, or system=0.3,… for some.", metavar="LIST"),
    ] = None,
    margins: Margins = "auto",
    dependence: Dependence = "rows",
    trees: Annotated[
        int | None,
        typer.Option(
            "--trees", help="Trees of a vine that choose their copulas; the rest is Gaussian [default: 2].", min=1
        ),
    ] = None,
    truncate: Annotated[bool, typer.Option("--truncate", help="Let the vine's other trees be independent.")] = False,
    qrels: options.Qrels = None,
    measure: options.Measures = None,
    columns: options.Columns = None,
    missing: options.Missing = None,
    seed: options.Seed = 1,
    plot: options.Plot = None,
    dask: options.Dask = None,
    workers: options.Workers = None,
    resume: options.Resume = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """Draw new topics for the same systems: scores like those seen, with true means as fitted or as set.

    Example: cranfield simulate scores.csv --topics 200 -o new.csv --plot fit.svg
    """
    from cranfield.errors import RequestError
    from cranfield.methods.simulation import parse_means
    from cranfield.methods.simulation import simulate as run_simulation
    from cranfield.rendering.simulation_charts import fit_chart
    from cranfield.rendering.simulation_document import simulation_document
    from cranfield.scores import write_scores
    from cranfield.scores.selection import only_table

    if plot is not None:
        drawing.check_plot(plot)
    if wide and out is None:
        raise RequestError("--wide is about the file, and none is written", fix="Name it with -o.")
    tables = options.load_tables(scores, qrels=qrels, measures=measure, missing=missing, columns=columns)
    pilot = only_table(tables)
    with (
        options.machines("simulate", dask=dask, workers=workers, resume=resume),
        options.progress_bar("drawing topics") as step,
    ):
        found = run_simulation(
            pilot,
            topics=topics,
            margins=margins,
            dependence=dependence,
            trees=trees,
            truncate=truncate,
            equal=equal,
            gap=gap,
            means=None if means is None else parse_means(means),
            seed=seed,
            progress=step,
        )
    inputs = {
        **options.sources(scores, columns),
        "measures": measure,
        "topics": topics,
        "equal": equal,
        "gap": gap,
        "means": means,
        "margins": margins,
        "dependence": dependence,
        "trees": trees,
        "truncate": truncate,
    }
    document = options.warned(simulation_document(found, inputs, out=out))
    if out is not None:
        write_scores(found.table, out, wide=wide, details=document.details())
    if plot is not None:
        drawing.draw(fit_chart(found), plot)
    options.output(document, face)
