"""Differences of systems on topics that come in clusters or strata, or that count unequally.

The variance of a mean difference comes from sums over clusters within strata, each with the factor that makes it
unbiased where topics are independent with one variance (CR2), and has Satterthwaite's degrees of freedom.

References
----------
- R. M. Bell and D. F. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage samples",
  Survey Methodology 28 (2002), 169–181.
- J. E. Pustejovsky and E. Tipton, "Small-sample methods for cluster-robust variance estimation and hypothesis testing
  in fixed effects models", Journal of Business & Economic Statistics 36 (2018), 672–683.
- W. G. Cochran, "Sampling Techniques", third edition, Wiley, 1977, chapter 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cranfield.errors import Caution, RequestError
from cranfield.methods.contrasts.assumptions import constant_differences, nothing_to_tell
from cranfield.methods.contrasts.estimates import Estimate
from cranfield.methods.contrasts.pairs import Contrasts, all_pairs, rounding
from cranfield.methods.contrasts.resampling import summed, topic_weights
from cranfield.methods.variance.estimates import MeanVariance
from cranfield.scores import ScoreTable
from cranfield.stats.tails import t_critical
from cranfield.types import Array

MATERIAL = 1.5  # design effect from which standard errors of independent topics are 18 % too small
FEW_DF = 4.0
_DOUBTED = 1e-6  # share of two systems' squares below which a pair's are summed by themselves
_BLOCK = 4_000_000  # numbers at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class TopicDesign:
    """How topics were sampled.

    Parameters
    ----------
    weights
        How much each topic counts.
    clusters, strata
        The number of each topic's cluster and stratum, from 0; a cluster lies in one stratum.
    by_stratum
        Whether the mean is that of the strata's means; otherwise a stratum counts as much as its topics together.
    has_clusters, has_strata, has_weights
        What was given. Without clusters each topic is one.
    """

    weights: Array
    clusters: Array
    strata: Array
    by_stratum: bool = False
    has_clusters: bool = False
    has_strata: bool = False
    has_weights: bool = False

    @cached_property
    def shares(self) -> Array:
        """The share of every topic in the mean; they sum to 1."""
        totals = np.bincount(self.strata, self.weights)
        if not self.by_stratum:
            return np.asarray(self.weights / totals.sum())
        return np.asarray(self.weights / totals[self.strata] / np.count_nonzero(totals))

    @property
    def independent(self) -> TopicDesign:
        """The same shares of topics that are neither in clusters nor in strata."""
        count = len(self.weights)
        return TopicDesign(weights=self.shares, clusters=np.arange(count), strata=np.zeros(count, np.int64))

    @property
    def is_plain(self) -> bool:
        """Whether topics are independent and count the same."""
        return not (self.has_clusters or self.has_strata) and bool((self.shares == self.shares[0]).all())

    def of(self, topics: Array) -> TopicDesign:
        """The design of some of the topics, in their order."""
        return replace(self, weights=self.weights[topics], clusters=self.clusters[topics], strata=self.strata[topics])

    def check(self, names: Sequence[str] = ()) -> None:
        """Refuse a stratum of one cluster, or one topic: nothing is known about the spread within it."""
        kept = self.weights > 0
        pairs = np.unique(np.column_stack([self.strata[kept], self.clusters[kept]]), axis=0)
        if len(np.unique(pairs[:, 1])) < len(pairs):
            cluster = int(np.flatnonzero(np.bincount(pairs[:, 1]) > 1)[0])
            raise RequestError(
                f"the topics of a cluster lie in two strata (topic {_named(names, self.clusters == cluster)})",
                fix="Clusters lie within strata: leave out stratum=, or use smaller clusters.",
            )
        counts = np.bincount(pairs[:, 0])
        if (alone := np.flatnonzero(counts == 1)).size:
            unit = "cluster" if self.has_clusters else "topic"
            where = f"the stratum of topic {_named(names, self.strata == alone[0])}" if self.has_strata else "the table"
            raise RequestError(
                f"{where} has one {unit}, and nothing is known about the spread over {unit}s",
                fix=f"Add {unit}s" + (", or join small strata." if self.has_strata else ", or leave out cluster=."),
            )


def _named(names: Sequence[str], chosen: Array) -> str:
    at = int(np.flatnonzero(chosen)[0])
    return f"«{names[at][:40]}»" if names else f"{at + 1}"


def design_of(table: ScoreTable, *, by_stratum: bool = False, weights: Array | None = None) -> TopicDesign:
    """The design of a table's topics; ``weights`` are in place of the table's."""
    count = len(table.topics)
    given = table.weights if weights is None else weights
    return TopicDesign(
        weights=np.ones(count) if given is None else np.asarray(given, float),
        clusters=_codes(table.clusters, count, alone=True),
        strata=_codes(table.strata, count, alone=False),
        by_stratum=by_stratum,
        has_clusters=bool(table.clusters),
        has_strata=bool(table.strata),
        has_weights=given is not None and bool((np.asarray(given) != given[0]).any()),
    )


def _codes(names: Sequence[str], count: int, *, alone: bool) -> Array:
    if names:
        return np.asarray(np.unique(np.array(names, object).astype(str), return_inverse=True)[1])
    return np.arange(count) if alone else np.zeros(count, np.int64)


# --- variances


@dataclass(frozen=True, eq=False, kw_only=True)
class RobustMoments:
    """Of every pair of systems: mean difference, its standard error and df, the sd of differences, and more.

    All are systems × systems. ``independent`` is the variance of the mean difference as if topics were independent;
    ``shared`` the number of topics that both have. ``own_error`` is the standard error of each system's own mean, and
    ``own_df`` its df.
    """

    difference: Array
    error: Array
    df: Array
    independent: Array
    sd: Array
    shared: Array
    own_error: Array
    own_df: Array

    @property
    def design_effect(self) -> Array:
        """The variance over that of independent topics; nan where there is none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.independent > 0, self.error**2 / self.independent, np.nan)


