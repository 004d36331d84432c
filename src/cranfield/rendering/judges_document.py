"""Judges beside human labels as documents and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.judging.agreement import GradeAgreement, Interval
from cranfield.methods.judging.assessment import JudgeAssessment, JudgeOnMeasure
from cranfield.methods.judging.favoured_systems import Favour
from cranfield.questions.judges import JudgesResult
from cranfield.rendering import judges_charts
from cranfield.rendering.document import Column, Document, Table, View, known
from cranfield.rendering.drawing import Chart

CITATIONS = ("Cochran1977", "Angelopoulos2023", "Cohen1968", "Krippendorff2013", "Yilmaz2008", "Webber2010")
SHOWN = 12  # favoured systems in a table
MEANINGS = {
    "shift": "relative to the means of the other systems, which distorts comparisons",
    "departure": "relative to a curve through the others over people's means, which leniency does not explain",
}
"""What a judge's mean is above or below, by the question about favour."""
MOST_GRADES = 8  # in a table of confusion
COEFFICIENTS = ("kappa", "linear_kappa", "quadratic_kappa", "nominal_alpha", "ordinal_alpha", "interval_alpha")


def document(result: JudgesResult) -> Document:
    found = result.assessment
    drawn = [_drawn_table(result)] if result.drawn else []
    extra: dict[str, Any] = {"drawn": list(result.drawn)} if result.drawn else {}
    if found is None:
        return Document(
            method="judges",
            inputs=result.inputs,
            tables=drawn,
            rows=[{"topic": topic} for topic in result.drawn],
            answer=_draw_sentence(result),
            citations=("Cochran1977",),
            seed=result.seed,
            extra=extra,
        )
    return Document(
        method="judges",
        inputs=result.inputs,
        tables=[*_tables(found), *drawn],
        rows=[known(_row(found, each)) for each in found.measured],
        answer=_sentences(found)[0],
        notes=" ".join([*_sentences(found)[1:], *([_draw_sentence(result)] if drawn else [])]),
        citations=(*CITATIONS, *(["RoganGladen1978"] if any(each.shares for each in found.measured) else [])),
        warnings=found.warnings,
        seed=result.seed,
        extra={
            "topics": len(found.topics),
            "judged_topics": len(found.judged_topics),
            "systems": len(found.systems),
            "worth": [known(row) for row in _worth_rows(found)],
            "favour": [known(row) for row in _favour_rows(found)],
            "confusion": [row for name, each in found.labels.items() for row in _confusion_rows(name, each)],
            **({"drift": [known(row) for row in _drift_rows(found)]} if _drift_rows(found) else {}),
            **({"shares": [known(row) for row in _share_rows(found)]} if _share_rows(found) else {}),
            **extra,
        },
    )


def _row(found: JudgeAssessment, each: JudgeOnMeasure) -> dict[str, Any]:
    labels, median = found.labels.get(each.judge), each.correlation.median
    return {
        "judge": each.judge,
        "measure": each.measure,
        "score": each.mean,
        "human_score": each.human_mean,
        "tau": each.order.tau,
        "tau_ap": each.order.tau_ap,
        "rbo": each.order.rbo,
        "correlation": median.value,
        "lower": median.lower,
        "upper": median.upper,
        "effective_topics": each.correlation.effective_topics[0],
        **{
            f"{word}_by_{question}": int(getattr(favour, word).sum())
            for question, favour in each.favour.items()
            for word in ("favoured", "disfavoured")
        },
        **{name: getattr(labels, name).value if labels else None for name in COEFFICIENTS},
        **({"weights": dict(each.weights)} if each.weights else {}),
    }


# --- sentences


def _sentences(found: JudgeAssessment) -> list[str]:
    """What the judges are worth, the best one first; of the first measure."""
    mine = [each for each in found.measured if each.measure == found.measures[0] and not each.weights]
    best = max(mine, key=lambda each: each.correlation.median.value)
    median, n, whole = best.correlation.median, len(found.topics), len(found.judged_topics)
    of_all = f", the highest of {len(mine)} judges" if len(mine) > 1 else ""
    text = [
        f"{best.measure}: paired differences under the labels of «{best.judge}» correlate with those under human "
        f"labels: r = {ranged(median)}{of_all}; {_worth_in_words(n, whole, best.correlation.effective_topics[0])}.",
        f"Its order of systems agrees with that of people at τ = {best.order.tau:.2f}, which says little about "
        "differences: a comparison based on its labels alone stays biased, however many topics it labels.",
    ]
    return [*text, *_favour_sentence(found, best)]


