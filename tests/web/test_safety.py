"""Hostile askers and hostile data: refused, bounded, or shown as the text they are."""

from __future__ import annotations

import gzip
import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from cranfield.errors import RequestError
from cranfield.web.settings import Settings

http = httpx.Client(timeout=600, limits=httpx.Limits(max_keepalive_connections=0))  # making one takes a while

Upload = Callable[..., httpx.Response]
Wait = Callable[[str], httpx.Response]
TOKEN = "a-token-that-nobody-guesses"
SCORES = b"measure,topic,system,score\nAP,1,a,0.5\nAP,2,a,0.25\nAP,1,b,0.1\nAP,2,b,0.3\n"


@pytest.fixture(scope="module")
def small(serving: Any) -> Iterator[str]:
    """A page that takes little."""
    with serving(max_upload=200_000, max_unpacked=1_000_000, max_files=5, idle=0.5) as address:
        yield address


# --- who asks


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "a b", "[::"]
)
def test_a_name_that_is_not_ours_is_refused(page: str, host: str) -> None:
    assert http.get(page, headers={"host": host}).status_code in (400, 403)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9999", "127.0.0.1", "127.0.0.2:1", "[::1]:80"])
def test_this_machine_is_answered_by_any_of_its_names(page: str, host: str) -> None:
    assert http.get(f"{page}/power", headers={"host": host}).status_code == 200


def test_two_hosts_at_once_are_refused(page: str) -> None:
    place = urlsplit(page)
    with socket.create_connection((place.hostname, place.port)) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
        assert line.recv(20).split()[1] in (b"400", b"403")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", "http://[", "file://"])
def test_a_foreign_origin_is_refused_for_reading_and_writing(page: str, origin: str) -> None:
    assert http.get(f"{page}/size.json", headers={"origin": origin}).status_code == 403
    assert http.post(f"{page}/data", headers={"origin": origin}).status_code == 403


