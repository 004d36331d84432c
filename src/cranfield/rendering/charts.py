"""Charts in one style, written to files without a browser or a network."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from cranfield.errors import RequestError, check_part, visible
from cranfield.formats.text import atomic_write
from cranfield.rendering.document import finite

ENDINGS = (".html", ".svg", ".png", ".json")
# Okabe and Ito's colours, distinguishable with colour blindness and in grey.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"]


def line_chart(
    rows: Sequence[Mapping[str, Any]],
    *,
    x: str,
    y: str,
    titles: Mapping[str, str],
    colour: str | None = None,
    title: str = "",
    log: bool = False,
) -> Any:
    """Draw one curve for every value of ``colour``, with tooltips."""
    import altair

    data = altair.Data(values=[dict(row) for row in rows])  # type: ignore[no-untyped-call]
    axis = altair.Scale(type="log") if log else altair.Scale(zero=True)
    names = [x, *([colour] if colour else []), y]
    encode: dict[str, Any] = {
        "x": altair.X(f"{x}:Q", title=titles.get(x, x), scale=altair.Scale(zero=False, nice=False)),
        "y": altair.Y(f"{y}:Q", title=titles.get(y, y), scale=axis),
        "tooltip": [
            altair.Tooltip(f"{name}:{'N' if name == colour else 'Q'}", title=titles.get(name, name)) for name in names
        ],
    }
    if colour:
        order = list(dict.fromkeys(str(row[colour]) for row in rows))
        scale = altair.Scale(domain=order, range=(COLOURS * len(order))[: len(order)])
        # One legend for colour and dashes, so that curves can also be distinguished in grey.
        named: dict[str, Any] = {"title": titles.get(colour, colour) or None, "sort": None}
        encode["color"] = altair.Color(
            f"{colour}:N", scale=scale, legend=altair.Legend(symbolType="stroke", symbolSize=300), **named
        )
        encode["strokeDash"] = altair.StrokeDash(f"{colour}:N", scale=altair.Scale(domain=order), **named)
    chart = altair.Chart(data, title=title, width=520, height=320).mark_line(point={"size": 18}, strokeWidth=2)
    return styled(chart.encode(**encode))


def styled(chart: Any) -> Any:
    """Apply the style of all charts, and make every name in it visible: a control character ends who draws it."""
    return (
        with_visible_names(chart)
        .configure_axis(
            gridColor="#e5e5e5",
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            labelFlush=False,
            labelOverlap="greedy",
        )
        .configure_axisXQuantitative(labelSeparation=8)
        .configure_legend(
            labelLimit=400, labelFontSize=12, titleFontSize=12, titleFontWeight="normal", symbolStrokeWidth=2
        )
        .configure_title(fontSize=13, fontWeight="normal", anchor="start")
        .configure_view(stroke=None)
    )


def with_visible_names(value: Any) -> Any:
    """A chart, or a part of one, with an escape for every control character of any text in it."""
    if isinstance(value, str):
        return visible(value, keep="\n\t")
    if isinstance(value, Mapping):
        return {with_visible_names(word): with_visible_names(each) for word, each in value.items()}
    if isinstance(value, list | tuple):
        return [with_visible_names(each) for each in value]
    for word, each in getattr(value, "_kwds", {}).items():  # Altair's
        shown = with_visible_names(each)
        # Vega makes expressions of titles, in which an escape would be the character again.
        value[word] = shown.replace("\\", _BACKSLASH) if word == "title" and isinstance(shown, str) else shown
    return value


_BACKSLASH = "\u2216"  # which looks like one


def check_chart_name(path: str) -> None:
    """Raise an error for a file name with an unknown format, or if none can be drawn, before anything is computed."""
    if Path(path).suffix not in ENDINGS:
        raise RequestError(
            f"«{path}» does not say which picture to draw", fix=f"End the name in one of: {', '.join(ENDINGS)}."
        )
    check_part("charts")


def write_chart(chart: Any, path: str) -> None:
    """Write a chart in the format of its file name."""
    check_chart_name(path)
    import vl_convert

    spec = json.dumps(finite(chart.to_dict()))
    ending = Path(path).suffix
    if ending == ".png":
        data: bytes = vl_convert.vegalite_to_png(spec, scale=2)
    elif ending == ".svg":
        data = vl_convert.vegalite_to_svg(spec).encode()
    elif ending == ".html":
        data = vl_convert.vegalite_to_html(spec, bundle=True).encode()
    else:
        data = spec.encode()
    with atomic_write(path) as stream:
        stream.write(data)


TITLES = {
    "topics": "number of topics n",
    "systems": "number of systems m",
    "min_range": "minimum detectable range minD",
    "difference": "difference between two systems",
    "effect_size": "effect size d_z (difference / sd of the paired differences)",
    "equivalence": "margin of equivalence",
    "non_inferiority": "margin of non-inferiority",
    "width": "interval width δ",
    "sensitivity": "sensitivity ±δ",
    "variance": "variance σ² of a system's scores",
    "correlation": "correlation ρ of two systems' scores",
    "sd": "sd of paired differences",
    "judge_correlation": "correlation r of human and model differences",
    "cost": "cost",
    "alpha": "significance level α",
    "power": "power 1 − β",
    "value": "difference",
    "what": "",
}


DERIVED = {"difference": "effect_size", "sd": "variance"}
"""Inputs that follow from another where a row has that one."""


def size_curves(rows: Sequence[Mapping[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """Return the input with most values, and the rows of the first method; other inputs that vary become ``curve``."""
    known = [row for row in rows if row["topics"] is not None]
    first = known[0]["method"] if known else None
    known = [row for row in known if row["method"] == first]
    inputs = [name for name in TITLES if name not in ("topics", "cost", "value", "what")]
    given = [name for name in inputs if known and name in known[0] and DERIVED.get(name) not in known[0]]
    varying = {name: count for name in given if (count := len({row[name] for row in known})) > 1}
    if not varying:
        raise RequestError("one design is a point, not a curve", fix="Give a list or a range for at least one input.")
    x = max(varying, key=lambda name: varying[name])
    named = [name for name in ("measure", "estimate") if len({row.get(name) for row in known}) > 1]
    others = [name for name in varying if name != x]
    return x, [{**row, "curve": _curve_name(row, named, others)} for row in known]


def _curve_name(row: Mapping[str, Any], named: Sequence[str], others: Sequence[str]) -> str:
    """What a curve is for: measure and estimate of a pilot, and the inputs that vary."""
    words = [f"{row[name]}{' variance' * (name == 'estimate')}" for name in named]
    return ", ".join([*words, *(f"{name.replace('_', ' ')} {row[name]:.3g}" for name in others)])


def size_chart(rows: Sequence[Mapping[str, Any]], *, title: str = "") -> Any:
    """Draw n against the input with most values, one curve for every combination of the other inputs that vary."""
    x, labelled = size_curves(rows)
    titles = {**TITLES, "curve": ""}
    colour = "curve" if labelled[0]["curve"] else None
    said = ", ".join(filter(None, (title, *_shared_inputs(labelled, x))))
    return line_chart(labelled, x=x, y="topics", colour=colour, titles=titles, title=said, log=is_wide(labelled))


def _shared_inputs(rows: Sequence[Mapping[str, Any]], x: str) -> list[str]:
    """What all curves have in common."""
    names = {"systems": "{:g} systems", "alpha": "α = {:g}", "power": "power {:g}"}
    return [
        text.format(rows[0][name])
        for name, text in names.items()
        if name in rows[0] and name != x and len({row[name] for row in rows}) == 1
    ]


def is_wide(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the range of the numbers of topics requires a logarithmic axis."""
    topics = [row["topics"] for row in rows]
    return bool(max(topics) > 200 * min(topics))


