"""What a comparison needs, and warnings about it."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from cranfield.errors import Caution, InputError
from cranfield.methods.contrasts.pairs import rounding
from cranfield.methods.variance.components import products, system_effects
from cranfield.scores.stored import Matrix, some_rows, system_means, totals, whole
from cranfield.types import Array


def too_few_topics(topics: int, pairs: int, correct: str, alpha: float) -> Caution | None:
    """Warn if the smallest possible p of a sign test, 2 / 2ⁿ, is not significant."""
    tests = pairs if correct == "holm" else 1
    if tests * 2.0 ** (1 - topics) <= alpha:
        return None
    enough = math.ceil(1 + math.log2(tests / alpha))
    return Caution(
        "too-few-topics",
        f"with {topics:,} topics this test gives no p below {2.0 ** (1 - topics):.2g}"
        + (f", and Holm over {pairs:,} pairs multiplies it" if tests > 1 else "")
        + ": no pair can be significant",
        f'Use {enough} topics or more, or `test="t"`.',
    )


def unpaired_loses(found: int, blocked: int) -> Caution:
    """Warn that a test ignores that topics are shared."""
    return Caution(
        "topics-ignored",
        f"all systems have the same topics, and this test ignores it: it finds {found:,} pairs, where the blocked "
        f"test finds {blocked:,}",
        "Leave out `test` unless every system had its own topics.",
    )


def nothing_to_tell(scores: Matrix) -> Caution | None:
    """Warn if systems do not differ, or differ by the same on every topic, so that the standard error is 0."""
    if isinstance(scores, np.ndarray):  # which may have replicates as a third dimension
        low, high = float(scores.min()), float(scores.max())
    else:
        low, high = totals(scores).low, totals(scores).high
    tiny = 4 * rounding(low, high)
    if not _varies(scores, np.zeros(scores.shape[1:]), tiny):
        return Caution(
            "same-everywhere",
            "all systems have the same score on every topic: there is nothing to compare",
            "Check that the files hold different systems, and that the measure distinguishes them at all.",
        )
    if not _varies(scores, _effects(scores), tiny):
        return Caution(
            "no-error",
            "systems differ by the same amount on every topic: the standard error of all differences is 0",
            "Check how the scores were made; no significance is claimed.",
        )
    return None


def _effects(scores: Matrix) -> Array:
    """Means of systems (in every replicate) less their mean over systems."""
    means = np.asarray(scores.mean(axis=0)) if isinstance(scores, np.ndarray) else system_means(scores)
    return np.asarray(means - means.mean(axis=0))


def _varies(scores: Matrix, effects: Array, tiny: float) -> bool:
    """Whether anything is left of the scores without topics (and replicates) and effects; most show it at once."""
    for first in range(0, len(scores), 1000):
        part = some_rows(scores, first, min(first + 1000, len(scores)))
        if not np.abs(part - part.mean(axis=1, keepdims=True) - effects).max() <= tiny:
            return True
    return False


def constant_differences(constant: Array, systems: tuple[str, ...], first: Array, second: Array) -> Caution | None:
    """Warn about pairs with the same difference on every topic."""
    pairs = int(constant.sum())
    if not pairs:
        return None
    at = int(np.flatnonzero(constant)[0])
    named = f"{systems[first[at]]} and {systems[second[at]]} differ by the same on every topic"
    others = f", and so do {pairs - 1:,} other pair{'s' * (pairs > 2)}" if pairs > 1 else ""
    return Caution(
        "constant-differences",
        f"{named}{others}: the standard error is 0, and no significance is claimed",
        "Check whether one system's scores were computed from the other's.",
    )


# Warn if Box's ε is below this limit and the test of sphericity rejects. For ten equal independent systems this happens
# in less than 4 % of tables of 10 topics or more; for 8 or 18 variants of one system with two others always; for ten of
# the best 60 runs of TREC-8 or Robust04 in 97 % of tables of 20 topics or more.
DOUBTED_EPSILON, DOUBTED_LEVEL = 0.75, 0.05
MOST_PRODUCTS = 5_000_000_000_000  # multiplications, some minutes of one core, up to which it is looked at


def box_epsilon(scores: Matrix) -> tuple[float, float]:
    """Box's ε of the covariances of systems, corrected for bias, and the p-value of a test of sphericity.

    ε is 1 if the differences of all pairs of systems have the same variance, and at least 1 / (m − 1).

    References
    ----------
    - G. E. P. Box, "Some theorems on quadratic forms applied in the study of analysis of variance problems II",
      Annals of Mathematical Statistics 25 (1954), 484–498.
    - H. Huynh and L. S. Feldt, "Estimation of the Box correction for degrees of freedom from sample data in
      randomized block and split-plot designs", Journal of Educational Statistics 1 (1976), 69–82.
    - S. John, "The distribution of a statistic used for testing sphericity of normal distributions", Biometrika 59
      (1972), 169–173.
    """

    topics, systems = scores.shape
    df, rank = topics - 1, systems - 1
    together = _products(scores)
    trace = float(np.trace(together)) / df
    square = float((together**2).sum()) / df**2
    if df < 2 or rank < 2 or not trace > 0:
        return 1.0, 1.0
    unbiased_square = df**2 * (square - trace**2 / df)
    unbiased_trace = df * (df + 1) * (trace**2 - 2 * square / (df + 1))
    epsilon = unbiased_trace / (rank * unbiased_square) if unbiased_square > 0 else 1.0
    statistic = df * rank / 2 * (rank * square / trace**2 - 1)  # John 1972; χ² with rank(rank + 1)/2 − 1
    p_value = float(special.chdtrc(rank * (rank + 1) / 2 - 1, max(statistic, 0.0)))
    return min(max(epsilon, 1 / rank), 1.0), p_value


def _products(scores: Matrix) -> Array:
    """Products of what is left of the scores without topics and systems: of topics or of systems, if those are fewer.

    Both have the same traces.
    """
    if scores.shape[0] >= scores.shape[1]:
        return products(scores, system_effects(scores))
    rest = whole(scores) - system_means(scores)
    rest -= rest.mean(axis=1, keepdims=True)
    return np.asarray(rest @ rest.T)


def one_error_term(scores: Matrix, sd: Array | None, test: str) -> Caution | None:
    """Warn if one error term does not fit all pairs, as Tukey's, Dunnett's and the permutation test assume.

    ``sd`` has the sds of the pairs' differences, where they are known.
    """
    topics, systems = scores.shape
    if topics * systems * min(topics, systems) > MOST_PRODUCTS:
        return Caution(
            "one-error-term",
            f"whether one error term fits all pairs was not checked: with {topics:,} topics and {systems:,} systems "
            f"this takes hours. If it does not, the family-wise error rate of {test} may be well above α",
            "Compare fewer systems to have it checked.",
        )
    epsilon, p_value = box_epsilon(scores)
    if epsilon >= DOUBTED_EPSILON or p_value > DOUBTED_LEVEL:
        return None
    least, most = (0.0, 0.0) if sd is None else (float(sd[sd > 0].min(initial=np.inf)), float(sd.max()))
    ratio = f"; the largest sd of a pair's differences is {most / least:.1f} times the smallest" if most > least else ""
    return Caution(
        "one-error-term",
        f"one error term does not fit all pairs (Box's ε = {epsilon:.2f}; it is 1 if it fits{ratio}): the family-wise "
        f"error rate of {test} may be well above α",
        'Use `test="t"`, which measures every pair by its own standard error.',
    )


def check_table(scores: Array) -> None:
    """Raise an error for a table that cannot be tested."""
    check_size(*scores.shape[:2])
    if np.isnan(scores).any():
        missing = int(np.isnan(scores).sum())
        raise InputError(
            f"the table is not balanced: {missing} of {scores.size} scores are missing",
            fix='Choose how to treat them: `missing="zero"`, or `missing="drop"` (the topics that lack any).',
        )


def check_size(topics: int, systems: int) -> None:
    """Raise an error for too few topics or systems."""
    if systems < 2:
        raise InputError(f"a comparison needs two systems, and there is {systems}", fix="Add scores of another.")
    if topics < 2:
        raise InputError(f"a comparison needs two topics, and there is {topics}", fix="Add topics.")
