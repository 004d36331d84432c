"""Results as people read them: the only place where numbers are rounded."""

from cranfield.report.document import Column, Document, Table
from cranfield.report.faces import to_csv, to_json, to_latex, to_markdown
from cranfield.report.terminal import print_document

__all__ = ["Column", "Document", "Table", "print_document", "to_csv", "to_json", "to_latex", "to_markdown"]
