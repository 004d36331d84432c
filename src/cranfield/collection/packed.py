"""The packed collection, reopened: what its file says is believed only as far as it was checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.collection.collection import Collection
from cranfield.formats.packed import COLLECTION, Check, PackedFile, open_packed, restored_warnings
from cranfield.formats.problems import Problem
from cranfield.formats.qrels import MOST_GRADE
from cranfield.types import Array

_KEYS = ("systems", "topics", "teams", "intent_names", "warnings")
_TYPES = {
    "document_blob": "|u1",
    "document_edges": "<i8",
    "list_edges": "<i8",
    "list_documents": "<i4",
    "judged_edges": "<i8",
    "judged_document": "<i4",
    "grade": "<i4",
    "highest_grade": "<i4",
    **{f"{kind}_hit_edges": "<i8" for kind in ("judged", "found")},
    **{f"{kind}_hit_{part}": "<i4" for kind in ("judged", "found") for part in ("rank", "judgment")},
}
_INTENT_TYPES = {
    "intent_first": "<i8",
    "intent_weight": "<f8",
    "intent_edges": "<i8",
    "intent_index": "<i4",
    "intent_grade": "<i4",
}
_OPTIONAL = {
    "intent_importance": ("<f8", "intent_weight"),
    "stratum": ("<i4", "grade"),
}  # of which type, and as long as which array
_FRACTIONAL = {(name, "<f8") for name in ("grade", "highest_grade", "intent_grade")}  # where not all grades are whole


def open_collection(path: str | Path) -> Collection:
    """Reopen a packed collection.

    Parameters
    ----------
    path
        A file that `cranfield.pack` or ``Collection.save`` has written.

    Returns
    -------
    Collection
        The collection; each of its arrays is read, and checked, when it is first used.

    Raises
    ------
    PackedFileError
        When the file is no packed collection, of a newer format, cut short, altered, or says what cannot be.

    Examples
    --------
    >>> import tempfile, cranfield as cf
    >>> folder = tempfile.mkdtemp()
    >>> example = cf.write_example(folder, seed=1)
    >>> packed = cf.pack(folder + "/runs", qrels=folder + "/qrels.txt", out=folder + "/example.cran")
    >>> len(open_collection(folder + "/example.cran").systems)
    12
    """
    opened = open_packed(path, COLLECTION, _KEYS)
    systems, topics = (_names(opened, axis) for axis in ("systems", "topics"))
    teams, intents = _teams(opened, len(systems)), _intent_names(opened, len(topics))
    warnings = restored_warnings(opened.header["warnings"], opened.file)
    _check_sizes(opened, len(systems), len(topics), with_intents=intents is not None)
    opened.arrays.checks = _checks(opened.arrays, len(systems), intents)
    problems = tuple(each for each in warnings if isinstance(each, Problem))
    return Collection(systems, topics, teams, intents, opened.arrays, problems)


# --- the header


def _names(opened: PackedFile, axis: str) -> tuple[str, ...]:
    names = opened.header[axis]
    if not _is_names(names) or not names or len(set(names)) < len(names):
        raise opened.damaged(f"its {axis} are no names, or two are the same")
    return tuple(names)


def _is_names(names: Any) -> bool:
    """Whether this is a list of names in valid Unicode."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return False
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        return False
    return True


def _teams(opened: PackedFile, systems: int) -> tuple[str, ...] | None:
    teams = opened.header["teams"]
    if teams is not None and (not _is_names(teams) or len(teams) != systems):
        raise opened.damaged("it has not one team for every system")
    return None if teams is None else tuple(teams)


def _intent_names(opened: PackedFile, topics: int) -> tuple[tuple[str, ...], ...] | None:
    names = opened.header["intent_names"]
    if names is None:
        return None
    if not isinstance(names, list) or len(names) != topics or not all(map(_is_names, names)):
        raise opened.damaged("it has not one list of intents for every topic")
    return tuple(tuple(each) for each in names)


def _check_sizes(opened: PackedFile, systems: int, topics: int, *, with_intents: bool) -> None:
    """Refuse arrays that are missing, of another type, or of a size that does not fit the names and one another."""
    size = {}
    for name, kind in (_TYPES | (_INTENT_TYPES if with_intents else {})).items():
        found = opened.arrays.type_of(name)
        if found is None or not (found[0] == kind or (name, found[0]) in _FRACTIONAL) or len(found[1]) != 1:
            raise opened.damaged(f"its array «{name}» is missing, or of another type")
        size[name] = found[1][0]
    if opened.arrays.type_of("list_tied") is not None:
        raise opened.damaged("it has ties, which no packed collection keeps")
    for name, (kind, other) in _OPTIONAL.items():
        found = opened.arrays.type_of(name)
        if found is not None and found != (kind, (size.get(other),)):
            raise opened.damaged(f"its array «{name}» is of another type or size")
    lists, judgments = topics * systems, size["grade"]
    wanted = {
        "list_edges": lists + 1,
        "judged_edges": topics + 1,
        "judged_document": judgments,
        "highest_grade": 1,
        **{f"{kind}_hit_edges": lists + 1 for kind in ("judged", "found")},
        **{f"{kind}_hit_judgment": size[f"{kind}_hit_rank"] for kind in ("judged", "found")},
        **({"intent_first": topics + 1, "intent_edges": judgments + 1} if with_intents else {}),
        **({"intent_grade": size["intent_index"]} if with_intents else {}),
    }
    wrong = [name for name, count in wanted.items() if size[name] != count]
    if wrong or size["document_edges"] < 1:
        raise opened.damaged(f"its array «{(wrong or ['document_edges'])[0]}» has another size than the rest of it")


