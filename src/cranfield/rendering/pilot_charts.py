"""Charts of pilot studies and budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.errors import RequestError
from cranfield.rendering.charts import COLOURS, styled
from cranfield.rendering.document import known

DETECTABLE = {"min_range": "detectable range", "difference": "detectable difference", "width": "interval width"}


def pilot_chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Draw the variance against k, one panel per measure: Sakai and Shang (2016), Fig. 1; below it fewer topics."""
    import altair

    sizes = sorted({row["pilot_topics"] for row in rows})
    shown = [sizes[-1], sizes[0]] if len(sizes) > 1 else sizes
    measures = list(dict.fromkeys(row["measure"] for row in rows))
    whole = [row for row in rows if row["left_out"] == 0 and row["pilot_topics"] == sizes[-1]]
    full = {row["measure"]: row["variance"] for row in whole}
    values = [
        {**known(row), "full": full[row["measure"]], "size": f"{row['pilot_topics']} topics"}
        for row in rows
        if row["pilot_topics"] in shown and row["variance"] == row["variance"]
    ]
    data = altair.Data(values=values)  # type: ignore[no-untyped-call]
    words = ("left_out", "variance", "lower", "upper", "topics", "lost")
    hover = [altair.Tooltip(f"{word}:Q", title=word.replace("_", " ")) for word in words]
    x = altair.X("left_out:Q", title="teams left out (k)", axis=altair.Axis(tickMinStep=1))
    base = altair.Chart().encode(x=x, tooltip=hover)
    y = altair.Y("lower:Q", title="variance of scores", scale=altair.Scale(zero=True))
    bars = base.mark_rule(color="#9ebcda", strokeWidth=2).encode(y=y, y2="upper:Q")
    points = base.mark_point(filled=True, size=26, color=COLOURS[0], opacity=1).encode(y="variance:Q")
    line = altair.Chart().mark_rule(color=COLOURS[1], strokeDash=[4, 3]).encode(y="mean(full):Q")
    panel = altair.layer(line, bars, points).properties(width=210, height=170)
    grid = panel.facet(
        data=data,
        column=altair.Column("measure:N", sort=measures, title=None),
        row=altair.Row("size:N", sort=[f"{size} topics" for size in shown], title=None),
    )
    return styled(grid.resolve_scale(y="independent"))


