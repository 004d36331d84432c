"""Leaderboards as documents and charts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from cranfield.errors import RequestError, say_percent
from cranfield.methods.boards.board import Board
from cranfield.methods.boards.effects import PairEffect
from cranfield.methods.contrasts.clusters import DesignEffect
from cranfield.methods.names import with_correction
from cranfield.questions.leaderboard import LeaderboardResult
from cranfield.rendering import charts
from cranfield.rendering.comparison_document import (
    BLUE_POINTS,
    design_sentences,
    design_summary,
    has_short_letters,
    letter_groups,
)
from cranfield.rendering.document import Column, Document, Table, View, known, of_measure
from cranfield.rendering.drawing import Chart
from cranfield.rendering.references import ROBUST_CITATIONS

SHOWN = 50  # systems in a table
DECISIVE = 12  # tasks in a table
EFFECTS = 20  # pairs in a table


def document(result: LeaderboardResult) -> Document:
    boards = list(result.boards.values())
    first = boards[0]
    return Document(
        method="leaderboard",
        inputs=result.inputs,
        tables=[table for each in boards for table in _tables(each)],
        rows=[known(row) for each in boards for row in _rows(each)],
        answer="\n".join(_answer(each) for each in boards),
        notes="\n".join(_notes(each) for each in boards),
        citations=_citations(first),
        warnings=tuple(dict.fromkeys(caution for each in boards for caution in each.warnings)),
        seed=result.seed,
        extra={
            "tasks": len(first.tasks),
            "systems": len(first.systems),
            "test": first.comparison.test,
            "correct": first.comparison.correct,
            "significant_pairs": first.comparison.significant_pairs,
            "top_group": list(first.comparison.top_group),
            "standardise": first.standardise,
            **(design_summary(effect) if (effect := _design_effect(first)) else {}),
            "decisive_tasks": [row for each in boards for row in _task_rows(each)],
            **(_friedman(first)),
            **(_collections(boards) if first.topics else {}),
        },
    )


def _design_effect(board: Board) -> DesignEffect | None:
    """What clusters, strata and weights of tasks do; several collections are strata, and are spoken of as such."""
    return None if board.topics else board.comparison.design_effect


def _citations(board: Board) -> tuple[str, ...]:
    found = ["Mogstad2024", "Demsar2006"] if board.friedman else ["Mogstad2024"]
    found += ROBUST_CITATIONS if _design_effect(board) else []
    if board.standardise == "z":
        found.append("WebberMoffatZobel2008")
    if board.topics:
        found += ["Cochran1977", "PauleMandel1982", "HartungKnapp2001", "Higgins2009", "DerSimonianLaird1986"]
    return tuple(found)


def _collections(boards: list[Board]) -> dict[str, Any]:
    first = boards[0]
    collections = [
        {"collection": name, "topics": topics, "weight": weight}
        for name, topics, weight in zip(first.tasks, first.topics, first.weights.tolist(), strict=True)
    ]
    effects = [{**row, "collections": parts} for each in boards for row, parts in _effects_with_parts(each)]
    return {"sample": SAMPLE, "collections": collections, "effects": effects}


SAMPLE = "topics within these collections"
"""What ranks of a board of collections speak of."""


def _effects_with_parts(board: Board) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    for effect in board.effects:
        yield known(_effect_row(board, effect)), [known(row) for row in _part_rows(board, effect)]


def _effect_row(board: Board, effect: PairEffect) -> dict[str, Any]:
    """The random effect of Paule and Mandel with Hartung and Knapp's interval; besides, the others."""
    found, laird = effect.combined, effect.laird
    return {
        "measure": board.measure,
        "system_a": effect.first,
        "system_b": effect.second,
        "collections_used": len(effect.collections),
        "random": found.random,
        "random_lower": found.random_lower,
        "random_upper": found.random_upper,
        "prediction_lower": found.prediction_lower,
        "prediction_upper": found.prediction_upper,
        "fixed": found.fixed,
        "fixed_lower": found.fixed_lower,
        "fixed_upper": found.fixed_upper,
        "q": found.q,
        "q_p_value": found.q_p_value,
        "i2": found.i2,
        "tau2": found.tau2,
        "tau": math.sqrt(found.tau2),
        "random_dl": laird.random,
        "random_dl_lower": laird.random_lower,
        "random_dl_upper": laird.random_upper,
        "prediction_dl_lower": laird.prediction_lower,
        "prediction_dl_upper": laird.prediction_upper,
        "tau2_dl": laird.tau2,
    }