CARD_CURVES = {
    "detectable_range": "detectable range of m systems (minD)",
    "detectable_difference": "detectable difference of two of m systems",
    "pair_detectable_difference": "detectable difference of a pair named in advance",
    "width": "expected interval width (δ)",
    "difference_sensitivity": "sensitivity of a difference (±)",
}


def card_chart(cards: Sequence[Mapping[str, Any]]) -> Any:
    """Draw the detectable differences and ranges against n: Sakai (2014), Fig. 3."""
    if len({card["topics"] for card in cards}) < 2:
        raise RequestError(
            "one number of topics is a point, not a curve", fix='Give a range, e.g. `topics="10:200:10"`.'
        )
    several = len({card["correlation"] for card in cards}) == 2
    rows = [
        {
            "topics": card["topics"],
            "what": text + (f", ρ = {card['correlation']:g}" if several else ""),
            "value": card[word],
        }
        for word, text in CARD_CURVES.items()
        for card in cards
        if word != "pair_detectable_difference" or card["test"] != "t"
    ]
    return line_chart(rows, x="topics", y="value", colour="what", titles=TITLES)


def _names_axis(count: int, *, upright: bool = False) -> Any:
    """Return the axis of system names: normal size for few systems, small for more, tooltips only for many."""
    import altair

    few, fitting = count <= 40, count <= 160
    turned = 0 if upright else -60 if few else -90
    return altair.Axis(
        labels=fitting, ticks=few, labelAngle=turned, labelFontSize=12 if few else 7, labelLimit=160, labelOverlap=False
    )


