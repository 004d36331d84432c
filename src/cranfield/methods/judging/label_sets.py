"""Labels of people and of judges: what they have in common, and several judges as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from cranfield.errors import Caution, CranfieldError, InputError, RequestError
from cranfield.methods.judging.agreement import Grade, Interval
from cranfield.methods.judging.estimators import JudgedScores
from cranfield.methods.judging.judge_effects import difference_correlation
from cranfield.runtime.random import Seed, generator
from cranfield.scores import ScoreTable
from cranfield.scores.selection import REMEDY, check_balance
from cranfield.types import Array

FEWEST_TOPICS = 5
"""Topics with human labels below which nothing is said about a judge."""
AVERAGE, COMBINATION = "average", "best combination"
"""What several judges together are called."""
FOLDS = 5


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
class MatchedLabels:
    """Human and judges' labels: the systems that all have, the topics of all judges, and those that people labelled."""

    human: LabelSet
    judges: Mapping[str, LabelSet]
    systems: tuple[str, ...]
    topics: tuple[str, ...]
    judged_topics: tuple[str, ...]
    warnings: tuple[Caution, ...]

    @property
    def measures(self) -> tuple[str, ...]:
        return common_measures([self.human, *self.judges.values()])

    def human_scores(self, measure: str) -> Array:
        return self.human.matrix(measure, self.topics, self.systems)

    def scores(self, judge: LabelSet, measure: str) -> JudgedScores:
        """Scores under human labels, and under those of a judge."""
        place = {topic: row for row, topic in enumerate(self.judged_topics)}
        return JudgedScores(
            human=self.human_scores(measure),
            judge=judge.matrix(measure, self.judged_topics, self.systems),
            rows=np.array([place[topic] for topic in self.topics]),
        )

    def scores_by_judge(self, measure: str) -> dict[str, JudgedScores]:
        by_judge = {}
        for name, labels in self.judges.items():
            with naming(name):
                by_judge[name] = self.scores(labels, measure)
        return by_judge

    def as_one(self, measure: str, seed: Seed) -> tuple[str, JudgedScores]:
        """The judge and its scores; several are combined, with weights from the topics with human labels."""
        scores = self.scores_by_judge(measure)
        if len(scores) == 1:
            return next(iter(scores.items()))
        return " + ".join(scores), best_combination([*scores.values()], seed=seed).scores


def match_labels(human: LabelSet, judges: Mapping[str, LabelSet]) -> MatchedLabels:
    """Find what human and judges' labels have in common; too little is refused, and what is left out is said."""
    for labels in (human, *judges.values()):
        if labels.table.shards:
            raise InputError("there are several scores for each topic and system", fix=REMEDY)
        check_balance(labels.table)
    systems = common_names([human.table.systems, *(labels.table.systems for labels in judges.values())])
    judged = common_names([labels.table.topics for labels in judges.values()])
    topics = common_names([human.table.topics, judged])
    if len(systems) < 2:
        raise InputError(
            f"human and judge's labels have {len(systems) or 'no'} system{'s' * (len(systems) != 1)} in common",
            fix="Score the same systems with both, under the same names.",
        )
    if len(topics) < FEWEST_TOPICS:
        raise InputError(
            f"{f'only {len(topics)}' if topics else 'no'} topic{'s have' if len(topics) != 1 else ' has'} both human "
            f"and judge's labels; at least {FEWEST_TOPICS} are required",
            fix="Label more topics by both. Topics must have the same names in both files.",
        )
    warnings = [
        *_left_out("system", human.table.systems, systems, "labelled by people only"),
        *_left_out("topic", human.table.topics, topics, "with human labels and without the judge's"),
    ]
    for name, labels in judges.items():
        warnings += _left_out("system", labels.table.systems, systems, f"labelled by {name} only")
        warnings += _left_out("topic", labels.table.topics, judged, f"labelled by {name} and not by every judge")
    return MatchedLabels(
        human=human, judges=judges, systems=systems, topics=topics, judged_topics=judged, warnings=tuple(warnings)
    )


