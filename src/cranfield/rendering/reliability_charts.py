"""Charts of a reliability study: coefficients, swaps, rankings and p-values against topics or differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cranfield.methods.reliability import ABSOLUTE, RELATIVE, MeasureReliability, Reliability
from cranfield.rendering.charts import COLOURS, styled
from cranfield.rendering.reliability_document import claims

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
