"""Files of one folder: what a request may read and write, wherever its paths and links lead."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.errors import RequestError
from cranfield.formats.text import STDIN, is_dataset, without_sheet
from cranfield.questions.parameters import Parameter, Question

WRITTEN = {
    "pack": "out",
    "pilot": "write_qrels",
    "budget": "write_qrels",
    "study_new": "file",
    "study_add": "file",
    "study_edit": "file",
    "study_test": "file",
}
"""By question, the parameter that names what is written."""


@dataclass(frozen=True)
class ConfinedFiles:
    """A folder, with links followed, and whether files may be written below it."""

    root: str
    may_write: bool = False

    def check(self, question: Question, given: Mapping[str, Any]) -> None:
        """Refuse arguments that name a file outside, standard input, or a file to write where none may be."""
        for name, value in given.items():
            parameter = question.parameters[name]
            if value is None or not parameter.names_files:
                continue
            if not self.may_write and WRITTEN.get(question.name) == name:
                raise RequestError(
                    f"`{name}` names a file that is written, and this server only reads",
                    fix="Start it with --write to let it write below its folder.",
                )
            for path in _paths(parameter, value):
                self._check_path(name, path)

    def _check_path(self, name: str, path: str) -> None:
        if is_dataset(path):
            return
        if path == STDIN:
            raise RequestError(f"`{name}` cannot be standard input here", fix="Name a file.")
        if "\0" in path:
            raise RequestError(f"`{name}` has a zero byte in a path", fix="Name a file.")
        for each in {path, without_sheet(path)[0]}:
            if self._leads_outside(each):
                raise RequestError(
                    f"`{name}` leads outside of the folder of this server: «{path}»",
                    fix="Name files below it, by paths from it.",
                )

    def _leads_outside(self, path: str) -> bool:
        """Whether a file, or any file that a folder or a pattern stands for, is not below the root."""
        start = os.path.join(self.root, path)
        places = [start, *(glob.glob(start, recursive=True) if any(mark in path for mark in "*?[") else [])]
        seen: set[str] = set()
        while places:
            real = os.path.realpath(places.pop())
            if os.path.commonpath([self.root, real]) != self.root:
                return True
            if real not in seen and os.path.isdir(real):
                seen.add(real)
                places += [entry.path for entry in os.scandir(real) if entry.is_symlink() or entry.is_dir()]
        return False


def _paths(parameter: Parameter, value: Any) -> Iterator[str]:
    """The paths in a value: text, or a list of it, with or without a name before an equals sign."""
    for each in value if isinstance(value, list) else [value]:
        yield each
        if parameter.about.metavar.startswith("NAME="):
            yield each.partition("=")[2] or each
