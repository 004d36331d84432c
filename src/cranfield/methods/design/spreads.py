"""What differences vary by: the standard error of a mean difference over n topics, and the power that follows.

A spread holds numbers or arrays; those of a design broadcast. Every spread answers two questions about a mean paired
difference: its standard error with the degrees of freedom, and from both the power of a test of one pair.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from scipy import special

from cranfield.errors import NoEffectError
from cranfield.methods.design import power_functions as formulas
from cranfield.stats.family import ALL_PAIRS_TEST, degrees, pair_level
from cranfield.stats.tails import t_critical
from cranfield.types import Array, ArrayLike

if TYPE_CHECKING:
    from cranfield.methods.variance.replicate_components import Components


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


@dataclass(frozen=True, kw_only=True)
class Spread:
    """What differences vary by; ``sd`` is the standard deviation of one paired difference.

    ``fewest`` is the smallest number of topics that a design may have, ``tests`` are those that compare such scores,
    all where there are none.
    """

    fewest: ClassVar[int] = 1

    @property
    def tests(self) -> tuple[str, ...]:
        return ()

    @property
    def title(self) -> str:
        """What the scores are of."""
        return "topics"

    def check_test(self, test: str) -> None:
        """Refuse a test that does not compare such scores."""
        if self.tests and test not in self.tests:
            what = f"{self.title} are not compared by the test {test}"
            raise NoEffectError(what, parameter="test", fix=f"Choose one of: {', '.join(self.tests)}.")

    def in_words(self, topics: int) -> str:
        """The counts of one design."""
        return _plural(topics, "topic")

    @property
    def numbers(self) -> dict[str, ArrayLike]:
        """Its numbers by name."""
        return {name: value for name, value in vars(self).items() if not isinstance(value, str)}

    def at(self, index: Array) -> Self:
        """The same at some positions of its arrays; what is one number stays."""
        arrays = {name: np.asarray(value) for name, value in self.numbers.items()}
        return replace(self, **{name: values[index] for name, values in arrays.items() if values.ndim})

    def paid(self, topics: ArrayLike) -> dict[str, Array]:
        """How many a design has of everything that costs something, by the names of `Costs`."""
        return {"topic": np.asarray(topics, float)}

    def independent(self, topics: Array) -> tuple[Array, Array]:
        """As many independent means as n topics are worth, and their sd; for most spreads n, and that of a topic."""
        raise NotImplementedError

    def error(self, topics: Array, systems: Array, test: str) -> tuple[Array, Array]:
        """The standard error of a mean difference, and its degrees of freedom under a test."""
        count, sd = self.independent(topics)
        return sd / np.sqrt(count), degrees(test, systems, count)

    def power(self, topics: Array, systems: Array, difference: Array, alpha: Array, test: str, sides: int) -> Array:
        """The power of the test of one pair; of a family, at the level that it leaves to a pair."""
        error, df = self.error(topics, systems, test)
        level = pair_level(test, alpha, systems, topics, df)
        return formulas.t_power(difference / error, df, level, sides)

    def width(self, topics: Array, alpha: Array) -> Array:
        """The expected width of the interval of a difference."""
        return formulas.expected_width(*self.independent(topics), alpha)


@dataclass(frozen=True, kw_only=True)
class Sd(Spread):
    """A standard deviation: of paired differences, or of one system's scores where each has its own topics.

    ``systems_variance`` is the variance of the systems' means, which a reliability needs.
    """

    sd: ArrayLike = 1.0
    systems_variance: ArrayLike = float("nan")

    @classmethod
    def of_variance(
        cls, variance: ArrayLike, correlation: ArrayLike = 0.0, systems_variance: ArrayLike = float("nan")
    ) -> Sd:
        """That of σ² of one system's scores: σ_t² = 2σ²(1 − ρ), where ρ is the correlation of two systems' scores.

        >>> round(float(Sd.of_variance(0.0401, 0.66).sds), 3)  # TREC-8 AP
        0.165
        """
        sd = np.sqrt(2 * np.asarray(variance, float) * (1 - np.asarray(correlation, float)))
        return cls(sd=sd, systems_variance=systems_variance)

    @property
    def sds(self) -> Array:
        return np.asarray(self.sd, float)

    def independent(self, topics: Array) -> tuple[Array, Array]:
        return topics, self.sds

    def error(self, topics: Array, systems: Array, test: str) -> tuple[Array, Array]:
        if test == "unpaired":
            return self.sds * np.sqrt(2 / topics), 2 * (topics - 1)
        return super().error(topics, systems, test)


@dataclass(frozen=True, kw_only=True)
class Estimated(Sd):
    """A standard deviation that was estimated with ``df`` degrees of freedom: powers are expected ones."""

    df: ArrayLike = float("inf")

    def quantiles(self) -> Array:
        """Equally likely values of the true sd, one row for each of an array: df·s²/σ² is χ²."""
        df = np.asarray(self.df, float)[:, np.newaxis]
        return np.asarray(self.sds[:, np.newaxis] * np.sqrt(df / special.chdtri(df, _LEVELS)))


_LEVELS = (np.arange(200) + 0.5) / 200


@dataclass(frozen=True, kw_only=True)
class Clustered(Spread):
    """Topics in clusters or strata, or that count unequally: as ``pilot_topics`` of them, with ``df``, in a pilot.

    ``variance`` is that of the mean difference of the pilot. Topics are planned for as the means of equal clusters are,
    which are independent: as many of them as the degrees of freedom allow. For clusters of one size this is exact.
    """

    variance: ArrayLike
    df: ArrayLike
    pilot_topics: ArrayLike

    @property
    def tests(self) -> tuple[str, ...]:
        return ALL_PAIRS_TEST, "t"

    @property
    def title(self) -> str:
        return "topics with clusters, strata or weights"

    def independent(self, topics: Array) -> tuple[Array, Array]:
        times = topics / np.asarray(self.pilot_topics)
        count = np.maximum(2, np.floor((np.asarray(self.df) + 1) * times + 1e-9))
        return count, np.sqrt(count * np.asarray(self.variance) / times)


@dataclass(frozen=True, kw_only=True)
class Judged(Spread):
    """Human labels on n topics among ``judged_topics`` that a judge labels; ``judge_correlation`` is r of the
    paired differences under both. With 0 judged topics people alone label; with fewer than ``fewest`` topics labelled
    by people a comparison with a judge is not reliable.

    The test is that of the regression estimator, d̄ + b(ē_N − ē_n) over its standard error, against t with n − 2 degrees
    of freedom. For normal d and e the residual variance estimate is σ²(1 − r²)χ²/(n − 2), and (ē_N − ē_n)²/SS_e is
    (1/n − 1/N)·F(1, n − 1)/(n − 1); power and width are integrals over these two. In the standard error b² is taken at
    its expected value: with fewer than 8 topics among few judged ones the power is understated by up to .03, else it
    is right to about .005.

    >>> powers = [Judged(sd=0.15, judge_correlation=r, judged_topics=400) for r in (0.3, 0.6, 0.9)]
    >>> n, m, difference, alpha = map(np.asarray, (50.0, 2.0, 0.05, 0.05))
    >>> [round(float(each.power(n, m, difference, alpha, "t", 2)), 3) for each in powers]
    [0.664, 0.79, 0.99]
    """

    sd: ArrayLike
    judge_correlation: ArrayLike
    judged_topics: ArrayLike = float("nan")
    fewest: ClassVar[int] = 5

    @property
    def tests(self) -> tuple[str, ...]:
        return ALL_PAIRS_TEST, "max-t", "t"  # with a standard error of each pair's own, as the regression estimator has

    @property
    def title(self) -> str:
        return "labels of people and of a model"

    def in_words(self, topics: int) -> str:
        """The counts of one design.

        >>> Judged(sd=0.15, judge_correlation=0.6, judged_topics=335).in_words(52)
        '52 topics labelled by people among 335 labelled by the model'
        """
        judged = int(np.asarray(self.judged_topics))
        others = f"among {judged:,} labelled by the model" if judged else "alone"
        return f"{topics:,} topics labelled by people {others}"

    @property
    def people_alone(self) -> Array:
        return np.asarray(np.asarray(self.judged_topics) == 0)

    def paid(self, topics: ArrayLike) -> dict[str, Array]:
        judged = np.where(self.people_alone, 0.0, np.maximum(self.judged_topics, topics))
        return {**super().paid(topics), "judged_topic": judged}

    def independent(self, topics: Array) -> tuple[Array, Array]:
        """For many topics, where the slope of the regression is known."""
        return self.effective_topics(topics), np.asarray(self.sd, float)

    def effective_topics(self, topics: ArrayLike) -> Array:
        """Topics with human labels alone that n of them are worth."""
        return effective_topics(topics, np.maximum(self.judged_topics, topics), self.judge_correlation)

    def power(self, topics: Array, systems: Array, difference: Array, alpha: Array, test: str, sides: int) -> Array:
        level = pair_level(test, alpha, systems, np.asarray(np.inf), np.asarray(np.inf))
        n, error, estimated, weights, delta, level = self._integrand(topics, difference, level)
        reach = t_critical(level / sides, n - 2) * estimated
        power = special.ndtr((delta - reach) / error)
        if sides == 2:
            power = power + special.ndtr((-delta - reach) / error)
        power = (power * weights).sum(axis=(-2, -1))
        alone = super().power(topics, systems, difference, alpha, test, sides)
        return np.where(self.people_alone, alone, power)

    def width(self, topics: Array, alpha: Array) -> Array:
        n, _, estimated, weights, _, level = self._integrand(topics, np.asarray(0.0), np.asarray(alpha))
        width = (2 * t_critical(level / 2, n - 2) * estimated * weights).sum(axis=(-2, -1))
        return np.where(self.people_alone, super().width(topics, alpha), width)

    def _integrand(self, *inputs: Array) -> tuple[Array, ...]:
        """n, the standard error given the judge's scores, its estimate, weights of the integral, and the inputs."""
        every = np.broadcast_arrays(
            *(np.asarray(each, float) for each in (*inputs, self.sd, self.judge_correlation, self.judged_topics))
        )
        n, *rest, sd, r, whole = (each[..., np.newaxis, np.newaxis] for each in every)
        whole = np.maximum(whole, n)  # people label some of those that the judge does
        nodes, weights = _grid()
        residual = special.chdtri(n - 2, 1 - nodes[:, np.newaxis]) / (n - 2)
        t = special.stdtrit(n - 1, (1 + nodes) / 2)  # its square is F(1, n − 1)
        leverage = 1 / n + (1 / n - 1 / whole) * np.square(t) / (n - 1)
        own = (1 - np.square(r)) * leverage  # the part that people's labels have
        shared = np.square(r) / whole
        slope = (1 - np.square(r)) / np.maximum(n - 3, _TINY)  # the variance of b; fewer than 4 topics have none
        expected = shared + slope / whole  # E[b²]s²_e
        error = np.sqrt(own + shared)  # Cochran 1977 §12.6
        return n, sd * error, sd * np.sqrt(own * residual + expected), weights[:, np.newaxis] * weights, *rest


