"""Figures of Ferro and Sanderson (2019) for any shard study, and the variation between shardings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.comparison.anova import NESTED
from cranfield.methods.sharding.shard_models import BOOTSTRAP, RANDOM, SAMPLED, ShardResult, ShardStudy
from cranfield.rendering.charts import COLOURS, styled

Row = dict[str, Any]

# Bands overlap, so they are opaque and differ in lightness too; the widest is drawn first.
KINDS = {"Tukey": "#c6dff0", "ANOVA": "#6aaad6", "standard error": COLOURS[1]}
MODELS = {"MD1": "#d4d4d4", "MD2": "#b8dccf", "MD3": "#f3cf7e", "MD6": "#e58a4e", NESTED: "#e58a4e"}
OUTLINED = "standard error"  # crosses the others, so only its edges are drawn
TESTED = {
    "MD2": COLOURS[2],
    "MD3": COLOURS[5],
    "MD4": COLOURS[4],
    "MD5": COLOURS[3],
    "MD6": COLOURS[1],
    RANDOM: COLOURS[0],
    SAMPLED: "#8c564b",
    NESTED: COLOURS[1],
    BOOTSTRAP: COLOURS[6],
}
COUNTS = {
    "significant_pairs": "significant pairs",
    "top_group": "systems in the top group",
    "tau": "τ with the whole corpus",
    "omega_squared": "ω² of systems",
}
FEW = 40  # systems whose names fit under a panel
PANEL, HEIGHT = 430, 230


def shard_chart(study: ShardStudy, figure: str = "all") -> Any:
    """Draw one of the figures of Ferro and Sanderson (2019), or all of them."""
    if figure not in ("all", *FIGURES):
        raise RequestError(f"there is no figure «{figure}»", fix=f"Choose one of: all, {', '.join(FIGURES)}.")
    import altair

    drawn = [FIGURES[name](study) for name in (FIGURES if figure == "all" else (figure,))]
    return styled(altair.vconcat(*drawn).resolve_scale(color="independent") if len(drawn) > 1 else drawn[0])


def kinds_chart(study: ShardStudy) -> Any:
    """Ferro and Sanderson (2019), Fig. 3: three kinds of interval, whole corpus (MD1) and shards (MD6)."""
    fewest = min(_numbers(study))
    panels = []
    for measure in _measures(study):
        for result, where in (
            (_first(study, "MD1", measure, 1), f"{study.whole}, MD1"),
            (_first(study, study.richest, measure, fewest), f"{fewest} {study.replicate}, {study.richest}"),
        ):
            reaches = {
                "Tukey": result.intervals.tukey,
                "ANOVA": result.intervals.anova,
                OUTLINED: result.intervals.standard_error,
            }
            rows = [row for kind, reach in reaches.items() for row in _band(study, measure, result, kind, reach)]
            panels.append(_panel(rows, KINDS, "interval", f"{measure}, {where}", line=_line(study, measure, result)))
    return _grid(panels, 2, "Three kinds of interval around every system's mean")


def models_chart(study: ShardStudy) -> Any:
    """Ferro and Sanderson (2019), Fig. 4: Tukey's intervals of the models, on the largest number of shards."""
    most = max(_numbers(study))
    colours = {name: colour for name, colour in MODELS.items() if study.get(name)}
    panels = []
    for measure in _measures(study):
        results = {name: _first(study, name, measure, 1 if name == "MD1" else most) for name in colours}
        rows = [
            row for name, each in results.items() for row in _band(study, measure, each, name, each.intervals.tukey)
        ]
        title = f"{measure}, {most} {study.replicate}, τ = {results[study.richest].tau:.3f}"
        line = _line(study, measure, results[study.richest])
        panels.append(_panel(rows, colours, "model", title, line=line, dotted=_line(study, measure, results["MD1"])))
    return _grid(panels, 2, "Tukey's intervals by model")


