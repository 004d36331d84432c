"""Groups of parameters: objects and dicts in Python, flags elsewhere; what has no effect is refused everywhere."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import cranfield as cf
from cranfield.cli.app import app
from cranfield.errors import NoEffectError, speak
from cranfield.questions import MODULES, find_question
from cranfield.questions.parameters import Parameter, Question
from cranfield.web.calculators import CALCULATORS
from cranfield.web.forms import labels_of, make_form
from cranfield.web.page_list import QUESTIONS as PAGES
from cranfield.web.page_maker import values

ROOT = Path(__file__).parents[2]
COMBINATIONS = 200


def test_an_object_and_a_dict_say_the_same() -> None:
    by_object = cf.size(difference=0.05, sd=0.15, judge=cf.Judge(correlation=0.6, human_cost=10, cost=0.1))
    by_dict = cf.size(difference=0.05, sd=0.15, judge={"correlation": 0.6, "human_cost": 10, "cost": 0.1})
    assert by_object.to_dict() == by_dict.to_dict()
    assert by_object.inputs["judge_correlation"] == [0.6]
    assert by_object.inputs["judge_cost"] == 0.1


def test_a_plain_value_stands_for_the_main_field() -> None:
    given: dict[str, Any] = {"difference": 0.05, "spread": {"between": 0.01, "within": 0.006}}
    plain = cf.size(**given, replicates="clusters")
    assert plain.to_dict() == cf.size(**given, replicates={"structure": "clusters"}).to_dict()


def test_an_empty_group_says_nothing() -> None:
    plain = cf.size(difference=0.05, sd=0.15).to_dict()
    assert cf.size(difference=0.05, sd=0.15, goal={}, judge=cf.Judge(), source=None).to_dict() == plain
    assert cf.study_plans(difference=0.033, sd=0.15, plan=cf.Plan()).inputs["looks"] == [4]


@pytest.mark.parametrize(
    ("given", "what", "fix"),
    [
        ({"judge": {"corelation": 0.6}}, "`judge` has no field «corelation» here", "Did you mean correlation?"),
        ({"judge": {"model": {}}}, "`judge` has no field «model» here", "It has: labels"),
        ({"judge": cf.Judge(sampled=True)}, "`judge` has no field «sampled» here", "It has: labels"),
        ({"goal": 0.1}, "`goal` cannot be «0.1»", "Goal("),
        ({"source": cf.Goal(width=0.1)}, "`source` cannot be", "Source("),
        ({"judge": {"correlation": "x"}}, '`judge={"correlation": …}` cannot be «x»', "Write a number"),
        ({"family": {"one_sided": 1}}, '`family={"one_sided": …}` must be True or False', "One-sided"),
    ],
)
def test_what_is_no_group_is_refused_with_what_to_write(given: dict[str, Any], what: str, fix: str) -> None:
    with pytest.raises(cf.RequestError) as refused:
        cf.size(difference=0.05, sd=0.15, **given)
    assert what in refused.value.what
    assert fix in refused.value.fix


def test_a_keyword_of_an_earlier_version_is_told_its_group() -> None:
    with pytest.raises(TypeError, match=r"judge_correlation.*: it is judge=\{\"correlation\": …\} now"):
        cf.size(difference=0.05, sd=0.15, judge_correlation=0.6)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"did you mean resampling=\{\"resamples\": …\}"):
        cf.compare({}, resample=3)  # type: ignore[call-arg]


def test_warnings_are_in_the_words_of_the_interface() -> None:
    scores = {name: {str(t): 0.1 * t**power for t in range(4)} for name, power in (("a", 1), ("b", 2))}
    with pytest.raises(cf.RequestError) as refused:
        cf.size(scores, difference=0.05)
    assert '`spread={"small_pilot": True}` overrides this' in refused.value.fix
    with pytest.raises(cf.RequestError) as flags:
        find_question("size").ask(scores, difference=0.05)
    assert "`small_pilot=True` overrides this" in flags.value.fix


# --- what has no effect


def value_of(parameter: Parameter, rng: random.Random) -> Any:
    """A valid value that is not the default, as JSON has it."""
    about, kind = parameter.about, parameter.kind
    if parameter.choices:
        return rng.choice([each for each in parameter.choices if each != parameter.default])
    if kind == "flag":
        return not parameter.default
    if kind in ("count", "number", "numbers", "counts"):
        low = about.ge if about.ge is not None else 0 if about.gt is None else about.gt
        high = about.le if about.le is not None else 1 if about.lt is None else about.lt
        if kind in ("count", "counts"):
            number: float = int(low) + rng.randint(1, 3)
        else:
            number = round(low + (min(high, low + 1) - low) * rng.uniform(0.2, 0.8), 3)
        return str(number) if kind in ("numbers", "counts") else number
    return "bm25"


def invalid_combinations(count: int) -> Iterator[tuple[Question, dict[str, Any]]]:
    """Questions with values of which one has no effect beside the others."""
    rng = random.Random(35)
    questions = [find_question(name) for name in MODULES]
    rules = [(each, name) for each in questions for name in each._conditional]
    made = 0
    while made < count:
        question, name = rng.choice(rules)
        about = question.parameters[name].about
        needs = [need.partition("=")[0] for need in about.requires if need.partition("=")[0] in question.parameters]
        others = [other for other in about.excludes if other in question.parameters]
        more = [each for each in question.parameters if each not in (*needs, *others, name, *question.required)]
        chosen = {*question.required, name, *rng.sample(more, min(2, len(more)))}
        if needs and (not others or rng.random() < 0.5):
            if question.required & set(needs):
                continue  # it is always given
        elif others:
            chosen |= {rng.choice(others), *needs[:1]}
        else:
            continue  # the question has nothing that it depends on
        given = {each: value_of(question.parameters[each], rng) for each in question.parameters if each in chosen}
        made += 1
        yield question, given


def in_groups(question: Question, flat: Mapping[str, Any]) -> dict[str, Any]:
    """Values as the function takes them: some groups as a dict, some as an object."""
    given: dict[str, Any] = {}
    for name, value in flat.items():
        parameter = question.parameters[name]
        if parameter.argument:
            given.setdefault(parameter.argument, {})[parameter.field] = value
        else:
            given[name] = value
    for argument, fields in question.groups.items():
        said = given.get(argument, {})
        is_usual = any(value == getattr(fields.group, name) for name, value in said.items())  # an object cannot say so
        if len(said) % 2 and not is_usual:
            given[argument] = fields.group(**said)
    return given


def command_of(question: Question, flat: Mapping[str, Any]) -> list[str]:
    words = question.command.split()
    words += [str(flat[name]) for name in question.positional if name in flat]
    for name, value in flat.items():
        flag = f"--{name.replace('_', '-')}"
        if name not in question.positional:
            words += [flag] if value is True else [f"--no-{flag[2:]}"] if value is False else [f"{flag}={value}"]
    return words


@pytest.fixture
def idle_questions() -> Iterator[None]:
    """Questions that may not compute anything."""

    def compute(*_: Any, **__: Any) -> None:
        raise AssertionError("this was computed")

    questions = [find_question(name) for name in MODULES]
    before = [(each, each.function) for each in questions if each.parameters and each.defaults]
    for each, function in before:
        object.__setattr__(each, "function", type("Idle", (), {"__name__": function.__name__, "__call__": compute})())
    yield
    for each, function in before:
        object.__setattr__(each, "function", function)


def test_what_has_no_effect_is_refused_alike_in_python_command_and_page(
    idle_questions: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    seen, pages = set(), 0
    for question, flat in invalid_combinations(COMBINATIONS):
        with pytest.raises(NoEffectError) as by_flags:
            question.ask(**flat)
        refusal = by_flags.value
        with pytest.raises(NoEffectError) as in_python:
            getattr(cf, question.name)(**in_groups(question, flat))
        assert in_python.value.parameter == refusal.parameter
        assert in_python.value.what == question.in_python(refusal.what)
        ran = CliRunner().invoke(app, command_of(question, flat), standalone_mode=False)
        assert isinstance(ran.exception, NoEffectError), (command_of(question, flat), ran.exception)
        assert (ran.exception.what, ran.exception.fix) == (refusal.what, refusal.fix)
        pages += assert_page_refuses(question, flat, refusal)
        seen.add((question.name, refusal.parameter))
    assert len(seen) > 60  # of many kinds
    assert pages > 30


def assert_page_refuses(question: Question, flat: Mapping[str, Any], refusal: NoEffectError) -> int:
    """The page has no field for it; or it has, does not offer it beside these values, and refuses it in the same words.

    A page about data has scores, whatever the combination says. Returns how many pages refused it.
    """
    count = 0
    for page in (CALCULATORS.get(question.name.removeprefix("study_")), PAGES.get(question.command.replace(" ", "-"))):
        typed = {} if page is None else {name: each for name, each in flat.items() if name in page.query.model_fields}
        if page is None or refusal.parameter not in typed:
            continue
        with_data = page in PAGES.values()
        if with_data and "scores" in question.parameters[refusal.parameter].about.requires:
            continue
        data = {name: "bm25" for name in question.positional if with_data}
        others = {name: flat[name] for name in set(flat) - set(typed) - set(data)}  # fields that the page has not
        query = page.query.model_construct(**typed)
        told = {**values(question, query), **others, **data}
        with pytest.raises(NoEffectError) as refused:
            question.ask(**{name: value for name, value in told.items() if value is not None})
        labels = labels_of(page.query)
        if set(flat) <= {*typed, *data}:
            parameter = refused.value.parameter
            form = make_form(page.query, {name: str(value).lower() for name, value in typed.items()})
            fields = {each.name: each for group in form.groups for each in group.fields}
            assert (fields | {each.name: each for each in form.front})[parameter].is_idle, (page.name, flat)
            if parameter == refusal.parameter:
                assert speak(refused.value.what, "page", labels) == speak(refusal.what, "page", labels)
            count += 1
    return count


def test_what_a_page_hides_is_what_would_be_refused() -> None:
    fields = {each.name: each for group in make_form(CALCULATORS["size"].query, {}).groups for each in group.fields}
    assert fields["human_cost"].is_idle
    assert not fields["judge_correlation"].is_idle
    typed = {"judge_correlation": "0.6", "judge_cost": "0.1"}
    shown = {each.name: each for group in make_form(CALCULATORS["size"].query, typed).groups for each in group.fields}
    assert not shown["human_cost"].is_idle


def test_no_page_has_a_field_that_can_never_have_an_effect() -> None:
    assert not {"measure", "missing", "small_pilot", "assurance"} & set(CALCULATORS["size"].query.model_fields)
    assert not {"sd", "variance", "correlation", "effect_size", "between"} & set(PAGES["size"].query.model_fields)
    assert not {"estimator", "sampled"} & set(PAGES["compare"].query.model_fields)


def test_no_question_has_too_many_parameters_and_few_are_declared() -> None:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "count_declarations.py")], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "0 declared twice" in ran.stdout


def test_every_condition_names_parameters() -> None:
    known = {name for each in MODULES for name in find_question(each).parameters}
    for each in MODULES:
        for parameter in find_question(each).parameters.values():
            named = {word.partition("=")[0] for word in (*parameter.about.requires, *parameter.about.excludes)}
            assert named <= known, (each, parameter.name)
