"""The project file: settings of a folder, replaced by flags, recorded in JSON, and wrong ones named with their line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import cranfield as cf
from cranfield.cli.app import app
from cranfield.errors import CranfieldError, InputError
from cranfield.questions import MODULES, find_question
from cranfield.questions.project_file import SHARED, find_project, line_of

ROWS = [(topic, run, 0.1 * at + 0.003 * topic * at) for topic in range(30) for at, run in enumerate("abc")]
SETTINGS = """\
# how this folder compares
alpha = 0.1
columns = {topic = "query", system = "run", score = "ndcg"}

[compare]
baseline = "a"

[size]
difference = [0.05, 0.1]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = "".join(f"{topic},{run},{score:.4f}\n" for topic, run, score in ROWS)
    (tmp_path / "scores.csv").write_text(f"query,run,ndcg\n{rows}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str = SETTINGS, name: str = "cranfield.toml") -> None:
    (folder / name).write_text(text)


def answer(*words: str) -> dict:  # type: ignore[type-arg]
    found = CliRunner().invoke(app, [*words, "--json"])
    assert found.exit_code == 0, found.output
    return dict(json.loads(found.stdout))


def test_no_flag_is_needed(folder: Path) -> None:
    write(folder)
    inputs = answer("compare", "scores.csv")["inputs"]
    assert inputs["alpha"] == 0.1
    assert inputs["baseline"] == ["a"]
    assert inputs["columns"] == "topic=query,system=run,score=ndcg"
    assert inputs["project"] == {"file": "cranfield.toml", "settings": ["alpha", "columns", "baseline"]}


def test_the_terminal_says_what_came_from_the_file(folder: Path) -> None:
    write(folder)
    found = CliRunner().invoke(app, ["compare", "scores.csv"])
    assert "from cranfield.toml: alpha, columns, baseline\n" in found.stderr


def test_flags_replace_settings(folder: Path) -> None:
    write(folder)
    inputs = answer("compare", "scores.csv", "--alpha", "0.2", "--baseline", "b")["inputs"]
    assert (inputs["alpha"], inputs["baseline"]) == (0.2, ["b"])
    assert inputs["project"]["settings"] == ["columns"]


def test_a_switch_of_the_file_can_be_turned_off(folder: Path) -> None:
    write(folder, SETTINGS.replace('baseline = "a"', "all-pairs = true"))
    assert answer("compare", "scores.csv")["inputs"]["all_pairs"] is True
    inputs = answer("compare", "scores.csv", "--no-all-pairs")["inputs"]
    assert inputs["all_pairs"] is False
    assert "all_pairs" not in inputs["project"]["settings"]


def test_settings_of_another_question_are_not_taken(folder: Path) -> None:
    write(folder)
    inputs = answer("variance", "scores.csv")["inputs"]
    assert inputs["project"]["settings"] == ["columns"]
    assert "baseline" not in inputs


def test_lists_and_ranges(folder: Path) -> None:
    write(folder)
    assert answer("size", "scores.csv")["inputs"]["difference"] == [0.05, 0.1]
    write(folder, SETTINGS.replace("[0.05, 0.1]", '"0.05:0.15:0.05"'))
    assert answer("size", "scores.csv")["inputs"]["difference"] == pytest.approx([0.05, 0.1, 0.15])


@pytest.mark.parametrize(
    ("words", "idle"),
    [
        (["size", "--sd", "0.1"], ["measure", "columns"]),
        (["power", "--topics", "50", "--sd", "0.1"], ["measure", "columns"]),
        (["verify", "--difference", "0.1", "--sd", "0.1", "--topics", "12"], ["measure", "columns"]),
        (["compare", "RUNS", "-q", "QRELS", "--baseline", "eskdale1"], ["columns"]),
        (["pack", "RUNS", "-q", "QRELS", "-o", "packed.cran"], ["measure", "columns"]),
        (["compare", "scores.csv", "--audit", "--resamples", "200"], ["test"]),
    ],
)
def test_what_has_no_effect_is_left_out_and_said(
    folder: Path, example: Path, words: list[str], idle: list[str]
) -> None:
    write(folder, 'measure = "ndcg"\n' + SETTINGS.replace("[compare]", '[compare]\ntest = "dunnett"'))
    places = {"RUNS": str(example / "runs"), "QRELS": str(example / "qrels.txt")}
    found = CliRunner().invoke(app, [*(places.get(word, word) for word in words), "--json"])
    assert found.exit_code == 0, found.stderr
    (said,) = (line for line in found.stderr.splitlines() if line.startswith("without effect here, and left out: "))
    assert sorted(said.partition(": ")[2].split(", ")) == sorted(idle)
    taken = json.loads(found.stdout)["inputs"].get("project", {}).get("settings", [])
    assert not set(taken) & set(idle)


def test_a_flag_without_effect_is_an_error_and_no_gate_is_left_out(folder: Path) -> None:
    write(folder, SETTINGS.replace("[compare]", '[compare]\ngate = "better"'))
    for words in (["size", "--sd", "0.1", "--columns", "topic=query"], ["compare", "scores.csv", "--audit"]):
        found = CliRunner().invoke(app, words)
        assert isinstance(found.exception, CranfieldError)
        assert "no effect" in found.exception.what


def test_without_a_file_nothing_is_said(folder: Path) -> None:
    found = CliRunner().invoke(
        app, ["compare", "scores.csv", "--columns", "topic=query,system=run,score=ndcg", "--json"]
    )
    assert "project" not in json.loads(found.stdout)["inputs"]
    assert "from " not in found.stderr


def test_python_takes_nothing_from_the_file(folder: Path) -> None:
    write(folder)
    found = cf.compare("scores.csv", source={"columns": "topic=query,system=run,score=ndcg"})
    assert found.inputs["alpha"] == 0.05
    assert found.inputs["baseline"] is None


def test_pyproject_has_a_table_for_it(folder: Path) -> None:
    text = "\n".join(f"[tool.cranfield.{line[1:]}" if line.startswith("[") else line for line in SETTINGS.split("\n"))
    write(folder, f"[project]\nname = 'mine'\n[tool.cranfield]\n{text}", "pyproject.toml")
    assert answer("compare", "scores.csv")["inputs"]["project"]["file"] == "pyproject.toml"
    write(folder, "[project]\nname = 'mine'\n[tool.cranfield]\n\nalhpa = 1\n", "pyproject.toml")
    with pytest.raises(InputError, match=r"pyproject.toml:5: .*alhpa"):
        at_here("compare")


def test_a_pyproject_without_the_table_is_passed_by(folder: Path) -> None:
    write(folder)
    below = folder / "below"
    below.mkdir()
    write(below, "[project]\ndependencies = ['cranfield']\n", "pyproject.toml")
    found = find_project(str(below))
    assert found is not None
    assert found.file.endswith("cranfield.toml")


BROKEN = "[project]\nname = 'mine'\n{}\n[other\n"


@pytest.mark.parametrize(
    "mentioned", ["[tool.cranfield.compare]\ngate = 'better'", "[tool.cranfield", "[tool]\ncranfield.alpha = 0.1"]
)
def test_a_broken_pyproject_with_settings_is_an_error_with_its_line(folder: Path, mentioned: str) -> None:
    write(folder, BROKEN.format(mentioned), "pyproject.toml")
    with pytest.raises(InputError, match=r"pyproject.toml:\d: this is not valid TOML"):
        find_project(above=False)


def test_a_broken_pyproject_without_settings_is_passed_by(folder: Path) -> None:
    write(folder, BROKEN.format("dependencies = ['cranfield']"), "pyproject.toml")
    assert find_project(above=False) is None


def at_here(question: str) -> dict:  # type: ignore[type-arg]
    found = find_project()
    assert found is not None
    return found.of(question)


def test_paths_are_those_of_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, 'qrels = "judged/qrels.txt"\n[compare]\nscores = "scores.csv"\njudge = {model = "a=b.txt"}\n')
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    found = at_here("compare")
    assert Path(found["qrels"]) == Path("../judged/qrels.txt")
    assert [Path(each) for each in found["scores"]] == [Path("../scores.csv")]
    assert found["judge"] == [f"model={Path('../a=b.txt')}"]


