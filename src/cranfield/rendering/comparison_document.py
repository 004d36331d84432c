"""Comparisons and audits as documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from cranfield.errors import Caution, RequestError
from cranfield.formats.text import write_pieces
from cranfield.methods.contrasts.audits import REASONS, Audit
from cranfield.methods.contrasts.clusters import DesignEffect
from cranfield.methods.contrasts.comparison import LISTED_PAIRS, LISTED_SYSTEMS, Comparison
from cranfield.methods.names import CORRECTION_TITLES, ESTIMATOR_TITLES, TEST_LABELS, TEST_TITLES, with_correction
from cranfield.questions.compare import ComparisonResult
from cranfield.rendering import charts
from cranfield.rendering.comparison_charts import differences_by_topic, interval_chart, matrix_chart, noted
from cranfield.rendering.document import Column, Document, StreamedRows, Table, View, Warnings, of_measure
from cranfield.rendering.drawing import Chart
from cranfield.rendering.output_formats import csv_pieces
from cranfield.rendering.paper_table import CITATIONS, paper_table
from cranfield.rendering.references import ROBUST_CITATIONS
from cranfield.runtime.threads import listener
from cranfield.scores.quality import DUPLICATE, SKEW

STANDING = (
    "A system may be the best unless another is better by a one-sided t test at α divided by the number of the others; "
    "ranks are those that the tests of the system's own pairs leave it."
)
APPROXIMATE = (
    f"differences are skewed (|g|/√n > {SKEW:g}), or scores correlate by more than {DUPLICATE:g} over topics or are "
    "equal on most of them"
)
BLUE_POINTS = "blue points: may be the best"
LETTERED = "Systems share a letter exactly when they do not differ significantly."
MOST_LETTERS = 12  # in a table; JSON has all
STANDING_COLUMNS = [
    Column("rank_lower", "best rank", "count", 40),
    Column("rank_upper", "worst rank", "count", 40),
    Column("may_be_best", "may be best", "yes", 80),
]
QUOTED = 2  # verdicts about pairs with a baseline in the answer; more are among the notes
SHOWN = 20  # contested pairs in a table

INTERVALS = {
    "tukey": "Tukey's intervals: two systems differ significantly exactly when their intervals do not overlap",
    "tukey-permutation": "permutation intervals: two systems differ significantly exactly when their intervals do not "
    "overlap",
}


def ranking_rows(found: Comparison) -> list[dict[str, Any]]:
    """One row per system."""
    columns = found.ranking()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def compare_document(
    found: Comparison | Sequence[Comparison],
    inputs: Mapping[str, Any],
    warnings: Warnings = (),
    *,
    most_pairs: int | None = 66,
) -> Document:
    """Return the ranking with its groups and the pairs of every comparison (all pairs if there are few).

    Where there are many pairs, only those are listed that `Comparison.listed` has, unless ``most_pairs`` is None: then
    JSON and CSV have all, and tables the listed ones.
    """
    comparisons = [found] if isinstance(found, Comparison) else list(found)
    every = most_pairs is None
    summaries = [_summary(each) for each in comparisons]
    rankings = [ranking_rows(each) for each in comparisons]
    left_out = 0 if every else sum(len(each.pairs) - each.listed_count for each in comparisons)
    extra = {
        **(summaries[0] if len(summaries) == 1 else {}),  # of a single measure also outside the list
        "comparisons": summaries,
        **({"pairs_left_out": left_out} if left_out else {}),
        "pairs": _pair_rows(comparisons, every=every),
    }
    return Document(
        method="compare",
        inputs=inputs,
        tables=[
            table for each, rows in zip(comparisons, rankings, strict=True) for table in _tables(each, rows, most_pairs)
        ],
        rows=[row for rows in rankings for row in rows],
        answer="\n".join(line for each in comparisons for line in _answer(each, most_pairs, len(comparisons))),
        notes=_notes(comparisons, most_pairs),
        paper=[paper_table({each.measure: each for each in comparisons})],
        citations=tuple(dict.fromkeys(key for each in comparisons for key in _citations(each))),
        warnings=(*warnings, *_cautions(comparisons), *_left_out(comparisons, every=every)),
        seed=next((each.seed for each in comparisons if each.seed is not None), None),
        extra=extra,
    )


def _citations(found: Comparison) -> tuple[str, ...]:
    if found.is_mcnemar:
        return CITATIONS[found.test], "McNemar1947"
    return (CITATIONS[found.test], *(ROBUST_CITATIONS if found.design_effect else ()))


def _pair_rows(comparisons: Sequence[Comparison], *, every: bool) -> Sequence[Mapping[str, Any]]:
    """The pairs for JSON: those that are there as a list, others made when they are written."""
    if all(len(each.pairs) <= LISTED_PAIRS and each.pairs.is_held for each in comparisons):
        return [{"measure": each.measure, **pair} for each in comparisons for pair in each.to_dict()]
    count = sum(len(each.pairs) if every else each.listed_count for each in comparisons)
    return StreamedRows(count, partial(_pair_columns, tuple(comparisons), every=every))


def _pair_columns(comparisons: Sequence[Comparison], *, every: bool) -> Iterator[dict[str, Sequence[Any]]]:
    step, done = listener(), 0
    total = sum(len(each.pairs) for each in comparisons)
    for found in comparisons:
        for pairs in found.parts() if every else [found.listed]:
            yield {"measure": [found.measure] * len(pairs), **found.columns_of(pairs)}
            done += len(pairs)
            if step is not None and every:
                step(done, total)


def _left_out(comparisons: Sequence[Comparison], *, every: bool) -> list[Caution]:
    """Say that not all pairs are listed, and where they are."""
    large = [each for each in comparisons if each.listed_count < len(each.pairs)]
    if not large:
        return []
    count, listed = (
        sum(counts) for counts in zip(*((len(each.pairs), each.listed_count) for each in large), strict=True)
    )
    which = f"the first {listed:,}" if large[0].baselines else f"the {listed:,} of the best {LISTED_SYSTEMS} systems"
    shown = "tables" if every else "tables and JSON"
    fix = "CSV and JSON have all pairs." if every else "`all_pairs=True` lists all pairs in CSV and JSON."
    return [Caution("pairs-left-out", f"{count:,} pairs are too many to list: {shown} have {which}", fix)]


def _answer(found: Comparison, most_pairs: int | None, measures: int) -> list[str]:
    """Which system is best and what differs; of one pair, or few with a baseline, the verdict about each."""
    name = f"{found.measure}: " if measures > 1 else ""
    verdicts = _verdict_lines(found, most_pairs)
    if 0 < len(verdicts) <= QUOTED:
        return [f"{name}{line}" for line in verdicts]
    return [f"{name}{_best_system(found)} {found.summary()}"]


def _best_system(found: Comparison) -> str:
    best = "lowest" if found.lower_is_better else "highest"
    measure = found.measure.rpartition(": ")[2]  # without the table, which is said before
    return f"{found.systems[0]} has the {best} mean {measure}, {found.means[0]:.4f}, on {_topics(found)}."


def _verdict_lines(found: Comparison, most_pairs: int | None) -> list[str]:
    """The verdicts about a single pair or pairs with a baseline, unless they are too many to list."""
    count = len(found.pairs)
    is_listed = (most_pairs is None or count <= most_pairs) and (found.baselines or count == 1)
    return [found.verdict(at) for at in range(count)] if is_listed else []


def _notes(comparisons: Sequence[Comparison], most_pairs: int | None) -> str:
    """Join the other sentences: one comparison as a paragraph, several with one line per measure."""
    lines = []
    for each in comparisons:
        name = f"{each.measure}: " if len(comparisons) > 1 else ""
        verdicts = _verdict_lines(each, most_pairs)
        lines += [f"{name}{line}" for line in verdicts if len(verdicts) > QUOTED]
        told = [each.summary()] if each.baselines and 0 < len(verdicts) <= QUOTED else []  # the answer is the verdicts
        lines += [f"{name}{' '.join([*told, *_sentences(each, most_pairs)])}"]
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
        **({"lower_is_better": True} if found.lower_is_better else {}),
        **(asdict(found.labels) if found.labels is not None else {}),
        **(design_summary(found.design_effect) if found.design_effect is not None else {}),
        **margins,
    }


def design_summary(effect: DesignEffect) -> dict[str, Any]:
    """What JSON says of clusters, strata and weights."""
    return {
        "clusters": effect.clusters,
        "cluster_sizes": {"smallest": effect.smallest, "median": effect.typical, "largest": effect.largest},
        "strata": effect.strata,
        "weighted": effect.weighted,
        "design_effect": {"median": effect.median, "lowest": effect.lowest, "highest": effect.highest},
        "effective_topics": effect.effective_topics,
        "df": effect.df,
        "fewest_df": effect.fewest_df,
    }


def design_sentences(effect: DesignEffect | None, topics: int, unit: str = "topics") -> list[str]:
    """What clusters, strata and weights do, in sentences."""
    if effect is None:
        return []
    text = []
    fewest = f", {effect.fewest_df:.3g} the fewest" if effect.fewest_df < 0.999 * effect.df else ""
    if effect.clusters is not None:
        each = f"{effect.smallest:,} to {effect.largest:,}" if effect.smallest < effect.largest else f"{effect.largest}"
        text.append(
            f"{topics:,} {unit} lie in {effect.clusters:,} clusters of {each}; standard errors are cluster-robust "
            f"(CR2, {effect.df:.3g} degrees of freedom{fewest})."
        )
    if effect.strata is not None:
        mean = "each stratum counts the same" if effect.by_stratum else "a stratum counts as much as it holds"
        text.append(f"Variances are those within {effect.strata:,} strata; {mean}.")
    if effect.weighted:
        text.append(f"Means are weighted; wins, ties and losses count every one of the {unit} once.")
    if effect.median == effect.median:
        text.append(
            f"Design effect {effect.median:.2f} (median over pairs; {effect.lowest:.2f} to {effect.highest:.2f}): "
            f"{topics:,} {unit} are worth {effect.effective_topics:,.0f} independent ones."
        )
    return text


def _tables(found: Comparison, rows: Sequence[Mapping[str, Any]], most_pairs: int | None) -> list[Table]:
    columns = (
        Column("rank", "rank", "count", 70),
        Column("system", "system", priority=100),
        Column("score", "score", "score", 100),
        Column("lower", "low", "score", 60),
        Column("upper", "high", "score", 60),
        *([Column("interval_standard_error", "± by its own sd", "score")] if found.test in INTERVALS else []),
        *([] if found.baselines else STANDING_COLUMNS),
        *([Column("letters", "letters", priority=50)] if has_short_letters(found) else []),
    )
    shown = rows[: LISTED_PAIRS if most_pairs is None else LISTED_SYSTEMS]
    title = _title(found) + (f"; {_best(shown, rows)}, CSV and JSON have all" if len(shown) < len(rows) else "")
    ranking = Table(columns, [tuple(row[each.word] for each in columns) for row in shown], title)
    if most_pairs is not None and len(found.pairs) > most_pairs:
        return of_measure(found.measure, [ranking])
    return of_measure(found.measure, [ranking, _pairs_table(found, found.to_dict())])


def _title(found: Comparison) -> str:
    return f"{found.measure}: {title_of_test(found)}, {_topics(found)}, α = {found.alpha:g}"


def title_of_test(found: Comparison) -> str:
    """The test, with the estimator or the standard errors where they are not those of paired differences."""
    if found.labels is not None and found.labels.estimator in ("regression", "ppi"):
        test = "max-t test" if found.test == "max-t" else "t test"
        return f"{test} of the {'regression' if found.labels.estimator == 'regression' else 'PPI++'} estimator"
    if found.design_effect is not None:
        return (
            f"paired t test with {'cluster-' if found.design_effect.clusters is not None else ''}robust standard errors"
        )
    title = TEST_TITLES[found.test] + (", McNemar's exact test of 0/1 scores" if found.is_mcnemar else "")
    return with_correction(title, found.correct)


def _topics(found: Comparison) -> str:
    """How many topics, and whose labels they have."""
    labels, effect = found.labels, found.design_effect
    if labels is None:
        counts = {} if effect is None else {"clusters": effect.clusters, "strata": effect.strata}
        parts = [f"{count:,} {word}" for word, count in counts.items() if count is not None]
        return f"{found.topics} topics" + (f" in {' and '.join(parts)}" if parts else "")
    if labels.estimator == "judge":
        return f"{found.topics} topics with labels of {labels.judge} alone"
    if labels.estimator == "human":
        return f"{found.topics} topics with human labels"
    return f"{found.topics} topics with human labels among {labels.judged_topics} with labels of {labels.judge}"


def _best(shown: Sequence[Any], rows: Sequence[Any]) -> str:
    return f"the best {len(shown):,} of {len(rows):,} systems"


def _pairs_table(found: Comparison, pairs: Sequence[Mapping[str, Any]]) -> Table:
    adjusted = "p" if found.correct == "none" else f"p ({found.correct})"
    effect = "d_z" if found.denominator == "sd of the differences" else f"effect (over {found.denominator})"
    columns = [
        Column("system_a", "system", priority=100),
        Column("system_b", "against", priority=100),
        Column("difference", "difference", "score", 90),
        Column("lower", "low", "score", 70),
        Column("upper", "high", "score", 70),
        Column("effect_size", effect, "number", 30),
        Column("p_adjusted", adjusted, "probability", 80),
        Column("significant", "significant", "yes", 60),
    ]
    if any(pair["approximate"] for pair in pairs):
        columns.append(Column("approximate", "approximate", "yes", 50))
    if found.baselines:
        columns += [
            Column("wins", "wins", "count", 40),
            Column("ties", "ties", "count", 40),
            Column("losses", "losses", "count", 40),
        ]
    if found.equivalence is not None:
        columns += [Column("p_equivalent", "p (equivalent)", "probability"), Column("equivalent", "equivalent", "yes")]
    if found.non_inferiority is not None:
        columns += [
            Column("p_non_inferior", "p (non-inferior)", "probability"),
            Column("non_inferior", "non-inferior", "yes"),
        ]
    rows = [tuple(pair[column.word] for column in columns) for pair in pairs]
    return Table(tuple(columns), rows, f"{found.measure}: pairs, {_intervals(found)}", is_folded=True)


def _sentences(found: Comparison, most_pairs: int | None) -> list[str]:
    """Return what to know about a comparison beside its answer."""
    count = len(found.pairs)
    listed = most_pairs is None or count <= most_pairs
    text = [*_label_sentences(found), *design_sentences(found.design_effect, found.topics)]
    if found.lower_is_better:
        text.append(
            "Lower scores are better: the best system has the lowest mean, and a win is a topic with a lower one."
        )
    if found.is_geometric:
        text.append(
            f"Scores of {found.measure} are logarithms: geometric means and their intervals are shown, and differences "
            "of pairs are those of logarithms."
        )
    if found.is_mcnemar:
        text.append("All scores are 0 or 1, so that the sign test is McNemar's exact test.")
    text += _margin_sentences(found)
    if not found.baselines and count > 1:
        text.append(STANDING)
        text += [LETTERED] if has_short_letters(found) else []
    text += _interval_sentences(found)
    if listed and (approximate := int(found.pairs.column("approximate").sum())):
        text.append(
            f"p of {approximate:,} {'pair is' if approximate == 1 else 'pairs are'} approximate: {APPROXIMATE}."
        )
    if not listed:
        text.append(f"`all_pairs=True` lists the {count:,} pairs.")
    return text


def _label_sentences(found: Comparison) -> list[str]:
    labels = found.labels
    if labels is None:
        return []
    text = []
    if labels.estimator in ("regression", "ppi"):
        text.append(
            f"Differences are estimates of those under human labels ({ESTIMATOR_TITLES[labels.estimator]}); each has a "
            "slope of its own, so that it is not exactly the difference of the two scores."
        )
    if labels.estimator == "judge":
        text.append(f"These are differences under {labels.judge}'s labels, not under human ones.")
    if labels.fallback:
        text.append(f"On {labels.fallback:,} pairs the judge does not vary; they rest on human labels alone.")
    return text


def _margin_sentences(found: Comparison) -> list[str]:
    text = []
    if (within := found.equivalence) is not None:
        shown = _shown(int(within.shown.sum()), len(found.pairs), "pair")
        condition = f"the {within.interval} interval has to lie within it"
        text.append(f"{shown} to be equivalent within ± {within.margin:g} ({condition}).")
    if (within := found.non_inferiority) is not None:
        shown = _shown(int(within.shown.sum()), len(found.pairs), "candidate")
        side = f"below {within.margin:g}" if found.lower_is_better else f"above -{within.margin:g}"
        condition = f"the {within.interval} interval has to lie {side}"
        text.append(f"{shown} to be non-inferior by a margin of {within.margin:g} ({condition}).")
    return text


def _shown(count: int, total: int, noun: str) -> str:
    """How many of several are shown to be what follows."""
    if total == 1:
        return f"The {noun} is {'' if count else 'not '}shown"
    return f"{f'{count:,}' if count else 'None'} of {total:,} {noun}s {'are' if count > 1 else 'is'} shown"


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
        f"Low and high of differences are {_intervals(found)}: {decides}.",
    ]


def _intervals(found: Comparison) -> str:
    """What the intervals of differences are: ``simultaneous 95 % intervals``."""
    kind, bracket, note = found.interval.partition(" (")
    return f"{kind} intervals{bracket}{note}"


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
        answer=sentence,
        citations=citations,
        warnings=(*warnings, *cautions),
        seed=seed,
        extra=extra,
    )


def _audit_tables(measure: str, found: Audit) -> list[Table]:
    correct = found.comparisons["t"].correct
    named = "not corrected" if correct == "none" else f"corrected by {CORRECTION_TITLES[correct]}"
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
        Column("found_by", "significant under"),
        Column("missed_by", "not significant under"),
        Column("why", "why"),
    )
    shown = [
        (each.system_a, each.system_b, each.difference, ", ".join(each.found_by), ", ".join(each.missed_by), each.why)
        for each in found.disagreements[:SHOWN]
    ]
    left = len(found.disagreements) - len(shown)
    title = "Pairs whose verdict changes, the most contested first"
    pairs = Table(
        columns,
        shown,
        title + (f" ({SHOWN} of them; {left:,} more in the JSON output)" if left else ""),
        caption=title + (f" ({SHOWN} of {SHOWN + left:,})" if left else ""),
    )
    return of_measure(measure, [tests, reasons, replace(pairs, is_folded=True)] if shown else [tests])


MOST_PAIRS = 66  # listed unless all are wanted


def document(result: ComparisonResult) -> Document:
    if result.audits:
        return audit_document(result.audits, result.inputs)
    every = bool(result.inputs["all_pairs"])
    found = compare_document(list(result.comparisons.values()), result.inputs, most_pairs=None if every else MOST_PAIRS)
    found = _beside_labels(found, result.by_labels) if result.by_labels else found
    found = _with_gates(found, result) if result.gates else found
    found = _of_best_systems(found, result) if result.inputs.get("best_per") else found
    return found.showing("pairs") if every else found


def _of_best_systems(document: Document, result: ComparisonResult) -> Document:
    """With a note that these are the best systems of their teams, also in the caption of a table for a paper."""
    measure = next(iter(result.comparisons)).rpartition(": ")[2]
    note = f"Every team is shown by its system with the best mean {measure}."
    paper = [replace(table, note=f"{table.note} {note}".strip()) for table in document.paper]
    return replace(document, paper=paper, notes=f"{document.notes}\n{note}".strip())


def _with_gates(document: Document, result: ComparisonResult) -> Document:
    """With the verdicts of gates, which come first."""
    several = len(result.comparisons) > 1
    columns = (
        *([Column("measure", "measure")] if several else []),
        Column("gate", "gate"),
        Column("candidate", "candidate"),
        Column("baseline", "baseline"),
        *_gated_columns({each.factor for each in result.gates}),
        Column("bound", "one-sided bound", "score"),
        Column("p_adjusted", "p (one-sided)", "probability"),
        Column("passed", "passed", "yes"),
    )
    rows = [each.to_dict() for each in result.gates]
    shown = [{**row, "bound": row["upper" if row["lower_is_better"] else "lower"]} for row in rows]
    cells = [tuple(row[column.word] for column in columns) for row in shown]
    lines = [f"{each.measure}: {each.verdict}." if several else f"{each.verdict}." for each in result.gates]
    return replace(
        document,
        tables=[Table(columns, cells, "Gates", measure="*"), *document.tables],
        answer="\n".join(lines),
        notes=document.sentence,
        extra={"gates": rows, "passed": result.exit_code == 0, **document.extra},
    )


def _gated_columns(factors: set[float]) -> list[Column]:
    """The contrast that is tested; with a margin in per cent the baseline has a factor."""
    if factors == {1.0}:
        return [Column("difference", "difference", "score")]
    if len(factors) == 1:
        return [Column("difference", f"candidate − {min(factors):g}·baseline", "score")]
    return [Column("factor", "factor", "number"), Column("difference", "candidate − factor·baseline", "score")]


def _beside_labels(document: Document, found: Mapping[str, Mapping[str, Comparison]]) -> Document:
    """With what human labels alone and the judge's alone would say."""
    rows = [row for each in found.values() for row in _label_rows(each)]
    columns = (
        *([Column("measure", "measure")] if len(found) > 1 else []),
        Column("labels", "labels"),
        Column("topics", "topics", "count"),
        Column("significant_pairs", "significant pairs", "count"),
        Column("also", "also here", "count"),
        Column("only", "not here", "count"),
        Column("opposite", "the other way", "count"),
        Column("top_group", "top group", "count"),
    )
    title = "What other labels alone would say of the same systems; here is the result above"
    table = Table(columns, [tuple(row[column.word] for column in columns) for row in rows], title)
    citations = {"regression": "Cochran1977", "ppi": "Angelopoulos2023"}
    used = [next(iter(each)) for each in found.values()]
    return replace(
        document,
        tables=[*document.tables, table],
        extra={**document.extra, "by_labels": rows},
        citations=(*document.citations, *dict.fromkeys(citations[each] for each in used if each in citations)),
    )


