"""The same numbers from the command, from Python, in the report and on the page; and the same refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from typer.testing import CliRunner

import by_flags
import cranfield as cf
from cranfield.cli.app import app
from cranfield.errors import RequestError
from cranfield.rendering.report_page import to_html
from cranfield.rendering.report_sections import make_report
from cranfield.scores.evaluation import score_collection

Upload = Callable[..., httpx.Response]
Wait = Callable[[str], httpx.Response]


class Claims(NamedTuple):
    """Which systems may be the best, and how many pairs differ."""

    best: tuple[str, ...]
    significant: int


def of_json(answer: Any) -> Claims:
    return Claims(tuple(answer["top_group"]), answer["significant_pairs"])


def of_result(result: Any) -> Claims:
    return Claims(tuple(result.top_group), result.significant_pairs)


def by_command(*arguments: str) -> Any:
    ran = CliRunner().invoke(app, [*arguments, "--json"])
    assert ran.exit_code == 0
    return json.loads(ran.stdout)


def text_of(html: str) -> str:
    return " ".join(
        unescape(re.sub("<[^>]*>", " ", re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.S))).split()
    )


def everywhere(path: Path, page: str, upload: Upload, wait: Wait) -> tuple[Claims, int, list[str]]:
    """What all interfaces claim about a table, the number of its systems, and the texts of page and report."""
    data = page + str(upload(page, [path]).json()["link"])
    compared, board = cf.compare(path), cf.leaderboard(path)
    (comparison,) = compared.comparisons.values()
    report = cf.report(path, section=["compare"])
    found = [
        of_result(comparison),
        of_result(next(iter(report.findings["compare"].values()))),
        *(of_json(by_command(command, str(path))) for command in ("compare", "leaderboard")),
        *(of_json(each.to_dict()) for each in (compared, board)),
        *(of_json(wait(f"{data}/{name}.json").json()) for name in ("compare", "leaderboard")),
    ]
    assert len(set(found)) == 1
    shown = [wait(f"{data}/{name}").text for name in ("compare", "leaderboard", "report")]
    return found[0], len(comparison.systems), [text_of(each) for each in (*shown, to_html(make_report(report)))]


def check_sentences(claims: Claims, systems: int, texts: list[str]) -> None:
    """The page and the report say the numbers in the same sentences."""
    pairs = systems * (systems - 1) // 2
    for text in texts:
        assert f"the best of these {systems} systems is one of {len(claims.best)}" in text
        assert f"{claims.significant:,} of all {pairs:,} pairs differ significantly" in text


def test_a_small_table_has_one_answer(page: str, example: Path, upload: Upload, wait: Wait, tmp_path: Path) -> None:
    table = score_collection(cf.read_collection(example / "runs", example / "qrels.txt"), "AP")
    cf.write_scores(table, tmp_path / "ap.csv")
    claims, systems, texts = everywhere(tmp_path / "ap.csv", page, upload, wait)
    assert 1 < len(claims.best) < systems
    check_sentences(claims, systems, texts)


def test_trec8_has_one_answer(page: str, kept: Path, upload: Upload, wait: Wait) -> None:
    """METHODS of the project: 3,085 of 8,256 pairs, and a set of 6 that may be the best."""
    path = kept / "data" / "trec8" / "scores" / "map.csv"
    claims, systems, texts = everywhere(path, page, upload, wait)
    assert (len(claims.best), claims.significant, systems) == (6, 3085, 129)
    check_sentences(claims, systems, texts)


@pytest.mark.parametrize("measure", ["P_10", "ndcg_cut_10"])
def test_other_measures_of_trec8_have_nine_that_may_be_the_best(
    measure: str, page: str, shared: Path, upload: Upload, wait: Wait
) -> None:
    path = shared / "data" / "trec8" / "scores" / f"{measure}.csv"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    claims, systems, texts = everywhere(path, page, upload, wait)
    assert len(claims.best) == 9
    check_sentences(claims, systems, texts)


# --- a request without sense is told what was probably meant

SPREAD = {"sd": "0.15"}
ON_ANOTHER_SCALE = [
    ("size", {"difference": "5", **SPREAD}, "difference"),
    ("size", {"equivalence": "5", **SPREAD}, "equivalence"),
    ("power", {"topics": "50", "difference": "5", **SPREAD}, "difference"),
    ("study_trial", {"difference": "5", **SPREAD}, "difference"),
    ("verify", {"difference": "5", "collections": "400", **SPREAD}, "difference"),
]
NOT_POSSIBLE = [
    ("size", {"difference": "5"}, "difference"),
    ("power", {"difference": "5"}, "difference"),
    ("compare", {"equivalence": "5"}, "equivalence"),
    ("study_past", {"difference": "5"}, "difference"),
    ("report", {"difference": "5", "section": "size"}, "difference"),
]
PERCENTAGES = [
    ("size", {"difference": "5%", **SPREAD}),
    ("power", {"topics": "50", "difference": "5 %", **SPREAD}),
    ("study_plans", {"difference": "5%", "sd": "0.15"}),
    ("compare", {"equivalence": "5%"}),
]


class Ended(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    said: str


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[list[str]], Ended]:
    """Run a command as from a terminal."""
    from cranfield.cli.app import main

    def run(words: list[str]) -> Ended:
        monkeypatch.setattr("sys.argv", ["cranfield", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        return Ended(int(stop.value.code or 0), " ".join(re.sub("[│╭╮╰╯─]", " ", capsys.readouterr().err).split()))

    return run


@pytest.fixture
def table(example: Path) -> cf.ScoreTable:
    return score_collection(cf.read_collection(example / "runs", example / "qrels.txt"), "AP")


@pytest.fixture
def file(table: cf.ScoreTable, tmp_path: Path) -> str:
    cf.write_scores(table, tmp_path / "ap.csv")
    return str(tmp_path / "ap.csv")


def flags(name: str, given: dict[str, str], *data: str) -> list[str]:
    more = ["-o", "report.json"] if name == "report" else []
    words = [word for option, value in given.items() for word in (f"--{option.replace('_', '-')}", value)]
    return [*name.split("_"), *data, *words, *more]


def asked(name: str, given: dict[str, str], *data: Any) -> Any:
    """The question asked in Python, with numbers as numbers where they are."""
    return getattr(by_flags, name)(*data, **{option: as_number(text) for option, text in given.items()})


def as_number(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


Command = Callable[[list[str]], Ended]


@pytest.mark.parametrize(("name", "given", "goal"), ON_ANOTHER_SCALE)
def test_a_goal_on_another_scale_than_the_sd_is_answered_with_a_warning(
    name: str, given: dict[str, str], goal: str, page: str, wait: Wait, command: Command
) -> None:
    assert any(f"{goal}=0.05" in each.fix for each in asked(name, given).warnings)
    assert f"If 5 is a percentage of the range, write --{goal} 0.05." in command(flags(name, given)).said
    path = {"study_trial": "trial"}.get(name, name)
    assert "33 times the standard deviation 0.15" in wait(str(httpx.URL(f"{page}/{path}", params=given))).text


@pytest.mark.parametrize(("name", "given", "goal"), NOT_POSSIBLE)
def test_a_goal_that_is_larger_than_the_scale_is_refused(
    name: str,
    given: dict[str, str],
    goal: str,
    scores: str,
    wait: Wait,
    command: Command,
    table: cf.ScoreTable,
    file: str,
) -> None:
    what = f"a {'margin' if goal == 'equivalence' else goal} of 5 is larger than the range of AP (0 to 1)"
    with pytest.raises(RequestError) as refused:
        asked(name, given, table)
    assert (refused.value.what, f"{goal}=0.05" in refused.value.fix) == (what, True)
    ended = command(flags(name, given, file))
    assert ended.code == 2
    assert f"{what} If 5 is a percentage of the range, write --{goal} 0.05." in ended.said
    query = {goal: "5", "measure": "AP"}
    assert what in unescape(wait(str(httpx.URL(f"{scores}/{name.replace('_', '-')}", params=query))).text)


@pytest.mark.parametrize(("name", "given"), PERCENTAGES)
def test_a_percentage_is_told_as_a_number(
    name: str,
    given: dict[str, str],
    page: str,
    scores: str,
    wait: Wait,
    command: Command,
    table: cf.ScoreTable,
    file: str,
) -> None:
    on_data, fix = name == "compare", "On a scale from 0 to 1, 5 % is 0.05."
    with pytest.raises(RequestError) as refused:
        asked(name, given, *([table] if on_data else []))
    assert refused.value.fix == fix
    ended = command(flags(name, given, *([file] if on_data else [])))
    assert (ended.code, fix in ended.said) == (2, True)
    path = f"{scores}/compare" if on_data else f"{page}/{name.removeprefix('study_')}"
    assert fix in wait(str(httpx.URL(path, params=given))).text
