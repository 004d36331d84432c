"""Shard studies as documents and charts, among them the figures of Ferro and Sanderson (2019)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.sharding.anova import NESTED
from cranfield.methods.sharding.shard_models import ANOVA_TABLES, BOOTSTRAP, RANDOM, SAMPLED, ShardResult, ShardStudy
from cranfield.questions.shards import ShardsResult
from cranfield.rendering.document import Column, Document, Table, View, show
from cranfield.rendering.drawing import Chart
from cranfield.rendering.shard_charts import FIGURES, shard_chart
from cranfield.stats.pairs import every_pair

Row = dict[str, Any]

SHOWN_TOPICS = 15


def shard_document(
    found: ShardStudy, inputs: Mapping[str, Any], *, anova: Sequence[str] | None = None, pairs: str | None = None
) -> Document:
    """Return Ferro and Sanderson (2019), Table 1 and §5, ANOVA tables of the models named, and Table 2."""
    rows = found.to_dict()
    once = [result for result in found.results if result.sample == 0]
    spread, undefined = robustness_rows(found), undefined_rows(found)
    chosen = ("MD1", found.richest) if anova is None else anova
    tables = [_models_table(found, once), *_replication_tables(found, once), _intervals_table(found, once)]
    tables += _anova_tables(found, once, _tables_there(found, chosen))
    tables += [_robustness_table(found, spread)] if spread else []
    tables += [_undefined_table(found)] if undefined else []
    extra = {
        "anova": [row for result in once if result.table is not None for row in _anova_rows(result)],
        "robustness": spread,
        "systems": system_rows(found),
        "undefined": undefined,
        **({} if pairs is None else {"pairs": pair_rows(found, pairs)}),
    }
    citations = ["FerroSanderson2019", *(["Voorhees2017"] if found.get(BOOTSTRAP) else [])]
    citations += ["Satterthwaite1946", "Clark1973"] if found.get(NESTED) or found.get(SAMPLED) else []
    return Document(
        method="shards",
        inputs=inputs,
        tables=tables,
        rows=rows,
        answer=found.summary(),
        notes=_notes(found),
        citations=citations,
        warnings=found.warnings,
        seed=found.seed,
        extra=extra,
    )


# --- further content of JSON


def system_rows(found: ShardStudy) -> list[Row]:
    """Return the mean of every system on the whole corpus and on the first sharding of each number, with its interval.

    The half-widths of Tukey's and ANOVA's intervals are the same for all systems and are given with the model.
    """
    rows = []
    for result in found.results:
        if result.sample == 0 and result.model in ("MD1", "MD2", NESTED):  # the means are those of all models
            for system, mean, reach in zip(
                found.systems, result.means.tolist(), result.intervals.standard_error.tolist(), strict=True
            ):
                key = {"measure": result.measure, "shards": result.shards, "system": system}
                rows.append({**key, "score": mean, "interval_standard_error": reach})
    return rows


def pair_rows(found: ShardStudy, model: str) -> list[Row]:
    """Return every pair under one model, on the first sharding of each number; the better system comes first."""
    chosen = [result for result in found.get(model) if result.sample == 0]
    if not chosen:
        known = ", ".join(dict.fromkeys(result.model for result in found.results))
        raise RequestError(f"there is no model «{model}» in this study", fix=f"Choose one of: {known}.")
    rows = []
    for result in chosen:
        first, second = every_pair(len(found.systems))
        difference = result.means[first] - result.means[second]
        better, worse = np.where(difference >= 0, first, second), np.where(difference >= 0, second, first)
        p_value = np.asarray(result.p_value)
        for at in np.argsort(-np.abs(difference), kind="stable").tolist():
            rows.append(
                {
                    "measure": result.measure,
                    "model": model,
                    "shards": result.shards,
                    "system_a": found.systems[better[at]],
                    "system_b": found.systems[worse[at]],
                    "difference": abs(float(difference[at])),
                    "p_adjusted": float(p_value[at]),
                    "significant": bool(result.significant[at]),
                }
            )
    return rows


def undefined_rows(found: ShardStudy) -> list[Row]:
    """Return (shards, sample, topic, undefined), one row per topic without relevant documents in some shard."""
    return [
        {"shards": each.shards, "sample": each.sample, "topic": topic, "undefined": count}
        for each in found.undefined
        for topic, count in zip(found.topics, each.by_topic.tolist(), strict=True)
        if count
    ]


def robustness_rows(found: ShardStudy) -> list[Row]:
    """Ferro and Sanderson (2019), Table 2: means over re-shardings, and the pairs significant in all of them."""
    rows = []
    for key in dict.fromkeys((each.measure, each.shards, each.model) for each in found.results if each.shards > 1):
        mine = [each for each in found.results if (each.measure, each.shards, each.model) == key]
        if len(mine) < 2:
            continue
        row: Row = dict(zip(("measure", "shards", "model"), key, strict=True))
        row["samples"] = len(mine)
        for word in ("omega_squared", "significant_pairs", "top_group", "tau", "width"):
            values = [getattr(each, word) for each in mine]
            row[word], row[f"{word}_margin"] = _mean_and_half_width(values)
            row[f"{word}_least"], row[f"{word}_most"] = min(values), max(values)
        row["in_all_samples"] = int(np.logical_and.reduce([each.significant for each in mine]).sum())
        rows.append(row)
    return rows


def _mean_and_half_width(values: Sequence[float]) -> tuple[float, float]:
    """Return a mean and the half-width of its 95 % interval."""
    from cranfield.stats.tails import t_critical

    sample = np.asarray(values, float)
    return float(sample.mean()), float(t_critical(0.025, len(sample) - 1) * sample.std(ddof=1) / np.sqrt(len(sample)))


def _anova_rows(result: ShardResult) -> Iterable[Row]:
    assert result.table is not None
    return ({"measure": result.measure, "shards": result.shards, **row} for row in result.table.to_dict())


# --- tables


def _models_table(found: ShardStudy, once: Sequence[ShardResult]) -> Table:
    columns = (
        Column("measure", "measure"),
        Column("shards", found.replicate, "count"),
        Column("model", "model"),
        Column("omega_squared", "ω²", "score"),
        Column("significant_pairs", "significant", "count"),
        Column("top_group", "top group", "count"),
        Column("tau", "τ", "score"),
    )
    rows = [
        (each.measure, each.shards, each.model, each.omega_squared, each.significant_pairs, each.top_group, each.tau)
        for each in once
    ]
    pairs = len(once[0].significant)
    samples = 1 + max(each.sample for each in found.results)
    which = f", the first of {samples} shardings" if samples > 1 else ""
    among = f"{pairs:,} pair{'s' * (pairs != 1)} of {len(found.systems):,} systems"
    title = f"Results of each model for {among}, α = {found.alpha:g}{which}"
    return Table(columns, rows, title)


def _replication_tables(found: ShardStudy, once: Sequence[ShardResult]) -> list[Table]:
    """Return the shares of significant pairs that replicate on the other half of the topics, if requested."""
    columns = (
        Column("measure", "measure"),
        Column("shards", found.replicate, "count"),
        Column("model", "model"),
        *REPLICATION_COLUMNS,
    )
    rows = [
        (each.measure, each.shards, each.model, *(shares[column.word] for column in REPLICATION_COLUMNS))
        for each in once
        if each.replication.halvings
        for shares in [each.replication.to_dict()]
    ]
    title = (
        "Replication: of the pairs significant on one half of the topics, the shares on the other half "
        f"({found.halvings:,} halvings, both ways; low and high: their middle 95 %)"
    )
    return [Table(columns, rows, title)] if rows else []


REPLICATION_COLUMNS = (
    Column("replicated", "significant again", "score"),
    Column("replicated_lower", "low", "score"),
    Column("replicated_upper", "high", "score"),
    Column("not_significant", "not significant", "score"),
    Column("reversed", "reversed", "score"),
    Column("opposite_sign", "opposite sign", "score"),
    Column("opposite_sign_lower", "low", "score"),
    Column("opposite_sign_upper", "high", "score"),
)


def _intervals_table(found: ShardStudy, once: Sequence[ShardResult]) -> Table:
    columns = (
        Column("measure", "measure"),
        Column("shards", found.replicate, "count"),
        Column("model", "model"),
        Column("interval_tukey", "± Tukey", "score"),
        Column("interval_anova", "± ANOVA", "score"),
        Column("interval_standard_error", "± by own sd", "score"),
        Column("least", "least", "score"),
        Column("most", "most", "score"),
    )
    rows = []
    for each in once:
        own = each.intervals.standard_error
        rows.append(
            (
                each.measure,
                each.shards,
                each.model,
                each.intervals.tukey,
                each.intervals.anova,
                float(own.mean()),
                float(own.min()),
                float(own.max()),
            )
        )
    return Table(
        columns, rows, "Half-widths of intervals around a system's mean: Tukey's (for pairs), ANOVA's, from its own sd"
    )


def _anova_tables(found: ShardStudy, once: Sequence[ShardResult], models: Sequence[str]) -> list[Table]:
    words = ("effect", "ss", "df", "ms", "f", "p_value", "omega_squared", "size")
    names = {"omega_squared": "ω²", "p_value": "p", "ss": "SS", "df": "DF", "ms": "MS", "f": "F"}
    kinds = {"effect": "text", "size": "text", "df": "count", "p_value": "probability"}
    columns = tuple(Column(word, names.get(word, word), kinds.get(word, "number")) for word in words)
    tables = []
    for result in once:
        if result.table is not None and result.model in models:
            effects = [{**row, "df": _readable(row["df"])} for row in result.table.to_dict()]
            rows = [tuple(row[word] for word in words) for row in effects]
            where = found.whole if result.shards == 1 else f"{result.shards} {found.replicate}"
            title = f"ANOVA of {result.measure}: {result.model}, {where}"
            tables.append(Table(columns, rows, title, measure=result.measure))
    return tables


def _readable(df: float) -> float:
    """Return the format of degrees of freedom; those of Satterthwaite are not integers."""
    return df if isinstance(df, int) else round(df, 1)


def _tables_there(found: ShardStudy, models: Sequence[str]) -> tuple[str, ...]:
    """Return the requested tables, which the study must have; ``all`` are those it has."""
    there = [name for name in ANOVA_TABLES.values() if found.get(name)]
    absent = [name for name in models if name not in there]
    if absent and len(models) < len(ANOVA_TABLES):
        raise RequestError(
            f"there is no ANOVA table «{absent[0]}» with {found.replicates} replicates",
            fix=f"Choose among: {', '.join(there)}; or all, or none.",
        )
    return tuple(name for name in models if name in there)


def _robustness_table(found: ShardStudy, spread: Sequence[Row]) -> Table:
    columns = (
        Column("measure", "measure"),
        Column("shards", found.replicate, "count"),
        Column("model", "model"),
        Column("tau", "τ"),
        Column("width", "width"),
        Column("significant_pairs", "significant pairs"),
        Column("range", "from–to"),
        Column("in_all_samples", "in all", "count"),
    )
    rows = [
        (
            row["measure"],
            row["shards"],
            row["model"],
            _pair(row, "tau", "score"),
            _pair(row, "width", "score"),
            _pair(row, "significant_pairs", "number"),
            f"{row['significant_pairs_least']:,}–{row['significant_pairs_most']:,}",
            row["in_all_samples"],
        )
        for row in spread
    ]
    samples = max(row["samples"] for row in spread)
    return Table(columns, rows, f"Robustness over {samples} shardings: means with 95 % intervals")


def _pair(row: Row, word: str, kind: str) -> str:
    """Format a mean and its margin."""
    if row[word] != row[word]:
        return "–"
    return f"{show(row[word], kind)} ± {show(row[f'{word}_margin'], kind)}"


def _undefined_table(found: ShardStudy) -> Table:
    """Return topics with undefined scores, those with fewest relevant documents first."""
    counts = list(dict.fromkeys(each.shards for each in found.undefined))
    means = {
        count: np.mean([each.by_topic for each in found.undefined if each.shards == count], axis=0) for count in counts
    }
    relevant = np.asarray(found.relevant)
    touched = [at for at in range(len(found.topics)) if any(means[count][at] for count in counts)]
    touched.sort(key=lambda at: int(relevant[at]))
    columns = (
        Column("topic", "topic"),
        Column("relevant", "relevant documents", "count"),
        *(Column(f"of_{count}", f"of {count} shards", "number") for count in counts),
    )
    rows = [
        (found.topics[at], int(relevant[at]), *(float(means[count][at]) for count in counts))
        for at in touched[:SHOWN_TOPICS]
    ]
    left = len(touched) - len(rows)
    title = "Number of shards without a relevant document, by topic" + (", mean over shardings" * (_samples(found) > 1))
    return Table(
        columns,
        rows,
        title + (f" (the {len(rows)} worst topics; {left} more in the JSON output)" * (left > 0)),
        caption=title + (f" (the {len(rows)} worst of {len(touched)} topics)" * (left > 0)),
    )


def _samples(found: ShardStudy) -> int:
    return 1 + max(result.sample for result in found.results)


# --- conclusions


def _notes(found: ShardStudy) -> str:
    parts = [NESTED_SCOPE if found.replicates == "nested" else _crossed_scope(found)]
    if any(result.replication.halvings for result in found.results):
        parts.append(_about_replication(found))
    if any(result.undefined for result in found.results):
        parts.append(_about_undefined(found))
    return " ".join(parts)


NESTED_SCOPE = (
    "Nested replicates: the claim covers new topics and new replicates of these systems. MD1, on the means over "
    "replicates, covers new topics, but only these replicates."
)


def _crossed_scope(found: ShardStudy) -> str:
    scope = (
        "MD2 to MD6 and the bootstrap regard topics as fixed: their claims are about these topics. MD6r regards topics "
        "as a sample, as MD1 does, and its claims cover new topics."
    )
    more = f" {SAMPLED} regards replicates as a sample too, and covers new topics and new replicates."
    return scope + more if found.get(SAMPLED) else scope


def _about_replication(found: ShardStudy) -> str:
    """Return how often a significant difference has the opposite sign on other topics, by model."""
    models = (NESTED,) if found.replicates == "nested" else ("MD6", SAMPLED if found.get(SAMPLED) else RANDOM)
    shares = [
        f"{result.model} {share:.4f}"
        for measure in dict.fromkeys(each.measure for each in found.results)
        for model in ("MD1", *models)
        for result in found.get(model, measure=measure)[:1]
        if (share := result.replication.share("opposite_sign")) == share
    ]
    told = f": {', '.join(shares)}" if shares and len({each.measure for each in found.results}) == 1 else ""
    return (
        "«Opposite sign» is the share of pairs significant on one half of the topics whose difference has the opposite "
        f"sign on the other half{told}."
        + " Both halves have the same replicates, so that it concerns new topics only."
        * (found.relevant is None)
    )


def _about_undefined(found: ShardStudy) -> str:
    cells = max(result.undefined for result in found.results)
    moved = max(result.shift for model in ("MD2", "MD3", "MD4", "MD5") for result in found.get(model))
    other = 1 if found.x != 1 else 0
    return (
        f"Up to {cells:,} (topic, shard) cells have no relevant document and are set to {found.x:g} for all systems; "
        f"with {other} instead, F of the systems would change by {found.largest_shift:.1e} in MD6 (negligible) and "
        f"by up to {100 * moved:.2g} % in MD2 to MD5."
    )


PICTURES = {
    "kinds": "Kinds of interval on the whole corpus and on shards",
    "models": "Intervals of the models",
    "shards": "Intervals with more shards",
    "robustness": "What the models find with more shards",
}


def document(result: ShardsResult) -> Document:
    found = shard_document(result.study, result.inputs, anova=result.anova, pairs=result.pairs)
    return found.showing("pairs") if result.pairs else found


def _chart(kind: str) -> Callable[[ShardsResult], Chart]:
    return lambda result: shard_chart(result.study, kind)


def pictures(result: ShardsResult) -> list[tuple[str, Any]]:
    return [(title, shard_chart(result.study, kind)) for kind, title in PICTURES.items()]


VIEWS = {"ShardsResult": View(document, {kind: _chart(kind) for kind in FIGURES}, pictures=pictures)}
