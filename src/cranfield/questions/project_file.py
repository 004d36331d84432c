"""The project file: what the commands of a folder take by default.

``cranfield.toml``, or ``[tool.cranfield]`` in ``pyproject.toml``, in the current folder or the nearest one above it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cranfield.errors import InputError, NoEffectError, RequestError
from cranfield.formats.text import STDIN, is_dataset, read_bytes, show
from cranfield.questions import MODULES, find_question
from cranfield.questions.parameters import Parameter, Question, closest

OWN_FILE, PYTHON_FILE = "cranfield.toml", "pyproject.toml"
SHARED = (
    "columns",
    "measure",
    "missing",
    "replicates",
    "baseline",
    "lower_is_better",
    "alpha",
    "seed",
    "resamples",
    "qrels",
    "teams",
    "order",
    "ties",
    "precision",
    "name",
)
"""What may stand outside the tables of questions: it means the same in all that have it."""
_TOOL = ("tool", "cranfield")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PLACE = re.compile(r"\s*\(at line (\d+), column \d+\)$")


@dataclass(frozen=True)
class Project:
    """A project file: its settings as they stand in it, and the text they stand in."""

    file: str
    settings: Mapping[str, Any]
    text: str
    above: tuple[str, ...] = ()  # the table that the settings are in

    def of(self, question: str) -> dict[str, Any]:
        """The values of a question's parameters, as its command takes them; checked, and paths from here."""
        self._check_names()
        parameters = find_question(question).parameters
        own = self._places(tuple(question.split("_", 1)))
        unknown = next((path for name, path in own.items() if name not in parameters), None)
        if unknown is not None:
            raise self._unknown(unknown, parameters)
        written = next((path for name, path in own.items() if parameters[name].is_written), None)
        if written is not None:  # by whoever can put a file into a folder above
            what = f"«{'.'.join(written)}» names what is written, which no project file may"
            raise self._wrong(written, what, "Remove this line, and name it in the command.")
        shared = {name: path for name, path in self._places(()).items() if name in SHARED and name in parameters}
        if question == "check":  # whose `qrels` are files to look at
            shared = {}
        return {name: self._value(parameters[name], path) for name, path in {**shared, **own}.items()}

    def _table(self, path: Sequence[str]) -> Mapping[str, Any]:
        found: Any = self.settings
        for step in path:
            found = found.get(step, {})
        return found if isinstance(found, Mapping) else {}

    def _places(self, path: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
        """The settings of a table by the name of their parameter; a flag's name has dashes."""
        return {name.replace("-", "_"): (*path, name) for name in self._table(path)}

    def _check_names(self) -> None:
        tables = {each.partition("_")[0] for each in MODULES}
        for name, path in self._places(()).items():
            value = self.settings[path[0]]
            if name in tables and not isinstance(value, Mapping):
                raise self._wrong(path, f"«{path[0]}» is the name of a question", f"Write a table: [{path[0]}].")
            if name not in tables and name not in SHARED:
                raise self._unknown(path, (*SHARED, *sorted(tables)))
        steps = [each.removeprefix("study_") for each in MODULES if each.startswith("study_")]
        for step, path in self._places(("study",)).items():
            if step not in steps:
                raise self._unknown(path, steps)

    def _value(self, parameter: Parameter, path: tuple[str, ...]) -> Any:
        value = self._table(path[:-1])[path[-1]]
        try:
            return as_given(parameter, value, os.path.dirname(self.file))
        except RequestError as error:
            raise self._wrong(path, error.what, error.fix) from None

    def _unknown(self, path: tuple[str, ...], known: Any) -> InputError:
        close, name = closest(path[-1].replace("-", "_"), known), path[-1].replace("-", "_")
        owners = [each for each in MODULES if len(path) == 1 and name in find_question(each).parameters]
        if owners:
            tables = ", ".join(f"[{each.replace('_', '.', 1)}]" for each in owners[:3])
            return self._wrong(path, f"«{name}» is a setting of single questions", f"Write it below {tables} …")
        fix = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(known)}."
        if len(path) == 1 and not close:
            fix += " Others stand in the table of their question, such as [compare]."
        return self._wrong(path, f"there is no setting «{'.'.join(path)}»", fix)

    def _wrong(self, path: tuple[str, ...], what: str, fix: str) -> InputError:
        line = line_of(self.text, (*self.above, *path))
        return InputError(what, where=f"{self.file}:{line}" if line else self.file, fix=fix)


