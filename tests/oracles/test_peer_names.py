"""The table of names in other programs, against those programs."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import ir_measures
import pyndeval
import pytest
import pytrec_eval
from pyNTCIREVAL import metrics as ntcireval

from cranfield.measures import CATALOG, parse_measure

OTHER = {
    "cwl_eval": set(),
    "ndeval": set(),
    # What shows a run and no number, or is not in its table of measures for documents.
    "trec_eval": {"runid", "relstring"},
    "ir_measures": set(),
}


@pytest.fixture
def table(load_script: Callable[[str], ModuleType]) -> dict[str, set[str]]:
    """peer → the names that the table has for it."""
    script = load_script("peer_measures")
    return {
        peer: {name for kind in CATALOG.values() for name in script.peer_name(kind, peer).split(", ") if name}
        for peer in script.PEERS
    }


def test_every_measure_of_trec_eval_and_ndeval_is_in_the_table_and_no_other(table: dict[str, set[str]]) -> None:
    assert table["trec_eval"] | OTHER["trec_eval"] == set(pytrec_eval.supported_measures)
    assert table["ndeval"] == set(pyndeval.SUPPORTED_MEASURES)


def test_every_measure_of_ir_measures_is_in_the_table_and_is_understood_by_its_names(
    table: dict[str, set[str]],
) -> None:
    assert table["ir_measures"] == {measure.NAME for measure in ir_measures.measures.registry.values()}
    for name, measure in ir_measures.measures.registry.items():
        at = "@0.5" if measure.AT_PARAM == "recall" else "@5"
        needs_cutoff = CATALOG[parse_measure_kind(measure.NAME)].cutoff.required
        assert parse_measure(name + at * needs_cutoff).kind.name == parse_measure_kind(measure.NAME)


def parse_measure_kind(name: str) -> str:
    """The measure here that has this name there."""
    for cut in ("", "@5", "@0.5"):
        try:
            return parse_measure(name + cut).kind.name
        except ValueError:
            continue
    raise AssertionError(name)


def test_the_names_in_ntcireval_and_ranx_exist_there(table: dict[str, set[str]]) -> None:
    from ranx import metrics as ranx_metrics

    assert all(hasattr(ntcireval, name) for name in table["NTCIREVAL"])
    longer = {"map": "average_precision", "mrr": "reciprocal_rank", "r-precision": "r_precision"}
    longer["rbp"] = "rank_biased_precision"
    assert {longer.get(name, name) for name in table["ranx"]} == set(ranx_metrics.__all__) - {"get_hit_lists"}


def test_the_names_in_cwl_eval_exist_there(table: dict[str, set[str]]) -> None:
    from cwl.ruler import cwl_ruler

    assert all(hasattr(cwl_ruler, f"{name}CWLMetric") for name in table["cwl_eval"])
