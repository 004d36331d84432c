"""Systems and measures as a table of a paper: the best in bold, and signs for what differs significantly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_lowercase

import numpy as np

from cranfield.methods.contrasts.comparison import Comparison
from cranfield.methods.names import TEST_LABELS, with_correction
from cranfield.rendering.document import Column, Mark, Table, listed

CITATIONS = {
    "max-t": "RomanoWolf2005",
    "tukey": "FerroSanderson2019",
    "dunnett": "Dunnett1964",
    "tukey-permutation": "Carterette2012",
    "unpaired": "Welch1947",
    "tukey-kramer": "Kramer1956",
    "t": "Student1908",
    "wilcoxon": "Wilcoxon1945",
    "sign": "Conover1999",
    "bootstrap": "EfronTibshirani1993",
    "permutation": "Smucker2007",
}
"""Of tests."""
STAR = "*"
DAGGERS = "†‡§¶"  # one for each baseline


def paper_table(comparisons: Mapping[str, Comparison], shown: Table | None = None) -> Table:
    """One row per system, in the order of the first measure, and one column per measure, all with their marks.

    Up to 26 systems have letters, and a score has those of the systems that are significantly worse; of more a star
    marks those that may be the best; with baselines a dagger marks a system that is significantly
    better than one (above the line) or worse (below it). ``shown`` is a table of scores that the marks go into, with
    the system in its first column, in place of one of means.
    """
    first = next(iter(comparisons.values()))
    table = shown or _means(comparisons, first.systems)
    systems = [row[0] for row in table.rows]
    signs = _row_signs(first, systems)
    columns = {column.word: at for at, column in enumerate(table.columns)}
    marks = {
        (row, columns[name] + bool(signs)): mark
        for name, found in comparisons.items()
        for row, mark in enumerate(_marks(found, systems, signs))
    }
    if signs:
        heads = (Column("sign", ""), *table.columns)
        table = Table(heads, [(signs.get(row[0], ""), *row) for row in table.rows])
    has_signs = any(mark.above or mark.below for mark in marks.values())
    return Table(table.columns, table.rows, _caption(comparisons), marks, _note(first, signs, has_signs=has_signs))


def _means(comparisons: Mapping[str, Comparison], systems: Sequence[str]) -> Table:
    titles = _titles(list(comparisons))
    columns = (Column("system", "system"), *(Column(name, titles[name], "score") for name in comparisons))
    means = [dict(zip(found.systems, found.means.tolist(), strict=True)) for found in comparisons.values()]
    return Table(columns, [(system, *(each.get(system) for each in means)) for system in systems])


def _titles(names: Sequence[str]) -> dict[str, str]:
    """The measures without the names of their tables, where they differ without them."""
    short = [name.rpartition(": ")[2] for name in names]
    return dict(zip(names, short if len(set(short)) == len(short) else names, strict=True))


def _row_signs(found: Comparison, systems: Sequence[str]) -> dict[str, str]:
    """The sign of every system that others are marked with; none where there are too many."""
    if found.baselines:
        signs = DAGGERS if len(found.baselines) <= len(DAGGERS) else ascii_lowercase
        return dict(zip(found.baselines, signs, strict=False))
    return dict(zip(systems, ascii_lowercase, strict=False)) if len(systems) <= len(ascii_lowercase) else {}


def _marks(found: Comparison, systems: Sequence[str], signs: Mapping[str, str]) -> list[Mark]:
    best = (np.nanmin if found.lower_is_better else np.nanmax)(found.means)
    rank = {system: at for at, system in enumerate(found.systems)}
    above, below = _differences(found, signs) if signs else (dict.fromkeys(found.top_group, STAR), {})
    return [
        Mark(bool(found.means[rank[system]] == best), above.get(system, ""), below.get(system, ""))
        if system in rank
        else Mark()
        for system in systems
    ]


def _differences(found: Comparison, signs: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The signs of those that a system is significantly better than, and with baselines worse than."""
    better: dict[str, list[str]] = {}
    worse: dict[str, list[str]] = {}
    marked = np.flatnonzero(found.significant)
    pairs = zip(found.first[marked], found.second[marked], found.difference[marked], strict=True)
    for first, second, difference in pairs:
        a, b = found.systems[first], found.systems[second]
        if (difference > 0) == found.lower_is_better:
            a, b = b, a
        if b in signs:
            better.setdefault(a, []).append(signs[b])
        if found.baselines and a in signs:
            worse.setdefault(b, []).append(signs[a])
    return {system: _runs(each) for system, each in better.items()}, {
        system: _runs(each) for system, each in worse.items()
    }


def _runs(signs: Iterable[str]) -> str:
    """The signs in order; three letters or more in a row by the first and the last.

    >>> _runs("eabcg"), _runs("§†‡")
    ('a–ceg', '†‡§')
    """
    runs: list[str] = []
    for sign in sorted(signs, key=lambda each: (DAGGERS.find(each), each)):
        if runs and ord(sign) == ord(runs[-1][-1]) + 1 and sign in ascii_lowercase:
            runs[-1] += sign
        else:
            runs.append(sign)
    return "".join(run if len(run) < 3 else f"{run[0]}–{run[-1]}" for run in runs)


def _caption(comparisons: Mapping[str, Comparison]) -> str:
    first = next(iter(comparisons.values()))
    names = listed(list(_titles(list(comparisons)).values()))
    return f"Mean {names} of {len(first.systems):,} systems on {first.topics:,} topics. The best is in bold."


def _note(found: Comparison, signs: Mapping[str, str], *, has_signs: bool) -> str:
    test = f"({with_correction(TEST_LABELS[found.test], found.correct)}, α = {found.alpha:g})"
    if found.baselines:
        better = "; ".join(f"{sign}: significantly better than {system}" for system, sign in signs.items())
        marked = f"Superscript {better}; subscript {_or(signs.values())}: significantly worse {test}."
        return marked if has_signs else f"No system differs significantly from {_or(signs)} {test}."
    if signs and not has_signs:
        return f"No two systems differ significantly {test}."
    if signs:
        return f"Letters: the systems that are significantly worse {test}."
    return f"{STAR}: with {100 * (1 - found.alpha):.4g} % confidence one of these is the best (one-sided t tests)."


def _or(names: Iterable[str]) -> str:
    return " or ".join(names)
