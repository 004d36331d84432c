"""Judges beside human labels as documents and charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.errors import RequestError
from cranfield.methods.judging.agreement import Interval
from cranfield.methods.judging.assessment import GradesOfJudge, JudgeAssessment, JudgeOnMeasure
from cranfield.methods.judging.judge_effects import Favour, effective_topics
from cranfield.questions.judges import JudgesResult
from cranfield.rendering.charts import COLOURS, line_chart, styled
from cranfield.rendering.document import Column, Document, Table, View, known

CITATIONS = ("Cochran1977", "Angelopoulos2023", "Cohen1968", "Krippendorff2013", "Yilmaz2008", "Webber2010")
SHOWN = 12  # favoured systems in a table
EXPECTED = {
    "shift": "people's, beside the same for all systems",
    "line": "that on a line through the other systems, over people's",
    "curve": "that on a curve through the other systems, over people's",
}
"""What no favour would be, by what a judge may do to all systems alike."""
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
        "favoured": int(each.favour.favoured.sum()),
        "disfavoured": int(each.favour.disfavoured.sum()),
        **{name: getattr(labels.agreement, name).value if labels else None for name in COEFFICIENTS},
        **({"weights": dict(each.weights)} if each.weights else {}),
    }


# --- sentences


def _sentences(found: JudgeAssessment) -> list[str]:
    """What the judges are worth, the best one first; of the first measure."""
    mine = [each for each in found.measured if each.measure == found.measures[0] and not each.weights]
    best = max(mine, key=lambda each: each.correlation.median.value)
    median, n, most = best.correlation.median, len(found.topics), found.sizes[-1]
    worth = float(effective_topics(n, max(most, n), median.value))
    of_all = f", the highest of {len(mine)} judges" if len(mine) > 1 else ""
    text = [
        f"{best.measure}: paired differences under the labels of «{best.judge}» correlate with those under human "
        f"labels: r = {ranged(median)}{of_all}; {n:,} topics with human labels among {most:,} that it labels are worth "
        f"{worth:.0f} with human labels alone.",
        f"Its order of systems agrees with that of people at τ = {best.order.tau:.2f}, which says little about "
        "differences: a comparison based on its labels alone stays biased, however many topics it labels.",
    ]
    return [*text, *_favour_sentence(found, best)]


def ranged(coefficient: Interval) -> str:
    """A coefficient with its interval in brackets, where it has one."""
    value, lower, upper = coefficient.value, coefficient.lower, coefficient.upper
    return f"{value:.2f}" if np.isnan(lower) else f"{value:.2f} ({lower:.2f} to {upper:.2f})"


def _favour_sentence(found: JudgeAssessment, judge: JudgeOnMeasure) -> list[str]:
    of_teams = judge.team_favour is not None
    favour, names = (judge.team_favour, found.teams) if judge.team_favour is not None else (judge.favour, found.systems)
    assert favour is not None
    what = "team" if of_teams else "system"
    good = [names[at] for at in np.flatnonzero(favour.favoured)[np.argsort(-favour.value[favour.favoured])].tolist()]
    bad = [
        names[at] for at in np.flatnonzero(favour.disfavoured)[np.argsort(favour.value[favour.disfavoured])].tolist()
    ]
    if not good and not bad:
        return [f"It favours no {what} significantly (α = {found.alpha:g}, all {len(names)} together)."]
    parts = [f"favours {_listed(good, what)}"] * bool(good) + [f"disfavours {_listed(bad, what)}"] * bool(bad)
    return [f"Relative to people it {' and '.join(parts)} (α = {found.alpha:g}, all {len(names)} together)."]


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
        *(_confusion(name, each) for name, each in found.labels.items() if len(each.agreement.grades) <= MOST_GRADES),
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


def _agreement(found: JudgeAssessment, labels: Mapping[str, GradesOfJudge], title: str) -> list[Table]:
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
    for name, each in labels.items():
        agreement = each.agreement
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
        median = each.correlation.median
        for size in found.sizes:
            worth = [float(effective_topics(n, max(size, n), r)) for r in (median.value, median.lower, median.upper)]
            named = {"judge": each.judge, "measure": each.measure, "topics": n, "judged_topics": size}
            rows.append({**named, "effective_topics": worth[0], "lower": worth[1], "upper": worth[2]})
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
    rows = []
    for each in found.measured:
        sets: list[tuple[str, Favour | None, Sequence[str]]] = [
            ("system", each.favour, found.systems),
            ("team", each.team_favour, found.teams),
        ]
        for what, favour, names in sets:
            if favour is None:
                continue
            columns = (favour.value, favour.lower, favour.upper, favour.p_value, favour.p_value <= favour.alpha)
            for name, value, lower, upper, p, marked in zip(
                names, *(column.tolist() for column in columns), strict=True
            ):
                rows.append(
                    {
                        "judge": each.judge,
                        "measure": each.measure,
                        what: name,
                        "favour": value,
                        "lower": lower,
                        "upper": upper,
                        "p_adjusted": p,
                        "significant": bool(marked),
                    }
                )
    return rows


def _favoured(found: JudgeAssessment) -> list[Table]:
    """The systems or teams that judges favour or disfavour, the most first."""
    what = "team" if found.teams else "system"
    own = {each.judge for each in found.measured if not each.weights}
    mine = [row for row in _favour_rows(found) if what in row and row["significant"] and row["judge"] in own]
    mine.sort(key=lambda row: -abs(row["favour"]))
    if not mine:
        return []
    words = {
        "judge": ("judge", "text"),
        **({"measure": ("measure", "text")} if len(found.measures) > 1 else {}),
        what: (what, "text"),
        "favour": ("favour", "score"),
        "lower": ("low", "score"),
        "upper": ("high", "score"),
        "p_adjusted": ("p (max-t)", "probability"),
    }
    left = f"; the first {SHOWN} of {len(mine)}" if len(mine) > SHOWN else ""
    expected = EXPECTED[found.measured[0].favour.common]
    title = f"Favoured (above 0) and disfavoured {what}s: the judge's mean score less {expected}{left}"
    elsewhere = ", JSON has all" if left else ""
    return [replace(_table(words, mine[:SHOWN], f"{title}{elsewhere}"), caption=title)]


def _confusion_rows(name: str, labels: GradesOfJudge) -> list[dict[str, Any]]:
    grades, counts = labels.agreement.grades.tolist(), labels.agreement.confusion.tolist()
    return [
        {"judge": name, "human_grade": a, "judge_grade": b, "documents": counts[i][j]}
        for i, a in enumerate(grades)
        for j, b in enumerate(grades)
    ]


def _confusion(name: str, labels: GradesOfJudge) -> Table:
    grades = [f"{grade:g}" for grade in labels.agreement.grades.tolist()]
    columns = (
        Column("human_grade", "people"),
        *(Column(f"grade_{grade}", f"judge {grade}", "count") for grade in grades),
    )
    rows = [(grade, *row) for grade, row in zip(grades, labels.agreement.confusion.tolist(), strict=True)]
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
            "same": found.drifted_labels[each.judge].agreement.same if each.judge in found.drifted_labels else None,
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


def worth_chart(result: JudgesResult) -> Any:
    """What the topics with human labels are worth, against the topics that the judge labels."""
    found = _assessed(result)
    n, most = len(found.topics), max([*found.sizes, 2 * len(found.topics)])
    sizes = np.unique(np.geomspace(n, most, 40).round().astype(int))
    rows = [
        {
            "judge": each.judge,
            "judged_topics": int(size),
            "effective_topics": float(effective_topics(n, size, each.correlation.median.value)),
        }
        for each in found.measured
        if each.measure == found.measures[0]
        for size in sizes.tolist()
    ]
    titles = {
        "judged_topics": "topics labelled by the judge (N)",
        "effective_topics": f"what {n} topics with human labels are worth",
        "judge": "",
    }
    return line_chart(
        rows, x="judged_topics", y="effective_topics", titles=titles, colour="judge", title=found.measures[0]
    )


def agreement_chart(result: JudgesResult) -> Any:
    """Mean scores of systems under the judge's labels against those under human ones, one panel per judge."""
    import altair

    found = _assessed(result)
    human = found.human_means[found.measures[0]]
    rows = [
        {"judge": each.judge, "system": system, "human": float(human[at]), "by_judge": float(each.means[at])}
        for each in found.measured
        if each.measure == found.measures[0] and not each.weights
        for at, system in enumerate(found.systems)
    ]
    everything = np.concatenate([human, *(each.means for each in found.measured if not each.weights)])
    scale = altair.Scale(domain=[float(everything.min()), float(everything.max())], nice=True, zero=False)
    data = altair.Data(values=rows)  # type: ignore[no-untyped-call]
    words = (("system", "N"), ("human", "Q"), ("by_judge", "Q"))
    points = (
        altair.Chart()
        .mark_point(filled=True, size=36, color=COLOURS[0])
        .encode(
            x=altair.X("human:Q", title="mean score by people", scale=scale),
            y=altair.Y("by_judge:Q", title="by the judge", scale=scale),
            tooltip=[altair.Tooltip(f"{word}:{kind}", title=word.replace("_", " ")) for word, kind in words],
        )
    )
    same = altair.Chart().mark_line(color="#999999", strokeDash=[4, 3]).encode(x="human:Q", y="human:Q")
    panel = altair.layer(same, points).properties(width=220, height=220)
    return styled(panel.facet(data=data, facet=altair.Facet("judge:N", title=None, sort=None), columns=2))


