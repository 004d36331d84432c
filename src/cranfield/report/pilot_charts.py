"""Charts of pilot studies and budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.report.charts import COLOURS, styled


def known(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as JSON can have it: nothing in place of what is not a number."""
    return {word: None if value != value else value for word, value in row.items()}


def pilot_chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Variance with its interval against k, a panel a measure: SS16 Fig. 1; below it the fewest topics: Fig. 2."""
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
