"""cranfield size"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import drawing, options


@options.printed
def size(
    scores: options.PilotScores = None,
    difference: Annotated[
        str | None, typer.Option("--difference", help="Smallest difference of two systems to detect.", metavar="D")
    ] = None,
    systems: Annotated[
        str | None,
        typer.Option("--systems", help="How many systems will be compared (default: the pilot's).", metavar="M"),
    ] = None,
    test: options.PlannedTest = None,
    min_range: Annotated[
        str | None, typer.Option("--min-range", help="Smallest range of the systems' means to detect.", metavar="D")
    ] = None,
    effect_size: Annotated[
        str | None,
        typer.Option("--effect-size", help="d_z: a difference over the sd of the paired differences.", metavar="E"),
    ] = None,
    equivalence: Annotated[
        str | None,
        typer.Option(
            "--equivalence", help="Margin of equivalence (in sd of the differences, without --sd).", metavar="M"
        ),
    ] = None,
    non_inferiority: Annotated[
        str | None, typer.Option("--non-inferiority", help="Margin of non-inferiority, likewise.", metavar="M")
    ] = None,
    true_difference: Annotated[
        str | None, typer.Option("--true-difference", help="True difference for these two [default: 0].", metavar="D")
    ] = None,
    width: Annotated[str | None, typer.Option("--width", help="Widest interval for a difference.", metavar="W")] = None,
    probability: Annotated[
        str | None,
        typer.Option("--probability", help="Of an interval no wider than --width (default: on average).", metavar="P"),
    ] = None,
    sensitivity: Annotated[
        str | None, typer.Option("--sensitivity", help="A mean is to be known to within ±.", metavar="S")
    ] = None,
    variance: Annotated[str | None, typer.Option("--variance", help="σ² of one system's scores.", metavar="V")] = None,
    correlation: Annotated[
        str | None,
        typer.Option("--correlation", help="Of two systems' scores over topics, with --variance.", metavar="R"),
    ] = None,
    sd: Annotated[
        str | None,
        typer.Option(
            "--sd", help="Standard deviation of paired differences (--unpaired: of one system's scores).", metavar="SD"
        ),
    ] = None,
    alpha: Annotated[str | None, typer.Option("--alpha", help="Significance level [default: 0.05].")] = None,
    power: Annotated[str | None, typer.Option("--power", help="Power 1 − β [default: 0.8].")] = None,
    assurance: Annotated[
        float | None,
        typer.Option("--assurance", help="Expected power over the uncertainty of the pilot, for --power.", metavar="P"),
    ] = None,
    one_sided: Annotated[bool, typer.Option("--one-sided", help="Test one direction only (pair in advance).")] = False,
    unpaired: Annotated[bool, typer.Option("--unpaired", help="The two systems do not share topics.")] = False,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="Only this one: blocked, exact, sakai; t, normal, unpaired; tost; interval; clt.",
            metavar="NAME",
        ),
    ] = None,
    small_pilot: options.SmallPilot = False,
    limit: Annotated[int, typer.Option("--limit", help="Most topics to consider.", min=2)] = 10_000_000,
    qrels: options.Qrels = None,
    measure: options.Measures = None,
    columns: options.Columns = None,
    missing: options.Missing = None,
    plot: options.Plot = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """How many topics: from a variance you know, or from pilot scores. Lists and ranges make tables and curves.

    Examples: cranfield size scores.csv --difference 0.03,0.05

              cranfield size --difference 0.05 --sd 0.15 --systems 10 --test tukey

              cranfield size --systems 10 --min-range 0.1 --variance 0.053
    """
    from cranfield.methods.design.planning import Request, cautions_of, plan, plan_from_pilot
    from cranfield.rendering.size_document import pilot_size_document, size_document, size_inputs

    given = {
        "systems": systems,
        "min_range": min_range,
        "difference": difference,
        "effect_size": effect_size,
        "equivalence": equivalence,
        "non_inferiority": non_inferiority,
        "true_difference": true_difference,
        "width": width,
        "probability": probability,
        "sensitivity": sensitivity,
        "variance": variance,
        "correlation": correlation,
        "sd": sd,
        "alpha": alpha,
        "power": power,
    }
    request = Request(
        **options.grids(given),
        assurance=assurance,
        sides=1 if one_sided else 2,
        paired=not unpaired,
        test=test,
        method=method,
        small_pilot=small_pilot,
        limit=limit,
    )
    if plot is not None:
        drawing.check_plot(plot)
    typed = {name: text for name, text in given.items() if text is not None}
    typed |= {} if assurance is None else {"assurance": f"{assurance:g}"}
    inputs = {**options.sources(scores or [], columns), **size_inputs(request, typed)}
    if scores:
        tables = options.load_tables(scores, qrels=qrels, measures=measure, missing=missing, columns=columns)
        document = pilot_size_document(plan_from_pilot(request, options.variances(tables)), inputs)
    else:
        options.check_no_scores(qrels=qrels, measure=measure, columns=columns)
        document = size_document(plan(request), inputs, cautions_of(request))
    if plot is not None:
        drawing.draw_sizes(document, plot)
    options.output(document, face)
