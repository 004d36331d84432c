"""What labels of a language model are worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.errors import RequestError
from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Counts, Input, NamedData, Param, question
from cranfield.results import Result
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from cranfield.methods.judging.assessment import JudgeAssessment


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class JudgesResult(Result):
    """Judges beside human labels, and the topics to label.

    Attributes
    ----------
    assessment
        Agreement, order of systems, correlation of differences and favour of every judge; None without human labels.
    drawn
        Topics that were drawn for people to label.
    judged_topics
        How many they were drawn from.
    """

    assessment: JudgeAssessment | None = None
    drawn: tuple[str, ...] = ()
    judged_topics: int = 0


@question(
    "Judges",
    examples=(
        "cranfield judges runs/ --qrels human.txt --judge llama=llama.txt --judge flan=flan.txt -m nDCG@10",
        "cranfield judges runs/ --judge llama=llama.txt --draw 30 --stratify -m nDCG@10",
        "cranfield judges human.csv --judge llama=llama.csv",
    ),
    charts=("worth", "agreement", "favour"),
    working="judging",
)
def judges(
    scores: Annotated[
        sources.ScoresLike,
        Input("Run files, with `qrels` for human judgments; or a score table under human labels.", metavar="SCORES"),
    ],
    *,
    judge: groups.JudgeLabels,
    qrels: sources.Qrels = None,
    measure: shared.Measures = None,
    earlier: Annotated[
        NamedData, Input("Earlier labels of a judge of the same name, to see how it drifted.", metavar="NAME=FILE")
    ] = None,
    topics: Annotated[
        Counts,
        Param(
            "Other numbers of topics labelled by the judge for which to report the effective number of human-labelled "
            "topics.",
            default="only those in its file",
            label="Topics labelled by the judge",
        ),
    ] = None,
    draw: Annotated[
        int | None,
        Param(
            "Draw this many topics, at random, for people to label.",
            label="Draw topics",
            ge=1,
            le=1_000_000_000,
            metavar="N",
        ),
    ] = None,
    stratify: Annotated[
        bool,
        Param(
            "Draw from five groups of topics, by the judge's mean score of a topic.",
            label="draw from groups",
            requires=("draw",),
        ),
    ] = False,
    alpha: shared.Alpha = 0.05,
    source: groups.TeamSource = None,
    resampling: groups.Resampled = None,
) -> JudgesResult:
    """What labels of a language model are worth: agreement with people, favoured systems, and the topics they save.

    What decides is the correlation of paired differences: by how much the difference of two systems under the judge's
    labels follows, from topic to topic, the one under human labels.

    Returns
    -------
    JudgesResult
        Every judge, and several judges as one, per measure; and the topics drawn.

    References
    ----------
    .. [1] W. G. Cochran, "Sampling Techniques", third edition, Wiley, 1977, chapter 12.
    .. [2] A. N. Angelopoulos, J. C. Duchi and T. Zrnic, "PPI++: Efficient prediction-powered inference", 2023.
    .. [3] W. Webber, A. Moffat and J. Zobel, "A similarity measure for indefinite rankings", TOIS, 2010.
    .. [4] E. Yilmaz, J. A. Aslam and S. Robertson, "A new rank correlation coefficient for information retrieval",
       SIGIR, 2008.

    Examples
    --------
    A judge that passes what people pass, and on one topic also what they do not:

    >>> import cranfield as cf
    >>> passes = {"a": "11101101", "b": "10100101", "c": "11101111"}
    >>> human = {name: {str(at): int(each) for at, each in enumerate(text)} for name, text in passes.items()}
    >>> model = {name: topics | {"3": 1} for name, topics in human.items()}
    >>> found = cf.judges(human, judge={"model": model}).assessment
    >>> round(found.labels["model"].kappa.value, 4)
    0.6538
    """
    read, random = groups.Source.of(source), groups.Resampling.of(resampling)
    teams, seed = read.teams, random.seed
    more: dict[str, Any] = {"measure": measure, **read.of_tables}
    labels = sources.load_label_sets(scores, judge, qrels=qrels, **more)
    drawn, judged = _drawn(labels.judges, draw, stratify=stratify, seed=seed)
    if labels.human is None:
        _check_draw(draw)
        return JudgesResult(drawn=drawn, judged_topics=judged, warnings=labels.warnings, seed=seed)
    from cranfield.formats.qrels import read_teams
    from cranfield.methods.contrasts.decisions import RESAMPLES
    from cranfield.methods.judging.assessment import assess_judges

    before = {} if earlier is None else sources.load_label_sets(scores, earlier, qrels=qrels, **more).judges
    sizes: Any = topics or ()
    assessment = assess_judges(
        labels.human,
        labels.judges,
        earlier=before,
        teams=None if teams is None else read_teams(teams),
        sizes=sizes,
        alpha=alpha,
        resamples=random.resamples or RESAMPLES,
        seed=seed,
        progress=listener(),
    )
    return JudgesResult(assessment=assessment, drawn=drawn, judged_topics=judged, warnings=labels.warnings, seed=seed)


def _check_draw(draw: int | None) -> None:
    if draw is None:
        raise RequestError(
            "a judge cannot be looked at without human labels",
            fix="Give them as `qrels`; or `draw` topics for people to label.",
        )


def _drawn(judges: Any, draw: int | None, *, stratify: bool, seed: int) -> tuple[tuple[str, ...], int]:
    """Topics for people to label, and how many they were drawn from: those that every judge has labelled."""
    if draw is None:
        return (), 0
    import numpy as np

    from cranfield.methods.judging.label_sets import common_names
    from cranfield.methods.judging.topic_draw import draw_topics

    topics = common_names([each.table.topics for each in judges.values()])
    first = next(iter(judges.values())).table
    means = first.select(measures=first.measures[:1], topics=topics).values.mean(axis=(0, 2, 3))
    chosen = draw_topics(np.asarray(means), draw, stratify=stratify, seed=seed)
    return tuple(topics[at] for at in chosen.tolist()), len(topics)
