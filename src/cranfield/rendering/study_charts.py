"""Charts of studies: every plan, figures of Webber et al. (2008), a study over time, peeking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cranfield.errors import RequestError
from cranfield.rendering.charts import Listing, Point, Rows, Series, curves, histogram, intervals, scatter
from cranfield.rendering.document import Document
from cranfield.rendering.drawing import BLUE, GREY, ORANGE, QUIET, Axis, Chart, Mark, Panel

if TYPE_CHECKING:
    from cranfield.methods.sequential.study import Course

HOLDS = {"always": BLUE, "if t is valid": GREY, "no": ORANGE}
"""The colour of a plan, by when its false positives stay at α."""


def simulation_chart(document: Document, figure: str = "plans") -> Chart:
    """The requested figure: all plans, inclusion (Fig. 4), the sd (Fig. 5) or false positives (Fig. 6)."""
    if figure == "plans":
        return plans_chart(document)
    if figure == "inclusion":
        return inclusion_chart(document.extra["inclusion"])
    names = ("sd_iterative", "sd") if figure == "sd" else ("false_positives_iterative", "false_positives_random")
    pairs = document.extra["pairs"]
    if any(name not in pair for pair in pairs for name in names):
        raise RequestError("this figure needs the plans iterative and random", fix="Leave out `plans`, or name both.")
    return sd_of_plan_chart(pairs) if figure == "sd" else errors_chart(pairs, document.inputs["alpha"])


def plans_chart(document: Document) -> Chart:
    """Topics and false positives of every plan."""
    panels = [
        _plan_panel(document, "topics", "topics_low", "topics_high", "topics if the systems differ (5–95 %)", None),
        _plan_panel(
            document, "false_positives", "false_positives_lower", "false_positives_upper", "false positives (95 %)",
            document.inputs["alpha"],
        ),
    ]  # fmt: skip
    note = "False positives stay at α: blue always, grey if t is valid, orange no."
    return Chart(panels=panels, note=note)


def _plan_panel(document: Document, x: str, low: str, high: str, title: str, goal: float | None) -> Panel:
    axis = Axis(title=title, low=0, is_whole=goal is None)
    order = Listing([row["plan"] for row in document.rows], 0)
    panel = intervals(
        document.rows, y="plan", x=x, low=low, high=high, axis=axis, order=order, colours=HOLDS, coloured_by="holds"
    )
    marks = [Mark(kind="upright", x=[goal], colour=QUIET, width=1.0, dash="4 3")] if goal is not None else []
    return replace(panel, marks=[*marks, *panel.marks])


def inclusion_chart(rows: Rows) -> Chart:
    """The probability that a topic is included, against the difference on it."""
    if not rows:
        raise RequestError(
            "inclusion is defined for one pair under the iterative plan", fix="Name one pair of systems."
        )
    says = [f"{row['topic']}; {row['difference']:.4f}; {row['inclusion']:.3f}" for row in rows]
    dots = Mark(kind="dots", x=_values(rows, "difference"), y=_values(rows, "inclusion"), says=says)
    x, y = Axis(title="difference on the topic"), Axis(title="probability of inclusion")
    return Chart(panels=[Panel(x=x, y=y, marks=[dots])])


def _values(rows: Rows, word: str) -> list[float]:
    return [float("nan") if row[word] is None else float(row[word]) for row in rows]


def _points(rows: Rows, x: str, y: str) -> list[Point]:
    return list(zip(_values(rows, x), _values(rows, y), strict=True))


def _pair_names(pairs: Rows) -> list[str]:
    return [f"{pair['system']} – {pair['baseline']}" for pair in pairs]


def sd_of_plan_chart(pairs: Rows) -> Chart:
    """The sd when the iterative plan stops, against that of all topics: Webber et al. (2008), Fig. 5."""
    points = _points(pairs, "sd", "sd_iterative")
    panel = scatter(points, _pair_names(pairs), x="sd of all topics", y="mean sd when the iterative plan stops")
    return Chart(panels=[panel], note="Dashed: no bias.")


def errors_chart(pairs: Rows, alpha: float) -> Chart:
    """False positives of iterative against random sampling, pair by pair: Webber et al. (2008), Fig. 6."""
    points = _points(pairs, "false_positives_random", "false_positives_iterative")
    panel = scatter(
        points, _pair_names(pairs), x="false positives, random sampling", y="false positives, iterative sampling"
    )
    marks = [
        Mark(kind="upright", x=[alpha], colour=QUIET, width=1.0),
        Mark(kind="across", y=[alpha], colour=QUIET, width=1.0),
    ]  # fmt: skip
    return Chart(panels=[replace(panel, marks=[*marks, *panel.marks])], note=f"Lines: α = {alpha:g}.")


def trial_chart(rows: Rows) -> Chart:
    """Total topics against the size of the trial, one curve per sd: Webber et al. (2008), Fig. 3."""
    if len({row["trial"] for row in rows}) < 2:
        raise RequestError(
            "one size of a trial is a point, not a curve", fix='Give a range of sizes, e.g. `trial_size="10:100:5"`.'
        )
    series, best = [], []
    for sd in dict.fromkeys(row["sd"] for row in rows):
        mine = _points([row for row in rows if row["sd"] == sd], "trial", "topics")
        series.append(Series(f"sd {sd:g}", _thinned(mine)))
        best.append(min(mine, key=lambda point: point[1]))
    x, y = Axis(title="topics in the trial", is_log=True), Axis(title="total topics, trial and study", low=0)
    panel = curves(series, x=x, y=y)
    says = [f"{trial:g} topics in the trial; {total:,.0f} in total" for trial, total in best]
    marks = Mark(kind="dots", x=[a for a, _ in best], y=[b for _, b in best], colour=ORANGE, size=9.0, says=says)
    title = " ".join(f"A trial of {trial:g} topics costs least ({total:,.0f} in total)." for trial, total in best[:1])
    return Chart(
        panels=[replace(panel, marks=[*panel.marks, marks])], title=title if len(best) == 1 else "",
        note="Orange: the fewest topics in total.",
    )  # fmt: skip


def _thinned(points: Sequence[Point], most: int = 80) -> list[Point]:
    """Points enough to draw a curve by, closer together where it begins and bends."""
    places = {round((len(points) - 1) * (at / most) ** 2) for at in range(most + 1)}
    return [point for at, point in enumerate(points) if at in places]


def coverage_chart(rows: Rows) -> Chart:
    """The interval of a trial's sd by the formula as lines, that of samples as dots: Webber et al. (2008), Fig. 2."""
    ordered = sorted(rows, key=lambda row: float(row["sd"]))
    marks = [
        Mark(kind="line", x=_values(ordered, "sd"), y=_values(ordered, f"theory_{word}"), colour=GREY)
        for word in ("lower", "upper")
    ]
    marks += [
        Mark(kind="dots", x=_values(ordered, "sd"), y=_values(ordered, word), size=4.0) for word in ("lower", "upper")
    ]
    x, y = Axis(title="sd of all topics"), Axis(title="sd of a trial, 95 % interval")
    return Chart(panels=[Panel(x=x, y=y, marks=marks)], note="Lines: the formula; dots: samples.")


