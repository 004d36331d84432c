"""The sections of a report: each renders what its question found, with charts and a paragraph of methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cranfield.errors import CranfieldError
from cranfield.formats.problems import Problem, Severity
from cranfield.methods.contrasts.comparison import Comparison
from cranfield.methods.design.cards import Card
from cranfield.methods.judging.assessment import JudgeAssessment
from cranfield.methods.names import TEST_LABELS, TEST_TITLES, with_correction
from cranfield.methods.variance import Variances
from cranfield.questions.report import ReportInput, ReportResult
from cranfield.rendering.document import Column, Document, Table, View, first_sentence, listed, show, warning_lines
from cranfield.rendering.report_model import LeftOut, Part, Picture, Point, Report, Section, Start
from cranfield.rendering.score_document import measure_citation, score_document, spread_pictures
from cranfield.scores import ScoreTable

Maker = Callable[[ReportResult, Any], tuple[list[Part], str]]
"""From a report and the findings of a section, the parts of the section and its methods text."""


def read_section(result: ReportResult, found: Any) -> tuple[list[Part], str]:
    """Return the input and its problems."""
    collection = result.about.collection
    rows = [_table_row(name, table) for name, table in result.about.tables.items()]
    if collection is not None:
        rows[0] |= {
            "teams": 0 if collection.teams is None else len(set(collection.teams)),
            "documents": len(collection.documents),
            "retrieved": len(collection.list_documents),
            "judgments": len(collection.arrays["grade"]),
            "relevant": int(collection.relevant.sum()),
        }
    words = list(rows[0])
    columns = tuple(Column(word, word, "text" if word in ("input", "measures") else "count") for word in words)
    warnings = dict.fromkeys(warning for table in result.about.tables.values() for warning in table.warnings)
    problems = [warning for warning in warnings if isinstance(warning, Problem)]
    tables = [Table(columns, [tuple(row[word] for word in words) for row in rows]), *_odd_tables(problems)]
    odd = len(warnings) - sum(problem.severity is Severity.NOTE for problem in problems)
    sentence = "There were no warnings." if not odd else "There were problems; the table shows how they were treated."
    document = Document(
        method="read",
        inputs=result.inputs,
        tables=tables,
        rows=rows,
        answer=sentence,
        citations=(),
        warnings=tuple(warnings),
    )
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
    """Return one row per kind of problem: title, count, first place, effect and remedy."""
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
        Column("effect", "effect"),
        Column("fix", "remedy"),
    )
    return [Table(columns, rows, "Problems of the input")] if rows else []


def _read_methods(rows: Sequence[Mapping[str, Any]]) -> str:
    parts = []
    for row in rows:
        judged = f", with {row['judgments']:,} relevance judgments" if "judgments" in row else ""
        parts.append(f"{row['systems']:,} systems on {row['topics']:,} topics{judged}")
    return f"We evaluated {'; '.join(parts)}."


def scores_section(result: ReportResult, found: Any) -> tuple[list[Part], str]:
    """Return mean scores and their distribution over topics."""
    parts = []
    for name, table in result.about.tables.items():
        pictures = [Picture.drawn(*each) for each in spread_pictures(table)]
        title = name if len(result.about.tables) > 1 else ""
        parts.append(Part(score_document(table, result.inputs), tuple(pictures), title))
    named = listed([_cite_measure(measure) for measure in result.about.table.measures])
    return parts, f"Effectiveness was measured by {named}."


def _cite_measure(name: str) -> str:
    key = measure_citation(name)
    return name if key is None else f"{name} [@{key}]"


def variance_section(result: ReportResult, found: Any) -> tuple[list[Part], str]:
    """Return every estimate of the variance."""
    from cranfield.rendering.variance_document import variance_chart, variance_document

    document = variance_document(found, result.inputs)
    picture = Picture.drawn("Estimates of the variance with their intervals", variance_chart, found.to_dict())
    said = "; ".join(_variance_words(found, measure) for measure in result.about.measures)
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


def size_section(result: ReportResult, found: Any) -> tuple[list[Part], str]:
    """Return the numbers of topics, with the range from the interval of the variance."""
    from cranfield.rendering.design_charts import topics_chart
    from cranfield.rendering.size_document import pilot_size_document

    document = pilot_size_document(found["sizes"], result.inputs)
    titles = {
        "difference": "Topics against the smallest difference to detect",
        "systems": "Topics against the number of systems",
    }
    pictures = tuple(Picture.drawn(titles[x], topics_chart, rows, x) for x, rows in found["curves"].items())
    return [Part(document, pictures)], _size_methods(result.about, document)


def _size_methods(about: ReportInput, document: Document) -> str:
    goal, said = about.goal, []
    for measure in about.measures:
        mine = [row for row in document.rows if row["measure"] == measure]
        wide = next(row for row in mine if row["method"] == "blocked")
        # The first row of the difference is that of the test that compares all pairs by default.
        pair = next(row for row in mine if "difference" in row and row["estimate"] == "residual")
        said.append(f"{measure}: {_counted(wide)} topics for the range, {_counted(pair)} for the difference")
    row = next(row for row in document.rows if "difference" in row)
    return (
        f"Topic set sizes [@Sakai2014; @Webber2008] are the smallest that detect, with power {goal.power:g} at "
        f"α = {goal.alpha:g}, a range of {goal.min_range:g} among {about.systems} systems that share their topics, by "
        f"two-way ANOVA, or a difference of {about.difference:g} between {_among(row.get('systems'))}, by "
        f"{_planned_test(row['test'])}: {'; '.join(said)}; brackets give n at the limits of the confidence interval of "
        "the variance."
    )


def _among(systems: int | None) -> str:
    return "two systems named in advance" if systems is None else f"two of {systems} systems"


def _planned_test(test: str) -> str:
    """The test that a number of topics is for, with its citation."""
    from cranfield.methods.design import METHODS

    return f"{TEST_LABELS[test]} [@{METHODS['difference'][test].citation}]"


def _counted(row: Mapping[str, Any]) -> str:
    topics, low, high = (
        show(row[word], "count") if row[word] is not None else "no number of"
        for word in ("topics", "topics_lower", "topics_upper")
    )
    return f"{topics} [{low}, {high}]"


def card_section(result: ReportResult, found: Any) -> tuple[list[Part], str]:
    """Return the differences that the given topics detect."""
    from cranfield.questions.power import PowerResult
    from cranfield.rendering.design_charts import power_chart, reached_chart
    from cranfield.rendering.power_document import card_document

    cards, goal = found["cards"], result.about.goal
    pictures = []
    for card in cards:
        alone, powers = PowerResult(cards=(card,)), found["powers"][card.measure]
        pictures += [
            Picture.drawn(f"{card.measure}: detectable differences by number of topics", power_chart, alone),
            Picture.drawn(f"{card.measure}: power against the number of topics", reached_chart, powers, goal.power),
        ]
    said = "; ".join(f"{card.detectable_difference:.4f} for {card.measure}" for card in cards)
    first = cards[0]
    among = _among(first.systems if first.is_family else None)
    methods = (
        f"{first.topics} topics detect, by {_planned_test(first.test)} with power {goal.power:g}, differences between "
        f"{among} down to {said}."
    )
    return [Part(card_document(cards, result.inputs), tuple(pictures))], methods


def compare_section(result: ReportResult, found: Any) -> tuple[list[Part], str]:
    """Return which systems differ, by the default test of all pairs."""
    from cranfield.rendering.comparison_charts import differences_by_topic, interval_chart, matrix_chart
    from cranfield.rendering.comparison_document import charted, compare_document
    from cranfield.rendering.paper_table import CITATIONS

    parts, said, tests = [], [], []
    for title, each in found.items():
        tests.append(f"{with_correction(TEST_TITLES[each.test], each.correct)} [@{CITATIONS[each.test]}]")
        document = compare_document(each, result.inputs)
        rows, pairs, note = charted(each, document)
        of = f" of {note}" if note else ""
        pictures = (
            Picture.drawn(
                f"{title}: differences{of} with their intervals", interval_chart, rows, document.extra, pairs=pairs
            ),
            Picture.drawn(f"{title}: every pair of {note or 'systems'}", matrix_chart, rows, pairs),
            Picture.drawn(
                f"{title}: {each.systems[0]} minus {each.systems[1]} on every topic", differences_by_topic, each
            ),
        )
        parts.append(Part(document, pictures, title))
        said.append(f"{each.significant_pairs:,} of {len(each.pairs):,} pairs differ in {title}")
    named = listed(list(dict.fromkeys(tests)))
    methods = f"Pairs of systems were compared ({named}; α = {result.about.goal.alpha:g}): {'; '.join(said)}."
    return parts, f"{methods}{_drawn(list(found.values()))}{_family_wise(list(found.values()))}"


def _drawn(found: Sequence[Comparison]) -> str:
    """What was drawn at random, and how often."""
    kinds = {"max-t": "a bootstrap of topics", "bootstrap": "a bootstrap of topics"}
    counts = {(kinds.get(each.test, "permutations"), each.resamples) for each in found if each.resamples is not None}
    return "".join(f" P-values and intervals come from {kind} ({count:,} resamples)." for kind, count in sorted(counts))


def _family_wise(found: Sequence[Comparison]) -> str:
    if all(len(each.pairs) == 1 for each in found):
        return ""
    where = "over all pairs of each measure, not over measures" if len(found) > 1 else "over all pairs"
    return f" The family-wise error rate is controlled {where}."


def shard_section(result: ReportResult, found: Any) -> tuple[list[Part], str]:
    """Return the models of Ferro and Sanderson (2019) on random shards, or on the replicates of a score table."""
    from cranfield.rendering.shard_charts import shard_chart
    from cranfield.rendering.shard_document import shard_document

    about = result.about
    if about.collection is not None:
        split = f"the documents were split at random into {', '.join(map(str, about.shards))} shards"
    else:
        split = f"every topic had {len(about.table.shards)} replicates"
    parts = []
    for study in found:
        pictures = [Picture.drawn("Significant pairs under every model", shard_chart, study, "robustness")]
        parts.append(Part(shard_document(study, result.inputs), tuple(pictures)))
    return parts, f"For the models MD1 to MD6 [@FerroSanderson2019] {split} (seed {result.about.seed})."


def reliability_section(result: ReportResult, found: Any) -> tuple[list[Part], str]:
    """Return the reliability of the collection: generalisability, swaps, halves, discrimination, rankings."""
    from cranfield.rendering.reliability_charts import reliability_chart
    from cranfield.rendering.reliability_document import reliability_document

    pictures = (
        Picture.drawn("Swap rates against the difference of two systems", reliability_chart, found, "swaps"),
        Picture.drawn("Agreement of rankings against topics", reliability_chart, found, "rankings"),
    )
    methods = (
        "Reliability was assessed by generalisability theory [@Urbano2013] and by the swap rate of topic sets drawn at "
        f"random [@VoorheesBuckley2002] (seed {result.about.seed})."
    )
    return [Part(reliability_document(found, result.inputs), pictures)], methods


def pilot_section(result: ReportResult, found: Any) -> tuple[list[Part], str]:
    """Return the estimates of pilots with fewer teams and topics."""
    from cranfield.rendering.pilot_charts import pilot_chart
    from cranfield.rendering.pilot_document import pilot_document

    document = pilot_document(found, result.inputs)
    picture = Picture.drawn("Variance against the teams left out", pilot_chart, document.rows)
    methods = (
        "Teams and topics were left out at random, teams with the documents that only they had contributed to the "
        f"pools, to estimate the variance from smaller pilots [@SakaiShang2016] ({found.trials} trials each)."
    )
    return [Part(document, (picture,))], methods


def budget_section(result: ReportResult, found: Any) -> tuple[list[Part], str]:
    """Return equivalent designs by pool depth, and their costs."""
    from cranfield.rendering.pilot_charts import budget_chart
    from cranfield.rendering.pilot_document import budget_document

    document = budget_document(found, result.inputs)
    picture = Picture.drawn("Judgments of equivalent designs against pool depth", budget_chart, document.rows)
    return [
        Part(document, (picture,))
    ], "Designs of equal power for the same systems were computed at several pool depths [@Sakai2014; @Brennan2001]."


def judges_section(result: ReportResult, found: JudgeAssessment) -> tuple[list[Part], str]:
    """Return what the labels of every judge are worth beside human ones, and the systems that it favours."""
    from cranfield.questions.judges import JudgesResult
    from cranfield.rendering import judges_document as judges

    alone = JudgesResult(assessment=found, inputs=result.inputs, seed=result.about.seed)
    pictures = (
        Picture.drawn("What human labels are worth", judges.worth_chart, alone),
        Picture.drawn("Mean scores by people and by judges", judges.agreement_chart, alone),
        Picture.drawn(f"Favoured {'teams' if found.teams else 'systems'}", judges.favour_chart, alone),
    )
    said = "; ".join(
        f"{each.judge}, {each.measure}: τ = {each.order.tau:.2f}, r = {judges.ranged(each.correlation.median)}"
        for each in found.measured
        if not each.weights
    )
    methods = (
        f"Labels of judges were compared with human labels on {len(found.topics):,} topics by Cohen's κ [@Cohen1968], "
        "Kendall's τ of the order of the systems, and the correlation r of paired differences (median over pairs), "
        f"which decides what they save in two-phase sampling [@Cochran1977]: {said}. Favour was tested by max-t over "
        f"all {'teams' if found.teams else 'systems'} at α = {found.alpha:g}."
    )
    return [Part(judges.document(alone), pictures)], methods


SECTIONS: dict[str, tuple[str, Maker]] = {
    "compare": ("Which systems differ", compare_section),
    "scores": ("Scores", scores_section),
    "power": ("Detectable differences", card_section),
    "size": ("How many topics", size_section),
    "reliability": ("Reliability", reliability_section),
    "judges": ("Judges", judges_section),
    "variance": ("Variances", variance_section),
    "shards": ("Shards", shard_section),
    "pilot": ("Results of smaller pilots", pilot_section),
    "budget": ("Topics and pool depth", budget_section),
    "read": ("Input", read_section),
}
"""Every section in the order of the report: its name, its title and its function."""


def make_report(result: ReportResult) -> Report:
    """Render every section of a report."""
    made, left_out = [], dict(result.left_out)
    for name, found in result.findings.items():
        heading, maker = SECTIONS[name]
        try:
            parts, methods = maker(result, found)
            made.append(Section(name, heading, tuple(parts), methods))
        except CranfieldError as error:  # there are findings, and nothing to draw
            left_out[name] = error.what
    return Report(
        title=result.inputs.get("title") or _title(result.about),
        inputs=result.inputs,
        sections=tuple(made),
        points=_points(result, made),
        left_out=tuple(LeftOut(SECTIONS[name][0], reason) for name, reason in left_out.items()),
        starts=_starts(result.about) if "size" in result.findings else (),
        topic_table=result.about.topic_table,
        seed=result.about.seed,
        input_warnings=result.warnings,
    )


def _points(result: ReportResult, sections: Sequence[Section]) -> tuple[Point, ...]:
    """What a reader asks first: which system is best, what may be claimed, whether there are enough topics."""
    found = result.findings
    documents = [part.document for section in sections for part in section.parts]
    cautions = warning_lines(
        tuple(
            dict.fromkeys(
                each
                for each in (*result.warnings, *(each for document in documents for each in document.warnings))
                if not isinstance(each, Problem)
            )
        )
    )
    points = {
        "Best system": [_best_line(title, each) for title, each in found.get("compare", {}).items()],
        "What the topics detect": [_detects_line(card) for card in found.get("power", {}).get("cards", ())],
        "Topics required": _required_lines(result.about, found["size"]["sizes"]) if "size" in found else [],
        "Reliability": _reliability_lines(found["reliability"]) if "reliability" in found else [],
        "Cautions": _caution_lines(cautions),
    }
    return tuple(Point(title, tuple(lines)) for title, lines in points.items() if lines)


def _best_line(title: str, found: Comparison) -> str:
    best = "lowest" if found.lower_is_better else "highest"
    lead = f"{title}: {found.systems[0]} has the {best} mean, {found.means[0]:.4f}, of {len(found.systems):,} systems."
    test = with_correction(TEST_LABELS[found.test], found.correct)
    return f"{lead} {found.summary()[:-1]} ({test}, α = {found.alpha:g})."


def _detects_line(card: Card) -> str:
    among = _among(card.systems if card.is_family else None)
    return (
        f"{card.measure}: {card.topics:,} topics detect a difference of {card.detectable_difference:.3f} between "
        f"{among} with power {card.power:g}; a difference of {card.difference:g} has power {card.achieved_power:.2f}."
    )


def _required_lines(about: ReportInput, sizes: Sequence[Any]) -> list[str]:
    """The topics for the difference of the goal, by measure, and whether there are as many."""
    lines, there = [], len(about.table.topics)
    for measure in about.measures:
        mine = [each for each in sizes if each.measure == measure and "difference" in each.size.inputs]
        if not mine:
            continue
        (row, low, high) = (each.to_dict()[0]["topics"] for each in (mine[0].size, mine[0].lower, mine[0].upper))
        enough = "" if row is None else f"; {there:,} are {'enough' if there >= row else 'not enough'}"
        needed = "more topics than can be computed" if row is None else f"{row:,} topics"
        ends = [f"{end:,}" if end is not None else "more" for end in (low, high)]
        lines.append(
            f"{measure}: {needed} (between {ends[0]} and {ends[1]}, as the variance is estimated) detect a difference "
            f"of {about.difference:g} with power {about.goal.power:g}{enough}."
        )
    return lines


def _reliability_lines(found: Any) -> list[str]:
    from cranfield.rendering.reliability_document import claims

    return [claims(found, each)[0] for each in found.studies]


def _caution_lines(cautions: Sequence[str]) -> list[str]:
    """The first of the cautions in a sentence each, and how many more there are."""
    if not cautions:
        return []
    rest = len(cautions) - 2
    more = [f"{rest:,} more caution{'s' * (rest > 1)} below."] if rest > 0 else []
    return [*(first_sentence(line)[0] for line in cautions[:2]), *more]


def _title(about: ReportInput) -> str:
    """Return the name of the input without its folders."""
    names = [name.replace("\\", "/").rstrip("/").rpartition("/")[2] or name for name in about.tables]
    return f"Report on {', '.join(names)}"


def _starts(about: ReportInput) -> tuple[Start, ...]:
    goal, found = about.goal, about.variances
    shared = {"systems": about.systems, **{name: value for name, value in vars(goal).items() if name != "systems"}}
    starts = []
    for measure in about.measures:
        estimates = [found.get(way, measure=measure) for way in ("two-way", "residual")]
        variances = {each.method: (each.variance, each.lower, each.upper) for each in estimates}
        own = {**shared, "difference": about.target.of(measure).value}
        starts.append(Start(measure=measure, variances=variances, **own))
    return tuple(starts)


def document(result: ReportResult) -> Document:
    """Return all documents of a report as one."""
    report = make_report(result)
    tables = [table for each in report.documents for table in each.tables]
    whole = report.to_dict()
    words = ("title", "date", "summary", "methods", "command", "versions", "left_out")
    extra = {word: whole[word] for word in words}
    answer, seed = report.summary(), result.about.seed
    return Document(
        method="report",
        inputs=result.inputs,
        tables=tables,
        rows=whole["rows"],
        answer=answer,
        citations=report.citations,
        warnings=report.warnings,
        seed=seed,
        extra=extra,
    )


VIEWS = {"ReportResult": View(document)}