def find_project(
    folder: str = ".", *, above: bool = True, note: Callable[[str], object] = lambda text: None
) -> Project | None:
    """The project file of a folder: the nearest one, upwards unless ``above`` is false; None where there is none.

    Files of other users and files above the home folder are passed over, and ``note`` is told: whoever can write there
    would choose what the command does.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> written = Path(folder, "cranfield.toml").write_text('alpha = 0.01\\n[compare]\\nbaseline = "bm25"\\n')
    >>> find_project(folder).of("compare")
    {'alpha': 0.01, 'baseline': ['bm25']}
    """
    start = Path(folder).absolute()
    for each in (start, *(start.parents if above else ())):
        for name in (OWN_FILE, PYTHON_FILE):
            path = each / name
            if not path.is_file():
                continue
            foreign = _why_foreign(path)
            if foreign and b"cranfield" in (name.encode() if name == OWN_FILE else read_bytes(path)):
                note(f"{os.path.relpath(path)} is not read: {foreign}")
            found = None if foreign else _read(path)
            if found is not None:
                return found
    return None


def _why_foreign(path: Path) -> str:
    """Why a file does not speak for who gives the command, and what to do; empty where it does."""
    home = os.path.expanduser("~")  # as it is where there is none
    if os.path.isabs(home) and path.parent in Path(home).parents:
        return "it is above the home folder; give its settings as flags, or move it into the folder of the project"
    if hasattr(os, "geteuid") and {os.stat(path).st_uid, os.lstat(path).st_uid} != {os.geteuid()}:
        return "it belongs to another user; give its settings as flags, or make a file of your own with them"
    return ""


def _read(path: Path) -> Project | None:
    """The project in a file; None for a pyproject.toml that has none."""
    file = os.path.relpath(path)
    data = read_bytes(path)
    if path.name == PYTHON_FILE and b"cranfield" not in data:
        return None
    import tomllib

    text = data.decode(errors="replace")
    try:
        settings = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:  # no UTF-8, no TOML, or nested too deeply
        if path.name == PYTHON_FILE and not _mentions_settings(text):
            return None  # not ours to judge
        raise _not_read(file, error) from None
    own = settings if path.name == OWN_FILE else settings.get("tool", {})
    if path.name == PYTHON_FILE:
        own = own.get("cranfield") if isinstance(own, Mapping) else None
    if not isinstance(own, Mapping):
        return None
    if _is_deep(own):
        raise _not_read(file, RecursionError())
    return Project(file, own, text, () if path.name == OWN_FILE else _TOOL)


DEEPEST = 20  # tables and lists in one another; no setting has more than three


def _is_deep(settings: Any) -> bool:
    """Whether tables and lists are nested deeper than anything that is meant."""
    inner = [settings]
    for _ in range(DEEPEST):
        inner = [
            value
            for each in inner
            for value in (each.values() if isinstance(each, Mapping) else each)
            if isinstance(value, Mapping | list)
        ]
    return bool(inner)


def _mentions_settings(text: str) -> bool:
    """Whether a pyproject.toml that cannot be read seems to have settings of ours."""
    return ".".join(_TOOL) in text or line_of(text, _TOOL) > 0


def _not_read(file: str, error: ValueError | RecursionError) -> InputError:
    if isinstance(error, RecursionError):
        fix = "A setting is a value, a list, or a table of values."
        return InputError("its tables and lists are nested too deeply", where=show(file), fix=fix)
    if isinstance(error, UnicodeDecodeError):
        return InputError("this is no UTF-8 text", where=show(file), fix="Save it as UTF-8.")
    place = _PLACE.search(str(error))
    where = f"{file}:{place[1]}" if place else file
    return InputError(f"this is not valid TOML: {_PLACE.sub('', str(error))}", where=where, fix="Correct it.")


