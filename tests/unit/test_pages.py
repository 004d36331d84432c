"""The page: one file that asks for nothing, whole and accessible."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

import cranfield
from cranfield.rendering.report_model import Report
from cranfield.rendering.report_page import asset, inline_picture, to_html
from cranfield.rendering.report_sections import make_report
from cranfield.scores import ScoreTable

MOST_BYTES = 5_000_000


@pytest.fixture(scope="module")
def report(example: Path) -> Report:
    collection = cranfield.read_collection(example / "runs", example / "qrels.txt")
    return make_report(cranfield.report(collection))


@pytest.fixture(scope="module")
def page(report: Report) -> str:
    return to_html(report)


def many_systems() -> Report:
    """As many systems as TREC-8 has, on as many topics."""
    rng = np.random.default_rng(1)
    shape = (1, 50, 129, 1)
    values = np.clip(
        rng.normal(0, 0.15, (1, 50, 1, 1)) + rng.normal(0.25, 0.06, (1, 1, 129, 1)) + rng.normal(0, 0.1, shape), 0, 1
    )
    names = tuple(str(401 + at) for at in range(50)), tuple(f"system{at}" for at in range(129))
    return make_report(cranfield.report({"trec8": ScoreTable(("AP",), *names, values)}))


def test_nothing_is_fetched(page: str) -> None:
    assert not re.search(r"""(?:src|href|action|data)\s*=\s*["']?(?:https?:)?//""", page)
    assert not re.search(r"@import|url\((?!#)", page)
    assert not re.search(r"\b(?:fetch|XMLHttpRequest|WebSocket|importScripts|sendBeacon)\b", page)
    assert "default-src &#39;none&#39;" in page


def test_no_script_runs_but_ours(page: str) -> None:
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(scripts) == 3
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"&#39;sha256-{digest}&#39;" in page


def test_it_is_small(page: str) -> None:
    assert len(page.encode()) < MOST_BYTES


@pytest.mark.proof
def test_129_systems_are_small_too() -> None:
    page = to_html(many_systems())
    assert len(page.encode()) < MOST_BYTES
    assert 'src="data:image/png;base64,' in page  # 16,512 cells are a picture, not marks
    assert page.count("<svg") > 4


def test_ids_are_not_used_twice(page: str) -> None:
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(set(ids)) == len(ids)


def test_every_reference_to_an_id_leads_somewhere(page: str) -> None:
    ids = set(re.findall(r'\sid="([^"]+)"', page))
    wanted = set(re.findall(r'href="#([^"]+)"|for="([^"]+)"|data-copy="([^"]+)"|url\(#([^)]+)\)', page))
    labels = {word for text in re.findall(r'aria-labelledby="([^"]+)"', page) for word in text.split()}
    assert {name for names in wanted for name in names if name} | labels <= ids


def test_every_picture_has_words(page: str) -> None:
    for figure in re.findall(r"<figure[ >].*?</figure>", page, re.S):
        assert re.search(r'<svg [^>]*role="img" aria-label="[^"]+"|<img alt="[^"]+"', figure)
        assert re.search(r"<figcaption>.+</figcaption>", figure)


def test_labels_of_marks_are_rounded(page: str) -> None:
    labels = re.findall(r'role="graphics-symbol" aria-label="([^"]+)"', page)
    assert len(labels) > 100
    assert not [label for label in labels if re.search(r"[1-9]\d*\.\d{5,}|0\.0*[1-9]\d{4,}", label)]


def test_sections_methods_bibtex_seed_and_versions_are_there(page: str, report: Report) -> None:
    for section in report.sections:
        assert f'<section id="{section.slug}"' in page
    assert "(Sakai 2014; Webber et al. 2008)" in page
    assert r"\cite{Sakai2014,Webber2008}" in page
    assert "@inproceedings{Sakai2014," in page
    assert cranfield.__version__ in page
    assert "numpy" in page


def test_on_paper_nothing_is_folded_and_nothing_runs(report: Report) -> None:
    page = to_html(report, printed=True)
    assert "<script>" not in page
    assert "<details><summary>" not in page
    assert "script-src 'none'" in page.replace("&#39;", "'")


def test_dark_light_and_print_have_their_colours() -> None:
    style = asset("report.css")
    assert "prefers-color-scheme: dark" in style
    assert "@media print" in style
    assert "prefers-reduced-motion" in style


def test_a_chart_in_a_page_has_its_title_as_words() -> None:
    svg = inline_picture(cranfield.size(difference=0.05, sd=0.15).chart(), "a <chart>")
    assert 'aria-label="a &lt;chart&gt;"' in svg
    assert " id=" not in svg  # so that two charts cannot share one