def shards_chart(study: ShardStudy) -> Any:
    """Ferro and Sanderson (2019), Fig. 5: Tukey's intervals of MD1 and MD6, one panel per number of shards."""
    import altair

    colours = {name: MODELS[name] for name in ("MD1", study.richest)}
    rows_of_panels = []
    for measure in _measures(study):
        panels = []
        whole = _first(study, "MD1", measure, 1)
        for count in _numbers(study):
            split = _first(study, study.richest, measure, count)
            rows = _band(study, measure, whole, "MD1", whole.intervals.tukey)
            rows += _band(study, measure, split, study.richest, split.intervals.tukey)
            title = f"{measure}, {count} {study.replicate}, τ = {split.tau:.3f}"
            line, dotted = _line(study, measure, split), _line(study, measure, whole)
            panels.append(_panel(rows, colours, "model", title, line=line, dotted=dotted))
        rows_of_panels.append(_grid(panels, _columns(study), ""))
    title = f"Tukey's intervals by number of {study.replicate}"
    return altair.vconcat(*rows_of_panels, title=title)


def robustness_chart(study: ShardStudy) -> Any:
    """Draw the results of the models against the number of shards: mean and range over shardings."""
    panels = [
        _spread_panel(study, measure, word, title) for measure in _measures(study) for word, title in COUNTS.items()
    ]
    samples = 1 + max(result.sample for result in study.results)
    over = f"{samples} shardings: mean, smallest and largest" if samples > 1 else "one sharding"
    return _grid(panels, _columns(study), f"Results of each model, over {over} (dashed: MD1, {study.whole})")


FIGURES: Mapping[str, Callable[[ShardStudy], Any]] = {
    "kinds": kinds_chart,
    "models": models_chart,
    "shards": shards_chart,
    "robustness": robustness_chart,
}


# --- data


def _measures(study: ShardStudy) -> list[str]:
    return list(dict.fromkeys(result.measure for result in study.results))


def _columns(study: ShardStudy) -> int:
    """Arrange the panels: those of one measure in a square, those of several measures in rows."""
    return 2 if len(_measures(study)) == 1 else 4


def _numbers(study: ShardStudy) -> list[int]:
    return sorted({result.shards for result in study.results if result.shards > 1})


def _first(study: ShardStudy, model: str, measure: str, shards: int) -> ShardResult:
    return study.get(model, measure=measure, shards=shards)[0]


def _places(study: ShardStudy, measure: str) -> list[int]:
    """Sort systems by their mean on the whole corpus."""
    order: list[int] = np.argsort(-_first(study, "MD1", measure, 1).means, kind="stable").tolist()
    return order


def _band(study: ShardStudy, measure: str, result: ShardResult, name: str, reach: Any) -> list[Row]:
    half = np.broadcast_to(np.asarray(reach, float), result.means.shape)
    return [
        {
            "rank": rank,
            "system": study.systems[at],
            "band": name,
            "score": float(result.means[at]),
            "lower": float(result.means[at] - half[at]),
            "upper": float(result.means[at] + half[at]),
        }
        for rank, at in enumerate(_places(study, measure), start=1)
    ]


def _line(study: ShardStudy, measure: str, result: ShardResult) -> list[Row]:
    return [
        {"rank": rank, "system": study.systems[at], "score": float(result.means[at])}
        for rank, at in enumerate(_places(study, measure), start=1)
    ]


def _spread_rows(study: ShardStudy, measure: str, word: str) -> Iterable[Row]:
    # Rankings are those of the shards, whatever the model.
    for model in (study.richest,) if word == "tau" else TESTED:
        for count in _numbers(study):
            values = [getattr(each, word) for each in study.get(model, measure=measure, shards=count)]
            if values and values[0] == values[0]:
                row = {"value": float(np.mean(values)), "least": float(min(values)), "most": float(max(values))}
                yield {"model": model, "shards": count, "samples": len(values), **row}


# --- drawing


def _values(rows: Iterable[Row]) -> Any:
    import altair

    return altair.Data(values=list(rows))  # type: ignore[no-untyped-call]


