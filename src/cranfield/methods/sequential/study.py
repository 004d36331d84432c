"""A sequential study: the goal is fixed first, scores are added as topics are judged, the plan says when to test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.errors import CranfieldError, InputError, RequestError
from cranfield.methods.sequential import journal
from cranfield.methods.sequential.conclusion import FinalTest, anytime_test, group_test, single_test
from cranfield.methods.sequential.confidence import bets_for, confidence_sequence, rough_topics
from cranfield.methods.sequential.paired_differences import PairedDifferences, complete_scores, one_pair
from cranfield.methods.sequential.plans import CATALOG, Plan
from cranfield.methods.sequential.study_goal import StudyGoal, TopicOrder, check_effect, draw_order
from cranfield.methods.sequential.study_state import Edit, StudyState, achieved_power, paired_sd, replay
from cranfield.methods.sequential.trial import past_experience, upper_limit
from cranfield.scores import ScoreTable

EDITABLE = ("difference", "alpha", "power", "sd", "plan", "first", "looks", "spending", "lowest", "highest")


class TooEarlyError(CranfieldError):
    """A test before the plan allows it: testing then would void the error guarantee."""

    exit_code = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Status:
    """The state of a study.

    ``achieved_power`` is the power of a test on the topics so far if the observed sd is the true one (of the whole
    design, for group-sequential; none for anytime). ``next_look`` is the number of topics at the next decision and
    ``more`` what is missing to it. The observed difference is not among these numbers: only a test shows it.
    """

    file: str
    goal: StudyGoal
    plan: Plan
    systems: tuple[str, str] | None
    measure: str | None
    topics: int
    sd: float
    achieved_power: float | None
    next_look: int | None
    more: int
    looks: int
    additions: int
    ready: bool
    finished: bool
    tested: bool
    edits: tuple[Edit, ...]
    unfinished: int
    order: TopicOrder

    def to_dict(self) -> dict[str, Any]:
        """One row: the goal and where the study stands."""
        return {
            "plan": self.plan.name,
            "difference": self.goal.difference,
            "alpha": self.goal.alpha,
            "power": self.goal.power,
            "topics": self.topics,
            "sd": self.sd,
            "first_sd": self.goal.sd,
            "achieved_power": self.achieved_power,
            "next_look": self.next_look,
            "more": self.more,
            "looks": self.looks,
            "ready": self.ready,
            "finished": self.finished,
            "tested": self.tested,
            "goal_changes": len(self.edits),
            **self.order.to_dict(),
        }

    def summary(self) -> str:
        """Return the next step in a sentence."""
        if self.finished and self.tested:
            return f"The study has ended with {self.topics:,} topics; `study_test()` shows its result again."
        if self.plan.name == "anytime":
            return (
                f"{self.topics:,} topics; the interval may be looked at now, or after any further topic. If the "
                f"systems differ by {self.goal.difference:g}, expect about {self.more:,} more topics."
            )
        if self.ready:
            return f"{self.topics:,} topics are enough: run the test with `study_test()`."
        if self.sd == 0:
            return f"All {self.topics:,} differences are equal, so that their sd is not known yet: add topics."
        topics = "1 more topic" if self.more == 1 else f"{self.more:,} more topics"
        return f"{topics}, {self.next_look:,} in total, before the test may be run."


@dataclass(frozen=True)
class Added:
    """What an addition did: topics added, those already present with the same scores, those out of the order drawn."""

    taken: tuple[str, ...]
    repeated: tuple[str, ...]
    out_of_order: tuple[str, ...]
    status: Status


class Study:
    """A study file. Every method reads the file again, and so includes topics that another process has added.

    ``expect`` is a seal that the file once had: without a step of that seal, it is refused.
    """

    def __init__(self, path: str | Path, *, expect: str | None = None) -> None:
        self.path, self._expected = Path(path), expect
        self.progress()  # a file that is no study is refused at once

    def progress(self) -> StudyState:
        """The state after all steps."""
        return self._replay(journal.read(self.path).steps)

    def history(self) -> list[dict[str, Any]]:
        """Every step in order, as it was recorded."""
        steps = journal.read(self.path).steps
        self._replay(steps)
        return [dict(step) for step in steps]

    def status(self) -> Status:
        reading = journal.read(self.path)
        return _status(self.path, self._replay(reading.steps), reading.unfinished)

    def _replay(self, steps: tuple[journal.Step, ...]) -> StudyState:
        if self._expected is not None:
            journal.require_seal(steps, self._expected, self.path)
        return replay(steps, self.path)

    def next_topics(self, count: int | None = None) -> tuple[str, ...]:
        """The topics to judge next, in the random order that was drawn when the study was started.

        ``count`` is the number that the next decision takes where it is left out, and at least 1.
        """
        progress = self.progress()
        if not progress.order.candidates:
            raise RequestError(
                "the study has no recorded order of topics",
                fix="Name the candidate topics when a study is started: `topics` of `study_new()`.",
            )
        if count is not None and count < 1:
            raise RequestError(f"{count} topics cannot be listed", fix="Ask for 1 or more.")
        if progress.finished:
            return ()
        wanted = count or max(_status(self.path, progress).more, 1)
        return tuple(progress.order.remaining(progress.topics)[:wanted])

    def pairs(self) -> PairedDifferences:
        """The differences so far, as simulations take them."""
        progress = self.progress()
        if progress.count < 2:
            raise InputError("the study has too few topics to sample from", where=str(self.path), fix="Add some.")
        names = progress.systems or ("", "")
        return PairedDifferences(
            progress.measure or "", (names,), tuple(progress.topics), progress.differences[np.newaxis]
        )

    def add(self, table: ScoreTable, *, measure: str | None = None) -> Added:
        """Add the scores of the two systems on new topics; when this returns, they are on the disk.

        Topics that are present with the same scores are skipped; other scores for them are refused. Where the study
        has drawn an order, the topics of one addition are put into it, and those whose turn it was not are recorded.
        """
        made: dict[str, tuple[str, ...]] = {"ahead": ()}

        def decide(steps: tuple[journal.Step, ...]) -> Mapping[str, Any] | None:
            progress = self._replay(steps)
            systems, name, rows = _rows(table, progress, measure)
            new, old = _split(rows, progress)
            made["taken"], made["repeated"] = tuple(row[0] for row in new), tuple(old)
            if not new:
                return None
            _check_addition(progress, new)
            made["ahead"] = tuple(progress.order.ahead(progress.topics, made["taken"]))
            late = {"out_of_order": list(made["ahead"])} if made["ahead"] else {}
            rows = progress.order.sorted_rows(new)
            return {"event": "add", "systems": systems, "measure": name, "scores": rows, **late}

        steps = journal.append(self.path, decide)
        return Added(made["taken"], made["repeated"], made["ahead"], _status(self.path, self._replay(steps)))

    def edit(self, changes: Mapping[str, Any], *, reason: str) -> Status:
        """Change the goal. The change is one more step of the file, and every report of the test will name it."""
        unknown = [name for name in changes if name not in EDITABLE]
        if unknown or not changes:
            raise RequestError(
                f"«{unknown[0]}» is not part of a goal" if unknown else "there is nothing to change",
                fix=f"Change one of: {', '.join(EDITABLE)}.",
            )
        if not reason.strip():
            raise RequestError("a change of the goal needs a reason", fix="Give a reason with `because`.")

        def decide(steps: tuple[journal.Step, ...]) -> Mapping[str, Any]:
            goal = self._replay(steps).goal
            changed = goal.changed(changes)
            check_effect(changed.plan, changes)
            _prepared(changed)  # refused before it is written
            plain = {name: list(value) if isinstance(value, tuple) else value for name, value in changes.items()}
            return {"event": "edit", "changes": plain, "reason": reason.strip()}

        return _status(self.path, self._replay(journal.append(self.path, decide)))

    def test(self) -> FinalTest:
        """The test, when the plan allows it; the look is recorded before its result is returned.

        Raises
        ------
        TooEarlyError
            Before the goal is reached, or between looks.
        """
        found: dict[str, FinalTest] = {}

        def decide(steps: tuple[journal.Step, ...]) -> Mapping[str, Any] | None:
            progress = self._replay(steps)
            again = bool(progress.looks) and progress.looks[-1]["topics"] == progress.count
            if not (again and progress.goal.plan == "group-sequential"):
                _refuse_early(progress, str(self.path))
            tested = found["test"] = _tested(progress, again=again)
            same = again and progress.looks[-1]["level"] == tested.level
            return None if same else {"event": "test", **tested.record()}

        steps = journal.append(self.path, decide)
        return replace(found["test"], steps=len(steps), seal=str(steps[-1]["check"]))


def open_study(path: str | Path, *, expect: str | None = None) -> Study:
    """Open the file of a study; with ``expect``, only if one of its steps has that seal."""
    return Study(path, expect=expect)


def create_study(
    path: str | Path,
    goal: StudyGoal,
    *,
    system: str | None = None,
    baseline: str | None = None,
    measure: str | None = None,
    trial_topics: Sequence[str] = (),
    topics: Sequence[str] = (),
    seed: int = 1,
) -> Study:
    """Fix the goal of a study in a new file.

    Parameters
    ----------
    path
        The new file; an existing one is never overwritten.
    goal
        The goal of the comparison, and the plan by which topics are added.
    system, baseline
        The difference is ``system`` minus ``baseline``; without names, the first scores added decide.
    measure
        The measure; without it, that of the first scores added.
    trial_topics
        Topics that were used to estimate the sd; they are refused as topics of the study.
    topics
        Candidate topics. A random order of them is drawn and recorded; trial topics are left out of it.
    seed
        Random seed of the order.
    """
    _prepared(goal)
    if (system is None) != (baseline is None):
        raise RequestError("a pair has two systems", fix='Name both, `system="A"` and `baseline="B"`, or neither.')
    systems = None if system is None else [system, baseline]
    content = {"event": "new", "goal": goal.to_dict(), "systems": systems, "measure": measure}
    journal.create(path, {**content, "trial_topics": list(trial_topics), **_drawn(topics, trial_topics, seed)})
    return Study(path)


def _drawn(topics: Sequence[str], trial_topics: Sequence[str], seed: int) -> dict[str, Any]:
    """The order as the first step records it; nothing without candidates."""
    if not topics:
        return {}
    tried = set(trial_topics)
    order = draw_order([topic for topic in topics if topic not in tried], seed=seed)
    return {"order": list(order.candidates), "order_seed": order.seed}


def _prepared(goal: StudyGoal) -> None:
    """Refuse what the plan cannot do before it is written down."""
    if goal.plan == "group-sequential":
        StudyState(goal, None, None, ()).design  # noqa: B018
    else:
        goal.needed_topics()


# --- where the first estimate of the sd comes from


@dataclass(frozen=True)
class SdEstimate:
    """A first estimate of the sd, its source in words, and the topics that may not be used again."""

    sd: float
    source: str
    trial_topics: tuple[str, ...] = ()


def estimate_sd(
    *,
    sd: float | None = None,
    past: ScoreTable | None = None,
    trial: ScoreTable | None = None,
    system: str | None = None,
    baseline: str | None = None,
    measure: str | None = None,
    cautious: bool = False,
) -> SdEstimate:
    """The sd from exactly one source; ``cautious`` takes the 95th percentile of the past, or a trial's upper limit."""
    if sum(source is not None for source in (sd, past, trial)) != 1:
        raise RequestError(
            "the sd must have exactly one source", fix="Give one of `sd`, earlier scores, and the scores of a `trial`."
        )
    if cautious and sd is not None:
        raise RequestError("a given sd has no cautious form", fix="Give a larger sd, or a table to estimate it from.")
    if past is not None:
        pairs = len(past.systems) * (len(past.systems) - 1) // 2
        what = "95th percentile" if cautious else "mean"
        found = sd_from_past(past, measure=measure, percentile=95.0 if cautious else None)
        return SdEstimate(found, f"{what} of {pairs} earlier pairs")
    if trial is not None:
        options = {"system": system, "baseline": baseline, "measure": measure}
        found = sd_from_trial(trial, **options, confidence=0.95 if cautious else None)
        limit = ", upper 95 % limit" if cautious else ""
        return SdEstimate(found, f"trial of {len(trial.topics)} topics{limit}", trial.topics)
    return SdEstimate(float(sd or 0.0), "given")


