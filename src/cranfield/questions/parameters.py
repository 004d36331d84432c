"""What a question takes, declared once in the signature of its function; every interface is derived from here."""

from __future__ import annotations

import inspect
import operator
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from functools import cached_property, wraps
from math import isfinite
from os import PathLike, fspath
from typing import Any, ClassVar, Literal, Self, TypeVar, Union, get_args, get_origin

from cranfield.errors import Caution, CranfieldError, NoEffectError, RequestError, say_as_share
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

    ``flag`` is the name outside its group, where the field of the group has a shorter one. It has no effect unless one
    of ``requires`` is given, or where one of ``excludes`` is: names of parameters, or ``name=value``. What is
    ``advanced`` stands last in help.
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
    flag: str = ""
    requires: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    advanced: bool = False


@dataclass(frozen=True)
class Input(Param):
    """A parameter that says where data comes from or where files go; a page has uploads and downloads instead."""


@dataclass(frozen=True)
class Written(Input):
    """A parameter that names what is written."""


class Group:
    """Parameters that belong together: one argument in Python, an object or a dict; elsewhere its fields are flags.

    ``title`` heads its panel in help and its drawer on a page; ``main`` is the field that a plain value stands for.
    """

    title: ClassVar[str] = ""
    main: ClassVar[str] = ""

    @classmethod
    def of(cls, value: Any) -> Self:
        """The object that a question is called with, whatever its caller gave."""
        return value if isinstance(value, cls) else cls(**(value or {}))


class Fields:
    """The fields of a group that a question has: ``Annotated[type, Fields(Group, "name", …)]``.

    ``usual`` are defaults of this question, and ``own`` annotations of fields about which it says something else.
    """

    def __init__(self, group: type[Group], *names: str, usual: Mapping[str, Any] | None = None, **own: Any) -> None:
        self.group, self.names, self.usual, self.own = group, names, usual or {}, own

    def parameters(self, argument: str) -> Iterable[Parameter]:
        """Every field as a parameter of its own, under the name of its flag."""
        for name in self.names:
            default = self.usual[name] if name in self.usual else getattr(self.group, name)
            declared = _parameter(name, self.own.get(name) or self.group.__annotations__[name], default)
            yield replace(
                declared,
                name=declared.about.flag or name,
                is_optional=default is None,
                argument=argument,
                field=name,
                panel=self.group.title,
            )

    def spread(self, argument: str, value: Any) -> dict[str, Any]:
        """What was given as the group, by the names of its fields."""
        said = self._said(argument, value)
        unknown = next((str(name) for name in said if name not in self.names), None)
        if unknown is None:
            return said
        close = closest(unknown, self.names)
        fix = f"Did you mean {close[0]}?" if close else f"It has: {', '.join(self.names)}."
        raise RequestError(f"`{argument}` has no field «{shorten(unknown)}» here", fix=fix)

    def _said(self, argument: str, value: Any) -> dict[str, Any]:
        if value is None:
            return {}
        if isinstance(value, self.group):  # what differs from the defaults of its class
            members = fields(value)  # type: ignore[arg-type]
            parts = {each.name: getattr(value, each.name) for each in members}
            return {each.name: parts[each.name] for each in members if not _is_same(parts[each.name], each.default)}
        if isinstance(value, Mapping):
            return dict(value)
        if self.group.main in self.names:
            return {self.group.main: value}
        example = f"cranfield.{self.group.__name__}({self.names[0]}=…) or {{{self.names[0]!r}: …}}"
        raise RequestError(f"`{argument}` cannot be «{shown(value)}»", fix=f"Write {example}.")


