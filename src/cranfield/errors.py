"""The one family of errors: what is wrong, where it is, and what to do next.

A message of the library names a parameter by its Python keyword in backticks, with a value where one is meant, and
another question by its function: ```topics```, ```replicates="nested"```, ```shards()```. Each interface translates it
with `speak` before it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

_QUOTED_OR_MARKED = re.compile(r"«[^»]*»|`([^`\n]+)`")
_CALL = re.compile(r"([a-z_]+)\((.*)\)")
_PARAMETER = re.compile(r"([a-z][a-z_0-9]*)(?:=(.+))?")
_PAGE_FIRST = re.compile(r"(^|[.?!] )the page «")
COMMANDS_ONLY = ("pack", "study_width")
"""Questions that messages name and no page answers."""


_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def show_p(value: float) -> str:
    """Format a p-value for a table; none is shown as 0.

    >>> show_p(0.04), show_p(0.0000999), show_p(2e-9), show_p(0.0)
    ('0.0400', '0.0001', '2.0e-09', '< 1e-300')
    """
    if value < 1e-300:
        return "< 1e-300"
    return f"{value:.4f}" if value >= 0.000095 else f"{value:.1e}"  # from what rounds to 0.0001 on


def say_p(value: float) -> str:
    """The same in a sentence: ``p = 0.0400``, ``p < 1e-300``."""
    shown = show_p(value)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def say_percent(share: float, digits: int = 0, sign: str = "") -> str:
    """A share in a sentence.

    >>> say_percent(0.822, 1), say_percent(0.08, 1, "+"), say_percent(0.31)
    ('82.2 %', '+8.0 %', '31 %')
    """
    return f"{100 * share:{sign}.{digits}f} %"


def say_as_share(text: object) -> str:
    """What a percentage is as a number; nothing for any other text.

    >>> say_as_share("5 %"), say_as_share("five")
    ('On a scale from 0 to 1, 5 % is 0.05.', '')
    """
    found = isinstance(text, str) and re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*%\s*", text)
    return f"On a scale from 0 to 1, {found[1]} % is {float(found[1]) / 100:g}." if found else ""


def there_are(names: Sequence[str], most: int = 10) -> str:
    """What to choose from in place of a name that does not exist; of many, the first and how many more there are.

    >>> there_are("abc"), there_are("abc", most=2)
    ('There are: a, b, c.', 'There are: a, b and 1 more.')
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"There are: {', '.join(names[:most])}{more}."


def visible(text: str, keep: str = "") -> str:
    r"""A text without what acts on a terminal or on the direction of writing, or is no character: escapes show it.

    >>> print(visible("a\x1b[31m"))
    a\x1b[31m
    >>> visible("two\nlines", keep="\n") == "two\nlines"
    True
    """
    if text.isprintable():
        return text
    return _CONTROLS.sub(lambda found: found[0] if found[0] in keep else _escape(ord(found[0])), text)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def speak(text: str, interface: str, labels: Mapping[str, str] | None = None) -> str:
    """A message of the library in the words of an interface: ``python``, ``command``, ``page``, ``report`` or ``step``.

    Python's words are those the message is written in. Elsewhere what is in backticks becomes a flag, a command, a
    field or a page, and anything else in backticks only loses them. What is quoted in «…» is never changed. ``labels``
    are what a page calls its fields, the choices in them and other pages.

    >>> text = 'Use `shards()` with `replicates="nested"`, or leave out `small_pilot`.'
    >>> speak(text, "python") == text
    True
    >>> speak(text, "command")
    'Use cranfield shards with --replicates nested, or leave out --small-pilot.'
    >>> speak(text, "page")
    'Use the page «shards» with «replicates» nested, or leave out «small pilot».'
    >>> speak("`min_range` is missing", "page", {"min_range": "Smallest range"})
    '«Smallest range» is missing'
    >>> labels = {"missing=drop": "drops its topic", "shards()": "Shards"}
    >>> speak('`missing="drop"`. `shards()` says more.', "page", labels)
    '«missing» «drops its topic». The page «Shards» says more.'

    A function may have an argument, lists are written with commas, and switches without a value:

    >>> speak('`check("a.run")` lists them all', "command")
    'cranfield check a.run lists them all'

    >>> speak("`shards=[2, 5]`, `all_pairs=True`, `search=False`, `study_past()`", "command")
    '--shards 2,5, --all-pairs, --no-search, cranfield study past'
    >>> speak("`shards=[2, 5]`, `all_pairs=True`, `search=False`, `study_past()`", "page")
    '«shards» 2,5, «all pairs», «search» no, the page «study past»'
    >>> speak('`missing="drop"`, `all_pairs=True`, `qrels`, `study_past()`', "step")
    '«missing: drop», «all-pairs: true», «qrels», cranfield study past'
    """
    if interface == "python":
        return text
    text = visible(text, keep="\n")
    for_page = partial(_for_page, labels=labels or {})
    translators: dict[str, Callable[[str], str]] = {
        "command": _for_command,
        "page": for_page,
        "report": _for_report,
        "step": _for_step,
    }
    translate = translators[interface]
    said = _QUOTED_OR_MARKED.sub(lambda found: translate(found[1]) if found[1] else found[0], text)
    return _PAGE_FIRST.sub(r"\1The page «", said)


def _for_command(marked: str) -> str:
    """A flag, or a command."""
    from shlex import quote

    if call := _CALL.fullmatch(marked):
        return " ".join(["cranfield", *call[1].split("_"), *([quote(_plain(call[2]))] if call[2] else [])])
    if not (parameter := _PARAMETER.fullmatch(marked)):
        return marked
    flag, value = parameter[1].replace("_", "-"), parameter[2]
    if value == "False":
        return f"--no-{flag}"
    return f"--{flag}" if value in (None, "True") else f"--{flag} {quote(_plain(value))}"


