"""The site: it builds without a warning, asks for nothing from elsewhere, and its links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest
from blocks import environment

from cranfield.errors import RequestError
from cranfield.rendering.report_files import find_browser

ROOT = Path(__file__).parents[2]
# Blocks are run by the tests of the pages; copies of the source are left out because they take as long as all the rest.
QUICK = [
    "-D",
    "run_blocks=0",
    "-D",
    "extensions=myst_parser,sphinx.ext.autodoc,sphinx.ext.napoleon,mathematics,running",
]
FETCHED = re.compile(r"""<(?:script|link|img|iframe|source|object)\b[^>]*?\s(?:src|href|data)=["']([^"']+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", *QUICK]
    command += ["-d", str(made / "doctrees"), str(ROOT / "docs"), str(made / "html")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    return made / "html"


def _pages(site: Path) -> Iterator[tuple[Path, str]]:
    for page in sorted(site.rglob("*.html")):
        yield page, page.read_text(encoding="utf-8")


# One test, so that several workers do not build several sites; test_running.py builds sites of one page.
@pytest.mark.proof
def test_the_site_builds_and_stands_alone(site: Path, tmp_path: Path) -> None:
    pages = dict(_pages(site))
    assert len(pages) > 60
    for page, text in pages.items():
        elsewhere = [target for target in FETCHED.findall(text) if re.match(r"(https?:)?//", target)]
        assert not elsewhere, f"{page.name} fetches {elsewhere}"
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")), style.name
    assert not list(_dead_links(pages))
    assert "<math" in pages[site / "methods" / "tukey.html"]
    _opens_quietly(site, tmp_path)


def _dead_links(pages: dict[Path, str]) -> Iterator[str]:
    names = {page.resolve(): set(re.findall(r'\sid="([^"]+)"', text)) for page, text in pages.items()}
    for page, text in pages.items():
        for target in map(unescape, re.findall(r'<a\b[^>]*?\shref="([^"]+)"', text)):
            path, _, name = target.partition("#")
            if re.match(r"[a-z]+:", target) or target == "#":
                continue
            there = (page.parent / unquote(path)).resolve() if path else page.resolve()
            if not there.exists() or (name and there in names and unquote(name) not in names[there]):
                yield f"{page.name}: {target}"


def _opens_quietly(site: Path, folder: Path) -> None:
    """In a browser without a network: no complaint, nothing asked for in vain, nothing wider than a phone."""
    try:
        browser = find_browser()
    except RequestError:
        return
    from playwright.sync_api import sync_playwright

    complaints: list[str] = []
    with sync_playwright() as play:
        arguments = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND"]
        chromium = play.chromium.launch(executable_path=browser, args=arguments)
        window = chromium.new_page(viewport={"width": 390, "height": 844})
        window.on("console", lambda message: complaints.append(message.text))
        window.on("pageerror", lambda error: complaints.append(str(error)))
        window.on("requestfailed", lambda request: complaints.append(request.url))
        for name in (
            "index",
            "start",
            "choosing",
            "methods/sakai",
            "reading",
            "reference/equations",
            "reference/commands",
        ):
            window.goto((site / f"{name}.html").as_uri())
            sideways = window.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert sideways <= 0, f"{name} is wider than a phone by {sideways}"
        chromium.close()
    assert complaints == []
