"""A difference of two systems in several collections: fixed and random effects, heterogeneity, and the next one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy import special

from cranfield.errors import Caution, InputError, RequestError, there_are
from cranfield.methods.boards.board_scores import Scores
from cranfield.methods.contrasts.clusters import robust_means
from cranfield.methods.contrasts.estimates import Estimate
from cranfield.methods.contrasts.pairs import rounding
from cranfield.stats.pairs import pair_count
from cranfield.stats.roots import crossing
from cranfield.stats.tails import t_critical
from cranfield.types import Array

METHODS = ("DL", "PM")
"""Estimates of the variance between collections: DerSimonian and Laird, Paule and Mandel."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Combined:
    """Effects combined: ``fixed`` as if all collections had one effect, ``random`` as if theirs were a sample.

    ``tau2`` is the variance between collections, ``q`` Cochran's statistic with its p, ``i2`` the share of the variance
    that is between. The interval of the random effect is Hartung and Knapp's, and the prediction interval that of the
    effect in another collection (nan for fewer than three).
    """

    fixed: float
    fixed_error: float
    fixed_lower: float
    fixed_upper: float
    random: float
    random_error: float
    random_lower: float
    random_upper: float
    prediction_lower: float
    prediction_upper: float
    tau2: float
    q: float
    q_p_value: float
    i2: float


@dataclass(frozen=True, eq=False, kw_only=True)
class PairEffect:
    """The difference of two systems, ``first`` minus ``second``, in several collections, and combined over them.

    ``topics`` are those that both have in each collection, ``differences`` the means over them. ``combined`` has the
    variance between collections of Paule and Mandel, ``laird`` that of DerSimonian and Laird.
    """

    first: str
    second: str
    collections: tuple[str, ...]
    topics: tuple[int, ...]
    differences: Estimate
    combined: Combined
    laird: Combined


def combine_effects(effects: Array, variances: Array, *, method: str = "PM", alpha: float = 0.05) -> Combined:
    """Combine the differences of two systems in several collections.

    Parameters
    ----------
    effects
        The mean difference in each collection.
    variances
        Its squared standard error.
    method
        ``PM`` (default) or ``DL``.

    References
    ----------
    - R. DerSimonian and N. Laird, "Meta-analysis in clinical trials", Controlled Clinical Trials 7 (1986), 177–188.
    - R. C. Paule and J. Mandel, "Consensus values and weighting factors", Journal of Research of the National Bureau of
      Standards 87 (1982), 377–385.
    - J. Hartung and G. Knapp, "A refined method for the meta-analysis of controlled clinical trials with binary
      outcome", Statistics in Medicine 20 (2001), 3875–3889.

    Examples
    --------
    >>> found = combine_effects(np.array([0.02, 0.05, 0.08]), np.array([1e-4, 1e-4, 1e-4]), method="DL")
    >>> round(found.random, 4), round(found.tau2, 6), round(found.i2, 4)
    (0.05, 0.0008, 0.8889)
    """
    effects, variances = np.asarray(effects, float), np.asarray(variances, float)
    k = len(effects)
    if k < 2:
        raise InputError("combining effects needs at least two collections", fix="Give more collections.")
    if not (np.isfinite(effects).all() and np.isfinite(variances).all() and (variances > 0).all()):
        raise InputError("an effect has no variance", fix="Leave out collections on which the systems do not differ.")
    if method not in METHODS:
        raise RequestError(f"there is no method «{method}»", fix=f"Choose one of: {', '.join(METHODS)}.")
    fixed, fixed_error = _weighted(effects, 1 / variances)
    q = float((np.square(effects - fixed) / variances).sum())
    tau2 = (_dersimonian_laird if method == "DL" else _paule_mandel)(effects, variances, q)
    weights = 1 / (variances + tau2)
    random, plain = _weighted(effects, weights)
    scale = float((weights * np.square(effects - random)).sum() / (k - 1))
    error = plain * np.sqrt(max(scale, 1.0))  # Hartung and Knapp 2001; never narrower than the fixed effect's
    z, t = -float(special.ndtri(alpha / 2)), float(t_critical(alpha / 2, k - 1))
    ahead = float(t_critical(alpha / 2, k - 2)) * np.sqrt(tau2 + error**2) if k > 2 else float("nan")
    return Combined(
        fixed=fixed,
        fixed_error=fixed_error,
        fixed_lower=fixed - z * fixed_error,
        fixed_upper=fixed + z * fixed_error,
        random=random,
        random_error=float(error),
        random_lower=random - t * error,
        random_upper=random + t * error,
        prediction_lower=random - ahead,  # Higgins, Thompson and Spiegelhalter 2009
        prediction_upper=random + ahead,
        tau2=tau2,
        q=q,
        q_p_value=float(special.chdtrc(k - 1, q)),
        i2=max(0.0, 1 - (k - 1) / q) if q > 0 else 0.0,
    )


