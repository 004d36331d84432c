"""Packed scores: every question answers from the file as from the table, to the last bit, wherever the work is done."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import by_flags
import cranfield as cf
from cranfield.cli.app import app
from cranfield.errors import InputError, PackedFileError, RequestError
from cranfield.methods.variance.components import pair_variances
from cranfield.questions import sources
from cranfield.runtime import threads
from cranfield.scores import ScoreTable, read_scores, stored
from cranfield.scores.score_files import pack_scores
from cranfield.scores.stored import StoredMatrix, fold, open_stored, write_scores_packed


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a few hundred scores were many."""
    monkeypatch.setattr(stored, "LARGE", 200)
    monkeypatch.setattr(stored, "BLOCK", 70)
    monkeypatch.setattr("cranfield.scores.score_files.LARGE", 200)
    monkeypatch.setattr("cranfield.methods.contrasts.paired.FEW_DIFFERENCES", 0)


def drawn(topics: int = 61, systems: int = 9, *, seed: int = 1, measures: tuple[str, ...] = ("AP",)) -> ScoreTable:
    draw = np.random.default_rng(seed)
    shape = (len(measures), topics, systems, 1)
    values = (
        0.5 * draw.random((len(measures), topics, 1, 1))
        + 0.45 * draw.random(shape)
        + np.linspace(0, 0.05, systems)[:, None]
    )
    names = tuple(f"t{at:02}" for at in range(topics)), tuple(f"système {at}" for at in range(systems))
    return ScoreTable(measures, *names, values)


def packed(table: ScoreTable, folder: Path, name: str = "scores.cran") -> str:
    pack_scores(table, folder / name)
    return str(folder / name)


def answers(scores: Any, **options: Any) -> dict[str, Any]:
    """What the questions that read blocks say, without what the input is called."""
    found = {
        "compare": by_flags.compare(scores, test="tukey", **options),
        "baseline": by_flags.compare(scores, baseline="système 3", **options),
        "unpaired": by_flags.compare(scores, test="unpaired", **options),
        "variance": by_flags.variance(scores, **options),
        "size": by_flags.size(scores, difference=0.05, **options),
        "power": by_flags.power(scores, **options),
    }
    said = {name: result.to_dict() for name, result in found.items()}
    for name, each in said.items():
        each.pop("inputs", None)
        each["warnings"] = [str(warning) for warning in found[name].warnings]
    return said


@pytest.mark.usefixtures("small_blocks")
def test_every_bit_is_that_of_the_table_in_memory(tmp_path: Path) -> None:
    table = drawn()
    file = packed(table, tmp_path)
    assert read_scores(file).stored is not None
    assert isinstance(read_scores(file).matrix(), StoredMatrix)
    assert json.dumps(answers(file)) == json.dumps(answers({"scores": table}))


