"""How systems' scores go together: the pilot's own topics with a little noise, a Gaussian copula, or a vine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Protocol

import numpy as np
from scipy import special

from cranfield.errors import RequestError
from cranfield.methods.simulation.marginals import Marginal
from cranfield.stats.pairs import every_pair
from cranfield.types import Array

Function = Callable[[Array, Array, Array], Array]

LEAST = 1e-12  # uniforms stay this far from 0 and 1


def inside(u: Array) -> Array:
    """Uniforms kept off the ends, where logarithms are infinite."""
    return np.asarray(np.clip(u, LEAST, 1 - LEAST))


@dataclass(frozen=True)
class PairCopula:
    """A family; ``lowest`` and ``highest`` are the τ it can have."""

    name: str
    lowest: float
    highest: float
    log_density: Function  # of u, v, τ
    conditional: Function
    inverse: Function  # of w, u, τ


# --- Gaussian: ρ = sin(πτ/2)


def _rho(tau: Array) -> Array:
    return np.asarray(np.sin(np.pi * tau / 2))


def _gaussian_log_density(u: Array, v: Array, tau: Array) -> Array:
    rho, x, y = _rho(tau), special.ndtri(u), special.ndtri(v)
    rest = 1 - rho**2
    return np.asarray(-0.5 * np.log(rest) - (rho**2 * (x**2 + y**2) - 2 * rho * x * y) / (2 * rest))


def _gaussian_conditional(u: Array, v: Array, tau: Array) -> Array:
    rho = _rho(tau)
    return np.asarray(special.ndtr((special.ndtri(v) - rho * special.ndtri(u)) / np.sqrt(1 - rho**2)))


def _gaussian_inverse(w: Array, u: Array, tau: Array) -> Array:
    rho = _rho(tau)
    return np.asarray(special.ndtr(special.ndtri(w) * np.sqrt(1 - rho**2) + rho * special.ndtri(u)))


# --- Clayton: together at the low end; θ = 2τ/(1 − τ)


def _clayton_theta(tau: Array) -> Array:
    return np.asarray(2 * tau / (1 - tau))


def _clayton_log_sum(u: Array, v: Array, theta: Array) -> Array:
    """log(u^−θ + v^−θ − 1), whatever overflows in between."""
    return np.asarray(np.logaddexp(-theta * np.log(u), _log_expm1(-theta * np.log(v))))


def _log_expm1(x: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.where(x > 30, x, np.log(np.expm1(np.minimum(x, 30.0))))


def _clayton_log_density(u: Array, v: Array, tau: Array) -> Array:
    theta = _clayton_theta(tau)
    total = _clayton_log_sum(u, v, theta)
    return np.asarray(np.log1p(theta) - (theta + 1) * (np.log(u) + np.log(v)) - (2 + 1 / theta) * total)


def _clayton_conditional(u: Array, v: Array, tau: Array) -> Array:
    theta = _clayton_theta(tau)
    return np.exp(-(theta + 1) * np.log(u) - (1 + 1 / theta) * _clayton_log_sum(u, v, theta))


def _clayton_inverse(w: Array, u: Array, tau: Array) -> Array:
    theta = _clayton_theta(tau)
    total = np.logaddexp(0.0, -theta * np.log(u) + _log_expm1(-theta / (1 + theta) * np.log(w)))
    return np.asarray(np.exp(-total / theta))


# --- the same upside down: together at the high end


def _survival(function: Function) -> Function:
    def turned(a: Array, b: Array, tau: Array) -> Array:
        return 1 - function(1 - a, 1 - b, tau)

    return turned


def _survival_log_density(u: Array, v: Array, tau: Array) -> Array:
    return _clayton_log_density(1 - u, 1 - v, tau)


# --- Frank: together in the middle, free at both ends; τ = 1 − 4(1 − D₁(θ))/θ


@cache
def _frank_table() -> tuple[Array, Array]:
    """τ over a grid of θ > 0, by Debye's function D₁(θ) = ∫₀^θ t/(eᵗ − 1) dt / θ."""
    theta = np.concatenate([np.linspace(1e-4, 10, 2001), np.linspace(10.01, 300, 3000)])
    nodes, weights = special.roots_legendre(12)
    edges = np.concatenate([[0.0], theta])
    half = np.diff(edges) / 2
    t = edges[:-1, np.newaxis] + half[:, np.newaxis] * (nodes + 1)
    debye = np.cumsum((t / np.expm1(t) * weights).sum(axis=1) * half) / theta
    return 1 - 4 * (1 - debye) / theta, theta


