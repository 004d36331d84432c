"""Charts as plain SVG in a few microseconds, for pages that are recomputed while typing, in light and dark themes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cranfield.rendering.charts import COLOURS
from cranfield.rendering.document import html_text

WIDE, HIGH = 480, 330
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 12, 46
LEGEND = 18  # a line of it
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')

STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#222}.grid{stroke:#e5e5e5}.frame{stroke:#888}"
    ".curve{fill:none;stroke-width:2}.here{fill:#d55e00;stroke:#fff}.bar{stroke:#9ebcda;stroke-width:3}"
    ".mean{fill:#0072b2}"
    + "".join(f".c{at}{{stroke:{colour};}}.f{at}{{fill:{colour}}}" for at, colour in enumerate(COLOURS))
    + "@media(prefers-color-scheme:dark){svg{background:#16191d}text{fill:#e6e6e6}.grid{stroke:#333}"
    ".c6{stroke:#ddd}.f6{fill:#ddd}}"
)


@dataclass(frozen=True)
class Curve:
    """A curve: points in the order of x, and a name, which may be empty for a single curve."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Axis:
    """Mapping from values to pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        low, high, value = (math.log10(each) if self.log else each for each in (self.low, self.high, value))
        share = (value - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 2)

    def ticks(self) -> list[float]:
        return log_ticks(self.low, self.high) if self.log else nice_ticks(self.low, self.high)


def nice_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two values.

    >>> nice_ticks(0.04, 0.25)
    [0.05, 0.1, 0.15, 0.2, 0.25]
    """
    if not high > low:
        return [low]
    raw = (high - low) / most
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{step * at:.10g}") for at in range(first, last + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten; only powers of ten if those are many.

    >>> log_ticks(3, 150)
    [5.0, 10.0, 20.0, 50.0, 100.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1, 2, 5) if len(powers) <= 4 else (1,)
    return [float(f"{f * 10.0**p:.10g}") for p in powers for f in factors if low <= f * 10.0**p <= high * 1.0000001]


def line_sketch(
    curves: Sequence[Curve], *, x_title: str, y_title: str, log: bool = False, here: tuple[float, float] | None = None
) -> str:
    """Draw curves where they have finite values, with a mark at the current design; empty where there is none."""
    curves = [Curve(each.name, [point for point in each.points if all(map(math.isfinite, point))]) for each in curves]
    curves = [curve for curve in curves if curve.points]
    if not curves:
        return ""
    points = [point for curve in curves for point in curve.points]
    named = [curve for curve in curves if curve.name]
    bottom = HIGH - BOTTOM - LEGEND * len(named)
    xs, ys = [x for x, _ in points], [y for _, y in points]
    across = Axis(min(xs), max(xs), LEFT, WIDE - RIGHT)
    up = Axis(min(ys) if log else 0.0, max(ys) * (1 if log else 1.05), bottom, TOP, log)
    parts = [_frame(across, up, x_title, y_title)]
    for at, curve in enumerate(curves):
        parts.append(_curve(curve, at % len(COLOURS), across, up, (x_title, y_title)))
    for at, curve in enumerate(named):
        y = HIGH - LEGEND * (len(named) - at) + 8
        parts.append(f'<path class="curve c{at % len(COLOURS)}" d="M{LEFT} {y}h22"{_dash(at)}/>')
        parts.append(f'<text x="{LEFT + 28}" y="{y + 4}">{html_text(curve.name)}</text>')
    if here is not None and all(map(math.isfinite, here)):
        parts.append(_point(here, "here", 6, across, up, (x_title, y_title)))
    return _svg(parts, f"{y_title} against {x_title}")


