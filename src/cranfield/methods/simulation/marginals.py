"""One system's scores as a distribution: fitted to those seen, kept on the measure's support, moved to any mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import optimize, special

from cranfield.errors import RequestError
from cranfield.measures import parse_measure
from cranfield.methods.names import MARGINS_TITLES
from cranfield.types import Array

PRINTED = 5.1e-5  # scores printed with four decimals are off by up to half a unit of the last
DEEPEST = 1000  # ranks a list is usually cut at
MOST_POINTS = 10_000  # beyond, steps and reciprocals are too fine to matter
FINEST = 20  # the finest steps that are taken for steps in scores whose measure is unknown


@dataclass(frozen=True, eq=False)
class Support:
    """The values a score may have.

    ``points`` are all of them where they can be listed, ``steps`` a scale on which neighbours are alike; otherwise
    they fill the interval from ``lowest`` to ``highest``. ``atoms`` are the values that have a share of their own,
    whatever the rest is like: a system that fails on a topic scores 0 however well it does on others.
    """

    name: str
    lowest: float
    highest: float
    points: Array | None = None
    steps: Array | None = None
    atoms: tuple[float, ...] = ()
    parts: int = 0
    """k where the points are 0, 1/k, …, 1."""

    def snap(self, scores: Array) -> Array:
        """The scores themselves, or, in a list of points, the nearest of them; for what was rounded when printed."""
        if self.points is None:
            return scores
        edges = (self.points[1:] + self.points[:-1]) / 2
        return np.asarray(self.points[np.searchsorted(edges, scores)])

    def holds(self, scores: Array) -> bool:
        """Whether all scores are in it, to four decimals."""
        inside = (scores >= self.lowest) & (scores <= self.highest)
        return bool((inside & (np.abs(self.snap(scores) - scores) <= PRINTED)).all())


def steps_of(parts: int) -> Support:
    """0, 1/k, …, 1: precision at k."""
    points = np.arange(parts + 1) / parts
    return Support(f"multiples of 1/{parts}", 0.0, 1.0, points, np.arange(parts + 1.0), (0.0,), parts)


def reciprocals(deepest: int) -> Support:
    """1, 1/2, 1/3, … and 0: the reciprocal of a rank."""
    ranks = np.arange(deepest, 0, -1)
    points = np.concatenate([[0.0], 1.0 / ranks])
    return Support("reciprocals", 0.0, 1.0, points, np.concatenate([[np.inf], np.log(ranks)]), (0.0,))


def bounded(lowest: float = 0.0, highest: float = 1.0) -> Support:
    """Any number between the bounds, which themselves have a share of their own."""
    return Support(f"from {lowest:g} to {highest:g}", lowest, highest, atoms=(lowest, highest))


def unbounded() -> Support:
    return Support("any number", -np.inf, np.inf)


def support_of(measure: str, scores: Array) -> Support:
    """The support of a measure by its name; where the name says nothing, by the scores themselves.

    >>> support_of("P@10", np.array([0.1, 0.7])).name, support_of("RR", np.array([1.0, 0.3333])).name
    ('multiples of 1/10', 'reciprocals')
    """
    found = _named(measure, scores)
    return found if found is not None and found.holds(scores) else _seen(scores)


def _named(measure: str, scores: Array) -> Support | None:
    try:
        known = parse_measure(measure)
    except RequestError:
        return None
    if known.kind.name == "P" and known.k is not None and known.k <= MOST_POINTS:
        return steps_of(known.k)
    if known.kind.name == "RR":
        least = float(scores[scores > 1 / MOST_POINTS].min(initial=1.0))
        return reciprocals(min(known.k or max(DEEPEST, round(1 / least)), MOST_POINTS))
    return bounded(known.kind.lowest, known.kind.highest)


def _seen(scores: Array) -> Support:
    if scores.min() < 0 or scores.max() > 1:
        return unbounded()
    for parts in range(1, FINEST + 1):
        if np.abs(scores * parts - np.round(scores * parts)).max() < 1e-9:
            return steps_of(parts)
    return bounded()


CELLS = 512  # pieces an interval is cut into
FAMILIES = tuple(name for name in MARGINS_TITLES if name != "auto")
_FEWEST = 4  # different values below which there is no shape to fit


@dataclass(frozen=True, eq=False)
class Marginal:
    """A distribution of scores; ``z`` are its knots and ``values`` what it has there.

    With ``steps`` there is one value more than knots, and ``values[i]`` holds between knots i − 1 and i. No score lies
    outside ``bounds``.
    """

    family: str
    z: Array
    values: Array
    steps: bool
    bounds: tuple[float, float] = (-np.inf, np.inf)

    def quantile(self, z: Array) -> Array:
        """The scores at standard normals z."""
        if self.steps:
            return np.asarray(self.values[np.searchsorted(self.z, z, side="left")])
        return np.interp(z, self.z, self.values)

    @cached_property
    def _masses(self) -> Array:
        """Probabilities: of every value (steps), or of what is below, between and above the knots (lines)."""
        return np.diff(special.ndtr(self.z), prepend=0.0, append=1.0)

    @cached_property
    def _slopes(self) -> tuple[Array, Array]:
        """a and b of the lines a + b·z between knots."""
        slope = np.diff(self.values) / np.diff(self.z)
        return self.values[:-1] - slope * self.z[:-1], slope

    @cached_property
    def mean(self) -> float:
        if self.steps:
            return float(self._masses @ self.values)
        low, inside, high = self._masses[0], self._masses[1:-1], self._masses[-1]
        a, b = self._slopes
        rise = np.diff(_density(self.z))  # ∫ z·φ(z) dz = −φ
        return float(low * self.values[0] + (a * inside - b * rise).sum() + high * self.values[-1])

    @cached_property
    def variance(self) -> float:
        if self.steps:
            return float(self._masses @ (self.values - self.mean) ** 2)
        low, inside, high = self._masses[0], self._masses[1:-1], self._masses[-1]
        a, b = self._slopes
        a = a - self.mean
        rise, weighted = np.diff(_density(self.z)), np.diff(self.z * _density(self.z))
        middle = (a**2 * inside - 2 * a * b * rise + b**2 * (inside - weighted)).sum()  # ∫ z²·φ = Φ − z·φ
        ends = low * (self.values[0] - self.mean) ** 2 + high * (self.values[-1] - self.mean) ** 2
        return float(middle + ends)

    def below(self, scores: Array) -> Array:
        """P(X < score)."""
        return self._distribution(scores, "left")

    def up_to(self, scores: Array) -> Array:
        """P(X ≤ score)."""
        return self._distribution(scores, "right")

    def _distribution(self, scores: Array, side: str) -> Array:
        if self.steps:
            reached = np.concatenate([[0.0], np.cumsum(self._masses)])
            return np.asarray(reached[np.searchsorted(self.values, scores, side="left" if side == "left" else "right")])
        inside = special.ndtr(np.interp(scores, self.values, self.z))
        lowest, highest = self.values[0], self.values[-1]
        if side == "left":
            return np.where(scores <= lowest, 0.0, np.where(scores > highest, 1.0, inside))
        return np.where(scores < lowest, 0.0, np.where(scores >= highest, 1.0, inside))

    def hermite(self, terms: int) -> Array:
        """Coefficients of the score in orthonormal Hermite polynomials of z, from the first on.

        E[g(Z)·He_k(Z)] = E[g′(Z)·He_{k−1}(Z)], and g′ is constant between knots and a jump at a step: closed forms.
        """
        functions = _hermite_functions(self.z, terms)  # h_k(z)·φ(z)
        order = np.arange(1, terms + 1)
        if self.steps:
            return np.asarray(functions @ np.diff(self.values) / np.sqrt(order))
        _, slope = self._slopes
        found = np.empty(terms)
        found[0] = slope @ self._masses[1:-1]
        found[1:] = -(np.diff(functions, axis=1) @ slope)[: terms - 1] / np.sqrt(order[1:] * (order[1:] - 1.0))
        return found

    def moved(self, mean: float) -> Marginal:
        """The margin of this mean that is nearest to this one; see ``move``."""
        return move([self], mean)[0]

    def tilted(self, theta: float) -> Marginal:
        """Every probability p becomes p·e^(θx), normalised."""
        middle = self.values if self.steps else (self.values[1:] + self.values[:-1]) / 2
        if not self.steps:
            middle = np.concatenate([self.values[:1], middle, self.values[-1:]])
        exponent = theta * middle
        masses = self._masses * np.exp(exponent - exponent.max())
        return _from_masses(self.family, masses / masses.sum(), self.values, self.steps, self.bounds)

    def shifted(self, amount: float) -> Marginal:
        """Every score this much higher; what would leave the bounds stays at the bound."""
        lowest, highest = self.bounds
        values = np.clip(self.values + amount, lowest, highest)
        # Of the knots at a bound the innermost says where the atom there ends.
        kept = np.ones(len(values), bool)
        kept[:-1] &= ~((values[:-1] == lowest) & (values[1:] == lowest))
        kept[1:] &= ~((values[1:] == highest) & (values[:-1] == highest))
        return replace(self, z=self.z[kept], values=values[kept])


def move(margins: Sequence[Marginal], mean: float) -> list[Marginal]:
    """Margins whose means have this mean, all moved alike.

    Between bounds every score is shifted by the same amount, and what would leave the bounds stays at the bound (the
    shift grows until the mean is right): differences of systems keep their shape. On a list of points, scores are
    tilted: every probability p becomes p·e^(θx), normalised, which of all distributions with this mean is the one of
    least Kullback–Leibler divergence from the margin, with the same values.
    """
    now = float(np.mean([margin.mean for margin in margins]))
    if abs(mean - now) < 1e-12:
        return list(margins)
    if not any(margin.steps for margin in margins):
        _check_reach(mean, *(float(np.mean([margin.bounds[end] for margin in margins])) for end in (0, 1)))
        return _shift(margins, mean)
    lowest, highest = (float(np.mean([margin.values[end] for margin in margins])) for end in (0, -1))
    _check_reach(mean, lowest, highest)
    return _tilt(margins, mean, highest - lowest)


def _check_reach(mean: float, lowest: float, highest: float) -> None:
    if not lowest < mean < highest:
        raise RequestError(
            f"a mean of {mean:g} is out of reach: scores lie between {lowest:g} and {highest:g}",
            fix="Name a mean well inside the measure's range.",
        )


def _shift(margins: Sequence[Marginal], mean: float) -> list[Marginal]:
    def off(amount: float) -> float:
        return float(np.mean([margin.shifted(amount).mean for margin in margins])) - mean

    # At the one end no score is above the mean asked for, at the other none is below it.
    ends = [mean - end(margin.values) for margin in margins for end in (np.max, np.min)]
    amount = optimize.brentq(off, min(ends) - 1e-9, max(ends) + 1e-9, xtol=1e-13)
    return [margin.shifted(amount) for margin in margins]


def _tilt(margins: Sequence[Marginal], mean: float, span: float) -> list[Marginal]:
    theta, low, high = 0.0, -np.inf, np.inf
    found = list(margins)
    for _ in range(200):
        gap = mean - float(np.mean([margin.mean for margin in found]))
        if abs(gap) < 1e-12:
            break
        low, high = (theta, high) if gap > 0 else (low, theta)
        # The mean's derivative in θ is the variance; a step out of what is known to hold the answer is cut.
        step = theta + gap / max(float(np.mean([margin.variance for margin in found])), 1e-300)
        reach = 4 * abs(theta) + 100 / span
        step = min(max(step, theta - reach), theta + reach)
        theta = step if low < step < high else (low + high) / 2
        found = [margin.tilted(theta) for margin in margins]
        if high - low < 1e-13 * max(abs(theta), 1.0):
            break
    return found


def _density(z: Array) -> Array:
    return np.asarray(np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))


def _hermite_functions(z: Array, terms: int) -> Array:
    """h_k(z)·φ(z) for k = 0 … terms − 1, h_k orthonormal: h_{k+1} = (z·h_k − √k·h_{k−1}) / √(k + 1)."""
    found = np.empty((terms, len(z)))
    found[0] = _density(z)
    if terms > 1:
        found[1] = z * found[0]
    for k in range(1, terms - 1):
        found[k + 1] = (z * found[k] - np.sqrt(k) * found[k - 1]) / np.sqrt(k + 1)
    return found


def _from_masses(
    family: str, masses: Array, values: Array, steps: bool, bounds: tuple[float, float], *, thin: bool = False
) -> Marginal:
    """A margin from probabilities; what has none leaves."""
    upper = np.cumsum(masses[:-1])
    lower = np.cumsum(masses[:0:-1])[::-1]
    # From whichever end is nearer, for 1 − 1e-17 is 1.
    z = np.where(upper < 0.5, special.ndtri(np.minimum(upper, 0.5)), -special.ndtri(np.minimum(lower, 0.5)))
    z = np.clip(z, -9.0, 9.0)
    if steps:
        kept = np.flatnonzero(masses > 1e-15)
        return Marginal(family, z[kept[:-1]], values[kept], True, bounds)
    # A knot in every sixteenth of z keeps the moments to a thousandth; both ends stay, for they bound the atoms.
    kept = np.flatnonzero(np.diff(np.floor(z * 16) if thin else z, prepend=-np.inf) > (0 if thin else 1e-9))
    last = np.flatnonzero(z < z[-1] - 1e-9)[-1] + 1
    kept = np.append(kept[z[kept] < z[last] - 1e-9], last)
    return Marginal(family, z[kept], values[kept], False, bounds)


# --- fitting


def fit_margin(scores: Array, support: Support, *, family: str = "auto") -> Marginal:
    """A margin for the scores of one system, with their mean and variance.

    The share of every atom is the one seen. For the rest, each family gives a shape, ``beta`` (beta-binomial on steps),
    ``normal`` (cut off at the bounds) or ``kernel``, which is tilted by e^(θ₁x + θ₂x²) until mean and variance are
    those of the sample; ``auto`` takes the shape under which the scores are likeliest, left out one by one for the
    kernel and less two parameters for the others. ``empirical`` draws nothing but scores that were seen; it is also
    what is left where no shape fits.
    """
    if family not in MARGINS_TITLES:
        raise RequestError(f"there is no margin «{family}»", fix=f"Choose one of: {', '.join(MARGINS_TITLES)}.")
    seen = support.snap(scores)
    rest = seen[~np.isin(seen, support.atoms)]
    if family == "empirical" or len(np.unique(rest)) < _FEWEST:
        return _empirical(seen, support)
    shape = _Shape.of(seen, rest, support)
    names = FAMILIES[:-1] if family == "auto" else (family,)
    tried = [found for name in names if (found := shape.fit(name)) is not None]
    if family == "auto":  # a shape that a test of fit refuses at 5 % is none
        tried = [each for each in tried if distance(each[0], seen) < 1.36 / np.sqrt(len(seen))]
    return max(tried, key=lambda each: each[1])[0] if tried else _empirical(seen, support)


def distance(margin: Marginal, scores: Array) -> float:
    """The largest gap between the distribution functions of a margin and of scores (Kolmogorov and Smirnov's)."""
    places, counts = np.unique(scores, return_counts=True)
    upto = np.cumsum(counts) / len(scores)
    below = upto - counts / len(scores)
    return float(max(np.abs(margin.up_to(places) - upto).max(), np.abs(margin.below(places) - below).max()))


def _empirical(seen: Array, support: Support) -> Marginal:
    values, counts = np.unique(seen, return_counts=True)
    return _from_masses("empirical", counts / len(seen), values, True, (support.lowest, support.highest))


@dataclass(frozen=True, eq=False)
class _Shape:
    """What a shape is fitted to: the scores that are no atoms, on points or on cells of an interval."""

    support: Support
    rest: Array  # scores that are no atoms
    low_share: float  # of atoms below and above the rest
    high_share: float
    edges: Array | None  # of the cells
    points: Array  # or their middles
    mean: float  # what the rest must have
    variance: float
    total_variance: float  # with the atoms

    @classmethod
    def of(cls, seen: Array, rest: Array, support: Support) -> _Shape:
        low = float((seen < rest.min()).mean()) if support.atoms else 0.0
        high = float((seen > rest.max()).mean()) if support.atoms else 0.0
        share = len(rest) / len(seen)
        mean = float(rest.mean())
        # Whatever the atoms contribute, the whole has the variance of the sample.
        ends = low * (support.lowest if low else 0.0) ** 2 + high * (support.highest if high else 0.0) ** 2
        total = float(seen.var(ddof=1))
        variance = (total + float(seen.mean()) ** 2 - ends) / share - mean**2
        edges, points = cls._places(rest, support)
        return cls(support, rest, low, high, edges, points, mean, variance, total)

    @staticmethod
    def _places(rest: Array, support: Support) -> tuple[Array | None, Array]:
        if support.points is not None:
            return None, support.points[~np.isin(support.points, support.atoms)]
        low, high = support.lowest, support.highest
        if not np.isfinite(high - low):
            reach = 3 * rest.std(ddof=1) + 0.5 * np.ptp(rest)
            low, high = rest.min() - reach, rest.max() + reach
        edges = low + (high - low) * (1 - np.cos(np.pi * np.arange(CELLS + 1) / CELLS)) / 2  # finest at the bounds
        # Scores of a system that finds next to nothing lie within a hair, which the cells must be finer than.
        spread = np.ptp(rest)
        near = np.linspace(max(low, rest.min() - spread), min(high, rest.max() + spread), CELLS // 2)
        edges = np.unique(np.concatenate([edges, near]))
        return edges, (edges[1:] + edges[:-1]) / 2

    def fit(self, family: str) -> tuple[Marginal, float] | None:
        """The margin and how likely it makes the scores; None where the family has no such mean and variance."""
        base = {"beta": self._beta, "normal": self._flat, "kernel": self._kernel}[family]()
        masses = None if base is None else match_moments(base, self.points, self.mean, self.variance)
        if base is None or masses is None:
            return None
        with np.errstate(divide="ignore"):
            logs = np.log(self._density(masses))
        likelihood = float(logs.sum()) - 2.0
        if family == "kernel":  # as if every score were left out, and what matching the moments does to it
            likelihood += 2.0 + self._left_out() - float(np.log(self._density(base)).sum())
        share = 1 - self.low_share - self.high_share
        values = self.points if self.edges is None else self.edges
        whole = np.concatenate([[self.low_share], share * masses, [self.high_share]])
        if self.edges is None:
            whole, values = whole[:-1], np.concatenate([[self.support.lowest], self.points])  # 0 is the one atom
        bounds = (self.support.lowest, self.support.highest)
        margin = _from_masses(family, whole, values, self.edges is None, bounds, thin=True)
        # A variance that only a hair of mass at the far end can give is no shape of these scores.
        return (margin, likelihood) if abs(margin.variance / self.total_variance - 1) < 0.01 else None

    def _density(self, masses: Array) -> Array:
        """At every score: a mass on points, a mass over the width of its cell elsewhere."""
        at = self._cells()
        return masses[at] if self.edges is None else masses[at] / np.diff(self.edges)[at]

    def _cells(self) -> Array:
        if self.edges is None:
            return np.searchsorted(self.points, self.rest)
        return np.clip(np.searchsorted(self.edges, self.rest, side="right") - 1, 0, len(self.points) - 1)

    def _flat(self) -> Array:
        """All alike, which e^(θ₁x + θ₂x²) makes a normal."""
        return np.ones(len(self.points)) if self.edges is None else np.diff(self.edges)

    def _beta(self) -> Array | None:
        low, high = self.support.lowest, self.support.highest
        if not np.isfinite(high - low):
            return None
        mean, variance = (self.mean - low) / (high - low), self.variance / (high - low) ** 2
        if self.edges is None:
            return self._beta_binomial(mean, variance) if self.support.parts else None
        total = mean * (1 - mean) / variance - 1 if variance > 0 else 0.0
        if total <= 0:
            return None
        places = (self.edges - low) / (high - low)
        return np.asarray(np.diff(special.betainc(mean * total, (1 - mean) * total, places)))

    def _beta_binomial(self, mean: float, variance: float) -> Array:
        parts = self.support.parts
        # Var = μ(1 − μ)/k · (1 + (k − 1)ρ); what varies less than a binomial is left to the tilt.
        rho = (variance * parts / (mean * (1 - mean)) - 1) / max(parts - 1, 1)
        rho = min(max(rho, 1e-6), 1 - 1e-6)
        a, b = mean * (1 / rho - 1), (1 - mean) * (1 / rho - 1)
        j = np.arange(parts + 1)
        logs = special.betaln(j + a, parts - j + b) - special.betaln(j + 1, parts - j + 1)
        return np.asarray(np.exp(logs - logs.max()))[1:]  # 0 stands apart

    def _scaled(self) -> tuple[Array, Array, float]:
        """Scores and places on the scale on which neighbours are alike, and how far a score speaks for them."""
        places, scores = self.points, self.rest
        if self.support.points is not None and self.support.steps is not None:
            kept = ~np.isin(self.support.points, self.support.atoms)
            places = self.support.steps[kept]
            scores = places[self._cells()]
        spread = min(scores.std(ddof=1), np.subtract(*np.percentile(scores, [75, 25])) / 1.349 or np.inf)
        return scores, places, 0.9 * float(spread) * len(scores) ** -0.2  # Silverman's rule

    @cached_property
    def _bumps(self) -> Array:
        """A bump for every score over all places, reflected at the bounds; every bump has mass 1."""
        scores, places, width = self._scaled()
        if self.edges is None:
            # Where places lie closer on the scale, each has the less.
            room = np.abs(np.gradient(places)) if len(places) > 1 else np.ones(1)
            bumps = room * np.exp(-(((places - scores[:, np.newaxis]) / width) ** 2) / 2)
            return np.asarray(bumps / bumps.sum(axis=1, keepdims=True))
        total = np.zeros((len(scores), len(self.edges)))
        low, high = self.edges[0], self.edges[-1]
        for mirrored in (scores, 2 * low - scores, 2 * high - scores):
            total += special.ndtr((self.edges - mirrored[:, np.newaxis]) / width)
        return np.diff(total, axis=1)

    def _kernel(self) -> Array:
        return np.asarray(self._bumps.mean(axis=0))

    def _left_out(self) -> float:
        """Σ log f₋ᵢ(xᵢ): every score under the kernel of all others."""
        bumps, at, count = self._bumps, self._cells(), len(self.rest)
        here = bumps[:, at]
        others = (here.sum(axis=0) - np.diagonal(here)) / (count - 1)
        if self.edges is not None:
            others = others / np.diff(self.edges)[at]
        with np.errstate(divide="ignore"):
            return float(np.log(others).sum())


def match_moments(base: Array, points: Array, mean: float, variance: float) -> Array | None:
    """``base`` times e^(θ₁x + θ₂x²), of this mean and variance; None where nothing on these points has them.

    θ minimises the convex log Σ base·e^(θ·t) − θ·E[t], by Newton's steps, halved as long as they do not help.
    """
    if not variance > 0:
        return None
    x = (points - mean) / np.sqrt(variance)
    features = np.stack([x, x**2 - 1])
    base = np.maximum(base, 0.0)  # differences of distribution functions may be a rounding below
    with np.errstate(divide="ignore"):
        logs = np.log(base / base.sum())
    theta = np.zeros(2)
    value, masses = _log_sum(logs, features, theta)
    for _ in range(200):
        gradient = features @ masses
        if np.abs(gradient).max() < 1e-10:
            return masses
        centred = features - gradient[:, np.newaxis]
        curvature = (centred * masses) @ centred.T
        if not np.linalg.cond(curvature) < 1e14:
            return None
        step = np.linalg.solve(curvature, gradient)
        share, slope = 1.0, float(gradient @ step)
        while share > 1e-6:
            new, moved = _log_sum(logs, features, theta - share * step)
            if new <= value - 1e-4 * share * slope + 1e-13:
                break
            share /= 2
        theta, value, masses = theta - share * step, new, moved
    return None


def _log_sum(logs: Array, features: Array, theta: Array) -> tuple[float, Array]:
    exponents = logs + theta @ features
    top = exponents.max()
    weights = np.exp(exponents - top)
    total = weights.sum()
    return float(top + np.log(total)), np.asarray(weights / total)
