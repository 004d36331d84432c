"""Which systems differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from cranfield.errors import RequestError
from cranfield.questions import groups, sources
from cranfield.questions import shared_parameters as shared
from cranfield.questions.parameters import Names, Param, question
from cranfield.results import Result, rendering
from cranfield.runtime.threads import listener

if TYPE_CHECKING:
    from cranfield.methods.contrasts import Audit, Comparison
    from cranfield.methods.contrasts.gates import GateVerdict, MarginGate
    from cranfield.scores.frames import ResultColumns


NO_GATE = {
    "judge": "a gate is about scores under human labels, and the judge's labels alone say nothing about them",
    "ppi": "with few human labels PPI++ passes a gate at its margin more often than α says",
}
"""Estimators that decide no gate, and why."""
OWN_TOPICS = ("unpaired", "tukey-kramer")
"""Tests of systems that had topics of their own, where a missing score is none."""


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
    gates
        With ``gate``: whether each candidate passes it, by measure and gate.
    """

    comparisons: Mapping[str, Comparison]
    audits: Mapping[str, Audit] = field(default_factory=dict)
    by_labels: Mapping[str, Mapping[str, Comparison]] = field(default_factory=dict)
    gates: tuple[GateVerdict, ...] = ()

    @property
    def pairs(self) -> ResultColumns:
        """Every pair that is listed: difference, interval, p before and after the correction, d_z with its interval."""
        return self._joined(lambda found: found.columns_of(found.listed))

    @property
    def ranking(self) -> ResultColumns:
        """Every system by its mean, with its interval, possible ranks, and letters."""
        return self._joined(lambda found: found.ranking())

    def _joined(self, columns: Callable[[Comparison], Mapping[str, Sequence[Any]]]) -> ResultColumns:
        from cranfield.scores.frames import ResultColumns

        parts = {measure: columns(found) for measure, found in self.comparisons.items()}
        return ResultColumns.joined(
            {"measure": [measure] * len(next(iter(each.values()))), **each} for measure, each in parts.items()
        )

    @property
    def exit_code(self) -> int:
        """1 where a candidate does not pass a gate."""
        return 0 if all(each.passed for each in self.gates) else 1

    def write_pairs(self, path: str) -> None:
        """Write all pairs, one row per pair, to a file that ends in .csv or .tsv, also with .gz.

        Rows are written as they are computed, and the file appears when it is complete.
        """
        rendering("comparison_document").write_pairs(self, path)


