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
        typer.Option("--systems", help="Number of systems compared (default: the collection's, or 10).", metavar="M"),
    ] = None,
    variance: Annotated[str | None, typer.Option("--variance", help="σ² of one system's scores.", metavar="V")] = None,
    sd: Annotated[
        str | None,
        typer.Option("--sd", help="Standard deviation of paired differences (default: √(2σ²)).", metavar="SD"),
    ] = None,
    difference: Annotated[str, typer.Option("--difference", help="A difference to see.", metavar="D")] = "0.05",
    alpha: Annotated[str, typer.Option("--alpha", help="Significance level.")] = "0.05",
    target: Annotated[str, typer.Option("--power", help="Power at which a difference counts as seen.")] = "0.8",
    gate: Annotated[
        str | None,
        typer.Option("--gate", help="Exit with 1 unless this is seen: difference=0.03,power=0.8", metavar="DEMAND"),
    ] = None,
    badge: Annotated[str | None, typer.Option("--badge", help="Write the card as a small SVG.", metavar="FILE")] = None,
    qrels: options.Qrels = None,
    measure: options.Measures = None,
    columns: options.Columns = None,
    missing: options.Missing = None,
    plot: options.Plot = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """What a number of topics, or a collection, can see: its card.

    Examples: cranfield power scores.csv --gate difference=0.05,power=0.8

              cranfield power --topics 10:200:10 --variance 0.053 --plot card.svg
    """
    from cranfield.design.card import cards_from_grid, cards_from_pilot, parse_gate
    from cranfield.formats.text import write_text
    from cranfield.report import sizing

    demand = None if gate is None else parse_gate(gate)
    if plot is not None:
        drawing.check_plot(plot)
    given = {"topics": topics, "systems": systems, "variance": variance, "sd": sd, "difference": difference,
             "alpha": alpha, "power": target}  # fmt: skip
    grids = options.grids(given)
    inputs = {
        **options.sources(scores or [], columns),
        **{name: text for name, text in given.items() if text is not None},
        "gate": gate,
    }
    if scores:
        tables = options.load_tables(scores, qrels=qrels, measures=measure, missing=missing, columns=columns)
        cards = cards_from_pilot(options.variances(tables), **grids)
    else:
        cards = cards_from_grid(**grids)
    one_each = len({card.measure for card in cards}) == len(cards)
    document = sizing.card_document(cards, inputs, demand) if one_each else sizing.power_grid_document(cards, inputs)
    if plot is not None:
        drawing.draw_cards(document, plot)
    if badge is not None:
        write_text(badge, sizing.badge(cards[0]))
    options.output(document, face)
    if demand is not None and not all(demand.passes(card) for card in cards):
        raise typer.Exit(1)
