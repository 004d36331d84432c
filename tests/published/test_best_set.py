"""The systems that may be the best, and significant pairs, on real tables: the same numbers from every interface."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import cranfield as cf
from cranfield.cli.app import app
from cranfield.methods.contrasts.decisions import by_student
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import against, all_pairs
from cranfield.methods.contrasts.ranking import PairedT, standing
from sizes import sized

BEST_OF_TREC8 = ["READWARE2", "orcl99man", "iit99ma1", "CL99XTopt", "CL99XT", "CL99SDopt1"]


def compared(path: Path) -> Any:
    (found,) = cf.compare(path).comparisons.values()
    return found


def test_of_trec8s_129_runs_6_may_be_the_best_and_3085_pairs_differ(kept: Path) -> None:
    path = kept / "data" / "trec8" / "scores" / "map.csv"
    found = compared(path)
    assert (found.significant_pairs, list(found.top_group)) == (3085, BEST_OF_TREC8)
    board = next(iter(cf.leaderboard(path).boards.values())).comparison
    assert (board.significant_pairs, list(board.top_group)) == (3085, BEST_OF_TREC8)
    for command in ("compare", "leaderboard"):
        done = CliRunner().invoke(app, [command, str(path), "--json"])
        said = json.loads(done.stdout)
        assert (said["significant_pairs"], said["top_group"]) == (3085, BEST_OF_TREC8), command


@pytest.mark.parametrize(("name", "count"), [("P_10", 9), ("ndcg_cut_10", 9)])
def test_by_precision_and_ndcg_9_may_be_the_best(kept: Path, name: str, count: int) -> None:
    assert len(compared(kept / "data" / "trec8" / "scores" / f"{name}.csv.gz").top_group) == count


def test_of_robust04s_110_runs_8_may_be_the_best_and_3547_pairs_differ(kept: Path) -> None:
    found = compared(kept / "data" / "matrices" / "robust04_map.csv")
    assert (found.significant_pairs, len(found.top_group)) == (3547, 8)


def test_a_pair_of_real_runs_is_significant_exactly_when_it_shares_no_letter(kept: Path) -> None:
    found = compared(kept / "data" / "matrices" / "robust04_map.csv")
    letters = [set(each.split()) for each in found.letters]
    pairs = zip(found.first, found.second, found.significant, strict=True)
    assert all(bool(letters[a] & letters[b]) != significant for a, b, significant in pairs)


@pytest.fixture(scope="module")
def robust04(kept: Path) -> np.ndarray[Any, Any]:
    return np.asarray(cf.read_scores(kept / "data" / "matrices" / "robust04_map.csv").of(), float)


@pytest.mark.parametrize(("systems", "topics"), [(10, 10), (40, 25), (110, 50)])
def test_the_set_holds_the_best_system(robust04: Any, systems: int, topics: int) -> None:
    """With real means nearly always, and with equal ones, where any system is the best, as often as is promised."""
    rng, draws = np.random.default_rng(topics), sized(150, 1000)
    held = np.zeros(2)
    for _ in range(draws):
        population = robust04[:, rng.choice(robust04.shape[1], systems, replace=False)]
        drawn = population[rng.integers(0, len(population), topics)]
        means = population.mean(axis=0)
        held[0] += standing(PairedT(drawn), 0.05).may_be_best[means.argmax()]
        held[1] += standing(PairedT(drawn - means), 0.05).may_be_best[0]
    assert held[0] / draws >= 0.98
    assert held[1] / draws >= 0.9


@pytest.mark.parametrize("baseline", [False, True])
def test_t_with_holm_holds_alpha_among_real_systems_with_equal_means(robust04: Any, *, baseline: bool) -> None:
    rng, draws, wrong = np.random.default_rng(7), sized(400, 3000), 0
    contrasts = against(10, [0]) if baseline else all_pairs(10)
    for _ in range(draws):
        population = robust04[:, rng.choice(robust04.shape[1], 10, replace=False)]
        drawn = (population - population.mean(axis=0))[rng.integers(0, len(population), 25)]
        wrong += bool(by_student(Pairs(drawn, contrasts).fit(), alpha=0.05).shown.any())
    assert wrong / draws < 0.06 + 2 * np.sqrt(0.05 * 0.95 / draws)