def interval_sketch(rows: Sequence[Mapping[str, Any]], *, title: str) -> str:
    """Draw every system's mean with its interval, best first; names are tooltips, and axis labels if they are few."""
    few = len(rows) <= 15
    low = min(_or(row["lower"], row["score"]) for row in rows)
    high = max(_or(row["upper"], row["score"]) for row in rows)
    pad = 0.04 * (high - low or 1.0)
    across = Axis(0.5, len(rows) + 0.5, LEFT, WIDE - RIGHT)
    up = Axis(low - pad, high + pad, HIGH - BOTTOM - (50 if few else 0), TOP)
    parts = [_frame(across, up, "" if few else "rank of the system", title, upright=few)]
    for at, row in enumerate(rows, 1):
        x, mean = across.at(at), up.at(row["score"])
        said = f"{row['system']}: {row['score']:.4f}"
        if row["lower"] == row["lower"]:
            said += f" ({row['lower']:.4f} to {row['upper']:.4f})"
        if math.isfinite(row["lower"]) and math.isfinite(row["upper"]):
            parts.append(f'<path class="bar" d="M{x} {up.at(row["lower"])}V{up.at(row["upper"])}"/>')
        parts.append(f'<circle class="mean" cx="{x}" cy="{mean}" r="3"><title>{html_text(said)}</title></circle>')
        if few:
            place = f'x="{x}" y="{up.start + 12}" transform="rotate(-45 {x} {up.start + 12})"'
            parts.append(f'<text {place} text-anchor="end">{html_text(str(row["system"])[:16])}</text>')
    return _svg(parts, f"{title}, best system first")


def standalone(sketches: Sequence[str]) -> str:
    """Sketches one below the other, as a file of its own with their style."""
    sized = [each.replace("<svg ", f'<svg width="{WIDE}" height="{HIGH}" ', 1) for each in sketches]
    return stacked(sized).replace(">", f"><style>{STYLE}</style>", 1)


def stacked(charts: Sequence[str]) -> str:
    """Stack SVG charts of known size in one file."""
    sizes = [[float(number) for number in _SIZE.search(each).groups()] for each in charts]  # type: ignore[union-attr]
    inner, y = [], 0.0
    for each, (_, high) in zip(charts, sizes, strict=True):
        inner.append(each.replace("<svg ", f'<svg y="{y:g}" ', 1))
        y += high
    wide = max(size[0] for size in sizes)
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:g}" height="{y:g}">{"".join(inner)}</svg>'


def _svg(parts: Sequence[str], label: str) -> str:
    title = html_text(label)
    return (
        f'<svg class="sketch" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{title}">'
        f"<title>{title}</title>{''.join(parts)}</svg>"
    )


def _frame(across: Axis, up: Axis, x_title: str, y_title: str, *, upright: bool = False) -> str:
    parts = []
    for tick in up.ticks():
        y = up.at(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {y}H{WIDE - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{_number(tick)}</text>')
    for tick in [] if upright else across.ticks():
        x = across.at(tick)
        parts.append(f'<path class="frame" d="M{x} {up.start}v4"/>')
        parts.append(f'<text x="{x}" y="{up.start + 18}" text-anchor="middle">{_number(tick)}</text>')
    parts.append(f'<path class="frame" d="M{LEFT} {up.start}H{WIDE - RIGHT}"/>')
    middle = (across.start + across.end) / 2
    parts.append(f'<text x="{middle}" y="{up.start + 36}" text-anchor="middle">{html_text(x_title)}</text>')
    centre = (up.start + up.end) / 2
    turned = f'transform="rotate(-90 13 {centre})" x="13" y="{centre}" text-anchor="middle"'
    parts.append(f"<text {turned}>{html_text(y_title)}</text>")
    return "".join(parts)


def _curve(curve: Curve, colour: int, across: Axis, up: Axis, titles: tuple[str, str]) -> str:
    path = "L".join(f"{across.at(x)} {up.at(y)}" for x, y in curve.points)
    line = f'<path class="curve c{colour}" d="M{path}"{_dash(colour)}/>'
    return line + "".join(_point(point, f"f{colour}", 2.5, across, up, titles) for point in curve.points)


def _point(
    point: tuple[float, float], kind: str, radius: float, across: Axis, up: Axis, titles: tuple[str, str]
) -> str:
    said = f"{titles[0]} {_number(point[0])}: {titles[1]} {_number(point[1])}"
    place = f'cx="{across.at(point[0])}" cy="{up.at(point[1])}" r="{radius}"'
    return f'<circle class="{kind}" {place}><title>{html_text(said)}</title></circle>'


def _dash(at: int) -> str:
    dashes = ("", "6 3", "2 3", "8 3 2 3")
    return f' stroke-dasharray="{dashes[at % 4]}"' if at % 4 else ""


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and abs(value) < 1e9 else f"{value:.4g}"


def _or(value: float, other: float) -> float:
    return value if math.isfinite(value) else other