def _is_same(value: Any, usual: Any) -> bool:
    """Whether a value is the usual one; data in memory is compared with nothing."""
    return value is usual or (isinstance(value, str | int | float | list) and bool(value == usual))


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
    argument: str = ""  # of the function, where this is a field of a group
    field: str = ""
    panel: str = ""

    @property
    def is_source(self) -> bool:
        return isinstance(self.about, Input)

    @property
    def in_python(self) -> str:
        """What the function calls it: the argument, and its key in a group."""
        if not self.argument:
            return self.name
        return self.argument if self.name == self.argument else f'{self.argument}={{"{self.field}": …}}'

    def blocked_by(self, values: Mapping[str, Any], given: frozenset[str]) -> str:
        """Why it has no effect beside these values, of which some were ``given``; empty where it has."""
        needs = [each for each in self.about.requires if each.partition("=")[0] in values]
        if needs and not any(_holds(each, values, given) for each in needs):
            return f"without {' or '.join(map(_in_words, needs))}"
        with_them = [each for each in self.about.excludes if _holds(each, values, given)]
        return f"with {_in_words(with_them[0])}" if with_them else ""

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
        return self._help(f"{self.about.default}{alone}" if self.default is None else "")

    def help_for(self, *, with_scores: bool) -> str:
        """The same where there are scores, or where there are none."""
        return self._help(self.default_for(with_scores=with_scores))

    def default_for(self, *, with_scores: bool) -> str:
        """What None stands for; empty where it is something else when it is left out."""
        if self.default is not None:
            return ""
        return self.about.default if with_scores or self.about.alone is None else self.about.alone

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
        fix = say_as_share(value) or self.about.help
        return RequestError(f"`{self.name}` must be {wanted}, not «{shown(value)}»", fix=fix)

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


def _holds(condition: str, values: Mapping[str, Any], given: frozenset[str]) -> bool:
    """Whether a parameter is given, or has the value that is named."""
    name, equals, value = condition.partition("=")
    return (values.get(name) == value) if equals else name in given


def _in_words(condition: str) -> str:
    name, equals, value = condition.partition("=")
    if name in DATA:
        return name
    return f'`{name}="{value}"`' if equals else f"`{name}`"


DATA = ("scores", "runs")
"""Arguments that are data, and no fields of a form."""
_COMMA = re.compile(r"0,\d+")  # a number as many languages write it: no list of designs begins with 0


def about(annotation: Any, **said: Any) -> Any:
    """What another declaration says about its parameter, with some of it replaced."""
    return replace(get_args(annotation)[1], **said)


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


