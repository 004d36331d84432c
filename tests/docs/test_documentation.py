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
from cranfield.report.references import REFERENCES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
RUN = [
    page
    for page in PAGES
    if blocks_of(page.read_text(encoding="utf-8")) and page.parent.name != "gallery"  # those: test_gallery.py
]


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", RUN, ids=_name)
def test_commands_and_python_of_a_page_run_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    # make demo and make test would make environments of their own; the script behind make demo is tested below.
    for outcome in run_blocks(page.read_text(encoding="utf-8"), tmp_path):
        assert outcome.code == 0, f"{outcome.block.text}\n{outcome.printed}"
        assert outcome.printed or outcome.block.language == "python", outcome.block.text


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
