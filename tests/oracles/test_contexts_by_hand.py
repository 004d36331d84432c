"""Measures for retrieval-augmented generation: worked out by hand, and against slow definitions of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from generated import Generated, collections, examples, ranking, read, scores
from hypothesis import given

import cranfield
from cranfield.errors import InputError
from cranfield.measures import parse_measure
from cranfield.scores.evaluation import score_collection

TOLERANCE = 1e-12
Write = Callable[[str, str], Path]


def test_context_precision_worked_out_by_hand() -> None:
    # Relevant at ranks 1, 3 and 5, and one relevant document that is not retrieved, which does not count.
    qrels = {"1": {"a": 1, "b": 2, "c": 1, "lost": 1, "n": 0}}
    run = {"1": {"a": 9.0, "n": 8.0, "b": 7.0, "x": 6.0, "c": 5.0}}
    expected = [(1 + 2 / 3 + 3 / 5) / 3, (1 + 2 / 3) / 2, 1.0, 1 / 3]
    names = ["ContextPrecision", "ContextPrecision@4", "context_precision@1", "ContextPrecision(rel=2)@3"]
    assert scores(Generated(qrels, {"run": run}), *names)["run", "1"] == pytest.approx(expected, abs=TOLERANCE)


@examples(60)
@given(made=collections())
def test_context_precision_is_what_its_definition_says(made: Generated) -> None:
    ours = scores(made, "ContextPrecision@3", "ContextPrecision(rel=2)")
    for system, run in made.runs.items():
        for topic, grades in made.qrels.items():
            ranked = ranking(run.get(topic, {}))
            expected = [by_definition([grades.get(d, 0) >= 1 for d in ranked[:3]])]
            expected += [by_definition([grades.get(d, 0) >= 2 for d in ranked])]
            assert ours[system, topic] == pytest.approx(expected, abs=1e-9), (system, topic)


def by_definition(verdicts: list[bool]) -> float:
    """As Ragas writes it, with its 1e-10 in the denominator."""
    precisions = [sum(verdicts[: at + 1]) / (at + 1) * verdict for at, verdict in enumerate(verdicts)]
    return sum(precisions) / (sum(verdicts) + 1e-10)


def test_context_recall_is_recall() -> None:
    assert parse_measure("ContextRecall@5") == parse_measure("R@5")
    assert parse_measure("context_recall(rel=2)@5") == parse_measure("R(rel=2)@5")


# Four nuggets: n1 and n2 are vital, n3 is okay, and n4, okay too, is supported by no document.
NUGGETS = """\
1 n1 a 2
1 n2 b 1
1 n2 c 2
1 n3 a 1
1 n4 a 0
"""
IMPORTANCE = "1 n1 vital\n1 n2 Vital\n1 n3 okay\n1 n4 okay\n"
RUN = "1 Q0 a 1 3 run\n1 Q0 b 2 2 run\n1 Q0 c 3 1 run\n"
BY_HAND = {
    "NuggetRecall@1": 2 / 4,  # n1 and n3
    "NuggetRecall@2": 3 / 4,
    "NuggetRecall(rel=2)@2": 1 / 4,  # strict: n1
    "NuggetRecall(rel=2)@3": 2 / 4,
    "NuggetRecall(rel=2,partial=0.5)@2": (1 + 0.5 + 0.5) / 4,
    "NuggetRecall(rel=2,partial=0.5)@3": (1 + 1 + 0.5) / 4,
    "NuggetRecall(of=vital)@1": 1 / 2,
    "NuggetRecall(of=vital,rel=2)@2": 1 / 2,
    "NuggetRecall(of=vital,rel=2,partial=0.5)@2": 1.5 / 2,
    "NuggetRecall(of=weighted)@1": (1 + 0.5) / 3,
    "NuggetRecall(of=weighted,rel=2,partial=0.5)@2": (1 + 0.5 + 0.5 * 0.5) / 3,
}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_nugget_recall_worked_out_by_hand(write: Write) -> None:
    intents, importance = write("nuggets", NUGGETS), write("importance", IMPORTANCE)
    collection = cranfield.read_collection(write("run", RUN), intents=intents, probabilities=importance)
    table = score_collection(collection, list(BY_HAND))
    assert dict(zip(BY_HAND, table.values.ravel().tolist(), strict=True)) == pytest.approx(BY_HAND, abs=TOLERANCE)
    assert "nugget-importance" not in {warning.slug for warning in table.warnings}


def test_importance_may_be_written_in_numbers_and_is_packed(write: Write, tmp_path: Path) -> None:
    numbers = IMPORTANCE.replace("Vital", "1").replace("vital", "1.0").replace("okay", "0.5")
    collection = cranfield.read_collection(
        write("run", RUN), intents=write("nuggets", NUGGETS), probabilities=write("importance", numbers)
    )
    collection.save(tmp_path / "packed.cran")
    table = score_collection(cranfield.open_collection(tmp_path / "packed.cran"), list(BY_HAND))
    assert dict(zip(BY_HAND, table.values.ravel().tolist(), strict=True)) == pytest.approx(BY_HAND, abs=TOLERANCE)


def test_a_topic_whose_nuggets_are_all_okay_has_no_vital_ones(write: Write) -> None:
    importance = write("importance", IMPORTANCE.replace("vital", "okay").replace("Vital", "okay"))
    collection = cranfield.read_collection(
        write("run", RUN), intents=write("nuggets", NUGGETS), probabilities=importance
    )
    names = ["NuggetRecall(of=vital)@3", "NuggetRecall(of=weighted)@3"]
    assert score_collection(collection, names).values.ravel().tolist() == [0.0, 0.75]


def test_without_importance_all_nuggets_are_vital_and_the_result_says_so(write: Write) -> None:
    collection = cranfield.read_collection(write("run", RUN), intents=write("nuggets", NUGGETS))
    table = score_collection(collection, ["NuggetRecall(of=vital)@2", "NuggetRecall@2"])
    assert table.values.ravel().tolist() == [0.75, 0.75]
    (caution,) = [warning for warning in table.warnings if warning.slug == "nugget-importance"]
    assert caution.what.endswith("count as vital for NuggetRecall(of=vital)@2")


def test_importance_that_is_neither_a_word_nor_a_number_is_refused_with_its_line(write: Write) -> None:
    importance = write("importance", "1 n1 vital\n1 n2 essential\n")
    with pytest.raises(InputError, match="importance:2") as error:
        cranfield.read_collection(write("run", RUN), intents=write("nuggets", NUGGETS), probabilities=importance)
    assert "vital or okay" in error.value.fix


@examples(60)
@given(made=collections(with_intents=True))
def test_nugget_recall_is_what_its_definition_says(made: Generated) -> None:
    ours = scores(made, "NuggetRecall@3", "NuggetRecall(rel=2,partial=0.5)@5")
    for system, run in made.runs.items():
        for topic in made.qrels:
            ranked = ranking(run.get(topic, {}))
            rows = [row for row in made.intents if row[0] == topic]
            expected = [recall(rows, ranked[:3], 1, 0.0), recall(rows, ranked[:5], 2, 0.5)]
            assert ours[system, topic] == pytest.approx(expected, abs=TOLERANCE), (system, topic)


def recall(rows: list[tuple[str, str, str, int]], documents: list[str], rel: int, partial: float) -> float:
    nuggets = {intent: 0.0 for _, intent, _, _ in rows}
    for _, intent, document, grade in rows:
        if document in documents and grade > 0:
            nuggets[intent] = max(nuggets[intent], 1.0 if grade >= rel else partial)
    return sum(nuggets.values()) / len(nuggets)


def test_nuggets_that_only_their_importance_names_count() -> None:
    made = Generated({}, {"run": {"1": {"a": 1.0}}}, [("1", "n1", "a", 1)], {("1", "n1"): 1.0, ("1", "n2"): 1.0})
    assert score_collection(read(made), "NuggetRecall@1").values.ravel().tolist() == [0.5]
