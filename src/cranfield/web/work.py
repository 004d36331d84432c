"""A question about an upload answered, in a process of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield.web.asking import Asked
from cranfield.web.page import download
from cranfield.web.questions import QUESTIONS
from cranfield.web.store import PACKED

if TYPE_CHECKING:
    from cranfield.types import Progress


def answer(
    name: str, page: str, address: str, about: dict[str, Any], query: Any, out: str, *, progress: Progress
) -> None:
    """Answer one question and leave every face of the answer in a folder."""
    folder = Path(f"{out}.part")
    asked = Asked(QUESTIONS[name], about, query, progress)
    found = QUESTIONS[name].answer(asked)
    found = found.noting(_note(about, found.command), asked.noted)
    folder.mkdir(parents=True, exist_ok=True)
    links = {kind: f"{page}.{kind}{address}" for kind in found.files()}
    (folder / "answer").write_text(found.html(links), encoding="utf-8")
    for kind in links:
        (folder / kind).write_bytes(download(found, kind))
    os.replace(folder, out)


def _note(about: dict[str, Any], command: str) -> str:
    """What the names in a command stand for, where they are not those of the files."""
    if f" {PACKED}" in command:
        return f"{PACKED} is the packed collection that the page «What was read» offers."
    return "runs/ is the folder with the run files." if "runs/" in about["arguments"] else ""
