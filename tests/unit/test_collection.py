"""The collection: how runs and judgments are named, ranked, joined, pooled, sharded and scored."""

from __future__ import annotations

import gzip
import io
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield
from cranfield.collection import Collection
from cranfield.collection.builder import natural_order
from cranfield.errors import CranfieldError, InputError, RequestError
from cranfield.formats.scan import Scanner
from cranfield.formats.text import file_stem
from cranfield.measures import CATALOG, MeasureKind, parse_measure
from cranfield.scores.evaluation import score_collection

Write = Callable[[str, str | bytes], str]

RUN = "1 Q0 d1 1 3.0 mine\n1 Q0 d2 2 2.0 mine\n1 Q0 d3 3 1.0 mine\n2 Q0 d1 1 1.0 mine\n"
QRELS = "1 0 d1 0\n1 0 d2 2\n1 0 d9 1\n2 0 d1 1\n"


@pytest.fixture
def small(write: Write) -> Collection:
    return cranfield.read_collection(write("run", RUN), write("qrels", QRELS))


@pytest.fixture(scope="session")
def demo(example: Path) -> Collection:
    return cranfield.read_collection(
        example / "runs", example / "qrels.txt", intents=example / "intents.txt", teams=example / "teams.tsv"
    )


# --- what systems and topics are called


def test_a_system_is_called_by_its_tag(small: Collection) -> None:
    assert small.systems == ("mine",)


def test_a_system_may_be_called_by_its_file(write: Write) -> None:
    path = write("input.ok8alx.gz", gzip.compress(RUN.encode()))
    assert cranfield.read_collection(path, write("qrels", QRELS), name="file").systems == ("ok8alx",)


@pytest.mark.parametrize(
    ("file", "stem"),
    [("runs/a.txt", "a"), ("a.run.gz", "a"), ("input.a", "a"), ("a.b.c", "a.b.c"), ("a.res", "a"), (".gz", ".gz")],
)
def test_a_files_name_loses_its_usual_endings(file: str, stem: str) -> None:
    assert file_stem(file) == stem


def test_a_file_of_several_runs_is_refused_unless_tags_or_the_file_name_systems(write: Write) -> None:
    both = write("both", RUN + RUN.replace("mine", "yours"))
    apart = write("apart", "1 Q0 d1 1 3.0 mine\n1 Q0 d2 2 2.0 yours\n")
    qrels = write("qrels", QRELS)
    with pytest.raises(InputError, match="more than one run tag"):
        cranfield.read_collection(apart, qrels)
    assert cranfield.read_collection(both, qrels, name="tag").systems == ("mine", "yours")
    collection = cranfield.read_collection(apart, qrels, name="file")
    assert collection.ranking("apart", "1") == ["d1", "d2"]


def test_runs_of_one_file_are_read_apart(write: Write) -> None:
    both = write("both", RUN + "1 Q0 d9 1 1.0 yours\n2 Q0 d1 1 1.0 yours\n")
    collection = cranfield.read_collection(both, write("qrels", QRELS), name="tag")
    assert collection.ranking("mine", "1") == ["d1", "d2", "d3"]
    assert collection.ranking("yours", "1") == ["d9"]


def test_two_files_with_one_tag_are_refused_unless_files_name_systems(write: Write) -> None:
    runs, qrels = [write("one", RUN), write("two", RUN)], write("qrels", QRELS)
    for name in ("auto", "tag"):
        with pytest.raises(InputError, match="«mine» is also the name of") as refusal:
            cranfield.read_collection(runs, qrels, name=name)
        assert refusal.value.where == runs[1]
    assert cranfield.read_collection(runs, qrels, name="file").systems == ("one", "two")


def test_two_files_of_one_name_in_two_folders_are_refused(tmp_path: Path, write: Write) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text(RUN)
    with pytest.raises(InputError, match="«a» is also the name of"):
        cranfield.read_collection([tmp_path / "x", tmp_path / "y"], write("qrels", QRELS), name="file")


def test_systems_are_in_the_order_of_their_names_and_topics_in_natural_order(write: Write) -> None:
    runs = [write(tag, f"10 Q0 d1 1 1.0 {tag}\n") for tag in ("b", "a", "C")]
    qrels = write("qrels", "".join(f"{topic} 0 d1 1\n" for topic in ("q2", "10", "9", "q10", "09")))
    collection = cranfield.read_collection(runs, qrels)
    assert collection.systems == ("C", "a", "b")
    assert collection.topics == ("09", "9", "10", "q10", "q2")


