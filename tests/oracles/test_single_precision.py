"""Against pytrec_eval on real runs: it keeps scores in single precision, and so does ``precision="single"``."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval

import cranfield as cf

MEASURES = {
    "map": "AP",
    "P_10": "P@10",
    "recall_100": "R@100",
    "Rprec": "Rprec",
    "recip_rank": "RR",
    "bpref": "Bpref",
    "ndcg": "nDCG",
    "ndcg_cut_10": "nDCG@10",
}
RUNS = {"trec8": ("input.uwmt8a0.gz", "input.ok8alx.gz", "input.READWARE2.gz", "input.acsys8alo.gz"), "dl19": ("*",)}
"""All runs of both collections agree; of TREC-8 the tests try the one in which precision matters, and some others."""


def lines(path: Path) -> list[list[str]]:
    data = path.read_bytes()
    text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    return [line.split() for line in text.decode().splitlines()]


def read_run(path: Path) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for topic, _, document, _, score, _ in lines(path):
        found.setdefault(topic, {})[document] = float(score)
    return found


def test_every_score_of_a_run_is_pytrec_evals(shared: Path) -> None:
    for collection, patterns in RUNS.items():
        folder = shared / "data" / collection
        (qrels,) = folder.glob("qrels.txt*")
        files = sorted(file for pattern in patterns for file in (folder / "runs").glob(pattern))
        assert files
        assert_equals_pytrec_eval(files, qrels)


def test_scores_that_single_precision_cannot_hold_are_ranked_as_pytrec_eval_ranks_them(tmp_path: Path) -> None:
    """Scores that differ in the tenth digit, as those of uwmt8a0 do: ties in single precision, and none in double."""
    rng = np.random.default_rng(1)
    run, qrels = tmp_path / "run.txt", tmp_path / "qrels.txt"
    documents = [f"d{at:03d}" for at in range(200)]
    lines, judged = [], []
    for topic in map(str, range(1, 21)):
        scores = 300 + rng.integers(0, 60, 200) / 4 + rng.random(200) * 1e-7
        lines += [f"{topic} Q0 {d} 0 {score:.12f} made\n" for d, score in zip(documents, scores, strict=True)]
        judged += [f"{topic} 0 {d} {int(rng.random() < 0.2)}\n" for d in documents]
    run.write_text("".join(lines))
    qrels.write_text("".join(judged))
    assert_equals_pytrec_eval([run], qrels)
    double, single = (
        cf.score(str(run), qrels=str(qrels), measure="AP", source={"precision": precision}).table.of("AP")
        for precision in ("double", "single")
    )
    assert (double != single).all()


def assert_equals_pytrec_eval(files: list[Path], qrels: Path) -> None:
    judged: dict[str, dict[str, int]] = {}
    for topic, _, document, grade in lines(qrels):
        judged.setdefault(topic, {})[document] = int(grade)
    evaluator = pytrec_eval.RelevanceEvaluator(judged, set(MEASURES))
    names = list(MEASURES.values())
    for file in files:
        table = cf.score(
            str(file), qrels=str(qrels), measure=names, source={"precision": "single", "name": "file"}
        ).table
        theirs = evaluator.evaluate(read_run(file))
        for name, ours in MEASURES.items():
            got = dict(zip(table.topics, table.of(ours)[:, 0], strict=True))
            expected = {topic: theirs.get(topic, {}).get(name, 0.0) for topic in table.topics}
            assert got == pytest.approx(expected, abs=1e-12), (file.name, name)
