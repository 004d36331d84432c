"""Comparisons and audits as documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.compare.auditing import Audit
from cranfield.compare.comparison import Comparison
from cranfield.formats.problems import Problem
from cranfield.report.document import Column, Document, Table

TITLES = {
    "tukey": "Tukey's HSD, topics as blocks",
    "randomised": "Tukey's HSD by permutation within topics",
    "unpaired": "one-way Tukey, which ignores that topics are shared",
    "t": "paired t",
    "wilcoxon": "Wilcoxon's signed ranks",
    "sign": "sign test",
    "bootstrap": "paired bootstrap",
    "randomisation": "Fisher's randomisation",
}
CITATIONS = {
    "tukey": "FerroSanderson2019", "randomised": "Carterette2012", "unpaired": "Tukey1949", "t": "Student1908",
    "wilcoxon": "Wilcoxon1945", "sign": "Conover1999", "bootstrap": "EfronTibshirani1993",
    "randomisation": "Smucker2007",
}  # fmt: skip


def ranking_rows(found: Comparison) -> list[dict[str, Any]]:
    """A row a system: rank, mean, interval, and the groups it belongs to."""
    groups = found.groups()
    rows = []
    for at, system in enumerate(found.systems):
        mine = [str(number + 1) for number, (first, last) in enumerate(groups) if first <= at <= last]
        mean = float(found.means[at])
        rows.append(
            {
                "rank": at + 1,
                "system": system,
                "score": mean,
                "lower": mean - found.half_width,
                "upper": mean + found.half_width,
                "groups": mine[0] if len(mine) == 1 else f"{mine[0]}–{mine[-1]}",
            }
        )
    return rows


def compare_document(
    found: Comparison, inputs: Mapping[str, Any], warnings: Sequence[Problem] = (), *, most_pairs: int | None = 66
) -> Document:
    """The ranking with its groups, then the pairs (all of them where there are few)."""
    rows = ranking_rows(found)
    words = ["rank", "system", "score", *(["lower", "upper"] if found.half_width == found.half_width else []), "groups"]
    kinds = {"rank": "count", "score": "score", "lower": "score", "upper": "score"}
    columns = tuple(Column(word, word, kinds.get(word, "text")) for word in words)
    title = f"{found.measure}: {TITLES[found.test]}, {found.topics} topics, α = {found.alpha:g}"
    ranking = Table(columns, [tuple(row[word] for word in words) for row in rows], title)
    pairs = found.to_dict()
    tables = [ranking]
    if most_pairs is None or len(pairs) <= most_pairs:
        tables.append(_pairs_table(found, pairs))
    extra = {
        "pairs": pairs,
        "significant_pairs": found.significant_pairs,
        "top_group": list(found.top_group),
        "test": found.test,
        "correct": found.correct,
        "effect_size_denominator": found.denominator,
    }
    return Document(
        "compare", inputs, tables, rows, _sentence(found), (CITATIONS[found.test],), tuple(warnings), found.seed, extra
    )


def _pairs_table(found: Comparison, pairs: Sequence[Mapping[str, Any]]) -> Table:
    adjusted = "p" if found.correct == "none" else f"p ({found.correct})"
    columns = [
        Column("system_a", "system"),
        Column("system_b", "against"),
        Column("difference", "difference", "score"),
        Column("lower", "low", "score"),
        Column("upper", "high", "score"),
        Column("effect_size", f"effect (over {found.denominator})", "number"),
        Column("p_adjusted", adjusted, "probability"),
        Column("significant", "significant", "yes"),
    ]
    if found.equivalent is not None:
        columns.append(Column("equivalent", "equivalent", "yes"))
    return Table(tuple(columns), [tuple(pair[column.word] for column in columns) for pair in pairs], "Pairs")


def _sentence(found: Comparison) -> str:
    count = len(found.first)
    best, rest = found.systems[0], len(found.top_group) - 1
    top = f"no system can be told from {best}" if rest == len(found.systems) - 1 else (
        f"{rest} other{'s' * (rest != 1)} cannot be told from {best}" if rest else f"{best} differs from all others"
    )  # fmt: skip
    text = f"{found.significant_pairs:,} of {count:,} pairs differ significantly; {top}."
    if found.test == "unpaired":
        text += (
            " This test ignores that topics are shared, and loses power by it; the default, topics as blocks, does not."
        )
    if found.equivalent is not None:
        text += f" {int(found.equivalent.sum()):,} pairs are shown to be equivalent."
    return text


def audit_document(found: Audit, inputs: Mapping[str, Any]) -> Document:
    """How many pairs each test finds, and the pairs whose verdict hangs on the test."""
    tests = Table(
        (Column("test", "test"), Column("title", "what it is"),
         Column("significant_pairs", "significant pairs", "count"), Column("top_group", "top group", "count")),
        [(name, TITLES[name], each.significant_pairs, len(each.top_group)) for name, each in found.comparisons.items()],
        "All tests on the same data (pairwise ones corrected by Holm)",
    )  # fmt: skip
    columns = (
        Column("system_a", "system"), Column("system_b", "against"), Column("difference", "difference", "score"),
        Column("found_by", "found by"), Column("missed_by", "missed by"), Column("why", "why"),
    )  # fmt: skip
    shown = [
        (each.system_a, each.system_b, each.difference, ", ".join(each.found_by), ", ".join(each.missed_by), each.why)
        for each in found.disagreements[:40]
    ]
    left = len(found.disagreements) - len(shown)
    title = "Pairs whose verdict changes" + (f" (the first 40; {left:,} more with --json)" if left else "")
    pairs = len(next(iter(found.comparisons.values())).first)
    sentence = f"{len(found.disagreements):,} of {pairs:,} pairs change their verdict with the test."
    return Document("audit", inputs, [tests, Table(columns, shown, title)], found.to_dict(), sentence,
                    tuple(dict.fromkeys(CITATIONS.values())))  # fmt: skip
