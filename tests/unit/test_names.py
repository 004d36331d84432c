"""Names of tests, estimates and plans are declared once, and every registry has exactly these."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, get_args

import numpy as np
import pytest

from cranfield import RequestError, ScoreTable
from cranfield.methods import names
from cranfield.methods.contrasts import ALL_TESTS, compare
from cranfield.methods.contrasts.corrections import CORRECTIONS
from cranfield.methods.contrasts.pair_tests import FAMILY, RESAMPLED
from cranfield.methods.leave_out.pilots import ESTIMATES
from cranfield.methods.sequential.boundaries import SPENDING
from cranfield.methods.sequential.plans import CATALOG
from cranfield.methods.verification.batch_tests import make_test
from cranfield.rendering.paper_table import CITATIONS

TITLED = {
    "TestName": names.TEST_TITLES,
    "PlannedTestName": names.PLANNED_TEST_TITLES,
    "CorrectionName": names.CORRECTION_TITLES,
    "EstimateName": names.ESTIMATE_TITLES,
    "PlanName": names.PLAN_TITLES,
    "SpendingName": names.SPENDING_TITLES,
    "MarginsName": names.MARGINS_TITLES,
    "DependenceName": names.DEPENDENCE_TITLES,
    "MissingName": names.MISSING_TITLES,
}


@pytest.mark.parametrize("kind", TITLED)
def test_every_name_of_a_kind_has_a_title(kind: str) -> None:
    assert get_args(getattr(names, kind)) == tuple(TITLED[kind])


def test_registries_have_the_names_that_are_declared() -> None:
    tests = set(names.TEST_TITLES)
    assert set(ALL_TESTS) == tests - {"dunnett"} == set(get_args(names.AllPairsTestName))
    assert tests == set(CITATIONS)
    assert {*FAMILY, *RESAMPLED} < tests
    assert set(names.TEST_LABELS) == tests | set(names.PLANNED_TEST_TITLES)
    assert set(CORRECTIONS) == set(names.CORRECTION_TITLES)
    assert set(ESTIMATES) | {"percentile"} == set(names.ESTIMATE_TITLES)  # which pilots of runs do not have
    assert set(CATALOG) == set(names.PLAN_TITLES)
    assert set(SPENDING) == set(names.SPENDING_TITLES)


@pytest.mark.parametrize("name", names.TEST_TITLES)
def test_every_test_that_is_declared_is_run(name: str) -> None:
    values = np.random.default_rng(1).normal(size=(1, 12, 3, 1))
    table = ScoreTable(("AP",), tuple("123456789abc"), tuple("xyz"), values)
    found = compare(table, test=name, baseline="x" if name == "dunnett" else ())
    assert (found.test, found.correct) == (name, "none" if name in FAMILY else "holm")
    assert np.isfinite(found.p_adjusted).all()


@pytest.mark.parametrize(("former", "name"), [("randomised", "tukey-permutation"), ("randomisation", "permutation")])
def test_a_former_name_is_refused_with_the_new_one(former: str, name: str) -> None:
    values = np.random.default_rng(1).normal(size=(1, 8, 3, 1))
    table = ScoreTable(("AP",), tuple("12345678"), tuple("abc"), values)
    refused: Any
    for ask in (lambda: compare(table, test=former), lambda: make_test(former, alpha=0.05, systems=3)):
        with pytest.raises(RequestError, match=f"there is no test «{former}»") as refused:
            ask()
        assert refused.value.fix == f'It is called "{name}" now.'


def test_names_are_listed_without_loading_the_methods() -> None:
    code = "import sys, cranfield.methods.names; print(sorted({'numpy', 'scipy', 'numba'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
