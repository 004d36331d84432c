"""cranfield pilot"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import drawing, options


@options.printed
def pilot(
    runs: options.Runs,
    qrels: options.Qrels = None,
    teams: options.Teams = None,
    measure: options.Measures = None,
    leave_out: Annotated[
        str | None,
        typer.Option("--leave-out", "-k", help="How many teams: a list or a range. (default: all)", metavar="K"),
    ] = None,
    topics: Annotated[
        str | None,
        typer.Option("--topics", "-n", help="Topics to keep, besides all. (default: 75,50,25,10)", metavar="N"),
    ] = None,
    trials: Annotated[int, typer.Option("--trials", help="Random pilots of each size.", min=2)] = 100,
    depth: Annotated[
        int | None, typer.Option("--depth", help="Pool depth. (default: that of the judgments)", metavar="D")
    ] = None,
    estimate: Annotated[
        str | None,
        typer.Option(
            "--estimate",
            help="Variance estimate: residual, within (as Sakai and Shang 2016), one-way, two-way. (default: what the "
            "goal needs)",
            metavar="NAME",
        ),
    ] = None,
    systems: options.TargetSystems = None,
    min_range: options.MinRange = None,
    difference: options.Difference = None,
    width: options.Width = None,
    test: options.PlannedTest = None,
    alpha: options.Alpha = 0.05,
    power: options.Power = 0.8,
    method: options.RangeMethod = "blocked",
    within: Annotated[
        float, typer.Option("--within", help="Largest acceptable error of a pilot, as a share.", metavar="SHARE")
    ] = 0.25,
    write_qrels: Annotated[
        str | None,
        typer.Option("--write-qrels", help="Write the judgments without each team into this folder.", metavar="FOLDER"),
    ] = None,
    order: options.Ordering = options.OrderChoice.SCORE,
    name: options.Naming = options.NameChoice.AUTO,
    seed: options.Seed = 1,
    plot: options.Plot = None,
    dask: options.Dask = None,
    workers: options.Workers = None,
    resume: options.Resume = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """Leave teams and topics out at random: the variance, and the topics it requires, of smaller pilots.

    Example: cranfield pilot runs/ --qrels qrels.txt --teams teams.tsv -m AP -m nDCG@10
    """
    from cranfield.methods.leave_out import pilot_study, write_leave_outs
    from cranfield.methods.leave_out.goal import target_for
    from cranfield.rendering.pilot_document import pilot_document

    if plot is not None:
        drawing.check_plot(plot)
    left_out, pilot_topics = options.numbers(leave_out, "leave_out"), options.numbers(topics, "topics")
    collection = options.load_collection(
        runs, qrels=qrels, intents=None, probabilities=None, teams=teams, order=order, name=name
    )
    target = target_for(
        len(collection.systems),
        systems=systems,
        min_range=min_range,
        difference=difference,
        width=width,
        alpha=alpha,
        power=power,
        method=method,
        test=test,
    )
    options.note_tables({runs[0]: collection.score(measure or ["AP"])})
    if write_qrels is not None:
        write_leave_outs(collection, write_qrels, depth=depth)
    with (
        options.machines("pilot", dask=dask, workers=workers, resume=resume),
        options.progress_bar("leaving teams out") as step,
    ):
        study = pilot_study(
            collection,
            measure or ["AP"],
            left_out=left_out,
            pilot_topics=pilot_topics,
            trials=trials,
            depth=depth,
            estimate=estimate,
            target=target,
            tolerance=within,
            seed=seed,
            progress=step,
        )
    inputs = {
        "runs": runs,
        "qrels": qrels,
        "teams": teams,
        "measures": measure,
        "leave_out": leave_out,
        "topics": topics,
        "trials": trials,
        "depth": depth,
        "estimate": estimate,
        target.goal: target.value,
        "systems": target.systems,
        "alpha": alpha,
        "power": power,
        "method": method,
        "test": target.test if target.goal == "difference" else None,
        "within": within,
    }
    document = pilot_document(study, inputs)
    if plot is not None:
        drawing.draw_pilots(document, plot)
    options.output(document, face)
