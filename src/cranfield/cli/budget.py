"""cranfield budget"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import drawing, options


@options.printed
def budget(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Run files, folders, patterns (with --qrels), or packed collections, whose variances are pooled.",
            metavar="RUNS",
            show_default=False,
        ),
    ],
    qrels: options.Qrels = None,
    teams: options.Teams = None,
    measure: options.Measures = None,
    depths: Annotated[
        str | None,
        typer.Option("--depths", "-d", help="Pool depths: a list or a range (default: 5,10,20,…).", metavar="D"),
    ] = None,
    best: Annotated[
        int | None,
        typer.Option(
            "--best",
            help="Compare designs for the best N runs by their means at full depth. (default: all runs)",
            metavar="N",
            min=2,
        ),
    ] = None,
    pair: Annotated[
        str | None, typer.Option("--pair", help="Or: for these two runs, as A,B.", metavar="A,B", show_default=False)
    ] = None,
    rule: Annotated[
        str,
        typer.Option(
            "--rule",
            help="Equivalent designs have equal-power for the same systems, or detect the same raw-difference, as "
            "Sakai (2014).",
            metavar="NAME",
        ),
    ] = "equal-power",
    systems: options.TargetSystems = None,
    min_range: options.MinRange = None,
    difference: options.Difference = None,
    width: options.Width = None,
    test: options.PlannedTest = None,
    alpha: options.Alpha = 0.05,
    power: options.Power = 0.8,
    method: options.RangeMethod = "blocked",
    estimate: Annotated[
        str | None,
        typer.Option(
            "--estimate",
            help="Variance estimate: residual, two-way (as Sakai 2014), within, one-way. (default: by goal)",
            metavar="NAME",
        ),
    ] = None,
    price: Annotated[float, typer.Option("--price", help="Price of a judgment.")] = 1.0,
    topic_price: Annotated[
        float, typer.Option("--topic-price", help="Price of a topic, in addition to its judgments.")
    ] = 0.0,
    amount: Annotated[
        float | None,
        typer.Option(
            "--budget",
            help="Instead: the detectable difference at each depth for B judgments (or cost B).",
            metavar="B",
        ),
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option(
            "--pairs",
            help="Instead: effect sizes of N random pairs of runs (0: all), as Webber et al. (2008).",
            metavar="N",
            min=0,
        ),
    ] = None,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="Instead: leave each team out of the pool in turn (needs teams).")
    ] = False,
    write_qrels: Annotated[
        str | None,
        typer.Option("--write-qrels", help="Write the pool of each depth into this folder.", metavar="FOLDER"),
    ] = None,
    order: options.Ordering = options.OrderChoice.SCORE,
    name: options.Naming = options.NameChoice.AUTO,
    seed: options.Seed = 1,
    plot: options.Plot = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """Topics against pool depth: equivalent designs and what each costs, or what a budget makes detectable.

    Examples: cranfield budget runs/ --qrels qrels.txt -m AP -m nDCG --min-range 0.15 --best 20

              cranfield budget trec8.cran --budget 10000 --difference 0.05
    """
    from cranfield.methods.pooling import Prices, write_pools
    from cranfield.methods.pooling.asking import BudgetRequest, ask, only_collection, system_choice
    from cranfield.rendering.budget_document import budget_answer

    if plot is not None:
        drawing.check_plot(plot)
    goal = {
        "min_range": min_range,
        "difference": difference,
        "width": width,
        "systems": systems,
        "test": test,
        "alpha": alpha,
        "power": power,
        "method": method,
    }
    depth_list = options.numbers(depths, "depths")
    question = BudgetRequest(
        goal=goal,
        choice=system_choice(best, pair),
        rule=rule,
        depths=depth_list,
        estimate=estimate,
        prices=Prices(price, topic_price),
        budget=amount,
        pairs=pairs,
        reuse=reuse,
    )
    collections = options.load_collections(runs, qrels=qrels, teams=teams, order=order, name=name)
    options.note_tables({each: collection.score(measure or ["AP"]) for each, collection in collections.items()})
    inputs = {
        "runs": runs,
        "qrels": qrels,
        "teams": teams,
        "measures": measure,
        **question.inputs(collections),
        "depths": depths,
    }
    if write_qrels is not None:
        first = only_collection(collections, "--write-qrels")
        write_pools(first, write_qrels, depth_list or [first.pool_depth])
    what = "pairs of runs" if pairs is not None else "leaving each team out" if reuse else "scoring pools"
    with options.progress_bar(what) as step:
        answer = ask(question, collections, measure, seed=seed, progress=step)
    document = budget_answer(answer, inputs, amount)
    if plot is not None:
        drawing.draw_budget(document, plot)
    options.output(document, face)