def test_natural_order_takes_numbers_of_any_length() -> None:
    long = b"9" * 5000
    assert natural_order([b"x", long, b"10", b"9"]) == [b"9", b"10", long, b"x"]


# --- where runs come from


def test_runs_come_from_files_folders_patterns_and_standard_input(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels = write("qrels", QRELS)
    folder = tmp_path / "runs"
    folder.mkdir()
    for tag in ("a1", "a2", "b1"):
        (folder / tag).write_text(RUN.replace("mine", tag))
    (folder / ".hidden").write_text("nothing to read")
    (folder / "sub").mkdir()

    def systems(runs: Any) -> tuple[str, ...]:
        return cranfield.read_collection(runs, qrels).systems

    assert systems(folder) == ("a1", "a2", "b1")
    assert systems(str(folder / "a*")) == ("a1", "a2")
    assert systems([folder / "b1", str(folder / "a?")]) == ("a1", "a2", "b1")
    assert systems([folder, folder / "a1"]) == ("a1", "a2", "b1")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(RUN.encode())))
    assert systems(["-", folder / "a1"]) == ("a1", "mine")


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="there are no files for open pipes here")
@pytest.mark.parametrize("scanned", [False, True])
@pytest.mark.parametrize(
    ("line", "says"),
    [("1 Q0 d1 4 0.5 mine\n", "a document twice in one list"), ("1 Q0 d4 4 0.5 yours\n", "more than one run tag")],
)
def test_what_is_wrong_with_a_run_from_a_pipe_is_said_though_it_cannot_be_read_again(
    line: str, says: str, scanned: bool, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not scanned:
        monkeypatch.setattr(Scanner, "scan", lambda *_: None)
    reader, writer = os.pipe()
    os.write(writer, (RUN + line).encode())
    os.close(writer)
    try:
        with pytest.raises(InputError, match=says):
            cranfield.read_collection(f"/dev/fd/{reader}", write("qrels", QRELS))
    finally:
        os.close(reader)


def test_a_pattern_or_a_folder_without_files_is_refused(tmp_path: Path, write: Write) -> None:
    qrels = write("qrels", QRELS)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no file matches"):
        cranfield.read_collection(str(tmp_path / "x*"), qrels)
    with pytest.raises(InputError, match="no files in it"):
        cranfield.read_collection(tmp_path / "empty", qrels)


def test_no_runs_at_all_are_refused(write: Write) -> None:
    with pytest.raises(CranfieldError):
        cranfield.read_collection([], write("qrels", QRELS))


def test_runs_without_judgments_are_refused(write: Write) -> None:
    with pytest.raises(RequestError, match="without judgments"):
        cranfield.read_collection(write("run", RUN))


@pytest.mark.parametrize(("option", "choices"), [("order", "score, rank"), ("name", "auto, tag, file")])
def test_an_unknown_choice_is_refused_with_the_known_ones(option: str, choices: str, write: Write) -> None:
    options: dict[str, Any] = {option: "random"}
    with pytest.raises(RequestError, match=f"{option} cannot be «random»") as refusal:
        cranfield.read_collection(write("run", RUN), write("qrels", QRELS), **options)
    assert choices in refusal.value.fix


def test_reading_tells_how_far_it_is(example: Path) -> None:
    steps: list[tuple[int, int]] = []
    cranfield.read_collection(
        example / "runs", example / "qrels.txt", progress=lambda done, total: steps.append((done, total))
    )
    assert sorted(steps) == [(done, 12) for done in range(1, 13)]


# --- how lists are ranked


def ranking(write: Write, rows: Sequence[tuple[str, str, str]], order: str = "score") -> list[str]:
    """The list of (document, rank, score) rows."""
    run = write("run", "".join(f"1 Q0 {name} {rank} {score} t\n" for name, rank, score in rows))
    qrels = write("qrels", "".join(f"1 0 {name} 1\n" for name, _, _ in rows))
    return cranfield.read_collection(run, qrels, order=order).ranking("t", "1")


def test_scores_decide_whatever_the_ranks_say(write: Write) -> None:
    assert ranking(write, [("a", "1", "1"), ("b", "2", "3"), ("c", "3", "2")]) == ["b", "c", "a"]


def test_ranks_decide_where_they_are_asked_to(write: Write) -> None:
    rows = [("a", "3", "9"), ("b", "1", "1"), ("c", "2", "5")]
    assert ranking(write, rows, order="rank") == ["b", "c", "a"]


def test_ties_are_ranked_by_id_descending(write: Write) -> None:
    rows = [("d10", "1", "1.0"), ("d9", "2", "1"), ("D9", "3", "1e0"), ("é", "4", "1.00"), ("d9x", "5", "1")]
    assert ranking(write, rows) == ["é", "d9x", "d9", "d10", "D9"]
    assert ranking(write, [(name, "1", score) for name, _, score in rows], order="rank")[0] == "é"


def test_scores_are_compared_in_double_precision(write: Write) -> None:
    rows = [
        ("a", "1", "16777217.0000001"),
        ("b", "2", "16777217.0"),
        ("c", "3", "0.1"),
        ("d", "4", "0.10000000000000001"),
    ]
    assert ranking(write, rows) == ["a", "b", "d", "c"]


def test_infinite_scores_come_first_and_last(write: Write) -> None:
    assert ranking(write, [("a", "1", "-inf"), ("b", "2", "0"), ("c", "3", "inf")]) == ["c", "b", "a"]


def test_zero_and_minus_zero_are_tied(write: Write) -> None:
    assert ranking(write, [("a", "1", "0.0"), ("b", "2", "-0.0")]) == ["b", "a"]


def test_lines_of_a_topic_that_stand_apart_are_one_list(write: Write) -> None:
    run = write("run", "1 Q0 a 1 3 t\n2 Q0 a 1 1 t\n1 Q0 b 2 5 t\n3 Q0 a 1 1 t\n1 Q0 c 3 4 t\n")
    collection = cranfield.read_collection(run, write("qrels", "1 0 a 1\n2 0 a 1\n"))
    assert collection.ranking("t", "1") == ["b", "c", "a"]
    assert collection.returned.tolist() == [[3], [1]]


@pytest.mark.parametrize(("system", "topic"), [("nobody", "1"), ("mine", "7")])
def test_the_list_of_nobody_or_on_nothing_is_refused(system: str, topic: str, small: Collection) -> None:
    with pytest.raises(RequestError):
        small.ranking(system, topic)


def test_documents_are_in_the_order_of_their_bytes(demo: Collection, write: Write) -> None:
    ids = [demo.documents[code] for code in range(len(demo.documents))]
    assert ids == sorted(ids, key=str.encode)
    assert [demo.documents.find(name) for name in (ids[0], ids[7], ids[-1])] == [0, 7, len(ids) - 1]
    assert demo.documents.find("nothing") is None


@pytest.mark.parametrize("width", [1, 8, 9, 63, 64, 65, 200])
def test_documents_may_have_ids_of_any_length(width: int, write: Write) -> None:
    names = [("x" * (width - 1)) + mark for mark in "cab"] + ["y"]
    rows = [(name, "1", str(score)) for score, name in enumerate(names)]
    assert ranking(write, rows) == names[::-1]


# --- judgments


def test_judgments_are_those_of_the_file(small: Collection) -> None:
    assert sorted(small.judgments()) == [("1", "d1", 0), ("1", "d2", 2), ("1", "d9", 1), ("2", "d1", 1)]
    assert small.relevant.tolist() == [2, 1]
    assert small.highest_grade == 2


def test_a_negative_grade_is_no_judgment(write: Write) -> None:
    run = write("run", "1 Q0 d1 1 2 t\n1 Q0 d2 2 1 t\n")
    collection = cranfield.read_collection(run, write("qrels", "1 0 d1 -1\n1 0 d2 1\n"))
    assert score_collection(collection, "Judged@2").mean() == {"t": 0.5}
    assert [problem.slug for problem in collection.warnings] == ["grade-negative"]


def test_what_is_odd_about_files_stays_with_the_collection_and_its_scores(write: Write) -> None:
    run = write("run", RUN + "7 Q0 d1 1 1 mine\n")
    collection = cranfield.read_collection(run, write("qrels", QRELS + "3 0 d1 0\n"))
    slugs = {problem.slug: problem.count for problem in collection.warnings}
    assert slugs == {"topic-unjudged": 1, "topic-missing": 1, "no-relevant": 1}
    *others, unjudged = score_collection(collection, "AP").warnings
    assert tuple(others) == collection.warnings
    assert (unjudged.slug, unjudged.what) == (
        "unjudged",
        "17 % of the first 10 documents of mine are unjudged, and count as not relevant",
    )


def test_a_repr_says_how_much_there_is(small: Collection) -> None:
    assert repr(small) == "Collection(1 systems, 2 topics, 4 documents, 4 judgments)"


# --- teams


def test_teams_come_from_a_file_or_a_mapping(write: Write) -> None:
    runs, qrels = [write("a", RUN.replace("mine", "a")), write("b", RUN.replace("mine", "b"))], write("qrels", QRELS)
    listed = cranfield.read_collection(runs, qrels, teams=write("teams", "a\tOurs\nb\tThe Others\n"))
    given = cranfield.read_collection(runs, qrels, teams={"a": "Ours", "b": "The Others"})
    assert listed.teams == given.teams == ("Ours", "The Others")
    assert cranfield.read_collection(runs, qrels).teams is None


def test_a_run_without_a_team_is_a_team_of_its_own(write: Write) -> None:
    collection = cranfield.read_collection(write("run", RUN), write("qrels", QRELS), teams={"other": "Ours"})
    assert collection.teams == ("mine",)
    assert {problem.slug for problem in collection.warnings} == {"team-missing", "team-without-run"}


# --- pools


def test_a_pool_keeps_the_judgments_of_documents_near_the_top(write: Write) -> None:
    runs = [
        write("a", "1 Q0 d1 1 3 a\n1 Q0 d2 2 2 a\n1 Q0 d3 3 1 a\n"),
        write("b", "1 Q0 d4 1 3 b\n1 Q0 d1 2 2 b\n1 Q0 d2 3 1 b\n"),
    ]
    qrels = write("qrels", "".join(f"1 0 d{number} 1\n" for number in range(1, 6)))
    collection = cranfield.read_collection(runs, qrels)
    for depth, pooled in ((1, {"d1", "d4"}), (2, {"d1", "d2", "d4"}), (3, {"d1", "d2", "d3", "d4"})):
        kept = {document for _, document, grade in collection.pool(depth).judgments() if grade >= 0}
        assert kept == pooled
    assert collection.pool(1).relevant.tolist() == [2]


def test_a_pool_leaves_the_collection_as_it_is(demo: Collection) -> None:
    before = {name: array.copy() for name, array in demo.arrays.items()}
    pooled = demo.pool(1)
    assert score_collection(pooled, "AP").mean() != score_collection(demo, "AP").mean()
    assert all(np.array_equal(array, demo.arrays[name]) for name, array in before.items())


def test_a_pool_deeper_than_every_list_keeps_what_any_run_found(demo: Collection) -> None:
    found = {(t, name) for t in demo.topics for system in demo.systems for name in demo.ranking(system, t)}
    kept = {(topic, document) for topic, document, grade in demo.pool(10**6).judgments() if grade >= 0}
    assert kept == {(topic, document) for topic, document, _ in demo.judgments()} & found


def test_a_smaller_pool_never_has_more_judgments(demo: Collection) -> None:
    sizes = [sum(grade >= 0 for *_, grade in demo.pool(depth).judgments()) for depth in (1, 2, 5, 10, 20, 100)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_a_pool_restricts_judgments_for_intents_too(demo: Collection) -> None:
    pooled = demo.pool(1)
    assert pooled.intents is not None
    assert demo.intents is not None
    assert (pooled.intents.grade > 0).sum() < (demo.intents.grade > 0).sum()
    assert score_collection(pooled, "alpha_nDCG@10").mean() != score_collection(demo, "alpha_nDCG@10").mean()


@pytest.mark.parametrize("depth", [0, -1])
def test_a_pool_without_depth_is_refused(depth: int, demo: Collection) -> None:
    with pytest.raises(RequestError, match="pool of depth"):
        demo.pool(depth)


def test_scores_over_a_pool_are_those_of_a_file_with_the_pools_judgments(
    demo: Collection, example: Path, write: Write
) -> None:
    pooled = demo.pool(3)
    lines = "".join(f"{topic} 0 {name} {grade}\n" for topic, name, grade in pooled.judgments() if grade >= 0)
    again = cranfield.read_collection(example / "runs", write("pooled", lines))
    measures = ["AP", "nDCG@10", "RR", "P@5", "Bpref", "Q"]
    assert np.array_equal(score_collection(again, measures).values, score_collection(pooled, measures).values)


# --- shards


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 60])
def test_random_shards_are_of_the_same_size_give_or_take_one(shards: int, demo: Collection) -> None:
    sizes = np.bincount(demo.random_shards(shards, seed=1), minlength=shards)
    assert sizes.sum() == len(demo.documents)
    assert len(sizes) == shards
    assert sizes.max() - sizes.min() <= 1


