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

LARGE_DESIGN_EFFECT = 1.5  # design effect from which standard errors of independent topics are 18 % too small
FEW_DF = 4.0
_BLOCK = 500_000  # differences at a time


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
class RobustMeans:
    """Means of columns over topics, with their standard errors and degrees of freedom.

    ``independent`` is the variance of a mean as if topics were independent, and ``sd`` that of the topics' values then;
    ``topics`` counts those that have a value.
    """

    mean: Array
    error: Array
    df: Array
    independent: Array
    sd: Array
    topics: Array

    def estimate(self, fewest: int = 2) -> Estimate:
        """The means; only those of as many topics, with an error to measure by, are tested."""
        tested = (self.topics >= fewest) & (self.error > 0) & (self.df > 0)
        error, df = np.where(tested, self.error, 0.0), np.where(tested, self.df, 1.0)
        return Estimate(value=self.mean, standard_error=error, df=df)

    @property
    def design_effect(self) -> Array:
        """The variance over that of independent topics; nan where there is none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.independent > 0, self.error**2 / self.independent, np.nan)


def robust_means(values: Array, design: TopicDesign, *, tiny: float = 0.0) -> RobustMeans:
    """Means of columns, with standard errors that hold for clusters, strata and weights of topics.

    Parameters
    ----------
    values
        Topics × columns, such as the scores of systems or the differences of pairs; nan where one is missing.
    design
        The clusters, strata and weights of the topics.
    tiny
        By how much scores may be off by rounding: values that vary by no more than four times as much are constant, and
        have a standard error of 0.

    Returns
    -------
    RobustMeans
        Of every column the mean, its standard error and degrees of freedom.

    References
    ----------
    .. [1] R. M. Bell and D. F. McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage
       samples", Survey Methodology, 2002.

    Examples
    --------
    Three clusters of two topics: t has two degrees of freedom, as the t test of the clusters' means.

    >>> scores = np.array([[0.5, 0.4], [0.6, 0.3], [0.7, 0.6], [0.4, 0.4], [0.9, 0.7], [0.8, 0.4]])
    >>> design = TopicDesign(weights=np.ones(6), clusters=np.repeat([0, 1, 2], 2), strata=np.zeros(6, int))
    >>> differences = robust_means(scores[:, :1] - scores[:, 1:], design)
    >>> float(differences.mean[0].round(6)), float(differences.error[0].round(6)), float(differences.df[0].round(6))
    (0.183333, 0.072648, 2.0)
    """
    topics = np.isfinite(values).sum(axis=0)
    used = design.weights > 0
    if not used.all():
        values, design = values[used], design.of(np.flatnonzero(used))
    there = np.isfinite(values)
    # Where no value is missing, one column of weights is that of all.
    has = np.ones((len(values), 1)) if there.all() else there.astype(float)
    filled = values if there.all() else np.where(there, values, 0.0)
    mean, variance, df = _stratified(filled, has * design.weights[:, np.newaxis], design)
    share = _shares(has * design.shares[:, np.newaxis])
    alone = replace(design, clusters=np.arange(len(values)), strata=np.zeros(len(values), np.int64), by_stratum=False)
    independent = _stratified(filled, share, alone)[1] if design.has_clusters or design.has_strata else variance
    total = np.square(share).sum(axis=0)
    floor = (4 * tiny) ** 2 * total
    variance, independent = (np.where(each > floor, each, 0.0) for each in (variance, independent))
    sd = np.sqrt(np.divide(independent, total, out=np.zeros_like(independent), where=total > 0))
    return RobustMeans(mean=mean, error=np.sqrt(variance), df=df, independent=independent, sd=sd, topics=topics)


def _shares(weights: Array) -> Array:
    """Weights as shares of their sum in each column."""
    whole = weights.sum(axis=0)
    return np.asarray(np.divide(weights, whole, out=np.zeros_like(weights), where=whole > 0))


def _stratified(values: Array, weights: Array, design: TopicDesign) -> tuple[Array, Array, Array]:
    """Mean, its variance and df; a column that lacks a stratum has no mean of strata's means, and a variance of 0."""
    found = np.unique(design.strata)
    strata = [design.strata == stratum for stratum in found] if len(found) > 1 else [slice(None)]  # no copy of all rows
    parts = [_one_stratum(values[rows], weights[rows], design.clusters[rows]) for rows in strata]
    counts, means, variances, dfs, several = (np.array(each) for each in zip(*parts, strict=True))
    if design.by_stratum:
        share = np.where((counts > 0).all(axis=0), np.full_like(counts, 1 / len(strata)), np.nan)
    else:
        share = _shares(counts)
    mean, variances = (share * means).sum(axis=0), share**2 * variances
    unknown = ((share > 0) & ~several).any(axis=0) | np.isnan(mean)
    df = np.where(unknown, 0.0, _summed_df(variances, dfs))
    return np.nan_to_num(mean), np.where(unknown, 0.0, variances.sum(axis=0)), df


