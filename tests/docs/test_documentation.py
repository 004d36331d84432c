"""Documentation that cannot drift: commands run, links lead somewhere, generated pages are fresh."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cranfield.measures import CATALOG
from cranfield.report.references import REFERENCES

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.S)


def _environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.parametrize("page", [page for page in PAGES if "```sh" in page.read_text()], ids=lambda page: page.name)
def test_commands_and_python_of_a_page_run_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    # make demo and make test would make environments of their own; the script behind make demo is tested below.
    commands = [block for block in _blocks(page, "sh") if not block.startswith("make ")]
    assert commands
    for block in commands:
        done = subprocess.run(["sh", "-ec", block], cwd=tmp_path, env=_environment(), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout
    for block in _blocks(page, "python"):
        command = [sys.executable, "-c", block]
        done = subprocess.run(command, cwd=tmp_path, env=_environment(), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_demo_script_shows_what_the_tool_can_do(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    environment = {**_environment(), "BIN": str(Path(sys.executable).parent)}
    done = subprocess.run(["sh", "scripts/demo.sh"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "alpha_nDCG@10" in done.stdout
    assert (tmp_path / "demo" / "scores.csv").exists()


def test_generated_pages_are_up_to_date() -> None:
    script = ROOT / "scripts" / "make_reference.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_measure_cites_a_reference_that_exists() -> None:
    assert {kind.citation for kind in CATALOG.values()} <= set(REFERENCES)
