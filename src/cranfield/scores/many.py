"""Scoring run files apart, a few at a time, wherever tasks run; only scores come back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cranfield.collection import read_collection
from cranfield.errors import RequestError
from cranfield.formats.text import STDIN, expand
from cranfield.measures import parse_measures
from cranfield.runtime.threads import tasks
from cranfield.scores.evaluation import score_collection
from cranfield.scores.table import ScoreTable
from cranfield.types import Progress

FILES_A_TASK = 4  # for this number of runs, reading the judgments again costs little


@dataclass(frozen=True)
class _Work:
    """How every file is read and scored."""

    measures: tuple[str, ...]
    qrels: str | None
    intents: str | None
    probabilities: str | None
    order: str
    name: str
    missing: str
    no_relevant: str


def score_files(
    runs: str | Path | Sequence[str | Path],
    qrels: str | Path | None = None,
    measures: Sequence[str] | str = "AP",
    *,
    intents: str | Path | None = None,
    probabilities: str | Path | None = None,
    order: str = "score",
    name: str = "auto",
    missing: str = "zero",
    no_relevant: str = "zero",
    progress: Progress | None = None,
) -> ScoreTable:
    """The same table as ``read_collection(runs, qrels).score(measures)``, a few files at a time.

    On a cluster the files are read where the tasks run, so that paths must lead to them there too.
    """
    files = expand([runs] if isinstance(runs, str | Path) else runs)
    if STDIN in files:
        raise RequestError("standard input cannot be read on another machine", fix="Name files.")
    judged = [None if path is None else str(path) for path in (qrels, intents, probabilities)]
    work = _Work(
        tuple(map(str, parse_measures(measures))), judged[0], judged[1], judged[2], order, name, missing, no_relevant
    )
    parts = [tuple(files[at : at + FILES_A_TASK]) for at in range(0, len(files), FILES_A_TASK)]
    if not parts:
        raise RequestError("no run was named", fix="Name run files, folders or patterns.")
    return _joined(tasks(_score_some, parts, shared=work, progress=progress))


def _score_some(work: _Work, files: tuple[str, ...]) -> ScoreTable:
    collection = read_collection(
        files, work.qrels, intents=work.intents, probabilities=work.probabilities, order=work.order, name=work.name
    )
    return score_collection(collection, work.measures, missing=work.missing, no_relevant=work.no_relevant)


def _joined(tables: Sequence[ScoreTable]) -> ScoreTable:
    """One table of all; a topic that one of them dropped is dropped from all."""
    names = [system for table in tables for system in table.systems]
    twice = [system for system, count in Counter(names).items() if count > 1]
    if twice:
        raise RequestError(f"two files hold a run called «{twice[0]}»", fix='Name systems after files: `name="file"`.')
    topics = [topic for topic in tables[0].topics if all(topic in table.topics for table in tables)]
    if not topics:
        raise RequestError("no topic is left to score", fix="Choose zero or nan for missing or no_relevant.")
    values = [table.values[:, [table.topics.index(topic) for topic in topics]] for table in tables]
    warnings = dict.fromkeys(warning for table in tables for warning in table.warnings)
    return ScoreTable(
        tables[0].measures, tuple(topics), tuple(names), np.concatenate(values, axis=2), warnings=tuple(warnings)
    )
