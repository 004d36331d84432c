"""Files of one folder: what a request may name, before anything is opened. What is opened, `confinement` sees to."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.errors import RequestError
from cranfield.formats.text import IRDS, STDIN, is_dataset, without_sheet
from cranfield.questions.parameters import Parameter, Question

_DATASET = re.compile(rf"{IRDS}(?!\.+(/|$))[\w.-]+(/(?!\.+(/|$))[\w.-]+)*")  # no part is . or ..


@dataclass(frozen=True)
class ConfinedFiles:
    """A folder, with links followed, whether files may be written below it, and whether datasets may be named."""

    root: str
    may_write: bool = False
    datasets: bool = False

    def check(self, question: Question, given: Mapping[str, Any]) -> None:
        """Refuse arguments that name a file outside, standard input, or a file to write where none may be."""
        for name, value in given.items():
            parameter = question.parameters[name]
            if value is None or not parameter.names_files:
                continue
            if parameter.is_written and not self.may_write:
                raise RequestError(
                    f"`{name}` names a file that is written, and this server only reads",
                    fix="Start it with --write to let it write below its folder.",
                )
            for path in _paths(parameter, value):
                self._check_path(parameter, path)

    def _check_path(self, parameter: Parameter, path: str) -> None:
        name = parameter.name
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
            if _is_special(os.path.join(self.root, each)):
                raise RequestError(f"`{name}` is neither a file nor a folder: «{path}»", fix="Name a file.")
        if is_dataset(path):
            self._check_dataset(parameter, path)

    def _check_dataset(self, parameter: Parameter, path: str) -> None:
        """Refuse datasets but as judgments, by their ids, where they may be downloaded."""
        if (parameter.name, parameter.kind) != ("qrels", "text") or not _DATASET.fullmatch(path):
            raise RequestError(
                f"`{parameter.name}` cannot be a dataset: «{path}»",
                fix=f"Only `qrels` can, by its id; a file of this name is ./{path}",
            )
        if not self.datasets:
            raise RequestError(
                f"`{parameter.name}` names a dataset that may have to be downloaded, and this server uses no network",
                fix="Name a file of judgments, or start the server with --datasets.",
            )

    def _leads_outside(self, path: str) -> bool:
        """Whether a file, or any file that a folder or a pattern stands for, is not below the root."""
        start = os.path.join(self.root, path)
        places = [start, *(glob.glob(start, recursive=True) if any(mark in path for mark in "*?[") else [])]
        seen: set[str] = set()
        while places:
            real = os.path.realpath(places.pop())
            if not self._is_below(real):
                return True
            if real not in seen and os.path.isdir(real):
                seen.add(real)
                places += [entry.path for entry in os.scandir(real) if entry.is_symlink() or entry.is_dir()]
        return False

    def _is_below(self, real: str) -> bool:
        try:
            return os.path.commonpath([self.root, real]) == self.root
        except ValueError:  # on another drive
            return False


def _is_special(path: str) -> bool:
    """Whether a path is a device, a pipe or a socket."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _paths(parameter: Parameter, value: Any) -> Iterator[str]:
    """The paths in a value: text, or a list of it, with or without a name before an equals sign."""
    for each in value if isinstance(value, list) else [value]:
        yield each
        if parameter.about.metavar.startswith("NAME="):
            yield each.partition("=")[2] or each
