# mypy: disable-error-code="no-untyped-call"
"""Small questions of objects in memory, all tools by turns in one process: what each takes, or what it lacks."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from benchmarks.jobs import clock
from benchmarks.sizes import sized

Work = Callable[[], Any]
TOPICS, DEPTH, JUDGED = sized((50, 100, 200), (3, 5, 10))
MEASURES = ["AP", "P@10", "nDCG@10"]


def scoring(runs: str) -> None:
    """Every run of a dict scored against judgments in a dict."""
    draw = np.random.default_rng(1)
    pool = [f"doc{at}" for at in range(3 * JUDGED)]
    qrels = {f"q{topic}": {name: int(draw.random() < 0.3) for name in pool[:JUDGED]} for topic in range(TOPICS)}
    ranked = {f"s{at}": {topic: _ranking(draw, pool, DEPTH) for topic in qrels} for at in range(int(runs))}
    _measure(_scoring_ways(qrels, ranked))


def one_topic() -> None:
    """One topic with two documents: what a call costs before anything is scored."""
    _measure(_scoring_ways({"q": {"a": 1, "b": 0}}, {"s": {"q": {"a": 1.0, "b": 0.5}}}))


def comparing(systems: str) -> None:
    """Systems on 50 topics by the default test; and a t test for every pair, with Holm's correction."""
    draw = np.random.default_rng(1)
    scores = {
        f"s{at}": dict(zip(map(str, range(50)), draw.random(50).tolist(), strict=True)) for at in range(int(systems))
    }
    _measure({"cranfield": lambda: _compare(scores), "scipy.stats.ttest_rel": lambda: _t_tests(scores)})


def _ranking(draw: np.random.Generator, pool: list[str], depth: int) -> dict[str, float]:
    chosen = draw.permutation(len(pool))[:depth].tolist()
    return {pool[at]: float(depth - rank) for rank, at in enumerate(chosen)}


def _scoring_ways(qrels: Any, runs: Any) -> dict[str, Callable[[], Work]]:
    return {
        "cranfield": lambda: _cranfield(qrels, runs),
        "cranfield, judgments prepared": lambda: _prepared(qrels, runs),
        "pytrec_eval": lambda: _pytrec_eval(qrels, runs),
        "ir_measures": lambda: _ir_measures(qrels, runs),
        "ranx": lambda: _ranx(qrels, runs),
    }


def _cranfield(qrels: Any, runs: Any) -> Work:
    import cranfield

    return lambda: cranfield.score(runs, qrels=qrels, measure=MEASURES)


def _prepared(qrels: Any, runs: Any) -> Work:
    import cranfield

    if not hasattr(cranfield, "judgments"):
        raise ImportError("cranfield.judgments is not there")
    return _cranfield(cranfield.judgments(qrels), runs)


def _pytrec_eval(qrels: Any, runs: Any) -> Work:
    import pytrec_eval

    names = {"map", "P_10", "ndcg_cut_10"}

    def score() -> None:
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, names)
        for run in runs.values():
            evaluator.evaluate(run)

    return score


def _ir_measures(qrels: Any, runs: Any) -> Work:
    import ir_measures
    from ir_measures import AP, P, nDCG

    return lambda: [ir_measures.calc_aggregate([AP, P @ 10, nDCG @ 10], qrels, run) for run in runs.values()]


def _ranx(qrels: Any, runs: Any) -> Work:
    import ranx

    names = ["map", "precision@10", "ndcg@10"]
    return lambda: [ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), names) for run in runs.values()]


def _compare(scores: Any) -> Work:
    import cranfield

    return lambda: cranfield.compare(scores)


def _t_tests(scores: Any) -> Work:
    from scipy import stats
    from statsmodels.stats.multitest import multipletests

    rows = [list(by_topic.values()) for by_topic in scores.values()]

    def test() -> None:
        p = [stats.ttest_rel(first, second).pvalue for first, second in combinations(rows, 2)]
        if len(p) > 1:
            multipletests(p, method="holm")

    return test


def _measure(ways: dict[str, Callable[[], Work]]) -> None:
    """Each way once to compile and to fill its caches, then all by turns; the fastest of each counts."""
    works, lacking = {}, {}
    for name, make in ways.items():
        try:
            works[name] = make()
        except ImportError as error:
            lacking[name] = f"{error.name} is not installed" if error.name else str(error)
    for work in works.values():
        work()
    rounds = [
        {name: clock.fastest(work, at_most=5, budget=1) for name, work in works.items()} for _ in range(sized(5, 1))
    ]
    clock.answer(seconds={name: min(times[name] for times in rounds) for name in works}, lacking=lacking)


if __name__ == "__main__":
    clock.start(globals())