def test_random_shards_are_the_same_for_the_same_seed_and_others_for_another(demo: Collection) -> None:
    one = demo.random_shards(5, seed=1)
    assert np.array_equal(one, demo.random_shards(5, seed=1))
    rng = np.random.default_rng(1)
    assert not np.array_equal(demo.random_shards(5, seed=rng), demo.random_shards(5, seed=rng))
    assert not np.array_equal(one, demo.random_shards(5, seed=2))


def test_more_shards_than_documents_are_refused(small: Collection) -> None:
    for shards in (0, -1, len(small.documents) + 1):
        with pytest.raises(RequestError, match="shards cannot be made"):
            small.random_shards(shards, seed=1)


def test_shards_for_other_documents_are_refused(small: Collection) -> None:
    with pytest.raises(RequestError, match="3 documents have a shard where there are 4"):
        small.sharded(np.zeros(3, int))


def test_every_shard_of_a_list_is_the_list_without_the_other_documents(demo: Collection) -> None:
    shards = 4
    shard_of = demo.random_shards(shards, seed=3)
    view = demo.sharded(shard_of)
    judged = [(topic, document) for topic, document, _ in demo.judgments()]
    number = {demo.documents[code]: code for code in range(len(demo.documents))}
    for t, topic in list(enumerate(demo.topics))[::9]:
        for s, system in enumerate(demo.systems):
            ranked = demo.ranking(system, topic)
            for shard in range(shards):
                segment = (t * len(demo.systems) + s) * shards + shard
                here = [name for name in ranked if shard_of[number[name]] == shard]
                assert view.length[segment] == len(here)
                at = slice(*view.judged.edges[segment : segment + 2])
                hits = zip(view.judged.rank[at].tolist(), view.judged.judgment[at].tolist(), strict=True)
                expected = [(here.index(name) + 1, name) for name in here if (topic, name) in set(judged)]
                assert [(rank, judged[judgment][1]) for rank, judgment in hits] == expected


