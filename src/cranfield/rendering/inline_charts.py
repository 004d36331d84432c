"""Charts inside a page: SVG that follows the style of the page, or PNG for charts with very many marks."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Mapping
from typing import Any

from cranfield.rendering.manuscript import finite

MOST_MARKS = 2000  # an SVG with more marks is larger than the same chart as PNG, and slow to render
_NUMBER = re.compile(r"-?\d+\.\d{4,}(?:e-?\d+)?")
_SIZE = re.compile(r'<svg ([^>]*?)width="([\d.]+)" height="([\d.]+)"')


def inline_picture(chart: Any, title: str, name: str) -> str:
    """Return the markup of a chart: ``<svg>``, or ``<img>`` with embedded data. ``name`` makes its ids unique."""
    import vl_convert

    spec = finite(page_spec(chart))
    if _marks(spec) > MOST_MARKS:
        png = vl_convert.vegalite_to_png(json.dumps(spec))
        width, height = struct.unpack(">II", png[16:24])  # where every PNG has them
        source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
        return f'<img alt="{_attribute(title)}" width="{width}" height="{height}" src="{source}">'
    return _fitting(vl_convert.vegalite_to_svg(json.dumps(spec)), title, name)


def inline_svg(chart: Any, title: str, name: str) -> str:
    """Return the chart as ``<svg>`` for any number of marks, for a page that does not allow embedded images."""
    import vl_convert

    return _fitting(vl_convert.vegalite_to_svg(json.dumps(finite(page_spec(chart)))), title, name)


def picture_width(markup: str) -> float:
    """Return the width in pixels of the markup of a chart."""
    found = re.search(r'width="([\d.]+)"', markup)
    return float(found[1]) if found else 0.0


def page_spec(chart: Any) -> dict[str, Any]:
    """Fit the chart to a page: legends below, and space for a font that is wider than the default."""
    spec: dict[str, Any] = dict(chart) if isinstance(chart, Mapping) else chart.to_dict()
    config = spec.get("config", {})
    legend = {**config.get("legend", {}), "orient": "bottom", "columns": 1 if _wordy(spec) else 3}
    padding = {"left": 20, "top": 5, "right": 20, "bottom": 5}
    return {**spec, "config": {**config, "legend": legend}, "padding": padding}


def _wordy(spec: dict[str, Any]) -> bool:
    """Return whether names in a legend are too long for one line."""
    domains = [
        name
        for layer in [spec, *spec.get("layer", [])]
        for name in layer.get("encoding", {}).get("color", {}).get("scale", {}).get("domain", [])
    ]
    return max((len(str(name)) for name in domains), default=0) > 16


def _marks(spec: dict[str, Any]) -> int:
    """Count the marks over all layers."""
    layers = spec.get("layer", [])
    shared = len(spec.get("data", {}).get("values", []))
    own = [len(layer.get("data", {}).get("values", [])) for layer in layers]
    return max(1, len(layers)) * shared + sum(own)


def _fitting(svg: str, title: str, name: str) -> str:
    """Make the ids unique, add a label for screen readers, and round the numbers in labels."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r' aria-roledescription="[^"]*"', "", svg)  # a fifth of the file, and redundant with the label
    svg = re.sub(r'aria-label="[^"]*"', lambda label: _NUMBER.sub(_rounded, label[0]), svg)
    svg = re.sub(r"(?<=[\s,.\dMLHVhvlcCZ-])(\d+\.\d{3})\d+", r"\1", svg)  # a thousandth of a pixel is not visible
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
