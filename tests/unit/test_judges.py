"""Judges: the question, comparisons with a judge's labels, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import by_flags
import cranfield as cf
from cranfield.errors import InputError, RequestError
from cranfield.methods.judging import JudgedScores, estimate_pairs
from cranfield.scores import ScoreTable

TOPICS, SYSTEMS = 60, 6


def tables(seed: int = 1, human: int = TOPICS, noise: float = 0.05) -> tuple[ScoreTable, ScoreTable]:
    """Scores under human labels on some topics, and under a lenient judge's on all."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0.4, 0.1, (TOPICS, 1)) + np.linspace(0, 0.1, SYSTEMS) + rng.normal(0, 0.08, (TOPICS, SYSTEMS))
    judge = 0.2 + 0.8 * scores + rng.normal(0, noise, scores.shape)
    names = tuple(f"t{at:02}" for at in range(TOPICS)), tuple(f"s{at}" for at in range(SYSTEMS))
    whole = ScoreTable(("AP",), *names, judge[np.newaxis, :, :, np.newaxis])
    some = tuple(names[0][at] for at in sorted(rng.choice(TOPICS, human, replace=False).tolist()))
    return ScoreTable(("AP",), *names, scores[np.newaxis, :, :, np.newaxis]).select(topics=some), whole


def labels(path: Path, rows: list[tuple[str, str, float]]) -> str:
    path.write_text("".join(f"{topic} 0 {document} {grade:g}\n" for topic, document, grade in rows))
    return str(path)


@pytest.fixture(scope="module")
def judgments(example: Path) -> list[tuple[str, str, float]]:
    lines = (example / "qrels.txt").read_text().split("\n")
    return [(topic, document, float(grade)) for topic, _, document, grade in (line.split() for line in lines if line)]