def _worth_in_words(topics: int, judged_topics: int, worth: float) -> str:
    if topics == judged_topics:
        return f"it labels the same {topics:,} topics as people and no others, so that its labels add nothing"
    lost = ": fewer, as the slope of the regression costs more than the judge adds" if worth < topics else ""
    return (
        f"{topics:,} topics with human labels among {judged_topics:,} that it labels are worth {worth:.1f} with human "
        f"labels alone{lost}"
    )


def ranged(coefficient: Interval) -> str:
    """A coefficient with its interval in brackets, where it has one."""
    value, lower, upper = coefficient.value, coefficient.lower, coefficient.upper
    return f"{value:.2f}" if np.isnan(lower) else f"{value:.2f} ({lower:.2f} to {upper:.2f})"


def _favour_sentence(found: JudgeAssessment, judge: JudgeOnMeasure) -> list[str]:
    what = "team" if found.teams else "system"
    favours, names = (judge.team_favour, found.teams) if found.teams else (judge.favour, found.systems)
    level = f"(α = {found.alpha:g}, all {len(names)} together)"
    return [
        f"{question.capitalize()}: {_favoured_in_words(favour, names, what)} {MEANINGS[question]} {level}."
        for question, favour in favours.items()
    ]


def _favoured_in_words(favour: Favour, names: Sequence[str], what: str) -> str:
    good = [names[at] for at in np.flatnonzero(favour.favoured)[np.argsort(-favour.value[favour.favoured])].tolist()]
    bad = [
        names[at] for at in np.flatnonzero(favour.disfavoured)[np.argsort(favour.value[favour.disfavoured])].tolist()
    ]
    if not good and not bad:
        return f"it significantly favours or disfavours no {what}"
    parts = [f"favours {_listed(good, what)}"] * bool(good) + [f"disfavours {_listed(bad, what)}"] * bool(bad)
    return f"it {' and '.join(parts)}"


def _listed(names: Sequence[str], what: str) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{len(names)} {what}{'s' * (len(names) != 1)} ({', '.join(names[:3])}{more})"


def _draw_sentence(result: JudgesResult) -> str:
    how = " from five groups by the judge's mean score" if result.inputs["stratify"] else ""
    return (
        f"{len(result.drawn):,} of {result.judged_topics:,} judged topics were drawn{how} for people to label, with "
        f"seed {result.seed}."
    )


# --- tables