def favour_chart(result: JudgesResult) -> Any:
    """How far each judge favours every system, with simultaneous intervals, one panel per judge."""
    import altair

    found = _assessed(result)
    what = "team" if found.teams else "system"
    measure, own = found.measures[0], {each.judge for each in found.measured if not each.weights}
    rows = [row for row in _favour_rows(found) if what in row and row["measure"] == measure and row["judge"] in own]
    means = found.human_means[measure]
    order = list(found.teams) or [found.systems[at] for at in np.argsort(-means, kind="stable").tolist()]
    data = altair.Data(values=[known(row) for row in rows])  # type: ignore[no-untyped-call]
    y = altair.Y(f"{what}:N", sort=order, title=None)
    colour = altair.Color(
        "significant:N", title="significant", scale=altair.Scale(domain=[True, False], range=[COLOURS[1], COLOURS[0]])
    )
    most = 2.5 * max(abs(row["favour"]) for row in rows if row["favour"] == row["favour"])  # whose interval is no limit
    x = altair.X("lower:Q", title="favour", scale=altair.Scale(domain=[-most, most]))
    base = altair.Chart().encode(y=y, color=colour)
    reach = base.mark_rule(strokeWidth=2, clip=True).encode(x=x, x2="upper:Q")
    tips = [altair.Tooltip(f"{what}:N"), *(altair.Tooltip(f"{word}:Q") for word in ("favour", "lower", "upper"))]
    points = base.mark_point(filled=True, size=36).encode(x="favour:Q", tooltip=tips)
    zero = altair.Chart().mark_rule(color="#999999").encode(x=altair.datum(0))
    panel = altair.layer(zero, reach, points).properties(width=240, height=max(80, 13 * len(order)))
    return styled(panel.facet(data=data, facet=altair.Facet("judge:N", title=None, sort=None), columns=2))


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