def test_data_may_be_named_too(folder: Path) -> None:
    write(folder, SETTINGS.replace("[compare]", '[compare]\nscores = "scores.csv"'))
    assert answer("compare")["inputs"]["scores"] == ["scores.csv"]


@pytest.mark.parametrize(
    ("text", "line", "what", "fix"),
    [
        ("seed = 1\nalhpa = 0.1\n", 2, "«alhpa»", "Did you mean alpha?"),
        ("[compare]\n\nbase-line = 'a'\n", 3, "«compare.base-line»", "Did you mean baseline?"),
        ("[copmare]\nalpha = 0.1\n", 1, "«copmare»", "Did you mean compare?"),
        ("[study.nwe]\nalpha = 0.1\n", 1, "«study.nwe»", "Did you mean new?"),
        ("compare = 1\n", 1, "«compare» is the name of a question", "[compare]"),
        ("alpha = 2\n", 1, "`alpha` must be below 1", "Significance level"),
        ("alpha = true\n", 1, "`alpha` cannot be «true»", "a number"),
        ("[compare]\nbaseline = 5\n", 2, "`baseline` cannot be «5»", "a text in quotes, or a list of them"),
        ("[compare]\ngate = true\n", 2, "`gate` cannot be «true»", "a text in quotes"),
        ("measure = 3\n", 1, "`measure` cannot be «3»", "a text in quotes"),
        ("measure = ['AP', 3]\n", 1, "`measure` cannot be", "a text in quotes"),
        ("[compare]\nscores = 4\n", 2, "`scores` cannot be «4»", "a text in quotes"),
        ("seed = 1\nscores = 'scores.csv'\n", 2, "«scores» is a setting of single questions", "[variance]"),
        ("seed = 1\nmeasure = {AP = 1}\n", 2, "`measure`", "a list"),
        ("[compare]\ntest = 'tukye'\n", 2, "`test` cannot be «tukye»", "Did you mean tukey?"),
        ("[compare]\naudit = 'yes'\n", 2, "`audit`", "true or false"),
        ("[compare]\nbaseline = [['a']]\n", 2, "`baseline`", "list"),
        ("alpha = 0.1\nseed = \n", 2, "this is not valid TOML", "Correct it."),
        ("alpha = 0.1\nalpha = 0.2\n", 2, "this is not valid TOML", "Correct it."),
    ],
)
def test_a_wrong_setting_is_named_with_its_line(folder: Path, text: str, line: int, what: str, fix: str) -> None:
    write(folder, text)
    with pytest.raises(InputError) as wrong:
        at_here("compare")
    assert wrong.value.where == f"cranfield.toml:{line}"
    assert what in wrong.value.what
    assert fix in wrong.value.fix


