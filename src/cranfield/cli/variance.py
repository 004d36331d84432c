"""cranfield variance"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import drawing, options


@options.printed
def variance(
    scores: options.Scores,
    qrels: options.Qrels = None,
    measure: options.Measures = None,
    columns: options.Columns = None,
    percentile: Annotated[float, typer.Option("--percentile", help="Of the pairs' variances.", min=1, max=100)] = 95.0,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the intervals.", min=0.5, max=0.9999)] = 0.95,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="What every pair of systems would need (Dinçer's tables).")
    ] = False,
    alpha: Annotated[float, typer.Option("--alpha", help="Significance level, for --pairs.")] = 0.05,
    missing: options.Missing = None,
    plot: options.Plot = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """Estimate the variance of scores from a pilot, in every way that sizing needs.

    Example: cranfield variance scores2023.csv scores2024.csv
    """
    from cranfield.errors import RequestError
    from cranfield.methods.design.pair_sizes import pair_sizes
    from cranfield.methods.variance import estimate_variance
    from cranfield.rendering.variance_document import pairs_document, variance_document

    if plot is not None:
        drawing.check_plot(plot)
    if plot is not None and pairs:
        raise RequestError(
            "--plot draws estimates, not pairs", fix="Leave out --pairs, or see: cranfield compare --matrix."
        )
    tables = options.load_tables(scores, qrels=qrels, measures=measure, missing=missing, columns=columns)
    inputs = {**options.sources(scores, columns), "qrels": qrels, "measures": measure, "missing": missing}
    if pairs:
        for table in tables.values():
            for name in table.measures:
                options.output(pairs_document(pair_sizes(table, measure=name, alpha=alpha), inputs), face)
        return
    found = estimate_variance(tables, percentile=percentile, confidence=confidence)
    warnings = [problem for table in tables.values() for problem in table.warnings]
    document = variance_document(found, inputs, warnings)
    if plot is not None:
        drawing.draw_variances(document, plot)
    options.output(document, face)