def common_names(names: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The names that all have, in the order of the first."""
    shared = set(names[0]).intersection(*names[1:])
    return tuple(name for name in names[0] if name in shared)


def common_measures(sets: Sequence[LabelSet]) -> tuple[str, ...]:
    """The measures that all label sets have; none in common is refused."""
    measures = common_names([labels.table.measures for labels in sets])
    if not measures:
        raise InputError("the label sets have no measure in common", fix="Score them by the same measure.")
    return measures


def _left_out(what: str, names: Sequence[str], kept: Sequence[str], which: str) -> list[Caution]:
    stays = set(kept)
    lost = [name for name in names if name not in stays]
    if not lost:
        return []
    named = ", ".join(lost[:3]) + (f" and {len(lost) - 3:,} more" if len(lost) > 3 else "")
    one, many = (f"1 {what} {which} is", f"{len(lost):,} {what}s {which} are")
    left_out = f"{one if len(lost) == 1 else many} left out ({named})"
    return [Caution("labels-left-out", left_out, "Label them by both.")]


@contextmanager
def naming(judge: str) -> Iterator[None]:
    """Errors say which judge they are about."""
    try:
        yield
    except CranfieldError as error:
        raise type(error)(f"judge «{judge}»: {error.what}", where=error.where, fix=error.fix) from None


@dataclass(frozen=True, eq=False, kw_only=True)
class CombinedJudge:
    """Several judges as one, with the weight of each: their mean over folds in a cross-fitted combination."""

    scores: JudgedScores
    weights: Array


def average_judge(judges: Sequence[JudgedScores]) -> CombinedJudge:
    """The mean of several judges' scores."""
    mean = np.mean([scores.judge for scores in judges], axis=0)
    return CombinedJudge(scores=replace(judges[0], judge=mean), weights=np.full(len(judges), 1 / len(judges)))


def best_combination(judges: Sequence[JudgedScores], *, seed: Seed = 1) -> CombinedJudge:
    """The linear combination of judges that best explains human differences, cross-fitted.

    A topic with human labels takes the weights that the other folds of such topics give, so that its own labels have no
    part in what the judges say of it; a topic without takes their mean. The weights minimise the squared residuals of
    the differences of all pairs together, and are not limited to positive ones.

    References
    ----------
    - T. Zrnic and E. J. Candès, "Cross-prediction-powered inference", PNAS 121 (2024), e2322083121.
    """
    human, rows, n = judges[0].human, judges[0].rows, judges[0].topics
    if n < 4:
        raise RequestError("a combination takes four topics with human labels, in two folds or more", fix="Label more.")
    folds = min(FOLDS, n)
    fold = generator(seed, "judges", "folds").permutation(np.arange(n) % folds)
    scores = np.stack([other.judge for other in judges], axis=-1)
    weights = np.array([_best_weights(human[fold != at], scores[rows[fold != at]]) for at in range(folds)])
    mean = weights[fold].mean(axis=0)  # as the topics with human labels have them
    combined = scores @ mean
    combined[rows] = np.einsum("tsj,tj->ts", scores[rows], weights[fold])
    return CombinedJudge(scores=replace(judges[0], judge=combined), weights=mean)


def _best_weights(human: Array, scores: Array) -> Array:
    """Least squares of all pairs' differences about their means, which is that of doubly centred scores."""
    columns = scores.reshape(*human.shape, -1)
    d, e = (table - table.mean(axis=1, keepdims=True) for table in (human, columns))
    d, e = (table - table.mean(axis=0) for table in (d, e))
    return np.asarray(np.linalg.lstsq(e.reshape(d.size, -1), d.ravel(), rcond=1e-9)[0])


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedPilot:
    """Scores of a pilot under both label sets, and the correlation of their paired differences, with its interval."""

    scores: JudgedScores
    correlation: Interval


def judged_pilots(human: LabelSet, judges: Mapping[str, LabelSet]) -> dict[str, JudgedPilot]:
    """By measure, a pilot with both label sets; several judges are combined."""
    labels, pilots = match_labels(human, judges), {}
    for measure in labels.measures:
        name, scores = labels.as_one(measure, seed=1)
        with naming(name):
            pilots[measure] = JudgedPilot(scores=scores, correlation=difference_correlation(scores).median)
    return pilots
