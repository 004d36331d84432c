"""Topics for one pair among m systems, when all pairs (or all systems against a baseline) are tested together."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy import special

from cranfield.compare.tukey import critical_range
from cranfield.design.card import whole
from cranfield.design.planning import Request
from cranfield.design.questions import MOST_TOPICS
from cranfield.errors import RequestError
from cranfield.stats.dunnett import dunnett_critical
from cranfield.stats.tails import noncentral_t_tails, t_critical
from cranfield.verify.design import Design

ALL_PAIRS = "max-t"  # the test of all pairs unless another is named


def _tukey(alpha: float, systems: int, topics: int) -> tuple[float, int]:
    df = (topics - 1) * (systems - 1)
    return critical_range(alpha, systems, df) / float(np.sqrt(2)), df


def _dunnett(alpha: float, systems: int, topics: int) -> tuple[float, int]:
    df = (topics - 1) * (systems - 1)
    return dunnett_critical(alpha, systems - 1, df), df


def _holm(alpha: float, systems: int, topics: int) -> tuple[float, int]:
    pairs = systems * (systems - 1) / 2
    return float(t_critical(alpha / pairs / 2, topics - 1)), topics - 1  # Holm 1979: the first step


def _max_t(alpha: float, systems: int, topics: int) -> tuple[float, int]:
    level = special.ndtr(-critical_range(alpha, systems, np.inf) / np.sqrt(2))
    return float(t_critical(level, topics - 1)), topics - 1


CRITICAL: dict[str, Callable[[float, int, int], tuple[float, int]]] = {
    "max-t": _max_t,
    "tukey": _tukey,
    "dunnett": _dunnett,
    "holm": _holm,
    "randomised": _tukey,
}
"""The critical |t| of one pair and its degrees of freedom, for m systems on n shared topics."""


def pair_power(test: str, *, topics: int, systems: int, difference: float, sd: float, alpha: float) -> float:
    """Power for a pair that differs by ``difference``; ``sd`` is that of the paired differences.

    >>> round(pair_power("tukey", topics=73, systems=10, difference=0.05, sd=0.15, alpha=0.05), 3)
    0.373
    """
    critical, df = CRITICAL[test](alpha, systems, topics)
    return float(noncentral_t_tails(critical, df, difference * np.sqrt(topics) / sd))


def topics_for_pair(test: str, *, power: float, **pair: Any) -> int:
    """The fewest topics with this power.

    >>> pair = {"difference": 0.05, "sd": 0.15, "alpha": 0.05, "power": 0.8}
    >>> [topics_for_pair("tukey", systems=m, **pair) for m in (2, 5, 10, 20, 50)]
    [73, 116, 145, 174, 211]
    """
    low, high = 1, 2
    while pair_power(test, topics=high, **pair) < power:
        low, high = high, 2 * high
        if high > MOST_TOPICS:
            raise RequestError(
                f"no number of topics up to {MOST_TOPICS:,} gives a power of {power:g}",
                fix="Ask for a larger difference or for less power.",
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if pair_power(test, topics=middle, **pair) >= power else (middle, high)
    return high


def designs_for_pairs(request: Request, test: str, *, topics: int | None, measure: str = "") -> list[Design]:
    """A design for every combination of what the request lists; its ``sd`` is that of paired differences."""
    made = []
    for systems, difference, sd, alpha, power in product(
        request.systems or (),
        request.difference or (),
        request.sd or (),
        request.alpha or (0.05,),
        request.power or (0.8,),
    ):
        pair: dict[str, Any] = {
            "systems": whole(systems, "systems"),
            "difference": difference,
            "sd": sd,
            "alpha": alpha,
        }
        _check(**pair, power=power)
        n = topics_for_pair(test, power=power, **pair) if topics is None else topics
        made.append(
            Design(
                source="size",
                test=test,
                systems=pair["systems"],
                topics=n,
                difference=difference,
                alpha=alpha,
                power=power,
                method=test,
                goal="difference",
                variance=sd**2 / 2,
                promised_power=pair_power(test, topics=n, **pair),
                measure=measure,
            )
        )
    return made


def _check(*, systems: int, difference: float, sd: float, alpha: float, power: float) -> None:
    if systems < 2:
        raise RequestError("two systems or more are compared", fix="Name them: --systems 10, for instance.")
    if not (difference > 0 and sd > 0):
        raise RequestError("a difference and its standard deviation are above 0", fix="Name them: --difference, --sd.")
    if not 0 < alpha < power < 1:
        raise RequestError("α and power are probabilities, power the larger", fix="0.05 and 0.8 are usual.")
