"""cranfield size"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import drawing, options


@options.printed
def size(
    scores: options.PilotScores = None,
    systems: Annotated[
        str | None, typer.Option("--systems", help="How many systems will be compared.", metavar="M")
    ] = None,
    min_range: Annotated[
        str | None, typer.Option("--min-range", help="Smallest range of the systems' means to find.", metavar="D")
    ] = None,
    difference: Annotated[
        str | None, typer.Option("--difference", help="Smallest difference of two systems to find.", metavar="D")
    ] = None,
    effect_size: Annotated[
        str | None, typer.Option("--effect-size", help="The same over the sd of the differences.", metavar="E")
    ] = None,
    width: Annotated[str | None, typer.Option("--width", help="Widest interval for a difference.", metavar="W")] = None,
    sensitivity: Annotated[
        str | None, typer.Option("--sensitivity", help="A mean is to be known to within ±.", metavar="S")
    ] = None,
    variance: Annotated[str | None, typer.Option("--variance", help="σ² of one system's scores.", metavar="V")] = None,
    sd: Annotated[
        str | None, typer.Option("--sd", help="Standard deviation of paired differences.", metavar="SD")
    ] = None,
    alpha: Annotated[str, typer.Option("--alpha", help="Significance level.")] = "0.05",
    power: Annotated[str, typer.Option("--power", help="Probability of finding what is there.")] = "0.8",
    one_sided: Annotated[bool, typer.Option("--one-sided", help="Test one direction only.")] = False,
    unpaired: Annotated[bool, typer.Option("--unpaired", help="The two systems do not share topics.")] = False,
    method: Annotated[
        str | None,
        typer.Option(
            "--method", help="Only this one: exact, sakai, blocked; t, normal, unpaired; interval; clt.", metavar="NAME"
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", help="Most topics to consider.", min=2)] = 10_000_000,
    qrels: options.Qrels = None,
    measure: options.Measures = None,
    columns: options.Columns = None,
    missing: options.Missing = None,
    plot: options.Plot = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """How many topics: from a variance you know, or from pilot scores. Lists and ranges make tables and curves.

    Examples: cranfield size --systems 10 --min-range 0.1 --variance 0.053

              cranfield size scores.csv --difference 0.03,0.05
    """
    from cranfield.design.planning import Request, plan, plan_from_pilot
    from cranfield.report.sizing import pilot_size_document, size_document

    given = {
        "systems": systems, "min_range": min_range, "difference": difference, "effect_size": effect_size,
        "width": width, "sensitivity": sensitivity, "variance": variance, "sd": sd, "alpha": alpha, "power": power,
    }  # fmt: skip
    grids = options.grids(given)
    request = Request(**grids, sides=1 if one_sided else 2, paired=not unpaired, method=method, limit=limit)
    if plot is not None:
        drawing.check_plot(plot)
    inputs = {**options.sources(scores or [], columns),
              **{name: text for name, text in given.items() if text is not None},
              "sides": request.sides, "paired": request.paired, "method": method}  # fmt: skip
    if scores:
        tables = options.load_tables(scores, qrels=qrels, measures=measure, missing=missing, columns=columns)
        document = pilot_size_document(plan_from_pilot(request, options.variances(tables)), inputs)
    else:
        document = size_document(plan(request), inputs)
    if plot is not None:
        drawing.draw_sizes(document, plot)
    options.output(document, face)
