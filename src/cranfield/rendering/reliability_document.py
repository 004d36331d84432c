"""Reliability of a collection as a document and as charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cranfield.errors import say_percent
from cranfield.methods.names import TEST_LABELS, with_correction
from cranfield.methods.reliability import PARTS, MeasureReliability, Reliability
from cranfield.questions.reliability import ReliabilityResult
from cranfield.rendering.document import Column, Document, Table, View, show
from cranfield.rendering.drawing import Chart
from cranfield.rendering.reliability_charts import KINDS, reliability_chart
from cranfield.rendering.shard_document import REPLICATION_COLUMNS

Row = Mapping[str, Any]

COEFFICIENTS = {"e_rho2": "Eρ²", "phi": "Φ"}
SHOWN_BINS = (1, 3, 5, 7, 10)  # of a width of .01: differences around .015, .035, …


def document(result: ReliabilityResult) -> Document:
    return reliability_document(result.assessment, result.inputs)


def reliability_document(found: Reliability, inputs: Mapping[str, Any]) -> Document:
    """Return generalisability, swaps, halves, discrimination and rankings of every measure, and the conclusions."""
    parts = {part: [_plain(row) for row in found.to_dict(part)] for part in PARTS if part != "headline"}
    tables = [
        _headline(found),
        _components(found),
        _coefficient_table(found),
        _topics(found),
        _swap_totals(found),
        _swap_rates(found),
        _halves(found),
        _discrimination(found),
        _ranking_table(found),
    ]
    extra = {**parts, "test": found.test, "trials": found.trials, "notes": list(found.warnings)}
    rows = found.to_dict()
    return Document(
        method="reliability",
        inputs=inputs,
        tables=tables,
        rows=rows,
        answer="\n".join(claims(found, each)[0] for each in found.studies),
        notes=_notes(found),
        citations=found.citations,
        warnings=found.cautions,
        seed=found.seed,
        extra=extra,
    )


def _plain(row: Row) -> dict[str, Any]:
    """Return a row for JSON, without infinite and missing numbers."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }


def _table(rows: Sequence[Row], columns: Sequence[tuple[str, str, str]], title: str) -> Table:
    """Return rows with columns (name, title, kind); the collection comes first if there are several."""
    named = [("collection", "collection", "text")] if rows and "collection" in rows[0] else []
    made = tuple(Column(*each) for each in (*named, *columns))
    return Table(made, [tuple(row[column.word] for column in made) for row in rows], title)


MEASURE = ("measure", "measure", "text")
TOPICS = ("topics", "topics", "count")


def _headline(found: Reliability) -> Table:
    columns = [
        MEASURE,
        TOPICS,
        ("systems", "systems", "count"),
        ("e_rho2", "Eρ²", "score"),
        ("phi", "Φ", "score"),
        ("discriminative_power", "share of significant pairs", "score"),
        ("replicated", "replicated on the other half", "score"),
        ("dependable_difference", "dependable difference", "score"),
        ("tau", "τ with the true order", "score"),
    ]
    return _table(found.to_dict(), columns, f"Reliability (significant: {_test(found)})")


def _test(found: Reliability) -> str:
    return f"{_named(found)}, α = {found.alpha:g}"


def _named(found: Reliability) -> str:
    return with_correction(TEST_LABELS[found.test], found.correct)


def _components(found: Reliability) -> Table:
    columns = [
        MEASURE,
        ("source", "source", "text"),
        ("variance", "variance", "number"),
        ("share", "share", "score"),
        ("lower", "low", "number"),
        ("upper", "high", "number"),
        ("mean_square", "mean square", "number"),
        ("df", "df", "count"),
    ]
    return _table(found.to_dict("components"), columns, f"Variance components ({_percent(found)} jackknife intervals)")


def _coefficient_table(found: Reliability) -> Table:
    rows = [{**row, "coefficient": COEFFICIENTS[row["coefficient"]]} for row in found.to_dict("coefficients")]
    columns = [
        MEASURE,
        ("coefficient", "coefficient", "text"),
        TOPICS,
        ("value", "value", "score"),
        ("lower", "low", "score"),
        ("upper", "high", "score"),
    ]
    return _table(rows, columns, f"Eρ² (differences) and Φ (scores), with {_percent(found)} intervals")


def _topics(found: Reliability) -> Table:
    rows = [{**row, "coefficient": COEFFICIENTS[row["coefficient"]]} for row in found.to_dict("topics_needed")]
    columns = [
        MEASURE,
        ("coefficient", "coefficient", "text"),
        ("target", "target", "number"),
        ("topics", "topics", "count"),
        ("lower", "low", "count"),
        ("upper", "high", "count"),
    ]
    return _table(rows, columns, "Topics for a target")


def _swap_totals(found: Reliability) -> Table:
    at_most = f"at most {100 * found.alpha:g} % swaps"
    columns = [
        MEASURE,
        TOPICS,
        ("swap_rate", "swaps, resampled", "score"),
        ("closed_form_paired", "closed form, shared topics", "score"),
        ("closed_form", "closed form, own topics", "score"),
        ("difference", f"{at_most} from: resampled", "number"),
        ("difference_closed_form_paired", "closed form, shared", "score"),
        ("difference_closed_form", "closed form, own", "score"),
        ("difference_dependable", "dependable difference", "score"),
        ("difference_observed", "closest distinguishable pairs", "score"),
    ]
    return _table(found.to_dict("swap_totals"), columns, "Two sets of topics that disagree on a pair of systems")


