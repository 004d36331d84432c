"""The gallery: every page runs from top to bottom, and what it shows and says is what its commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from blocks import Block, run_block

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
QUESTIONS = sorted(page for page in GALLERY.glob("*.md") if page.name != "index.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.S | re.M)
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w])")
LEFT_OUT = "…"
QUICK = {"reviewer-asks-for-power.md"}  # run by `make test`; the others by `make proof`


def run(language: str, code: str, folder: Path) -> str:
    """What a block prints, on either stream."""
    done = run_block(Block(language, code), folder)
    assert done.code == 0, done.printed
    assert done.printed
    return done.printed


def words(text: str) -> str:
    """Text with every gap the same, so that tables and wrapped sentences compare by what they say."""
    return " ".join(text.split())


def assert_shown(shown: str, printed: str) -> None:
    """Each passage of what is shown stands in what was printed, in this order."""
    rest = words(printed)
    for passage in re.split(rf"^{LEFT_OUT}$", shown, flags=re.M):
        before, found, rest = rest.partition(words(passage))
        assert found, f"not printed: {passage}\nbut: {before}"


def said_numbers(page: str) -> set[str]:
    """Numbers in the prose: no code, no addresses, nothing below ten."""
    prose = re.sub(r"`[^`]*`|\]\([^)]*\)", " ", BLOCK.sub(" ", page))
    return {number for number in NUMBER.findall(prose) if "." in number or int(number.replace(",", "")) >= 10}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[] if page.name in QUICK else [pytest.mark.proof], id=page.stem) for page in QUESTIONS],
)
def test_a_question_is_answered_as_the_page_says(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    known, last = "", ""
    for language, code in BLOCK.findall(text):
        if language in ("sh", "python"):
            last = run(language, code, tmp_path)
            known += f"{code}\n{last}"
        elif language == "text":
            assert_shown(code, last)
    unheard = said_numbers(text) - set(NUMBER.findall(known))
    assert not unheard, f"the page says {sorted(unheard)}, and nothing on it prints that"


def test_there_are_at_least_ten_questions_and_the_index_has_them_all() -> None:
    index = (GALLERY / "index.md").read_text(encoding="utf-8")
    assert len(QUESTIONS) >= 10
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", index)) == {page.name for page in QUESTIONS}


def test_what_is_shown_is_really_compared() -> None:
    with pytest.raises(AssertionError, match="not printed"):
        assert_shown("a 0.51\n", "a 0.50\nb 0.60\n")
    with pytest.raises(AssertionError, match="not printed"):
        assert_shown(f"b 0.60\n{LEFT_OUT}\na 0.50\n", "a 0.50\nb 0.60\n")
    assert_shown(f"a   0.50\n{LEFT_OUT}\nb\n0.60\n", "a 0.50\nc\nb 0.60\n")
    assert said_numbers("n is 1,234 and 0.05, not 7 or `99`\n```sh\n55\n```\n") == {"1,234", "0.05"}