def test_every_judgment_is_in_the_shard_of_its_document(demo: Collection) -> None:
    shard_of = demo.random_shards(3, seed=3)
    view = demo.sharded(shard_of)
    topics = {topic: at for at, topic in enumerate(demo.topics)}
    expected = [topics[t] * 3 + shard_of[demo.documents.find(d)] for t, d, _ in demo.judgments()]
    assert view.unit.tolist() == expected


def test_one_shard_is_the_whole(demo: Collection) -> None:
    from cranfield.scores.evaluation import score_view

    measures = [parse_measure(name) for name in ("AP", "nDCG@10", "Bpref", "RBP", "alpha_nDCG@10")]
    view = demo.sharded(np.zeros(len(demo.documents), int))
    assert np.array_equal(score_view(view, measures), score_view(demo.whole, measures))


def test_a_shard_scores_like_a_collection_of_its_documents(demo: Collection, tmp_path: Path) -> None:
    from cranfield.scores.evaluation import score_view

    shard_of = demo.random_shards(3, seed=5)
    number = {demo.documents[code]: code for code in range(len(demo.documents))}
    values = score_view(demo.sharded(shard_of), [parse_measure("AP"), parse_measure("nDCG@5")])
    for shard in range(3):
        lines: dict[str, list[str]] = {system: [] for system in demo.systems}
        for system in demo.systems:
            for topic in demo.topics:
                here = [name for name in demo.ranking(system, topic) if shard_of[number[name]] == shard]
                lines[system] += [f"{topic} Q0 {name} 1 {-at} {system}\n" for at, name in enumerate(here)]
        paths = []
        for system, text in lines.items():
            paths.append(tmp_path / system)
            paths[-1].write_text("".join(text))
        qrels = tmp_path / "qrels"
        rows = [(t, d, g) for t, d, g in demo.judgments() if shard_of[number[d]] == shard]
        qrels.write_text("".join(f"{topic} 0 {name} {grade}\n" for topic, name, grade in rows))
        alone = score_collection(cranfield.read_collection(paths, qrels), ["AP", "nDCG@5"])
        assert alone.topics == demo.topics
        assert np.array_equal(alone.values[..., 0], values[..., shard])