def _swap_rates(found: Reliability) -> Table:
    """Select a few of the bins of differences; JSON has all of them."""
    rows = [row for row in found.to_dict("swaps") if row["high"] is not None and _bin(row) in SHOWN_BINS]
    columns = [
        MEASURE,
        TOPICS,
        ("low", "difference from", "number"),
        ("high", "below", "number"),
        ("swap_rate", "resampled", "score"),
        ("closed_form_paired", "closed form, shared topics", "score"),
        ("closed_form", "closed form, own topics", "score"),
    ]
    title = "Swaps by the size of the difference"
    return replace(_table(rows, columns, f"{title} (all bins in the JSON output)"), caption=title)


def _bin(row: Row) -> int:
    place: float = row["low"] / (row["high"] - row["low"])
    return round(place)


def _halves(found: Reliability) -> Table:
    columns = [
        MEASURE,
        ("topics", "topics per half", "count"),
        ("significant_share", "share of significant pairs", "score"),
        *((column.word, column.title, column.kind) for column in REPLICATION_COLUMNS),
        ("agreeing", "pairs in the same order", "score"),
    ]
    title = (
        "Replication: of the pairs significant on one half of the topics, the shares on the other half "
        f"({_named(found)}, {found.trials:,} halvings, both ways; low and high: their middle 95 %)"
    )
    return _table(found.to_dict("halves"), columns, title)


def _discrimination(found: Reliability) -> Table:
    columns = [
        MEASURE,
        ("significant_pairs", "significant pairs", "count"),
        ("pairs", "of", "count"),
        ("discriminative_power", "discriminative power", "score"),
        ("difference", "difference needed", "score"),
    ]
    title = f"Discriminative power ({_test(found)})"
    return _table(found.to_dict("discrimination"), columns, title)


def _ranking_table(found: Reliability) -> Table:
    columns = [
        MEASURE,
        TOPICS,
        ("tau", "τ", "score"),
        ("tau_lower", "low", "score"),
        ("tau_upper", "high", "score"),
        ("tau_ap", "τ_AP", "score"),
        ("tau_ap_lower", "low", "score"),
        ("tau_ap_upper", "high", "score"),
        ("expected_tau", "τ expected", "score"),
        ("expected_true_tau", "τ with the true order", "score"),
    ]
    return _table(found.to_dict("rankings"), columns, "The order of systems on two sets of topics")


def _percent(found: Reliability) -> str:
    return f"{100 * found.confidence:g} %"


def _notes(found: Reliability) -> str:
    """What else is claimed of every measure, each line with its name where there are several."""
    several = len(found.studies) > 1
    names = [claims(found, each)[0].partition(":")[0] for each in found.studies]
    lines = [
        f"{f'{name}: ' if several else ''}{' '.join(claims(found, each)[1:])}"
        for name, each in zip(names, found.studies, strict=True)
    ]
    return "\n".join([*lines, *(f"Note: {warning}." for warning in found.warnings)])


def claims(found: Reliability, each: MeasureReliability) -> list[str]:
    """Return the conclusions about one measure, one sentence each."""
    study, halves = each.generalisability, each.halves
    relative, needed = study.relative(), study.topics_for(found.targets[0])
    name = f"{each.measure} ({each.collection})" if len({one.collection for one in found.studies}) > 1 else each.measure
    dependable = each.swaps.dependable_difference(study.topics, alpha=found.alpha)
    topics, low, high = (show(each, "count") for each in (needed.topics, needed.lower, needed.upper))
    replicated = "No pair is significant on half of the topics."
    if halves.replication.significant.sum():
        share = halves.replication.share
        replicated = (
            f"Of the pairs significant on one half of the topics ({_named(found)}), "
            f"{say_percent(share('replicated'), 1)} are significant on the other half too; "
            f"{_percentage(share('opposite_sign'))} have the opposite sign there."
        )
    return [
        f"{name}: the order of these systems on {study.topics} topics has the reliability Eρ² = {relative.value:.3f} "
        f"[{relative.lower:.3f}, {relative.upper:.3f}]; Eρ² = {found.targets[0]:g} requires {topics} topics "
        f"[{low}, {high}].",
        f"{show(each.required_topics, 'count')} topics {each.target.goal_words()}.",
        f"A system that is no better than another leads it by {dependable:.4f} or more on {100 * found.alpha:g} % of "
        "such topic sets, averaged over pairs.",
        replicated,
        f"On all {study.topics} topics {say_percent(each.discrimination.share, 1)} of the pairs differ significantly "
        f"({_test(found)}).",
    ]


def _percentage(share: float) -> str:
    return "none" if share == 0 else say_percent(share, 2) if share >= 0.0001 else "less than 0.01 %"


def _chart(kind: str) -> Callable[[ReliabilityResult], Chart]:
    return lambda result: reliability_chart(result.assessment, kind)


CHARTS = {kind: _chart(kind) for kind in KINDS}
PICTURES = {
    "coefficients": "Generalisability against the number of topics",
    "swaps": "Swap rate against the difference of two systems",
    "rankings": "Agreement of rankings against topics",
    "p-values": "Pairs by their p-value",
}


def pictures(result: ReliabilityResult) -> list[tuple[str, Any]]:
    return [(title, CHARTS[kind](result)) for kind, title in PICTURES.items()]


VIEWS = {"ReliabilityResult": View(document, CHARTS, pictures=pictures)}
