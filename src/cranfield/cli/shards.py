"""cranfield shards"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import options


def shards(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Runs (with --qrels), a packed collection, or a score table with a column «shard».",
            metavar="RUNS",
            show_default=False,
        ),
    ],
    qrels: options.Qrels = None,
    count: Annotated[str, typer.Option("--shards", "-s", help="How many shards: a list or a range.")] = "2,5,10",
    measure: options.Measures = None,
    samples: Annotated[int, typer.Option("--samples", help="Re-shardings of each.", min=1)] = 1,
    alpha: Annotated[float, typer.Option("--alpha", help="Significance level.")] = 0.05,
    undefined: Annotated[
        float, typer.Option("--undefined", help="Score of a topic without relevant documents in a shard.")
    ] = 0.0,
    held_out: Annotated[
        bool, typer.Option("--held-out/--no-held-out", help="See which findings hold on other topics.")
    ] = True,
    seed: options.Seed = 1,
    json: options.Json = False,
    csv: options.Csv = False,
    md: options.Markdown = False,
    latex: options.Latex = False,
) -> None:
    """Split the documents at random, score every shard, and compare systems with the models MD1 to MD6.

    Example: cranfield shards runs/ --qrels qrels.txt -s 2,5,10 -m AP --samples 10
    """
    from cranfield.compare.sharding import replicate_study, shard_study
    from cranfield.design.card import whole
    from cranfield.design.grid import parse_grid
    from cranfield.report.comparing import shard_document

    chosen = options.face(json=json, csv=csv, md=md, latex=latex)
    inputs = {"runs": runs, "qrels": qrels, "shards": count, "measures": measure, "samples": samples, "alpha": alpha,
              "undefined": undefined}  # fmt: skip
    if options.is_score_table(runs, qrels):
        for table in options.load_tables(
            runs, qrels=None, measures=measure, missing=options.MissingChoice.NAN
        ).values():
            for name in table.measures:
                found = replicate_study(table, name, alpha=alpha, held_out=held_out, seed=seed)
                options.output(shard_document(found, inputs), chosen)
        return
    collection = options.load_collection(
        runs, qrels=qrels, intents=None, probabilities=None, teams=None,
        order=options.OrderChoice.SCORE, name=options.NameChoice.AUTO,
    )  # fmt: skip
    numbers = [whole(value, "shards") for value in parse_grid(count, name="shards")]
    with options.progress_bar("sharding") as step:
        study = shard_study(
            collection, measure or ["AP"], shards=numbers, samples=samples, alpha=alpha, x=undefined, seed=seed,
            held_out=held_out, progress=step,
        )  # fmt: skip
    options.output(shard_document(study, inputs), chosen)