def _label_rows(found: Mapping[str, Comparison]) -> list[dict[str, Any]]:
    """One row per set of labels besides those used: its verdicts, and which of them the result shares."""
    here = next(iter(found.values()))
    mine = _verdicts(here)
    rows = []
    for name, each in list(found.items())[1:]:
        theirs = _verdicts(each)
        also = sum(mine.get(pair) == sign for pair, sign in theirs.items())
        opposite = sum(mine.get(pair) == -sign for pair, sign in theirs.items())
        rows.append(
            {
                "measure": each.measure,
                "labels": ESTIMATOR_TITLES[name],
                "estimator": name,
                "topics": each.topics,
                "significant_pairs": len(theirs),
                "also": also,
                "only": len(theirs) - also,
                "opposite": opposite,
                "top_group": len(each.top_group),
                "systems": list(each.systems),
                "scores": each.means.tolist(),
            }
        )
    return rows


def _verdicts(found: Comparison) -> dict[tuple[str, str], int]:
    """The significant pairs, in alphabetical order of the two, and which is better."""
    verdicts = {}
    marked = np.flatnonzero(found.significant)
    for a, b, gap in zip(found.first[marked], found.second[marked], found.difference[marked], strict=True):
        names = found.systems[a], found.systems[b]
        sign = 1 if gap > 0 else -1
        verdicts[names if names[0] < names[1] else names[::-1]] = sign if names[0] < names[1] else -sign
    return verdicts


