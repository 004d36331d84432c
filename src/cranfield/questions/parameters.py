"""What a question takes, declared once in the signature of its function; every interface is derived from here."""

from __future__ import annotations

import inspect
import operator
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, wraps
from math import isfinite
from os import PathLike, fspath
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from cranfield.errors import RequestError
from cranfield.formats.problems import shorten
from cranfield.methods.names import FORMER_TEST_NAMES, HOLM_FIX

Numbers = Union[float, str, Sequence[float], None]  # noqa: UP007  a number, several, or text such as "0.03,0.05" or "10:100:10"
Counts = Union[int, str, Sequence[int], None]  # noqa: UP007
Names = Union[str, Sequence[str], None]  # noqa: UP007
JudgmentData = Union[str, Mapping[str, Any], None]  # noqa: UP007  a path, or {topic: {document: grade}}
NamedData = Union[str, Sequence[str], Mapping[str, Any], None]  # noqa: UP007  NAME=FILE, or data by name

LISTS = " A number, a list or a range (from:to:step)."
RENAMED = {
    "count": "resamples",
    "baselines": "baseline",
    "measures": "measure",
    "cluster": "dask",
    "figure": "chart",
    "matrix": "chart",
    "order=file": "ties=file",
    **FORMER_TEST_NAMES,
}
"""Words of earlier versions, and what they are called now."""


@dataclass(frozen=True)
class Param:
    """What is said about a parameter besides its type and default, in ``Annotated[type, Param(...)]``.

    ``default`` describes what None stands for, and ``alone`` what it stands for without scores where that is something
    else (nothing, where it is empty); ``label`` names the field of a form, ``short`` is the short flag, ``metavar`` the
    word that stands for the value in help; ``titles`` describes the choices. Bounds hold for every value of a list,
    which has at most ``most``.
    """

    help: str
    default: str = ""
    alone: str | None = None
    label: str = ""
    short: str = ""
    metavar: str = ""
    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None
    most: int = 1_000_000
    titles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Source(Param):
    """A parameter that says where data comes from or where files go; a page has uploads and downloads instead."""


