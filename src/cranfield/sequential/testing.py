"""The test at the end of a study, or at one of its looks, with everything its report has to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cranfield.sequential.confidence import bets_for, confidence_sequence
from cranfield.sequential.goals import Goal
from cranfield.sequential.groups import levels_for
from cranfield.sequential.plans import CATALOG, Plan, needed_topics
from cranfield.sequential.progress import Edit, Progress, achieved_power

Array = npt.NDArray[Any]

SKEWED = 0.25  # skewness over √n beyond which t's level is off by a quarter or so


@dataclass(frozen=True, eq=False)
class Tested:
    """A test of two systems: ``system`` less ``baseline``.

    ``p_value`` is significant when at most ``level``: α, or this look's part of it. ``lower`` and ``upper`` hold at the
    same level. ``first`` is the number of topics planned first, ``looks`` how often the sd (or, for group-sequential
    and anytime, the test) was looked at; ``last`` says whether the study ends here,
    ``most`` where it would have ended at the latest (none where no number of topics was fixed).
    """

    goal: Goal
    plan: Plan
    system: str
    baseline: str
    measure: str
    topics: int
    difference: float
    sd: float
    statistic: float
    p_value: float
    level: float
    significant: bool
    lower: float
    upper: float
    achieved_power: float
    first: int
    looks: int
    last: bool
    most: int | None
    skewed: bool
    edits: tuple[Edit, ...]

    @property
    def citations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.plan.citation, "Webber2008")))

    def record(self) -> dict[str, Any]:
        """What the study file keeps of it."""
        names = ("topics", "difference", "sd", "statistic", "p_value", "level", "significant", "lower", "upper", "last")
        kept = {name: getattr(self, name) for name in names}
        return {
            name: value if not isinstance(value, float) or np.isfinite(value) else None for name, value in kept.items()
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "plan": self.plan.name,
            "system": self.system,
            "baseline": self.baseline,
            "measure": self.measure,
            **{name: getattr(self, name) for name in ("topics", "difference", "sd", "statistic", "p_value", "level")},
            "significant": self.significant,
            "lower": self.lower,
            "upper": self.upper,
            "achieved_power": self.achieved_power,
            "first_topics": self.first,
            "looks": self.looks,
            "last": self.last,
            "goal_changes": len(self.edits),
        }

    def caveats(self) -> list[str]:
        """What a reader has to know to judge the p-value."""
        return [text for text in (self._plan_caveat(), self._skew_caveat(), self._edit_caveat()) if text]

    def _plan_caveat(self) -> str:
        if self.plan.name in ("iterative", "hybrid"):
            return (
                "Topics were added until the power was reached, which favours topics with typical differences: the sd "
                "is underestimated, and the p-value is somewhat too small by an amount that is not known. This holds "
                "even though the first topics may have sufficed."
            )
        if self.plan.name == "fixed" and self.achieved_power < self.goal.power:
            return (
                f"The sd turned out larger than expected, and the power is only {self.achieved_power:.2f}: a "
                "difference that was not found has not been ruled out, and the test may not be repeated with more "
                "topics."
            )
        if self.plan.name == "group-sequential" and not self.last:
            return "This was one of several looks; the study goes on, and nothing is decided yet."
        if self.plan.name == "group-sequential" and self.topics < (self.most or 0):
            return (
                "The study stopped early, at a significant look; the difference seen at such a moment is too large on "
                "average, and its interval is the one to rely on."
            )
        return ""

    def _skew_caveat(self) -> str:
        if not self.skewed or self.plan.name == "anytime":
            return ""
        return (
            "The differences are very skewed: a few topics decide, and a sample may have missed others like them; t's "
            "p-value cannot be relied upon."
        )

    def _edit_caveat(self) -> str:
        if not self.edits:
            return ""
        late = [edit for edit in self.edits if edit.topics]
        when = (
            f"{len(late)} of them after scores had come in, so that the error guarantee no longer holds"
            if late
            else ("before any score had come in")
        )
        return f"The goal was changed {len(self.edits)} times, {when}."

    def summary(self) -> str:
        """What may be claimed."""
        better = self.system if self.difference > 0 else self.baseline
        other = self.baseline if self.difference > 0 else self.system
        if self.significant:
            ends = sorted((self.lower, self.upper) if self.difference > 0 else (-self.lower, -self.upper))
            return f"{better} is better than {other}, by {abs(self.difference):.4f} ({ends[0]:.4f} to {ends[1]:.4f})."
        if not self.last and self.plan.name == "group-sequential":
            return "Not significant at this look: add topics for the next."
        return (
            f"No significant difference ({self.difference:.4f}, between {self.lower:.4f} and {self.upper:.4f}): one of "
            f"{self.goal.difference:g} would have been found with probability {self.achieved_power:.2f}."
            if self.achieved_power == self.achieved_power
            else f"Not significant so far: the difference is between {self.lower:.4f} and {self.upper:.4f}."
        )


def is_skewed(differences: Array) -> bool:
    """Whether skewness is too much for t with so many topics."""
    if len(differences) < 3 or not differences.std() > 0:
        return False
    centred = differences - differences.mean()
    skewness = (centred**3).mean() / differences.std() ** 3
    return bool(abs(skewness) / np.sqrt(len(differences)) > SKEWED)


def _t(differences: Array, level: float) -> tuple[float, float, float, float]:
    """t, its two-sided p, and the interval at a level."""
    from scipy import special

    from cranfield.stats.tails import t_critical

    n, mean = len(differences), float(differences.mean())
    error = float(differences.std(ddof=1)) / np.sqrt(n)
    if not error > 0:
        least = float(np.nextafter(0, 1))  # p is never 0
        return float("nan") if mean == 0 else float(np.copysign(np.inf, mean)), 1.0 if mean == 0 else least, mean, mean
    t = mean / error
    reach = float(t_critical(level / 2, n - 1)) * error
    return t, float(2 * special.stdtr(n - 1, -abs(t))), mean - reach, mean + reach


def single_test(progress: Progress) -> Tested:
    """One t test at α, the sd having said that the topics suffice (or the plan having fixed their number)."""
    goal = progress.goal
    begun = progress.first_goal if progress.first_goal.plan == goal.plan else goal
    first = begun.first if goal.plan == "iterative" else needed_topics(begun)
    return _made(progress, goal.alpha, first, max(len(progress.checks), 1), True)


def group_test(progress: Progress, *, again: bool) -> Tested:
    """The t test at this look's level: boundaries for the looks that were really made, spent as planned."""
    goal, design = progress.goal, progress.design
    done = [look["topics"] for look in progress.looks]
    made = done if again else [*done, progress.count]
    most = int(design.topics[-1])
    last = made[-1] >= most
    level = float(levels_for(np.array(made), most, goal.spending, goal.alpha)[-1])
    tested = _made(progress, level, int(design.topics[0]), len(made), last)
    return tested if not tested.significant else _made(progress, level, int(design.topics[0]), len(made), True)


