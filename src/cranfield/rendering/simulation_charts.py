"""Charts of simulated scores beside those that were observed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from cranfield.errors import RequestError
from cranfield.rendering.charts import Point, Series, curves, scatter
from cranfield.rendering.drawing import Axis, Chart, Panel
from cranfield.runtime.random import generator

if TYPE_CHECKING:
    from cranfield.methods.simulation.fit_quality import Simulation

MOST_POINTS = 1500
NOTE = "Dashed: simulated as observed."


def _word(found: Simulation) -> str:
    return "set" if found.fit.is_moved else "observed"


def fit_chart(found: Simulation) -> Chart:
    """Simulated against observed means, and sds of pair differences."""
    fit = found.fit
    means = _scatter(_names(found), fit.mean, fit.simulated_mean, "mean", _word(found))
    return Chart(panels=[means, *_difference_panels(found, {"sd": "sd of a difference"})], note=NOTE)


def spread_chart(found: Simulation) -> Chart:
    """Simulated against observed variances, and correlations of pairs of systems."""
    fit, names = found.fit, _names(found)
    panels = [_scatter(names, fit.variance, fit.simulated_variance, "variance", _word(found))]
    pairs = [(a, b) for a in range(len(names)) for b in range(a + 1, len(names))]
    if pairs:
        kept = [pairs[at] for at in _some(len(pairs), "pairs")]
        seen, drawn = (
            [float(values[a, b]) for a, b in kept] for values in (fit.correlation, fit.simulated_correlation)
        )
        panels.append(_scatter([f"{names[a]} – {names[b]}" for a, b in kept], seen, drawn, "correlation", "observed"))
    return Chart(panels=panels, note=NOTE)


def differences_chart(found: Simulation) -> Chart:
    """Simulated against observed skew and kurtosis of pair differences, on which tests are based."""
    panels = _difference_panels(found, {"skew": "skew of a difference", "kurtosis": "excess kurtosis of a difference"})
    if not panels:
        raise RequestError("one system has no differences", fix="Choose another chart.")
    return Chart(panels=panels, note=NOTE)


def distributions_chart(found: Simulation) -> Chart:
    """The distribution functions of the best and the worst system for the first measure."""
    simulator = found.simulator
    count = len(simulator.systems) * simulator.replicates
    order = sorted(range(count), key=lambda at: -float(found.fit.mean[at]))
    panels = []
    for column in dict.fromkeys((order[0], order[-1])):
        name = " ".join(filter(None, found.fit.columns[column][1:]))
        kinds = {"simulated": _column(found, column)}
        if not found.fit.is_moved:
            kinds = {"observed": simulator.pilot[:, column].tolist(), **kinds}
        series = [Series(kind, _steps(values)) for kind, values in kinds.items()]
        y = Axis(title="cumulative share of topics", low=0, high=1, is_percent=True)
        panels.append(curves(series, x=Axis(title=f"{simulator.measures[0]}, score"), y=y, title=name))
    return Chart(panels=panels)


def _column(found: Simulation, column: int) -> list[float]:
    values: list[float] = (
        found.table.of(found.simulator.measures[0]).reshape(len(found.table.topics), -1)[:, column].tolist()
    )
    return values


def _steps(values: Sequence[float]) -> list[Point]:
    """The share of values at most as large, at 200 places."""
    ordered = sorted(values)
    low, high = ordered[0], ordered[-1]
    places = [low + (high - low) * at / 200 for at in range(201)]
    return [(place, bisect_right(ordered, place + 1e-12) / len(ordered)) for place in places]


def _names(found: Simulation) -> list[str]:
    return [" ".join(filter(None, column)) for column in found.fit.columns]


def _some(count: int, what: str) -> list[int]:
    kept: list[int] = generator(1, "chart", what).permutation(count)[:MOST_POINTS].tolist()
    return kept


def _difference_panels(found: Simulation, words: Mapping[str, str]) -> list[Panel]:
    each = found.fit.differences
    count = sum(len(one.sd) for one in each)
    names, kept = [one.measure for one in each for _ in one.sd], _some(count, "differences")
    panels = []
    for word, title in words.items() if count else ():
        seen, drawn = (
            [float(value) for one in each for value in getattr(one, name)] for name in (word, f"simulated_{word}")
        )
        panels.append(
            _scatter(
                [names[at] for at in kept], [seen[at] for at in kept], [drawn[at] for at in kept], title, "observed"
            )
        )
    return panels


def _scatter(names: Sequence[str], x: Iterable[float], y: Iterable[float], what: str, word: str) -> Panel:
    points = [(float(a), float(b)) for a, b in zip(x, y, strict=True)]
    return scatter(points, names, x=f"{what}, {word}", y=f"{what}, simulated")


CHARTS: Mapping[str, Callable[[Simulation], Chart]] = {
    "fit": fit_chart,
    "spread": spread_chart,
    "differences": differences_chart,
    "distributions": distributions_chart,
}
