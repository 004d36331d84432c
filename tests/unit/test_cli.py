"""The command: what goes in, what comes out where, with which exit code, and what it never does."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield
from cranfield.cli.app import main
from cranfield.measures import CATALOG
from cranfield.methods import simulation
from cranfield.scores import ScoreTable, read_scores
from cranfield.scores.evaluation import score_collection

KEYS = {"inputs", "method", "citations", "warnings", "seed", "version", "rows"}
COMMAND = [sys.executable, "-c", "from cranfield.cli.app import main; main()"]
Write = Callable[[str, str | bytes], str]


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """What standard error says, without the frame some messages are put in."""
        return " ".join(self.err.replace("│", " ").split())

    @property
    def json(self) -> Any:
        return json.loads(self.out, parse_constant=lambda text: pytest.fail(f"{text} is not JSON"))

    @property
    def csv(self) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.out)))


Run = Callable[..., Answer]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process, as its entry point does."""

    def call(*arguments: str | Path, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr("sys.argv", ["cranfield", *map(str, arguments)])
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        code = stop.value.code
        return Answer(code if isinstance(code, int) else 0 if code is None else 1, *capsys.readouterr())

    return call


def spawn(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    options = {"capture_output": True, "text": True, "timeout": 60, "check": False, **options}
    return subprocess.run([*COMMAND, *map(str, arguments)], **options)


@pytest.fixture(scope="session")
def table(example: Path) -> ScoreTable:
    """What the library makes of the example."""
    return score_collection(
        cranfield.read_collection(example / "runs", example / "qrels.txt"), ["AP", "P@10", "nDCG@10"]
    )


@pytest.fixture(scope="session")
def packed(example: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packed") / "demo.cran"
    cranfield.read_collection(
        example / "runs", example / "qrels.txt", intents=example / "intents.txt", teams=example / "teams.tsv"
    ).save(path)
    return path


# --- scoring, in every face


def test_scores_are_printed_best_system_first(run: Run, example: Path, table: ScoreTable) -> None:
    answer = run("score", example / "runs", "--qrels", example / "qrels.txt")
    assert answer.code == 0
    assert answer.err == (  # the other run of the team is as new to the pool
        "warning: 30 % of the first 10 documents of eskdale1 are unjudged, and count as not relevant. The measure "
        "Judged@10 is the share of judged documents on each topic. (1 more such warning in the JSON output)\n"
    )
    sentence, _, header, *lines = answer.out.partition("\n\nMeans alone")[0].splitlines()
    assert header.split() == ["system", "AP", "P@10", "nDCG@10"]
    means = table.mean("AP")
    assert [line.split()[:2] for line in lines] == [
        [system, f"{means[system]:.4f}"] for system in sorted(means, key=lambda name: -means[name])
    ]
    assert sentence.startswith("Means over 40 topics for 12 systems, by AP: cleverdon1 has the highest, ")


def test_json_is_the_result_with_its_origin(run: Run, example: Path, table: ScoreTable) -> None:
    content = run("score", example / "runs", "-q", example / "qrels.txt", "-m", "AP", "--json").json
    assert content.keys() == KEYS
    assert {row["system"]: row["score"] for row in content["rows"]} == table.mean("AP")
    assert content["inputs"]["measure"] == ["AP"]
    assert content["inputs"]["qrels"] == str(example / "qrels.txt")
    assert content["method"] == "score"
    assert content["version"] == cranfield.__version__


def test_csv_has_every_digit(run: Run, example: Path, table: ScoreTable) -> None:
    rows = run("score", example / "runs", "-q", example / "qrels.txt", "--csv").csv
    for measure in table.measures:
        found = {row["system"]: float(row["score"]) for row in rows if row["measure"] == measure}
        assert found == table.mean(measure)


def test_markdown_is_a_table(run: Run, example: Path) -> None:
    lines = run("score", example / "runs", "-q", example / "qrels.txt", "--md").out.splitlines()
    assert lines[0] == "Means over 40 topics for 12 systems, by AP: cleverdon1 has the highest, 0.5537."
    assert lines[2:4] == ["| system | AP | P@10 | nDCG@10 |", "|---|---:|---:|---:|"]
    assert sum(line.startswith("| ") for line in lines) == 13


def test_latex_is_a_table(run: Run, example: Path) -> None:
    out = run("score", example / "runs", "-q", example / "qrels.txt", "-m", "RBP", "--latex").out
    assert "\\begin{tabular}{@{}l S[table-format=1.4, detect-weight, mode=text] S[" in out
    assert "RBP\\_residual(p=0.8)" in out
    assert out.count("\\\\") == 13


def test_two_faces_at_once_are_refused(run: Run, example: Path) -> None:
    answer = run("score", example / "runs", "-q", example / "qrels.txt", "--json", "--csv")
    assert answer.code == 2
    assert "choose one of --json, --csv" in answer.complaint
    assert answer.out == ""


@pytest.mark.parametrize("face", ["--json", "--csv", "--md", "--latex"])
def test_a_face_and_nothing_else_is_on_standard_output(run: Run, face: str, write: Write) -> None:
    """Warnings are in the JSON and in the Markdown; otherwise they stand aside on standard error."""
    runs = write("run", "1 Q0 d1 1 2 t\n7 Q0 d1 1 2 t\n")
    answer = run("score", runs, "-q", write("qrels", "1 0 d1 1\n2 0 d1 1\n"), face)
    assert answer.code == 0
    assert (answer.err != "") is (face in ("--csv", "--latex"))
    if face == "--json":
        assert {warning["kind"] for warning in answer.json["warnings"]} == {"topic-unjudged", "topic-missing"}
    if face == "--csv":
        assert len(answer.csv) == 3
        assert "warning: topics in the run but not in the judgments" in answer.complaint
    if face == "--md":
        assert answer.out.count("\n> ") == 2


def test_the_residual_is_shown_beside_rbp_and_not_written(run: Run, example: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.csv"
    answer = run("score", example / "runs", "-q", example / "qrels.txt", "-m", "RBP(p=0.95)", "-o", out)
    assert answer.out.splitlines()[2].split() == ["system", "RBP(p=0.95)", "RBP_residual(p=0.95)"]
    assert read_scores(out).measures == ("RBP(p=0.95)",)


def test_parameters_reach_the_measure_with_every_digit(run: Run, example: Path) -> None:
    measure = "RBP(p=0.95123456)"
    rows = run("score", example / "runs", "-q", example / "qrels.txt", "-m", measure, "--csv").csv
    expected = score_collection(cranfield.read_collection(example / "runs", example / "qrels.txt"), measure)
    found = {row["system"]: float(row["score"]) for row in rows if "residual" not in row["measure"]}
    assert found == expected.mean()


def test_a_table_with_many_measures_keeps_its_numbers_whole(run: Run, example: Path) -> None:
    measures = [part for k in range(1, 41) for part in ("-m", f"P@{k}")]
    out = run("score", example / "runs" / "aldgate1.txt", "-q", example / "qrels.txt", *measures).out
    (line,) = (line for line in out.splitlines() if line.startswith("aldgate1"))
    assert len(line.split()) == 41


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "tsv.gz", "json", "json.gz", "parquet"])
def test_scores_are_written_in_every_format(
    run: Run, ending: str, example: Path, table: ScoreTable, tmp_path: Path
) -> None:
    out = tmp_path / f"scores.{ending}"
    assert run("score", example / "runs", "-q", example / "qrels.txt", "-o", out).code == 0
    found = read_scores(out)
    assert (found.measures, found.topics, found.systems) == (table.measures, table.topics, table.systems)
    assert np.array_equal(found.values, table.values)


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "parquet"])
def test_scores_are_written_wide(run: Run, ending: str, example: Path, table: ScoreTable, tmp_path: Path) -> None:
    out = tmp_path / f"scores.{ending}"
    assert run("score", example / "runs", "-q", example / "qrels.txt", "-m", "AP", "-o", out, "--wide").code == 0
    assert np.array_equal(read_scores(out, measure="AP").values, table.select(measures=["AP"]).values)


