"""Scores of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cranfield.errors import RequestError
from cranfield.questions import sources
from cranfield.questions.parameters import Names, Param, question
from cranfield.results import Result
from cranfield.runtime.threads import is_elsewhere, listener

if TYPE_CHECKING:
    from cranfield.methods.comparison import Comparison
    from cranfield.scores import ScoreTable

Unscored = Literal["zero", "nan", "drop"]
USUAL = ("AP", "P@10", "nDCG@10")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScoreResult(Result):
    """Scores of every system on every topic.

    Attributes
    ----------
    table
        Scores by the measures asked for.
    shown
        The same with the measures that are shown beside them, such as the residual of RBP.
    comparisons
        With ``marks=True``, by measure: the systems compared by the default test of `compare`.
    """

    table: ScoreTable
    shown: ScoreTable
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)


@question(
    "Scores",
    examples=("cranfield score runs/ --qrels qrels.txt -m AP -m nDCG@10 -o scores.csv",),
    charts=("spread",),
    working="scoring runs",
    is_parallel=True,
)
def score(
    runs: sources.Runs,
    *,
    qrels: sources.Qrels = None,
    measure: Annotated[
        Names,
        Param(
            "A measure, such as AP, P@10 or nDCG(gains=exp)@10, or a set of measures, such as official or trec; "
            "may be repeated.",
            default="AP, P@10, nDCG@10",
            short="-m",
            metavar="NAME",
        ),
    ] = None,
    intents: sources.Intents = None,
    intent_probabilities: sources.IntentProbabilities = None,
    order: sources.Ordering = "score",
    ties: sources.Tying = "docid",
    precision: sources.Rounding = "double",
    name: sources.Naming = "auto",
    missing: Annotated[
        Unscored,
        Param(
            "Score of a judged topic for which a run returned nothing: 0, undefined, or the topic is left out.",
            label="A topic without results",
            titles={"zero": "counts as 0", "nan": "stays missing", "drop": "is dropped"},
        ),
    ] = "zero",
    no_relevant: Annotated[
        Unscored,
        Param(
            "Score of a topic without relevant documents: 0, undefined, or the topic is left out.",
            label="A topic without relevant documents",
            titles={"zero": "counts as 0", "nan": "stays missing", "drop": "is dropped"},
        ),
    ] = "zero",
    marks: Annotated[
        bool,
        Param(
            "Mark the best system, and which systems each is significantly better than, as in the table of a paper.",
            label="mark the best and what differs significantly",
        ),
    ] = False,
) -> ScoreResult:
    """Score runs against judgments: mean scores, and the scores on every topic.

    Returns
    -------
    ScoreResult
        The score table.

    References
    ----------
    .. [1] E. M. Voorhees and D. K. Harman (eds.), "TREC: Experiment and Evaluation in Information Retrieval", MIT
       Press, 2005.
    .. [2] W. B. Croft, D. Metzler and T. Strohman, "Search Engines: Information Retrieval in Practice",
       Addison-Wesley, 2010, Section 8.4.

    Examples
    --------
    Average precision of the two rankings in Figure 8.2 of [2]_, which are .78 and .52:

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import cranfield as cf
    >>> ranks = {"first": [1, 3, 4, 5, 6, 10], "second": [2, 5, 6, 7, 9, 10]}
    >>> with TemporaryDirectory() as folder:
    ...     run, qrels = Path(folder, "run"), Path(folder, "qrels")
    ...     lines = [f"{name} Q0 d{at} {at} {-at} demo" for name in ranks for at in range(1, 11)]
    ...     _ = run.write_text("\\n".join(lines))
    ...     _ = qrels.write_text("\\n".join(f"{name} 0 d{at} 1" for name in ranks for at in ranks[name]))
    ...     scores = cf.score(run, qrels=str(qrels), measure="AP").table
    >>> scores.of("AP").ravel().round(3)
    array([0.775, 0.521])
    """
    from cranfield.measures import parse_measures, with_companions

    wanted = parse_measures(measure or USUAL)
    names = [str(each) for each in wanted]
    shown = _score(
        runs,
        [str(each) for each in with_companions(wanted)],
        {"missing": missing, "no_relevant": no_relevant},
        qrels=qrels,
        intents=intents,
        intent_probabilities=intent_probabilities,
        order=order,
        ties=ties,
        precision=precision,
        name=name,
    )
    table = shown.select(measures=names)
    return ScoreResult(
        table=table,
        shown=shown,
        comparisons=_compared(table) if marks else {},
        inputs={"measure": names},
        warnings=shown.warnings,
    )


def _compared(table: ScoreTable) -> dict[str, Comparison]:
    """The systems compared by every measure that is a mean over topics."""
    from cranfield.methods.comparison.comparison import compare
    from cranfield.scores import check_balance
    from cranfield.scores.table import averaging

    if len(table.systems) < 2:
        raise RequestError("one system alone cannot be compared", fix="Leave out `marks`.")
    check_balance(table)
    means = [name for name in table.measures if averaging(name) == "mean"]
    return {name: compare(table, measure=name, progress=listener()) for name in means}


def _score(runs: Any, measures: list[str], policies: dict[str, str], **files: Any) -> ScoreTable:
    """Scores of the collection; of run files a few at a time where other processes do the work."""
    from cranfield.scores.evaluation import score_collection

    paths = sources.run_files(runs)
    if paths is None or not isinstance(files["qrels"], str | None) or not is_elsewhere():
        return score_collection(sources.load_collection(runs, **files), measures, **policies)
    from cranfield.scores.evaluation import score_files

    probabilities = files.pop("intent_probabilities")
    return score_files(paths, measures=measures, probabilities=probabilities, progress=listener(), **policies, **files)