def _part_rows(board: Board, effect: PairEffect) -> list[dict[str, Any]]:
    """The difference in each collection, with the interval of Student's t."""
    found = effect.differences
    lower, upper = found.interval(board.alpha)
    columns = {
        "collection": effect.collections,
        "topics": effect.topics,
        "difference": found.value.tolist(),
        "standard_error": found.standard_error.tolist(),
        "lower": lower.tolist(),
        "upper": upper.tolist(),
    }
    return [
        {"system_a": effect.first, "system_b": effect.second, **dict(zip(columns, row, strict=True))}
        for row in zip(*columns.values(), strict=True)
    ]


def _rows(board: Board) -> list[dict[str, Any]]:
    columns = {
        "system": board.systems,
        "score": board.scores.tolist(),
        "rank": board.ranks.tolist(),
        "rank_lower": board.rank_lower.tolist(),
        "rank_upper": board.rank_upper.tolist(),
        "may_be_best": board.comparison.standing.may_be_best.tolist(),
        "first_share": board.first_share.tolist(),
        **({"letters": board.comparison.letters} if board.comparison.letters else {}),
        "tasks": board.tasks_of.tolist(),
    }
    return [
        {"measure": board.measure, **dict(zip(columns, row, strict=True))}
        for row in zip(*columns.values(), strict=True)
    ]


def _friedman(board: Board) -> dict[str, Any]:
    found = board.friedman
    if found is None:
        return {}
    ranks = dict(zip(board.systems, found.average_ranks.tolist(), strict=True))
    return {
        "friedman": {
            "statistic": found.statistic,
            "p_value": found.p_value,
            "critical_difference": found.critical_difference,
            "average_ranks": ranks,
        }
    }


def _answer(board: Board) -> str:
    lead = f"{board.measure}: {board.systems[0]} is first on {_tasks(board)}."
    return f"{lead} {board.comparison.summary()}"


def _notes(board: Board) -> str:
    text = [*design_sentences(_design_effect(board), len(board.tasks), "tasks"), _deciding(board)]
    if board.standardise == "z":
        text.append(f"Scores are standardised within each {'topic' if board.topics else 'task'} (z).")
    if board.topics:
        text.append(_about_collections(board))
    return " ".join(text)


def _tasks(board: Board) -> str:
    """How many tasks, or collections and topics."""
    many = f"{len(board.tasks):,} {board.kind_of_tasks}s"
    return f"{many} with {sum(board.topics):,} topics" if board.topics else many


def _deciding(board: Board) -> str:
    word, count = board.kind_of_tasks, len(board.decisive)
    if not count:
        return f"No single {word} decides the first place."
    names = [each.task for each in board.decisive[:3]]
    if count <= 2:
        left, first = f" or {word} ".join(names), board.decisive[0].first if count == 1 else "another system"
        return f"If {word} {left} is left out, {first} is first."
    more = f" and {count - 3:,} more" if count > 3 else ""
    return f"If any one of {count:,} {word}s ({', '.join(names)}{more}) is left out, another system is first."


def _about_collections(board: Board) -> str:
    """What is the sample, and what the prediction interval adds."""
    text = "Ranks are about other topics of these collections: the sample is the topics, and the collections are fixed."
    if not board.effects:
        return text
    effect = board.effects[0]
    found = effect.combined
    pair = f"{effect.first} minus {effect.second}"
    ahead = (
        f"In another collection like these it is expected in [{found.prediction_lower:.4f}, "
        f"{found.prediction_upper:.4f}] (prediction interval)."
        if len(effect.collections) > 2
        else "A prediction interval for another collection needs three collections."
    )
    return (
        f"{text} With the collections as a sample, {pair} is {found.random:.4f} [{found.random_lower:.4f}, "
        f"{found.random_upper:.4f}] on average, with τ = {math.sqrt(found.tau2):.4f} between collections and "
        f"I² = {say_percent(found.i2)}. {ahead}"
    )


