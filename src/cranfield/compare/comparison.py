"""Which systems differ: ranking, intervals, groups and pairs, under the test asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.compare.anova import TINY, check_table
from cranfield.compare.cautions import nothing_to_tell, too_few_resamples, too_few_topics, unpaired_loses
from cranfield.compare.corrections import correction
from cranfield.compare.kernels import permuted_ranges
from cranfield.compare.pairwise import TESTS, Progress, equivalence
from cranfield.compare.tukey import ErrorTerm, Intervals, standard_error_reach, tukey
from cranfield.errors import Caution, RequestError
from cranfield.parallel import available_workers, pieces, tasks
from cranfield.scores import ScoreTable
from cranfield.scores.balance import check_balance
from cranfield.scores.frames import rows_frame
from cranfield.stats.tails import t_critical
from cranfield.variance.components import squares

Array = npt.NDArray[Any]

FAMILY = ("tukey", "randomised", "unpaired")  # these control the error of the whole family by themselves
ALL_TESTS = ("tukey", "randomised", *TESTS, "unpaired")
RESAMPLED = ("randomised", "bootstrap", "randomisation")
SIGNED = ("sign", "randomisation")  # whose p is a share of 2ⁿ patterns of signs


@dataclass(frozen=True, eq=False)
class Comparison:
    """Systems best first; pairs as indices into them.

    ``difference`` is the mean of the better less that of the other. ``effect_size`` is the difference over the
    residual sd (Tukey's family) or over the sd of the pair's differences (the pairwise tests), as ``denominator``
    says. ``intervals`` has the half-widths of each system's: by Tukey (or by permutation, nan for pairwise tests), with
    which two systems differ when theirs do not touch; by ANOVA; and by the system's own standard error.
    """

    measure: str
    test: str
    correct: str
    alpha: float
    topics: int
    systems: tuple[str, ...]
    means: Array
    intervals: Intervals
    first: Array
    second: Array
    difference: Array
    lower: Array
    upper: Array
    effect_size: Array
    denominator: str
    p_value: Array
    p_adjusted: Array
    significant: Array
    equivalent: Array | None
    baselines: tuple[str, ...]
    seed: int | None
    warnings: tuple[Caution, ...] = ()

    @property
    def half_width(self) -> float:
        """Of the interval that decides about pairs; nan where none does."""
        return self.intervals.tukey

    @property
    def significant_pairs(self) -> int:
        return int(self.significant.sum())

    @property
    def top_group(self) -> tuple[str, ...]:
        """The best system and those that cannot be told from it."""
        with_best = (self.first == 0) & ~self.significant
        return (self.systems[0], *(self.systems[at] for at in self.second[with_best].tolist()))

    def groups(self) -> list[tuple[int, int]]:
        """Maximal runs of neighbouring ranks no two of which differ, as (first, last) places."""
        count = len(self.systems)
        differ = np.zeros((count, count), bool)
        differ[self.first, self.second] = self.significant
        runs: list[tuple[int, int]] = []
        for start in range(count):
            last = start
            while last + 1 < count and not differ[start : last + 1, last + 1].any():
                last += 1
            if not runs or last > runs[-1][1]:
                runs.append((start, last))
        return runs

    def summary(self) -> str:
        """How many pairs differ, and who cannot be told from the best."""
        found = f"{self.significant_pairs:,} of {len(self.first):,} pairs differ significantly"
        return f"{found}; {self._about_the_best()}."

    def _about_the_best(self) -> str:
        if self.baselines:  # nothing is known about other pairs
            return f"only pairs with {', '.join(self.baselines)} were tested"
        best, rest = self.systems[0], len(self.top_group) - 1
        if rest == len(self.systems) - 1:
            return f"no system can be told from {best}"
        others = f"{rest} other{'s' * (rest != 1)} cannot be told from {best}"
        return others if rest else f"{best} differs from all others"

    def to_frame(self, backend: str = "pandas") -> Any:
        """The pairs as a data frame."""
        return rows_frame(self.to_dict(), backend)

    def to_dict(self) -> list[dict[str, Any]]:
        """One row a pair."""
        rows = []
        for at in range(len(self.first)):
            row = {
                "system_a": self.systems[self.first[at]],
                "system_b": self.systems[self.second[at]],
                "difference": float(self.difference[at]),
                "lower": float(self.lower[at]),
                "upper": float(self.upper[at]),
                "effect_size": float(self.effect_size[at]),
                "p_value": float(self.p_value[at]),
                "p_adjusted": float(self.p_adjusted[at]),
                "significant": bool(self.significant[at]),
            }
            if self.equivalent is not None:
                row["equivalent"] = bool(self.equivalent[at])
            rows.append(row)
        return rows


def compare(
    table: ScoreTable,
    *,
    measure: str | None = None,
    test: str = "tukey",
    correct: str | None = None,
    alpha: float = 0.05,
    baselines: Sequence[str] = (),
    equivalent_within: float | None = None,
    count: int = 10_000,
    seed: int = 1,
    label: str | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare all systems of a table, or all with some baselines.

    Parameters
    ----------
    test
        ``tukey`` (blocked: topics are shared, the default), ``randomised`` (Tukey by permutation within topics),
        ``unpaired`` (one-way Tukey, which ignores that topics are shared), or a pairwise test: ``t``, ``wilcoxon``,
        ``sign``, ``bootstrap``, ``randomisation``.
    correct
        For the pairwise tests: ``holm`` (default), ``bh`` or ``none``. Tukey's tests need none.
    equivalent_within
        A smallest difference that matters: pairs shown to be closer are marked equivalent (TOST at α).
    count
        Permutations or resamples.
    label
        What the comparison is called, the measure unless said otherwise.
    """
    if not 0 < alpha < 1:
        raise RequestError(f"α cannot be {alpha:g}", fix="It is a probability; 0.05 is usual.")
    check_test(test, correct)
    scores = table.of(measure)
    if scores.ndim != 2:
        raise RequestError(
            "this table has shards",
            fix="Use the models of cranfield shards, or average over them (--columns mean=shard).",
        )
    check_balance(table, measure)
    check_table(scores[:, :, np.newaxis])
    order = np.argsort(-scores.mean(axis=0), kind="stable")
    ordered, names = scores[:, order], tuple(table.systems[at] for at in order.tolist())
    first, second = _pairs(names, tuple(baselines))
    made = _Sample(ordered, first, second, alpha, count, seed, progress)
    found = made.family(test) if test in FAMILY else made.pairwise(test, correct or "holm")
    p_value, p_adjusted, lower, upper, half_width = found
    p_value, p_adjusted = np.maximum(p_value, TINY), np.maximum(p_adjusted, TINY)  # small, but not 0
    difference = made.gaps
    correct = "none" if test in FAMILY else (correct or "holm")
    close = None
    if equivalent_within is not None:
        if not equivalent_within > 0:
            raise RequestError(
                f"equivalence within {equivalent_within:g} cannot be shown", fix="Name a margin above 0."
            )
        close = equivalence(made.differences, equivalent_within) <= alpha
    denominator = "residual sd" if test in FAMILY else "sd of the differences"
    return Comparison(
        label or measure or table.measures[0],
        test,
        correct,
        alpha,
        len(ordered),
        names,
        ordered.mean(axis=0),
        made.intervals(half_width),
        first,
        second,
        difference,
        lower,
        upper,
        made.effect_sizes(test),
        denominator,
        p_value,
        p_adjusted,
        p_adjusted <= alpha,
        close,
        tuple(baselines),
        seed if test in RESAMPLED else None,
        made.warnings(test, correct, int((p_adjusted <= alpha).sum())),
    )


def pair_p_values(
    scores: Array, *, test: str = "tukey", correct: str | None = None, alpha: float = 0.05, count: int, seed: int
) -> Array:
    """Adjusted p of all pairs of the systems of a topics × systems table, in the order of ``np.triu_indices``."""
    check_test(test, correct)
    check_table(scores[:, :, np.newaxis])
    made = _Sample(scores, *np.triu_indices(scores.shape[1], k=1), alpha, count, seed)
    return (made.family(test) if test in FAMILY else made.pairwise(test, correct or "holm"))[1]


def check_test(test: str, correct: str | None) -> None:
    """Refuse tests and corrections that do not exist, or do not go together."""
    if test not in ALL_TESTS:
        raise RequestError(f"there is no test «{test}»", fix=f"Choose one of: {', '.join(ALL_TESTS)}.")
    if test in FAMILY and correct not in (None, "none"):
        raise RequestError(f"{test} controls the whole family's error by itself", fix="Leave out the correction.")
    if correct is not None:
        correction(correct)


def _pairs(names: tuple[str, ...], baselines: tuple[str, ...]) -> tuple[Array, Array]:
    first, second = np.triu_indices(len(names), k=1)
    if not baselines:
        return first, second
    unknown = [name for name in baselines if name not in names]
    if unknown:
        raise RequestError(f"there is no system «{unknown[0]}»", fix=f"There are: {', '.join(names[:10])}.")
    wanted = np.isin(np.array(names), np.array(baselines))
    kept = wanted[first] | wanted[second]
    return first[kept], second[kept]


def shuffled_ranges(
    scores: Array, *, count: int, seed: int, workers: int | None = None, progress: Progress | None = None
) -> Array:
    """The ranges of the systems' means when scores are shuffled within topics, ``count`` times; in order."""
    scores = np.ascontiguousarray(scores)  # rows are read time and again
    seeds = np.random.default_rng(seed).integers(1, 2**64, count, dtype=np.uint64, endpoint=False)
    if workers == 1:
        return np.sort(_ranges(scores, seeds) / len(scores))
    parts = [seeds[first:last] for first, last in pieces(count, workers or available_workers())]
    done = tasks(_ranges, parts, shared=scores, workers=workers, progress=progress)
    return np.sort(np.concatenate(done) / len(scores))


def randomised_p(ranges: Array, gap: Array) -> Array:
    """(b + 1) / (B + 1), b the shuffles whose range is at least the gap."""
    more = len(ranges) - np.searchsorted(ranges, np.abs(gap) * (1 - 1e-12), side="left")
    return np.asarray((more + 1) / (len(ranges) + 1))


Found = tuple[Array, Array, Array, Array, float]


@dataclass(frozen=True, eq=False)
class _Sample:
    """Ordered scores and the pairs to be tested."""

    scores: Array
    first: Array
    second: Array
    alpha: float
    count: int
    seed: int
    progress: Progress | None = None

    @property
    def differences(self) -> Array:
        return np.asarray(self.scores[:, self.first] - self.scores[:, self.second])

    def intervals(self, half_width: float) -> Intervals:
        """The interval of the test, ANOVA's and the standard error's."""
        n, m = self.scores.shape
        within = ErrorTerm(squares(self.scores).residual, (m - 1) * (n - 1), n)
        reach = float(t_critical(self.alpha / 2, within.df)) * within.standard_error  # FS19 Eq. 5
        return Intervals(half_width, reach, standard_error_reach(self.scores, alpha=self.alpha))

    def warnings(self, test: str, correct: str, found: int) -> tuple[Caution, ...]:
        """What the answer should be read with."""
        blocked = int((self.family("tukey")[0] <= self.alpha).sum()) if test == "unpaired" else 0
        cautions = (
            nothing_to_tell(self.scores),
            unpaired_loses(found, blocked) if test == "unpaired" else None,
            too_few_resamples(self.count, len(self.first), correct, self.alpha) if test in RESAMPLED else None,
            too_few_topics(len(self.scores), len(self.first), correct, self.alpha) if test in SIGNED else None,
        )
        return tuple(caution for caution in cautions if caution is not None)

    @property
    def gaps(self) -> Array:
        """Mean differences, without the table of all differences, which may be large."""
        means = self.scores.mean(axis=0)
        return np.asarray(means[self.first] - means[self.second])

    def effect_sizes(self, test: str) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            if test in FAMILY:
                return np.asarray(self.gaps / np.sqrt(squares(self.scores).residual))
            return np.asarray(self.gaps / self.differences.std(axis=0, ddof=1))

    def family(self, test: str) -> Found:
        if test == "randomised":
            return self._randomised()
        n, m = self.scores.shape
        found = squares(self.scores)
        error = ErrorTerm(found.residual, (m - 1) * (n - 1), n)
        if test == "unpaired":
            error = ErrorTerm(found.within_systems, m * (n - 1), n)
        result = tukey(self.scores.mean(axis=0), error, alpha=self.alpha)
        # Pairs come in the order of np.triu_indices: row by row, each one shorter.
        kept = self.first * (2 * m - self.first - 1) // 2 + self.second - self.first - 1
        p_value, gap = result.p_value[kept], result.difference[kept]
        return p_value, p_value, gap - result.margin, gap + result.margin, result.margin / 2

    def _randomised(self) -> Found:
        ranges = shuffled_ranges(self.scores, count=self.count, seed=self.seed, progress=self.progress)
        gap = self.gaps
        p_value = randomised_p(ranges, gap)
        margin = float(np.quantile(ranges, 1 - self.alpha, method="higher"))
        return p_value, p_value, gap - margin, gap + margin, margin / 2

    def pairwise(self, test: str, correct: str) -> Found:
        gaps = self.differences
        options: dict[str, Any] = {"count": self.count, "seed": self.seed, "progress": self.progress}
        done = TESTS[test](gaps, self.alpha, **(options if test in ("bootstrap", "randomisation") else {}))
        return done.p_value, correction(correct)(done.p_value), done.lower, done.upper, float("nan")


def _ranges(scores: Array, seeds: Array) -> Array:
    """The range of the systems' sums under each of some permutations."""
    found = np.zeros(len(seeds))
    permuted_ranges(len(seeds), scores, seeds, found, work=max(len(seeds) * scores.size, 10**9), workers=1)
    return found