def effective_topics(
    topics: ArrayLike, judged_topics: ArrayLike, correlation: ArrayLike, leverage: ArrayLike = 1.0
) -> Array:
    """Topics with human labels alone that n of them among N judged ones are worth: their ratio of variances.

    The variance of the regression estimator is σ²(1 − r²)(1/n + E[(ē_N − ē_n)²/SS_e]) + r²σ²/N, that of human labels
    alone σ²/n. For normal e the expectation, which is what it costs to estimate the slope, is (1/n − 1/N)/(n − 3);
    ``leverage`` is how many times as large it is for these scores. Among N = n judged topics they are worth n.

    >>> float(effective_topics(15, 200, 0.7305).round(1)), float(effective_topics(15, 15, 0.7305))
    (27.7, 15.0)
    >>> float(effective_topics(5, 200, 0.4).round(2))  # fewer than without a judge
    3.99
    """
    n, whole, r2 = np.asarray(topics, float), np.asarray(judged_topics, float), np.square(correlation)
    cost = leverage / np.maximum(n - 3, _TINY)  # no expectation for fewer than 4 topics
    return np.asarray(n / (1 - (1 - n / whole) * (r2 - (1 - r2) * cost)))  # Cochran 1977 §12.6


_NODES = 24
_TINY = float(np.finfo(float).tiny)


