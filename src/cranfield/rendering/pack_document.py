"""The content of a packed collection as a document."""

from __future__ import annotations

from cranfield.questions.pack import PackResult
from cranfield.rendering.document import Column, Document, Table
from cranfield.rendering.views import View


def document(result: PackResult) -> Document:
    """Return the sizes of a packed file."""
    collection = result.collection
    row = {
        "file": result.file,
        "topics": len(collection.topics),
        "systems": len(collection.systems),
        "teams": 0 if collection.teams is None else len(set(collection.teams)),
        "documents": len(collection.documents),
        "retrieved": len(collection.arrays["list_documents"]),
        "judgments": len(collection.arrays["grade"]),
        "bytes": result.bytes,
    }
    columns = tuple(Column(word, word, "text" if word == "file" else "count") for word in row)
    sentence = f"Packed. Every command takes {result.file} in place of runs and judgments."
    return Document(
        method="pack",
        inputs=result.inputs,
        tables=[Table(columns, [tuple(row.values())])],
        rows=[row],
        sentence=sentence,
    )


VIEWS = {"PackResult": View(document)}
