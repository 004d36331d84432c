"""What a report is made of: one function a section, and the list of them that others add to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.collection import Collection
from cranfield.errors import CranfieldError, RequestError
from cranfield.formats.problems import Problem, Severity
from cranfield.methods.design.target import Target
from cranfield.methods.names import TEST_LABELS, TEST_TITLES
from cranfield.methods.variance import Variances, estimate_variance
from cranfield.rendering import report_charts
from cranfield.rendering.document import Column, Document, Table, show
from cranfield.rendering.report_model import LeftOut, Part, Picture, Report, Section, Start
from cranfield.rendering.score_document import measure_citation, quartile_rows, score_document
from cranfield.scores import ScoreTable, check_balance
from cranfield.scores.quality import table_warnings
from cranfield.stats.family import ALL_PAIRS_TEST
from cranfield.types import Progress


@dataclass(frozen=True)
class ReportGoal:
    """What the topics are wanted for. ``systems`` are the input's own unless said otherwise."""

    systems: int | None = None
    min_range: float = 0.1
    difference: float = 0.05
    width: float = 0.1
    alpha: float = 0.05
    power: float = 0.8

    def check(self) -> None:
        """RequestError for a goal that makes no sense, before anything is computed."""
        from cranfield.methods.design.limits import broadcast

        broadcast({name: value for name, value in vars(self).items() if value is not None})


@dataclass(frozen=True, eq=False)
class Material:
    """The input of a report: score tables by collection, the collection itself where there is one, and a goal."""

    tables: Mapping[str, ScoreTable]
    collection: Collection | None = None
    goal: ReportGoal = field(default_factory=ReportGoal)
    shards: Sequence[int] = (2, 5, 10)
    samples: int = 1
    inputs: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 1

    @property
    def table(self) -> ScoreTable:
        """The first table."""
        return next(iter(self.tables.values()))

    @cached_property
    def variances(self) -> Variances:
        """Every estimate; pooled where there are several collections."""
        return estimate_variance(self.tables if len(self.tables) > 1 else self.table)

    @property
    def measures(self) -> list[str]:
        """Those all collections share."""
        return list(dict.fromkeys(estimate.measure for estimate in self.variances.estimates))

    @property
    def systems(self) -> int:
        """How many systems are to be compared."""
        return self.goal.systems or max(2, len(self.table.systems))

    def each(self) -> Iterator[tuple[str, ScoreTable, str]]:
        """Every (title, table, measure); the title names the collection where there are several."""
        for name, table in self.tables.items():
            for measure in table.measures:
                yield (f"{name}: {measure}" if len(self.tables) > 1 else measure), table, measure


Maker = Callable[[Material], tuple[list[Part], str]]
"""From the material, the parts of a section and its methods text; a CranfieldError says why it cannot be made."""


def read_section(material: Material) -> tuple[list[Part], str]:
    """What was read, and what was odd about it."""
    found = material.collection
    rows = [_table_row(name, table) for name, table in material.tables.items()]
    if found is not None:
        rows[0] |= {
            "teams": 0 if found.teams is None else len(set(found.teams)),
            "documents": len(found.documents),
            "retrieved": len(found.arrays["list_documents"]),
            "judgments": len(found.arrays["grade"]),
            "relevant": int(found.relevant.sum()),
        }
    words = list(rows[0])
    columns = tuple(Column(word, word, "text" if word in ("input", "measures") else "count") for word in words)
    warnings = dict.fromkeys(warning for table in material.tables.values() for warning in table.warnings)
    problems = [warning for warning in warnings if isinstance(warning, Problem)]
    tables = [Table(columns, [tuple(row[word] for word in words) for row in rows]), *_odd_tables(problems)]
    odd = len(warnings) - sum(problem.severity is Severity.NOTE for problem in problems)
    sentence = "Reading it gave no warning." if not odd else "Some of it was odd; the table says what became of it."
    document = Document("read", material.inputs, tables, rows, sentence, (), tuple(warnings))
    return [Part(document)], _read_methods(rows)


def _table_row(name: str, table: ScoreTable) -> dict[str, Any]:
    return {
        "input": name,
        "measures": ", ".join(table.measures),
        "topics": len(table.topics),
        "systems": len(table.systems),
        **({"shards": len(table.shards)} if table.shards else {}),
        "missing": table.missing,
    }


