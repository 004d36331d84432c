"""Which tables and measures a question is about; a table is complete, or it is refused with the cells named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from cranfield.errors import Caution, InputError, PackedFileError, RequestError
from cranfield.scores.stored import SHOWN, system_means
from cranfield.scores.table import ScoreTable
from cranfield.types import Array

LONGEST = 40  # characters of a name in a message: a topic may be a whole question
LONGEST_PATTERN = 300  # characters of a regular expression
REMEDY = (
    "For claims about other seeds, prompts or judges use `shards()`, "
    'with `replicates="nested"` if each system has its own, `replicates="crossed"` if all systems share them. '
    'For these alone, average over them: `columns="mean=COLUMN"`.'
)
"""What to do with several scores for each topic and system."""


def check_balance(table: ScoreTable, measure: str | None = None) -> None:
    """Refuse a table with missing cells: say which they are, where, and what can be done about them.

    Parameters
    ----------
    table
        Scores of systems on topics.
    measure
        Only this measure; all of them where none is named.

    Raises
    ------
    InputError
        A cell has no score.
    """
    chosen = table if measure is None else table.select(measures=[measure])
    missing, first, topics = _missing(chosen)
    if not missing:
        return
    named = [_cell(chosen, cell) for cell in first]
    where = named[0][1]
    cells = [text if place in ("", where) else f"{text} in {place}" for text, place in named]
    left = f", and {missing - SHOWN:,} more" if missing > SHOWN else ""
    of = f" of {chosen.measures[0]}" if len(chosen.measures) == 1 else ""
    verb = "is" if missing == 1 else "are"
    raise InputError(
        f"{missing:,} of {chosen.size:,} scores{of} {verb} missing ({'; '.join(cells)}{left})",
        where=where,
        fix=_fix(missing, topics),
    )


def _missing(table: ScoreTable) -> tuple[int, Sequence[Sequence[int]], int]:
    """How many cells are missing, the first of them, and how many topics miss any."""
    if table.stored is not None:
        absent = table.stored.absent
        return absent.count, absent.first, int(np.count_nonzero(absent.topics))
    empty = np.isnan(table.values)
    if not empty.any():
        return 0, (), 0
    missing = np.argwhere(empty)
    return len(missing), missing[:SHOWN].tolist(), len(np.unique(missing[:, 1]))


def _cell(table: ScoreTable, cell: Sequence[int]) -> tuple[str, str]:
    """What a missing cell is called, and where it stands if it stands anywhere."""
    measure, topic, system, shard = cell
    key = (
        table.measures[measure],
        table.topics[topic],
        table.systems[system],
        table.shards[shard] if table.shards else "",
    )
    said = (len(table.measures) > 1, True, True, bool(table.shards))
    words = zip(("measure", "topic", "system", "shard"), key, said, strict=True)
    return ", ".join(f"{word} {_short(name)}" for word, name, shown in words if shown), table.empty.get(key, "")


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _fix(cells: int, topics: int) -> str:
    them, dropped = ("it", "its topic") if cells == 1 else ("them", f"the {topics:,} topics that lack any")
    dropped = dropped if topics > 1 or cells == 1 else "their topic"
    return f'Choose how to treat {them}: as 0 (`missing="zero"`), or without {dropped} (`missing="drop"`).'


def complete_tables(
    tables: Mapping[str, ScoreTable],
    *,
    measures: Sequence[str] | None = None,
    missing: str | None = None,
    replicates: str | None = None,
) -> dict[str, ScoreTable]:
    """The tables with the measures wanted; ``missing`` says what becomes of missing cells.

    Without it a table with missing cells is refused. ``replicates`` says whether shards are crossed or nested; nested
    ones are numbered first, since what has another name in every system is not missing.
    """
    chosen = {name: table if measures is None else table.select(measures=measures) for name, table in tables.items()}
    return {name: _complete(name, table.with_replicates(replicates), missing) for name, table in chosen.items()}


def _complete(name: str, table: ScoreTable, missing: str | None) -> ScoreTable:
    if missing is not None:
        return table.settle(missing)
    try:
        check_balance(table)
    except PackedFileError:
        raise
    except InputError as error:  # a cell without a row has no place but its table
        raise InputError(error.what, where=error.where or name, fix=error.fix) from None
    return table


def only_table(tables: Mapping[str, ScoreTable]) -> ScoreTable:
    """The one table there is."""
    if len(tables) != 1:
        raise RequestError(f"one collection at a time, and {len(tables)} were named", fix="Name one of them.")
    return next(iter(tables.values()))


def check_systems(tables: Mapping[str, ScoreTable], named: Sequence[str] = ()) -> None:
    """Refuse tables of one system each, which cannot be compared, and say why files of such are not one table.

    ``named`` are systems that are asked for: one that is nowhere is named first.
    """
    if not tables or any(len(table.systems) > 1 for table in tables.values()):
        return
    systems = [table.systems[0] for table in tables.values()]
    there = set(systems)
    unknown = [name for name in named if name not in there]
    if unknown:
        raise RequestError(f"there is no system «{unknown[0]}»", fix=f"There are: {', '.join(systems[:10])}.")
    if len(tables) == 1:
        what = f"a comparison needs two systems, and there is one, «{_short(systems[0])}»"
        raise InputError(what, fix="Add scores of another.")
    raise _not_joined(*tables.items())


def _not_joined(first: tuple[str, ScoreTable], *others: tuple[str, ScoreTable]) -> InputError:
    """Why files of one system each are not one table: the first that differs from the first of all."""
    file, one = first
    for other, table in others:
        if table.systems == one.systems:
            what = f"the system of {file} and that of {other} are both called «{_short(one.systems[0])}»"
            return InputError(what, fix="Give each system a name of its own in its file.")
        if set(table.measures) != set(one.measures):
            measures = (", ".join(map(_short, each.measures[:3])) for each in (one, table))
            what = f"{file} and {other} have different measures ({' and '.join(measures)})"
            return InputError(f"{what}, and cannot be compared", fix="Give files with the same measures.")
        if bool(table.shards) != bool(one.shards):
            several, single = (other, file) if table.shards else (file, other)
            what = f"{several} has several scores for each topic, and {single} has one"
            return InputError(f"{what}: they cannot be compared", fix="Give files with as many scores for each topic.")
    names = Counter(table.systems[0] for _, table in (first, *others))
    what = f"several files name their system «{_short(names.most_common(1)[0][0])}»"
    return InputError(what, fix="Give each system a name of its own in its file.")


def teams_by_name(systems: Sequence[str], pattern: str) -> dict[str, str]:
    """The team of every system: what the one group of a regular expression matches in its name.

    A name that does not match is left out.

    >>> teams_by_name(["ok8amxc", "ok8alx", "INQ603"], "^([a-z]+)8")
    {'ok8amxc': 'ok', 'ok8alx': 'ok'}
    """
    fix = 'Use "team" for the teams in `teams`, or an expression with one group, such as "^([A-Za-z]+)".'
    try:
        if len(pattern) > LONGEST_PATTERN:  # parsing is as deep as what it nests
            raise re.error(f"it has more than {LONGEST_PATTERN} characters")
        compiled = re.compile(pattern)
    except (re.error, OverflowError) as error:  # a number that is too large
        raise RequestError(f"«{_short(pattern)}» is no regular expression: {error}", fix=fix) from None
    if compiled.groups != 1:
        raise RequestError(f"the regular expression «{pattern}» has {compiled.groups} groups, not one", fix=fix)
    matches = {system: compiled.search(system) for system in systems}
    teams = {system: match[1] for system, match in matches.items() if match and match[1]}
    if not teams:
        raise RequestError(f"no system has a team by «{pattern}», such as «{_short(systems[0])}»", fix=fix)
    return teams


def best_of_teams(
    table: ScoreTable, teams: Mapping[str, str], *, lower_is_better: bool = False, always: Sequence[str] = ()
) -> ScoreTable:
    """Only the system of each team with the best mean of the first measure, and with a warning that says so.

    Parameters
    ----------
    table
        Scores of systems on topics, none of them missing.
    teams
        The team of each system; one without is a team of its own.
    lower_is_better
        Whether the best mean is the lowest.
    always
        Systems that stay whatever their scores, such as a baseline.

    Returns
    -------
    ScoreTable
        The systems kept, in their order.
    """
    means = _first_means(table)
    best: dict[str, int] = {}
    for at in np.argsort(means if lower_is_better else -means, kind="stable").tolist():
        system = table.systems[at]
        best.setdefault(teams.get(system, system), at)
    kept = set(best.values())
    systems = [name for at, name in enumerate(table.systems) if at in kept or name in always]
    if len(best) < 2:
        raise RequestError(f"all systems are of the team «{next(iter(best))}»", fix="Leave out `best_per`.")
    chosen = table.select(systems=systems)
    return chosen.replaced(warnings=(*table.warnings, _selected(table, teams, len(best), systems)))


def _first_means(table: ScoreTable) -> Array:
    """The mean of every system under the first measure, weighted as its topics are."""
    if table.stored is not None and not table.shards:
        return system_means(table.matrix(table.measures[0]))
    return np.average(table.values[0].mean(axis=2), axis=0, weights=table.weights)


def _selected(table: ScoreTable, teams: Mapping[str, str], count: int, systems: Sequence[str]) -> Caution:
    """Which systems were left out, by which measure, and what that does to the others."""
    left = len(table.systems) - len(systems)
    if not left:
        return Caution(
            "best-per-team",
            f"each of the {count:,} teams has one system only, and none is left out",
            "Look at what tells the teams: `best_per`, or the list in `teams`.",
        )
    sizes = Counter(teams.get(system, system) for system in table.systems)
    largest, most = sizes.most_common(1)[0]
    alone = sum(system not in teams for system in table.systems)
    others = f"; {alone:,} of no team count as teams of their own" if alone else ""
    return Caution(
        "best-per-team",
        f"of {len(table.systems):,} systems the best of each of {count:,} teams by mean {table.measures[0]} is "
        f"compared, and {left:,} are left out (most systems: {largest}, {most:,}{others}). They are chosen by the "
        "topics that compare them, which favours teams with many systems: means and differences of the chosen are "
        "too high (winner's curse)",
        "Choose the system of each team on other topics, or compare all of them.",
    )
