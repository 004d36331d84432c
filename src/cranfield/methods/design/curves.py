"""Curves of a design: the same request with one input varied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.design.inverse import detectable_difference, detectable_range, width_with
from cranfield.methods.design.request import GOALS, Request

AXES = (*GOALS, "systems", "variance", "correlation", "sd", "alpha", "power")
REACH = 2.5  # factor by which the input is decreased and increased
POINTS = 20  # to either side


def curve_through(request: Request, axis: str | None = None) -> Request:
    """Vary ``axis`` (by default the first goal) of a request around its value; a grid is left unchanged.

    >>> found = curve_through(Request(systems=[10], min_range=[0.1], variance=[0.053]))
    >>> len(found.min_range), 0.1 in found.min_range
    (41, True)
    """
    if any(len(getattr(request, name) or ()) > 1 for name in AXES):
        return request
    name = axis or next(iter(request.goals), "")
    values = getattr(request, name, None) if name in AXES else None
    if name in ("alpha", "power"):
        values = request.values(name)
    if not values:
        given = ", ".join(each for each in AXES if getattr(request, each) is not None)
        raise RequestError(f"the request has no «{name}» to vary", fix=f"Choose one of: {given}.")
    moved: dict[str, Any] = {name: _around(name, values[0], floor=request.values("alpha")[0])}
    return replace(request, **moved)


def _around(name: str, value: float, *, floor: float) -> list[float]:
    if name == "power":  # the power of a test is at least α
        low = max(0.3, min(0.99, floor * 1.5))
        return sorted({value, *(each for each in np.linspace(low, 0.99, 2 * POINTS).round(4).tolist() if each > floor)})
    if name == "systems":
        steps = np.linspace(2, max(20, 2 * min(value, 1e9)), 2 * POINTS).round()
        return sorted({value, *map(float, steps.tolist())})
    factors = REACH ** (np.arange(-POINTS, POINTS + 1) / POINTS)
    most = 0.5 if name == "alpha" else np.inf
    return sorted({value, *(float(value * factor) for factor in factors if value * factor < most)})


def card_curves(
    *, topics: int, sd: float, systems: int = 2, test: str = "t", alpha: float = 0.05, power: float = 0.8
) -> tuple[Sequence[int], dict[str, list[float]]]:
    """Cards for numbers of topics around ``topics``: Sakai (2014), Fig. 3."""
    around = np.unique(np.maximum(3, np.geomspace(max(3, topics / 4), topics * 4, POINTS).round()).astype(int))
    around = np.union1d(around, [topics])
    n = around.astype(float)
    ranges = detectable_range(topics=n, systems=systems, variance=sd**2 / 2, alpha=alpha, power=power, method="blocked")
    family: dict[str, Any] = {} if test == "t" else {"systems": systems, "test": test}
    found = {
        "detectable_range": ranges,
        "detectable_difference": detectable_difference(topics=n, sd=sd, alpha=alpha, power=power, **family),
        "pair_detectable_difference": detectable_difference(topics=n, sd=sd, alpha=alpha, power=power),
        "width": width_with(topics=n, sd=sd, alpha=alpha),
    }
    return around.tolist(), {name: np.asarray(values).tolist() for name, values in found.items()}
