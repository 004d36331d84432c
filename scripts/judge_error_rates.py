"""Coverage, interval width and error rates of the methods for judges, from the real judges of TREC Deep Learning 2019.

    python scripts/judge_error_rates.py coverage --draws 20000 --shared ../shared
    python scripts/judge_error_rates.py gates family favour combination correlation design

The 43 topics with the scores of 37 runs (nDCG@10) are the population: topics are drawn from it with replacement, N of
them judged and the first n labelled by people. The same seed gives the same numbers.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import cranfield
from cranfield.methods.contrasts.estimates import GREATER
from cranfield.methods.design import Design, Goal, Sd, size
from cranfield.methods.design.cheapest import Costs
from cranfield.methods.design.labels import plan_labels
from cranfield.methods.judging import (
    CombinedJudge,
    JudgedScores,
    average_judge,
    best_combination,
    compare_judged,
    difference_correlation,
    estimate_pairs,
    favour,
)
from cranfield.methods.judging.estimators import ESTIMATORS, Moments, gated
from cranfield.runtime.random import Seed, generator, sequence
from cranfield.scores.evaluation import score_collection
from cranfield.stats.tails import t_critical

Array = npt.NDArray[Any]

JUDGES = ("llama3-70b-4prompts", "flan-t5-large-4prompts", "llama3-8b-baseline", "llama3-8b-generated-query")
ALPHA, RESAMPLES = 0.05, 499
TOPICS, JUDGED = (10, 15, 25), (43, 200)
BATCH = 500
GATED, MARGIN = ("regression", "human"), 0.02


@dataclass(frozen=True, eq=False)
class Population:
    """Scores of all topics under human labels and under each judge's."""

    human: Array
    judges: dict[str, Array]
    systems: tuple[str, ...]


def read_population(shared: Path) -> Population:
    folder = shared / "data" / "dl19"
    tables = {
        name: score_collection(cranfield.read_collection(folder / "runs", path), ["nDCG@10"])
        for name, path in (
            ("human", folder / "qrels.txt.gz"),
            *((judge, folder / "judges" / f"{judge}.txt.gz") for judge in JUDGES),
        )
    }
    scores = {name: np.asarray(table.of(None)) for name, table in tables.items()}
    human = scores.pop("human")
    return Population(human, scores, tables["human"].systems)


# --- coverage and width of single intervals


def drawn_moments(human: Array, judge: Array, mine: Array, rest: Array) -> Moments:
    """Moments of all pairs for several draws at once, from how often each draw has each topic (draws × topics)."""
    first, second = np.triu_indices(human.shape[1], k=1)
    d, e = (each[:, first] - each[:, second] for each in (human, judge))
    return Moments.redrawn(d, np.vstack([e, e]), np.hstack([mine, rest]))


def coverage(
    human: Array, judge: Array, *, topics: int, judged: int, draws: int, seed: Seed
) -> dict[str, tuple[float, float]]:
    """(share of intervals with the true difference, mean width over that of human labels) of every estimator."""
    first, second = np.triu_indices(human.shape[1], k=1)
    truth = human.mean(axis=0)[first] - human.mean(axis=0)[second]
    rng, even = generator(seed), np.full(len(human), 1 / len(human))
    inside, width, count = dict.fromkeys(ESTIMATORS, 0.0), dict.fromkeys(ESTIMATORS, 0.0), 0
    for start in range(0, draws, BATCH):
        size = min(BATCH, draws - start)
        mine, rest = (rng.multinomial(total, even, size).astype(float) for total in (topics, judged - topics))
        moments = drawn_moments(human, judge, mine, rest)
        known = moments.human_squares > 0
        count += int(known.sum())
        for name, estimator in ESTIMATORS.items():
            found = estimator(moments)
            least, most = found.df.min(), found.df.max()  # one of two: that of human labels is for fallbacks
            critical = np.where(found.df == most, t_critical(ALPHA / 2, most), t_critical(ALPHA / 2, least))
            reach = critical * found.standard_error
            inside[name] += float((np.abs(found.value - truth) <= reach)[known].sum())
            width[name] += float(reach[known].sum())
    return {name: (inside[name] / count, width[name] / width["human"]) for name in ESTIMATORS}