def _weighted(effects: Array, weights: Array) -> tuple[float, float]:
    return float((weights * effects).sum() / weights.sum()), float(1 / np.sqrt(weights.sum()))


def _dersimonian_laird(effects: Array, variances: Array, q: float) -> float:
    w = 1 / variances
    return max(0.0, (q - (len(effects) - 1)) / float(w.sum() - (w**2).sum() / w.sum()))


def _paule_mandel(effects: Array, variances: Array, q: float) -> float:
    """The τ² at which the generalised Q is its expectation, k − 1."""
    k = len(effects)
    if q <= k - 1:
        return 0.0

    def excess(tau2: Array, _: Array) -> Array:
        weights = 1 / (variances + tau2[:, np.newaxis])
        mean = (weights * effects).sum(axis=1) / weights.sum(axis=1)
        return -np.asarray((weights * np.square(effects - mean[:, np.newaxis])).sum(axis=1))

    high = float(np.square(effects - effects.mean()).sum() + variances.max())
    return float(crossing(excess, np.array([-(k - 1.0)]), np.array([0.0]), np.array([high]))[0])


MOST_PAIRS = 10
"""Pairs of which all are combined over collections where no baseline is named; else that of the first two systems."""


def combined_pairs(systems: Sequence[str], baseline: str | None) -> list[tuple[str, str]]:
    """The pairs whose differences are combined: each system against the baseline, all if they are few, or one."""
    if baseline is not None and baseline not in systems:
        raise RequestError(f"there is no system «{baseline}»", fix=there_are(systems))
    if baseline is not None:
        return [(system, baseline) for system in systems if system != baseline]
    return [*combinations(systems if pair_count(len(systems)) <= MOST_PAIRS else systems[:2], 2)]


def pair_effect(scores: Scores, first: str, second: str, alpha: float) -> PairEffect | None:
    """None where fewer than two collections have a difference that varies over topics."""
    values = -scores.oriented if scores.lower_is_better else scores.oriented
    gaps = values[:, scores.systems.index(first)] - values[:, scores.systems.index(second)]
    by_collection = np.where(scores.of_task[:, np.newaxis] == np.arange(len(scores.tasks)), gaps[:, np.newaxis], np.nan)
    design = replace(scores.design, weights=np.ones(len(gaps)))
    means = robust_means(by_collection, design, tiny=rounding(float(np.nanmin(values)), float(np.nanmax(values))))
    used = np.flatnonzero(means.estimate().is_tested)
    if len(used) < 2:
        return None
    differences = means.estimate().some(used)
    combined, laird = (
        combine_effects(differences.value, np.square(differences.standard_error), method=method, alpha=alpha)
        for method in ("PM", "DL")
    )
    return PairEffect(
        first=first,
        second=second,
        collections=tuple(scores.tasks[at] for at in used.tolist()),
        topics=tuple(means.topics[used].tolist()),
        differences=differences,
        combined=combined,
        laird=laird,
    )


def left_out(pairs: int) -> Iterator[Caution]:
    if pairs:
        yield Caution(
            "effects-left-out",
            f"the differences of {pairs:,} pairs vary on the topics of fewer than two collections, and are not "
            "combined",
            "Add topics or collections that both systems have.",
        )
