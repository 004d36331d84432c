"""cranfield verify"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import drawing, options
from cranfield.cli.simulate import Dependence, Margins


@options.printed
def verify(
    scores: options.PilotScores = None,
    design: Annotated[
        str | None,
        typer.Option(
            "--design", help="What size or shards printed with --json, in place of the flags.", metavar="FILE"
        ),
    ] = None,
    systems: Annotated[
        str | None,
        typer.Option(
            "--systems", help="How many systems will be compared (default: as many as the pilot has).", metavar="M"
        ),
    ] = None,
    min_range: Annotated[
        str | None, typer.Option("--min-range", help="Range of the systems' means that is to be found.", metavar="D")
    ] = None,
    difference: Annotated[
        str | None, typer.Option("--difference", help="Difference of two systems that is to be found.", metavar="D")
    ] = None,
    variance: Annotated[str | None, typer.Option("--variance", help="σ² of one system's scores.", metavar="V")] = None,
    sd: Annotated[
        str | None, typer.Option("--sd", help="Standard deviation of paired differences.", metavar="SD")
    ] = None,
    topics: Annotated[
        int | None, typer.Option("--topics", help="Number of topics (default: what the formula asks for).", metavar="N")
    ] = None,
    alpha: Annotated[str, typer.Option("--alpha", help="Significance level.")] = "0.05",
    power: Annotated[str, typer.Option("--power", help="Probability of finding what is there.")] = "0.8",
    one_sided: Annotated[bool, typer.Option("--one-sided", help="Test one direction only.")] = False,
    method: Annotated[
        str | None, typer.Option("--method", help="The formula: exact, sakai, blocked; t, normal.", metavar="NAME")
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            help="The test you will run (default: the formula's): anova, blocked, tukey, randomised, "
            "unpaired; of two systems t, wilcoxon, sign, bootstrap, randomisation.",
            metavar="NAME",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="With shards: MD2 to MD6, MD6r; a list for several.", metavar="NAME")
    ] = None,
    shards: Annotated[
        int | None, typer.Option("--shards", "-s", help="Split runs into so many shards first.", min=2, metavar="S")
    ] = None,
    collections: Annotated[int, typer.Option("--collections", help="The most to draw.", min=250)] = 20_000,
    tolerance: Annotated[float, typer.Option("--tolerance", help="A power so much below is still enough.")] = 0.02,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the intervals and of stopping.")] = 0.95,
    search: Annotated[
        bool, typer.Option("--search/--no-search", help="Find the number of topics that is enough.")
    ] = True,
    gate: Annotated[bool, typer.Option("--gate", help="Exit with 1 unless the topics are enough.")] = False,
    margins: Margins = "auto",
    dependence: Dependence = "gaussian",
    resamples: Annotated[int, typer.Option("--resamples", help="Permutations or resamples of a test.", min=100)] = 1000,
    cluster: options.Cluster = None,
    workers: options.Workers = None,
    resume: options.Resume = None,
    qrels: options.Qrels = None,
    measure: options.Measures = None,
    columns: options.Columns = None,
    missing: options.Missing = None,
    seed: options.Seed = 1,
    plot: options.Plot = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """Check a design before money is spent on it: draw collections, run the test on each, and count what it finds.

    Examples: cranfield verify --systems 10 --min-range 0.1 --variance 0.053

              cranfield verify pilot.csv -m AP --difference 0.05 --test wilcoxon
    """
    from cranfield.report.simulation_charts import power_chart
    from cranfield.report.verifying import verify_document
    from cranfield.verify.asking import Question, ask

    if plot is not None:
        drawing.check_plot(plot)
    given = {"systems": systems, "min_range": min_range, "difference": difference, "variance": variance, "sd": sd,
             "alpha": alpha, "power": power}  # fmt: skip
    grids = options.grids(given)
    question = Question(
        design=design, grids=grids, topics=topics, sides=1 if one_sided else 2, method=method, test=test,
        models=tuple(model.split(",")) if model else (),
    )  # fmt: skip
    pilots = options.load_pilots(
        scores, qrels=qrels, measures=measure, missing=missing, columns=columns, shards=shards, seed=seed
    )
    with (
        options.machines("verify", cluster=cluster, workers=workers, resume=resume),
        options.progress_bar("verifying") as step,
    ):
        found = ask(
            question, pilots, collections=collections, tolerance=tolerance, confidence=confidence, search=search,
            margins=margins, dependence=dependence, resamples=resamples, seed=seed, progress=step,
        )  # fmt: skip
    used = {name: text for name, text in given.items() if text is not None}
    inputs = {
        **options.sources(scores or [], columns),
        "design": design, **used, "topics": topics, "sides": question.sides, "method": method,
        "test": test, "model": model, "shards": shards, "collections": collections, "tolerance": tolerance,
        "confidence": confidence, "margins": margins, "dependence": dependence,
    }  # fmt: skip
    if plot is not None:
        drawing.draw(power_chart(found), plot)
    options.output(verify_document(found, inputs), face)
    if gate and not all(each.verdict == "enough" for each in found):
        raise typer.Exit(1)
