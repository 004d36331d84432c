"""Comparisons and audits as documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cranfield.compare.auditing import REASONS, Audit
from cranfield.compare.comparison import Comparison
from cranfield.report.document import Column, Document, Table, Warnings

SHOWN = 20  # contested pairs in a table

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
SHORT = {
    **TITLES, "tukey": "Tukey, topics as blocks", "randomised": "Tukey by permutation", "unpaired": "one-way Tukey",
    "wilcoxon": "signed ranks", "randomisation": "Fisher's", "bootstrap": "paired bootstrap",
}  # fmt: skip
CITATIONS = {
    "tukey": "FerroSanderson2019", "randomised": "Carterette2012", "unpaired": "Tukey1949", "t": "Student1908",
    "wilcoxon": "Wilcoxon1945", "sign": "Conover1999", "bootstrap": "EfronTibshirani1993",
    "randomisation": "Smucker2007",
}  # fmt: skip


INTERVALS = {
    "tukey": "Tukey's: two systems differ exactly when theirs do not touch",
    "unpaired": "Tukey's, topics not shared: two systems differ exactly when theirs do not touch",
    "randomised": "by permutation: two systems differ exactly when theirs do not touch",
}
ALONE = "by each system's own sd, about the system alone; they do not decide about pairs"


def ranking_rows(found: Comparison) -> list[dict[str, Any]]:
    """A row a system: rank, mean, interval, and the groups it belongs to.

    The interval is the test's, or for pairwise tests, which have none, that of the system's standard error.
    """
    groups = found.groups()
    rows = []
    for at, system in enumerate(found.systems):
        mine = [str(number + 1) for number, (first, last) in enumerate(groups) if first <= at <= last]
        mean, own = float(found.means[at]), float(found.intervals.standard_error[at])
        reach = own if found.half_width != found.half_width else found.half_width
        rows.append(
            {
                "measure": found.measure,
                "rank": at + 1,
                "system": system,
                "score": mean,
                "lower": mean - reach,
                "upper": mean + reach,
                "interval_standard_error": own,
                **({} if found.baselines else {"groups": "–".join(dict.fromkeys((mine[0], mine[-1])))}),
            }
        )
    return rows


def compare_document(
    found: Comparison | Sequence[Comparison],
    inputs: Mapping[str, Any],
    warnings: Warnings = (),
    *,
    most_pairs: int | None = 66,
) -> Document:
    """For every comparison the ranking with its groups, then the pairs (all of them where there are few)."""
    all_found = [found] if isinstance(found, Comparison) else list(found)
    tables = [table for each in all_found for table in _tables(each, most_pairs)]
    rows = [row for each in all_found for row in ranking_rows(each)]
    summaries = [_summary(each) for each in all_found]
    extra = {
        # What one comparison says stands at the top; what several say, with each of them.
        **(summaries[0] if len(summaries) == 1 else {"comparisons": summaries}),
        "pairs": [{"measure": each.measure, **pair} for each in all_found for pair in each.to_dict()],
    }
    several = len(all_found) > 1
    sentence = "\n".join((f"{each.measure}: " if several else "") + _sentence(each, most_pairs) for each in all_found)
    cautions = dict.fromkeys(caution for each in all_found for caution in each.warnings)
    citations = dict.fromkeys(CITATIONS[each.test] for each in all_found)
    return Document(
        "compare", inputs, tables, rows, sentence, tuple(citations), (*warnings, *cautions), all_found[0].seed, extra
    )


def _summary(found: Comparison) -> dict[str, Any]:
    return {
        "measure": found.measure,
        "test": found.test,
        "correct": found.correct,
        "topics": found.topics,
        "significant_pairs": found.significant_pairs,
        "top_group": list(found.top_group),
        "interval": found.test if found.test in INTERVALS else "standard error",
        "interval_tukey": found.intervals.tukey,
        "interval_anova": found.intervals.anova,
        "effect_size_denominator": found.denominator,
    }


def _tables(found: Comparison, most_pairs: int | None) -> list[Table]:
    columns = (
        Column("rank", "rank", "count"), Column("system", "system"), Column("score", "score", "score"),
        Column("lower", "low", "score"), Column("upper", "high", "score"),
        *([Column("interval_standard_error", "± by its own sd", "score")] if found.test in INTERVALS else []),
        *([] if found.baselines else [Column("groups", "groups")]),  # not all pairs are known
    )  # fmt: skip
    title = f"{found.measure}: {TITLES[found.test]}, {found.topics} topics, α = {found.alpha:g}"
    ranking = Table(columns, [tuple(row[each.word] for each in columns) for row in ranking_rows(found)], title)
    pairs = found.to_dict()
    return [ranking, _pairs_table(found, pairs)] if most_pairs is None or len(pairs) <= most_pairs else [ranking]


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
    return Table(
        tuple(columns), [tuple(pair[column.word] for column in columns) for pair in pairs], f"{found.measure}: pairs"
    )


def _sentence(found: Comparison, most_pairs: int | None) -> str:
    count = len(found.first)
    text = found.summary()
    if found.test == "unpaired":
        text += (
            " This test ignores that topics are shared, and loses power by it; the default, topics as blocks, does not."
        )
    if found.equivalent is not None:
        close = int(found.equivalent.sum())
        text += f" {close:,} {'pair is' if close == 1 else 'pairs are'} shown to be equivalent."
    if not found.baselines:
        text += " Systems that share a group number cannot be told apart" + (
            "." if found.test in INTERVALS else "; those that do not may still not differ: the pairs decide."
        )
    text += f" Low and high are {INTERVALS.get(found.test, ALONE)}"
    if found.test in INTERVALS:
        text += f" (± {found.half_width:.4f}). About one system alone, ANOVA's is ± {found.intervals.anova:.4f}"
    text += "."
    if most_pairs is not None and count > most_pairs:
        text += f" The {count:,} pairs: --all-pairs, or --json."
    return text


def audit_document(found: Mapping[str, Audit], inputs: Mapping[str, Any], warnings: Warnings = ()) -> Document:
    """How many pairs each test finds, what explains the differences, and the pairs whose verdict hangs on the test.

    Audits go by measure.
    """
    tables = [table for measure, each in found.items() for table in _audit_tables(measure, each)]
    rows = [{"measure": measure, **row} for measure, each in found.items() for row in each.to_dict()]
    extra = {
        "tests": [
            {"measure": measure, "test": test, "significant_pairs": each.significant_pairs,
             "top_group": list(each.top_group), "mute": test in audit.mute}
            for measure, audit in found.items() for test, each in audit.comparisons.items()
        ],
        "reasons": {measure: each.reasons() for measure, each in found.items()},
    }  # fmt: skip
    cautions = dict.fromkeys(caution for each in found.values() for caution in each.warnings)
    sentence = "\n".join(f"{measure}: {each.summary()}" for measure, each in found.items())
    seed = next(iter(found.values())).comparisons["randomised"].seed
    citations = tuple(dict.fromkeys(CITATIONS.values()))
    return Document("audit", inputs, tables, rows, sentence, citations, (*warnings, *cautions), seed, extra)


def _audit_tables(measure: str, found: Audit) -> list[Table]:
    correct = found.comparisons["t"].correct
    named = {"holm": "corrected by Holm", "bh": "corrected by Benjamini–Hochberg", "none": "not corrected"}[correct]
    tests = Table(
        (Column("test", "test"), Column("title", "what it is"),
         Column("significant_pairs", "finds", "count"), Column("top_group", "top group", "count"),
         Column("both", "with tukey", "count"), Column("more", "beyond it", "count"),
         Column("less", "it alone", "count"), Column("vote", "note")),
        [(name, SHORT[name], each.significant_pairs, len(each.top_group), *found.against(name),
          "does not count" if name in found.mute else "") for name, each in found.comparisons.items()],
        f"{measure}: all tests on the same data (pairwise ones {named})",
    )  # fmt: skip
    reasons = Table(
        (Column("reason", "why verdicts change"), Column("pairs", "pairs", "count")),
        [(REASONS[reason], count) for reason, count in found.reasons().items()],
        "Reasons (a pair may have several)",
    )
    columns = (
        Column("system_a", "system"), Column("system_b", "against"), Column("difference", "difference", "score"),
        Column("found_by", "found by"), Column("missed_by", "missed by"), Column("why", "why"),
    )  # fmt: skip
    shown = [
        (each.system_a, each.system_b, each.difference, ", ".join(each.found_by), ", ".join(each.missed_by), each.why)
        for each in found.disagreements[:SHOWN]
    ]
    left = len(found.disagreements) - len(shown)
    title = "Pairs whose verdict changes, the most contested first"
    pairs = Table(columns, shown, title + (f" ({SHOWN} of them; {left:,} more with --json)" if left else ""))
    return [tests, reasons, pairs] if shown else [tests]