def test_the_command_ends_with_two(folder: Path) -> None:
    write(folder, "alhpa = 0.1\n")
    found = CliRunner().invoke(app, ["compare", "scores.csv"])
    assert isinstance(found.exception, CranfieldError)
    assert found.exception.exit_code == 2


def test_what_is_no_text_is_an_error(folder: Path) -> None:
    (folder / "cranfield.toml").write_bytes(b"alpha = 0.1 # \xff\n")
    with pytest.raises(InputError, match="no UTF-8 text"):
        find_project()


def test_lines_are_found_behind_values_of_several_lines() -> None:
    text = 'measure = [\n  "AP",\n  "x = 1",\n]\n"alpha" = 0.1\ncompare.baseline = "a"\n'
    assert line_of(text, ("alpha",)) == 5
    assert line_of(text, ("compare", "baseline")) == 6
    assert line_of(text, ("seed",)) == 0


def test_shared_settings_are_parameters() -> None:
    """Every one of them is a parameter of several questions, and none is one of none."""
    have = {name: [each for each in MODULES if name in find_question(each).parameters] for name in SHARED}
    assert all(have.values()), have


def test_check_does_not_take_judgments_from_the_file(folder: Path) -> None:
    write(folder, 'qrels = "qrels.txt"\n')
    assert at_here("check") == {}


WRITTEN = [(name, each.name) for name in MODULES for each in find_question(name).parameters.values() if each.is_written]


@pytest.mark.parametrize(("question", "parameter"), WRITTEN)
def test_what_is_written_is_never_taken_from_the_file(folder: Path, question: str, parameter: str) -> None:
    write(folder, f"[{question.replace('_', '.', 1)}]\n{parameter} = 'important.txt'\n")
    with pytest.raises(InputError, match="names what is written, which no project file may") as wrong:
        at_here(question)
    assert wrong.value.where == "cranfield.toml:2"


def test_a_file_in_a_folder_above_cannot_replace_another(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, "[pack]\nout = 'important.txt'\n")
    (folder / "important.txt").write_text("kept")
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    found = CliRunner().invoke(app, ["pack", "../scores.csv"])
    assert found.exit_code != 0
    assert (folder / "important.txt").read_text() == "kept"


def noted() -> tuple[object, list[str]]:
    notes: list[str] = []
    return find_project(note=notes.append), notes


def test_a_file_above_the_home_folder_is_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = folder / "home"
    (home / "below").mkdir(parents=True)
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(home))
    monkeypatch.chdir(home / "below")
    write(folder)
    write(folder, "[tool.cranfield]\nalpha = 0.3\n", "pyproject.toml")
    found, notes = noted()
    assert found is None
    assert notes[0].startswith("../../cranfield.toml is not read: it is above the home folder; give its settings as")
    assert notes[1].startswith("../../pyproject.toml is not read")
    write(home)
    found, notes = noted()
    assert found is not None
    assert notes == []


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_a_file_of_another_user_is_passed_over_and_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    found = CliRunner().invoke(app, ["compare", "scores.csv", "--columns", "topic=query,system=run,score=ndcg"])
    assert found.exit_code == 0, found.output
    assert "cranfield.toml is not read: it belongs to another user; give its settings as flags" in found.stderr
    assert "alpha" not in found.stderr


@pytest.mark.parametrize(
    "text",
    [
        f"alpha = {'[' * 5000}{']' * 5000}\n",
        f"alpha = {'[' * 5000}\n",
        f"alpha = {'[' * 100}{']' * 100}\n",
        f"columns = {'{a = ' * 5000}1{'}' * 5000}\n",
        f"columns{'.a' * 5000} = 1\n",
        f"[compare{'.a' * 5000}]\nb = 1\n",
        f"{'[' * 5000}a{']' * 5000}\n",
    ],
)
def test_a_file_that_is_nested_deeply_is_an_ordinary_error_that_names_it(folder: Path, text: str) -> None:
    write(folder, text)
    for name, before in (("cranfield.toml", ""), ("pyproject.toml", "[tool.cranfield]\n")):
        (folder / "cranfield.toml").unlink(missing_ok=True)
        write(folder, before + (text if text[0] != "[" else text.replace("[compare", "[tool.cranfield.compare")), name)
        with pytest.raises(InputError) as wrong:
            at_here("compare")
        assert wrong.value.where.startswith(name)
        assert wrong.value.fix
