"""The work of a server is bounded: in time, in memory, in the size of a grid, and by who may ask for it."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
import polars
import pytest
from starlette.exceptions import HTTPException

from cranfield.errors import RequestError
from cranfield.types import Progress
from cranfield.web import page_list, result_pages
from cranfield.web import runner as runners
from cranfield.web.error_pages import TooMuchError
from cranfield.web.runner import Calculators, Runner
from cranfield.web.settings import Settings
from sizes import sized

http = httpx.Client(timeout=600, limits=httpx.Limits(max_keepalive_connections=0))  # making one takes a while
PAIR = {"difference": "0.05", "sd": "0.15"}
LONG = {"topics": "2:1000", "sd": "0.15", "systems": "10", "test": "dunnett", "difference": "0.05"}  # minutes


# --- calculators


@pytest.fixture(scope="module")
def hasty(serving: Any) -> Iterator[str]:
    """A page whose calculators have a second."""
    with serving(calculator_seconds=1.0, jobs=1) as address:
        yield address


def test_a_calculator_that_takes_too_long_is_refused_and_the_next_answers(hasty: str) -> None:
    refused = _get(f"{hasty}/power.json", LONG)
    assert refused.status_code == 422
    assert "fewer values of «topics»" in refused.json()["error"]["fix"]
    assert refused.json()["error"]["what"] == "999 designs take about 2 s, and a calculator may take 1 s"
    assert _get(f"{hasty}/size.json", PAIR).json()["rows"][0]["topics"] == 73
    page = _get(f"{hasty}/power", LONG)
    assert page.status_code == 422
    assert "999 designs take about 2 s, and a calculator may take 1 s" in page.text


def _get(address: str, query: dict[str, str]) -> httpx.Response:
    """The answer, as soon as there is a process to compute it."""
    for _ in range(60):
        answer = http.get(address, params=query)
        if answer.status_code != 503:
            return answer
    raise AssertionError(f"no answer from {address}")


@pytest.fixture
def calculators() -> Iterator[Calculators]:
    made = Calculators(Settings(jobs=1, calculator_seconds=30.0, calculator_memory=1_000_000_000))
    yield made
    made.close()


def _take(size: int) -> int:
    return len(bytes(size))


def _number() -> int:
    return os.getpid()


def _fail() -> None:
    raise ZeroDivisionError("oops")


def test_a_calculator_that_takes_too_much_memory_is_refused(calculators: Calculators) -> None:
    first = calculators.ask(_number)
    assert calculators.ask(_take, 1_000_000) == 1_000_000
    assert calculators.ask(_number) == first  # it stays for the next question
    with pytest.raises(RequestError, match="more than 1,000 MB of memory"):
        calculators.ask(_take, 2_000_000_000)
    assert calculators.ask(_number) != first


def test_a_calculator_that_dies_or_fails_is_an_answer(calculators: Calculators) -> None:
    with pytest.raises(RequestError):
        calculators.ask(os._exit, 7)
    with pytest.raises(RuntimeError, match="ZeroDivisionError: oops"):
        calculators.ask(_fail)
    assert calculators.ask(_take, 5) == 5


def test_long_questions_that_cannot_wait_are_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "WAITING", 0)
    crowded = Calculators(Settings(jobs=1))
    with pytest.raises(HTTPException) as refused:
        crowded.ask(_number, estimate=5.0)
    assert (refused.value.status_code, refused.value.headers) == (503, {"retry-after": "5"})
    assert crowded.ask(_number) > 0  # short ones go on
    crowded.close()


def test_a_question_that_takes_longer_than_estimated_is_ended() -> None:
    brief = Calculators(Settings(jobs=1, calculator_seconds=3.0))
    with pytest.raises(TooMuchError, match="this takes more than 3 s"):
        brief.ask(time.sleep, 600)
    assert brief.ask(_number) > 0
    brief.close()


@pytest.mark.parametrize("estimate", [0.0, 5.0])
def test_a_question_whose_asker_has_gone_ends(calculators: Calculators, tmp_path: Path, estimate: float) -> None:
    gone, file = threading.Event(), tmp_path / "process"
    with ThreadPoolExecutor(1) as asking:
        waiting = asking.submit(calculators.ask, _sleep_as, str(file), gone=gone, estimate=estimate)
        while not file.exists():
            time.sleep(0.05)
        gone.set()
        with pytest.raises(HTTPException):
            waiting.result(600)
    assert _ends(int(file.read_text()))


def _sleep_as(file: str) -> None:
    """Say which process this is, and sleep for as long as a test may take."""
    Path(f"{file}.part").write_text(str(os.getpid()))
    os.replace(f"{file}.part", file)
    time.sleep(3600)


def _ends(process: int) -> bool:
    """Whether a process ends, after however long a busy machine takes."""
    for _ in range(6000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_short_questions_are_answered_beside_a_long_one_whose_place_is_free_when_its_asker_leaves(serving: Any) -> None:
    medium = {"difference": "0.033", "sd": "0.1:0.6:0.001"}  # estimated above a second
    with serving(calculator_seconds=500.0, jobs=1) as address:
        where = urlsplit(address)
        with socket.create_connection((where.hostname, where.port)) as leaving:
            query = urlencode(LONG)
            leaving.sendall(f"GET /power.json?{query} HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode())
            assert http.get(f"{address}/size.json", params=PAIR).json()["rows"][0]["topics"] == 73
            leaving.settimeout(0.5)
            with pytest.raises(TimeoutError):
                leaving.recv(1)  # it is still at work
        assert http.get(f"{address}/trial.json", params=medium).status_code == 200


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("size", {**PAIR, "alpha": "1e-50"}),
        ("size", {"systems": "200000", "min_range": "0.1", "variance": "0.05"}),
        ("size", {"difference": "0.05:3.05:0.001", "sd": "0.15"}),
        ("size", {"difference": "900", "sd": "5000"}),
        ("power", {**PAIR, "topics": "20000000"}),
        ("plans", {**PAIR, "looks": "12"}),
        ("trial", {**PAIR, "trial_size": "10000"}),
    ],
)
def test_a_page_takes_what_the_command_takes(page: str, path: str, query: dict[str, str]) -> None:
    answer = http.get(f"{page}/{path}", params=query)
    assert answer.status_code == 200, answer.text
    assert 'role="alert"' not in answer.text


@pytest.mark.parametrize("alpha", sized(["1e-300", "1e-7"], ["1e-300", "1e-100", "1e-30", "5e-324", "1e-7"]))
@pytest.mark.parametrize("path", ["size.json", "power.json", "plans.json", "trial.json"])
def test_a_tiny_alpha_is_answered_or_refused(page: str, path: str, alpha: str) -> None:
    query = {**PAIR, "alpha": alpha, **({"topics": "50"} if path == "power.json" else {})}
    assert http.get(f"{page}/{path}", params=query).status_code in (200, 400, 422)


@pytest.mark.parametrize("alpha", sized(["5e-324"], ["1e-17", "1e-300", "5e-324"]))
@pytest.mark.parametrize(
    "question", ["variance?pairs=true&", "compare?", "shards?shards=2&", "pilot?", "budget?", "verify?", "study-past?"]
)
def test_a_tiny_alpha_is_answered_or_refused_for_data(
    collection: str, wait: Callable[[str], httpx.Response], question: str, alpha: str
) -> None:
    name, _, asked = question.partition("?")
    answer = wait(f"{collection}/{name}.json?{asked}measure=AP&alpha={alpha}")
    assert answer.status_code in (200, 400, 422)
    assert "should not happen" not in answer.text
    assert "without an answer" not in answer.text


@pytest.mark.parametrize(
    "path", ["/compare?measure=AP&alpha=0.037", "/compare.json?measure=AP&alpha=0.038", "/verify.csv?measure=AP"]
)
def test_too_much_work_on_data_is_an_answer_that_says_when_to_ask_again(
    scores: str, wait: Callable[[str], httpx.Response], monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    wait(scores)
    monkeypatch.setattr(result_pages, "MOST_OPEN", 0)
    refused = http.get(scores + path)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
    assert "too much is being worked on for this data" in refused.text


def test_a_file_of_an_answer_that_would_be_too_much_work_is_refused_in_the_same_way(
    scores: str, wait: Callable[[str], httpx.Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert wait(f"{scores}/variance.json?measure=AP&percentile=83").status_code == 200
    monkeypatch.setattr(Calculators, "ask", _busy)
    monkeypatch.setattr(result_pages, "MOST_OPEN", 0)
    refused = http.get(f"{scores}/variance.csv?measure=AP&percentile=83")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")


def _busy(*_: Any, **__: Any) -> Any:
    raise runners._busy()


@pytest.mark.parametrize(
    "path", ["/", "/power", "/size.json?difference=0.05&sd=0.15", "/size.csv?difference=0.05&sd=0.1"]
)
def test_too_much_work_of_calculators_is_an_answer_that_says_when_to_ask_again(
    page: str, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(Calculators, "ask", _busy)
    refused = http.get(page + path)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")


def test_the_columns_of_a_table_are_not_absent_because_others_compute(
    page: str,
    upload: Callable[..., httpx.Response],
    wait: Callable[[str], httpx.Response],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = upload(page, [("odd.csv", b"a,b\n1,0.5\n2,0.6\n")]).json()["link"]
    wait(page + link)
    monkeypatch.setattr(Calculators, "ask", _busy)
    refused = http.get(f"{page}{link}/columns")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")


def test_pages_say_their_limits(serving: Any) -> None:
    with serving(calculator_seconds=7.0, job_seconds=180.0, job_memory=3_000_000_000) as address:
        for path in ("/api", "/data"):
            text = http.get(address + path).text
            assert "A calculator may take 7 s and 1,000 MB of memory" in text
            assert "an analysis of data 3 minutes and 3,000 MB" in text


def test_files_to_download_are_not_made_in_the_process_of_the_server(
    scores: str, wait: Callable[[str], httpx.Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_list, "download", None)  # here; the others have their own
    found = wait(f"{scores}/variance.csv?measure=AP&percentile=90")
    assert (found.status_code, found.headers["content-length"]) == (200, str(len(found.content)))
    assert found.headers["content-disposition"] == 'attachment; filename="cranfield-variance.csv"'
    assert b"AP" in found.content


# --- jobs


def _sleep(*, progress: Progress) -> None:
    Path("process").write_text(str(os.getpid()))
    progress(1, 2)
    time.sleep(600)


def test_a_parquet_file_that_ends_its_process_ends_no_other(
    page: str, upload: Callable[..., httpx.Response], wait: Callable[[str], httpx.Response]
) -> None:
    data = io.BytesIO()
    polars.DataFrame({"topic": ["1", "2"], "a": [0.5, 0.25]}).write_parquet(data)
    good = data.getvalue()
    at = good.index(b"\x2c\x15") + 2  # the number of values of the first page of data, as a zigzag integer
    sent = upload(page, [("a.parquet", good[:at] + b"\x03" + good[at + 1 :])])  # −2
    refused = wait(f"{page}{sent.json()['link']}.json")
    assert refused.status_code == 400
    assert refused.json()["error"]["what"]
    assert http.get(f"{page}/size.json", params=PAIR).status_code == 200


def _has_ended(process: int) -> bool:
    try:
        return ") Z" in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True


def _until(claim: Callable[[], bool]) -> bool:
    for _ in range(1200):
        if claim():
            return True
        time.sleep(0.05)
    return False


def test_a_job_that_takes_too_long_ends_with_the_reason(tmp_path: Path) -> None:
    runner = Runner(Settings(jobs=1, job_seconds=3.0))
    job = runner.start("a", "me", "Sleeping", _sleep, tmp_path)
    assert job.ended.wait(600)
    assert job.state == "failed"
    assert job.fault is not None
    assert job.fault.what == "this takes more than 0.05 min"
    file = tmp_path / "process"  # a busy machine may have ended the work before its first line
    assert _until(lambda: not file.exists() or _has_ended(int(file.read_text())))
    runner.close()


def _allocate(*, progress: Progress) -> None:
    bytes(2_000_000_000)


def test_a_job_that_takes_too_much_memory_fails(tmp_path: Path) -> None:
    runner = Runner(Settings(jobs=1, job_memory=1_000_000_000))
    job = runner.start("a", "me", "Taking", _allocate, tmp_path)
    assert job.ended.wait(600)
    assert job.state == "failed"
    runner.close()


SERVER = """
import sys, threading
from pathlib import Path
from cranfield.web.error_pages import TooMuchError
from cranfield.web.runner import Calculators, Runner
from cranfield.web.settings import Settings
from tasks import number, sleep

