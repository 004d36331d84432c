"""What judges' labels are worth beside human ones: agreement, order of systems, correlation of differences, favour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield.errors import Caution, InputError
from cranfield.methods.contrasts.decisions import RESAMPLES
from cranfield.methods.judging.agreement import (
    GradeAgreement,
    MatchedGrades,
    OrderAgreement,
    grade_agreement,
    match_grades,
    order_agreement,
)
from cranfield.methods.judging.estimators import JudgedScores
from cranfield.methods.judging.favoured_systems import Favour, both_favours
from cranfield.methods.judging.judge_effects import DifferenceCorrelation, Drift, difference_correlation, drift
from cranfield.methods.judging.label_sets import (
    AVERAGE,
    COMBINATION,
    LabelSet,
    MatchedLabels,
    average_judge,
    best_combination,
    match_labels,
    naming,
)
from cranfield.methods.judging.passes import CorrectedShares, are_passes, rogan_gladen
from cranfield.methods.judging.topic_draw import SampleCheck, check_sample
from cranfield.runtime.random import Seed
from cranfield.types import Array, Progress

MOST_LABELS = 20
"""Different scores up to which scores are taken for labels, such as pass and fail."""
COVERED = 0.9
"""Share of the documents judged by people below which a judge is said to lack labels."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgeOnMeasure:
    """One judge, or several as one, beside human labels under one measure.

    ``mean`` and ``human_mean`` are over systems and the topics with human labels. ``shares`` are those of Rogan and
    Gladen for passes and failures, else None. ``weights`` are those of the judges in an average or combination.
    ``favour`` answers both questions of `both_favours` about systems, ``team_favour`` about ``teams``.
    """

    judge: str
    measure: str
    mean: float
    human_mean: float
    means: Array
    order: OrderAgreement
    correlation: DifferenceCorrelation
    favour: Mapping[str, Favour]
    team_favour: Mapping[str, Favour]
    shares: CorrectedShares | None
    sample: SampleCheck
    drift: Drift | None
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgeAssessment:
    """Judges beside human labels: ``labels`` by judge, ``measured`` by measure and judge, in order.

    ``human_means`` goes by measure, one mean per system; ``sizes`` are numbers of judged topics for which it is said
    what the topics with human labels are worth, first those of the judge. ``same_labels`` is the share of a judge's
    labels that are its earlier ones.
    """

    systems: tuple[str, ...]
    teams: tuple[str, ...]
    topics: tuple[str, ...]
    judged_topics: tuple[str, ...]
    measures: tuple[str, ...]
    judges: tuple[str, ...]
    labels: Mapping[str, GradeAgreement]
    same_labels: Mapping[str, float]
    measured: tuple[JudgeOnMeasure, ...]
    human_means: Mapping[str, Array]
    sizes: tuple[int, ...]
    alpha: float
    warnings: tuple[Caution, ...] = ()

    def of(self, judge: str, measure: str | None = None) -> JudgeOnMeasure:
        """One judge under one measure, by default the first."""
        asked = (judge, measure or self.measures[0])
        return next(row for row in self.measured if (row.judge, row.measure) == asked)


def assess_judges(
    human: LabelSet,
    judges: Mapping[str, LabelSet],
    *,
    earlier: Mapping[str, LabelSet] | None = None,
    teams: Mapping[str, str] | None = None,
    sizes: Sequence[int] = (),
    alpha: float = 0.05,
    resamples: int = RESAMPLES,
    seed: Seed = 1,
    progress: Progress | None = None,
) -> JudgeAssessment:
    """Compare judges' labels with human ones.

    Parameters
    ----------
    earlier
        Earlier label sets of judges of the same name, for drift.
    teams
        The team of every system: whole teams are then looked at too.
    sizes
        Numbers of judged topics to say the worth of human labels for, beside the topics that the judge has labelled.
    """
    labels, earlier = match_labels(human, judges), earlier or {}
    unknown = [name for name in earlier if name not in judges]
    if unknown:
        what = f"there are earlier labels of «{unknown[0]}», and no later ones"
        raise InputError(what, fix=f"Judges are: {', '.join(judges)}.")
    measures, names = labels.measures, [*judges, *([AVERAGE, COMBINATION] if len(judges) > 1 else [])]
    agreements = _agreements(labels, alpha)
    of_systems = [] if teams is None else _teams_of(labels.systems, teams)
    settings: dict[str, Any] = {"alpha": alpha, "resamples": resamples, "seed": seed}
    measured: list[JudgeOnMeasure] = []
    for measure in measures:
        for name, scores, weights in _judges_alone_and_together(labels, measure, seed):
            with naming(name):
                before = _scores_before(labels, earlier[name], measure) if name in earlier else None
                measured.append(_assess(name, measure, scores, weights, before, teams=of_systems, **settings))
            if progress is not None:
                progress(len(measured), len(measures) * len(names))
    cautions = [caution for name, agreement in agreements.items() for caution in _label_cautions(name, agreement)]
    for row in measured:
        cautions += [] if row.weights else row.sample.caution(row.judge, row.measure)
    return JudgeAssessment(
        systems=labels.systems,
        teams=tuple(dict.fromkeys(of_systems)),
        topics=labels.topics,
        judged_topics=labels.judged_topics,
        measures=measures,
        judges=tuple(names),
        labels=agreements,
        same_labels=_same_labels(labels, earlier),
        measured=tuple(measured),
        human_means={name: labels.human_scores(name).mean(axis=0) for name in measures},
        sizes=tuple(dict.fromkeys((len(labels.judged_topics), *sizes))),
        alpha=alpha,
        warnings=(*labels.warnings, *cautions),
    )