@question(
    "Which systems differ",
    examples=(
        "cranfield compare scores.csv -m AP --plot intervals.svg",
        "cranfield compare scores.csv -m AP --baseline bm25 --gate no-worse=0.02",
        "cranfield compare runs/ -q qrels.txt --best-per team --teams teams.tsv",
    ),
    charts=("intervals", "matrix", "critical-difference", "topics"),
    working="resampling",
    is_parallel=True,
)
def compare(
    scores: sources.Scores,
    *,
    qrels: sources.Qrels = None,
    measure: shared.Measures = None,
    best_per: sources.BestPer = None,
    test: shared.ComparisonTest = None,
    correct: shared.Correct = None,
    alpha: shared.Alpha = 0.05,
    baseline: Annotated[
        Names, Param("Compare the other systems with this one only; may be repeated.", metavar="SYSTEM")
    ] = None,
    one_sided: Annotated[
        bool,
        Param(
            "With `baseline`: test only whether the other systems are better than it (one-sided).",
            label="one-sided test",
            requires=("baseline",),
            excludes=("judge", "audit"),
        ),
    ] = False,
    equivalence: Annotated[
        float | None,
        Param(
            "Also show which pairs differ by less than this margin (two one-sided tests, TOST).",
            label="Equivalent within",
            gt=0,
            le=1e12,
            metavar="M",
            excludes=("judge", "audit"),
        ),
    ] = None,
    non_inferiority: Annotated[
        float | None,
        Param(
            "Also show which systems are not worse than the baseline by this margin of non-inferiority or more.",
            label="Non-inferior within",
            gt=0,
            le=1e12,
            metavar="M",
            requires=("baseline",),
            excludes=("judge", "audit"),
        ),
    ] = None,
    gate: Annotated[
        Names,
        Param(
            "Whether the candidate is shown to be not worse than the baseline by this margin or more (no-worse=0.02, "
            "or no-worse=2% of the baseline's mean), or to be better (better); may be repeated. Exit code 1 otherwise.",
            metavar="no-worse=M|better",
            excludes=("audit",),
        ),
    ] = None,
    candidate: Annotated[
        Names,
        Param(
            "With `gate`: the system that has to pass; may be repeated.",
            default="all but the baseline, corrected for their number",
            metavar="SYSTEM",
            requires=("gate",),
        ),
    ] = None,
    repeats: Annotated[
        Names,
        Param(
            "With `gate`: two or more systems that are repeats of one, such as runs with other seeds; may be repeated. "
            "Predicts how often the verdict would change if candidate and baseline were run again.",
            metavar="SYSTEM",
            requires=("gate",),
            excludes=("judge",),
            advanced=True,
        ),
    ] = None,
    lower_is_better: shared.LowerIsBetter = False,
    audit: Annotated[
        bool,
        Param(
            "Run all tests on the same data: which verdicts change, and why.",
            label="all tests side by side",
            excludes=("judge",),
        ),
    ] = False,
    all_pairs: Annotated[
        bool,
        Param(
            "List all pairs, even if there are many; CSV then has the pairs in place of the ranking.",
            label="list all pairs",
        ),
    ] = False,
    judge: Annotated[groups.JudgeLike, groups.Fields(groups.Judge, "labels", "estimator", "sampled")] = None,
    source: Annotated[
        groups.SourceLike,
        groups.Fields(
            groups.Source,
            "teams",
            "columns",
            "missing",
            teams=groups.changed(groups.Source, "teams", requires=("best_per=team",)),
        ),
    ] = None,
    resampling: groups.Resampled = None,
) -> ComparisonResult:
    """Which systems differ: ranking, systems that may be the best, and every pair with its difference and adjusted p.

    Where ``columns`` names clusters, strata or weights of topics, pairs are tested by t with robust standard errors. A
    gate is decided by the end of a one-sided confidence interval of the mean difference.

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
    >>> print(cf.compare(scores, baseline="b", gate="no-worse=0.02").gates[0].verdict)
    no-worse=0.02 passed: a − b is at least 0.0312 (95 % one-sided, t, 4 topics)
    """
    demands = _demands(gate, baseline=baseline, test=test, repeats=repeats)
    model, read, drawn = groups.Judge.of(judge), groups.Source.of(source), groups.Resampling.of(resampling)
    resamples, seed, estimator = drawn.resamples, drawn.seed, model.estimator
    if model.labels is not None:
        if demands and estimator in NO_GATE:
            raise RequestError(NO_GATE[estimator], fix="Leave out `estimator`, or leave out the gate.")
        labels = sources.load_label_sets(scores, model.labels, qrels=qrels, measure=measure, **read.of_tables)
        settings: dict[str, Any] = {"test": test, "correct": correct, "alpha": alpha, "baseline": baseline or ()}
        settings |= {"estimator": estimator or "regression", "sampled": model.sampled, "resamples": resamples}
        return _judged(labels, demands, candidate, seed=seed, **settings)
    policy = read.missing or ("nan" if test in OWN_TOPICS else None)
    told: dict[str, Any] = {"qrels": qrels, "columns": read.columns, "measure": measure, "missing": policy}
    named = [*(baseline or ()), *(candidate or ()), *(repeats or ())]
    from cranfield.scores.selection import check_systems

    chosen = sources.best_per_team(best_per, read.teams, lower_is_better=lower_is_better, always=named)
    tables = sources.load_tables(scores, **told, uses_roles=True, choose=chosen)
    if policy == "nan":  # as it should be where systems had topics of their own
        tables = replace(tables, warnings=tuple(each for each in tables.warnings if each.slug != "cell-missing"))
    check_systems(tables.by_name, named)
    tables.check_goals(equivalence=equivalence, non_inferiority=non_inferiority)
    if audit:
        _check_audit(tables)
        return _audited(tables, correct=correct, alpha=alpha, baseline=baseline, resamples=resamples, seed=seed)
    from cranfield.methods.contrasts.comparing import compare as run

    found = {
        label: run(
            table,
            measure=name,
            test=test,
            correct=correct,
            alpha=alpha,
            baseline=baseline or (),
            one_sided=one_sided,
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
    result = ComparisonResult(comparisons=found, warnings=tables.warnings)
    named_gates: dict[str, Any] = {"candidates": candidate or (), "repeats": repeats or (), "correct": correct}
    return _gated(result, tables, demands, seed=seed, **named_gates) if demands else result


def _demands(gate: Names, *, baseline: Names, test: str | None, repeats: Names) -> list[MarginGate]:
    """The gates as they were understood, before any data is read."""
    if not gate:
        return []
    from cranfield.methods.contrasts.gates import check_gated_test, check_repeats, parse_margin_gate

    if not baseline:
        raise RequestError(
            "a gate compares a candidate with a baseline, and none is named", fix="Name it with `baseline`."
        )
    check_gated_test(test)
    if repeats:
        check_repeats(repeats)
        if test not in (None, "t"):
            raise RequestError("`repeats` predicts verdicts of Student's t", fix="Leave out `test`.")
    return list(dict.fromkeys(parse_margin_gate(each) for each in gate))


def _gated(
    result: ComparisonResult, tables: sources.Tables, demands: list[MarginGate], **asked: Any
) -> ComparisonResult:
    from cranfield.methods.contrasts.gates import find_gates

    gates: list[GateVerdict] = []
    cautions: list[Any] = []
    for label, (table, name) in tables.measures.items():
        found = result.comparisons[label]
        verdicts, odd = find_gates(table, demands, found, measure=name, **asked)
        pairs = len(verdicts) // len(demands)
        means = dict(zip(found.systems, found.means.tolist(), strict=True))
        gates += [_with_required_topics(each, means, pairs) for each in verdicts]
        cautions += odd
    return replace(result, gates=tuple(gates), warnings=(*result.warnings, *dict.fromkeys(cautions)))


def _with_required_topics(verdict: GateVerdict, means: Mapping[str, float], pairs: int) -> GateVerdict:
    """With the topics that a candidate as good as the baseline needs, where a failed gate had fewer.

    Of ``pairs`` under max-t each is planned for at α over their number, which is nearly what it has.
    """
    from cranfield.methods.contrasts.gates import POWER
    from cranfield.methods.design import Design, Goal, Sd, size

    if verdict.passed or not verdict.margin or verdict.unvarying:
        return verdict
    margin = verdict.margin * (means[verdict.baseline] if verdict.is_relative else 1.0)
    if not verdict.may_be(margin if verdict.is_relative else 0.0):
        return verdict  # it is shown to be worse, and no number of topics helps
    alpha = (1 - verdict.confidence) / (pairs if verdict.test == "max-t" else 1)
    design = Design(alpha=alpha, spread=Sd(sd=verdict.standard_error * verdict.topics**0.5))
    needed = size(design, Goal("non_inferiority", margin, POWER))
    required = int(needed.topics) if needed.reached else None
    return replace(verdict, required_topics=required) if required and required > verdict.topics else verdict


def _judged(
    labels: sources.LabelSets, demands: list[MarginGate], candidate: Names, **settings: Any
) -> ComparisonResult:
    from cranfield.methods.judging.judged_comparison import compare_labels, gate_labels
    from cranfield.methods.judging.label_sets import match_labels

    matched = match_labels(labels.required_human, labels.judges)
    found = {
        measure: compare_labels(matched, measure=measure, progress=listener(), **settings)
        for measure in matched.measures
    }
    result = ComparisonResult(
        comparisons={measure: each[settings["estimator"]] for measure, each in found.items()},
        by_labels=found,
        warnings=labels.warnings,
    )
    if not demands:
        return result
    asked: dict[str, Any] = {"candidates": candidate or (), "correct": settings["correct"], "seed": settings["seed"]}
    decided = [gate_labels(matched, demands, each, **asked) for each in result.comparisons.values()]
    cautions = dict.fromkeys(caution for _, odd in decided for caution in odd)
    gates = tuple(verdict for verdicts, _ in decided for verdict in verdicts)
    return replace(result, gates=gates, warnings=(*result.warnings, *cautions))


def _check_audit(tables: sources.Tables) -> None:
    if any(table.has_roles for table in tables.by_name.values()):
        raise RequestError(
            "an audit runs tests of independent topics, and these have clusters, strata or weights",
            fix="Leave out `audit`, or cluster=, stratum= and weight=.",
        )


def _audited(
    tables: sources.Tables, *, baseline: Names, resamples: int | None, correct: str | None, **more: Any
) -> ComparisonResult:
    from cranfield.methods.contrasts.audits import audit
    from cranfield.methods.contrasts.decisions import RESAMPLES

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