def charted(
    found: Comparison, document: Document, *, every: bool = False
) -> tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]], str]:
    """The rows and pairs that charts of a comparison show, and a note where they are not all.

    Of more than 200 systems the best 200 are shown, unless ``every`` one is wanted; the pairs are then those with the
    best system, or with the baselines.
    """
    rows, pairs = document.rows, document.extra["pairs"]
    if len(rows) <= LISTED_SYSTEMS:
        return rows, pairs, ""
    if every:
        with_best = found.pairs.part(0, len(found.pairs)) if found.baselines else found.pairs.with_system(0)
        return rows, found.rows_of(with_best), ""
    best = rows[:LISTED_SYSTEMS]
    names = {row["system"] for row in best}
    chosen = [pair for pair in pairs if pair["system_a"] in names and (found.baselines or pair["system_b"] in names)]
    return best, chosen, _best(best, rows)


def _first(result: ComparisonResult) -> tuple[Comparison, Document]:
    """Return the first measure, and its document."""
    found = next(iter(result.comparisons.values()))
    return found, compare_document(found, result.inputs)


def _drawable(result: ComparisonResult) -> tuple[Comparison, Document]:
    """What a chart shows: the first measure, or the only one."""
    if result.audits:
        raise RequestError("there is no chart of an audit", fix="Leave out `audit`.")
    return _first(result)


