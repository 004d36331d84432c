"""max-t for boards on which scores are missing: each pair on the tasks that both have, all pairs resampled together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.methods.contrasts.comparison import Comparison
from cranfield.methods.contrasts.families import percent
from cranfield.methods.contrasts.maxima import ALONE, LEAST_VARIANCE, SIDE, max_t_critical, max_t_p
from cranfield.methods.contrasts.tested_pairs import HeldPairs
from cranfield.runtime.random import Seed, generator
from cranfield.types import Array, Progress


def resampled_pairs(
    comparison: Comparison, values: Array, *, resamples: int, seed: Seed, progress: Progress | None = None
) -> Comparison:
    """The same pairs, each |t| compared with the largest of all pairs in resamples of the tasks.

    Holm's correction takes no account of how pairs depend on one another, and Student's t none of skewed differences;
    on boards with missing scores both make errors more frequent. p before the correction remains that of Student's t.

    Parameters
    ----------
    comparison
        Every pair by Student's t on the tasks that both have.
    values
        Tasks × systems in the order of the comparison; nan where there is no score.
    """
    columns = comparison.pairs.part(0, len(comparison.pairs))
    error = columns.standard_error
    tested = np.isfinite(columns.lower)
    if not tested.any():
        return comparison
    gaps = values[:, columns.first[tested]] - values[:, columns.second[tested]]
    largest = largest_t_of_shared(gaps, resamples=resamples, seed=seed, progress=progress)
    p_adjusted = np.ones(len(error))
    df = np.isfinite(gaps).sum(axis=0) - 1  # of tasks that both have
    p_adjusted[tested] = max_t_p(largest, columns.difference[tested] / error[tested], df)
    reach = np.full(len(error), np.nan)
    reach[tested] = max_t_critical(largest, comparison.alpha, df, len(df)) * error[tested]
    found = replace(columns, p_adjusted=p_adjusted, lower=columns.difference - reach, upper=columns.difference + reach)
    return replace(
        comparison,
        test="max-t",
        correct="none",
        interval=f"simultaneous {percent(comparison.alpha)}",
        pairs=HeldPairs(found, len(comparison.systems), comparison.alpha),
        resamples=resamples,
    )


def largest_t_of_shared(gaps: Array, *, resamples: int, seed: Seed, progress: Progress | None = None) -> Array:
    """The largest |t| of all pairs in each resample of the tasks; in order.

    Parameters
    ----------
    gaps
        Tasks × pairs: differences, nan where one of the two has no score. All of them vary.
    """
    there = np.isfinite(gaps)
    counts = there.sum(axis=0)
    scaled = np.where(there, gaps - np.nanmean(gaps, axis=0), 0.0)
    scaled /= np.sqrt(np.square(scaled).sum(axis=0) / (counts - 1))
    rng = generator(seed, "leaderboard", "max-t")
    n, largest, present = len(gaps), np.zeros(resamples), there.astype(float)
    side = max(SIDE, int(np.sqrt(ALONE / n)))  # resamples and pairs at a time: BLAS starts no threads for so few
    for start in range(0, resamples, side):
        some = slice(start, min(start + side, resamples))
        drawn = rng.multinomial(n, np.full(n, 1 / n), size=some.stop - some.start).astype(float)
        for begin in range(0, gaps.shape[1], side):
            part = slice(begin, begin + side)
            squares = _squared_t(drawn, present[:, part], scaled[:, part])
            np.maximum(largest[some], squares.max(axis=1), out=largest[some])
        if progress is not None:
            progress(some.stop, resamples)
    return np.sort(np.sqrt(largest))


def _squared_t(drawn: Array, there: Array, scaled: Array) -> Array:
    """t² of every pair in some resamples, with the floor under the variance that max-t has; 0 on fewer than two."""
    counts = drawn @ there
    means = drawn @ scaled / np.maximum(counts, 1)
    variances = (drawn @ scaled**2 - counts * means**2) / np.maximum(counts - 1, 1)
    return np.where(counts > 1, counts * means**2 / np.maximum(variances, LEAST_VARIANCE), 0.0)