# --- the arrays


def _checks(arrays: Mapping[str, Array], systems: int, intents: tuple[tuple[str, ...], ...] | None) -> dict[str, Check]:
    """What compiled loops take for granted of every array; what is wrong with it in words, or nothing."""
    found: dict[str, Check] = {
        "document_blob": _not_text,
        "document_edges": lambda edges: _not_edges(edges, _size(arrays, "document_blob")),
        "list_edges": lambda edges: _not_edges(edges, _size(arrays, "list_documents")),
        "list_documents": lambda codes: _not_below(codes, _size(arrays, "document_edges") - 1),
        "judged_edges": lambda edges: _not_edges(edges, _size(arrays, "grade")),
        "judged_document": lambda codes: _not_below(codes, _size(arrays, "document_edges") - 1),
        "grade": _not_grades,
        "stratum": lambda strata: (
            "" if not len(strata) or -1 <= strata.min() <= strata.max() < len(strata) else "a stratum is none"
        ),
        "highest_grade": lambda highest: (  # also of judgments that were left out since
            "" if arrays["grade"].max(initial=0) <= highest[0] <= MOST_GRADE else "another grade is the highest"
        ),
    }
    for kind in ("judged", "found"):
        found |= _hit_checks(arrays, systems, kind)
    return found if intents is None else found | _intent_checks(arrays, [len(names) for names in intents])


def _hit_checks(arrays: Mapping[str, Array], systems: int, kind: str) -> dict[str, Check]:
    edges = f"{kind}_hit_edges"

    def ranks(rank: Array) -> str:
        hits = np.diff(arrays[edges])
        if not len(rank):
            return ""
        if rank.min() < 1 or (rank > np.repeat(np.diff(arrays["list_edges"]), hits)).any():
            return "a rank is not within its list"
        first = np.zeros(len(rank) + 1, bool)
        first[arrays[edges]] = True
        return "" if ((np.diff(rank) > 0) | first[1:-1]).all() else "ranks do not rise within a list"

    def judgments(judgment: Array) -> str:
        by_topic = np.diff(arrays[edges][::systems])
        low, high = (np.repeat(part, by_topic) for part in (arrays["judged_edges"][:-1], arrays["judged_edges"][1:]))
        return "" if ((judgment >= low) & (judgment < high)).all() else "a judgment is of another topic, or of none"

    return {
        edges: lambda found: _not_edges(found, _size(arrays, f"{kind}_hit_rank")),
        f"{kind}_hit_rank": ranks,
        f"{kind}_hit_judgment": judgments,
    }


def _intent_checks(arrays: Mapping[str, Array], counts: list[int]) -> dict[str, Check]:
    def index(found: Array) -> str:
        by_topic = np.diff(arrays["intent_edges"][arrays["judged_edges"]])
        most = np.repeat(np.diff(arrays["intent_first"]), by_topic)
        return "" if ((found >= 0) & (found < most)).all() else "an intent is none of its topic"

    def first(edges: Array) -> str:
        wrong = _not_edges(edges, _size(arrays, "intent_weight"))
        return wrong or ("" if np.diff(edges).tolist() == counts else "topics have other numbers of intents")

    return {
        "intent_first": first,
        "intent_edges": lambda edges: _not_edges(edges, _size(arrays, "intent_index")),
        "intent_index": index,
        "intent_grade": _not_grades,
        "intent_weight": _not_weights,
        "intent_importance": _not_weights,
    }


def _size(arrays: Any, name: str) -> int:
    return int(arrays.type_of(name)[1][0])


def _not_edges(edges: Array, end: int) -> str:
    fine = edges[0] == 0 and edges[-1] == end and (edges[1:] >= edges[:-1]).all()
    return "" if fine else "its parts do not lie one after another"


def _not_below(codes: Array, count: int) -> str:
    return "" if not len(codes) or (codes.min() >= 0 and codes.max() < count) else "a document has no name"


def _not_weights(weight: Array) -> str:
    return "" if np.isfinite(weight).all() and (weight >= 0).all() else "a probability is none"


def _not_grades(grades: Array) -> str:
    fine = grades.dtype.kind == "i" or bool((np.abs(grades) <= MOST_GRADE).all())
    return "" if fine else "a grade is no number, or too large"


def _not_text(blob: Array) -> str:
    try:
        blob.tobytes().decode()
    except UnicodeDecodeError:
        return "names of documents are not UTF-8"
    return ""
