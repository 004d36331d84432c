"""Copulas of two variables, each with one parameter that is told by Kendall's τ.

``conditional`` is h(v | u) = ∂C(u, v)/∂u, the distribution of the second given the first; ``inverse`` undoes it. All
work on arrays, with a τ for every column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special

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
