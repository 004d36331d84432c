"""All analyses of reliability, for every measure of every table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.errors import Caution, RequestError
from cranfield.methods.contrasts.comparing import check_test
from cranfield.methods.design.pair_sizes import Bin, pair_sizes
from cranfield.methods.design.planning import scales_of
from cranfield.methods.design.target import Target, target_for
from cranfield.methods.reliability.generalisability import ABSOLUTE, RELATIVE, Generalisability, generalise, indicators
from cranfield.methods.reliability.replicability import (
    Discrimination,
    RankStability,
    SplitHalves,
    discriminative_power,
    rank_stability,
    split_halves,
)
from cranfield.methods.reliability.swaps import SwapRates, swap_rates
from cranfield.methods.reliability.topic_samples import (
    check_alpha,
    check_confidence,
    check_target,
    check_topics,
    chosen_scores,
)
from cranfield.runtime.random import sequence
from cranfield.scores import ScoreTable
from cranfield.stats.family import DEFAULT_TEST
from cranfield.types import Progress

Row = dict[str, Any]

CITATIONS = (
    "Brennan2001",
    "Feldt1965",
    "Arteaga1982",
    "Urbano2013",
    "VoorheesBuckley2002",
    "LinHauptmann2005",
    "Dincer2013",
    "Yilmaz2008",
    "Sakai2006",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasureReliability:
    """One measure of one table; ``target`` is the default goal of a design, for its systems."""

    collection: str
    measure: str
    generalisability: Generalisability
    swaps: SwapRates
    halves: SplitHalves
    discrimination: Discrimination
    rankings: RankStability
    bins: tuple[Bin, ...]
    target: Target

    @property
    def required_topics(self) -> int | None:
        """The topics that the default goal requires; None where no number is enough."""
        topics = float(self.target.topics(np.asarray(self.generalisability.squares.residual, float)))
        return int(topics) if topics == topics else None

    def observed_difference(self, topics: int) -> float:
        """Dinçer (2013), Table 4: the mean difference of the closest pairs (bins of .01) for which n topics suffice."""
        enough = [each for each in self.bins if each.pairs and each.topics_paired <= topics]
        return enough[0].difference if enough else float("nan")


@dataclass(frozen=True, kw_only=True, eq=False)
class Reliability:
    """The reliability of collections.

    ``topics`` are the numbers of topics for coefficients, in addition to those of the sets drawn; ``targets`` are the
    target values of the coefficients.
    """

    studies: tuple[MeasureReliability, ...]
    topics: tuple[int, ...]
    targets: tuple[float, ...]
    test: str
    alpha: float
    confidence: float
    drop: float
    trials: int
    seed: int
    citations: tuple[str, ...] = CITATIONS

    @property
    def correct(self) -> str:
        """The correction for several pairs; none of a single one."""
        return self.studies[0].discrimination.correct

    def get(self, measure: str | None = None, collection: str | None = None) -> MeasureReliability:
        """Return one study: the only one by default."""
        found = [
            each
            for each in self.studies
            if (measure is None or each.measure == measure) and (collection is None or each.collection == collection)
        ]
        if len(found) != 1:
            what = "there is no such study" if not found else "there are several studies"
            there = ", ".join(dict.fromkeys(each.measure for each in self.studies))
            raise RequestError(what, fix=f"Name a measure ({there}) and, where there are several, a collection.")
        return found[0]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about negative variance estimates."""
        return tuple(
            f"{each.measure}: the variance of the source «{source}» is estimated below 0 and counts as 0"
            for each in self.studies
            for source in each.generalisability.negative
        )

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Warnings about the test of all pairs, with the measure where there are several."""
        several = len(self.studies) > 1
        return tuple(
            replace(caution, what=f"{each.measure}: {caution.what}") if several else caution
            for each in self.studies
            for caution in each.discrimination.warnings
        )

    def to_dict(self, part: str = "headline") -> list[Row]:
        """Rows of one part: headline, components, coefficients, topics_needed, indicators, swaps, …"""
        if part not in PARTS:
            raise RequestError(f"there is no part «{part}»", fix=f"Choose one of: {', '.join(PARTS)}.")
        several = len({each.collection for each in self.studies}) > 1
        return [
            {"collection": each.collection, **row} if several else row
            for each in self.studies
            for row in PARTS[part](self, each)
        ]

    def to_frame(self, part: str = "headline", backend: str = "pandas") -> Any:
        """The rows of one part as a data frame of pandas, Polars or PyArrow."""
        from cranfield.scores.frames import rows_frame

        return rows_frame(self.to_dict(part), backend)


def _headline(whole: Reliability, each: MeasureReliability) -> list[Row]:
    study, target = each.generalisability, whole.targets[0]
    row: Row = {"measure": each.measure, "topics": study.topics, "systems": study.systems}
    for kind, word in ((RELATIVE, "e_rho2"), (ABSOLUTE, "phi")):
        found, needed = study.coefficient(kind), study.topics_for(target, kind)
        row |= {word: found.value, f"{word}_lower": found.lower, f"{word}_upper": found.upper}
        row |= {
            f"topics_for_{word}": needed.topics,
            f"topics_for_{word}_lower": needed.lower,
            f"topics_for_{word}_upper": needed.upper,
        }
    return [
        row
        | {
            "target": target,
            "difference": each.target.value,
            "topics_for_difference": each.required_topics,
            "discriminative_power": each.discrimination.share,
            **{name: each.halves.replication.share(name) for name in ("replicated", "reversed", "opposite_sign")},
            "swap_rate": each.swaps.closed_form_overall(study.topics, paired=True),
            "dependable_difference": each.swaps.dependable_difference(study.topics, alpha=whole.alpha),
            "tau": each.rankings.expected_true_tau(study.topics),
        }
    ]


def _components(whole: Reliability, each: MeasureReliability) -> list[Row]:
    return each.generalisability.to_dict()


def _coefficients(whole: Reliability, each: MeasureReliability) -> list[Row]:
    return [
        {
            "measure": each.measure,
            "coefficient": word,
            "topics": topics,
            "value": found.value,
            "lower": found.lower,
            "upper": found.upper,
        }
        for topics in whole.topics
        for kind, word in ((RELATIVE, "e_rho2"), (ABSOLUTE, "phi"))
        for found in [each.generalisability.coefficient(kind, topics)]
    ]


def _topics_needed(whole: Reliability, each: MeasureReliability) -> list[Row]:
    return [
        {
            "measure": each.measure,
            "coefficient": word,
            "target": target,
            "topics": found.topics,
            "lower": found.lower,
            "upper": found.upper,
        }
        for target in whole.targets
        for kind, word in ((RELATIVE, "e_rho2"), (ABSOLUTE, "phi"))
        for found in [each.generalisability.topics_for(target, kind)]
    ]


def _indicators(whole: Reliability, each: MeasureReliability) -> list[Row]:
    study = each.generalisability
    return [
        {"measure": each.measure, "topics": n, **vars(indicators(study.relative(n).value, study.absolute(n).value))}
        for n in whole.topics
    ]


def _swap_totals(whole: Reliability, each: MeasureReliability) -> list[Row]:
    rows = each.swaps.totals(whole.topics, rate=whole.alpha)
    return [row | {"difference_observed": each.observed_difference(row["topics"])} for row in rows]


PARTS: Mapping[str, Callable[[Reliability, MeasureReliability], list[Row]]] = {
    "headline": _headline,
    "components": _components,
    "coefficients": _coefficients,
    "topics_needed": _topics_needed,
    "indicators": _indicators,
    "swaps": lambda whole, each: each.swaps.to_dict(),
    "swap_totals": _swap_totals,
    "halves": lambda whole, each: each.halves.to_dict(),
    "discrimination": lambda whole, each: each.discrimination.to_dict(),
    "p_values": lambda whole, each: each.discrimination.curve(),
    "rankings": lambda whole, each: each.rankings.to_dict(whole.topics),
}


def assess_reliability(
    tables: ScoreTable | Mapping[str, ScoreTable],
    *,
    topics: Sequence[int] = (),
    targets: Sequence[float] = (0.95,),
    sizes: Sequence[int] | None = None,
    test: str | None = None,
    correct: str | None = None,
    alpha: float = 0.05,
    confidence: float = 0.95,
    drop: float = 0.0,
    trials: int = 1000,
    resamples: int = 10_000,
    replacement: bool = False,
    shared: bool = True,
    seed: int = 1,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Reliability:
    """Assess the reliability of a collection by all methods.

    Parameters
    ----------
    tables
        A score table, or several by the name of their collection; every measure is analysed.
    topics
        Numbers of topics for which coefficients are computed; by default those of the table, twice and four times as
        many.
    targets
        Target values of Eρ² and Φ.
    sizes
        Topics in the sets that are drawn; by default five sizes up to half the topics.
    test, correct, alpha, resamples
        As in ``compare``, for split halves and discriminative power; paired t with Holm's correction by default.
    drop
        The share of the worst systems to leave out.
    trials
        Draws of topic sets for swaps and rankings, and halvings.
    replacement, shared
        How the sets for swaps are drawn, as in ``swap_rates``.
    """
    named = {"": tables} if isinstance(tables, ScoreTable) else dict(tables)
    jobs = [(name, table, measure) for name, table in named.items() for measure in table.measures]
    _check(jobs, topics, targets, alpha, drop)  # all of it, before the first is worked on
    test = test or DEFAULT_TEST
    check_test(test, correct)
    check_confidence(confidence)
    common: dict[str, Any] = {"drop": drop}
    tested: dict[str, Any] = {"test": test, "correct": correct, "alpha": alpha}
    drawn: dict[str, Any] = {"trials": trials, "sizes": sizes, "workers": workers}
    found = []
    steps = _Steps(progress, 4 * len(jobs))
    for name, table, measure in jobs:
        # The names of several collections keep their streams apart; one alone has the numbers of its parts alone.
        stream = seed if len(named) == 1 else sequence(seed, "collection", name)
        mine: dict[str, Any] = {"measure": measure, "seed": stream, **common}
        study = generalise(table, measure=measure, drop=drop, confidence=confidence)
        swaps = swap_rates(table, replacement=replacement, shared=shared, progress=steps.next(), **drawn, **mine)
        # Rankings are compared on disjoint sets, whatever swaps are made of.
        sets = sizes if shared and not replacement else None
        rankings = rank_stability(table, study=study, progress=steps.next(), **{**drawn, "sizes": sets}, **mine)
        again: dict[str, Any] = {"trials": trials, "resamples": min(resamples, 1000), "workers": workers}
        halves = split_halves(table, progress=steps.next(), **again, **tested, **mine)
        power = discriminative_power(table, resamples=resamples, **tested, **mine)
        steps.next()(1, 1)
        kept = chosen_scores(table, measure, drop=drop)[1]
        chosen = table.select(systems=kept, measures=[measure])
        bins = tuple(pair_sizes(chosen, measure=measure, alpha=alpha).bins())
        found.append(
            MeasureReliability(
                collection=name,
                measure=measure,
                generalisability=study,
                swaps=swaps,
                halves=halves,
                discrimination=power,
                rankings=rankings,
                bins=bins,
                target=target_for(len(kept), alpha=alpha, scales=scales_of(chosen)).of(measure),
            )
        )
    ahead = tuple(topics) or _ahead(found)
    return Reliability(
        studies=tuple(found),
        topics=ahead,
        targets=tuple(targets),
        test=test,
        alpha=alpha,
        confidence=confidence,
        drop=drop,
        trials=trials,
        seed=seed,
    )


def _check(
    jobs: Sequence[tuple[str, ScoreTable, str]],
    topics: Sequence[int],
    targets: Sequence[float],
    alpha: float,
    drop: float,
) -> None:
    if not jobs:
        raise RequestError("no scores were given", fix="Give a score table.")
    if not targets:
        raise RequestError("there is no target", fix="Name one, e.g. 0.95.")
    check_alpha(alpha)
    for target in targets:
        check_target(target)
    for count in topics:
        check_topics(count)
    for _, table, measure in jobs:
        chosen_scores(table, measure, drop=drop, least_topics=4)


class _Steps:
    """How far all the work is, told by the parts of it one after the other."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.started = progress, total, 0

    def next(self) -> Progress:
        """What the next part is to call."""
        before, self.started = self.started, self.started + 1

        def inner(done: int, total: int) -> None:
            if self.progress is not None:
                self.progress(100 * before + 100 * done // total, 100 * self.total)

        return inner


def _ahead(found: Sequence[MeasureReliability]) -> tuple[int, ...]:
    here = sorted({each.generalisability.topics for each in found})
    return tuple(np.unique([part for n in here for part in (max(n // 2, 1), n, 2 * n, 4 * n)]).tolist())
