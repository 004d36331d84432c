"""Every recorded call has the answer that it had; ``python -m tests.record`` records on purpose what changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from .__main__ import table
from .call import Call
from .condense import changes, condense
from .run import run
from .store import GROUPS, declared, recorded
from .tables import make_folder

_ALL = [(group, call) for group in GROUPS for call in declared(group)]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("record")
    make_folder(path)
    return path


@pytest.mark.parametrize(("group", "call"), _ALL, ids=[call.text for _, call in _ALL])
def test_a_call_answers_what_is_recorded(group: str, call: Call, folder: Path) -> None:
    assert call.text in recorded(group), "not recorded yet: python -m tests.record"
    changed = changes(call.text, recorded(group)[call.text], run(call, folder), call.tolerance)
    assert not changed, f"another answer than recorded\n{table(changed)}"


@pytest.mark.parametrize("group", GROUPS)
def test_the_record_has_no_answer_of_a_call_that_is_gone(group: str) -> None:
    assert list(recorded(group)) == [call.text for call in declared(group)]


def test_a_change_of_one_value_in_a_long_column_is_seen() -> None:
    before = {"rows": [{"x": 0.1 * at, "name": f"s{at}"} for at in range(100)]}
    after = {"rows": [dict(row) for row in before["rows"]]}
    after["rows"][57]["x"] = 5.7 * (1 + 1e-8)
    changed = changes("a call", condense(before), condense(after), 1e-12)
    assert [change.key for change in changed] == ["rows[].x"]


def test_values_that_change_places_are_seen() -> None:
    before = {"x": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "name": list("abcdef")}
    after = {"x": [0.1, 0.2, 0.4, 0.3, 0.5, 0.6], "name": list("abdcef")}
    assert [change.key for change in changes("", condense(before), condense(after), 1e-12)] == ["x[]", "name[]"]


def test_a_key_that_is_new_gone_or_of_another_type_is_seen() -> None:
    changed = changes("", condense({"a": 1, "b": None}), condense({"a": True, "c": None}), 1e-12)
    assert [change.key for change in changed] == ["a", "b", "c"]


def test_the_last_digits_and_prose_are_not_seen() -> None:
    before, after = (
        {"x": 0.3, "summary": "one", "note": "two words"},
        {"x": 0.1 + 0.2, "summary": "1", "note": "2 words"},
    )
    assert changes("", condense(before), condense(after), 1e-12) == []


def test_a_p_value_is_compared_however_small_it_is() -> None:
    assert changes("", {"p_value": 1e-200, "d": 1e-17}, {"p_value": 2e-200, "d": 2e-17}, 1e-12)[0].key == "p_value"
