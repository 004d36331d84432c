"""Uploaded data over HTTP: everything the commands give, progress, cancelling, removing."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import re
import tempfile
import time
import zipfile
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

import cranfield
from cranfield.scores.evaluation import score_collection

http = httpx.Client(timeout=600, limits=httpx.Limits(max_keepalive_connections=0))  # making one takes a while

Upload = Callable[..., httpx.Response]
Wait = Callable[[str], httpx.Response]
Printed = Callable[..., str]


@pytest.fixture
def beside(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in a folder with the example and its scores, under the names they were uploaded by."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").symlink_to(example / "runs")
    (tmp_path / "qrels.txt").symlink_to(example / "qrels.txt")
    (tmp_path / "teams.tsv").symlink_to(example / "teams.tsv")
    table = score_collection(cranfield.read_collection(example / "runs", example / "qrels.txt"), ["AP", "nDCG@10"])
    cranfield.write_scores(table, tmp_path / "scores.csv")


def test_what_was_read_is_said(collection: str, scores: str, wait: Wait) -> None:
    found = wait(f"{collection}.json").json()
    assert (found["kind"], len(found["systems"]), found["topics"], found["judgments"]) == ("collection", 12, 40, 3857)
    read = wait(collection).text
    assert "12 systems, 40 topics, 3,857 judgments" in read
    assert re.search(r"Runs: aldgate1.txt, .*Judgments: qrels.txt.*Teams: teams.tsv", read, re.S)
    table = wait(f"{scores}.json").json()
    assert (table["kind"], table["measures"]) == ("scores", ["AP", "nDCG@10"])


COLLECTION = [
    "score?measure=AP&measure=RBP",
    "variance?measure=AP&percentile=90",
    "variance?measure=AP&pairs=true&alpha=0.01",
    "size?systems=5&min_range=0.1&difference=0.1",
    "power?difference=0.1",
    "compare?measure=nDCG@10&test=t&correct=bh",
    "compare?test=unpaired&all_pairs=true",
    "compare?measure=AP&best_per=team",
    "compare?audit=true&resamples=200&baseline=aldgate1",
    "shards?shards=2,3&samples=2&resamples=100&halvings=0&anova=all&pairs=MD6",
    "pilot?measure=AP&measure=nDCG@10&difference=0.05&leave_out=1:3&topics=20,10&trials=3&depth=10&within=0.1",
    "budget?depths=5,10&difference=0.05&price=2&topic_price=30&best=6&test=tukey",
    "budget?depths=5,10&pair=cleverdon1,aldgate1",
    "budget?depths=5,10&min_range=0.15&method=exact&estimate=within&rule=raw-difference",
    "budget?budget=5000&width=0.1",
    "budget?pairs=20&budget=4000",
    "budget?reuse=true&depths=10",
    "reliability?topics=50,100&trials=30&resamples=100&drop=0.25&unpaired=true&sets=5,10",
    "verify?min_range=0.2&systems=4&shards=2&collections=250&topics=20",
    "study-simulate?pairs=2&repeats=50&first=20",
]


@pytest.mark.usefixtures("beside")
@pytest.mark.parametrize("question", COLLECTION, ids=lambda each: each[:60])
def test_a_collections_page_its_json_and_its_command_agree(
    collection: str, wait: Wait, printed: Printed, question: str
) -> None:
    task, _, asked = question.partition("?")
    html = wait(f"{collection}/{question}")
    assert html.status_code == 200
    answer = wait(f"{collection}/{task}.json?{asked}").json()
    assert answer["rows"]
    assert answer == json.loads(printed(html.text, "--json"))
    assert wait(f"{collection}/{task}.csv?{asked}").text == printed(html.text, "--csv")


SCORES = [
    "size?difference=0.05&measure=AP",
    "compare?measure=AP&missing=drop",
    "compare?measure=AP&best_per=%5E(%5Ba-z%5D%2B)",
    "compare",
    "simulate?measure=AP&means=aldgate1=0.4&margins=empirical&topics=30",
    "verify?measure=AP&difference=0.1&collections=250&one_sided=true&search=false&test=wilcoxon",
    "study-past?difference=0.05&measure=AP&percentile=90",
    "study-trial?measure=AP&pairs=5&repeats=50",
    "study-simulate?measure=AP&system=aldgate1&baseline=barnhill1&difference=0.1&repeats=50&plans=fixed,hybrid",
    "study-peek?measure=AP&first=10&high=0.3&repeats=20",
    "check?strict=true",
]


@pytest.mark.usefixtures("beside")
@pytest.mark.parametrize("question", SCORES, ids=lambda each: each[:60])
def test_a_score_tables_page_its_json_and_its_command_agree(
    scores: str, wait: Wait, printed: Printed, question: str
) -> None:
    task, _, asked = question.partition("?")
    html = wait(f"{scores}/{question}")
    assert html.status_code == 200, html.text
    assert wait(f"{scores}/{task}.json?{asked}").json() == json.loads(printed(html.text, "--json"))


@pytest.mark.parametrize("question", ["compare", "size?difference=0.1", "variance", "study-past?difference=0.1"])
def test_columns_with_other_names_are_told_once_for_all_questions(
    page: str,
    upload: Upload,
    wait: Wait,
    printed: Printed,
    question: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [f"{topic},{model},0.{(topic * 7 + ord(model) * 5) % 89:02d}" for topic in range(1, 9) for model in "abc"]
    data = "\n".join(["question,model,faithfulness", *rows]).encode()
    columns = "topic=question,system=model,score=faithfulness"
    link = page + upload(page, [("rag.csv", data)], columns=columns).json()["link"]
    (tmp_path / "rag.csv").write_bytes(data)
    monkeypatch.chdir(tmp_path)
    task, _, asked = question.partition("?")
    answer = wait(f"{link}/{task}.json?{asked}").json()
    assert answer["inputs"]["columns"] == columns
    assert answer == json.loads(printed(wait(f"{link}/{question}").text, "--json"))


def test_columns_that_say_nothing_are_refused_at_once(page: str, upload: Upload) -> None:
    for columns in ("topic=a,nonsense=b", "x" * 600):
        assert upload(page, [("a.csv", b"question,model\n")], columns=columns).status_code == 400


def test_a_table_with_shards_is_asked_about_shards(page: str, upload: Upload, wait: Wait) -> None:
    from cranfield.methods.sharding.shard_models import replicate_study
    from cranfield.scores.score_files import parse_scores

    rows = [
        f"AP,{topic},{system},{shard},0.{(topic * 7 + ord(system) * shard) % 89:02d}"
        for topic in range(1, 7)
        for system in "abc"
        for shard in (1, 2)
    ]
    data = "\n".join(["measure,topic,system,shard,score", *rows]).encode()
    link = page + upload(page, [("replicates.csv", data)]).json()["link"]
    answer = wait(f"{link}/shards.json").json()
    study = replicate_study(parse_scores(data, "replicates.csv"), "AP")
    assert [row["significant_pairs"] for row in answer["rows"]] == [each.significant_pairs for each in study.results]
    assert "cranfield shards replicates.csv" in wait(f"{link}/shards").text


def test_every_download_of_a_result_is_there(collection: str, wait: Wait) -> None:
    html = wait(f"{collection}/compare?measure=AP").text
    kinds = dict(re.findall(r'href="[^"]*/compare\.(\w+)(\?[^"]*)"', html))
    assert set(kinds) == {"json", "csv", "md", "tex", "svg", "html"}
    for kind, asked in kinds.items():
        answer = wait(f"{collection}/compare.{kind}{unescape(asked)}")
        assert answer.status_code == 200
        assert answer.text
    assert wait(f"{collection}/compare.exe").status_code == 404


def test_measures_may_stand_side_by_side_in_the_form(collection: str, wait: Wait) -> None:
    page = wait(f"{collection}/score?measure=AP+P@10")
    assert "--measure AP --measure P@10" in page.text


def test_a_packed_collection_comes_back_and_can_be_uploaded(
    page: str, collection: str, wait: Wait, upload: Upload
) -> None:
    wait(f"{collection}.json")
    packed = http.get(f"{collection}/collection.cran").content
    again = page + upload(page, [("demo.cran", packed)]).json()["link"]
    assert wait(f"{again}.json").json()["judgments"] == 3857
    assert wait(f"{again}/score.json").json()["rows"] == wait(f"{collection}/score.json").json()["rows"]
    assert "cranfield compare demo.cran" in wait(f"{again}/compare").text


def test_packed_scores_can_be_uploaded(page: str, tmp_path: Path, upload: Upload, wait: Wait) -> None:
    scores = {
        system: {str(topic): (topic * step) % 7 / 7 for topic in range(30)} for system, step in (("a", 2), ("b", 3))
    }
    cranfield.pack(scores, out=str(tmp_path / "scores.cran"))
    link = page + upload(page, [("scores.cran", (tmp_path / "scores.cran").read_bytes())]).json()["link"]
    said = wait(f"{link}/compare").text
    assert "cranfield compare scores.cran" in said
    assert "30 topics" in said


def test_logs_and_workbooks_can_be_uploaded(page: str, upload: Upload, wait: Wait) -> None:
    log = (Path(__file__).parents[1] / "adapters" / "files" / "inspect-large.eval").read_bytes()
    found = wait(f"{page}{upload(page, [('log.eval', log)]).json()['link']}.json").json()
    assert (found["kind"], found["systems"], found["shards"]) == ("shards", ["mockllm/large"], 2)
    openpyxl = pytest.importorskip("openpyxl")
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in (["qid", "bm25", "dense"], ["1", 0.5, 0.25], ["2", 1, 0.75]):
        book.active.append(row)
    book.save(stream)
    found = wait(f"{page}{upload(page, [('ndcg.xlsx', stream.getvalue())]).json()['link']}.json").json()
    assert (found["systems"], found["measures"]) == (["bm25", "dense"], ["ndcg"])
    assert "topic=qid,system=*" in str(found["warnings"])


def zip_bomb() -> bytes:
    """A log of Inspect that unpacks to 300 MB."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("header.json", "w") as member:
            for _ in range(300):
                member.write(b" " * 1_000_000)
        archive.writestr("summaries.json", "[]")
    return stream.getvalue()


