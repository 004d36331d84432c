"""Every measure that another program has too, on 200 random topics and on three runs of each of two tracks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pyndeval
import pytest
import ranx_scores
from generated import DOCUMENTS, GRADES, INTENT_GRADES, INTENTS, IntentRow, ranking
from pyNTCIREVAL import Labeler
from ranx_scores import RECALL_LEVEL
from test_ir_measures import MORE_NAMES, SAME_DIVERSITY_NAMES, SAME_NAMES
from test_ntcireval import LINEAR
from test_ntcireval import MEASURES as NTCIREVAL

import cranfield
from cranfield.scores.evaluation import score_collection
from sizes import PROOF, sized

TOLERANCE = 1e-9
Judgments = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
Scores = dict[str, dict[str, float]]  # measure, as it is called here → topic → score

RANX = {
    "AP": "map",
    "AP@5": "map@5",
    "AP(rel=2)": "map-l2",
    "P@1": "precision@1",
    "P@10": "precision@10",
    "R@10": "recall@10",
    "R(rel=2)@3": "recall@3-l2",
    "Rprec": "r-precision",
    "RR": "mrr",
    "RR@3": "mrr@3",
    "Success@1": "hit_rate@1",
    "Success(rel=3)@5": "hit_rate@5-l3",
    "F@5": "f1@5",
    "F(rel=2)@20": "f1@20-l2",
    "NumRet(rel=1)": "hits",
    "NumRet(rel=3)": "hits-l3",
    "nDCG": "ndcg",
    "nDCG@5": "ndcg@5",
    "DCG": "dcg",
    "nDCG(gains=exp)@10": "ndcg_burges@10",
    "DCG@7": "dcg@7",
    "DCG(gains=exp)": "dcg_burges",
    "DCG(gains=exp)@3": "dcg_burges@3",
    **{f"IPrec@{level / 10:g}": f"{RECALL_LEVEL}{level / 10:g}" for level in range(11)},
}
NDEVAL = {
    f"{ours}@{k}": f"{theirs}@{k}"
    for ours, theirs in {
        "alpha_nDCG": "alpha-nDCG",
        "alpha_DCG": "alpha-DCG",
        "ERR_IA": "ERR-IA",
        "nERR_IA": "nERR-IA",
        "P_IA": "P-IA",
        "I-rec": "strec",
    }.items()
    for k in (5, 10, 20)
} | {"NRBP": "NRBP", "nNRBP": "nNRBP", "AP_IA": "MAP-IA"}
CWL = (
    *("P@5", "P@20", "RR", "RBP(p=0.8,rel=1)", "RBP(p=0.5,rel=2)", "BPM(T=0.5,max_rel=4)@3"),
    *("SDCG(max_rel=4)@5", "SDCG(max_rel=4)@20", "NERR8(max_rel=4)@5", "NERR9(max_rel=4)@20", "NERR10(max_rel=4)"),
    *("NERR11(max_rel=4)", "INST(max_rel=4)", "INSQ(max_rel=4)", "INSQ(T=0.3,min_rel=1,max_rel=4)"),
)
NAMES = tuple(name.replace("max_rel=3", "max_rel=4") for name in (*SAME_NAMES, *MORE_NAMES))
REAL = [
    *(("trec8", f"input.{name}.gz") for name in ("CL99SD", "1", "8manexT3D1N0")),
    *(("dl19", f"{name}.txt.gz") for name in ("ICT-BERT2", "ICT-CKNRM_B", "bm25base_ax_p")),
]


@cache
def random_topics() -> tuple[Judgments, Run, list[IntentRow]]:
    """Ties, short lists, topics without results or relevant documents, negative and missing judgments."""
    rng = np.random.default_rng(2026)
    qrels: Judgments = {}
    run: Run = {}
    intents: list[IntentRow] = []
    for topic in map(str, range(1, sized(30, 200) + 1)):
        judged = rng.permutation(DOCUMENTS)[: rng.integers(1, 17)].tolist()
        qrels[topic] = {document: int(rng.choice(GRADES)) for document in judged}
        returned = rng.permutation(DOCUMENTS)[: rng.integers(0, len(DOCUMENTS) + 1)].tolist()
        if returned:
            run[topic] = {document: int(rng.integers(-6, 11)) / 4 for document in returned}
        pairs = {(str(rng.choice(INTENTS)), str(rng.choice(DOCUMENTS))) for _ in range(rng.integers(1, 20))}
        intents += [(topic, intent, document, int(rng.choice(INTENT_GRADES))) for intent, document in sorted(pairs)]
    return qrels, run, intents


def untied(run: Mapping[str, Mapping[str, float]]) -> Run:
    """The same lists for programs that break ties in another way: scores that fall by 1, and are above 0."""
    return {topic: {doc: 9999.0 - at for at, doc in enumerate(ranking(rows))} for topic, rows in run.items()}


def of_ir_measures(provider: Any, names: Sequence[str], qrels: Any, run: Run) -> Scores:
    measures = {ir_measures.parse_measure(name): name for name in names}
    found: Scores = {name: {} for name in names}
    for row in provider.iter_calc(list(measures), qrels, untied(run)):
        found[measures[row.measure]][row.query_id] = row.value
    return found


def of_ranx(names: Mapping[str, str], qrels: Judgments, run: Run) -> Scores:
    topics = sorted(topic for topic in qrels if topic in run)  # in the order of ranx
    lists = untied(run)
    judged, found = ({t: qrels[t] for t in topics}, {t: lists[t] for t in topics})
    theirs = ranx_scores.of_ranx(list(names.values()), judged, found, compiled=PROOF)
    return {ours: dict(zip(topics, theirs[name], strict=True)) for ours, name in names.items()}


def of_ndeval(intents: list[IntentRow], run: Run) -> Scores:
    ranks = [(topic, document, score) for topic, rows in untied(run).items() for document, score in rows.items()]
    theirs = pyndeval.RelevanceEvaluator(intents, list(NDEVAL.values())).evaluate(ranks)
    return {
        ours: {topic: np.nan_to_num(found[name]).item() for topic, found in theirs.items()}
        for ours, name in NDEVAL.items()
    }


def of_ntcireval(qrels: Judgments, run: Run) -> Scores:
    found: Scores = {name: {} for name in NTCIREVAL}
    for topic, rows in run.items():
        labeler = Labeler({document: grade for document, grade in qrels[topic].items() if grade >= 0})
        if labeler.compute_rel_num() == 0:  # they have no such topics
            continue
        levels, labelled = labeler.compute_per_level_doc_num(1 + len(LINEAR)), labeler.label(ranking(rows))
        for name, metric in NTCIREVAL.items():
            found[name][topic] = float(metric(levels).compute(labelled))
    return found


def furthest(ours: Any, theirs: Scores) -> dict[str, float]:
    """By how much each measure differs at most; what the others leave out is 0 here."""
    found = {}
    for name, scores in theirs.items():
        mine = dict(zip(ours.topics, ours.of(str(cranfield.parse_measure(name))).ravel().tolist(), strict=True))
        found[name] = max(abs(mine[topic] - scores.get(topic, 0.0)) for topic in mine)
    return found


def disagreeing(differences: Mapping[str, float]) -> dict[str, float]:
    return {name: far for name, far in differences.items() if not far <= TOLERANCE}


def nonnegative(qrels: Judgments) -> Judgments:
    """Without the judgments that count as none here and as non-relevant ones in other programs."""
    return {topic: {doc: grade for doc, grade in rows.items() if grade >= 0} for topic, rows in qrels.items()}


def scored(qrels: Judgments, run: Run, names: Sequence[str], **more: Any) -> Any:
    return score_collection(cranfield.read_collection({"run": run}, qrels or None, **more), names)


def sound(qrels: Judgments, run: Run) -> tuple[Judgments, Run]:
    """Without topics that have no grade of 0 or more, on which trec_eval's code reads memory that it has not set."""
    kept = {topic: rows for topic, rows in qrels.items() if max(rows.values()) >= 0}
    return kept, {topic: rows for topic, rows in run.items() if topic in kept}


