"""BibTeX: every reference there is becomes an entry that says who, what, where and when."""

from __future__ import annotations

import re

import pytest

from cranfield.rendering.references import LOCATIONS, REFERENCES, bibtex_entry, bibtex_fields, to_bibtex


@pytest.mark.parametrize("key", REFERENCES)
def test_every_reference_has_its_fields(key: str) -> None:
    kind, fields = bibtex_fields(REFERENCES[key])
    place = {"article": "journal", "book": "publisher", "inproceedings": "booktitle", "incollection": "booktitle"}
    assert {"author", "title", "year", place[kind]} <= set(fields)
    assert all(fields.values())
    assert fields["year"] in REFERENCES[key]
    for author in fields["author"].split(" and "):
        assert author in REFERENCES[key]


def test_all_authors_of_a_reference_are_named() -> None:
    _, fields = bibtex_fields(REFERENCES["Clarke2008"])
    assert fields["author"].count(" and ") == 6
    assert fields["author"].startswith("Clarke, C. L. A. and Kolla, M. and ")


@pytest.mark.parametrize(
    ("key", "kind", "field", "value"),
    [
        ("Sakai2007", "article", "number", "SIG9"),
        ("Dincer2013", "article", "journal", "Turk. J. Elec. Eng. & Comp. Sci."),
        ("Carterette2012", "article", "volume", "30"),
        ("Student1908", "article", "author", "Student"),
        ("Rijsbergen1979", "book", "author", "van Rijsbergen, C. J."),
        ("EfronTibshirani1993", "book", "publisher", "Chapman & Hall"),
        ("Sakai2004", "inproceedings", "booktitle", "NTCIR-4"),
        ("BuckleyVoorhees2005", "incollection", "publisher", "MIT Press"),
    ],
)
def test_kinds_and_fields_are_told_apart(key: str, kind: str, field: str, value: str) -> None:
    found, fields = bibtex_fields(REFERENCES[key])
    assert found == kind
    assert fields[field] == value


@pytest.mark.parametrize("key", LOCATIONS)
def test_pages_and_dois_are_of_references_and_have_their_form(key: str) -> None:
    pages, doi = LOCATIONS[key]
    assert pages or doi
    assert re.fullmatch(r"(\d+(:\d+)?–\d+(:\d+)?)?", pages)
    assert re.fullmatch(r"(10\.\d{4,5}/[^\s_{}%]+)?", doi)
    entry = bibtex_entry(key, REFERENCES[key])
    assert (f"doi = {{{doi}}}" in entry) == bool(doi)
    assert (f"pages = {{{pages.replace('–', '--')}}}" in entry) == bool(pages)


def test_what_latex_would_act_on_is_escaped() -> None:
    assert r"Eng. \& Comp." in bibtex_entry("Dincer2013", REFERENCES["Dincer2013"])


def test_entries_have_balanced_braces_and_keys_of_their_own() -> None:
    text = to_bibtex(list(REFERENCES))
    assert text.count("{") == text.count("}")
    assert re.findall(r"^@\w+\{(\w+),$", text, re.M) == list(REFERENCES)