def _panel(
    rows: Sequence[Row],
    colours: Mapping[str, str],
    legend: str,
    title: str,
    *,
    line: Sequence[Row],
    dotted: Sequence[Row] = (),
) -> Any:
    """Draw bands over the systems, best first, the line of their means, and a dotted line for the whole corpus."""
    import altair

    scale = altair.Scale(domain=list(colours), range=list(colours.values()))
    names = [row["system"] for row in line]
    few = len(names) <= FEW
    axis = altair.Axis(labels=few, ticks=few, labelAngle=-60, labelLimit=110, grid=False)
    x = altair.X("system:N", sort=names, title="system, best on the whole corpus first", axis=axis)
    hover = [
        altair.Tooltip("system:N"),
        altair.Tooltip("rank:Q"),
        altair.Tooltip("band:N", title=legend),
        altair.Tooltip("score:Q"),
        altair.Tooltip("lower:Q"),
        altair.Tooltip("upper:Q"),
    ]
    y = altair.Y("lower:Q", title="mean score", scale=altair.Scale(zero=False))
    colour = altair.Color("band:N", title=legend, scale=scale, sort=None)
    layers = []
    for band in colours:
        base = altair.Chart(_values(row for row in rows if row["band"] == band)).encode(
            x=x, color=colour, tooltip=hover
        )
        if band == OUTLINED:
            edge = base.mark_line(strokeWidth=1.2)
            layers += [edge.encode(y=y), edge.encode(y="upper:Q")]
        else:
            layers.append(base.mark_area(opacity=1).encode(y=y, y2="upper:Q"))
    for points, dash in ((dotted, [2, 2]), (line, [1, 0])):
        if points:
            path = altair.Chart(_values(points)).mark_line(color="#000000", strokeWidth=1, strokeDash=dash)
            layers.append(path.encode(x=x, y="score:Q"))
    return altair.layer(*layers).properties(title=title, width=PANEL, height=HEIGHT)


def _spread_panel(study: ShardStudy, measure: str, word: str, title: str) -> Any:
    import altair

    hover = [
        altair.Tooltip("model:N"),
        altair.Tooltip("shards:O"),
        altair.Tooltip("value:Q", title=f"mean {title}"),
        altair.Tooltip("least:Q"),
        altair.Tooltip("most:Q"),
        altair.Tooltip("samples:Q"),
    ]
    encode: dict[str, Any] = {
        "x": altair.X("shards:O", title=f"number of {study.replicate}", axis=altair.Axis(labelAngle=0)),
        "color": altair.value("#777777"),
        "tooltip": hover,
    }
    if word != "tau":  # which all models share
        tested = {name: colour for name, colour in TESTED.items() if study.get(name)}
        scale = altair.Scale(domain=list(tested), range=list(tested.values()))
        encode["color"] = altair.Color("model:N", scale=scale, sort=None, title="model")
        encode["xOffset"] = altair.XOffset("model:N", sort=list(tested), scale=altair.Scale(domain=list(tested)))
    height = altair.Y("least:Q", title=title, scale=altair.Scale(zero=word == "top_group"))
    base = altair.Chart(_values(_spread_rows(study, measure, word))).encode(**encode)
    layers = [
        base.mark_rule(strokeWidth=2).encode(y=height, y2="most:Q"),
        base.mark_point(filled=True, size=42, opacity=1).encode(y="value:Q"),
    ]
    if word != "tau":  # the whole corpus agrees with itself
        whole = [{"value": float(getattr(_first(study, "MD1", measure, 1), word))}]
        rule = altair.Chart(_values(whole)).mark_rule(color="#777777", strokeDash=[4, 3])
        layers.insert(0, rule.encode(y="value:Q", tooltip=[altair.Tooltip("value:Q", title=f"MD1, {study.whole}")]))
    return altair.layer(*layers).properties(title=f"{measure}: {title}", width=PANEL, height=HEIGHT)


def _grid(panels: Sequence[Any], columns: int, title: str) -> Any:
    import altair

    named = {"title": title} if title else {}
    return altair.concat(*panels, columns=columns, **named).resolve_scale(y="independent", x="independent")
