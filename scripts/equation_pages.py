"""The equation index, generated from marks in the code: ``# S14 Eq. 7`` on the line that computes it."""

from __future__ import annotations

import ast
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from python_pages import documented

SOURCE = Path(__file__).parents[1] / "src" / "cranfield"

PAPERS = {
    "S14": "Sakai (2014)",
    "SS16": "Sakai and Shang (2016)",
    "WMZ08": "Webber, Moffat and Zobel (2008)",
    "FS19": "Ferro and Sanderson (2019)",
    "D13": "Dinçer (2013)",
}
PLACE = (
    r"(?:Eqs?\. ?\d+|§\d+(?:\.\d+)*|Tables? \d+|Figs?\.? ?\d+|Inequality \d|footnote \d|Algorithm \d"
    r"|Propositions? \d+\.\d+)"
)
CITED = {  # how docstrings, which people read, cite the papers
    r"Sakai \(?2014\)?": "S14",
    r"Sakai and Shang \(?2016\)?": "SS16",
    r"Webber et al\. \(?2008\)?": "WMZ08",
    r"Ferro and Sanderson \(?2019\)?": "FS19",
    r"Dinçer \(?2013\)?": "D13",
}
MARK = re.compile(rf"\b({'|'.join(PAPERS)}) ({PLACE})((?:(?:, | and |, and )(?:{PLACE}|\d+))*)")

# Description of each place; a mark without a description, or a description without a mark, is an error.
PLACES = {
    "S14": {
        "Eq. 1": "variance of the paired differences of two systems",
        "Eq. 2": "sum of squares between systems",
        "Eq. 3": "mean square between systems",
        "Eq. 4": "variance of one system's scores by one-way ANOVA",
        "Eq. 5": "sum of squares between topics",
        "Eq. 6": "mean square between topics",
        "Eq. 7": "variance of one system's scores by two-way ANOVA, in three parts",
        "Eq. 8": "variance pooled over collections, weighted by their topics minus one",
        "§3.1": "power of one-way ANOVA, and the approximation behind the tables",
        "§3.2": "expected width of the interval of a difference",
        "§4.1": "a percentile of the variances of pairs",
        "§5.4": "topics against pool depth, and the costs of designs",
        "footnote 2": "AP at a cutoff divided by the smaller of k and R",
        "Table 4": "topics for ten and a hundred systems",
        "Table 8": "topics for an interval's width",
        "Table 9": "variance and judgments by pool depth",
        "Fig. 2": "topics against the inputs of a design",
        "Fig. 3": "interval width against detectable range",
        "Fig. 4": "topics needed against documents judged",
    },
    "SS16": {
        "Eq. 1": "variance within systems",
        "§5": "leaving teams and topics out",
        "§5.2": "pilots of 75, 50, 25 and 10 topics",
        "Table 2": "margin of Kendall's τ for m systems",
        "Table 3": "topics from the variances of pilots",
        "Fig. 1": "variance against teams left out",
    },
    "WMZ08": {
        "Eq. 2": "power by the normal approximation",
        "Eq. 4": "standard error of a standard deviation",
        "Algorithm 1": "topics added until the difference is detectable",
        "§3": "effect size that 50 topics detect",
        "§3.1": "topics that the t test requires",
        "§3.3": "effect size that 50 topics detect",
        "§5.1": "topics from past experience",
        "§5.2": "a trial, and its upper limit for the sd",
        "§5.3": "effect of adding topics on the test",
        "§5.5": "the hybrid plan, and what to report",
        "§6": "pairs of runs assessed to a depth",
        "Table 1": "sds of differences between pairs of systems",
        "Fig. 1": "distribution of the sds of pairs",
        "Fig. 2": "sampling error of the sd of a trial",
        "Fig. 3": "total topics against the size of the trial",
        "Fig. 4": "probability that a topic is included",
        "Fig. 5": "sd when iterative sampling stops",
        "Fig. 6": "false positives of iterative sampling",
        "Fig. 7": "effect sizes by depth",
        "Fig. 8": "share of pairs detectable after a number of judgments",
    },
    "FS19": {
        "Eq. 1": "Tukey's statistic of two systems",
        "Eq. 2": "its p-value",
        "Eq. 3": "Tukey's interval around a mean",
        "Eq. 4": "a mean's interval from the system's own standard error",
        "Eq. 5": "ANOVA's interval around a mean",
        "Eq. 6": "ω², the share of variance that systems explain",
        "Proposition 7.2": "the results of MD6 for systems do not depend on undefined cells",
        "§3": "the models MD1 to MD6",
        "§5": "three kinds of interval",
        "§6": "size of ω² in words",
        "Table 1": "models, pairs and top groups by number of shards",
        "Table 2": "spread over re-shardings",
        "Fig. 3": "the three kinds of interval",
        "Fig. 4": "Tukey's intervals by model",
        "Fig. 5": "Tukey's intervals by number of shards",
    },
    "D13": {
        "Inequality 1": "topics for one system's mean",
        "Inequality 2": "topics for a difference of two means",
        "§3": "worked examples, the D-study, and the swap rate in closed form",
        "Table 4": "pairs in bins of their difference",
        "Table 5": "topics for every pair",
    },
}


