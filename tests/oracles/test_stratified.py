"""xinfAP: against its definition, against infAP of trec_eval, and on samples of judgments that are complete."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from generated import Generated, collections, examples, ranking, read
from hypothesis import given
from hypothesis import strategies as st

import cranfield
from cranfield.collection import Collection
from cranfield.errors import InputError
from cranfield.formats.file_check import FileKind
from cranfield.scores.evaluation import score_collection

TOLERANCE = 1e-9
EPSILON = 0.00001
Write = Callable[[str, str], Path]


def by_definition(strata: Mapping[str, int], grades: Mapping[str, int], ranked: list[str], rel: int = 1) -> float:
    """Yilmaz, Kanoulas and Aslam (2008), sentence by sentence: sums over strata of means over sampled documents."""
    relevant_by_estimate, precision_by_estimate = 0.0, 0.0
    for stratum in set(strata.values()):
        members = [document for document in strata if strata[document] == stratum]
        sampled = [document for document in members if grades[document] >= 0]
        relevant = [document for document in sampled if grades[document] >= rel]
        if not relevant:
            continue
        count = len(members) * len(relevant) / len(sampled)
        mean = sum(expected_precision(document, strata, grades, ranked, rel) for document in relevant) / len(relevant)
        relevant_by_estimate += count
        precision_by_estimate += count * mean
    return precision_by_estimate / relevant_by_estimate if relevant_by_estimate else 0.0


def expected_precision(
    document: str, strata: Mapping[str, int], grades: Mapping[str, int], ranked: list[str], rel: int
) -> float:
    if document not in ranked:
        return 0.0
    k = ranked.index(document) + 1
    above = [each for each in ranked[: k - 1] if each in strata]
    expected = 0.0
    for stratum in {strata[each] for each in above}:
        inside = [each for each in above if strata[each] == stratum]
        judged = [grades[each] for each in inside if grades[each] >= 0]
        relevant = sum(grade >= rel for grade in judged)
        expected += len(inside) * (relevant + EPSILON) / (len(judged) + 2 * EPSILON)
    return 1 / k + expected / k


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def stratified(made: Generated, numbers: list[int]) -> tuple[dict[tuple[str, str], int], str]:
    """A stratum for every judgment in turn, and the lines of judgments with five fields."""
    pairs = [(topic, document) for topic, rows in made.qrels.items() for document in rows]
    strata = {pair: numbers[at % len(numbers)] for at, pair in enumerate(pairs)}
    lines = [f"{t} 0 {d} {strata[t, d]} {max(made.qrels[t][d], -1)}\n" for t, d in pairs]
    return strata, "".join(lines)


@examples(80)
@given(made=collections(), numbers=st.lists(st.sampled_from((1, 2, 5)), min_size=1, max_size=7))
def test_it_is_what_its_definition_says(
    tmp_path_factory: pytest.TempPathFactory, made: Generated, numbers: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("sample")
    strata, text = stratified(made, numbers)
    (folder / "prels").write_text(text)
    table = score_collection(cranfield.read_collection(dict(made.runs), folder / "prels"), ["xinfAP", "xinfAP(rel=2)"])
    for t, topic in enumerate(table.topics):
        own = {document: stratum for (of, document), stratum in strata.items() if of == topic}
        grades = {document: max(grade, -1) for document, grade in made.qrels[topic].items()}
        for s, system in enumerate(table.systems):
            ranked = ranking(made.runs[system].get(topic, {}))
            expected = [by_definition(own, grades, ranked, rel) for rel in (1, 2)]
            assert table.values[:, t, s, 0].tolist() == pytest.approx(expected, abs=TOLERANCE), (system, topic)


@examples(200)
@given(made=collections())
def test_with_one_stratum_it_is_inferred_ap_of_trec_eval(made: Generated) -> None:
    table = score_collection(read(made), ["xinfAP", "infAP"])
    np.testing.assert_allclose(table.of("xinfAP"), table.of("infAP"), rtol=0, atol=TOLERANCE)
    sound = {topic: dict(rows) for topic, rows in made.qrels.items() if max(rows.values()) >= 0}
    for s, system in enumerate(table.systems):
        lists = {topic: dict(rows) for topic, rows in made.runs[system].items() if topic in sound}
        theirs = pytrec_eval.RelevanceEvaluator(sound, {"infAP"}).evaluate(lists) if lists else {}
        for topic, found in theirs.items():
            assert table.values[0, table.topics.index(topic), s, 0] == pytest.approx(found["infAP"], abs=TOLERANCE)


def test_two_strata_worked_out_by_hand(write: Write) -> None:
    # Stratum 1 was judged wholly, half of stratum 2; a and c are relevant, c stands for two relevant documents.
    prels = "1 0 a 1 1\n1 0 b 1 0\n1 0 c 2 1\n1 0 d 2 -1\n1 0 e 2 0\n1 0 f 2 -1\n"
    run = {"run": {"1": {name: -float(at) for at, name in enumerate("badce")}}}
    (found,) = score_collection(cranfield.read_collection(run, write("prels", prels)), "xinfAP").values.ravel()
    at_a = (1 + EPSILON / (1 + 2 * EPSILON)) / 2  # below b, which is not relevant
    at_c = (1 + 2 * (1 + EPSILON) / (2 + 2 * EPSILON) + EPSILON / (2 * EPSILON)) / 4  # below b and a, and d, not judged
    assert found == pytest.approx((1 * at_a + 2 * at_c) / (1 + 2), abs=1e-12)


def test_a_packed_sample_keeps_its_strata(write: Write, tmp_path: Path) -> None:
    prels = "1 0 a 1 1\n1 0 b 1 0\n1 0 c 7 1\n1 0 d 7 -1\n1 0 e 7 0\n"
    run = {"run": {"1": {name: -float(at) for at, name in enumerate("bdcae")}}}
    collection = cranfield.read_collection(run, write("prels", prels), intents=write("intents", "1 i1 x 1\n"))
    expected = score_collection(collection, "xinfAP").values
    collection.save(tmp_path / "packed.cran")
    again = cranfield.open_collection(tmp_path / "packed.cran")
    assert score_collection(again, "xinfAP").values.tobytes() == expected.tobytes()
    assert score_collection(collection, "infAP").values != expected
    strata = {"a": 1, "b": 1, "c": 7, "d": 7, "e": 7}
    grades = {"a": 1, "b": 0, "c": 1, "d": -1, "e": 0}
    assert expected.ravel().tolist() == pytest.approx([by_definition(strata, grades, list("bdcae"))], abs=TOLERANCE)


def test_check_says_that_judgments_have_strata(write: Write) -> None:
    report = cranfield.check(str(write("prels", "1 0 a 1 1\n1 0 b 2 -1\n1 0 c 2 0\n"))).report
    assert [(file.kind, file.taken_for) for file in report.files] == [
        (FileKind.QRELS, "judgments of a stratified sample")
    ]
    assert "fourth a stratum" in report.files[0].why


def test_a_line_among_those_with_strata_that_has_none_is_refused_with_its_place(write: Write) -> None:
    run = {"run": {"1": {"a": 1.0}}}
    with pytest.raises(InputError, match="prels:3: too few fields"):
        cranfield.read_collection(run, write("prels", "1 0 a 1 1\n1 0 b 2 -1\n1 0 c 0\n"))
    with pytest.raises(InputError, match="prels:3: a stratum that is not a whole number: «x»"):
        cranfield.read_collection(run, write("prels", "1 0 a 1 1\n1 0 b 2 -1\n1 0 c x 0\n"))
    with pytest.raises(InputError, match="prels:1: too many fields"):
        cranfield.read_collection(run, write("prels", "1 0 a 1 1\n1 0 b 0\n1 0 c 1\n"))


@pytest.fixture(scope="module")
def one_run(shared: Path) -> Collection:
    data = shared / "data" / "trec8"
    return cranfield.read_collection(data / "runs" / "input.ok8alx.gz", data / "qrels.txt.gz")


def test_the_mean_over_samples_of_complete_judgments_is_near_ap(one_run: Collection) -> None:
    rng = np.random.default_rng(7)
    grade = np.asarray(one_run.arrays["grade"])
    hits = one_run.hits("judged")
    near = np.zeros(len(grade), bool)
    near[hits.judgment[hits.rank <= 20]] = True
    share = np.where(near, 0.6, 0.2)  # two strata, and how much of each is judged
    ap = score_collection(one_run, "AP").values.mean()
    means, plain = [], []
    for _ in range(200):
        sampled = np.where(rng.random(len(grade)) < share, grade, -1).astype(np.int32)
        arrays = {**one_run.arrays, "grade": sampled, "stratum": np.where(near, 0, 1).astype(np.int32)}
        table = score_collection(replace(one_run, arrays=arrays), ["xinfAP", "AP"])
        means.append(table.of("xinfAP").mean())
        plain.append(table.of("AP").mean())
    assert abs(np.mean(means) - ap) < 0.01
    assert np.std(means) < 0.02
    assert abs(np.mean(plain) - ap) > 0.02  # what is not judged counts as not relevant there
