"""Charts of studies: topics, errors and power of every plan, figures of Webber et al. (2008), a study over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.errors import RequestError
from cranfield.methods.sequential.plans import ALWAYS, NEVER, WITH_T
from cranfield.methods.sequential.study import Course
from cranfield.rendering.charts import COLOURS, line_chart, styled
from cranfield.rendering.document import Document


def simulation_chart(document: Document, figure: str = "plans") -> Any:
    """Draw the requested figure: all plans, inclusion (Fig. 4), the sd (Fig. 5) or false positives (Fig. 6)."""
    if figure == "plans":
        return _plans_chart(document)
    if figure == "inclusion":
        return _inclusion_chart(document.extra["inclusion"])
    names = ("sd_iterative", "sd") if figure == "sd" else ("false_positives_iterative", "false_positives_random")
    pairs = document.extra["pairs"]
    if any(name not in pair for pair in pairs for name in names):
        raise RequestError("this figure needs the plans iterative and random", fix="Leave out `plans`, or name both.")
    return _sd_chart(pairs) if figure == "sd" else _errors_chart(pairs, document.inputs["alpha"])


def _data(rows: Sequence[Mapping[str, Any]]) -> Any:
    import altair

    return altair.Data(values=[dict(row) for row in rows])  # type: ignore[no-untyped-call]


def _plans_chart(document: Document) -> Any:
    """Topics, false positives and power of every plan, in three panels that share their rows."""
    import altair

    order = [row["plan"] for row in document.rows]
    panels = (
        ("topics", "topics if the systems differ (5–95 %)", "topics_low", "topics_high", None),
        (
            "false_positives",
            "false positives (95 %)",
            "false_positives_lower",
            "false_positives_upper",
            document.inputs["alpha"],
        ),
        ("power", "power (95 %)", "power_lower", "power_upper", document.inputs["power"]),
    )
    made: list[Any] = []
    for word, title, low, high, goal in panels:
        base = altair.Chart(_data(document.rows), width=200, height=24 * len(order)).encode(
            y=altair.Y("plan:N", sort=order, title=None, axis=None if made else altair.Axis(labelLimit=200)),
            tooltip=[altair.Tooltip(f"{name}:Q") for name in (word, low, high)],
            color=altair.Color(
                "holds:N",
                title="α held",
                scale=altair.Scale(domain=[ALWAYS, WITH_T, NEVER], range=[COLOURS[2], COLOURS[0], COLOURS[1]]),
            ),
        )
        span = base.mark_rule(strokeWidth=3, opacity=0.5).encode(
            x=altair.X(f"{low}:Q", title=title, scale=altair.Scale(zero=word != "power")), x2=f"{high}:Q"
        )
        layers = [span, base.mark_point(filled=True, size=50).encode(x=f"{word}:Q")]
        if goal is not None:
            mark = altair.Chart(_data([{"goal": goal}])).mark_rule(strokeDash=[4, 3], color="#666666")
            layers.insert(0, mark.encode(x="goal:Q"))
        made.append(altair.layer(*layers))
    return styled(altair.hconcat(*made, spacing=24))


def _inclusion_chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    import altair

    if not rows:
        raise RequestError(
            "inclusion is defined for one pair under the iterative plan", fix="Name one pair of systems."
        )
    x = altair.X("difference:Q", title="difference on the topic")
    y = altair.Y("inclusion:Q", title="probability of inclusion", scale=altair.Scale(zero=False))
    hover = [altair.Tooltip("topic:N"), altair.Tooltip("difference:Q"), altair.Tooltip("inclusion:Q")]
    chart = altair.Chart(_data(rows), width=520, height=320).mark_point(filled=True, size=30, color=COLOURS[0])
    return styled(chart.encode(x=x, y=y, tooltip=hover))


def _against(rows: Sequence[Mapping[str, Any]], x: str, y: str, titles: tuple[str, str]) -> Any:
    """One point per pair, and the line where both numbers are equal."""
    import altair

    values = [row[name] for row in rows for name in (x, y)]
    reach = [min(values), max(values)]
    scale = altair.Scale(domain=reach, zero=False, nice=True)
    line = altair.Chart(_data([{"v": value} for value in reach])).mark_line(color="#999999", strokeDash=[4, 3])
    points = altair.Chart(_data(rows), width=380, height=380).mark_point(filled=True, size=40, color=COLOURS[0])
    hover = [
        altair.Tooltip("system:N"),
        altair.Tooltip("baseline:N"),
        altair.Tooltip(f"{x}:Q"),
        altair.Tooltip(f"{y}:Q"),
    ]
    dots = points.encode(
        x=altair.X(f"{x}:Q", title=titles[0], scale=scale),
        y=altair.Y(f"{y}:Q", title=titles[1], scale=scale),
        tooltip=hover,
    )
    return line.encode(x="v:Q", y="v:Q") + dots


def _sd_chart(pairs: Sequence[Mapping[str, Any]]) -> Any:
    return styled(_against(pairs, "sd", "sd_iterative", ("sd of all topics", "mean sd when the iterative plan stops")))


def _errors_chart(pairs: Sequence[Mapping[str, Any]], alpha: float) -> Any:
    import altair

    chart = _against(
        pairs,
        "false_positives_random",
        "false_positives_iterative",
        ("false positives, random sampling", "false positives, iterative sampling"),
    )
    mark = altair.Chart(_data([{"alpha": alpha}])).mark_rule(color=COLOURS[1], opacity=0.5)
    return styled(chart + mark.encode(y="alpha:Q") + mark.encode(x="alpha:Q"))


def trial_chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Webber et al. (2008), Fig. 3: total topics against the size of the trial, one curve per sd."""
    if len({row["trial"] for row in rows}) < 2:
        raise RequestError(
            "one size of a trial is a point, not a curve", fix='Give a range of sizes, e.g. `trial_size="10:100:5"`.'
        )
    titles = {"trial": "topics in the trial", "topics": "total topics", "curve": "sd of the trial"}
    named = [{**row, "curve": f"{row['sd']:g}"} for row in rows]
    return line_chart(named, x="trial", y="topics", colour="curve", titles=titles)