# --- policies


@pytest.fixture
def gappy(write: Write) -> Collection:
    """Topic 1 is whole, on topic 2 run b has nothing, topic 3 has nothing relevant."""
    runs = [write("a", "1 Q0 d1 1 1 a\n2 Q0 d1 1 1 a\n3 Q0 d1 1 1 a\n"), write("b", "1 Q0 d1 1 1 b\n3 Q0 d1 1 1 b\n")]
    return cranfield.read_collection(runs, write("qrels", "1 0 d1 1\n2 0 d1 1\n3 0 d1 0\n"))


def scores(collection: Collection, **policies: str) -> dict[str, list[float | None]]:
    table = score_collection(collection, "AP", **policies)
    return {
        topic: [None if math.isnan(score) else score for score in row]
        for topic, row in zip(table.topics, table.of().tolist(), strict=True)
    }


def test_what_is_missing_scores_zero_as_in_trec_eval(gappy: Collection) -> None:
    assert scores(gappy) == {"1": [1.0, 1.0], "2": [1.0, 0.0], "3": [0.0, 0.0]}


def test_a_topic_without_a_list_can_have_no_score(gappy: Collection) -> None:
    assert scores(gappy, missing="nan") == {"1": [1.0, 1.0], "2": [1.0, None], "3": [0.0, 0.0]}
    assert score_collection(gappy, "AP", missing="nan").mean() == {"a": 2 / 3, "b": 0.5}


