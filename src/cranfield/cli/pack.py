"""cranfield pack"""

from __future__ import annotations

from typing import Annotated

import typer

from cranfield.cli import options


def pack(
    runs: options.Runs,
    out: Annotated[str, typer.Option("--out", "-o", help="Where to write the packed collection.", metavar="FILE")],
    qrels: options.Qrels = None,
    teams: options.Teams = None,
    intents: options.Intents = None,
    intent_probabilities: options.Probabilities = None,
    order: options.Ordering = options.OrderChoice.SCORE,
    name: options.Naming = options.NameChoice.AUTO,
    json: options.Json = False,
) -> None:
    """Pack runs, judgments and teams into one file that every command takes in their place and opens at once.

    Example: cranfield pack runs/ --qrels qrels.txt --teams teams.tsv -o trec8.cran
    """
    from cranfield.rendering.pack_document import pack_document

    collection = options.load_collection(
        runs, qrels=qrels, intents=intents, probabilities=intent_probabilities, teams=teams, order=order, name=name
    )
    collection.save(out)
    inputs = {"runs": runs, "qrels": qrels, "intents": intents, "teams": teams}
    options.output(pack_document(collection, out, inputs), options.Face.JSON if json else options.Face.TEXT)
