"""Comparisons and audits as documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cranfield.errors import Caution, RequestError
from cranfield.methods.comparison.audits import REASONS, Audit
from cranfield.methods.comparison.comparison import Comparison
from cranfield.methods.names import TEST_LABELS, TEST_TITLES
from cranfield.questions.compare import ComparisonResult
from cranfield.rendering.charts import difference_rows, interval_chart, matrix_chart
from cranfield.rendering.document import Column, Document, Table, Warnings
from cranfield.rendering.sketch import interval_sketch
from cranfield.rendering.views import View

SHOWN = 20  # contested pairs in a table

CITATIONS = {
    "max-t": "RomanoWolf2005",
    "tukey": "FerroSanderson2019",
    "dunnett": "Dunnett1964",
    "tukey-permutation": "Carterette2012",
    "unpaired": "Tukey1949",
    "t": "Student1908",
    "wilcoxon": "Wilcoxon1945",
    "sign": "Conover1999",
    "bootstrap": "EfronTibshirani1993",
    "permutation": "Smucker2007",
}


INTERVALS = {
    "tukey": "Tukey's intervals: two systems differ significantly exactly when their intervals do not overlap",
    "unpaired": "Tukey's intervals for topics not shared: two systems differ significantly exactly when their "
    "intervals do not overlap",
    "tukey-permutation": "permutation intervals: two systems differ significantly exactly when their intervals do not "
    "overlap",
}


def ranking_rows(found: Comparison) -> list[dict[str, Any]]:
    """Return one row per system: rank, mean, interval, and its groups.

    The interval is that of the test; for tests without an interval around means, that of the system's standard error.
    """
    groups = [] if found.baselines else found.groups()
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
                **({"groups": "–".join(dict.fromkeys((mine[0], mine[-1])))} if mine else {}),
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
    """Return the ranking with its groups and the pairs of every comparison (all pairs if there are few)."""
    comparisons = [found] if isinstance(found, Comparison) else list(found)
    summaries = [_summary(each) for each in comparisons]
    extra = {
        # The sentences of one comparison come first; those of several come with each of them.
        **(summaries[0] if len(summaries) == 1 else {"comparisons": summaries}),
        "pairs": [{"measure": each.measure, **pair} for each in comparisons for pair in each.to_dict()],
    }
    return Document(
        method="compare",
        inputs=inputs,
        tables=[table for each in comparisons for table in _tables(each, most_pairs)],
        rows=[row for each in comparisons for row in ranking_rows(each)],
        sentence=_text(comparisons, most_pairs),
        citations=tuple(dict.fromkeys(CITATIONS[each.test] for each in comparisons)),
        warnings=(*warnings, *_cautions(comparisons)),
        seed=next((each.seed for each in comparisons if each.seed is not None), None),
        extra=extra,
    )


def _text(comparisons: Sequence[Comparison], most_pairs: int | None) -> str:
    """Join the sentences: one comparison as a paragraph, several with one line per measure."""
    if len(comparisons) == 1:
        verdicts, others = _sentences(comparisons[0], most_pairs)
        return "\n".join([*verdicts, " ".join(others)])
    lines = []
    for each in comparisons:
        lines += [f"{each.measure}: {sentence}" for part in _sentences(each, most_pairs) for sentence in part]
    return "\n".join(lines)


def _cautions(comparisons: Sequence[Comparison]) -> list[Caution]:
    """Return the warnings; one that all comparisons have is given once, others with their measure."""
    said: dict[Caution, list[str]] = {}
    for each in comparisons:
        for caution in each.warnings:
            said.setdefault(caution, []).append(each.measure)
    return [
        caution
        if len(measures) == len(comparisons)
        else replace(caution, what=f"{', '.join(measures)}: {caution.what}")
        for caution, measures in said.items()
    ]


def _summary(found: Comparison) -> dict[str, Any]:
    margins = {
        word: {
            "margin": each.margin,
            "correct": each.correct,
            "interval": each.interval,
            "shown": int(each.shown.sum()),
        }
        for word, each in (("equivalence", found.equivalence), ("non_inferiority", found.non_inferiority))
        if each is not None
    }
    return {
        "measure": found.measure,
        "test": found.test,
        "correct": found.correct,
        "resamples": found.resamples,
        "topics": found.topics,
        "significant_pairs": found.significant_pairs,
        "top_group": list(found.top_group),
        "baselines": list(found.baselines),
        "interval": found.interval,
        "interval_of_means": found.test if found.test in INTERVALS else "standard error",
        "interval_tukey": found.intervals.tukey,
        "interval_anova": found.intervals.anova,
        "effect_size_denominator": found.denominator,
        **margins,
    }


def _tables(found: Comparison, most_pairs: int | None) -> list[Table]:
    columns = (
        Column("rank", "rank", "count"),
        Column("system", "system"),
        Column("score", "score", "score"),
        Column("lower", "low", "score"),
        Column("upper", "high", "score"),
        *([Column("interval_standard_error", "± by its own sd", "score")] if found.test in INTERVALS else []),
        *([] if found.baselines else [Column("groups", "groups")]),  # the groups need all pairs
    )
    title = f"{found.measure}: {TEST_TITLES[found.test]}, {found.topics} topics, α = {found.alpha:g}"
    ranking = Table(columns, [tuple(row[each.word] for each in columns) for row in ranking_rows(found)], title)
    if most_pairs is not None and len(found.first) > most_pairs:
        return [ranking]
    return [ranking, _pairs_table(found, found.to_dict())]


def _pairs_table(found: Comparison, pairs: Sequence[Mapping[str, Any]]) -> Table:
    adjusted = "p" if found.correct == "none" else f"p ({found.correct})"
    effect = "d_z" if found.denominator == "sd of the differences" else f"effect (over {found.denominator})"
    columns = [
        Column("system_a", "system"),
        Column("system_b", "against"),
        Column("difference", "difference", "score"),
        Column("lower", "low", "score"),
        Column("upper", "high", "score"),
        Column("effect_size", effect, "number"),
        Column("p_adjusted", adjusted, "probability"),
        Column("significant", "significant", "yes"),
    ]
    if found.baselines:
        columns += [
            Column("wins", "wins", "count"),
            Column("ties", "ties", "count"),
            Column("losses", "losses", "count"),
        ]
    if found.equivalence is not None:
        columns += [Column("p_equivalent", "p (equivalent)", "probability"), Column("equivalent", "equivalent", "yes")]
    if found.non_inferiority is not None:
        columns += [
            Column("p_non_inferior", "p (non-inferior)", "probability"),
            Column("non_inferior", "non-inferior", "yes"),
        ]
    rows = [tuple(pair[column.word] for column in columns) for pair in pairs]
    return Table(tuple(columns), rows, f"{found.measure}: pairs, intervals {found.interval}")


def _sentences(found: Comparison, most_pairs: int | None) -> tuple[list[str], list[str]]:
    """Return the verdicts about pairs with a baseline, and the sentences about all pairs."""
    count = len(found.first)
    listed = most_pairs is None or count <= most_pairs
    verdicts = [found.verdict(at) for at in range(count)] if found.baselines and listed else []
    text = [found.summary()]
    if found.test == "unpaired":
        text.append("This test ignores that topics are shared and therefore has less power than the default test.")
    text += _margin_sentences(found)
    if not found.baselines:
        shared = "Systems that share a group number are not significantly different"
        text.append(shared + ("." if found.test in INTERVALS else "; for other systems, see the table of pairs."))
    text += _interval_sentences(found)
    if not listed:
        text.append(f"`all_pairs=True` lists the {count:,} pairs.")
    return verdicts, text


def _margin_sentences(found: Comparison) -> list[str]:
    text = []
    if found.equivalence is not None:
        close, within = int(found.equivalence.shown.sum()), found.equivalence
        text.append(
            f"{close:,} of {len(found.first):,} pairs {'is' if close == 1 else 'are'} shown to be equivalent within "
            f"± {within.margin:g}: their {within.interval} interval lies within it."
        )
    if found.non_inferiority is not None:
        good, within = int(found.non_inferiority.shown.sum()), found.non_inferiority
        text.append(
            f"{good:,} of {len(found.first):,} candidates {'is' if good == 1 else 'are'} shown to be non-inferior by a "
            f"margin of {within.margin:g}: their {within.interval} interval lies above -{within.margin:g}."
        )
    return text


def _interval_sentences(found: Comparison) -> list[str]:
    if found.test in INTERVALS:
        return [
            f"Low and high of systems are {INTERVALS[found.test]} (± {found.half_width:.4f}).",
            f"The 95 % confidence interval of a single mean, by ANOVA: ± {found.intervals.anova:.4f}."
            if found.alpha == 0.05
            else f"The {100 * (1 - found.alpha):g} % confidence interval of a single mean, by ANOVA: "
            f"± {found.intervals.anova:.4f}.",
        ]
    decides = (
        "they are not adjusted for the number of pairs; significance is decided by p"
        if found.interval.startswith("unadjusted")
        else "they exclude 0 exactly when a pair is significant"
    )
    return [
        "Low and high of systems are confidence intervals of single means, not of differences.",
        f"Low and high of differences are {found.interval} intervals: {decides}.",
    ]


def audit_document(found: Mapping[str, Audit], inputs: Mapping[str, Any], warnings: Warnings = ()) -> Document:
    """Return the significant pairs of each test, and the pairs whose verdict depends on the test, with reasons.

    ``audits`` are keyed by measure.
    """
    tables = [table for measure, each in found.items() for table in _audit_tables(measure, each)]
    rows = [{"measure": measure, **row} for measure, each in found.items() for row in each.to_dict()]
    extra = {
        "tests": [
            {
                "measure": measure,
                "test": test,
                "significant_pairs": each.significant_pairs,
                "top_group": list(each.top_group),
                "not_informative": test in audit.not_informative,
            }
            for measure, audit in found.items()
            for test, each in audit.comparisons.items()
        ],
        "reasons": {measure: each.reasons() for measure, each in found.items()},
    }
    cautions = dict.fromkeys(caution for each in found.values() for caution in each.warnings)
    sentence = "\n".join(f"{measure}: {each.summary()}" for measure, each in found.items())
    one = next(iter(found.values()))
    seed = one.comparisons["max-t"].seed
    citations = tuple(dict.fromkeys(CITATIONS[test] for test in one.comparisons))
    return Document(
        method="audit",
        inputs=inputs,
        tables=tables,
        rows=rows,
        sentence=sentence,
        citations=citations,
        warnings=(*warnings, *cautions),
        seed=seed,
        extra=extra,
    )


def _audit_tables(measure: str, found: Audit) -> list[Table]:
    correct = found.comparisons["t"].correct
    named = {"holm": "corrected by Holm", "bh": "corrected by Benjamini–Hochberg", "none": "not corrected"}[correct]
    # With baselines not all pairs with the best system are tested.
    top = [] if found.comparisons["t"].baselines else [Column("top_group", "top group", "count")]
    tests = Table(
        (
            Column("test", "test"),
            Column("title", "what it is"),
            Column("significant_pairs", "significant pairs", "count"),
            *top,
            Column("both", f"with {found.default}", "count"),
            Column("more", "this test only", "count"),
            Column("less", f"{found.default} only", "count"),
            Column("vote", "note"),
        ),
        [
            (
                name,
                TEST_LABELS[name],
                each.significant_pairs,
                *([len(each.top_group)] if top else []),
                *found.against(name),
                "not counted" if name in found.not_informative else "",
            )
            for name, each in found.comparisons.items()
        ],
        f"{measure}: all tests on the same data (pairwise ones {named})",
    )
    reasons = Table(
        (Column("reason", "why verdicts change"), Column("pairs", "pairs", "count")),
        [(REASONS[reason], count) for reason, count in found.reasons().items()],
        "Reasons (a pair may have several)",
    )
    columns = (
        Column("system_a", "system"),
        Column("system_b", "against"),
        Column("difference", "difference", "score"),
        Column("found_by", "found by"),
        Column("missed_by", "missed by"),
        Column("why", "why"),
    )
    shown = [
        (each.system_a, each.system_b, each.difference, ", ".join(each.found_by), ", ".join(each.missed_by), each.why)
        for each in found.disagreements[:SHOWN]
    ]
    left = len(found.disagreements) - len(shown)
    title = "Pairs whose verdict changes, the most contested first"
    pairs = Table(columns, shown, title + (f" ({SHOWN} of them; {left:,} more in the JSON output)" if left else ""))
    return [tests, reasons, pairs] if shown else [tests]


MOST_PAIRS = 66  # listed unless all are wanted


def document(result: ComparisonResult) -> Document:
    if result.audits:
        return audit_document(result.audits, result.inputs)
    every = bool(result.inputs["all_pairs"])
    found = compare_document(list(result.comparisons.values()), result.inputs, most_pairs=None if every else MOST_PAIRS)
    return found.showing("pairs") if every else found


def _first(result: ComparisonResult) -> Document:
    """Return the document of the first measure."""
    return compare_document(next(iter(result.comparisons.values())), result.inputs)


def _only(result: ComparisonResult) -> Document:
    if len(result.comparisons) > 1:
        raise RequestError("a chart shows one measure of one table", fix="Choose it with `measure`.")
    if result.audits:
        raise RequestError("there is no chart of an audit", fix="Leave out `audit`.")
    return _first(result)


def intervals(result: ComparisonResult) -> Any:
    """Intervals around means, or around differences from the best system or the baselines."""
    shown = _only(result)
    return interval_chart(shown.rows, shown.extra, title=shown.tables[0].title)


def matrix(result: ComparisonResult) -> Any:
    """Every pair as a coloured cell."""
    shown = _only(result)
    return matrix_chart(shown.rows, shown.extra["pairs"], title=shown.tables[0].title)


def sketch(result: ComparisonResult) -> tuple[str, str]:
    if result.audits:
        return "", ""
    shown = _first(result)
    measure = shown.rows[0]["measure"]
    if shown.extra["interval_of_means"] != "standard error":
        return interval_sketch(shown.rows, title=f"mean {measure} and its interval"), ""
    rows = [{**row, "score": row["difference"]} for row in difference_rows(shown.rows, shown.extra["pairs"])]
    against = " or ".join(list(dict.fromkeys(row["against"] for row in rows))[:3])
    return interval_sketch(rows, title=f"difference in {measure} from {against}"), ""


VIEWS = {"ComparisonResult": View(document, {"intervals": intervals, "matrix": matrix}, sketch)}