def robust_moments(values: Array, design: TopicDesign) -> RobustMoments:
    """Mean differences of all pairs of systems, with standard errors that hold for clusters, strata and weights.

    Parameters
    ----------
    values
        Scores, topics × systems; nan where one is missing. A pair is compared on the topics that both have.
    design
        The clusters, strata and weights of the topics.

    Returns
    -------
    RobustMoments
        Systems × systems: differences, standard errors, degrees of freedom.

    References
    ----------
    .. [1] R. M. Bell and D. F. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage
       samples", Survey Methodology, 2002.

    Examples
    --------
    Three clusters of two topics: t has two degrees of freedom, as the t test of the clusters' means.

    >>> scores = np.array([[0.5, 0.4], [0.6, 0.3], [0.7, 0.6], [0.4, 0.4], [0.9, 0.7], [0.8, 0.4]])
    >>> design = TopicDesign(weights=np.ones(6), clusters=np.repeat([0, 1, 2], 2), strata=np.zeros(6, int))
    >>> found = robust_moments(scores, design)
    >>> float(found.difference[0, 1].round(6)), float(found.error[0, 1].round(6)), float(found.df[0, 1].round(6))
    (0.183333, 0.072648, 2.0)
    """
    used = np.flatnonzero(design.weights > 0)
    there = np.isfinite(values)
    tiny = rounding(float(np.nanmin(values)), float(np.nanmax(values)))
    if there.all():
        return _complete(values[used], design.of(used), tiny, len(values))
    shared = there.T.astype(float) @ there
    return replace(_with_missing(values[used], there[used], design.of(used), tiny), shared=shared)


def _factor(squares: Array, share: Array, total: Array) -> Array:
    """The factor of a cluster's squared sum: its variance as Σa² over that of what the residuals leave of it.

    ``squares`` are Σa² over the cluster, ``share`` Σa, ``total`` Σa² over the stratum, where Σa = 1. If all topics
    count the same it is 1/(1 − n_g/n), that of CR2.
    """
    left = squares * (1 - 2 * share) + share**2 * total
    return np.asarray(np.divide(squares, left, out=np.zeros(np.shape(squares)), where=left > 1e-14 * total))


