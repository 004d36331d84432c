"""Exit codes and text where standard output or standard error does not take what is written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cranfield.cli.streams import in_ascii, json_in_ascii

FULL = Path("/dev/full")
COMPARE = ["compare", "scores.csv", "--baseline", "old", "--gate"]
PASSES, FAILS, WRONG = [*COMPARE, "no-worse=0.2"], [*COMPARE, "better"], [*COMPARE, "worse"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streams")
    rows = [f"{topic},old,0.3\n{topic},new,{0.28 + topic % 5 / 100}\n" for topic in range(15)]
    (folder / "scores.csv").write_text("topic,system,score\n" + "".join(rows), encoding="utf-8")
    return folder


def run(folder: Path, words: list[str], redirect: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "cranfield", *words]
    if redirect:
        line = ["sh", "-c", f'"$@" {redirect}', "sh", *line]
    environment = {**os.environ, **variables}
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8")


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("redirect", ["2>/dev/full", "2>&-"])
@pytest.mark.parametrize(("words", "code"), [(PASSES, 0), (FAILS, 1), (WRONG, 2)])
def test_messages_that_cannot_be_written_change_no_exit_code(
    folder: Path, redirect: str, words: list[str], code: int
) -> None:
    assert run(folder, words, redirect).returncode == code


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("redirect", [">/dev/full", ">&-"])
@pytest.mark.parametrize("words", [FAILS, [*PASSES, "--json"], ["size", "--help"]])
def test_output_that_cannot_be_written_is_a_plain_error(folder: Path, redirect: str, words: list[str]) -> None:
    done = run(folder, words, redirect)
    assert done.returncode == 2
    assert "error: the output could not be written" in done.stderr
    assert "fault" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_text_has_replacements_in_ascii_and_json_the_same_values(folder: Path, encoding: str) -> None:
    done = run(folder, FAILS, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert done.returncode == 1
    assert "better FAILED: new - old may be as low as" in done.stdout
    values = [run(folder, [*FAILS, "--json"], PYTHONIOENCODING=each).stdout for each in (encoding, "utf-8")]
    assert json.loads(values[0]) == json.loads(values[1])
    assert values[0].isascii()


def test_an_escape_stands_for_what_has_no_replacement() -> None:
    assert in_ascii("№ 5 ± σ²") == "\\u2116 5 +/- sigma^2"
    assert json.loads(json_in_ascii('["😀 «−»"]')) == ["😀 «−»"]