def _frank_theta(tau: Array) -> Array:
    known, theta = _frank_table()
    return np.interp(np.abs(tau), known, theta)


def _turn(v: Array, tau: Array) -> Array:
    """v, or 1 − v where τ is negative: a Frank copula of −τ, seen in a mirror."""
    return np.where(tau < 0, 1 - v, v)


def _frank_parts(u: Array, v: Array, theta: Array) -> tuple[Array, Array]:
    """Logarithms of e^−θu·(1 − e^−θv) and of e^−θv − e^−θ, both positive."""
    first = -theta * u + np.log(-np.expm1(-theta * v))
    return first, -theta * v + np.log(-np.expm1(-theta * (1 - v)))


def _frank_log_density(u: Array, v: Array, tau: Array) -> Array:
    theta, v = _frank_theta(tau), _turn(v, tau)
    below = np.logaddexp(*_frank_parts(u, v, theta))
    return np.asarray(np.log(theta) + np.log(-np.expm1(-theta)) - theta * (u + v) - 2 * below)


def _frank_conditional(u: Array, v: Array, tau: Array) -> Array:
    first, second = _frank_parts(u, _turn(v, tau), _frank_theta(tau))
    return _turn(special.expit(first - second), tau)


def _frank_inverse(w: Array, u: Array, tau: Array) -> Array:
    theta, w = _frank_theta(tau), _turn(w, tau)
    a = np.exp(-theta * u) * (1 - w)
    return _turn(-np.log((a + w * np.exp(-theta)) / (a + w)) / theta, tau)


# --- no dependence


def _independent_inverse(w: Array, u: Array, tau: Array) -> Array:
    return np.broadcast_arrays(w, u)[0]


def _independent_conditional(u: Array, v: Array, tau: Array) -> Array:
    return np.broadcast_arrays(v, u)[0]


def _independent_log_density(u: Array, v: Array, tau: Array) -> Array:
    return np.zeros(np.broadcast_shapes(u.shape, v.shape, tau.shape))


PAIRS: dict[str, PairCopula] = {
    pair.name: pair
    for pair in (
        PairCopula("independent", 0.0, 0.0, _independent_log_density, _independent_conditional, _independent_inverse),
        PairCopula("gaussian", -0.98, 0.98, _gaussian_log_density, _gaussian_conditional, _gaussian_inverse),
        PairCopula("clayton", 0.01, 0.95, _clayton_log_density, _clayton_conditional, _clayton_inverse),
        PairCopula(
            "survival clayton",
            0.01,
            0.95,
            _survival_log_density,
            _survival(_clayton_conditional),
            _survival(_clayton_inverse),
        ),
        PairCopula("frank", -0.95, 0.95, _frank_log_density, _frank_conditional, _frank_inverse),
    )
}


