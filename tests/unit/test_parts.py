"""The optional parts: declared once, and where one is not installed the package says how it is."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from html import unescape
from pathlib import Path

import httpx
import pytest

import cranfield
from cranfield.errors import PARTS, MissingPartError

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "cranfield"]
CHARTS, WORKBOOK = "pip install 'cranfield[charts]'", "pip install 'cranfield[workbook]'"


def test_the_parts_are_the_extras_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    packages = {part: {re.split(r"[<>=]", need)[0] for need in extras[part]} for part in PARTS}
    assert packages == {part: set(each.packages.values()) for part, each in PARTS.items()}
    assert extras["all"] == [f"cranfield[{','.join(PARTS)}]"]


# --- the package as it is where only the core is installed


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which no process, however started, can import what charts and workbooks need."""
    folder = tmp_path_factory.mktemp("bare")
    hidden = [module for part in ("charts", "workbook") for module in PARTS[part].packages]
    (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({hidden}))\n")
    source = Path(cranfield.__file__).parents[1]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (folder, source)))}


@pytest.fixture(scope="module")
def scores(example: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bare-scores") / "scores.csv"
    cranfield.write_scores(cranfield.score(example / "runs", qrels=str(example / "qrels.txt")).table, path)
    return path


def run(bare: dict[str, str], folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=bare, capture_output=True, text=True, timeout=600)


REFUSED: dict[str, tuple[Sequence[str], str]] = {
    "png": (("compare", "SCORES", "--plot", "x.png"), CHARTS),
    "pdf": (("size", "--difference", "0.02:0.1:0.02", "--sd", "0.15", "--plot", "x.pdf"), CHARTS),
    "workbook": (("report", "SCORES", "-o", "x.xlsx"), WORKBOOK),
    "both": (("report", "SCORES", "--xlsx", "-o", "x.html"), WORKBOOK),
}


@pytest.mark.parametrize("wish", REFUSED)
def test_what_needs_a_part_says_how_to_install_it_and_writes_nothing(
    wish: str, bare: dict[str, str], scores: Path, tmp_path: Path
) -> None:
    arguments, install = REFUSED[wish]
    done = run(bare, tmp_path, *(scores if word == "SCORES" else word for word in arguments))
    assert done.returncode == 2
    assert done.stdout == ""
    needs = r"error: (a chart as PNG or PDF|writing a workbook) needs .* not installed\n  "
    assert re.fullmatch(needs + re.escape(install) + r"\n", done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_a_file_is_refused_before_the_data_is_read(bare: dict[str, str], tmp_path: Path) -> None:
    for arguments in (("compare", "nowhere.csv", "--plot", "x.png"), ("report", "nowhere.csv", "-o", "x.xlsx")):
        done = run(bare, tmp_path, *arguments)
        assert (done.returncode, "nowhere.csv" in done.stderr) == (2, False)
        assert "pip install" in done.stderr


def test_charts_are_drawn_without_the_part(bare: dict[str, str], scores: Path, tmp_path: Path) -> None:
    done = run(bare, tmp_path, "report", scores, "-o", "report.html", "-o", "report.tex", "--section", "compare")
    assert done.returncode == 0, done.stderr
    lacking = "a chart as PNG or PDF needs vl-convert-python, which is not installed"
    assert f"left out: charts ({lacking}: {CHARTS})\n" in done.stderr  # of the LaTeX
    page = unescape((tmp_path / "report.html").read_text(encoding="utf-8"))
    places = re.findall(r"<figure>(.*?)<figcaption>(.*?)</figcaption>", page, re.S)
    assert len(places) == 3 * 3  # intervals, matrix and differences on topics of every measure
    assert all(markup.startswith("<svg") for markup, _ in places)
    drawn = run(bare, tmp_path, "compare", scores, "--plot", "x.svg")
    assert drawn.returncode == 0, drawn.stderr


def test_a_chart_in_python_raises_an_error_with_the_remedy(bare: dict[str, str], scores: Path, tmp_path: Path) -> None:
    program = (
        "import sys, cranfield as cf\nfrom cranfield.errors import MissingPartError\nfound = cf.compare(sys.argv[1])\n"
        "chart = found.chart()\nchart.save('x.svg')\n"
        "try:\n    chart.save('x.png')\nexcept MissingPartError as error:\n    print(error.fix)"
    )
    command = [sys.executable, "-c", program, str(scores)]
    done = subprocess.run(command, env=bare, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == CHARTS, done.stderr


def test_versions_tell_which_parts_are_there(bare: dict[str, str], tmp_path: Path) -> None:
    there = run(bare, tmp_path, "--version").stdout
    assert "cranfield[web]" in there
    assert "cranfield[charts]" not in there
    assert "cranfield[workbook]" not in there


def test_the_error_names_what_is_lacking_and_goes_between_processes() -> None:
    error = MissingPartError("web", ("uvicorn",))
    assert str(error) == "the web page needs uvicorn, which is not installed\n  pip install 'cranfield[web]'"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


# --- the page


@pytest.fixture(scope="module")
def served(bare: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page as a bare installation serves it."""
    command = [*COMMAND, "serve", "--port", "0"]
    folder, quiet = tmp_path_factory.mktemp("served"), subprocess.DEVNULL
    with subprocess.Popen(command, env=bare, cwd=folder, stdout=subprocess.PIPE, stderr=quiet, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip().rstrip("/")
        finally:
            server.terminate()


def answered(address: str) -> httpx.Response:
    for _ in range(12_000):
        answer = httpx.get(address, timeout=600)
        if answer.status_code != 202:
            return answer
        time.sleep(0.1)
    raise AssertionError(f"no answer from {address}")


def test_calculators_have_their_curves_without_the_part(served: str) -> None:
    page = httpx.get(f"{served}/size", timeout=600)
    assert page.status_code == 200
    assert "<svg" in page.text
    assert "cranfield[charts]" not in page.text


def test_pages_about_data_have_their_charts_without_the_part(served: str, scores: Path) -> None:
    headers = {"accept": "application/json"}
    files = {"files": ("scores.csv", scores.read_bytes())}
    data = served + httpx.post(f"{served}/data", files=files, headers=headers, timeout=600).json()["link"]
    for question in ("variance", "compare?chart=matrix", "compare"):
        page = answered(f"{data}/{question}")
        assert page.status_code == 200
        assert "<svg" in page.text
    report = unescape(answered(f"{data}/report?section=compare").text)
    assert f"There is no workbook: writing a workbook needs xlsxwriter, which is not installed: {WORKBOOK}" in report
    assert ".xlsx" not in report
