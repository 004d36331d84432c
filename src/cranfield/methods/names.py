"""The names of tests, corrections, estimates and plans, with their titles: what may be chosen, declared once.

The keys of every dictionary of titles are values of the type above it, in the same order. Only the standard
library is imported, so that a form or a command can list its choices without loading the methods.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

TestName = Literal[
    "t",
    "max-t",
    "tukey",
    "tukey-permutation",
    "dunnett",
    "wilcoxon",
    "sign",
    "bootstrap",
    "permutation",
    "unpaired",
    "tukey-kramer",
]
"""Tests of comparisons."""
TEST_TITLES: dict[str, str] = {
    "t": "paired t test",
    "max-t": "max-t test, a separate standard error for each pair",
    "tukey": "Tukey's HSD, topics as blocks",
    "tukey-permutation": "Tukey's HSD by permutation within topics",
    "dunnett": "Dunnett's test against a baseline, topics as blocks",
    "wilcoxon": "Wilcoxon's signed-rank test",
    "sign": "sign test",
    "bootstrap": "paired bootstrap test",
    "permutation": "Fisher's permutation test",
    "unpaired": "Welch's t test, systems on different topics",
    "tukey-kramer": "Tukey and Kramer's test, systems on different topics",
}
AllPairsTestName = Literal[
    "t",
    "max-t",
    "tukey",
    "tukey-permutation",
    "wilcoxon",
    "sign",
    "bootstrap",
    "permutation",
    "unpaired",
    "tukey-kramer",
]
"""Those of all pairs of systems: all but Dunnett's, which needs a baseline."""
FORMER_TEST_NAMES = {"randomised": "tukey-permutation", "randomisation": "permutation"}
HOLM_FIX = 'Use `test="t"` with `correct="holm"`.'
"""What to do about the name of a planned test that comparisons do not have."""

PlannedTestName = Literal["holm", "max-t", "tukey", "dunnett", "t"]
"""Tests that topics can be planned for; ``t`` is for a single pair named in advance."""
PLANNED_TEST_TITLES: dict[str, str] = {
    "holm": "paired t tests with Holm's correction",
    "max-t": TEST_TITLES["max-t"],
    "tukey": TEST_TITLES["tukey"],
    "dunnett": TEST_TITLES["dunnett"],
    "t": TEST_TITLES["t"],
}

TEST_LABELS: dict[str, str] = {
    "max-t": "max-t",
    "dunnett": "Dunnett's test",
    "tukey": "Tukey's HSD",
    "tukey-permutation": "Tukey by permutation",
    "holm": "t with Holm's correction",
    "t": "paired t test",
    "wilcoxon": "signed ranks",
    "sign": "sign test",
    "bootstrap": "paired bootstrap",
    "permutation": "permutation test",
    "unpaired": "Welch's t test",
    "tukey-kramer": "Tukey–Kramer",
}
"""Short titles of all these tests, for tables and forms."""

CorrectionName = Literal["holm", "hochberg", "bh", "by", "none"]
CORRECTION_TITLES: dict[str, str] = {
    "holm": "Holm",
    "hochberg": "Hochberg",
    "bh": "Benjamini–Hochberg",
    "by": "Benjamini–Yekutieli",
    "none": "none",
}


def with_correction(test: str, correct: str) -> str:
    """The title of a test with that of its correction.

    >>> with_correction("paired t test", "holm"), with_correction("paired t test", "none")
    ("paired t test with Holm's correction", 'paired t test')
    """
    return test if correct == "none" else f"{test} with {CORRECTION_TITLES[correct]}'s correction"


RankName = Literal["marginal", "simultaneous"]
"""Ranks by the tests of each system's own pairs, or of all pairs together."""

EstimateName = Literal["residual", "within", "one-way", "two-way", "percentile"]
"""Estimates of the variance of scores."""
ESTIMATE_TITLES: dict[str, str] = {
    "residual": "residual (systems share topics)",
    "within": "within systems",
    "one-way": "one-way ANOVA",
    "two-way": "two-way ANOVA",
    "percentile": "95th percentile of pairs (scores only)",
}