def fit_pairs(first: Array, others: Array) -> tuple[list[str], Array]:
    """The likeliest family and τ between ``first`` (n) and every column of ``others`` (n × columns).

    Every family has one parameter, so the likeliest is also the best by AIC; one that is not likelier than
    independence by its parameter is taken for independent.
    """
    u, v = inside(first)[:, np.newaxis, np.newaxis], inside(others)[:, :, np.newaxis]
    best = np.ones(others.shape[1])  # AIC: a parameter must win one unit of log likelihood
    names = ["independent"] * others.shape[1]
    taus = np.zeros(others.shape[1])
    for pair in list(PAIRS.values())[1:]:
        grid = np.linspace(pair.lowest, pair.highest, 48)
        grid = grid[np.abs(grid) > 5e-3]
        total = pair.log_density(u, v, grid).sum(axis=0)
        at = total.argmax(axis=1)
        top = total[np.arange(len(at)), at]
        for column in np.flatnonzero(top > best).tolist():
            names[column], taus[column], best[column] = pair.name, grid[at[column]], top[column]
    return names, taus


TERMS = 60  # of the Hermite series
_ONE_THREAD = 200_000  # products of matrices up to this are made by one thread, and so always by the same sums
_ROUNDS, _DRAWS = 8, 4000  # of calibrating a vine
_MOSTLY_TIED = 0.3  # a column with one value on more topics says nothing of what its dependence is like at the ends


class Copula(Protocol):
    """What drawing needs of a dependence."""

    @property
    def inputs(self) -> int:
        """Independent normals a topic needs."""

    def join(self, normals: Array) -> Array:
        """Topics × inputs, independent, to topics × columns, dependent; each column still standard normal."""