def answer(question: Question, asked: dict[str, Any], settings: Sequence[str]) -> tuple[Any, list[str]]:
    """The result, and which of these ``settings`` it is with: those without effect on the request are left out.

    Only what somebody asked for is refused where it has no effect; and a gate is never left out.
    """
    taken = list(settings)
    while True:
        try:
            return question.ask(**asked), taken
        except NoEffectError as error:
            if error.parameter not in taken or error.parameter == "gate":
                raise
            taken.remove(error.parameter)
            asked = {name: value for name, value in asked.items() if name != error.parameter}


def as_given(parameter: Parameter, value: Any, folder: str) -> Any:
    """A value of a project file as the command line gives it, checked; files are named from ``folder``."""
    name, kind = parameter.name, parameter.kind
    if isinstance(value, Mapping):
        value = _from_table(parameter, value)
    types, words = _TYPES.get(kind, ((str, int, float, list), "a number, or a list of them"))
    many = value if isinstance(value, list) else [value]
    if not isinstance(value, types) or not all(_is_one(each, types) for each in many):
        shown = str(value).lower() if isinstance(value, bool) else value
        raise RequestError(f"`{name}` cannot be «{shown}»", fix=f"Write {words}.")
    checked = parameter.checked(value)
    if kind in ("numbers", "counts"):
        return value if isinstance(value, str) else ",".join(map(str, many))
    if not parameter.names_files:
        return checked
    if isinstance(checked, str):
        return _from_folder(checked, folder)
    if not parameter.about.metavar.startswith("NAME="):
        return [_from_folder(each, folder) for each in checked]
    named = [each.partition("=") for each in checked]
    return [f"{before}{mark}{_from_folder(path, folder)}" for before, mark, path in named]


_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "flag": ((bool,), "true or false"),
    "text": ((str,), "a text in quotes"),
    "choice": ((str,), "a text in quotes"),
    "names": ((str, list), "a text in quotes, or a list of them"),
    "data": ((str, list), "a text in quotes, or a list of them"),
    "number": ((str, int, float), "a number"),
    "count": ((str, int, float), "a whole number"),
}
"""What a value of a kind may be in a file, and what to write."""


def _is_one(value: Any, types: tuple[type, ...]) -> bool:
    """Whether a value is a single one of these types; true and false are no numbers."""
    return isinstance(value, types) and not isinstance(value, list) and (bool in types or not isinstance(value, bool))


def _from_table(parameter: Parameter, value: Mapping[str, Any]) -> Any:
    """A table of names and values, as it is written on the command line; as it is for what takes none."""
    if "=" not in parameter.about.metavar:
        return value
    pairs = [f"{key}={each}" for key, held in value.items() for each in (held if isinstance(held, list) else [held])]
    if parameter.kind == "names":
        return pairs
    return ",".join('"' + each.replace('"', '""') + '"' if {",", '"'} & set(each) else each for each in pairs)


def _from_folder(path: str, folder: str) -> str:
    """A path that is written as from ``folder``, as from here."""
    stays = os.path.isabs(path) or path == STDIN or is_dataset(path)
    return path if stays else os.path.normpath(os.path.join(folder, path))


def line_of(text: str, path: tuple[str, ...]) -> int:
    """The line on which a setting or a table begins; 0 where it is not found.

    >>> line_of('alpha = 1\\n[tool.cranfield.compare]\\nbaseline = "a"', ("tool", "cranfield", "compare", "baseline"))
    3
    """
    import tomllib

    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        is_header = line.lstrip().startswith("[")
        found = None if is_header else _KEY.match(line)
        try:
            steps = _steps(tomllib.loads(line if is_header else f"{found[1]} = 0" if found else ""))
        except (tomllib.TOMLDecodeError, RecursionError):  # within a value of several lines; or no setting
            continue
        if is_header:
            table = steps
        if steps and (steps if is_header else (*table, *steps))[: len(path)] == path:
            return number
    return 0


def _steps(nested: Any) -> tuple[str, ...]:
    steps: list[str] = []
    while isinstance(nested, Mapping) and nested:
        name, nested = next(iter(nested.items()))
        steps.append(name)
        nested = nested[0] if isinstance(nested, list) and nested else nested
    return tuple(steps)