def test_our_own_pages_may_post_and_another_sites_form_may_not(page: str) -> None:
    files = {"files": ("s.csv", SCORES)}
    assert http.post(f"{page}/data", files=files, headers={"origin": page}).status_code == 303
    assert http.post(f"{page}/data", files=files, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert http.post(f"{page}/data", files=files, headers={"sec-fetch-site": "same-origin"}).status_code == 303


def test_every_answer_forbids_what_pages_do_not_need(page: str) -> None:
    for path in ("/", "/size.json", "/nothing", "/static/page.js"):
        headers = http.get(page + path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"


def test_beyond_this_machine_a_token_is_needed_and_not_a_short_one() -> None:
    for host in ("0.0.0.0", "192.168.1.2", "::", "example.org"):
        with pytest.raises(RequestError, match="no token"):
            Settings(host=host)
    with pytest.raises(RequestError, match="can be guessed"):
        Settings(host="0.0.0.0", token="short")
    assert Settings(host="::1").token is None


def test_names_beyond_this_machine_are_addresses_or_its_own() -> None:
    wide = Settings(host="0.0.0.0", token=TOKEN)
    assert wide.answers_to("192.168.1.2")
    assert wide.answers_to(socket.gethostname())
    assert not wide.answers_to("evil.example")
    assert not Settings().answers_to("192.168.1.2")


def test_a_token_opens_and_nothing_else_does(serving: Any) -> None:
    with serving(token=TOKEN) as page:
        assert http.get(page).status_code == 401
        assert http.get(f"{page}/size.json", headers={"authorization": "Bearer wrong"}).status_code == 401
        assert http.get(page, headers={"cookie": "cranfield_x=1; a=\x7f"}).status_code == 401
        assert http.get(f"{page}/?token={TOKEN}x").status_code == 401
        assert http.post(f"{page}/data?token={TOKEN}").status_code == 401
        assert http.get(f"{page}/power", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
        with httpx.Client(base_url=page, timeout=600) as browser:
            answer = browser.get(f"/size?systems=5&token={TOKEN}")
            assert answer.status_code == 303
            assert answer.headers["location"] == "/size?systems=5"
            assert TOKEN not in str(answer.headers)
            assert "HttpOnly" in answer.headers["set-cookie"]
            assert browser.get("/power").status_code == 200
            assert browser.get(f"//evil.example/?token={TOKEN}", headers={"cookie": ""}).headers["location"][:2] != "//"


# --- what is sent


def test_a_gzip_bomb_ends_at_the_limit(small: str, upload: Upload) -> None:
    bomb = gzip.compress(b"0" * 50_000_000)
    assert len(bomb) < 200_000
    answer = upload(small, [("bomb.gz", bomb)])
    assert answer.status_code == 413
    assert "unpacked" in answer.json()["error"]["what"]


def test_many_files_share_one_limit(small: str, upload: Upload) -> None:
    half = gzip.compress(b"0" * 600_000)
    assert upload(small, [("a", half), ("b", half)]).status_code == 413
    assert upload(small, [(str(at), b"x") for at in range(6)]).status_code == 413


def test_gzip_within_gzip_is_not_unpacked_later_either(small: str, upload: Upload) -> None:
    twice = gzip.compress(gzip.compress(b"0" * 50_000_000))
    assert upload(small, [("a.gz", twice)]).status_code == 400
    assert upload(small, [("a.gz", gzip.compress(b"") + twice)]).status_code == 400


@pytest.mark.parametrize("cut", [5, 12, -3])
def test_gzip_that_is_cut_short_or_damaged_is_refused(small: str, upload: Upload, cut: int) -> None:
    assert upload(small, [("a.gz", gzip.compress(SCORES)[:cut])]).status_code == 400


def _raw(page: str, head: str, body: Iterator[bytes]) -> bytes:
    """Send a request by hand, until the server answers or nothing is left to send."""
    place = urlsplit(page)
    with socket.create_connection((place.hostname, place.port), timeout=600) as line:
        line.sendall(head.replace("\n", "\r\n").encode())
        line.setblocking(False)
        for piece in body:
            try:
                line.setblocking(True)
                line.sendall(piece)
                line.setblocking(False)
                return line.recv(100_000)
            except BlockingIOError:
                continue
            except OSError:
                break
        line.setblocking(True)
        return line.recv(100_000)


HEAD = "POST /data HTTP/1.1\nHost: localhost\nAccept: application/json\nContent-Type: multipart/form-data; boundary=x\n"
PART = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n'


def test_an_endless_upload_is_cut_off(small: str) -> None:
    def endless() -> Iterator[bytes]:
        yield b"%x\r\n%s\r\n" % (len(PART), PART)
        for _ in range(10_000):
            yield b"2000\r\n" + b"0" * 0x2000 + b"\r\n"

    assert b" 413 " in _raw(small, f"{HEAD}Transfer-Encoding: chunked\n\n", endless())


def test_a_length_that_is_too_much_is_refused_before_anything_is_sent(small: str) -> None:
    assert b" 413 " in _raw(small, f"{HEAD}Content-Length: 999999999\n\n", iter(()))


def test_an_upload_that_stops_coming_is_given_up(small: str) -> None:
    assert b" 408 " in _raw(small, f"{HEAD}Content-Length: 5000\n\n", iter([PART]))


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain", b"hello"),
        ("multipart/form-data", b"hello"),
        ("multipart/form-data; boundary=x", b"hello"),
        ("multipart/form-data; boundary=x", PART + b"abc"),
        ("multipart/form-data; boundary=x", b"--x\r\n" + b"a" * 50_000 + b": 1\r\n\r\n\r\n--x--\r\n"),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'),
        ("multipart/form-data; boundary=" + "x" * 5000, b"--"),
        ("application/json", b'{"files": '),
    ],
)
def test_a_malformed_form_is_refused(small: str, kind: str, body: bytes) -> None:
    answer = http.post(f"{small}/data", content=body, headers={"content-type": kind, "accept": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]["what"]


def test_refused_uploads_leave_nothing_behind(
    serving: Any, upload: Upload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with serving(max_unpacked=1000) as page:
        (folder,) = tmp_path.glob("cranfield-*")
        before = os.listdir(folder)
        assert upload(page, [("a", b"0" * 5000)]).status_code == 413
        assert os.listdir(folder) == before


@pytest.mark.parametrize(
    "name", ["../../../../tmp/evil", "/etc/evil", "..\\..\\evil", "..", ".", "\x00evil", "a/../../evil"]
)
def test_path_parts_in_a_file_name_lead_nowhere(page: str, upload: Upload, wait: Wait, name: str) -> None:
    before = set(os.listdir("/tmp"))
    answer = upload(page, [(name, SCORES)])
    found = wait(f"{page}{answer.json()['link']}.json").json()
    assert found["kind"] == "scores"
    assert all("/" not in each and "\\" not in each and not each.startswith(".") for each in found["names"])
    assert "evil" not in set(os.listdir("/tmp")) - before
    assert not Path("/etc/evil").exists()


# --- what is in it

SCRIPT = "<script>alert(1)</script>"
FORMULA = "=cmd|'/c calc'!A1"


def test_names_with_markup_and_formulas_come_out_as_text(page: str, upload: Upload, wait: Wait) -> None:
    lines = ["measure,topic,system,score"]
    for topic, system in (
        (t, s) for t in ("=1+1", *"23456") for s in (SCRIPT, FORMULA, "@x", '"><img src=x onerror=y>')
    ):
        quoted = system.replace('"', '""')
        lines.append(f'"AP<b>","{topic}","{quoted}",0.{(len(system) * len(topic)) % 10}{len(lines)}')
    link = page + upload(page, [(f"{SCRIPT}.csv", "\n".join(lines).encode())]).json()["link"]
    overview = wait(link)
    pages = [overview.text, *(wait(f"{link}/{task}").text for task in ("compare", "variance", "power"))]
    pages.append(wait(f"{link}/compare.html").text)
    for text in pages:
        assert "AP&lt;b&gt;" in text
        assert not any(mark in text for mark in (SCRIPT, "<b>", "<img"))
    for task in (
        "variance?percentile=90",
        "study-trial?pairs=3&repeats=10&trial_size=2",
        "simulate?topics=10",
        "compare?chart=matrix",
        "compare?",
    ):
        drawn = wait(f"{link}/{task}").text + wait(f"{link}/{task.replace('?', '.svg?')}").text
        assert drawn.count("</svg>") >= 2, task
        assert SCRIPT not in drawn
        assert "<img" not in drawn
    opened = wait(f"{link}/report/open?section=scores&section=compare").text
    assert "&lt;img" in opened
    assert not any(mark in opened for mark in (SCRIPT, "<b>", "<img"))
    assert f"'{FORMULA}" in wait(f"{link}/simulate.scores?topics=5").text
    table = wait(f"{link}/compare.csv").text
    assert f"'{FORMULA}" in table
    assert ",@x" not in table
    assert {row["system"] for row in wait(f"{link}/compare.json").json()["rows"]} >= {SCRIPT, FORMULA}  # JSON is data


def test_a_run_named_like_a_script_or_an_option_is_harmless(page: str, upload: Upload, wait: Wait) -> None:
    run = "".join(f"{topic} Q0 d{rank} {rank} {9 - rank} {SCRIPT}\n" for topic in (1, 2) for rank in (1, 2, 3))
    files = [("-o;rm -rf ~", run.encode()), ("b", run.replace(SCRIPT, "--x").encode()), ("q", b"1 0 d1 1\n2 0 d2 1\n")]
    link = page + upload(page, files).json()["link"]
    text = wait(f"{link}/score").text
    assert SCRIPT not in text
    assert "rm -rf" not in text
    assert "cranfield score o_rm_-rf__ b --qrels q" in text


def test_work_that_dies_is_an_answer_and_the_server_lives(page: str, upload: Upload, wait: Wait) -> None:
    import struct
    import zlib

    header = (
        b'{"systems":["a","b"],"topics":["1"],"teams":null,"intent_names":null,"warnings":[],"length":0,'
        b'"arrays":{"grade":["|O",[3],0,0],"list_edges":["<f8",[-5,99999999999],0,0]}}'
    )
    prefix = struct.pack("<16sIIQ", b"\x93CRANFIELD\r\n\x1a\n\x00\x00", 1, zlib.crc32(header), len(header))
    whole = (prefix + header).ljust(-(-(32 + len(header)) // 64) * 64, b"\0")
    link = page + upload(page, [("evil.cran", whole)]).json()["link"]
    assert wait(f"{link}.json").status_code == 400
    assert http.get(page).status_code == 200


def test_time_to_refuse_does_not_grow_with_the_question(page: str) -> None:
    began = time.monotonic()
    texts = ("1:1e99:1e-99", "9" * 100, ",".join(["2:2500"] * 14), "1e" + "9" * 90)
    for text in texts:
        answer = http.get(f"{page}/size.json", params={"systems": text, "min_range": "1", "variance": "1"})
        assert answer.status_code == 400, text[:40]
    assert time.monotonic() - began < 30  # hours without the limits; no measure of speed
