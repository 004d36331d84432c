"""Corrections of p-values for the number of contrasts, and the levels at which intervals agree with them.

The contrasts of a correction are the last axis: a table of p-values is corrected row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from cranfield.errors import RequestError
from cranfield.types import Array


def holm(p_values: Array) -> Array:
    """Holm's step-down correction, which controls the family-wise error rate.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    return _stepped_down(p_values, _remaining(p_values))


def hochberg(p_values: Array) -> Array:
    """Hochberg's step-up correction: as Holm's, and more powerful where p-values depend on each other positively.

    >>> hochberg(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.04, 0.04]
    """
    return _stepped_up(p_values, _remaining(p_values))


def benjamini_hochberg(p_values: Array) -> Array:
    """Benjamini and Hochberg's step-up correction, which controls the false discovery rate.

    >>> benjamini_hochberg(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.04, 0.04]
    """
    # scipy.stats.false_discovery_control gives the same numbers in the same time (15 ms for 100,000), but loading
    # scipy.stats for it takes most of a second.
    return _stepped_up(p_values, p_values.shape[-1] / (np.arange(p_values.shape[-1]) + 1))


def benjamini_yekutieli(p_values: Array) -> Array:
    """The same whatever the dependence of the p-values.

    >>> benjamini_yekutieli(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.055, 0.0733, 0.0733]
    """
    return np.minimum(benjamini_hochberg(p_values) * harmonic(p_values.shape[-1]), 1.0)


def harmonic(count: int) -> float:
    """Σ 1/i."""
    return float((1 / np.arange(1, count + 1)).sum())


def none(p_values: Array) -> Array:
    """No correction: for one planned comparison."""
    return p_values


def _remaining(p_values: Array) -> Array:
    """How many contrasts are left at each step from the smallest p on."""
    return np.arange(p_values.shape[-1], 0, -1)


def _stepped_down(p_values: Array, factors: Array) -> Array:
    return _in_order(p_values, lambda ordered: np.maximum.accumulate(ordered * factors, axis=-1))


def _stepped_up(p_values: Array, factors: Array) -> Array:
    return _in_order(
        p_values, lambda ordered: np.minimum.accumulate((ordered * factors)[..., ::-1], axis=-1)[..., ::-1]
    )


def _in_order(p_values: Array, step: Callable[[Array], Array]) -> Array:
    """Steps through the p-values from the smallest on, and each result where its p-value was; never above 1."""
    order = np.argsort(p_values, axis=-1, kind="stable")
    adjusted = np.empty(p_values.shape)
    stepped = np.minimum(step(np.take_along_axis(p_values, order, axis=-1)), 1.0)
    np.put_along_axis(adjusted, order, stepped, axis=-1)
    return adjusted


CORRECTIONS: dict[str, Callable[[Array], Array]] = {
    "holm": holm,
    "hochberg": hochberg,
    "bh": benjamini_hochberg,
    "by": benjamini_yekutieli,
    "none": none,
}


def correction(name: str) -> Callable[[Array], Array]:
    """Return a correction by its name."""
    if name not in CORRECTIONS:
        raise RequestError(f"there is no correction «{name}»", fix=f"Choose one of: {', '.join(CORRECTIONS)}.")
    return CORRECTIONS[name]


def deciding_level(significant: Array, correct: str, alpha: float) -> float:
    """The level at which unadjusted intervals decide as the corrected p-values did.

    Holm's last step tests at α divided by the number of remaining contrasts, and Hochberg's first that succeeds at α
    divided by those that fail and one; if R of k are significant with Benjamini and Hochberg's correction, intervals at
    level Rα/k have a false coverage rate of at most α.

    References
    ----------
    - Y. Benjamini and D. Yekutieli, "False discovery rate–adjusted multiple confidence intervals for selected
      parameters", Journal of the American Statistical Association 100 (2005), 71–81.

    >>> deciding_level(np.array([True, False, False]), "holm", 0.06), deciding_level(np.array([True] * 3), "bh", 0.06)
    (0.03, 0.06)
    """
    count, found = len(significant), int(np.sum(significant))
    if correct == "holm":
        return alpha / max(count - found, 1)
    if correct == "hochberg":
        return alpha / (count - found + 1) if found else alpha / count
    if correct == "bh":
        return alpha * max(found, 1) / count
    return alpha * max(found, 1) / count / harmonic(count) if correct == "by" else alpha


def covered(level: float) -> str:
    """The confidence of an interval at a level; that of a small level is not shown as 100 %.

    >>> covered(0.05), covered(0.05 / 13), covered(0.05 / 30_000)
    ('95 %', '99.62 %', '99.9998 %')
    """
    return f"{100 * (1 - level):.{max(4, -math.floor(math.log10(level)))}g} %"


def interval_level(significant: Array, correct: str, alpha: float) -> str:
    """The confidence of t intervals at the deciding level, and what the level is.

    >>> interval_level(np.array([True, False, False]), "holm", 0.05)
    "97.5 % (level of Holm's last step)"
    >>> interval_level(np.array([True]), "none", 0.05)
    '95 %'
    """
    note = {
        "holm": " (level of Holm's last step)",
        "hochberg": " (level of Hochberg's last step)",
        "bh": f" (false coverage rate {100 * alpha:.4g} %)",
        "by": f" (false coverage rate {100 * alpha:.4g} %)",
        "none": " (not corrected for the number of pairs)" if len(significant) > 1 else "",
    }
    return covered(deciding_level(significant, correct, alpha)) + note[correct]