if __name__ == "__main__":
    runner, calculators = Runner(Settings(jobs=1)), Calculators(Settings(jobs=1))
    runner.start("a", "me", "Sleeping", sleep, Path(sys.argv[1]))
    print(calculators.ask(number), flush=True)
    threading.Event().wait()
"""
TASKS = """
import os, time
from pathlib import Path

def number():
    return os.getpid()

def sleep(*, progress):
    Path("process").write_text(str(os.getpid()))
    time.sleep(600)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_a_killed_server_takes_its_work_with_it(tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(TASKS)
    (tmp_path / "server.py").write_text(SERVER)
    command = [sys.executable, str(tmp_path / "server.py"), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            calculator = int(server.stdout.readline())
            note = tmp_path / "process"
            assert _until(lambda: note.exists() and note.read_text() != "")
            job = int(note.read_text())
            assert not _has_ended(job)
            assert not _has_ended(calculator)
        finally:
            server.kill()
    assert _until(lambda: _has_ended(job) and _has_ended(calculator))


# --- who asks


LINK = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["/size.json", "/size?sd=0.15", "/plans", "/data/x/compare", "/size.svg"])
def test_another_sites_pages_cannot_make_the_server_compute(page: str, path: str, site: str) -> None:
    for kind in ("image", "iframe", "empty", "script"):
        refused = http.get(page + path, headers={"sec-fetch-site": site, "sec-fetch-dest": kind})
        assert refused.status_code == 403
        assert "Another site asked" in refused.text


def test_a_link_may_lead_to_a_page_and_ask_nothing(page: str) -> None:
    assert http.get(f"{page}/", headers=LINK).status_code == 200
    assert http.get(f"{page}/size", headers=LINK).status_code == 200
    assert http.get(f"{page}/size?difference=0.05&sd=0.15", headers=LINK).status_code == 403
    assert http.get(f"{page}/data/x/compare", headers=LINK).status_code == 403
    assert http.post(f"{page}/data", headers=LINK).status_code == 403


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_our_own_pages_and_typed_addresses_compute(page: str, site: str) -> None:
    assert http.get(f"{page}/size.json", params=PAIR, headers={"sec-fetch-site": site}).status_code == 200


# --- slow askers


@pytest.fixture(scope="module")
def brisk(serving: Any) -> Iterator[str]:
    """A page that waits a second for the head of a request, and for more of an upload."""
    with serving(head=1.0, idle=1.0) as address:
        yield address


def _connect(page: str) -> socket.socket:
    place = urlsplit(page)
    return socket.create_connection((place.hostname, place.port), timeout=600)


def _closed(line: socket.socket) -> bool:
    """Whether the server closes a connection, whatever it says before; TimeoutError where it does not."""
    try:
        while line.recv(10_000):
            pass
    except ConnectionError:
        pass
    return True


BEGINNINGS = (
    b"",
    b"GET ",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: 1",
    b"GET /static/page.css HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HT",  # the second request of a connection
    b"GET /static/page.css HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1",  # a body that is not wanted
)


def test_half_open_connections_are_closed_and_others_served_meanwhile(brisk: str) -> None:
    lines = [_connect(brisk) for _ in range(400)]
    try:
        for at, line in enumerate(lines):
            line.sendall(BEGINNINGS[at % len(BEGINNINGS)])
        assert http.get(f"{brisk}/size.json", params=PAIR).status_code == 200
        assert all(map(_closed, lines))
    finally:
        for line in lines:
            line.close()


def test_bytes_now_and_then_give_the_head_no_more_time(brisk: str) -> None:
    with _connect(brisk) as line:
        line.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises(ConnectionError):
            _drip(line)


def _drip(line: socket.socket) -> None:
    for _ in range(12_000):
        line.sendall(b"X")
        time.sleep(0.1)


def test_an_upload_that_comes_too_slowly_is_given_up(brisk: str) -> None:
    head = b"POST /data HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    with _connect(brisk) as line:
        line.sendall(head + b"Content-Length: 100000\r\n\r\n--x\r\n")
        line.settimeout(0.2)
        answer = b""
        for _ in range(12_000):
            try:
                line.sendall(b"-")
                answer = line.recv(1000)
                break
            except TimeoutError:
                continue
        assert b" 408 " in answer


def test_a_client_that_does_not_read_is_given_up_and_one_that_reads_slowly_is_not(brisk: str) -> None:
    asked = b"GET /static/page.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
    whole = http.get(f"{brisk}/static/page.js")
    with _connect(brisk) as line:
        line.sendall(asked)
        answer = b""
        while not answer.endswith(whole.content):
            piece = line.recv(1_000_000)
            assert piece, "the server closed the connection"
            answer += piece
    size = len(answer)
    count = 30_000_000 // size  # far more than the buffers of both sides hold
    with _connect(brisk) as idle, _connect(brisk) as slow:
        idle.sendall(asked * count * 4)  # so many that some are left unread, and this side hears of the end at once
        slow.sendall(asked * count)
        read = 0
        for _ in range(20):  # longer than the server waits
            read += len(slow.recv(size * count // 40))
            time.sleep(0.25)
        assert _rest(slow) + read == size * count
        for _ in range(240):  # a busy machine takes longer to get there
            if not _is_open(idle):
                break
            time.sleep(0.25)
        assert _rest(idle) < 4 * size * count


def _is_open(line: socket.socket) -> bool:
    """Whether the other side has not closed the connection, as far as this machine can tell without reading from it."""
    info = getattr(socket, "TCP_INFO", None)  # on Linux, where the first byte is the state
    return info is not None and line.getsockopt(socket.IPPROTO_TCP, info, 1)[0] == 1


def _rest(line: socket.socket) -> int:
    """The bytes that come until the server closes the connection."""
    size = 0
    try:
        while piece := line.recv(1_000_000):
            size += len(piece)
    except ConnectionError:
        pass
    return size


# --- every address


@pytest.fixture(scope="module")
def probing(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("probe_server")


def test_every_address_answers_hostile_queries_and_none_breaks(probing: ModuleType, serving: Any) -> None:
    with serving(calculator_seconds=5.0) as address, httpx.Client(base_url=address, timeout=600) as client:
        answers = probing.probe(client, count=sized(100, 300), seed=4, data_share=0.05)
    broken = [each for each in answers if each.status == 0 or each.status >= 500 or each.unexpected]
    assert [str(each.query) for each in broken] == []
    assert {200, 400, 404, 422} <= {each.status for each in answers}