SINGLE_MEAN = "confidence interval of a single mean"  # from the standard error of its own scores
INTERVAL_KINDS = {"Tukey": "#0072b2", "permutation": "#0072b2", "ANOVA": "#b7d3ea", SINGLE_MEAN: "#d55e00"}


def interval_chart(
    rows: Sequence[Mapping[str, Any]], found: Mapping[str, Any], *, title: str = "", pairs: Sequence[Any] = ()
) -> Any:
    """Draw the intervals that decide about pairs, best system first; names are in tooltips if there are many systems.

    If the test has an interval around means that decides about pairs, the chart shows the mean of every system with
    that interval, and behind it those of ANOVA and of the system's own scores: Ferro and Sanderson (2019), Fig. 3.
    Otherwise it shows the differences of ``pairs`` from the best system, or from the baselines, with their intervals.
    ``found`` has the half-widths that all systems share: ``interval_tukey`` (nan if the test has none) and
    ``interval_anova``.
    """
    if found["interval_tukey"] is None or found["interval_tukey"] != found["interval_tukey"]:
        return difference_chart(rows, pairs or found["pairs"], interval=found["interval"], title=title)
    return _mean_chart(rows, found, title)


def _mean_chart(rows: Sequence[Mapping[str, Any]], found: Mapping[str, Any], title: str) -> Any:
    import altair

    decides = "permutation" if found["test"] == "tukey-permutation" else "Tukey"
    shared = {"ANOVA": found["interval_anova"], decides: found["interval_tukey"]}
    widths = {"ANOVA": 11.0, SINGLE_MEAN: 1.2, decides: 4.0}  # each is visible beside the one in front of it
    colour = altair.Color(
        "kind:N",
        title="interval",
        sort=None,
        scale=altair.Scale(domain=list(widths), range=[INTERVAL_KINDS[kind] for kind in widths]),
    )
    x = altair.X("system:N", sort=_order(rows), title="system, best first", axis=_names_axis(len(rows)))
    low = altair.Y("low:Q", title="mean score and its intervals", scale=altair.Scale(zero=False))
    words = {"system": "N", "rank": "Q", "kind": "N", "score": "Q", "low": "Q", "high": "Q"}
    hover = [altair.Tooltip(f"{name}:{kind}") for name, kind in words.items()]
    layers = []
    for kind, width in widths.items():  # the deciding interval is drawn last, and so in front
        values = []
        for row in rows:
            reach = shared.get(kind, row["interval_standard_error"])
            known = {name: row[name] for name in ("system", "rank", "score")}
            values.append({**known, "kind": kind, "low": row["score"] - reach, "high": row["score"] + reach})
        base = altair.Chart(altair.Data(values=values))  # type: ignore[no-untyped-call]
        width = min(width, 600 / len(rows))
        layers.append(base.mark_rule(strokeWidth=width).encode(x=x, y=low, y2="high:Q", color=colour, tooltip=hover))
    layers.append(_points(rows, x))
    return styled(altair.layer(*layers).properties(title=title, width=_width(len(rows)), height=340))


