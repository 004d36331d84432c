"""Everything in one document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from cranfield.errors import CranfieldError, RequestError
from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Names, Param, about, question
from cranfield.results import Result, rendering
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from os import PathLike

    from cranfield.collection import Collection
    from cranfield.methods.design.goals import Scale
    from cranfield.methods.design.target import Target
    from cranfield.methods.design.topic_table import TopicTable
    from cranfield.methods.variance import Variances
    from cranfield.scores import ScoreTable

SectionName = Literal[
    "compare", "scores", "power", "size", "reliability", "judges", "variance", "shards", "pilot", "budget", "read"
]
SECTIONS: tuple[str, ...] = get_args(SectionName)
SHORT = ("compare", "scores", "power", "size", "reliability", "judges", "read")
"""The sections of a report that is not full."""
DIFFERENCES = (0.02, 0.025, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.25, 0.3)
SYSTEMS = (3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100, 130, 160, 200)


@dataclass(frozen=True)
class ReportGoal:
    """What the topics are needed for; ``systems`` is None for as many as there are."""

    systems: int | None = None
    min_range: float = 0.1
    difference: float | None = None
    width: float = 0.1
    alpha: float = 0.05
    power: float = 0.8


@dataclass(frozen=True, kw_only=True)
class ReportInput:
    """What a report is about: score tables by collection, the collection itself where there is one, and a goal.

    ``labels`` are the human labels and those of judges, where there are some.
    """

    tables: Mapping[str, ScoreTable]
    collection: Collection | None = None
    labels: sources.LabelSets | None = None
    goal: ReportGoal = field(default_factory=ReportGoal)
    shards: Sequence[int] = (2, 5, 10)
    samples: int = 1
    seed: int = 1

    @property
    def table(self) -> ScoreTable:
        """The first table."""
        return next(iter(self.tables.values()))

    @cached_property
    def variances(self) -> Variances:
        """Every estimate; pooled where there are several collections."""
        from cranfield.methods.variance import estimate_variance

        return estimate_variance(self.tables if len(self.tables) > 1 else self.table)

    @property
    def measures(self) -> list[str]:
        """Those that all collections share."""
        return list(dict.fromkeys(estimate.measure for estimate in self.variances.estimates))

    @property
    def systems(self) -> int:
        """Number of systems to be compared."""
        return self.goal.systems or max(2, len(self.table.systems))

    @property
    def target(self) -> Target:
        """A difference between two of the systems; two systems are a pair named in advance."""
        from cranfield.methods.design.target import target_for

        goal = self.goal
        levels: dict[str, Any] = {"alpha": goal.alpha, "power": goal.power}
        return target_for(self.systems, difference=goal.difference, **levels, scales=self.scales)

    @property
    def difference(self) -> float:
        """The difference that is planned for, under the first measure."""
        return self.target.of(self.table.measures[0]).value

    @cached_property
    def scales(self) -> Mapping[str, Scale]:
        """The range that the scores of every measure can have."""
        return sources.Tables(self.tables).scales

    def topic_table(self, kind: str, test: str = "") -> TopicTable:
        """How many topics a goal takes, for the calculators of page and workbook."""
        from cranfield.methods.design.topic_table import tabulate

        return tabulate(kind, test=test, systems=self.systems, alpha=self.goal.alpha, power=self.goal.power)

    def each(self) -> Iterator[tuple[str, ScoreTable, str]]:
        """Every (title, table, measure); the title names the collection where there are several."""
        for name, table in self.tables.items():
            for measure in table.measures:
                yield (f"{name}: {measure}" if len(self.tables) > 1 else measure), table, measure


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReportResult(Result):
    """The findings of every section, and the sections that the input does not allow with the reason."""

    about: ReportInput
    findings: Mapping[str, Any]
    left_out: Mapping[str, str]

    def write(self, path: str | PathLike[str]) -> int:
        """Write it in the format that the ending of ``path`` names, and return its size in bytes.

        The endings are .html, .pdf, .md, .tex, .json, .xlsx and .bib.
        """
        return int(rendering("report_files").write_report(self, path))

    @property
    def methods(self) -> str:
        """The paragraph of methods, with citations as ``[@Key]``."""
        return str(rendering("report_sections").make_report(self).methods)


@question(
    "Report",
    examples=(
        "cranfield report scores.csv -o report.html --xlsx",
        "cranfield report runs/ --qrels qrels.txt -o report.html --pdf",
        "cranfield report runs/ --qrels human.txt --judge llama=llama.txt -m nDCG@10",
    ),
    working="reporting",
)
def report(
    scores: sources.Scores,
    *,
    qrels: sources.Qrels = None,
    measure: shared.ReportMeasures = None,
    best_per: sources.BestPer = None,
    systems: Annotated[
        int | None,
        Param("Number of systems to be compared.", default="all systems in the data", ge=2, le=10_000, metavar="M"),
    ] = None,
    difference: Annotated[float | None, about(shared.Difference, label="", excludes=())] = None,
    alpha: shared.Alpha = 0.05,
    power: shared.Power = 0.8,
    shards: shared.Shards = "2,5,10",
    samples: shared.Samples = 1,
    section: Annotated[
        Names,
        Param(
            f"Only this section; may be repeated: {', '.join(SECTIONS)}.",
            default="compare, scores, power, size, reliability, read; judges with `judge`",
            metavar="NAME",
        ),
    ] = None,
    full: Annotated[
        bool, Param("All sections: also variance, shards, pilot and budget.", label="all sections")
    ] = False,
    title: Annotated[str, Param("Title of the report.", metavar="TEXT")] = "",
    goal: Annotated[
        groups.GoalLike,
        groups.Fields(
            groups.Goal,
            "min_range",
            "width",
            usual={"min_range": 0.1, "width": 0.1},
            min_range=groups.changed(groups.Goal, "min_range", float, gt=0, le=1e3),
            width=groups.changed(groups.Goal, "width", float, gt=0, le=1e3),
        ),
    ] = None,
    judge: Annotated[groups.JudgeLike, groups.Fields(groups.Judge, "labels")] = None,
    source: groups.TeamSource = None,
    resampling: groups.Seeded = None,
) -> ReportResult:
    """Write all results for a pilot or a collection to one file, which can be opened without a network.

    Returns
    -------
    ReportResult
        What every section found; ``write`` makes a file of it.

    References
    ----------
    .. [1] T. Sakai, "Designing test collections for comparing many systems", CIKM, 2014.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"a": {"1": 0.5, "2": 0.7, "3": 0.6, "4": 0.4}, "b": {"1": 0.4, "2": 0.65, "3": 0.45, "4": 0.35}}
    >>> sorted(cf.report(scores, section=["read", "compare"]).findings)
    ['compare', 'read']
    """
    check_sections(section)
    wish, read = groups.Goal.of(goal), groups.Source.of(source)
    columns, missing, teams = read.columns, read.missing, read.teams
    labels = groups.Judge.of(judge).labels
    ranges: Any = wish.min_range
    widths: Any = wish.width
    aims = ReportGoal(systems, ranges, difference, widths, alpha, power)
    _check_goal(aims)
    chosen = sources.best_per_team(best_per, teams)
    tables, collection = _load(scores, qrels, teams, columns, measure, missing, chosen)
    counts = [int(each) for each in shards] if isinstance(shards, list) else [2, 5, 10]
    about = ReportInput(
        tables=tables.by_name,
        collection=collection,
        labels=_labels(scores, labels, tables, qrels=qrels, columns=columns, missing=missing),
        goal=aims,
        shards=counts,
        samples=samples,
        seed=groups.Resampling.of(resampling).seed,
    )
    if section and full:
        raise RequestError("`full` has all sections, and `section` names some", fix="Leave out one of them.")
    usual = [name for name in SECTIONS if full or name in SHORT or (name == "shards" and about.table.shards)]
    if labels is None:
        usual = [name for name in usual if name != "judges"]
    findings, left_out = find_sections(about, section or usual)
    inputs = {"difference": about.difference}
    return ReportResult(
        about=about, findings=findings, left_out=left_out, inputs=inputs, warnings=tables.warnings, seed=about.seed
    )


def check_sections(names: Names) -> None:
    """RequestError for a section that does not exist."""
    for name in names or ():
        if name not in FIND:
            raise RequestError(f"there is no section «{name}»", fix=f"Choose from: {', '.join(FIND)}.")


def _check_goal(goal: ReportGoal) -> None:
    """RequestError for a goal that is impossible, before anything is computed."""
    from cranfield.methods.design.inputs import broadcast

    broadcast({name: value for name, value in vars(goal).items() if value is not None})


def _load(
    scores: Any,
    qrels: Any,
    teams: str | None,
    columns: str | None,
    measure: Names,
    missing: str | None,
    chosen: sources.BestPerTeam | None,
) -> tuple[sources.Tables, Collection | None]:
    """Score tables and, where runs or a packed collection were given, the collection itself."""
    if not sources.is_collection(scores, qrels):
        if teams is not None and chosen is None:
            raise RequestError("`teams` goes with runs and `qrels`, not with scores", fix="Leave it out.")
        return sources.load_tables(scores, columns=columns, measure=measure, missing=missing, choose=chosen), None
    collection = sources.load_collection(scores, qrels=qrels, teams=teams)
    usual = ("AP", "nDCG@10")
    if chosen is not None:
        chosen = replace(chosen, teams=None)  # the collection has them
    more: dict[str, Any] = {"usual": usual, "choose": chosen}
    tables = sources.load_tables(collection, columns=columns, measure=measure, missing=missing, **more)
    by_name = {sources.name_of(scores): tables.only}
    return sources.Tables(by_name, tables.warnings), collection


def _labels(scores: Any, judge: Any, tables: sources.Tables, **more: Any) -> sources.LabelSets | None:
    """Human labels and those of judges, under the measures of the report."""
    if judge is None:
        return None
    return sources.load_label_sets(scores, judge, measure=list(tables.only.measures), **more)


def find_sections(about: ReportInput, wanted: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The findings of each section, and why some cannot be made of this input."""
    from cranfield.scores import check_balance

    for table in about.tables.values():
        check_balance(table)
    names, findings, left_out = list(dict.fromkeys(wanted)), {}, {}
    progress = listener()
    for at, name in enumerate(names):
        try:
            findings[name] = FIND[name](about)
        except CranfieldError as error:
            left_out[name] = error.what
        if progress is not None:
            progress(at + 1, len(names))
    return findings, left_out


