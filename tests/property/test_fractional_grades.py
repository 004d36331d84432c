"""Fractional grades: read exactly, used as they are by measures of gain, by a named threshold by binary ones."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cranfield
from cranfield.collection import Collection
from cranfield.errors import InputError, PackedFileError, RequestError
from cranfield.formats import scan
from cranfield.formats.packed import FRACTIONAL, MAGIC
from cranfield.measures import CATALOG, parse_measure, parse_measures
from cranfield.methods.leave_out import pilot_study
from cranfield.methods.pooling import depth_study
from cranfield.methods.sharding.shard_models import undefined_cells
from cranfield.methods.variance.components import squares
from cranfield.scores.evaluation import score_collection, score_view
from cranfield.scores.rescoring import Rescorer
from sizes import examples_of

RUN = "".join(f"{topic} Q0 d{at} {at} {20 - at} mine\n" for topic in (1, 2) for at in range(1, 13))
Judged = Mapping[tuple[str, str], float]  # (topic, document) → grade


def tries(count: int) -> settings:
    """So many examples, the same ones every time."""
    unchecked = [HealthCheck.function_scoped_fixture]
    return settings(max_examples=examples_of(count), deadline=None, derandomize=True, suppress_health_check=unchecked)


def collection_of(folder: Path, judged: str, run: str = RUN, *, intents: bool = False) -> Collection:
    (folder / "run").write_text(run)
    (folder / "judged").write_text(judged)
    judgments = {"intents" if intents else "qrels": folder / "judged"}
    return cranfield.read_collection(folder / "run", judgments.get("qrels"), intents=judgments.get("intents"))


# --- reading

WHOLE = st.integers(-3, 2**31 - 1)
TEXTS = st.one_of(
    st.floats(-3, 5).map(repr),
    st.floats(0, 1).map(repr),
    st.floats(0, 1).map("{:.3f}".format),
    st.integers(0, 8).map(lambda halves: repr(halves / 2)),
    st.lists(st.integers(0, 4), min_size=2, max_size=7).map(lambda votes: repr(sum(votes) / len(votes))),
    WHOLE.map(str),
    st.decimals(-1, 3, places=30).map(str),
    st.sampled_from(
        ["1e0", "+.5", "5.", "-0", "-0.0", "5e-324", "1e-400", "2147483647.0", "2147483646.9999998", "0.1e1", "1E-2"]
    ),
)


@st.composite
def judgment_files(draw: st.DrawFn) -> dict[tuple[str, str], str]:
    """The text of every grade by topic and document, some of them fractional."""
    keys = st.tuples(st.sampled_from("12"), st.integers(1, 15).map("d{}".format))
    return draw(st.dictionaries(keys, TEXTS, min_size=1, max_size=20))


@pytest.mark.parametrize("scanned", [True, False])
@pytest.mark.parametrize("intents", [False, True])
@tries(150)
@given(texts=judgment_files())
def test_every_grade_is_read_to_the_bit(
    tmp_path: Path, texts: dict[tuple[str, str], str], intents: bool, scanned: bool
) -> None:
    topics = sorted({topic for topic, _ in texts})
    run = "".join(f"{topic} Q0 d1 1 1.0 mine\n" for topic in topics)
    lines = "".join(f"{topic} 0 {document} {text}\n" for (topic, document), text in texts.items())
    with nullcontext() if scanned else mock.patch.object(scan, "_scan", None):
        collection = collection_of(tmp_path, lines, run, intents=intents)
    wanted = {key: float(text) for key, text in texts.items()}
    whole = all(value == int(value) for value in wanted.values())
    assert collection.arrays["intent_grade" if intents else "grade"].dtype == (np.int32 if whole else np.float64)
    assert grades(collection, intents=intents) == wanted
    collection.save(tmp_path / "any.cran")
    assert grades(cranfield.open_collection(tmp_path / "any.cran"), intents=intents) == wanted
    if not intents:
        assert all(isinstance(grade, int) == (grade == int(grade)) for *_, grade in collection.judgments())
        if any(value >= 0 for value in wanted.values()):
            collection.write_qrels(tmp_path / "written")
            again = cranfield.read_collection(tmp_path / "run", tmp_path / "written")
            assert grades(again) == {key: value for key, value in wanted.items() if value >= 0}


def grades(collection: Collection, *, intents: bool = False) -> Judged:
    if not intents:
        return {(topic, document): grade for topic, document, grade in collection.judgments()}
    arrays = collection.arrays  # one intent, and so one row a judgment
    assert arrays["intent_edges"].tolist() == list(range(len(arrays["grade"]) + 1))
    pairs = [(topic, document) for topic, document, _ in collection.judgments()]
    return dict(zip(pairs, arrays["intent_grade"].tolist(), strict=True))


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e10", "2147483648", "0x1p3", "1_0", "0,5", "half"])
@pytest.mark.parametrize("intents", [False, True])
def test_a_grade_that_is_none_is_refused_with_its_line(tmp_path: Path, text: str, intents: bool) -> None:
    with pytest.raises(InputError) as refusal:
        collection_of(tmp_path, f"1 0 d1 0.5\n1 0 d2 {text}\n", intents=intents)
    assert refusal.value.where == f"{tmp_path / 'judged'}:2"
    assert "a grade that is not a number" in refusal.value.what


# --- measures of gain, against their definitions

GRADED = ("nDCG", "nDCG(gains=exp)@5", "ERR", "ERR(gains=exp)@4", "ERR(max=3.5)", "nERR@6", "RBP(p=0.7,gains=linear)")
PARTS = ("Q", "Q(beta=0.3)@5", "nG@1", "AP(rel=0.5)", "P(rel=1.25)@5", "RR(rel=0.75)", "R(rel=0.5)@6")
fractions = st.one_of(st.sampled_from([-0.5, 0.0, 0.0, 0.25, 0.5, 1.0, 1.25, 3.0]), st.floats(0, 3.5))


@tries(120)
@given(st.dictionaries(st.tuples(st.sampled_from("12"), st.integers(1, 16).map("d{}".format)), fractions, min_size=2))
def test_scores_are_those_of_the_definitions(tmp_path: Path, judged: Judged) -> None:
    judged = {("1", "d1"): 0.5, ("2", "d14"): 0.25, **judged}
    lines = "".join(f"{topic} 0 {document} {grade!r}\n" for (topic, document), grade in judged.items())
    table = score_collection(collection_of(tmp_path, lines), [*GRADED, *PARTS])
    for topic in "12":
        mine = {document: max(grade, 0.0) for (of, document), grade in judged.items() if of == topic}
        found = [mine.get(f"d{at}", 0.0) for at in range(1, 13)]
        ideal = sorted((grade for grade in mine.values() if grade > 0), reverse=True)
        expected = list(by_definition(found, ideal, max(judged.values())))
        ours = table.values[:, table.topics.index(topic), 0, 0].tolist()
        assert ours == pytest.approx(expected, rel=1e-12, abs=1e-15), topic


def by_definition(found: Sequence[float], ideal: Sequence[float], highest: float) -> Iterator[float]:
    """The measures of ``GRADED`` and ``PARTS``, written out; both lists have grades by rank."""

    def linear(grade: float) -> float:
        return grade

    def exponential(grade: float) -> float:
        return math.expm1(grade * math.log(2))

    def dcg(listed: Sequence[float], gain: type | object = linear, k: int = 99) -> float:
        return sum(gain(grade) / math.log2(rank + 1) for rank, grade in enumerate(listed[:k], 1))  # type: ignore[operator]

    def err(listed: Sequence[float], k: int = 99, most: float = highest, gain: object = linear) -> float:
        total, reading = 0.0, 1.0
        for rank, grade in enumerate(listed[:k], 1):
            stop = gain(grade) / (gain(most) + 1)  # type: ignore[operator]
            total += reading * stop / rank
            reading *= 1 - stop
        return total

    def q(beta: float, k: int = 99) -> float:
        total, count = 0.0, 0
        for rank, grade in enumerate(found[:k], 1):
            if grade > 0:
                count += 1
                best = sum(ideal[:rank])
                total += (count + beta * sum(found[:rank])) / (rank + beta * best)
        return total / (min(k, len(ideal)) or 1)

    def over(value: float, by: float) -> float:
        return value / by if by else 0.0

    yield over(dcg(found), dcg(ideal))
    yield over(dcg(found, exponential, 5), dcg(ideal, exponential, 5))
    yield err(found)
    yield err(found, 4, gain=exponential)
    yield err(found, most=3.5)
    yield over(err(found, 6), err(ideal, 6))
    yield 0.3 * sum(0.7 ** (rank - 1) * grade / highest for rank, grade in enumerate(found, 1))
    yield q(1.0)
    yield q(0.3, 5)
    yield over(found[0], max(ideal, default=0.0))
    relevant = [at for at, grade in enumerate(found, 1) if grade >= 0.5]
    count = sum(grade >= 0.5 for grade in ideal)
    yield over(sum(number / rank for number, rank in enumerate(relevant, 1)), count)
    yield sum(grade >= 1.25 for grade in found[:5]) / 5
    yield next((1 / rank for rank, grade in enumerate(found, 1) if grade >= 0.75), 0.0)
    yield over(sum(grade >= 0.5 for grade in found[:6]), count)


# --- the same judgments on another scale


@pytest.fixture(scope="module")
def scales(example: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Collection, Collection]:
    """The example with its whole grades, and with half of each."""
    folder = tmp_path_factory.mktemp("halves")
    for name in ("qrels.txt", "intents.txt"):
        rows = [line.split() for line in (example / name).read_text().splitlines()]
        (folder / name).write_text("".join(f"{t} {i} {d} {int(grade) / 2}\n" for t, i, d, grade in rows))
    runs, teams = example / "runs", example / "teams.tsv"
    whole, half = (
        cranfield.read_collection(runs, of / "qrels.txt", intents=of / "intents.txt", teams=teams)
        for of in (example, folder)
    )
    assert whole.arrays["grade"].dtype == np.int32
    assert half.arrays["grade"].dtype == np.float64
    return whole, half


SCALE_FREE = ("nDCG", "nDCG@10", "nDCG(log=10)", "nG@1", "RBP(gains=linear)", "D-nDCG@10", "Judged@10", "RBP_residual")
TABLES = (
    "nDCG(gains={}:1,{}:3,{}:7)@10",
    "Q(gains={}:1,{}:3,{}:7)",
    "P+(gains={}:1,{}:3,{}:7)",
    "D-nDCG(gains={}:1,{}:3,{}:7)",
)


def test_half_of_every_grade_is_the_same_to_measures_that_know_no_scale(scales: tuple[Collection, Collection]) -> None:
    whole, half = (score_collection(each, SCALE_FREE).values for each in scales)
    np.testing.assert_allclose(half, whole, rtol=1e-13)
    tables = [[each.format(*levels) for each in TABLES] for levels in ((1, 2, 3), (0.5, 1, 1.5))]
    whole, half = (score_collection(each, names).values for each, names in zip(scales, tables, strict=True))
    np.testing.assert_array_equal(half, whole)


@pytest.mark.parametrize("rel", [1, 2, 3])
def test_half_of_every_grade_and_of_the_threshold_is_the_same_to_binary_measures(
    scales: tuple[Collection, Collection], rel: int
) -> None:
    kinds = [kind for kind in CATALOG.values() if any(each.name == "rel" for each in kind.parameters)]
    names = [[_with_rel(kind.name, at) for kind in kinds if kind.name != "D#-nDCG"] for at in (rel, rel / 2)]
    assert len(names[0]) >= 11
    whole, half = (score_collection(each, of).values for each, of in zip(scales, names, strict=True))
    assert whole.any()
    np.testing.assert_array_equal(half, whole)


def _with_rel(name: str, rel: float) -> str:
    _, at, cut = CATALOG[name].example.partition("@")
    return f"{name}(rel={rel}){at}{cut}"


def test_the_mean_of_four_judges_ranks_as_their_sum_on_deep_learning_2019(shared: Path, tmp_path: Path) -> None:
    votes: dict[tuple[str, str], list[int]] = {}
    for file in sorted((shared / "data" / "dl19" / "judges").glob("*.gz")):
        for topic, _, document, grade in map(str.split, gzip.decompress(file.read_bytes()).decode().splitlines()):
            votes.setdefault((topic, document), []).append(int(grade))
    four = {key: sum(grades) for key, grades in votes.items() if len(grades) == 4}
    assert len(four) == 9260
    for name, by in (("sums", 1), ("means", 4)):
        lines = (f"{topic} 0 {document} {total / by!r}\n" for (topic, document), total in four.items())
        (tmp_path / name).write_text("".join(lines))
    runs = shared / "data" / "dl19" / "runs"
    sums, means = (cranfield.read_collection(runs, tmp_path / name, name="file") for name in ("sums", "means"))
    assert grades(means) == {key: total / 4 for key, total in four.items()}
    graded, binary = ["nDCG@10", "RBP(gains=linear)"], [["AP(rel=6)", "P(rel=6)@10"], ["AP(rel=1.5)", "P(rel=1.5)@10"]]
    whole, mean = (score_collection(each, graded).values for each in (sums, means))
    np.testing.assert_allclose(mean, whole, rtol=1e-13)
    whole, mean = (score_collection(each, names).values for each, names in zip((sums, means), binary, strict=True))
    np.testing.assert_array_equal(mean, whole)


def test_fewer_fractional_judgments_score_as_from_scratch(scales: tuple[Collection, Collection]) -> None:
    half = scales[1]
    names = [kind.example for kind in CATALOG.values()]
    measures = parse_measures([*names, "AP(rel=0.5)", "nDCG(gains=exp)", "RBP(gains=exp)", "Q@5"])
    rescorer, rng = Rescorer(half, measures, 1), np.random.default_rng(1)
    for share in (1.0, 0.5):
        kept, chosen = rng.random(len(half.arrays["grade"])) < share, np.array([0, 3, 7])
        found = rescorer.buffers().score(kept[rescorer.relevant_only.origin].astype(np.uint8), chosen, lambda k=kept: k)  # type: ignore[misc]
        scratch = score_view(half.keeping(kept).whole, measures)[:, :, chosen, 0]
        for measure, mine, expected in zip(measures, found, scratch, strict=True):
            np.testing.assert_array_equal(mine, expected, err_msg=str(measure))


def test_a_small_grade_keeps_its_exponential_gain(tmp_path: Path) -> None:
    collection = collection_of(tmp_path, "1 0 d1 1e-20\n1 0 d2 2e-20\n2 0 d1 1\n")
    expected = (1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3))
    assert score_collection(collection, "nDCG(gains=exp)").of()[0, 0] == pytest.approx(expected, rel=1e-12)


# --- what is said aloud

SCALE = "1 0 d1 1\n1 0 d2 0.75\n1 0 d3 0.25\n1 0 d4 0\n2 0 d1 0.5\n2 0 d9 -0.5\n"


def cautions(collection: Collection, *measures: str) -> list[str]:
    return [each.what for each in score_collection(collection, measures).warnings if each.slug == "grade-threshold"]


def test_the_threshold_of_binary_measures_is_named_once_with_what_lies_below_it(tmp_path: Path) -> None:
    collection = collection_of(tmp_path, SCALE)
    (said,) = cautions(collection, "AP", "P@5", "nDCG", "AP(rel=0.5)")
    assert "AP, P@5 count a grade of at least 1 as relevant (1 judgments)" in said
    assert "between 0 and 1 as not relevant (3 judgments)" in said
    assert said.endswith("1 of 2 topics have no relevant document")
    (caution,) = [each for each in score_collection(collection, "RBP").warnings if each.slug == "grade-threshold"]
    assert "RBP(p=0.8,rel=0.5)" in caution.fix


def test_nothing_is_said_where_no_threshold_was_left_open(tmp_path: Path) -> None:
    collection = collection_of(tmp_path, SCALE)
    assert cautions(collection, "nDCG", "AP(rel=0.5)", "RBP(gains=linear)", "Judged@5", "ERR") == []
    assert cautions(collection_of(tmp_path, "1 0 d1 2\n1 0 d2 1.0\n2 0 d1 1\n"), "AP") == []
    assert cautions(collection_of(tmp_path, "1 0 d1 2\n1 0 d2 -0.5\n2 0 d1 1\n"), "AP") == []


def test_the_threshold_of_measures_by_intent_is_that_of_their_grades(tmp_path: Path) -> None:
    collection = collection_of(tmp_path, SCALE, intents=True)
    (said,) = cautions(collection, "alpha_nDCG@5", "D#-nDCG@5", "D-nDCG@5")
    assert "alpha_nDCG@5, D#-nDCG@5 count a grade of at least 1 as relevant (1 judgments)" in said
    assert cautions(collection, "alpha_nDCG(rel=0.25)@5", "D-nDCG") == []


def test_a_topic_without_relevant_documents_is_one_without_a_grade_at_the_threshold(tmp_path: Path) -> None:
    collection = collection_of(tmp_path, SCALE)
    table = score_collection(collection, ["AP", "AP(rel=0.5)", "nDCG"], no_relevant="nan")
    assert np.isnan(table.values[:, :, 0, 0]).tolist() == [[False, True], [False, False], [False, False]]
    assert score_collection(collection, ["AP", "nDCG"], no_relevant="drop").topics == ("1",)
    assert score_collection(collection, "AP(rel=0.5)", no_relevant="drop").topics == ("1", "2")


def test_a_shard_without_a_grade_at_the_threshold_is_undefined(tmp_path: Path) -> None:
    collection = collection_of(tmp_path, SCALE)
    shard_of = np.array([at % 2 for at in range(len(collection.documents))])
    view = collection.sharded(shard_of)
    for name, least in (("AP", 1), ("AP(rel=0.25)", 0.25), ("nDCG", 1e-9)):
        expected = np.ones((2, 2), bool)
        for topic, document, grade in collection.judgments():
            if grade >= least:
                expected[int(topic) - 1, shard_of[collection.documents.find(document)]] = False
        assert undefined_cells(view, parse_measure(name)).tolist() == expected.tolist(), name


def _studies(collection: Collection, measures: list[str]) -> tuple[Any, Any]:
    pilots = pilot_study(collection, measures, left_out=[0, 2], trials=3)
    return pilots, depth_study(collection, measures, depths=[2, 5])


@pytest.mark.parametrize("compiled", [False, True])
def test_pilots_and_pools_leave_out_topics_by_the_threshold_of_each_measure(
    scales: tuple[Collection, Collection], compiled: bool
) -> None:
    half = scales[1]
    with mock.patch.object(Rescorer, "compiled", compiled):
        both, *each = (  # studies of two kinds
            _studies(half, names) for names in (["nDCG", "AP"], ["nDCG"], ["AP"])
        )
    for together, alone in zip(both, zip(*each, strict=True), strict=True):
        assert list(map(str, together.points)) == [str(point) for study in alone for point in study.points]  # nan too
    lost = {(point.measure, point.left_out): point.lost for point in both[0].points}
    barren = np.bincount(half.judged_topic[half.arrays["grade"] >= 1], minlength=len(half.topics)) == 0
    assert lost["AP", 0] == barren.sum() > lost["nDCG", 0] == 0
    pooled = half.pool(2)
    kept = np.bincount(half.judged_topic[pooled.arrays["grade"] >= 1], minlength=len(half.topics)) > 0
    (shallow,) = [point for point in both[1].points if (point.measure, point.depth) == ("AP", 2)]
    assert shallow.lost == (~kept).sum() >= barren.sum()
    assert shallow.residual == pytest.approx(float(squares(score_collection(pooled, "AP").of()[kept]).residual))


def test_a_table_of_gains_has_to_list_every_fractional_grade(tmp_path: Path) -> None:
    collection = collection_of(tmp_path, SCALE)
    with pytest.raises(RequestError, match=r"2 judgments with fractional grades are worth \(0\.25, 0\.75\)") as refusal:
        score_collection(collection, "nDCG(gains=0.5:1,1:2)")
    assert "gains=linear" in refusal.value.fix
    score_collection(collection, "nDCG(gains=0.25:0,0.5:1,0.75:1)")  # a whole grade may be left out, as ever


def test_the_highest_grade_may_be_fractional(tmp_path: Path) -> None:
    collection = collection_of(tmp_path, "1 0 d1 0.8\n1 0 d2 0.4\n2 0 d1 0\n")
    assert collection.highest_grade == 0.8
    assert score_collection(collection, "RBP(p=0.5,gains=linear)").of()[0, 0] == pytest.approx(0.5 * 1 + 0.25 * 0.5)
    with pytest.raises(RequestError, match=r"ends? at 0\.5, but the judgments have 0\.8"):
        score_collection(collection, "ERR(max=0.5)")


# --- packed


def test_only_a_collection_with_fractional_grades_is_packed_in_the_newer_format(
    tmp_path: Path, scales: tuple[Collection, Collection]
) -> None:
    for collection, number in zip(scales, (1, FRACTIONAL), strict=True):
        collection.save(tmp_path / "any.cran")
        assert int.from_bytes((tmp_path / "any.cran").read_bytes()[len(MAGIC) :][:4], "little") == number
        again = cranfield.open_collection(tmp_path / "any.cran")
        measures = ["AP", "nDCG", "ERR", "alpha_nDCG@10", "D-nDCG"]
        tables = score_collection(again, measures), score_collection(collection, measures)
        np.testing.assert_array_equal(tables[0].values, tables[1].values)
        assert tables[0].warnings == tables[1].warnings


def test_a_collection_without_its_best_documents_is_packed_with_its_scale(
    tmp_path: Path, scales: tuple[Collection, Collection]
) -> None:
    for collection in scales:
        fewer = collection.keeping(collection.arrays["grade"] < collection.highest_grade)
        fewer.save(tmp_path / "fewer.cran")
        again = cranfield.open_collection(tmp_path / "fewer.cran")
        assert again.highest_grade == collection.highest_grade > fewer.arrays["grade"].max()
        scores = [score_collection(each, "ERR").values for each in (again, fewer)]
        np.testing.assert_array_equal(scores[0], scores[1])


@pytest.mark.parametrize("name", ["grade", "highest_grade", "intent_grade"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e10, -1e300])
def test_a_packed_grade_that_cannot_be_is_refused(
    tmp_path: Path, scales: tuple[Collection, Collection], name: str, value: float
) -> None:
    half = scales[1]
    changed = np.array(half.arrays[name])
    changed[len(changed) // 2] = value
    made = Collection(half.systems, half.topics, half.teams, half.intent_names, {**half.arrays, name: changed})
    made.save(tmp_path / "any.cran")
    again = cranfield.open_collection(tmp_path / "any.cran")
    with pytest.raises(PackedFileError, match=r"any\.cran"):
        again.arrays[name]
