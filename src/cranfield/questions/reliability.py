"""How reliable a collection is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Counts, Numbers, Param, about, question
from cranfield.results import Result
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from cranfield.methods.reliability import Reliability


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReliabilityResult(Result):
    """The reliability of collections by every method.

    Attributes
    ----------
    assessment
        Generalisability, swap rates, split halves, discriminative power and rankings, per collection and measure.
    """

    assessment: Reliability


@question(
    "Reliability",
    examples=("cranfield reliability scores.csv --drop 0.25 --plot reliability.html",),
    charts=("coefficients", "swaps", "sizes", "rankings", "p-values"),
    working="resampling",
)
def reliability(
    scores: sources.Scores,
    *,
    qrels: sources.Qrels = None,
    measure: shared.Measures = None,
    topics: Annotated[
        Counts,
        Param(
            "Numbers of topics to predict reliability for.",
            default="half, one, two and four times the number of topics",
            label="Predict for topics",
        ),
    ] = None,
    target: Annotated[
        Numbers, Param("Value that the coefficients of generalisability, Eρ² and Φ, should reach.", metavar="P")
    ] = 0.95,
    sets: Annotated[
        Counts,
        Param(
            "Sizes of the topic sets that are drawn at random.",
            default="five sizes up to half the topics",
            label="Sets",
        ),
    ] = None,
    drop: Annotated[
        float,
        Param(
            "Share of the systems, the worst ones, to leave out first.",
            label="Leave out worst",
            ge=0,
            lt=1,
            metavar="SHARE",
        ),
    ] = 0.0,
    test: shared.ComparisonTest = None,
    correct: shared.Correct = None,
    alpha: Annotated[
        float, about(shared.Alpha, help="Significance level, and the largest swap rate allowed.", lt=0.5)
    ] = 0.05,
    confidence: groups.Confidence = 0.95,
    trials: Annotated[
        int, Param("Number of random topic sets, and of random halvings, to draw.", ge=10, le=1_000_000)
    ] = 1000,
    replacement: Annotated[
        bool,
        Param(
            "Swaps: draw sets with replacement, as if these topics were the population.",
            label="draw sets with replacement",
        ),
    ] = False,
    unpaired: Annotated[
        bool, Param("Swaps: score the two systems of a pair on different topics.", label="topics of their own")
    ] = False,
    source: groups.TableSource = None,
    resampling: Annotated[
        groups.ResamplingLike, groups.Fields(groups.Resampling, "resamples", "seed", usual={"resamples": 10_000})
    ] = None,
) -> ReliabilityResult:
    """Reliability of a collection: generalisability, swaps, split halves, discriminative power, rankings.

    Returns
    -------
    ReliabilityResult
        Every method, per collection and measure.

    References
    ----------
    .. [1] R. L. Brennan, "Generalizability Theory", Springer, 2001.
    .. [2] E. M. Voorhees and C. Buckley, "The effect of topic set size on retrieval experiment error", SIGIR, 2002.
    .. [3] J. Urbano, M. Marrero and D. Martín, "On the measurement of test collection reliability", SIGIR, 2013.

    Examples
    --------
    The variance components of Brennan's synthetic data set 4 [1]_:

    >>> import cranfield as cf
    >>> topics = "5937937594 6345243894 5735937584 5733757783 5753737763 3531735565".split()
    >>> topics += "4534365566 5553737455 6765245355 7753755287 3513515111 3265324111".split()
    >>> scores = {f"p{at}": {str(n): float(row[at]) for n, row in enumerate(topics)} for at in range(10)}
    >>> found = cf.reliability(scores, trials=10, resampling={"resamples": 100})
    >>> [round(each.variance, 4) for each in found.assessment.get().generalisability.components]
    [0.6258, 0.884, 2.7872]
    """
    from cranfield.methods.reliability import assess_reliability

    random = groups.Resampling.of(resampling)
    tables = sources.load_tables(scores, qrels=qrels, measure=measure, **groups.Source.of(source).of_tables)
    lists: dict[str, Any] = {"topics": topics or (), "targets": target, "sizes": sets}
    found = assess_reliability(
        tables.by_name,
        **lists,
        test=test,
        correct=correct,
        alpha=alpha,
        confidence=confidence,
        drop=drop,
        trials=trials,
        resamples=cast("int", random.resamples),
        replacement=replacement,
        shared=not unpaired,
        seed=random.seed,
        progress=listener(),
    )
    return ReliabilityResult(assessment=found, warnings=tables.warnings, seed=random.seed)
