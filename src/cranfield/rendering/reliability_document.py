"""Reliability of a collection as a document and as charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.errors import say_percent
from cranfield.methods.names import TEST_LABELS, with_correction
from cranfield.methods.reliability import ABSOLUTE, PARTS, RELATIVE, MeasureReliability, Reliability
from cranfield.questions.reliability import ReliabilityResult
from cranfield.rendering.charts import COLOURS, styled
from cranfield.rendering.document import Column, Document, Table, View, show
from cranfield.rendering.shard_document import REPLICATION_COLUMNS

DASHES = ([1, 0], [6, 3], [2, 2])
_WIDTH, _HEIGHT = 400, 260


def reliability_chart(found: Reliability, chart: str = "all") -> Any:
    """Draw one chart with one panel per measure, or all charts."""
    import altair

    if chart == "p-values":
        return styled(_p_values(found))
    makers = {"coefficients": _coefficients, "swaps": _swaps, "sizes": _sizes, "rankings": _rankings}
    chosen = makers if chart == "all" else {chart: makers[chart]}
    panels = [make(found, each) for each in found.studies for make in chosen.values()]
    if chart == "all":
        panels.append(_p_values(found))
    page = altair.concat(*panels, columns=2, spacing=30)
    if chart == "all":
        lines = [sentence for each in found.studies for sentence in claims(found, each)]
        title = altair.TitleParams("Reliability", subtitle=lines, fontSize=16, subtitleFontSize=12, offset=20)
        page = page.properties(title=title)
    return styled(page.resolve_scale(color="independent", strokeDash="independent"))


def _title(found: Reliability, each: MeasureReliability, text: str) -> str:
    several = len({one.collection for one in found.studies}) > 1
    return f"{each.measure}{f', {each.collection}' if several else ''}: {text}"


def _panel(rows: Sequence[dict[str, Any]], title: str) -> Any:
    import altair

    data = altair.Data(values=list(rows))  # type: ignore[no-untyped-call]
    return altair.Chart(data, title=title, width=_WIDTH, height=_HEIGHT)


def _y(name: str, title: str, top: float = 1.0) -> Any:
    import altair

    return altair.Y(f"{name}:Q", title=title, scale=altair.Scale(domain=[0, top], clamp=True))


def _colour(name: str, order: Sequence[Any], title: str) -> Any:
    import altair

    names = [str(each) for each in order]
    scale = altair.Scale(domain=names, range=(COLOURS * len(names))[: len(names)])
    return altair.Color(f"{name}:N", title=title, scale=scale, sort=None)


def _dash(name: str, order: Sequence[str]) -> Any:
    import altair

    scale = altair.Scale(domain=list(order), range=[list(each) for each in DASHES[: len(order)]])
    return altair.StrokeDash(f"{name}:N", title="", scale=scale, sort=None)


def _hover(*names: str) -> list[Any]:
    import altair

    texts = ("what", "measure", "how")
    words = [altair.Tooltip(f"{name}:N") for name in names if name in texts]
    return words + [altair.Tooltip(f"{name}:Q", format=".4~g") for name in names if name not in texts]


def _grid(topics: int) -> list[int]:
    """Return numbers of topics, up to four times those of the collection."""
    return sorted({int(each) for each in np.geomspace(2, 4 * topics, 60)})


def _here(topics: int) -> Any:
    """Draw a line at the number of topics of the collection."""
    import altair

    return (
        _panel([{"topics": topics}], "")
        .mark_rule(color="#999999", strokeDash=[2, 3])
        .encode(x=altair.X("topics:Q"), tooltip=_hover("topics"))
    )


def _coefficients(found: Reliability, each: MeasureReliability) -> Any:
    """Draw Eρ² and Φ against n with their intervals."""
    import altair

    rows = []
    for kind, word in ((RELATIVE, "Eρ², for differences"), (ABSOLUTE, "Φ, for scores")):
        for n in _grid(each.generalisability.topics):
            value = each.generalisability.coefficient(kind, n)
            rows.append({"what": word, "topics": n, "value": value.value, "lower": value.lower, "upper": value.upper})
    colour = _colour("what", ["Eρ², for differences", "Φ, for scores"], "")
    base = _panel(rows, _title(found, each, "reliability")).encode(
        x=altair.X("topics:Q", title="topics"),
        color=colour,
        tooltip=_hover("what", "topics", "value", "lower", "upper"),
    )
    band = base.mark_area(opacity=0.15).encode(y=_y("lower", "coefficient"), y2="upper:Q")
    line = base.mark_line(strokeWidth=2).encode(y=_y("value", "coefficient"))
    target = _panel([{"value": found.targets[0]}], "").mark_rule(color="#999999", strokeDash=[2, 3]).encode(y="value:Q")
    return band + line + target + _here(each.generalisability.topics)


HOW = ("resampled", "closed form, shared topics", "closed form, own topics")


def _swaps(found: Reliability, each: MeasureReliability) -> Any:
    """Draw the swap rate against the difference, one colour per size of the topic set."""
    import altair

    words = ("swap_rate", "closed_form_paired", "closed_form")
    few = sorted(
        {each.swaps.sizes[at] for at in (0, len(each.swaps.sizes) // 2, -1)}
    )  # three sizes are easy to distinguish
    rows = [
        {"topics": str(row["topics"]), "difference": row["difference"], "how": how, "rate": row[word]}
        for row in each.swaps.to_dict()
        if row["topics"] in few and row["high"] is not None  # the last bin has no width
        for how, word in zip(HOW, words, strict=True)
    ]
    seen = "on all topics" if each.swaps.replacement else "on one set"
    base = _panel(rows, _title(found, each, "swaps by difference")).encode(
        x=altair.X("difference:Q", title=f"difference of two systems {seen}", axis=altair.Axis(tickCount=5)),
        y=_y("rate", "share of pairs of sets that disagree", 0.5),
        color=_colour("topics", few, "topics in a set"),
        strokeDash=_dash("how", HOW),
        opacity=altair.condition(f"datum.how == '{HOW[2]}'", altair.value(0.45), altair.value(1.0)),
        tooltip=_hover("how", "topics", "difference", "rate"),
    )
    lines = base.mark_line(strokeWidth=1.8)
    points = base.mark_point(filled=True, size=28).transform_filter(f"datum.how == '{HOW[0]}'")
    return lines + points + _level(found.alpha, "rate")


def _level(value: float, name: str) -> Any:
    return _panel([{name: value}], "").mark_rule(color="#999999", strokeDash=[2, 3]).encode(y=f"{name}:Q")


def _sizes(found: Reliability, each: MeasureReliability) -> Any:
    """Draw the swap rate over all pairs against the size of the topic set."""
    import altair

    swaps = each.swaps
    rows = [
        {"topics": n, "how": how, "rate": swaps.closed_form_overall(n, paired=paired)}
        for n in _grid(swaps.topics)
        for how, paired in ((HOW[1], True), (HOW[2], False))
    ]
    measured = [
        {"topics": n, "how": HOW[0], "rate": rate} for n, rate in zip(swaps.sizes, swaps.overall.tolist(), strict=True)
    ]
    x = altair.X("topics:Q", title="topics in a set")
    colour, hover = _colour("how", HOW, ""), _hover("how", "topics", "rate")
    y = _y("rate", "share of pairs of sets that disagree", 0.5)
    lines = _panel(rows, _title(found, each, "swaps by topics")).mark_line(strokeWidth=2)
    points = _panel(measured, "").mark_point(filled=True, size=45, opacity=1)
    return (
        lines.encode(x=x, y=y, color=colour, tooltip=hover)
        + points.encode(x=x, y=y, color=colour, tooltip=hover)
        + _here(swaps.topics)
    )


def _rankings(found: Reliability, each: MeasureReliability) -> Any:
    """Draw τ and τ_AP between sets of topics, and the expected τ with more topics."""
    import altair

    words = {"tau": "τ between two sets", "tau_ap": "τ_AP between two sets"}
    expected = {"expected_tau": "τ expected", "expected_true_tau": "τ with the true order"}
    measured = [
        {
            "what": text,
            "topics": row["topics"],
            "value": row[word],
            "lower": row[f"{word}_lower"],
            "upper": row[f"{word}_upper"],
        }
        for row in each.rankings.to_dict()
        for word, text in words.items()
    ]
    ahead = [
        {"what": text, "topics": n, "value": getattr(each.rankings, word)(n)}
        for n in _grid(each.rankings.topics)
        for word, text in expected.items()
    ]
    colour = _colour("what", [*words.values(), *expected.values()], "")
    x = altair.X("topics:Q", title="topics in a set")
    y, hover = _y("value", "rank correlation"), _hover("what", "topics", "value")
    lines = _panel(ahead, _title(found, each, "order of systems")).mark_line(strokeWidth=2)
    points = _panel(measured, "").mark_point(filled=True, size=45, opacity=1)
    bars = _panel(measured, "").mark_rule(strokeWidth=1.5)
    return (
        lines.encode(x=x, y=y, color=colour, tooltip=hover)
        + bars.encode(x=x, y=_y("lower", "rank correlation"), y2="upper:Q", color=colour)
        + points.encode(x=x, y=y, color=colour, tooltip=hover)
        + _here(each.rankings.topics)
    )


def _p_values(found: Reliability) -> Any:
    """Draw the pairs sorted by p-value: the lower the curve, the more pairs are significant."""
    import altair

    several = len({each.collection for each in found.studies}) > 1
    rows, names = [], []
    for each in found.studies:
        name = f"{each.measure}, {each.collection}" if several else each.measure
        names.append(name)
        rows += [{**row, "measure": name} for row in each.discrimination.curve()]
    base = _panel(rows, "p-values of all pairs, sorted").encode(
        x=altair.X("share:Q", title="share of the pairs", scale=altair.Scale(domain=[0, 1])),
        y=_y("p_value", "p (adjusted for all pairs)"),
        color=_colour("measure", names, "measure"),
        tooltip=_hover("measure", "share", "p_value"),
    )
    return base.mark_line(strokeWidth=2) + _level(found.alpha, "p_value")


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


def _chart(kind: str) -> Callable[[ReliabilityResult], Any]:
    def draw(result: ReliabilityResult) -> Any:

        return reliability_chart(result.assessment, kind)

    return draw


CHARTS = {kind: _chart(kind) for kind in ("all", "coefficients", "swaps", "sizes", "rankings", "p-values")}
PICTURES = {
    "coefficients": "Generalisability against the number of topics",
    "swaps": "Swap rate against the difference of two systems",
    "rankings": "Agreement of rankings against topics",
    "p-values": "Pairs by their p-value",
}


def pictures(result: ReliabilityResult) -> list[tuple[str, Any]]:
    return [(title, CHARTS[kind](result)) for kind, title in PICTURES.items()]


VIEWS = {"ReliabilityResult": View(document, CHARTS, pictures=pictures)}
