"""One question, one function: command, page and JSON have the parameters of its signature, and no others."""

import inspect
from typing import Any, Literal, get_args, get_origin

import pytest
import typer
from typer.main import get_command

import cranfield
from cranfield.cli.app import make_app
from cranfield.cli.options import FILES
from cranfield.errors import RequestError, speak
from cranfield.questions import MODULES, find_question
from cranfield.questions.parameters import Parameter, Question
from cranfield.web.application import make_app as make_web_app
from cranfield.web.calculators import CALCULATORS
from cranfield.web.forms import PAGE_TITLES
from cranfield.web.page_list import QUESTIONS as PAGES
from cranfield.web.page_list import WITHOUT_DATA

ADDED = {"plot", "chart", "dask", "workers", "resume", "json", "csv", "md", "latex", "warnings", "format", "per_topic"}
"""What the terminal adds to every question it fits."""
PAGE_EXTRAS = {"goal", "curve", "chart", "human"}  # of those in a form, over what; the chart; the file of human labels
COMMANDS_ALONE = {"verify": {"gate"}, "compare": {"estimator", "sampled"}}  # what changes the exit code; with a judge
QUESTION_NAMES = sorted(MODULES)
WITHOUT_PAGE = {
    "pack",
    "study_new",
    "study_plans",
    "study_width",
}  # a file that is written; no data; two kinds of scores
PAGE_NAMES = [name for name in QUESTION_NAMES if name not in WITHOUT_PAGE]


def command_of(question: Question) -> Any:
    found: Any = get_command(make_app([question.command.split()[0]]))
    for word in question.command.split():
        found = found.commands[word] if hasattr(found, "commands") else found
    return found


@pytest.mark.parametrize("name", QUESTION_NAMES)
def test_the_public_function_has_the_parameters_of_the_question(name: str) -> None:
    question = find_question(name)
    signature = inspect.signature(getattr(cranfield, name))
    assert list(signature.parameters) == list(question.signature.parameters)
    text = getattr(cranfield, name).__doc__
    for each in question.parameters.values():
        if each.argument:
            assert each.argument in signature.parameters
            assert f"``{each.field}``: {each.help}" in text
        else:
            assert signature.parameters[each.name].default == each.default
            assert f"{each.name}\n    {each.help}" in text


@pytest.mark.parametrize("name", QUESTION_NAMES)
def test_the_command_has_the_same_names_defaults_choices_and_help(name: str) -> None:
    question = find_question(name)
    flags = {each.name: each for each in command_of(question).params if each.name != "help"}
    files = set(FILES[name].options()) if name in FILES else {"out", "pdf", "xlsx"} if name == "report" else set()
    assert set(flags) - ADDED - files == set(question.parameters)
    for parameter in question.parameters.values():
        flag = flags[parameter.name]
        assert flag.help == speak(parameter.help, "command")
        assert flag.required == parameter.is_required
        if not parameter.is_required:
            assert flag.default in (parameter.default, None if parameter.default is None else ..., [])
        if not parameter.is_positional:
            assert f"--{parameter.name.replace('_', '-')}" in flag.opts
        assert all(choice in flag.help for choice in parameter.choices)


def page_of(question: Question) -> Any:
    return PAGES.get(question.command.replace(" ", "-"))


def values_of(annotation: Any) -> tuple[str, ...]:
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return next((found for each in get_args(annotation) if (found := values_of(each))), ())


def bounds_of(metadata: list[Any]) -> dict[str, float]:
    return {word: getattr(each, word) for each in metadata for word in ("gt", "ge", "lt", "le") if hasattr(each, word)}


def wanted_bounds(parameter: Parameter) -> dict[str, float]:
    about = parameter.about
    return {word: getattr(about, word) for word in ("gt", "ge", "lt", "le") if getattr(about, word) is not None}