def _tables(board: Board) -> list[Table]:
    words: Mapping[str, tuple[str, str]] = {
        "rank": ("rank", "count"),
        "system": ("system", "text"),
        "score": ("score", "score"),
        "rank_lower": ("best rank", "count"),
        "rank_upper": ("worst rank", "count"),
        "may_be_best": ("may be best", "yes"),
        **({"letters": ("letters", "text")} if has_short_letters(board.comparison) else {}),
        **({"first_share": ("first in resamples", "percent")} if board.resamples else {}),
        **({"tasks": (f"{board.kind_of_tasks}s", "count")} if board.missing else {}),
    }
    rows = _rows(board)
    left = f"; the first {SHOWN} of {len(rows):,}" if len(rows) > SHOWN else ""
    caption = f"{board.measure}: {_tasks(board)}, α = {board.alpha:g}{left}"
    table = _table(words, rows[:SHOWN], f"{caption}{', CSV and JSON have all' if left else ''}")
    return of_measure(board.measure, [replace(table, caption=caption), *tables_beside(board)])


def tables_beside(board: Board) -> list[Table]:
    """What stands below the systems: the tasks that decide the first place, and differences over collections."""
    tasks = _task_rows(board)
    if not tasks:
        return _effect_tables(board)
    word = board.kind_of_tasks
    heads = (Column("task", f"without the {word}"), Column("first", "first is"), Column("lead", "its lead", "score"))
    shown = [(row["task"], row["first"], row["lead"]) for row in tasks[:DECISIVE]]
    more = f" ({DECISIVE} of the {len(tasks)} decisive {word}s)" if len(tasks) > DECISIVE else ""
    return [Table(heads, shown, f"{word.capitalize()}s that decide the first place{more}"), *_effect_tables(board)]


def _effect_tables(board: Board) -> list[Table]:
    """The differences combined over collections, and those in each of them."""
    if not board.effects:
        return []
    shown = board.effects[:EFFECTS]
    some = f"{EFFECTS} of {len(board.effects):,}" if len(board.effects) > EFFECTS else ""
    level = f"{1 - board.alpha:.4g}"
    words: Mapping[str, tuple[str, str]] = {
        "system_a": ("system", "text"),
        "system_b": ("minus", "text"),
        "collections_used": ("collections", "count"),
        "random": ("random effect", "score"),
        "random_lower": ("low", "score"),
        "random_upper": ("high", "score"),
        "prediction_lower": ("next low", "score"),
        "prediction_upper": ("next high", "score"),
        "fixed": ("fixed effect", "score"),
        "q_p_value": ("p of Q", "probability"),
        "i2": ("I²", "percent"),
        "tau": ("τ", "score"),
    }
    combined = [_effect_row(board, each) for each in shown]
    caption = f"Differences in {board.measure} combined over collections, intervals of level {level} of each pair"
    title = f"{caption} ({some}; JSON has all)" if some else caption
    parts = [row for each in shown for row in _part_rows(board, each)]
    of_parts: Mapping[str, tuple[str, str]] = {
        "system_a": ("system", "text"),
        "system_b": ("minus", "text"),
        "collection": ("collection", "text"),
        "topics": ("topics", "count"),
        "difference": ("difference", "score"),
        "lower": ("low", "score"),
        "upper": ("high", "score"),
    }
    return [
        replace(_table(words, combined, title), caption=f"{caption} ({some})" if some else caption),
        _table(of_parts, parts, f"Differences in {board.measure} in each collection"),
    ]


def _table(words: Mapping[str, tuple[str, str]], rows: list[dict[str, Any]], title: str) -> Table:
    columns = tuple(Column(word, *about) for word, about in words.items())
    return Table(columns, [tuple(row[word] for word in words) for row in rows], title)


def _task_rows(board: Board) -> list[dict[str, Any]]:
    return [
        {"measure": board.measure, "task": each.task, "first": each.first, "lead": each.lead} for each in board.decisive
    ]


def ranks_chart(result: LeaderboardResult) -> Chart:
    """The ranks that each system may have, those that may be the best in blue."""
    board = next(iter(result.boards.values()))
    rows = [known(row) for row in _rows(board)]
    axis = f"rank, with its {_level(board)} confidence interval"
    panel = charts.ranks(rows, axis=axis, systems=len(board.systems), main="may_be_best")
    return Chart(panels=[panel], subtitle=_subtitle(board), note="Blue: may be the best.")