def test_a_json_file_says_where_its_scores_come_from(run: Run, example: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.json"
    run("score", example / "runs", "-q", example / "qrels.txt", "-m", "AP", "-o", out)
    content = json.loads(out.read_text())
    assert content.keys() == KEYS
    assert len(content["rows"]) == 40 * 12


@pytest.mark.parametrize(
    ("options", "means"),
    [
        ([], {"a": 2 / 3, "b": 1 / 3}),
        (["--missing", "nan"], {"a": 2 / 3, "b": 0.5}),
        (["--missing", "drop"], {"a": 0.5, "b": 0.5}),
        (["--no-relevant", "drop"], {"a": 1.0, "b": 0.5}),
        (["--no-relevant", "nan", "--missing", "nan"], {"a": 1.0, "b": 1.0}),
    ],
)
def test_policies_are_options(run: Run, options: list[str], means: dict[str, float], write: Write) -> None:
    runs = [write("a", "1 Q0 d1 1 1 a\n2 Q0 d1 1 1 a\n3 Q0 d1 1 1 a\n"), write("b", "1 Q0 d1 1 1 b\n3 Q0 d1 1 1 b\n")]
    qrels = write("qrels", "1 0 d1 1\n2 0 d1 1\n3 0 d1 0\n")
    rows = run("score", *runs, "-q", qrels, "-m", "AP", "--json", *options).json["rows"]
    assert {row["system"]: row["score"] for row in rows} == pytest.approx(means)


def test_order_and_names_are_options(run: Run, write: Write) -> None:
    runs, qrels = write("my.run", "1 Q0 d1 2 9 t\n1 Q0 d2 1 1 t\n"), write("qrels", "1 0 d1 1\n")
    rows = run("score", runs, "-q", qrels, "-m", "RR", "--json", "--order", "rank", "--name", "file").json["rows"]
    assert [(row["system"], row["score"]) for row in rows] == [("my", 0.5)]


def test_intents_and_their_probabilities_are_options(run: Run, example: Path, write: Write) -> None:
    likely = write("likely", "101 1 1\n101 2 0\n")
    runs = ["score", example / "runs", "--intents", example / "intents.txt", "-m", "D-nDCG@10", "--json"]
    plain, told = run(*runs).json, run(*runs, "--intent-probabilities", likely).json
    assert plain["rows"] != told["rows"]


# --- where runs come from


def single(run: Run, *runs: str | Path, qrels: Path, stdin: bytes = b"") -> list[dict[str, str]]:
    answer = run("score", *runs, "-q", qrels, "-m", "AP", "--csv", stdin=stdin)
    assert answer.code == 0, answer.err
    return answer.csv


def test_runs_come_from_standard_input_gzip_patterns_and_folders(run: Run, example: Path, tmp_path: Path) -> None:
    qrels, source = example / "qrels.txt", example / "runs" / "aldgate1.txt"
    expected = single(run, source, qrels=qrels)
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "aldgate1.gz").write_bytes(gzip.compress(source.read_bytes()))
    assert single(run, "-", qrels=qrels, stdin=source.read_bytes()) == expected
    assert single(run, "-", qrels=qrels, stdin=gzip.compress(source.read_bytes())) == expected
    assert single(run, folder / "aldgate1.gz", qrels=qrels) == expected
    assert single(run, folder, qrels=qrels) == expected
    assert single(run, example / "runs" / "aldgate[1]*", qrels=qrels) == expected
    more = source.read_bytes().replace(b"aldgate1", b"more")
    assert len(single(run, example / "runs" / "aldgate*", "-", qrels=qrels, stdin=more)) == 4


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="there are no files for open pipes here")
@pytest.mark.parametrize("size", ["small", "large"])
def test_a_run_from_another_command_is_read_whole(size: str, example: Path) -> None:
    """As in: cranfield score <(zcat run.gz) -q qrels.txt, where what was read once is gone."""
    source = (example / "runs" / "aldgate1.txt").read_bytes()
    data = source if size == "large" else b"".join(source.splitlines(keepends=True)[:3])
    with_file = spawn("score", "-", "-q", example / "qrels.txt", "-m", "AP", "--csv", input=data.decode())
    for command in (["score", "-q", example / "qrels.txt", "-m", "AP", "--csv"], ["check", "--csv"]):
        reader, writer = os.pipe()
        feeding = threading.Thread(target=feed, args=(writer, data))
        feeding.start()
        result = spawn(*command, f"/dev/fd/{reader}", pass_fds=(reader,))
        os.close(reader)
        feeding.join()
        if command[0] == "score":
            assert (result.returncode, result.stdout) == (0, with_file.stdout), result.stderr
        else:
            assert result.returncode == 0, result.stdout


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="there are no files for open pipes here")
def test_judgments_from_another_command_meet_the_runs_in_a_check(write: Write) -> None:
    """As in: cranfield check run <(zcat qrels.gz)."""
    path = write("run", "051 Q0 d1 1 2.0 tag\n")
    reader, writer = os.pipe()
    feed(writer, b"51 0 d1 1\n")
    result = spawn("check", path, f"/dev/fd/{reader}", "--json", pass_fds=(reader,))
    os.close(reader)
    assert [row["kind"] for row in json.loads(result.stdout)["rows"]] == ["no-overlap"]


