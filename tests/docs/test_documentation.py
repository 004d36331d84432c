"""Documentation that cannot drift: commands run, links lead somewhere, generated pages are fresh, the site builds."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from blocks import blocks_of, environment, run_blocks

from cranfield.measures import CATALOG
from cranfield.rendering.references import REFERENCES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
RUN = [
    page
    for page in PAGES
    if blocks_of(page.read_text(encoding="utf-8")) and page.parent.name != "gallery"  # those: test_gallery.py
]
# Run by `make test`; the others by `make proof`. test_commands.py parses the commands of all of them.
QUICK = {"README.md"}


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _is_proof(page: Path) -> list[pytest.MarkDecorator]:
    return [] if _name(page) in QUICK else [pytest.mark.proof]


@pytest.mark.parametrize("page", [pytest.param(page, marks=_is_proof(page), id=_name(page)) for page in RUN])
def test_commands_and_python_of_a_page_run_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    # make demo and make test would make environments of their own; the script behind make demo is tested below.
    for outcome in run_blocks(page.read_text(encoding="utf-8"), tmp_path):
        assert outcome.code == 0, f"{outcome.block.text}\n{outcome.printed}"
        assert outcome.printed or outcome.block.language == "python", outcome.block.text


@pytest.mark.proof
def test_demo_script_shows_what_the_tool_can_do(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    bin = {**environment(), "BIN": str(Path(sys.executable).parent)}
    done = subprocess.run(["sh", "scripts/demo.sh"], cwd=tmp_path, env=bin, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "alpha_nDCG@10" in done.stdout
    assert (tmp_path / "demo" / "scores.csv").exists()


def test_generated_pages_are_up_to_date() -> None:
    script = ROOT / "scripts" / "make_reference.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def _anchors(page: Path) -> set[str]:
    """What headings are called in links, as GitHub and the site both have it."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower().replace("`", "")).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
        if "://" in target or target.startswith("mailto:"):
            continue
        there = page.parent / target if target else page
        assert there.exists(), target
        if anchor and there.suffix == ".md":
            assert anchor in _anchors(there), f"{target}#{anchor}"


def test_every_measure_cites_a_reference_that_exists() -> None:
    assert {kind.citation for kind in CATALOG.values()} <= set(REFERENCES)


METHODS = [*sorted((DOCS / "methods").glob("*.md")), DOCS / "pilots.md", DOCS / "budgets.md"]
PARTS = ("Idea", "Formula", "Command", "Python", "Published numbers", "When not to use it")


@pytest.mark.parametrize("page", METHODS, ids=_name)
def test_a_method_has_its_idea_formula_function_command_numbers_and_limits(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    parts = re.split(r"^## (.*)$", text, flags=re.M)
    assert set(PARTS) <= set(parts[1::2])
    said = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert all(said[part].strip() for part in PARTS)
    assert "reference/commands.md#cranfield-" in said["Command"]
    assert "```sh\n" in said["Command"]
    assert "{py:obj}`" in said["Python"]
    assert "```python\n" in said["Python"]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_tests_that_a_page_names_exist(page: Path) -> None:
    for path, name in re.findall(r"`(tests/\w+/\w+\.py)(?:::(\w+))?`", page.read_text(encoding="utf-8")):
        assert (ROOT / path).exists(), path
        assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), name


def test_every_method_is_an_end_of_the_decision_chart() -> None:
    text = (DOCS / "choosing.md").read_text(encoding="utf-8")
    chart, table = text.split("## The same as a table")
    for page in METHODS:
        link = f"]({page.relative_to(DOCS)}"
        assert link in chart, page.name
        assert link in table or page.stem in ("fixed", "iterative", "hybrid", "group-sequential", "anytime"), page.name


