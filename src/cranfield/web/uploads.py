"""Uploads: kept in a folder that nobody else may look into, and read in a process of their own."""

from __future__ import annotations

import csv
import io
import json
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Sequence
from contextlib import chdir, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from cranfield.collection import Collection, open_collection, read_collection
from cranfield.errors import CranfieldError, InputError, speak, visible
from cranfield.formats.archives import is_archive, is_workbook, open_archive, sheet_as_csv
from cranfield.formats.file_check import FileKind
from cranfield.formats.packed import SCORES, packed_kind
from cranfield.formats.parquet import is_parquet, parquet_errors, parquet_library, parquet_names
from cranfield.formats.problems import Problem, refuse
from cranfield.formats.records import is_json_lines, read_records
from cranfield.formats.scores import LONG
from cranfield.formats.text import BOM, read_bytes, read_head
from cranfield.methods.sequential.journal import is_journal
from cranfield.methods.sequential.study import open_study
from cranfield.questions import find_question
from cranfield.rendering.document import Warnings, spoken_warnings, warning_lines
from cranfield.scores.columnar import HEAD
from cranfield.scores.columns import DOCUMENTS, Columns, as_number, known_layout, likely
from cranfield.scores.score_files import is_json, kind_of_head, read_score_files
from cranfield.types import Progress
from cranfield.web.forms import PAGE_TITLES

FILES, ABOUT, PACKED = "files", "about.json", "collection.cran"
LABELS = PAGE_TITLES | {"missing": find_question("compare").parameters["missing"].label}


@dataclass(frozen=True)
class Data:
    """One upload. Its key cannot be guessed: whoever has the link has the data."""

    key: str
    folder: Path

    @property
    def link(self) -> str:
        """Where its pages are."""
        return f"/data/{self.key}" if self.key else ""

    @property
    def files(self) -> Path:
        return self.folder / FILES

    @property
    def is_known(self) -> bool:
        """Whether anything was found out about the files."""
        return (self.folder / ABOUT).exists()

    @cached_property
    def about(self) -> dict[str, Any]:
        """What reading it has found; only when that is done."""
        found: dict[str, Any] = json.loads((self.folder / ABOUT).read_text(encoding="utf-8"))
        return found