def _df_terms(squares: Array, share: Array, total: Array) -> Array:
    """What a cluster adds to the traces of M and M², where V = ε'Mε for independent ε (Pustejovsky & Tipton 2018, §2).

    M = D + L with D diagonal and L = Q·bb' − bc' − cb': D_g = f·Σa², b_g = √f·Σa, c_g = √f·Σa².
    """
    factor = _factor(squares, share, total)
    own, b, c = factor * squares, np.sqrt(factor) * share, np.sqrt(factor) * squares
    along = total * b**2 - 2 * b * c
    return np.array([own + along, own**2 + 2 * own * along, b * b, c * c, b * c])


def _traces(terms: Array, total: Array) -> tuple[Array, Array]:
    """tr M and tr M² of a stratum from the sums of its clusters' terms."""
    trace, square, bb, cc, bc = terms
    return trace, square + total**2 * bb**2 - 4 * total * bb * bc + 2 * bc**2 + 2 * bb * cc


def _complete(values: Array, design: TopicDesign, tiny: float, topics: int) -> RobustMoments:
    """All pairs by one product of sums per cluster × systems."""
    m = values.shape[1]
    sums, stratum, df = _cluster_sums(values, design)
    alone, _, _ = _cluster_sums(values, design.independent)
    total = float(np.square(design.shares).sum())
    floor = (4 * tiny) ** 2 * total
    variance, independent = (_squares_of_pairs(each, floor) for each in (sums, alone))
    parts = [sums[stratum == at] for at in np.unique(stratum)]
    own = np.array([np.square(each).sum(axis=0) for each in parts])
    means = design.shares @ values
    return RobustMoments(
        difference=means[:, np.newaxis] - means,
        error=np.sqrt(variance),
        df=_together(np.array([_squares_of_pairs(each, 0.0) for each in parts]), df),
        independent=independent,
        sd=np.sqrt(independent / total),
        shared=np.full((m, m), topics),
        own_error=np.sqrt(own.sum(axis=0)),
        own_df=_together(own, df),
    )


def _together(variances: Array, df: Array) -> Array:
    """The df of a sum of independent variances, strata × …, each with its own (Satterthwaite 1946; Cochran 1977 §5.4).

    Where nothing varies, that of one variance for all.
    """
    df = df.reshape(-1, *[1] * (variances.ndim - 1))
    if len(df) == 1:
        return np.broadcast_to(df[0], variances.shape[1:]).copy()
    whole = variances.sum(axis=0)
    bottom = (np.square(variances) / np.where(df > 0, df, np.nan)).sum(axis=0)
    return np.asarray(np.divide(np.square(whole), bottom, out=np.full_like(whole, np.nan), where=bottom > 0))


def _cluster_sums(values: Array, design: TopicDesign) -> tuple[Array, Array, Array]:
    """Clusters × systems, of which squares add up to the variance of a mean; the stratum of each; the df of strata."""
    shares = design.shares
    of_stratum = np.bincount(design.strata, shares)
    within = shares / of_stratum[design.strata]  # Σ = 1 in every stratum
    order = np.argsort(design.clusters, kind="stable")
    clusters = design.clusters[order]
    starts = np.flatnonzero(np.append(True, clusters[1:] != clusters[:-1]))
    stratum = design.strata[order][starts]
    share, squares = (np.add.reduceat(each[order], starts) for each in (within, within**2))
    total = np.bincount(design.strata, within**2)
    factor = _factor(squares, share, total[stratum])
    rest = shares[:, np.newaxis] * (values - _stratum_means(values, within, design.strata)[design.strata])
    sums = np.sqrt(factor)[:, np.newaxis] * np.add.reduceat(rest[order], starts, axis=0)
    terms = _df_terms(squares, share, total[stratum])
    trace, square = _traces(np.array([np.bincount(stratum, each, len(total)) for each in terms]), total)
    df = np.divide(np.square(trace), square, out=np.full_like(square, np.nan), where=square > 0)
    return sums, stratum, df[np.unique(stratum)]


def _stratum_means(values: Array, within: Array, strata: Array) -> Array:
    """Strata × systems: the mean of each system in every stratum."""
    means = np.zeros((int(strata.max()) + 1, values.shape[1]))
    np.add.at(means, strata, within[:, np.newaxis] * values)
    return means