def _subtitle(board: Board) -> str:
    return f"{board.measure}, {_tasks(board)}, {len(board.systems):,} systems, {_test(board)}"


def critical_difference_chart(result: LeaderboardResult) -> Chart:
    """Average ranks, and bars that join systems within Nemenyi's critical difference.

    By means, and bars of the test of the board, where there are no ranks within tasks: with missing scores, two
    systems, or several collections.
    """
    board = next(iter(result.boards.values()))
    found = board.friedman
    if found is None:
        panel = charts.diagram(
            list(zip(board.systems, board.scores.tolist(), strict=True)),
            letter_groups(board.comparison.letters),
            axis=f"mean {board.measure}" + (" (z)" if board.standardise == "z" else ""),
            best=board.comparison.top_group,
            best_is_high=not board.lower_is_better,
        )
        note = f"Bars join systems of which no two are separable; {BLUE_POINTS}."
        return Chart(panels=[panel], subtitle=_subtitle(board), note=note)
    panel = charts.diagram(
        [(board.systems[at], float(found.average_ranks[at])) for at in found.order.tolist()],
        found.groups(),
        axis=f"average rank in {board.measure} on {len(board.tasks):,} tasks",
        critical=found.critical_difference,
    )
    subtitle = f"{board.measure}, {_tasks(board)}, {len(board.systems):,} systems, α = {board.alpha:g}"
    return Chart(panels=[panel], subtitle=subtitle, note="Bars join systems that Friedman and Nemenyi do not separate.")


def _test(board: Board) -> str:
    return f"{with_correction(board.comparison.test, board.comparison.correct)}, α = {board.alpha:g}"


FOREST = {"collection": "collection", "fixed": "fixed effect", "random": "random effect", "next": "another collection"}


def forest(result: LeaderboardResult) -> Chart:
    """The difference of the first pairs in each collection, combined, and expected in another one."""
    board = next(iter(result.boards.values()))
    if not board.topics:
        raise RequestError("a forest needs several collections", fix="Give one score table per collection.")
    if not board.effects:
        raise RequestError("no pair has differences that vary in two collections", fix="Choose another chart.")
    axis = f"difference in {board.measure}"
    first = board.effects[:2]
    panels = [
        charts.forest(_forest_rows(board, each), axis=axis, title=f"{each.first} minus {each.second}") for each in first
    ]
    some = f" The first {len(first)} of {len(board.effects):,} pairs." if len(board.effects) > len(first) else ""
    note = f"{_level(board)} intervals; random effect of Paule and Mandel, Hartung and Knapp.{some}"
    return Chart(panels=panels, subtitle=_subtitle(board), note=note)


def _level(board: Board) -> str:
    return f"{100 * (1 - board.alpha):.4g} %"


def _forest_rows(board: Board, effect: PairEffect) -> list[dict[str, Any]]:
    found = effect.combined
    rows = [
        {
            "name": f"{row['collection']} ({row['topics']:,} topics)",
            "kind": "collection",
            **{word: row[word] for word in ("difference", "lower", "upper")},
        }
        for row in _part_rows(board, effect)
    ]
    ends = (
        ("fixed", found.fixed, found.fixed_lower, found.fixed_upper),
        ("random", found.random, found.random_lower, found.random_upper),
        ("next", found.random, found.prediction_lower, found.prediction_upper),
    )
    return rows + [
        {"name": FOREST[kind], "kind": kind, "difference": middle, "lower": low, "upper": high}
        for kind, middle, low, high in ends
        if math.isfinite(low)
    ]


def _pictures(result: LeaderboardResult) -> list[tuple[str, Any]]:
    pictures = [("The ranks that each system may have", ranks_chart(result))]
    if next(iter(result.boards.values())).effects:
        pictures.append(("Differences in each collection, combined, and expected in another one", forest(result)))
    return pictures


def _page(result: LeaderboardResult) -> str:
    from cranfield.rendering.board_page import to_page

    return to_page(result)


VIEWS = {
    "LeaderboardResult": View(
        document,
        {"ranks": ranks_chart, "critical-difference": critical_difference_chart, "forest": forest},
        pictures=_pictures,
        files={"board": _page},
    )
}