def _made(progress: Progress, level: float, first: int, looks: int, last: bool) -> Tested:
    goal, x = progress.goal, progress.differences
    t, p_value, lower, upper = _t(x, level)
    power, most = achieved_power(goal, progress.count, progress.sd), None
    if goal.plan == "group-sequential":
        most = int(progress.design.topics[-1])
        power = progress.design.power(goal.difference, progress.sd) if progress.sd > 0 else 1.0
    system, baseline = progress.systems or ("", "")
    return Tested(
        goal, CATALOG[goal.plan], system, baseline, progress.measure or "", progress.count, float(x.mean()),
        progress.sd, t, p_value, level, p_value <= level, lower, upper, power, first, looks, last, most, is_skewed(x),
        tuple(progress.edits),
    )  # fmt: skip


def anytime_test(progress: Progress, *, again: bool) -> Tested:
    """The confidence sequence after all topics so far, in the order they came.

    The bets are those of the goal the study began with: they must not know the scores.
    """
    goal, x = progress.goal, progress.differences
    found = confidence_sequence(
        x, alpha=goal.alpha, lowest=goal.lowest, highest=goal.highest, bets=bets_for(progress.first_goal)
    )
    system, baseline = progress.systems or ("", "")
    return Tested(
        goal, CATALOG[goal.plan], system, baseline, progress.measure or "", progress.count, found.mean,
        progress.sd, found.evidence, found.p_value, goal.alpha, found.significant, found.lower, found.upper,
        float("nan"), 1, len(progress.looks) + (not again), False, None, is_skewed(x), tuple(progress.edits),
    )  # fmt: skip