def _odd_tables(problems: Sequence[Any]) -> list[Table]:
    """One row a kind: what, how often, where first, what it does, what to do."""
    rows = []
    for slug in dict.fromkeys(problem.slug for problem in problems):
        mine = [problem for problem in problems if problem.slug == slug]
        kind = mine[0].kind
        more = f" and {len(mine) - 1:,} more" if len(mine) > 1 else ""
        count = sum(problem.count for problem in mine)
        rows.append((str(kind.severity), kind.title, count, mine[0].place + more, kind.effect, kind.fix))
    columns = (
        Column("severity", ""),
        Column("problem", "what"),
        Column("count", "how often", "count"),
        Column("place", "where"),
        Column("effect", "what it does"),
        Column("fix", "what to do"),
    )
    return [Table(columns, rows, "What was odd")] if rows else []


def _read_methods(rows: Sequence[Mapping[str, Any]]) -> str:
    parts = []
    for row in rows:
        judged = f", with {row['judgments']:,} relevance judgments" if "judgments" in row else ""
        parts.append(f"{row['systems']:,} systems on {row['topics']:,} topics{judged}")
    return f"The data are {'; '.join(parts)}."


def scores_section(material: Material) -> tuple[list[Part], str]:
    """Mean scores, and how they vary over topics."""
    parts = []
    for name, table in material.tables.items():
        pictures = [spread_picture(table, measure) for measure in table.measures]
        title = name if len(material.tables) > 1 else ""
        parts.append(Part(score_document(table, material.inputs), tuple(pictures), title))
    named = " and ".join(_cite_measure(measure) for measure in material.table.measures)
    return parts, f"Effectiveness was measured by {named}."


def spread_picture(table: ScoreTable, measure: str) -> Picture:
    """How every system's scores spread over topics."""
    return Picture(
        f"{measure} of every system over topics", report_charts.spread_figure(quartile_rows(table, measure), measure)
    )


def _cite_measure(name: str) -> str:
    key = measure_citation(name)
    return name if key is None else f"{name} [@{key}]"


def variance_section(material: Material) -> tuple[list[Part], str]:
    """Every estimate of the variance."""
    from cranfield.rendering.variance_document import variance_document

    if len(material.table.systems) < 2:
        raise RequestError("one system alone cannot be compared, so no variance follows that sizing needs")
    found = material.variances
    document = variance_document(found, material.inputs)
    picture = Picture("Estimates of the variance with their intervals", report_charts.variance_figure(found.to_dict()))
    said = "; ".join(_variance_words(found, measure) for measure in material.measures)
    methods = (
        f"Variances of the scores were estimated by two-way ANOVA [@Sakai2014] ({said}), with "
        f"{100 * found.confidence:g} % intervals from χ² with degrees of freedom from a jackknife over topics."
    )
    return [Part(document, (picture,))], methods


def _variance_words(found: Variances, measure: str) -> str:
    two_way, residual = (found.get(way, measure=measure) for way in ("two-way", "residual"))
    return f"{measure}: σ² = {_ranged(two_way)}, residual {_ranged(residual)}"


def _ranged(estimate: Any) -> str:
    value, low, high = (show(each, "number") for each in (estimate.variance, estimate.lower, estimate.upper))
    return f"{value} [{low}, {high}]"


def size_section(material: Material) -> tuple[list[Part], str]:
    """How many topics, with the range the variance's interval makes of it."""
    from cranfield.methods.design.formulas import SHARED
    from cranfield.methods.design.planning import Request, plan_from_pilot
    from cranfield.rendering.size_document import pilot_size_document

    goal = material.goal
    request = Request(
        systems=[material.systems],
        min_range=[goal.min_range],
        difference=[goal.difference],
        width=[goal.width],
        alpha=[goal.alpha],
        power=[goal.power],
    )
    # One goal, one n: systems share topics, as in every other section; other designs are asked for by name.
    sizes = [
        size
        for size in plan_from_pilot(request, material.variances)
        if size.size.method.design == SHARED and size.estimate.method == "residual"
    ]
    sizes.sort(key=lambda size: "difference" not in size.size.method.inputs)  # what compare will test comes first
    document = pilot_size_document(sizes, material.inputs)
    pictures = (
        Picture("Topics against the smallest difference to detect", _size_figure(material, "difference")),
        Picture("Topics against the number of systems", _size_figure(material, "systems")),
    )
    return [Part(document, pictures)], _size_methods(material, document)


