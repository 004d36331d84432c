"""Scores of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from os.path import isfile
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.errors import RequestError
from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Names, Param, about, question
from cranfield.results import Result
from cranfield.runtime.threads import is_elsewhere, listener

if TYPE_CHECKING:
    from cranfield.methods.contrasts import Comparison
    from cranfield.scores import ScoreTable

USUAL = ("AP", "P@10", "nDCG@10")
WITH_RELSTRINGS = {"all_trec", "trec"}  # sets of measures in which trec_eval has ``relstring``, which is no number


@dataclass(frozen=True)
class Standards:
    """What a dataset of ir_datasets says about its evaluation.

    Attributes
    ----------
    dataset
        Its name, as ``irds:NAME``.
    measures
        Its official measures; their ``rel`` is the lowest grade that counts as relevant.
    unknown
        Official measures that are not in the catalogue.
    grades
        What each grade means, highest first.
    """

    dataset: str
    measures: tuple[str, ...]
    unknown: tuple[str, ...]
    grades: Mapping[str, str]

    @classmethod
    def of(cls, qrels: Any) -> Standards | None:
        """The standards of judgments that come from ir_datasets; None where that names no measure that is known."""
        from cranfield.collection import Judgments
        from cranfield.collection.objects import dataset_standards
        from cranfield.formats.text import is_dataset

        qrels = qrels.source if isinstance(qrels, Judgments) else qrels
        if not is_dataset(qrels):
            return None
        official, meanings = dataset_standards(qrels)
        known = [name for name in official if _is_measure(name)]
        others = tuple(name for name in official if name not in known)
        grades = {f"{grade:g}": meanings[grade] for grade in sorted(meanings, reverse=True)}
        return cls(qrels, tuple(known), others, grades) if known else None

    def sentence(self) -> str:
        """Where the measures come from."""
        grades = ", ".join(f"{grade} {meaning.partition(':')[0].strip()}" for grade, meaning in self.grades.items())
        text = f"These are the official measures of {self.dataset}" + (
            f", whose grades are: {grades}." if grades else "."
        )
        return text + (f" Not in the catalogue: {', '.join(self.unknown)}." if self.unknown else "")


def _is_measure(name: str) -> bool:
    from cranfield.measures import parse_measure

    try:
        parse_measure(name)
    except RequestError:
        return False
    return True


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScoreResult(Result):
    """Scores of every system on every topic.

    Attributes
    ----------
    table
        Scores by the measures asked for.
    shown
        The same with the measures that are shown beside them, such as the residual of RBP.
    relstrings
        The grades of the first ten documents on every topic, as trec_eval writes them: of one run, with all measures
        of trec_eval.
    standards
        The dataset whose official measures these are; None where measures were named, or nothing says which they are.
    comparisons
        With ``marks=True``, by measure: the systems compared by the default test of `compare`.
    """

    table: ScoreTable
    shown: ScoreTable
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)
    relstrings: Mapping[str, str] = field(default_factory=dict)
    standards: Standards | None = None

    def to_trec_eval(self, *, per_topic: bool = False) -> str:
        """The lines that trec_eval prints for one run, with those of every topic before the means as an option.

        Sets of measures (official, all_trec, set) have the line of the run's name, single measures do not.
        """
        from cranfield.scores.score_files import trec_eval_lines

        with_run = "NumQ" in self.table.measures  # which is in each of those sets, as that line is
        return "".join(trec_eval_lines(self.table, per_topic=per_topic, with_run=with_run, relstrings=self.relstrings))


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
        about(
            shared.Measures,
            help="A measure, such as AP, P@10 or nDCG(gains=exp)@10, or a set of measures, such as official or trec; "
            "may be repeated.",
            default="the official measures of irds:NAME, otherwise AP, P@10, nDCG@10",
        ),
    ] = None,
    no_relevant: Annotated[
        groups.UnscoredName,
        Param(
            "Score of a topic without relevant documents: 0, undefined, or the topic is left out.",
            label="A topic without relevant documents",
            titles=groups.UNSCORED_TITLES,
        ),
    ] = "zero",
    marks: Annotated[
        bool,
        Param(
            "Mark the best system, and which systems each is significantly better than, as in the table of a paper.",
            label="mark the best and what differs significantly",
        ),
    ] = False,
    source: groups.ScoredSource = None,
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

    read = groups.Source.of(source)
    standards = Standards.of(qrels) if measure is None else None
    wanted = parse_measures(measure or (standards.measures if standards else USUAL))
    names = [str(each) for each in wanted]
    shown, texts = _score(
        runs,
        [str(each) for each in with_companions(wanted)],
        {"missing": str(read.missing), "no_relevant": no_relevant},
        # all runs are looked at
        together=str(read.ties) == "average" or any(each.kind.compares_runs for each in wanted),
        with_relstrings=not WITH_RELSTRINGS.isdisjoint(measure or ()),
        qrels=qrels,
        intents=read.intents,
        intent_probabilities=read.intent_probabilities,
        order=read.order,
        ties=read.ties,
        precision=read.precision,
        name=read.name,
    )
    table = shown.select(measures=names)
    return ScoreResult(
        table=table,
        shown=shown,
        comparisons=_compared(table) if marks else {},
        relstrings=texts,
        standards=standards,
        inputs={"measure": names, **_metadata(runs), **({"standards": asdict(standards)} if standards else {})},
        warnings=shown.warnings,
    )


def _compared(table: ScoreTable) -> dict[str, Comparison]:
    """The systems compared by every measure that is a mean over topics."""
    from cranfield.methods.contrasts.comparing import compare
    from cranfield.scores import check_balance
    from cranfield.scores.table import averaging

    if len(table.systems) < 2:
        raise RequestError("one system alone cannot be compared", fix="Leave out `marks`.")
    check_balance(table)
    means = [name for name in table.measures if averaging(name) == "mean"]
    return {name: compare(table, measure=name, progress=listener()) for name in means}


def _metadata(runs: Any) -> dict[str, Any]:
    """What the comments at the head of run files say, by file, if any has them."""
    from cranfield.formats.run_metadata import head_metadata
    from cranfield.formats.text import expand, read_head

    files = filter(isfile, expand(sources.run_files(runs) or ()))  # a pipe has been read
    found = {file: said for file in files if (said := head_metadata(read_head(file, 50_000)))}
    return {"metadata": found} if found else {}


def _score(
    runs: Any, measures: list[str], policies: dict[str, str], *, together: bool, with_relstrings: bool, **files: Any
) -> tuple[ScoreTable, dict[str, str]]:
    """Scores of the collection, and ``relstring``.

    Run files are read a few at a time where other processes do the work, if not all have to be looked at ``together``.
    """
    from cranfield.scores.evaluation import relstrings, score_collection, score_files

    paths = sources.run_files(runs)
    if paths is None or together or not isinstance(files["qrels"], str | None) or not is_elsewhere():
        collection = sources.load_collection(runs, **files, only_judged=not together)
        texts = relstrings(collection) if with_relstrings and len(collection.systems) == 1 else {}
        return score_collection(collection, measures, **policies), texts
    probabilities = files.pop("intent_probabilities")
    found = score_files(paths, measures=measures, probabilities=probabilities, progress=listener(), **policies, **files)
    return found, {}
