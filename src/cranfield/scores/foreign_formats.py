"""Checking the files that are read whole: packed collections, and score tables as JSON or Parquet."""

from __future__ import annotations

import os

from cranfield.collection import open_collection
from cranfield.collection.packed import MAGIC
from cranfield.errors import InputError
from cranfield.formats.file_check import FileKind, OtherFormat
from cranfield.formats.scores import header_names
from cranfield.formats.trec_output import is_output
from cranfield.scores.columns import known_layout
from cranfield.scores.score_files import is_json, is_parquet, parse_scores


def _packed_lines(file: str, data: bytes) -> int:
    """The lines of the runs in a packed collection; every array is looked at, and so compared with its checksum."""
    if not os.path.isfile(file):
        raise InputError("a packed collection is opened where it is, not through a pipe", fix="Name the file.")
    arrays = dict(open_collection(file).arrays)
    return int(arrays["list_edges"][-1])


def _score_rows(file: str, data: bytes) -> int:
    table = parse_scores(data, file)
    return table.values.size - table.missing


OTHER_FORMATS = (
    OtherFormat(FileKind.PACKED, lambda data: data.startswith(MAGIC), _packed_lines),
    OtherFormat(FileKind.SCORES, is_parquet, _score_rows),
    OtherFormat(FileKind.SCORES, is_json, _score_rows),
    OtherFormat(FileKind.SCORES, is_output, _score_rows),
    OtherFormat(FileKind.SCORES, lambda data: known_layout(header_names(data)) is not None, _score_rows),
)
