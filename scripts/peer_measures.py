"""Which measures other programs have too, and under which names; tests/oracles/test_peer_names.py checks the table."""

from __future__ import annotations

from cranfield.measures import CATALOG, MeasureKind
from cranfield.measures.groups import trec_eval_family

PEERS = ("trec_eval", "ir_measures", "ranx", "ndeval", "cwl_eval", "NTCIREVAL")

_IR_MEASURES = {"I-rec": "StRecall"} | {
    name: name
    for name in (
        *("AP", "P", "R", "Rprec", "RR", "Success", "Bpref", "Judged", "SetP", "SetR", "SetF", "SetAP", "NumQ"),
        *("NumRet", "NumRel", "IPrec", "infAP", "Accuracy", "nDCG", "ERR", "RBP", "SDCG", "INSQ", "INST", "BPM"),
        *("NERR8", "NERR9", "NERR10", "NERR11", "Compat", "alpha_nDCG", "alpha_DCG", "NRBP", "nNRBP", "P_IA"),
        *("AP_IA", "ERR_IA", "nERR_IA"),
    )
}
_RANX = {
    "AP": "map",
    "P": "precision",
    "R": "recall",
    "Rprec": "r-precision",
    "RR": "mrr",
    "Success": "hit_rate",
    "Bpref": "bpref",
    "F": "f1",
    "NumRet": "hits",
    "nDCG": "ndcg, ndcg_burges",
    "DCG": "dcg, dcg_burges",
    "RBP": "rbp",
    "IPrec": "interpolated_precision_at_recall",
}
_NDEVAL = {
    "alpha_nDCG": "alpha-nDCG",
    "alpha_DCG": "alpha-DCG",
    "ERR_IA": "ERR-IA",
    "nERR_IA": "nERR-IA",
    "P_IA": "P-IA",
    "AP_IA": "MAP-IA",
    "NRBP": "NRBP",
    "nNRBP": "nNRBP",
    "I-rec": "strec",
}
_CWL = {
    "P": "Precision",
    "RR": "RR",
    "ContextPrecision": "AP",
    "RBP": "RBP",
    "SDCG": "NDCG",
    "INSQ": "INSQ",
    "INST": "INST",
    "BPM": "BPM",
    **{f"NERR{number}": f"NERReq{number}" for number in (8, 9, 10, 11)},
}
_NTCIREVAL = {
    "AP": "AP",
    "P": "Precision",
    "RR": "RR",
    "nDCG": "nDCG, MSnDCG",
    "nG@1": "MSnDCG",
    "Q": "QMeasure",
    "P+": "PPlusMeasure",
    "ERR": "ERR",
    "nERR": "nERR",
    "RBP": "RBP",
    "Success": "Hit",
}
NOT_HERE = {
    "trec_eval": ("runid", "relstring"),
    "cwl_eval": ("BPMD", "IFTGoal", "IFTGoalRate", "IFTRate", "TBG", "TrAP", "UMeasure"),
    "NTCIREVAL": ("NCUguBR", "NCUguP", "NCUrbBR", "NCUrbP", "OMeasure", "PMeasure"),
}
"""What other programs have, and the catalogue has not."""
ELSEWHERE = {"ir_measures": _IR_MEASURES, "ranx": _RANX, "ndeval": _NDEVAL, "cwl_eval": _CWL, "NTCIREVAL": _NTCIREVAL}


def peer_name(kind: MeasureKind, peer: str) -> str:
    """What a program calls a measure; empty if it does not have it."""
    return ", ".join(trec_eval_family(kind.name)) if peer == "trec_eval" else ELSEWHERE[peer].get(kind.name, "")


def peers_table() -> list[str]:
    """The lines of the table."""
    lines = [f"| here | {' | '.join(PEERS)} |", f"|{'---|' * (1 + len(PEERS))}"]
    for kind in CATALOG.values():
        names = [peer_name(kind, peer) for peer in PEERS]
        cells = [", ".join(f"`{each}`" for each in name.split(", ")) if name else "" for name in names]
        lines.append(f"| `{kind.name}` | {' | '.join(cells)} |")
    missing = [f"of {peer} {', '.join(f'`{name}`' for name in names)}" for peer, names in NOT_HERE.items()]
    return [*lines, "", f"Not here are {'; '.join(missing)}."]
