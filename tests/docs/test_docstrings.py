"""Every public function says what it takes, what it returns, and shows an example; questions also cite their method."""

import inspect

import pytest

import cranfield
from cranfield.questions import MODULES

FUNCTIONS = sorted(name for name in cranfield.__all__ if inspect.isfunction(getattr(cranfield, name)))
WITHOUT_METHOD = {"check", "pack"}  # questions about files, which no paper is about


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_has_parameters_returns_and_an_example(name: str) -> None:
    function = getattr(cranfield, name)
    text = inspect.getdoc(function) or ""
    wanted = ["Parameters\n----------", "Returns\n-------", "Examples\n--------", ">>> "]
    if name in MODULES and name not in WITHOUT_METHOD:
        wanted.append("References\n----------\n.. [1]")
    assert [part for part in wanted if part not in text] == []
    taken = [parameter for parameter in inspect.signature(function).parameters if parameter != "progress"]
    section = text.split("Parameters\n----------")[1].split("Returns\n-------")[0]
    named = {word.strip() for line in section.splitlines() if line[:1].strip() for word in line.split(",")}
    assert set(taken) <= named


def test_nothing_public_is_missing_from_the_list() -> None:
    assert set(MODULES) <= set(FUNCTIONS)
    assert len(cranfield.__all__) == len(set(cranfield.__all__)) == len(cranfield._HOME)