def feed(writer: int, data: bytes) -> None:
    try:
        with os.fdopen(writer, "wb") as stream:
            stream.write(data)
    except BrokenPipeError:
        pass


def test_a_packed_collection_scores_like_its_files(run: Run, example: Path, packed: Path) -> None:
    files = run("score", example / "runs", "-q", example / "qrels.txt", "--csv")
    assert run("score", packed, "--csv").out == files.out


def test_packing_says_what_it_packed(run: Run, example: Path, tmp_path: Path, packed: Path) -> None:
    out = tmp_path / "demo.cran"
    parts = ["--qrels", example / "qrels.txt", "--teams", example / "teams.tsv", "--intents", example / "intents.txt"]
    answer = run("pack", example / "runs", *parts, "-o", out, "--json")
    assert answer.code == 0
    assert answer.json.keys() == KEYS
    (row,) = answer.json["rows"]
    assert (row["systems"], row["topics"], row["teams"], row["bytes"]) == (12, 40, 5, out.stat().st_size)
    assert out.read_bytes() == packed.read_bytes()
    assert "Packed. Every command takes" in run("pack", example / "runs", *parts, "-o", out).out


@pytest.mark.parametrize("option", ["--qrels", "--intents", "--intent-probabilities"])
def test_a_packed_collection_brings_its_own_judgments(run: Run, option: str, example: Path, packed: Path) -> None:
    answer = run("score", packed, option, example / "qrels.txt")
    assert answer.code == 2
    assert f"a packed collection has its own judgments: {option} has no effect" in answer.complaint
    assert answer.out == ""


