"""Split halves: of what one half of the topics finds significant, how much the other half finds too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.compare.comparison import FAMILY, pair_p_values
from cranfield.compare.tukey import ErrorTerm, tukey
from cranfield.reliability.checking import check_alpha, check_trials, chosen_scores
from cranfield.reliability.resampling import Progress, Task, in_waves, tasks
from cranfield.scores import ScoreTable
from cranfield.variance.components import squares

Array = npt.NDArray[Any]

FATES = ("repeats", "fades", "turns", "reverses")


@dataclass(frozen=True, eq=False)
class SplitHalves:
    """What becomes of significant findings, over many random halvings of the topics.

    A finding *repeats* when the other half finds it too, in the same direction; it *fades* when the other half points
    the same way without being significant, *turns* when it points the other way without being significant, and
    *reverses* when it is significant the other way. It vanishes when it fades or turns. ``found`` counts findings
    (trials × 2 halves), ``fates`` the four outcomes of them, ``agreeing`` the share of all pairs in the same order.
    """

    measure: str
    topics: int
    systems: int
    test: str
    correct: str
    alpha: float
    found: Array
    fates: Array
    agreeing: Array
    trials: int
    seed: int

    @property
    def pairs(self) -> int:
        return self.systems * (self.systems - 1) // 2

    @property
    def significant_share(self) -> float:
        """Of all pairs, found on half the topics."""
        return float(self.found.mean() / self.pairs)

    def share(self, fate: str) -> float:
        """Of all findings of all halvings, the share with this fate; nan where nothing was found."""
        total = self.found.sum()
        names = ("fades", "turns") if fate == "vanishes" else (fate,)
        count = sum(int(self.fates[:, :, FATES.index(name)].sum()) for name in names)
        return count / int(total) if total else float("nan")

    def interval(self, fate: str) -> tuple[float, float]:
        """Where the middle 95 % of the halvings have their share with this fate."""
        names = ("fades", "turns") if fate == "vanishes" else (fate,)
        counts = sum(self.fates[:, :, FATES.index(name)].sum(axis=1) for name in names)
        total = self.found.sum(axis=1)
        known = total > 0
        if not known.any():
            return float("nan"), float("nan")
        low, high = np.quantile(np.asarray(counts)[known] / total[known], [0.025, 0.975]).tolist()
        return low, high

    def to_dict(self) -> list[dict[str, Any]]:
        """One row, with the share and the spread of every fate."""
        row: dict[str, Any] = {
            "measure": self.measure,
            "topics": self.topics // 2,
            "test": self.test,
            "pairs": self.pairs,
            "significant_share": self.significant_share,
            "agreeing": float(self.agreeing.mean()),
        }
        for fate in ("repeats", "vanishes", "turns", "reverses"):
            row[fate] = self.share(fate)
            row[f"{fate}_lower"], row[f"{fate}_upper"] = self.interval(fate)
        return [row]


def split_halves(
    table: ScoreTable,
    *,
    measure: str | None = None,
    test: str = "tukey",
    correct: str | None = None,
    alpha: float = 0.05,
    trials: int = 1000,
    resamples: int = 1000,
    drop: float = 0.0,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> SplitHalves:
    """Halve the topics at random many times, test all pairs on both halves, and see which findings hold.

    Parameters
    ----------
    test, correct
        As in ``compare``: blocked Tukey by default.
    resamples
        Permutations or resamples of the tests that need them, on each half.
    """
    check_trials(trials)
    check_alpha(alpha)
    scores, _, _ = chosen_scores(table, measure, drop=drop, least_topics=4)
    halve = partial(_halvings, scores, test, correct, alpha, resamples)
    done = in_waves(halve, tasks(seed, trials), workers=workers, progress=progress)
    found, fates, agreeing = (np.concatenate(each) for each in zip(*done, strict=True))
    n, m = scores.shape
    corrected = correct or ("none" if test in FAMILY else "holm")
    return SplitHalves(measure or table.measures[0], n, m, test, corrected, alpha, found, fates, agreeing, trials, seed)


def _halvings(
    scores: Array, test: str, correct: str | None, alpha: float, resamples: int, task: Task
) -> tuple[Array, Array, Array]:
    """The findings of both halves, their fates, and how far all pairs agree, for each trial of a task."""
    stream, trials = task
    rng = np.random.default_rng(stream)
    half = len(scores) // 2
    found, fates, agreeing = np.zeros((trials, 2), int), np.zeros((trials, 2, len(FATES)), int), np.zeros(trials)
    for trial in range(trials):
        order = rng.permutation(len(scores))
        parts = [scores[order[:half]], scores[order[half : 2 * half]]]
        signs, significant = [], []
        for part in parts:
            sign, sure = _verdicts(part, test, correct, alpha, resamples, int(rng.integers(2**31)))
            signs.append(sign)
            significant.append(sure)
        same = signs[0] * signs[1] > 0
        agreeing[trial] = same.mean()
        for side in (0, 1):
            fates[trial, side] = _fates(significant[side], significant[1 - side], same)
            found[trial, side] = significant[side].sum()
    return found, fates, agreeing


def _fates(mine: Array, others: Array, same: Array) -> list[int]:
    outcomes = (others & same, ~others & same, ~others & ~same, others & ~same)
    return [int((mine & outcome).sum()) for outcome in outcomes]


def _verdicts(
    scores: Array, test: str, correct: str | None, alpha: float, resamples: int, seed: int
) -> tuple[Array, Array]:
    """The sign of every pair's difference, and whether it is significant."""
    means = scores.mean(axis=0)
    if test == "tukey" and correct in (None, "none"):  # its margin is enough, and quicker than its p-values
        n, m = scores.shape
        result = tukey(means, ErrorTerm(float(squares(scores).residual), (m - 1) * (n - 1), n), alpha=alpha)
        return np.sign(result.difference), result.significant
    first, second = np.triu_indices(len(means), k=1)
    p_adjusted = pair_p_values(scores, test=test, correct=correct, alpha=alpha, count=resamples, seed=seed)
    return np.sign(means[first] - means[second]), p_adjusted <= alpha
