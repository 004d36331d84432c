"""Whatever is nested deeply is an ordinary error that names its file, never a fault of ours."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cranfield as cf
from cranfield.errors import CranfieldError, InputError
from cranfield.questions import MODULES, find_question
from cranfield.runtime.dask import work_on


def lists(depth: int) -> str:
    return "[" * depth + "]" * depth


def objects(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


DEPTHS = (330, 960, 5000)  # what Python reads, and what it reads where little else calls itself; and what it does not
TEXTS: dict[str, Callable[[int], str]] = {
    "lists.json": lists,
    "objects.json": objects,
    "run.json": lambda depth: f'{{"1": {{"d1": {objects(depth)}}}}}',
    "rows.json": lambda depth: f'[{{"topic": "1", "system": "a", "score": {lists(depth)}}}]',
    "lines.jsonl": lambda depth: f'{{"topic": "1", "system": "a", "score": 0.5, "x": {objects(depth)}}}\n',
    "results.json": lambda depth: f'{{"results": {objects(depth)}, "config": {lists(depth)}}}',
    "a.study": lambda depth: f'{{"step": 1, "kind": "cranfield study", "x": {lists(depth)}}}\n',
    "cut.study": lambda depth: f'{{"step": 1, "kind": "cranfield study", "x": {lists(depth)}',
}
NEEDED: dict[str, Any] = {
    "runs": "qrels.txt",
    "qrels": "qrels.txt",
    "scores": "scores.csv",
    "judge": "m=scores.csv",
    "out": "made.cran",
    "because": "why",
    "difference": 0.05,
    "width": 0.1,
    "topics": 100,
    "systems": 5,
    "file": "new.study",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qrels.txt").write_text("1 0 d1 1\n")
    (tmp_path / "scores.csv").write_text(
        "topic,a,b\n" + "".join(f"{at},{at % 7 / 7},{at % 5 / 5}\n" for at in range(30))
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def calls(path: str) -> list[tuple[str, dict[str, Any]]]:
    """Every file parameter that is read, of every question."""
    found = []
    for name in MODULES:
        known = find_question(name).parameters
        for each in known.values():
            if each.names_files and not (each.is_written and name == "pack") and each.about.metavar != "FOLDER":
                given = {other: value for other, value in NEEDED.items() if other in known and known[other].is_required}
                given[each.name] = f"m={path}" if each.about.metavar.startswith("NAME=") else path
                found.append((name, given))
    return found


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", TEXTS)
def test_no_question_fails_on_a_file_that_is_nested_deeply(folder: Path, name: str, depth: int) -> None:
    (folder / name).write_text(TEXTS[name](depth))
    for question, given in calls(name):
        try:
            find_question(question).ask(**given)
        except CranfieldError:
            continue


@pytest.mark.parametrize("name", ["lists.json", "objects.json", "run.json"])
@pytest.mark.parametrize("question", ["compare", "verify"])
def test_the_error_names_the_file_and_says_what_to_write(folder: Path, question: str, name: str) -> None:
    (folder / name).write_text(TEXTS[name](5000))
    ask: Any = cf.compare if question == "compare" else lambda path: cf.verify(design=path)
    with pytest.raises(InputError) as wrong:
        ask(name)
    assert wrong.value.where.startswith(name)
    assert wrong.value.fix


@pytest.mark.parametrize("part", [lists(5000), lists(3), "1", '["k", 1, {"array": 3}]', '["k", 1, {"odd": [1, 2, 3]}]'])
def test_a_file_of_parts_with_other_contents_is_an_error_that_names_it(folder: Path, part: str) -> None:
    body = part.encode()
    (folder / "a.parts").write_bytes(b"cranfield parts 1\n%08x %s\n" % (zlib.crc32(body), body))
    before = (folder / "a.parts").read_bytes()
    with (
        pytest.raises(InputError, match="its part 1 was not written by cranfield") as wrong,
        work_on("x", resume="a.parts"),
    ):
        pass
    assert wrong.value.where == "a.parts"
    assert (folder / "a.parts").read_bytes() == before


@pytest.mark.parametrize("pattern", ["(" * 5000 + ")" * 5000, "(a{99999999999999999999})"])
def test_a_regular_expression_that_is_too_much_is_an_ordinary_error(folder: Path, pattern: str) -> None:
    with pytest.raises(CranfieldError, match="is no regular expression"):
        cf.compare("scores.csv", best_per=pattern)


def test_dicts_of_any_depth_are_refused_in_words() -> None:
    nested: Any = 1
    for _ in range(5000):
        nested = {"a": nested}
    with pytest.raises(CranfieldError):
        cf.score(nested, qrels={"1": {"d1": 1}})
