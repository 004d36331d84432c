"""cranfield study"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cranfield.cli import drawing, options
from cranfield.cli.generation import Command, make_command
from cranfield.errors import RequestError
from cranfield.questions import find_question

if TYPE_CHECKING:
    from cranfield.scores import ScoreTable

app = typer.Typer(
    name="study",
    help="Sequential studies: fix a goal, add topics as they are judged, test when the plan allows it.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

File = Annotated[str, typer.Argument(help="The file of the study.", metavar="FILE", show_default=False)]
Measure = Annotated[str | None, typer.Option("--measure", "-m", help="The measure of the study.", metavar="NAME")]
System = Annotated[str | None, typer.Option("--system", help="The system that is tested.", metavar="NAME")]
Baseline = Annotated[str | None, typer.Option("--baseline", help="The system it is compared with.", metavar="NAME")]
Difference = Annotated[float, typer.Option("--difference", help="Smallest difference of interest.", metavar="D")]
Sd = Annotated[float | None, typer.Option("--sd", help="First estimate of the sd of paired differences.", metavar="SD")]
Alpha = Annotated[float, typer.Option("--alpha", help="Significance level.")]
Power = Annotated[float, typer.Option("--power", help="Power (1 − β).")]
First = Annotated[int, typer.Option("--first", help="First number of topics of the iterative plan.", min=2)]
Looks = Annotated[
    str, typer.Option("--looks", help="Group-sequential: number of looks, or shares of the topics: 0.3,0.6,1.")
]
Spending = Annotated[
    str, typer.Option("--spending", help="Group-sequential: obrien-fleming or pocock.", metavar="NAME")
]
Bounds = Annotated[str, typer.Option("--bounds", help="Smallest and largest possible difference of two scores.")]
Past = Annotated[
    list[str] | None,
    typer.Option("--from", help="Estimate the sd from all pairs of an earlier score table.", metavar="SCORES"),
]
Trial = Annotated[
    list[str] | None, typer.Option("--trial", help="Estimate the sd from a trial of the two systems.", metavar="SCORES")
]
Cautious = Annotated[
    bool,
    typer.Option("--cautious", help="Take the 95th percentile of the pairs, or the upper limit of the trial, as sd."),
]


def _one_table(
    scores: list[str],
    qrels: str | None,
    measure: str | None,
    missing: options.MissingChoice | None,
    columns: str | None,
    noted: bool = True,
) -> ScoreTable:
    from cranfield.scores.selection import only_table

    measures = [measure] if measure else None
    return only_table(
        options.load_tables(scores, qrels=qrels, measures=measures, missing=missing, columns=columns, noted=noted)
    )


@app.command("new")
@options.printed
def new(
    file: File,
    difference: Difference,
    sd: Sd = None,
    past: Past = None,
    trial: Trial = None,
    cautious: Cautious = False,
    plan: Annotated[
        str, typer.Option("--plan", help="fixed, iterative, hybrid, group-sequential or anytime.", metavar="NAME")
    ] = "hybrid",
    alpha: Alpha = 0.05,
    power: Power = 0.8,
    first: Annotated[
        int | None, typer.Option("--first", help="First number of topics of the iterative plan (default: 30).", min=2)
    ] = None,
    looks: Annotated[
        str | None,
        typer.Option("--looks", help="Group-sequential: number of looks (default: 4), or shares of the topics."),
    ] = None,
    spending: Annotated[
        str | None,
        typer.Option("--spending", help="Group-sequential: obrien-fleming (default) or pocock.", metavar="NAME"),
    ] = None,
    bounds: Bounds = "-1,1",
    system: System = None,
    baseline: Baseline = None,
    measure: Measure = None,
    columns: options.Columns = None,
    missing: options.Missing = None,
    topics: Annotated[
        str | None,
        typer.Option("--topics", help="Candidate topics, one per line: draw their random order.", metavar="FILE"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="With --topics: random seed of the order (default: 1).", metavar="N")
    ] = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """Start a study: a new file that fixes the goal before the first topic, and draws the order of the topics.

    Example: cranfield study new mine.study --difference 0.03 --sd 0.13 --plan hybrid --topics topics.txt
    """
    from cranfield.methods.sequential.plans import prospect
    from cranfield.methods.sequential.study import create_study, estimate_sd
    from cranfield.methods.sequential.study_goal import Goal, check_effect, parse_bounds, parse_looks
    from cranfield.methods.sequential.topic_order import read_topics
    from cranfield.rendering.study_document import new_document

    if seed is not None and topics is None:
        raise RequestError("a seed has no effect without candidate topics", fix="Add --topics FILE, or omit --seed.")
    inputs = {
        "file": file,
        "difference": difference,
        "sd": sd,
        "from": past,
        "trial": trial,
        "cautious": cautious,
        "plan": plan,
        "alpha": alpha,
        "power": power,
        "topics": topics,
    }
    tables: dict[str, Any] = {
        word: _one_table(files, None, measure, missing, columns) if files else None
        for word, files in (("past", past), ("trial", trial))
    }
    given: dict[str, Any] = {"first": first, "looks": looks and parse_looks(looks), "spending": spending}
    chosen = {name: value for name, value in given.items() if value is not None}
    estimate = estimate_sd(sd=sd, **tables, system=system, baseline=baseline, measure=measure, cautious=cautious)
    lowest, highest = parse_bounds(bounds)
    shared: dict[str, Any] = {"plan": plan, "alpha": alpha, "power": power, "lowest": lowest, "highest": highest}
    goal = Goal(difference, estimate.sd, sd_from=estimate.source, **shared, **chosen)
    check_effect(plan, chosen)
    expected = prospect(goal)
    study = create_study(
        file,
        goal,
        system=system,
        baseline=baseline,
        measure=measure,
        trial_topics=estimate.trial_topics,
        topics=read_topics(topics) if topics else (),
        seed=1 if seed is None else seed,
    )
    options.output(new_document(study.status(), expected, inputs), face)


@app.command("add")
@options.printed
def add(
    file: File,
    scores: options.Scores,
    qrels: options.Qrels = None,
    measure: Measure = None,
    columns: options.Columns = None,
    missing: options.Missing = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """Add the scores of both systems on judged topics; they are on the disk when the command ends.

    Example: cranfield study add mine.study batch1.csv
    """
    from cranfield.methods.sequential.study import open_study
    from cranfield.rendering.study_document import added_document

    study = open_study(file)
    wanted = measure or study.status().measure
    table = _one_table(scores, qrels, wanted, missing, columns, noted=False)  # cautions would tell who is ahead
    document = added_document(study.add(table, measure=wanted), {"file": file, "scores": scores})
    options.output(document.warned(table.warnings), face)


@app.command("next")
@options.printed
def next_topics(
    file: File,
    count: Annotated[
        int | None, typer.Option("--count", help="How many (default: to the next decision).", min=1, show_default=False)
    ] = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """The topics to judge next, in the random order drawn when the study was started.

    Example: cranfield study next mine.study --count 10
    """
    from cranfield.methods.sequential.study import open_study
    from cranfield.rendering.study_document import next_document

    study = open_study(file)
    topics = study.next_topics(count)
    options.output(next_document(topics, study.status(), {"file": file, "count": count}), face)


@app.command("status")
@options.printed
def status(file: File, plot: options.Plot = None, face: options.Face = options.Face.TEXT) -> None:
    """The power so far and the number of topics to the next decision; the observed difference is not shown.

    Example: cranfield study status mine.study
    """
    from cranfield.methods.sequential.study import open_study
    from cranfield.rendering.study_document import status_document

    if plot is not None:
        drawing.check_plot(plot)
    study = open_study(file)
    if plot is not None:
        drawing.draw_course(study, plot)
    options.output(status_document(study.status(), {"file": file}), face)


@app.command("test")
@options.printed
def make_test(file: File, face: options.Face = options.Face.TEXT) -> None:
    """The test, once the plan allows it, with its caveats and the paragraph to report.

    Exit code 1 when it is too early, and when the scores allow no claim.

    Example: cranfield study test mine.study
    """
    from cranfield.methods.sequential.study import open_study
    from cranfield.rendering.study_document import tested_document

    tested = open_study(file).test()
    options.output(tested_document(tested, {"file": file}), face)
    if tested.reason:
        raise typer.Exit(1)


@app.command("edit")
@options.printed
def edit(
    file: File,
    because: Annotated[
        str, typer.Option("--because", help="The reason; it is recorded with the change.", metavar="TEXT")
    ],
    difference: Annotated[float | None, typer.Option("--difference", help="Another difference.")] = None,
    alpha: Annotated[float | None, typer.Option("--alpha", help="Another significance level.")] = None,
    power: Annotated[float | None, typer.Option("--power", help="Another power.")] = None,
    sd: Annotated[float | None, typer.Option("--sd", help="Another first estimate of the sd.")] = None,
    plan: Annotated[str | None, typer.Option("--plan", help="Another plan.", metavar="NAME")] = None,
    first: Annotated[int | None, typer.Option("--first", help="Another first number of topics.", min=2)] = None,
    looks: Annotated[str | None, typer.Option("--looks", help="Other looks.")] = None,
    spending: Annotated[str | None, typer.Option("--spending", help="Another spending of α.", metavar="NAME")] = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """Change the goal of a study: recorded in the file, and stated in every report of the test.

    Example: cranfield study edit mine.study --difference 0.04 --because 'fewer assessors than planned'
    """
    from cranfield.methods.sequential.study import open_study
    from cranfield.methods.sequential.study_goal import parse_looks
    from cranfield.rendering.study_document import status_document

    given = {
        "difference": difference,
        "alpha": alpha,
        "power": power,
        "sd": sd,
        "plan": plan,
        "first": first,
        "looks": None if looks is None else parse_looks(looks),
        "spending": spending,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    found = open_study(file).edit(changes, reason=because)
    options.output(status_document(found, {"file": file, "because": because, **changes}), face)


@app.command("log")
@options.printed
def log(file: File, face: options.Face = options.Face.TEXT) -> None:
    """Every step of a study in order, after verifying the chain of checksums.

    Example: cranfield study log mine.study
    """
    from cranfield.methods.sequential.study import open_study
    from cranfield.rendering.study_document import log_document

    options.output(log_document(open_study(file).history(), {"file": file}), face)


for name in ("plans", "past", "trial", "simulate", "peek"):
    app.command(name, cls=Command)(make_command(find_question(f"study_{name}")))