def test_a_topic_without_a_list_can_be_dropped(gappy: Collection) -> None:
    assert scores(gappy, missing="drop") == {"1": [1.0, 1.0], "3": [0.0, 0.0]}


def test_a_topic_without_relevant_documents_can_have_no_score(gappy: Collection) -> None:
    assert scores(gappy, no_relevant="nan") == {"1": [1.0, 1.0], "2": [1.0, 0.0], "3": [None, None]}


def test_a_topic_without_relevant_documents_can_be_dropped(gappy: Collection) -> None:
    assert scores(gappy, no_relevant="drop") == {"1": [1.0, 1.0], "2": [1.0, 0.0]}


def test_both_policies_hold_together(gappy: Collection) -> None:
    assert scores(gappy, missing="drop", no_relevant="drop") == {"1": [1.0, 1.0]}
    assert scores(gappy, missing="nan", no_relevant="drop") == {"1": [1.0, 1.0], "2": [1.0, None]}


def test_dropping_every_topic_is_refused(write: Write) -> None:
    collection = cranfield.read_collection(write("run", "1 Q0 d1 1 1 t\n"), write("qrels", "1 0 d1 0\n"))
    with pytest.raises(RequestError, match="no topic is left"):
        score_collection(collection, "AP", no_relevant="drop")


@pytest.mark.parametrize("policy", ["missing", "no_relevant"])
def test_an_unknown_policy_is_refused_with_the_known_ones(policy: str, gappy: Collection) -> None:
    options: dict[str, Any] = {policy: "one"}
    with pytest.raises(RequestError, match=f"{policy} cannot be «one»") as refusal:
        score_collection(gappy, "AP", **options)
    assert "zero, nan, drop" in refusal.value.fix


# --- intents


PER_INTENT = [kind.example for kind in CATALOG.values() if kind.per_intent]
PLAIN = [kind.example for kind in CATALOG.values() if not kind.per_intent]
INTENTS = "1 a d1 1\n1 b d1 0\n1 b d2 1\n2 a d1 1\n"


@pytest.mark.parametrize("measure", PER_INTENT)
def test_a_measure_of_intents_needs_judgments_for_intents(measure: str, small: Collection) -> None:
    with pytest.raises(RequestError, match="needs per-intent judgments") as refusal:
        score_collection(small, measure)
    assert "`intents`" in refusal.value.fix