def test_gzip_is_unpacked_whatever_the_names_say(page: str, example: Path, upload: Upload, wait: Wait) -> None:
    runs = [(f"{each.name}.gz", gzip.compress(each.read_bytes())) for each in (example / "runs").iterdir()]
    link = (
        page + upload(page, [*runs[:3], ("qrels", gzip.compress((example / "qrels.txt").read_bytes()))]).json()["link"]
    )
    assert len(wait(f"{link}.json").json()["systems"]) == 3


def test_intents_come_along_and_the_command_takes_the_packed_file(
    page: str, example: Path, upload: Upload, wait: Wait
) -> None:
    files = [*sorted((example / "runs").iterdir())[:3], example / "qrels.txt", example / "intents.txt"]
    link = page + upload(page, files).json()["link"]
    assert "--intents intents.txt" in wait(f"{link}/score?measure=alpha_nDCG@10").text
    assert "cranfield compare collection.cran" in wait(f"{link}/compare?measure=alpha_nDCG@10").text


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ([("a.txt", b"1 Q0 d 1 2.0 tag\n")], "runs but no judgments"),
        ([("q.txt", b"1 0 d 1\n")], "there are no runs"),
        ([("a.bin", b"\x00\x01\x02")], "no known kind of file"),
        ([("a.pkl", pickle.dumps({"x": os.getcwd}))], "no known kind of file|there are no runs"),
        ([("a.json", b'{"a": [1, 2')], "it is not JSON"),
        ([("a.json", b"[" * 100_000)], "nested too deeply"),
        ([("s.csv", b"measure,topic,system,score\nAP,1,a,x\n")], "s.csv"),
        ([("a.parquet", b"PAR1 nothing of the sort")], "Parquet"),
        ([("a.eval", zip_bomb)], "unpacked, it has more than"),
        ([("a.cran", b"\x93CRANFIELD\r\n\x1a\n\x00\x00" + b"\xff" * 60)], "format|header|cut short"),
        ([("a.txt", b"1 Q0 d 1 2.0 t\n1 Q0 d 2 1.0 t\n"), ("q", b"1 0 d 1\n")], "a.txt:2|duplicate|twice"),
        ([("q1", b"1 0 d 1\n"), ("q2", b"1 0 d 1\n"), ("a", b"1 Q0 d 1 2.0 t\n")], "2 files are read as qrels"),
    ],
)
def test_files_that_cannot_be_used_say_why_and_show_no_folder(
    page: str, upload: Upload, wait: Wait, files: list[tuple[str, Any]], says: str
) -> None:
    made = [(name, content() if callable(content) else content) for name, content in files]
    link = page + upload(page, made).json()["link"]
    answer = wait(f"{link}.json")
    fault = answer.json()["error"]
    assert answer.status_code == 400
    assert re.search(says, f"{fault['where']}: {fault['what']}")
    assert "/tmp" not in answer.text
    html = wait(link)
    assert html.status_code == 400
    assert 'role="alert"' in html.text


