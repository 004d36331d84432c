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
    systems: options.TargetSystems = 10,
    min_range: options.MinRange = None,
    difference: options.Difference = None,
    width: options.Width = None,
    alpha: options.Alpha = 0.05,
    power: options.Power = 0.8,
    method: options.RangeMethod = "exact",
    estimate: Annotated[
        str | None,
        typer.Option(
            "--estimate",
            help="Of the variance: two-way (as S14), within, one-way, residual. (default: what the goal needs)",
            metavar="NAME",
        ),
    ] = None,
    price: Annotated[float, typer.Option("--price", help="Of a judgment.")] = 1.0,
    topic_price: Annotated[float, typer.Option("--topic-price", help="Of a topic, on top of its judgments.")] = 0.0,
    spent: Annotated[
        float | None, typer.Option("--budget", help="Turn it round: what does so much see?", metavar="B")
    ] = None,
    pairs: Annotated[
        int | None,
        typer.Option("--pairs", help="Study so many pairs of runs instead (0: all), as WMZ08.", metavar="N", min=0),
    ] = None,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="See instead how new teams' runs would fare (needs teams).")
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
    """Topics against pool depth: designs that see equally much and what each costs, or what a budget sees.

    Examples: cranfield budget runs/ --qrels qrels.txt -m AP -m nDCG --min-range 0.15

              cranfield budget trec8.cran --budget 10000 --difference 0.05
    """
    from cranfield.budget import Prices, write_pools
    from cranfield.budget.asking import Question, ask, only_collection
    from cranfield.design.targets import choose_target
    from cranfield.report.budgeting import budget_answer

    if plot is not None:
        drawing.check_plot(plot)
    target = choose_target(
        min_range=min_range, difference=difference, width=width, systems=systems, alpha=alpha, power=power,
        method=method,
    )  # fmt: skip
    wanted = options.numbers(depths, "depths")
    question = Question(target, wanted, estimate, Prices(price, topic_price), spent, pairs, reuse)
    collections = options.load_collections(runs, qrels=qrels, teams=teams, order=order, name=name)
    options.note_tables({each: collection.score(measure or ["AP"]) for each, collection in collections.items()})
    inputs = {"runs": runs, "qrels": qrels, "teams": teams, "measures": measure, "depths": depths,
              target.goal: target.value, "systems": systems, "alpha": alpha, "power": power, "method": method,
              "estimate": estimate, "price": price, "topic_price": topic_price, "budget": spent,
              "pairs": pairs}  # fmt: skip
    if write_qrels is not None:
        first = only_collection(collections, "--write-qrels")
        write_pools(first, write_qrels, wanted or [first.pool_depth])
    what = "pairs of runs" if pairs is not None else "leaving each team out" if reuse else "scoring pools"
    with options.progress_bar(what) as step:
        found = ask(question, collections, measure, seed=seed, progress=step)
    document = budget_answer(found, inputs, spent)
    if plot is not None:
        drawing.draw_budget(document, plot)
    options.output(document, face)