def show_coverage(population: Population, draws: int, seed: int) -> None:
    print(f"Coverage of 95 % intervals of all pairs, and width relative to human labels alone; {draws:,} draws\n")
    names = tuple(ESTIMATORS)
    print("| judge | N | n | " + " | ".join(f"{name} | width" for name in names) + " |")
    print("|---" * (3 + 2 * len(names)) + "|")
    for judge, scores in population.judges.items():
        for topics in TOPICS:
            stream = sequence(seed, "coverage", judge, topics)
            found = coverage(population.human, scores, topics=topics, judged=200, draws=draws, seed=stream)
            cells = " | ".join(f"{found[name][0]:.3f} | {found[name][1]:.2f}" for name in names)
            print(f"| {judge} | 200 | {topics} | {cells} |", flush=True)


# --- gates at their margin


def gate_errors(human: Array, judge: Array, *, topics: int, judged: int, draws: int, seed: Seed) -> dict[str, float]:
    """How often a candidate passes that is worse by exactly the margin, either system of every pair in its turn."""
    first, second = np.triu_indices(human.shape[1], k=1)
    truth = human.mean(axis=0)[first] - human.mean(axis=0)[second]
    rng, even = generator(seed), np.full(len(human), 1 / len(human))
    passed, count = dict.fromkeys(GATED, 0), 0
    for start in range(0, draws, BATCH):
        size = min(BATCH, draws - start)
        mine, rest = (rng.multinomial(total, even, size).astype(float) for total in (topics, judged - topics))
        moments = drawn_moments(human, judge, mine, rest)
        known = moments.human_squares > 0
        count += 2 * int(known.sum())
        for name in GATED:
            found = ESTIMATORS[name](moments)
            found = found if name == "human" else gated(found)
            for sign in (1, -1):
                worse = replace(found, value=sign * (found.value - truth) - MARGIN)
                passed[name] += int((worse.p(GREATER, MARGIN) <= ALPHA)[known].sum())
    return {name: passed[name] / count for name in GATED}


def show_gates(population: Population, draws: int, seed: int) -> None:
    print(f"Gates that pass at the margin, of {draws:,} draws of every pair; 200 judged topics, α = {ALPHA}\n")
    print("| judge | n | " + " | ".join(GATED) + " |")
    print("|---" * (2 + len(GATED)) + "|")
    for judge, scores in population.judges.items():
        for topics in TOPICS:
            stream = sequence(seed, "gates", judge, topics)
            found = gate_errors(population.human, scores, topics=topics, judged=200, draws=draws, seed=stream)
            cells = " | ".join(f"{found[name]:.3f}" for name in GATED)
            print(f"| {judge} | {topics} | {cells} |", flush=True)


# --- the family of all pairs


Null = Callable[[Array, Array, np.random.Generator], tuple[Array, Array]]


