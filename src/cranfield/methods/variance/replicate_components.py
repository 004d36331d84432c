"""Variance components of the paired difference of two systems, from a pilot with several scores per topic and system.

Mean squares are equated to their expectations (method of moments); a negative estimate is set to 0 and named.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import Caution, RequestError
from cranfield.methods.variance.components import jackknife_df
from cranfield.types import Array

NAMES = ("between", "within", "shared_variance", "repeat_variance")
"""The components, in the order of arrays of them."""


@dataclass(frozen=True, kw_only=True)
class Components:
    """Variances of the paired difference of two systems.

    ``between`` is between units (topics, or clusters), ``within`` between the items of a unit (or of their interaction
    with units, where all units share them), ``shared_variance`` of what all units share (prompts, or seeds of trained
    systems), ``repeat_variance`` between repeats of the same item.
    """

    between: float
    within: float = 0.0
    shared_variance: float = 0.0
    repeat_variance: float = 0.0

    @property
    def total(self) -> float:
        """The variance of one paired difference."""
        return self.between + self.within + self.shared_variance + self.repeat_variance

    @property
    def icc(self) -> float:
        """Intra-class correlation: of the paired differences of two items of a unit."""
        return self.between / self.total if self.total > 0 else float("nan")

    def to_dict(self) -> dict[str, float]:
        return dict(vars(self))


@dataclass(frozen=True, eq=False, kw_only=True)
class ComponentEstimate:
    """Components estimated from a pilot of ``units`` units and ``systems`` systems.

    ``items`` is the number of items per unit (Searle's n₀ where units have different numbers), ``shared`` the number of
    levels that all units share, 0 where there is none. ``negative`` names the components whose estimates were below
    0. ``left_out_units`` and ``left_out_shared`` have the components without each unit and without each shared level,
    one row each, and ``df`` the degrees of freedom that both would leave normal scores.
    """

    components: Components
    negative: tuple[str, ...]
    units: int
    systems: int
    items: float
    shared: int
    left_out_units: Array
    left_out_shared: Array
    df: tuple[float, float]

    def effective_df(self, weights: Array) -> float:
        """Effective degrees of freedom of a weighted sum of the components, by jackknives over units and shared levels.

        The variances of both jackknives add, and with them the reciprocals of the degrees of freedom. Those of shared
        levels bound the sum only as far as it consists of their variance.
        """
        value = float(weights @ _array(self.components))
        share = float(weights[2]) * self.components.shared_variance / value
        inverse = 1 / jackknife_df(value, self.left_out_units @ weights, most=self.df[0])
        if self.shared and share > 0:
            inverse += 1 / jackknife_df(value, self.left_out_shared @ weights, most=self.df[1] / share**2)
        return 1 / inverse

    def cautions(self, measure: str = "") -> tuple[Caution, ...]:
        """The warnings about estimates below 0."""
        return tuple(_negative(name, measure) for name in self.negative)


def _negative(name: str, measure: str) -> Caution:
    of = f" of {measure}" if measure else ""
    return Caution(
        "component-negative",
        f"the estimate of `{name}`{of} is negative and counts as 0: the pilot shows no such variance, or is too small "
        "to show it",
        f"Plan with a value of `{name}` that other data suggest, too.",
    )


def nested_components(values: Array, units: Array) -> ComponentEstimate:
    """Components of items nested in units, such as query variations of topics, or topics of clusters.

    Parameters
    ----------
    values
        Scores, items × systems. One column alone is taken as paired differences themselves.
    units
        The unit of every item; units may have different numbers of items.

    References
    ----------
    Searle, Casella and McCulloch (1992), Variance Components, §3.6: n₀ = (N − Σn²/N)/(units − 1).

    Examples
    --------
    >>> values = np.array([[0.1], [0.3], [0.6], [0.8], [0.7]])
    >>> found = nested_components(values, np.array([1, 1, 2, 2, 2]))
    >>> round(found.components.between, 4), round(found.components.within, 4), found.items
    (0.1194, 0.0133, 2.4)
    """
    y, scale, systems = _compared(np.asarray(values, float))
    _, unit = np.unique(units, return_inverse=True)
    count = np.bincount(unit).astype(float)
    if len(count) < 2:
        raise RequestError("there is one unit only, so nothing varies between units", fix="Give two or more.")
    if len(y) == len(count):
        raise RequestError(
            "every unit has one item, so nothing varies within units",
            fix="Give several items of some units, or plan with `between` and `within`.",
        )
    y = y - y.mean(axis=0)
    sums = np.zeros((len(count), y.shape[1]))
    np.add.at(sums, unit, y)
    own = np.bincount(unit, weights=np.square(y).sum(axis=1))
    squared = np.square(sums).sum(axis=1) / count
    whole = _nested(count.sum(), len(count), np.square(count).sum(), own.sum(), squared.sum(), sums.sum(axis=0))
    without = _nested(
        count.sum() - count,
        len(count) - 1,
        np.square(count).sum() - np.square(count),
        own.sum() - own,
        squared.sum() - squared,
        sums.sum(axis=0) - sums,
    )
    estimates, n0 = whole
    degrees = max(systems - 1, 1)
    return _estimate(
        scale * estimates,
        scale * without[0],
        np.zeros((0, 4)),
        units=len(count),
        systems=systems,
        items=float(n0),
        shared=0,
        df=(degrees * (len(count) - 1.0), np.inf),
    )


def cluster_components(scores: Array, clusters: Array) -> ComponentEstimate:
    """Components of topics that come in clusters: ``scores`` are topics × systems, ``clusters`` the cluster of each."""
    return nested_components(scores, clusters)


def variation_components(scores: Array) -> ComponentEstimate:
    """Components of variations of each topic's own: topics × systems × variations, nan where a topic has fewer."""
    x = np.moveaxis(np.asarray(scores, float), 2, 1)  # topics × variations × systems
    whole = np.isfinite(x).all(axis=2)
    return nested_components(x[whole], np.nonzero(whole)[0])


def _compared(values: Array) -> tuple[Array, float, int]:
    """Values less the mean of their row, and by what a mean square over them is multiplied to be that of differences.

    The mean over all pairs of systems of the variance of their difference is twice that of a system about the mean.
    """
    systems = values.shape[1]
    if systems == 1:
        return values, 1.0, 1
    return values - values.mean(axis=1, keepdims=True), 2 / (systems - 1), systems


def _nested(count: Any, units: int, squares: Any, own: Any, squared: Any, sums: Array) -> tuple[Array, Any]:
    """Estimates (… × 4) and n₀ from sums: items, Σn², Σy², Σ(unit sum)²/n, and the sum of every column."""
    together = np.square(sums).sum(axis=-1) / count
    inside = np.maximum(own - squared, 0.0) / np.maximum(count - units, 1)
    across = np.maximum(squared - together, 0.0) / max(units - 1, 1)
    n0 = (count - squares / count) / max(units - 1, 1)  # Searle et al. 1992 §3.6
    between = np.divide(across - inside, n0, out=np.zeros_like(inside), where=n0 > 0)  # one unit alone has none
    zero = np.zeros_like(inside)
    return np.stack([between, inside, zero, zero], axis=-1), n0


def shared_components(scores: Array, *, nested: bool) -> ComponentEstimate:
    """Components of replicates that all topics share: prompts or judges, or seeds of trained systems.

    Parameters
    ----------
    scores
        Topics × systems × replicates, without missing scores.
    nested
        Each system has its own replicates (seeds); otherwise systems share them (prompts, judges).

    Returns
    -------
    ComponentEstimate
        ``shared_variance`` is that of the replicates; what is left is ``within`` for shared prompts, whose interaction
        with topics it is, and ``repeat_variance`` for seeds.
    """
    x = np.asarray(scores, float)
    topics, systems, levels = x.shape
    if min(x.shape) < 2:
        raise RequestError(
            "components need two topics, systems and replicates or more", fix="Give a larger table, or components."
        )
    y, z, columns = _parts(x, nested=nested)
    place = [0, 3, 2] if nested else [0, 1, 2]
    whole = _placed(_shared(_totals(y, z), x.shape, columns), place)
    without = _placed(_shared(_left_out_totals(y, z), (topics - 1, systems, levels), columns), place)
    others = [_without_level(x, at, nested=nested) for at in range(levels)] if levels > 2 else []
    return _estimate(
        whole,
        without,
        _placed(np.array(others), place) if others else np.tile(whole, (levels, 1)),
        units=topics,
        systems=systems,
        items=1.0 if nested else float(levels),
        shared=levels,
        df=((systems - 1.0) * (topics - 1), columns * (levels - 1.0)),
    )


def _parts(x: Array, *, nested: bool) -> tuple[Array, Array, int]:
    """Scores in which only differences of systems vary, the same of the means over replicates, and the free systems.

    Replicates that systems share cancel in a difference; those of a system's own do not.
    """
    cells = x.mean(axis=2)
    z = cells - cells.mean(axis=1, keepdims=True)
    y = x if nested else x - x.mean(axis=1, keepdims=True)
    systems = x.shape[1]
    return y - y.mean(axis=(0, 2), keepdims=True), z - z.mean(axis=0), systems if nested else systems - 1


_Totals = tuple[Any, Any, Any, Any, Any, Any]


def _totals(y: Array, z: Array) -> _Totals:
    """Σy², Σ(cell sum)²/S, Σ(column sum)², Σ(system sum)²; Σz² and Σ(sum of z)² of systems."""
    sums = y.sum(axis=0)
    cells = np.square(y.sum(axis=2)).sum() / y.shape[2]
    of_systems = np.square(sums.sum(axis=1)).sum()
    return np.square(y).sum(), cells, np.square(sums).sum(), of_systems, np.square(z).sum(), np.square(z.sum(0)).sum()


def _left_out_totals(y: Array, z: Array) -> _Totals:
    """The same without each topic."""
    sums = y.sum(axis=0) - y
    cells = np.square(y.sum(axis=2)).sum(axis=1) / y.shape[2]
    own, of_z = np.square(y).sum(axis=(1, 2)), np.square(z).sum(axis=1)
    return (
        own.sum() - own,
        cells.sum() - cells,
        np.square(sums).sum(axis=(1, 2)),
        np.square(sums.sum(axis=2)).sum(axis=1),
        of_z.sum() - of_z,
        np.square(z.sum(axis=0) - z).sum(axis=1),
    )


def _shared(totals: _Totals, shape: tuple[int, ...], columns: int) -> Array:
    """Estimates of between, what is left, and shared (… × 3), from the sums."""
    topics, systems, levels = shape
    own, cells, columns_squared, of_systems, of_z, sum_of_z = totals
    by_level, grand = columns_squared / topics, of_systems / (topics * levels)
    t1 = max(topics - 1, 1)
    by_topic = np.maximum(levels * (of_z - sum_of_z / topics), 0.0) / ((systems - 1) * t1)
    replicate = np.maximum(by_level - grand, 0.0) / (columns * (levels - 1))
    rest = np.maximum(own - cells - by_level + grand, 0.0) / (columns * t1 * (levels - 1))
    parts = ((by_topic - rest) / levels, rest, (replicate - rest) / topics)
    return 2 * np.stack(parts, axis=-1)  # a difference has the variance of two systems


def _without_level(x: Array, at: int, *, nested: bool) -> Array:
    """Estimates without one replicate (of each system, where they are nested)."""
    rest = np.delete(x, at, axis=2)
    y, z, columns = _parts(rest, nested=nested)
    return _shared(_totals(y, z), rest.shape, columns)


def _placed(three: Array, place: list[int]) -> Array:
    """Estimates (… × 3) at their places among the four components."""
    found = np.zeros((*three.shape[:-1], 4))
    found[..., place] = three
    return found


def _estimate(raw: Array, left_out_units: Array, left_out_shared: Array, **known: Any) -> ComponentEstimate:
    negative = tuple(name for name, value in zip(NAMES, raw.tolist(), strict=True) if value < 0)
    values = np.maximum(raw, 0.0)
    return ComponentEstimate(
        components=Components(**dict(zip(NAMES, values.tolist(), strict=True))),
        negative=negative,
        left_out_units=np.maximum(left_out_units, 0.0),
        left_out_shared=np.maximum(left_out_shared, 0.0),
        **known,
    )


def _array(components: Components) -> Array:
    return np.array([getattr(components, name) for name in NAMES])
