"""Work grows no faster than the input: counted, as time is not tested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.formats.column_scan import DelimitedLayout, scan_columns
from cranfield.formats.scores import first_repeat, text_number
from cranfield.scores import ScoreTable


class Name(str):
    """A name that counts how often it is compared with another."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def names(letter: str, count: int) -> tuple[Name, ...]:
    """Names that are no other's objects, as those that are read twice."""
    return tuple(Name(f"{letter}{at}") for at in range(count))


def table_of(systems: int, topics: int = 4) -> ScoreTable:
    values = np.random.default_rng(systems).normal(0.5, 0.1, (1, topics, systems, 1))
    return ScoreTable(("AP",), tuple(map(str, range(topics))), names("s", systems), values)


def columns_are_found(count: int) -> None:
    columns = ["topic", *names("s", count)]
    data = ("\n".join([",".join(columns), *(f"{row}{',0.5' * count}" for row in "ab")]) + "\n").encode()
    layout = DelimitedLayout.of(data, ",")
    layout = replace(layout, names=tuple(map(Name, layout.names)))
    found = scan_columns(data, layout, ids=["topic"], numbers=names("s", count), number=text_number)
    assert found.numbers.shape == (2, count)


def repeats_are_found(count: int) -> None:
    assert first_repeat([*names("s", count), Name("s0")]) == "s0"


def systems_meet_several_baselines(count: int) -> None:
    assert len(cf.compare(table_of(count), baseline=names("s", 3), test="t").comparisons["AP"].first) == 3 * count - 6


def candidates_pass_a_gate(count: int) -> None:
    gates = cf.compare(table_of(count), baseline="s0", gate="no-worse=0.5", candidate=list(names("s", count)[1:])).gates
    assert len(gates) == count - 1


MATCHING = [columns_are_found, repeats_are_found, systems_meet_several_baselines, candidates_pass_a_gate]


def counted(function: Callable[[int], Any], size: int) -> int:
    function(size)
    Name.compared = 0
    function(size)
    return Name.compared


@pytest.mark.parametrize("function", MATCHING)
def test_names_are_compared_about_as_often_as_there_are_names(function: Callable[[int], Any]) -> None:
    assert counted(function, 400) <= 2.6 * counted(function, 200) <= 2.6 * 40 * 200
