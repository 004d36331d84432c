"""Simulations and verifications as documents and charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.methods.simulation.fit_quality import Simulation
from cranfield.methods.verification.batch_tests import TITLES
from cranfield.methods.verification.monte_carlo import MOST_COLLECTIONS, Verification
from cranfield.questions.simulate import SimulationResult
from cranfield.questions.verify import VerificationResult
from cranfield.rendering.design_charts import verify_chart
from cranfield.rendering.document import Column, Document, Table, View
from cranfield.rendering.drawing import Chart
from cranfield.rendering.output_formats import scores_csv
from cranfield.rendering.simulation_charts import CHARTS, fit_chart

CITATIONS = {
    "rows": ("SilvermanYoung1987", "UrbanoNagler2018"),
    "gaussian": ("UrbanoNagler2018", "CarioNelson1997"),
    "vine": ("UrbanoNagler2018", "Aas2009"),
}
MOST_SYSTEMS = 40


def _simulation_view(result: SimulationResult) -> Document:
    """Return the model of each measure, and the observed and simulated scores of each system."""
    found = result.simulation
    fit, simulator = found.fit, found.simulator
    rows = fit.to_dict()
    differences = [each.to_dict() for each in fit.differences]
    tables = [
        _measures_table(found),
        *([_differences_table(differences)] if differences else []),
        _systems_table(rows, sharded=bool(simulator.shards)),
    ]
    gaps = np.abs(fit.correlation_gaps)
    extra = {
        "topics": fit.topics,
        "seen_topics": fit.seen_topics,
        "dependence": simulator.dependence,
        "pairs_by_copula": simulator.copula.describe(),
        "differences": differences,
        "correlation_off": fit.correlation_off,
        "correlation_off_most": float(gaps.max()) if len(gaps) else 0.0,
        "outside_support": fit.outside,
    }
    citations = CITATIONS[simulator.dependence]
    return Document(
        method="simulate",
        inputs=result.inputs,
        tables=tables,
        rows=rows,
        answer=found.summary(),
        citations=citations,
        seed=found.seed,
        extra=extra,
    )


def _measures_table(found: Simulation) -> Table:
    simulator = found.simulator
    count = len(simulator.margins) // len(simulator.measures)
    rows = []
    for at, measure in enumerate(simulator.measures):
        families = [margin.family for margin in simulator.margins[at * count : (at + 1) * count]]
        shapes = ", ".join(f"{family} {families.count(family)}" for family in dict.fromkeys(sorted(families)))
        pairs = ", ".join(f"{name} {number:,}" for name, number in simulator.copula.describe().items())
        rows.append((measure, simulator.supports[at].name, shapes, simulator.dependence, pairs))
    columns = (
        Column("measure", "measure"),
        Column("support", "support"),
        Column("margins", "margins"),
        Column("dependence", "dependence"),
        Column("pairs", "pairs by copula"),
    )
    return Table(columns, rows, "Fitted")


def _differences_table(rows: list[dict[str, Any]]) -> Table:
    """Return the median spread, skew and tails of the differences of all pairs of systems."""
    titles = {
        "simulated_sd": "simulated",
        "sd_ratio_lower": "ratio of sds",
        "sd_ratio_upper": "high",
        "skew": "size of skew",
        "simulated_skew": "simulated",
        "kurtosis": "excess kurtosis",
        "simulated_kurtosis": "simulated",
    }
    kinds = {"measure": "text", "pairs": "count"}
    columns = tuple(Column(word, titles.get(word, word), kinds.get(word, "number")) for word in rows[0])
    return Table(columns, [tuple(row.values()) for row in rows], "Differences of pairs of systems, medians")


def _systems_table(rows: list[dict[str, Any]], *, sharded: bool) -> Table:
    words = (
        "measure",
        "system",
        *(("shard",) if sharded else ()),
        "family",
        "mean",
        "simulated_mean",
        "mean_off",
        "variance",
        "simulated_variance",
        "variance_off",
        "distance",
    )
    titles = {
        "simulated_mean": "simulated",
        "mean_off": "difference (s.e.)",
        "simulated_variance": "simulated",
        "variance_off": "difference (s.e.)",
        "distance": "distance (K–S)",
        "family": "margin",
    }
    texts = ("measure", "system", "shard", "family")
    kinds = {"mean": "score", "simulated_mean": "score"}
    columns = tuple(
        Column(word, titles.get(word, word), "text" if word in texts else kinds.get(word, "number")) for word in words
    )
    title = caption = "Observed and simulated scores"
    shown = rows
    if len(rows) > MOST_SYSTEMS:
        shown = sorted(rows, key=lambda row: -max(abs(row["mean_off"]), abs(row["variance_off"])))[:MOST_SYSTEMS]
        title += f" (the {MOST_SYSTEMS} farthest off; all {len(rows):,} in the JSON and CSV output)"
        caption += f" (the {MOST_SYSTEMS} farthest off, of {len(rows):,})"
    return Table(columns, [tuple(row.get(word) for word in words) for row in shown], title, caption=caption)


def _chart(kind: str) -> Callable[[SimulationResult], Chart]:
    return lambda result: CHARTS[kind](result.simulation)


VERIFICATION_CITATIONS = ("Sakai2014", "UrbanoNagler2018", "Wilson1927", "Robbins1970")

MOST_LOOKS = 12  # of the curve, nearest to the target


def _verification_view(result: VerificationResult) -> Document:
    """Return one row per design: required and achieved power, the verdict, and the number of topics that is enough."""
    found = result.verifications
    rows = [each.to_dict() for each in found]
    level = f"{100 * found[0].confidence:g} %"
    tables = [_power_table(rows, level), _rates_table(rows, level)]
    if len(found) == 1 and found[0].curve:
        tables.append(_curve_table(found[0]))
    extra = {"curves": [[look.to_dict() for look in each.curve] for each in found]}
    answer = _each(found) if len(found) <= 3 else _many(found)
    left_out = sorted({name for each in found for name in each.left_out})
    if left_out:
        names = ", ".join(left_out[:5]) + (f" and {len(left_out) - 5} more" if len(left_out) > 5 else "")
        answer += f" Left out, because their scores cannot have the means of the design: {names}.{_without_them(found)}"
    return Document(
        method="verify",
        inputs=result.inputs,
        tables=tables,
        rows=rows,
        answer=answer,
        citations=VERIFICATION_CITATIONS,
        seed=found[0].seed,
        extra=extra,
    )


def _each(found: Sequence[Verification]) -> str:
    """What is found of every design, with its measure where there are several."""
    several = len({each.design.measure for each in found}) > 1
    return "\n".join(f"{each.design.measure}: " * several + sentence(each) for each in found)


def sentence(found: Verification) -> str:
    """Whether the topics of a design are enough, how many are, and the error rate."""
    design, (lower, upper) = found.design, found.power.interval
    formula = "" if math.isnan(design.promised_power) else f" (the formula says {design.promised_power:.2f})"
    among, estimator = "", ""
    if design.judged_topics:
        among = f" labelled by people among {design.judged_topics:,} labelled by the model"
        estimator = f"regression estimator, r = {design.judge_correlation:.4g}; "
    numbers = f"{design.topics:,} topics{among}"
    if design.replicates is not None:
        numbers = design.replicates.in_words(design.topics)
    verdict = {
        "enough": "They are enough" + ("." if lower >= design.power else f" to within {found.tolerance:g}."),
        "short": "They are not enough.",
        "undecided": "This does not decide whether they are enough: simulate more collections, or allow a larger "
        "tolerance.",
    }[found.verdict]
    return (
        f"{numbers} were planned for a power of {design.power:g}{formula}; "
        f"{found.collections:,} collections of {found.world} give {found.power.rate:.3f} ± {(upper - lower) / 2:.3f} "
        f"({estimator}{TITLES[design.test]}). {verdict}{_needed(found)}{_error(found)}{_monte_carlo_error(found)}"
    )


def _without_them(found: Sequence[Verification]) -> str:
    """The power that the formula gives for the variance of the systems that take part, where one is verified."""
    if len(found) > 1 or math.isnan(found[0].own_power):
        return ""
    return f" For the variance of the others the formula gives {found[0].own_power:.2f}."


def _needed(found: Verification) -> str:
    if not found.curve:
        return ""
    if found.topics_needed is None:
        return f" Nor are {found.curve[-1].topics:,}."
    low, high = found.needed_lower, found.needed_upper
    span = f"{low:,} or more" if high is None else f"between {low:,} and {high:,}"
    if found.verdict == "short":
        return f" {found.topics_needed:,} are ({span})."
    return f" {found.topics_needed:,} would do ({span})." if high is not None and high < found.design.topics else ""


def _error(found: Verification) -> str:
    # When drawing stopped depended on what was drawn, so that only this interval bounds a wrong claim.
    (low, high), alpha = found.error.anytime, found.design.alpha
    agreement = "above the nominal" if low > alpha else "below the nominal" if high < alpha else "in agreement with"
    rate = f"{found.error.rate:.3f} [{low:.3f}, {high:.3f}; anytime-valid]"
    return f" Family-wise error rate with equal systems: {rate}, {agreement} α = {alpha:g}."


def _monte_carlo_error(found: Verification) -> str:
    """What fewer collections than usual mean; empty where the usual number was allowed."""
    if found.most_collections >= MOST_COLLECTIONS:
        return ""
    error = math.sqrt(found.power.rate * (1 - found.power.rate) / found.collections)
    return f" Monte Carlo standard error of the power: {error:.3f} (at most {found.most_collections:,} collections)."


def _many(found: Sequence[Verification]) -> str:
    enough = sum(each.verdict == "enough" for each in found)
    return f"{enough} of {len(found)} designs have enough topics."


def _columns(words: Sequence[str], titles: Mapping[str, str], counts: Sequence[str]) -> tuple[Column, ...]:
    texts = ("measure", "test", "world", "verdict", "method")
    scores = (
        "achieved_power",
        "lower",
        "upper",
        "error_rate",
        "error_rate_lower",
        "error_rate_upper",
        "reversed",
        "anything",
        "anytime_lower",
        "anytime_upper",
        "promised_power",
    )
    return tuple(
        Column(
            word,
            titles.get(word, word.replace("_", " ")),
            "text" if word in texts else "count" if word in counts else "score" if word in scores else "number",
        )
        for word in words
    )


def _power_table(rows: Sequence[Mapping[str, Any]], level: str) -> Table:
    goals = [word for word in ("min_range", "difference") if any(word in row for row in rows)]
    words = [
        *(["measure"] if any(row["measure"] for row in rows) else []),
        "test",
        "systems",
        *(["shards"] if any("shards" in row for row in rows) else []),
        *goals,
        "alpha",
        "power",
        "topics",
        *(["judged_topics", "judge_correlation"] if any("judged_topics" in row for row in rows) else []),
        "promised_power",
        "achieved_power",
        "lower",
        "upper",
        "collections",
        "verdict",
        "topics_needed",
        "topics_needed_lower",
        "topics_needed_upper",
    ]
    titles = {
        "judged_topics": "judged",
        "judge_correlation": "r",
        "promised_power": "formula",
        "achieved_power": "power",
        "power": "required power",
        "lower": "power, low",
        "upper": "power, high",
        "topics_needed": "topics needed",
        "topics_needed_lower": "topics needed, low",
        "topics_needed_upper": "topics needed, high",
    }
    counts = (
        "systems",
        "shards",
        "topics",
        "judged_topics",
        "collections",
        "topics_needed",
        "topics_needed_lower",
        "topics_needed_upper",
    )
    title = f"Power, on {rows[0]['world']}; low and high: {level} intervals"
    return Table(_columns(words, titles, counts), [tuple(row.get(word) for word in words) for row in rows], title)


def _rates_table(rows: Sequence[Mapping[str, Any]], level: str) -> Table:
    words = [
        *(["measure"] if len({row["measure"] for row in rows}) > 1 else []),
        "test",
        "topics",
        "anything",
        "reversed",
        "error_rate",
        "error_rate_lower",
        "error_rate_upper",
        "variance",
        "simulated_variance",
        "residual_variance",
        "anytime_lower",
        "anytime_upper",
    ]
    titles = {
        "test": "test",
        "anything": "any pair significant",
        "error_rate": "family-wise error rate",
        "error_rate_lower": "error rate, low",
        "error_rate_upper": "error rate, high",
        "variance": "σ² of the formula",
        "simulated_variance": "σ² simulated",
        "residual_variance": "residual simulated",
        "anytime_lower": "power, anytime-valid low",
        "anytime_upper": "power, anytime-valid high",
    }
    shown = [tuple(TITLES[row[word]] if word == "test" else row.get(word) for word in words) for row in rows]
    return Table(
        _columns(words, titles, ("topics",)), shown, f"Error rates and variances; low and high: {level} intervals"
    )


def _curve_table(found: Verification) -> Table:
    words = ["topics", "achieved_power", "lower", "upper"]
    titles = {"achieved_power": "power", "lower": "power, low", "upper": "power, high"}
    near = sorted(found.curve, key=lambda look: abs(look.power.rate - found.design.power))[:MOST_LOOKS]
    near.sort(key=lambda look: look.topics)
    shown = [tuple(look.to_dict()[word] for word in words) for look in near]
    collections = found.curve[0].power.collections
    return Table(_columns(words, titles, ("topics",)), shown, f"Power against topics, {collections:,} collections")


def pictures(result: VerificationResult) -> list[tuple[str, Chart]]:
    is_searched = any(each.curve for each in result.verifications)
    return [("Power against the number of topics", verify_chart(result))] if is_searched else []


VIEWS = {
    "SimulationResult": View(
        _simulation_view,
        {kind: _chart(kind) for kind in CHARTS},
        pictures=lambda result: [("What was seen against what was drawn", fit_chart(result.simulation))],
        files={"scores": lambda result: scores_csv(result.table)},
    ),
    "VerificationResult": View(_verification_view, {"power": verify_chart}, pictures=pictures),
}
