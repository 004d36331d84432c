"""The plans of a study: how each adds topics, what it guarantees, and its expected number of topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.errors import Caution
from cranfield.methods.names import PLAN_TITLES
from cranfield.methods.sequential import confidence
from cranfield.methods.sequential.groups import group_design
from cranfield.methods.sequential.paths import variance_limits
from cranfield.methods.sequential.study_goal import FARTHEST_LOOK, PLANS, StudyGoal
from cranfield.runtime import random
from cranfield.types import Array

_MODEL_PATHS = 2000
_MANY = 4000  # topics after which an sd is known to a hundredth, and plans that go by it take what a fixed one does


ALWAYS, WITH_T, NEVER = "always", "if t is valid", "no"  # when a plan's false positives stay at α


@dataclass(frozen=True)
class Plan:
    """How topics are added, and the error guarantee in words; ``holds`` says when false positives stay at α."""

    name: str
    title: str
    rule: str
    guarantee: str
    citation: str
    holds: str


CATALOG = {
    plan.name: plan
    for plan in (
        Plan(
            "fixed",
            PLAN_TITLES["fixed"],
            "All topics at once, as many as the first estimate of the sd requires; one paired t test.",
            "False positives at α if the t test is valid; the power is missed if the sd was underestimated.",
            "Webber2008",
            WITH_T,
        ),
        Plan(
            "iterative",
            PLAN_TITLES["iterative"],
            "Topics are added until the difference is detectable at the observed sd; then one paired t test.",
            "None: the sd is underestimated and false positives are somewhat above α. The power is reached.",
            "Webber2008",
            NEVER,
        ),
        Plan(
            "hybrid",
            PLAN_TITLES["hybrid"],
            "As many topics as the first estimate requires; if the power is missed, as the observed sd requires.",
            "None: p-values are slightly too small by an unknown amount. The power is reached.",
            "Webber2008",
            NEVER,
        ),
        Plan(
            "group-sequential",
            PLAN_TITLES["group-sequential"],
            "A paired t test at each look, at levels that together spend α; a significant look ends the study.",
            "Error rate α over all looks together, if the t test is valid at each of them.",
            "LanDeMets1983",
            WITH_T,
        ),
        Plan(
            "anytime",
            PLAN_TITLES["anytime"],
            "The interval may be looked at after any topic, and the study may stop for any reason.",
            "The interval ever misses the true difference with probability at most α, for any distribution within the "
            "bounds and topics in random order.",
            "WaudbySmithRamdas2024",
            ALWAYS,
        ),
    )
}


def candidate_cautions(candidates: int, prospect: Prospect) -> tuple[Caution, ...]:
    """A warning where the candidate topics are fewer than the plan may take; none where no order was drawn."""
    needed = prospect.enough or int(np.ceil(prospect.expected))
    if not 0 < candidates < needed:
        return ()
    what = f"{candidates:,} candidate topics are fewer than the {needed:,} that the {prospect.plan} plan may take"
    return (Caution("too-few-candidates", what, "Name more topics, or choose a larger difference."),)


@dataclass(frozen=True, kw_only=True)
class Prospect:
    """The topics of a plan if the first estimate of the sd is right.

    ``first`` is the number of topics at which something may first be decided, ``expected`` the mean number when the
    systems differ by the goal's difference, ``expected_null`` when they are equal (none where a plan has no end).
    ``enough`` topics detect the difference with the power asked for (none where the plan adds topics until they do);
    ``most`` is the largest number (none where there is none).
    """

    plan: str
    title: str
    guarantee: str
    holds: str
    first: int
    expected: float
    expected_null: float | None
    enough: int | None
    most: int | None

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def prospect(goal: StudyGoal) -> Prospect:
    """The topics of the goal's plan.

    >>> goal = StudyGoal(difference=0.033, sd=0.15, plan="fixed")
    >>> round(prospect(goal).expected)  # WMZ08 §5.1 prints the truncated 164
    165
    """
    plan = CATALOG[goal.plan]
    first, expected, expected_null, enough, most = _TAKES[goal.plan](goal)
    return Prospect(
        plan=plan.name,
        title=plan.title,
        guarantee=plan.guarantee,
        holds=plan.holds,
        first=first,
        expected=expected,
        expected_null=expected_null,
        enough=enough,
        most=most,
    )


def all_prospects(difference: float, sd: float, **goal: Any) -> list[Prospect]:
    """The topics of every plan for the same goal."""
    return [prospect(StudyGoal(difference=difference, sd=sd, plan=plan, **goal)) for plan in PLANS]


_Takes = tuple[int, float, float | None, int | None, int | None]


def _fixed(goal: StudyGoal) -> _Takes:
    n = goal.needed_topics()
    return n, float(n), float(n), n, n


def _iterative(goal: StudyGoal) -> _Takes:
    if goal.needed_topics() > _MANY:
        return goal.first, float(goal.needed_topics()), float(goal.needed_topics()), None, None
    limits = _limits(goal)
    expected = float(_first_within(_model_variances(goal, len(limits)), limits, goal.first).mean())
    return goal.first, expected, expected, None, None


def _hybrid(goal: StudyGoal) -> _Takes:
    first = goal.needed_topics()
    if first > _MANY:
        return first, float(first), float(first), None, None
    limits = _limits(goal)
    variances = _model_variances(goal, len(limits))
    n = np.full(len(variances), first)
    for _ in range(20):  # each round adds topics only where the last one fell short
        seen = variances[np.arange(len(n)), n]
        wanted = np.searchsorted(limits, seen, side="left")
        more = (seen > limits[n]) & (n < len(limits) - 1)
        if not more.any():
            break
        n[more] = np.minimum(np.maximum(wanted[more], n[more] + 1), len(limits) - 1)
    expected = float(n.mean())
    return first, expected, expected, None, None


def _group(goal: StudyGoal) -> _Takes:
    design = group_design(goal)
    most = int(design.topics[-1])
    return int(design.topics[0]), design.expected, design.expected_null, most, most


def _anytime(goal: StudyGoal) -> _Takes:
    expected, enough = confidence.topics_to_find(goal)
    return 1, expected, None, enough, None


_TAKES = {"fixed": _fixed, "iterative": _iterative, "hybrid": _hybrid, "group-sequential": _group, "anytime": _anytime}


def _limits(goal: StudyGoal) -> Array:
    most = max(FARTHEST_LOOK * goal.needed_topics(), 2 * goal.first)
    limits = variance_limits(np.array([goal.difference]), most=most, alpha=goal.alpha, power=goal.power)
    return np.asarray(limits[0])


def _model_variances(goal: StudyGoal, count: int) -> Array:
    """s² after every topic of some studies with normal differences: paths × n, nothing known before two topics."""
    drawn = random.generator(1, "study plans", goal.plan).standard_normal((_model_paths(count), count - 1))
    x = goal.sd * drawn
    n = np.arange(1, count)
    sums, squares = np.cumsum(x, axis=1), np.cumsum(np.square(x), axis=1)
    out = np.full((len(x), count), np.inf)
    out[:, 2:] = ((squares - np.square(sums) / n) / np.maximum(n - 1, 1))[:, 1:]
    return out


def _model_paths(count: int) -> int:
    """Fewer where paths are long: memory stays within some 30 MB."""
    return int(np.clip(1_000_000 // count, 20, _MODEL_PATHS))


def _first_within(variances: Array, limits: Array, first: int) -> Array:
    within = variances <= limits
    within[:, :first] = False
    within[:, -1] = True
    return np.asarray(within.argmax(axis=1))
