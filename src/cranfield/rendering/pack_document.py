"""The content of a packed collection as a document."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from cranfield.collection import Collection
from cranfield.rendering.document import Column, Document, Table


def pack_document(collection: Collection, path: str, inputs: Mapping[str, Any]) -> Document:
    """Return the sizes of a packed file."""
    row = {
        "file": path,
        "topics": len(collection.topics),
        "systems": len(collection.systems),
        "teams": 0 if collection.teams is None else len(set(collection.teams)),
        "documents": len(collection.documents),
        "retrieved": len(collection.arrays["list_documents"]),
        "judgments": len(collection.arrays["grade"]),
        "bytes": os.path.getsize(path),
    }
    columns = tuple(Column(word, word, "text" if word == "file" else "count") for word in row)
    sentence = f"Packed. Every command takes {path} in place of runs and judgments."
    return Document(
        "pack", inputs, [Table(columns, [tuple(row.values())])], [row], sentence, warnings=collection.warnings
    )