def test_a_question_without_sense_says_why(collection: str, scores: str, wait: Wait) -> None:
    wait(f"{collection}.json"), wait(f"{scores}.json")
    for address, says in {
        f"{collection}/compare.json?measure=nope": "nope",
        f"{collection}/compare.json?alpha=7": "alpha",
        f"{collection}/size.json?difference=50": "larger than",
        f"{scores}/score.json": "no «score» for this data",
        f"{collection}/shards.json?shards=1": "two shards",
        f"{collection}/compare.json?baseline=nobody": "nobody",
    }.items():
        answer = wait(address)
        assert answer.status_code in (400, 422), address
        assert says in answer.json()["error"]["what"]
    assert http.get(f"{collection}/nonsense").status_code == 404


def test_long_work_says_how_far_it_is_and_ends_when_cancelled(collection: str, page: str, wait: Wait) -> None:
    wait(f"{collection}.json")
    address = f"{collection}/shards.json?shards=2,3,4,5&samples=900"
    answer = http.get(address)
    assert answer.status_code == 202
    job = page + answer.headers["location"]
    seen = []
    for _ in range(200):
        seen.append(http.get(job).json())
        if seen[-1]["done"] > 0:
            break
        time.sleep(0.05)
    assert seen[-1]["state"] == "running"
    assert 0 < seen[-1]["done"] < seen[-1]["total"] == 3600
    assert "<progress" in http.get(address.replace(".json", "")).text
    done = http.post(job.removesuffix(".json") + "/cancel")
    assert done.status_code == 303
    assert http.get(job).json()["state"] == "cancelled"
    assert http.get(address).status_code == 202  # asked again, it starts again
    assert http.post(job.removesuffix(".json") + "/cancel").status_code == 303


