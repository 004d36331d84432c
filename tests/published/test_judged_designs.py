"""Designs for TREC DL 2019 with two label sets: planned from r and sd, tried on its topics drawn with replacement."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import cranfield as cf
from cranfield.methods.design import Judged
from cranfield.methods.design.cheapest import Costs
from cranfield.methods.judging import JudgedScores, difference_correlation
from cranfield.methods.judging.two_phase_stopping import stopped
from cranfield.methods.verification import PlannedDesign, verify
from designs import design_for_power, judged_width
from judged_population import made_population
from sizes import margin

MEASURE = "nDCG@10"
DIFFERENCE = 0.08


@pytest.fixture(scope="module")
def dl19(shared: Path) -> dict[str, JudgedScores]:
    """Scores of the 37 runs under human labels and under two of the judges."""
    folder = shared / "data" / "dl19"
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}")
    human = scores(folder, folder / "qrels.txt.gz")
    judges = ("llama3-70b-4prompts", "llama3-8b-generated-query")
    return {
        name: JudgedScores(
            human=human, judge=scores(folder, folder / "judges" / f"{name}.txt.gz"), rows=np.arange(len(human))
        )
        for name in judges
    }


def scores(folder: Path, qrels: Path) -> np.ndarray:
    return cf.score(folder / "runs", qrels=str(qrels), measure=MEASURE).table.of(MEASURE)


@pytest.mark.proof
@pytest.mark.parametrize(("judge", "r"), [("llama3-70b-4prompts", 0.7305), ("llama3-8b-generated-query", 0.4681)])
def test_a_design_from_the_pilot_has_about_its_power_on_the_pilots_topics(
    dl19: dict[str, JudgedScores], judge: str, r: float
) -> None:
    """Pairs differ in sd and r: the average power of pairs is about that of a pair with the average sd and median r."""
    pilot = dl19[judge]
    found_r = difference_correlation(pilot).median.value
    assert found_r == pytest.approx(r, abs=0.0005)
    assert_power(pilot, found_r, collections=10_000)


def test_a_design_has_about_its_power_on_the_topics_of_a_pilot_that_is_drawn(
    load_script: Callable[[str], ModuleType],
) -> None:
    made = made_population(load_script("judge_error_rates"))
    pilot = JudgedScores(human=made.human, judge=made.judges["flan-t5-large-4prompts"], rows=np.arange(43))
    assert_power(pilot, difference_correlation(pilot).median.value, collections=2000)


def assert_power(pilot: JudgedScores, found_r: float, *, collections: int) -> None:
    first, second = np.triu_indices(pilot.systems, k=1)
    sd = float(np.sqrt(np.mean((pilot.human[:, first] - pilot.human[:, second]).var(axis=0, ddof=1))))
    cheapest = design_for_power(DIFFERENCE, sd, found_r, Costs(topic=10, judged_topic=0.1))
    assert cheapest.topics is not None
    design = PlannedDesign(
        source="size",
        test="t",
        systems=2,
        topics=cheapest.topics,
        spread=Judged(sd=sd, judge_correlation=found_r, judged_topics=cheapest.judged_topics),
        difference=DIFFERENCE,
        goal="difference",
    )
    found = verify(design, pilot, collections=collections, tolerance=0.001, search=False)
    assert found.power.rate == pytest.approx(0.8, abs=0.014 + margin(0.8, collections))
    assert found.error.rate == pytest.approx(0.05, abs=0.006 + margin(0.05, collections))


@pytest.mark.proof
def test_stopping_at_a_width_costs_some_coverage_on_real_topics(dl19: dict[str, JudgedScores]) -> None:
    """Pairs of runs drawn at random; 300 studies each on topics drawn with replacement, the first look at 20."""
    pilot, rng, found = dl19["llama3-8b-generated-query"], np.random.default_rng(3), []
    for _ in range(40):
        first, second = rng.choice(pilot.systems, 2, replace=False)
        d, e = (scores[:, first] - scores[:, second] for scores in (pilot.human, pilot.judge))
        rows = rng.integers(0, pilot.topics, (200, 300))
        width = float(judged_width(40, 200, d.std(), np.corrcoef(d, e)[0, 1]))
        covered, _ = stopped(d[rows], e[rows], float(d.mean()), width=width, alpha=0.05, first=20, step=5)
        found.append(covered)
    assert float(np.mean(found)) == pytest.approx(0.926, abs=0.012)