def sd_from_past(table: ScoreTable, *, measure: str | None = None, percentile: float | None = None) -> float:
    """The mean sd of all pairs of an earlier table, or a percentile of it: Webber et al. (2008), §5.1."""
    found = past_experience(table, difference=0.05, measure=measure, percentile=percentile or 95.0)
    return found.typical.sd if percentile is None else found.cautious.sd


def sd_from_trial(
    table: ScoreTable,
    *,
    system: str | None = None,
    baseline: str | None = None,
    measure: str | None = None,
    confidence: float | None = None,
) -> float:
    """The sd of a trial, or its upper limit as a cautious estimate: Webber et al. (2008), §5.2."""
    differences = one_pair(table, system=system, baseline=baseline, measure=measure).differences[0]
    sd = float(differences.std(ddof=1))
    if not sd > 0:
        raise InputError(
            "the differences of the two systems are equal on all topics of the trial",
            fix="Give a trial with more topics, or an sd.",
        )
    return sd if confidence is None else float(upper_limit(sd, len(differences), confidence=confidence))


# --- additions


_Row = tuple[str, float, float]


def _rows(table: ScoreTable, progress: StudyState, measure: str | None) -> tuple[tuple[str, str], str, list[_Row]]:
    name = measure or progress.measure or (table.measures[0] if len(table.measures) == 1 else None)
    if progress.measure is not None and name != progress.measure:
        raise RequestError(
            f"the measure of the study is {progress.measure}, not {name}", fix="Add scores of the same measure."
        )
    scores = complete_scores(table, name, fewest=1)
    systems = progress.systems or _pair(table)
    absent = [system for system in systems if system not in table.systems]
    if absent:
        raise InputError(f"there are no scores of «{absent[0]}»", fix=f"The study compares {' with '.join(systems)}.")
    a, b = (table.systems.index(system) for system in systems)
    rows = [(topic, float(scores[at, a]), float(scores[at, b])) for at, topic in enumerate(table.topics)]
    return systems, name or table.measures[0], rows


