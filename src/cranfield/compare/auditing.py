"""The same data through all tests: which verdicts hang on the choice, and on what about the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.compare.comparison import ALL_TESTS, Comparison, compare
from cranfield.scores import ScoreTable


@dataclass(frozen=True)
class Disagreement:
    """A pair that some tests find and others do not, and why that may be."""

    system_a: str
    system_b: str
    difference: float
    found_by: tuple[str, ...]
    missed_by: tuple[str, ...]
    p_adjusted: dict[str, float]
    why: str


@dataclass(frozen=True, eq=False)
class Audit:
    """Every test's verdicts on one table."""

    comparisons: dict[str, Comparison]
    disagreements: tuple[Disagreement, ...]

    def to_dict(self) -> list[dict[str, Any]]:
        return [
            {
                "system_a": each.system_a,
                "system_b": each.system_b,
                "difference": each.difference,
                "found_by": list(each.found_by),
                "missed_by": list(each.missed_by),
                "why": each.why,
                **{f"p_{name}": value for name, value in each.p_adjusted.items()},
            }
            for each in self.disagreements
        ]


def audit(
    table: ScoreTable, *, measure: str | None = None, alpha: float = 0.05, count: int = 10_000, seed: int = 1
) -> Audit:
    """Run every test on the same table; pairwise ones are corrected by Holm."""
    done = {test: compare(table, measure=measure, test=test, alpha=alpha, count=count, seed=seed) for test in ALL_TESTS}
    first = done["tukey"]
    verdicts = np.array([comparison.significant for comparison in done.values()])
    changing = np.flatnonzero(verdicts.any(axis=0) & ~verdicts.all(axis=0))
    scores = table.of(measure)
    place = {name: at for at, name in enumerate(table.systems)}
    found = []
    for at in changing.tolist():
        a, b = first.systems[first.first[at]], first.systems[first.second[at]]
        gaps = scores[:, place[a]] - scores[:, place[b]]
        by = tuple(test for test, comparison in done.items() if comparison.significant[at])
        missed = tuple(test for test in done if test not in by)
        p_values = {test: float(comparison.p_adjusted[at]) for test, comparison in done.items()}
        found.append(
            Disagreement(
                a,
                b,
                float(first.difference[at]),
                by,
                missed,
                p_values,
                _why(gaps, by, missed, count, len(first.first), alpha),
            )
        )
    return Audit(done, tuple(found))


def _why(gaps: Any, by: tuple[str, ...], missed: tuple[str, ...], count: int, pairs: int, alpha: float) -> str:
    reasons = []
    if missed == ("unpaired",):
        return "only the test that ignores shared topics misses it"
    if "unpaired" in missed and "unpaired" not in by:
        reasons.append("the one-way test ignores that topics are shared")
    if pairs / (count + 1) > alpha and {"bootstrap", "randomisation"} <= set(missed):
        reasons.append(f"{count:,} resamples are too few for Holm over {pairs:,} pairs")
    spread = gaps.std(ddof=1)
    if spread > 0:
        skew = float((((gaps - gaps.mean()) / spread) ** 3).mean())
        if abs(skew) > 1:
            reasons.append(f"the differences are skewed ({skew:+.1f}): a few topics decide")
        share = float((gaps > 0).mean())
        if "sign" in missed and "t" in by and abs(share - 0.5) < 0.15:
            reasons.append("wins are few but large")
        if "sign" in by and "t" not in by:
            reasons.append("wins are many but small")
    return "; ".join(reasons) or "close to the threshold: tests differ in what they assume"
