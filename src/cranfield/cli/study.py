"""cranfield study"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cranfield.cli import drawing, options
from cranfield.errors import RequestError

if TYPE_CHECKING:
    from cranfield.methods.sequential import PairedDifferences
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


@app.command("plans")
@options.printed
def plans(
    difference: Difference,
    sd: Annotated[float, typer.Option("--sd", help="Sd of paired differences.", metavar="SD")],
    alpha: Alpha = 0.05,
    power: Power = 0.8,
    first: First = 30,
    looks: Looks = "4",
    spending: Spending = "obrien-fleming",
    bounds: Bounds = "-1,1",
    face: options.Face = options.Face.TEXT,
) -> None:
    """What every plan guarantees, and its expected number of topics.

    Example: cranfield study plans --difference 0.033 --sd 0.15
    """
    from cranfield.methods.sequential.plans import all_prospects
    from cranfield.methods.sequential.study_goal import parse_bounds, parse_looks
    from cranfield.rendering.study_document import plans_document

    lowest, highest = parse_bounds(bounds)
    found = all_prospects(
        difference,
        sd,
        alpha=alpha,
        power=power,
        first=first,
        looks=parse_looks(looks),
        spending=spending,
        lowest=lowest,
        highest=highest,
    )
    inputs = {"difference": difference, "sd": sd, "alpha": alpha, "power": power}
    options.output(plans_document(found, inputs), face)


@app.command("past")
@options.printed
def past_experience(
    scores: options.Scores,
    difference: Difference,
    qrels: options.Qrels = None,
    measure: Measure = None,
    columns: options.Columns = None,
    alpha: Alpha = 0.05,
    power: Power = 0.8,
    percentile: Annotated[
        float, typer.Option("--percentile", help="Percentile of the sds of all pairs.", min=1, max=100)
    ] = 95.0,
    missing: options.Missing = None,
    plot: options.Plot = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """The sd of paired differences in earlier scores: required topics at its mean and at a percentile.

    Example: cranfield study past earlier.csv --difference 0.033
    """
    from cranfield.methods.sequential.past import past_experience as look_back
    from cranfield.rendering.study_document import past_document

    if plot is not None:
        drawing.check_plot(plot)
    table = _one_table(scores, qrels, measure, missing, columns)
    found = look_back(table, difference=difference, measure=measure, alpha=alpha, power=power, percentile=percentile)
    inputs = {
        **options.sources(scores, columns),
        "difference": difference,
        "alpha": alpha,
        "power": power,
        "percentile": percentile,
    }
    document = past_document(found, inputs)
    if plot is not None:
        drawing.draw_study(document, plot, "past")
    options.output(document, face)


@app.command("trial")
@options.printed
def trial_size(
    scores: options.PilotScores = None,
    difference: Annotated[
        float | None, typer.Option("--difference", help="Smallest difference of interest.", metavar="D")
    ] = None,
    sd: Annotated[str | None, typer.Option("--sd", help="Sds that the trial may have.", metavar="SD")] = None,
    sizes: Annotated[str | None, typer.Option("--trial-size", help="Sizes of the trial.", metavar="N")] = None,
    alpha: Alpha = 0.05,
    power: Power = 0.8,
    confidence: Annotated[
        float, typer.Option("--confidence", help="Confidence level of the upper limit of the sd.")
    ] = 0.95,
    qrels: options.Qrels = None,
    measure: Measure = None,
    columns: options.Columns = None,
    pairs: Annotated[int, typer.Option("--pairs", help="With scores: random pairs of systems.", min=1)] = 200,
    repeats: Annotated[int, typer.Option("--repeats", help="With scores: simulated trials per pair.", min=10)] = 1000,
    missing: options.Missing = None,
    seed: options.Seed = 1,
    plot: options.Plot = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """Total topics against the size of a trial. With scores: the sampling error of the sd of a trial.

    Examples: cranfield study trial --difference 0.033 --sd 0.12,0.15,0.18

              cranfield study trial scores.csv --trial-size 30
    """
    from cranfield.methods.design.power_card import whole
    from cranfield.methods.sequential.paired_differences import random_pairs
    from cranfield.methods.sequential.trial import plan_trial, trial_coverage
    from cranfield.rendering.study_document import coverage_document, trial_document

    if plot is not None:
        drawing.check_plot(plot)
    grids = options.grids({"sd": sd, "trial_size": sizes})
    inputs = {
        **options.sources(scores or [], columns),
        "difference": difference,
        "sd": sd,
        "trial_size": sizes,
        "alpha": alpha,
        "power": power,
        "confidence": confidence,
    }
    if scores and (difference is not None or sd is not None):
        raise RequestError("with scores, the difference and the sd have no effect", fix="Omit them, or the scores.")
    if scores:
        table = _one_table(scores, qrels, measure, missing, columns)
        drawn = random_pairs(table, pairs, seed=seed, measure=measure).differences
        topics = whole(grids.get("trial_size", [30])[0], "trial size")
        found = trial_coverage(drawn, topics=topics, confidence=confidence, repeats=repeats, seed=seed)
        document = coverage_document(found, inputs)
    else:
        if difference is None or sd is None:
            raise typer.BadParameter("give --difference and --sd, or scores")
        document = trial_document(
            plan_trial(
                difference=difference,
                sd=grids["sd"],
                sizes=grids.get("trial_size"),
                alpha=alpha,
                power=power,
                confidence=confidence,
            ),
            inputs,
        )
    if plot is not None:
        drawing.draw_study(document, plot, "coverage" if scores else "trial")
    options.output(document, face)


def _pairs(
    scores: list[str],
    qrels: str | None,
    measure: str | None,
    missing: options.MissingChoice | None,
    columns: str | None,
    system: str | None,
    baseline: str | None,
    count: int | None,
    seed: int,
) -> PairedDifferences:
    from cranfield.methods.sequential.journal import is_journal
    from cranfield.methods.sequential.paired_differences import choose_pairs
    from cranfield.methods.sequential.study import open_study

    if len(scores) == 1 and is_journal(scores[0]):
        return open_study(scores[0]).pairs()
    table = _one_table(scores, qrels, measure, missing, columns)
    return choose_pairs(table, system=system, baseline=baseline, count=count, seed=seed, measure=measure)


@app.command("simulate")
@options.printed
def simulate(
    scores: Annotated[
        list[str],
        typer.Argument(
            help="A score table (of two systems, or with --system and --baseline or --pairs; of one system: its values "
            "are differences), runs with --qrels, or a study.",
            metavar="SCORES",
            show_default=False,
        ),
    ],
    qrels: options.Qrels = None,
    measure: Measure = None,
    columns: options.Columns = None,
    system: System = None,
    baseline: Baseline = None,
    pairs: Annotated[
        int | None,
        typer.Option(
            "--pairs", help="Random pairs: baseline from the second quarter, the other from the best three.", min=1
        ),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option("--difference", help="Difference to detect (default: what --detectable-with topics detect)."),
    ] = None,
    detectable_with: Annotated[
        int,
        typer.Option(
            "--detectable-with", help="The difference of each pair is what this number of topics detects.", min=2
        ),
    ] = 100,
    sd: Annotated[float | None, typer.Option("--sd", help="First estimate of the sd (default: the true sd).")] = None,
    alpha: Alpha = 0.05,
    power: Power = 0.8,
    plans: Annotated[
        str | None, typer.Option("--plans", help="Only these plans, separated by commas.", metavar="NAMES")
    ] = None,
    first: First = 30,
    step: Annotated[int, typer.Option("--step", help="Topics that the iterative plan adds at a time.", min=1)] = 1,
    looks: Looks = "4",
    bounds: Bounds = "-1,1",
    most: Annotated[
        int | None,
        typer.Option("--most", help="Largest number of topics of open-ended plans (default: 5 × fixed).", min=2),
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", help="Simulated studies per pair.", min=1)] = 10_000,
    missing: options.Missing = None,
    seed: options.Seed = 1,
    plot: options.Plot = None,
    figure: Annotated[
        str, typer.Option("--figure", help="What --plot draws: plans, inclusion, sd or errors.", metavar="NAME")
    ] = "plans",
    face: options.Face = options.Face.TEXT,
) -> None:
    """Every plan on your own differences: topics used, bias of the sd, false positives and power.

    Example: cranfield study simulate scores.csv --system mine --baseline theirs --difference 0.03 --plot plans.svg
    """
    from cranfield.methods.sequential.plan_simulation import WAYS
    from cranfield.methods.sequential.plan_simulation import simulate as run
    from cranfield.methods.sequential.study_goal import parse_bounds, parse_looks
    from cranfield.rendering.study_document import simulate_document

    if plot is not None:
        drawing.check_plot(plot)
    given = _pairs(scores, qrels, measure, missing, columns, system, baseline, pairs, seed)
    lowest, highest = parse_bounds(bounds)
    wanted = [name.strip() for name in plans.split(",")] if plans else list(WAYS)
    with options.progress_bar("simulating") as done:
        found = run(
            given,
            difference=difference,
            detectable_with=detectable_with,
            sd=sd,
            alpha=alpha,
            power=power,
            plans=wanted,
            first=first,
            step=step,
            looks=parse_looks(looks),
            lowest=lowest,
            highest=highest,
            most=most,
            repeats=repeats,
            seed=seed,
            progress=done,
        )
    inputs = {
        **options.sources(scores, columns),
        "system": system,
        "baseline": baseline,
        "pairs": pairs,
        "difference": difference,
        "detectable_with": detectable_with,
        "sd": sd,
        "alpha": alpha,
        "power": power,
        "first": first,
        "step": step,
        "looks": looks,
        "bounds": bounds,
        "repeats": repeats,
    }
    document = simulate_document(found, inputs)
    if plot is not None:
        drawing.draw_study(document, plot, figure)
    options.output(document, face)


@app.command("peek")
@options.printed
def peek(
    scores: options.Scores,
    qrels: options.Qrels = None,
    measure: Measure = None,
    columns: options.Columns = None,
    first: Annotated[int, typer.Option("--first", help="The first look.", min=2)] = 50,
    low: Annotated[float, typer.Option("--low", help="Pairs with p above this on all topics …")] = 0.05,
    high: Annotated[float, typer.Option("--high", help="… and below this.")] = 0.10,
    alpha: Alpha = 0.05,
    repeats: Annotated[int, typer.Option("--repeats", help="Random orders of the topics.", min=1)] = 200,
    missing: options.Missing = None,
    seed: options.Seed = 1,
    plot: options.Plot = None,
    face: options.Face = options.Face.TEXT,
) -> None:
    """Testing after every topic: the share of pairs just short of significance that are significant at some look.

    Example: cranfield study peek scores.csv --first 20
    """
    from cranfield.methods.sequential.optional_stopping import near_misses
    from cranfield.methods.sequential.paired_differences import all_pairs
    from cranfield.rendering.study_document import near_misses_document

    if plot is not None:
        drawing.check_plot(plot)
    table = _one_table(scores, qrels, measure, missing, columns)
    found = near_misses(
        all_pairs(table, measure), low=low, high=high, first=first, alpha=alpha, repeats=repeats, seed=seed
    )
    inputs = {
        **options.sources(scores, columns),
        "first": first,
        "low": low,
        "high": high,
        "alpha": alpha,
        "repeats": repeats,
    }
    document = near_misses_document(found, inputs)
    if plot is not None:
        drawing.draw_study(document, plot, "peek")
    options.output(document, face)