def coverage_chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Webber et al. (2008), Fig. 2: the interval of the formula as lines, that of samples as points."""
    import altair

    ordered = sorted(rows, key=lambda row: row["sd"])
    base = altair.Chart(_data(ordered), width=520, height=320)
    x = altair.X("sd:Q", title="sd of all topics", scale=altair.Scale(zero=False))
    layers = []
    for word in ("lower", "upper"):
        y = altair.Y(f"{word}:Q", title="sd of a trial (line: formula, points: samples)")
        layers.append(base.mark_point(filled=True, size=14, opacity=0.5, color=COLOURS[0]).encode(x=x, y=y))
        layers.append(base.mark_line(color=COLOURS[1]).encode(x=x, y=f"theory_{word}:Q"))
    return styled(altair.layer(*layers))


def sd_chart(sds: Sequence[float]) -> Any:
    """Webber et al. (2008), Fig. 1: the distribution of the sds of the pairs."""
    import altair

    x = altair.X("sd:Q", bin=altair.Bin(maxbins=40), title="sd of a pair's differences")
    bars = altair.Chart(_data([{"sd": sd} for sd in sds]), width=520, height=320).mark_bar(color=COLOURS[0])
    return styled(bars.encode(x=x, y=altair.Y("count():Q", title="pairs")))


def course_chart(course: Course) -> Any:
    """Draw a study over time: the power after every topic, t at its looks, or the confidence sequence."""
    import altair

    if not course.rows:
        raise RequestError(
            "the study has no topics yet, so there is nothing to draw", fix="Add some with `study_add()`."
        )
    base = altair.Chart(_data(course.rows), width=520, height=320)
    mark = altair.Chart(_data([{"goal": course.goal}])).mark_rule(color="#666666", strokeDash=[4, 3])
    return styled(altair.layer(*_COURSES[course.kind](base), mark.encode(y="goal:Q")))


def _topics_axis() -> Any:
    import altair

    return altair.X("topics:Q", title="topics", scale=altair.Scale(zero=False))


def _power_course(base: Any) -> tuple[Any, ...]:
    import altair

    y = altair.Y("achieved_power:Q", title="power at the observed sd", scale=altair.Scale(domain=[0, 1]))
    return tuple(mark.encode(x=_topics_axis(), y=y) for mark in (base.mark_point(filled=True), base.mark_line()))


def _looks_course(base: Any) -> tuple[Any, ...]:
    import altair

    hover = [altair.Tooltip(f"{name}:Q") for name in ("topics", "statistic", "boundary", "level")]
    upper = altair.Y("boundary:Q", title="t, and the boundary that ends the study")
    bounds = base.transform_calculate(below="-datum.boundary").mark_line(
        color=COLOURS[1], point={"shape": "stroke", "size": 200, "color": COLOURS[1]}
    )
    seen = base.transform_filter("isValid(datum.statistic)").mark_line(
        color=COLOURS[0], point={"size": 60, "color": COLOURS[0]}
    )
    x = _topics_axis()
    return (
        bounds.encode(x=x, y=upper, tooltip=hover),
        bounds.encode(x=x, y="below:Q", tooltip=hover),
        seen.encode(x=x, y="statistic:Q", tooltip=hover),
    )


def _sequence_course(base: Any) -> tuple[Any, ...]:
    import altair

    band = base.mark_area(color=COLOURS[4], opacity=0.4).encode(
        x=_topics_axis(), y=altair.Y("lower:Q", title="difference and its confidence sequence"), y2="upper:Q"
    )
    return band, base.mark_line(color=COLOURS[0]).encode(x=_topics_axis(), y="difference:Q")


_COURSES = {"power": _power_course, "looks": _looks_course, "sequence": _sequence_course}


def peek_chart(rows: Sequence[Mapping[str, Any]], alpha: float) -> Any:
    """Draw p after every topic, one line per pair; pairs below α at some look are coloured."""
    import altair

    found = {row["pair"] for row in rows if row["p"] < alpha}
    named = [{**row, "at some look": "significant" if row["pair"] in found else "never significant"} for row in rows]
    order = ["significant", "never significant"]
    lines = (
        altair.Chart(_data(named), width=520, height=320)
        .mark_line(strokeWidth=1.5)
        .encode(
            x=_topics_axis(),
            y=altair.Y("p:Q", title="p if the study stopped here", scale=altair.Scale(type="log")),
            detail="pair:N",
            color=altair.Color(
                "at some look:N", title="at some look", scale=altair.Scale(domain=order, range=[COLOURS[1], COLOURS[0]])
            ),
            tooltip=["pair:N", "topics:Q", "p:Q"],
        )
    )
    mark = altair.Chart(_data([{"alpha": alpha}])).mark_rule(color="#666666", strokeDash=[4, 3]).encode(y="alpha:Q")
    return styled(altair.layer(lines, mark))
