"""Variance estimates, and the pair tables of Dinçer (2013), as documents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cranfield.errors import RequestError
from cranfield.methods.design.pair_sizes import PairSizes
from cranfield.methods.variance import QUESTIONS, Variances
from cranfield.methods.variance.estimates import CITATIONS
from cranfield.questions.variance import VarianceResult
from cranfield.rendering import charts
from cranfield.rendering.document import Column, Document, Table, View, of_measure
from cranfield.rendering.drawing import Axis, Chart

SAVING = 1.05  # ratio of variances from which sharing topics is said to save some


def variance_document(found: Variances, inputs: Mapping[str, Any]) -> Document:
    """Every estimate with its interval, two-way with its parts, and the question each answers."""
    several = len({estimate.collection for estimate in found.estimates}) > 1
    percent = f"{100 * found.confidence:g} %"
    columns = [
        Column("measure", "measure"),
        *([Column("collection", "collection")] if several else []),
        Column("method", "estimate"),
        Column("variance", "variance σ²", "number", 100),
        Column("lower", f"{percent} low", "number"),
        Column("upper", f"{percent} high", "number"),
        Column("df", "df", "number"),
        Column("sd", "sd of a difference", "number", 60),
        Column("topics", "topics", "count"),
        Column("systems", "systems", "count"),
    ]
    rows = found.to_dict()
    table = Table(
        tuple(columns),
        [tuple(row[column.word] for column in columns) for row in rows],
        caption=f"Estimates of the variance of scores, with {percent} confidence intervals",
    )
    asks = Table(
        (Column("method", "estimate"), Column("question", "the question it answers")),
        [(method, text) for method, text in QUESTIONS.items() if any(row["method"] == method for row in rows)],
        caption="The question that each estimate of the variance answers",
    )
    citations = tuple(dict.fromkeys(CITATIONS[row["method"]] for row in rows))
    tables = [table, *_parts_table(rows), *_sd_table(rows, found.percentile), asks]
    return Document(
        method="variance",
        inputs=inputs,
        tables=tables,
        rows=rows,
        answer=_shared_topics_sentence(found),
        citations=citations,
    )


def _parts_table(rows: Sequence[Mapping[str, Any]]) -> list[Table]:
    mine = [row for row in rows if "topic_part" in row]
    if not mine:
        return []
    words = (*_names(mine), "system_part", "topic_part", "residual_part")
    columns = tuple(Column(word, word.replace("_", " "), "number" if "part" in word else "text") for word in words)
    return [
        Table(
            columns,
            [tuple(row[word] for word in words) for row in mine],
            "Two-way estimate: components of the variance",
        )
    ]


def _sd_table(rows: Sequence[Mapping[str, Any]], percentile: float) -> list[Table]:
    mine = [row for row in rows if "mean_sd" in row]
    if not mine:
        return []
    columns = (
        *(Column(word, word) for word in _names(mine)),
        Column("mean_sd", "mean", "number"),
        Column("percentile_sd", f"{percentile:g}th percentile", "number"),
    )
    shown = [tuple(row[column.word] for column in columns) for row in mine]
    return [Table(columns, shown, "Standard deviations of the differences of all pairs")]


def _names(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the identifying columns: the measure, and the collection if it has a name."""
    return ("measure", "collection") if any(row["collection"] for row in rows) else ("measure",)


def _shared_topics_sentence(found: Variances) -> str:
    """What sharing topics saves, by measure; over all collections where there are several."""
    variances = {(each.measure, each.method): each.variance for each in found.estimates}  # of the pooled ones the last
    measures = [measure for measure, method in variances if method == "residual" and variances[measure, method] > 0]
    ratios = {measure: variances[measure, "within"] / variances[measure, "residual"] for measure in measures}
    return "\n".join(f"{f'{name}: ' if len(ratios) > 1 else ''}{_about_ratio(each)}" for name, each in ratios.items())


def _about_ratio(ratio: float) -> str:
    saved = "requires fewer topics by this factor" if ratio >= SAVING else "does not require fewer topics"
    return (
        f"Within-system variance is {ratio:.1f} times the residual: a comparison on shared topics {saved} than one in "
        "which every system has its own topics."
    )