def _squares_of_pairs(sums: Array, floor: float) -> Array:
    """Σ(a − b)² of every two columns; 0 where it is not above ``floor``."""
    centred = sums - sums.mean(axis=1, keepdims=True)  # which leaves every difference, and less to cancel
    products = centred.T @ centred
    own = np.diag(products)
    both = own[:, np.newaxis] + own
    found = both - 2 * products
    first, second = np.nonzero(np.triu(found <= _DOUBTED * both, k=1))
    step = max(1, _BLOCK // len(sums))
    for start in range(0, len(first), step):  # nearly equal systems: rounding of the products would decide
        a, b = first[start : start + step], second[start : start + step]
        found[a, b] = found[b, a] = np.square(sums[:, a] - sums[:, b]).sum(axis=0)
    return np.where(found > floor, found, 0.0)


def _with_missing(values: Array, there: Array, design: TopicDesign, tiny: float) -> RobustMoments:
    """Every pair on the topics that both have, by products over the topics of each cluster."""
    centre = float(values[there].mean())  # for the precision of the sums of squares
    filled = np.where(there, values - centre, 0.0)
    flags = there.astype(float)
    difference, variance, df = _by_strata(filled, flags, design)
    alone = _by_strata(filled, flags, design.independent)[1]
    counts, squares = ((flags * each[:, np.newaxis]).T @ flags for each in (design.shares, design.shares**2))
    total = np.divide(squares, counts**2, out=np.ones_like(counts), where=counts > 0)
    floor = (4 * tiny) ** 2 * total
    variance, alone = (np.where(each > floor, each, 0.0) for each in (variance, alone))
    own = [robust_moments(column[rows, np.newaxis], design.of(rows)) for column, rows in _own_topics(values, there)]
    return RobustMoments(
        difference=difference,
        error=np.sqrt(variance),
        df=df,
        independent=alone,
        sd=np.sqrt(alone / total),
        shared=flags.T @ flags,
        own_error=np.array([float(each.own_error[0]) for each in own]),
        own_df=np.array([float(each.own_df[0]) for each in own]),
    )


def _own_topics(values: Array, there: Array) -> Iterator[tuple[Array, Array]]:
    """The scores of every system, and the topics that it has."""
    for column, has in zip(values.T, there.T, strict=True):
        yield column, np.flatnonzero(has)


def _by_strata(filled: Array, flags: Array, design: TopicDesign) -> tuple[Array, Array, Array]:
    """Mean difference, variance and df of every pair; a pair that lacks a stratum has no mean of strata (nan)."""
    strata = np.unique(design.strata)
    parts = [_stratum(filled[rows], flags[rows], design.of(rows)) for rows in (design.strata == at for at in strata)]
    counts, means, variances, traces, squares, several = (np.array(each) for each in zip(*parts, strict=True))
    whole = counts.sum(axis=0)
    if design.by_stratum:
        share = np.where((counts > 0).all(axis=0), np.full_like(counts, 1 / len(strata)), np.nan)
    else:
        share = np.divide(counts, whole, out=np.zeros_like(counts), where=whole > 0)
    difference = (share * means).sum(axis=0)
    variance = (share**2 * variances).sum(axis=0)
    bottom = (np.square(share**2 * variances) * squares / np.where(traces > 0, np.square(traces), np.inf)).sum(axis=0)
    df = np.divide(np.square(variance), bottom, out=np.zeros_like(variance), where=bottom > 0)  # as in `_together`
    unknown = ((share > 0) & ~several).any(axis=0) | np.isnan(difference)
    return np.nan_to_num(difference), np.where(unknown, 0.0, variance), np.where(unknown, 0.0, df)


def _stratum(filled: Array, flags: Array, design: TopicDesign) -> tuple[Array, ...]:
    """Of a stratum and every pair: Σw, mean difference, its variance, tr M, tr M², and whether clusters are several."""
    weight = design.weights[:, np.newaxis]
    counts, squares = ((each * flags).T @ flags for each in (weight, weight**2))
    some = counts > 0
    gaps = (weight * filled).T @ flags - flags.T @ (weight * filled)
    mean = np.divide(gaps, counts, out=np.zeros_like(counts), where=some)
    total = np.divide(squares, counts**2, out=np.zeros_like(counts), where=some)
    variance, clusters, terms = np.zeros_like(counts), np.zeros_like(counts), np.zeros((5, *counts.shape))
    alone = len(np.unique(design.clusters)) == len(design.clusters)
    for sums in _alike(filled, flags, design, mean) if alone else _clusters(filled, flags, design, mean):
        number, mine, own, squared = sums
        share, part = (
            np.divide(each, counts**power, out=np.zeros_like(counts), where=some)
            for each, power in ((mine, 1), (own, 2))
        )
        spread = np.divide(squared, counts**2, out=np.zeros_like(counts), where=some)
        variance += _factor(part, share, total) * spread
        terms += number * _df_terms(part, share, total)
        clusters += number * (mine > 0)
    return counts, mean, variance, *_traces(terms, total), clusters > 1


_Sums = tuple[Array | float, Array, Array, Array]
"""How many clusters there are of a kind, their Σw and Σw² each, and Σ(Σw(d − d̄))² over them."""


def _clusters(filled: Array, flags: Array, design: TopicDesign, mean: Array) -> Iterator[_Sums]:
    for cluster in np.unique(design.clusters).tolist():
        rows = design.clusters == cluster
        weight, has = design.weights[rows, np.newaxis], flags[rows]
        weighted = weight * filled[rows]
        mine, own = ((each * has).T @ has for each in (weight, weight**2))
        yield 1.0, mine, own, np.square(weighted.T @ has - has.T @ weighted - mean * mine)


def _alike(filled: Array, flags: Array, design: TopicDesign, mean: Array) -> Iterator[_Sums]:
    """The same of topics that are clusters of their own, those with one weight together."""
    for weight in np.unique(design.weights).tolist():
        rows = design.weights == weight
        scores, has = filled[rows], flags[rows]
        number = has.T @ has
        squares = np.square(scores).T @ has
        gaps = scores.T @ has - has.T @ scores
        apart = squares + squares.T - 2 * scores.T @ scores
        spread = apart - 2 * mean * gaps + mean**2 * number
        spread = np.where(spread > 1e-13 * apart, spread, 0.0)
        here = number > 0
        yield number, weight * here, weight**2 * here, weight**2 * spread


def mean_variance(table: ScoreTable, measure: str) -> MeanVariance:
    """The variance of a mean difference of a complete table, mean over pairs, for the power of its design."""
    design, scores = design_of(table), table.of(measure)
    design.check(table.topics)
    found = robust_moments(scores, design)
    every = all_pairs(len(table.systems))
    pairs = every.first, every.second
    return MeanVariance(
        topics=len(table.topics),
        systems=len(table.systems),
        clusters=len(np.unique(design.clusters[design.weights > 0])) if design.has_clusters else None,
        variance=float(np.square(found.error[pairs]).mean()),
        independent=float(found.independent[pairs].mean()),
        own=float(np.square(found.own_error).mean()),
        within=float(scores.var(axis=0, ddof=1).mean()),
        sd=float(np.square(found.sd[pairs]).mean() ** 0.5),
        df=float(np.nanmedian(found.df[pairs])),
    )


# --- comparisons


@dataclass(frozen=True, kw_only=True)
class DesignEffect:
    """What clusters, strata and weights do to a comparison.

    Parameters
    ----------
    clusters
        Number of clusters; None where topics have none.
    smallest, typical, largest
        Topics of the smallest, the median and the largest cluster.
    strata
        Number of strata; None where topics have none.
    median, lowest, highest
        Of all pairs: the variance of a mean difference over that of as many independent topics with the same weights.
    effective_topics
        Independent topics that have the same variance, by the median.
    df, fewest_df
        Degrees of freedom: the median over pairs, and the fewest.
    weighted
        Whether topics count unequally.
    by_stratum
        Whether means are those of the strata's means.
    """

    clusters: int | None
    smallest: int
    typical: float
    largest: int
    strata: int | None
    median: float
    lowest: float
    highest: float
    effective_topics: float
    df: float
    fewest_df: float
    weighted: bool
    by_stratum: bool


def _design_effect(design: TopicDesign, ratios: Array, df: Array, topics: int) -> DesignEffect:
    sizes = np.bincount(design.clusters[design.weights > 0])
    sizes = sizes[sizes > 0]
    known = ratios[np.isfinite(ratios)]
    low, middle, high = np.quantile(known, [0, 0.5, 1]).tolist() if len(known) else [float("nan")] * 3
    return DesignEffect(
        clusters=len(sizes) if design.has_clusters else None,
        smallest=int(sizes.min()),
        typical=float(np.median(sizes)),
        largest=int(sizes.max()),
        strata=len(np.unique(design.strata)) if design.has_strata else None,
        median=middle,
        lowest=low,
        highest=high,
        effective_topics=topics / middle if middle > 0 else float("nan"),
        df=float(np.median(df)) if len(df) else float("nan"),
        fewest_df=float(df.min()) if len(df) else float("nan"),
        weighted=design.has_weights,
        by_stratum=design.by_stratum,
    )


def check_robust_test(test: str | None) -> None:
    """Refuse a test that has no form for clusters, strata, weights or missing scores."""
    if test not in (None, "t"):
        raise RequestError(
            f"the test {test} needs every score, and topics that are independent and of one weight",
            fix='Leave out `test`, or use `test="t"`: pairs are tested by t with robust standard errors, corrected by '
            "Holm; or leave out clusters, strata and weights.",
        )


@dataclass(frozen=True, eq=False)
class RobustPairs:
    """Contrasts of systems by t with robust standard errors, each on the topics that both systems have.

    ``values`` are topics × systems, nan where a score is missing; contrasts with fewer than ``fewest`` common topics
    are not tested.
    """

    values: Array
    contrasts: Contrasts
    design: TopicDesign
    fewest: int = 2

    @property
    def topics(self) -> int:
        return len(self.values)

    @cached_property
    def moments(self) -> RobustMoments:
        return robust_moments(self.values, self.design)

    def of(self, matrix: Array) -> Array:
        """The cells of the contrasts in a matrix of systems."""
        return np.asarray(matrix[self.contrasts.first, self.contrasts.second])

    @cached_property
    def _estimate(self) -> Estimate:
        difference, error, df = (self.of(getattr(self.moments, name)) for name in ("difference", "error", "df"))
        tested = (self.of(self.moments.shared) >= self.fewest) & (error > 0) & (df > 0)
        error, df = np.where(tested, error, 0.0), np.where(tested, df, 1.0)
        return Estimate(value=difference, standard_error=error, df=df)

    def fit(self) -> Estimate:
        return self._estimate

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        return topic_weights(rng, self.topics, size)

    def redrawn(self, drawn: Array, places: Array) -> tuple[Array, Array]:
        """Of topics that are independent and count the same."""
        gaps = self.contrasts.some(places).of(self.values)
        there = np.isfinite(gaps)
        gaps = np.where(there, gaps - self.fit().value[places], 0.0)
        counts = summed(drawn, there.astype(float))
        shift = summed(drawn, gaps) / np.maximum(counts, 1)
        squares = np.maximum(summed(drawn, np.square(gaps)) - counts * np.square(shift), 0.0)
        return shift, np.sqrt(squares / np.maximum(counts - 1, 1) / np.maximum(counts, 1))

    @cached_property
    def wins(self) -> tuple[Array, Array, Array]:
        """Topics on which the first of a pair scores higher, the same, and lower."""
        above = _wins(self.values)
        wins, losses = self.of(above), above[self.contrasts.second, self.contrasts.first]
        return wins, self.of(self.moments.shared).astype(np.int64) - wins - losses, losses

    @property
    def effect_size(self) -> Array:
        sd = self.of(self.moments.sd)
        return np.divide(self.fit().value, sd, out=np.full_like(sd, np.nan), where=sd > 0)

    @property
    def effect(self) -> DesignEffect | None:
        """What the design does; None where topics are independent and count the same."""
        if self.design.is_plain:
            return None
        tested = self.fit().is_tested
        ratios = self.of(self.moments.design_effect)[tested]
        return _design_effect(self.design, ratios, self.fit().df[tested], self.topics)

    def own_reach(self, alpha: float) -> Array:
        """Half-widths of the intervals of systems' means."""
        known = self.moments.own_df > 0
        df = np.where(known, self.moments.own_df, 1.0)
        return np.where(known, t_critical(alpha / 2, df) * self.moments.own_error, np.nan)

    def cautions(self, names: tuple[str, ...]) -> list[Caution | None]:
        """Return the warnings."""
        nothing = nothing_to_tell(self.values) if np.isfinite(self.values).all() else None
        shared, sd = self.of(self.moments.shared), self.of(self.moments.sd)
        compared = shared >= self.fewest
        constant = (sd == 0) & compared & (self.wins[1] < shared) & (nothing is None)
        tested = self.fit().is_tested
        return [
            nothing,
            constant_differences(constant, names, self.contrasts.first, self.contrasts.second),
            *_cautions(self.effect, self.topics),
            *few_clusters(self.fit().df[tested], int((compared & (sd > 0) & ~tested).sum())),
        ]


@dataclass(frozen=True, eq=False)
class ClusteredContrasts:
    """Any contrasts of complete scores by t with robust standard errors, which are not resampled."""

    scores: Array
    contrasts: Contrasts
    design: TopicDesign

    @property
    def topics(self) -> int:
        return len(self.scores)

    @cached_property
    def _estimate(self) -> Estimate:
        values = self.contrasts.of(self.scores)
        found = robust_moments(np.column_stack([values, np.zeros(len(values))]), self.design)
        value, error, df = (matrix[:-1, -1] for matrix in (found.difference, found.error, found.df))
        tiny = rounding(float(self.scores.min()), float(self.scores.max()))
        tested = (np.ptp(values, axis=0) > 4 * tiny) & (error > 0) & (df > 0)
        return Estimate(value=value, standard_error=np.where(tested, error, 0.0), df=np.where(tested, df, 1.0))

    def fit(self) -> Estimate:
        return self._estimate

    def draw(self, rng: np.random.Generator, size: int) -> Array:
        raise NotImplementedError

    def redrawn(self, drawn: Array, places: Array) -> tuple[Array, Array]:
        raise NotImplementedError


def _wins(values: Array) -> Array:
    """Systems × systems: topics on which the first is better than the second."""
    above = np.zeros((values.shape[1], values.shape[1]), np.int64)
    tiny = rounding(float(np.nanmin(values)), float(np.nanmax(values)))
    for row in values:
        above += row[:, np.newaxis] > row + tiny  # nan compares as nothing
    return above


def _cautions(effect: DesignEffect | None, topics: int) -> Iterator[Caution]:
    if effect is None:
        return
    if effect.median >= MATERIAL:
        yield Caution(
            "design-effect",
            f"topics are not independent: the variance of a difference is {effect.median:.2g} times that of "
            f"independent topics (median over pairs; {effect.lowest:.2g} to {effect.highest:.2g}), and {topics:,} "
            f"topics are worth {effect.effective_topics:,.0f}",
            "Say so where the number of topics is reported. More topics in the same clusters help little.",
        )


def few_clusters(df: Array, alone: int = 0) -> Iterator[Caution]:
    """Warn about standard errors that few clusters, or a few large weights, decide; ``alone`` pairs have none."""
    few = int((df < FEW_DF).sum())
    which = "standard errors have" if few == len(df) else f"the standard errors of {few:,} of {len(df):,} pairs have"
    text = []
    if few:
        text.append(
            f"{which} fewer than {FEW_DF:g} degrees of freedom ({df.min():.2g} the fewest), however many topics there "
            "are: intervals are wide, and assume that the means of clusters are normal"
        )
    if alone:
        text.append(f"{alone:,} pairs share fewer than two clusters, or two topics of a stratum, and are not tested")
    if text:
        fix = "Add clusters, of nearly the same size or weight where a few of them decide."
        yield Caution("few-clusters", "; ".join(text), fix)
