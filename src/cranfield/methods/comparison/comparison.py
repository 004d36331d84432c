"""Which systems differ: ranking, intervals, groups and pairs, under the test asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import numpy as np

from cranfield.errors import Caution, RequestError
from cranfield.methods.comparison.anova import check_table
from cranfield.methods.comparison.assumptions import (
    constant_differences,
    nothing_to_tell,
    one_error_term,
    too_few_resamples,
    too_few_topics,
    too_many_pairs,
    unpaired_loses,
)
from cranfield.methods.comparison.corrections import correction
from cranfield.methods.comparison.equivalence import MarginTest
from cranfield.methods.comparison.equivalence import equivalence as show_equivalence
from cranfield.methods.comparison.equivalence import non_inferiority as show_non_inferiority
from cranfield.methods.comparison.families import FAMILY, RESAMPLED, Pairs, Verdicts, judge
from cranfield.methods.comparison.tukey import ErrorTerm, Intervals, standard_error_reach
from cranfield.methods.names import TEST_TITLES, AllPairsTestName, fix_for_test
from cranfield.runtime.random import Seed, sequence
from cranfield.scores import ScoreTable
from cranfield.scores.balance import REMEDY, check_balance
from cranfield.scores.frames import rows_frame
from cranfield.stats.family import ALL_PAIRS_TEST, BASELINE_TEST, PAIR_TEST
from cranfield.stats.tails import t_critical
from cranfield.types import Array, Progress

__all__ = ["ALL_TESTS", "FAMILY", "Comparison", "check_test", "chosen_test", "compare", "pair_p_values"]


ALL_TESTS: tuple[str, ...] = get_args(AllPairsTestName)
ONE_ERROR = ("tukey", "dunnett", "tukey-permutation")  # one error term for all pairs
SIGNED = ("sign", "permutation")  # whose p is a share of 2ⁿ patterns of signs
MOST_PAIRS = 2_000_000  # that are resampled
RESAMPLES = 10_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Comparison:
    """The result of a comparison: systems, best first, and pairs as indices into them.

    ``difference`` is the mean of ``first`` minus that of ``second``: better minus worse, or with baselines candidate
    minus baseline. ``standard_error`` is that of the test: common to all pairs (Tukey's tests and Dunnett's) or of the
    pair. ``effect_size`` is the difference divided by the sd of the pair's differences (d_z); for the unpaired test by
    the sd of scores within systems (see ``denominator``). ``lower`` and ``upper`` exclude 0 exactly when the pair is
    significant, unless ``interval`` calls them unadjusted; they are nan for pairs whose differences do not vary.
    ``intervals`` has half-widths of intervals around means: Tukey's, which do not overlap exactly if two systems differ
    (nan if the test has none); ANOVA's; that of the standard error.
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
    standard_error: Array
    lower: Array
    upper: Array
    interval: str
    effect_size: Array
    denominator: str
    p_value: Array
    p_adjusted: Array
    wins: Array
    ties: Array
    losses: Array
    equivalence: MarginTest | None = None
    non_inferiority: MarginTest | None = None
    baselines: tuple[str, ...] = ()
    seed: int | None = None
    resamples: int | None = None
    warnings: tuple[Caution, ...] = ()

    @property
    def half_width(self) -> float:
        """Half-width of intervals around means that decide about pairs; nan if the test has none."""
        return self.intervals.tukey

    @property
    def significant(self) -> Array:
        return np.asarray(self.p_adjusted <= self.alpha)

    @property
    def significant_pairs(self) -> int:
        return int(self.significant.sum())

    @property
    def relative_difference(self) -> Array:
        """The difference relative to the mean of the second system; nan if that is not above 0."""
        base = self.means[self.second]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(base > 0, self.difference / base, np.nan)

    @property
    def top_group(self) -> tuple[str, ...]:
        """The best system and those not significantly different from it; empty with baselines."""
        if self.baselines:
            return ()
        with_best = (self.first == 0) & ~self.significant
        return (self.systems[0], *(self.systems[at] for at in self.second[with_best].tolist()))

    def groups(self) -> list[tuple[int, int]]:
        """Return maximal groups of adjacent ranks of which no two differ, as (first, last) positions."""
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
        """Return a sentence with the number of significant pairs and the top group."""
        found = f"{self.significant_pairs:,} of {len(self.first):,} pairs differ significantly"
        return f"{found}; {self._about_the_best()}."

    def _about_the_best(self) -> str:
        if self.baselines:  # nothing is known about other pairs
            return f"only pairs with {', '.join(self.baselines)} were tested"
        best, rest = self.systems[0], len(self.top_group) - 1
        if rest == len(self.systems) - 1:
            return f"no system is significantly different from {best}"
        others = f"{rest} other{'s are' if rest != 1 else ' is'} not significantly different from {best}"
        return others if rest else f"{best} differs from all others"

    def verdict(self, at: int) -> str:
        """Return the result of one pair in a sentence."""
        candidate, baseline = self.systems[self.first[at]], self.systems[self.second[at]]
        difference, share = float(self.difference[at]), float(self.relative_difference[at])
        relative = f" ({share:+.1%})" if share == share else ""
        if self.lower[at] == self.lower[at]:
            interval = f", {self.interval} interval [{self.lower[at]:+.4f}, {self.upper[at]:+.4f}]"
        else:
            interval = ", no interval as the differences do not vary"
        shown = float(self.p_adjusted[at])
        p_value = f"p = {shown:.4f}" if shown >= 0.0001 else f"p = {shown:.1e}"
        counted = (("win", "wins", self.wins), ("tie", "ties", self.ties), ("loss", "losses", self.losses))
        counts = ", ".join(f"{each[at]:,} {one if each[at] == 1 else many}" for one, many, each in counted)
        verdict = "differs significantly" if self.significant[at] else "does not differ significantly"
        return (
            f"{candidate} {verdict} from {baseline} in {self.measure}: {difference:+.4f}{relative}{interval}, "
            f"{p_value}; {counts} on {self.topics:,} topics."
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the pairs as a data frame."""
        return rows_frame(self.to_dict(), backend)

    def to_dict(self) -> list[dict[str, Any]]:
        """One row per pair."""
        relative, significant = self.relative_difference, self.significant
        return [
            {
                "system_a": self.systems[self.first[at]],
                "system_b": self.systems[self.second[at]],
                "difference": float(self.difference[at]),
                "relative_difference": float(relative[at]),
                "lower": float(self.lower[at]),
                "upper": float(self.upper[at]),
                "standard_error": float(self.standard_error[at]),
                "effect_size": float(self.effect_size[at]),
                "p_value": float(self.p_value[at]),
                "p_adjusted": float(self.p_adjusted[at]),
                "significant": bool(significant[at]),
                "wins": int(self.wins[at]),
                "ties": int(self.ties[at]),
                "losses": int(self.losses[at]),
                **self._margins(at),
                **({"verdict": self.verdict(at)} if self.baselines else {}),
            }
            for at in range(len(self.first))
        ]

    def _margins(self, at: int) -> dict[str, Any]:
        row: dict[str, Any] = {}
        if self.equivalence is not None:
            row |= {
                "p_equivalent": float(self.equivalence.p_adjusted[at]),
                "equivalent": bool(self.equivalence.shown[at]),
                "equivalence_lower": float(self.equivalence.lower[at]),
                "equivalence_upper": float(self.equivalence.upper[at]),
            }
        if self.non_inferiority is not None:
            row |= {
                "p_non_inferior": float(self.non_inferiority.p_adjusted[at]),
                "non_inferior": bool(self.non_inferiority.shown[at]),
                "non_inferiority_lower": float(self.non_inferiority.lower[at]),
            }
        return row


def compare(
    table: ScoreTable,
    *,
    measure: str | None = None,
    test: str | None = None,
    correct: str | None = None,
    alpha: float = 0.05,
    baseline: str | Sequence[str] = (),
    equivalence: float | None = None,
    non_inferiority: float | None = None,
    resamples: int | None = None,
    seed: int = 1,
    label: str | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare all systems of a table, or all systems with some baselines.

    Parameters
    ----------
    test
        ``max-t`` (the default for three systems or more: each pair with its own standard error, topics resampled),
        ``dunnett`` (the default with baselines: each candidate with the baseline, topics as blocks), ``tukey`` (topics
        as blocks, one error term), ``tukey-permutation`` (Tukey by permutation within topics), ``unpaired`` (one-way
        Tukey, which ignores that topics are shared), or a test of pairs: ``t`` (the default of two systems),
        ``wilcoxon``, ``sign``, ``bootstrap``, ``permutation``.
    correct
        For the tests of pairs, and for equivalence and non-inferiority under them: ``holm`` (default), ``bh`` or
        ``none``. The other tests need none.
    alpha
        The family-wise error rate.
    baseline
        The system, or the systems, that the others are compared with; differences are candidate less baseline. With
        several the family is all comparisons with any of them.
    equivalence
        A margin: pairs shown to differ by less are equivalent (two one-sided t tests at α, Holm over pairs).
    non_inferiority
        A margin: candidates shown to be worse than the baseline by less, if at all, are non-inferior (one-sided t test
        at α, Holm over pairs).
    resamples
        Permutations or resamples, 10,000 unless given; refused for a test that draws none.
    label
        Name of the comparison, by default the measure; it also names the random stream.

    Returns
    -------
    Comparison
        The ranking, the intervals and every pair.

    Examples
    --------
    Five wins of five give Wilcoxon's test its smallest p, 2 / 2⁵:

    >>> scores = {"old": [0.1, 0.2, 0.3, 0.4, 0.5], "new": [0.2, 0.4, 0.6, 0.8, 1.0]}
    >>> values = np.array([scores["old"], scores["new"]]).T[np.newaxis, :, :, np.newaxis]
    >>> table = ScoreTable(("AP",), tuple("12345"), ("old", "new"), values)
    >>> compare(table, test="wilcoxon").p_value.tolist()
    [0.0625]
    """
    if not 0 < alpha < 1:
        raise RequestError(f"α cannot be {alpha:g}", fix="It is a probability; 0.05 is usual.")
    baselines = baseline_names(baseline)
    if non_inferiority is not None and not baselines:
        raise RequestError("non-inferiority is to a baseline, and none is named", fix="Name it with `baseline`.")
    named = test is not None
    test = chosen_test(test, baselines, systems=len(table.systems))
    check_test(test, correct, baselines)
    scores = _checked(table, measure)
    order = np.argsort(-scores.mean(axis=0), kind="stable")
    names = tuple(table.systems[at] for at in order.tolist())
    pairs = Pairs(scores[:, order], *_pairs(names, baselines))
    aloud = None
    if test == "max-t" and len(pairs.first) > MOST_PAIRS:
        aloud, test = _too_many(len(pairs.first), named=named), "tukey"
    if resamples is not None and test not in RESAMPLED:
        raise RequestError(
            f"a number of resamples has no effect on the test {test}",
            fix=f"Leave it out, or choose one of: {', '.join(RESAMPLED)}.",
        )
    resamples = resamples or RESAMPLES
    label = label or measure or table.measures[0]
    stream = sequence(seed, "compare", test, label)
    correct = correct or ("none" if len(pairs.first) == 1 else None)  # one pair is no family
    found = judge(pairs, test, correct=correct, alpha=alpha, resamples=resamples, seed=stream, progress=progress)
    show = partial(_margin, pairs, correct=correct or "holm", alpha=alpha)
    wins, ties, losses = pairs.wins
    effect_size, denominator = _effect_size(pairs, test)
    correct = "none" if test in FAMILY else (correct or "holm")
    return Comparison(
        measure=label,
        test=test,
        correct=correct,
        alpha=alpha,
        topics=pairs.topics,
        systems=names,
        means=pairs.scores.mean(axis=0),
        intervals=_intervals(pairs, found.half_width, alpha),
        first=pairs.first,
        second=pairs.second,
        difference=pairs.difference,
        standard_error=found.standard_error,
        lower=found.lower,
        upper=found.upper,
        interval=found.interval,
        effect_size=effect_size,
        denominator=denominator,
        p_value=found.p_value,
        p_adjusted=found.p_adjusted,
        wins=wins,
        ties=ties,
        losses=losses,
        equivalence=show(show_equivalence, equivalence),
        non_inferiority=show(show_non_inferiority, non_inferiority),
        baselines=baselines,
        seed=seed if test in RESAMPLED else None,
        resamples=resamples if test in RESAMPLED else None,
        warnings=tuple(
            each for each in (aloud, *_cautions(pairs, names, test, correct, alpha, resamples, found)) if each
        ),
    )


def pair_p_values(
    scores: Array, *, test: str = "tukey", correct: str | None = None, alpha: float = 0.05, resamples: int, seed: Seed
) -> Array:
    """Adjusted p of all pairs of the systems of a topics × systems table, in the order of ``np.triu_indices``."""
    check_test(test, correct)
    check_table(scores[:, :, np.newaxis])
    pairs = Pairs(scores, *np.triu_indices(scores.shape[1], k=1))
    return judge(
        pairs, test, correct=correct, alpha=alpha, resamples=resamples, seed=sequence(seed, "pairs", test)
    ).p_adjusted


def baseline_names(baseline: str | Sequence[str]) -> tuple[str, ...]:
    """The names of one baseline or of several, each once.

    >>> baseline_names("bm25"), baseline_names(["bm25", "dpr", "bm25"])
    (('bm25',), ('bm25', 'dpr'))
    """
    return (baseline,) if isinstance(baseline, str) else tuple(dict.fromkeys(baseline))


def chosen_test(test: str | None, baselines: Sequence[str] = (), *, systems: int) -> str:
    """The test that is run: the one named, or the default. Two systems are one pair, and its test is paired t.

    >>> chosen_test(None, systems=9), chosen_test(None, ["bm25"], systems=9), chosen_test(None, systems=2)
    ('max-t', 'dunnett', 't')
    """
    return test or (PAIR_TEST if systems == 2 else BASELINE_TEST if baselines else ALL_PAIRS_TEST)


def check_test(test: str, correct: str | None, baselines: Sequence[str] = ()) -> None:
    """Refuse tests and corrections that do not exist, or do not go together."""
    if test not in TEST_TITLES:
        raise RequestError(f"there is no test «{test}»", fix=fix_for_test(test, TEST_TITLES))
    if test == "dunnett" and not baselines:
        raise RequestError(
            "Dunnett's test compares systems with a baseline, and none is named",
            fix="Name it with `baseline`, or choose a test of all pairs: max-t or tukey.",
        )
    if test in FAMILY and correct not in (None, "none"):
        raise RequestError(f"{test} controls the family-wise error rate itself", fix="Leave out the correction.")
    if correct is not None:
        correction(correct)


def _checked(table: ScoreTable, measure: str | None) -> Array:
    scores = table.of(measure)
    if scores.ndim != 2:
        raise RequestError("this table has several scores for each topic and system (shards)", fix=REMEDY)
    check_balance(table, measure)
    check_table(scores[:, :, np.newaxis])
    return scores


def _pairs(names: tuple[str, ...], baselines: tuple[str, ...]) -> tuple[Array, Array]:
    """All pairs, the better first; or all candidates with each baseline, which is second.

    Two baselines are one pair, and the one named first is its baseline.
    """
    if not baselines:
        first, second = np.triu_indices(len(names), k=1)
        return first, second
    unknown = [name for name in baselines if name not in names]
    if unknown:
        raise RequestError(f"there is no system «{unknown[0]}»", fix=f"There are: {', '.join(names[:10])}.")
    listed = [
        (at, names.index(baseline))
        for number, baseline in enumerate(baselines)
        for at, name in enumerate(names)
        if name not in baselines[: number + 1]
    ]
    if not listed:
        raise RequestError("every system is a baseline", fix="Leave out `baseline` to compare all pairs.")
    first, second = np.array(listed).T
    return first, second


def _too_many(pairs: int, *, named: bool) -> Caution:
    if named:
        raise RequestError(
            f"max-t resamples every pair, and {pairs:,} are more than {MOST_PAIRS:,}",
            fix='Compare fewer systems, name a baseline, or use `test="tukey"`.',
        )
    return too_many_pairs(pairs, MOST_PAIRS)


def _margin(
    pairs: Pairs, show: Callable[..., MarginTest], margin: float | None, *, correct: str, alpha: float
) -> MarginTest | None:
    """What a margin shows, by each pair's own standard error; nothing where none is named."""
    if margin is None:
        return None
    error = pairs.sd / np.sqrt(pairs.topics)
    return show(pairs.difference, error, pairs.topics - 1, margin=margin, correct=correct, alpha=alpha)


def _intervals(pairs: Pairs, half_width: float, alpha: float) -> Intervals:
    """The interval of the test, ANOVA's and the standard error's, around means."""
    n, m = pairs.scores.shape
    within = ErrorTerm(pairs.squares.residual, (m - 1) * (n - 1), n)
    reach = float(t_critical(alpha / 2, within.df)) * within.standard_error  # FS19 Eq. 5
    return Intervals(half_width, reach, standard_error_reach(pairs.scores, alpha=alpha))


def _effect_size(pairs: Pairs, test: str) -> tuple[Array, str]:
    sd, denominator = pairs.sd, "sd of the differences"
    if test == "unpaired":
        within = float(np.sqrt(pairs.squares.within_systems))
        sd, denominator = np.full(len(pairs.sd), within), "sd within systems"
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sd > 0, pairs.difference / sd, np.nan), denominator


def _cautions(
    pairs: Pairs, names: tuple[str, ...], test: str, correct: str, alpha: float, resamples: int, found: Verdicts
) -> list[Caution | None]:
    """Return the warnings."""
    nothing = nothing_to_tell(pairs.scores)
    constant = pairs.constant & (test != "unpaired")  # which does not look at differences
    cautions = [
        nothing,
        None if nothing else constant_differences(constant, names, pairs.first, pairs.second),
        one_error_term(pairs.scores, pairs.sd, test) if test in ONE_ERROR else None,
        too_few_resamples(resamples, len(pairs.first), correct, alpha) if test in RESAMPLED else None,
        too_few_topics(pairs.topics, len(pairs.first), correct, alpha) if test in SIGNED else None,
    ]
    if test == "unpaired":
        blocked = judge(pairs, "tukey", alpha=alpha, resamples=resamples, seed=0)
        cautions.append(unpaired_loses(*(int((each.p_adjusted <= alpha).sum()) for each in (found, blocked))))
    return cautions
