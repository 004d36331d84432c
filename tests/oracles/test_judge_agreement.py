"""Methods for judges against ppi-python, scikit-learn, krippendorff (kept numbers) and statsmodels."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special

from cranfield.methods.contrasts.pairs import all_pairs
from cranfield.methods.judging import JudgedEstimate, JudgedScores, MatchedGrades, grade_agreement
from cranfield.methods.judging.estimators import pair_moments, ppi

Array = npt.NDArray[Any]
GOLDEN = Path(__file__).parent / "golden" / "judges.csv"
SIZES = [(10, 40), (15, 200), (25, 60)]


def golden(name: str) -> dict[str, float]:
    lines = [line for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]
    return {row["case"]: float(row["value"]) for row in csv.DictReader(lines) if row["name"] == name}


def differences(n: int, whole: int) -> tuple[Array, Array]:
    """Human and judge's differences, as golden/judges.py draws them."""
    rng = np.random.default_rng(n)
    e = rng.normal(0.1, 0.3, whole)
    return 0.6 * e[:n] + rng.normal(0, 0.2, n), e


def estimated(d: Array, e: Array, tuning: float | None) -> JudgedEstimate:
    """The estimate of one pair whose second system always scores 0."""
    human, judge = (np.column_stack([each, np.zeros(len(each))]) for each in (d, e))
    scores = JudgedScores(human=human, judge=judge, rows=np.arange(len(d)))
    moments = pair_moments(scores, all_pairs(2))
    return ppi(moments, None if tuning is None else np.array([tuning]))


@pytest.mark.parametrize(("n", "whole"), SIZES)
@pytest.mark.parametrize("tuning", [0.0, 0.4, 1.0, None])
def test_ppi_equals_ppi_python_to_1e_9(n: int, whole: int, tuning: float | None) -> None:
    d, e = differences(n, whole)
    found = estimated(d, e, tuning)
    assert found.value[0] == pytest.approx(golden("ppi value")[f"{n} {tuning}"], abs=1e-9)
    if tuning is not None:  # ppi-python divides by n and takes z, where we divide by n − 1 and take t
        rest, z = whole - n, float(-special.ndtri(0.025))
        parts = (d - tuning * e[:n]).var() / n, (tuning * e[n:]).var() / rest
        assert 2 * z * np.sqrt(sum(parts)) == pytest.approx(golden("ppi width")[f"{n} {tuning}"], abs=1e-9)
        wider = parts[0] * n / (n - 1) + parts[1] * rest / (rest - 1)
        assert found.standard_error[0] == pytest.approx(np.sqrt(wider), abs=1e-12)


def grades() -> tuple[Array, Array]:
    """Grades of two raters, as golden/judges.py draws them."""
    rng = np.random.default_rng(7)
    human = rng.integers(0, 4, 300)
    return human, np.clip(human + rng.integers(-1, 3, 300), 0, 3)


def test_kappas_and_alphas_equal_scikit_learn_and_krippendorff() -> None:
    human, judge = grades()
    found = grade_agreement(MatchedGrades(human=human, judge=judge, topic=np.arange(300) // 10))
    for name, value in golden("kappa").items():
        kind = found.kappa if name == "none" else getattr(found, f"{name}_kappa")
        assert kind.value == pytest.approx(value, abs=1e-12), name
    for name, value in golden("alpha").items():
        assert getattr(found, f"{name}_alpha").value == pytest.approx(value, abs=1e-12), name


def test_kappas_equal_statsmodels_and_their_errors_agree_where_documents_are_independent() -> None:
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    rng = np.random.default_rng(3)
    human = rng.integers(0, 4, 2000)
    judge = np.where(rng.random(2000) < 0.5, human, rng.integers(0, 4, 2000))
    found = grade_agreement(MatchedGrades(human=human, judge=judge, topic=np.arange(2000)))  # one document per topic
    for weights, kind in ((None, found.kappa), ("linear", found.linear_kappa), ("quadratic", found.quadratic_kappa)):
        other = inter_rater.cohens_kappa(found.confusion, wt=weights, return_results=True)
        assert kind.value == pytest.approx(other.kappa, abs=1e-12)
        assert kind.standard_error == pytest.approx(other.std_kappa, rel=0.02)