def product(rows: Array, by: Array) -> Array:
    """rows @ by, in pieces so small that the same sums are made in the same order on any machine's threads."""
    count, inner = rows.shape
    columns = by.shape[1]
    wide = max(1, min(columns, _ONE_THREAD // (inner * 32)))
    tall = max(1, _ONE_THREAD // (inner * wide))
    out = np.empty((count, columns))
    for left in range(0, columns, wide):
        piece = np.ascontiguousarray(by[:, left : left + wide])
        for top in range(0, count, tall):
            out[top : top + tall, left : left + wide] = rows[top : top + tall] @ piece
    return out


# --- rows of the pilot

WIDTH = 0.1  # standard deviation of the noise added to a row, in standard deviations of the normal scores


@dataclass(frozen=True, eq=False)
class RowCopula:
    """A smoothed bootstrap of the pilot's topics: a row drawn with replacement, plus ``WIDTH`` times ``noise``.

    ``rows`` has the normal score of every cell within its column, topics × columns. The noise has the correlations of
    the normal scores, and the sum is divided by √(1 + WIDTH²), so that covariances stay (Silverman & Young 1987).
    """

    rows: Array
    noise: GaussianCopula

    @property
    def inputs(self) -> int:
        return 1 + self.noise.inputs

    def join(self, normals: Array) -> Array:
        at = np.minimum(special.ndtr(normals[:, 0]) * len(self.rows), len(self.rows) - 1).astype(np.intp)
        return self.smoothed(self.rows[at], self.noise.join(normals[:, 1:]))

    def smoothed(self, rows: Array, noise: Array) -> Array:
        """Rows with noise, each column exactly standard normal again."""
        total = (rows + WIDTH * noise) / np.sqrt(1 + WIDTH**2)  # Silverman & Young 1987: shrunk
        return np.asarray(np.interp(total, *_to_normal(len(self.rows))))

    def describe(self) -> dict[str, int]:
        columns = self.rows.shape[1]
        return {"rows": columns * (columns - 1) // 2}


@lru_cache(maxsize=16)
def _to_normal(count: int) -> tuple[Array, Array]:
    """A grid, and the standard normal with as much below it as a smoothed column of ``count`` normal scores has."""
    grid = np.linspace(-6.0, 6.0, 1201)
    place = (grid[:, np.newaxis] * np.sqrt(1 + WIDTH**2) - _normal_scores(count)) / WIDTH
    below, above = special.ndtr(place).mean(axis=1), special.ndtr(-place).mean(axis=1)
    # From whichever end is nearer, for 1 − 1e-17 is 1.
    return grid, np.where(below < 0.5, special.ndtri(below), -special.ndtri(above))


def _normal_scores(count: int) -> Array:
    return np.asarray(special.ndtri((np.arange(count) + 0.5) / count))


def fit_rows(scores: Array, *, rng: np.random.Generator) -> RowCopula:
    """Normal scores of every column, topics × columns.

    Equal scores are put in order by how easy the topic is for all columns, and as much by chance: by chance alone
    columns would resemble each other less than they do, by topics alone more. Equal columns stay equal.
    """
    easy = scores.mean(axis=1)
    spread = float(easy.std()) or 1.0
    different, same = np.unique(scores, axis=1, return_inverse=True)
    order = np.lexsort((easy[:, np.newaxis] / spread + rng.standard_normal(different.shape), different), axis=0)
    rows = np.empty(different.shape)
    np.put_along_axis(rows, order, np.broadcast_to(_normal_scores(len(rows))[:, np.newaxis], rows.shape), axis=0)
    rows = rows[:, same.ravel()]
    return RowCopula(rows, GaussianCopula(factor(correlations(rows))))


# --- Gaussian


@dataclass(frozen=True, eq=False)
class GaussianCopula:
    """Normals with the correlations ``loadings``ᵀ·``loadings`` (inputs × columns)."""

    loadings: Array

    @property
    def inputs(self) -> int:
        return len(self.loadings)

    @property
    def correlation(self) -> Array:
        return np.asarray(self.loadings.T @ self.loadings)

    def join(self, normals: Array) -> Array:
        return product(normals, self.loadings)

    def describe(self) -> dict[str, int]:
        return {"gaussian": self.loadings.shape[1] * (self.loadings.shape[1] - 1) // 2}


def factor(correlation: Array) -> Array:
    """Loadings of the nearest correlation matrix there is: negative eigenvalues become 0, the diagonal stays 1."""
    values, vectors = np.linalg.eigh(correlation)
    kept = values > max(1e-9, 1e-9 * values[-1])
    loadings = np.sqrt(values[kept])[:, np.newaxis] * vectors[:, kept].T
    return np.asarray(loadings / np.sqrt((loadings**2).sum(axis=0)))


def correlations(scores: Array) -> Array:
    """Pearson's, of columns; 0 where one does not vary."""
    centred = scores - scores.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=0))
    spread[spread < 1e-12] = np.inf
    unit = centred / spread
    found = unit.T @ unit
    np.fill_diagonal(found, 1.0)
    return np.asarray(np.clip(found, -1.0, 1.0))


def fit_gaussian(margins: Sequence[Marginal], scores: Array) -> GaussianCopula:
    """The Gaussian copula under which scores with these margins have the correlations that were seen.

    With a_ik the Hermite coefficients of margin i, cov(X_i, X_j) = Σ_k a_ik·a_jk·ρᵏ (Mehler), which is solved for the
    ρ of every pair; that is the NORTA construction without its numerical integrals. The matrix of all ρ need not be one
    of correlations, and is replaced by one near it that is.
    """
    coefficients = np.stack([margin.hermite(TERMS) for margin in margins])
    sd = np.sqrt([margin.variance for margin in margins])
    coefficients /= np.where(sd > 0, sd, 1.0)[:, np.newaxis]
    wanted = correlations(scores)
    first, second = every_pair(len(margins))
    rho = np.empty(len(first))
    for start in range(0, len(first), 20_000):
        part = slice(start, start + 20_000)
        rho[part] = _latent(coefficients[first[part]] * coefficients[second[part]], wanted[first[part], second[part]])
    latent = np.eye(len(margins))
    latent[first, second] = latent[second, first] = rho
    return _nearest(latent, coefficients, wanted)


def _nearest(latent: Array, coefficients: Array, wanted: Array) -> GaussianCopula:
    """The nearest sound matrix by what it does to the scores: asked for again with what was missed, best of a few."""
    best, least = GaussianCopula(factor(latent)), np.inf
    found = best
    for _ in range(20 if len(latent) <= 300 else 4):
        made = found.correlation
        total = np.zeros_like(made)
        for k in range(coefficients.shape[1] - 1, -1, -1):
            total += np.outer(coefficients[:, k], coefficients[:, k])
            total *= made
        off = wanted - total
        np.fill_diagonal(off, 0.0)
        size = float(np.abs(off).mean())
        if size < least:
            best, least = found, size
        if size < 1e-4:
            break
        latent = np.clip(latent + off, -1.0, 1.0)
        found = GaussianCopula(factor(latent))
    return best


def _latent(products: Array, wanted: Array) -> Array:
    """ρ with Σ_k p_k·ρᵏ = the correlation wanted, which grows with ρ; ± 1 where more is wanted than there can be."""
    low, high = np.full(len(wanted), -1.0), np.full(len(wanted), 1.0)
    for _ in range(26):
        middle = (low + high) / 2
        total = np.zeros(len(wanted))
        for k in range(products.shape[1] - 1, -1, -1):
            total += products[:, k]
            total *= middle
        under = total < wanted
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    # Two systems that are the same are drawn the same; a hair less for all others keeps the matrix sound.
    return np.where(wanted > 1 - 1e-12, 1.0, np.clip((low + high) / 2, -0.9999, 0.9999))


# --- vine


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree of a C-vine: its root, joined with every column after it by a pair copula of its own."""

    families: tuple[str, ...]
    taus: Array

    def inverse(self, w: Array, root: Array) -> Array:
        out = np.empty_like(w)
        for name in dict.fromkeys(self.families):
            mine = [at for at, family in enumerate(self.families) if family == name]
            out[:, mine] = PAIRS[name].inverse(w[:, mine], root, self.taus[mine])
        return inside(out)


@dataclass(frozen=True, eq=False)
class VineCopula:
    """A C-vine: trees of pair copulas of chosen families, and Gaussian ones from there on.

    The Gaussian pairs of all higher trees together are a Gaussian copula of what the first trees leave of the columns
    that are no roots, and are drawn as such. ``order`` puts the roots first.
    """

    order: Array
    trees: tuple[Tree, ...]
    rest: GaussianCopula

    @property
    def inputs(self) -> int:
        return len(self.trees) + self.rest.inputs

    def join(self, normals: Array) -> Array:
        roots = len(self.trees)
        w = inside(special.ndtr(np.concatenate([normals[:, :roots], self.rest.join(normals[:, roots:])], axis=1)))
        u = w.copy()
        for at in range(roots - 1, -1, -1):
            u[:, at + 1 :] = self.trees[at].inverse(u[:, at + 1 :], w[:, at : at + 1])
        out = np.empty_like(u)
        out[:, self.order] = special.ndtri(u)
        return out

    def describe(self) -> dict[str, int]:
        """How many pairs have which family, in the trees that were free to choose."""
        names = [name for tree in self.trees for name in tree.families]
        return {name: names.count(name) for name in PAIRS if name in names}


def fit_vine(
    margins: Sequence[Marginal], scores: Array, *, trees: int, rng: np.random.Generator, truncate: bool = False
) -> VineCopula:
    """A C-vine fitted tree by tree; the root of each is the column that goes best with all others.

    Scores become uniforms by their margins (an atom is spread evenly over its share); each pair gets the family of
    greatest likelihood, pairs that are mostly ties the Gaussian; what a tree explains is taken out by its conditional
    distributions. Parameters start from the Gaussian copula's partial correlations and are calibrated: topics are
    drawn, and every τ and every correlation is moved by what the scores' correlations are off.
    With ``truncate`` the higher trees are independent.
    """
    count = scores.shape[1]
    levels = min(trees, count - 1)
    if levels < 1:
        raise RequestError("a vine has one tree or more, of two systems or more", fix="Ask for one tree, or gaussian.")
    low, high = (
        np.stack([getattr(margin, side)(scores[:, at]) for at, margin in enumerate(margins)], axis=1)
        for side in ("below", "up_to")
    )
    u = inside(low + rng.random(scores.shape) * (high - low))
    tied = (high - low).max(axis=0) > _MOSTLY_TIED
    order = np.arange(count)
    made: list[Tree] = []
    for level in range(levels):
        closeness = np.abs(correlations(special.ndtri(u[:, level:]))).sum(axis=0)
        best = level + int(np.argmax(closeness))
        for each in (u.T, order, tied):
            each[[level, best]] = each[[best, level]]
        names, taus = fit_pairs(u[:, level], u[:, level + 1 :])
        names = ["gaussian" if tied[level] or tied[level + 1 + at] else name for at, name in enumerate(names)]
        made.append(Tree(tuple(names), taus))
        for at, name in enumerate(names):
            u[:, level + 1 + at] = inside(PAIRS[name].conditional(u[:, level], u[:, level + 1 + at], taus[at]))
    start = _started(made, fit_gaussian(margins, scores).correlation[np.ix_(order, order)])
    rest = np.eye(count - levels) if truncate else start[1]
    vine = VineCopula(order, start[0], GaussianCopula(factor(rest)))
    return _calibrated(vine, margins, correlations(scores), rng, truncate)


def _started(trees: Sequence[Tree], latent: Array) -> tuple[tuple[Tree, ...], Array]:
    """Every pair at the τ of the Gaussian copula's partial correlation; and the correlations left after all trees."""
    found = []
    for tree in trees:
        rho = np.clip(latent[0, 1:], -0.999, 0.999)
        ends = np.array([(PAIRS[name].lowest, PAIRS[name].highest) for name in tree.families])
        found.append(Tree(tree.families, np.clip(2 / np.pi * np.arcsin(rho), ends[:, 0], ends[:, 1])))
        spread = np.sqrt(1 - rho**2)
        latent = np.clip((latent[1:, 1:] - np.outer(rho, rho)) / np.outer(spread, spread), -1.0, 1.0)
        np.fill_diagonal(latent, 1.0)
    return tuple(found), latent


def _calibrated(
    vine: VineCopula, margins: Sequence[Marginal], wanted: Array, rng: np.random.Generator, truncate: bool
) -> VineCopula:
    """Move every parameter by what the correlation it is for is off, on the same draws each time; keep the best."""
    roots, count = len(vine.trees), len(margins)
    normals = rng.standard_normal((_DRAWS, roots + count - roots))
    wanted = wanted[np.ix_(vine.order, vine.order)]
    best, least = vine, np.inf
    for _ in range(_ROUNDS):
        z = vine.join(normals[:, : vine.inputs])
        drawn = np.stack([margins[at].quantile(z[:, at]) for at in vine.order.tolist()], axis=1)
        off = wanted - correlations(drawn)
        size = float(np.abs(off).mean())
        if size < least:
            best, least = vine, size
        moved = []
        for at, tree in enumerate(vine.trees):
            ends = np.array([(PAIRS[name].lowest, PAIRS[name].highest) for name in tree.families])
            # dτ = (2/π)·dρ/√(1 − ρ²) for the Gaussian, and not far from it for the others
            step = 2 / np.pi * off[at, at + 1 :] * np.sqrt(np.maximum(1 - tree.taus**2, 0.01))
            moved.append(Tree(tree.families, np.clip(tree.taus + step, ends[:, 0], ends[:, 1])))
        if not truncate:
            # From what the sound matrix has, not from what was asked for, which would drift ever farther away.
            left = np.clip(vine.rest.correlation + off[roots:, roots:] / 2, -0.9999, 0.9999)
            np.fill_diagonal(left, 1.0)
        vine = VineCopula(vine.order, tuple(moved), vine.rest if truncate else GaussianCopula(factor(left)))
    return best