def test_only_questions_about_ones_own_files_have_no_page_about_data() -> None:
    assert {name for name in QUESTION_NAMES if page_of(find_question(name)) is None} == WITHOUT_PAGE


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_the_page_has_the_same_names_defaults_choices_bounds_and_help(name: str) -> None:
    question = find_question(name)
    page = page_of(question)
    fields = all_fields(page)
    asked = asked_on_a_page(question)
    assert set(fields) - PAGE_EXTRAS == set(asked)
    for each, parameter in asked.items():
        field = fields[each]
        assert field.is_required() == parameter.is_required
        assert parameter.is_required or field.default in (parameter.default, str(parameter.default))  # grids are text
        assert field.description in helps(parameter)
        assert values_of(field.annotation) == parameter.choices
        if parameter.kind in ("count", "number"):
            assert bounds_of(field.metadata) == wanted_bounds(parameter)
        assert set(page.query.choices.get(each, {})) - {""} <= set(parameter.choices)


def helps(parameter: Parameter) -> list[str]:
    """What a page says of a parameter, with scores and without."""
    return [speak(parameter.help_for(with_scores=each), "page", PAGE_TITLES) for each in (True, False)]


def asked_on_a_page(question: Question) -> dict[str, Parameter]:
    alone = COMMANDS_ALONE.get(question.name, set())
    there = {name: each for name, each in question.parameters.items() if name not in alone}
    return {name: each for name, each in there.items() if not each.is_source}


def all_fields(page: Any) -> dict[str, Any]:
    """Fields of the page about data, and of the calculator or page without, which has what data would tell."""
    calculator = CALCULATORS.get(page.name.removeprefix("study-")) or WITHOUT_DATA.get(page.name)
    return {**(calculator.query.model_fields if calculator else {}), **page.query.model_fields}


@pytest.fixture(scope="module")
def paths() -> dict[str, Any]:
    """What the interface document says of every address."""
    found: dict[str, Any] = make_web_app().openapi()["paths"]
    return found


@pytest.mark.parametrize("name", PAGE_NAMES)
def test_the_interface_document_has_the_same_names_defaults_and_help(name: str, paths: dict[str, Any]) -> None:
    question = find_question(name)
    page = page_of(question)
    listed = [
        parameter
        for path in (f"/{page.name.removeprefix('study-')}.json", f"/data/{{key}}/{page.name}.json")
        for parameter in paths.get(path, {}).get("get", {}).get("parameters", [])
    ]
    there = {each["name"]: each for each in listed if each["in"] == "query"}
    asked = asked_on_a_page(question)
    assert set(there) - PAGE_EXTRAS == set(asked)
    for each, parameter in asked.items():
        assert there[each]["description"] in helps(parameter)
        usual = (parameter.default, str(parameter.default))  # grids are text
        assert parameter.is_required or there[each]["schema"].get("default") in usual


@pytest.mark.parametrize("name", QUESTION_NAMES)
def test_values_out_of_bounds_are_refused_before_any_data_is_read(name: str) -> None:
    for parameter in find_question(name).parameters.values():
        for word, step in (("gt", 0.0), ("ge", -1.0), ("lt", 0.0), ("le", 1.0)):
            limit = getattr(parameter.about, word)
            if limit is None or parameter.kind not in ("count", "number"):
                continue
            with pytest.raises(RequestError, match=f"`{parameter.name}` must be"):
                parameter.checked(limit + step if parameter.kind == "number" else int(limit + step))
        if parameter.choices:
            with pytest.raises(RequestError, match=f"`{parameter.name}` cannot be «nonsense»"):
                parameter.checked("nonsense")


@pytest.mark.parametrize("name", QUESTION_NAMES)
def test_charts_are_those_of_the_result(name: str) -> None:
    from cranfield.rendering.document import MODULES as SHOWN
    from cranfield.rendering.document import view

    question = find_question(name)
    kind = inspect.signature(question.function, eval_str=True).return_annotation
    assert kind.__name__ in SHOWN
    assert tuple(view(kind).charts) == question.charts


def test_every_question_is_a_function_of_the_package_and_a_command() -> None:
    for name in QUESTION_NAMES:
        assert callable(getattr(cranfield, name))
        assert name in cranfield.__all__
        assert isinstance(command_of(find_question(name)), typer.core.TyperCommand)
