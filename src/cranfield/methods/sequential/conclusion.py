"""The final test of a study, or the test at one of its looks, with its report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.methods.sequential.confidence import TINY, beside_zero, bets_for, confidence_sequence
from cranfield.methods.sequential.groups import levels_for
from cranfield.methods.sequential.plans import CATALOG, Plan
from cranfield.methods.sequential.study_goal import StudyGoal, TopicOrder
from cranfield.methods.sequential.study_state import Edit, StudyState, achieved_power
from cranfield.types import Array

SKEWED = 0.25  # skewness over √n beyond which t's level is off by a quarter or so
DIFFERS, NOT_SIGNIFICANT, NO_CLAIM = "differs", "not significant", "no claim"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The numbers of a test; where nothing may be claimed ``reason`` says why and the numbers are nan.

    ``empty`` is true where a confidence sequence has no value left.
    """

    statistic: float = float("nan")
    p_value: float = float("nan")
    lower: float = float("nan")
    upper: float = float("nan")
    empty: bool = False
    reason: str = ""

    @property
    def significant(self) -> bool:
        """Whether the interval leaves out 0; the one definition for every plan."""
        return not self.reason and not self.lower <= 0 <= self.upper


@dataclass(frozen=True, eq=False, kw_only=True)
class FinalTest:
    """A test of two systems on the same topics: ``system`` minus ``baseline``.

    ``outcome`` has the interval, and the verdict follows from it: the systems differ exactly where it leaves out 0.
    p is compared with ``level``: α, or this look's part of it. ``first`` is the number of topics planned first,
    ``looks`` the number of times that the sd (for group-sequential and anytime, the test) was looked at; ``last`` says
    whether the study ends here, ``most`` is the largest number of topics (none where no number was fixed). ``order``
    says in which order topics were added. ``steps`` is the number of steps in the file of the study after this one, and
    ``seal`` the checksum of the last.
    """

    goal: StudyGoal
    plan: Plan
    system: str
    baseline: str
    measure: str
    topics: int
    difference: float
    sd: float
    outcome: Outcome
    level: float
    achieved_power: float
    first: int
    looks: int
    last: bool
    most: int | None
    skewed: bool
    order: TopicOrder
    edits: tuple[Edit, ...]
    steps: int = 0
    seal: str = ""

    @property
    def statistic(self) -> float:
        return self.outcome.statistic

    @property
    def p_value(self) -> float:
        return self.outcome.p_value

    @property
    def lower(self) -> float:
        return self.outcome.lower

    @property
    def upper(self) -> float:
        return self.outcome.upper

    @property
    def significant(self) -> bool:
        return self.outcome.significant

    @property
    def reason(self) -> str:
        """The reason if no claim is made; otherwise empty."""
        return self.outcome.reason

    @property
    def verdict(self) -> str:
        """``differs``, ``not significant`` or ``no claim``."""
        return NO_CLAIM if self.reason else DIFFERS if self.significant else NOT_SIGNIFICANT

    @property
    def effect_size(self) -> float:
        """d_z: the mean difference divided by the sd of the paired differences."""
        return self.difference / self.sd if self.sd > 0 else float("nan")

    @property
    def test_name(self) -> str:
        return "anytime-valid confidence sequence" if self.plan.name == "anytime" else "two-sided paired t test"

    @property
    def interval_name(self) -> str:
        """What the interval is; that of a group-sequential design holds at all of its looks together."""
        kind = {"group-sequential": "repeated confidence interval", "anytime": "confidence sequence"}
        return f"{100 * (1 - self.goal.alpha):g} % {kind.get(self.plan.name, 'confidence interval')}"

    @property
    def citations(self) -> tuple[str, ...]:
        repeated = ("JennisonTurnbull1989",) if self.plan.name == "group-sequential" else ()
        return tuple(dict.fromkeys((self.plan.citation, *repeated, "Webber2008")))

    def record(self) -> dict[str, Any]:
        """What the study file keeps of it."""
        names = (
            "topics",
            "difference",
            "sd",
            "statistic",
            "p_value",
            "level",
            "verdict",
            "significant",
            "lower",
            "upper",
            "reason",
            "last",
        )
        kept = {name: getattr(self, name) for name in names}
        return {
            name: value if not isinstance(value, float) or np.isfinite(value) else None for name, value in kept.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """One row: the pair, the numbers and the verdict."""
        numbers = ("topics", "difference", "sd", "effect_size", "statistic", "p_value", "level", "lower", "upper")
        return {
            "plan": self.plan.name,
            "test": self.test_name,
            "system": self.system,
            "baseline": self.baseline,
            "measure": self.measure,
            "verdict": self.verdict,
            "significant": self.significant,
            "empty": self.outcome.empty,
            "reason": self.reason,
            **{name: getattr(self, name) for name in numbers},
            "achieved_power": self.achieved_power,
            "first_topics": self.first,
            "looks": self.looks,
            "last": self.last,
            "goal_changes": len(self.edits),
            "steps": self.steps,
            "seal": self.seal,
            **self.order.to_dict(),
        }

    def caveats(self) -> list[str]:
        """Return the limitations of the verdict."""
        parts = (self._plan_caveat(), self._skew_caveat(), self._edit_caveat(), *map(str, self.order.cautions()))
        return [text for text in parts if text]

    def _plan_caveat(self) -> str:
        if self.plan.name in ("iterative", "hybrid"):
            return (
                "Topics were added until the power was reached, which favours topics with typical differences: the sd "
                "is underestimated, and the p-value is somewhat too small by an unknown amount. This holds even if the "
                "first topics were enough."
            )
        if self.plan.name == "fixed" and self.achieved_power < self.goal.power:
            return (
                f"The sd is larger than expected, and the power is only {self.achieved_power:.2f}: a test that is not "
                "significant does not rule out such a difference, and it may not be repeated with more topics."
            )
        if self.plan.name == "group-sequential" and not self.last:
            return "This was one of several looks; the study continues, and nothing is decided yet."
        if self.plan.name == "group-sequential" and self.topics < (self.most or 0):
            return (
                "The study stopped early, at a significant look: the mean difference is then too large on average; "
                "report its interval with it."
            )
        return ""

    def _skew_caveat(self) -> str:
        if not self.skewed or self.plan.name == "anytime":
            return ""
        return (
            "The differences are very skewed: the result depends on few topics, and a sample may have missed similar "
            "ones; the p-value of a t test is not reliable."
        )

    def _edit_caveat(self) -> str:
        if not self.edits:
            return ""
        late = [edit for edit in self.edits if edit.topics]
        times = "once" if len(self.edits) == 1 else f"{len(self.edits)} times"
        when = (
            f"{len(late)} of these after scores had been added, so that the error guarantee no longer holds"
            if late
            else "before any score had been added"
        )
        return f"The goal was changed {times}, {when}."

    def summary(self) -> str:
        """Return the conclusion in sentences."""
        if self.reason:
            return f"No claim about {self.system} and {self.baseline} on {self.measure}: {self.reason}."
        if self.significant:
            return self._difference_sentence()
        if self.plan.name == "group-sequential" and not self.last:
            return f"Not significant at this look: {self._numbers(1)}. Add topics for the next look."
        power = (
            f" The power for a difference of {self.goal.difference:g} was {self.achieved_power:.2f} at this sd."
            if self.achieved_power == self.achieved_power
            else ""
        )
        return f"{self.system} and {self.baseline} are not significantly different: {self._numbers(1)}.{power}"

    def _difference_sentence(self) -> str:
        names = (self.system, self.baseline) if self.difference > 0 else (self.baseline, self.system)
        return f"{names[0]} is better than {names[1]}: {self._numbers(1 if self.difference > 0 else -1)}."

    def _numbers(self, sign: int) -> str:
        ends = sorted((sign * self.lower, sign * self.upper))
        return (
            f"mean difference {sign * self.difference:.4f} in {self.measure}, {self.interval_name} {ends[0]:.4f} to "
            f"{ends[1]:.4f} ({self.test_name}, {self.topics:,} shared topics)"
        )


def is_skewed(differences: Array) -> bool:
    """Whether the skewness is too large for a t test with n topics."""
    if len(differences) < 3 or not differences.std() > 0:
        return False
    centred = differences - differences.mean()
    skewness = (centred**3).mean() / differences.std() ** 3
    return bool(abs(skewness) / np.sqrt(len(differences)) > SKEWED)


def paired_t(differences: Array, sd: float, level: float, widest: float) -> Outcome:
    """The two-sided paired t test, and its interval at a level; at level 0 the interval is ``widest`` on each side."""
    from scipy import special

    from cranfield.stats.tails import t_critical

    n, mean = len(differences), float(differences.mean())
    if not sd > 0:
        return Outcome(
            reason=f"all {n:,} differences equal {mean:.4g}, so that a paired t test has no estimate of error"
        )
    error = sd / np.sqrt(n)
    p_value = max(float(2 * special.stdtr(n - 1, -abs(mean / error))), TINY)  # p is never 0
    reach = float(t_critical(level / 2, n - 1)) * error if level > 0 else widest
    found = p_value <= level
    return Outcome(
        statistic=mean / error,
        p_value=p_value,
        lower=beside_zero(mean - reach, ruled_out=found and mean > 0),
        upper=-beside_zero(-mean - reach, ruled_out=found and mean < 0),
    )


def single_test(progress: StudyState) -> FinalTest:
    """One t test at α, when the sd has shown that the topics suffice (or the plan has fixed their number)."""
    goal = progress.goal
    begun = progress.first_goal if progress.first_goal.plan == goal.plan else goal
    first = begun.first if goal.plan == "iterative" else begun.needed_topics()
    outcome = _t_outcome(progress, goal.alpha)
    power = achieved_power(goal, progress.count, progress.sd)
    return _tested(
        progress,
        outcome,
        level=goal.alpha,
        achieved_power=power,
        first=first,
        looks=max(len(progress.checks), 1),
        last=True,
    )


def group_test(progress: StudyState, *, again: bool) -> FinalTest:
    """The t test at this look's level: boundaries for the looks that were really made, spent as planned.

    The interval at this level is the repeated confidence interval of Jennison & Turnbull 1989: all of them together
    miss the true difference with probability α, wherever the study stops.
    """
    goal, design = progress.goal, progress.design
    done = [look["topics"] for look in progress.looks]
    made = list(dict.fromkeys(done if again else [*done, progress.count]))
    most = int(design.topics[-1])
    level = float(levels_for(np.array(made), most, goal.spending, goal.alpha)[-1])
    outcome = _t_outcome(progress, level)
    return _tested(
        progress,
        outcome,
        level=level,
        achieved_power=design.power(goal.difference, progress.sd) if progress.sd > 0 else float("nan"),
        first=int(design.topics[0]),
        looks=len(made),
        last=made[-1] >= most or outcome.significant,
        most=most,
    )


def anytime_test(progress: StudyState, *, again: bool) -> FinalTest:
    """The confidence sequence after all topics so far, in the order they were added.

    The bets are those of the goal the study began with: they must not know the scores.
    """
    goal = progress.goal
    found = confidence_sequence(
        progress.differences,
        alpha=goal.alpha,
        lowest=goal.lowest,
        highest=goal.highest,
        bets=bets_for(progress.first_goal),
    )
    outcome = Outcome(
        statistic=found.evidence,
        p_value=found.p_value,
        lower=found.lower,
        upper=found.upper,
        empty=found.empty,
        reason=found.reason,
    )
    looks = len(progress.looks) + (not again)
    return _tested(progress, outcome, level=goal.alpha, achieved_power=float("nan"), first=1, looks=looks, last=False)


def _t_outcome(progress: StudyState, level: float) -> Outcome:
    goal = progress.goal
    return paired_t(progress.differences, progress.sd, level, goal.highest - goal.lowest)


def _tested(
    progress: StudyState,
    outcome: Outcome,
    *,
    level: float,
    achieved_power: float,
    first: int,
    looks: int,
    last: bool,
    most: int | None = None,
) -> FinalTest:
    system, baseline = progress.systems or ("", "")
    return FinalTest(
        goal=progress.goal,
        plan=CATALOG[progress.goal.plan],
        system=system,
        baseline=baseline,
        measure=progress.measure or "",
        topics=progress.count,
        difference=float(progress.differences.mean()),
        sd=progress.sd,
        outcome=outcome,
        level=level,
        achieved_power=achieved_power,
        first=first,
        looks=looks,
        last=last,
        most=most,
        skewed=is_skewed(progress.differences),
        order=progress.order,
        edits=tuple(progress.edits),
    )
