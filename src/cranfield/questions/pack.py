"""One file in place of runs, judgments and teams, or of a score table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.errors import NoEffectError, RequestError
from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Input, Names, Written, question
from cranfield.results import Result

if TYPE_CHECKING:
    from cranfield.collection import Collection
    from cranfield.scores import ScoreTable


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PackResult(Result):
    """What was packed, and the file.

    Attributes
    ----------
    collection
        The runs, judgments and teams; None where scores were packed.
    scores
        The score table; None where a collection was packed.
    file
        The packed file.
    bytes
        Its size.
    """

    collection: Collection | None = None
    scores: ScoreTable | None = None
    file: str
    bytes: int


@question(
    "Pack a collection or scores",
    examples=(
        "cranfield pack runs/ --qrels qrels.txt --teams teams.tsv -o trec8.cran",
        "cranfield pack scores.parquet -o scores.cran",
    ),
)
def pack(
    runs: Annotated[
        sources.RunsLike | sources.ScoresLike,
        Input(
            "Run files (also gzip), folders or patterns, - for standard input; or a score table; or a packed file.",
            metavar="RUNS",
        ),
    ],
    *,
    out: Annotated[str, Written("Where to write the packed file.", short="-o", metavar="FILE")],
    qrels: sources.Qrels = None,
    measure: shared.Measures = None,
    source: groups.PackedSource = None,
) -> PackResult:
    """Pack runs, judgments and teams, or a score table, into one file that loads quickly and replaces them.

    Every command that takes runs takes a packed collection, and every command that takes scores takes packed scores.
    A packed score file may be larger than memory: `compare`, `variance`, `size` and `power` read it a block of topics
    at a time.

    Returns
    -------
    PackResult
        What the file holds.

    Examples
    --------
    >>> import tempfile, cranfield as cf
    >>> folder = tempfile.mkdtemp()
    >>> example = cf.write_example(folder, seed=1)
    >>> packed = cf.pack(folder + "/runs", qrels=folder + "/qrels.txt", out=folder + "/example.cran")
    >>> len(packed.collection.systems), len(packed.collection.topics)
    (12, 40)

    >>> scores = cf.score(folder + "/example.cran", measure="AP").table
    >>> cf.pack(scores, out=folder + "/scores.cran").scores
    ScoreTable(AP: 40 topics, 12 systems)
    >>> cf.compare(folder + "/scores.cran").comparisons["AP"].topics
    40
    """
    from os.path import getsize

    read = groups.Source.of(source)
    columns, missing = read.columns, read.missing
    others: dict[str, Any] = {
        "qrels": qrels,
        "teams": read.teams,
        "intents": read.intents,
        "intent_probabilities": read.intent_probabilities,
    }
    is_judged = any(each is not None for each in others.values())
    if columns is not None or (not is_judged and sources.are_scores(runs)):
        _check_only_scores(
            **others,
            order=None if read.order == "score" else read.order,
            ties=None if read.ties == "docid" else read.ties,
            precision=None if read.precision == "double" else read.precision,
            name=None if read.name == "auto" else read.name,
        )
        table = _pack_scores(runs, out, columns=columns, measure=measure, missing=missing)
        return PackResult(scores=table, file=out, bytes=getsize(out), warnings=table.warnings)
    if measure or missing:
        what = "`measure` and `missing` have no effect on runs, which are scored later"
        raise NoEffectError(what, parameter="measure" if measure else "missing", fix="They go with a score table.")
    if not is_judged and _is_unknown(runs):
        raise RequestError(
            "by its first lines this is no score table, and runs cannot be scored without judgments",
            fix="With runs, give `qrels` or `intents`. With scores, give `columns`; `check()` says what a file is.",
        )
    collection = sources.load_collection(runs, **{**others, **read.of_runs})
    collection.save(out)
    return PackResult(collection=collection, file=out, bytes=getsize(out), warnings=tuple(collection.warnings))


def _is_unknown(runs: Any) -> bool:
    """Whether this is one plain file that is not packed: runs, or scores that were not taken for such."""
    from os.path import isfile

    from cranfield.formats.packed import is_packed

    paths = sources.paths_of(runs) or []
    return len(paths) == 1 and isfile(paths[0]) and not is_packed(paths[0])


def _check_only_scores(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            what = f"`{name}` has no effect on a score table"
            raise NoEffectError(what, parameter=name, fix="Leave it out, or give runs.")


def _pack_scores(scores: Any, out: str, *, columns: str | None, measure: Names, missing: str | None) -> ScoreTable:
    from cranfield.scores.score_files import pack_in_parts, pack_scores

    paths, measures = sources.paths_of(scores) or [], [measure] if isinstance(measure, str) else measure or []
    if len(paths) == 1 and columns is None and len(measures) <= 1:
        table = pack_in_parts(paths[0], out, measure=measures[0] if measures else None)
        if table is not None:
            return table
    table = sources.load_scores(scores, columns=columns, measure=measures or None, missing=missing)
    pack_scores(table, out)
    return table
