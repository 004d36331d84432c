"""Systems on topics of their own: Welch's t of two means, and Tukey and Kramer's test of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.contrasts.decisions import Verdicts
from cranfield.methods.contrasts.estimates import Estimate
from cranfield.methods.contrasts.pairs import Contrasts, rounding
from cranfield.methods.contrasts.tukey import by_range
from cranfield.types import Array

UNPAIRED_TESTS = ("unpaired", "tukey-kramer")


@dataclass(frozen=True, eq=False)
class UnpairedMeans:
    """Contrasts of means over different topics: scores are topics × systems, nan where a system has none."""

    scores: Array
    contrasts: Contrasts

    @cached_property
    def counts(self) -> Array:
        counts = np.isfinite(self.scores).sum(axis=0)
        if (counts < 2).any():
            raise RequestError(
                "a system has fewer than two scores, and nothing is known about their spread", fix="Leave it out."
            )
        return np.asarray(counts)

    @cached_property
    def means(self) -> Array:
        return np.asarray(np.nansum(self.scores, axis=0) / self.counts)

    @cached_property
    def squares(self) -> Array:
        """Σ(x − x̄)² of every system; 0 where rounding leaves nothing else."""
        rest = self.scores - self.means
        varies = np.nanmax(rest, axis=0) - np.nanmin(rest, axis=0) > 4 * self._tiny
        return np.where(varies, np.nansum(np.square(rest), axis=0), 0.0)

    @property
    def _tiny(self) -> float:
        return rounding(float(np.nanmin(self.scores)), float(np.nanmax(self.scores)))

    @property
    def within(self) -> float:
        """The variance within systems."""
        return float(self.squares.sum() / (self.counts.sum() - len(self.counts)))

    def fit(self) -> Estimate:
        """Welch's t, with Satterthwaite's degrees of freedom."""
        own = self.squares / (self.counts - 1) / self.counts
        first, second = own[self.contrasts.first], own[self.contrasts.second]
        left = self.counts - 1
        parts = np.square(first) / left[self.contrasts.first] + np.square(second) / left[self.contrasts.second]
        df = np.divide(np.square(first + second), parts, out=np.ones_like(parts), where=parts > 0)
        return Estimate(value=self.contrasts.of(self.means), standard_error=np.sqrt(first + second), df=df)

    def pooled(self) -> Estimate:
        """The same by one variance within all systems."""
        share, df = 1 / self.counts, float(self.counts.sum() - len(self.counts))
        error = np.sqrt(self.within * (share[self.contrasts.first] + share[self.contrasts.second]))
        return Estimate(value=self.contrasts.of(self.means), standard_error=error, df=np.full(len(error), df))

    def tukey_kramer(self, alpha: float) -> Verdicts:
        """The studentised range on one variance for all systems, whatever their numbers of topics.

        References
        ----------
        - C. Y. Kramer, "Extension of multiple range tests to group means with unequal numbers of replications",
          Biometrics 12 (1956), 307–310.
        """
        return by_range(self.pooled(), len(self.counts), alpha)

    @property
    def effect_size(self) -> Array:
        """Differences over the sd within systems."""
        value = self.contrasts.of(self.means)
        return value / np.sqrt(self.within) if self.within > 0 else np.full(len(value), np.nan)

    @property
    def wins(self) -> tuple[Array, Array, Array]:
        """On the topics that two systems share, if any."""
        gaps = self.contrasts.of(self.scores)
        above, below = (gaps > self._tiny).sum(axis=0), (gaps < -self._tiny).sum(axis=0)
        return above, np.isfinite(gaps).sum(axis=0) - above - below, below
