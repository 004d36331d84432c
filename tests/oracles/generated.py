"""Small collections drawn at random, written to real files and read back, to hold against other programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import Phase, assume, settings
from hypothesis import strategies as st

import cranfield
from cranfield.scores.evaluation import score_collection
from sizes import examples_of

Judgments = Mapping[str, Mapping[str, int]]  # topic → document → grade
Run = Mapping[str, Mapping[str, float]]  # topic → document → score
IntentRow = tuple[str, str, str, int]  # topic, intent, document, grade

# Ids whose order as text, as bytes and as numbers differs, so that a tie broken the wrong way shows.
DOCUMENTS = tuple(f"{letter}{number}" for letter in ("d", "D", "ä") for number in (1, 10, 2, 21, 3, 4, 5, 6))
TOPICS = ("9", "10", "51", "200")  # as text 10 comes before 9
UNKNOWN_TOPIC = "777"
INTENTS = ("1", "2", "3", "10")

# Few values, so that ties are common; quarters, so that single precision holds them exactly.
SCORES = st.integers(-6, 10).map(lambda quarters: quarters / 4)
GRADES = (-2, -1, 0, 0, 1, 1, 2, 3, 4)
INTENT_GRADES = (-1, 0, 1, 1, 2, 3)


def examples(count: int) -> settings:
    """So many examples, the same ones every time."""
    # Explaining a failure runs thousands of examples more than finding the smallest one.
    phases = [phase for phase in Phase if phase is not Phase.explain]
    return settings(max_examples=examples_of(count), deadline=None, derandomize=True, phases=phases)


@dataclass(frozen=True)
class Generated:
    """Judgments and runs as plain dicts, which most other programs take as they are."""

    qrels: Judgments
    runs: Mapping[str, Run]
    intents: Sequence[IntentRow] = ()
    probabilities: Mapping[tuple[str, str], float] | None = None

    def only_topics(self, topics: Iterable[str]) -> Generated:
        """The same collection with fewer topics."""
        kept = set(topics)
        return replace(
            self,
            qrels={topic: rows for topic, rows in self.qrels.items() if topic in kept},
            runs={system: {topic: run[topic] for topic in run if topic in kept} for system, run in self.runs.items()},
            intents=[row for row in self.intents if row[0] in kept],
        )


@st.composite
def collections(
    draw: st.DrawFn,
    *,
    grades: Sequence[int] = GRADES,
    with_intents: bool = False,
    most_topics: int = 3,
    most_systems: int = 2,
) -> Generated:
    """Ties, short lists, unjudged documents, barren topics, topics a run lacks and topics nobody judged."""
    topics = draw(st.lists(st.sampled_from(TOPICS), min_size=1, max_size=most_topics, unique=True))
    documents = st.sampled_from(DOCUMENTS)
    judged = st.dictionaries(documents, st.sampled_from(grades), min_size=1, max_size=16)
    returned = st.dictionaries(documents, SCORES, min_size=1, max_size=len(DOCUMENTS))
    systems = [f"run{number}" for number in range(draw(st.integers(1, most_systems)))]
    runs = {}
    for system in systems:
        known = draw(st.lists(st.sampled_from(topics), min_size=1, max_size=len(topics), unique=True))
        unknown = draw(st.sampled_from([[], [], [UNKNOWN_TOPIC]]))
        runs[system] = {topic: draw(returned) for topic in [*known, *unknown]}
    intents: list[IntentRow] = []
    for topic in topics if with_intents else ():
        pairs = st.tuples(st.sampled_from(INTENTS), documents)
        rows = draw(st.dictionaries(pairs, st.sampled_from(INTENT_GRADES), min_size=1, max_size=20))
        intents += [(topic, intent, document, grade) for (intent, document), grade in rows.items()]
    qrels = {topic: draw(judged) for topic in topics}
    assume(any(grade >= 0 for rows in qrels.values() for grade in rows.values()))  # something was judged at all
    return Generated(qrels, runs, intents)


def read(made: Generated, **more: Any) -> cranfield.Collection:
    """Write a collection to files and read them."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_files(made, folder)
        return cranfield.read_collection(
            folder / "runs",
            folder / "qrels" if made.qrels else None,
            intents=folder / "intents" if made.intents else None,
            probabilities=folder / "probabilities" if made.probabilities else None,
            **more,
        )


def write_files(made: Generated, folder: Path) -> None:
    """The files ``qrels``, ``intents`` and ``probabilities``, and the folder ``runs``."""
    _write(folder / "qrels", (f"{t} 0 {d} {grade}" for t, rows in made.qrels.items() for d, grade in rows.items()))
    for system, run in made.runs.items():
        _write(folder / "runs" / system, _run_lines(run, system))
    _write(folder / "intents", (f"{t} {intent} {d} {grade}" for t, intent, d, grade in made.intents))
    _write(folder / "probabilities", (f"{t} {intent} {p!r}" for (t, intent), p in (made.probabilities or {}).items()))


def _write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _run_lines(run: Run, system: str) -> list[str]:
    """One document of each topic in turn, so that topics stand apart in the file; the ranks say nothing true."""
    lists = [[(topic, document, score) for document, score in rows.items()] for topic, rows in run.items()]
    turns = [rows[turn] for turn in range(max(map(len, lists))) for rows in lists if turn < len(rows)]
    return [f"{topic} Q0 {document} {rank} {score!r} {system}" for rank, (topic, document, score) in enumerate(turns)]


def scores(made: Generated, *measures: str) -> dict[tuple[str, str], list[float]]:
    """(system, topic) → what each measure says."""
    table = score_collection(read(made), measures)
    return {
        (system, topic): table.values[:, t, s, 0].tolist()
        for t, topic in enumerate(table.topics)
        for s, system in enumerate(table.systems)
    }


def ranking(scored: Mapping[str, float]) -> list[str]:
    """A list in the order it should have, found without the library: score, then id, both descending."""
    return sorted(scored, key=lambda document: (scored[document], document.encode()), reverse=True)