def _pair(table: ScoreTable) -> tuple[str, str]:
    if len(table.systems) != 2:
        raise RequestError(
            f"the scores are of {len(table.systems)} systems: it is unclear which two are compared",
            fix='Name them when the study is started: `system="A"` and `baseline="B"`.',
        )
    return table.systems[0], table.systems[1]


def _split(rows: Sequence[_Row], progress: StudyState) -> tuple[list[_Row], list[str]]:
    known = dict(zip(progress.topics, progress.scores, strict=True))
    for topic, a, b in rows:
        if topic in known and known[topic] != (a, b):
            raise InputError(
                f"topic {topic} is in the study with other scores ({known[topic][0]:g} and {known[topic][1]:g})",
                fix="Scores in a study cannot be changed; leave the topic out.",
            )
    return [row for row in rows if row[0] not in known], [row[0] for row in rows if row[0] in known]


def _check_addition(progress: StudyState, new: Sequence[_Row]) -> None:
    goal = progress.goal
    if progress.finished:
        raise RequestError(
            f"the study has all its topics ({progress.count:,}): further topics would depend on the scores",
            fix="Run the test with `study_test()`; or change the goal first with `study_edit()`, which is recorded.",
        )
    for topic, a, b in new:
        if topic in progress.trial_topics:
            raise InputError(
                f"topic {topic} was in the trial that gave the sd", fix="Use new topics (Webber et al. 2008, §5.2)."
            )
        if not goal.lowest <= a - b <= goal.highest:
            raise InputError(
                f"on topic {topic} the systems differ by {a - b:g}, outside {goal.lowest:g} and {goal.highest:g}",
                fix='Give the bounds of a difference when the study is started: `bounds="LOW,HIGH"`.',
            )


