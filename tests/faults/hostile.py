"""Names that would do harm if a face let them: markup, formulas, LaTeX, paths."""

from __future__ import annotations

import numpy as np

from cranfield.questions.report import report
from cranfield.rendering.report_model import Report
from cranfield.rendering.report_sections import make_report
from cranfield.scores import ScoreTable

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(2)>'
FORMULA = "=cmd|' /C calc'!A0"
NAMES = (
    SCRIPT,
    IMAGE,
    FORMULA,
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "../../etc/passwd",
    r"\input{/etc/passwd}",
    "</script><b>",
    "{{ 7 * 7 }}",
    "[@Sakai2014]",
    "`rm -rf`",
    "a\tb",
    "]]>",
    "javascript:alert(3)",
)
MEASURES = ("=HYPERLINK(1)", "<b>bold</b>/[x]*?:", "</textarea><script>alert(4)</script>")


def hostile_report(title: str = "") -> Report:
    """A report on systems, topics and measures all of which have such names."""
    values = np.clip(np.random.default_rng(1).normal(0.4, 0.2, (len(MEASURES), 8, len(NAMES), 1)), 0, 1)
    topics = tuple(f"{name}{at}" for at, name in enumerate(NAMES[:8]))
    table = ScoreTable(MEASURES, topics, NAMES, values)
    inputs = {"scores": [f"../{SCRIPT}.csv"], "title": FORMULA}
    return make_report(report({f"../{SCRIPT}.csv": table}, title=title).with_inputs(**inputs))
