"""Which systems differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.errors import RequestError
from cranfield.methods.names import ESTIMATOR_TITLES, EstimatorName, TestName
from cranfield.questions import shared_parameters as shared
from cranfield.questions import sources
from cranfield.questions.parameters import Names, Param, question
from cranfield.results import Result, rendering
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from cranfield.methods.comparison import Audit, Comparison


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ComparisonResult(Result):
    """One comparison per measure; with ``audit=True`` also every test on the same data.

    Attributes
    ----------
    comparisons
        By measure: ranking, intervals, and every pair with its difference and adjusted p.
    audits
        By measure: every test on the same data, and the pairs whose verdict depends on the test.
    by_labels
        With a judge, by measure and estimator: what human labels alone and the judge's alone would say.
    """

    comparisons: Mapping[str, Comparison]
    audits: Mapping[str, Audit] = field(default_factory=dict)
    by_labels: Mapping[str, Mapping[str, Comparison]] = field(default_factory=dict)

    def write_pairs(self, path: str) -> None:
        """Write all pairs, one row per pair, to a file that ends in .csv or .tsv, also with .gz.

        Rows are written as they are computed, and the file appears when it is complete.
        """
        rendering("comparison_document").write_pairs(self, path)


@question(
    "Which systems differ",
    examples=("cranfield compare scores.csv -m AP --plot intervals.svg",),
    charts=("intervals", "matrix", "critical-difference"),
    working="resampling",
    is_parallel=True,
)
def compare(
    scores: sources.Scores,
    *,
    qrels: sources.Qrels = None,
    columns: sources.Columns = None,
    measure: shared.Measures = None,
    test: Annotated[
        TestName | None,
        Param(
            "Test that compares the systems.",
            default="max-t; dunnett with a baseline; t for two systems, with a judge, and for topics with clusters, "
            "strata or weights",
            metavar="NAME",
            titles=shared.TEST_CHOICES,
        ),
    ] = None,
    correct: shared.Correct = None,
    alpha: Annotated[
        float,
        Param(
            "Significance level; the family-wise error rate, unless `correct` is bh or none.",
            label="α",
            ge=shared.LEAST_ALPHA,
            lt=1,
        ),
    ] = 0.05,
    baseline: Annotated[
        Names, Param("Compare the other systems with this one only; may be repeated.", metavar="SYSTEM")
    ] = None,
    equivalence: Annotated[
        float | None,
        Param(
            "Also show which pairs differ by less than this margin (two one-sided tests, TOST).",
            label="Equivalent within",
            gt=0,
            metavar="M",
        ),
    ] = None,
    non_inferiority: Annotated[
        float | None,
        Param(
            "Also show which systems are not worse than the baseline by this margin or more.",
            label="Non-inferior within",
            gt=0,
            metavar="M",
        ),
    ] = None,
    lower_is_better: shared.LowerIsBetter = False,
    audit: Annotated[
        bool, Param("Run all tests on the same data: which verdicts change, and why.", label="all tests side by side")
    ] = False,
    all_pairs: Annotated[
        bool,
        Param(
            "List all pairs, even if there are many; CSV then has the pairs in place of the ranking.",
            label="list all pairs",
        ),
    ] = False,
    judge: sources.Judge = None,
    estimator: Annotated[
        EstimatorName | None,
        Param(
            "With a judge: how human labels on some topics and the judge's on all become one result.",
            default="regression",
            titles={"": "regression", **ESTIMATOR_TITLES},
        ),
    ] = None,
    sampled: Annotated[
        bool,
        Param(
            "With a judge: the topics with human labels were drawn at random from the judged ones.",
            label="topics with human labels drawn at random",
        ),
    ] = False,
    resamples: shared.Resamples = None,
    missing: shared.Missing = None,
    seed: shared.Seed = 1,
) -> ComparisonResult:
    """Which systems differ: ranking with intervals and groups, and every pair with its difference and adjusted p.

    Where ``columns`` names clusters, strata or weights of topics, pairs are tested by t with robust standard errors.

    Returns
    -------
    ComparisonResult
        One comparison per measure.

    References
    ----------
    .. [1] J. P. Romano and M. Wolf, "Exact and approximate stepdown methods for multiple hypothesis testing", Journal
       of the American Statistical Association, 2005.
    .. [2] C. W. Dunnett, "New tables for multiple comparisons with a control", Biometrics, 1964.
    .. [3] J. E. Pustejovsky and E. Tipton, "Small-sample methods for cluster-robust variance estimation and hypothesis
       testing in fixed effects models", Journal of Business & Economic Statistics, 2018.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = {"a": {"1": 0.5, "2": 0.7, "3": 0.6, "4": 0.4}, "b": {"1": 0.4, "2": 0.65, "3": 0.45, "4": 0.35}}
    >>> cf.compare(scores).comparisons["score"].difference.round(4)
    array([0.0875])
    """
    if judge is not None:
        more: dict[str, Any] = {"audit": audit or None, "lower_is_better": lower_is_better or None}
        _check_judged(**more, equivalence=equivalence, non_inferiority=non_inferiority)
        labels = sources.load_label_sets(scores, judge, qrels=qrels, columns=columns, measure=measure, missing=missing)
        settings = {"test": test, "correct": correct, "alpha": alpha, "baseline": baseline or ()}
        return _judged(
            labels, estimator=estimator or "regression", sampled=sampled, seed=seed, resamples=resamples, **settings
        )
    _check_not_judged(estimator=estimator, sampled=sampled or None)
    source: dict[str, Any] = {"qrels": qrels, "columns": columns, "measure": measure, "missing": missing}
    tables = sources.load_tables(scores, **source, uses_roles=True)
    if audit:
        margins = {"equivalence": equivalence, "non_inferiority": non_inferiority}
        _check_audit(tables, test=test, lower_is_better=lower_is_better or None, **margins)
        return _audited(tables, correct=correct, alpha=alpha, baseline=baseline, resamples=resamples, seed=seed)
    from cranfield.methods.comparison.comparison import compare as run

    found = {
        label: run(
            table,
            measure=name,
            test=test,
            correct=correct,
            alpha=alpha,
            baseline=baseline or (),
            equivalence=equivalence,
            non_inferiority=non_inferiority,
            lower_is_better=lower_is_better,
            resamples=resamples,
            seed=seed,
            label=label,
            progress=listener(),
        )
        for label, (table, name) in tables.measures.items()
    }
    return ComparisonResult(comparisons=found, warnings=tables.warnings)


def _check_judged(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise RequestError(f"`{name}` cannot be combined with `judge`", fix=f"Leave out `{name}`.")


def _check_not_judged(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise RequestError(f"`{name}` has no effect without `judge`", fix="Give the labels of a judge.")


def _judged(labels: sources.LabelSets, **settings: Any) -> ComparisonResult:
    from cranfield.methods.judging.assessment import compare_labels

    found = {
        measure: compare_labels(labels.required_human, labels.judges, measure=measure, progress=listener(), **settings)
        for measure in labels.measures
    }
    return ComparisonResult(
        comparisons={measure: each[settings["estimator"]] for measure, each in found.items()},
        by_labels=found,
        warnings=labels.warnings,
    )


def _check_audit(tables: sources.Tables, **given: Any) -> None:
    if any(table.has_roles for table in tables.by_name.values()):
        raise RequestError(
            "an audit runs tests of independent topics, and these have clusters, strata or weights",
            fix="Leave out `audit`, or cluster=, stratum= and weight=.",
        )
    for name, value in given.items():
        if value is not None:
            raise RequestError(f"an audit runs every test: `{name}` has no effect", fix=f"Leave out `{name}`.")


def _audited(
    tables: sources.Tables, *, baseline: Names, resamples: int | None, correct: str | None, **more: Any
) -> ComparisonResult:
    from cranfield.methods.comparison.audits import audit
    from cranfield.methods.comparison.comparison import RESAMPLES

    audits = {
        label: audit(
            table,
            measure=name,
            correct=correct or "holm",
            baseline=baseline or (),
            resamples=resamples or RESAMPLES,
            progress=listener(),
            **more,
        )
        for label, (table, name) in tables.measures.items()
    }
    comparisons = {label: found.comparisons[found.default] for label, found in audits.items()}
    return ComparisonResult(comparisons=comparisons, audits=audits, warnings=tables.warnings)
