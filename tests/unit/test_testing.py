"""Assertions for test suites."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.errors import RequestError
from cranfield.testing import assert_better, assert_not_worse

pytestmark = pytest.mark.filterwarnings("ignore::cranfield.errors.CranfieldWarning")  # scores are alike on purpose
RNG = np.random.default_rng(1)
OLD = RNG.beta(2, 3, 40)
DATA = {
    name: {str(at): float(value) for at, value in enumerate(values)}
    for name, values in {
        "old": OLD,
        "same": OLD + RNG.normal(0, 0.01, 40),
        "good": OLD + RNG.normal(0.05, 0.02, 40),
        "bad": OLD + RNG.normal(-0.05, 0.02, 40),
    }.items()
}


def test_a_candidate_within_the_margin_passes() -> None:
    assert_not_worse(DATA, baseline="old", candidate="same", margin=0.02)
    assert_not_worse(DATA, baseline="old", candidate=["same", "good"], margin="5%")
    assert_better(DATA, baseline="old", candidate="good")


def test_a_failure_is_the_line_of_the_gate() -> None:
    with pytest.raises(AssertionError) as failure:
        assert_not_worse(DATA, baseline="old", candidate="bad", margin=0.02)
    (found,) = cf.compare(DATA, baseline="old", candidate="bad", gate="no-worse=0.02").gates
    assert str(failure.value) == f"score: {found.verdict}"
    with pytest.raises(AssertionError, match="better FAILED: same − old"):
        assert_better(DATA, baseline="old", candidate="same")


def test_without_a_name_every_other_system_has_to_pass() -> None:
    with pytest.raises(AssertionError) as failure:
        assert_not_worse(DATA, baseline="old")
    assert [line.split()[3] for line in str(failure.value).splitlines()] == ["bad"]


def test_a_wrong_request_is_no_failed_assertion() -> None:
    with pytest.raises(RequestError, match="no system"):
        assert_not_worse(DATA, baseline="older")
    with pytest.raises(TypeError, match="marginal"):
        assert_better(DATA, baseline="old", marginal=1)


def test_warnings_are_given_with_the_line_of_the_test() -> None:
    few = {name: dict(list(topics.items())[:12]) for name, topics in DATA.items()}
    with pytest.warns(cf.CranfieldWarning, match="only 12 topics") as given:
        assert_not_worse(few, baseline="old", candidate="same", margin=0.04)
    assert {each.filename for each in given} == {__file__}
    with pytest.warns(cf.CranfieldWarning, match="only 12 topics"), pytest.raises(AssertionError):
        assert_better(few, baseline="old", candidate="bad")


def test_low_scores_may_be_the_good_ones() -> None:
    assert_better(DATA, baseline="old", candidate="bad", lower_is_better=True)


def test_pytest_shows_the_line_of_the_test_and_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "from cranfield.testing import assert_better\n"
        "def test_it():\n"
        "    data = {'old': {'1': 0.1, '2': 0.2, '3': 0.4}, 'new': {'1': 0.2, '2': 0.1, '3': 0.4}}\n"
        "    assert_better(data, baseline='old')\n",
        encoding="utf-8",
    )
    asked = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 1
    assert "AssertionError: score: better FAILED: new − old may be as low as" in done.stdout
    assert "testing.py" not in done.stdout.replace("test_testing", "")