def _variances(about: ReportInput) -> Any:
    if len(about.table.systems) < 2:
        raise RequestError("one system alone cannot be compared, so no variance follows that sizing needs")
    return about.variances


def _sizes(about: ReportInput) -> dict[str, Any]:
    """One n for each goal: systems share topics, as in every other section; and two curves."""
    from cranfield.methods.design.formulas import SHARED
    from cranfield.methods.design.planning import plan_from_pilot
    from cranfield.methods.design.request import Request

    goal = about.goal
    levels: dict[str, Any] = {"systems": [about.systems], "alpha": [goal.alpha], "power": [goal.power]}
    difference = None if goal.difference is None else [goal.difference]
    requests = (  # what compare will test comes first
        Request(**levels, difference=difference),
        Request(**levels, min_range=[goal.min_range], width=[goal.width]),
    )
    sizes = [
        size
        for request in requests
        for size in plan_from_pilot(request, about.variances, about.scales)
        if size.size.method.design == SHARED and size.estimate.method == "residual"
    ]
    curves = {
        "difference": _size_curve(about, "difference", DIFFERENCES),
        "systems": _size_curve(about, "systems", SYSTEMS),
    }
    return {"sizes": sizes, "curves": curves}


def _size_curve(about: ReportInput, moved: str, values: Sequence[float]) -> list[dict[str, Any]]:
    """n for a difference between two of m systems on shared topics, one curve per measure."""
    import numpy as np

    from cranfield.stats.family import ALL_PAIRS_TEST

    rows = []
    for measure in about.measures:
        variance = np.array([about.variances.get("residual", measure=measure).variance])
        target = about.target.of(measure)
        for value in values:
            if moved == "systems":
                changed = replace(target, design=replace(target.design, systems=value, test=ALL_PAIRS_TEST))
            else:
                changed = target.with_value(value * about.scales[measure].span)
            topics = float(changed.topics(variance)[0])
            shown = value if moved == "systems" else changed.value
            rows.append({moved: shown, "topics": int(topics) if np.isfinite(topics) else None, "curve": measure})
    return rows


