"""cranfield shards"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import drawing, options


@options.printed
def shards(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Runs (with --qrels), a packed collection, or a score table with several scores per topic and "
            "system (a column «shard»): seeds, prompts, judges, query variations.",
            metavar="RUNS",
            show_default=False,
        ),
    ],
    qrels: options.Qrels = None,
    count: Annotated[str, typer.Option("--shards", "-s", help="How many shards: a list or a range.")] = "2,5,10",
    measure: options.Measures = None,
    columns: options.Columns = None,
    replicates: Annotated[
        options.ReplicatesChoice | None,
        typer.Option(
            "--replicates",
            help="Of a score table: nested if each system has its own (random seeds), crossed if all systems share "
            "them (prompts, judges). By default as --columns says: seed= is nested, prompt= and judge= are crossed.",
        ),
    ] = None,
    samples: Annotated[int, typer.Option("--samples", help="Re-shardings of each.", min=1)] = 1,
    alpha: Annotated[float, typer.Option("--alpha", help="Significance level.")] = 0.05,
    undefined: Annotated[
        float, typer.Option("--undefined", help="Score x of a topic without relevant documents in a shard.")
    ] = 0.0,
    resamples: Annotated[
        int, typer.Option("--resamples", help="Of the bootstrap ANOVA of each first sample; 0 leaves it out.", min=0)
    ] = 2000,
    halvings: Annotated[
        int,
        typer.Option(
            "--halvings",
            help="Random halvings of the topics, on which each first sample is tested anew to measure replication; 0 "
            "leaves them out.",
            min=0,
        ),
    ] = 100,
    anova: Annotated[
        str | None,
        typer.Option(
            "--anova",
            help="ANOVA tables to print: a list of MD1 to MD6 and nested, all or none. By default MD1, and MD6 or "
            "nested.",
            metavar="MODELS",
        ),
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            "--pairs",
            help="Also give every pair by this model, in --json; --csv has nothing else then.",
            metavar="MODEL",
        ),
    ] = None,
    missing: options.Missing = None,
    seed: options.Seed = 1,
    plot: options.Plot = None,
    figure: Annotated[
        options.FigureChoice, typer.Option("--figure", help="What --plot draws.")
    ] = options.FigureChoice.ALL,
    dask: options.Dask = None,
    workers: options.Workers = None,
    resume: options.Resume = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """Split the documents at random, score every shard, and compare systems with the models MD1 to MD6.

    Example: cranfield shards runs/ --qrels qrels.txt -s 2,5,10 -m AP --samples 10
    """
    from cranfield.methods.sharding.shard_models import refuse_unused, replicate_study, shard_study
    from cranfield.rendering.shard_document import anova_names, shard_document
    from cranfield.scores.selection import only_table

    names = anova_names(anova)
    if plot is not None:
        drawing.check_plot(plot)
    inputs = {
        **options.sources(runs, columns, "runs"),
        "qrels": qrels,
        "shards": count,
        "measures": measure,
        "samples": samples,
        "alpha": alpha,
        "undefined": undefined,
        "resamples": resamples,
        "missing": missing,
        "replicates": replicates,
        "halvings": halvings,
    }
    if options.is_score_table(runs, qrels):
        table = only_table(
            options.load_tables(
                runs, qrels=None, measures=measure, missing=missing, columns=columns, replicates=replicates
            )
        )
        refuse_unused(inputs, table=table)
        study = replicate_study(table, alpha=alpha, resamples=resamples, halvings=halvings, seed=seed)
    else:
        refuse_unused(inputs, table=None)
        collection = options.load_collection(
            runs,
            qrels=qrels,
            intents=None,
            probabilities=None,
            teams=None,
            order=options.OrderChoice.SCORE,
            name=options.NameChoice.AUTO,
        )
        options.note_tables({runs[0]: collection.score(measure or ["AP"])})
        with (
            options.machines("shards", dask=dask, workers=workers, resume=resume),
            options.progress_bar("sharding") as step,
        ):
            study = shard_study(
                collection,
                measure or ["AP"],
                shards=options.numbers(count, "shards") or (),
                samples=samples,
                alpha=alpha,
                x=undefined,
                resamples=resamples,
                seed=seed,
                halvings=halvings,
                progress=step,
            )
    if plot is not None:
        drawing.draw_shards(study, plot, figure)
    document = shard_document(study, inputs, anova=names, pairs=pairs)
    options.output(document.showing("pairs") if pairs and face is options.Face.CSV else document, face)