needs_cwl = pytest.mark.skipif(not ir_measures.cwl_eval.is_available(), reason="cwl-eval is not installed")


def test_measures_equal_ranxs_on_random_topics() -> None:
    qrels, run, _ = random_topics()
    assert disagreeing(furthest(scored(qrels, run, list(RANX)), of_ranx(RANX, qrels, run))) == {}


def test_bpref_and_rbp_equal_ranxs_where_judgments_are_0_and_1_and_there_are_both() -> None:
    qrels, run, _ = random_topics()
    binary = {t: {d: int(grade > 0) for d, grade in rows.items() if grade >= 0} for t, rows in qrels.items()}
    binary = {topic: rows for topic, rows in binary.items() if set(rows.values()) == {0, 1}}
    run = {topic: rows for topic, rows in run.items() if topic in binary}
    names = {"Bpref": "bpref", "RBP(p=0.8)": "rbp.80"}
    assert disagreeing(furthest(scored(binary, run, list(names)), of_ranx(names, binary, run))) == {}


@pytest.mark.proof
def test_difference_rbp_in_ranx_adds_up_grades_and_here_gains_are_at_most_1() -> None:
    qrels: Judgments = {"1": {"a": 2, "b": 0}}
    run: Run = {"1": {"a": 1.0}}
    theirs = of_ranx({"AP": "map", "RBP(p=0.8)": "rbp.80"}, qrels, run)
    assert theirs["RBP(p=0.8)"]["1"] == pytest.approx(0.4)
    assert scored(qrels, run, ["RBP(p=0.8)"]).values.item() == pytest.approx(0.2)