# --- status and tests


def _status(path: Path, progress: StudyState, unfinished: int = 0) -> Status:
    goal = progress.goal
    due = progress.next_look
    more = max((due or progress.count) - progress.count, 0)
    if goal.plan == "anytime":
        sd = progress.sd if progress.sd > 0 else goal.sd
        more = max(int(np.ceil(rough_topics(goal, sd))) - progress.count, 0)
    looks = progress.looks if goal.plan in ("group-sequential", "anytime") else progress.checks
    return Status(
        file=str(path),
        goal=goal,
        plan=CATALOG[goal.plan],
        systems=progress.systems,
        measure=progress.measure,
        topics=progress.count,
        sd=progress.sd,
        achieved_power=_power_so_far(progress),
        next_look=due,
        more=more,
        looks=len(looks),
        additions=progress.additions,
        ready=progress.ready,
        finished=progress.finished,
        tested=bool(progress.looks),
        edits=tuple(progress.edits),
        unfinished=unfinished,
        order=progress.order,
    )


def _power_so_far(progress: StudyState) -> float | None:
    if progress.goal.plan == "anytime" or progress.count < 2 or progress.sd == 0:
        return None
    if progress.goal.plan == "group-sequential":
        return progress.design.power(progress.goal.difference, progress.sd)
    return achieved_power(progress.goal, progress.count, progress.sd)


