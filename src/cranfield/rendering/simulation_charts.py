"""Charts of simulations and verifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.simulation.new_topics import Simulation
from cranfield.methods.verification.monte_carlo import Verification
from cranfield.rendering.charts import COLOURS, styled
from cranfield.runtime.random import generator

MOST_POINTS = 4000


def fit_chart(found: Simulation) -> Any:
    """Draw simulated against observed means, variances, correlations, distributions and pair differences."""
    import altair

    fit = found.fit
    names = [" ".join(filter(None, column)) for column in fit.columns]
    word = "set" if fit.is_moved else "observed"
    means = _scatter(names, fit.mean, fit.simulated_mean, f"mean, {word}", "mean, simulated")
    variances = _scatter(names, fit.variance, fit.simulated_variance, f"variance, {word}", "variance, simulated")
    panels = [means, variances]
    if len(names) > 1:
        first, second = np.triu_indices(len(names), k=1)
        kept = generator(1, "chart", "pairs").permutation(len(first))[:MOST_POINTS]
        pairs = [f"{names[a]} – {names[b]}" for a, b in zip(first[kept], second[kept], strict=True)]
        seen, drawn = (each[first, second][kept] for each in (fit.correlation, fit.simulated_correlation))
        panels.append(_scatter(pairs, seen, drawn, "correlation, observed", "correlation, simulated", size=8))
    panels.append(_shapes(found))
    panels += _difference_panels(found)
    rows = [altair.hconcat(*panels[at : at + 2], spacing=40) for at in range(0, len(panels), 2)]
    return styled(altair.vconcat(*rows, spacing=30))


def _difference_panels(found: Simulation) -> list[Any]:
    """Draw the sd, skew and kurtosis of the differences of pairs of systems, for all measures together."""
    each = found.fit.differences
    count = sum(len(one.sd) for one in each)
    kept = generator(1, "chart", "differences").permutation(count)[:MOST_POINTS]
    names = [one.measure for one in each for _ in one.sd]
    words = {"sd": "sd of a difference", "skew": "skew of a difference", "kurtosis": "excess kurtosis of a difference"}
    panels = []
    for word, title in words.items() if count else ():
        seen, drawn = (
            np.concatenate([getattr(one, name) for one in each])[kept] for name in (word, f"simulated_{word}")
        )
        panels.append(
            _scatter([names[at] for at in kept], seen, drawn, f"{title}, observed", f"{title}, simulated", size=8)
        )
    return panels


def _scatter(names: Sequence[str], x: Any, y: Any, x_title: str, y_title: str, size: int = 22) -> Any:
    import altair

    points = [{"name": name, "x": float(a), "y": float(b)} for name, a, b in zip(names, x, y, strict=True)]
    ends = [float(min(np.min(x), np.min(y))), float(max(np.max(x), np.max(y)))]
    line = altair.Chart(altair.Data(values=[{"x": end, "y": end} for end in ends]))  # type: ignore[no-untyped-call]
    dots = altair.Chart(altair.Data(values=points), width=300, height=240)  # type: ignore[no-untyped-call]
    scale = altair.Scale(zero=False, nice=True)
    encoded = dots.mark_point(color=COLOURS[0], filled=True, size=size, opacity=0.6).encode(
        x=altair.X("x:Q", title=x_title, scale=scale),
        y=altair.Y("y:Q", title=y_title, scale=scale),
        tooltip=[altair.Tooltip("name:N"), altair.Tooltip("x:Q", title=x_title), altair.Tooltip("y:Q", title=y_title)],
    )
    return line.mark_line(color="#999999", strokeWidth=1).encode(x="x:Q", y="y:Q") + encoded


def _shapes(found: Simulation) -> Any:
    """Draw the distribution functions of the best, the median and the worst system for the first measure."""
    import altair

    simulator = found.simulator
    count = len(simulator.systems) * simulator.replicates
    order = np.argsort(-found.fit.mean[:count], kind="stable")
    chosen = list(dict.fromkeys([int(order[0]), int(order[count // 2]), int(order[-1])]))
    drawn = np.moveaxis(found.table.values, 1, 0).reshape(len(found.table.topics), -1)
    rows = []
    for column in chosen:
        name = " ".join(filter(None, found.fit.columns[column][1:]))
        for kind, scores in (("observed", simulator.pilot[:, column]), ("simulated", drawn[:, column])):
            if kind == "observed" and found.fit.is_moved:
                continue
            places, counts = np.unique(scores, return_counts=True)
            share = np.cumsum(counts) / len(scores)
            step = max(1, len(places) // 200)
            rows += [
                {"system": name, "topics": kind, "score": float(x), "share": float(p)}
                for x, p in zip(places[::step], share[::step], strict=True)
            ]
    data = altair.Data(values=rows)  # type: ignore[no-untyped-call]
    title = f"{simulator.measures[0]}, score"
    return (
        altair.Chart(data, width=300, height=240)
        .mark_line(interpolate="step-after", strokeWidth=1.5)
        .encode(
            x=altair.X("score:Q", title=title),
            y=altair.Y("share:Q", title="cumulative share of topics"),
            color=altair.Color("system:N", sort=None, scale=altair.Scale(range=COLOURS)),
            strokeDash=altair.StrokeDash("topics:N", sort=["simulated", "observed"]),
        )
    )


def power_chart(found: Sequence[Verification]) -> Any:
    """Draw the power against topics with its interval, the required power, and the power by the formula."""
    import altair

    if not any(each.curve for each in found):
        raise RequestError("without a search there is no curve to draw", fix="Leave out `search=False`, or `plot`.")
    rows: list[Mapping[str, Any]] = []
    marks: list[Mapping[str, Any]] = []
    for each in found:
        name = _label(each, found)
        rows += [{"design": name, **look.to_dict()} for look in each.curve]
        lower, upper = each.power.interval
        mark = {"design": name, "topics": each.design.topics, "lower": lower, "upper": upper}
        marks.append({**mark, "achieved_power": each.power.rate, "what": "the design, measured"})
        if each.design.promised_power == each.design.promised_power:
            marks.append({**mark, "achieved_power": each.design.promised_power, "what": "the design, by its formula"})
    data = altair.Data(values=rows)  # type: ignore[no-untyped-call]
    colour = altair.Color("design:N", sort=None, title=None, scale=altair.Scale(range=COLOURS))
    x = altair.X("topics:Q", title="number of topics n", scale=altair.Scale(zero=False))
    y = altair.Y("achieved_power:Q", title="power", scale=altair.Scale(domain=[0, 1]))
    hover = [altair.Tooltip(f"{word}:Q") for word in ("topics", "achieved_power", "lower", "upper")]
    base = altair.Chart(data, width=520, height=320).encode(x=x, color=colour)
    band = base.mark_area(opacity=0.2).encode(y=altair.Y("lower:Q", title="power"), y2="upper:Q")
    line = base.mark_line(point={"size": 18}, strokeWidth=2).encode(y=y, tooltip=hover)
    wanted = [{"power": power} for power in dict.fromkeys(each.design.power for each in found)]
    target = altair.Chart(altair.Data(values=wanted))  # type: ignore[no-untyped-call]
    rule = target.mark_rule(strokeDash=[4, 4], color="#666666").encode(y="power:Q")
    points = altair.Chart(altair.Data(values=marks)).encode(x=x, y=y, tooltip=hover)  # type: ignore[no-untyped-call]
    shape = altair.Shape(
        "what:N",
        title=None,
        scale=altair.Scale(domain=["the design, measured", "the design, by its formula"], range=["diamond", "cross"]),
    )
    dots = points.mark_point(size=110, filled=True, color="#000000").encode(shape=shape)
    return styled(band + line + rule + dots)


def _label(each: Verification, found: Sequence[Verification]) -> str:
    design = each.design
    parts = [f"{design.measure} " if design.measure else "", design.test]
    if len({other.design.systems for other in found}) > 1:
        parts.append(f", {design.systems} systems")
    if len({other.design.difference for other in found}) > 1:
        parts.append(f", {design.difference:g}")
    return "".join(parts)