class Store:
    """All uploads of one server, and ``nothing``, of which questions are asked that need no data."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="cranfield-"))  # for its owner alone
        self.nothing = self._make("")
        (self.nothing.folder / ABOUT).write_text(json.dumps(NOTHING | {"kind": "nothing"}), encoding="utf-8")
        self._data: dict[str, Data] = {}
        self._sizes: dict[str, int] = {}
        self._lock = threading.Lock()

    def create(self) -> Data:
        return self._make(secrets.token_urlsafe(16))

    def _make(self, key: str) -> Data:
        data = Data(key, self.folder / secrets.token_hex(16))
        data.files.mkdir(parents=True, mode=0o700)
        return data

    def keep(self, data: Data, size: int) -> None:
        with self._lock:
            self._data[data.key], self._sizes[data.key] = data, size

    def get(self, key: str) -> Data | None:
        return self._data.get(key)

    @property
    def size(self) -> int:
        """Bytes of all uploads, as they were unpacked."""
        with self._lock:
            return sum(self._sizes.values())

    def renew(self, data: Data) -> Data:
        """The same files under the same key, to be read again: what was known of them is gone."""
        for path in data.folder.iterdir():
            if path.is_dir() and path.name != FILES:
                shutil.rmtree(path, ignore_errors=True)
            elif path.is_file():
                path.unlink(missing_ok=True)
        renewed = Data(data.key, data.folder)
        with self._lock:
            self._data[data.key] = renewed
        return renewed

    def remove(self, data: Data) -> None:
        with self._lock:
            self._data.pop(data.key, None)
            self._sizes.pop(data.key, None)
        shutil.rmtree(data.folder, ignore_errors=True)

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


MANY = 4  # run files that a command line still names one by one


def read(names: list[str], order: str, name: str, columns: str, *, progress: Progress) -> None:
    """Find out what the files are, read them, and write down what is in them; with ``columns`` they are scores."""
    known = {**NOTHING, "names": names, "files": names, "columns": columns}
    _write({**known, "options": _unusual({"order": order, "name": name})})
    studies = [each for each in names if is_journal(f"{FILES}/{each}")]
    others = [each for each in names if each not in studies]
    by_kind: dict[FileKind, list[str]] = {}
    with chdir(FILES):  # so that messages name files as they came
        for each in others:
            by_kind.setdefault(FileKind.SCORES if columns else _kind(each), []).append(each)
    if not others:
        about = NOTHING
    elif set(by_kind) == {FileKind.SCORES}:
        about = _read_tables(others, columns)
    else:
        about = _read_collection(by_kind, order, name, progress)
    _write(_with_study(about, studies) if studies else about)


def _with_study(about: dict[str, Any], studies: list[str]) -> dict[str, Any]:
    """A study, and in ``added`` the kind of scores that came with it, if some did."""
    if len(studies) > 1:
        raise InputError(f"there are {len(studies)} studies: {', '.join(studies)}", fix="Upload one at a time.")
    with chdir(FILES):
        status = open_study(studies[0]).status()
    return {
        **about,
        "kind": "study",
        "study": studies[0],
        "added": about["kind"] if about["names"] else "",
        "names": [*studies, *about["names"]],
        "files": [*studies, *about["files"]],
        "summary": speak(status.summary(), "page", LABELS),
        "study_measure": status.measure or (about["measures"][0] if len(about["measures"]) == 1 else ""),
    }


NOTHING: dict[str, Any] = {
    "kind": "files",
    "arguments": [],
    "names": [],
    "files": [],
    "options": {},
    "measures": [],
    "systems": [],
    "topics": 0,
    "shards": 0,
    "judgments": None,
    "teams": 0,
    "columns": "",
    "warnings": [],
    "study": "",
    "added": "",
}
"""What is known of files before they are read, and of those that cannot be."""


def _write(about: dict[str, Any]) -> None:
    Path(f"{ABOUT}.part").write_text(json.dumps(about), encoding="utf-8")
    os.replace(f"{ABOUT}.part", ABOUT)


def _unusual(told: dict[str, str]) -> dict[str, str]:
    """The options that a command has to be told."""
    usual = {"order": "score", "name": "auto"}
    return {option: value for option, value in told.items() if usual.get(option) != value}


def _kind(path: str) -> FileKind:
    if (kind := packed_kind(path)) is not None:
        return FileKind.SCORES if kind == SCORES else FileKind.PACKED
    return kind_of_head(read_head(path, HEAD))


ROWS, LONGEST_CELL, FEW = 5, 60, 50  # rows and characters of a preview, files whose kinds are looked at


@dataclass(frozen=True)
class Preview:
    """The columns of a table and its first rows.

    ``is_unclear`` where no known layout says what the columns are, ``is_guessed`` where their names still do.
    """

    file: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[str, ...]
    is_unclear: bool

    @property
    def is_guessed(self) -> bool:
        return self.likely.guessed

    @property
    def likely(self) -> Columns:
        columns = zip(self.names, zip(*self.rows, strict=True), strict=True)
        return likely(self.names, self.numbers, {name for name, cells in columns if len(set(cells)) < len(cells)})


def preview(folder: str, files: list[str]) -> Preview | None:
    """What the first of several score files looks like; None where they are something else, or no table."""
    with chdir(Path(folder, FILES)), suppress(CranfieldError, csv.Error):
        files = [each for each in files if not is_journal(each)]
        if not files:
            return None
        kinds = {FileKind.SCORES if _has_header(each) else _kind(each) for each in files[:FEW]}
        names, rows = _first_rows(files[0]) if FileKind.PACKED not in kinds else ([], [])
        columns = list(zip(*rows, strict=True))
        if len(columns) < 2 or len(set(names)) < len(names) or not all(names):
            return None
        numbers = [name for name, cells in zip(names, columns, strict=True) if _are_scores(cells)]
        usual = set(LONG) <= set(names) or known_layout(names) is not None
        return Preview(
            file=files[0],
            names=tuple(names),
            rows=tuple(tuple(_shown(cell) for cell in row) for row in rows),
            numbers=tuple(numbers),
            is_unclear=bool(numbers) and not usual and kinds <= {FileKind.SCORES, FileKind.UNKNOWN},
        )
    return None


def _has_header(file: str) -> bool:
    """Whether a table with tabs begins with names of columns, which no list of runs, judgments or teams does."""
    first, *others = read_head(file, HEAD).removeprefix(BOM).decode("utf-8", "replace").splitlines()[: ROWS + 1] or [""]
    names = [name.strip() for name in first.split("\t")]
    rows = [line.split("\t") for line in others if line.strip()]
    if len(names) < 2 or not all(names) or any(map(_is_number, names)) or {*map(str.lower, names)} & DOCUMENTS:
        return False
    return any(_are_scores(cells) for cells in zip(*rows, strict=False)) if rows else False


def _first_rows(file: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of the columns, and the cells of the first rows."""
    head = read_head(file, HEAD)
    if is_archive(head):
        data = read_bytes(file)
        head = sheet_as_csv(data, file) if is_workbook(open_archive(data, file).namelist()) else b""
    if is_parquet(head):
        with parquet_errors(file):
            data = read_bytes(file)
            return parquet_names(data, file), _frame_rows(parquet_library("read")(io.BytesIO(data))[:ROWS])
    if is_json(head):
        lines = head[: head.rfind(b"\n") + 1] if len(head) >= HEAD else head
        records = read_records(lines if is_json_lines(head) else read_bytes(file), file)[0][:ROWS]
        names = list(dict.fromkeys(name for record in records for name in record.fields))
        return names, [tuple(record.fields.get(name) for name in names) for record in records]
    text = head.removeprefix(BOM).decode("utf-8", "replace").lstrip()
    mark = max(",\t;", key=text.partition("\n")[0].count)
    lines_read = islice(filter(any, csv.reader(io.StringIO(text, newline=""), delimiter=mark)), ROWS + 1)
    names = [name.strip() for name in next(lines_read, [])]
    return names, [tuple(row) for row in lines_read if len(row) == len(names)]