_DIFFERENCES = (0.02, 0.025, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.25, 0.3)
_SYSTEMS = (3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100, 130, 160, 200)


def _size_figure(material: Material, x: str) -> Any:
    """n for a difference between two of m systems on shared topics, a curve for each measure."""
    rows = []
    for measure in material.measures:
        variance = np.array([material.variances.get("residual", measure=measure).variance])
        for value in _DIFFERENCES if x == "difference" else _SYSTEMS:
            changed: dict[str, Any] = {"value" if x == "difference" else x: value}
            topics = float(replace(_target(material), **changed).topics(variance)[0])
            rows.append({x: value, "topics": int(topics) if np.isfinite(topics) else None, "curve": measure})
    return report_charts.size_figure(rows, x=x)


def _size_methods(material: Material, document: Document) -> str:
    goal, said = material.goal, []
    for measure in material.measures:
        mine = [row for row in document.rows if row["measure"] == measure]
        wide = next(row for row in mine if row["method"] == "blocked")
        # The first row of the difference is that of the test that compares all pairs by default.
        pair = next(row for row in mine if "difference" in row and row["estimate"] == "residual")
        said.append(f"{measure}: {_counted(wide)} topics for the range, {_counted(pair)} for the difference")
    among, title = _pair_words(document)
    return (
        f"Topic set sizes are the smallest that find, with power {goal.power:g} at α = {goal.alpha:g}, a range of "
        f"{goal.min_range:g} among {material.systems} systems that share their topics (two-way ANOVA, non-central F) "
        f"or a difference of {goal.difference:g} between {among} ({title}, non-central t) "
        f"[@Sakai2014] [@Webber2008]; {'; '.join(said)}, in brackets the numbers at the ends of the interval of the "
        "variance."
    )


def _pair_words(document: Document) -> tuple[str, str]:
    """Between which systems the first difference is, and by which test."""

    row = next(row for row in document.rows if "difference" in row)
    among = f"two of {row['systems']} systems" if "systems" in row else "two systems named in advance"
    return among, TEST_LABELS[row["test"]]


def _counted(row: Mapping[str, Any]) -> str:
    topics, low, high = (
        show(row[word], "count") if row[word] is not None else "no number of"
        for word in ("topics", "topics_lower", "topics_upper")
    )
    return f"{topics} [{low}, {high}]"


def card_section(material: Material) -> tuple[list[Part], str]:
    """What the topics there are detect."""
    from cranfield.methods.design.power_card import cards_from_pilot
    from cranfield.rendering.charts import card_chart
    from cranfield.rendering.size_document import card_document

    goal, found = material.goal, material.variances
    asked: dict[str, Any] = {
        "systems": [float(material.systems)],
        "difference": [goal.difference],
        "alpha": [goal.alpha],
        "power": [goal.power],
    }
    cards = cards_from_pilot(found, **asked)
    grid = _topic_grid(cards[0].topics)
    curves = cards_from_pilot(found, topics=grid, **asked)
    pictures = []
    for card in cards:
        curve = [each.to_dict() for each in curves if each.measure == card.measure]
        pictures += [
            Picture(f"{card.measure}: what a number of topics detects", card_chart(curve)),
            Picture(f"{card.measure}: power against the number of topics", _power_figure(card, grid)),
        ]
    said = "; ".join(f"{card.detectable_difference:.4f} for {card.measure}" for card in cards)
    first = cards[0]
    among = f"two of {first.systems} systems" if first.is_family else "two systems named in advance"
    methods = (
        f"{first.topics} topics detect, with power {goal.power:g}, differences between {among} "
        f"({TEST_LABELS[first.test]}) down to {said} [@Webber2008]."
    )
    return [Part(card_document(cards, material.inputs, None), tuple(pictures))], methods


def _topic_grid(topics: int) -> list[float]:
    """From a few to three times what there is."""
    top = max(60, 3 * topics)
    return sorted({float(round(each)) for each in np.geomspace(5, top, 24)} | {float(topics)})


def _power_figure(card: Any, grid: Sequence[float]) -> Any:
    from cranfield.methods.design.inverse import power_for_difference

    family: dict[str, Any] = {"systems": card.systems, "test": card.test} if card.is_family else {}
    rows = []
    for factor in (0.5, 1, 2):
        difference = factor * card.difference
        powers = power_for_difference(topics=grid, difference=difference, sd=card.sd, alpha=card.alpha, **family)
        rows += [
            {"topics": topics, "power": float(power), "difference": f"{difference:g}"}
            for topics, power in zip(grid, powers, strict=True)
        ]
    return report_charts.power_figure(rows)


