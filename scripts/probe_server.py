"""Send every GET address of the web page random and hostile queries, and count the answers.

``python scripts/probe_server.py [--queries N] [--seed N] [--seconds S] [--data-share X]`` starts a server on this
machine, uploads a small table, and prints the number of answers by status, the slowest, the memory of the server and
its processes, and every query that was answered by a status of 500 or more, by an error that «should not happen», or
not within ``--seconds``. It ends with 1 where there is one. With ``--worst N`` it asks N of the worst queries at once,
and ends with 1 where one is refused because others compute, or where the memory of the server and its processes exceeds
what SECURITY.md states.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from cranfield.web.settings import Settings

USUAL = ("0.05", "0.1", "0.15", "0.8", "2", "10", "50", "0.02:0.1:0.02", "10:50:10", "0.05,0.1", "5,10,20")
HOSTILE = (
    *(
        "",
        " ",
        "0",
        "-0",
        "-1",
        "1",
        "nan",
        "inf",
        "-inf",
        "1e-300",
        "1e300",
        "1e-5",
        "1e-6",
        "0.00001",
        "0.999999999999",
    ),
    *(
        "1e7",
        "1e3",
        "9" * 400,
        "1e" + "9" * 90,
        "0x10",
        "1_0",
        "٣",
        "½",
        "x",
        "é",
        "\x00",
        "\ud7ff",
        "'\"<b>",
        "${7*7}",
    ),
    *(
        "0.001:2:0.001",
        "0:1:0.0001",
        "1:1e99:1e-99",
        "2:2000",
        "1:10",
        "10:1",
        "::",
        "1:2:0",
        "1:2:-1",
        "0.5:0.9:0.0005",
    ),
    *(
        ",".join(["2:2500"] * 14),
        "1," * 3000,
        ",",
        "x" * 6000,
        "../../etc/passwd",
        "true",
        "false",
        "None",
        "1;2",
        "%00",
        "%",
    ),
)
KINDS = ("", ".json", ".csv", ".svg", ".html", ".md", ".tex", ".xlsx", ".pdf", ".nothing")
_PAIR = {"sd": "0.15", "alpha": "0.05", "power": "0.8"}
SENSIBLE: dict[str, tuple[dict[str, str], ...]] = {
    "size": (
        {"difference": "0.05", "systems": "10", **_PAIR},
        {"goal": "min_range", "min_range": "0.1", "systems": "10", "variance": "0.05"},
        {"effect_size": "0.3", "test": "tukey", "systems": "5"},
        {"equivalence": "0.05", **_PAIR},
        {"width": "0.1", "sd": "0.15", "probability": "0.9"},
        {"sensitivity": "0.05", "variance": "0.05"},
    ),
    "power": ({"topics": "50", "systems": "10", "difference": "0.05", **_PAIR}, {"topics": "10:50:10", "sd": "0.15"}),
    "plans": ({"difference": "0.033", "sd": "0.15"},),
    "trial": ({"difference": "0.033", "sd": "0.12,0.15,0.18"}, {"difference": "0.05", "sd": "0.1", "trial_size": "30"}),
}
"""Requests with an answer, by the name of the page; random ones seldom have one."""
WORST: tuple[tuple[str, dict[str, str]], ...] = (
    ("/power", {"topics": "2:2000", "sd": "0.15", "systems": "10", "test": "dunnett", "difference": "0.05"}),
    ("/power.json", {"topics": "2:2000", "sd": "0.15", "systems": "10000", "test": "tukey", "difference": "0.05"}),
    ("/power.html", {"topics": "10:50:10", "sd": "0.15", "systems": "10000", "test": "dunnett"}),
    ("/size", {"difference": "0.02:0.1:0.00005", "sd": "0.15", "systems": "200", "test": "dunnett"}),
    ("/size.json", {"difference": "0.00001", "sd": "100", "systems": "10000", "test": "tukey"}),
    ("/size.json", {"min_range": "0.01:0.1:0.00005", "systems": "1000", "variance": "0.05"}),
    ("/size.html", {"width": "0.0001:0.1:0.00005", "sd": "0.15", "probability": "0.9999"}),
    ("/trial", {"difference": "0.00001", "sd": "0.1:1:0.1"}),
    ("/trial.json", {"difference": "0.00001", "sd": "0.001:2:0.001"}),
    ("/plans", {"difference": "0.001", "sd": "0.5", "looks": "10"}),
    ("/data/{key}/compare.json", {"measure": "AP", "resamples": "10000000"}),
    ("/data/{key}/reliability.json", {"measure": "AP", "trials": "1000000", "test": "permutation"}),
    ("/data/{key}/verify.json", {"measure": "AP", "difference": "0.001", "collections": "10000000"}),
    ("/data/{key}/report.json", {"measure": "AP"}),
)
"""Requests that take the longest, or the most memory, that a page allows."""
AT_REST = 500.0  # MB of the server and of the process that its others are forked from
TABLE = "measure,topic,system,score\n" + "".join(
    f"AP,{topic},{system},0.{topic % 10}{at}\n" for topic in range(1, 13) for at, system in enumerate("abcd")
)


@dataclass(frozen=True)
class Query:
    """An address of the server and what is asked of it."""

    path: str
    parameters: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return str(httpx.URL(self.path, params=self.parameters))


@dataclass(frozen=True)
class Answer:
    query: Query
    status: int  # 0: none
    seconds: float
    unexpected: bool = False  # an error of our own


def addresses(document: dict[str, Any], key: str) -> dict[str, list[dict[str, Any]]]:
    """Every GET address with its parameters; a page is asked like its JSON, and like the files it offers."""
    found = {"/": [], "/api": [], "/data": [], "/static/page.css": [], "/nowhere": [], f"/data/{key}": []}
    for path, methods in document["paths"].items():
        if "get" not in methods:
            continue
        asked = [each for each in methods["get"].get("parameters", ()) if each["in"] == "query"]
        stem = path.replace("{key}", key).replace("{job}", f"{key}-read").removesuffix(".json")
        found |= {f"{stem}{kind}": asked for kind in KINDS}
    return found


def random_query(draw: random.Random, path: str, parameters: list[dict[str, Any]]) -> Query:
    """A sensible request with a few parameters changed, or random ones; now and then one that does not exist."""
    known = SENSIBLE.get(re.split(r"[/.]", path)[1] if path.count("/") == 1 else "")
    given = dict(draw.choice(known)) if known and draw.random() < 0.7 else {}
    chosen = draw.sample(parameters, draw.randint(0, min(2 if given else 6, len(parameters))))
    pairs = list((given | {each["name"]: _value(draw, each) for each in chosen}).items())
    if draw.random() < 0.05:
        pairs.append((draw.choice(("x", "goal", "chart", "token", "", "é")), draw.choice(HOSTILE)))
    if pairs and draw.random() < 0.05:
        pairs.append(pairs[0])
    return Query(path, tuple(pairs))


def _value(draw: random.Random, parameter: dict[str, Any]) -> str:
    choices = re.findall(r'"enum": (\[[^]]*\])', json.dumps(parameter["schema"]))
    if choices and draw.random() < 0.9:
        return str(draw.choice(json.loads(choices[0])))
    return draw.choice(USUAL if draw.random() < 0.6 else HOSTILE)


def queries(document: dict[str, Any], key: str, *, count: int, seed: int, data_share: float) -> list[Query]:
    """As many as wanted, those about data (each of which starts a process) only a share of them."""
    draw, there = random.Random(seed), addresses(document, key)
    about_data = [path for path in there if path.startswith(f"/data/{key}/")]
    others = [path for path in there if path not in about_data]
    paths = [draw.choice(about_data if draw.random() < data_share else others) for _ in range(count)]
    return [random_query(draw, path, there[path]) for path in paths]


def ask(client: httpx.Client, query: Query) -> Answer:
    began = time.monotonic()
    try:
        answer = client.get(query.path, params=list(query.parameters))
    except httpx.HTTPError:
        return Answer(query, 0, time.monotonic() - began)
    return Answer(query, answer.status_code, time.monotonic() - began, "should not happen" in answer.text)


def upload(client: httpx.Client) -> str:
    """Send the table; its key."""
    sent = client.post("/data", files={"files": ("s.csv", TABLE)}, headers={"accept": "application/json"})
    key = str(sent.json()["key"])
    while client.get(f"/data/{key}.json").status_code == 202:
        time.sleep(0.1)
    return key


def probe(client: httpx.Client, *, count: int, seed: int, data_share: float, threads: int = 4) -> list[Answer]:
    """The answers to so many queries."""
    key, document = upload(client), client.get("/openapi.json").json()
    asked = queries(document, key, count=count, seed=seed, data_share=data_share)
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda query: ask(client, query), asked))


# --- the server


@contextmanager
def served() -> Iterator[tuple[str, int]]:
    """A server of its own: its address and process."""
    command = [sys.executable, "-m", "cranfield", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip(), server.pid
        finally:
            server.terminate()


def ask_worst(address: str, count: int) -> list[Answer]:
    """The answers to so many of the worst queries, all asked at once."""
    limits = httpx.Limits(max_connections=count)
    with httpx.Client(base_url=address, timeout=600, limits=limits) as client, ThreadPoolExecutor(count) as pool:
        key = upload(client)
        chosen = [WORST[at % len(WORST)] for at in range(count)]
        asked = [Query(path.replace("{key}", key), tuple(given.items())) for path, given in chosen]
        return list(pool.map(lambda query: ask_again(client, query), asked))


def ask_again(client: httpx.Client, query: Query) -> Answer:
    """The answer, asked for again as long as the server is too busy, for five minutes; 202 is one: work goes on."""
    began = time.monotonic()
    while (found := ask(client, query)).status == 503 and time.monotonic() - began < 300:
        time.sleep(2)
    return replace(found, seconds=time.monotonic() - began)


class Memory:
    """The most memory (MB) that the server, and that it with all its processes, was seen to take.

    ``together`` counts what processes share once for each of them, ``proportional`` once in all.
    """

    def __init__(self, process: int) -> None:
        self.own = self.together = self.proportional = 0.0
        self._process, self._over = process, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            sizes = {process: _memory(process) for process in _family(self._process)}
            self.own = max(self.own, sizes.get(self._process, 0.0))
            self.together = max(self.together, sum(sizes.values()))
            self.proportional = max(self.proportional, sum(map(_share, sizes)))

    def close(self) -> None:
        self._over.set()
        self._thread.join()


def _family(process: int) -> list[int]:
    """A process and all that came of it (Linux)."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, at = [process], 0
    while at < len(found):
        found += [child for child, parent in parents.items() if parent == found[at]]
        at += 1
    return found


