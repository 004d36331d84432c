"""One question about an upload, as the process that answers it has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cranfield.collection import Collection, open_collection
from cranfield.questions.command_line import command_line
from cranfield.web.uploads import PACKED

if TYPE_CHECKING:
    from cranfield.types import Progress
    from cranfield.web.forms import Query
    from cranfield.web.page import Reply

About = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class DataPage:
    """What can be asked of an upload: everything a page, its form, its JSON and its work are made from.

    ``name`` is the address and, with spaces for dashes, the command; ``files`` are the command's flags for files other
    than the first argument, ``word`` is how JSON calls that; ``of`` are the kinds of upload it can be asked of, where
    it is ``alone`` one table at a time; ``example`` is what a page asks when nothing is asked.
    """

    name: str
    title: str
    summary: str
    query: type[Query]
    answer: Callable[[Asked], Reply]
    files: tuple[str, ...] = ("qrels",)
    word: str = "scores"
    of: tuple[str, ...] = ("collection", "scores")
    alone: bool = False
    example: Callable[[About], dict[str, Any]] = lambda about: {}

    @property
    def command(self) -> str:
        return self.name.replace("-", " ")


@dataclass(frozen=True)
class Asked:
    """A question, what it is asked of, and how to say how far the answer is."""

    question: DataPage
    about: About
    query: Any
    progress: Progress

    @property
    def is_about_files(self) -> bool:
        """Whether the question is about all files that came, whatever is in them."""
        return self.question.word == "files"

    def _named(self) -> tuple[list[str], dict[str, str]]:
        """The files as the command names them: as they came, or packed where it has no flag for one that matters."""
        given = {flag: name for flag, name in self.about["options"].items() if flag in self.question.files}
        if self.is_about_files:
            others = [name for flag, name in self.about["options"].items() if flag not in given]
            return [*(self.about["arguments"] or self.about["files"]), *others], given
        if set(self.about["options"]) - set(given) - {"teams"}:  # whose the runs are changes no score
            return [PACKED], {}
        return self.about["arguments"], given

    @property
    def _columns(self) -> dict[str, str]:
        """What the columns are, where it had to be told."""
        return {"columns": self.about["columns"]} if self.about["columns"] and not self.is_about_files else {}

    def named(self, question: Any) -> dict[str, Any]:
        """What the command says about where the data come from."""
        arguments, files = self._named()
        said = {self.question.word: arguments, **files, **self._columns}
        sources = [each for each in question.parameters.values() if each.is_source and each.name != "files"]
        return {each.name: said.get(each.name, each.default) for each in sources}

    def command(self) -> str:
        """The line that gives the same answer."""
        given = self.query.model_dump(exclude_none=True, exclude_defaults=True, exclude={"chart"})
        off = [name for name, value in given.items() if value is False]  # of flags that are on by default
        given = given | {f"no_{name}": True for name in off}
        arguments, files = self._named()
        return command_line(self.question.command, arguments, {**files, **self._columns, **given})

    @property
    def collection(self) -> Collection:
        return open_collection(PACKED)