@dataclass(frozen=True)
class Written(Source):
    """A parameter that names what is written."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a question, as its interfaces see it."""

    name: str
    kind: str  # choice, flag, count, number, text, counts, numbers, names, data
    default: Any
    about: Param
    choices: tuple[str, ...] = ()
    is_optional: bool = False
    is_positional: bool = False
    takes_data: bool = False  # objects in memory as well as the names of files

    @property
    def is_source(self) -> bool:
        return isinstance(self.about, Source)

    @property
    def names_files(self) -> bool:
        """Whether its values are paths, or NAME=PATH."""
        return self.is_source and (self.kind == "data" or self.about.metavar.endswith(("FILE", "FOLDER")))

    @property
    def is_written(self) -> bool:
        return isinstance(self.about, Written)

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def label(self) -> str:
        return self.about.label or self.name.replace("_", " ").capitalize()

    @property
    def is_grid(self) -> bool:
        """Whether it takes lists and ranges, which make a grid of designs; LOW,HIGH are two numbers."""
        return self.kind in ("numbers", "counts") and "," not in self.about.metavar

    @property
    def help(self) -> str:
        """What it means, its choices, and what it is where it is left out: the same text in every interface."""
        alone = f"; without scores, {self.about.alone}" if self.about.alone else ""
        return self._help(f"{self.about.default}{alone}")

    def help_for(self, *, with_scores: bool) -> str:
        """The same where there are scores, or where there are none."""
        return self._help(self.default_for(with_scores=with_scores))

    def default_for(self, *, with_scores: bool) -> str:
        about = self.about
        return about.default if with_scores or about.alone is None else about.alone

    def _help(self, default: str) -> str:
        text = self.about.help + (LISTS if self.is_grid else "")
        if self.choices:
            text += f" One of: {', '.join(self.choices)}."
        return text + (f" Default: {default}." if default else "")

    def checked(self, value: Any) -> Any:
        """The value in the form that the function takes; refused where it is out of bounds or no choice."""
        if self.kind in ("data", "names") and isinstance(value, list | tuple) and not value:
            value = None  # nothing is named
        if value is None and self.kind in ("numbers", "counts"):
            value = self.default
        if value is None:
            if not self.is_optional:
                raise RequestError(f"`{self.name}` has to be given", fix=self.about.help)
            return None
        if self.kind in ("numbers", "counts"):
            return self._grid(value)
        if self.kind == "names":
            return self._names(value)
        if self.kind == "data":
            return path_list(value)
        if self.kind == "choice":
            return self._choice(value)
        if self.kind in ("count", "number"):
            return self._number(value)
        if self.kind == "flag":
            return self._flag(value)
        return self._text(value)

    def _refusal(self, value: Any, wanted: str) -> RequestError:
        return RequestError(f"`{self.name}` must be {wanted}, not «{shown(value)}»", fix=self.about.help)

    def _flag(self, value: Any) -> bool:
        if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):  # NumPy's, without NumPy
            raise self._refusal(value, "True or False")
        return bool(value)

    def _text(self, value: Any) -> Any:
        if isinstance(value, str | PathLike):
            return fspath(value)
        if self.kind == "text" and (not self.takes_data or isinstance(value, NO_DATA)):
            raise self._refusal(value, "text")
        return value

    def _names(self, value: Any) -> list[str] | dict[str, Any]:
        if isinstance(value, str | PathLike):
            return [fspath(value)]
        if self.takes_data and isinstance(value, Mapping):
            return {str(name): each for name, each in value.items()}
        items = self._items(value, "a name or a list of names")
        self._check_count(len(items))
        odd = [each for each in items if not isinstance(each, str | PathLike | int | float)]
        if odd:
            raise self._refusal(odd[0], "a list of names")
        return [fspath(each) if isinstance(each, str | PathLike) else str(each) for each in items]

    def _items(self, value: Any, wanted: str) -> list[Any]:
        """What is in a list, a tuple, an array or another collection; text and mappings are none."""
        if isinstance(value, NO_DATA | str | Mapping) or not isinstance(value, Iterable):
            raise self._refusal(value, wanted)
        try:
            return list(value)
        except TypeError:  # an array of one number is no list
            raise self._refusal(value, wanted) from None

    def _grid(self, value: Any) -> list[float] | list[int]:
        from cranfield.methods.design.inputs import parse_counts, parse_grid

        wanted = "a whole number, or a list of them" if self.kind == "counts" else "a number, or a list of numbers"
        items = [value] if isinstance(value, str) or _is_number(value) else self._items(value, wanted)
        if not items:
            raise self._refusal(value, wanted)
        self._check_count(len(items))
        text = value if isinstance(value, str) else ",".join(map(str, items))
        if self.is_grid and text is value and self.kind == "numbers" and _COMMA.fullmatch(text.strip()):
            raise RequestError(
                f"`{self.name}` cannot be «{text.strip()}»",
                fix=f"The decimal separator is a point: {text.strip().replace(',', '.')}.",
            )
        found = parse_counts(text, name=self.name) if self.kind == "counts" else parse_grid(text, name=self.name)
        self._check_count(len(found))
        for number in (min(found), max(found)):
            self._check_bounds(number)
        return found

    def _check_count(self, count: int) -> None:
        if count > self.about.most:
            raise RequestError(
                f"`{self.name}` has {count:,} values, and {self.about.most:,} are the most", fix="Give fewer values."
            )

    def _choice(self, value: Any) -> str:
        if isinstance(value, str) and value in self.choices:
            return value
        name = shown(value)
        close = closest(name, self.choices)
        renamed, moved = RENAMED.get(name), RENAMED.get(f"{self.name}={name}")
        if (self.name, name) == ("test", "holm"):
            fix = HOLM_FIX
        elif moved:
            fix = f"It is `{moved}` now."
        elif renamed in self.choices:
            fix = f"It is called {renamed} now."
        else:
            fix = f"Did you mean {close[0]}?" if close else f"Choose one of: {', '.join(self.choices)}."
        raise RequestError(f"`{self.name}` cannot be «{name}»", fix=fix)

    def _number(self, value: Any) -> Any:
        if not _is_number(value) or (self.kind == "count" and value != int(value)):
            raise self._refusal(value, "a whole number" if self.kind == "count" else "a number")
        self._check_bounds(value)
        return int(value) if self.kind == "count" else float(value)

    def _check_bounds(self, value: Any) -> None:
        about = self.about
        limits = (
            (about.gt, operator.gt, "above"),
            (about.ge, operator.ge, "at least"),
            (about.lt, operator.lt, "below"),
            (about.le, operator.le, "at most"),
        )
        for limit, is_kept, words in limits:
            if limit is not None and not is_kept(value, limit):
                what = f"`{self.name}` must be {words} {plain(limit)}, not {plain(value)}"
                raise RequestError(what, fix=about.help)


