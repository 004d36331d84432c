"""cranfield budget"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import drawing, options


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
    json: options.Json = False,
    csv: options.Csv = False,
    md: options.Markdown = False,
    latex: options.Latex = False,
) -> None:
    """Topics against pool depth: designs that see equally much and what each costs, or what a budget sees.

    Examples: cranfield budget runs/ --qrels qrels.txt -m AP -m nDCG --min-range 0.15

              cranfield budget trec8.cran --budget 10000 --difference 0.05
    """
    from cranfield.budget import (
        Prices,
        depth_study,
        equivalent_designs,
        pair_study,
        reusability,
        spend,
        write_pools,
    )
    from cranfield.report import budgeting

    chosen = options.face(json=json, csv=csv, md=md, latex=latex)
    if plot is not None:
        drawing.check_plot(plot)
    if pairs is not None and reuse:
        raise typer.BadParameter("choose one of --pairs, --reuse")
    target = options.target(min_range, difference, width, systems=systems, alpha=alpha, power=power, method=method)
    prices, wanted = Prices(price, topic_price), options.numbers(depths, "depths")
    collections = options.load_collections(runs, qrels=qrels, teams=teams, order=order, name=name)
    first = next(iter(collections.values()))
    inputs = {"runs": runs, "qrels": qrels, "teams": teams, "measures": measure, "depths": depths,
              target.goal: target.value, "systems": systems, "alpha": alpha, "power": power, "method": method,
              "estimate": estimate, "price": price, "topic_price": topic_price, "budget": spent,
              "pairs": pairs}  # fmt: skip
    if write_qrels is not None:
        options.refuse_several(collections, "--write-qrels")
        write_pools(first, write_qrels, wanted or [first.pool_depth])
    if pairs is not None:
        options.refuse_several(collections, "--pairs")
        with options.progress_bar("pairs of runs") as step:
            found = pair_study(
                first, measure or "AP", depths=wanted, pairs=pairs or None, **options.budgets(spent),
                alpha=alpha, power=power, seed=seed, progress=step,
            )  # fmt: skip
        document = budgeting.pair_document(found, inputs, None if spent is None else int(spent))
    elif reuse:
        options.refuse_several(collections, "--reuse")
        with options.progress_bar("leaving each team out") as step:
            document = budgeting.reuse_document(
                reusability(first, measure or ["AP"], depths=wanted, progress=step), inputs
            )
    else:
        with options.progress_bar("scoring pools") as step:
            study = depth_study(
                collections, measure or ["AP"], depths=wanted, estimate=estimate or target.estimate, seed=seed,
                progress=step,
            )  # fmt: skip
        if spent is None:
            document = budgeting.budget_document(equivalent_designs(study, target, prices=prices), inputs)
        else:
            document = budgeting.purchase_document(spend(study, spent, target, prices=prices), inputs)
    if plot is not None:
        drawing.draw_budget(document, plot)
    options.output(document, chosen)