@dataclass(frozen=True)
class Mark:
    """One place of one paper, named in one object of the code."""

    paper: str
    place: str
    module: str
    name: str
    computes: bool


def equations_page() -> str:
    """Return one table per paper: every place that the code names, and where."""
    found: dict[tuple[str, str], list[Mark]] = defaultdict(list)
    for mark in marks():
        found[mark.paper, mark.place].append(mark)
    check_places(set(found))
    parts = [
        "# Equations\n",
        "Lines of code that compute a formula of a paper have a comment such as `# S14 Eq. 7`; this index is generated "
        "from these comments and from the docstrings. The functions that compute the formula come first; after *also* "
        "come functions that use it or show the published number. Differences from the papers are listed in "
        "[what differs from the papers](../differences.md).\n",
    ]
    for paper, title in PAPERS.items():
        parts += [f"## {title}\n", f"Marked `{paper}` in the code.\n"]
        parts += ["| where | what | in the code |", "|---|---|---|"]
        for place in sorted((place for each, place in found if each == paper), key=_in_order):
            here = found[paper, place]
            computed = _links(mark for mark in here if mark.computes)
            named = _links(mark for mark in here if not mark.computes)
            both = "; *also* ".join(each for each in (computed, named) if each)
            parts.append(f"| {place} | {PLACES[paper][place]} | {both} |")
        parts.append("")
    return "\n".join(parts)


def check_places(found: set[tuple[str, str]]) -> None:
    """Check that every mark has a description, and every description a mark."""
    said = {(paper, place) for paper, places in PLACES.items() for place in places}
    if found != said:
        raise SystemExit(
            "scripts/equation_pages.py has places without a mark in the code, or the code has marks without a place: "
            f"{sorted(said - found)}; {sorted(found - said)}"
        )


@cache
def marks() -> list[Mark]:
    """Return every mark of the code, each object once."""
    found = [mark for path in sorted(SOURCE.rglob("*.py")) for mark in _marks_of(path)]
    computing = {mark for mark in found if mark.computes}
    return [mark for mark in dict.fromkeys(found) if mark.computes or replace(mark, computes=True) not in computing]


def _marks_of(path: Path) -> Iterator[Mark]:
    text = path.read_text(encoding="utf-8")
    relative = path.relative_to(SOURCE.parent).with_suffix("")
    module = ".".join(relative.parts).removesuffix(".__init__")
    tree = ast.parse(text)
    scopes = list(_scopes(tree))
    for line, said, computes in [*_comments(path), *_docstrings(tree)]:
        inside = [name for first, last, name in scopes if first <= line <= last]
        for paper, place, more in MARK.findall(_coded(said)):
            for each in _places(place, more):
                yield Mark(paper, each, module, inside[-1] if inside else "", computes)


def _coded(said: str) -> str:
    """Replace citations that are followed by a place by the code of the paper."""
    said = " ".join(said.split())
    for cited, paper in CITED.items():
        said = re.sub(rf"\b{cited},? (?={PLACE})", f"{paper} ", said)
    return said


def _comments(path: Path) -> Iterator[tuple[int, str, bool]]:
    with open(path, "rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string, True


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, str, bool]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            yield node.body[0].lineno, ast.get_docstring(node) or "", False


def _scopes(node: ast.AST, prefix: str = "") -> Iterator[tuple[int, int, str]]:
    """Return the first and last line of every class and function, outer ones first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
            yield first, child.end_lineno or first, prefix + child.name
            if isinstance(child, ast.ClassDef):
                yield from _scopes(child, f"{prefix}{child.name}.")


def _places(place: str, more: str) -> list[str]:
    """Split a list of places: «Eq. 1, 2» and «Figs 7 and 8» are two places each."""
    found, kind = [], ""
    for each in [place, *re.split(r", and |, | and ", more)]:
        if not each:
            continue
        if each.isdigit():
            each = f"{kind} {each}"
        each = re.sub(r"^(Eqs?\.?) ?", "Eq. ", re.sub(r"^(Figs?\.?) ?", "Fig. ", re.sub(r"^Tables ", "Table ", each)))
        kind = each.rsplit(" ", 1)[0]
        found.append(each)
    return found


def _in_order(place: str) -> tuple[int, list[int], str]:
    kinds = ["Eq.", "Inequality", "Proposition", "Algorithm", "footnote", "§", "Table", "Fig."]
    kind = next(at for at, each in enumerate(kinds) if place.startswith(each))
    return kind, [int(number) for number in re.findall(r"\d+", place)], place


def _links(here: Iterator[Mark]) -> str:
    return ", ".join(sorted({_link(mark) for mark in here}))


def _link(mark: Mark) -> str:
    short = f"{mark.module.removeprefix('cranfield.')}.{mark.name}".rstrip(".")
    target = documented(mark.module, mark.name)
    return f"{{py:obj}}`{short} <{target}>`" if target else f"`{short}`"


def formula_objects() -> dict[str, list[str]]:
    """Return objects with a mark that are not public, by module, for a separate page."""
    private: dict[str, list[str]] = defaultdict(list)
    for mark in marks():
        public = not mark.name or documented(mark.module, mark.name, private=False)
        if not public and mark.name not in private[mark.module]:
            private[mark.module].append(mark.name)
    return dict(private)