_COMMA = re.compile(r"0,\d+")  # a number as many languages write it: no list of designs begins with 0


def path_list(value: Any) -> Any:
    """Paths as a list of text; other data as they are."""
    if isinstance(value, str | PathLike):
        return [fspath(value)]
    if isinstance(value, list | tuple) and all(isinstance(each, str | PathLike) for each in value):
        return [fspath(each) for each in value]
    return value


def closest(name: str, among: Iterable[str]) -> list[str]:
    """The most similar name, if one is similar at all."""
    from difflib import get_close_matches

    return get_close_matches(name, list(among), 1)


def _is_number(value: Any) -> bool:
    """Whether it is a finite number."""
    if isinstance(value, bool | str | bytes):
        return False
    try:
        return isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def plain(number: float) -> str:
    """A number in a message: whole ones with all their digits.

    >>> plain(1_000_000), plain(0.5), plain(10**30)
    ('1,000,000', '0.5', '1e+30')
    """
    return f"{number:,.0f}" if number == int(number) and abs(number) < 1e15 else f"{float(number):g}"


NO_DATA = bool | int | float | bytes | bytearray
"""Types of what is neither text nor data."""


def shown(value: Any) -> str:
    """A value in a message, whatever it is.

    >>> shown(0.5), shown(10**30), shown([1, 2]), len(shown("x" * 1000))
    ('0.5', '1000000000000000000000000000000', '[1, 2]', 60)
    """
    try:
        text = str(value)
    except ValueError:  # of a whole number of thousands of digits
        text = f"{Decimal(value):.3e}"
    return text if isinstance(value, int | float) else shorten(text)


Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Question:
    """Something that a person wants to know: one function, and what its interfaces need besides its signature.

    ``title`` heads its page and its section, ``examples`` are command lines, ``charts`` the kinds of chart with the
    default first, ``working`` is what a progress bar says; ``is_parallel`` where work can go to other processes.
    """

    function: Callable[..., Any]
    title: str
    examples: tuple[str, ...] = ()
    charts: tuple[str, ...] = ()
    working: str = "working"
    is_parallel: bool = False

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def command(self) -> str:
        """The words of the command line."""
        return f"study {self.name.removeprefix('study_')}" if self.name.startswith("study_") else self.name

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring."""
        return " ".join((inspect.getdoc(self.function) or "").split("\n\n")[0].split())

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature with its annotations evaluated, once: that takes longer than many a command."""
        return inspect.signature(self.function, eval_str=True)

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        return {name: _parameter(each) for name, each in self.signature.parameters.items()}

    def ask(self, *given: Any, **named: Any) -> Any:
        """The result for these arguments; it knows them as its inputs."""
        values = self.bind(*given, **named)
        result = self.function(**values)
        inputs = {name: described(value) for name, value in values.items()}
        return replace(result, inputs={**inputs, **result.inputs})

    @cached_property
    def positional(self) -> tuple[str, ...]:
        """The parameters that need no name."""
        return tuple(name for name, each in self.parameters.items() if each.is_positional)

    @cached_property
    def required(self) -> frozenset[str]:
        return frozenset(name for name, each in self.parameters.items() if each.is_required)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The parameters that may be left out, in the form that the function takes."""
        return {name: each.checked(each.default) for name, each in self.parameters.items() if not each.is_required}

    def bind(self, *given: Any, **named: Any) -> dict[str, Any]:
        """Arguments by name, with defaults, checked."""
        for name in named:
            if name not in self.parameters:
                raise TypeError(f"{self.name}() has no parameter {name!r}{self._suggestion(name)}")
        arguments = {**dict(zip(self.positional, given, strict=False)), **named}
        if len(arguments) < len(given) + len(named) or not self.required <= arguments.keys():
            self.signature.bind(*given, **named)  # which says what is wrong
        return self.defaults | {name: self.parameters[name].checked(value) for name, value in arguments.items()}

    def _suggestion(self, name: str) -> str:
        renamed = RENAMED.get(name)
        if renamed in self.parameters:
            return f": it is called {renamed!r} now"
        close = closest(name, self.parameters)
        return f": did you mean {close[0]!r}?" if close else ""


def question(title: str, **more: Any) -> Callable[[Function], Function]:
    """Declare that a function answers a question: its arguments are checked, and its result knows them."""

    def declare(function: Function) -> Function:
        declared = Question(function, title, **more)

        @wraps(function)
        def ask(*given: Any, **named: Any) -> Any:
            return declared.ask(*given, **named)

        ask.__doc__ = documented(declared)
        plain = _plain_signature(declared.signature)
        ask.__signature__ = plain  # type: ignore[attr-defined]
        ask.__annotations__ = {name: each.annotation for name, each in plain.parameters.items()}
        ask.__annotations__["return"] = plain.return_annotation
        ask.question = declared  # type: ignore[attr-defined]
        return ask  # type: ignore[return-value]

    return declare


def documented(declared: Question) -> str:
    """The docstring of the function with what its signature says about every parameter."""
    text = inspect.getdoc(declared.function) or ""
    lines = ["Parameters", "----------"]
    for name, each in declared.parameters.items():
        lines += [name, f"    {each.help}"]
    before, returns, after = text.partition("Returns\n-------")
    return "\n".join([before.rstrip(), "", *lines, "", returns + after]).rstrip() + "\n"


def _plain_signature(signature: inspect.Signature) -> inspect.Signature:
    """The signature as a reader wants it: types, without what is said about each parameter."""
    plain = [each.replace(annotation=get_args(each.annotation)[0]) for each in signature.parameters.values()]
    return signature.replace(parameters=plain)


def described(value: Any) -> Any:
    """An argument as JSON and messages have it: names and numbers as they are, data by its kind."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, list | tuple) and all(isinstance(each, str | int | float | PathLike) for each in value):
        return [described(each) for each in value]
    return type(value).__name__


