"""Leave-out judgments as files, for scoring with other tools."""

from __future__ import annotations

from pathlib import Path

from cranfield.collection import Collection
from cranfield.errors import RequestError
from cranfield.formats.name_order import file_name
from cranfield.formats.text import make_folder


def write_leave_outs(collection: Collection, folder: str | Path, *, depth: int | None = None) -> list[Path]:
    """Write one qrels file per team, ``without-TEAM.txt``, without the judgments that only this team contributed."""
    contributors = collection.contributors(depth)
    if len(contributors.teams) < 2:
        raise RequestError("there is one team only, and it cannot be left out", fix="Give runs of two teams or more.")
    home = make_folder(folder)
    written = []
    for team in contributors.teams:
        path = home / file_name(f"without-{team}.txt")
        collection.keeping(contributors.kept([team])).write_qrels(path)
        written.append(path)
    return written