def permuted(human: Array, judge: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Human scores permuted within topics, the judge's as they are: r is about 0."""
    return rng.permuted(human, axis=1), judge


def permuted_together(human: Array, judge: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Human and judge's scores permuted alike within topics: r stays, and the judge has no bias."""
    order = np.argsort(rng.random(human.shape), axis=1)
    return np.take_along_axis(human, order, axis=1), np.take_along_axis(judge, order, axis=1)


def centred(human: Array, judge: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Human means made equal over the population, before topics are drawn: r and the judge's bias stay."""
    return human, judge


NULLS: dict[str, Null] = {"permuted": permuted, "permuted together": permuted_together, "centred": centred}


def equal_tables(
    population: Population, judge: str, null: str, *, topics: int, judged: int, tables: int, seed: Seed
) -> Iterator[JudgedScores]:
    """Tables of systems that are equal under human labels."""
    human, scores = population.human, population.judges[judge]
    if null == "centred":
        human = human - human.mean(axis=0)
    for number in range(tables):
        rng = generator(seed, number)
        drawn = rng.integers(0, len(human), judged)
        mine, judges = NULLS[null](human[drawn], scores[drawn], rng)
        yield JudgedScores(human=mine[:topics], judge=judges, rows=np.arange(topics))


def family_error(tables: Iterator[JudgedScores], estimator: str, test: str) -> float:
    """The share of tables in which some pair of equal systems is called different."""
    wrong = [
        compare_judged(table, estimator=estimator, test=test, resamples=RESAMPLES, seed=number).significant.any()
        for number, table in enumerate(tables)
    ]
    return float(np.mean(wrong))


def show_family(population: Population, tables: int, seed: int) -> None:
    print(f"Family-wise error rate of all pairs at α = {ALPHA}, {tables} tables each\n")
    print("| equal systems | judge | N | n | t with Holm | max-t | people alone, Holm |\n|---|---|---|---|---|---|---|")
    for null in NULLS:
        for judge in population.judges:
            for judged in JUDGED:
                for topics in TOPICS:
                    options = {"topics": topics, "judged": judged, "tables": tables}
                    stream = sequence(seed, "family", null, judge, judged, topics)
                    rates = [
                        family_error(equal_tables(population, judge, null, seed=stream, **options), estimator, test)
                        for estimator, test in (("regression", "t"), ("regression", "max-t"), ("human", "t"))
                    ]
                    cells = " | ".join(f"{rate:.3f}" for rate in rates)
                    print(f"| {null} | {judge} | {judged} | {topics} | {cells} |", flush=True)


# --- which systems a judge favours


def without_favour(human: Array, judge: Array, question: str) -> Array:
    """The judge's scores with means that are exactly a shift, or a curve, of the human ones."""
    means, human_means = judge.mean(axis=0), human.mean(axis=0)
    if question == "shift":
        expected = human_means + (means - human_means).mean()
    else:
        expected = np.polyval(np.polyfit(human_means, means, 2), human_means)
    return np.asarray(judge - means + expected)


def favour_rates(
    human: Array, judge: Array, question: str, *, topics: int, tables: int, seed: Seed, raised: Array
) -> tuple[float, float, float]:
    """(share of tables with a system named, share of ``raised`` systems named, tables with one of them named).

    The first is the error rate of a judge that favours none, the others those of one that raises some systems by .05.
    """
    honest = without_favour(human, judge, question)
    errors, shares = [], []
    for number in range(tables):
        drawn = generator(seed, number).integers(0, len(human), topics)
        found = []
        for scores in (honest, honest + 0.05 * raised):
            table = JudgedScores(human=human[drawn], judge=scores[drawn], rows=np.arange(topics))
            found.append(favour(table, question=question, alpha=ALPHA, resamples=RESAMPLES, seed=number))
        errors.append((found[0].p_value <= ALPHA).any())
        shares.append(found[1].favoured[raised].mean())
    return float(np.mean(errors)), float(np.mean(shares)), float(np.mean(np.array(shares) > 0))


def show_favour(population: Population, tables: int, seed: int) -> None:
    print(f"Favour: error rate of a judge that favours none, and detection of +.05 for the five idst runs; {tables}\n")
    print("| question | judge | n | error rate | raised systems named | any of them named |\n|---|---|---|---|---|---|")
    raised = np.array([name.startswith("idst") for name in population.systems])
    for question in ("shift", "departure"):
        for judge, scores in population.judges.items():
            for topics in (15, 25, 43, 100):
                stream = sequence(seed, "favour", question, judge, topics)
                rates = favour_rates(
                    population.human, scores, question, topics=topics, tables=tables, seed=stream, raised=raised
                )
                cells = " | ".join(f"{rate:.3f}" for rate in rates)
                print(f"| {question} | {judge} | {topics} | {cells} |", flush=True)


# --- several judges


Combine = Callable[[list[JudgedScores], int], CombinedJudge]


def combination_coverage(
    population: Population, combine: Combine, *, topics: int, judged: int, draws: int, seed: Seed
) -> tuple[float, float]:
    """(coverage, width relative to human labels alone) of the regression on combined judges, over all pairs."""
    human, judges = population.human, list(population.judges.values())
    first, second = np.triu_indices(human.shape[1], k=1)
    truth = human.mean(axis=0)[first] - human.mean(axis=0)[second]
    inside, width, alone = [], 0.0, 0.0
    for number in range(draws):
        drawn = generator(seed, number).integers(0, len(human), judged)
        rows = np.arange(topics)
        every = [JudgedScores(human=human[drawn[:topics]], judge=each[drawn], rows=rows) for each in judges]
        scores = combine(every, number).scores
        ends = [estimate_pairs(scores, name).interval(ALPHA) for name in ("regression", "human")]
        known = np.isfinite(ends[0][0]) & np.isfinite(ends[1][0])
        inside.append(((ends[0][0] <= truth) & (truth <= ends[0][1]))[known].mean())
        width += float((ends[0][1] - ends[0][0])[known].sum())
        alone += float((ends[1][1] - ends[1][0])[known].sum())
    return float(np.mean(inside)), width / alone


COMBINATIONS: dict[str, Combine] = {
    "average": lambda judges, _: average_judge(judges),
    "best combination": lambda judges, seed: best_combination(judges, seed=seed),
}


def show_combination(population: Population, draws: int, seed: int) -> None:
    print(
        f"Regression on several judges, N = 200, {draws} draws\n\n| judges | n | coverage | width |\n|---|---|---|---|"
    )
    for name, combine in COMBINATIONS.items():
        for topics in TOPICS:
            stream = sequence(seed, "combination", topics)
            rates = combination_coverage(population, combine, topics=topics, judged=200, draws=draws, seed=stream)
            print(f"| {name} | {topics} | {rates[0]:.3f} | {rates[1]:.2f} |", flush=True)


# --- the interval of the median correlation


def show_correlation(population: Population, draws: int, seed: int) -> None:
    print(
        f"Coverage of the 95 % interval of the median r, {draws} draws\n\n"
        "| judge | r | n = 15 | 25 | 43 |\n|---|---|---|---|---|"
    )
    human, rows = population.human, np.arange(len(population.human))
    for judge, scores in population.judges.items():
        truth = difference_correlation(JudgedScores(human=human, judge=scores, rows=rows)).median.value
        cells = []
        for topics in (15, 25, 43):
            inside = 0
            for number in range(draws):
                drawn = generator(seed, "correlation", judge, topics, number).integers(0, len(human), topics)
                table = JudgedScores(human=human[drawn], judge=scores[drawn], rows=np.arange(topics))
                found = difference_correlation(table).median
                inside += found.lower <= truth <= found.upper
            cells.append(f"{inside / draws:.3f}")
        print(f"| {judge} | {truth:.3f} | {' | '.join(cells)} |", flush=True)


# --- designs


def simulated_power(
    topics: int, judged: int, *, difference: float, sd: float, correlation: float, draws: int, seed: Seed
) -> float:
    """The share of simulated collections in which the regression finds the difference; d and e are normal."""
    rng, found = generator(seed), 0
    for start in range(0, draws, BATCH):
        size = min(BATCH, draws - start)
        e = rng.normal(size=(size, judged))
        noise = rng.normal(size=(size, topics))
        d = difference + sd * (correlation * e[:, :topics] + np.sqrt(1 - correlation**2) * noise)
        found += int((ESTIMATORS["regression"](Moments.of(d.T, e.T)).p_value <= ALPHA).sum())
    return found / draws


def show_design(draws: int, seed: int) -> None:
    print(f"Designs for a difference of .05, sd .15, power .80, costs 10 and 0.1; {draws:,} simulated collections\n")
    print("| r | n | N | cost | people alone | power | simulated |\n|---|---|---|---|---|---|---|")
    alone, costs = size(Design(spread=Sd(sd=0.15)), Goal("difference", 0.05)), Costs(topic=10, judged_topic=0.1)
    for row in plan_labels([alone], [0.3, 0.6, 0.9], costs)[0].to_dict():
        r, topics, judged = row["judge_correlation"], row["topics"], row["judged_topics"]
        power = simulated_power(
            topics,
            judged,
            difference=0.05,
            sd=0.15,
            correlation=r,
            draws=draws,
            seed=sequence(seed, "design", round(100 * r)),
        )
        counts = f"{topics} | {judged} | {row['cost']:.1f} | {row['human_topics_cost']:.1f}"
        print(f"| {r} | {counts} | {row['achieved_power']:.4f} | {power:.4f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("coverage", "gates", "family", "favour", "combination", "correlation", "design")
    parser.add_argument("parts", nargs="*", default=parts, help=", ".join(parts))
    parser.add_argument("--draws", type=int, default=20_000)
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    population = read_population(asked.shared)
    shows: dict[str, Callable[[], None]] = {
        "coverage": lambda: show_coverage(population, asked.draws, asked.seed),
        "family": lambda: show_family(population, asked.tables, asked.seed),
        "gates": lambda: show_gates(population, asked.draws, asked.seed),
        "favour": lambda: show_favour(population, asked.tables, asked.seed),
        "combination": lambda: show_combination(population, asked.tables, asked.seed),
        "correlation": lambda: show_correlation(population, asked.tables, asked.seed),
        "design": lambda: show_design(asked.draws, asked.seed),
    }
    for part in asked.parts:
        shows[part]()
        print()


if __name__ == "__main__":
    main()
