"""References as BibTeX, generated from the list of references."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cranfield.rendering.references import REFERENCES

_AUTHOR = re.compile(r"[^,]+, (?:\w\.[ -]?)+")  # a family name, then initials
_JOURNAL = re.compile(r"(?P<journal>.+?) (?P<volume>\d+)(?:\((?P<number>[^)]+)\))?(?:, (?:pp\. )?(?P<pages>[\d–-]+))?")
_SPECIAL = {"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_"}


def to_bibtex(keys: Sequence[str]) -> str:
    """Return an entry for every key, for a ``.bib`` file in UTF-8."""
    return "\n\n".join(bibtex_entry(key, REFERENCES[key]) for key in keys)


def bibtex_entry(key: str, reference: str) -> str:
    """Return one entry.

    >>> print(bibtex_entry("Sakai2014", REFERENCES["Sakai2014"]))
    @inproceedings{Sakai2014,
      author = {Sakai, T.},
      title = {{Topic Set Size Design with Variance Estimates from Two-Way ANOVA}},
      booktitle = {EVIA},
      year = {2014}
    }
    """
    kind, fields = bibtex_fields(reference)
    lines = [f"  {name} = {{{_escape(value)}}}" for name, value in fields.items()]
    return f"@{kind}{{{key},\n" + ",\n".join(lines) + "\n}"


def bibtex_fields(reference: str) -> tuple[str, dict[str, str]]:
    """Return the type of an entry and its fields, from «Authors: Title. Where, year.»."""
    authors, _, rest = reference.partition(": ")
    title, _, place = rest.partition("? " if "? " in rest.split(". ")[0] else ". ")
    title += "?" * rest.startswith(f"{title}?")
    year = re.findall(r"\b(?:19|20)\d\d\b", place)[-1]
    where = place[: place.rindex(year)].rstrip(" ,")
    kind, fields = _where(where)
    # Two braces preserve the capitals of a title.
    return kind, {"author": _authors(authors), "title": f"{{{title}}}", **fields, "year": year}


def _authors(text: str) -> str:
    people = _AUTHOR.findall(text.replace(" and ", ", "))
    return " and ".join(person.strip(" ,") for person in people) or text


def _where(text: str) -> tuple[str, dict[str, str]]:
    """Find the type: a chapter has «In:», a journal a volume, a publisher no digits; all else are proceedings."""
    if text.startswith("In: "):
        book, _, publisher = text[4:].rpartition(", ")
        return "incollection", {"booktitle": book, "publisher": publisher}
    journal = _JOURNAL.fullmatch(text)
    if journal is not None:
        return "article", {name: value for name, value in journal.groupdict().items() if value}
    if re.search(r"\d", text) or text.isupper():
        return "inproceedings", {"booktitle": text}
    return "book", {"publisher": text}


def _escape(text: str) -> str:
    return "".join(_SPECIAL.get(mark, mark) for mark in text)