def intervals(result: ComparisonResult) -> Chart:
    """Intervals around means, or around differences from the best system or the baselines."""
    return _drawn_intervals(*_drawable(result))


def _drawn_intervals(found: Comparison, shown: Document) -> Chart:
    rows, pairs, note = charted(found, shown, every=True)
    subtitle = noted(_title(found), note)
    return interval_chart(rows, shown.extra, pairs=pairs, measure=found.measure, subtitle=subtitle)


def matrix(result: ComparisonResult) -> Chart:
    """Every pair as a coloured cell."""
    found, shown = _drawable(result)
    rows, pairs, note = charted(found, shown)
    return matrix_chart(rows, pairs, subtitle=noted(_title(found), note))


def critical_difference(result: ComparisonResult) -> Chart:
    """Means, and bars that join systems that do not differ significantly."""
    found, _ = _drawable(result)
    if found.baselines:
        raise RequestError("with a baseline not all pairs are tested", fix="Leave out `baseline`.")
    panel = charts.diagram(
        list(zip(found.systems, found.means.tolist(), strict=True)),
        letter_groups(found.letters),
        axis=f"mean {found.measure}",
        best=found.top_group,
        best_is_high=not found.lower_is_better,
    )
    note = f"Bars join systems of which no two differ significantly; {BLUE_POINTS}."
    return Chart(panels=[panel], subtitle=_title(found), note=note)


