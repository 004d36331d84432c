"""cranfield reliability"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import drawing, options


@options.printed
def reliability(
    scores: options.Scores,
    qrels: options.Qrels = None,
    measure: options.Measures = None,
    columns: options.Columns = None,
    topics: Annotated[
        str | None,
        typer.Option(
            "--topics",
            help="Numbers of topics to predict reliability for: a list or a range, e.g. 20:200:20.",
            metavar="N",
        ),
    ] = None,
    target: Annotated[
        str, typer.Option("--target", help="Eρ² and Φ to be reached: a number or a list.", metavar="P")
    ] = "0.95",
    sets: Annotated[
        str | None, typer.Option("--sets", help="Topics in the sets that are drawn: a list or a range.", metavar="N")
    ] = None,
    drop: Annotated[
        float, typer.Option("--drop", help="Leave out this share of the worst systems first.", metavar="SHARE")
    ] = 0.0,
    test: Annotated[
        str, typer.Option("--test", help="For halves and discriminative power, as in compare.", metavar="NAME")
    ] = "tukey",
    correct: Annotated[
        str | None,
        typer.Option("--correct", help="For pairwise tests: holm (if none is named), bh or none.", metavar="NAME"),
    ] = None,
    alpha: Annotated[float, typer.Option("--alpha", help="Significance level, and swaps allowed.")] = 0.05,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the intervals.", min=0.5, max=0.9999)] = 0.95,
    trials: Annotated[int, typer.Option("--trials", help="Draws of topic sets, and halvings.", min=10)] = 1000,
    resamples: Annotated[
        int, typer.Option("--resamples", help="Permutations or resamples of a test.", min=100)
    ] = 10_000,
    replacement: Annotated[
        bool,
        typer.Option("--replacement", help="Swaps: draw sets with replacement, as if these topics were all there are."),
    ] = False,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="Swaps: score the two systems of a pair on topics of their own.")
    ] = False,
    missing: options.Missing = None,
    seed: options.Seed = 1,
    plot: options.Plot = None,
    chart: Annotated[
        str,
        typer.Option(
            "--chart", help="What to draw: all, coefficients, swaps, sizes, rankings, p-values.", metavar="NAME"
        ),
    ] = "all",
    face: options.Face = options.Face.TEXT,
) -> None:
    """Reliability of a collection: generalisability, swaps, split halves, discriminative power, rankings.

    Example: cranfield reliability scores.csv --drop 0.25 --plot trust.html
    """
    from cranfield.methods.design.power_card import whole
    from cranfield.methods.reliability import assess_reliability
    from cranfield.rendering.reliability_document import reliability_document

    if plot is not None:
        drawing.check_reliability_plot(plot, chart)
    grids = options.grids({"topics": topics, "sets": sets, "target": target})
    sizes = [whole(value, "sets") for value in grids["sets"]] if sets is not None else None
    tables = options.load_tables(scores, qrels=qrels, measures=measure, missing=missing, columns=columns)
    with options.progress_bar("resampling") as step:
        found = assess_reliability(
            tables,
            topics=[whole(value, "topics") for value in grids.get("topics", ())],
            targets=grids["target"],
            sizes=sizes,
            test=test,
            correct=correct,
            alpha=alpha,
            confidence=confidence,
            drop=drop,
            trials=trials,
            resamples=resamples,
            replacement=replacement,
            shared=not unpaired,
            seed=seed,
            progress=step,
        )
    inputs = {
        **options.sources(scores, columns),
        "qrels": qrels,
        "measures": measure,
        "topics": topics,
        "target": target,
        "sets": sets,
        "drop": drop,
        "test": test,
        "correct": correct,
        "alpha": alpha,
        "confidence": confidence,
        "trials": trials,
        "resamples": resamples,
        "replacement": replacement,
        "unpaired": unpaired,
        "missing": missing,
    }
    if plot is not None:
        drawing.draw_reliability(found, plot, chart)
    options.output(reliability_document(found, inputs), face)
