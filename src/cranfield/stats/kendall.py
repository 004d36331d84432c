"""Kendall's τ between two rankings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def kendall_tau(a: Array, b: Array) -> float:
    """τ-b of two lists of scores: pairs in the same order less pairs in the opposite one, ties allowed for.

    >>> kendall_tau(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]))
    0.3333333333333333
    """
    first, second = np.triu_indices(len(a), k=1)
    order_a, order_b = np.sign(a[first] - a[second]), np.sign(b[first] - b[second])
    untied = np.sqrt(np.count_nonzero(order_a) * np.count_nonzero(order_b))
    return float(np.vdot(order_a, order_b) / untied) if untied else float("nan")


def kendall_margin(systems: int) -> float:
    """Half-width of the 95 % interval of τ for so many items: 1.96·√(2(2m + 5) / (9m(m − 1))).

    >>> round(kendall_margin(44), 3)  # SS16 Table 2
    0.205
    """
    return float(1.96 * np.sqrt(2 * (2 * systems + 5) / (9 * systems * (systems - 1))))  # SS16 Table 2
