"""Draw every kind of chart of every question into a folder, to look at them: `python scripts/draw_charts.py FOLDER`.

The example collection of `cranfield demo` is always drawn. Where `CRANFIELD_SHARED` names a folder with real data,
TREC-8, MTEB and TREC 2019 Deep Learning are drawn as well. Further words are beginnings of names: `demo-size trec8`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cranfield as cf
from cranfield.errors import CranfieldError
from cranfield.questions import find_question
from cranfield.rendering.charts import write_chart
from cranfield.rendering.document import view

Asked = tuple[str, str, tuple[Any, ...], dict[str, Any]]
"""A name, a question, its data, and what is asked by the names of flags."""

WIDE = list(range(20, 201, 10))
DESIGNS: list[Asked] = [
    ("one", "size", (), {"difference": 0.05, "sd": 0.15}),
    ("list", "size", (), {"difference": [0.02, 0.05, 0.1], "sd": [0.1, 0.15], "systems": 10}),
    ("nine", "size", (), {"min_range": 0.1, "variance": [0.01 * at for at in range(2, 11)], "systems": [2, 10, 50]}),
    ("range", "size", (), {"min_range": 0.1, "variance": [0.053, 0.1208], "systems": list(range(2, 101, 2))}),
    ("width", "size", (), {"width": [0.05, 0.1, 0.2], "sd": 0.15}),
    (
        "replicates",
        "size",
        (),
        {"between": 0.0116, "within": 0.0062, "repeat_variance": 0.004, "difference": 0.05}
        | {"items": [1, 3, 5], "repeats": [1, 2, 5]},
    ),
    (
        "judge",
        "size",
        (),
        {"width": 0.1, "sd": 0.15, "judge_correlation": [0.3, 0.5, 0.7, 0.9], "human_cost": 10, "judge_cost": 0.1},
    ),
    ("one", "power", (), {"topics": 50, "sd": 0.15, "systems": 10}),
    ("list", "power", (), {"topics": WIDE, "sd": 0.15, "systems": 10}),
    ("pair", "power", (), {"topics": WIDE, "sd": 0.114}),
    ("range", "verify", (), {"systems": 10, "min_range": 0.1, "variance": 0.053}),
    ("sds", "study_trial", (), {"difference": 0.033, "sd": [0.12, 0.15, 0.18]}),
]


def of_scores(scores: Path, *, baseline: str, pair: tuple[str, str]) -> Iterator[Asked]:
    """The questions about a table of scores."""
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("", "size", {}),
        ("", "power", {}),
        ("", "compare", {}),
        ("tukey", "compare", {"test": "tukey"}),
        ("baseline", "compare", {"baseline": baseline}),
        ("", "leaderboard", {}),
        ("", "variance", {}),
        ("", "reliability", {"trials": 50}),
        ("", "simulate", {"topics": 100}),
        ("", "study_past", {"difference": 0.033}),
        ("", "study_peek", {"first": 20}),
        ("pair", "study_simulate", {"system": pair[0], "baseline": pair[1], "difference": 0.04, "repeats": 500}),
        ("pairs", "study_simulate", {"pairs": 20, "repeats": 200}),
        ("scores", "study_trial", {"trial_size": 20}),
    ]
    return ((name, question, (str(scores),), more) for name, question, more in asked)


def of_runs(runs: Path, qrels: Path, *, teams: Path | None, judges: list[str], measures: list[str]) -> Iterator[Asked]:
    """The questions about runs and judgments."""
    files = {"qrels": str(qrels), "measure": measures}
    left_out = {"teams": str(teams)} if teams else {}
    yield "", "score", (str(runs),), files
    yield "", "shards", (str(runs),), {**files, "shards": [2, 3], "samples": 3}
    yield "", "budget", (str(runs),), {**files, "min_range": 0.15}
    yield "cost", "budget", (str(runs),), {**files, "budget": 20000}
    yield "pairs", "budget", (str(runs),), {**files, "measure": measures[:1], "pairs": 200}
    yield "judges", "judges", (str(runs),), {**files, "measure": measures[-1:], "judge": judges}
    if teams:
        yield "", "pilot", (str(runs),), {**files, **left_out}
        yield "reuse", "budget", (str(runs),), {**files, **left_out, "reuse": True}


def demo(folder: Path) -> Iterator[Asked]:
    """The example collection."""
    cf.write_example(folder, seed=1)
    runs, qrels, teams = folder / "runs", folder / "qrels.txt", folder / "teams.tsv"
    both, one = folder / "both.csv", folder / "scores.csv"
    for path, measures in ((both, ["AP", "nDCG@10"]), (one, ["AP"])):
        cf.write_scores(cf.score(str(runs), qrels=str(qrels), measure=measures).table, path)
    yield from of_scores(one, baseline="cleverdon1", pair=("cleverdon2", "cleverdon1"))
    for question in ("compare", "reliability", "power", "size"):
        yield "measures", question, (str(both),), {}
    judges = [f"model={folder / 'judge.txt'}"]
    yield from of_runs(runs, qrels, teams=teams, judges=judges, measures=["AP", "nDCG@10"])
    header, *lines = one.read_text(encoding="utf-8").splitlines()
    parts = [folder / f"collection{at}.csv" for at in range(3)]
    for at, part in enumerate(parts):
        kept = [line for line in lines if int(line.split(",")[1]) % 3 == at]
        part.write_text("\n".join([header, *kept]) + "\n", encoding="utf-8")
    yield "collections", "leaderboard", (list(map(str, parts)),), {}


def real(shared: Path) -> Iterator[tuple[str, Iterator[Asked]]]:
    """The collections of the folder with real data."""
    trec8, mteb, dl19 = (shared / "data" / name for name in ("trec8", "mteb", "dl19"))
    yield "trec8", of_scores(trec8 / "scores/map.csv", baseline="ok8alx", pair=("READWARE2", "orcl99man"))
    yield "mteb", iter([("", name, (str(mteb / "mteb_eng_v2.csv"),), {}) for name in ("leaderboard", "compare")])
    labels = [f"{path.name.split('-4')[0].split('.')[0]}={path}" for path in sorted((dl19 / "judges").glob("*.gz"))]
    yield "dl19", of_runs(dl19 / "runs", dl19 / "qrels.txt.gz", teams=None, judges=labels, measures=["nDCG@10"])


def draw(name: str, asked: Asked, folder: Path) -> None:
    """Ask, and draw every kind of chart that the answer has."""
    _, question, data, more = asked
    began = time.perf_counter()
    try:
        result = find_question(question).ask(*data, **more)
    except CranfieldError as error:
        print(f"{name}: {error.what}", flush=True)
        return
    for kind in view(type(result)).charts:
        try:
            write_chart(result.chart(kind), str(folder / f"{name}-{kind}.png"))
        except CranfieldError as error:
            print(f"{name} {kind}: {error.what}", flush=True)
    print(f"{name}: {time.perf_counter() - began:.1f} s", flush=True)


def main(folder: Path, *chosen: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shared = os.environ.get("CRANFIELD_SHARED")
    with tempfile.TemporaryDirectory() as work:
        sets = [("design", iter(DESIGNS)), ("demo", demo(Path(work))), *(real(Path(shared)) if shared else [])]
        for data, questions in sets:
            for asked in questions:
                name = "-".join(filter(None, (data, asked[1].replace("_", "-"), asked[0])))
                if not chosen or name.startswith(chosen):
                    draw(name, asked, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