def _cluster_sums(columns: Sequence[Array], clusters: Array) -> list[Array]:
    """Sums of topics × columns over clusters."""
    order = np.argsort(clusters, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(clusters[order]) != 0))
    if len(starts) == len(order):
        return [*columns]
    return [np.add.reduceat(each[order], starts, axis=0) for each in columns]


def _summed_df(variances: Array, df: Array) -> Array:
    """The df of a sum of independent variances, strata × columns (Satterthwaite 1946; Cochran 1977 §5.4)."""
    if len(df) == 1:
        return np.broadcast_to(df[0], variances.shape[1:])
    bottom = (np.square(variances) / np.where(df > 0, df, np.inf)).sum(axis=0)
    squared = np.square(variances.sum(axis=0))
    return np.asarray(np.divide(squared, bottom, out=np.full_like(bottom, np.nan), where=bottom > 0))


def _one_stratum(values: Array, weights: Array, clusters: Array) -> tuple[Array, ...]:
    """Of a stratum: Σw, mean, its variance and df, and whether there are several clusters.

    A cluster's squared sum has as a factor its variance as Σa² over that of what the residuals leave of it, where Σa =
    1 over the stratum; if all topics count the same that is 1/(1 − n_g/n), which is CR2. The df are those of V = ε'Mε
    for independent ε (Pustejovsky & Tipton 2018, §2), M = D + L with D diagonal and L = Q·bb' − bc' − cb':
    D_g = f·Σa², b_g = √f·Σa, c_g = √f·Σa².
    """
    share = _shares(weights)
    mean = (share * values).sum(axis=0)
    part, squares, sums = _cluster_sums((share, share**2, share * (values - mean)), clusters)
    total = squares.sum(axis=0)
    left = squares * (1 - 2 * part) + part**2 * total
    factor = np.divide(squares, left, out=np.zeros_like(left), where=left > 1e-14 * total)
    own, b, c = factor * squares, np.sqrt(factor) * part, np.sqrt(factor) * squares
    along = total * b**2 - 2 * b * c
    bb, cc, bc = (each.sum(axis=0) for each in (b * b, c * c, b * c))
    trace, square = (own + along).sum(axis=0), (own**2 + 2 * own * along).sum(axis=0)
    square = square + total**2 * bb**2 - 4 * total * bb * bc + 2 * bc**2 + 2 * bb * cc
    df = np.divide(trace**2, square, out=np.full_like(square, np.nan), where=square > 0)
    variance = (factor * sums**2).sum(axis=0)
    whole, several = weights.sum(axis=0), (part > 0).sum(axis=0) > 1
    return tuple(np.broadcast_to(each, mean.shape) for each in (whole, mean, variance, df, several))


