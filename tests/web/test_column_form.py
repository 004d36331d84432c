"""Tables whose columns have other names: a page asks what they are, and the files are read again, not sent again."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

import httpx
import pytest

from cranfield.scores.columns import Columns
from cranfield.web.column_form import LONGEST_FORM, chosen_of, columns_of

http = httpx.Client(timeout=600, limits=httpx.Limits(max_keepalive_connections=0))  # making one takes a while

Upload = Callable[..., httpx.Response]
Wait = Callable[[str], httpx.Response]

LONG = b"qid;engine;metric;val\n1;a;AP;0.5\n2;a;AP;0.25\n3;a;AP;0.75\n1;b;AP;0.125\n2;b;AP;0.5\n3;b;AP;0\n"
UNKNOWN = b"Frage,Modell,Wert\nx,a,0.5\ny,a,0.25\nz,a,0.75\nx,b,0.125\ny,b,0.5\nz,b,0\n"
SIX = "topic=F,system=M,score=a,score=b,score=c,score=d"
WIDE = b"Frage,bm25,dense\nx,0.5,0.125\ny,0.25,0.5\nz,0.75,0\n"


def form_of(html: str) -> dict[str, list[str]]:
    """What a browser sends when the form is sent as it is."""
    chosen = {}
    for name, inside in re.findall(r'<select id="\w+" name="(\w+)">(.*?)</select>', html, re.S):
        options = re.findall(r"<option([^>]*)>", inside)
        kept = next((each for each in options if "selected" in each), options[0])
        value = re.search(r'value="([^"]*)"', kept)
        assert value
        chosen[name] = [unescape(value[1])]
    ticked = re.findall(r'<input type="checkbox" name="score" value="([^"]*)" checked>', html)
    return {**chosen, "score": [unescape(each) for each in ticked]}


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (LONG, "topic=qid,system=engine,measure=metric,score=val"),
        (UNKNOWN, "topic=Frage,system=Modell,score=Wert"),
        (WIDE, "topic=Frage,system=*"),
        (b"Question,LLM,Rating\n1,a,0.5\n1,b,0.25\n2,a,0.75\n2,b,0.5\n", "topic=Question,system=LLM,score=Rating"),
        (b"Q,Text,LLM,R\n1,x,a,0.5\n1,y,b,0.25\n2,z,a,0.75\n2,w,b,0.5\n", "topic=Q,system=LLM,score=R"),
        (UNKNOWN.replace(b",", b"\t"), "topic=Frage,system=Modell,score=Wert"),
        (b"Frage\tWert\nx\t0.5\ny\t0.25\n", "topic=Frage,score=Wert"),  # read as teams,
        (LONG.replace(b";", b"\t"), "topic=qid,system=engine,measure=metric,score=val"),  # as judgments,
        (b"F\tM\ta\tb\tc\td\nx\tm\t1\t0\t0\t1\ny\tm\t0\t0\t1\t1\n", SIX),  # and as a run, without the header
        (b'{"Frage": "x", "w": 1, "m": "a"}\n{"Frage": "y", "w": 0, "m": "a"}\n', "topic=Frage,system=m,score=w"),
    ],
)
def test_a_table_with_other_names_leads_to_its_columns_and_is_read_by_what_is_chosen(
    page: str, upload: Upload, wait: Wait, content: bytes, columns: str
) -> None:
    link = page + upload(page, [("s.csv", content)]).json()["link"]
    sent = wait(link)
    assert (sent.status_code, sent.headers["location"]) == (303, f"{link.removeprefix(page)}/columns")
    mapper = wait(f"{link}/columns")
    assert mapper.status_code == 200
    assert 'role="alert"' not in mapper.text
    assert columns_of(form_of(mapper.text)) == columns
    done = http.post(f"{link}/columns", data=form_of(mapper.text))
    assert (done.status_code, done.headers["location"]) == (303, link.removeprefix(page))
    told = page + upload(page, [("s.csv", content)], columns=columns).json()["link"]
    found, expected = (wait(f"{each}.json").json() for each in (link, told))
    assert found["systems"]
    assert {**found, "key": "", "links": []} == {**expected, "key": "", "links": []}
    assert columns in unescape(wait(link).text)


def test_programs_are_refused_as_before(page: str, upload: Upload, wait: Wait) -> None:
    link = page + upload(page, [("s.csv", LONG)]).json()["link"]
    answer = wait(f"{link}.json")
    assert answer.status_code == 400
    assert "topic=qid" in answer.json()["error"]["fix"]


def test_other_columns_replace_what_was_read_and_what_was_answered(page: str, upload: Upload, wait: Wait) -> None:
    content = b"query,model,ndcg,map\n1,a,0.5,0.1\n2,a,0.25,0.2\n3,a,0.5,0.4\n1,b,0,0.3\n2,b,1,0.7\n3,b,0.5,0.5\n"
    link = page + upload(page, [("s.csv", content)]).json()["link"]
    form = form_of(wait(f"{link}/columns").text)
    assert form["score"] == ["ndcg", "map"]
    http.post(f"{link}/columns", data=form)
    assert wait(f"{link}.json").json()["measures"] == ["ndcg", "map"]
    assert "ndcg" in wait(f"{link}/compare").text
    assert f'href="{link.removeprefix(page)}/columns"' in wait(link).text
    for measure in ("map", "ndcg", "map"):
        http.post(f"{link}/columns", data={**form, "score": [measure]})
        assert wait(f"{link}.json").json()["measures"] == [measure]
        assert {row["measure"] for row in wait(f"{link}/compare.json").json()["rows"]} == {measure}
        assert form_of(wait(f"{link}/columns").text)["score"] == [measure]


def test_a_wrong_choice_is_explained_beside_the_choices(page: str, upload: Upload, wait: Wait) -> None:
    link = page + upload(page, [("s.csv", LONG)]).json()["link"]
    form = form_of(wait(f"{link}/columns").text)
    http.post(f"{link}/columns", data={**form, "score": ["engine"]})
    assert wait(link).headers["location"].endswith("/columns")
    again = wait(f"{link}/columns").text
    assert "a score cannot be «a»" in again
    assert form_of(again)["score"] == ["engine"]
    for wrong, says in (({"score": []}, "«Scores»"), ({"topic": ""}, "«Topic»")):
        refused = http.post(f"{link}/columns", data={**form, **wrong})
        assert refused.status_code == 400
        assert says in refused.text
        assert "<h1>What are the columns?</h1>" in refused.text
    assert http.post(f"{link}/columns", data={"topic": "x" * LONGEST_FORM}).status_code == 413


def test_what_is_wrong_with_a_table_whose_columns_were_guessed_is_said(page: str, upload: Upload, wait: Wait) -> None:
    link = page + upload(page, [("s.csv", b"query,model,ndcg\n1,a,0.5\n1,a,0.25\n")]).json()["link"]
    assert wait(link).headers["location"].endswith("/columns")
    assert "two scores for ndcg, topic «1», system a" in wait(f"{link}/columns").text
    http.post(f"{link}/columns", data={"topic": "query", "system": "model", "score": "ndcg"})
    assert "under «System», or as «Replicate or shard»." in wait(f"{link}/columns").text


def test_names_in_a_file_stay_names(page: str, upload: Upload, wait: Wait) -> None:
    evil = '<img src=x onerror="alert(1)">, "q"'
    header = ",".join(f'"{each}"' for each in (evil.replace('"', '""'), "</select><script>m", "w"))
    content = f"{header}\n<b>x</b>,a,0.5\n<b>y</b>,a,0.25\n".encode()
    link = page + upload(page, [("s.csv", content)]).json()["link"]
    html = wait(f"{link}/columns").text
    assert not re.search(r"<img|<script>m|<b>", html)
    form = form_of(html)
    assert (form["topic"], form["system"]) == ([evil], ["</select><script>m"])
    http.post(f"{link}/columns", data=form)
    assert wait(f"{link}.json").json()["topics"] == 2
    assert not re.search(r"<img|<script>m|<b>", wait(link).text)


def test_files_without_columns_have_no_such_page(page: str, upload: Upload, wait: Wait) -> None:
    runs = [("a.txt", b"1 Q0 d 1 2.0 tag\n"), ("q.txt", b"1 0 d 1\n")]
    link = page + upload(page, runs).json()["link"]
    assert wait(f"{link}.json").status_code == 200
    assert wait(f"{link}/columns").status_code == 400
    assert http.post(f"{link}/columns", data={"topic": "a", "score": "b"}).status_code == 400
    assert wait(f"{link}.json").json()["kind"] == "collection"
    assert http.get(f"{page}/data/gone/columns").status_code == 404


@pytest.mark.parametrize(
    "text",
    [
        "topic=q,system=m,score=a,score=b",
        "topic=q,system=*",
        "topic=q,system=m,measure=k,seed=s,score=v",
        "topic=q,system=m,mean=s,cluster=c,stratum=t,weight=w,score=*",
        'topic=q,"score=a, ""b"""',
    ],
)
def test_choices_and_text_say_the_same(text: str) -> None:
    assert columns_of(chosen_of(Columns.of(text))) == text
