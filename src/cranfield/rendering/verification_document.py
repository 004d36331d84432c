"""Verifications as documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.methods.verification.batch_tests import TITLES
from cranfield.methods.verification.monte_carlo import Verification
from cranfield.questions.verify import VerificationResult
from cranfield.rendering.document import Column, Document, Table
from cranfield.rendering.simulation_document import power_chart
from cranfield.rendering.views import View

CITATIONS = ("Sakai2014", "UrbanoNagler2018", "Wilson1927", "Robbins1970")

MOST_LOOKS = 12  # of the curve, nearest to the target


def document(result: VerificationResult) -> Document:
    """Return one row per design: required and achieved power, the verdict, and the number of topics that is enough."""
    found = result.verifications
    rows = [each.to_dict() for each in found]
    tables = [_power_table(rows), _rates_table(rows)]
    if len(found) == 1 and found[0].curve:
        tables.append(_curve_table(found[0]))
    extra = {"curves": [[look.to_dict() for look in each.curve] for each in found]}
    sentence = " ".join(each.summary() for each in found) if len(found) <= 3 else _many(found)
    left_out = sorted({name for each in found for name in each.left_out})
    if left_out:
        names = ", ".join(left_out[:5]) + (f" and {len(left_out) - 5} more" if len(left_out) > 5 else "")
        sentence += f" Left out, because their scores cannot have the means of the design: {names}."
    return Document(
        method="verify",
        inputs=result.inputs,
        tables=tables,
        rows=rows,
        sentence=sentence,
        citations=CITATIONS,
        seed=found[0].seed,
        extra=extra,
    )


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


def _power_table(rows: Sequence[Mapping[str, Any]]) -> Table:
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
        "promised_power": "formula",
        "achieved_power": "power",
        "power": "wanted",
        "lower": "low",
        "upper": "high",
        "topics_needed": "topics needed",
        "topics_needed_lower": "low",
        "topics_needed_upper": "high",
    }
    counts = (
        "systems",
        "shards",
        "topics",
        "collections",
        "topics_needed",
        "topics_needed_lower",
        "topics_needed_upper",
    )
    columns = _columns(words, titles, counts)
    return Table(columns, [tuple(row.get(word) for word in words) for row in rows], f"Power, on {rows[0]['world']}")


def _rates_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    words = [
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
        "error_rate_lower": "low",
        "error_rate_upper": "high",
        "variance": "σ² of the formula",
        "simulated_variance": "σ² simulated",
        "residual_variance": "residual simulated",
        "anytime_lower": "anytime-valid lower limit of power",
        "anytime_upper": "high",
    }
    shown = [tuple(TITLES[row[word]] if word == "test" else row.get(word) for word in words) for row in rows]
    return Table(_columns(words, titles, ("topics",)), shown, "Error rates and variances")


def _curve_table(found: Verification) -> Table:
    words = ["topics", "achieved_power", "lower", "upper"]
    titles = {"achieved_power": "power", "lower": "low", "upper": "high"}
    near = sorted(found.curve, key=lambda look: abs(look.power.rate - found.design.power))[:MOST_LOOKS]
    near.sort(key=lambda look: look.topics)
    shown = [tuple(look.to_dict()[word] for word in words) for look in near]
    collections = found.curve[0].power.collections
    return Table(_columns(words, titles, ("topics",)), shown, f"Power against topics, {collections:,} collections")


def power(result: VerificationResult) -> Any:
    """Power against the number of topics."""
    return power_chart(result.verifications)


def pictures(result: VerificationResult) -> list[tuple[str, Any]]:
    is_searched = any(each.curve for each in result.verifications)
    return [("Power against the number of topics", power(result))] if is_searched else []


VIEWS = {"VerificationResult": View(document, {"power": power}, pictures=pictures)}
