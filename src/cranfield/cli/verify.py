"""cranfield verify"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import drawing, options

PilotMargins = Annotated[
    str | None,
    typer.Option("--margins", help="Of pilot scores: auto (default), beta, normal, kernel, empirical.", metavar="NAME"),
]
PilotDependence = Annotated[
    str | None, typer.Option("--dependence", help="Of pilot scores: rows (default), gaussian or vine.", metavar="NAME")
]


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
            "--systems", help="How many systems will be compared (default: the pilot's; two without).", metavar="M"
        ),
    ] = None,
    min_range: Annotated[
        str | None, typer.Option("--min-range", help="Range of the systems' means to detect.", metavar="D")
    ] = None,
    difference: Annotated[
        str | None, typer.Option("--difference", help="Difference of two of the systems to detect.", metavar="D")
    ] = None,
    variance: Annotated[str | None, typer.Option("--variance", help="σ² of one system's scores.", metavar="V")] = None,
    sd: Annotated[
        str | None, typer.Option("--sd", help="Standard deviation of paired differences.", metavar="SD")
    ] = None,
    topics: Annotated[
        int | None, typer.Option("--topics", help="Number of topics (default: what the formula asks for).", metavar="N")
    ] = None,
    alpha: Annotated[str | None, typer.Option("--alpha", help="Significance level [default: 0.05].")] = None,
    power: Annotated[str | None, typer.Option("--power", help="Power 1 − β [default: 0.8].")] = None,
    one_sided: Annotated[bool, typer.Option("--one-sided", help="Test one direction only (pair in advance).")] = False,
    method: Annotated[
        str | None, typer.Option("--method", help="The formula: exact, sakai, blocked; t, normal.", metavar="NAME")
    ] = None,
    test: Annotated[
        str | None,
        typer.Option(
            "--test",
            help="The test that will be run: max-t, tukey, dunnett, holm, tukey-permutation, unpaired; anova, blocked; "
            "of a pair named in advance t, wilcoxon, sign, bootstrap, permutation (default: max-t of several systems, "
            "t of two, the formula's F for a range).",
            metavar="NAME",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="With shards: MD2 to MD6, MD6r; a list for several.", metavar="NAME")
    ] = None,
    shards: Annotated[
        int | None, typer.Option("--shards", "-s", help="Split runs into S shards first.", min=2, metavar="S")
    ] = None,
    collections: Annotated[
        int, typer.Option("--collections", help="The largest number of collections to draw.", min=250)
    ] = 20_000,
    tolerance: Annotated[float, typer.Option("--tolerance", help="A power this much lower is still enough.")] = 0.02,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the intervals and of stopping.")] = 0.95,
    search: Annotated[
        bool, typer.Option("--search/--no-search", help="Find the number of topics that is enough.")
    ] = True,
    gate: Annotated[bool, typer.Option("--gate", help="Exit with 1 unless the topics are enough.")] = False,
    margins: PilotMargins = None,
    dependence: PilotDependence = None,
    resamples: Annotated[
        int | None,
        typer.Option(
            "--resamples", help="Permutations or resamples of a test (default: 499 for max-t, 1000).", min=100
        ),
    ] = None,
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
    """Check a design before money is spent on it: draw collections, run the test on each, and count significant ones.

    Examples: cranfield verify --systems 10 --difference 0.05 --sd 0.15 --test tukey

              cranfield verify pilot.csv -m AP --difference 0.05 --test wilcoxon
    """
    from cranfield.methods.verification.asking import VerificationRequest, ask
    from cranfield.rendering.simulation_charts import power_chart
    from cranfield.rendering.verification_document import verify_document

    if plot is not None:
        drawing.check_plot(plot)
    given = {
        "systems": systems,
        "min_range": min_range,
        "difference": difference,
        "variance": variance,
        "sd": sd,
        "alpha": alpha,
        "power": power,
    }
    grids = options.grids(given)
    question = VerificationRequest(
        design=design,
        grids=grids,
        topics=topics,
        sides=1 if one_sided else 2,
        method=method,
        test=test,
        models=tuple(model.split(",")) if model else (),
    )
    pilots = options.load_pilots(
        scores, qrels=qrels, measures=measure, missing=missing, columns=columns, shards=shards, seed=seed
    )
    with (
        options.machines("verify", cluster=cluster, workers=workers, resume=resume),
        options.progress_bar("verifying") as step,
    ):
        found = ask(
            question,
            pilots,
            collections=collections,
            tolerance=tolerance,
            confidence=confidence,
            search=search,
            margins=margins,
            dependence=dependence,
            resamples=resamples,
            seed=seed,
            progress=step,
        )
    usual = {} if design else {"alpha": "0.05", "power": "0.8"}
    used = usual | {name: text for name, text in given.items() if text is not None}
    simulated = {"margins": margins or "auto", "dependence": dependence or "rows"} if scores else {}
    inputs = {
        **options.sources(scores or [], columns),
        "design": design,
        **used,
        "topics": topics,
        "sides": question.sides,
        "method": method,
        "test": test,
        "model": model,
        "shards": shards,
        "collections": collections,
        "tolerance": tolerance,
        "confidence": confidence,
        "resamples": resamples,
        **simulated,
    }
    if plot is not None:
        drawing.draw(power_chart(found), plot)
    options.output(verify_document(found, inputs), face)
    if gate and not all(each.verdict == "enough" for each in found):
        raise typer.Exit(1)