def _parameter(each: inspect.Parameter) -> Parameter:
    base, about = get_args(each.annotation)[:2]
    kind, choices, is_optional = _kind(base)
    return Parameter(
        name=each.name,
        kind="data" if isinstance(about, Source) and kind == "other" else kind,
        default=each.default,
        about=about,
        choices=choices,
        is_optional=is_optional or each.default is None,
        is_positional=each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD,
        takes_data=base in (NamedData, JudgmentData),
    )


_ALIASES = ((Numbers, "numbers"), (Counts, "counts"), (Names, "names"), (NamedData, "names"), (JudgmentData, "text"))
_KINDS: dict[Any, str] = {bool: "flag", int: "count", float: "number", str: "text"}


def _kind(annotation: Any) -> tuple[str, tuple[str, ...], bool]:
    """The kind of value, the choices of a Literal, and whether it may be None."""
    for alias, kind in _ALIASES:
        if annotation == alias:
            return kind, (), True
    if get_origin(annotation) is Literal:
        return "choice", get_args(annotation), False
    inner = [each for each in get_args(annotation) if each is not type(None)]
    if len(inner) == 1 and type(None) in get_args(annotation):
        kind, choices, _ = _kind(inner[0])
        return kind, choices, True
    return _KINDS.get(annotation, "other"), (), False


def command_line(name: str, arguments: Sequence[str] = (), options: Mapping[str, Any] | None = None) -> str:
    """A line for a shell, whatever the names in it are made of.

    >>> command_line("size", (), {"systems": "10", "min_range": "0.1", "one_sided": False})
    'cranfield size --systems 10 --min-range 0.1'
    """
    words = ["cranfield", *name.split(), *(f"./{each}" if each.startswith("-") else each for each in arguments)]
    for option, value in (options or {}).items():
        flag = f"--{option.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif isinstance(value, list | tuple):
            for each in value:
                words += _option(flag, str(each))
        elif value is not None and value is not False:
            words += _option(flag, str(value))
    return shlex.join(words)


def command_of(question: Question, inputs: Mapping[str, Any]) -> str:
    """The command line of a result with these inputs; empty where the data did not come from files."""
    data = next(each.name for each in question.parameters.values() if each.is_positional)
    files = inputs.get(data)
    if not isinstance(files, list):
        return ""
    options = {}
    for name, each in question.parameters.items():
        value = inputs.get(name)
        if name == data or value is None or value == "" or _is_default(each, value):
            continue
        is_grid = each.kind in ("numbers", "counts") and isinstance(value, list)
        options[name] = ",".join(map(str, value)) if is_grid else value
    return command_line(question.command, files, options)


def _is_default(parameter: Parameter, value: Any) -> bool:
    return bool(
        value == parameter.default or (parameter.default is not None and value == parameter.checked(parameter.default))
    )


def _option(flag: str, value: str) -> list[str]:
    return [f"{flag}={value}"] if value.startswith("-") else [flag, value]
