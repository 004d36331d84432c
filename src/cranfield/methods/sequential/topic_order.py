"""The order in which topics are judged: drawn at random before the first, recorded, and compared with what was added.

Every plan takes topics for a random sample, and a confidence sequence also takes them in the order they were added. An
order drawn beforehand makes that true whatever the order of the file they stand in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cranfield.errors import Caution, InputError, RequestError
from cranfield.formats.text import read_bytes, show
from cranfield.runtime import random


@dataclass(frozen=True, kw_only=True)
class TopicOrder:
    """Candidate topics in the order drawn for them, the seed, and the topics that were added out of it.

    Without candidates no order was recorded.
    """

    candidates: tuple[str, ...] = ()
    seed: int | None = None
    out_of_order: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """What a row of JSON has of it."""
        return {
            "order": "random" if self.candidates else "assumed random",
            "order_seed": self.seed,
            "candidates": len(self.candidates) or None,
            "out_of_order": len(self.out_of_order),
        }

    def sentence(self) -> str:
        """For the report of a study."""
        if not self.candidates:
            return "Topics are assumed to have been added in random order; the study recorded no order."
        kept = "" if not self.out_of_order else f"; {_topics(len(self.out_of_order))} did not follow it"
        return (
            f"The order of the topics was drawn at random from {len(self.candidates):,} candidates before the first "
            f"was judged (seed {self.seed}){kept}."
        )

    def cautions(self) -> tuple[Caution, ...]:
        """What a reader should know about topics that did not follow the order."""
        if not self.out_of_order:
            return ()
        count = len(self.out_of_order)
        what = (
            f"{_topics(count)} {'was' if count == 1 else 'were'} added out of the random order drawn for the study "
            f"(the first: {self.out_of_order[0]}), so that the sample may not be a random one"
        )
        return (Caution("out-of-order", what, "Say in the report why they were preferred to the topics before them."),)

    def remaining(self, added: Collection[str]) -> list[str]:
        """The candidates that have not been added, in their order."""
        present = set(added)
        return [topic for topic in self.candidates if topic not in present]

    def sorted_rows(self, rows: Sequence[tuple[str, float, float]]) -> list[tuple[str, float, float]]:
        """Rows of new topics in the order drawn, topics that are no candidates last; as they are without an order."""
        place = {topic: at for at, topic in enumerate(self.candidates)}
        return sorted(rows, key=lambda row: place.get(row[0], len(place)))

    def ahead(self, added: Collection[str], new: Collection[str]) -> list[str]:
        """Which of the new topics are not among the next candidates; none without an order."""
        if not self.candidates:
            return []
        due = set(self.remaining(added)[: len(new)])
        return [topic for topic in new if topic not in due]


def _topics(count: int) -> str:
    return "1 topic" if count == 1 else f"{count:,} topics"


def draw_order(topics: Sequence[str], *, seed: int = 1) -> TopicOrder:
    """A random order of candidate topics.

    >>> order = draw_order(["301", "302", "303", "304"], seed=1)
    >>> sorted(order.candidates), order.seed
    (['301', '302', '303', '304'], 1)
    """
    twice = [topic for topic, count in Counter(topics).items() if count > 1]
    if twice:
        raise RequestError(f"topic {twice[0]} is a candidate twice", fix="Name every topic once.")
    if len(topics) < 2:
        raise RequestError("an order needs two candidate topics or more", fix="Name all topics that may be judged.")
    places = random.generator(seed, "study", "order").permutation(len(topics))
    return TopicOrder(candidates=tuple(topics[at] for at in places.tolist()), seed=seed)


def read_topics(source: str | Path) -> tuple[str, ...]:
    """Topic identifiers, one per line: its first word. Empty lines and lines that begin with # are skipped."""
    try:
        lines = read_bytes(source).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError("this is not a list of topics", where=show(source), fix="Write one topic per line.") from None
    topics = tuple(line.split()[0] for line in lines if line.strip() and not line.lstrip().startswith("#"))
    if not topics:
        raise InputError("the list has no topics", where=show(source), fix="Write one topic per line.")
    return topics
