"""Verdicts put to the test: all tests on the same data, and replication on the other half of the topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.errors import Caution, say_p
from cranfield.methods.contrasts.comparing import ALL_TESTS, compare
from cranfield.methods.contrasts.comparison import Comparison
from cranfield.methods.contrasts.pair_tests import FAMILY, RESAMPLED
from cranfield.methods.names import TEST_TITLES
from cranfield.methods.variance.components import squares
from cranfield.scores import ScoreTable
from cranfield.stats.family import DEFAULT_TEST
from cranfield.types import Array, Progress

PairVerdicts = tuple[Array, Array]  # of every pair: the sign of its difference, and whether it is significant

# What can become of a significant pair on the other half of the topics; one of the four does.
OUTCOMES = ("replicated", "weaker", "opposite", "reversed")
SHARES: Mapping[str, tuple[str, ...]] = {
    "replicated": ("replicated",),
    "not_significant": ("weaker", "opposite"),
    "reversed": ("reversed",),
    "opposite_sign": ("opposite", "reversed"),
}


@dataclass(frozen=True, eq=False)
class Replication:
    """Significant pairs of both halves over many random halvings, each half predicting the other.

    ``significant`` counts the significant pairs (halvings × 2 halves), ``outcomes`` what became of them on the other
    half, in the order of ``OUTCOMES``. A pair is *replicated* when it is significant with the same sign, *reversed*
    when it is significant with the opposite one, and *not significant* otherwise. *Opposite sign* counts the pairs
    whose difference has the opposite sign on the other half, significant or not.
    """

    significant: Array
    outcomes: Array

    @property
    def halvings(self) -> int:
        return len(self.significant)

    def share(self, name: str) -> float:
        """The share of all significant pairs of all halvings with this outcome; nan if there are none."""
        total = int(self.significant.sum())
        return int(self._counts(name).sum()) / total if total else float("nan")

    def interval(self, name: str) -> tuple[float, float]:
        """The middle 95 % of the halvings' shares of this outcome."""
        total, counts = self.significant.sum(axis=1), self._counts(name)
        known = total > 0
        if not known.any():
            return float("nan"), float("nan")
        low, high = np.quantile(counts[known] / total[known], [0.025, 0.975]).tolist()
        return low, high

    def to_dict(self) -> dict[str, float]:
        """Every share with its interval."""
        row: dict[str, float] = {}
        for name in SHARES:
            row[name] = self.share(name)
            row[f"{name}_lower"], row[f"{name}_upper"] = self.interval(name)
        return row

    def _counts(self, name: str) -> Array:
        places = [OUTCOMES.index(outcome) for outcome in SHARES[name]]
        return np.asarray(self.outcomes[:, :, places].sum(axis=(1, 2)))

    @classmethod
    def none(cls) -> Replication:
        """Return the replication of no halving."""
        return cls(significant=np.zeros((0, 2), int), outcomes=np.zeros((0, 2, len(OUTCOMES)), int))


def replication_of(one: PairVerdicts, other: PairVerdicts) -> Replication:
    """What becomes of each half's significant pairs on the other: a single halving."""
    (sign, significant), (other_sign, other_significant) = one, other
    product = sign * other_sign
    counts = [_outcomes(significant, other_significant, product), _outcomes(other_significant, significant, product)]
    return Replication(
        significant=np.array([[significant.sum(), other_significant.sum()]]), outcomes=np.array([counts])
    )


def _outcomes(mine: Array, others: Array, product: Array) -> list[int]:
    opposite = product < 0
    cases = (others & (product > 0), ~others & ~opposite, ~others & opposite, others & opposite)
    return [int((mine & case).sum()) for case in cases]


def joined(parts: list[Replication]) -> Replication:
    """All halvings of several."""
    return Replication(
        significant=np.concatenate([each.significant for each in parts]),
        outcomes=np.concatenate([each.outcomes for each in parts]),
    )