def compare_section(material: Material) -> tuple[list[Part], str]:
    """Which systems differ, by the default test of all pairs."""
    from cranfield.methods.comparison.comparison import compare
    from cranfield.rendering.charts import interval_chart
    from cranfield.rendering.comparison_document import CITATIONS, compare_document

    parts, said, tests = [], [], []
    for title, table, measure in material.each():
        found = compare(table, measure=measure, alpha=material.goal.alpha, seed=material.seed, label=title)
        tests.append(found.test)
        document = compare_document(found, material.inputs)
        pictures = (
            Picture(f"{title}: differences with their intervals", interval_chart(document.rows, document.extra)),
            Picture(
                f"{title}: every pair of systems", report_charts.matrix_figure(document.rows, document.extra["pairs"])
            ),
        )
        parts.append(Part(document, pictures, title))
        said.append(f"{found.significant_pairs:,} of {len(found.first):,} pairs differ in {title}")
    named = " and ".join(f"{TEST_TITLES[test]} [@{CITATIONS[test]}]" for test in dict.fromkeys(tests))
    methods = f"Systems were compared by {named}, at α = {material.goal.alpha:g}: {'; '.join(said)}."
    return parts, methods


def shard_section(material: Material) -> tuple[list[Part], str]:
    """FS19's models on random shards of the documents, or on the replicates a score table has."""
    from cranfield.methods.sharding.shard_models import replicate_study, shard_study
    from cranfield.rendering.shard_document import shard_document

    if material.collection is not None:
        studies = [
            shard_study(
                material.collection,
                material.table.measures,
                shards=material.shards,
                samples=material.samples,
                alpha=material.goal.alpha,
                seed=material.seed,
            )
        ]
        split = f"the documents were split at random into {', '.join(map(str, material.shards))} shards"
    elif material.table.shards:
        asked: dict[str, Any] = {"alpha": material.goal.alpha, "seed": material.seed}
        studies = [
            replicate_study(table, measure, collection=title if len(material.tables) > 1 else "", **asked)
            for title, table, measure in material.each()
        ]
        split = f"every topic had {len(material.table.shards)} replicates"
    else:
        raise RequestError("shards are made of runs and judgments, and only scores were given")
    parts = []
    for study in studies:
        once = [row for row in study.to_dict() if row["sample"] == 0]
        pictures = [
            Picture(f"{measure}: pairs found by every model", report_charts.shards_figure(_of(once, measure)))
            for measure in dict.fromkeys(row["measure"] for row in once)
        ]
        parts.append(Part(shard_document(study, material.inputs), tuple(pictures)))
    return parts, f"For the models MD1 to MD6 [@FerroSanderson2019] {split} (seed {material.seed})."


def reliability_section(material: Material) -> tuple[list[Part], str]:
    """Reliability of the collection: generalisability, swaps, halves, discrimination, rankings."""
    from cranfield.methods.reliability import assess_reliability
    from cranfield.rendering.reliability_charts import reliability_chart
    from cranfield.rendering.reliability_document import reliability_document

    found = assess_reliability(material.tables, alpha=material.goal.alpha, trials=200, seed=material.seed)
    pictures = (
        Picture("Swap rates against the difference of two systems", reliability_chart(found, "swaps")),
        Picture("Agreement of rankings against topics", reliability_chart(found, "rankings")),
    )
    methods = (
        "Reliability was assessed by generalisability theory [@Urbano2013] and by the swap rate of topic sets drawn at "
        f"random [@VoorheesBuckley2002] (seed {material.seed})."
    )
    return [Part(reliability_document(found, material.inputs), pictures)], methods


def _target(material: Material) -> Target:
    """The difference to detect between two of the systems; of two systems, the pair is named."""
    goal, systems = material.goal, material.systems
    test = ALL_PAIRS_TEST if systems > 2 else "t"
    return Target("difference", goal.difference, systems, goal.alpha, goal.power, test=test)


