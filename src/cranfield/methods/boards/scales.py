"""Scores on different scales: standardised by name, or a warning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.errors import Caution
from cranfield.types import Array

MOST_RATIO = 5.0
"""Of the sds over systems of two tasks or collections; above it, one of them decides the means."""
_FEWEST_SYSTEMS = 3  # the sd of two scores is mostly chance


def standardised(values: Array) -> Array:
    """Scores minus their mean over the systems of a row, in units of their sd there; 0 in a row without a spread.

    Parameters
    ----------
    values
        Topics or tasks × systems; nan where there is no score.

    References
    ----------
    - W. Webber, A. Moffat and J. Zobel, "Score standardization for inter-collection comparison of retrieval systems",
      SIGIR 2008, 51–58.

    Examples
    --------
    >>> standardised(np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0], [5.0, 5.0, 5.0]])).tolist()
    [[-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """
    centred = values - np.nanmean(values, axis=1, keepdims=True)
    spread = spreads(values)[:, np.newaxis]
    flat = np.where(np.isnan(values), np.nan, 0.0)
    return np.asarray(np.divide(centred, spread, out=flat, where=spread > 0))


def spreads(values: Array) -> Array:
    """The sd over systems of each row; 0 where rounding leaves nothing else, or for fewer than two scores."""
    there = np.isfinite(values)
    counts = np.maximum(there.sum(axis=1), 1)
    means = np.where(there, values, 0.0).sum(axis=1) / counts
    squares = np.where(there, np.square(values - means[:, np.newaxis]), 0.0).sum(axis=1)
    found = np.sqrt(squares / np.maximum(counts - 1, 1))
    return np.where(found > 1e-12 * np.maximum(np.abs(means), 1e-300), found, 0.0)


def scale_caution(values: Array, tasks: Sequence[str], part: Array | None = None) -> Caution | None:
    """That the sds over systems differ too much between tasks, or between the collections in ``part``.

    Of tasks the largest is compared with the lower quartile, so that a single task on which all systems are alike is
    no reason for a warning; of collections with the smallest.
    """
    if values.shape[1] < _FEWEST_SYSTEMS:
        return None
    squares = np.square(spreads(values))
    if part is None:
        kind, sds = "task", np.sqrt(squares)
        low, against = float(np.quantile(sds, 0.25)), "a quarter of the tasks have at most"
    else:
        counts = np.bincount(part, minlength=len(tasks))
        kind, sds = "collection", np.sqrt(np.bincount(part, squares, minlength=len(tasks)) / counts)
        low, against = float(sds.min()), f"{tasks[int(sds.argmin())]} has"
    high = float(sds.max())
    if not high > MOST_RATIO * low:
        return None
    return Caution(
        "scales-differ",
        f"the scores of {kind}s are on different scales, so that few {kind}s decide the means: over systems "
        f"{tasks[int(sds.argmax())]} has an sd of {high:.3g}, and {against} {low:.3g}",
        'Choose with `standardise`: "z" standardises within each task or topic, "none" leaves scores as they are.',
    )