@pytest.fixture(scope="module")
def noisy(example: Path, judgments: list[tuple[str, str, float]], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Judgments of the example of which one in five is another."""
    rng = np.random.default_rng(7)
    changed = rng.random(len(judgments)) < 0.2
    rows = [
        (topic, document, 1 - min(grade, 1) if change else grade)
        for (topic, document, grade), change in zip(judgments, changed, strict=True)
    ]
    return labels(tmp_path_factory.mktemp("judge") / "noisy.txt", rows)


def test_a_judge_of_runs_is_compared_document_by_document(example: Path, noisy: str) -> None:
    found = cf.judges(example / "runs", qrels=str(example / "qrels.txt"), judge=f"noisy={noisy}", measure="AP")
    assessment = found.assessment
    assert assessment is not None
    agreement = assessment.labels["noisy"]
    assert agreement.same == pytest.approx(0.8, abs=0.02)
    assert agreement.confusion.sum() == agreement.documents
    scores = cf.score(example / "runs", qrels=noisy, measure="AP").table
    assert assessment.of("noisy").mean == pytest.approx(float(scores.values.mean()), abs=1e-12)
    assert 0 < assessment.of("noisy").correlation.median.value < 1


def test_labels_equal_to_human_ones_agree_in_everything(example: Path) -> None:
    qrels = str(example / "qrels.txt")
    found = cf.judges(example / "runs", qrels=qrels, judge={"same": qrels}, measure="AP").assessment
    assert found is not None
    same = found.of("same")
    assert found.labels["same"].kappa.value == 1
    assert same.order.tau == pytest.approx(1)
    assert same.order.rbo == pytest.approx(1)
    assert same.correlation.median.value == pytest.approx(1)
    for asked in same.favour.values():
        assert not asked.favoured.any()
        assert not asked.disfavoured.any()


def test_files_of_scores_are_one_measure_whatever_they_are_called(tmp_path: Path) -> None:
    human, judge = tables()
    for name, table in (("people", human), ("model", judge)):
        for head, file in (("topic,system,score", name), ("question,pipeline,passed", f"{name}-named")):
            cells = [
                f"{topic},{system},{table.of('AP')[row, column]}"
                for row, topic in enumerate(table.topics)
                for column, system in enumerate(table.systems)
            ]
            (tmp_path / f"{file}.csv").write_text("\n".join([head, *cells]) + "\n")
    expected = cf.judges(human, judge={"model": judge}).to_dict()["rows"][0]["correlation"]
    plain = cf.judges(tmp_path / "people.csv", judge=f"model={tmp_path / 'model.csv'}").to_dict()
    named = cf.judges(
        tmp_path / "people-named.csv",
        judge=f"model={tmp_path / 'model-named.csv'}",
        source={"columns": "topic=question,system=pipeline,score=passed"},
    ).to_dict()
    for found, measure in ((plain, "score"), (named, "passed")):
        assert found["rows"][0]["measure"] == measure
        assert found["rows"][0]["correlation"] == pytest.approx(expected)


def test_intervals_of_agreement_are_at_the_level_that_is_asked_for(example: Path, noisy: str) -> None:
    widths = []
    for alpha in (0.05, 0.5):
        asked: dict[str, Any] = {"qrels": str(example / "qrels.txt"), "judge": f"noisy={noisy}", "measure": "AP"}
        found = cf.judges(example / "runs", **asked, alpha=alpha).assessment
        assert found is not None
        kappa = found.labels["noisy"].kappa
        widths.append((kappa.upper - kappa.lower) / kappa.standard_error)
    assert widths[0] > 2.5 * widths[1]


def test_several_judges_have_an_average_and_a_combination() -> None:
    human, first = tables(noise=0.05)
    other = np.random.default_rng(9).normal(0, 0.2, first.values.shape)
    second = first.replaced(values=0.2 + 0.8 * human.values + other)
    result = cf.judges(human, judge={"good": first, "bad": second})
    assert "under the labels of «good» correlate with those under human labels: r = " in result.summary()
    assert "), the highest of 2 judges; " in result.summary()
    found = result.assessment
    assert found is not None
    assert found.judges == ("good", "bad", "average", "best combination")
    combined = found.of("best combination")
    assert combined.weights["good"] > 5 * abs(combined.weights["bad"])
    assert combined.correlation.median.value > found.of("average").correlation.median.value


def test_drift_is_the_change_of_the_judge() -> None:
    human, now = tables()
    before = now.replaced(values=now.values - 0.03)
    found = cf.judges(human, judge={"model": now}, earlier={"model": before}).assessment
    assert found is not None
    changed = found.of("model").drift
    assert changed is not None
    assert changed.mean.value == pytest.approx(0.03)
    with pytest.raises(InputError, match="earlier labels of «other»"):
        cf.judges(human, judge={"model": now}, earlier={"other": before})


def test_a_judge_that_favours_a_team_is_named(tmp_path: Path) -> None:
    human, judge = tables(noise=0.02)
    values = judge.values.copy()
    values[:, :, 2] += 0.08
    teams = tmp_path / "teams.tsv"
    teams.write_text("".join(f"s{at}\tteam{'AABCD E'[at]}\n" for at in (0, 1, 2, 3, 4)) + "s5\tteamF\n")
    found = cf.judges(human, judge={"model": judge.replaced(values=values)}, source={"teams": str(teams)}).assessment
    assert found is not None
    assert found.teams == ("teamA", "teamB", "teamC", "teamD", "teamF")
    by_team = found.of("model").team_favour["shift"]
    assert [found.teams[at] for at in np.flatnonzero(by_team.favoured)] == ["teamB"]


def test_topics_are_drawn_without_human_labels(example: Path, noisy: str) -> None:
    found = cf.judges(
        example / "runs", judge=f"noisy={noisy}", measure="AP", draw=10, stratify=True, resampling={"seed": 3}
    )
    again = cf.judges(
        example / "runs", judge=f"noisy={noisy}", measure="AP", draw=10, stratify=True, resampling={"seed": 3}
    )
    assert found.assessment is None
    assert len(found.drawn) == 10
    assert found.drawn == again.drawn
    assert "10 of 40 judged topics" in found.summary()
    assert [row["topic"] for row in found.to_dict()["rows"]] == list(found.drawn)
    with pytest.raises(RequestError, match="without human labels"):
        cf.judges(example / "runs", judge=f"noisy={noisy}", measure="AP")
    with pytest.raises(RequestError, match="cannot be drawn"):
        cf.judges(example / "runs", judge=f"noisy={noisy}", measure="AP", draw=100)


def test_passes_are_corrected_by_rogan_and_gladen() -> None:
    rng = np.random.default_rng(5)
    human = rng.random((200, 3)) < np.array([0.5, 0.6, 0.7])
    judge = np.where(human, rng.random(human.shape) < 0.9, rng.random(human.shape) < 0.3)
    found = cf.judges(_passes(human), judge={"model": _passes(judge)})
    assessment = found.assessment
    assert assessment is not None
    shares = assessment.of("model").shares
    assert shares is not None
    assert shares.value == pytest.approx(human.mean(axis=0), abs=0.08)
    assert assessment.labels["model"].unit == "scores"
    assert len(found.to_dict()["shares"]) == 3


def _passes(scores: Any) -> dict[str, dict[str, float]]:
    return {f"s{at}": {str(topic): float(x) for topic, x in enumerate(column)} for at, column in enumerate(scores.T)}


# --- comparisons


def test_a_comparison_with_a_judge_is_that_of_its_estimator() -> None:
    human, judge = tables(human=20)
    found = cf.compare(human, judge={"labels": {"model": judge}, "sampled": True})
    comparison = found.comparisons["AP"]
    order = [judge.systems.index(name) for name in comparison.systems]
    scores = JudgedScores(
        human=human.of("AP"), judge=judge.of("AP"), rows=np.array([judge.topics.index(topic) for topic in human.topics])
    ).chosen(np.array(order))
    assert comparison.difference == pytest.approx(estimate_pairs(scores).value, abs=1e-14)
    assert (comparison.topics, comparison.labels and comparison.labels.judged_topics) == (20, 60)
    assert list(found.by_labels["AP"]) == ["regression", "human", "judge"]
    alone = cf.compare(human, test="max-t").comparisons["AP"]
    assert dict(zip(alone.systems, alone.means, strict=True)) == pytest.approx(
        dict(zip(found.by_labels["AP"]["human"].systems, found.by_labels["AP"]["human"].means, strict=True))
    )
    width = {name: float(np.mean(each.upper - each.lower)) for name, each in found.by_labels["AP"].items()}
    assert width["regression"] < 0.8 * width["human"]


def test_all_estimators_and_tests_run_and_are_shown() -> None:
    human, judge = tables(human=20)
    for estimator in ("regression", "ppi", "human", "judge"):
        for test in ("max-t", "t"):
            found = cf.compare(human, judge={"labels": {"model": judge}, "estimator": estimator}, test=test)
            shown = found.to_dict()
            assert shown["estimator"] == estimator
            assert shown["judge"] == "model"
            assert len(shown["by_labels"]) == (2 if estimator in ("regression", "ppi") else 1)
            assert ("regression estimator" in found.document().tables[0].title) == (estimator == "regression")
            assert json.loads(json.dumps(shown))
    baseline = cf.compare(human, judge={"labels": {"model": judge}}, baseline="s0").comparisons["AP"]
    assert len(baseline.pairs) == 5
    assert baseline.baselines == ("s0",)


def test_a_sample_is_said_to_be_assumed_and_one_that_is_none_is_found() -> None:
    human, judge = tables(human=20)
    slugs = [each["kind"] for each in cf.compare(human, judge={"labels": {"model": judge}}).to_dict()["warnings"]]
    assert "sample-assumed" in slugs
    assert "not-sampled" not in slugs
    said = cf.compare(human, judge={"labels": {"model": judge}, "sampled": True}).to_dict()["warnings"]
    assert "sample-assumed" not in [each["kind"] for each in said]
    easy = np.argsort(-judge.of("AP").mean(axis=1))[:20]
    best = tuple(judge.topics[at] for at in sorted(easy.tolist()))
    picked = tables()[0].select(topics=best)
    slugs = [
        each["kind"]
        for each in cf.compare(picked, judge={"labels": {"model": judge}, "sampled": True}).to_dict()["warnings"]
    ]
    assert "not-sampled" in slugs


def test_a_pilot_with_both_label_sets_gives_r_and_its_range() -> None:
    human, judge = tables(human=30)
    assessment = cf.judges(human, judge={"model": judge}).assessment
    assert assessment is not None
    median = assessment.of("model").correlation.median
    row = cf.size(human, judge={"labels": {"model": judge}, "cost": 0.01}, difference=0.05).to_dict()["rows"][0]
    assert row["judge_correlation"] == pytest.approx(median.value)
    assert row["topics_lower"] < row["topics"] < row["topics_upper"]
    assert row["topics"] < row["human_topics"]
    with pytest.raises(RequestError, match="say the same"):
        cf.size(human, judge={"labels": {"model": judge}, "correlation": 0.5, "cost": 0.01}, difference=0.05)
    with pytest.raises(RequestError, match="`judge` has no effect without scores"):
        cf.size(judge={"labels": {"model": judge}, "cost": 0.01}, difference=0.05, sd=0.1)


def test_a_design_is_verified_on_topics_with_both_label_sets() -> None:
    human, judge = tables()
    given: dict[str, Any] = {"judge": {"model": judge}, "difference": 0.06, "human_cost": 10, "judge_cost": 0.1}
    found = by_flags.verify(human, **given, test="t", collections=2000, search=False).verifications[0]
    planned = next(row for row in by_flags.size(human, **given).to_dict()["rows"] if row["method"] == "t")
    assert (found.design.topics, found.design.judged_topics) == (planned["topics"], planned["judged_topics"])
    assert found.power.rate == pytest.approx(0.8, abs=0.04)
    assert found.error.rate == pytest.approx(0.05, abs=0.02)


# --- what is refused


def test_too_little_in_common_is_refused() -> None:
    human, judge = tables()
    few = human.select(topics=human.topics[:4])
    with pytest.raises(InputError, match="only 4 topics have both human and judge's labels; at least 5 are required"):
        cf.judges(few, judge={"model": judge})
    renamed = judge.replaced(topics=tuple(f"q{at}" for at in range(TOPICS)))
    with pytest.raises(InputError, match="no topics have both"):
        cf.judges(human, judge={"model": renamed})
    others = judge.replaced(systems=tuple(f"x{at}" for at in range(SYSTEMS)))
    with pytest.raises(InputError, match="no systems in common"):
        cf.compare(human, judge={"labels": {"model": others}})


def test_what_only_one_label_set_has_is_left_out_aloud() -> None:
    human, judge = tables()
    found = cf.judges(human, judge={"model": judge.select(topics=judge.topics[:50], systems=judge.systems[:5])})
    said = [each["problem"] for each in found.to_dict()["warnings"] if each["kind"] == "labels-left-out"]
    assert said == [
        "1 system labelled by people only is left out (s5)",
        "10 topics with human labels and without the judge's are left out (t50, t51, t52 and 7 more)",
    ]


def test_what_is_odd_about_a_judges_file_is_said(
    example: Path, judgments: list[tuple[str, str, float]], tmp_path: Path
) -> None:
    qrels = str(example / "qrels.txt")
    odd = labels(tmp_path / "odd.txt", [(topic, doc, grade or -1) for topic, doc, grade in judgments])
    found = cf.judges(example / "runs", qrels=qrels, judge=f"odd={odd}", measure="AP").to_dict()
    assert odd in [each.get("file") for each in found["warnings"] if each["kind"] == "grade-negative"]


def test_a_constant_judge_is_refused_by_name() -> None:
    human, judge = tables()
    constant = judge.replaced(values=np.full_like(judge.values, 0.5))
    with pytest.raises(InputError, match="judge «model»: no pair of systems varies"):
        cf.judges(human, judge={"model": constant})


def test_labels_of_other_documents_or_scales_are_refused_or_said(
    example: Path, judgments: list[tuple[str, str, float]], tmp_path: Path
) -> None:
    qrels = str(example / "qrels.txt")
    other = labels(tmp_path / "other.txt", [(topic, f"X{document}", grade) for topic, document, grade in judgments])
    with pytest.raises(InputError, match=r"judge «other»: .*no document of a topic in common"):
        cf.judges(example / "runs", qrels=qrels, judge=f"other={other}", measure="AP")
    scaled = labels(tmp_path / "scaled.txt", [(topic, doc, 5 * grade) for topic, doc, grade in judgments])
    found = cf.judges(example / "runs", qrels=qrels, judge=f"scaled={scaled}", measure="AP").to_dict()
    assert "other-scale" in [each["kind"] for each in found["warnings"]]
    half = labels(tmp_path / "half.txt", judgments[::2])
    found = cf.judges(example / "runs", qrels=qrels, judge=f"half={half}", measure="AP").to_dict()
    assert "labels-missing" in [each["kind"] for each in found["warnings"]]


def test_parameters_that_do_not_go_together_are_refused() -> None:
    human, judge = tables(human=20)
    more: dict[str, Any]
    for more in ({"audit": True}, {"equivalence": 0.1}, {"baseline": "s0", "non_inferiority": 0.1}):
        with pytest.raises(RequestError, match="has no effect with `judge`"):
            by_flags.compare(human, judge={"model": judge}, **more)
    for more in ({"estimator": "ppi"}, {"sampled": True}):
        with pytest.raises(RequestError, match="has no effect without `judge`"):
            by_flags.compare(human, **more)
    with pytest.raises(RequestError, match="no system «nobody»"):
        cf.compare(human, judge={"labels": {"model": judge}}, baseline="nobody")
    with pytest.raises(RequestError, match="twice"):
        cf.judges("scores.csv", judge=["a=x.csv", "a=y.csv"])
    with pytest.raises(RequestError, match="Write NAME=FILE"):
        cf.judges("scores.csv", judge="a=")


def test_the_same_seed_gives_the_same_answer() -> None:
    human, judge = tables(human=20)
    first, second = (
        cf.compare(human, judge={"labels": {"model": judge}}, resampling={"seed": 5}).to_dict() for _ in range(2)
    )
    assert first["pairs"] == second["pairs"]


# --- real data


JUDGES = {
    "llama3-70b-4prompts": (0.8679, 0.8058, 0.7305, 0.167),
    "flan-t5-large-4prompts": (0.9039, 0.6510, 0.5053, 0.227),
    "llama3-8b-baseline": (0.8911, 0.8008, 0.6178, 0.128),
    "llama3-8b-generated-query": (0.7477, 0.7686, 0.4681, 0.124),
}
"""τ, mean nDCG@10, median r and κ of four judges on TREC Deep Learning 2019."""


def test_the_judges_of_deep_learning_2019(shared: Path) -> None:
    folder = shared / "data" / "dl19"
    files = {name: str(folder / "judges" / f"{name}.txt.gz") for name in JUDGES}
    found = cf.judges(folder / "runs", qrels=str(folder / "qrels.txt.gz"), judge=files, measure="nDCG@10").assessment
    assert found is not None
    assert found.of("llama3-70b-4prompts").human_mean == pytest.approx(0.6204, abs=5e-5)
    for name, (tau, mean, r, kappa) in JUDGES.items():
        judge = found.of(name)
        assert judge.order.tau == pytest.approx(tau, abs=5e-5)
        assert judge.mean == pytest.approx(mean, abs=5e-5)
        assert judge.correlation.median.value == pytest.approx(r, abs=5e-5)
        assert found.labels[name].kappa.value == pytest.approx(kappa, abs=5e-4)