def pilot_section(material: Material) -> tuple[list[Part], str]:
    """The estimates that a pilot of fewer teams and topics would have given."""
    from cranfield.methods.leave_out import pilot_study
    from cranfield.rendering.pilot_charts import pilot_chart
    from cranfield.rendering.pilot_document import pilot_document

    collection = _runs_of(material, "teams are left out")
    study = pilot_study(collection, material.table.measures, target=_target(material), seed=material.seed)
    document = pilot_document(study, material.inputs)
    picture = Picture("Variance against the teams left out", pilot_chart(document.rows))
    methods = (
        "Teams and topics were left out at random, teams with the documents that only they had contributed to the "
        f"pools, to estimate the variance from smaller pilots [@SakaiShang2016] ({study.trials} trials each)."
    )
    return [Part(document, (picture,))], methods


def budget_section(material: Material) -> tuple[list[Part], str]:
    """Topics against pool depth: equivalent designs, and what each costs."""
    from cranfield.methods.pooling import depth_study, equivalent_designs
    from cranfield.rendering.budget_document import budget_document
    from cranfield.rendering.pilot_charts import budget_chart

    collection = _runs_of(material, "pools are made")
    target = _target(material)
    study = depth_study(collection, material.table.measures, estimate=target.estimate)
    document = budget_document(equivalent_designs(study, target), material.inputs)
    picture = Picture("Judgments of equivalent designs against pool depth", budget_chart(document.rows))
    return [
        Part(document, (picture,))
    ], "Designs of equal power for the same systems were computed at several pool depths [@Sakai2014; @Brennan2001]."


def _runs_of(material: Material, what: str) -> Collection:
    if material.collection is None:
        raise RequestError(f"{what} of runs and judgments, and only scores were given")
    return material.collection


def _of(rows: Sequence[Mapping[str, Any]], measure: str) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["measure"] == measure]


SECTIONS: dict[str, tuple[str, Maker]] = {
    "read": ("What was read", read_section),
    "scores": ("Scores", scores_section),
    "variance": ("Variances", variance_section),
    "size": ("How many topics", size_section),
    "power": ("What the topics detect", card_section),
    "compare": ("Which systems differ", compare_section),
    "shards": ("Shards", shard_section),
    "pilot": ("What a smaller pilot would have said", pilot_section),
    "budget": ("Topics against depth", budget_section),
    "reliability": ("Reliability", reliability_section),
}
"""Every section, in the order of the report: its name, its title, and the function that makes it."""


def make_report(
    material: Material, *, title: str = "", sections: Sequence[str] | None = None, progress: Progress | None = None
) -> Report:
    """Everything there is to say about the material.

    A section that the input cannot have (a comparison of one system, shards of a score table) is left out, and the
    report says why; missing scores are refused. ``sections`` names those wanted; all of them, unless said otherwise.
    """
    material.goal.check()
    check_sections(sections)
    for table in material.tables.values():
        check_balance(table)
    wanted = list(SECTIONS) if sections is None else list(dict.fromkeys(sections))
    made, left_out = [], []
    for at, name in enumerate(wanted):
        heading, maker = SECTIONS[name]
        try:
            parts, methods = maker(material)
            made.append(Section(name, heading, tuple(parts), methods))
        except CranfieldError as error:
            left_out.append(LeftOut(heading, error.what))
        if progress is not None:
            progress(at + 1, len(wanted))
    starts = _starts(material) if any(section.slug == "size" for section in made) else ()
    return Report(
        title or _title(material),
        material.inputs,
        tuple(made),
        tuple(left_out),
        starts,
        material.seed,
        input_warnings=table_warnings(material.tables),
    )


def check_sections(names: Sequence[str] | None) -> None:
    """RequestError for a section there is none of."""
    for name in names or ():
        if name not in SECTIONS:
            raise RequestError(f"there is no section «{name}»", fix=f"Choose from: {', '.join(SECTIONS)}.")


def _title(material: Material) -> str:
    """The input's own name, without the folders it lies in."""
    names = [name.replace("\\", "/").rstrip("/").rpartition("/")[2] or name for name in material.tables]
    return f"Report on {', '.join(names)}"


def _starts(material: Material) -> tuple[Start, ...]:
    goal, found = material.goal, material.variances
    shared = {"systems": material.systems, **{n: v for n, v in vars(goal).items() if n != "systems"}}
    starts = []
    for measure in material.measures:
        estimates = [found.get(way, measure=measure) for way in ("two-way", "residual")]
        variances = {each.method: (each.variance, each.lower, each.upper) for each in estimates}
        starts.append(Start(measure=measure, variances=variances, **shared))
    return tuple(starts)