def _judges_alone_and_together(
    labels: MatchedLabels, measure: str, seed: Seed
) -> Iterator[tuple[str, JudgedScores, dict[str, float]]]:
    """Every judge, and of several their average and best combination, with the weights of the judges."""
    scores = labels.scores_by_judge(measure)
    for name, alone in scores.items():
        yield name, alone, {}
    if len(scores) > 1:
        every = [*scores.values()]
        for name, together in ((AVERAGE, average_judge(every)), (COMBINATION, best_combination(every, seed=seed))):
            yield name, together.scores, dict(zip(scores, together.weights.tolist(), strict=True))


def _assess(
    judge: str,
    measure: str,
    scores: JudgedScores,
    weights: Mapping[str, float],
    before: JudgedScores | None,
    *,
    teams: Sequence[str],
    alpha: float,
    **settings: Any,
) -> JudgeOnMeasure:
    """Everything about one judge and one measure."""
    human, beside = scores.human.mean(axis=0), scores.judge_beside_human.mean(axis=0)
    number = {team: at for at, team in enumerate(dict.fromkeys(teams))}
    groups = np.array([number[team] for team in teams])
    return JudgeOnMeasure(
        judge=judge,
        measure=measure,
        mean=float(beside.mean()),
        human_mean=float(human.mean()),
        means=beside,
        order=order_agreement(human, beside),
        correlation=difference_correlation(scores, alpha=alpha),
        favour=both_favours(scores, alpha=alpha, **settings),
        team_favour=both_favours(scores, groups=groups, alpha=alpha, **settings) if number else {},
        shares=rogan_gladen(scores) if are_passes(scores) and 0 < human.mean() < 1 else None,
        sample=check_sample(scores.judge.mean(axis=1), scores.rows),
        drift=None if before is None else drift(before, scores, alpha=alpha),
        weights=weights,
    )


def _scores_before(labels: MatchedLabels, earlier: LabelSet, measure: str) -> JudgedScores:
    lost = [topic for topic in labels.judged_topics if topic not in earlier.table.topics]
    if lost:
        raise InputError(
            f"{len(lost):,} topics have no earlier labels, such as {lost[0]}", fix="Give earlier labels for all topics."
        )
    return labels.scores(earlier, measure)


def _teams_of(systems: Sequence[str], teams: Mapping[str, str]) -> list[str]:
    """The team of every system."""
    names = [teams.get(system, "") for system in systems]
    if "" in names:
        raise InputError(f"«{systems[names.index('')]}» has no team", fix="Name the team of every system.")
    return names


# --- labels, document by document


def _agreements(labels: MatchedLabels, alpha: float) -> dict[str, GradeAgreement]:
    """Agreement of the labels of common topics with human ones, where there are some."""
    agreements = {}
    for name, judge in labels.judges.items():
        with naming(name):
            matched = _matched_grades(labels, labels.human, judge)
            if matched is not None:
                agreements[name] = grade_agreement(matched, alpha=alpha)
    return agreements


def _same_labels(labels: MatchedLabels, earlier: Mapping[str, LabelSet]) -> dict[str, float]:
    same = {}
    for name, before in earlier.items():
        with naming(name):
            matched = _matched_grades(labels, before, labels.judges[name])
            if matched is not None:
                same[name] = float((matched.human == matched.judge).mean())
    return same


def _matched_grades(labels: MatchedLabels, one: LabelSet, other: LabelSet) -> MatchedGrades | None:
    """Grades of the same documents, or scores as labels where they have few values."""
    if one.grades and other.grades:
        return match_grades(one.grades, other.grades, set(labels.topics))
    measure = one.table.measures[0]
    if measure not in other.table.measures:
        return None
    scores = [side.matrix(measure, labels.topics, labels.systems).ravel() for side in (one, other)]
    if len(np.unique(scores)) > MOST_LABELS:
        return None
    topic = np.repeat(np.arange(len(labels.topics)), len(labels.systems))
    return MatchedGrades(human=scores[0], judge=scores[1], topic=topic, unit="scores")


def _label_cautions(name: str, agreement: GradeAgreement) -> list[Caution]:
    cautions, (people, judge) = [], agreement.scales
    if len(judge) == 1:
        what = f"{name} gives every one of {agreement.documents:,} {agreement.unit} the grade {judge[0]:g}"
        cautions.append(Caution("constant-judge", what, "Check its file; such labels say nothing."))
    elif agreement.scales_differ:
        scales = [f"{grades[0]:g}–{grades[-1]:g}" for grades in (judge, people)]
        what = f"{name} has grades {scales[0]}, people {scales[1]}: κ and α take grades as they are"
        cautions.append(Caution("other-scale", what, "Map its grades to those of people, if they mean the same."))
    judged = agreement.documents + agreement.only_human
    if agreement.documents < COVERED * judged:
        what = (
            f"{name} has no label for {agreement.only_human:,} of {judged:,} documents that people judged; they count "
            "as not relevant under its labels"
        )
        cautions.append(Caution("labels-missing", what, "Let it judge the documents that people judged."))
    return cautions