def test_sums_by_blocks_are_those_of_all_scores_together(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    table = drawn(measures=("AP",))
    values = np.array(table.values)
    values[0, :, 5] = values[0, :, 4] + 0.01  # a pair that does not vary, and one that is nearly equal
    values[0, :, 6] = values[0, :, 4] + 1e-6 * values[0, :, 0]
    values[0, :, 8] = values[0, :, 7]
    table = ScoreTable(table.measures, table.topics, table.systems, values)
    together = answers({"scores": table})
    request.getfixturevalue("small_blocks")
    assert_close(answers(packed(table, tmp_path)), together)
    gaps = [values[0, :, a, 0] - values[0, :, b, 0] for a, b in zip(*np.triu_indices(9, k=1), strict=True)]
    wanted = np.var(gaps, axis=1, ddof=1)
    np.testing.assert_allclose(pair_variances(read_scores(tmp_path / "scores.cran").matrix()), wanted, 1e-9, 1e-25)


def assert_close(found: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for name in wanted:
            assert_close(found[name], wanted[name])
    elif isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert_close(one, other)
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12, nan_ok=True)
    else:
        assert found == wanted


def test_a_small_file_is_read_into_memory_and_answers_alike(tmp_path: Path) -> None:
    table = drawn(measures=("AP", "P@10"))
    file = packed(table, tmp_path)
    again = read_scores(file)
    assert again.stored is None
    assert (again.measures, again.topics, again.systems) == (table.measures, table.topics, table.systems)
    assert again.values.tobytes() == table.values.tobytes()
    assert json.dumps(answers(file, measure="AP")) == json.dumps(answers({"scores": table}, measure="AP"))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("most", [0, 10**6], ids=["mapped", "read"])
def test_a_question_that_needs_all_scores_maps_or_reads_them(
    tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "MOST_READ", most)
    table = drawn()
    one, other = (
        cf.simulate(scores, topics=70, resampling={"seed": 3}).table for scores in (packed(table, tmp_path), table)
    )
    assert one.values.tobytes() == other.values.tobytes()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("missing", ["zero", "drop"])
def test_missing_scores_are_settled_block_by_block_with_the_same_warnings(missing: str, tmp_path: Path) -> None:
    values = np.array(drawn(measures=("AP", "P@10")).values)
    values[0, [3, 17, 18, 19, 20, 21, 22, 23, 24, 60], 4, 0] = np.nan
    values[1, 5, 0, 0] = np.nan
    table = ScoreTable(("AP", "P@10"), drawn().topics, drawn().systems, values)
    file = packed(table, tmp_path)
    assert read_scores(file).missing == table.missing == 11
    found, wanted = (answers(scores, missing=missing, measure="AP") for scores in (file, {"scores": table}))
    assert json.dumps(found) == json.dumps(wanted)
    assert any("missing and count as 0" in each or "left out" in each for each in found["compare"]["warnings"])
    for scores in (file, {"scores": table}):
        with pytest.raises(
            InputError, match=r"10 of 549 scores of AP are missing \(topic t03, system système 4; topic"
        ):
            cf.variance(scores, measure="AP")


@pytest.mark.usefixtures("small_blocks")
def test_a_topic_is_dropped_that_misses_a_score_of_any_measure(tmp_path: Path) -> None:
    values = np.array(drawn(measures=("AP", "P@10")).values)
    values[0, 40, 4, 0] = values[1, 5, 0, 0] = values[1, 40, 0, 0] = np.nan
    table = ScoreTable(("AP", "P@10"), drawn().topics, drawn().systems, values)
    found, wanted = read_scores(packed(table, tmp_path)).settle("drop"), table.settle("drop")
    assert (found.topics, found.warnings) == (wanted.topics, wanted.warnings)
    assert found.values.tobytes() == wanted.values.tobytes()


@pytest.mark.usefixtures("small_blocks")
def test_dropped_topics_stay_dropped_by_their_names(tmp_path: Path) -> None:
    values = np.array(drawn().values)
    values[0, 7:30, 1, 0] = np.nan
    file = packed(ScoreTable(("AP",), drawn().topics, drawn().systems, values), tmp_path)
    kept = read_scores(file).settle("drop")
    assert kept.topic_count == 38
    assert kept.topics == tuple(name for at, name in enumerate(drawn().topics) if not 7 <= at < 30)
    assert kept.values.tobytes() == np.delete(values, range(7, 30), axis=1).tobytes()
    assert kept.settle("zero") is kept


@pytest.mark.usefixtures("small_blocks")
def test_blocks_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    file = packed(drawn(200, 7), tmp_path)
    said = []
    for workers in (1, 2, 3):
        with threads.on(threads.Threads(workers)):
            said.append(json.dumps(answers(file)))
    assert len(set(said)) == 1


def totals_on(workers: int, file: str) -> list[str]:
    from cranfield.runtime.dask import local_cluster

    with local_cluster(workers) as machines, threads.on(machines):
        compared = cf.compare(file)
        return [json.dumps(result.to_dict()) for result in (compared, cf.variance(file))]


@pytest.mark.proof
def test_workers_read_the_file_and_give_the_same_bits(tmp_path: Path) -> None:
    """More scores than are kept in memory; workers are processes, in which nothing is patched."""
    pytest.importorskip("distributed")
    table = drawn(100_001, 41, seed=4)
    file = packed(table, tmp_path)
    assert read_scores(file).stored is not None
    here = [json.dumps(result.to_dict()) for result in (cf.compare(file), cf.variance(file))]
    assert [totals_on(workers, file) for workers in (1, 2, 3)] == [here] * 3
    memory = [json.dumps(result.to_dict()) for result in (cf.compare(table), cf.variance(table))]
    assert [strip(each) for each in memory] == [strip(each) for each in here]


def strip(said: str) -> dict[str, Any]:
    return {name: value for name, value in json.loads(said).items() if name != "inputs"}


def test_a_worker_without_the_file_says_so(tmp_path: Path) -> None:
    scores = read_scores(packed(drawn(100_001, 41), tmp_path)).matrix()
    os.unlink(tmp_path / "scores.cran")
    with pytest.raises(PackedFileError, match="no such file where the work is done") as refusal:
        fold(np.sum, pickle.loads(pickle.dumps(scores)))
    assert "same place on every machine" in refusal.value.fix


@pytest.mark.usefixtures("small_blocks")
def test_a_test_that_holds_all_scores_says_how_much_memory_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise MemoryError

    file = packed(drawn(), tmp_path)
    monkeypatch.setattr(stored, "columns", refuse)
    with pytest.raises(RequestError, match="all 549 scores again and again"):
        cf.compare(file, test="max-t", resampling={"resamples": 100})


@pytest.mark.usefixtures("small_blocks")
def test_a_file_that_was_replaced_is_not_mixed_with_the_old_one(tmp_path: Path) -> None:
    table = read_scores(packed(drawn(), tmp_path))
    packed(drawn(62), tmp_path)
    with pytest.raises(PackedFileError, match="replaced"):
        cf.variance(table)


@pytest.mark.usefixtures("small_blocks")
def test_opening_reads_neither_scores_nor_names_of_topics(tmp_path: Path) -> None:
    file = packed(drawn(), tmp_path)
    content = bytearray(Path(file).read_bytes())
    opened = open_stored(file)
    place = stored._opened(file, os.stat(file).st_mtime_ns).place("scores")
    content[place + 8 * 9 * 30] ^= 1
    Path(file).write_bytes(content)
    os.utime(file, ns=(1, 1))
    table = read_scores(file)
    assert (table.topic_count, table.systems) == (61, opened.systems)
    with pytest.raises(PackedFileError, match=r"its scores from topic \d+ on do not match their checksum"):
        cf.variance(table)
    with pytest.raises(PackedFileError, match="checksum"):
        len(table.values)


def parts(table: ScoreTable, step: int) -> Iterator[np.ndarray]:
    for measure in table.values:
        for first in range(0, len(measure), step):
            yield measure[first : first + step]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("step", [1, 5, 7, 8, 61, 100])
def test_scores_that_come_in_parts_make_the_same_file(step: int, tmp_path: Path) -> None:
    table = drawn(measures=("AP", "P@10"))
    names: dict[str, Any] = {name: getattr(table, name) for name in ("measures", "topics", "systems")}
    whole = Path(packed(table, tmp_path)).read_bytes()
    write_scores_packed(tmp_path / "parts.cran", values=parts(table, step), **names)
    assert (tmp_path / "parts.cran").read_bytes() == whole


@pytest.mark.parametrize("topics", [60, 62])
def test_too_few_or_too_many_parts_leave_no_file(topics: int, tmp_path: Path) -> None:
    table = drawn()
    with pytest.raises(InputError, match="parts of «scores»"):
        write_scores_packed(
            tmp_path / "no.cran",
            measures=["AP"],
            topics=table.topics,
            systems=table.systems,
            values=iter([np.resize(table.values, (topics, 9, 1))]),
        )
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("small_blocks")
def test_a_table_in_a_file_pickles_as_its_path(tmp_path: Path) -> None:
    table = read_scores(packed(drawn(80, 40), tmp_path))
    assert len(table.values) == 1
    content = pickle.dumps(table)
    assert len(content) < 4_000
    assert pickle.loads(content).values.tobytes() == table.values.tobytes()


def test_shards_replicates_and_warnings_come_back(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("topic,system,shard,score\n1,a,x,0.5\n2,a,x,0.25\n1,b,x,\n2,b,y,0.75\n")
    table = read_scores(tmp_path / "scores.csv").with_replicates("crossed")
    again = read_scores(packed(table, tmp_path))
    assert (again.shards, again.replicates) == (("x", "y"), "crossed")
    assert again.warnings == table.warnings != ()
    np.testing.assert_array_equal(again.values, table.values)


# --- the command


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def csv(tmp_path: Path) -> str:
    file = tmp_path / "scores.csv"
    cf.write_scores(drawn(measures=("AP", "P@10")), file)
    return str(file)


def test_pack_takes_every_form_of_a_score_table(csv: str, tmp_path: Path) -> None:
    table = read_scores(csv)
    frame = table.to_frame("polars")
    forms: dict[str, Any] = {"csv": csv, "frame": frame, "table": table, "packed": str(tmp_path / "csv.cran")}
    frame.write_parquet(tmp_path / "long.parquet")
    frame.write_ndjson(tmp_path / "long.jsonl")
    forms |= {"parquet": tmp_path / "long.parquet", "jsonl": tmp_path / "long.jsonl"}
    for name, form in forms.items():
        result = cf.pack(form, out=str(tmp_path / f"{name}.cran"))
        assert result.collection is None
        again = read_scores(tmp_path / f"{name}.cran")
        assert again.values.tobytes() == table.values.tobytes(), name
        assert (again.measures, again.topics, again.systems) == (table.measures, table.topics, table.systems)


@pytest.mark.parametrize("case", ["plain", "shuffled", "missing", "named"])
def test_a_large_parquet_file_is_packed_in_parts_as_it_is_packed_whole(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    polars = pytest.importorskip("polars")
    monkeypatch.setattr("cranfield.scores.score_files.LARGE", 100)
    monkeypatch.setattr("cranfield.scores.frames.ROWS", 13)
    frame = polars.DataFrame({f"s{at}": np.sin(np.arange(50) + at) for at in (10, 9, 2)})
    frame = frame.with_columns(topic=polars.Series([str(at) for at in range(50)]))
    if case == "shuffled":
        frame = frame.reverse()
    if case == "missing":
        frame = frame.with_columns(s2=polars.when(polars.col("topic") != "7").then("s2"))
    frame.write_parquet(tmp_path / "wide.parquet")
    measure = "AP" if case == "named" else None
    pack_scores(read_scores(tmp_path / "wide.parquet", measure=measure), tmp_path / "whole.cran")
    if case in ("plain", "named"):
        monkeypatch.setattr(sources, "load_scores", None)  # nobody reads all of it
    cf.pack(tmp_path / "wide.parquet", measure=measure, out=str(tmp_path / "parts.cran"))
    assert (tmp_path / "parts.cran").read_bytes() == (tmp_path / "whole.cran").read_bytes()


def test_pack_reads_other_columns_and_settles_missing_scores(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("query,run,ndcg\n1,a,0.5\n2,a,0.25\n1,b,1\n3,b,0.5\n")
    columns = "topic=query,system=run,score=ndcg"
    out = str(tmp_path / "mine.cran")
    found = cf.pack(tmp_path / "mine.csv", source={"columns": columns}, out=out)
    assert found.scores is not None
    assert found.scores.missing == 2
    assert [each.slug for each in found.warnings] == ["cell-missing"]
    assert [each.what for each in read_scores(out).warnings] == [each.what for each in found.warnings]
    cf.pack(tmp_path / "mine.csv", source={"columns": columns, "missing": "drop"}, out=out)
    assert read_scores(out).topics == ("1",)
    result = run("pack", str(tmp_path / "mine.csv"), "--columns", columns, "--missing", "zero", "-o", out, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["rows"][0]["missing"] == 0
    with pytest.raises(RequestError, match="no effect on packed scores"):
        cf.variance(out, source={"columns": columns})


def test_what_does_not_go_with_scores_or_with_runs_is_refused(csv: str, tmp_path: Path) -> None:
    out = str(tmp_path / "no.cran")
    with pytest.raises(RequestError, match=r'"order": …\}` has no effect on a score table'):
        cf.pack(csv, source={"order": "rank"}, out=out)
    cf.write_example(tmp_path / "example", seed=1, topics=3)
    runs, qrels = str(tmp_path / "example" / "runs"), str(tmp_path / "example" / "qrels.txt")
    with pytest.raises(RequestError, match="have no effect on runs"):
        cf.pack(runs, qrels=qrels, measure="AP", out=out)
    assert not os.path.exists(out)
    cf.pack(runs, qrels=qrels, out=out)
    with pytest.raises(PackedFileError, match="holds a collection, not scores"):
        read_scores(out)
    scores = packed(drawn(), tmp_path)
    for ask in (lambda: cf.open_collection(scores), lambda: cf.score(scores)):
        with pytest.raises(PackedFileError, match="holds scores, not a collection"):
            ask()


def test_check_reads_a_packed_score_file_to_its_end(tmp_path: Path) -> None:
    file = packed(drawn(), tmp_path)
    checked = cf.check(file)
    assert [(each.kind, each.lines) for each in checked.report.files] == [("scores", 549)]
    assert cf.check(scores=file).exit_code == 0
    content = bytearray(Path(file).read_bytes())
    content[stored._opened(file, os.stat(file).st_mtime_ns).place("scores") + 77] ^= 4
    Path(file).write_bytes(content)
    os.utime(file, ns=(1, 1))
    assert cf.check(file).exit_code == 2


def test_the_command_takes_packed_scores_on_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    file = packed(drawn(100_001, 41, seed=6), tmp_path)
    here, there = (run("size", file, "--difference", "0.01", "--json", *more) for more in ((), ("--workers", "2")))
    assert here.exit_code == there.exit_code == 0, there.output
    assert here.stdout == there.stdout
    assert os.listdir(tmp_path) == ["scores.cran"]


def test_a_file_that_is_no_score_table_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "no.csv").write_text("hello\n")
    with pytest.raises(RequestError, match="this is no score table") as refusal:
        cf.pack(str(tmp_path / "no.csv"), out=str(tmp_path / "x.cran"))
    assert '`source={"columns": …}`' in refusal.value.fix
    assert not (tmp_path / "x.cran").exists()


@pytest.mark.usefixtures("small_blocks")
def test_the_best_of_teams_and_differences_on_topics_are_those_of_the_table_in_memory(tmp_path: Path) -> None:
    table = drawn(topics=240)
    lines = [f"{system}\tteam{at % 4}\n" for at, system in enumerate(table.systems)]
    teams = tmp_path / "teams.tsv"
    teams.write_text("".join(line.replace("système ", "s") for line in lines), encoding="utf-8")
    table = table.replaced(systems=tuple(name.replace("système ", "s") for name in table.systems))
    file = packed(table, tmp_path)
    chosen = [cf.compare(each, best_per="team", source={"teams": str(teams)}) for each in (table, file)]
    assert [each.comparisons["AP"].systems for each in chosen] == [chosen[0].comparisons["AP"].systems] * 2
    assert len(chosen[0].comparisons["AP"].systems) == 4
    drawn_charts = [cf.compare(each, baseline="s3").chart("topics").to_dict() for each in (table, file)]
    assert drawn_charts[0] == drawn_charts[1]
