"""Replication: what becomes of significant pairs on the other half of the topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from cranfield.types import Array

PairVerdicts = tuple[Array, Array]  # of every pair: the sign of its difference, and whether it is significant

# What can become of a significant pair on the other half of the topics; one of the four does.
OUTCOMES = ("replicated", "weaker", "opposite", "reversed")
SHARES: Mapping[str, tuple[str, ...]] = {
    "replicated": ("replicated",),
    "not_significant": ("weaker", "opposite"),
    "reversed": ("reversed",),
    "opposite_sign": ("opposite", "reversed"),
}


@dataclass(frozen=True, eq=False)
class Replication:
    """Significant pairs of both halves over many random halvings, each half predicting the other.

    ``significant`` counts the significant pairs (halvings × 2 halves), ``outcomes`` what became of them on the other
    half, in the order of ``OUTCOMES``. A pair is *replicated* when it is significant with the same sign, *reversed*
    when it is significant with the opposite one, and *not significant* otherwise. *Opposite sign* counts the pairs
    whose difference has the opposite sign on the other half, significant or not.
    """

    significant: Array
    outcomes: Array

    @property
    def halvings(self) -> int:
        return len(self.significant)

    def share(self, name: str) -> float:
        """The share of all significant pairs of all halvings with this outcome; nan if there are none."""
        total = int(self.significant.sum())
        return int(self._counts(name).sum()) / total if total else float("nan")

    def interval(self, name: str) -> tuple[float, float]:
        """The middle 95 % of the halvings' shares of this outcome."""
        total, counts = self.significant.sum(axis=1), self._counts(name)
        known = total > 0
        if not known.any():
            return float("nan"), float("nan")
        low, high = np.quantile(counts[known] / total[known], [0.025, 0.975]).tolist()
        return low, high

    def to_dict(self) -> dict[str, float]:
        """Every share with its interval."""
        row: dict[str, float] = {}
        for name in SHARES:
            row[name] = self.share(name)
            row[f"{name}_lower"], row[f"{name}_upper"] = self.interval(name)
        return row

    def _counts(self, name: str) -> Array:
        places = [OUTCOMES.index(outcome) for outcome in SHARES[name]]
        return np.asarray(self.outcomes[:, :, places].sum(axis=(1, 2)))

    @classmethod
    def none(cls) -> Replication:
        """Return the replication of no halving."""
        return cls(significant=np.zeros((0, 2), int), outcomes=np.zeros((0, 2, len(OUTCOMES)), int))


def replication_of(one: PairVerdicts, other: PairVerdicts) -> Replication:
    """What becomes of each half's significant pairs on the other: a single halving."""
    (sign, mine), (other_sign, others) = one, other
    opposite = sign * other_sign < 0
    same = sign * other_sign > 0
    outcomes = [
        [int((a & case).sum()) for case in (b & same, ~b & ~opposite, ~b & opposite, b & opposite)]
        for a, b in ((mine, others), (others, mine))
    ]
    return Replication(significant=np.array([[mine.sum(), others.sum()]]), outcomes=np.array([outcomes]))


def joined(parts: list[Replication]) -> Replication:
    """All halvings of several."""
    return Replication(
        significant=np.concatenate([each.significant for each in parts]),
        outcomes=np.concatenate([each.outcomes for each in parts]),
    )


def halves(topics: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two random halves of equal size; an odd topic is in neither."""
    order, half = rng.permutation(topics), topics // 2
    return order[:half], order[half : 2 * half]


def replication(
    verdicts: Callable[[Array], Mapping[str, PairVerdicts]], topics: int, *, halvings: int, rng: np.random.Generator
) -> dict[str, Replication]:
    """The replication of several tests' verdicts over the same random halvings.

    Parameters
    ----------
    verdicts
        Takes the numbers of some topics, and gives the verdicts of every test on them, by its name.
    """
    found: dict[str, list[Replication]] = {}
    for _ in range(halvings if topics >= 4 else 0):
        one, other = (verdicts(part) for part in halves(topics, rng))
        for name in one:
            found.setdefault(name, []).append(replication_of(one[name], other[name]))
    return {name: joined(parts) for name, parts in found.items()}
