"""The folder in which the calls run: the demo collection, small matrices, and tables made from a fixed formula."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import cranfield as cf

_MATRICES = Path(__file__).parents[1] / "data" / "data" / "matrices"
_STEP, _SHIFT, _MODULUS = 6364136223846793005, 1442695040888963407, 1 << 64  # Knuth's MMIX

Row = Sequence[object]


def noise(*numbers: int) -> float:
    """A number from 0 to 1 that depends on all of ``numbers``, the same on every machine: integers and one division."""
    state = 1
    for number in (*numbers, 0, 0):
        state = ((state + number) * _STEP + _SHIFT) % _MODULUS
        state ^= state >> 29
    return (state >> 11) / (1 << 53)


def score(system: int, topic: int, replicate: int = 0, label: int = 0) -> float:
    """A score between 0 and 1 with four digits: a topic's level, a system's level, and noise."""
    level = 0.15 + 0.45 * noise(1, topic) + 0.035 * system
    return round(level + 0.2 * (noise(2, system, topic, label) - 0.5) + 0.05 * noise(3, system, topic, replicate), 4)


def make_folder(folder: Path) -> None:
    """Write everything that a call may name."""
    cf.write_example(folder / "demo", seed=1)
    for name in ("trec3_map.csv", "brennan_synthetic4.csv"):
        columns, *values = (_MATRICES / name).read_text(encoding="utf-8").splitlines()
        lines = [f"topic,{columns}", *(f"q{topic},{row}" for topic, row in enumerate(values, 1))]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, (head, rows) in _tables().items():
        _write(folder / name, head, rows)
    for name, text in _FAULTY.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "topics.txt").write_text("".join(f"q{topic}\n" for topic in range(60)), encoding="utf-8")


def _write(path: Path, head: str, rows: Iterable[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head.split(), *rows])


def _tables() -> dict[str, tuple[str, Iterable[Row]]]:
    return {
        "six.csv": ("topic system measure score", _two_measures()),
        "two.csv": ("topic system score", _long(2, range(25))),
        "few.csv": ("topic system score", _long(3, range(4))),
        "ties.csv": ("topic system score", ((q, s, round(x * 5) / 5) for q, s, x in _long(4, range(30)))),
        "binary.csv": ("topic system score", ((q, s, int(x > 0.5)) for q, s, x in _long(4, range(40)))),
        "constant.csv": ("topic system score", ((q, s, 0.5) for q, s, _ in _long(3, range(10)))),
        "holes.csv": ("topic system score", (row for at, row in enumerate(_long(5, range(24))) if at % 17 != 3)),
        "wide.csv": ("topic a b c", ([f"q{q}", *(score(s, q) for s in range(3))] for q in range(20))),
        "latency.csv": ("topic system score", ((q, s, round(1000 * x, 1)) for q, s, x in _long(4, range(20)))),
        "seeds.csv": ("query model seed score", _repeated(4, 15, 3)),
        "prompts.csv": ("query model prompt score", _repeated(3, 12, 5)),
        "variations.csv": ("query model shard score", _repeated(3, 20, 3)),
        "clusters.csv": ("topic system score document weight kind", _clustered(4, 36)),
        "human.csv": ("topic system score", _long(5, range(25))),
        "model.csv": ("topic system score", _long(5, range(70), label=1)),
        "model2.csv": ("topic system score", _long(5, range(70), label=2)),
        "board.csv": ("task model score type", _board()),
        "board_holes.csv": ("task model score type", (row for at, row in enumerate(_board()) if at % 11 != 5)),
        "news.csv": ("topic system measure score", _with_measure(range(100, 120))),
        "web.csv": ("topic system measure score", _with_measure(range(200, 225))),
        "legal.csv": ("topic system measure score", _with_measure(range(300, 315))),
        "batch1.csv": ("topic system score", _long(2, range(20))),
        "batch2.csv": ("topic system score", _long(2, range(20, 60))),
    }


def _long(systems: int, topics: Iterable[int], label: int = 0) -> Iterator[tuple[str, str, float]]:
    return (
        (f"q{topic}", f"s{system}", score(system, topic, 0, label)) for topic in topics for system in range(systems)
    )


def _two_measures() -> Iterator[Row]:
    for topic, system, value in _long(6, range(30)):
        yield topic, system, "AP", value
        yield topic, system, "P@10", round(value, 1)


def _with_measure(topics: Iterable[int]) -> Iterator[Row]:
    return ((topic, system, "AP", value) for topic, system, value in _long(4, topics))


def _repeated(systems: int, topics: int, repeats: int) -> Iterator[Row]:
    for topic in range(topics):
        for system in range(systems):
            for repeat in range(repeats):
                own = round(0.04 * noise(4, system, repeat), 4)
                yield f"q{topic}", f"s{system}", repeat, round(score(system, topic, repeat) + own, 4)


def _clustered(systems: int, topics: int) -> Iterator[Row]:
    for topic in range(topics):
        for system in range(systems):
            value = round(score(system, topic) + 0.1 * noise(5, topic // 3, system), 4)
            yield f"q{topic}", f"s{system}", value, f"d{topic // 3}", 1 + topic % 3, "ab"[topic // 3 % 2]


def _board() -> Iterator[Row]:
    for task in range(18):
        for model in range(8):
            yield (
                f"t{task}",
                f"m{model}",
                round(100 * score(model, 400 + task), 2),
                ("retrieval", "sts", "pairs")[task % 3],
            )


_FAULTY = {
    "empty.csv": "",
    "head_only.csv": "topic,system,score\n",
    "text.csv": "topic,system,score\nq1,a,0.1\nq1,b,high\n",
    "twice.csv": "topic,system,score\nq1,a,0.1\nq1,a,0.2\nq2,a,0.3\n",
    "one_system.csv": "topic,system,score\n" + "".join(f"q{q},a,0.{q + 1}\n" for q in range(8)),
    "one_topic.csv": "topic,system,score\nq1,a,0.1\nq1,b,0.2\n",
    "nan.csv": "topic,system,score\nq1,a,nan\nq1,b,0.2\nq2,a,0.1\nq2,b,0.3\n",
    "bad.run": "101 Q0 doc-00030 1 9.5 x\n101 Q0 doc-00049 2\n",
    "twice.run": "101 Q0 doc-00030 1 9.5 x\n101 Q0 doc-00030 2 9.1 x\n",
    "good.run": "101 Q0 doc-00030 1 9.5 x\n101 Q0 doc-00049 2 9.1 x\n102 Q0 doc-00052 1 3 x\n",
    "bad.qrels": "101 0 doc-00030 1\n101 0 doc-00049\n",
    "conflict.qrels": "101 0 doc-00030 1\n101 0 doc-00030 0\n",
    "torn.cran": "CRANFIELD",
}