def _for_page(marked: str, labels: Mapping[str, str] = MappingProxyType({})) -> str:
    """A field, with the text of its choice, or a page."""
    if call := _CALL.fullmatch(marked):
        title = labels.get(f"{call[1]}()") or call[1].replace("_", " ")
        return _for_command(marked) if call[1] in COMMANDS_ONLY else f"the page «{title}»"
    if not (parameter := _PARAMETER.fullmatch(marked)):
        return marked
    field, value = f"«{labels.get(parameter[1]) or parameter[1].replace('_', ' ')}»", parameter[2]
    if value in (None, "True"):
        return field
    plain = "no" if value == "False" else _plain(value)
    text = labels.get(f"{parameter[1]}={plain}")
    return f"{field} «{text}»" if text else f"{field} {plain}"


def _for_report(marked: str) -> str:
    """A setting, or a command without its flags: a report is read by people who did not make it."""
    if call := _CALL.fullmatch(marked):
        return f"cranfield {call[1].replace('_', ' ')}"
    return _for_page(marked)


def _for_step(marked: str) -> str:
    """An input of a step of a pipeline, as it is written there, or a command."""
    parameter = _PARAMETER.fullmatch(marked)
    if not parameter:
        return _for_command(marked)
    name, value = parameter[1].replace("_", "-"), parameter[2]
    shown = value.lower() if value in ("True", "False") else _plain(value or " ")
    return f"«{name}: {shown}»" if value else f"«{name}»"


def _plain(value: str) -> str:
    """A Python value without quotes and brackets."""
    return value[1:-1] if value[0] in "\"'" else re.sub(r"[\[\]()\"']|(?<=,) ", "", value)


class CranfieldError(Exception):
    """Base class of all errors of cranfield.

    ``what`` says what is wrong, ``where`` names the place (``file:line`` where there is one), ``fix`` the next step.
    They are kept, and shown by ``str``, in the words of Python; `speak` has those of the other interfaces.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        self.what = what
        self.where = where
        self.fix = fix
        super().__init__(what, where, fix)

    def __reduce__(self) -> tuple[Any, ...]:
        """Make errors picklable, so that they can be passed between processes."""
        return partial(type(self), where=self.where, fix=self.fix), (self.what,)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f"\n  {visible(self.fix)}" if self.fix else ""
        return f"{visible(place + self.what)}{advice}"


class InputError(CranfieldError, ValueError):
    """A file or table that cannot be read."""


class RequestError(CranfieldError, ValueError):
    """An invalid request: an unknown measure, an impossible option."""


class NoEffectError(RequestError):
    """A request with a ``parameter`` that would have no effect."""

    def __init__(self, what: str, *, parameter: str, where: str = "", fix: str = "") -> None:
        super().__init__(what, where=where, fix=fix)
        self.parameter = parameter

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), parameter=self.parameter, where=self.where, fix=self.fix), (self.what,)


class PackedFileError(InputError):
    """A packed file that is truncated, altered or of a newer format, or a file that is no packed file."""


class WriteError(CranfieldError, OSError):
    """A result that could not be written; an existing file is unchanged."""


@dataclass(frozen=True)
class Caution:
    """A warning about a result, or about the data that it comes from. ``slug`` names the kind."""

    slug: str
    what: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.what}. {self.fix}".rstrip()


class CranfieldWarning(UserWarning):
    """What a result should be read with, where nobody sees the result: in assertions of a test suite."""


@dataclass(frozen=True)
class Part:
    """An optional part: what needs it, and its packages by the names that they are imported by."""

    what: str
    packages: Mapping[str, str]


PARTS = {
    "charts": Part("a chart as PNG or PDF", {"vl_convert": "vl-convert-python"}),
    "workbook": Part("writing a workbook", {"xlsxwriter": "xlsxwriter"}),
    "web": Part("the web page", {"fastapi": "fastapi", "uvicorn": "uvicorn", "python_multipart": "python-multipart"}),
    "cluster": Part("running on a cluster", {"distributed": "distributed", "dask": "dask"}),
    "parquet": Part("Parquet", {"polars": "polars"}),
    "sheets": Part("reading a workbook", {"openpyxl": "openpyxl"}),
    "logs": Part("reading a log of Inspect (.eval)", {"zstandard": "zstandard"}),
    "irds": Part("a dataset of ir_datasets", {"ir_datasets": "ir-datasets"}),
    "mcp": Part("the server for language models", {"mcp": "mcp"}),
}
"""Every optional part, by the extra that installs it."""


class MissingPartError(CranfieldError, ImportError):
    """A function that needs an optional part, and how to install it."""

    def __init__(self, extra: str, packages: tuple[str, ...] = ()) -> None:
        packages = packages or tuple(PARTS[extra].packages.values())
        needed = f"{' and '.join(packages)}, which {'is' if len(packages) == 1 else 'are'} not installed"
        super().__init__(f"{PARTS[extra].what} needs {needed}", fix=f"pip install 'cranfield[{extra}]'")
        self._made_of = (extra, packages)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._made_of


def missing_part(extra: str) -> MissingPartError | None:
    """The error to raise where a part is not installed; None where it is. Nothing is imported."""
    from importlib.util import find_spec

    lacking = tuple(name for module, name in PARTS[extra].packages.items() if find_spec(module) is None)
    return MissingPartError(extra, lacking) if lacking else None


def check_part(extra: str) -> None:
    """Raise MissingPartError where a part is not installed, before anything is computed for it."""
    missing = missing_part(extra)
    if missing is not None:
        raise missing
