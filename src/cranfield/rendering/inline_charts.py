"""Charts as they stand inside a page: SVG that the page's own style colours, or a PNG where marks are very many."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Mapping
from typing import Any

from cranfield.rendering.manuscript import finite

MOST_MARKS = 2000  # an SVG of more is larger than the same picture as PNG, and slow to show
_NUMBER = re.compile(r"-?\d+\.\d{4,}(?:e-?\d+)?")
_SIZE = re.compile(r'<svg ([^>]*?)width="([\d.]+)" height="([\d.]+)"')


def inline_picture(chart: Any, title: str, name: str) -> str:
    """Markup for a chart: an ``<svg>``, or an ``<img>`` that holds its own data. ``name`` keeps its ids apart."""
    import vl_convert

    spec = finite(page_spec(chart))
    if _marks(spec) > MOST_MARKS:
        png = vl_convert.vegalite_to_png(json.dumps(spec))
        width, height = struct.unpack(">II", png[16:24])  # where every PNG has them
        source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
        return f'<img alt="{_attribute(title)}" width="{width}" height="{height}" src="{source}">'
    return _fitting(vl_convert.vegalite_to_svg(json.dumps(spec)), title, name)


def inline_svg(chart: Any, title: str, name: str) -> str:
    """The same as ``<svg>`` however many marks there are, for a page that may not show data of its own as an image."""
    import vl_convert

    return _fitting(vl_convert.vegalite_to_svg(json.dumps(finite(page_spec(chart)))), title, name)


def picture_width(markup: str) -> float:
    """The width in pixels that a picture's markup asks for."""
    found = re.search(r'width="([\d.]+)"', markup)
    return float(found[1]) if found else 0.0


def page_spec(chart: Any) -> dict[str, Any]:
    """The chart as a page has room for it: legends below, and space for a font wider than the one it is drawn with."""
    spec: dict[str, Any] = dict(chart) if isinstance(chart, Mapping) else chart.to_dict()
    config = spec.get("config", {})
    legend = {**config.get("legend", {}), "orient": "bottom", "columns": 1 if _wordy(spec) else 3}
    padding = {"left": 20, "top": 5, "right": 20, "bottom": 5}
    return {**spec, "config": {**config, "legend": legend}, "padding": padding}


def _wordy(spec: dict[str, Any]) -> bool:
    """Whether names in a legend are too long to stand side by side."""
    domains = [
        name
        for layer in [spec, *spec.get("layer", [])]
        for name in layer.get("encoding", {}).get("color", {}).get("scale", {}).get("domain", [])
    ]
    return max((len(str(name)) for name in domains), default=0) > 16


def _marks(spec: dict[str, Any]) -> int:
    """How many rows are drawn, in every layer that draws them."""
    layers = spec.get("layer", [])
    shared = len(spec.get("data", {}).get("values", []))
    own = [len(layer.get("data", {}).get("values", [])) for layer in layers]
    return max(1, len(layers)) * shared + sum(own)


def _fitting(svg: str, title: str, name: str) -> str:
    """The SVG with ids of its own, a name for those who cannot see it, and rounded numbers in its labels."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r' aria-roledescription="[^"]*"', "", svg)  # a fifth of the file, and said by the label
    svg = re.sub(r'aria-label="[^"]*"', lambda label: _NUMBER.sub(_rounded, label[0]), svg)
    svg = re.sub(r"(?<=[\s,.\dMLHVhvlcCZ-])(\d+\.\d{3})\d+", r"\1", svg)  # a thousandth of a pixel is not seen
    return _SIZE.sub(
        lambda found: (
            f'<svg {found[1]}role="img" aria-label="{_attribute(title)}" width="{found[2]}" height="{found[3]}"'
        ),
        svg,
        count=1,
    )


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.4g}"


def _attribute(text: str) -> str:
    from markupsafe import escape

    return str(escape(text))
