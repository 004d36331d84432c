"""What judges' labels are worth beside human ones: agreement, order of systems, correlation of differences, favour."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield.errors import Caution, CranfieldError, InputError, RequestError, say_p, there_are
from cranfield.methods.contrasts.comparison import Comparison
from cranfield.methods.contrasts.gates import GateScores, GateVerdict, MarginGate, decide_gates
from cranfield.methods.judging.agreement import (
    GradeAgreement,
    Interval,
    MatchedGrades,
    OrderAgreement,
    ScaleDifference,
    compare_scales,
    grade_agreement,
    match_grades,
    order_agreement,
)
from cranfield.methods.judging.estimators import JudgedScores, judged_estimator
from cranfield.methods.judging.judge_effects import (
    RESAMPLES,
    DifferenceCorrelation,
    Drift,
    Favour,
    average_judge,
    best_combination,
    both_favours,
    difference_correlation,
    drift,
)
from cranfield.methods.judging.judged_comparison import compare_judged
from cranfield.methods.judging.passes import CorrectedShares, are_passes, rogan_gladen
from cranfield.methods.judging.topic_draw import SampleCheck, check_sample
from cranfield.runtime.random import Seed
from cranfield.scores import ScoreTable
from cranfield.scores.selection import REMEDY, check_balance
from cranfield.stats.family import DEFAULT_TEST
from cranfield.types import Array, Progress

FEWEST_TOPICS = 5
"""Topics with human labels below which nothing is said about a judge."""
MOST_LABELS = 20
"""Different scores up to which scores are taken for labels, such as pass and fail."""
AVERAGE, COMBINATION = "average", "best combination"
"""What several judges together are called."""
UNLIKE = 0.01
"""p below which topics with human labels are said to be no random sample of the judged ones."""
COVERED = 0.9
"""Share of the documents judged by people below which a judge is said to lack labels."""

Grade = tuple[str, str, float]


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelSet:
    """Scores of systems under one set of labels, and the labels themselves: (topic, document, grade), if known."""

    table: ScoreTable
    grades: Sequence[Grade] = ()

    def matrix(self, measure: str, topics: Sequence[str], systems: Sequence[str]) -> Array:
        """Topics × systems of a measure, in this order."""
        chosen = self.table.select(measures=[measure], topics=topics, systems=systems)
        return np.ascontiguousarray(chosen.of(measure), dtype=float)


@dataclass(frozen=True, eq=False, kw_only=True)
class Matched:
    """The systems that all label sets have, the topics of the judge, and those of them with human labels."""

    systems: tuple[str, ...]
    topics: tuple[str, ...]
    judged_topics: tuple[str, ...]
    warnings: tuple[Caution, ...] = ()

    def scores(self, human: LabelSet, judge: LabelSet, measure: str) -> JudgedScores:
        place = {topic: at for at, topic in enumerate(self.judged_topics)}
        return JudgedScores(
            human=human.matrix(measure, self.topics, self.systems),
            judge=judge.matrix(measure, self.judged_topics, self.systems),
            rows=np.array([place[topic] for topic in self.topics]),
        )


def match_labels(human: LabelSet, judges: Mapping[str, LabelSet], *, fewest: int = FEWEST_TOPICS) -> Matched:
    """Find what human and judges' labels have in common; too little is refused, and what is left out is said."""
    for each in (human, *judges.values()):
        if each.table.shards:
            raise InputError("there are several scores for each topic and system", fix=REMEDY)
        check_balance(each.table)
    systems = common_names([human.table.systems, *(each.table.systems for each in judges.values())])
    judged = common_names([each.table.topics for each in judges.values()])
    topics = common_names([human.table.topics, judged])
    if len(systems) < 2:
        raise InputError(
            f"human and judge's labels have {len(systems) or 'no'} system{'s' * (len(systems) != 1)} in common",
            fix="Score the same systems with both, under the same names.",
        )
    if len(topics) < fewest:
        raise InputError(
            f"{f'only {len(topics)}' if topics else 'no'} topic{'s have' if len(topics) != 1 else ' has'} both human "
            f"and judge's labels; at least {fewest} are required",
            fix="Label more topics by both. Topics must have the same names in both files.",
        )
    warnings = [
        *_left_out("system", human.table.systems, systems, "labelled by people only"),
        *_left_out("topic", human.table.topics, topics, "with human labels and without the judge's"),
    ]
    for name, each in judges.items():
        warnings += _left_out("system", each.table.systems, systems, f"labelled by {name} only")
        warnings += _left_out("topic", each.table.topics, judged, f"labelled by {name} and not by every judge")
    return Matched(systems=systems, topics=topics, judged_topics=judged, warnings=tuple(warnings))