_MARKED = re.compile(r"`([^`\n]+)`")
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
    def groups(self) -> dict[str, Fields]:
        """The arguments of the function that are groups."""
        about = {name: get_args(each.annotation)[1] for name, each in self.signature.parameters.items()}
        return {name: each for name, each in about.items() if isinstance(each, Fields)}

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """Everything that can be said, by the names of flags: a field of a group is a parameter like others."""
        return {each.name: each for argument in self.signature.parameters.values() for each in self._declared(argument)}

    def _declared(self, argument: inspect.Parameter) -> Iterable[Parameter]:
        if argument.name in self.groups:
            return self.groups[argument.name].parameters(argument.name)
        is_positional = argument.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        return [replace(_parameter(argument.name, argument.annotation, argument.default), is_positional=is_positional)]

    def call(self, *given: Any, **named: Any) -> Any:
        """The result for arguments as the function has them; what is refused is said in its words."""
        try:
            result = self.ask(*given, **self._spread(named))
        except CranfieldError as error:
            error.what, error.fix = self.in_python(error.what), self.in_python(error.fix)
            raise
        if not result.warnings:
            return result
        return replace(result, warnings=tuple(self._renamed(each) for each in result.warnings))

    def _renamed(self, caution: Any) -> Any:
        """A warning in the words of the function; what files have wrong names no parameter."""
        if type(caution) is not Caution:
            return caution
        return replace(caution, what=self.in_python(caution.what), fix=self.in_python(caution.fix))

    @cached_property
    def _members(self) -> dict[str, tuple[Parameter, ...]]:
        """The parameters of every group, and under no name those that are arguments themselves."""
        arguments = dict.fromkeys(each.argument for each in self.parameters.values())
        every = self.parameters.values()
        return {name: tuple(each for each in every if each.argument == name) for name in arguments}

    def _spread(self, named: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of the function by the names of flags."""
        told: dict[str, Any] = {}
        for argument, value in named.items():
            if argument in self.groups:
                flags = {each.field: each.name for each in self._members[argument]}
                spread = self.groups[argument].spread(argument, value)
                told |= {flags[name]: part for name, part in spread.items()}
            elif argument in self.signature.parameters:
                told[argument] = value
            else:
                raise TypeError(f"{self.name}() has no parameter {argument!r}{self._suggestion(argument)}")
        return told

    def in_python(self, text: str) -> str:
        """A message with the fields of groups as the function has them."""

        def rename(found: re.Match[str]) -> str:
            name, _, value = found[1].partition("=")
            each = self.parameters.get(name)
            if each is None or each.in_python == name:
                return found[0]
            return f"`{each.in_python.replace('…', value) if value else each.in_python}`"

        return _MARKED.sub(rename, text)

    def ask(self, *given: Any, **named: Any) -> Any:
        """The result for parameters by the names of flags; it knows them as its inputs."""
        values = self.bind(*given, **named)
        self.check(values)
        result = self.function(**self._arguments(values))
        inputs = {name: described(value) for name, value in values.items()}
        return replace(result, inputs={**inputs, **result.inputs})

    def check(self, values: Mapping[str, Any]) -> None:
        """Refuse what has no effect beside the other values: the one place for all interfaces."""
        given = frozenset(name for name, value in values.items() if not self._is_usual(name, value))
        for name in filter(given.__contains__, self._conditional):
            why = self.parameters[name].blocked_by(values, given)
            if why:
                word, _, others = why.partition(" ")
                fix = f"Leave it out, or give {others}." if word == "without" else "Leave one of them out."
                raise NoEffectError(f"`{name}` has no effect {why}", parameter=name, fix=fix)

    @cached_property
    def _conditional(self) -> tuple[str, ...]:
        return tuple(name for name, each in self.parameters.items() if each.about.requires or each.about.excludes)

    def _is_usual(self, name: str, value: Any) -> bool:
        """Whether a checked value says no more than leaving it out."""
        return name in self.defaults and _is_same(value, self.defaults[name])

    def _arguments(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values as the function takes them."""
        told = {each.name: values[each.name] for each in self._members.get("", ())}
        for argument, members in self.groups.items():
            told[argument] = members.group(**{each.field: values[each.name] for each in self._members[argument]})
        return told

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
            plain = {name: value for name, value in named.items() if not self.parameters[name].argument}
            self.signature.bind(*given, **plain)  # which says what is wrong
        return self.defaults | {name: self.parameters[name].checked(value) for name, value in arguments.items()}

    def _suggestion(self, name: str) -> str:
        name = RENAMED.get(name, name)
        if name in self.parameters:
            return f": it is {self.parameters[name].in_python} now"
        close = closest(name, self.parameters)
        return f": did you mean {self.parameters[close[0]].in_python}?" if close else ""


def question(title: str, **more: Any) -> Callable[[Function], Function]:
    """Declare that a function answers a question: its arguments are checked, and its result knows them."""

    def declare(function: Function) -> Function:
        declared = Question(function, title, **more)

        @wraps(function)
        def ask(*given: Any, **named: Any) -> Any:
            return declared.call(*given, **named)

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
    for name in declared.signature.parameters:
        members = [each for each in declared.parameters.values() if each.argument == name]
        if members:
            group = declared.groups[name].group
            lines += [name, f"    {group.title}: a `{group.__name__}`, or a dict with these keys.", ""]
            lines += [f"    ``{each.field}``: {each.help}\n" for each in members]
        else:
            lines += [name, f"    {declared.parameters[name].help}"]
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


def _parameter(name: str, annotation: Any, default: Any) -> Parameter:
    base, about = get_args(annotation)[:2]
    kind, choices, is_optional = _kind(base)
    return Parameter(
        name=name,
        kind="data" if isinstance(about, Input) and kind == "other" else kind,
        default=default,
        about=about,
        choices=choices,
        is_optional=is_optional or default is None,
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
