"""How far a share of successes can be trusted: at a number of trials fixed beforehand, and at any moment."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from cranfield.stats.roots import crossing
from cranfield.types import Array


def wilson_interval(successes: int, trials: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for a probability, at a number of trials fixed beforehand.

    (p̂ + z²/2t ± z·√(p̂(1 − p̂)/t + z²/4t²)) / (1 + z²/t)

    >>> [round(end, 4) for end in wilson_interval(7900, 10_000)]
    [0.7819, 0.7979]
    """
    if trials == 0:
        return 0.0, 1.0
    z = float(-special.ndtri((1 - confidence) / 2))
    share, weight = successes / trials, z * z / trials
    centre = (share + weight / 2) / (1 + weight)
    reach = z * math.sqrt(share * (1 - share) / trials + weight / (4 * trials)) / (1 + weight)
    return max(0.0, centre - reach), min(1.0, centre + reach)


def anytime_interval(successes: int, trials: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """An interval that may be looked at after every trial: all of them hold together with this confidence.

    The probability p stays in as long as the uniform mixture of Bernoulli likelihoods is no more than 1/δ times that
    of p: B(k + 1, t − k + 1) / (pᵏ(1 − p)ᵗ⁻ᵏ) ≤ 1/δ. At the true p that ratio is a martingale of mean 1, which ever
    exceeds 1/δ with probability δ at most (Ville), so one may stop whenever the interval says enough.

    >>> [round(end, 4) for end in anytime_interval(7900, 10_000)]
    [0.7739, 0.8056]
    """
    if trials == 0:
        return 0.0, 1.0
    k, rest = float(successes), float(trials - successes)
    # The least log likelihood that stays in; the likelihood has its one peak at k/t, so each end is a crossing.
    least = float(special.betaln(k + 1, rest + 1)) + math.log1p(-confidence)

    def log_likelihood(p: Array, _: Array) -> Array:
        return np.asarray(special.xlogy(k, p) + special.xlog1py(rest, -p))

    peak = np.array([k / trials])
    lower, upper = 0.0, 1.0
    if successes:
        lower = float(crossing(log_likelihood, np.array([least]), np.array([1e-300]), peak)[0])
    if successes < trials:
        # By its distance from 1, so that nothing is lost where the end is close to it.
        away = crossing(
            lambda q, _: np.asarray(special.xlogy(rest, q) + special.xlog1py(k, -q)),
            np.array([least]),
            np.array([1e-300]),
            1 - peak,
        )
        upper = 1.0 - float(away[0])
    return lower, upper
