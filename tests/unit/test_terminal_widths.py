"""Output fits the terminal: nothing is broken, what is left out is named, and the answer comes first."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len

from cranfield.rendering.document import Column, Document, Table
from cranfield.rendering.terminal import fitted_table, print_document, shortened
from sizes import sized

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")
import fcntl  # noqa: E402
import termios  # noqa: E402

WIDTHS = sized((60, 80), (60, 80, 100, 140))
COMMANDS = {
    "check": "check demo/runs demo/qrels.txt demo/teams.tsv",
    "pack": "pack demo/runs --qrels demo/qrels.txt --teams demo/teams.tsv -o packed.cran",
    "score": "score demo.cran -m AP -m nDCG@10 -m RBP(p=0.8)",
    "variance": "variance scores.csv",
    "variance --pairs": "variance scores.csv -m AP --pairs",
    "size": "size --systems 10 --difference 0.05 --sd 0.2",
    "size of a pilot": "size scores.csv -m AP --difference 0.05",
    "power": "power scores.csv -m AP",
    "power of many": "power --topics 25,50,100 --sd 0.2 --systems 10",
    "compare": "compare scores.csv -m AP",
    "compare --baseline": "compare scores.csv -m AP -m nDCG@10 --baseline aldgate1",
    "judges": "judges demo/runs --qrels demo/qrels.txt --judge model=demo/judge.txt -m nDCG@10",
    "leaderboard": "leaderboard scores.csv -m AP",
    "shards": "shards demo.cran -s 3 -m AP --anova MD6",
    "pilot": "pilot demo.cran -m AP --trials 3",
    "budget": "budget demo.cran -m AP",
    "reliability": "reliability scores.csv -m AP --trials 20",
    "simulate": "simulate scores.csv -m AP --topics 50",
    "verify": "verify --difference 0.05 --sd 0.15 --topics 50 --collections 250",
    "study new": "study new s{width}.study --difference 0.05 --sd 0.15",
    "report": "report scores.csv -m AP --section scores -o report.md",
    "measures": "measures",
    "measures nDCG": "measures nDCG",
    "demo": "demo other",
}
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example collection, packed, and its scores."""
    made = tmp_path_factory.mktemp("widths")
    runs = "demo/runs --qrels demo/qrels.txt"
    for line in ("demo demo", f"pack {runs} --teams demo/teams.tsv -o demo.cran", "score demo.cran -o scores.csv"):
        piped(line.split(), made)
    return made


def piped(words: Sequence[str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "cranfield", *words], cwd=folder, capture_output=True, check=True, encoding="utf-8"
    )
    return done.stdout


_AT_EVERY_WIDTH = """
import io, os, sys
from cranfield.cli.app import main

def run(words, width):
    os.environ["COLUMNS"] = width
    sys.argv = ["cranfield", *(word.replace("{width}", width) for word in words)]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code

widths, words = sys.argv[1].split(","), sys.argv[2:]
seen, sys.stdout = sys.stdout, io.StringIO()
run(words, "1000")
piped, sys.stdout = sys.stdout.getvalue(), seen
print(piped, end="")
for width in widths:
    print("\\f", end="", flush=True)
    run(words, width)
    sys.stdout.flush()
"""


def at_every_width(line: str, folder: Path) -> list[str]:
    """What a pipe gets, and what a terminal of every width shows, by one process that runs the command again."""
    widths = ",".join(map(str, WIDTHS))
    text = in_terminal([sys.executable, "-c", _AT_EVERY_WIDTH, widths, *line.split()], folder, 1000)
    wide, *narrow = text.split("\f")
    return [wide, *narrow]