def _memory(process: int) -> float:
    try:
        text = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    size = re.search(r"^RssAnon:\s*(\d+)", text, re.M)
    return int(size[1]) / 1024 if size else 0.0


def try_worst(count: int) -> bool:
    """Whether the server stays below the bound of its memory while so many of the worst queries are asked."""
    with served() as (address, process):
        memory, began = Memory(process), time.monotonic()
        answers = ask_worst(address, count)
        seconds = time.monotonic() - began
        memory.close()
    counted = Counter(each.status for each in answers)
    bound = AT_REST + 2 * Settings().jobs * Settings().calculator_memory / 1e6
    print(
        f"{count} of the worst queries at once, in {seconds:.0f} s; the slowest {max(a.seconds for a in answers):.0f} s"
    )
    print("by status: " + ", ".join(f"{status or 'none'} {counted[status]:,}" for status in sorted(counted)))
    print(f"memory at most: server {memory.own:.0f} MB, with its processes {memory.together:.0f} MB")
    print(f"with shared memory counted once: {memory.proportional:.0f} MB; the bound: {bound:.0f} MB")
    answered = all(each.status in (200, 202, 400) for each in answers)
    return answered and memory.proportional < bound


def _share(process: int) -> float:
    """What a process takes, of what it shares with others its part."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    size = re.search(r"^Pss:\s*(\d+)", text, re.M)
    return int(size[1]) / 1024 if size else 0.0


def main() -> None:
    wanted = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    wanted.add_argument("--queries", type=int, default=20_000)
    wanted.add_argument("--seed", type=int, default=1)
    wanted.add_argument("--seconds", type=float, default=30.0)
    wanted.add_argument("--data-share", type=float, default=0.1)
    wanted.add_argument("--worst", type=int, metavar="N", help="ask N of the worst queries at once, and nothing else")
    given = wanted.parse_args()
    if given.worst:
        sys.exit(not try_worst(given.worst))
    with served() as (address, process):
        memory, began = Memory(process), time.monotonic()
        with httpx.Client(base_url=address, timeout=given.seconds) as client:
            answers = probe(client, count=given.queries, seed=given.seed, data_share=given.data_share)
        seconds = time.monotonic() - began
        memory.close()
    counted = Counter(each.status for each in answers)
    print(f"{len(answers):,} queries in {seconds:.0f} s")
    print("by status: " + ", ".join(f"{status or 'none'} {counted[status]:,}" for status in sorted(counted)))
    print(f"memory: server {memory.own:.0f} MB, with its processes {memory.together:.0f} MB")
    print("slowest:")
    for each in sorted(answers, key=lambda each: -each.seconds)[:10]:
        print(f"  {each.seconds:6.2f} s  {each.status or 'none'}  {str(each.query)[:150]}")
    bad = [each for each in answers if each.status == 0 or each.status >= 500 or each.unexpected]
    for each in bad[:40]:
        print(f"fault {each.status or 'none'}: {str(each.query)[:200]}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
