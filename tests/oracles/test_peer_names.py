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


@pytest.fixture
def missing(load_script: Callable[[str], ModuleType]) -> dict[str, set[str]]:
    """peer → the names of what it has, and the catalogue has not."""
    return {peer: set(names) for peer, names in load_script("peer_measures").NOT_HERE.items()}


@pytest.fixture
def table(load_script: Callable[[str], ModuleType]) -> dict[str, set[str]]:
    """peer → the names that the table has for it."""
    script = load_script("peer_measures")
    return {
        peer: {name for kind in CATALOG.values() for name in script.peer_name(kind, peer).split(", ") if name}
        for peer in script.PEERS
    }


def test_every_measure_of_trec_eval_and_ndeval_is_in_the_table_and_no_other(
    table: dict[str, set[str]], missing: dict[str, set[str]]
) -> None:
    assert table["trec_eval"] | missing["trec_eval"] == set(pytrec_eval.supported_measures)
    assert table["ndeval"] == set(pyndeval.SUPPORTED_MEASURES)


def test_every_measure_of_ir_measures_is_in_the_table_and_is_understood_by_its_names(
    table: dict[str, set[str]],
) -> None:
    assert table["ir_measures"] == {measure.NAME for measure in ir_measures.measures.registry.values()}
    for name, measure in ir_measures.measures.registry.items():
        kind = next(kind for kind in CATALOG.values() if measure.NAME in (kind.name, *kind.aliases))
        cut = kind.example.removeprefix(kind.name)
        assert parse_measure(name + cut).kind is kind


def test_every_measure_of_ntcireval_and_ranx_is_in_the_table_or_named_as_missing(
    table: dict[str, set[str]], missing: dict[str, set[str]]
) -> None:
    from ranx import metrics as ranx_metrics

    theirs = {name for name, each in vars(ntcireval).items() if isinstance(each, type)} - {"Metric"}
    assert table["NTCIREVAL"] | missing["NTCIREVAL"] == theirs
    assert not table["NTCIREVAL"] & missing["NTCIREVAL"]
    longer = {"map": "average_precision", "mrr": "reciprocal_rank", "r-precision": "r_precision"}
    longer["rbp"] = "rank_biased_precision"
    assert {longer.get(name, name) for name in table["ranx"]} == set(ranx_metrics.__all__) - {"get_hit_lists"}


def test_every_measure_of_cwl_eval_is_in_the_table_or_named_as_missing(
    table: dict[str, set[str]], missing: dict[str, set[str]]
) -> None:
    from cwl.ruler import cwl_ruler

    theirs = {name.removesuffix("CWLMetric") for name in vars(cwl_ruler) if name.endswith("CWLMetric")} - {""}
    assert table["cwl_eval"] | missing["cwl_eval"] == theirs
    assert not table["cwl_eval"] & missing["cwl_eval"]