def _table(words: Mapping[str, tuple[str, str]], rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    """Columns by their words, each with its title and kind."""
    columns = tuple(Column(word, *about) for word, about in words.items())
    return Table(columns, [tuple(row[word] for word in words) for row in rows], title)


def _tables(found: JudgeAssessment) -> list[Table]:
    return [
        *(_beside(found, measure) for measure in found.measures),
        *_agreement(found, found.labels, "Agreement of labels with people's"),
        *(_worth(found, measure) for measure in found.measures),
        *_favoured(found),
        *(_confusion(name, each) for name, each in found.labels.items() if len(each.grades) <= MOST_GRADES),
        *_shares(found),
        *_drift(found),
    ]


def _beside(found: JudgeAssessment, measure: str) -> Table:
    mine = [each for each in found.measured if each.measure == measure]
    words = {
        "judge": ("judge", "text"),
        "score": ("mean score", "score"),
        "tau": ("τ", "score"),
        "tau_ap": ("τ_AP", "score"),
        "rbo": ("RBO", "score"),
        "correlation": ("r", "score"),
        "lower": ("low", "score"),
        "upper": ("high", "score"),
    }
    title = (
        f"{measure}: judges beside people, whose mean is {mine[0].human_mean:.4f}; {len(found.systems)} systems, "
        f"{len(found.topics)} topics; r is the median over pairs"
    )
    return _table(words, [_row(found, each) for each in mine], title)


def _agreement(found: JudgeAssessment, labels: Mapping[str, GradeAgreement], title: str) -> list[Table]:
    if not labels:
        return []
    unit = next(iter(labels.values())).unit
    words = {
        "judge": ("judge", "text"),
        "documents": (unit, "count"),
        "same": ("same", "percent"),
        "kappa": ("κ", "score"),
        "kappa_lower": ("low", "score"),
        "kappa_upper": ("high", "score"),
        "linear_kappa": ("linear κ", "score"),
        "quadratic_kappa": ("quadratic κ", "score"),
        "ordinal_alpha": ("α, ordinal", "score"),
    }
    rows = []
    for name, agreement in labels.items():
        rows.append(
            {
                "judge": name,
                "documents": agreement.documents,
                "same": agreement.same,
                "kappa_lower": agreement.kappa.lower,
                "kappa_upper": agreement.kappa.upper,
                **{word: getattr(agreement, word).value for word in COEFFICIENTS},
            }
        )
    return [_table(words, rows, f"{title} ({100 * (1 - found.alpha):g} % intervals over topics)")]


def _worth_rows(found: JudgeAssessment) -> list[dict[str, Any]]:
    n, rows = len(found.topics), []
    for each in found.measured:
        for size in found.sizes:
            worth = dict(zip(("effective_topics", "lower", "upper"), each.correlation.worth(size), strict=True))
            rows.append({"judge": each.judge, "measure": each.measure, "topics": n, "judged_topics": size, **worth})
    return rows


def _worth(found: JudgeAssessment, measure: str) -> Table:
    sizes = {f"judged_{size}": (f"N = {size:,}", "decimal") for size in found.sizes}
    rows = []
    for each in (each for each in found.measured if each.measure == measure):
        mine = [row for row in _worth_rows(found) if row["judge"] == each.judge and row["measure"] == measure]
        rows.append(
            {"judge": each.judge, **{f"judged_{row['judged_topics']}": row["effective_topics"] for row in mine}}
        )
    title = (
        f"{measure}: what {len(found.topics)} topics with human labels are worth, in topics with human labels alone, "
        "if the judge labels N"
    )
    return _table({"judge": ("judge", "text"), **sizes}, rows, title)


def _favour_rows(found: JudgeAssessment) -> list[dict[str, Any]]:
    return [
        {
            "judge": each.judge,
            "measure": each.measure,
            "question": question,
            what: name,
            "favour": float(favour.value[at]),
            "lower": float(favour.lower[at]),
            "upper": float(favour.upper[at]),
            "p_adjusted": float(favour.p_value[at]),
            "significant": bool(favour.p_value[at] <= favour.alpha),
        }
        for each in found.measured
        for what, favours, names in (("system", each.favour, found.systems), ("team", each.team_favour, found.teams))
        for question, favour in favours.items()
        for at, name in enumerate(names)
    ]


def _favoured(found: JudgeAssessment) -> list[Table]:
    """The systems or teams that judges favour or disfavour, the most first; one table per question."""
    what = "team" if found.teams else "system"
    own = {each.judge for each in found.measured if not each.weights}
    rows = [row for row in _favour_rows(found) if what in row and row["significant"] and row["judge"] in own]
    rows.sort(key=lambda row: -abs(row["favour"]))
    by_question = {name: [row for row in rows if row["question"] == name] for name in MEANINGS}
    return [_favoured_table(found, question, mine, what) for question, mine in by_question.items() if mine]


def _favoured_table(found: JudgeAssessment, question: str, rows: Sequence[Mapping[str, Any]], what: str) -> Table:
    words = {
        "judge": ("judge", "text"),
        **({"measure": ("measure", "text")} if len(found.measures) > 1 else {}),
        what: (what, "text"),
        "favour": (question, "score"),
        "lower": ("low", "score"),
        "upper": ("high", "score"),
        "p_adjusted": ("p (max-t)", "probability"),
    }
    left = f"; the first {SHOWN} of {len(rows)}" if len(rows) > SHOWN else ""
    title = f"{question.capitalize()}: {what}s that judges score higher (above 0) or lower {MEANINGS[question]}{left}"
    elsewhere = ", JSON has all" if left else ""
    return replace(_table(words, rows[:SHOWN], f"{title}{elsewhere}"), caption=title)


def _confusion_rows(name: str, labels: GradeAgreement) -> list[dict[str, Any]]:
    grades, counts = labels.grades.tolist(), labels.confusion.tolist()
    return [
        {"judge": name, "human_grade": a, "judge_grade": b, "documents": counts[i][j]}
        for i, a in enumerate(grades)
        for j, b in enumerate(grades)
    ]


def _confusion(name: str, labels: GradeAgreement) -> Table:
    grades = [f"{grade:g}" for grade in labels.grades.tolist()]
    columns = (
        Column("human_grade", "people"),
        *(Column(f"grade_{grade}", f"judge {grade}", "count") for grade in grades),
    )
    rows = [(grade, *row) for grade, row in zip(grades, labels.confusion.tolist(), strict=True)]
    return Table(columns, rows, f"{name}: {labels.unit} by people's grade (rows) and the judge's")


def _share_rows(found: JudgeAssessment) -> list[dict[str, Any]]:
    return [
        {
            "judge": each.judge,
            "measure": each.measure,
            "system": system,
            "score": float(each.means[at]),
            "corrected": float(each.shares.value[at]),
            "standard_error": float(each.shares.standard_error[at]),
            "sensitivity": each.shares.sensitivity,
            "specificity": each.shares.specificity,
        }
        for each in found.measured
        if each.shares is not None
        for at, system in enumerate(found.systems)
    ]


def _shares(found: JudgeAssessment) -> list[Table]:
    rows = _share_rows(found)
    if not rows:
        return []
    words = {
        "judge": ("judge", "text"),
        "system": ("system", "text"),
        "score": ("passed", "score"),
        "corrected": ("corrected", "score"),
        "standard_error": ("± error", "score"),
        "sensitivity": ("sensitivity", "score"),
        "specificity": ("specificity", "score"),
    }
    title = "Shares of passes after Rogan and Gladen, which takes the judge to err alike on all systems: see favour"
    return [_table(words, rows[:50], title)]


def _drift_rows(found: JudgeAssessment) -> list[dict[str, Any]]:
    return [
        {
            "judge": each.judge,
            "measure": each.measure,
            "change": each.drift.mean.value,
            "lower": each.drift.mean.lower,
            "upper": each.drift.mean.upper,
            "p_value": each.drift.p_value,
            "earlier_correlation": each.drift.earlier_correlation,
            "later_correlation": each.drift.later_correlation,
            "same": found.same_labels.get(each.judge),
        }
        for each in found.measured
        if each.drift is not None
    ]


def _drift(found: JudgeAssessment) -> list[Table]:
    rows = _drift_rows(found)
    if not rows:
        return []
    words = {
        "judge": ("judge", "text"),
        "measure": ("measure", "text"),
        "change": ("change of mean", "score"),
        "lower": ("low", "score"),
        "upper": ("high", "score"),
        "p_value": ("p", "probability"),
        "earlier_correlation": ("r before", "score"),
        "later_correlation": ("r now", "score"),
        "same": ("same labels", "percent"),
    }
    return [_table(words, rows, "Drift: the judge's labels now beside its earlier ones")]


def _drawn_table(result: JudgesResult) -> Table:
    return Table((Column("topic", "topic"),), [(topic,) for topic in result.drawn], "Topics for people to label")


# --- charts


def _assessed(result: JudgesResult) -> JudgeAssessment:
    if result.assessment is None:
        raise RequestError("there is nothing to draw without human labels", fix="Give them as `qrels`.")
    return result.assessment


def worth_chart(result: JudgesResult) -> Chart:
    """What the topics with human labels are worth, against the topics that the judge labels."""
    return judges_charts.worth_chart(_assessed(result))


def agreement_chart(result: JudgesResult) -> Chart:
    """Mean scores of systems under the judge's labels against those under human ones."""
    return judges_charts.agreement_chart(_assessed(result))


def favour_chart(result: JudgesResult) -> Chart:
    """How far each judge shifts every system, with simultaneous intervals."""
    found = _assessed(result)
    return judges_charts.favour_chart(found, _favour_rows(found))


VIEWS = {
    "JudgesResult": View(
        document,
        {"worth": worth_chart, "agreement": agreement_chart, "favour": favour_chart},
        pictures=lambda result: (
            [
                ("What human labels are worth", worth_chart(result)),
                ("Mean scores by people and by judges", agreement_chart(result)),
                ("Favoured systems", favour_chart(result)),
            ]
            if result.assessment is not None
            else []
        ),
    )
}
