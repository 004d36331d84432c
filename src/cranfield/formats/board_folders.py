"""Folders of results as the MTEB benchmark writes them: MODEL/REVISION/TASK.json, one file per model and task."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cranfield.errors import InputError
from cranfield.formats.records import decoded, load_json
from cranfield.formats.text import read_bytes, show

EXTERNAL = "external"
"""The revision of results that somebody else reported."""
MEASURE = "main_score"
_SUBSETS = ("default", "en", "en-en")  # of a task with several: the first of these, else the mean over all


@dataclass(frozen=True)
class BoardFolder:
    """The scores of a folder (model, task, score), and what was decided in reading them."""

    rows: tuple[tuple[str, str, float], ...]
    external: tuple[str, ...]  # tasks of models, of which only somebody else's result is there
    averaged: tuple[str, ...]  # tasks of models, of which several subsets were averaged
    replaced: tuple[str, ...]  # tasks of models with results of several revisions


def is_board_folder(path: str) -> bool:
    """Whether a folder has results in it, two folders down."""
    return os.path.isdir(path) and next(_result_files(path), None) is not None


def _result_files(path: str) -> Iterator[Path]:
    for file in sorted(Path(path).glob("*/*/*.json")):
        if file.name != "model_meta.json":
            yield file


def is_model_folder(path: str) -> bool:
    """Whether a folder has results or samples of lm-evaluation-harness, one folder down."""
    return os.path.isdir(path) and any(model_files(path, pattern) for pattern in _LM_EVAL)


_LM_EVAL = ("samples_*.jsonl", "results_*.json")


def model_files(path: str, pattern: str) -> list[Path]:
    """The files of every model, the oldest first: dates are in their names."""
    return sorted(Path(path).glob(f"*/{pattern}"))


def read_board_folder(path: str) -> BoardFolder:
    """Read all results of a folder.

    Of several revisions the last counts, in the order of their names, and somebody else's (``external``) only where
    there is none. Of several subsets of a task ``default`` counts, or the English one (``en``, ``en-en``),
    else their mean.
    """
    found: dict[tuple[str, str], list[tuple[str, float]]] = {}
    averaged: list[str] = []
    for file in _result_files(path):
        model, revision = file.parent.parent.name, file.parent.name
        content = load_json(decoded(read_bytes(file), show(file)), show(file))
        task, score, several = main_score(content, show(file))
        if several:
            averaged.append(f"{model} on {task}")
        found.setdefault((model, task), []).append((revision, score))
    rows, external, replaced = [], [], []
    for (model, task), results in sorted(found.items()):
        own = [each for each in results if each[0] != EXTERNAL]
        rows.append((model, task, (own or results)[-1][1]))
        if not own:
            external.append(f"{model} on {task}")
        if len(results) > 1:
            replaced.append(f"{model} on {task}")
    return BoardFolder(tuple(rows), tuple(external), tuple(averaged), tuple(replaced))


def main_score(content: Any, file: str) -> tuple[str, float, bool]:
    """The task of a result, its score, and whether that is a mean."""
    scores = content.get("scores") if isinstance(content, Mapping) else None
    task = content.get("task_name") if isinstance(content, Mapping) else None
    if not isinstance(scores, Mapping) or not scores or not isinstance(task, str) or not task:
        raise InputError("this is no result of a task", where=file, fix="It should have «task_name» and «scores».")
    entries = scores.get("test", next(iter(scores.values())))
    chosen = _chosen(entries, file)
    values = [_number(each.get(MEASURE), file) for each in chosen]
    return task, sum(values) / len(values), len(values) > 1


def _number(value: Any, file: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < math.inf:
        raise InputError(f"a result has no «{MEASURE}»", where=file, fix="Run the task again, or leave it out.")
    return float(value)


def _chosen(entries: Any, file: str) -> Sequence[Mapping[str, Any]]:
    if not isinstance(entries, list) or not entries or not all(isinstance(each, Mapping) for each in entries):
        raise InputError("a split has no list of results", where=file, fix="Run the task again, or leave it out.")
    for name in _SUBSETS:
        mine = [each for each in entries if each.get("hf_subset") == name]
        if mine:
            return mine
    return entries