def pairs_document(found: Mapping[str, PairSizes], inputs: Mapping[str, Any]) -> Document:
    """Return the tables of Dinçer (2013), Tables 4 and 5, by measure."""
    tables = [table for measure, each in found.items() for table in _pair_tables(measure, each)]
    rows = [{"measure": measure, **row} for measure, each in found.items() for row in each.to_dict()]
    sentence = "\n".join(_pair_sentence(measure if len(found) > 1 else "", each) for measure, each in found.items())
    return Document(method="pairs", inputs=inputs, tables=tables, rows=rows, answer=sentence, citations=("Dincer2013",))


def _pair_tables(measure: str, found: PairSizes) -> list[Table]:
    head = (Column("system", "system"), Column("mean", "mean", "score"))
    columns = (*head, *(Column(str(at + 1), str(at + 1)) for at in range(len(found.systems))))
    matrix = [
        (f"{a + 1} {name}", float(found.means[a]), *(_cell(found, a, b) for b in range(len(found.systems))))
        for a, name in enumerate(found.systems)
    ]
    bins = Table(
        (
            Column("low", "difference from", "number"),
            Column("high", "below", "number"),
            Column("pairs", "pairs", "count"),
            Column("difference", "mean difference", "score"),
            Column("topics_paired", "topics (paired)", "number"),
            Column("topics_independent", "topics (independent)", "number"),
            Column("topics_mse", "topics (MSE)", "number"),
        ),
        [tuple(vars(each).values()) for each in found.bins()],
        "By size of the difference",
    )
    star = f"* significant ({_pair_test(found)})"
    title = f"{measure}: differences below the diagonal, topics they need above it; {star}"
    return of_measure(measure, [Table(columns, matrix, title), bins])


def _pair_sentence(measure: str, found: PairSizes) -> str:
    rows = found.to_dict()
    sure = sum(row["significant"] for row in rows)
    name = f"{measure}: " if measure else ""
    return f"{name}{sure} of {len(rows)} pairs differ significantly on {found.n} topics ({_pair_test(found)})."


def _pair_test(found: PairSizes) -> str:
    return f"one-tailed paired t test at α = {found.alpha:g}, without correction for the number of pairs"


def _cell(found: PairSizes, a: int, b: int) -> str:
    if a == b:
        return ""
    star = "*" if found.significant[a, b] else ""
    if a > b:
        return f"{abs(found.difference[a, b]):.4f}{star}"
    topics = found.topics[a, b]
    return f"{math.ceil(topics)}{star}" if topics < 1e9 else "∞"


def document(result: VarianceResult) -> Document:
    if result.variances is None:
        return pairs_document(result.pairs, result.inputs)
    return variance_document(result.variances, result.inputs)


def intervals(result: VarianceResult) -> Any:
    """Every estimate with its interval."""
    if result.variances is None:
        raise RequestError(
            "a chart shows estimates, not pairs",
            fix='Leave out `pairs`, or draw those of `compare()` with `chart="matrix"`.',
        )
    rows = result.variances.to_dict()
    counts = {(row["topics"], row["systems"]) for row in rows}
    about = ["{:,} topics, {:,} systems".format(*counts.pop())] if len(counts) == 1 else []
    percent = f"{100 * result.variances.confidence:g} % confidence intervals"
    return replace(variance_chart(rows), subtitle=", ".join([*about, percent]))


def variance_chart(rows: Sequence[Mapping[str, Any]]) -> Chart:
    """Every estimate of σ² with its interval."""
    several = len({row["measure"] for row in rows}) > 1
    named = [{**row, "estimate": _estimate(row, several=several)} for row in rows]
    axis = Axis(title="estimate of the variance σ²", low=0)
    order = charts.Listing([row["estimate"] for row in named], 0)
    panel = charts.intervals(named, y="estimate", x="variance", low="lower", high="upper", axis=axis, order=order)
    return Chart(panels=[panel])


def _estimate(row: Mapping[str, Any], *, several: bool) -> str:
    return ", ".join(filter(None, (row["measure"] if several else "", row["collection"], row["method"])))


def pictures(result: VarianceResult) -> list[tuple[str, Any]]:
    return [] if result.variances is None else [("Every estimate with its interval", intervals(result))]


VIEWS = {"VarianceResult": View(document, {"intervals": intervals}, pictures=pictures)}
