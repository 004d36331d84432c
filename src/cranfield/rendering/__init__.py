"""Output of results in every format; the only place where numbers are rounded."""

from cranfield.rendering.document import Column, Document, Table
from cranfield.rendering.output_formats import to_csv, to_json, to_latex, to_markdown
from cranfield.rendering.terminal import print_document

__all__ = ["Column", "Document", "Table", "print_document", "to_csv", "to_json", "to_latex", "to_markdown"]
