"""The sign test of 0/1 scores is McNemar's exact test."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar

import cranfield as cf


@pytest.mark.parametrize("seed", range(5))
def test_of_passes_the_sign_test_is_mcnemars(seed: int) -> None:
    passed = np.random.default_rng(seed).random((60, 2)) < [0.5, 0.65]
    scores = {f"s{at}": {str(topic): float(each) for topic, each in enumerate(passed[:, at])} for at in range(2)}
    table = [[int(((passed[:, 0] == a) & (passed[:, 1] == b)).sum()) for b in (False, True)] for a in (False, True)]
    found = cf.compare(scores, test="sign").comparisons["score"]
    assert found.p_value[0] == pytest.approx(mcnemar(table, exact=True).pvalue, rel=1e-12)