@pytest.mark.parametrize("option", ["--teams", "--qrels"])
def test_a_packed_collection_is_not_packed_again_with_more(
    run: Run, option: str, example: Path, packed: Path, tmp_path: Path
) -> None:
    answer = run("pack", packed, option, example / "qrels.txt", "-o", tmp_path / "new.cran")
    assert answer.code == 2
    assert option in answer.complaint
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_packed_collection_is_refused(run: Run, packed: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.cran"
    damaged.write_bytes(packed.read_bytes()[:-100])
    answer = run("score", damaged)
    assert answer.code == 2
    assert answer.err.startswith(f"error: {damaged}: the file is cut short")


# --- what goes wrong


def test_an_error_is_a_message_with_place_and_advice_and_exit_code_2(run: Run, write: Write) -> None:
    runs = write("run", "1 Q0 d1 1 2.0 tag\n1 Q0 d2 2 high tag\n")
    answer = run("score", runs, "-q", write("qrels", "1 0 d1 1\n"))
    assert answer.code == 2
    assert answer.out == ""
    first, *rest = answer.err.splitlines()
    assert first == f"error: {runs}:2: a score that is not a number: score «high» «1 Q0 d2 2 high tag»"
    assert rest == ["  The document cannot be ranked. Write a decimal number."]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["score", "{runs}"], "runs cannot be scored without judgments"),
        (["compare", "{runs}"], "this is a run file, not a score table Give the judgments too, --qrels"),
        (["compare", "{qrels}"], "these are judgments, not scores Give the runs, with these as --qrels"),
        (["score", "nothing.txt"], "nothing.txt: there is no such file"),
        (["pack", "nothing.csv", "-o", "a.cran"], "nothing.csv: there is no such file"),
        (["score", "{runs}", "-q", "{qrels}x"], "there is no such file Near it: qrels.txt"),
        (["score", "{runs}x", "-q", "{qrels}"], "there is no such file Near it: runs"),
        (["score", "{runs}/x*", "-q", "{qrels}"], "no file matches this pattern"),
        (["score", "{runs}", "-q", "{runs}"], "this is a folder, not a file"),
        (["score", "{runs}", "-q", "{qrels}", "-m", "nDGC@10"], "Did you mean nDCG"),
        (["score", "{runs}", "-q", "{qrels}", "-m", "AP(x=1)"], "AP has no parameter «x»"),
        (["score", "{runs}", "-q", "{qrels}", "-m", "P"], "P needs a cutoff"),
        (["score", "{runs}", "-q", "{qrels}", "-m", "P@²"], "cutoff must be a whole number"),
        (["score", "{runs}", "-q", "{qrels}", "-m", "alpha_nDCG@10"], "needs per-intent judgments"),
        (["score", "{runs}", "-q", "{qrels}", "-o", "scores.xlsx"], "does not say which format"),
        (["score", "{runs}", "-q", "{qrels}", "--missing", "one"], "--missing cannot be «one»"),
        (["score", "{runs}", "-q", "{qrels}", "--nonsense"], "No such option"),
        (["score"], "Missing argument"),
        (["nonsense"], "No such command"),
        (["check"], "Name at least one file"),
        (["check", "{qrels}", "--run", "nothing*"], "no file matches this pattern"),
        (["measures", "nothing"], "there is no measure «nothing»"),
        (["pack", "{runs}", "-q", "{qrels}"], "Missing option '--out'"),
        (["demo", "{qrels}"], "the folder cannot be made"),
        (["demo", "demo", "--seed", "-1"], "seed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_request_is_explained_with_exit_code_2(
    run: Run, arguments: list[str], says: str, example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    places = {"runs": str(example / "runs"), "qrels": str(example / "qrels.txt")}
    answer = run(*(part.format(**places) for part in arguments))
    assert answer.code == 2
    assert says in answer.complaint
    assert "should not happen" not in answer.err
    assert "Traceback" not in answer.err
    assert answer.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["pilot", "budget", "score"])