def mean_variance(table: ScoreTable, measure: str) -> MeanVariance:
    """The variance of a mean difference of a complete table, mean over pairs, for the power of its design."""
    design, scores = design_of(table), table.of(measure)
    design.check(table.topics)
    robust = RobustPairs(scores, all_pairs(len(table.systems)), design)
    pairs = robust.moments
    return MeanVariance(
        topics=len(table.topics),
        systems=len(table.systems),
        clusters=len(np.unique(design.clusters[design.weights > 0])) if design.has_clusters else None,
        variance=float(np.square(pairs.error).mean()),
        independent=float(pairs.independent.mean()),
        own=float(np.square(robust.own.error).mean()),
        within=float(scores.var(axis=0, ddof=1).mean()),
        sd=float(np.square(pairs.sd).mean() ** 0.5),
        df=float(np.nanmedian(pairs.df)),
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
    def _tiny(self) -> float:
        return rounding(float(np.nanmin(self.values)), float(np.nanmax(self.values)))

    def blocks(self) -> Iterator[Array]:
        """The differences on every topic, topics × contrasts, some contrasts at a time."""
        step = max(1, _BLOCK // self.topics)
        for start in range(0, max(len(self.contrasts), 1), step):
            yield self.contrasts.some(slice(start, start + step)).of(self.values)

    @cached_property
    def moments(self) -> RobustMeans:
        """The mean differences with their standard errors."""
        parts = [vars(robust_means(gaps, self.design, tiny=self._tiny)) for gaps in self.blocks()]
        return RobustMeans(**{name: np.concatenate([part[name] for part in parts]) for name in parts[0]})

    @cached_property
    def own(self) -> RobustMeans:
        """The means of systems with their standard errors."""
        return robust_means(self.values, self.design, tiny=self._tiny)

    @cached_property
    def _estimate(self) -> Estimate:
        return self.moments.estimate(self.fewest)

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
        counts = [((gaps > self._tiny).sum(axis=0), (gaps < -self._tiny).sum(axis=0)) for gaps in self.blocks()]
        above, below = (np.concatenate(each) for each in zip(*counts, strict=True))
        return above, self.moments.topics - above - below, below

    @property
    def effect_size(self) -> Array:
        sd = self.moments.sd
        return np.divide(self.fit().value, sd, out=np.full_like(sd, np.nan), where=sd > 0)

    @property
    def effect(self) -> DesignEffect | None:
        """What the design does; None where topics are independent and count the same."""
        if self.design.is_plain:
            return None
        tested, design = self.fit().is_tested, self.design
        ratios, df = self.moments.design_effect[tested], self.moments.df[tested]
        low, middle, high = np.nanquantile(ratios, [0, 0.5, 1]).tolist() if np.isfinite(ratios).any() else [np.nan] * 3
        sizes = np.unique(design.clusters[design.weights > 0], return_counts=True)[1]
        return DesignEffect(
            clusters=len(sizes) if design.has_clusters else None,
            smallest=int(sizes.min()),
            typical=float(np.median(sizes)),
            largest=int(sizes.max()),
            strata=len(np.unique(design.strata)) if design.has_strata else None,
            median=middle,
            lowest=low,
            highest=high,
            effective_topics=self.topics / middle if middle > 0 else float("nan"),
            df=float(np.median(df)) if len(df) else float("nan"),
            fewest_df=float(df.min()) if len(df) else float("nan"),
            weighted=design.has_weights,
            by_stratum=design.by_stratum,
        )

    def own_reach(self, alpha: float) -> Array:
        """Half-widths of the intervals of systems' means."""
        known = self.own.df > 0
        return np.where(known, t_critical(alpha / 2, np.where(known, self.own.df, 1.0)) * self.own.error, np.nan)

    def cautions(self, names: tuple[str, ...]) -> list[Caution | None]:
        """Return the warnings."""
        nothing = nothing_to_tell(self.values) if np.isfinite(self.values).all() else None
        shared, sd = self.moments.topics, self.moments.sd
        compared = shared >= self.fewest
        constant = (sd == 0) & compared & (self.wins[1] < shared) & (nothing is None)
        tested = self.fit().is_tested
        return [
            nothing,
            constant_differences(constant, names, self.contrasts.first, self.contrasts.second),
            *_cautions(self.effect, self.topics),
            *few_clusters(self.fit().df[tested], int((compared & (sd > 0) & ~tested).sum())),
        ]


def _cautions(effect: DesignEffect | None, topics: int) -> Iterator[Caution]:
    if effect is None:
        return
    if effect.median >= LARGE_DESIGN_EFFECT:
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