def halves(topics: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two random halves of equal size; an odd topic is in neither."""
    order, half = rng.permutation(topics), topics // 2
    return order[:half], order[half : 2 * half]


def replication(
    verdicts: Callable[[Array], Mapping[str, PairVerdicts]], topics: int, *, halvings: int, rng: np.random.Generator
) -> dict[str, Replication]:
    """The replication of several tests' verdicts over the same random halvings.

    Parameters
    ----------
    verdicts
        Takes the numbers of some topics, and gives the verdicts of every test on them, by its name.
    """
    found: dict[str, list[Replication]] = {}
    for _ in range(halvings if topics >= 4 else 0):
        one, other = (verdicts(part) for part in halves(topics, rng))
        for name in one:
            found.setdefault(name, []).append(replication_of(one[name], other[name]))
    return {name: joined(parts) for name, parts in found.items()}


# A pair is noisier than others if its sd exceeds the pooled sd by this factor, steadier if it is smaller by it.
UNLIKE = 1.1

TOO_FEW = ("too-few-resamples", "too-few-topics")

REASONS = {
    "noisier": "noisier than most pairs: Tukey uses the error of all pairs, other tests that of the pair",
    "steadier": "steadier than most pairs: Tukey uses the error of all pairs, other tests that of the pair",
    "large": "wins large rather than many: detected by tests of means rather than by tests of signs and ranks",
    "many": "wins many rather than large: detected by tests of signs and ranks rather than by tests of means",
    "permuted": "between two thresholds: permutations mix very different systems, which changes the threshold",
    "correction": "significant alone: not significant after the correction for many pairs (max-t and Tukey need none)",
    "shared": "the unpaired test ignores that topics are shared: it treats the variation between topics as error",
    "close": "close to the threshold of several tests",
}


@dataclass(frozen=True)
class Disagreement:
    """A pair that is significant under some tests and not under others, with the reasons.

    ``reasons`` are keys of ``REASONS``; ``why`` has the same reasons with the numbers of the pair.
    """

    system_a: str
    system_b: str
    difference: float
    found_by: tuple[str, ...]
    missed_by: tuple[str, ...]
    p_adjusted: dict[str, float]
    reasons: tuple[str, ...]
    why: str


@dataclass(frozen=True, eq=False)
class Audit:
    """Every test's verdicts on one table; those ``not_informative`` could not have found anything and do not count."""

    comparisons: dict[str, Comparison]
    not_informative: tuple[str, ...]
    disagreements: tuple[Disagreement, ...]

    @property
    def warnings(self) -> tuple[Caution, ...]:
        """The warnings of the tests, with their names if not all have them."""
        said: dict[Caution, list[str]] = {}
        for test, each in self.comparisons.items():
            for caution in each.warnings:
                said.setdefault(caution, []).append(test)
        return tuple(
            caution
            if len(tests) == len(self.comparisons)
            else replace(caution, what=f"{_names(tests)}: {caution.what}")
            for caution, tests in said.items()
            if caution.slug != "topics-ignored"
        )

    @property
    def default(self) -> str:
        """The default test."""
        return next(iter(self.comparisons))

    def reasons(self) -> dict[str, int]:
        """Count the pairs of each reason, alone or with others; the most frequent first."""
        return dict(Counter(reason for each in self.disagreements for reason in each.reasons).most_common())

    def against(self, test: str) -> tuple[int, int, int]:
        """Count the pairs that are significant under both ``test`` and the default, only ``test``, only the default."""
        ours, theirs = self.comparisons[self.default].significant, self.comparisons[test].significant
        return int((ours & theirs).sum()), int((theirs & ~ours).sum()), int((ours & ~theirs).sum())

    def summary(self) -> str:
        """Return a sentence with the number of verdicts that depend on the test."""
        pairs = len(self.comparisons[self.default].pairs)
        text = f"The verdict on {len(self.disagreements):,} of {pairs:,} pairs changes with the test"
        if self.not_informative:
            text += (
                f"; {_names(self.not_informative)} had too few resamples or topics to find anything and do not count"
            )
        return text + "."

    def to_dict(self) -> list[dict[str, Any]]:
        return [
            {
                "system_a": each.system_a,
                "system_b": each.system_b,
                "difference": each.difference,
                "found_by": list(each.found_by),
                "missed_by": list(each.missed_by),
                "reasons": list(each.reasons),
                "why": each.why,
                **{f"p_{name}": value for name, value in each.p_adjusted.items()},
            }
            for each in self.disagreements
        ]


def audit(
    table: ScoreTable,
    *,
    measure: str | None = None,
    correct: str = "holm",
    alpha: float = 0.05,
    baseline: str | Sequence[str] = (),
    resamples: int = 10_000,
    seed: int = 1,
    progress: Progress | None = None,
) -> Audit:
    """Run every test on the same table; pairwise tests are corrected. The pairs with most disagreement come first."""
    done: dict[str, Comparison] = {}
    tests = dict.fromkeys((DEFAULT_TEST, *(TEST_TITLES if baseline else ALL_TESTS)))
    for test in tests:
        if progress is not None:
            progress(len(done), len(tests))
        wanted = None if test in FAMILY else correct
        done[test] = compare(
            table,
            measure=measure,
            test=test,
            correct=wanted,
            alpha=alpha,
            baseline=baseline,
            resamples=resamples if test in RESAMPLED else None,
            seed=seed,
        )
    not_informative = tuple(
        test
        for test, each in done.items()
        if not each.significant.any() and any(caution.slug in TOO_FEW for caution in each.warnings)
    )
    voting = {test: each for test, each in done.items() if test not in not_informative}
    verdicts = np.array([each.significant for each in voting.values()])
    votes = verdicts.sum(axis=0)
    contested = np.flatnonzero((votes > 0) & (votes < len(voting)))
    order = contested[np.argsort(np.abs(votes[contested] - len(voting) / 2), kind="stable")]
    scores = table.of(measure)
    pooled = float(np.sqrt(2 * squares(scores).residual))
    place = {name: at for at, name in enumerate(table.systems)}
    found = []
    for at in order.tolist():
        a, b = (done["t"].systems[each[at]] for each in (done["t"].first, done["t"].second))
        pair = _Pair(at, scores[:, place[a]] - scores[:, place[b]], pooled, voting)
        reasons = pair.reasons()
        p_values = {test: float(each.p_adjusted[at]) for test, each in done.items()}
        found.append(
            Disagreement(
                a,
                b,
                float(done["t"].difference[at]),
                pair.found_by,
                pair.missed_by,
                p_values,
                tuple(reasons),
                "; ".join(reasons.values()),
            )
        )
    return Audit(done, not_informative, tuple(found))


@dataclass(frozen=True, eq=False)
class _Pair:
    """The differences and verdicts of one pair, and the reasons."""

    at: int
    gaps: Array
    pooled: float
    voting: dict[str, Comparison]

    @property
    def found_by(self) -> tuple[str, ...]:
        return tuple(test for test, each in self.voting.items() if each.significant[self.at])

    @property
    def missed_by(self) -> tuple[str, ...]:
        return tuple(test for test in self.voting if test not in self.found_by)

    def reasons(self) -> dict[str, str]:
        """Return every reason that applies, with its numbers."""
        said = {
            **self._noise(),
            **self._shape(),
            "permuted": self._permuted(),
            "correction": self._correction(),
            "shared": self._shared(),
        }
        found = {reason: text for reason, text in said.items() if text}
        return found or {"close": REASONS["close"]}

    def _shared(self) -> str:
        if "unpaired" in self.missed_by and "t" in self.found_by:
            return "the unpaired test ignores that topics are shared"
        return ""

    def _noise(self) -> dict[str, str]:
        """Compare the sd of the pair with the pooled sd, which Tukey's test uses."""
        own = float(self.gaps.std(ddof=1))
        sds = f"sd of differences {own:.3f}, of all pairs {self.pooled:.3f}"
        each = {"max-t", "t"}
        if "tukey" in self.found_by and each & set(self.missed_by) and own > UNLIKE * self.pooled:
            return {"noisier": f"noisier than most ({sds})"}
        if "tukey" in self.missed_by and each & set(self.found_by) and own * UNLIKE < self.pooled:
            return {"steadier": f"steadier than most ({sds})"}
        return {}

    def _permuted(self) -> str:
        ours, theirs = (2 * self.voting[test].half_width for test in ("tukey", "tukey-permutation"))
        if ("tukey" in self.found_by) == ("tukey-permutation" in self.found_by):
            return ""
        return f"between two thresholds (tukey {ours:.4f}, tukey-permutation {theirs:.4f})"

    def _shape(self) -> dict[str, str]:
        """Compare wins and losses with the skewness."""
        wins, losses = int((self.gaps > 0).sum()), int((self.gaps < 0).sum())
        counts = f"{wins} topics against {losses}, skewness {_skew(self.gaps):+.1f}"
        ordinal, mean = {"sign", "wilcoxon"}, "t"
        if mean in self.found_by and ordinal & set(self.missed_by):
            return {"large": f"wins large rather than many ({counts})"}
        if mean in self.missed_by and ordinal & set(self.found_by):
            return {"many": f"wins many rather than large ({counts})"}
        return {}

    def _correction(self) -> str:
        """Find pairwise tests under which the pair is significant only without correction."""
        lost = [
            f"{test} {say_p(float(each.p_value[self.at]))}"
            for test, each in self.voting.items()
            if test not in FAMILY and test in self.missed_by and each.p_value[self.at] <= each.alpha
        ]
        return f"significant alone ({', '.join(lost)})" if lost else ""


def _skew(gaps: Array) -> float:
    spread = gaps.std()
    return float((((gaps - gaps.mean()) / spread) ** 3).mean()) if spread > 0 else 0.0


def _names(tests: Sequence[str]) -> str:
    return " and ".join([", ".join(tests[:-1]), tests[-1]] if len(tests) > 1 else tests)