def test_a_score_table_in_place_of_runs_is_recognised(run: Run, write: Write, command: str) -> None:
    answer = run(command, write("scores.csv", "measure,topic,system,score\nAP,1,a,0.5\nAP,2,a,0.25\n"))
    assert answer.code == 2
    assert "this needs runs and judgments, and a score table was given" in answer.complaint


@pytest.mark.parametrize("place", ["nothing here/scores.csv", "folder.csv"])
def test_an_output_that_cannot_be_written_is_refused_and_nothing_is_left(
    run: Run, place: str, example: Path, tmp_path: Path
) -> None:
    (tmp_path / "folder.csv").mkdir()
    answer = run("score", example / "runs", "-q", example / "qrels.txt", "-o", tmp_path / place)
    assert answer.code == 2
    assert f"error: {tmp_path / place}: it cannot be written" in answer.err
    assert answer.out == ""
    assert [path.name for path in tmp_path.rglob("*")] == ["folder.csv"]


@pytest.mark.parametrize("ending", ["csv", "json.gz", "parquet", "cran"])
def test_an_output_for_which_there_is_no_room_leaves_what_was_there(ending: str, example: Path, tmp_path: Path) -> None:
    """The operating system's own refusal, by a limit on how large a file may get."""
    out = tmp_path / f"scores.{ending}"
    out.write_text("what was there before")
    command = ["pack" if ending == "cran" else "score", example / "runs", "-q", example / "qrels.txt", "-o", out]
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (900, 900))\n"
        "from cranfield.cli.app import main; main()"
    )
    # Without writing bytecode or compiled code, which the limit would also hit.
    result = subprocess.run(
        [sys.executable, "-B", "-c", limited, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith(f"error: {out}: it cannot be written: File too large"), result.stderr
    assert result.stdout == ""
    assert out.read_text() == "what was there before"
    assert os.listdir(tmp_path) == [out.name]


def test_an_error_while_reading_leaves_the_output_as_it_was(run: Run, write: Write, tmp_path: Path) -> None:
    out = tmp_path / "scores.csv"
    out.write_text("what was there before")
    assert run("score", write("run", "1 Q0 d1\n"), "-q", write("qrels", "1 0 d1 1\n"), "-o", out).code == 2
    assert out.read_text() == "what was there before"


def break_demo(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(simulation, "write_example", fail)


def test_a_fault_of_the_program_is_owned_up_to(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRANFIELD_DEBUG", raising=False)
    break_demo(monkeypatch, ZeroDivisionError("by nought"))
    answer = run("demo")
    assert answer.code == 2
    assert answer.err.startswith("error: this should not happen: ZeroDivisionError: by nought\n")
    assert "CRANFIELD_DEBUG=1 shows where" in answer.err


def test_a_fault_of_the_program_shows_where_when_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRANFIELD_DEBUG", "1")
    break_demo(monkeypatch, ZeroDivisionError("by nought"))
    with pytest.raises(ZeroDivisionError):
        run("demo")


def test_too_little_memory_is_said_in_words(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    break_demo(monkeypatch, MemoryError())
    answer = run("demo")
    assert answer.code == 2
    assert "not enough memory" in answer.err


def test_an_interrupted_command_stops_with_130_and_no_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    break_demo(monkeypatch, KeyboardInterrupt())
    answer = run("demo")
    assert answer.code == 130
    assert "Traceback" not in answer.err


@pytest.mark.parametrize("arguments", [["measures"], ["measures", "--json"], ["--help"]])
def test_a_reader_that_has_gone_ends_the_command_quietly(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = spawn(*arguments, capture_output=False, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert result.stderr == ""
    assert result.returncode == 141


@pytest.mark.parametrize(
    "arguments", [["measures"], ["check", "{qrels}"], ["score", "{runs}", "-q", "{qrels}", "--md"]]
)
def test_a_terminal_that_knows_only_ascii_gets_an_answer(arguments: list[str], example: Path) -> None:
    places = {"runs": str(example / "runs"), "qrels": str(example / "qrels.txt")}
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = spawn(*(part.format(**places) for part in arguments), env=environment)
    assert result.returncode == 0, result.stderr
    assert result.stdout


# --- checking


def test_a_check_of_clean_files_says_so(run: Run, example: Path) -> None:
    answer = run("check", example / "runs", example / "qrels.txt", example / "teams.tsv")
    assert answer.code == 0
    assert answer.out.splitlines()[0].endswith("The files can be scored.")


def test_a_check_shows_places_and_texts_and_exits_with_2(run: Run, write: Write) -> None:
    answer = run("check", write("run", "1 Q0 d1 1 2.0 tag\n1 Q0 d2 2 high tag\n" + "1 Q0 d3 3 0.5 tag\n"))
    assert answer.code == 2
    assert "run:2" in answer.out
    assert "1 Q0 d2 2 high tag" in answer.out
    assert "Scores would be wrong" in answer.out


def test_a_check_lists_everything_when_asked(run: Run, write: Write) -> None:
    path = write("run", "1 Q0 d1 1 2.0 tag\n" * 6 + "".join(f"1 Q0 x{at} 1 high tag\n" for at in range(9)))
    few, whole = (run("check", path, *options).out for options in ([], ["--all"]))
    assert "4 more places" in few
    assert "more places" not in whole
    assert whole.count("x8") == 1


@pytest.mark.parametrize("face", ["--json", "--csv", "--md", "--latex"])
def test_a_check_has_every_face(run: Run, face: str, write: Write) -> None:
    path = write("run", "1 Q0 d1 1 2.0 tag\n1 Q0 d1 2 1.0 tag\n")
    answer = run("check", path, face)
    assert answer.code == 2
    if face == "--json":
        assert answer.json.keys() == KEYS | {"kinds", "places_listed"}
        assert answer.json["kinds"] == [{"severity": "error", "kind": "duplicate-document", "places": 1, "lines": 1}]
        assert answer.json["rows"][0]["kind"] == "duplicate-document"
        (checked,) = answer.json["inputs"]["files"]
        assert checked.pop("why") == "Most of its lines have six fields."
        assert checked == {"file": path, "kind": "run", "lines": 2, "taken_for": "run"}
    elif face == "--csv":
        assert answer.csv[0]["line"] == "2"
    else:
        assert "1 d1" in answer.out


def test_a_check_reads_standard_input_as_a_run(run: Run, example: Path) -> None:
    answer = run("check", "-", example / "qrels.txt", "--json", stdin=b"101 Q0 d1 1 high tag\n")
    assert answer.code == 2
    rows = [row for row in answer.json["rows"] if row["severity"] == "error"]
    assert [(row["kind"], row["file"], row["line"]) for row in rows] == [("score-not-a-number", "standard input", 1)]


def test_a_check_says_why_standard_input_cannot_be_read(run: Run) -> None:
    answer = run("check", "-", "--json", stdin=gzip.compress(b"1 Q0 d1 1 1.0 tag\n")[:-6])
    assert answer.code == 2
    (row,) = answer.json["rows"]
    assert (row["kind"], row["file"]) == ("unreadable", "standard input")
    assert "cut short" in row["problem"]


# --- the other commands


def test_the_measures_are_listed_and_explained(run: Run) -> None:
    listed = run("measures")
    assert all(name in listed.out for name in CATALOG)
    content = run("measures", "--json").json
    assert content.keys() == KEYS
    assert len(content["rows"]) == len(CATALOG)
    told = run("measures", "ndcg").out
    assert CATALOG["nDCG"].title in told
    assert "Järvelin" in told


def test_the_demo_is_written_where_it_is_asked_for(run: Run, tmp_path: Path) -> None:
    answer = run("demo", tmp_path / "demo", "--seed", "3")
    assert answer.code == 0
    assert "12 runs of 5 teams on 40 topics" in answer.out
    cranfield.write_example(tmp_path / "again", seed=3)
    for name in ("qrels.txt", "judge.txt", "intents.txt", "teams.tsv", "runs/eskdale2.txt"):
        assert (tmp_path / "demo" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_the_version_is_shown(run: Run) -> None:
    answer = run("--version")
    assert answer.code == 0
    own, others, parts = answer.out.splitlines()
    assert own == f"cranfield {cranfield.__version__}"
    assert f"numpy {np.__version__}" in others
    assert parts.startswith("optional parts: ")


@pytest.mark.parametrize("command", [[], ["score"], ["check"], ["pack"], ["measures"], ["demo"]])
def test_help_is_help_both_ways(run: Run, command: list[str]) -> None:
    long, short = run(*command, "--help"), run(*command, "-h")
    assert long.code == short.code == 0
    assert long.out == short.out
    assert "Usage: cranfield" in long.out


# --- what is not loaded is not waited for

LOADED = (
    "import sys\n"
    "from cranfield.cli.app import main\n"
    "try:\n"
    "    main()\n"
    "finally:\n"
    "    heavy = {'numpy', 'numba', 'polars', 'pandas', 'pyarrow', 'narwhals', 'scipy', 'altair', 'rich.progress'}\n"
    "    sys.stderr.write('loaded:' + ','.join(sorted(heavy & set(sys.modules))))\n"
)


def loaded(*arguments: str | Path) -> set[str]:
    """Which large packages are in memory when the command is done."""
    result = subprocess.run(
        [sys.executable, "-c", LOADED, *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False
    )
    assert result.returncode == 0, result.stderr
    return set(filter(None, result.stderr.rpartition("loaded:")[2].split(",")))


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["score", "--help"], ["check", "--help"]])
def test_help_and_version_load_nothing_heavy(arguments: list[str]) -> None:
    assert loaded(*arguments) == set()


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = "import sys, cranfield; print(sorted({'numpy', 'numba', 'polars', 'typer', 'rich'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=True)
    assert result.stdout == "[]\n"


@pytest.mark.parametrize("options", [[], ["--json"], ["-o", "scores.csv"]], ids=["text", "json", "csv file"])
def test_scoring_a_small_run_loads_neither_compiler_nor_frames(
    options: list[str], example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = loaded("score", example / "runs" / "aldgate1.txt", "-q", example / "qrels.txt", *options)
    assert "numpy" in found
    assert found.isdisjoint({"numba", "polars", "pandas", "pyarrow", "narwhals", "scipy", "altair"})


def test_checking_a_small_run_loads_neither_compiler_nor_frames(example: Path) -> None:
    found = loaded("check", example / "runs" / "aldgate1.txt", example / "qrels.txt")
    assert found.isdisjoint({"numba", "polars", "pandas", "pyarrow", "narwhals", "scipy", "altair"})


def test_every_public_name_can_be_had() -> None:
    for name in cranfield.__all__:
        assert getattr(cranfield, name) is not None
    assert set(cranfield.__all__) <= set(dir(cranfield))
    with pytest.raises(AttributeError, match="nonsense"):
        cranfield.nonsense  # noqa: B018
