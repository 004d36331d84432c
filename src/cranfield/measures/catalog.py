"""Every measure there is, and the way from a name to a measure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cache, lru_cache

from cranfield.errors import RequestError
from cranfield.measures import diversity, gain, interpolated, precision, sets, user_models
from cranfield.measures.declaration import Measure, MeasureKind, Value
from cranfield.measures.groups import GROUPS, from_trec_eval, in_full

_FAMILIES = (precision, sets, interpolated, gain, user_models, diversity)
CATALOG: dict[str, MeasureKind] = {kind.name: kind for family in _FAMILIES for kind in family.KINDS}

_SHAPE = re.compile(r"(?P<name>[^@(]+?)(?P<first>@[^@(]*)?(?:\((?P<parameters>.*)\))?(?P<second>@.*)?$")
# ir_measures' dcg says what gains says here.
_DCG = {"log2": "linear", "exp-log2": "exp"}


def parse_measure(text: str) -> Measure:
    """Parse the name of a measure: ``AP``, ``P@10``, ``nDCG(gains=exp)@10``, ``RBP(p=0.8)``; trec_eval's names too.

    Parameters
    ----------
    text
        The name, with parameters in parentheses and the cutoff after ``@``.

    Returns
    -------
    Measure
        The measure with its parameters; ``str`` of it is its full name.

    Examples
    --------
    >>> str(parse_measure("ndcg_cut_10")), str(parse_measure("RBP"))
    ('nDCG@10', 'RBP(p=0.8)')
    """
    return _parse(text)


@lru_cache(1000)  # the same names come again and again
def _parse(text: str) -> Measure:
    wanted = text.strip()
    if "@" in wanted and wanted in CATALOG:  # nG@1 has its @ in the name
        return _finished(CATALOG[wanted], {}, _cutoff(CATALOG[wanted], [], text), text)
    wanted = from_trec_eval(in_full(wanted))
    shape = _SHAPE.match(wanted)
    if shape is None:
        raise RequestError(f"«{text}» is not a measure", fix=_suggest(wanted))
    name, cuts = shape["name"].strip(), [cut[1:] for cut in (shape["first"], shape["second"]) if cut]
    if name.lower() == "ng" and cuts == ["1"]:
        name, cuts = "nG@1", []
    kind = _find(name)
    if kind is None:
        raise RequestError(f"there is no measure «{name}»", fix=_suggest(name))
    values = _parameters(kind, shape["parameters"] or "", text)
    if "cutoff" in values:  # ir_measures: P(cutoff=10)
        cuts.append(str(values.pop("cutoff")))
    if kind.cutoff.parameter:
        return _finished(kind, values | _placed(kind, cuts, values, text), None, text)
    return _finished(kind, values, _cutoff(kind, cuts, text), text)


def parse_measures(texts: Iterable[str] | str) -> tuple[Measure, ...]:
    """Measures from their names, each once; the name of a set of measures stands for all of them."""
    if isinstance(texts, str):
        texts = [texts]
    names = [name for text in texts for name in GROUPS.get(text.strip(), (text,))]
    found = tuple(dict.fromkeys(map(parse_measure, names)))
    if not found:
        raise RequestError("no measure was named", fix="Name one, such as AP or nDCG@10.")
    return found


def beside(measure: Measure) -> Measure | None:
    """The measure that is shown beside another, such as RBP's residual."""
    if not measure.kind.beside:
        return None
    kind = CATALOG[measure.kind.beside]
    shared = {parameter.name for parameter in kind.parameters}
    return Measure(kind, tuple((name, value) for name, value in measure.values if name in shared))


def with_companions(measures: Sequence[Measure]) -> list[Measure]:
    """The measures, then those that are shown beside them and were not asked for."""
    found = [other for each in measures if (other := beside(each)) is not None and other not in measures]
    return [*measures, *found]


@cache
def _names() -> dict[str, MeasureKind]:
    known = {alias: kind for kind in CATALOG.values() for alias in kind.aliases}
    return known | CATALOG


def _placed(kind: MeasureKind, cuts: list[str], values: dict[str, Value], text: str) -> dict[str, Value]:
    """The parameter that stands after ``@``, where that is no rank."""
    at = kind.cutoff.parameter
    if len(cuts) + (at in values) != 1:
        raise RequestError(f"«{text}»: {kind.name} needs one {at}", fix=f"Write {kind.example}, for instance.")
    return _parameters(kind, f"{at}={cuts[0]}", text) if cuts else {}


def _find(name: str) -> MeasureKind | None:
    known = _names()
    if name in known:
        return known[name]
    folded = {spelling.lower(): kind for spelling, kind in known.items() if spelling.lower() != "r"}
    return folded.get(name.lower())


def _suggest(name: str) -> str:
    known = {spelling.lower(): kind.name for spelling, kind in _names().items()}
    near = dict.fromkeys(known[match] for match in get_close_matches(name.lower(), known, n=3, cutoff=0.4))
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    return f"{hint}`measures()` lists them all."


def _cutoff(kind: MeasureKind, cuts: list[str], text: str) -> int | None:
    if not cuts:
        if kind.cutoff.required:
            raise RequestError(f"{kind.name} needs a cutoff", fix=f"Write {kind.name}@10, for instance.")
        return None
    if not kind.cutoff.allowed or len(cuts) > 1:
        raise RequestError(f"«{text}»: {kind.name} takes no cutoff here", fix=f"Write {kind.name}.")
    if not re.fullmatch("[0-9]{1,18}", cuts[0]) or int(cuts[0]) < 1:
        raise RequestError(f"«{text}»: the cutoff must be a whole number of at least 1", fix=f"Write {kind.name}@10.")
    return int(cuts[0])


def _parameters(kind: MeasureKind, text: str, asked: str) -> dict[str, Value]:
    known = {parameter.name: parameter for parameter in kind.parameters}
    found: dict[str, Value] = {}
    # A comma parts parameters only where a new name begins: gains=1:1,2:3 is one.
    for piece in filter(None, re.split(r",(?=\s*[A-Za-z_]+\s*=)", text)):
        name, mark, value = (part.strip().strip("'\"") for part in piece.partition("="))
        if name == "cutoff" and kind.cutoff.allowed and not kind.cutoff.parameter:
            found[name] = value
            continue
        if name == "dcg" and value in _DCG and ("gains" in known or value == "log2"):
            found |= {"gains": _DCG[value]} if "gains" in known else {}
            continue
        if not mark or name not in known:
            takes = ", ".join(known) or "no parameters"
            raise RequestError(f"«{asked}»: {kind.name} has no parameter «{name}»", fix=f"{kind.name} takes {takes}.")
        try:
            found[name] = known[name].read(value)
        except ValueError as error:
            raise RequestError(f"«{asked}»: {name} cannot be «{value}»", fix=f"It takes {error}.") from None
    return found


def _finished(kind: MeasureKind, given: dict[str, Value], k: int | None, text: str) -> Measure:
    values = {parameter.name: parameter.default for parameter in kind.parameters} | given
    if kind.name == "RBP" and values["gains"] != "binary" and "rel" in given:
        raise RequestError(f"«{text}»: rel is for binary gains", fix="Leave out rel, or gains.")
    return Measure(kind, tuple(values.items()), k)
