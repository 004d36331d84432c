"""A collection without what cannot raise a score: only judgments with a grade above 0, and only the hits on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cranfield.collection.collection import Hits, View
from cranfield.types import Array

if TYPE_CHECKING:
    from cranfield.collection.collection import Collection


@dataclass(frozen=True, eq=False)
class RelevantOnly:
    """``view`` has the judgments worth something, topic by topic, best grade first; ``origin`` is which they are.

    Topic ``t`` owns judgments ``edges[t]`` to ``edges[t + 1]``, and they are its ideal list.
    """

    view: View
    origin: Array
    edges: Array


def keep_relevant(collection: Collection) -> RelevantOnly:
    """The collection reduced to documents with a grade above 0, for measures that look at nothing else."""
    grade, topic = np.asarray(collection.arrays["grade"]), collection.judged_topic
    worth = np.flatnonzero(grade > 0)
    origin = worth[np.lexsort((-grade[worth], topic[worth]))]
    number = np.full(len(grade), -1, np.int32)
    number[origin] = np.arange(len(origin), dtype=np.int32)
    hits = collection.hits("found")
    judgment = number[hits.judgment]
    there = judgment >= 0  # a hit may be worth something for an intent alone
    view = replace(
        collection.whole,
        unit=topic[origin],
        grade=grade[origin],
        intents=None,
        found=Hits(
            np.concatenate([[0], np.cumsum(there)])[hits.edges].astype(np.int64),
            hits.rank[there].astype(np.uint32),
            judgment[there].astype(np.uint32),
        ),
    )
    counts = np.bincount(topic[origin], minlength=len(collection.topics))
    return RelevantOnly(view, origin, np.concatenate([[0], np.cumsum(counts)]))