def difference_chart(
    rows: Sequence[Mapping[str, Any]], pairs: Sequence[Mapping[str, Any]], *, interval: str, title: str = ""
) -> Any:
    """Draw the difference of every system from the best, or from each baseline, with its interval and a line at 0."""
    import altair

    values = difference_rows(rows, pairs)
    order = [name for name in _order(rows) if any(value["system"] == name for value in values)]
    against = list(dict.fromkeys(value["against"] for value in values))
    x = altair.X("system:N", sort=order, title="system, best first", axis=_names_axis(len(order)))
    low = altair.Y("lower:Q", title=f"difference from {' or '.join(against[:3])}, {interval}")
    offset = {"xOffset": altair.XOffset("against:N", sort=against)} if len(against) > 1 else {}
    verdicts = altair.Scale(domain=["significant", "not significant"], range=[COLOURS[0], "#999999"])
    baselines = altair.Scale(domain=against, range=(COLOURS * len(against))[: len(against)])
    colour = (
        altair.Color("against:N", title="difference from", scale=baselines, sort=None)
        if len(against) > 1
        else altair.Color("verdict:N", title="difference", scale=verdicts)
    )
    pale = altair.condition("datum.verdict == 'significant'", altair.value(1.0), altair.value(0.4))
    names = ("system", "against", "difference", "lower", "upper", "p_adjusted", "verdict")
    kinds = {"system": "N", "against": "N", "verdict": "N"}
    hover = [altair.Tooltip(f"{name}:{kinds.get(name, 'Q')}") for name in names]
    base = altair.Chart(altair.Data(values=finite(values)))  # type: ignore[no-untyped-call]
    zero = altair.Chart(altair.Data(values=[{"zero": 0}]))  # type: ignore[no-untyped-call]
    layers = [
        zero.mark_rule(color="#000000", strokeDash=[4, 3]).encode(y="zero:Q"),
        base.mark_rule(strokeWidth=min(4.0, 600 / len(values))).encode(
            x=x, y=low, y2="upper:Q", color=colour, opacity=pale, tooltip=hover, **offset
        ),
        base.mark_point(color="#000000", filled=True, size=16, opacity=1).encode(
            x=x, y="difference:Q", tooltip=hover, **offset
        ),
    ]
    return styled(altair.layer(*layers).properties(title=title, width=_width(len(order)), height=340))


