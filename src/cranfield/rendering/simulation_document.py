"""Simulations as documents: the goodness of fit of simulated topics."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.methods.simulation.new_topics import Simulation
from cranfield.questions.simulate import SimulationResult
from cranfield.rendering.document import Column, Document, Table
from cranfield.rendering.output_formats import scores_csv
from cranfield.rendering.simulation_charts import fit_chart
from cranfield.rendering.views import View

CITATIONS = {
    "rows": ("SilvermanYoung1987", "UrbanoNagler2018"),
    "gaussian": ("UrbanoNagler2018", "CarioNelson1997"),
    "vine": ("UrbanoNagler2018", "Aas2009"),
}
MOST_SYSTEMS = 40


def document(result: SimulationResult) -> Document:
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
    return Document("simulate", result.inputs, tables, rows, found.summary(), citations, seed=found.seed, extra=extra)


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
    title = "Observed and simulated scores"
    shown = rows
    if len(rows) > MOST_SYSTEMS:
        shown = sorted(rows, key=lambda row: -max(abs(row["mean_off"]), abs(row["variance_off"])))[:MOST_SYSTEMS]
        title += f" (the {MOST_SYSTEMS} farthest off; all {len(rows):,} in the JSON and CSV output)"
    return Table(columns, [tuple(row.get(word) for word in words) for row in shown], title)


def fit(result: SimulationResult) -> Any:
    """Seen against drawn."""
    return fit_chart(result.simulation)


VIEWS = {
    "SimulationResult": View(
        document,
        {"fit": fit},
        pictures=lambda result: [("What was seen against what was drawn", fit(result))],
        files={"scores": lambda result: scores_csv(result.table)},
    )
}