def has_short_letters(found: Comparison) -> bool:
    """Whether letters are few enough to be read."""
    return 0 < len(letter_groups(found.letters)) <= MOST_LETTERS


def letter_groups(letters: Sequence[str]) -> list[list[int]]:
    """The places of the systems that share each letter."""
    groups: dict[str, list[int]] = {}
    for at, names in enumerate(letters):
        for name in names.split():
            groups.setdefault(name, []).append(at)
    return list(groups.values())


def topics(result: ComparisonResult) -> Chart:
    """The differences on every topic: of the best system from the second, or of the best candidates from a baseline."""
    found, _ = _drawable(result)
    if found.by_topic is None:
        raise RequestError("this comparison is not made of differences on shared topics", fix="Choose another chart.")
    return differences_by_topic(found, subtitle=_title(found))


def sketch(result: ComparisonResult) -> tuple[str, str]:
    """The intervals of one measure for a page."""
    if result.audits:
        return "", ""
    found, shown = _first(result)
    return _drawn_intervals(found, shown).to_svg(is_headed=False), ""


def by_measure(result: ComparisonResult) -> dict[str, ComparisonResult]:
    if result.audits:
        return {"": result}
    return {name: replace(result, comparisons={name: each}) for name, each in result.comparisons.items()}


def write_pairs(result: ComparisonResult, path: str) -> None:
    """Write all pairs of all measures, as `ComparisonResult.write_pairs` says."""
    name = path.removesuffix(".gz")
    if not name.endswith((".csv", ".tsv")):
        raise RequestError(f"«{path}» is no name of a file of pairs", fix="End it in .csv or .tsv, also with .gz.")
    pairs = _pair_rows(list(result.comparisons.values()), every=True)
    document = Document(method="compare", inputs={}, tables=[], rows=[], extra={"pairs": pairs}).showing("pairs")
    write_pieces(path, csv_pieces(document, mark="\t" if name.endswith(".tsv") else ","))


VIEWS = {
    "ComparisonResult": View(
        document,
        {"intervals": intervals, "matrix": matrix, "critical-difference": critical_difference, "topics": topics},
        sketch,
        by_measure=by_measure,
    )
}
