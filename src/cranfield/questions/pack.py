"""One file in place of runs, judgments and teams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cranfield.questions import sources
from cranfield.questions.parameters import Source, question
from cranfield.results import Result

if TYPE_CHECKING:
    from cranfield.collection import Collection


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PackResult(Result):
    """What was packed (``collection``), and the file."""

    collection: Collection
    file: str
    bytes: int


@question("Pack a collection", examples=("cranfield pack runs/ --qrels qrels.txt --teams teams.tsv -o trec8.cran",))
def pack(
    runs: sources.Runs,
    *,
    out: Annotated[str, Source("Where to write the packed collection.", short="-o", metavar="FILE")],
    qrels: sources.Qrels = None,
    teams: sources.Teams = None,
    intents: sources.Intents = None,
    intent_probabilities: sources.IntentProbabilities = None,
    order: sources.Ordering = "score",
    name: sources.Naming = "auto",
) -> PackResult:
    """Pack runs, judgments and teams into one file that every command takes in their place and opens at once.

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
    """
    from os.path import getsize

    collection = sources.load_collection(
        runs,
        qrels=qrels,
        intents=intents,
        intent_probabilities=intent_probabilities,
        teams=teams,
        order=order,
        name=name,
    )
    collection.save(out)
    return PackResult(collection=collection, file=out, bytes=getsize(out), warnings=tuple(collection.warnings))
