"""Smooth functions of one number by pieces of Chebyshev polynomials, as fine as they need to be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.polynomial.chebyshev import chebval

from cranfield.types import Array

DEGREE = 24
_NODES = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))  # in (−1, 1), none at an end
# Values at the nodes to coefficients: a discrete cosine transform, small enough to be a matrix.
_TRANSFORM = 2 / (DEGREE + 1) * np.cos(np.outer(np.arange(DEGREE + 1), np.arccos(_NODES)))
_TRANSFORM[0] /= 2


@dataclass(frozen=True, eq=False)
class Pieces:
    """Polynomials on neighbouring intervals; between ``edges[i]`` and ``edges[i + 1]`` the i-th holds."""

    edges: Array
    coefficients: Array  # pieces × degree

    def __call__(self, x: Array) -> Array:
        piece = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(self.coefficients) - 1)
        low, high = self.edges[piece], self.edges[piece + 1]
        t = (2 * x - low - high) / (high - low)
        return np.asarray(chebval(t, self.coefficients.T[:, piece], tensor=False))


def approximate(
    function: Callable[[Array], Array], edges: Sequence[float], *, tolerance: float, most: int = 12
) -> Pieces:
    """Pieces that follow ``function`` to about ``tolerance``, halved until their last coefficients are below it.

    ``edges`` are those of the pieces to begin with, ``most`` is how often one may be halved.
    """
    todo = list(pairwise(map(float, edges)))
    done: list[tuple[float, float, Array]] = []
    for depth in range(most + 1):
        spans = np.array(todo)
        nodes = (spans[:, :1] + spans[:, 1:]) / 2 + (spans[:, 1:] - spans[:, :1]) / 2 * _NODES
        fitted = function(nodes.ravel()).reshape(nodes.shape) @ _TRANSFORM.T
        fine = (np.abs(fitted[:, -3:]).max(axis=1) <= tolerance) | (depth == most)
        done += [(*span, row) for span, row, good in zip(todo, fitted, fine, strict=True) if good]
        middles = [((a + b) / 2, (a, b)) for (a, b), good in zip(todo, fine, strict=True) if not good]
        todo = [half for middle, (a, b) in middles for half in ((a, middle), (middle, b))]
        if not todo:
            break
    done.sort(key=lambda piece: piece[0])
    return Pieces(np.array([piece[0] for piece in done] + [done[-1][1]]), np.array([piece[2] for piece in done]))