def _refuse_early(progress: StudyState, where: str) -> None:
    if progress.ready:
        return
    due = progress.next_look
    if due is None:
        raise TooEarlyError(
            "the study has ended: every look has been used", where=where, fix="`study_log()` lists its steps."
        )
    if progress.sd == 0 and progress.checks:
        raise TooEarlyError(
            f"all {progress.count:,} differences are equal: the {progress.goal.plan} plan has no sd to decide by, and "
            "nothing is claimed",
            where=where,
            fix="Add topics on which the systems differ, or check how the scores were made.",
        )
    raise TooEarlyError(
        f"it is too early for a test: {progress.count:,} topics, where the {progress.goal.plan} plan needs {due:,}",
        where=where,
        fix=f"Add {max(due - progress.count, 1):,} topics. Earlier tests would raise the rate of false positives.",
    )


def _tested(progress: StudyState, *, again: bool) -> FinalTest:
    if progress.goal.plan == "anytime":
        return anytime_test(progress, again=again)
    if progress.goal.plan == "group-sequential":
        return group_test(progress, again=again)
    return single_test(progress)


@dataclass(frozen=True)
class Course:
    """The course of a study: ``kind`` is power, looks or sequence; ``goal`` the power sought, or a difference of 0."""

    kind: str
    goal: float
    rows: tuple[dict[str, Any], ...]


def course(progress: StudyState) -> Course:
    """The course of a study: its power after every topic, t at the looks, or the confidence sequence."""
    plan = progress.goal.plan
    if plan == "anytime":
        return Course("sequence", 0.0, tuple(_sequence_rows(progress)))
    if plan == "group-sequential":
        return Course("looks", 0.0, tuple(_look_rows(progress)))
    scores, goal = np.array(progress.scores), progress.goal
    sds = [(n, paired_sd(scores[:n])) for n in range(2, len(scores) + 1)]
    rows = [{"topics": n, "sd": sd, "achieved_power": achieved_power(goal, n, sd) if sd else None} for n, sd in sds]
    return Course("power", goal.power, tuple(rows))


def _look_rows(progress: StudyState) -> Iterable[dict[str, Any]]:
    """t at the looks that were made, and the boundary at these and at those planned for later."""
    from cranfield.stats.tails import t_critical

    seen = {int(look["topics"]): look for look in progress.looks}
    last = max(seen, default=0)
    planned = zip(progress.design.topics.tolist(), progress.design.levels.tolist(), strict=True)
    levels = {n: look["level"] for n, look in seen.items()} | {n: level for n, level in planned if n > last}
    for n, level in sorted(levels.items()):
        t = seen[n]["statistic"] if n in seen else None
        yield {"topics": n, "level": level, "boundary": float(t_critical(level / 2, n - 1)), "statistic": t}


def _sequence_rows(progress: StudyState) -> Iterable[dict[str, Any]]:
    x, goal = progress.differences, progress.goal
    every = max(1, len(x) // 200)
    for n in [*range(1, len(x), every), len(x)] if len(x) else []:
        found = confidence_sequence(
            x[:n], alpha=goal.alpha, lowest=goal.lowest, highest=goal.highest, bets=bets_for(progress.first_goal)
        )
        ends = {"lower": found.lower, "upper": found.upper} if not found.reason else {"lower": None, "upper": None}
        yield {"topics": n, "difference": found.mean, **ends}