def _frame_rows(frame: Any) -> list[tuple[Any, ...]]:
    """The rows of a frame of Polars or a table of PyArrow."""
    return list(frame.rows()) if hasattr(frame, "rows") else [tuple(row.values()) for row in frame.to_pylist()]


def _are_scores(cells: Sequence[Any]) -> bool:
    """Whether a column has numbers, or objects or lists that may have them within, and nothing else."""
    texts = [cell.strip() if isinstance(cell, str) else cell for cell in cells]
    there = [cell for cell in texts if cell not in ("", None)]
    return bool(there) and all(isinstance(cell, dict | list) or _is_number(cell) for cell in there)


def _is_number(cell: Any) -> bool:
    return as_number(cell.replace(",", ".", 1) if isinstance(cell, str) else cell) is not None


def _shown(cell: Any) -> str:
    text = "" if cell is None else str(cell)
    return visible(text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…")


def _read_tables(names: list[str], columns: str) -> dict[str, Any]:
    with chdir(FILES):
        tables = list(read_score_files(names, columns=columns or None).values())
    measures = list(dict.fromkeys(measure for table in tables for measure in table.measures))
    return {
        **NOTHING,
        "kind": "shards" if any(table.shards for table in tables) else "scores",
        "arguments": names,
        "names": names,
        "files": names,
        "measures": measures,
        "columns": columns,
        "systems": sorted({system for table in tables for system in table.systems}),
        "topics": sum(table.topic_count for table in tables),
        "shards": max(len(table.shards) for table in tables),
        "warnings": [line for table in tables for line in _on_page(table.warnings)],
    }


def _read_collection(by_kind: dict[FileKind, list[str]], order: str, name: str, progress: Progress) -> dict[str, Any]:
    if FileKind.PACKED in by_kind:
        return _take_packed(by_kind)
    _check_kinds(by_kind)
    runs = by_kind[FileKind.RUN]
    single = {kind: by_kind[kind][0] for kind in (FileKind.QRELS, FileKind.INTENTS, FileKind.TEAMS) if kind in by_kind}
    with chdir(FILES):
        collection = read_collection(
            runs,
            single.get(FileKind.QRELS),
            intents=single.get(FileKind.INTENTS),
            teams=single.get(FileKind.TEAMS),
            order=order,
            name=name,
            progress=progress,
        )
    collection.save(PACKED)
    arguments = runs if len(runs) <= MANY else ["runs/"]
    told = {"order": order, "name": name, **{str(kind): file for kind, file in single.items()}}
    found = _about(collection, [*runs, *single.values()], arguments, _unusual(told))
    return {**found, "files": found["names"]}


def _take_packed(by_kind: dict[FileKind, list[str]]) -> dict[str, Any]:
    names = [name for files in by_kind.values() for name in files]
    if len(names) > 1:
        raise InputError("a packed collection contains runs and judgments already", fix="Upload it alone.")
    collection = open_collection(f"{FILES}/{names[0]}")
    for array in collection.arrays.values():  # each is compared with its checksum now
        len(array)
    os.replace(f"{FILES}/{names[0]}", PACKED)
    return _about(collection, names, names, {})


def _check_kinds(by_kind: dict[FileKind, list[str]]) -> None:
    read_as = "; ".join(f"{len(files)} read as {kind}" for kind, files in by_kind.items())
    wanted = "Upload runs with their judgments, or score tables, or one packed file."
    for file in by_kind.get(FileKind.UNKNOWN, ()):
        if not read_head(f"{FILES}/{file}", HEAD).strip():
            refuse([Problem("empty-file", file)])
        raise InputError("no known kind of file", where=file, fix=wanted)
    if FileKind.SCORES in by_kind:
        raise InputError(f"score tables do not go with other files ({read_as})", fix=wanted)
    if FileKind.RUN not in by_kind:
        raise InputError(f"there are no runs ({read_as})", fix=wanted)
    if FileKind.QRELS not in by_kind and FileKind.INTENTS not in by_kind:
        raise InputError(f"there are runs but no judgments ({read_as})", fix="Choose the runs and the qrels together.")
    for kind, files in by_kind.items():
        if kind is not FileKind.RUN and len(files) > 1:
            raise InputError(
                f"{len(files)} files are read as {kind}: {', '.join(files[:5])}",
                fix="Upload one of them. To look at judges, upload one score table for each set of labels.",
            )


def _about(collection: Collection, names: list[str], arguments: list[str], options: dict[str, str]) -> dict[str, Any]:
    return {
        **NOTHING,
        "kind": "collection",
        "arguments": arguments,
        "options": options,
        "names": names,
        "systems": list(collection.systems),
        "topics": len(collection.topics),
        "teams": 0 if collection.teams is None else len(set(collection.teams)),
        "judgments": len(collection.arrays["grade"]),
        "warnings": _on_page(collection.warnings),
    }


def _on_page(warnings: Warnings) -> list[str]:
    return warning_lines(spoken_warnings(warnings, "page", LABELS))
