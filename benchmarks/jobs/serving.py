"""Job: the web page under use, ``python -m benchmarks.jobs.serving one|many|beside_slow`` or ``upload FOLDER``."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.jobs import clock
from benchmarks.sizes import sized

SERVE = [sys.executable, "-c", "from cranfield.cli.app import main; main()", "serve", "--port", "0"]
DESIGNS = {
    "range of 10 systems": "systems=10&min_range=0.{}&variance=0.053",
    "difference of two": "difference=0.0{}&sd=0.15",
    "interval width": "width=0.{}&variance=0.053",
}
USERS, EACH, ALONE = sized((100, 20, 60), (3, 2, 6))
SLOW = "/trial.json?difference=0.00001&sd=0.001:2:0.001"
TRIVIAL = "/size.json?difference=0.05&sd=0.15"


@contextmanager
def server(*, core: int | None = None) -> Iterator[tuple[str, int, int]]:
    """``cranfield serve`` as a process, on one core if asked; its host, port and process id."""
    pin = None if core is None else (lambda: os.sched_setaffinity(0, {core}))
    with subprocess.Popen(SERVE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=pin) as made:
        assert made.stdout is not None
        place = urlsplit(made.stdout.readline().strip())
        try:
            yield str(place.hostname), int(place.port or 0), made.pid
        finally:
            made.send_signal(signal.SIGINT)


def addresses(count: int) -> list[str]:
    """Designs nobody has asked for before, as pages and as JSON in turn."""
    kinds = list(DESIGNS.values())
    return [f"/size{('', '.json')[at % 2]}?{kinds[at % 3].format(1000 + 7 * at)}" for at in range(count)]


def one() -> None:
    """One user, one design after another: the time of an answer as its asker sees it."""
    found: dict[str, list[float]] = {}
    with server() as (host, port, _):
        line = http.client.HTTPConnection(host, port)
        for name, design in DESIGNS.items():
            for kind in ("", ".json"):
                times = found[f"{name}, {'JSON' if kind else 'page with its curve'}"] = []
                for at in range(ALONE):
                    seconds, status = _get(line, f"/size{kind}?{design.format(1000 + 13 * at)}")
                    times.append(seconds)
                    assert status == 200, status
        line.close()
    clock.answer(times={name: _shares(times[5:]) for name, times in found.items()})


def _get(line: http.client.HTTPConnection, address: str) -> tuple[float, int]:
    """How long an answer takes, and its status."""
    began = time.perf_counter()
    line.request("GET", address)
    answer = line.getresponse()
    answer.read()
    return time.perf_counter() - began, answer.status


def beside_slow() -> None:
    """A trivial question, asked again and again while two slow ones are computed; a refusal counts as an error."""
    with server() as (host, port, _):
        _get(line := http.client.HTTPConnection(host, port, timeout=60), TRIVIAL)  # what starts later has started
        slow = [threading.Thread(target=_ask_slow, args=(host, port), daemon=True) for _ in range(2)]
        for thread in slow:
            thread.start()
        time.sleep(sized(0.5, 0.1))  # until both are being computed
        answers = [_get(line, f"{TRIVIAL}{at:03d}") for at in range(sized(100, 3))]
        running = sum(thread.is_alive() for thread in slow)
        line.close()
    errors = sum(status != 200 for _, status in answers)
    clock.answer(**_shares([seconds for seconds, _ in answers]), errors=errors, running=running)


def _ask_slow(host: str, port: int) -> None:
    with suppress(OSError, http.client.HTTPException):  # the server ends before it has answered
        _get(http.client.HTTPConnection(host, port, timeout=120), SLOW)


def many() -> None:
    """Users who ask all at once and never pause, the server on one core."""
    last = max(os.sched_getaffinity(0))
    with server(core=last) as (host, port, _):
        began = time.perf_counter()
        times, errors = asyncio.run(_load(host, port))
        took = time.perf_counter() - began
    clock.answer(**_shares(times), errors=errors, requests=len(times) + errors, seconds=took)


async def _load(host: str, port: int) -> tuple[list[float], int]:
    times: list[float] = []
    errors = 0

    async def user(number: int) -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection(host, port)
        for address in addresses(USERS * EACH)[number::USERS]:
            began = time.perf_counter()
            writer.write(f"GET {address} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(int(part.split(b":")[1]) for part in head.lower().split(b"\r\n") if b"content-length" in part)
            await reader.readexactly(length)
            if head.split()[1] == b"200":
                times.append(time.perf_counter() - began)
            else:
                errors += 1
        writer.close()

    done = await asyncio.gather(*(user(number) for number in range(USERS)), return_exceptions=True)
    return times, errors + sum(EACH for each in done if each is not None)


def _shares(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {f"p{share}": ordered[min(len(ordered) - 1, len(ordered) * share // 100)] for share in (50, 95, 99)}


def upload(folder: str) -> None:
    """All runs and the judgments of a collection: how long until they are sent, read, compared, and at what cost."""
    files = [*clock.files(f"{folder}/runs"), f"{folder}/qrels.txt"]
    with server() as (host, port, process):
        peak = _Peak(process)
        began = time.perf_counter()
        link = _send(host, port, files)
        sent = time.perf_counter()
        _wait(host, port, f"{link}.json")
        read = time.perf_counter()
        _wait(host, port, f"{link}/compare.json")
        compared = time.perf_counter()
        peak.stop()
    size = sum(os.path.getsize(file) for file in files) / 1e6
    clock.answer(
        megabytes=size,
        sent=sent - began,
        read=read - sent,
        compared=compared - read,
        peak=peak.megabytes,
        server=peak.server,
    )


def _send(host: str, port: int, files: list[str]) -> str:
    """A form with the files, sent as it is read from disk."""
    head = '--x\r\nContent-Disposition: form-data; name="files"; filename="{}"\r\n\r\n'

    def pieces() -> Iterator[bytes]:
        for file in files:
            yield head.format(Path(file).name).encode()
            yield Path(file).read_bytes()
            yield b"\r\n"
        yield b"--x--\r\n"

    line = http.client.HTTPConnection(host, port, timeout=600)
    headers = {"Content-Type": "multipart/form-data; boundary=x", "Accept": "application/json"}
    line.request("POST", "/data", pieces(), headers, encode_chunked=True)
    found: dict[str, str] = json.load(line.getresponse())
    line.close()
    return found["link"]


def _wait(host: str, port: int, address: str) -> None:
    while True:
        line = http.client.HTTPConnection(host, port, timeout=600)
        line.request("GET", address)
        answer = line.getresponse()
        answer.read()
        line.close()
        if answer.status != 202:
            assert answer.status == 200, answer.status
            return
        time.sleep(0.1)


class _Peak(threading.Thread):
    """The most memory a process and all that it started had together; what they share is counted once."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self._process, self._done = process, threading.Event()
        self.megabytes = self.server = 0.0
        self.start()

    def run(self) -> None:
        while not self._done.wait(0.03):
            self.megabytes = max(self.megabytes, sum(map(_resident, _family(self._process))))
            self.server = max(self.server, _resident(self._process))

    def stop(self) -> None:
        self._done.set()
        self.join()


def _family(process: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for each in filter(str.isdecimal, os.listdir("/proc")):
        try:
            parent = int(Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has just ended
        children.setdefault(parent, []).append(int(each))
    found = [process]
    for each_found in found:
        found.extend(children.get(each_found, []))
    return found


def _resident(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(float(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1000


if __name__ == "__main__":
    clock.start(globals())
