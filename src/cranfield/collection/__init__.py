"""Collections: integer-coded rankings and judgments in flat arrays."""

from cranfield.collection.collection import Collection, Contributors, Hits, Intents, View
from cranfield.collection.packed import open_collection
from cranfield.collection.readers import Judgments, Name, judgments, read_collection

__all__ = [
    "Collection",
    "Contributors",
    "Hits",
    "Intents",
    "Judgments",
    "Name",
    "View",
    "judgments",
    "open_collection",
    "read_collection",
]
