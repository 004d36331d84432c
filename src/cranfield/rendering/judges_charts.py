"""Charts of judges beside human labels: what the labels are worth, agreement, favour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cranfield.rendering.charts import Row, Series, curves, intervals, listing, only_two, scatter
from cranfield.rendering.drawing import BLUE, ORANGE, Axis, Chart, Panel

if TYPE_CHECKING:
    from cranfield.methods.judging.assessment import JudgeAssessment, JudgeOnMeasure

STEPS = 40  # of a curve


def worth_chart(found: JudgeAssessment) -> Chart:
    """What the topics with human labels are worth, against the topics that the judge labels."""
    n, most = len(found.topics), max([*found.sizes, 2 * len(found.topics)])
    sizes = sorted({round(n * (most / n) ** (at / STEPS)) for at in range(STEPS + 1)})
    series = []
    for each in _by_correlation(found, weighted=True):
        worth = [each.correlation.worth(size) for size in sizes]
        points = list(zip(map(float, sizes), (value for value, _, _ in worth), strict=True))
        series.append(Series(each.judge, points, [(low, high) for _, low, high in worth]))
    x = Axis(title="topics labelled by the judge (N)")
    y = Axis(title=f"topics that the {n} topics with human labels are worth")
    note = "Band: the interval of r, which is estimated."
    return Chart(panels=[curves(series, x=x, y=y)], subtitle=_about(found), note=note)


def _by_correlation(found: JudgeAssessment, *, weighted: bool = False) -> list[JudgeOnMeasure]:
    """The judges on the first measure, the highest r first; combinations of judges where they are ``weighted``."""
    mine = [each for each in found.measured if each.measure == found.measures[0] and (weighted or not each.weights)]
    return sorted(mine, key=lambda each: -each.correlation.median.value)


def _about(found: JudgeAssessment) -> str:
    return f"{found.measures[0]}, {len(found.topics):,} topics with human labels, {len(found.systems):,} systems"


def agreement_chart(found: JudgeAssessment) -> Chart:
    """Mean scores of systems under the judge's labels against those under human ones, one panel per judge."""
    human = list(map(float, found.human_means[found.measures[0]]))
    panels = [
        scatter(
            list(zip(human, map(float, each.means), strict=True)),
            found.systems,
            x="mean score by people",
            y=f"mean score by {each.judge}",
            title=f"{each.judge}: τ = {each.order.tau:.2f}",
        )
        for each in _by_correlation(found)
    ]
    kept, some = only_two(panels, "judges")
    return Chart(panels=kept, subtitle=_about(found), note=f"Dashed: equal means. {some}".strip())


def favour_chart(found: JudgeAssessment, rows: Sequence[Row]) -> Chart:
    """How far each judge shifts every system, with simultaneous intervals, one panel per judge."""
    what = "team" if found.teams else "system"
    measure, own = found.measures[0], [each.judge for each in _by_correlation(found)]
    mine = [
        row
        for row in rows
        if what in row and row["measure"] == measure and row["judge"] in own and row["question"] == "shift"
    ]
    means = dict(zip(found.systems, found.human_means[measure].tolist(), strict=True))
    order = list(found.teams) or sorted(means, key=lambda name: -means[name])
    judges = list(dict.fromkeys(own))
    panels, some = only_two(
        [_favour_panel([row for row in mine if row["judge"] == each], order, what) for each in judges], "judges"
    )
    note = f"Orange: significant; {what}s in the order of {'the list' if found.teams else 'people'}. {some}"
    return Chart(panels=panels, subtitle=_about(found), note=note.strip())


def _favour_panel(rows: Sequence[Row], order: Sequence[str], what: str) -> Panel:
    asked = [row[what] for row in rows if row["significant"]]
    reach = robust_reach([row["favour"] for row in rows], [(row["lower"], row["upper"]) for row in rows])
    axis = Axis(title=f"shift of the mean by {rows[0]['judge']}", low=-reach, high=reach)
    return intervals(
        rows, y=what, x="favour", low="lower", high="upper", axis=axis, order=listing(order, asked=asked), zero=True,
        filled="significant", colours={True: ORANGE, False: BLUE}, coloured_by="significant",
    )  # fmt: skip


def robust_reach(values: Sequence[float], ends: Sequence[tuple[float, float]]) -> float:
    """Half of an axis around 0 that shows every value, and no interval that is many times as wide as the others.

    >>> robust_reach([0.1, -0.2], [(0.0, 0.2), (-9.0, 9.0)])
    0.5
    """
    shown = max((abs(value) for value in values if value == value), default=0.0) or 1.0
    widest = max((abs(end) for pair in ends for end in pair if end == end), default=shown)
    return min(widest, 2.5 * shown)
