"""A leaderboard, with what its order is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cranfield.errors import RequestError
from cranfield.methods.names import TestName
from cranfield.questions import shared_parameters as shared
from cranfield.questions import sources
from cranfield.questions.parameters import NamedData, Param, question
from cranfield.results import Result
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from cranfield.methods.meta_analysis.board import Board


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LeaderboardResult(Result):
    """One board per measure.

    Attributes
    ----------
    boards
        By measure: systems in order, the ranks that each may have, P(best), tiers, and every pair.
    """

    boards: Mapping[str, Board]


@question(
    "Leaderboard",
    examples=(
        "cranfield leaderboard board.csv --plot board.svg",
        "cranfield leaderboard board.csv --weights ArguAna=2",
        "cranfield leaderboard tasks.csv --columns topic=task,system=model,stratum=type --strata",
    ),
    charts=("ranks",),
    working="resampling",
)
def leaderboard(
    scores: Annotated[
        sources.ScoresLike,
        sources.Source("Score table of systems on tasks, which stand in the column of topics.", metavar="SCORES"),
    ],
    *,
    columns: sources.Columns = None,
    measure: shared.Measures = None,
    weights: Annotated[
        NamedData,
        Param(
            "Weight of a task in the mean; may be repeated.",
            default="that of a column weight=, else 1",
            metavar="TASK=WEIGHT",
        ),
    ] = None,
    strata: Annotated[
        bool,
        Param(
            "Order by the mean of the strata's means (stratum= in `columns`, such as task types), not by the mean over "
            "tasks.",
            label="mean of the strata's means",
        ),
    ] = False,
    test: Annotated[
        TestName | None,
        Param(
            "Test that separates systems.",
            default="max-t; t, each pair on the tasks that both have, with missing scores, clusters, strata or weights",
            metavar="NAME",
            titles=shared.TEST_CHOICES,
        ),
    ] = None,
    correct: shared.Correct = None,
    alpha: Annotated[
        float,
        Param(
            "Significance level; the ranks given hold together with probability 1 − α.",
            label="α",
            ge=shared.LEAST_ALPHA,
            lt=1,
        ),
    ] = 0.05,
    lower_is_better: shared.LowerIsBetter = False,
    resamples: shared.Resamples = None,
    seed: shared.Seed = 1,
) -> LeaderboardResult:
    """A leaderboard with the ranks that each system may have, tiers, P(best), and the tasks that decide who is first.

    Tasks are the sample: the board says what would hold on other tasks like these. Missing scores are allowed; two
    systems are compared on the tasks that both have.

    Returns
    -------
    LeaderboardResult
        One board per measure.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR, 2006.
    .. [2] M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for ranks with applications to mobility
       across neighbourhoods and academic achievement across countries", Review of Economic Studies, 2024.

    Examples
    --------
    >>> import cranfield as cf
    >>> tasks = {"t1": 0.1, "t2": 0.2, "t3": 0.3, "t4": 0.2, "t5": 0.1}
    >>> scores = {"a": {task: 0.6 + x for task, x in tasks.items()}, "b": {task: 0.5 + x for task, x in tasks.items()}}
    >>> scores["c"] = {task: 0.5 - x for task, x in tasks.items()}
    >>> board = cf.leaderboard(scores).boards["score"]
    >>> board.systems, board.tier.tolist()
    (('a', 'b', 'c'), [1, 1, 2])
    """
    from cranfield.methods.meta_analysis.board import make_board

    table = sources.load_scores(scores, columns=columns, measure=measure, missing=None)
    given = _numbers(sources.named_files(weights, "weights"))
    boards = {
        name: make_board(
            table,
            measure=name,
            weights=given,
            strata=strata,
            test=test,
            correct=correct,
            alpha=alpha,
            lower_is_better=lower_is_better,
            resamples=resamples,
            seed=seed,
            progress=listener(),
        )
        for name in table.measures
    }
    return LeaderboardResult(boards=boards, warnings=table.warnings, seed=seed)


def _numbers(weights: Mapping[str, object]) -> dict[str, float]:
    found = {}
    for task, weight in weights.items():
        try:
            found[task] = float(str(weight))
        except ValueError:
            raise RequestError(f"`weights` cannot be «{task}={weight}»", fix="Write TASK=WEIGHT.") from None
    return found