def _cards(about: ReportInput) -> dict[str, Any]:
    """The power card of the topics there are, and of other numbers of topics."""
    from cranfield.methods.design.cards import cards_from_pilot
    from cranfield.methods.design.request import Request

    request = Request(
        systems=[about.systems],
        difference=None if about.goal.difference is None else [about.goal.difference],
        alpha=[about.goal.alpha],
        power=[about.goal.power],
    )
    cards = cards_from_pilot(request, about.variances, scales=about.scales)
    grid = _topic_grid(cards[0].topics)
    return {"cards": cards, "powers": {card.measure: _power_curve(card, grid) for card in cards}}


def _topic_grid(topics: int) -> list[float]:
    """From 5 to three times the number there is."""
    import numpy as np

    return sorted({float(round(each)) for each in np.geomspace(5, max(60, 3 * topics), 24)} | {float(topics)})


def _power_curve(card: Any, grid: Sequence[float]) -> list[dict[str, Any]]:
    from cranfield.methods.design import Goal, achieved

    rows = []
    for factor in (0.5, 1, 2):
        difference = factor * card.difference
        powers = achieved(card.designs(topics=grid), Goal("difference", difference))
        rows += [
            {"topics": topics, "power": float(power), "difference": f"{difference:g}"}
            for topics, power in zip(grid, powers, strict=True)
        ]
    return rows


