"""Charts of pilots, budgets, pairs of runs and reusability; of several measures the first two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cranfield.errors import RequestError
from cranfield.rendering.charts import Series, curves, only_two
from cranfield.rendering.drawing import BLUE, GREY, INK, ORANGE, Axis, Chart, Mark, Panel

Rows = Sequence[Mapping[str, Any]]
DETECTABLE = {"min_range": "detectable range", "difference": "detectable difference", "width": "interval width"}


def pilot_chart(rows: Rows) -> Chart:
    """The variance against k, one panel per measure: Sakai and Shang (2016), Fig. 1; in grey with fewer topics."""
    sizes = sorted({row["pilot_topics"] for row in rows})
    panels = [
        _pilot_panel([row for row in rows if row["measure"] == each], each, sizes) for each in _names(rows, "measure")
    ]
    kept, some = only_two(panels, "measures")
    fewer = f"; grey: {sizes[0]} topics" if len(sizes) > 1 else ""
    note = f"Blue: {sizes[-1]} topics{fewer}; orange: the variance of the whole pilot. {some}"
    return Chart(panels=kept, note=note.strip())


def _pilot_panel(rows: Rows, measure: str, sizes: Sequence[int]) -> Panel:
    known = [row for row in rows if row["variance"] == row["variance"]]
    whole = [row["variance"] for row in known if row["left_out"] == 0 and row["pilot_topics"] == sizes[-1]]
    marks = [Mark(kind="across", y=whole, colour=ORANGE, width=1.5)]
    for size, tone, shift in ((sizes[0], GREY, 0.25), (sizes[-1], BLUE, 0.0))[len(sizes) == 1 :]:
        mine = [row for row in known if row["pilot_topics"] == size]
        x = [row["left_out"] + shift for row in mine]
        says = [f"k {row['left_out']}; variance {row['variance']:.4g}; topics {row['topics']}" for row in mine]
        marks.append(Mark(kind="spans", x=x, y=_numbers(mine, "lower"), y2=_numbers(mine, "upper"), colour=tone))
        marks.append(Mark(kind="dots", x=x, y=_numbers(mine, "variance"), colour=tone, says=says))
    return Panel(
        x=Axis(title="teams left out (k)", is_whole=True),
        y=Axis(title="variance of scores", low=0),
        marks=marks,
        title=measure,
    )


def _names(rows: Rows, word: str) -> list[Any]:
    return list(dict.fromkeys(row[word] for row in rows))


def _numbers(rows: Rows, word: str) -> list[float]:
    return [float("nan") if row[word] is None else float(row[word]) for row in rows]


def budget_chart(rows: Rows) -> Chart:
    """Topics against documents judged per topic, one curve per measure, and what they cost: Sakai (2014), Fig. 4."""
    known = _drawable([row for row in rows if row["topics"] is not None])
    judged = Axis(title="documents judged per topic", is_log=True)
    topics = _by_measure(known, "judged", "topics", judged, Axis(title="required topics n", low=0, is_whole=True))
    depth = Axis(title="pool depth", ticks=sorted({float(row["depth"]) for row in known}), is_log=True)
    word = "cost" if all(row.get("cost") is not None for row in known) else "judgments"
    cost = _by_measure(known, "depth", word, depth, Axis(title=word, low=0))
    return Chart(panels=[topics, _marked(cost, known, word)], note="Orange: the recommended depth of each measure.")


def _drawable(rows: Rows) -> Rows:
    if not rows:
        raise RequestError("there is nothing to draw", fix="Ask for a larger difference, or give a larger budget.")
    return rows


def _by_measure(rows: Rows, x: str, y: str, across: Axis, up: Axis) -> Panel:
    series = []
    for name in _names(rows, "measure"):
        points = sorted((float(row[x]), float(row[y])) for row in rows if row["measure"] == name)
        series.append(Series(name, points, (), points))
    return curves(series, x=across, y=up)


def _marked(panel: Panel, rows: Rows, word: str) -> Panel:
    """With orange dots at what is best for each measure."""
    best = [row for row in rows if row.get("best")]
    says = [f"{row['measure']}; depth {row['depth']}; {word} {row[word]:,.4g}" for row in best]
    dots = Mark(kind="dots", x=_numbers(best, "depth"), y=_numbers(best, word), colour=ORANGE, size=9.0, says=says)
    return replace(panel, marks=[*panel.marks, dots])


def affordable_chart(rows: Rows, goal: str) -> Chart:
    """The detectable difference of a budget against the depth, one curve per measure."""
    known = _drawable([row for row in rows if row["detectable"] == row["detectable"]])
    depth = Axis(title="pool depth", ticks=sorted({float(row["depth"]) for row in known}), is_log=True)
    panel = _by_measure(known, "depth", "detectable", depth, Axis(title=DETECTABLE[goal], low=0))
    return Chart(panels=[_marked(panel, known, "detectable")], note="Orange: the best depth of each measure.")


def pair_chart(rows: Rows) -> Chart:
    """Effect sizes by depth, and the detectable share: Webber et al. (2008), Fig. 7 and Fig. 8."""
    once = [row for row in rows if row["judgments"] == rows[0]["judgments"]]
    at = [float(place) for place in range(len(once))]
    box = [
        Mark(kind="spans", x=_numbers(once, "effect_size_low"), x2=_numbers(once, "effect_size_high"), y=at),
        Mark(kind="dots", x=_numbers(once, "effect_size"), y=at),
    ]
    sizes = Panel(
        x=Axis(title="effect size of a pair (|mean| / sd): median, middle half", low=0),
        y=Axis(names=[f"depth {row['depth']}" for row in once]),
        marks=box,
    )
    series = []
    for depth in _names(rows, "depth"):
        mine = [row for row in rows if row["depth"] == depth]
        series.append(Series(f"depth {depth}", [(float(row["judgments"]), row["detectable"]) for row in mine]))
    y = Axis(title="share of pairs detectable", low=0, high=1, is_percent=True)
    return Chart(panels=[sizes, curves(series, x=Axis(title="judgments", is_log=True), y=y)])


def reuse_chart(rows: Rows) -> Chart:
    """The largest drop of a run of every team left out: every team named, the deepest pool in blue."""
    names = _names(rows, "measure")
    panels, some = only_two([_reuse_panel(rows, name) for name in names], "measures")
    depths = sorted(_names(rows, "depth"))
    fewer = f"; grey: {', '.join(map(str, depths[:-1]))}" if len(depths) > 1 else ""
    return Chart(panels=panels, note=f"Blue: pool depth {depths[-1]}{fewer}. {some}".strip())


def _reuse_panel(rows: Rows, measure: str) -> Panel:
    mine = [row for row in rows if row["measure"] == measure]
    deepest = max(row["depth"] for row in mine)
    order = sorted(
        {row["team"] for row in mine}, key=lambda team: min(-row["drop"] for row in mine if row["team"] == team)
    )
    places = {team: float(at) for at, team in enumerate(order)}
    says = [f"{row['team']}; {row['run']}; depth {row['depth']}; drop {row['drop']:.4f}" for row in mine]
    marks = [
        Mark(kind="upright", x=[0.0], colour=INK, width=1.0),
        Mark(
            kind="dots", x=_numbers(mine, "drop"), y=[places[row["team"]] for row in mine], says=says,
            colours=[BLUE if row["depth"] == deepest else GREY for row in mine],
        ),
    ]  # fmt: skip
    axis = Axis(title=f"largest drop of a run in {measure}, if its team is left out", low=0)
    return Panel(x=axis, y=Axis(names=order), marks=marks, title=measure)
