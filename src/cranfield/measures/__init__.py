"""Measures: a catalogue of declarations, and the loops that compute them."""

from cranfield.measures.catalog import CATALOG, beside, parse_measure, parse_measures, with_companions
from cranfield.measures.declaration import Measure, MeasureKind, Parameter

__all__ = [
    "CATALOG",
    "Measure",
    "MeasureKind",
    "Parameter",
    "beside",
    "parse_measure",
    "parse_measures",
    "with_companions",
]