def difference_rows(rows: Sequence[Mapping[str, Any]], pairs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per system and its comparison: with the baseline, or with the best system if there is none."""
    with_baseline = any("verdict" in pair for pair in pairs)
    best = rows[0]["system"]
    chosen = [pair for pair in pairs if with_baseline or best in (pair["system_a"], pair["system_b"])]
    values = []
    for pair in chosen:
        turned = not with_baseline  # the best is the first of its pairs, and the others are shown against it
        sign = -1 if turned else 1
        ends = [sign * pair[end] for end in (("upper", "lower") if turned else ("lower", "upper"))]
        values.append(
            {
                "system": pair["system_b" if turned else "system_a"],
                "against": pair["system_a" if turned else "system_b"],
                "difference": sign * pair["difference"],
                "lower": ends[0],
                "upper": ends[1],
                "p_adjusted": pair["p_adjusted"],
                "verdict": "significant" if pair["significant"] else "not significant",
            }
        )
    return values


MOST_BARS = 200  # topics; more are drawn as an area
MOST_STEPS = 400  # of an area


def topic_chart(
    pairs: Sequence[Mapping[str, Any]],
    differences: Sequence[Sequence[float]],
    topics: Sequence[str],
    *,
    measure: str,
    interval: str,
    title: str = "",
    lower_is_better: bool = False,
) -> Any:
    """Draw the difference of two systems on every topic, the best topic first, with the mean and its interval.

    There is one bar per topic, or an area where topics are more than 200; several ``pairs`` have a panel each.
    ``differences`` are those of every pair, in the order of ``topics``, whose names an area does not need.
    """
    import altair

    several = len(pairs) > 1
    panels = []
    for pair, values in zip(pairs, differences, strict=True):
        rows = topic_rows(values, topics, lower_is_better=lower_is_better)
        named, size = f"{pair['system_a']} − {pair['system_b']}", (340, 180) if several else (560, 280)
        heading = altair.Title(
            named if several else title or named,
            subtitle=[
                *([] if several or not title else [named]),
                *_topic_words(pair, "" if several else f"{interval} "),
            ],
        )
        first = altair.Y("difference:Q", title=f"difference in {measure}")
        draw = _topic_bars if len(values) <= MOST_BARS else _topic_area
        layers = [*_reach(pair), *draw(rows, first, size[0], len(values)), *_rules(pair, first)]
        panels.append(altair.layer(*layers).properties(width=size[0], height=size[1], title=heading))
    if not several:
        return styled(panels[0])
    return styled(altair.concat(*panels, columns=2, title=title).resolve_scale(y="shared"))


def topic_rows(
    differences: Sequence[float], topics: Sequence[str], *, lower_is_better: bool = False
) -> list[dict[str, Any]]:
    """One row per topic, the best first; of more than 200 topics some of them, evenly spaced and with both ends."""
    order = sorted(range(len(differences)), key=lambda at: differences[at] * (1 if lower_is_better else -1))
    steps = min(len(order), MOST_STEPS if len(order) > MOST_BARS else MOST_BARS)
    places = [round(at * (len(order) - 1) / max(1, steps - 1)) for at in range(steps)]
    rows = []
    for place in places:
        value = float(differences[order[place]])
        sign = -value if lower_is_better else value
        verdict = "better" if sign > 0 else "worse" if sign < 0 else "equal"
        name = topics[order[place]] if topics else ""
        rows.append({"place": place + 1, "topic": name, "difference": value, "verdict": verdict})
    return rows


def _topic_words(pair: Mapping[str, Any], interval: str) -> list[str]:
    known = pair["lower"] == pair["lower"]
    ends = f", {interval}interval [{pair['lower']:+.4f}, {pair['upper']:+.4f}] (grey)" if known else ""
    counts = f"better on {pair['wins']:,} topics, worse on {pair['losses']:,}, equal on {pair['ties']:,}"
    return [f"mean {pair['difference']:+.4f} (dashed){ends}".replace("-", "−"), counts]


def _reach(pair: Mapping[str, Any]) -> list[Any]:
    """The interval of the mean, behind the topics."""
    if pair["lower"] != pair["lower"]:
        return []
    base = _layer([{"lower": pair["lower"], "upper": pair["upper"]}])
    return [base.mark_rect(color="#999999", opacity=0.25).encode(y="lower:Q", y2="upper:Q")]


def _rules(pair: Mapping[str, Any], y: Any) -> list[Any]:
    """Lines at 0 and, dashed, at the mean."""
    return [
        _layer([{"difference": 0}]).mark_rule(color="#000000").encode(y=y),
        _layer([{"difference": pair["difference"]}]).mark_rule(color="#000000", strokeDash=[4, 3]).encode(y=y),
    ]


_VERDICTS = {"better": COLOURS[0], "equal": "#999999", "worse": COLOURS[1]}
_TOPICS_AXIS = "topics, the best first"


def _topic_bars(rows: Sequence[Mapping[str, Any]], y: Any, width: int, count: int) -> list[Any]:
    import altair

    named = 9 * count <= width and max(len(row["topic"]) for row in rows) <= 12
    axis = altair.Axis(labels=named, ticks=False, labelAngle=-90, labelFontSize=9, labelOverlap=False, grid=False)
    x = altair.X("topic:N", sort=None, title=_TOPICS_AXIS, axis=axis)
    colours = altair.Scale(domain=list(_VERDICTS), range=list(_VERDICTS.values()))
    hover = [altair.Tooltip("topic:N"), altair.Tooltip("difference:Q")]
    bars = _layer(rows).mark_bar(binSpacing=0)
    colour = altair.Color("verdict:N", scale=colours, legend=None)
    return [bars.encode(x=x, y=y, color=colour, tooltip=hover)]


def _topic_area(rows: Sequence[Mapping[str, Any]], y: Any, _: int, count: int) -> list[Any]:
    import altair

    x = altair.X("place:Q", title=_TOPICS_AXIS, scale=altair.Scale(domain=[1, count], nice=False))
    layers = []
    for verdict in ("better", "worse"):
        # Where it is neither, the area has no height, and so each ends where the other begins.
        part = [{**row, "difference": row["difference"] if row["verdict"] == verdict else 0.0} for row in rows]
        area = _layer(part).mark_area(color=_VERDICTS[verdict], interpolate="step")
        layers.append(area.encode(x=x, y=y))
    return layers


def _order(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [row["system"] for row in rows]


def _width(systems: int) -> int:
    return max(520, min(1400, 9 * systems))


def _points(rows: Sequence[Mapping[str, Any]], x: Any) -> Any:
    import altair

    points = [{name: row[name] for name in ("system", "rank", "score")} for row in rows]
    base = altair.Chart(altair.Data(values=points))  # type: ignore[no-untyped-call]
    return base.mark_point(color="#000000", filled=True, size=16, opacity=1).encode(x=x, y="score:Q")


def matrix_chart(rows: Sequence[Mapping[str, Any]], pairs: Sequence[Mapping[str, Any]], *, title: str = "") -> Any:
    """Draw every pair as a cell, coloured by its difference if significant, pale otherwise."""
    import altair

    order = [row["system"] for row in rows]
    both = [dict(pair) for pair in pairs]
    both += [
        {**pair, "system_a": pair["system_b"], "system_b": pair["system_a"], "difference": -pair["difference"]}
        for pair in pairs
    ]
    data = altair.Data(values=both)  # type: ignore[no-untyped-call]
    across, down = _names_axis(len(order)), _names_axis(len(order), upright=True)
    reach = max(abs(pair["difference"]) for pair in pairs) or 1.0
    colour = altair.Color(
        "difference:Q",
        title=["row minus column", "(pale: not significant)"],
        scale=altair.Scale(scheme="blueorange", domain=[-reach, reach], reverse=True),
    )
    names = ("system_a", "system_b", "difference", "p_adjusted", "significant")
    hover = [altair.Tooltip(f"{name}:{'Q' if name in ('difference', 'p_adjusted') else 'N'}") for name in names]
    size = max(320, min(1100, 8 * len(order)))
    shown = altair.condition("datum.significant", altair.value(1.0), altair.value(0.18))
    return styled(
        altair.Chart(data, title=title, width=size, height=size)
        .mark_rect()
        .encode(
            x=altair.X("system_b:N", sort=order, title="system, best first", axis=across),
            y=altair.Y("system_a:N", sort=order, title="system, best first", axis=down),
            color=colour,
            opacity=shown,
            tooltip=hover,
        )
    )


MOST_IN_DIAGRAM = 30  # systems of a critical-difference diagram
_SIDE, _LINE = 300, 19  # pixels of a name beside the diagram, and of a line of it
_FIRST_BAR, _BAR = 0.9, 0.5  # lines from the axis to the bars, and from one to the next


def group_diagram(
    systems: Sequence[tuple[str, float]],
    groups: Sequence[Sequence[int]],
    *,
    axis: str,
    title: str,
    subtitle: Sequence[str] = (),
    critical: float | None = None,
    best: Collection[str] = (),
    best_is_high: bool = False,
) -> Any:
    """Draw systems on an axis, the best at the left, and bars that join those that are not separable.

    The form of Demšar (2006), Fig. 1. ``groups`` are the places of systems that are joined, in order; a bar has a
    dot at each of them. Of many systems the best 30 are drawn, and a bar that goes on beyond them ends at the edge.
    ``critical`` is a difference to draw to scale; where some are named, only the points of the ``best`` are blue.
    """
    import altair

    shown = list(systems[:MOST_IN_DIAGRAM])
    bars = _stacked_bars(_bars_among(groups, len(shown)))
    names_from = _FIRST_BAR + _BAR * (1 + max((level for _, level in bars), default=0))
    low, high = min(value for _, value in shown), max(value for _, value in shown)
    high = max(high, low + (critical or 0.0))
    room = 0.03 * (high - low or 1.0)
    ends = (high + room, low - room) if best_is_high else (low - room, high + room)
    bottom = names_from + (len(shown) + 1) // 2 + (1.5 if critical is not None else 0)
    scales = {
        "x": altair.Scale(domain=list(ends), nice=False, zero=False),
        "y": altair.Scale(domain=[0, bottom], nice=False, reverse=True),
    }
    beyond = {tuple(at for at in group if at < len(shown)) for group in groups if group[-1] >= len(shown)}
    joined = [
        {
            "value": shown[group[0]][1],
            "end": ends[1] if tuple(group) in beyond else shown[group[-1]][1],
            "line": _FIRST_BAR + _BAR * level,
            "systems": len(group),
            "joined": ", ".join(shown[at][0] for at in group),
            "members": [shown[at][1] for at in group],
        }
        for group, level in bars
    ]
    layers = [
        *_named_points(_in_colour(_label_places(shown, names_from, ends), best), scales, axis),
        *_joining_bars(joined, scales),
    ]
    if critical is not None:
        layers += _critical_bar({"value": low, "end": low + critical, "line": bottom - 0.4}, scales)
    lines = [line for line in subtitle if line]
    heading = altair.Title(title, subtitle=lines) if lines else title
    return styled(altair.layer(*layers).properties(title=heading, width=520, height=_LINE * bottom))


def _in_colour(marks: Sequence[dict[str, Any]], best: Collection[str]) -> list[dict[str, Any]]:
    return [{**mark, "colour": BLUE if not best or mark["system"] in best else GREY} for mark in marks]


def _named_points(marks: Sequence[Mapping[str, Any]], scales: Mapping[str, Any], axis: str) -> list[Any]:
    """Points below the axis, with lines to it and to the names at the side."""
    import altair

    x = altair.X("value:Q", title=axis, scale=scales["x"], axis=altair.Axis(orient="top", grid=False))
    y = altair.Y("line:Q", scale=scales["y"], axis=None)
    from_axis = altair.Y("zero:Q", scale=scales["y"], axis=None)
    hover = [altair.Tooltip("system:N"), altair.Tooltip("value:Q", title=axis)]
    colour = altair.Color("colour:N", scale=None)
    base = _chart(marks, 520, 0)
    layers = [
        base.mark_rule(color="#888").encode(x=x, y=from_axis, y2="line:Q"),
        base.mark_rule(color="#888").encode(x=x, x2="edge:Q", y=y),
        base.mark_point(filled=True, size=22, opacity=1).encode(x=x, y=y, color=colour, tooltip=hover),
    ]
    for side, align, shift in (("left", "right", -6), ("right", "left", 6)):
        named = [mark for mark in marks if mark["side"] == side]
        if named:
            text = _chart(named, 520, 0).mark_text(align=align, dx=shift, limit=_SIDE, fontSize=12)
            edge = altair.X("edge:Q", scale=scales["x"])
            layers.append(text.encode(x=edge, y=y, text="system:N", tooltip=hover))
    return layers


def _joining_bars(joined: Sequence[Mapping[str, Any]], scales: Mapping[str, Any]) -> list[Any]:
    import altair

    if not joined:
        return []
    bars = _chart(joined, 520, 0).mark_rule(color=COLOURS[1], strokeWidth=4)
    x, y = altair.X("value:Q", scale=scales["x"]), altair.Y("line:Q", scale=scales["y"], axis=None)
    hover = [altair.Tooltip("joined:N"), altair.Tooltip("systems:Q")]
    members = [{**bar, "value": value} for bar in joined for value in bar["members"]]
    dots = _chart(members, 520, 0).mark_point(filled=True, size=30, color=COLOURS[1], opacity=1)
    return [bars.encode(x=x, x2="end:Q", y=y, tooltip=hover), dots.encode(x=x, y=y, tooltip=hover)]


def _critical_bar(bar: Mapping[str, Any], scales: Mapping[str, Any]) -> list[Any]:
    """The critical difference to scale, below the names."""
    import altair

    base = _chart([bar], 520, 0)
    x, y = altair.X("value:Q", scale=scales["x"]), altair.Y("line:Q", scale=scales["y"], axis=None)
    said = altair.value(f"critical difference {bar['end'] - bar['value']:.3g}")
    return [
        base.mark_rule(color="#000000", strokeWidth=2).encode(x=x, x2="end:Q", y=y),
        base.mark_text(align="left", dy=-9, fontSize=12).encode(x=x, y=y, text=said),
    ]


def _bars_among(groups: Sequence[Sequence[int]], count: int) -> list[list[int]]:
    """The groups of two or more among the first systems, without those that lie within another."""
    shown = [[at for at in group if at < count] for group in groups]
    kept = [group for group in shown if len(group) > 1]
    distinct = [list(group) for group in dict.fromkeys(map(tuple, kept))]
    return [group for group in distinct if not any(set(group) < set(other) for other in distinct)]


def _stacked_bars(groups: Sequence[Sequence[int]]) -> list[tuple[Sequence[int], int]]:
    """Each bar with the first line on which it touches no other."""
    ends: list[int] = []
    placed = []
    for group in groups:
        level = next((at for at, end in enumerate(ends) if end < group[0]), len(ends))
        ends[level : level + 1] = [group[-1]]
        placed.append((group, level))
    return placed


def _label_places(
    systems: Sequence[tuple[str, float]], first_line: float, ends: tuple[float, float]
) -> list[dict[str, Any]]:
    """The better half of the names down the left side, the others up the right side."""
    half = (len(systems) + 1) // 2
    return [
        {
            "system": name,
            "value": value,
            "zero": 0.0,
            "line": first_line + (at if at < half else len(systems) - 1 - at),
            "side": "left" if at < half else "right",
            "edge": ends[0] if at < half else ends[1],
        }
        for at, (name, value) in enumerate(systems)
    ]


def forest_chart(rows: Sequence[Mapping[str, Any]], *, axis: str, title: str, titles: Mapping[str, str]) -> Any:
    """Draw effects with their intervals, one panel per ``pair``: points of collections, and what combines them."""
    import altair

    order = list(dict.fromkeys(row["name"] for row in rows))
    kinds = list(titles)
    colours = altair.Scale(domain=[titles[kind] for kind in kinds], range=["#888", *COLOURS][: len(kinds)])
    labelled = [{**row, "kind": titles[row["kind"]]} for row in rows]
    data = altair.Data(values=finite(labelled))  # type: ignore[no-untyped-call]
    y = altair.Y("name:N", sort=order, title=None, axis=altair.Axis(labelLimit=280))
    tips = [altair.Tooltip("pair:N"), altair.Tooltip("name:N"), altair.Tooltip("kind:N")]
    tips += [altair.Tooltip(f"{word}:Q") for word in ("difference", "lower", "upper")]
    base = altair.Chart(width=420, height=altair.Step(20)).encode(
        y=y, tooltip=tips, color=altair.Color("kind:N", title=None, scale=colours, sort=None)
    )
    reach = base.mark_rule(strokeWidth=3).encode(x=altair.X("lower:Q", title=axis), x2="upper:Q")
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        x="difference:Q", shape=altair.Shape("kind:N", title=None, scale=altair.Scale(domain=colours.domain), sort=None)
    )
    zero = altair.Chart().mark_rule(color="#000000", strokeDash=[4, 3]).encode(x=altair.datum(0))
    pairs = list(dict.fromkeys(row["pair"] for row in rows))
    if len(pairs) == 1:
        return styled(altair.layer(zero, reach, points, data=data).properties(title=title))
    header = altair.Header(labelOrient="top", labelAnchor="start", labelFontSize=12, labelLimit=500)
    panels = altair.layer(zero, reach, points, data=data).facet(
        row=altair.Row("pair:N", sort=pairs, title=None, header=header), title=title
    )
    return styled(panels)


Rows = Sequence[Mapping[str, Any]]
BLUE, GREY, PALE = COLOURS[0], "#8c8c8c", "#9ebcda"  # a point, and the interval around it
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


def variance_figure(rows: Rows, *, title: str = "") -> Any:
    """Draw every estimate of σ² with its interval."""
    import altair

    words = ("measure", "collection", "method", "variance", "lower", "upper")
    named = [{**{word: row[word] for word in words}, "estimate": _estimate(row)} for row in rows]
    y = altair.Y("estimate:N", sort=[row["estimate"] for row in named], title=None, axis=altair.Axis(labelLimit=300))
    base = _chart(named, 520, max(80, 22 * len(named))).encode(y=y, tooltip=_hover(named, words[:3]))
    low = altair.X("lower:Q", title="estimate of the variance σ², with its interval", scale=altair.Scale(zero=True))
    bars = base.mark_rule(color=PALE, strokeWidth=5).encode(x=low, x2="upper:Q")
    points = base.mark_point(color=BLUE, filled=True, size=40).encode(x="variance:Q")
    return styled(altair.layer(bars, points).properties(title=title))


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
    return {**spec, "data": {"values": with_visible_names(cells + turned)}}


def _chart(rows: Rows, width: int, height: int) -> Any:
    return _layer(rows).properties(width=width, height=height)


def _layer(rows: Rows) -> Any:
    """What a layer draws, in the size of the chart that it is a layer of."""
    import altair

    return altair.Chart(altair.Data(values=[dict(row) for row in rows]))  # type: ignore[no-untyped-call]


def _hover(rows: Rows, names: Sequence[str]) -> list[Any]:
    import altair

    return [altair.Tooltip(f"{word}:{'N' if word in names else 'Q'}") for word in rows[0]]
