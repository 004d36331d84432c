"""Verdicts put to the test: all tests on the same data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.errors import Caution, say_p
from cranfield.methods.contrasts.comparing import ALL_TESTS, compare
from cranfield.methods.contrasts.comparison import Comparison
from cranfield.methods.contrasts.pair_tests import FAMILY, ONE_THRESHOLD, RESAMPLED
from cranfield.methods.names import TEST_TITLES
from cranfield.methods.variance.components import squares
from cranfield.scores import ScoreTable
from cranfield.stats.family import DEFAULT_TEST
from cranfield.types import Array, Progress

# A pair is noisier than others if its sd exceeds the pooled sd by this factor, steadier if it is smaller by it.
UNLIKE = 1.1

TOO_FEW = "too-few-topics"

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
    """A pair that is significant under some tests and not under others.

    ``reasons`` has keys of ``REASONS``, each with the numbers of the pair in words.
    """

    system_a: str
    system_b: str
    difference: float
    found_by: tuple[str, ...]
    missed_by: tuple[str, ...]
    p_adjusted: dict[str, float]
    reasons: dict[str, str]

    @property
    def why(self) -> str:
        """All reasons in words."""
        return "; ".join(self.reasons.values())

    def to_dict(self) -> dict[str, Any]:
        """The row of JSON."""
        named = ("system_a", "system_b", "difference", "found_by", "missed_by", "reasons", "why")
        row = {name: getattr(self, name) for name in named}
        row |= {name: list(row[name]) for name in ("found_by", "missed_by", "reasons")}
        return row | {f"p_{test}": value for test, value in self.p_adjusted.items()}


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
            text += f"; {_names(self.not_informative)} had too few topics to find anything and do not count"
        return text + "."

    def to_dict(self) -> list[dict[str, Any]]:
        return [each.to_dict() for each in self.disagreements]


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
    asked: dict[str, Any] = {"measure": measure, "alpha": alpha, "baseline": baseline, "seed": seed}
    for test in tests:
        if progress is not None:
            progress(len(done), len(tests))
        asked |= {"correct": None if test in FAMILY else correct, "resamples": resamples if test in RESAMPLED else None}
        done[test] = compare(table, test=test, **asked)
    not_informative = tuple(
        test
        for test, each in done.items()
        if not each.significant.any() and any(caution.slug == TOO_FEW for caution in each.warnings)
    )
    voting = {test: each.significant for test, each in done.items() if test not in not_informative}
    votes = np.sum([*voting.values()], axis=0)
    contested = np.flatnonzero((votes > 0) & (votes < len(voting)))
    order = contested[np.argsort(np.abs(votes[contested] - len(voting) / 2), kind="stable")]
    disagreements = _disagreements(table.of(measure), table.systems, done, voting, order.tolist())
    return Audit(done, not_informative, tuple(disagreements))


def _disagreements(
    scores: Array,
    systems: Sequence[str],
    done: Mapping[str, Comparison],
    voting: Mapping[str, Array],
    places: Sequence[int],
) -> Iterator[Disagreement]:
    """The pairs at some places, with the reasons."""
    pooled = float(np.sqrt(2 * squares(scores).residual))
    column, by_t = {name: scores[:, at] for at, name in enumerate(systems)}, done["t"]
    first, second, difference = (getattr(by_t, name).tolist() for name in ("first", "second", "difference"))
    for at in places:
        a, b = by_t.systems[first[at]], by_t.systems[second[at]]
        votes = {test: bool(significant[at]) for test, significant in voting.items()}
        yield Disagreement(
            system_a=a,
            system_b=b,
            difference=difference[at],
            found_by=tuple(test for test, vote in votes.items() if vote),
            missed_by=tuple(test for test, vote in votes.items() if not vote),
            p_adjusted={test: float(each.p_adjusted[at]) for test, each in done.items()},
            reasons=_reasons(at, column[a] - column[b], pooled, votes, done),
        )


def _reasons(
    at: int, gaps: Array, pooled: float, votes: Mapping[str, bool], done: Mapping[str, Comparison]
) -> dict[str, str]:
    """Every reason that applies, with its numbers; ``pooled`` is the sd of all pairs, which Tukey's test uses."""

    def found(*tests: str) -> bool:
        return any(votes.get(test, False) for test in tests)

    def missed(*tests: str) -> bool:
        return any(not votes.get(test, True) for test in tests)

    own, wins, losses = float(gaps.std(ddof=1)), int((gaps > 0).sum()), int((gaps < 0).sum())
    sds = f"sd of differences {own:.3f}, of all pairs {pooled:.3f}"
    counts = f"{wins} topics against {losses}, skewness {_skew(gaps):+.1f}"
    tukey, permuted = (2 * done[test].half_width for test in ONE_THRESHOLD)
    alone = {test: float(done[test].p_value[at]) for test in votes if test not in FAMILY and missed(test)}
    lost = [f"{test} {say_p(p_value)}" for test, p_value in alone.items() if p_value <= done[test].alpha]
    reasons = {
        "noisier": (found("tukey") and missed("max-t", "t") and own > UNLIKE * pooled, f"noisier than most ({sds})"),
        "steadier": (missed("tukey") and found("max-t", "t") and own * UNLIKE < pooled, f"steadier than most ({sds})"),
        "large": (found("t") and missed("sign", "wilcoxon"), f"wins large rather than many ({counts})"),
        "many": (missed("t") and found("sign", "wilcoxon"), f"wins many rather than large ({counts})"),
        "permuted": (
            found("tukey") != found("tukey-permutation"),
            f"between two thresholds (tukey {tukey:.4f}, tukey-permutation {permuted:.4f})",
        ),
        "correction": (bool(lost), f"significant alone ({', '.join(lost)})"),
        "shared": (missed("unpaired") and found("t"), "the unpaired test ignores that topics are shared"),
    }
    return {name: text for name, (applies, text) in reasons.items() if applies} or {"close": REASONS["close"]}


def _skew(gaps: Array) -> float:
    spread = gaps.std()
    return float((((gaps - gaps.mean()) / spread) ** 3).mean()) if spread > 0 else 0.0


def _names(tests: Sequence[str]) -> str:
    return " and ".join([", ".join(tests[:-1]), tests[-1]] if len(tests) > 1 else tests)