def sd_chart(sds: Sequence[float]) -> Chart:
    """The distribution of the sds of the pairs: Webber et al. (2008), Fig. 1."""
    middle = sorted(sds)[len(sds) // 2]
    panel = histogram(
        sds, axis="sd of a pair's differences", what="pairs", bins=min(30, max(5, len(sds) // 3)), here=middle
    )
    return Chart(panels=[panel], note=f"Orange: the median, {middle:.3f}.")


# --- a study over time


def course_chart(course: Course) -> Chart:
    """A study over time: the power after every topic, t at its looks, or the confidence sequence."""
    if not course.rows:
        raise RequestError(
            "the study has no topics yet, so there is nothing to draw", fix="Add some with `study_add()`."
        )
    return Chart(panels=[COURSES[course.kind](course.rows, course.goal)])


TOPICS = Axis(title="topics", is_whole=True)


def _power_course(rows: Rows, goal: float) -> Panel:
    points = [(float(row["topics"]), row["achieved_power"]) for row in rows if row["achieved_power"] is not None]
    y = Axis(title="power at the observed sd", low=0, high=1)
    return curves([Series("", points, (), points[-1:])], x=TOPICS, y=y, goal=goal)


def _looks_course(rows: Rows, goal: float) -> Panel:
    bounds = [(float(row["topics"]), float(row["boundary"])) for row in rows if row["boundary"] is not None]
    seen = [(float(row["topics"]), float(row["statistic"])) for row in rows if row["statistic"] is not None]
    series = [
        Series("t", seen, (), seen),
        Series("boundary", bounds, (), bounds),
        Series("boundary, the other way", [(n, -value) for n, value in bounds]),
    ]
    y = Axis(title="t, and the boundary that ends the study")
    return curves(series, x=replace(TOPICS, low=0), y=y, goal=goal)


def _sequence_course(rows: Rows, goal: float) -> Panel:
    points = _points(rows, "topics", "difference")
    band = _points(rows, "lower", "upper")
    y = Axis(title="difference and its confidence sequence")
    return curves([Series("", points, band, points[-1:])], x=TOPICS, y=y, goal=goal)


COURSES: Mapping[str, Callable[[Rows, float], Panel]] = {
    "power": _power_course,
    "looks": _looks_course,
    "sequence": _sequence_course,
}
MOST_PATHS = 60  # lines of p that can be followed


def peek_chart(rows: Rows, alpha: float) -> Chart:
    """p after every topic, one line per pair; pairs below α at some look are orange."""
    paths: dict[Any, list[Point]] = {}
    for row in rows:
        paths.setdefault(row["pair"], []).append((float(row["topics"]), max(float(row["p"]), 1e-12)))
    crossing = {pair for pair, path in paths.items() if min(p for _, p in path) < alpha}
    drawn = sorted(list(paths)[:MOST_PATHS], key=lambda pair: pair in crossing)
    marks = [Mark(kind="across", y=[alpha], colour=QUIET, width=1.0, dash="4 3")]
    marks += [
        Mark(
            kind="line", x=[n for n, _ in paths[pair]], y=[p for _, p in paths[pair]], width=1.0,
            colour=ORANGE if pair in crossing else GREY,
        )
        for pair in drawn
    ]  # fmt: skip
    panel = Panel(x=TOPICS, y=Axis(title="p if the study stopped here", is_log=True), marks=marks)
    return Chart(panels=[panel], note=f"Orange: below α = {alpha:g} (dashed) at some look.")
