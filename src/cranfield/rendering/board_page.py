"""A leaderboard as one HTML file: it can be sorted and filtered, and loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import cranfield
from cranfield.errors import RequestError
from cranfield.questions import find_question
from cranfield.questions.parameters import command_of
from cranfield.rendering.comparison_document import LETTERED, has_short_letters, title_of_test
from cranfield.rendering.document import Document, show, spoken, warning_lines
from cranfield.rendering.leaderboard_document import critical_difference_chart, forest, tables_beside
from cranfield.rendering.references import REFERENCES
from cranfield.rendering.report_page import (
    ShownPicture,
    ShownTable,
    asset,
    environment,
    inline_picture,
    policy,
    shown_table,
)
from cranfield.types import Array

if TYPE_CHECKING:
    from markupsafe import Markup

    from cranfield.methods.boards.board import Board
    from cranfield.questions.leaderboard import LeaderboardResult

SHADES = 10  # of task scores, as many as the style has


@dataclass(frozen=True)
class BoardColumn:
    """A column that can be sorted, where ``first`` is the order that it is first sorted into."""

    word: str
    title: str
    first: str = ""


@dataclass(frozen=True, kw_only=True)
class BoardRow:
    """A system: cells as text, the ranks that it may have in percent of the width, and shades."""

    rank: int
    system: str
    may_be_best: bool
    cells: Sequence[str]
    left: float
    width: float
    heat: Markup


@dataclass(frozen=True, kw_only=True)
class ShownBoard:
    """The board of one measure."""

    measure: str
    kind: str
    columns: Sequence[BoardColumn]
    tasks: Sequence[str]
    better_first: str
    rows: Sequence[BoardRow]
    legend: str
    tables: Sequence[ShownTable]


def write_page(result: LeaderboardResult, path: str) -> None:
    """Write the page to a file that ends in .html, also with .gz."""
    from cranfield.formats.text import write_text

    if not path.removesuffix(".gz").endswith(".html"):
        raise RequestError(f"«{path}» is no name of a page", fix="End it in .html.")
    write_text(path, to_page(result))


def to_page(result: LeaderboardResult) -> str:
    """The page with the boards of all measures: sentence, tables, charts where they can be drawn, method, cautions."""
    from markupsafe import Markup

    document: Document = spoken(result.document(), "command")
    boards = list(result.boards.values())
    scripts = [asset("board.js"), asset("tip.js")]
    content: dict[str, Any] = {
        "title": f"Leaderboard: {', '.join(result.boards)}",
        "sentences": document.sentence.splitlines(),
        "boards": [_shown_board(board) for board in boards],
        "pictures": list(_pictures(result)),
        "methods": list(dict.fromkeys(line for board in boards for line in _method(board))),
        "cautions": warning_lines(document.warnings),
        "references": [REFERENCES[key] for key in document.citations],
        "version": cranfield.__version__,
        "seed": result.seed,
        "command": command_of(find_question("leaderboard"), result.inputs),
        "style": Markup(asset("report.css") + asset("board.css")),
        "scripts": [Markup(script) for script in scripts],
        "policy": policy(scripts),
    }
    return environment().get_template("board.html").render(content)


def _shown_board(board: Board) -> ShownBoard:
    better_first = "ascending" if board.lower_is_better else "descending"
    columns = [
        BoardColumn("rank", "rank", "ascending"),
        BoardColumn("system", "system", "ascending"),
        BoardColumn("best", "may be best", "descending"),
        BoardColumn("score", "score", better_first),
        BoardColumn("lower", "best rank", "ascending"),
        BoardColumn("upper", "worst rank", "ascending"),
        *([BoardColumn("letters", "letters", "ascending")] if has_short_letters(board.comparison) else []),
        *([BoardColumn("count", f"{board.kind_of_tasks}s", "descending")] if board.missing else []),
        BoardColumn("reach", f"ranks 1 to {len(board.systems):,}"),
    ]
    return ShownBoard(
        measure=board.measure,
        kind=board.kind_of_tasks,
        columns=columns,
        tasks=board.tasks,
        better_first=better_first,
        rows=list(_rows(board)),
        legend=_legend(board),
        tables=[shown_table(table) for table in tables_beside(board)],
    )


def _rows(board: Board) -> Iterator[BoardRow]:
    from markupsafe import Markup

    m, lettered = len(board.systems), has_short_letters(board.comparison)
    shades = _shades(-board.task_scores if board.lower_is_better else board.task_scores)
    for at, system in enumerate(board.systems):
        low, high = int(board.rank_lower[at]), int(board.rank_upper[at])
        may_be_best = bool(board.comparison.standing.may_be_best[at])
        counts = [str(board.tasks_of[at])] if board.missing else []
        cells = (
            f"<td class={'h' + str(shade) if shade >= 0 else 'hx'}>{show(score, 'score')}</td>"
            for score, shade in zip(board.task_scores[:, at].tolist(), shades[:, at].tolist(), strict=True)
        )
        yield BoardRow(
            rank=int(board.ranks[at]),
            system=system,
            may_be_best=may_be_best,
            cells=[
                show(float(board.scores[at]), "score"),
                str(low),
                str(high),
                *(board.comparison.letters[at : at + 1] if lettered else ()),
                *counts,
            ],
            left=round(100 * (low - 1) / m, 2),
            width=round(100 * (high - low + 1) / m, 2),
            heat=Markup("".join(cells)),
        )


def _shades(scores: Array) -> Array:
    """Of each score the share of systems that are worse on the task, in steps from 0; −1 where there is no score."""
    there = np.isfinite(scores)
    counts = np.maximum(there.sum(axis=1, keepdims=True) - 1, 1)
    worse = np.array([np.searchsorted(np.sort(row[mask]), row) for row, mask in zip(scores, there, strict=True)])
    return np.where(there, np.minimum(SHADES * worse // counts, SHADES - 1), -1)


def _legend(board: Board) -> str:
    shade = f"The stronger the shade of a {board.kind_of_tasks} score, the more systems are worse there."
    share = f"{100 * (1 - board.alpha):.4g} %"
    marked = f"A blue edge marks the systems of which one is the best, with {share} confidence."
    return " ".join([marked, *([LETTERED] if has_short_letters(board.comparison) else []), shade])


def _pictures(result: LeaderboardResult) -> Iterator[ShownPicture]:
    """The diagram of groups, and the forest of collections."""
    from markupsafe import Markup

    charts = {"Systems that are not separable are joined": critical_difference_chart}
    if next(iter(result.boards.values())).effects:
        charts["Differences in each collection, combined, and expected in another one"] = forest
    for title, draw in charts.items():
        yield ShownPicture(title, Markup(inline_picture(draw(result), title)))


def _method(board: Board) -> Iterator[str]:
    """How the numbers are made, in sentences."""
    unit = "topic" if board.topics else "task"
    effect = board.comparison.design_effect
    mean = "Systems are ordered by their mean over tasks"
    if board.topics:
        mean = "Systems are ordered by the mean over collections of their means over topics"
    elif effect is not None and effect.by_stratum:
        mean = "Systems are ordered by the mean over strata of tasks of their means within each"
    weights = [
        f"{name} {weight:g}" for name, weight in zip(board.tasks, board.weights.tolist(), strict=True) if weight != 1
    ]
    yield f"{mean}, with the weights {', '.join(weights)} and 1 for others." if weights else f"{mean}."
    if board.standardise == "z":
        yield f"Scores are standardised within each {unit}: minus their mean over systems, divided by their sd."
    found = board.comparison
    yield (
        f"All pairs are tested at α = {board.alpha:g} by: {title_of_test(found)}. The best rank of a system is one "
        "more than the number of systems that are significantly better, and the worst leaves room for those that are "
        f"significantly worse; with few {unit}s or skewed differences this holds approximately. A system may be the "
        "best unless another one is better by a one-sided t test at α divided by the number of the others."
    )
    where = "topics within collections" if board.topics else "tasks"
    yield f"The {where} are the sample: the board speaks of other {where.split()[0]} like these."
    if board.effects:
        yield (
            "The differences of pairs are combined over collections by their variances over topics: as if all had one "
            "effect (fixed), and as if collections were a sample (random), with the variance between them of Paule and "
            "Mandel and the interval of Hartung and Knapp. The prediction interval is that of the difference in "
            "another collection like these."
        )
