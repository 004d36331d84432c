"""What is known of contrasts before anything is decided: their values, standard errors and degrees of freedom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import special

from cranfield.stats.tails import TINY, t_critical
from cranfield.types import Array, ArrayLike

TWO_SIDED, GREATER, WITHIN = "two-sided", "greater", "within"
"""What a test shows: a difference other than 0, one above −margin, or one within ± margin."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimate:
    """Contrasts with their standard errors, 0 where nothing varies to measure by, and degrees of freedom."""

    value: Array
    standard_error: Array
    df: Array

    @property
    def is_tested(self) -> Array:
        """Which have an error to measure by."""
        return np.asarray(self.standard_error > 0)

    def t_from(self, margin: float) -> Array:
        """t of the contrasts over ``margin``; 0 where there is no error to measure by."""
        gap = self.value - margin
        return np.divide(gap, self.standard_error, out=np.zeros(np.shape(gap)), where=self.is_tested)

    @property
    def t(self) -> Array:
        return self.t_from(0.0)

    def p(self, shows: str = TWO_SIDED, margin: float = 0.0) -> Array:
        """p of Student's test of every contrast; 1 where there is no error to measure by, and never 0."""
        if shows == TWO_SIDED:
            p_value = 2 * special.stdtr(self.df, -np.abs(self.t))
        elif shows == GREATER:
            p_value = special.stdtr(self.df, -self.t_from(-margin))
        else:  # D. J. Schuirmann 1987: the larger p of two one-sided tests
            p_value = special.stdtr(self.df, -np.minimum(self.t_from(-margin), -self.t_from(margin)))
        return np.where(self.is_tested, np.maximum(p_value, TINY), 1.0)

    @property
    def p_value(self) -> Array:
        """Two-sided p of no difference."""
        return self.p()

    def interval(self, alpha: ArrayLike = 0.05) -> tuple[Array, Array]:
        """Lower and upper ends of the 100(1 − α) % interval of each; nan where there is no error to measure by."""
        return self.ends(t_critical(np.asarray(alpha) / 2, self.df))

    def ends(self, critical: ArrayLike) -> tuple[Array, Array]:
        """Ends of intervals that reach as many standard errors as |t| must exceed."""
        reach = np.where(self.is_tested, critical * self.standard_error, np.nan)
        return self.value - reach, self.value + reach

    def some(self, places: Array | slice) -> Estimate:
        """Those at some places."""
        return type(self)(**{name: column[places] for name, column in vars(self).items()})


class Estimator(Protocol):
    """What contrasts are estimated from, and how the topics are drawn again for tests by resampling."""

    def fit(self) -> Estimate: ...

    def draw(self, rng: np.random.Generator, size: int) -> Any:
        """How often each of ``size`` resamples has every topic."""

    def redrawn(self, drawn: Any, places: Array) -> tuple[Array, Array]:
        """Resamples × contrasts: how far some estimates are from those of all topics, and their standard errors."""

    @property
    def topics(self) -> int: ...