def in_terminal(command: Sequence[str], folder: Path, width: int) -> str:
    """What the command shows in a terminal of this width, without colours; warnings and progress are left out."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    running = subprocess.Popen(
        command, cwd=folder, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=_environment()
    )
    os.close(theirs)
    pieces = []
    try:
        while piece := os.read(ours, 65536):
            pieces.append(piece)
    except OSError:  # how the end of a terminal is told on Linux
        pass
    os.close(ours)
    assert running.wait() == 0
    return _CODES.sub("", b"".join(pieces).decode()).replace("\r\n", "\n")


def _environment() -> dict[str, str]:
    known = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    return {**known, "TERM": "xterm"}


def check(narrow: str, wide: str, width: int) -> None:
    """Every line fits, every word of it is a whole word of what a pipe gets, and both begin with the same words."""
    assert max(map(cell_len, narrow.splitlines())) <= width
    notes = re.compile(r"Not shown in \d+ columns:.*?--json\.", re.DOTALL)
    words = notes.sub("", narrow).replace(f"s{width}.study", "s1000.study").split()
    known = set(wide.split())
    assert [word for word in words if word not in known and "…" not in word] == []
    assert words[:8] == wide.split()[:8]
    for found in notes.findall(narrow):
        for title in " ".join(found.split()).partition(": ")[2].partition(". See")[0].split("; "):
            assert title in wide


@pytest.mark.parametrize("name", COMMANDS)
def test_no_line_is_longer_than_the_terminal_and_no_word_is_broken(name: str, folder: Path) -> None:
    wide, *narrow = at_every_width(COMMANDS[name], folder)
    for width, text in zip(WIDTHS, narrow, strict=True):
        check(text, wide, width)


def test_the_129_systems_of_trec8_fit_too(shared: Path, tmp_path: Path) -> None:
    matrix = shared / "data" / "trec8" / "scores"
    scores = str(next(path for path in sorted(matrix.glob("*.csv")) if path.stem == "map"))
    for line in (f"compare {scores} --test tukey", f"leaderboard {scores} --resamples 200"):
        wide, *narrow = at_every_width(line, tmp_path)
        for width, text in zip(WIDTHS, narrow, strict=True):
            check(text, wide, width)


def test_the_row_of_a_system_is_one_line(folder: Path) -> None:
    text = in_terminal([sys.executable, "-m", "cranfield", *COMMANDS["compare"].split()], folder, 60)
    ranking = re.findall(r"^ *(\d+)  \S", text, re.M)
    assert ranking == [f"{at}" for at in range(1, 13)]
    assert "Not shown in 60 columns: d_z; significant." in " ".join(text.split())


def test_columns_are_left_out_by_priority_and_named() -> None:
    columns = (
        Column("system", "system"),
        Column("lower", "low", "score"),
        Column("upper", "high", "score"),
        Column("p", "p", "probability", 90),
        Column("constant", "alpha", "number"),
        Column("score", "score", "score"),
    )
    table = Table(columns, [("one", 0.1, 0.2, 0.001, 0.05, 0.15), ("two", 0.2, 0.4, 0.5, 0.05, 0.3)])
    assert fitted_table(table, 60)[2] == []
    assert fitted_table(table, 40)[2] == ["alpha"]
    head, rows, left_out = fitted_table(table, 24)
    assert left_out == ["low", "high", "alpha"]
    assert head == ["system       p   score"]
    assert rows == ["one     0.0010  0.1500", "two     0.5000  0.3000"]


@pytest.mark.parametrize("width", [12, 20, 33])
def test_long_names_are_shortened_in_the_middle_and_remain_different(width: int) -> None:
    names = [f"runs/of-a-team-with-a-long-name/{at}-system-{at}" for at in range(9)]
    table = Table((Column("system", "system"), Column("score", "score", "score")), [(name, 0.5) for name in names])
    _, rows, _ = fitted_table(table, width + 8)
    shown = [row.split()[0] for row in rows]
    assert len(set(shown)) == len(names)
    assert all("…" in name for name in shown)
    assert all(row.endswith("0.5000") and cell_len(row) <= width + 8 for row in rows)


def test_a_number_is_never_shortened() -> None:
    assert shortened("123456789.25", 6) == "123456789.25"
    assert cell_len(shortened("検索システムの名前", 9)) <= 9


def test_a_pipe_gets_every_column(capsys: pytest.CaptureFixture[str]) -> None:
    columns = tuple(Column(f"c{at}", f"column {at}", "score") for at in range(60))
    document = Document(
        method="any", inputs={}, tables=[Table(columns, [tuple([0.5] * 60)])], rows=[], answer="So it is.", notes="And."
    )
    print_document(document)
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], lines[-1]) == ("So it is.", "And.")
    assert lines[2].count("column") == 60


def test_a_message_of_an_error_is_wrapped_between_words(folder: Path) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 60, 0, 0))
    done = subprocess.run(
        [sys.executable, "-m", "cranfield", "compare", "scores.csv", "--baseline", "none-such"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        check=False,
        env=_environment(),
    )
    os.close(theirs)
    text = os.read(ours, 65536).decode().replace("\r\n", "\n")
    os.close(ours)
    assert done.returncode == 2
    assert text.startswith("error: ")
    assert max(map(len, text.splitlines())) <= 60