def budget_chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Draw topics against documents judged per topic, one curve per measure: Sakai (2014), Fig. 4."""
    import altair

    hover = ("depth", "judged", "topics", "judgments", "cost", "variance")
    x = altair.X("judged:Q", title="documents judged per topic", scale=altair.Scale(zero=False))
    y = altair.Y("topics:Q", title="required topics (n)", scale=altair.Scale(zero=True))
    values = [known(row) for row in rows if row["topics"] is not None]
    highest = {
        row["depth"]: row for row in sorted(values, key=lambda row: row["topics"])
    }  # one label per depth is enough
    for row in values:
        row["label"] = row["depth"] if row is highest[row["depth"]] else ""
    return _curves(values, x, y, hover, "cheapest", "numbers: pool depth; ring: cheapest")


def affordable_chart(rows: Sequence[Mapping[str, Any]], goal: str) -> Any:
    """Draw the detectable difference of a budget against the depth, one curve per measure."""
    import altair

    hover = ("depth", "judged", "topics", "judgments", "cost", "detectable")
    x = altair.X("depth:Q", title="pool depth", scale=altair.Scale(zero=False))
    y = altair.Y("detectable:Q", title=DETECTABLE[goal], scale=altair.Scale(zero=True))
    values = [{**known(row), "label": ""} for row in rows if row["detectable"] == row["detectable"]]
    return _curves(values, x, y, hover, "best", "ring: best")


def _curves(values: Sequence[Mapping[str, Any]], x: Any, y: Any, hover: Sequence[str], mark: str, title: str) -> Any:
    import altair

    if not values:
        raise RequestError("there is nothing to draw", fix="Ask for a larger difference, or give a larger budget.")
    data = altair.Data(values=list(values))  # type: ignore[no-untyped-call]
    order = list(dict.fromkeys(row["measure"] for row in values))
    scale = altair.Scale(domain=order, range=(COLOURS * len(order))[: len(order)])
    colour = altair.Color("measure:N", title="measure", scale=scale, sort=None)
    tips = [altair.Tooltip("measure:N"), *(altair.Tooltip(f"{word}:Q") for word in hover)]
    base = altair.Chart(data, width=520, height=320, title=title).encode(x=x, y=y, tooltip=tips)
    line = base.mark_line(point={"size": 22}, strokeWidth=2).encode(
        color=colour, order="depth:Q", strokeDash=altair.StrokeDash("measure:N", legend=None, sort=None)
    )
    ring = base.transform_filter(f"datum.{mark}").mark_point(size=160, strokeWidth=2, filled=False)
    depth = base.mark_text(dy=-12, fontSize=11, color="#444444").encode(text="label:N")
    return styled(line + ring.encode(color=colour) + depth)


def pair_chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Draw effect sizes by depth, and the detectable share: Webber et al. (2008), Fig. 7 and Fig. 8."""
    import altair

    once = [row for row in rows if row["judgments"] == rows[0]["judgments"]]
    x = altair.X("depth:O", title="assessed to depth")
    box = altair.Chart(altair.Data(values=[known(row) for row in once]), width=240, height=300).encode(x=x)  # type: ignore[no-untyped-call]
    most = max(row["effect_size_high"] for row in once)
    low = altair.Y(
        "effect_size_low:Q", title="effect size of a pair (|mean| / sd)", scale=altair.Scale(domain=[0, 1.1 * most])
    )
    quarters = box.mark_bar(color="#9ebcda", size=18).encode(y=low, y2="effect_size_high:Q")
    median = box.mark_tick(color=COLOURS[0], thickness=3, size=18).encode(y="effect_size:Q")
    depths = [str(depth) for depth in dict.fromkeys(row["depth"] for row in rows)]
    data = altair.Data(values=[{**known(row), "depth": str(row["depth"])} for row in rows])  # type: ignore[no-untyped-call]
    tips = (("depth", "N"), ("judgments", "Q"), ("topics", "Q"), ("detectable", "Q"))
    curve = (
        altair.Chart(data, width=420, height=300)
        .mark_line(strokeWidth=2)
        .encode(
            x=altair.X("judgments:Q", title="judgments", scale=altair.Scale(type="log")),
            y=altair.Y("detectable:Q", title="share of pairs detectable", axis=altair.Axis(format="%")),
            color=altair.Color(
                "depth:N", title="depth", sort=None, scale=altair.Scale(domain=depths, range=COLOURS[: len(depths)])
            ),
            strokeDash=altair.StrokeDash("depth:N", legend=None, sort=None),
            tooltip=[altair.Tooltip(f"{word}:{kind}") for word, kind in tips],
        )
    )
    return styled(altair.hconcat(quarters + median, curve))


def reuse_chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Draw the largest drop of a run of every team left out, one panel per measure, one colour per depth."""
    import altair

    data = altair.Data(values=[{**known(row), "depth": f"depth {row['depth']}"} for row in rows])  # type: ignore[no-untyped-call]
    order = sorted({row["team"] for row in rows}, key=lambda team: -max(r["drop"] for r in rows if r["team"] == team))
    tips = [
        altair.Tooltip(f"{word}:{'N' if word in ('team', 'run', 'depth') else 'Q'}")
        for word in ("team", "run", "depth", "drop", "tau", "unjudged")
    ]
    depths = list(dict.fromkeys(f"depth {row['depth']}" for row in rows))
    colours = altair.Scale(domain=depths, range=(COLOURS * len(depths))[: len(depths)])
    chart = (
        altair.Chart(data, width=max(300, min(900, 16 * len(order))), height=220)
        .mark_point(filled=True, size=40)
        .encode(
            x=altair.X("team:N", sort=order, title="team left out of the pool", axis=altair.Axis(labelAngle=-60)),
            y=altair.Y("drop:Q", title="largest drop of a run"),
            color=altair.Color("depth:N", title=None, scale=colours, sort=None),
            tooltip=tips,
        )
    )
    return styled(chart.facet(row=altair.Row("measure:N", title=None, sort=None)).resolve_scale(y="independent"))
