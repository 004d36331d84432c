"""Formulas of a workbook that search for n, and their values.

Sakai's spreadsheets list the power for many n, and the reader looks for the first that is enough. Here the formulas
search for n: in every step a power of two is added to a number known to be too small, and the sum is kept if it is
still too small. After eighteen steps the next number is n. Only functions that every spreadsheet has are used, so
that Excel, LibreOffice and others can recompute it. No spreadsheet has the non-central F distribution, but all have
the beta and Poisson distributions of which it is a mixture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.methods.design.interval_width import expected_sd
from cranfield.stats.tails import f_critical, noncentral_f_tail, t_critical

STEPS = 18
MOST = 2**STEPS
Cells = Mapping[str, str]
Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Search:
    """A search of the workbook.

    ``inputs`` are the columns of a design, each with a name and a title. ``columns`` are those of its search: a name, a
    title, and a formula in which {names} stand for cells. ``values`` computes the same columns; ``reached`` is the
    formula that tests whether the last column is enough, ``enough`` does the same for numbers.
    """

    name: str
    title: str
    estimate: str  # of the variance that the designs begin with
    inputs: Sequence[tuple[str, str]]
    columns: Sequence[tuple[str, str, str]]
    reached: str
    values: Callable[[float, Numbers], dict[str, float]]
    enough: Callable[[float, Numbers], bool]

    @property
    def value(self) -> str:
        """The name of the column that decides."""
        return self.columns[-1][0]


def _anova_values(topics: float, design: Numbers) -> dict[str, float]:
    """Sakai (2014), §3.1, step by step; the power is 0 where the approximation is undefined (very small n)."""
    above, below = design["systems"] - 1, design["systems"] * (topics - 1)
    noncentrality = topics * design["min_range"] ** 2 / (2 * design["variance"])
    w = float(f_critical(design["alpha"], above, below))
    c = (above + 2 * noncentrality) / (above + noncentrality)
    phi = (above + noncentrality) ** 2 / (above + 2 * noncentrality)
    power = 0.0
    if c / above > w / below:
        z = np.sqrt(c / above) * np.sqrt(2 * phi - 1) - np.sqrt(w / below) * np.sqrt(2 * below - 1)
        power = _normal(float(z / np.sqrt(c / above - w / below)))
    return {"below": below, "noncentrality": noncentrality, "w": w, "c": c, "phi": phi, "achieved": power}


def _normal(z: float) -> float:
    from scipy import special

    return float(special.ndtr(z))


TERMS = 500
"""Number of terms of the Poisson mixture; enough for two thousand systems."""


def _mixture(above: str, below: str) -> str:
    """Return the formula of P(F' ≥ w), where x = above·w/(above·w + below)."""
    k = f"(ROW(About!$1:${TERMS})-1)"  # another sheet's rows, so that nothing refers to itself
    return f"1-SUMPRODUCT(POISSON({k},{{noncentrality}}/2,FALSE)*BETADIST({{x}},({above})/2+{k},({below})/2))"


def _tail_values(above: float, below: float, noncentrality: float, level: float) -> dict[str, float]:
    w = float(f_critical(level, above, below))
    power = float(noncentral_f_tail(w, above, below, noncentrality))
    return {"noncentrality": noncentrality, "w": w, "x": above * w / (above * w + below), "achieved": power}


def _range_values(topics: float, design: Numbers) -> dict[str, float]:
    above = design["systems"] - 1
    below = above * (topics - 1)
    noncentrality = topics * design["min_range"] ** 2 / (2 * design["variance"])
    return {"below": below, **_tail_values(above, below, noncentrality, design["alpha"])}


RANGE = Search(
    "range",
    "Topics to detect a range of m systems that share topics (two-way ANOVA, exact)",
    "residual",
    (
        ("systems", "systems m"),
        ("min_range", "smallest range minD"),
        ("variance", "residual variance σ²"),
        ("alpha", "α"),
        ("power", "power 1−β"),
    ),
    (
        ("below", "φE = (m−1)(n−1)", "({systems}-1)*({topics}-1)"),
        ("noncentrality", "λ = n·minD²/(2σ²)", "{topics}*{min_range}^2/(2*{variance})"),
        ("w", "w = F(α; m−1, φE)", "FINV({alpha},{systems}-1,{below})"),
        ("x", "x", "({systems}-1)*{w}/(({systems}-1)*{w}+{below})"),
        ("achieved", "power", _mixture("{systems}-1", "{below}")),
    ),
    "{achieved}>={power}",
    _range_values,
    lambda value, design: value >= design["power"],
)


def _pair_values(topics: float, design: Numbers) -> dict[str, float]:
    noncentrality = topics * design["difference"] ** 2 / (2 * design["variance"])
    return _tail_values(1.0, topics - 1, noncentrality, design["level"])


PAIR = Search(
    "pair",
    "Topics to detect a difference between two systems that share topics (t with n−1 degrees of freedom, exact)",
    "residual",
    (
        ("difference", "smallest difference δ"),
        ("variance", "residual variance σ² = sd²/2"),
        ("level", "level of one pair"),
        ("power", "power 1−β"),
    ),
    (
        ("noncentrality", "λ = n·δ²/(2σ²)", "{topics}*{difference}^2/(2*{variance})"),
        ("w", "w = t²(level; n−1)", "FINV({level},1,{topics}-1)"),
        ("x", "x", "{w}/({w}+{topics}-1)"),
        ("achieved", "power", _mixture("1", "{topics}-1")),
    ),
    "{achieved}>={power}",
    _pair_values,
    lambda value, design: value >= design["power"],
)


ANOVA = Search(
    "Sakai",
    "Topics to detect a range of m systems that share no topics, as Sakai's spreadsheet for one-way ANOVA computes "
    "them (Sakai 2014, §3.1)",
    "two-way",
    (
        ("systems", "systems m"),
        ("min_range", "smallest range minD"),
        ("variance", "variance σ²"),
        ("alpha", "α"),
        ("power", "power 1−β"),
    ),
    (
        ("below", "φE = m(n−1)", "{systems}*({topics}-1)"),
        ("noncentrality", "λ = n·minD²/(2σ²)", "{topics}*{min_range}^2/(2*{variance})"),
        ("w", "w = F(α; m−1, φE)", "FINV({alpha},{systems}-1,{below})"),
        ("c", "c", "({systems}-1+2*{noncentrality})/({systems}-1+{noncentrality})"),
        ("phi", "φ*", "({systems}-1+{noncentrality})^2/({systems}-1+2*{noncentrality})"),
        (
            "achieved",
            "power",
            "IF({c}/({systems}-1)>{w}/{below},NORMSDIST((SQRT({c}/({systems}-1))*SQRT(2*{phi}-1)"
            "-SQRT({w}/{below})*SQRT(2*{below}-1))/SQRT({c}/({systems}-1)-{w}/{below})),0)",
        ),
    ),
    "{achieved}>={power}",
    _anova_values,
    lambda value, design: value >= design["power"],
)


def _width_values(topics: float, design: Numbers) -> dict[str, float]:
    """Sakai (2014), §3.2, with σ_t² = 2σ², where σ² is the residual variance."""
    t = float(t_critical(design["alpha"] / 2, topics - 1))
    sd = float(expected_sd(np.asarray(topics), np.asarray(np.sqrt(2 * design["variance"]))))
    return {"t": t, "expected_sd": sd, "achieved": 2 * t * sd / float(np.sqrt(topics))}


INTERVAL = Search(
    "interval",
    "Topics for an interval around a difference of two systems that share topics, of an expected width of at most δ "
    "(Sakai 2014, §3.2)",
    "residual",
    (("width", "widest interval δ"), ("variance", "residual variance σ² = sd²/2"), ("alpha", "α")),
    (
        ("t", "t(α/2; n−1)", "TINV({alpha},{topics}-1)"),
        (
            "expected_sd",
            "E[s]",
            # In logarithms: gamma functions themselves overflow where n is above 343.
            "SQRT(2*{variance})*EXP(GAMMALN({topics}/2)-GAMMALN(({topics}-1)/2))/SQRT(({topics}-1)/2)",
        ),
        ("achieved", "expected width", "2*{t}*{expected_sd}/SQRT({topics})"),
    ),
    "{achieved}<={width}",
    _width_values,
    lambda value, design: value <= design["width"],
)


def search_steps(search: Search, design: Numbers) -> list[tuple[int, int]]:
    """Return, for every step, the number tried and the number known to be too small; n is one more than the last."""
    known, steps = 1, []
    for step in range(STEPS):
        tried = known + 2 ** (STEPS - 1 - step)
        if not search.enough(search.values(tried, design)[search.value], design):
            known = tried
        steps.append((tried, known))
    return steps
