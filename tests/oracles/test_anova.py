"""ANOVA and Tukey against R's aov and TukeyHSD; pairwise tests and corrections against scipy and statsmodels."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cranfield import ScoreTable
from cranfield.methods.contrasts import compare
from cranfield.methods.contrasts.comparison import Comparison
from cranfield.methods.contrasts.corrections import CORRECTIONS
from cranfield.methods.contrasts.rank_tests import sign, wilcoxon
from cranfield.methods.sharding import MODELS, anova, decompose

Array = npt.NDArray[Any]
R = Path(__file__).parent / "r"


@pytest.fixture(scope="module")
def scores() -> Array:
    """Topics × systems × shards, as R drew them."""
    with open(R / "anova_data.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    shape = [max(int(row[name]) for row in rows) for name in ("topic", "system", "shard")]
    values = np.full(shape, np.nan)
    for row in rows:
        values[int(row["topic"]) - 1, int(row["system"]) - 1, int(row["shard"]) - 1] = float(row["y"])
    return values


def _golden(model: str) -> dict[str, dict[str, str]]:
    with open(R / "anova.csv", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["model"] == model]
    return {row["effect"].strip().replace(":", "*").replace("Residuals", "error"): row for row in rows}


@pytest.mark.parametrize("model", list(MODELS))
def test_every_model_has_rs_sums_of_squares_df_f_and_p(model: str, scores: Array) -> None:
    table = anova(decompose(scores.mean(axis=2) if model == "MD1" else scores), model)
    golden = _golden(model)
    for effect in (*table.effects, table.error):
        theirs = golden[effect.name]
        assert effect.df == int(theirs["df"])
        assert effect.ss == pytest.approx(float(theirs["ss"]), rel=1e-10)
        if effect.name != "error":
            assert effect.f == pytest.approx(float(theirs["f"]), rel=1e-9)
            assert effect.p_value == pytest.approx(float(theirs["p"]), rel=1e-8)


def test_omega_squared_by_hand(scores: Array) -> None:
    effect = anova(decompose(scores), "MD6")["system"]
    assert effect.omega_squared == pytest.approx(3 * (effect.f - 1) / (3 * (effect.f - 1) + 8 * 4 * 3), rel=1e-12)
    assert effect.size == "large"


def _as_table(values: Array) -> ScoreTable:
    systems = tuple(str(at + 1) for at in range(values.shape[1]))
    return ScoreTable(("y",), tuple(map(str, range(len(values)))), systems, values[np.newaxis, :, :, np.newaxis])


def test_blocked_tukey_equals_rs_tukeyhsd_with_topic_as_block(scores: Array) -> None:
    found = compare(_as_table(scores.mean(axis=2)), test="tukey")
    with open(R / "tukey.csv", newline="") as stream:
        golden = {row["pair"]: row for row in csv.DictReader(stream)}
    assert len(golden) == 6
    for pair in found.to_dict():
        name, sign_of = f"{pair['system_a']}-{pair['system_b']}", 1.0
        if name not in golden:
            name, sign_of = f"{pair['system_b']}-{pair['system_a']}", -1.0
        row = golden[name]
        ends = sorted(sign_of * float(row[end]) for end in ("lwr", "upr"))
        assert pair["difference"] == pytest.approx(sign_of * float(row["diff"]), rel=1e-9)
        # R's qtukey stops its search at 1e-4 and its ptukey loses digits in the tail.
        assert [pair["lower"], pair["upper"]] == pytest.approx(ends, abs=2e-6)
        assert pair["p_adjusted"] == pytest.approx(float(row["p.adj"]), rel=1e-5, abs=1e-9)


def test_models_equal_statsmodels_formula_route(scores: Array) -> None:
    pandas = pytest.importorskip("pandas")
    formula = pytest.importorskip("statsmodels.formula.api")
    anova_lm = pytest.importorskip("statsmodels.stats.anova").anova_lm
    index = pandas.MultiIndex.from_product([range(size) for size in scores.shape], names=["t", "s", "k"])
    frame = pandas.DataFrame({"y": scores.ravel()}, index=index).reset_index()
    theirs = anova_lm(formula.ols("y ~ C(t) + C(s) + C(k) + C(t):C(s) + C(s):C(k) + C(t):C(k)", frame).fit())
    ours = anova(decompose(scores), "MD6")
    names = {
        "topic": "C(t)",
        "system": "C(s)",
        "shard": "C(k)",
        "topic*system": "C(t):C(s)",
        "system*shard": "C(s):C(k)",
        "topic*shard": "C(t):C(k)",
    }
    for effect in ours.effects:
        assert effect.ss == pytest.approx(theirs.loc[names[effect.name], "sum_sq"], rel=1e-9)
        assert effect.f == pytest.approx(theirs.loc[names[effect.name], "F"], rel=1e-8)


def against_zero(differences: Array, **asked: Any) -> Comparison:
    """Every column of differences as a system, compared with one whose scores are all 0."""
    names = tuple(f"s{at}" for at in range(differences.shape[1]))
    values = np.column_stack([differences, np.zeros(len(differences))])[np.newaxis, ..., np.newaxis]
    table = ScoreTable(("y",), tuple(map(str, range(len(differences)))), (*names, "zero"), values)
    return compare(table, baseline="zero", **asked)


def in_order(found: Comparison, column: Array) -> Array:
    """What a comparison says of its pairs, in the order of the columns of differences."""
    return np.array([column[at] for at in np.argsort([found.systems[at] for at in found.first])])


@pytest.fixture(scope="module")
def differences() -> Array:
    rng = np.random.default_rng(17)
    gaps = np.round(rng.normal([0.0, 0.02, 0.05, 0.1], 0.12, size=(40, 4)), 3)
    gaps[:6, 0] = 0.0  # ties
    return gaps


def test_paired_t_equals_scipy(differences: Array) -> None:
    from scipy import stats

    theirs = stats.ttest_1samp(differences, 0.0)
    ours = against_zero(differences, test="t", correct="none")
    np.testing.assert_allclose(in_order(ours, ours.p_value), theirs.pvalue, rtol=1e-10)
    interval = theirs.confidence_interval(0.95)
    ends = [in_order(ours, end) for end in (ours.lower, ours.upper)]
    np.testing.assert_allclose(ends, [interval.low, interval.high], rtol=1e-9)


@pytest.mark.parametrize("topics", [3, 5, 10, 25, 50])
def test_wilcoxon_equals_scipys_exact_p_without_ties(topics: int) -> None:
    from scipy import stats

    gaps = np.random.default_rng(topics).normal([0.0, 0.2, 0.5, 1.0], 1.0, size=(topics, 4))
    theirs = [stats.wilcoxon(column, method="exact").pvalue for column in gaps.T]
    np.testing.assert_allclose(wilcoxon(gaps), theirs, rtol=1e-10)


def test_wilcoxon_with_ties_equals_scipys_permutation_distribution() -> None:
    from scipy import stats

    gaps = np.random.default_rng(3).integers(-2, 4, size=(10, 5)) / 10
    every = stats.PermutationMethod(n_resamples=np.inf)  # 2¹⁰ patterns of signs
    theirs = [stats.wilcoxon(column[column != 0], method=every).pvalue for column in np.round(gaps, 12).T]
    np.testing.assert_allclose(wilcoxon(gaps), theirs, rtol=1e-10)


def test_five_wins_of_five_are_not_significant_by_wilcoxon() -> None:
    assert wilcoxon(np.array([[0.1], [0.2], [0.3], [0.05], [0.4]])).tolist() == [0.0625]


def test_rounding_makes_no_ties_and_loses_none() -> None:
    exact = np.array([[0.1], [-0.1], [0.2], [0.3], [0.3]])
    rounded = np.array([[0.3 - 0.2], [0.1 - 0.2], [0.2], [0.1 + 0.2], [0.3]])
    assert wilcoxon(rounded).tolist() == wilcoxon(exact).tolist()


def test_wilcoxon_of_more_than_50_topics_is_scipys_normal_approximation(differences: Array) -> None:
    from scipy import stats

    many = np.concatenate([differences, differences[::2] + 0.01])
    theirs = [stats.wilcoxon(np.round(c, 12), method="asymptotic", correction=False).pvalue for c in many.T]
    np.testing.assert_allclose(wilcoxon(many), theirs, rtol=1e-10)


def test_sign_test_equals_scipys_binomial_test(differences: Array) -> None:
    from scipy import stats

    theirs = [stats.binomtest(int((column > 0).sum()), int((column != 0).sum())).pvalue for column in differences.T]
    np.testing.assert_allclose(sign(differences), theirs, rtol=1e-10)


def test_permutation_equals_the_exact_test_on_all_sign_flips() -> None:
    rng = np.random.default_rng(5)
    gaps = rng.normal(0.05, 0.1, size=(10, 1))
    signs = 1 - 2 * ((np.arange(1024)[:, None] >> np.arange(10)) & 1)
    exact = (np.abs(signs @ gaps) >= np.abs(gaps.sum()) - 1e-12).mean()
    found = against_zero(gaps, test="permutation", resamples=40_000)
    assert found.resamples == 40_000
    ours = found.p_value[0]
    assert ours == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 40_000))


def test_bootstrap_agrees_with_t_on_normal_differences(differences: Array) -> None:
    ours, by_t = (against_zero(differences, test=test, correct="none") for test in ("bootstrap", "t"))
    np.testing.assert_allclose(ours.p_value, by_t.p_value, atol=0.03)
    assert (ours.p_value >= by_t.p_value).all()  # never 0


def test_equivalence_equals_statsmodels_tost(differences: Array) -> None:
    weightstats = pytest.importorskip("statsmodels.stats.weightstats")
    theirs = [weightstats.DescrStatsW(column).ttost_mean(-0.05, 0.05)[0] for column in differences.T]
    found = against_zero(differences, correct="none", equivalence=0.05)
    assert found.equivalence is not None
    np.testing.assert_allclose(in_order(found, found.equivalence.p_value), theirs, rtol=1e-9)


def test_non_inferiority_equals_scipys_one_sided_t(differences: Array) -> None:
    from scipy import stats

    theirs = stats.ttest_1samp(differences, -0.05, alternative="greater").pvalue
    found = against_zero(differences, correct="none", non_inferiority=0.05)
    assert found.non_inferiority is not None
    np.testing.assert_allclose(in_order(found, found.non_inferiority.p_value), theirs, rtol=1e-9)


@pytest.mark.parametrize(
    ("correct", "named"), [("holm", "holm"), ("hochberg", "simes-hochberg"), ("bh", "fdr_bh"), ("by", "fdr_by")]
)
@pytest.mark.parametrize("digits", [16, 1])
def test_corrections_equal_statsmodels(correct: str, named: str, digits: int) -> None:
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    for count in (1, 2, 50):
        p_values = np.round(np.random.default_rng(3).uniform(0, 1, count) ** 3, digits)  # with one digit many are equal
        theirs = multipletests(p_values, method=named)[1]
        np.testing.assert_allclose(CORRECTIONS[correct](p_values), theirs, rtol=1e-12)


# --- systems on topics of their own


def own_topics(counts: tuple[int, ...]) -> tuple[ScoreTable, list[Array]]:
    """Systems with different numbers of topics, of which no two share any."""
    rng = np.random.default_rng(sum(counts))
    scores = [rng.normal(0.3 * at, 0.5 + 0.4 * at, count) for at, count in enumerate(counts)]
    values, start = np.full((sum(counts), len(counts)), np.nan), 0
    for at, own in enumerate(scores):
        values[start : start + len(own), at] = own
        start += len(own)
    return _as_table(values), scores


NUMBERS = [(12, 30, 7, 19), (2, 3, 50), (10, 10, 10)]


@pytest.mark.parametrize("counts", NUMBERS)
def test_welchs_test_of_unequal_numbers_equals_scipys(counts: tuple[int, ...]) -> None:
    from scipy import stats

    table, scores = own_topics(counts)
    found, corrected = (compare(table, test="unpaired", correct=correct) for correct in ("none", "holm"))
    for pair in found.to_dict():
        first, second = (scores[int(pair[name]) - 1] for name in ("system_a", "system_b"))
        theirs = stats.ttest_ind(first, second, equal_var=False)
        ends = theirs.confidence_interval(0.95)
        assert pair["p_value"] == pytest.approx(theirs.pvalue, rel=1e-10)
        assert pair["difference"] == pytest.approx(first.mean() - second.mean(), rel=1e-12)
        assert [pair["lower"], pair["upper"]] == pytest.approx([ends.low, ends.high], rel=1e-9)
        assert pair["difference"] / pair["standard_error"] == pytest.approx(theirs.statistic, rel=1e-10)
        assert (pair["wins"], pair["ties"], pair["losses"]) == (0, 0, 0)  # on the topics that they share
    np.testing.assert_allclose(corrected.p_adjusted, CORRECTIONS["holm"](found.p_value), rtol=1e-12)


@pytest.mark.parametrize("counts", NUMBERS)
def test_tukey_and_kramers_test_of_unequal_numbers_equals_scipys(counts: tuple[int, ...]) -> None:
    from scipy import stats

    table, scores = own_topics(counts)
    found = compare(table, test="tukey-kramer")
    theirs = stats.tukey_hsd(*scores)
    ends = theirs.confidence_interval(0.95)
    for pair in found.to_dict():
        first, second = (int(pair[name]) - 1 for name in ("system_a", "system_b"))
        assert pair["p_adjusted"] == pytest.approx(theirs.pvalue[first, second], rel=1e-6, abs=1e-9)
        expected = [ends.low[first, second], ends.high[first, second]]
        assert [pair["lower"], pair["upper"]] == pytest.approx(expected, rel=1e-5)
        assert pair["significant"] == (theirs.pvalue[first, second] <= 0.05)