@pytest.mark.parametrize("measure", PLAIN)
def test_an_ordinary_measure_needs_ordinary_judgments(measure: str, write: Write) -> None:
    collection = cranfield.read_collection(write("run", RUN), intents=write("intents", INTENTS))
    with pytest.raises(RequestError, match="needs ordinary judgments") as refusal:
        score_collection(collection, measure)
    assert "`qrels`" in refusal.value.fix


def test_both_kinds_of_judgments_can_be_read_together(write: Write) -> None:
    run, qrels, intents = write("run", RUN), write("qrels", QRELS), write("intents", INTENTS)
    both = cranfield.read_collection(run, qrels, intents=intents)
    alone = cranfield.read_collection(run, qrels)
    diverse = cranfield.read_collection(run, intents=intents)
    assert np.array_equal(score_collection(both, PLAIN).values, score_collection(alone, PLAIN).values)
    assert np.array_equal(score_collection(both, PER_INTENT).values, score_collection(diverse, PER_INTENT).values)


def test_intents_are_equally_likely_unless_told_otherwise(write: Write) -> None:
    run, intents = write("run", RUN), write("intents", INTENTS)
    plain = cranfield.read_collection(run, intents=intents).intents
    told = cranfield.read_collection(run, intents=intents, probabilities=write("p", "1 a 0.2\n1 b 0.6\n")).intents
    assert plain is not None
    assert told is not None
    assert plain.names == told.names == (("a", "b"), ("a",))
    assert plain.weight.tolist() == [0.5, 0.5, 1.0]
    assert told.weight.tolist() == pytest.approx([0.25, 0.75, 1.0])


def test_topics_without_relevant_documents_for_any_intent_can_be_dropped(write: Write) -> None:
    intents = write("intents", "1 a d1 1\n1 b d2 0\n2 a d1 0\n")
    collection = cranfield.read_collection(write("run", RUN), intents=intents)
    assert score_collection(collection, "alpha_nDCG@10", no_relevant="drop").topics == ("1",)
    assert score_collection(collection, "alpha_nDCG@10").topics == ("1", "2")


# --- measures at their edges


@pytest.mark.parametrize("k", [1000, 10**6])
def test_a_cutoff_deeper_than_every_list_is_no_cutoff(k: int, demo: Collection) -> None:
    deep = score_collection(demo, [f"{name}@{k}" for name in ("AP", "nDCG", "RR", "Q", "ERR", "RBP")])
    whole = score_collection(demo, ["AP", "nDCG", "RR", "Q", "ERR", "RBP"])
    assert np.array_equal(deep.values, whole.values)


@pytest.mark.parametrize("name", ["AP", "P", "R", "nDCG", "alpha_nDCG", "ERR_IA", "I-rec"])
def test_a_cutoff_beyond_machine_integers_is_scored_or_refused(name: str, demo: Collection) -> None:
    try:
        table = score_collection(demo, f"{name}@{10**30}")
    except CranfieldError:
        return
    assert np.isfinite(table.values).all()


WITH_RANK = [kind for kind in CATALOG.values() if kind.cutoff.allowed and not kind.cutoff.parameter]


@pytest.mark.parametrize("k", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("kind", WITH_RANK, ids=lambda kind: kind.name)
def test_a_cutoff_may_be_deeper_than_lists_and_judgments(kind: MeasureKind, k: int, write: Write) -> None:
    run, qrels, intents = write("run", RUN), write("qrels", QRELS), write("intents", INTENTS)
    values = score_collection(cranfield.read_collection(run, qrels, intents=intents), f"{kind.name}@{k}").values
    assert ((values >= kind.lowest) & (values <= kind.highest)).all()


def test_gains_that_are_all_zero_are_refused_or_score_zero(demo: Collection) -> None:
    for measure in ("nDCG(gains=1:0)", "RBP(gains=1:0)", "ERR(gains=1:0)", "Q(gains=1:0)", "P+(gains=1:0)"):
        try:
            table = score_collection(demo, measure)
        except CranfieldError:
            continue
        assert (table.values == 0.0).all(), measure


@pytest.mark.parametrize("kind", CATALOG.values(), ids=CATALOG)
def test_every_score_is_in_the_range_the_measure_states(kind: MeasureKind, demo: Collection) -> None:
    values = score_collection(demo, kind.example).values
    assert values.min() >= kind.lowest
    assert values.max() <= kind.highest