def common_names(names: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The names that all have, in the order of the first."""
    shared = set(names[0]).intersection(*names[1:])
    return tuple(name for name in names[0] if name in shared)


def common_measures(sets: Sequence[LabelSet]) -> tuple[str, ...]:
    """The measures that all label sets have; none in common is refused."""
    found = common_names([each.table.measures for each in sets])
    if not found:
        raise InputError("the label sets have no measure in common", fix="Score them by the same measure.")
    return found


def _left_out(what: str, there: Sequence[str], kept: Sequence[str], which: str) -> list[Caution]:
    stays = set(kept)
    lost = [name for name in there if name not in stays]
    if not lost:
        return []
    named = ", ".join(lost[:3]) + (f" and {len(lost) - 3:,} more" if len(lost) > 3 else "")
    counted = f"{len(lost):,} {what}{'s' * (len(lost) != 1)}"
    verb = "are" if len(lost) != 1 else "is"
    return [Caution("labels-left-out", f"{counted} {which} {verb} left out ({named})", "Label them by both.")]


@dataclass(frozen=True, eq=False, kw_only=True)
class GradesOfJudge:
    """How far a judge's labels agree with human ones, document by document, or score by score where scores are labels.

    ``only_human`` and ``only_judge`` count documents of common topics that have a label of one of them only.
    """

    agreement: GradeAgreement
    scale: ScaleDifference
    only_human: int
    only_judge: int
    unit: str


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
    shares: CorrectedShares | None = None
    sample: SampleCheck | None = None
    drift: Drift | None = None
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgeAssessment:
    """Judges beside human labels: ``labels`` by judge, ``measured`` by measure and judge, in order.

    ``human_means`` goes by measure, one mean per system; ``sizes`` are numbers of judged topics for which it is said
    what the topics with human labels are worth, first those of the judge.
    """

    systems: tuple[str, ...]
    teams: tuple[str, ...]
    topics: tuple[str, ...]
    judged_topics: tuple[str, ...]
    measures: tuple[str, ...]
    judges: tuple[str, ...]
    labels: Mapping[str, GradesOfJudge]
    drifted_labels: Mapping[str, GradesOfJudge]
    measured: tuple[JudgeOnMeasure, ...]
    human_means: Mapping[str, Array]
    sizes: tuple[int, ...]
    alpha: float
    warnings: tuple[Caution, ...] = ()

    def of(self, judge: str, measure: str | None = None) -> JudgeOnMeasure:
        """One judge under one measure, by default the first."""
        wanted = measure or self.measures[0]
        return next(each for each in self.measured if each.judge == judge and each.measure == wanted)


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
    matched = match_labels(human, judges)
    measures = common_measures([human, *judges.values()])
    labels, warnings = _agreements(human, judges, matched)
    drifted = _agreements_over_time(judges, earlier or {}, matched)
    groups = _teams_of(matched.systems, teams)
    found: list[JudgeOnMeasure] = []
    names = [*judges, *([AVERAGE, COMBINATION] if len(judges) > 1 else [])]
    for measure in measures:
        scores = _scores_of(matched, human, judges, measure)
        several = _together(scores, seed) if len(scores) > 1 else {}
        for name, (each, weights) in {**{name: (each, {}) for name, each in scores.items()}, **several}.items():
            before = (earlier or {}).get(name)
            found.append(
                _named(
                    name,
                    _assess,
                    name,
                    measure,
                    each,
                    groups=groups,
                    earlier=None if before is None else _named(name, _scores_before, before, matched, measure),
                    weights=weights,
                    alpha=alpha,
                    resamples=resamples,
                    seed=seed,
                )
            )
            if progress is not None:
                progress(len(found), len(measures) * len(names))
    return JudgeAssessment(
        systems=matched.systems,
        teams=() if teams is None else tuple(dict.fromkeys(teams[each] for each in matched.systems)),
        topics=matched.topics,
        judged_topics=matched.judged_topics,
        measures=measures,
        judges=tuple(names),
        labels=labels,
        drifted_labels=drifted,
        measured=tuple(found),
        human_means={each: human.matrix(each, matched.topics, matched.systems).mean(axis=0) for each in measures},
        sizes=tuple(dict.fromkeys((len(matched.judged_topics), *sizes))),
        alpha=alpha,
        warnings=(*matched.warnings, *warnings, *_sample_cautions(found)),
    )


def _named(name: str, function: Any, *given: Any, **more: Any) -> Any:
    """What a function gives; its errors say which judge they are about."""
    try:
        return function(*given, **more)
    except CranfieldError as error:
        raise type(error)(f"judge «{name}»: {error.what}", where=error.where, fix=error.fix) from None


def _assess(
    judge: str,
    measure: str,
    scores: JudgedScores,
    *,
    groups: Array | None,
    earlier: Array | None,
    weights: Mapping[str, float],
    alpha: float,
    resamples: int,
    seed: Seed,
) -> JudgeOnMeasure:
    """Everything about one judge and one measure."""
    human, beside = scores.human.mean(axis=0), scores.judge_beside_human.mean(axis=0)
    settings: dict[str, Any] = {"alpha": alpha, "resamples": resamples, "seed": seed}
    return JudgeOnMeasure(
        judge=judge,
        measure=measure,
        mean=float(beside.mean()),
        human_mean=float(human.mean()),
        means=beside,
        order=order_agreement(human, beside),
        correlation=difference_correlation(scores, alpha=alpha),
        favour=both_favours(scores, **settings),
        team_favour={} if groups is None else both_favours(scores, groups=groups, **settings),
        shares=rogan_gladen(scores) if are_passes(scores) and 0 < human.mean() < 1 else None,
        sample=check_sample(scores.judge.mean(axis=1), scores.rows),
        drift=None
        if earlier is None
        else drift(earlier, scores.judge, human=scores.human, rows=scores.rows, alpha=alpha),
        weights=weights,
    )


def _scores_of(
    matched: Matched, human: LabelSet, judges: Mapping[str, LabelSet], measure: str
) -> dict[str, JudgedScores]:
    return {name: _named(name, matched.scores, human, each, measure) for name, each in judges.items()}


def _as_one(
    matched: Matched, human: LabelSet, judges: Mapping[str, LabelSet], measure: str, seed: Seed
) -> tuple[str, JudgedScores]:
    """The judge and its scores; several are combined, with weights from the topics with human labels."""
    scores = _scores_of(matched, human, judges, measure)
    if len(scores) == 1:
        return next(iter(scores.items()))
    return " + ".join(scores), _together(scores, seed)[COMBINATION][0]


def _together(scores: Mapping[str, JudgedScores], seed: Seed) -> dict[str, tuple[JudgedScores, dict[str, float]]]:
    """Several judges as one: their average, and the cross-fitted best combination."""
    first = next(iter(scores.values()))
    every = [each.judge for each in scores.values()]
    combined = {AVERAGE: average_judge(every), COMBINATION: best_combination(first.human, every, first.rows, seed=seed)}
    return {
        name: (
            JudgedScores(human=first.human, judge=each.judge, rows=first.rows),
            dict(zip(scores, each.weights.tolist(), strict=True)),
        )
        for name, each in combined.items()
    }


def _scores_before(earlier: LabelSet, matched: Matched, measure: str) -> Array:
    before = set(earlier.table.topics)
    lost = [topic for topic in matched.judged_topics if topic not in before]
    if lost:
        raise InputError(
            f"{len(lost):,} topics have no earlier labels, such as {lost[0]}", fix="Give earlier labels for all topics."
        )
    return earlier.matrix(measure, matched.judged_topics, matched.systems)


def _teams_of(systems: Sequence[str], teams: Mapping[str, str] | None) -> Array | None:
    """The number of the team of every system, in the order of their first systems."""
    if teams is None:
        return None
    names = [teams.get(each, "") for each in systems]
    if "" in names:
        raise InputError(f"«{systems[names.index('')]}» has no team", fix="Name the team of every system.")
    number = {name: at for at, name in enumerate(dict.fromkeys(names))}
    return np.array([number[name] for name in names])


# --- labels, document by document


def _agreements(
    human: LabelSet, judges: Mapping[str, LabelSet], matched: Matched
) -> tuple[dict[str, GradesOfJudge], list[Caution]]:
    found, warnings = {}, []
    for name, each in judges.items():
        labels = _named(name, _agreement, human, each, matched)
        if labels is not None:
            found[name] = labels
            warnings += _label_cautions(name, labels)
    return found, warnings


def _agreements_over_time(
    judges: Mapping[str, LabelSet], earlier: Mapping[str, LabelSet], matched: Matched
) -> dict[str, GradesOfJudge]:
    unknown = [name for name in earlier if name not in judges]
    if unknown:
        raise InputError(
            f"there are earlier labels of «{unknown[0]}», and no later ones", fix=f"Judges are: {', '.join(judges)}."
        )
    found = {name: _named(name, _agreement, each, judges[name], matched) for name, each in earlier.items()}
    return {name: each for name, each in found.items() if each is not None}


def _agreement(human: LabelSet, judge: LabelSet, matched: Matched) -> GradesOfJudge | None:
    """Agreement of the labels of common topics; None where there are none."""
    if human.grades and judge.grades:
        pairs, unit = _matched_documents(human.grades, judge.grades, set(matched.topics)), "documents"
    else:
        of_scores = _matched_scores(human, judge, matched)
        if of_scores is None:
            return None
        pairs, unit = of_scores, "scores"
    return GradesOfJudge(
        agreement=grade_agreement(pairs.human, pairs.judge, pairs.topic),
        scale=compare_scales(pairs.human, pairs.judge),
        only_human=pairs.only_human,
        only_judge=pairs.only_judge,
        unit=unit,
    )


def _matched_documents(human: Iterable[Grade], judge: Iterable[Grade], topics: set[str]) -> MatchedGrades:
    codes: list[dict[str, int]] = [{}, {}]
    columns = []
    for labels in (human, judge):
        kept = [each for each in labels if each[0] in topics]
        for at, known in enumerate(codes):
            columns.append(np.array([known.setdefault(str(each[at]), len(known)) for each in kept], np.int64))
        columns.append(np.array([each[2] for each in kept], float))
    return match_grades(*columns)


def _matched_scores(human: LabelSet, judge: LabelSet, matched: Matched) -> MatchedGrades | None:
    """Scores as labels, where they have few values."""
    measure = human.table.measures[0]
    if measure not in judge.table.measures:
        return None
    both = [each.matrix(measure, matched.topics, matched.systems) for each in (human, judge)]
    if len(np.unique(np.concatenate(both))) > MOST_LABELS:
        return None
    topic = np.repeat(np.arange(len(matched.topics)), len(matched.systems))
    return MatchedGrades(human=both[0].ravel(), judge=both[1].ravel(), topic=topic, only_human=0, only_judge=0)


def _label_cautions(name: str, labels: GradesOfJudge) -> list[Caution]:
    found, agreement = [], labels.agreement
    scales = [f"{grades[0]:g}–{grades[-1]:g}" for grades in (labels.scale.human, labels.scale.judge)]
    if len(labels.scale.judge) == 1:
        found.append(
            Caution(
                "constant-judge",
                f"{name} gives every one of {agreement.documents:,} {labels.unit} the grade {labels.scale.judge[0]:g}",
                "Check its file; such labels say nothing.",
            )
        )
    elif labels.scale.differ:
        found.append(
            Caution(
                "other-scale",
                f"{name} has grades {scales[1]}, people {scales[0]}: κ and α take grades as they are",
                "Map its grades to those of people, if they mean the same.",
            )
        )
    share = agreement.documents / (agreement.documents + labels.only_human)
    if share < COVERED:
        found.append(
            Caution(
                "labels-missing",
                f"{name} has no label for {labels.only_human:,} of {agreement.documents + labels.only_human:,} "
                "documents that people judged; they count as not relevant under its labels",
                "Let it judge the documents that people judged.",
            )
        )
    return found


def _sample_cautions(found: Sequence[JudgeOnMeasure]) -> list[Caution]:
    """Say where topics with human labels do not look like a random sample of the judged ones."""
    return [
        not_sampled(each.judge, each.measure, each.sample)
        for each in found
        if each.sample is not None and each.sample.p_value < UNLIKE and not each.weights
    ]


def not_sampled(judge: str, measure: str, sample: SampleCheck) -> Caution:
    """Say that topics with human labels differ from the others under the judge's labels."""
    return Caution(
        "not-sampled",
        f"the {sample.topics:,} topics with human labels do not look like a random sample of the "
        f"{sample.judged_topics:,} judged ones: their mean {measure} by {judge} is {sample.mean:.4f}, that of the "
        f"others {sample.other_mean:.4f} ({say_p(sample.p_value)})",
        "Draw the topics to label at random: `judges()` with `draw`.",
    )


# --- pilots


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedPilot:
    """Scores of a pilot under both label sets, and the correlation of their paired differences, with its interval."""

    scores: JudgedScores
    correlation: Interval


def judged_pilots(human: LabelSet, judges: Mapping[str, LabelSet], *, seed: Seed = 1) -> dict[str, JudgedPilot]:
    """By measure, a pilot with both label sets.

    Several judges are combined, with weights from the topics with human labels (cross-fitted).
    """
    matched, found = match_labels(human, judges), {}
    for measure in common_measures([human, *judges.values()]):
        name, used = _as_one(matched, human, judges, measure, seed)
        correlation = _named(name, difference_correlation, used).median
        found[measure] = JudgedPilot(scores=used, correlation=correlation)
    return found


# --- comparisons


def compare_labels(
    human: LabelSet,
    judges: Mapping[str, LabelSet],
    *,
    measure: str,
    estimator: str = "regression",
    test: str | None = None,
    correct: str | None = None,
    alpha: float = 0.05,
    baseline: Sequence[str] = (),
    resamples: int | None = None,
    sampled: bool = False,
    seed: int = 1,
    progress: Progress | None = None,
) -> dict[str, Comparison]:
    """Compare systems by human labels on some topics and judges' labels on all, and by either alone.

    Parameters
    ----------
    judges
        One label set by name; several are combined, with weights from the topics with human labels (cross-fitted).
    sampled
        Whether the topics with human labels are known to be a random sample of the judged ones.

    Returns
    -------
    dict
        By estimator: the one asked for first, then human labels alone and the judge's alone.
    """
    matched = match_labels(human, judges)
    name, used = _as_one(matched, human, judges, measure, seed)
    place = {system: at for at, system in enumerate(matched.systems)}
    unknown = [each for each in baseline if each not in place]
    if unknown:
        raise RequestError(f"there is no system «{unknown[0]}»", fix=there_are(matched.systems))
    sample = check_sample(used.judge.mean(axis=1), used.rows)
    settings: dict[str, Any] = {
        "names": matched.systems,
        "measure": measure,
        "judge": name,
        "test": test or DEFAULT_TEST,
        "correct": correct or "holm",
        "alpha": alpha,
        "baselines": [place[each] for each in baseline],
        "resamples": resamples or RESAMPLES,
        "seed": seed,
        "warnings": (*matched.warnings, *_about_sample(name, measure, sample, sampled=sampled)),
        "progress": progress,
    }
    names = dict.fromkeys((estimator, "human", "judge"))
    return {each: compare_judged(used, estimator=each, **settings) for each in names}


def gate_labels(
    human: LabelSet,
    judges: Mapping[str, LabelSet],
    gates: Sequence[MarginGate],
    comparison: Comparison,
    *,
    seed: int = 1,
    **asked: Any,
) -> tuple[list[GateVerdict], list[Caution]]:
    """The verdicts of gates by a comparison of `compare_labels`, and warnings; see `decide_gates`."""
    assert comparison.labels is not None
    matched, name = match_labels(human, judges), comparison.labels.estimator
    _, used = _as_one(matched, human, judges, comparison.measure, seed)
    found = GateScores(
        systems=matched.systems,
        scores=used.human,
        estimator=lambda contrasts: judged_estimator(used, contrasts, name),
        shares=np.full(used.topics, 1 / used.topics),
        note="" if name == "human" else f" with a judge ({name})",
    )
    return decide_gates(found, gates, comparison, measure=comparison.measure, seed=seed, **asked)


def _about_sample(judge: str, measure: str, sample: SampleCheck, *, sampled: bool) -> list[Caution]:
    """What is said about the topics with human labels."""
    found = [not_sampled(judge, measure, sample)] if sample.p_value < UNLIKE else []
    if not sampled and sample.judged_topics > sample.topics:
        found.append(
            Caution(
                "sample-assumed",
                f"the {sample.topics:,} topics with human labels are taken for a random sample of the "
                f"{sample.judged_topics:,} judged ones",
                "If they were drawn at random, say so with `sampled`; `judges()` with `draw` draws them.",
            )
        )
    return found
