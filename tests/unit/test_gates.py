"""Gates of a pipeline: no worse than a baseline by a margin, or better."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner, Result

import by_flags
import cranfield as cf
from cranfield.cli.app import app
from cranfield.errors import RequestError
from cranfield.methods.contrasts.gates import GateVerdict, parse_margin_gate
from cranfield.scores import ScoreTable

Write = Callable[[str, str | bytes], str]
ALPHA = 0.05


def scores_of(**systems: Any) -> dict[str, dict[str, float]]:
    return {name: {str(at): float(value) for at, value in enumerate(values)} for name, values in systems.items()}


def drawn(seed: int, topics: int = 30, gap: float = 0.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    old = rng.beta(2, 3, topics)
    return old, np.clip(old + gap + rng.normal(0, 0.05, topics), 0, 1)


def verdicts(data: Any, *gate: str, **more: Any) -> tuple[GateVerdict, ...]:
    result = by_flags.compare(data, **{"baseline": "old", "gate": list(gate), **more})
    assert isinstance(result, cf.ComparisonResult)
    return result.gates


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_that_of_students_one_sided_t(seed: int) -> None:
    old, new = drawn(seed, gap=-0.01)
    both = verdicts(scores_of(old=old, new=new), "no-worse=0.02", "better")
    for found, margin in zip(both, (0.02, 0.0), strict=True):
        expected = stats.ttest_1samp(new - old, -margin, alternative="greater")
        assert found.lower == pytest.approx(expected.confidence_interval(1 - ALPHA).low, abs=1e-12)
        assert found.p_value == found.p_adjusted == pytest.approx(expected.pvalue, rel=1e-9)
        assert found.passed == (found.lower > -margin) == (expected.pvalue <= ALPHA)


@pytest.mark.parametrize("test", ["t", "bootstrap", "max-t"])
@pytest.mark.parametrize("seed", range(8))
def test_bound_and_p_agree_whatever_the_test_and_the_margin(test: str, seed: int) -> None:
    old, new = drawn(seed, topics=20, gap=-0.01)
    data = scores_of(old=old, new=new, other=drawn(seed + 50, topics=20)[0])
    gates = ["better", *(f"no-worse={margin}" for margin in (0.001, 0.01, 0.02, 0.03, 0.05, 0.2, 0.5))]
    more = {} if test == "t" else {"resamples": 199}
    for found in verdicts(data, *gates, test=test, **more):
        margin = 0.0 if found.gate == "better" else float(found.gate.removeprefix("no-worse="))
        assert found.passed == (found.lower > -margin) == (found.p_adjusted <= ALPHA)


def test_the_bootstrap_bound_is_that_of_the_studentised_mean_and_never_above_t() -> None:
    rng = np.random.default_rng(11)
    old = rng.uniform(size=40)
    for sign in (1, -1):  # skewed to either side: the bootstrap has the wider bound for one of them
        new = old + sign * (rng.exponential(0.05, 40) - 0.05)
        gaps = new - old
        rows = gaps[rng.integers(0, 40, (20_000, 40))]
        t = (rows.mean(axis=1) - gaps.mean()) / (rows.std(axis=1, ddof=1) / np.sqrt(40))
        critical = max(np.quantile(t, 0.95), stats.t.ppf(0.95, 39))
        (found,) = verdicts(scores_of(old=old, new=new), "better", test="bootstrap", resamples=20_000)
        assert found.lower == pytest.approx(gaps.mean() - critical * gaps.std(ddof=1) / np.sqrt(40), abs=8e-4)
        (by_t,) = verdicts(scores_of(old=old, new=new), "better", test="t")
        assert (by_t.lower - found.lower > 1e-3) == (sign == -1)


def test_a_relative_margin_is_a_contrast_with_the_scaled_baseline() -> None:
    old, new = drawn(3)
    (found,) = verdicts(scores_of(old=old, new=new), "no-worse=10%")
    expected = stats.ttest_1samp(new - 0.9 * old, 0, alternative="greater")
    assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.lower == pytest.approx(expected.confidence_interval(1 - ALPHA).low, abs=1e-12)
    assert "new − 0.9·old" in found.verdict


def test_the_column_of_a_contrast_says_what_the_baseline_is_multiplied_by() -> None:
    old, new = drawn(3)
    data = scores_of(old=old, new=new)
    for gates, title in (
        (["better"], "difference"),
        (["no-worse=2%"], "candidate − 0.98·baseline"),
        (["no-worse=2%", "better"], "candidate − factor·baseline"),
    ):
        table = cf.compare(data, baseline="old", gate=gates).document().tables[0]
        at = next(place for place, column in enumerate(table.columns) if column.word == "difference")
        assert table.columns[at].title == title
        factors = [
            dict(zip([column.word for column in table.columns], row, strict=True)).get("factor") for row in table.rows
        ]
        assert factors == ([0.98, 1.0] if len(gates) > 1 else [None])


@pytest.mark.parametrize("gate", ["no-worse=0.02", "no-worse=5%", "better"])
@pytest.mark.parametrize("gap", [-0.03, 0.0, 0.03])
def test_low_scores_may_be_the_good_ones(gate: str, gap: float) -> None:
    old, new = drawn(4, gap=gap)
    (found,) = verdicts(scores_of(old=old, new=new), gate, lower_is_better=True)
    factor, margin = (1.05, 0.0) if "%" in gate else (1.0, 0.02 if "=" in gate else 0.0)
    expected = stats.ttest_1samp(new - factor * old, margin, alternative="less")
    assert found.upper == pytest.approx(expected.confidence_interval(1 - ALPHA).high, abs=1e-12)
    assert found.passed == (expected.pvalue <= ALPHA)
    assert found.difference == pytest.approx((new - factor * old).mean())
    assert ("is at most" if found.passed else "may be as high as") in found.verdict


def test_several_candidates_are_a_family_and_a_named_one_is_not() -> None:
    rng = np.random.default_rng(1)
    old = rng.uniform(size=40)
    others = {f"n{at}": old + rng.normal(0.004 * at, 0.05, 40) for at in range(6)}
    family = {each.candidate: each for each in verdicts(scores_of(old=old, **others), "no-worse=0.02")}
    assert set(family) == set(others)
    p_values = np.array([family[name].p_value for name in others])
    order = np.argsort(p_values)
    by_holm = np.empty(6)
    by_holm[order] = np.minimum(np.maximum.accumulate(p_values[order] * (6 - np.arange(6))), 1)
    assert [family[name].p_adjusted for name in others] == pytest.approx(by_holm.tolist())
    (alone,) = verdicts(scores_of(old=old, **others), "no-worse=0.02", candidate="n2")
    assert alone.p_adjusted == alone.p_value == family["n2"].p_value
    assert alone.confidence == pytest.approx(0.95)
    assert alone.correct == "none"


def test_max_t_of_several_candidates_is_below_holm_and_its_first_step_above_the_single_test() -> None:
    rng = np.random.default_rng(2)
    old = rng.uniform(size=40)
    common = rng.normal(0, 0.05, 40)
    others = {f"n{at}": old + common + rng.normal(0, 0.01, 40) for at in range(8)}
    together = verdicts(scores_of(old=old, **others), "no-worse=0.02", test="max-t", resamples=4000)
    by_t = verdicts(scores_of(old=old, **others), "no-worse=0.02", test="t")
    for each, holm in zip(together, by_t, strict=True):
        assert each.p_value == holm.p_value
        assert each.p_adjusted <= holm.p_adjusted * (1 + 1e-12)
    first, holm = min(zip(together, by_t, strict=True), key=lambda pair: pair[0].p_value)
    assert first.p_value < first.p_adjusted < 0.7 * holm.p_adjusted  # candidates that go together are nearly one test
    order = sorted(together, key=lambda each: each.p_value)
    assert [each.p_adjusted for each in order] == sorted(each.p_adjusted for each in order)
    assert all(each.passed == (each.lower > -0.02) == (each.p_adjusted <= ALPHA) for each in together)


def test_clusters_widen_the_bound_as_they_widen_the_comparison(write: Write) -> None:
    rng = np.random.default_rng(3)
    shared = np.repeat(rng.normal(0, 0.05, 12), 5)
    old = rng.uniform(size=60)
    new = old + shared + rng.normal(0, 0.01, 60)
    lines = ["topic,system,score,document"]
    for at in range(60):
        lines += [f"{at},old,{old[at]},d{at // 5}", f"{at},new,{new[at]},d{at // 5}"]
    file = write("scores.csv", "\n".join(lines) + "\n")
    result = cf.compare(file, source={"columns": "cluster=document"}, baseline="old", gate="no-worse=0.02")
    (found,) = result.gates
    (comparison,) = result.comparisons.values()
    assert found.standard_error == pytest.approx(float(comparison.standard_error[0]), rel=1e-9)
    df = comparison.design_effect.df  # type: ignore[union-attr]
    low = found.difference - stats.t.ppf(0.95, df) * found.standard_error
    assert found.lower == pytest.approx(low, abs=1e-9)
    (plain,) = verdicts(scores_of(old=old, new=new), "no-worse=0.02")
    assert plain.lower > found.lower
    assert "robust" in found.verdict


def test_a_failed_gate_says_how_many_topics_it_takes() -> None:
    old, _ = drawn(5, topics=12)
    new = old + np.tile([0.05, -0.05], 6)
    (found,) = verdicts(scores_of(old=old, new=new), "no-worse=0.01")
    sd = float((new - old).std(ddof=1))
    needed = cf.size(goal={"non_inferiority": 0.01}, sd=sd).to_dict()["rows"][0]["topics"]
    assert not found.passed
    assert found.required_topics == needed
    assert f"passes with power 0.8 on about {needed} topics" in found.verdict


def test_more_topics_are_no_advice_for_a_candidate_that_is_worse() -> None:
    old, new = drawn(6, topics=12, gap=-0.2)
    (found,) = verdicts(scores_of(old=old, new=new), "no-worse=0.01")
    assert (found.passed, found.required_topics) == (False, None)
    (better,) = verdicts(scores_of(old=old, new=new), "better")
    assert better.required_topics is None


def test_a_level_close_to_1_is_not_shown_as_100_percent() -> None:
    old, new = drawn(5)
    (found,) = verdicts(scores_of(old=old, new=new), "no-worse=0.2", alpha=1e-7)
    assert "(99.99999 % one-sided" in found.verdict


def test_an_unchanged_system_is_no_worse_and_not_better() -> None:
    old, _ = drawn(7)
    same, better, relative = verdicts(scores_of(old=old, new=old), "no-worse=0.0001", "better", "no-worse=1%")
    assert (same.passed, better.passed, relative.passed) == (True, False, True)
    assert "have the same score on each of 30 topics" in same.verdict


def test_a_constant_difference_shows_nothing() -> None:
    old = np.full(10, 0.25)
    (found,) = verdicts(scores_of(old=old, new=old + 0.25), "better")
    assert not found.passed
    assert "no standard error" in found.verdict


def test_few_changed_topics_are_a_warning() -> None:
    old, _ = drawn(8, topics=40)
    new = old.copy()
    new[:3] += 0.1
    result = cf.compare(scores_of(old=old, new=new), baseline="old", gate="no-worse=0.02")
    assert "few-changed-topics" in {each.slug for each in result.warnings}
    whole = cf.compare(scores_of(old=old, new=drawn(9, topics=40)[1]), baseline="old", gate="no-worse=0.02")
    assert "few-changed-topics" not in {each.slug for each in whole.warnings}


@pytest.mark.parametrize("text", ["no-worse", "no-worse=", "no-worse=x", "better=1", "worse=0.1", "", "no-worse=nan"])
def test_a_gate_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="is not understood"):
        parse_margin_gate(text)


@pytest.mark.parametrize("text", ["no-worse=0", "no-worse=-0.1", "no-worse=inf", "no-worse=100%", "no-worse=-2%"])
def test_a_margin_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(RequestError, match="out of range"):
        parse_margin_gate(text)


OLD, NEW = drawn(10)
DATA = scores_of(old=OLD, new=NEW)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"gate": "better"}, "none is named"),
        ({"baseline": "old", "candidate": "new"}, "no effect without `gate`"),
        ({"baseline": "old", "gate": "better", "candidate": "newer"}, "no system «newer»"),
        ({"baseline": "old", "gate": "better", "candidate": "old"}, "cannot be a candidate too"),
        ({"baseline": "old", "gate": "better", "test": "sign"}, "the test sign has none"),
        ({"baseline": "old", "gate": "better", "test": "dunnett"}, "the test dunnett has none"),
        ({"baseline": "old", "gate": "better", "audit": True}, "`gate` has no effect"),
        (
            {"baseline": "old", "gate": "better", "judge": {"model": DATA}, "lower_is_better": True},
            "has no effect with `judge`",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(RequestError, match=said):
        by_flags.compare(DATA, **asked)


@pytest.mark.parametrize(("measure", "margin"), [("AP", "2"), ("nDCG@10", "1"), ("P@5", "1.5")])
def test_a_margin_as_large_as_the_range_is_refused(measure: str, margin: str) -> None:
    data = {name: {topic: {measure: value} for topic, value in each.items()} for name, each in DATA.items()}
    with pytest.raises(RequestError, match=f"every candidate passes «no-worse={margin}».*\n.*no-worse={margin}%"):
        verdicts(data, f"no-worse={margin}")
    assert verdicts(data, "no-worse=0.9")


@pytest.mark.parametrize(("margin", "is_large"), [(0.5, True), (0.2, False)])
def test_a_margin_as_large_as_the_mean_is_a_warning(margin: float, is_large: bool) -> None:
    assert 0.2 < OLD.mean() < 0.5
    found = cf.compare(DATA, baseline="old", gate=f"no-worse={margin}")
    assert ("large-margin" in {each.slug for each in found.warnings}) == is_large


@pytest.mark.parametrize("correct", ["holm", "hochberg", "bh", "by", "none"])
def test_several_candidates_may_be_corrected_in_every_way(correct: str) -> None:
    data = scores_of(old=OLD, new=NEW, other=NEW + 0.01)
    found = verdicts(data, "no-worse=0.02", correct=correct)
    assert {each.correct for each in found} == {correct}
    assert {each.test for each in found} == {"t"}


def test_a_share_of_a_mean_that_is_not_above_0_is_refused() -> None:
    with pytest.raises(RequestError, match="not above 0"):
        verdicts(scores_of(old=OLD - 0.9, new=NEW), "no-worse=2%")


# --- the command and the page


@pytest.fixture
def file(write: Write) -> str:
    table = ScoreTable.from_rows(
        [("AP", topic, name, value) for name, each in DATA.items() for topic, value in each.items()]
    )
    path = write("scores.csv", "")
    cf.write_scores(table, path)
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(("gate", "code"), [("no-worse=0.2", 0), ("better", 1), ("no-worse=tiny", 2)])
def test_the_exit_code_says_whether_the_gate_passed(file: str, gate: str, code: int) -> None:
    done = run("compare", file, "--baseline", "old", "--gate", gate)
    assert getattr(done.exception, "exit_code", done.exit_code) == code
    if code < 2:
        assert f"{gate} {'FAILED' if code else 'passed'}: new − old" in done.stdout


def test_one_gate_of_several_that_fails_is_enough(file: str) -> None:
    assert run("compare", file, "--baseline", "old", "--gate", "no-worse=0.2", "--gate", "better").exit_code == 1


def test_json_has_the_gates_with_their_verdicts(file: str) -> None:
    done = run("compare", file, "--baseline", "old", "--gate", "no-worse=0.2", "--gate", "better", "--json")
    found = json.loads(done.stdout)
    assert found["passed"] is False
    assert [each["passed"] for each in found["gates"]] == [True, False]
    expected = cf.compare(file, baseline="old", gate=["no-worse=0.2", "better"])
    assert [each["verdict"] for each in found["gates"]] == [each.verdict for each in expected.gates]
    assert found["gates"][0]["lower"] == expected.gates[0].lower
    assert found["inputs"]["gate"] == ["no-worse=0.2", "better"]


def test_the_documentation_has_every_key_of_a_gate() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reading.md").read_text(encoding="utf-8")
    table = text.partition("| key of `gates` | meaning |")[2].partition("\n\n")[0]
    named = {name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    (row,) = cf.compare(DATA, baseline="old", gate="no-worse=2%").to_dict()["gates"]
    assert named == set(row)
    assert row["difference"] == pytest.approx(float((NEW - row["factor"] * OLD).mean()))


@pytest.mark.parametrize("form", ["--csv", "--latex"])
def test_formats_without_a_verdict_have_it_on_standard_error(file: str, form: str) -> None:
    done = run("compare", file, "--baseline", "old", "--gate", "no-worse=0.2", "--gate", "better", form)
    assert done.exit_code == 1
    assert "FAILED" not in done.stdout
    verdicts = [line.partition(":")[0] for line in done.stderr.splitlines() if "warning" not in line]
    assert verdicts == ["no-worse=0.2 passed", "better FAILED"]
    assert "Gate FAILED" in run("power", file, "--gate", "difference=0.01,power=0.8", form).stderr
    assert "FAILED" not in run("compare", file, form).stderr


def test_the_page_shows_the_verdict(page: str, file: str, upload: Callable[..., Any], wait: Callable[..., Any]) -> None:
    link = page + upload(page, [Path(file)]).json()["link"]
    shown = wait(f"{link}/compare?baseline=old&gate=no-worse%3D0.2&gate=better")
    assert shown.status_code == 200
    assert "no-worse=0.2 passed: new − old is at least" in shown.text
    assert "better FAILED" in shown.text
    assert "--gate no-worse=0.2 --gate better" in shown.text


# --- error rates


def at_most(rate: float, draws: int) -> float:
    """A share that a rate of ``rate`` exceeds once in ten thousand times."""
    return float(stats.binom.ppf(0.9999, draws, rate)) / draws


@pytest.mark.parametrize("runs", ["TREC-8", "Robust04"])
@pytest.mark.parametrize("topics", [25, 50, 200])
def test_a_gate_passes_with_probability_alpha_at_the_margin_and_as_planned_without_a_difference(
    kept: Path, load_script: Callable[[str], ModuleType], runs: str, topics: int
) -> None:
    script, draws = load_script("gate_rates"), 2000
    found = script.rates(script.best_runs(kept / "data" / script.PLACES[runs]), topics, draws, 7)
    for test, (wrong, right) in found.items():
        assert wrong <= at_most(ALPHA, draws), test
        assert wrong >= 0.02, test  # not by never passing
        assert abs(right - 0.8) <= (0.04 if test == "t" else 0.08), test