def test_removed_data_is_gone_with_its_work(page: str, example: Path, upload: Upload, wait: Wait) -> None:
    files = [*sorted((example / "runs").iterdir())[:2], example / "qrels.txt"]
    link = page + upload(page, files).json()["link"]
    assert wait(f"{link}/compare.json").status_code == 200
    job = http.get(f"{link}/shards.json?samples=1000&shards=2,3,4").headers["location"]
    assert http.post(f"{link}/remove").status_code == 303
    assert [http.get(address).status_code for address in (link, f"{link}/compare", page + job)] == [404, 404, 404]


def test_uploads_are_for_their_owner_alone_and_go_with_the_server(
    serving: Any, upload: Upload, wait: Wait, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with serving() as page:
        (folder,) = tmp_path.glob("cranfield-*")
        link = page + upload(page, [("s.csv", b"measure,topic,system,score\nAP,1,a,0.5\nAP,2,a,0.25\n")]).json()["link"]
        assert wait(f"{link}.json").status_code == 200
        assert os.stat(folder).st_mode & 0o777 == 0o700
        assert any(name == "s.csv" for _, _, names in os.walk(folder) for name in names)
    assert not os.path.exists(folder)


def test_questions_at_once_are_bounded_and_old_answers_make_room(
    page: str, upload: Upload, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cranfield.web import result_pages

    monkeypatch.setattr(result_pages, "MOST_OPEN", 1)
    monkeypatch.setattr(result_pages, "MOST_KEPT", 2)
    rows = "".join(
        f"AP,{topic},{system},0.{topic * (at + 3) % 10}{at}\n"
        for topic in range(1, 9)
        for at, system in enumerate("abcdefghijkl")  # enough pairs for a million resamples to take a while
    )
    link = page + upload(page, [("s.csv", f"measure,topic,system,score\n{rows}".encode())]).json()["link"]
    first = [wait(f"{link}/compare.json?seed={seed}") for seed in range(1, 5)]
    assert [answer.status_code for answer in first] == [200] * 4
    assert wait(f"{link}/compare.json?seed=1").json() == first[0].json()  # made again, and the same
    slow = f"{link}/compare.json?test=bootstrap&resamples=1000000"
    assert http.get(slow).status_code == 202
    refused = http.get(f"{link}/compare.json?seed=99")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
    assert "too much" in refused.json()["error"]["what"]
    http.post(f"{link}/remove")
