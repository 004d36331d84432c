"""Which topics people label: a random sample of the judged ones, and whether labelled topics look like one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from cranfield.errors import RequestError
from cranfield.methods.contrasts.anova import TINY
from cranfield.runtime.random import Seed, generator
from cranfield.types import Array

STRATA = 5


def draw_topics(
    topic_means: Array, count: int, *, stratify: bool = False, strata: int = STRATA, seed: Seed = 1
) -> Array:
    """Draw topics for people to label, at random; their rows, in order.

    Parameters
    ----------
    topic_means
        The judge's mean score of every topic over systems.
    stratify
        Draw in proportion from ``strata`` groups of topics with similar means, as many topics in each.

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
    order = np.argsort(topic_means, kind="stable")
    parts = np.array_split(order, min(strata, count, total))
    chosen = [
        rng.choice(part, size, replace=False) for part, size in zip(parts, _shares(parts, count, rng), strict=True)
    ]
    return np.sort(np.concatenate(chosen))


def _shares(parts: list[Array], count: int, rng: np.random.Generator) -> list[int]:
    """Topics of each part in proportion to its size; what is left over goes to parts at random, by its fraction."""
    exact = count * np.array([len(part) for part in parts]) / sum(len(part) for part in parts)
    shares = np.floor(exact + 1e-9).astype(int)
    # A systematic draw over the fractions: every part gets one more with exactly its fraction as probability.
    ends = np.round(np.cumsum(np.r_[0.0, exact - shares]), 9) + rng.random()
    return [int(each) for each in shares + np.diff(np.floor(ends))]


@dataclass(frozen=True, kw_only=True)
class SampleCheck:
    """Whether topics with human labels look like a random sample of the judged ones.

    ``difference`` is the judge's mean score of those topics minus that of all others, ``p_value`` that of Welch's t
    test: small where people labelled easier or harder topics. nan and 1 where there are no others to compare with.
    """

    topics: int
    judged_topics: int
    mean: float
    other_mean: float
    difference: float
    p_value: float


def check_sample(topic_means: Array, rows: Array) -> SampleCheck:
    """Compare the judge's mean scores of the topics with human labels with those of the others.

    >>> means = np.linspace(0, 1, 40)
    >>> check_sample(means, np.arange(0, 40, 4)).p_value > 0.5, check_sample(means, np.arange(10)).p_value < 0.001
    (True, True)
    """
    mine, others = topic_means[rows], np.delete(topic_means, rows)
    nothing = len(others) < 2 or len(mine) < 2
    other_mean = float(others.mean()) if len(others) else float("nan")
    return SampleCheck(
        topics=len(mine),
        judged_topics=len(topic_means),
        mean=float(mine.mean()),
        other_mean=other_mean,
        difference=float(mine.mean()) - other_mean,
        p_value=1.0 if nothing else _welch(mine, others),
    )


def _welch(a: Array, b: Array) -> float:
    """p of Welch's t test, two-sided."""
    # scipy.stats.ttest_ind gives the same number, but loading scipy.stats for it takes most of a second.
    parts = [each.var(ddof=1) / len(each) for each in (a, b)]
    if not sum(parts) > 0:
        return 1.0
    t = abs(float(a.mean() - b.mean())) / float(np.sqrt(sum(parts)))
    df = sum(parts) ** 2 / sum(part**2 / (len(each) - 1) for part, each in zip(parts, (a, b), strict=True))
    return float(max(2 * special.stdtr(df, -t), TINY))
