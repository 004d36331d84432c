"""Validation of requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.types import Array

_POSITIVE = {
    "variance": "Variance is the average squared distance from the mean; AP on news has about 0.05.",
    "sd": "A standard deviation is above 0; paired AP differences on news have about 0.15.",
    "min_range": "Equal systems have no range to detect; name the smallest one worth detecting, such as 0.1.",
    "difference": "Equal systems have no difference to detect; name the smallest one worth detecting, such as 0.03.",
    "effect_size": "Equal systems have no effect to detect; 0.2 is small, 0.5 medium.",
    "width": "A width is above 0; 0.1 is a common choice.",
    "equivalence": "A margin is above 0: the largest difference that does not matter, say 0.01.",
    "non_inferiority": "A margin is above 0: the largest loss that does not matter, say 0.01.",
    "sensitivity": "A sensitivity is above 0; ±0.05 is a common choice.",
}
_SHARES = {
    "alpha": "α is a probability between 0 and 1; 0.05 is usual.",
    "power": "Power is a probability between 0 and 1; 0.8 is usual.",
    "probability": "A probability lies between 0 and 1; 0.9 is usual.",
    "assurance": "Expected power is a probability between 0 and 1; 0.8 is usual.",
}
_WHOLE = {
    "systems": (2, "A comparison needs two systems or more."),
    "topics": (2, "A variance needs two topics or more."),
}


def broadcast(inputs: Mapping[str, Any]) -> tuple[dict[str, Array], tuple[int, ...]]:
    """Broadcast the inputs: flat arrays of equal length, and their common shape."""
    if not inputs:
        return {}, ()
    arrays = {name: np.asarray(value, float) for name, value in inputs.items()}
    for name, values in arrays.items():
        _check_one(name, values)
    try:
        shape = np.broadcast_shapes(*(values.shape for values in arrays.values()))
    except ValueError:
        sizes = ", ".join(f"{name} {values.shape}" for name, values in arrays.items())
        raise RequestError(f"the inputs do not fit together: {sizes}") from None
    flat = {name: np.broadcast_to(values, shape).ravel() for name, values in arrays.items()}
    if "power" in flat and "alpha" in flat and (flat["power"] <= flat["alpha"]).any():
        at = int(np.argmax(flat["power"] <= flat["alpha"]))
        raise RequestError(
            f"a power of {flat['power'][at]:g} at α = {flat['alpha'][at]:g} needs no topics: it is reached by chance",
            fix="Ask for a power above α; 0.8 is usual.",
        )
    return flat, shape


def _check_one(name: str, values: Array) -> None:
    bad, why = _verdict(name, values)
    if bad.any():
        value = values.ravel()[int(np.argmax(bad.ravel()))]
        raise RequestError(f"{name.replace('_', ' ')} cannot be {value:g}", fix=why)


def _verdict(name: str, values: Array) -> tuple[Array, str]:
    if name in _POSITIVE:
        return np.asarray(~((values > 0) & np.isfinite(values))), _POSITIVE[name]
    if name in _SHARES:
        return np.asarray(~((values > 0) & (values < 1))), _SHARES[name]
    if name in _WHOLE:
        least, why = _WHOLE[name]
        return np.asarray(~((values >= least) & (values == np.floor(values)) & np.isfinite(values))), why
    if name == "correlation":
        return np.asarray(~((values > -1) & (values < 1))), "A correlation lies between −1 and 1; TREC-8 AP has 0.66."
    return np.asarray(~np.isfinite(values)), "Give a finite number."