@cache
def _grid() -> tuple[Array, Array]:
    """Probabilities and weights of Gauss–Legendre quadrature on (0, 1), with more nodes towards both ends.

    Quantiles go to infinity at the ends; after the substitution p = x³(10 − 15x + 6x²) 24 nodes have an error of 1e-8.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    x = (nodes + 1) / 2
    return x**3 * (10 - 15 * x + 6 * x**2), weights / 2 * 30 * x**2 * (1 - x) ** 2


# --- several scores per topic


@dataclass(frozen=True, kw_only=True)
class Structure:
    """What the units, items and repeats of a design are called, and which of them all units share."""

    unit: str
    item: str
    repeat: str
    covers: str
    shared: str = ""  # items, repeats, or neither

    @property
    def sampled(self) -> str:
        """What all units share, in words."""
        return f"{self.item if self.shared == 'items' else self.repeat}s"

    @property
    def tests(self) -> tuple[str, ...]:
        """Those that generalise to what is shared, or that compare means per cluster; all where there are none."""
        if self.shared:
            return "tukey", "t"
        return (ALL_PAIRS_TEST, "t") if self.unit == "cluster" else ()


STRUCTURES = {
    "variations": Structure(unit="topic", item="variation", repeat="repeat", covers="new topics and their variations"),
    "clusters": Structure(unit="cluster", item="topic", repeat="repeat", covers="new clusters of topics"),
    "fixed-prompts": Structure(unit="topic", item="prompt", repeat="repeat", covers="new topics, only these prompts"),
    "prompts": Structure(
        unit="topic", item="prompt", repeat="repeat", covers="new topics and other prompts", shared="items"
    ),
    "seeds": Structure(
        unit="topic", item="variation", repeat="seed", covers="new topics and other seeds", shared="repeats"
    ),
}


@dataclass(frozen=True, kw_only=True)
class Replicated(Spread):
    """J units with ``items`` K each and ``repeats`` R of each item, and the components of the paired differences.

    The variance of the mean difference is between/J + within/(J·K) + repeat/(J·K·R), and what all units share (prompts,
    or seeds of trained systems) adds its variance over its number, which more units do not reduce.
    """

    structure: str = "variations"
    between: float | Array = 0.0
    within: float | Array = 0.0
    shared_variance: float | Array = 0.0
    repeat_variance: float | Array = 0.0
    items: float | Array = 1
    repeats: float | Array = 1

    @property
    def kind(self) -> Structure:
        return STRUCTURES[self.structure]

    @property
    def components(self) -> Components:
        """Those of one design."""
        from cranfield.methods.variance.replicate_components import NAMES, Components

        return Components(**{name: float(getattr(self, name)) for name in NAMES})

    def paid(self, topics: ArrayLike) -> dict[str, Array]:
        """Of what all units share, it is paid for once and not for every unit."""
        units, items, repeats = (np.asarray(each, float) for each in (topics, self.items, self.repeats))
        shared = self.kind.shared
        own_items = items if shared == "items" else units * items
        own_repeats = repeats if shared == "repeats" else units * items * repeats
        return {"topic": units, "item": own_items, "repeat": own_repeats}

    @property
    def tests(self) -> tuple[str, ...]:
        return self.kind.tests

    @property
    def title(self) -> str:
        return f"{self.kind.sampled if self.kind.shared else self.kind.unit + 's'} as a sample"

    def in_words(self, topics: int) -> str:
        """The units, items and repeats of one design.

        >>> Replicated(items=3, repeats=2).in_words(40)
        '40 topics with 3 variations each and 2 repeats of each variation'
        >>> Replicated(structure="seeds", repeats=5).in_words(40)
        '40 topics with 5 seeds of each system'
        """
        kind, items, repeats = self.kind, int(self.items), int(self.repeats)
        parts = []
        if items > 1 or kind.shared == "items" or kind.unit == "cluster":
            is_prompt = kind.item == "prompt"
            parts.append(f"{'the same ' * is_prompt}{_plural(items, kind.item)}{' each' * (not is_prompt)}")
        if kind.shared == "repeats":
            parts.append(f"{_plural(repeats, kind.repeat)} of each system")
        elif repeats > 1:
            of = kind.item if items > 1 or kind.unit == "cluster" else kind.unit
            parts.append(f"{_plural(repeats, kind.repeat)} of each {of}")
        told = f" with {' and '.join(parts)}" if parts else ""
        return f"{_plural(topics, kind.unit)}{told}"

    def weights(self, topics: ArrayLike) -> Array:
        """By what each component, in the order of ``NAMES``, enters the variance of the mean difference."""
        units, items, repeats = (np.asarray(each, float) for each in (topics, self.items, self.repeats))
        shared = {"items": 1 / items, "repeats": 1 / repeats, "": 0 * units}[self.kind.shared]
        return np.array(np.broadcast_arrays(1 / units, 1 / (units * items), shared, 1 / (units * items * repeats)))

    def variance(self, topics: ArrayLike) -> Array:
        """That of the mean difference over n units."""
        from cranfield.methods.variance.replicate_components import NAMES

        parts = np.array(np.broadcast_arrays(*(np.asarray(getattr(self, name), float) for name in NAMES)))
        return np.asarray((self.weights(topics).T * parts.T).sum(axis=-1))

    def design_effect(self, topics: float) -> float:
        """By what the variance is larger than that of as many independent topics: 1 + (K − 1)ρ for nested items.

        >>> nested = Replicated(between=0.0116, within=0.0062, items=5)
        >>> round(nested.design_effect(40), 3), round(1 + 4 * nested.components.icc, 3)
        (3.607, 3.607)
        """
        once = replace(self, items=1).variance(1)  # of one item, with all its repeats
        return float(self.variance(topics) * topics * float(self.items) / once)

    @property
    def sds(self) -> Array:
        """That of one paired difference of means per unit, without what units share."""
        items, repeats = np.asarray(self.items, float), np.asarray(self.repeats, float)
        return np.asarray(np.sqrt(self.between + self.within / items + self.repeat_variance / (items * repeats)))

    def independent(self, topics: Array) -> tuple[Array, Array]:
        return topics, self.sds

    def error(self, topics: Array, systems: Array, test: str) -> tuple[Array, Array]:
        shared = self.kind.shared
        if not shared:
            return super().error(topics, systems, test)
        variance, df = self._sampled(topics, systems, shared)
        return np.sqrt(variance), df

    def _sampled(self, topics: Array, systems: Array, shared: str) -> tuple[Array, Array]:
        """The variance of the mean difference with shared replicates, and Satterthwaite's degrees of freedom."""
        items, repeats = np.asarray(self.items, float), np.asarray(self.repeats, float)
        if shared == "items":
            levels, by_topic, rest = items, self.between, self.within + self.repeat_variance / repeats
        else:
            levels, by_topic, rest = repeats, self.between + self.within / items, self.repeat_variance / items
        return formulas.satterthwaite(
            topics,
            levels,
            systems,
            by_topic=np.asarray(by_topic),
            shared=np.asarray(self.shared_variance),
            rest=np.asarray(rest),
            nested=shared == "repeats",
        )
