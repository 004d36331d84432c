"""A question about an upload answered, in a process of its own."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cranfield.web.page import Reply, download
from cranfield.web.page_list import QUESTIONS
from cranfield.web.page_maker import Asked
from cranfield.web.uploads import PACKED

if TYPE_CHECKING:
    from cranfield.types import Progress


REPLY, SHOWN, KINDS, SLOW = "reply", "answer", "kinds", "slow"  # files of an answer besides those that are downloaded


def answer(
    name: str, page: str, address: str, about: dict[str, Any], values: dict[str, Any], out: str, *, progress: Progress
) -> None:
    """Answer one question; what the page shows is made now, files when somebody asks for them."""
    folder, question = Path(f"{out}.part"), QUESTIONS[name]
    asked = Asked(question, about, question.query(**values), progress)
    found = question.answer(asked)
    found = found.noting(_note(about, found.command)).kept()
    folder.mkdir(parents=True, exist_ok=True)
    links = {kind: f"{page}.{kind}{address}" for kind in found.files()}
    (folder / SHOWN).write_text(found.html(links), encoding="utf-8")
    (folder / KINDS).write_text(" ".join(links), encoding="utf-8")
    (folder / REPLY).write_bytes(pickle.dumps(found))
    if found.is_slow:
        (folder / SLOW).touch()
    os.replace(folder, out)


def render_file(out: str, kind: str, *, progress: Progress | None = None) -> None:
    """Make one file of an answer that is there."""
    reply: Reply = pickle.loads(Path(out, REPLY).read_bytes())  # written by `answer`, in a folder of the server's own
    part = Path(out, f"{kind}.part")
    part.write_bytes(download(reply, kind))
    os.replace(part, Path(out, kind))


def _note(about: dict[str, Any], command: str) -> str:
    """What the names in a command stand for, where they are not those of the files."""
    if f" {PACKED}" in command:
        return f"{PACKED} is the packed collection that the page «What was read» offers."
    return "runs/ is the folder with the run files." if "runs/" in about["arguments"] else ""
