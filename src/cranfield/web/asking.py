"""One question about an upload, as the process that answers it has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cranfield.collection import Collection, open_collection
from cranfield.errors import Caution
from cranfield.formats.problems import Problem
from cranfield.questions.command_line import command_line
from cranfield.scores import ScoreTable
from cranfield.scores.quality import table_warnings
from cranfield.scores.selection import read_tables
from cranfield.web.store import FILES, PACKED

if TYPE_CHECKING:
    from cranfield.types import Progress
    from cranfield.web.page import Reply
    from cranfield.web.queries import Query

About = Mapping[str, Any]


@dataclass(frozen=True)
class Question:
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

    question: Question
    about: About
    query: Any
    progress: Progress
    noted: list[Problem | Caution] = field(default_factory=list)  # what the answer should be read with

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

    @property
    def arguments(self) -> list[str]:
        return self._named()[0]

    def inputs(self, *flags: str, **more: Any) -> dict[str, Any]:
        """What was asked, as JSON says it; ``flags`` are those for files that it names."""
        given = self._named()[1]
        return {
            self.question.word: self.arguments,
            **self._columns,
            **{flag: given.get(flag) for flag in flags},
            **more,
        }

    def named(self, question: Any) -> dict[str, Any]:
        """What the command says about where the data come from."""
        arguments, files = self._named()
        said = {self.question.word: arguments, **files, **self._columns}
        sources = [each for each in question.parameters.values() if each.is_source and each.name != "files"]
        return {each.name: said.get(each.name, each.default) for each in sources}

    def chosen(self, *names: str) -> dict[str, Any]:
        """Parameters of the query by name."""
        return {name: getattr(self.query, name) for name in names}

    def command(self, **changed: Any) -> str:
        """The line that gives the same answer; ``changed`` says what the flags of some parameters are instead."""
        given = self.query.model_dump(exclude_none=True, exclude_defaults=True)
        off = [name for name, value in given.items() if value is False]  # of flags that are on by default
        given = given | {f"no_{name}": True for name in off} | changed
        arguments, files = self._named()
        return command_line(self.question.command, arguments, {**files, **self._columns, **given})

    @property
    def collection(self) -> Collection:
        return open_collection(PACKED)

    def tables(
        self, missing: str | None, usual: Sequence[str] = ("AP",), *, replicates: str | None = None
    ) -> dict[str, ScoreTable]:
        """Score tables by the name the command has for them; runs are scored with the ``usual`` measures."""
        asked = self.query.measure
        measures = [asked] if isinstance(asked, str) else asked
        if self.about["kind"] == "collection":
            tables = {self.arguments[0]: self.collection.score(measures or usual, missing=missing or "zero")}
        else:
            with chdir(FILES):  # so that messages name files as they came
                tables = read_tables(
                    self.about["names"],
                    measures=measures,
                    missing=missing,
                    columns=self.about["columns"] or None,
                    replicates=replicates,
                )
        self.noted.extend(table_warnings(tables))
        return tables
