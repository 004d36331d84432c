"""Charts of the report: scores, variances, numbers of topics, power, shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.rendering.charts import COLOURS, TITLES, line_chart, matrix_chart, styled

Rows = Sequence[Mapping[str, Any]]
BLUE, PALE = COLOURS[0], "#9ebcda"  # a point, and the interval around it
FEW = 40  # more names of systems cannot be read on an axis


def spread_figure(rows: Rows, measure: str) -> Any:
    """Draw the distribution of each system's scores over topics: range, middle half, median."""
    return styled(_spread(rows, measure))


def _spread(rows: Rows, measure: str) -> Any:
    import altair

    few = len(rows) <= FEW
    axis = altair.Axis(labels=few, ticks=few, labelAngle=-60, labelLimit=160)
    x = altair.X("system:N", sort=[row["system"] for row in rows], title="system, best mean first", axis=axis)
    base = _chart(rows, max(520, min(1100, 8 * len(rows))), 260).encode(x=x, tooltip=_hover(rows, ("system",)))
    title = f"{measure} over topics: all, middle half, median"
    everything = base.mark_rule(color=PALE, strokeWidth=1, aria=False).encode(
        y=altair.Y("least:Q", title=title), y2="most:Q"
    )
    middle = base.mark_rule(color=PALE, strokeWidth=5, aria=False).encode(y="quarter:Q", y2="three_quarters:Q")
    return everything + middle + base.mark_point(color=BLUE, filled=True, size=28).encode(y="median:Q")


def spreads_figure(spreads: Mapping[str, Rows]) -> Any:
    """Draw the distributions of every measure, one below the other."""
    import altair

    return styled(altair.vconcat(*(_spread(rows, measure) for measure, rows in spreads.items())))


def variance_figure(rows: Rows) -> Any:
    """Draw every estimate of σ² with its interval, one panel per measure."""
    import altair

    words = ("measure", "collection", "method", "variance", "lower", "upper")
    named = [{**{word: row[word] for word in words}, "estimate": _estimate(row)} for row in rows]
    y = altair.Y("estimate:N", sort=[row["estimate"] for row in named], title=None, axis=altair.Axis(labelLimit=300))
    base = _chart(named, 520, max(80, 22 * len(named))).encode(y=y, tooltip=_hover(named, words[:3]))
    low = altair.X("lower:Q", title=f"{TITLES['variance']}, with its interval", scale=altair.Scale(zero=True))
    bars = base.mark_rule(color=PALE, strokeWidth=5).encode(x=low, x2="upper:Q")
    return styled(bars + base.mark_point(color=BLUE, filled=True, size=40).encode(x="variance:Q"))


def _estimate(row: Mapping[str, Any]) -> str:
    return ", ".join(filter(None, (row["measure"], row["collection"], row["method"])))


def size_figure(rows: Rows, *, x: str) -> Any:
    """Draw n on a logarithmic axis against one input of the design, one curve per ``curve``."""
    known = [row for row in rows if row["topics"] is not None]
    return line_chart(known, x=x, y="topics", colour="curve", titles={**TITLES, "curve": "scores"}, log=True)


def power_figure(rows: Rows) -> Any:
    """Draw the power against the number of topics, one curve per difference."""
    return line_chart(rows, x="topics", y="power", colour="difference", titles=TITLES)


def shards_figure(rows: Rows) -> Any:
    """Draw the number of significant pairs of each model, one line per number of shards."""
    import altair

    labelled = [
        {
            "model": row["model"],
            "significant_pairs": row["significant_pairs"],
            "of": row["pairs"],
            "shards": "whole corpus" if row["shards"] == 1 else f"{row['shards']} shards",
        }
        for row in rows
    ]
    order = list(dict.fromkeys(row["shards"] for row in labelled))
    models = list(dict.fromkeys(row["model"] for row in labelled))
    scale = altair.Scale(domain=order, range=(COLOURS * len(order))[: len(order)])
    hover = _hover(labelled, ("model", "shards"))
    encode = {
        "x": altair.X("model:N", sort=models, title="model", axis=altair.Axis(labelAngle=0)),
        "y": altair.Y("significant_pairs:Q", title="pairs that differ significantly"),
        "color": altair.Color("shards:N", title=None, scale=scale, sort=None),
        "shape": altair.Shape("shards:N", title=None, scale=altair.Scale(domain=order)),
        "tooltip": hover,
    }
    base = _chart(labelled, 420, 260).encode(**encode)
    return styled(base.mark_line(strokeWidth=1) + base.mark_point(filled=True, size=60))


def matrix_figure(rows: Rows, pairs: Rows) -> dict[str, Any]:
    """Return the specification of a chart with every pair as a cell.

    Altair would validate each of thousands of cells several times, which takes seconds; the chart is created with the
    pair with the widest interval only, and its data are then replaced by those of all pairs.
    """
    spec: dict[str, Any] = matrix_chart(rows, [max(pairs, key=lambda pair: abs(pair["difference"]))]).to_dict()
    words = ("system_a", "system_b", "difference", "p_adjusted", "significant")
    cells = [{word: pair[word] for word in words} for pair in pairs]
    turned = [
        {**cell, "system_a": cell["system_b"], "system_b": cell["system_a"], "difference": -cell["difference"]}
        for cell in cells
    ]
    return {**spec, "data": {"values": cells + turned}}


def _chart(rows: Rows, width: int, height: int) -> Any:
    import altair

    data = altair.Data(values=[dict(row) for row in rows])  # type: ignore[no-untyped-call]
    return altair.Chart(data, width=width, height=height)


def _hover(rows: Rows, names: Sequence[str]) -> list[Any]:
    import altair

    return [altair.Tooltip(f"{word}:{'N' if word in names else 'Q'}") for word in rows[0]]
