"""Measures by other names: trec_eval's, short names of measures with parameters, and sets of measures."""

from __future__ import annotations

import re
from collections.abc import Iterable

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
LEVELS = tuple(level / 10 for level in range(11))
MULTIPLES = tuple(step / 5 for step in range(1, 11))

NAMED = {
    "NumRelRet": "NumRet(rel=1)",
    "num_rel_ret": "NumRet(rel=1)",
    "SetRelP": "SetP(relative=True)",
    "set_relative_P": "SetP(relative=True)",
    "dcg_burges": "DCG(gains=exp)",
    "ndcg_burges": "nDCG(gains=exp)",
}
"""Names of measures with parameters."""

_BY_RANK = {
    "P": "P",
    "recall": "R",
    "ndcg_cut": "nDCG",
    "map_cut": "AP",
    "relative_P": "relative_P",
    "success": "Success",
}
_BY_SHARE = {"iprec_at_recall": "IPrec", "Rprec_mult": "Rprec_mult"}
_WITHOUT = {
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRet(rel=1)",
    "map": "AP",
    "gm_map": "GMAP",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "recip_rank": "RR",
    "infAP": "infAP",
    "gm_bpref": "gm_bpref",
    "utility": "utility",
    "11pt_avg": "11pt_avg",
    "binG": "binG",
    "G": "G",
    "ndcg": "nDCG",
    "ndcg_rel": "ndcg_rel",
    "Rndcg": "Rndcg",
    "set_P": "SetP",
    "set_relative_P": "SetP(relative=True)",
    "set_recall": "SetR",
    "set_map": "SetAP",
    "set_F": "SetF",
    "num_nonrel_judged_ret": "num_nonrel_judged_ret",
}
_CUT = re.compile(rf"(?P<name>{'|'.join(_BY_RANK | _BY_SHARE)})[_.](?P<cut>[0-9]+([.][0-9]+)?|[.][0-9]+)$")


def from_trec_eval(text: str) -> str:
    """The name of a measure with ``@`` before the cutoff, which trec_eval writes ``P_10`` or ``P.10``."""
    return _CUT.sub(lambda found: f"{found['name']}@{found['cut']}", text)


def in_full(text: str) -> str:
    """A measure with parameters in place of a name that stands for them."""
    name, mark, cut = text.partition("@")
    return NAMED.get(name, name) + mark + cut


def trec_eval_name(text: str) -> str | None:
    """What trec_eval prints for a measure that is named as here; None for one that it does not have."""
    for theirs, ours in _WITHOUT.items():
        if ours == text:
            return theirs
    name, mark, cut = text.partition("@")
    if not mark:
        return None
    for theirs, ours in (_BY_RANK | _BY_SHARE).items():
        if ours == name:
            return f"{theirs}_{cut}" if theirs in _BY_RANK else f"{theirs}_{float(cut):.2f}"
    return None


def trec_eval_order(measures: Iterable[str]) -> list[str]:
    """Measures as trec_eval prints them: in its own order, cutoffs ascending; then those that it does not have.

    >>> trec_eval_order(["P@10", "RBP(p=0.8)", "P@5", "AP"])
    ['AP', 'P@5', 'P@10', 'RBP(p=0.8)']
    """
    families = list(dict.fromkeys(_family(measure) for measure in _TREC))

    def place(measure: str) -> tuple[int, float]:
        family = _family(measure)
        known = trec_eval_name(measure) is not None
        return (families.index(family), float(measure.partition("@")[2] or 0)) if known else (len(families), 0.0)

    return sorted(measures, key=place)


def _family(measure: str) -> tuple[str, bool]:
    """A measure without its cutoff, and whether it has one: trec_eval prints ``ndcg`` and ``ndcg_cut`` apart."""
    name, mark, _ = measure.partition("@")
    return name, bool(mark)


def trec_eval_family(kind: str) -> list[str]:
    """All names that trec_eval has for one measure of the catalogue, without their cutoffs."""
    names = _WITHOUT | _BY_RANK | _BY_SHARE
    return [theirs for theirs, ours in names.items() if ours.partition("(")[0] == kind]


def _cut(name: str, cutoffs: Iterable[float]) -> list[str]:
    return [f"{name}@{cut:g}" for cut in cutoffs]


_OFFICIAL = ["NumQ", "NumRet", "NumRel", "NumRet(rel=1)", "AP", "GMAP", "Rprec", "Bpref", "RR"]
_OFFICIAL += [*_cut("IPrec", LEVELS), *_cut("P", CUTOFFS)]
_SETS = ["SetP", "SetP(relative=True)", "SetR", "SetAP", "SetF"]
_TREC = [
    *_OFFICIAL,
    *_cut("R", CUTOFFS),
    *("infAP", "gm_bpref"),
    *_cut("Rprec_mult", MULTIPLES),
    *("utility", "11pt_avg", "binG", "G", "nDCG", "ndcg_rel", "Rndcg"),
    *_cut("nDCG", CUTOFFS),
    *_cut("AP", CUTOFFS),
    *_cut("relative_P", CUTOFFS),
    *_cut("Success", (1, 5, 10)),
    *_SETS,
    "num_nonrel_judged_ret",
]

GROUPS: dict[str, tuple[str, ...]] = {
    "official": tuple(_OFFICIAL),
    "all_trec": tuple(_TREC),
    "trec": tuple(_TREC),
    "set": (*_OFFICIAL[:4], "utility", *_SETS),
    "msmarco": ("RR@10", "R@1000"),
    "beir": ("nDCG@10", "R@100"),
}
"""Sets of measures by name, in the order of trec_eval."""
