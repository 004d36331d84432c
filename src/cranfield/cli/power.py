"""cranfield power"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import drawing, options


@options.printed
def power(
    scores: options.PilotScores = None,
    topics: Annotated[
        str | None, typer.Option("--topics", help="Number of topics (default: the collection's).", metavar="N")
    ] = None,
    systems: Annotated[
        str | None,
        typer.Option("--systems", help="How many systems are compared (default: the collection's).", metavar="M"),
    ] = None,
    test: options.PlannedTest = None,
    variance: Annotated[str | None, typer.Option("--variance", help="σ² of one system's scores.", metavar="V")] = None,
    correlation: Annotated[
        str | None,
        typer.Option("--correlation", help="Of two systems' scores over topics, with --variance.", metavar="R"),
    ] = None,
    sd: Annotated[
        str | None, typer.Option("--sd", help="Standard deviation of paired differences.", metavar="SD")
    ] = None,
    difference: Annotated[
        str | None, typer.Option("--difference", help="A difference to detect [default: 0.05].", metavar="D")
    ] = None,
    alpha: Annotated[str | None, typer.Option("--alpha", help="Significance level [default: 0.05].")] = None,
    target: Annotated[
        str | None, typer.Option("--power", help="Power of the detectable difference [default: 0.8].")
    ] = None,
    gate: Annotated[
        str | None,
        typer.Option("--gate", help="Exit with 1 unless reached: difference=0.03,power=0.8[,test=t]", metavar="DEMAND"),
    ] = None,
    badge: Annotated[str | None, typer.Option("--badge", help="Write the card as a small SVG.", metavar="FILE")] = None,
    small_pilot: options.SmallPilot = False,
    qrels: options.Qrels = None,
    measure: options.Measures = None,
    columns: options.Columns = None,
    missing: options.Missing = None,
    plot: options.Plot = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """What a number of topics, or a collection, detects: its card.

    Examples: cranfield power scores.csv --gate difference=0.05,power=0.8

              cranfield power --topics 10:200:10 --sd 0.15 --systems 10 --plot card.svg
    """
    from cranfield.formats.text import write_text
    from cranfield.methods.design.power_card import card_cautions, cards_from_grid, cards_from_pilot, parse_gate
    from cranfield.rendering import size_document

    demand = None if gate is None else parse_gate(gate)
    if plot is not None:
        drawing.check_plot(plot)
    given = {
        "topics": topics,
        "systems": systems,
        "variance": variance,
        "correlation": correlation,
        "sd": sd,
        "difference": difference,
        "alpha": alpha,
        "power": target,
    }
    grids = options.grids(given)
    typed = {name: text for name, text in given.items() if text is not None}
    inputs = {**options.sources(scores or [], columns), **size_document.power_inputs(typed, test=test, gate=gate)}
    if scores:
        tables = options.load_tables(scores, qrels=qrels, measures=measure, missing=missing, columns=columns)
        variances = options.variances(tables)
        cards = cards_from_pilot(variances, **grids, test=test, small_pilot=small_pilot)
    else:
        options.check_no_scores(qrels=qrels, measure=measure, columns=columns, small_pilot=small_pilot)
        variances, cards = None, cards_from_grid(**grids, test=test)
    document = size_document.power_document(cards, inputs, demand, card_cautions(cards, variances))
    if plot is not None:
        drawing.draw_cards(document, plot)
    if badge is not None:
        write_text(badge, size_document.badge(cards[0]))
    options.output(document, face)
    if demand is not None and not all(demand.passes(card) for card in cards):
        raise typer.Exit(1)
