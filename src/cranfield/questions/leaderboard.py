"""A leaderboard, with what its order is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cranfield.errors import InputError, NoEffectError, RequestError
from cranfield.methods.names import RankName
from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Input, NamedData, Param, question
from cranfield.results import Result, rendering
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from cranfield.methods.boards.board import Board
    from cranfield.scores import ScoreTable


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LeaderboardResult(Result):
    """One board per measure.

    Attributes
    ----------
    boards
        By measure: systems in order, the ranks that each may have, who may be the best, and every pair; of several
        collections also the differences combined over them.
    """

    boards: Mapping[str, Board]

    def write_page(self, path: str) -> None:
        """Write the board as one HTML file that can be sorted and filtered, and that loads nothing from elsewhere."""
        rendering("board_page").write_page(self, path)


@question(
    "Leaderboard",
    examples=(
        "cranfield leaderboard board.csv --plot board.svg",
        "cranfield leaderboard board.csv -o board.html",
        "cranfield leaderboard tasks.csv --columns topic=task,system=model,stratum=type --strata",
        "cranfield leaderboard trec7.csv trec8.csv robust.csv --baseline bm25 --chart forest --plot forest.svg",
    ),
    charts=("ranks", "critical-difference", "forest"),
    working="resampling",
)
def leaderboard(
    scores: Annotated[
        sources.ScoresLike,
        Input(
            "Score table with tasks in the topic column; or several score tables with topics, one per collection.",
            metavar="SCORES",
        ),
    ],
    *,
    measure: shared.Measures = None,
    weights: Annotated[
        NamedData,
        Param(
            "Weight of a task, or of a collection, in the mean; may be repeated.",
            default="that of a column weight=, else 1",
            metavar="NAME=WEIGHT",
        ),
    ] = None,
    standardise: Annotated[
        Literal["none", "z"] | None,
        Param(
            "How scores on different scales are made comparable: z takes, within each task or topic, the score minus "
            "its mean over systems, divided by its sd.",
            default="none, with a warning if the scales differ much",
            metavar="NAME",
            titles={"": "not, with a warning if scales differ", "none": "not", "z": "z: within each task or topic"},
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        Param(
            "With several collections: the system whose difference from each other one is combined over them.",
            default="all pairs up to 10, else the first two systems",
            metavar="NAME",
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
    test: shared.ComparisonTest = None,
    correct: shared.Correct = None,
    alpha: shared.Alpha = 0.05,
    ranks: Annotated[
        RankName,
        Param(
            "Ranks that hold for each system by itself, from the tests of its own pairs, or for all systems together.",
            titles={"marginal": "each by itself", "simultaneous": "all together"},
        ),
    ] = "marginal",
    lower_is_better: shared.LowerIsBetter = False,
    source: Annotated[groups.SourceLike, groups.Fields(groups.Source, "columns")] = None,
    resampling: groups.Resampled = None,
) -> LeaderboardResult:
    """A leaderboard with the systems that may be the best, the ranks that each may have, and the tasks that decide.

    Tasks are the sample: the board says what would hold on other tasks like these. Missing scores are allowed; two
    systems are compared on the tasks that both have. Of several collections the score is the mean over collections of
    the means over topics, and the sample is the topics within these collections; differences of pairs are combined
    over collections, with a prediction interval for another one.

    Returns
    -------
    LeaderboardResult
        One board per measure.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR, 2006.
    .. [2] M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for ranks with applications to mobility
       across neighbourhoods and academic achievement across countries", Review of Economic Studies, 2024.
    .. [3] W. Webber, A. Moffat and J. Zobel, "Score standardization for inter-collection comparison of retrieval
       systems", SIGIR, 2008.
    .. [4] J. P. T. Higgins, S. G. Thompson and D. J. Spiegelhalter, "A re-evaluation of random-effects meta-analysis",
       Journal of the Royal Statistical Society A, 2009.

    Examples
    --------
    >>> import cranfield as cf
    >>> tasks = {"t1": 0.1, "t2": 0.2, "t3": 0.3, "t4": 0.2, "t5": 0.1}
    >>> scores = {"a": {task: 0.6 + x for task, x in tasks.items()}, "b": {task: 0.5 + x for task, x in tasks.items()}}
    >>> scores["c"] = {task: 0.5 - x for task, x in tasks.items()}
    >>> board = cf.leaderboard(scores).boards["score"]
    >>> board.systems, board.comparison.letters
    (('a', 'b', 'c'), ('a', 'a', 'b'))
    """
    from cranfield.methods.boards.board import make_board
    from cranfield.scores.quality import table_warnings

    random = groups.Resampling.of(resampling)
    tables = sources.load_score_tables(scores, columns=groups.Source.of(source).columns, measure=measure, missing=None)
    asked: dict[str, Any] = {
        "weights": _numbers(sources.named_files(weights, "weights")),
        "standardise": standardise,
        "test": test,
        "correct": correct,
        "alpha": alpha,
        "ranks": ranks,
        "lower_is_better": lower_is_better,
        "resamples": random.resamples,
        "seed": random.seed,
    }
    several = len(tables) > 1
    for name, has_no_effect in (("strata", strata and several), ("baseline", baseline is not None and not several)):
        if has_no_effect:
            one, other = "one board of tasks", "several collections"
            what = f"`{name}` has no effect on {other if several else one}"
            raise NoEffectError(what, parameter=name, fix=f"It goes with {one if several else other}.")
    if several:
        board_tables: Any = sources.collection_names(tables)
        measures = _common_measures(board_tables)
    else:
        (board_tables,) = tables.values()
        measures = board_tables.measures
    boards = {
        name: make_board(board_tables, measure=name, strata=strata, baseline=baseline, progress=listener(), **asked)
        for name in measures
    }
    return LeaderboardResult(boards=boards, warnings=table_warnings(tables), seed=random.seed)


def _common_measures(tables: Mapping[str, ScoreTable]) -> list[str]:
    first, *others = tables.values()
    common = [name for name in first.measures if all(name in table.measures for table in others)]
    if not common:
        raise InputError(
            "the tables have no measure in common", fix="Name the measure of each the same, or use `columns`."
        )
    return common


def _numbers(weights: Mapping[str, object]) -> dict[str, float]:
    found = {}
    for name, weight in weights.items():
        try:
            found[name] = float(str(weight))
        except ValueError:
            raise RequestError(f"`weights` cannot be «{name}={weight}»", fix="Write NAME=WEIGHT.") from None
    return found