def _comparisons(about: ReportInput) -> dict[str, Any]:
    from cranfield.methods.contrasts.comparing import compare

    return {
        title: compare(table, measure=measure, alpha=about.goal.alpha, seed=about.seed, label=title)
        for title, table, measure in about.each()
    }


def _shard_studies(about: ReportInput) -> list[Any]:
    from cranfield.methods.sharding.shard_models import replicate_study, shard_study

    asked: dict[str, Any] = {"alpha": about.goal.alpha, "seed": about.seed}
    if about.collection is not None:
        measures = about.table.measures
        return [shard_study(about.collection, measures, shards=about.shards, samples=about.samples, **asked)]
    if not about.table.shards:
        raise RequestError("shards require runs and judgments, and only scores were given")
    return [
        replicate_study(table, measure, collection=title if len(about.tables) > 1 else "", **asked)
        for title, table, measure in about.each()
    ]


def _pilots(about: ReportInput) -> Any:
    from cranfield.methods.leave_out import pilot_study

    collection = _runs_of(about, "teams are left out")
    return pilot_study(collection, about.table.measures, target=about.target, seed=about.seed)


def _designs(about: ReportInput) -> Any:
    from cranfield.methods.pooling import depth_study, has_teams, pool_designs, reusability

    collection = _runs_of(about, "pools are made")
    target = about.target
    study = depth_study(collection, about.table.measures, estimate=target.estimate)
    known = has_teams(collection)
    reuse = reusability(collection, study.measures, depths=study.depths) if known else ()
    return pool_designs(study, target, reuse=reuse, seed=about.seed)


def _reliability(about: ReportInput) -> Any:
    from cranfield.methods.reliability import assess_reliability

    return assess_reliability(about.tables, alpha=about.goal.alpha, trials=200, seed=about.seed)


def _judges(about: ReportInput) -> Any:
    from cranfield.methods.judging.assessment import assess_judges

    if about.labels is None or about.labels.human is None:
        raise RequestError("judges are compared with people by the labels of both, and `judge` names none")
    collection, teams = about.collection, None
    if collection is not None and collection.teams is not None:
        teams = dict(zip(collection.systems, collection.teams, strict=True))
    return assess_judges(about.labels.human, about.labels.judges, teams=teams, alpha=about.goal.alpha, seed=about.seed)


def _runs_of(about: ReportInput, what: str) -> Collection:
    if about.collection is None:
        raise RequestError(f"{what} of runs and judgments, and only scores were given")
    return about.collection


FIND: dict[str, Callable[[ReportInput], Any]] = {
    "compare": _comparisons,
    "scores": lambda about: about.tables,
    "power": _cards,
    "size": _sizes,
    "reliability": _reliability,
    "judges": _judges,
    "variance": _variances,
    "shards": _shard_studies,
    "pilot": _pilots,
    "budget": _designs,
    "read": lambda about: about.tables,
}
"""What is computed for each section, in the order of the report."""
