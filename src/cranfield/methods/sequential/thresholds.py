"""Tables of thresholds by number of topics: the sd at which the power is reached, the critical t."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from cranfield.types import Array


@lru_cache(maxsize=16)
def effect_sizes(most: int, alpha: float, power: float) -> Array:
    """The effect size that n topics detect with ``power``, for every n.

    It is infinite for fewer than two topics.

    >>> round(float(effect_sizes(100, 0.05, 0.8)[50]), 3)  # WMZ08 §3.3 prints 0.40
    0.404
    """
    from cranfield.methods.design import detectable_difference

    table = np.full(most + 1, np.inf)
    table[2:] = detectable_difference(topics=np.arange(2, most + 1), alpha=alpha, power=power)
    table[2:] = np.where(np.isnan(table[2:]), np.inf, table[2:])
    table.flags.writeable = False
    return table


def variance_limits(difference: Array, *, most: int, alpha: float, power: float) -> Array:
    """The largest s² at which n topics detect a difference with ``power``; one row per difference."""
    sizes = effect_sizes(most, alpha, power)
    return np.asarray(np.square(np.atleast_1d(difference))[:, np.newaxis] / np.square(sizes))  # WMZ08 Algorithm 1


def t_squares(levels: Array | float, most: int) -> Array:
    """At n: the square of t that has this two-sided p with n topics; ``levels`` may differ with n."""
    from cranfield.stats.tails import t_critical

    table = np.full(most + 1, np.inf)
    at = np.arange(2, most + 1)
    wanted = np.broadcast_to(levels, (most + 1,))[2:]
    table[2:] = np.square(t_critical(wanted / 2, at - 1))
    return table
