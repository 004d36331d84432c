"""Names of measures: what each is called, what else it may be called, and what is said of names that are none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.errors import RequestError
from cranfield.measures import CATALOG, Measure, beside, parse_measure, parse_measures
from cranfield.measures.declaration import MeasureKind
from cranfield.measures.groups import GROUPS, trec_eval_name
from sizes import examples_of

BY_SHARE = sorted(name for name, kind in CATALOG.items() if kind.cutoff.parameter)
WITH_CUTOFF = sorted(name for name, kind in CATALOG.items() if kind.cutoff.allowed and name not in BY_SHARE)
WITHOUT_CUTOFF = sorted(name for name, kind in CATALOG.items() if not kind.cutoff.allowed)
NEEDS_CUTOFF = sorted(name for name, kind in CATALOG.items() if kind.cutoff.required and name not in BY_SHARE)


def plain(kind: MeasureKind) -> str:
    """The shortest way to ask for a measure."""
    return kind.example


def cut(kind: MeasureKind) -> str:
    """What stands after its name."""
    return kind.example.removeprefix(kind.name)


@pytest.mark.parametrize("kind", CATALOG.values(), ids=CATALOG)
def test_every_measure_is_found_by_its_own_name(kind: MeasureKind) -> None:
    assert parse_measure(plain(kind)).kind is kind
    assert parse_measure(f"  {plain(kind)} ").kind is kind


@pytest.mark.parametrize("kind", CATALOG.values(), ids=CATALOG)
def test_every_measure_has_a_title_a_help_and_a_citation(kind: MeasureKind) -> None:
    assert kind.title
    assert kind.help.endswith(".")
    assert kind.citation.isalnum()
    assert kind.lowest < kind.highest
    assert all(parameter.help for parameter in kind.parameters)


def test_no_name_means_two_measures() -> None:
    owners: dict[str, str] = {}
    for kind in CATALOG.values():
        for spelling in {kind.name, *kind.aliases}:
            assert owners.setdefault(spelling, kind.name) == kind.name
    folded = {spelling.lower() for spelling in owners}
    by_folded = {spelling: {owners[name] for name in owners if name.lower() == spelling} for spelling in folded}
    assert {spelling: kinds for spelling, kinds in by_folded.items() if len(kinds) > 1} == {}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("AP", "AP"),
        ("map", "AP"),
        ("MAP", "AP"),
        ("map_cut_100", "AP@100"),
        ("AP@100", "AP@100"),
        ("P_10", "P@10"),
        ("precision@5", "P@5"),
        ("p@5", "P@5"),
        ("recall_1000", "R@1000"),
        ("Recall@20", "R@20"),
        ("R@20", "R@20"),
        ("Rprec", "Rprec"),
        ("R-prec", "Rprec"),
        ("recip_rank", "RR"),
        ("MRR@10", "RR@10"),
        ("bpref", "Bpref"),
        ("ndcg", "nDCG"),
        ("NDCG", "nDCG"),
        ("ndcg_cut_10", "nDCG@10"),
        ("MSnDCG@20", "nDCG@20"),
        ("nG@1", "nG@1"),
        ("ng@1", "nG@1"),
        ("nG(gains=exp)@1", "nG@1(gains=exp)"),
        ("nG@1(gains=exp)", "nG@1(gains=exp)"),
        ("RBP", "RBP(p=0.8)"),
        ("RBP(p=0.95)", "RBP(p=0.95)"),
        ("rbp(p=.5)", "RBP(p=0.5)"),
        ("RBP(p=0.8,gains=linear,max=4)@20", "RBP(p=0.8,gains=linear,max=4)@20"),
        ("AP(rel=1)", "AP"),
        ("AP(rel=1.0)", "AP"),
        ("AP(rel=2)", "AP(rel=2)"),
        ("AP(rel=.5)", "AP(rel=0.5)"),
        ("AP(rel=5e-1)", "AP(rel=0.5)"),
        ("P(rel=1.5)@10", "P(rel=1.5)@10"),
        ("ERR(max=4.0)", "ERR(max=4)"),
        ("ERR(max=2.5)", "ERR(max=2.5)"),
        ("nDCG(gains=0.5:1,1:3)", "nDCG(gains=0.5:1,1:3)"),
        ("P@10(rel=2)", "P(rel=2)@10"),
        ("P(rel=2)@10", "P(rel=2)@10"),
        ("AP( rel = 2 , norm = min )@5", "AP(rel=2,norm=min)@5"),
        ("nDCG(gains=1:1,2:3)@10", "nDCG(gains=1:1,2:3)@10"),
        ("nDCG(gains='exp')", "nDCG(gains=exp)"),
        ("nDCG(gains=exp,log=2)@10", "nDCG(gains=exp,log=2)@10"),
        ("Q(beta=10,gains=exp)", "Q(gains=exp,beta=10)"),
        ("P+", "P+"),
        ("alpha-nDCG@20", "alpha_nDCG@20"),
        ("ERR-IA@20", "ERR_IA@20"),
        ("nERR-IA@20", "nERR_IA@20"),
        ("StRecall@20", "I-rec@20"),
        ("Dsharp-nDCG@10", "D#-nDCG@10"),
        ("D♯-nDCG@10", "D#-nDCG@10"),
        ("d#-ndcg(gamma=0.3)@10", "D#-nDCG(gamma=0.3)@10"),
    ],
)
def test_a_measure_has_one_canonical_name(text: str, name: str) -> None:
    assert str(parse_measure(text)) == name


@pytest.mark.parametrize(("kind", "alias"), [(k, alias) for k in CATALOG.values() for alias in k.aliases])
def test_every_alias_leads_to_its_measure_in_any_case(kind: MeasureKind, alias: str) -> None:
    for spelling in (alias, alias.upper(), alias.lower()):
        if spelling != "p" or not cut(kind):
            assert parse_measure(spelling + cut(kind)).kind is kind


@pytest.mark.parametrize("kind", CATALOG.values(), ids=CATALOG)
def test_a_canonical_name_is_read_as_the_measure_it_names(kind: MeasureKind) -> None:
    measure = parse_measure(plain(kind))
    assert parse_measure(str(measure)) == measure


@settings(max_examples=examples_of(200), deadline=None)
@given(st.floats(0, 0.999999), st.floats(0, 1), st.floats(1.001, 1e6), st.integers(1, 9), st.integers(1, 10**6))
def test_a_canonical_name_keeps_every_digit_of_its_parameters(
    p: float, alpha: float, log: float, rel: int, k: int
) -> None:
    for text in (
        f"RBP(p={p!r},rel={rel})@{k}",
        f"alpha_nDCG(alpha={alpha!r},rel={rel})@{k}",
        f"nDCG(log={log!r})@{k}",
        f"D#-nDCG(gamma={alpha!r})@{k}",
    ):
        measure = parse_measure(text)
        assert parse_measure(str(measure)) == measure


def test_a_parameter_of_many_digits_is_not_rounded() -> None:
    measure = parse_measure("RBP(p=0.95123456)")
    assert measure["p"] == 0.95123456
    assert parse_measure(str(measure))["p"] == 0.95123456


def test_parameters_have_defaults() -> None:
    measure = parse_measure("nDCG@10")
    assert (measure["gains"], measure["log"], measure.k) == ("linear", None, 10)
    assert parse_measure("AP").k is None


def test_measures_are_named_once_each() -> None:
    assert [str(measure) for measure in parse_measures(["AP", "map", "P_10", "P@10"])] == ["AP", "P@10"]
    assert [str(measure) for measure in parse_measures("AP")] == ["AP"]


def test_no_measures_are_refused() -> None:
    with pytest.raises(RequestError, match="no measure was named"):
        parse_measures([])


def test_the_residual_stands_beside_rbp() -> None:
    companion = beside(parse_measure("RBP(p=0.95,gains=linear)@5"))
    assert isinstance(companion, Measure)
    assert str(companion) == "RBP_residual(p=0.95)"
    assert beside(parse_measure("AP")) is None


# --- names that are none


def refusal(text: str) -> RequestError:
    with pytest.raises(RequestError) as refused:
        parse_measure(text)
    assert refused.value.what
    return refused.value


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("nDGC@10", "nDCG"),
        ("ndcg10", "nDCG"),
        ("bpreff", "Bpref"),
        ("precison@5", "P"),
        ("recal@5", "R"),
        ("recip_ranc", "RR"),
        ("alpha-nDGC@10", "alpha_nDCG"),
        ("RBP_residul", "RBP_residual"),
        ("Rprecision", "Rprec"),
        ("judge@10", "Judged"),
        ("Dsharp@10", "D#-nDCG"),
        ("ERRIA@20", "ERR_IA"),
        ("mapp", "AP"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest(text: str, meant: str) -> None:
    refused = refusal(text)
    assert f"no measure «{text.split('@')[0]}»" in refused.what
    suggested = refused.fix.removeprefix("Did you mean ").partition("?")[0].split(" or ")
    assert meant in suggested


def test_a_name_like_no_other_is_answered_with_where_to_look() -> None:
    refused = refusal("zzzzzzzzzz")
    assert refused.fix == "`measures()` lists them all."


def test_a_lower_case_r_is_not_taken_for_recall() -> None:
    refusal("r@10")


@pytest.mark.parametrize("text", ["", "  ", "@10", "()", "(rel=2)", "AP(", "AP)", "AP(rel=2", "AP rel=2)"])
def test_what_has_not_the_shape_of_a_measure_is_refused(text: str) -> None:
    refusal(text)


@pytest.mark.parametrize("name", NEEDS_CUTOFF)
def test_a_measure_that_needs_a_cutoff_says_so(name: str) -> None:
    refused = refusal(name)
    assert refused.what == f"{name} needs a cutoff"
    assert f"{name}@10" in refused.fix


@pytest.mark.parametrize("name", [name for name in WITHOUT_CUTOFF if "@" not in name])
def test_a_measure_that_takes_no_cutoff_says_so(name: str) -> None:
    assert "takes no cutoff" in refusal(f"{name}@10").what


def test_a_measure_with_its_cutoff_in_its_name_takes_no_other() -> None:
    assert "nG@1" in refusal("nG@5").fix
    assert "nG@1" in refusal("nG@1@5").fix


@pytest.mark.parametrize(
    "cutoff", ["", "0", "-1", "1.5", "x", "1e3", "²", "1_0", "9" * 5000], ids=lambda text: text[:5]
)
def test_a_cutoff_is_a_whole_number_from_1(cutoff: str) -> None:
    for name in WITH_CUTOFF:
        assert "the cutoff must be a whole number" in refusal(f"{name}@{cutoff}").what


@pytest.mark.parametrize("name", BY_SHARE)
def test_a_measure_with_a_share_after_the_at_sign_needs_one_and_takes_no_other(name: str) -> None:
    at = CATALOG[name].cutoff.parameter
    assert str(parse_measure(f"{name}@0.25")) == str(parse_measure(f"{name}({at}=.250)")) == f"{name}@0.25"
    assert f"{name} needs one {at}" in refusal(name).what
    assert f"{name} needs one {at}" in refusal(f"{name}({at}=0.5)@0.5").what
    assert f"{at} cannot be «x»" in refusal(f"{name}@x").what


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("P_10", "P@10"),
        ("P.10", "P@10"),
        ("success_5", "Success@5"),
        ("hit_rate@5", "Success@5"),
        ("iprec_at_recall_0.10", "IPrec@0.1"),
        ("iprec_at_recall.0", "IPrec@0"),
        ("Rprec_mult_0.20", "Rprec_mult@0.2"),
        ("relative_P_5", "relative_P@5"),
        ("set_relative_P", "SetP(relative=True)"),
        ("SetRelP", "SetP(relative=True)"),
        ("NumRelRet", "NumRet(rel=1)"),
        ("gm_map", "GMAP"),
        ("ndcg_burges@10", "nDCG(gains=exp)@10"),
        ("r-precision", "Rprec"),
        ("P(cutoff=10)", "P@10"),
        ("nDCG(dcg='exp-log2',judged_only=True)@5", "nDCG(gains=exp,judged_only=True)@5"),
        ("nDCG(dcg=log2)", "nDCG"),
        ("AP(judged_only=False)", "AP"),
    ],
)
def test_names_of_trec_eval_and_ir_measures_are_understood(text: str, name: str) -> None:
    assert str(parse_measure(text)) == name


@pytest.mark.parametrize("name", GROUPS)
def test_a_set_of_measures_stands_for_each_of_them_once(name: str) -> None:
    found = [str(measure) for measure in parse_measures([GROUPS[name][-1], name])]
    assert found == [GROUPS[name][-1], *GROUPS[name][:-1]]


def test_the_official_set_begins_as_trec_eval_prints_it() -> None:
    names = [trec_eval_name(str(measure)) for measure in parse_measures("official")]
    assert names[:9] == ["num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"]
    assert names[9:] == [
        *(f"iprec_at_recall_{level / 10:.2f}" for level in range(11)),
        *(f"P_{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)),
    ]
    assert trec_eval_name("RBP(p=0.8)") is None


def test_two_cutoffs_are_one_too_many() -> None:
    assert "cutoff" in refusal("P@5(rel=1)@10").what


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("AP(depth=5)", "rel, norm"),
        ("AP(2)", "rel, norm"),
        ("AP(p=0.5)", "rel, norm"),
        ("Judged(rel=1)", "no parameters"),
    ],
)
def test_an_unknown_parameter_is_answered_with_the_known_ones(text: str, takes: str) -> None:
    refused = refusal(text)
    assert "has no parameter" in refused.what
    assert takes in refused.fix


@pytest.mark.parametrize(
    ("text", "takes"),
    [
        ("AP(rel=0)", "a number above 0"),
        ("AP(rel=-1)", "a number above 0"),
        ("AP(rel=-0.5)", "a number above 0"),
        ("AP(rel=nan)", "a number above 0"),
        ("AP(rel=inf)", "a number above 0"),
        ("AP(rel=1_0)", "a number above 0"),
        ("AP(rel=1e10)", "a number above 0"),
        ("AP(rel=)", "a number above 0"),
        ("AP(rel=²)", "a number above 0"),
        ("AP(norm=k)", "one of R, min"),
        ("RBP(p=1)", "a number from 0 to 0.999999"),
        ("RBP(p=-0.1)", "a number from 0 to 0.999999"),
        ("RBP(p=nan)", "a number from 0 to 0.999999"),
        ("RBP(p=high)", "a number from 0 to 0.999999"),
        ("alpha_nDCG(alpha=1.1)", "a number from 0 to 1"),
        ("nDCG(log=1)", "a number from"),
        ("nDCG(gains=cubic)", "linear, exp, or a table"),
        ("nDCG(gains=1:-1)", "linear, exp, or a table"),
        ("nDCG(gains=0:1)", "linear, exp, or a table"),
        ("nDCG(gains=1:x)", "linear, exp, or a table"),
        ("nDCG(gains=1:2:3)", "linear, exp, or a table"),
        ("nDCG(gains=1:nan)", "linear, exp, or a table"),
        ("nDCG(gains=1:inf)", "linear, exp, or a table"),
        ("nDCG(gains=0.5:1,-1:2)", "linear, exp, or a table"),
        ("nDCG(gains=1e10:1)", "linear, exp, or a table"),
        ("ERR(max=0)", "a number above 0"),
        ("Q(beta=-1)", "a number from 0"),
    ],
)
def test_a_bad_parameter_is_answered_with_what_it_takes(text: str, takes: str) -> None:
    refused = refusal(text)
    assert "cannot be" in refused.what
    assert takes in refused.fix


def test_graded_gains_and_a_threshold_exclude_each_other() -> None:
    assert "rel is for binary gains" in refusal("RBP(gains=linear,rel=2)").what


@settings(max_examples=examples_of(400), deadline=None)
@given(st.text(st.sampled_from("APRBnDCGQ@()=,:.+-#_ 0123456789relpgainsmaxlog²١\n'"), max_size=24))
def test_any_text_is_a_measure_or_refused(text: str) -> None:
    try:
        measure = parse_measure(text)
    except RequestError:
        return
    assert parse_measure(str(measure)) == measure
