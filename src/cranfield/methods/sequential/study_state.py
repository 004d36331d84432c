"""The state of a study: its steps in order, each under the goal at that time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.errors import InputError
from cranfield.methods import design
from cranfield.methods.contrasts.pairs import rounding
from cranfield.methods.sequential.groups import GroupDesign, group_design
from cranfield.methods.sequential.study_goal import StudyGoal, TopicOrder
from cranfield.types import Array

Step = Mapping[str, Any]


@dataclass(frozen=True)
class Check:
    """A look at the sd, and the number of topics at it."""

    topics: int
    sd: float
    achieved_power: float
    enough: bool


@dataclass(frozen=True)
class Edit:
    """A change of the goal after the study had begun."""

    step: int
    at: str
    topics: int
    changes: Mapping[str, tuple[Any, Any]]  # name: (before, after)
    reason: str


@dataclass
class StudyState:
    """The state after all steps."""

    goal: StudyGoal
    systems: tuple[str, str] | None
    measure: str | None
    trial_topics: tuple[str, ...]
    order: TopicOrder = field(default_factory=TopicOrder)
    first_goal: StudyGoal = field(init=False)
    topics: list[str] = field(default_factory=list)
    scores: list[tuple[float, float]] = field(default_factory=list)
    additions: int = 0
    checks: list[Check] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    looks: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.first_goal = self.goal

    @property
    def differences(self) -> Array:
        return np.array([a - b for a, b in self.scores])

    @property
    def sd(self) -> float:
        return paired_sd(np.array(self.scores))

    @property
    def count(self) -> int:
        return len(self.topics)

    @property
    def next_look(self) -> int | None:
        """The number of topics at the next decision; None if there is none."""
        if self.goal.plan == "group-sequential":
            return self._next_group_look()
        if self.goal.plan == "anytime":
            return max(self.count, 1)
        if self.checks and self.checks[-1].enough:
            return self.count
        if self.goal.plan == "fixed":
            return self.goal.needed_topics()
        if not self.checks:
            return self.goal.first if self.goal.plan == "iterative" else self.goal.needed_topics()
        return max(self.goal.needed_topics(self.checks[-1].sd), self.checks[-1].topics + 1)

    def _next_group_look(self) -> int | None:
        if self.finished:
            return None
        seen = self.looks[-1]["topics"] if self.looks else 0
        return next((n for n in self.design.topics.tolist() if n > seen), None)

    @property
    def design(self) -> GroupDesign:
        return group_design(self.goal)

    @property
    def ready(self) -> bool:
        """Whether the test may be made now."""
        if self.goal.plan == "anytime":
            return self.count > 0
        if self.goal.plan == "group-sequential":
            due = self._next_group_look()
            return due is not None and self.count >= due
        return bool(self.checks) and self.checks[-1].enough

    @property
    def finished(self) -> bool:
        """Whether the plan allows no further topics."""
        if self.goal.plan == "anytime":
            return False
        if self.goal.plan == "group-sequential":
            return bool(self.looks) and (self.looks[-1]["significant"] or self.looks[-1]["last"])
        return self.ready

    # --- replaying

    def apply(self, step: Step) -> None:
        known = {"add": self._add, "edit": self._edit, "test": self._test}
        if step["event"] not in known:
            raise InputError(
                f"step {step['step']} of the study, «{step['event']}», is of a kind unknown here",
                fix="Use a newer cranfield.",
            )
        known[step["event"]](step)

    def _add(self, step: Step) -> None:
        self.systems, self.measure = tuple(step["systems"]), step["measure"]
        for topic, *scores in step["scores"]:
            a, b = scores
            if not isinstance(topic, str) or not all(isinstance(score, int | float) for score in scores):
                raise TypeError(topic)
            self.topics.append(topic)
            self.scores.append((a, b))
        self.additions += 1
        self.order = replace(self.order, out_of_order=(*self.order.out_of_order, *step.get("out_of_order", ())))
        self._look_at_sd()

    def _look_at_sd(self) -> None:
        if self.goal.plan not in ("fixed", "iterative", "hybrid") or self.count < 2:
            return
        # Algorithm 1 looks after every addition, not only when there are as many topics as the last sd asked for.
        due = self.goal.first if self.goal.plan == "iterative" else self.next_look
        if due is not None and self.count >= due:
            self.checks.append(self._check())

    def _check(self) -> Check:
        power = achieved_power(self.goal, self.count, self.sd)
        enough = self.count >= self.goal.needed_topics() if self.goal.plan == "fixed" else power >= self.goal.power
        return Check(self.count, self.sd, power, enough)

    def _edit(self, step: Step) -> None:
        before = self.goal.to_dict()
        source = {"sd_from": f"changed at step {step['step']}"} if "sd" in step["changes"] else {}
        self.goal = self.goal.changed({**step["changes"], **_looks(step["changes"]), **source})
        changes = {name: (before[name], value) for name, value in step["changes"].items()}
        self.edits.append(Edit(step["step"], step["at"], self.count, changes, step["reason"]))
        if self.checks:
            self.checks.append(self._check())
        else:
            self._look_at_sd()

    def _test(self, step: Step) -> None:
        self.looks.append({**step, **{name: step[name] for name in ("topics", "level", "significant", "last")}})


def _looks(changes: Mapping[str, Any]) -> dict[str, Any]:
    return {"looks": tuple(changes["looks"])} if "looks" in changes else {}


def paired_sd(scores: Array) -> float:
    """The sd of the differences of two columns of scores; 0 where they are equal but for rounding."""
    if len(scores) < 2:
        return float("nan")
    gaps = scores[:, 0] - scores[:, 1]
    varies = np.ptp(gaps) > 4 * rounding(float(scores.min()), float(scores.max()))
    return float(gaps.std(ddof=1)) if varies else 0.0


def achieved_power(goal: StudyGoal, topics: int, sd: float) -> float:
    """The power of one t test on this number of topics if the observed sd is the true one; nan for an sd of 0."""
    if topics < 2 or not sd > 0:
        return float("nan")
    fixed = design.Design(topics=topics, alpha=goal.alpha, spread=design.Sd(sd=sd))
    return float(design.achieved(fixed, design.Goal("difference", goal.difference)))


def replay(steps: Iterable[Step], file: str | Path = "") -> StudyState:
    """The state after all steps; the first is the one that started the study."""
    state: StudyState | None = None
    for number, step in enumerate(steps, 1):
        try:
            if state is None:
                state = _started(step)
            else:
                state.apply(step)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise InputError(
                "this step has its seal, but not what such a step consists of",
                where=f"{file}:{number}",
                fix="Fetch the file from a copy.",
            ) from None
    assert state is not None  # a journal has a first step
    return state


def _started(start: Step) -> StudyState:
    return StudyState(
        StudyGoal.from_dict(start["goal"]),
        tuple(start["systems"]) if start.get("systems") else None,
        start.get("measure"),
        tuple(start.get("trial_topics", ())),
        TopicOrder(candidates=tuple(start.get("order", ())), seed=start.get("order_seed")),
    )