def test_measures_equal_ntcirevals_on_random_topics() -> None:
    qrels, run, _ = random_topics()
    assert disagreeing(furthest(scored(qrels, run, list(NTCIREVAL)), of_ntcireval(qrels, run))) == {}


@needs_cwl
def test_measures_equal_ir_measures_and_cwl_evals_on_random_topics() -> None:
    qrels, run = sound(*random_topics()[:2])
    names = [name for name in NAMES if not name.startswith(("Judged", "NumRet"))]  # named differences
    assert disagreeing(furthest(scored(qrels, run, names), of_ir_measures(ir_measures, names, qrels, run))) == {}
    assert disagreeing(furthest(scored(qrels, run, CWL), of_ir_measures(ir_measures.cwl_eval, CWL, qrels, run))) == {}


@needs_cwl
def test_context_precision_is_ap_of_cwl_eval_which_does_not_know_what_was_not_found() -> None:
    qrels, run = sound(*random_topics()[:2])
    theirs = of_ir_measures(ir_measures.cwl_eval, ["AP"], qrels, run)["AP"]
    ours = scored(qrels, run, ["ContextPrecision"])
    assert disagreeing(furthest(ours, {"ContextPrecision": theirs})) == {}


def test_measures_of_intents_equal_ndevals_and_ir_measures_on_random_topics(tmp_path: Path) -> None:
    _, run, rows = random_topics()
    (tmp_path / "intents").write_text("".join(f"{t} {intent} {d} {grade}\n" for t, intent, d, grade in rows))
    table = scored({}, run, [*NDEVAL, *SAME_DIVERSITY_NAMES], intents=tmp_path / "intents")
    assert disagreeing(furthest(table, of_ndeval(rows, run))) == {}
    judged = [ir_measures.Qrel(topic, document, grade, intent) for topic, intent, document, grade in rows]
    for name in SAME_DIVERSITY_NAMES:
        assert disagreeing(furthest(table, of_ir_measures(ir_measures, [name], judged, run))) == {}


@pytest.mark.parametrize("beta", [0.5, 2.0, 3.0])
def test_f_of_lists_with_k_documents_is_set_f_of_trec_eval_with_the_square_of_beta(beta: float) -> None:
    qrels, run = sound(*random_topics()[:2])
    k = 6
    cut = {t: dict(list(rows.items())[:k]) for t, rows in untied(run).items() if len(rows) >= k}
    qrels = {topic: qrels[topic] for topic in cut}
    theirs = of_ir_measures(ir_measures, [f"SetF(beta={beta**2})"], qrels, cut)[f"SetF(beta={beta**2})"]
    name = f"F(beta={beta})@{k}"
    assert disagreeing(furthest(scored(qrels, cut, [name]), {name: theirs})) == {}
    assert max(theirs.values()) > 0


def read_real(shared: Path, folder: str, file: str) -> tuple[Judgments, Run]:
    """Judgments and one run, in the order that it has here; the topics of the run alone."""
    data = shared / "data" / folder
    collection = cranfield.read_collection(data / "runs" / file, data / "qrels.txt.gz")
    ranked = {topic: collection.ranking(collection.systems[0], topic) for topic in collection.topics}
    run = {t: {d: 9999.0 - at for at, d in enumerate(rows)} for t, rows in ranked.items() if rows}
    qrels: Judgments = {topic: {} for topic in run}
    for topic, document, grade in collection.judgments():
        if topic in run:
            qrels[topic][document] = int(grade)
    return qrels, run


def differences(qrels: Judgments, run: Run) -> dict[str, dict[str, float]]:
    """By how much every measure of every program differs at most."""
    names = [name for name in NAMES if not name.startswith("NumRet")]
    few = {topic: run[topic] for topic in list(run)[::5]}  # NTCIREVAL takes half a second for a topic
    few_judged = {topic: qrels[topic] for topic in few}
    return {
        "ranx": furthest(scored(qrels, run, list(RANX)), of_ranx(RANX, qrels, run)),
        "NTCIREVAL": furthest(scored(few_judged, few, list(NTCIREVAL)), of_ntcireval(few_judged, few)),
        "ir_measures": furthest(scored(qrels, run, names), of_ir_measures(ir_measures, names, qrels, run)),
    }


@pytest.mark.proof
@needs_cwl
@pytest.mark.parametrize(("folder", "file"), REAL)
def test_measures_equal_those_of_all_other_programs_on_real_runs(shared: Path, folder: str, file: str) -> None:
    found = differences(*read_real(shared, folder, file))
    assert {program: disagreeing(each) for program, each in found.items()} == {program: {} for program in found}
