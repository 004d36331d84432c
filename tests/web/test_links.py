"""Every link of every page about a table answers, however many measures the table has."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from xml.etree import ElementTree

import httpx
import numpy as np
import pytest

from cranfield.rendering.output_formats import scores_csv
from cranfield.scores import ScoreTable
from sizes import sized

Upload = Callable[..., httpx.Response]
Wait = Callable[[str], httpx.Response]
MEASURES = ("AP", "P@10", "nDCG@10", "RR", "R-prec", "P@5", "P@20", "nDCG", "bpref", "R@100")
QUICK = ("size", "power", "compare")
LINK = re.compile(r'(?:href|src)="(/[^"#]*)')


@pytest.mark.parametrize("count", sized([3], [1, 3, 10]))
def test_every_link_of_every_page_about_a_table_answers(count: int, page: str, upload: Upload, wait: Wait) -> None:
    values = np.random.default_rng(1).random((count, 12, 3, 1))
    table = ScoreTable(MEASURES[:count], tuple(map(str, range(12))), ("a", "b", "c"), values)
    link = upload(page, [("scores.csv", scores_csv(table).encode())]).json()["link"]
    asked, found, waiting = set[str](), dict[str, int](), [link]
    while waiting:
        address = waiting.pop()
        name = address.partition("?")[0]
        is_asked = not name.startswith(f"{link}/") or sized(name.removeprefix(f"{link}/").startswith(QUICK), True)
        if address in asked or not is_asked:
            continue
        asked.add(address)
        answer = wait(page + address)
        if answer.status_code == 404 or answer.status_code >= 500:  # 400 asks for a choice, of a measure, say
            found[address] = answer.status_code
        elif name.endswith(".svg"):
            assert ElementTree.fromstring(answer.content).tag.endswith("svg"), address
        if name.startswith(link) and answer.headers["content-type"].startswith("text/html"):
            waiting += [unescape(each) for each in LINK.findall(answer.text)]
    assert found == {}
    assert {f"{link}/compare.svg", f"{link}/power.svg"} <= {address.partition("?")[0] for address in asked}