SHOWN = (
    "check example/runs example/qrels.txt",
    "variance scores.csv",
    "variance scores.csv --pairs",
    "size scores.csv --systems 5 --min-range 0.1 --difference 0.05 --width 0.1 --sensitivity 0.05",
    "size --systems 5 --min-range 0.1 --variance 0.05",
    "size --width 0.1 --variance 0.05",
    "size --sensitivity 0.1 --variance 0.05",
    "size --effect-size 0.5",
    "size --difference 0.05 --between 0.01 --within 0.01 --repeat-variance 0.01 --repeats 1,2 --topic-cost 2",
    "size --difference 0.05 --sd 0.15 --icc 0.3 --replicates clusters --items 1,5",
    "size --difference 0.05 --between 0.01 --within 0.01 --shared-variance 0.0001 --items 8,10 --systems 3,4",
    "power scores.csv",
    "power --topics 20,30 --variance 0.05",
    "compare scores.csv --equivalence 0.1",
    "compare scores.csv --test t --correct none",
    "compare scores.csv --test wilcoxon",
    "compare scores.csv --test tukey",
    "compare scores.csv --test unpaired",
    "compare scores.csv --baseline cleverdon1 --non-inferiority 0.1",
    "compare scores.csv --baseline cleverdon1 --gate no-worse=0.5",
    "compare scores.csv --audit --resamples 200",
    "compare scores.csv --judge model.csv --sampled",
    "judges scores.csv --judge model.csv --earlier model=scores.csv",
    "judges example/runs --qrels example/qrels.txt --judge a=example/judge.txt --judge b=example/judge.txt --draw 5",
    "judges passes.csv --judge model=judged.csv --teams teams.tsv",
    "leaderboard scores.csv",
    "leaderboard scores.csv model.csv --baseline cleverdon1",
    "shards example/runs --qrels example/qrels.txt -s 2 --samples 2 --resamples 0",
    "pilot example/runs --qrels example/qrels.txt --teams example/teams.tsv --trials 2",
    "budget example/runs --qrels example/qrels.txt -d 5,10",
    "study plans --difference 0.05 --sd 0.1",
    "study past scores.csv --difference 0.1",
    "study trial --difference 0.1 --sd 0.1",
    "study simulate scores.csv --pairs 2 --repeats 50",
    "study peek scores.csv --first 10 --high 0.3",
    "reliability scores.csv --trials 20",
    "simulate scores.csv --topics 20",
    "verify --difference 0.1 --sd 0.15 --collections 250",
)


def test_every_column_is_explained(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from cranfield.cli.app import make_app

    text = (DOCS / "reading.md").read_text(encoding="utf-8")
    said = {name.strip() for row in re.findall(r"^\| (.*?) \|", text, re.M) for name in re.split("[,;]", row)}
    said |= {row.strip() for row in re.findall(r"^\| (.*?) \|", text, re.M)} | {"", *re.findall(r"`(\w+)`", text)}
    monkeypatch.chdir(tmp_path)
    shutil.copytree(example, "example")
    runner, app = CliRunner(), make_app()
    for labels, file in (("qrels", "scores"), ("judge", "model")):
        asked = f"score example/runs --qrels example/{labels}.txt -m AP -o {file}.csv"
        assert runner.invoke(app, asked.split()).exit_code == 0
    _write_passes()
    unknown: dict[str, str] = {}
    for command in SHOWN:
        done = runner.invoke(app, [*command.split(), "--md"])
        assert done.exit_code == 0, f"{command}\n{done.output}{done.exception}"
        for header in re.findall(r"^\|(.*)\|\n\|[-:| ]+\|$", done.stdout, re.M):
            titles = [title.replace("\\", "").strip() for title in header.split("|")]
            unknown |= {title: command for title in titles if not _explained(title, said)}
    assert not unknown, str(unknown)


def _write_passes() -> None:
    """Passes and failures by people and by a judge that favours one of three systems, each of a team of its own."""
    rows = [(topic, system, (topic * (system + 2)) % 5 > 1) for topic in range(40) for system in range(3)]
    for name in ("passes", "judged"):
        lines = [f"{t},s{s},{int(passed or (name == 'judged' and s == 2 and t % 3 > 0))}" for t, s, passed in rows]
        Path(f"{name}.csv").write_text("topic,system,score\n" + "\n".join(lines) + "\n")
    Path("teams.tsv").write_text("".join(f"s{system}\tteam{system}\n" for system in range(3)))


def _explained(title: str, said: set[str]) -> bool:
    """Whether a title, or every part of one with a comma in it, is on the page; numbers are systems of a matrix."""
    title = re.sub(r"(?<=topics for )[\d.]+", "D", title)
    title = re.sub(r"^(N = |judge )[\d.,]+$", r"\1…", title)
    return title in said or title.isdigit() or all(part.strip() in said for part in title.split(","))


def test_no_page_recommends_a_model_of_fixed_topics_for_seeds_prompts_or_judges() -> None:
    pages = [page for page in (*PAGES, ROOT / "README.md") if "reference" not in page.parts]
    prose = {
        page.name: re.sub(r"^```.*?^```$", " ", page.read_text(encoding="utf-8"), flags=re.S | re.M) for page in pages
    }
    fixed = re.compile(r"\b(?:read|trust|use|take|prefer)\b[^.|]*\b(?:MD[2-6]|bootstrap)\b(?!r)", re.I)
    replicates = re.compile(r"\b(?:seeds?|prompts?|judges?|replicates?)\b", re.I)
    for name, text in prose.items():
        for paragraph in re.split(r"\n\s*\n|\n- |\n\| ", text):
            advice = fixed.search(paragraph)
            assert not (advice and replicates.search(paragraph)), f"{name}: {paragraph}"
    assert fixed.search("Where they are only numbered alike, read MD3, or average first.")


def test_every_warning_of_a_result_is_explained() -> None:
    text = (DOCS / "reading.md").read_text(encoding="utf-8")
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    slugs = {slug for source in sources for slug in re.findall(r'(?:Caution|_noting)\(\s*"([a-z-]+)"', source)}
    assert len(slugs) >= 9
    assert not [slug for slug in slugs if f"`{slug}`" not in text]
