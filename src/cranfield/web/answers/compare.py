"""cranfield compare"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from cranfield.errors import RequestError
from cranfield.methods.comparison.audits import audit
from cranfield.methods.comparison.comparison import RESAMPLES, compare
from cranfield.methods.names import TEST_LABELS, TEST_TITLES, CorrectionName, TestName
from cranfield.rendering import comparison_document
from cranfield.rendering.charts import difference_rows
from cranfield.rendering.document import Document
from cranfield.rendering.report_charts import matrix_figure
from cranfield.rendering.report_model import Picture
from cranfield.rendering.sketch import interval_sketch
from cranfield.scores.selection import named_measures
from cranfield.web.asking import Asked, Question
from cranfield.web.page import Answer
from cranfield.web.queries import (
    ALPHA,
    MEASURES,
    MISSED,
    SEED,
    Choices,
    Count,
    Flag,
    Given,
    Missing,
    Names,
    Number,
    Query,
    amount,
    field,
)


class CompareQuery(Query):
    """What ``cranfield compare`` takes."""

    choices: ClassVar[Choices] = {"test": {name: TEST_LABELS[name] for name in TEST_TITLES}}
    front = ("measure", "test", "correct", "alpha", "equivalence", "non_inferiority", "baseline", "audit")
    measure: Names = MEASURES
    test: Annotated[TestName | None, Given] = field(
        "Test", "How systems are compared: max-t unless given, Dunnett's with a baseline."
    )
    correct: Annotated[CorrectionName | None, Given] = field(
        "Correction of pairs", "For pairwise tests; holm unless given."
    )
    alpha: float = ALPHA
    baseline: Names = field("Baseline", "Compare the others with this system; may be repeated.", max_length=50)
    equivalence: Number = amount("Equivalent within", "Which pairs are shown to differ by less than this (TOST).")
    non_inferiority: Number = amount(
        "Non-inferior within", "Which systems are shown to be worse than the baseline by less than this, if at all."
    )
    audit: Flag = field("all tests side by side", "All tests on the same data: which verdicts change, and why.", False)
    all_pairs: Flag = field("list all pairs", "List the pairs however many there are; CSV has them alone.", False)
    matrix: Flag = field("draw the pair matrix", "Draw every pair as a cell in place of intervals.", False)
    resamples: Count = field("Resamples", "Permutations or resamples; 10,000 unless given.", ge=100, le=1_000_000)
    missing: Missing = MISSED
    seed: int = SEED


def answer(asked: Asked) -> Answer:
    query = asked.query
    wanted = named_measures(asked.tables(query.missing))
    tables = {id(table): table for table, _ in wanted.values()}
    warnings = [problem for table in tables.values() for problem in table.warnings]
    inputs = asked.inputs(
        measures=query.measure,
        **asked.chosen(
            "test", "correct", "alpha", "baseline", "equivalence", "non_inferiority", "resamples", "missing"
        ),
    )
    shared = {"alpha": query.alpha, "baseline": query.baseline or (), "seed": query.seed, "progress": asked.progress}
    if query.audit:
        _check_audit(query)
        audits = {
            label: audit(
                table, measure=name, correct=query.correct or "holm", resamples=query.resamples or RESAMPLES, **shared
            )
            for label, (table, name) in wanted.items()
        }
        return Answer(comparison_document.audit_document(audits, inputs, warnings), asked.command(matrix=None))
    results = [
        compare(
            table,
            measure=name,
            test=query.test,
            correct=query.correct,
            equivalence=query.equivalence,
            non_inferiority=query.non_inferiority,
            resamples=query.resamples,
            label=label,
            **shared,
        )
        for label, (table, name) in wanted.items()
    ]
    document = comparison_document.compare_document(
        results, inputs, warnings, most_pairs=None if query.all_pairs else 66
    )
    unpaired = {"test": None, "unpaired": True} if query.test == "unpaired" else {}
    first = comparison_document.compare_document(results[0], inputs)
    listed = "pairs" if query.all_pairs else ""
    return Answer(document, asked.command(matrix=None, **unpaired), listed=listed, **_drawn(first, query.matrix))


def _check_audit(query: CompareQuery) -> None:
    """As the command: an audit runs every test, and nothing else."""
    if query.test or query.equivalence is not None or query.non_inferiority is not None:
        raise RequestError(
            "an audit runs every test", fix="Leave out the test, the equivalence and the non-inferiority."
        )


def _drawn(document: Document, matrix: bool) -> dict[str, Any]:
    title, pairs = document.tables[0].title, document.extra["pairs"]
    if matrix:
        return {"pictures": (Picture(title, matrix_figure(document.rows, pairs)),)}
    measure = document.rows[0]["measure"]
    if document.extra["interval_of_means"] != "standard error":
        return {"sketch": interval_sketch(document.rows, title=f"mean {measure} and its interval")}
    shown = [{**row, "score": row["difference"]} for row in difference_rows(document.rows, pairs)]
    against = " or ".join(list(dict.fromkeys(row["against"] for row in shown))[:3])
    return {"sketch": interval_sketch(shown, title=f"difference in {measure} from {against}")}


QUESTION = Question(
    "compare", "Which systems differ", "The ranking with intervals and groups, and every pair", CompareQuery, answer
)
