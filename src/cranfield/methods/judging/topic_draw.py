"""Which topics people label: a random sample of the judged ones, and whether labelled topics look like one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.errors import Caution, RequestError, say_p
from cranfield.methods.contrasts.pairs import all_pairs
from cranfield.methods.contrasts.unpaired import UnpairedMeans
from cranfield.runtime.random import Seed, generator
from cranfield.types import Array

STRATA = 5
UNLIKE = 0.01
"""p below which topics with human labels are said to be no random sample of the judged ones."""


def draw_topics(topic_means: Array, count: int, *, stratify: bool = False, seed: Seed = 1) -> Array:
    """Draw topics for people to label, at random; their rows, in order.

    Parameters
    ----------
    topic_means
        The judge's mean score of every topic over systems.
    stratify
        Draw in proportion from five groups of topics with similar means, as many topics in each.

    Examples
    --------
    >>> chosen = draw_topics(np.linspace(0, 1, 100), 10, stratify=True, seed=1)
    >>> np.bincount(chosen // 20).tolist()  # two of each fifth
    [2, 2, 2, 2, 2]
    """
    total = len(topic_means)
    if not 1 <= count <= total:
        raise RequestError(f"{count} topics cannot be drawn from {total}", fix=f"Draw 1 to {total}.")
    rng = generator(seed, "judges", "draw")
    if not stratify:
        return np.sort(rng.choice(total, count, replace=False))
    parts = np.array_split(np.argsort(topic_means, kind="stable"), min(STRATA, count, total))
    exact = count / total * np.array([len(part) for part in parts])
    sizes = np.floor(exact + 1e-9).astype(int)
    # A systematic draw over the fractions: every part gets one more with exactly its fraction as probability.
    ends = np.round(np.cumsum(np.r_[0.0, exact - sizes]), 9) + rng.random()
    sizes += np.diff(np.floor(ends)).astype(int)
    chosen = [rng.choice(part, size, replace=False) for part, size in zip(parts, sizes.tolist(), strict=True)]
    return np.sort(np.concatenate(chosen))


@dataclass(frozen=True, kw_only=True)
class SampleCheck:
    """Whether topics with human labels look like a random sample of the judged ones.

    ``mean`` is the judge's mean score of those topics, ``other_mean`` that of all others, ``p_value`` that of Welch's t
    test: small where people labelled easier or harder topics. nan and 1 where there are no others to compare with.
    """

    topics: int
    judged_topics: int
    mean: float
    other_mean: float
    p_value: float

    def caution(self, judge: str, measure: str) -> list[Caution]:
        """A warning where they do not."""
        if self.p_value >= UNLIKE:
            return []
        what = (
            f"the {self.topics:,} topics with human labels do not look like a random sample of the "
            f"{self.judged_topics:,} judged ones: their mean {measure} by {judge} is {self.mean:.4f}, that of the "
            f"others {self.other_mean:.4f} ({say_p(self.p_value)})"
        )
        return [Caution("not-sampled", what, "Draw the topics to label at random: `judges()` with `draw`.")]


def check_sample(topic_means: Array, rows: Array) -> SampleCheck:
    """Compare the judge's mean scores of the topics with human labels with those of the others.

    >>> means = np.linspace(0, 1, 40)
    >>> check_sample(means, np.arange(0, 40, 4)).p_value > 0.5, check_sample(means, np.arange(10)).p_value < 0.001
    (True, True)
    """
    others = np.delete(topic_means, rows)
    groups = np.full((len(topic_means), 2), np.nan)
    groups[:, 1] = topic_means
    groups[rows] = np.column_stack([topic_means[rows], np.full(len(rows), np.nan)])
    welch = UnpairedMeans(groups, all_pairs(2)).fit() if min(len(rows), len(others)) > 1 else None
    return SampleCheck(
        topics=len(rows),
        judged_topics=len(topic_means),
        mean=float(topic_means[rows].mean()),
        other_mean=float(others.mean()) if len(others) else float("nan"),
        p_value=1.0 if welch is None else float(welch.p_value[0]),
    )