EstimatorName = Literal["regression", "ppi", "human", "judge"]
"""Estimators of differences from human labels and a judge's labels."""
ESTIMATOR_TITLES: dict[str, str] = {
    "regression": "regression on the judge's scores (two-phase sampling)",
    "ppi": "prediction-powered inference (PPI++)",
    "human": "human labels alone",
    "judge": "the judge's labels alone, which are biased",
}

MethodName = Literal[
    "blocked",
    "exact",
    "sakai",
    "max-t",
    "tukey",
    "holm",
    "dunnett",
    "t",
    "normal",
    "unpaired",
    "tost",
    "interval",
    "interval-probability",
    "clt",
]
"""Methods that a number of topics is computed by."""
METHOD_TITLES: dict[str, str] = {
    "blocked": "blocked: two-way ANOVA, systems share topics",
    "exact": "exact: one-way ANOVA, systems share no topics",
    "sakai": "sakai: as in the tables of Sakai (2014)",
    "t": "t: paired t test",
    "normal": "normal approximation",
    "tost": "tost: two one-sided tests",
    "clt": "clt: central limit theorem",
}
"""Of those whose name does not say it."""

ReplicatesName = Literal["variations", "prompts", "fixed-prompts", "seeds", "clusters"]
"""What several scores of a topic and a system are, in a design."""
REPLICATES_TITLES: dict[str, str] = {
    "variations": "variations: each topic has its own, all systems share them",
    "prompts": "prompts: all topics and systems share them, a sample of such prompts",
    "fixed-prompts": "fixed-prompts: all topics and systems share them, and no others matter",
    "seeds": "seeds: each system has its own, all topics share them",
    "clusters": "clusters: topics that come in clusters",
}

PlanName = Literal["fixed", "iterative", "hybrid", "group-sequential", "anytime"]
"""Plans of a study."""
PLAN_TITLES: dict[str, str] = {
    "fixed": "fixed number of topics",
    "iterative": "until the power is reached (Webber et al. 2008, Algorithm 1)",
    "hybrid": "first estimate, then until the power is reached (Webber et al. 2008, §5.5)",
    "group-sequential": "a few looks fixed in advance",
    "anytime": "a confidence sequence, valid after any topic",
}

SpendingName = Literal["obrien-fleming", "pocock"]
"""How a group-sequential plan spreads α over its looks."""
SPENDING_TITLES: dict[str, str] = {"obrien-fleming": "O'Brien and Fleming", "pocock": "Pocock"}

MarginsName = Literal["auto", "beta", "normal", "kernel", "empirical"]
"""Distributions of simulated scores of one system."""
MARGINS_TITLES: dict[str, str] = {
    "auto": "the best fit for each system",
    "beta": "beta",
    "normal": "normal",
    "kernel": "kernel density",
    "empirical": "observed scores only",
}

DependenceName = Literal["rows", "gaussian", "vine"]
"""How simulated scores of systems depend on each other."""
DEPENDENCE_TITLES: dict[str, str] = {
    "rows": "the pilot's topics with a little noise",
    "gaussian": "Gaussian copula",
    "vine": "vine copula",
}

RuleName = Literal["equal-power", "raw-difference"]
"""What designs at other pool depths have in common."""
RULE_TITLES: dict[str, str] = {
    "equal-power": "equal power for the same systems",
    "raw-difference": "equal raw difference (Sakai 2014)",
}

MissingName = Literal["zero", "drop"]
"""What becomes of a missing score."""
MISSING_TITLES: dict[str, str] = {"zero": "counts as 0", "drop": "drops its topic"}


def fix_for_test(name: str, known: Iterable[str]) -> str:
    """What to do about a test that does not exist: its new name where it was renamed, else the tests there are.

    >>> fix_for_test("holm", TEST_TITLES)
    'Use `test="t"` with `correct="holm"`.'

    >>> fix_for_test("randomised", TEST_TITLES)
    'It is called "tukey-permutation" now.'
    >>> fix_for_test("F", ("tukey", "t"))
    'Choose one of: tukey, t.'
    """
    choices = tuple(known)
    if name == "holm":
        return HOLM_FIX
    renamed = FORMER_TEST_NAMES.get(name)
    return f'It is called "{renamed}" now.' if renamed in choices else f"Choose one of: {', '.join(choices)}."
