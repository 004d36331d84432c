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

NO_NUMBERS = {"runid", "relstring"}  # which trec_eval has among its measures


@pytest.fixture
def table(load_script: Callable[[str], ModuleType]) -> dict[str, set[str]]:
    """peer → the names that the table has for it."""
    script = load_script("peer_measures")
    return {
        peer: {name for kind in CATALOG.values() for name in script.peer_name(kind, peer).split(", ") if name}
        for peer in script.PEERS
    }


def test_every_measure_of_trec_eval_and_ndeval_is_in_the_table_and_no_other(table: dict[str, set[str]]) -> None:
    assert table["trec_eval"] | NO_NUMBERS == set(pytrec_eval.supported_measures)
    assert table["ndeval"] == set(pyndeval.SUPPORTED_MEASURES)


def test_every_measure_of_ir_measures_is_in_the_table_and_is_understood_by_its_names(
    table: dict[str, set[str]],
) -> None:
    assert table["ir_measures"] == {measure.NAME for measure in ir_measures.measures.registry.values()}
    for name, measure in ir_measures.measures.registry.items():
        kind = next(kind for kind in CATALOG.values() if measure.NAME in (kind.name, *kind.aliases))
        cut = kind.example.removeprefix(kind.name)
        assert parse_measure(name + cut).kind is kind


def test_the_names_in_ntcireval_and_ranx_exist_there(table: dict[str, set[str]]) -> None:
    from ranx import metrics as ranx_metrics

    assert all(hasattr(ntcireval, name) for name in table["NTCIREVAL"])
    longer = {"map": "average_precision", "mrr": "reciprocal_rank", "r-precision": "r_precision"}
    longer["rbp"] = "rank_biased_precision"
    assert {longer.get(name, name) for name in table["ranx"]} == set(ranx_metrics.__all__) - {"get_hit_lists"}


def test_the_names_in_cwl_eval_exist_there(table: dict[str, set[str]]) -> None:
    from cwl.ruler import cwl_ruler

    assert all(hasattr(cwl_ruler, f"{name}CWLMetric") for name in table["cwl_eval"])
