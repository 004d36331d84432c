"""Gates: is a candidate shown to be better than a baseline, or not worse than it by a margin or more?

A gate is a one-sided test of one mean difference, decided by the end of its one-sided confidence interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cranfield.errors import Caution, RequestError, there_are, visible
from cranfield.methods.comparison.clusters import TopicDesign, design_of, robust_moments
from cranfield.methods.comparison.comparison import RESAMPLES, Comparison
from cranfield.methods.comparison.maxima import HAIR, LEAST_VARIANCE, resampled_critical
from cranfield.methods.comparison.pairwise import MarginTest, correction, covered, deciding_level, moments, shown_above
from cranfield.runtime.random import Seed, generator, sequence
from cranfield.scores import ScoreTable
from cranfield.scores.quality import range_of
from cranfield.scores.stored import ordered, whole
from cranfield.stats.family import FEW_TO_RESAMPLE
from cranfield.stats.tails import t_critical
from cranfield.types import Array

GATED_TESTS = ("t", "bootstrap", "max-t")
FEW_CHANGED = 10  # topics with a difference, below which a mean of n differences is far from normal
POWER = 0.8
_ROUNDING = 1e-12  # of the largest score: what varies by no more does not vary
_BLOCK = 4_000_000  # resamples × topics at a time
_KEPT = 5_000_000  # resampled statistics at a time
_SYNTAX = "Write no-worse=0.02 (in units of the measure), no-worse=2% (of the baseline's mean), or better."


@dataclass(frozen=True, kw_only=True)
class MarginGate:
    """What a candidate has to show: that it is better than the baseline, or not worse by ``margin`` or more.

    A relative margin is a share of the baseline's mean, which is itself an estimate: tested is then the contrast of the
    candidate with the baseline times 1 − margin (times 1 + margin where low scores are better).
    """

    text: str
    margin: float = 0.0
    is_relative: bool = False

    @property
    def is_better(self) -> bool:
        return self.margin == 0

    @property
    def shift(self) -> float:
        """How far below the (scaled) baseline a candidate may be, in units of the measure."""
        return 0.0 if self.is_relative else self.margin

    def factor(self, *, lower_is_better: bool) -> float:
        """What the baseline is multiplied by."""
        return 1.0 + (self.margin if lower_is_better else -self.margin) if self.is_relative else 1.0


def parse_margin_gate(text: str) -> MarginGate:
    """Parse ``better``, ``no-worse=0.02`` or ``no-worse=2%``.

    >>> parse_margin_gate("no-worse=2%").factor(lower_is_better=False)
    0.98
    """
    name, mark, value = (part.strip() for part in text.partition("="))
    if name == "better" and not mark:
        return MarginGate(text="better")
    is_relative = value.endswith("%")
    try:
        margin = float(value.removesuffix("%")) / (100 if is_relative else 1)
    except ValueError:
        margin = float("nan")
    if name != "no-worse" or not mark or margin != margin:
        raise RequestError(f"the gate «{text}» is not understood", fix=_SYNTAX)
    if not 0 < margin < (1 if is_relative else np.inf):
        raise RequestError(
            f"the margin of the gate «{text}» is out of range",
            fix="It is above 0" + (" and below 100 %." if is_relative else ", in units of the measure."),
        )
    return MarginGate(text=f"no-worse={value}", margin=margin, is_relative=is_relative)


@dataclass(frozen=True, kw_only=True)
class GateVerdict:
    """Whether one candidate passes one gate, and why.

    ``difference`` is the mean of the candidate minus ``factor`` times that of the baseline; ``lower`` (``upper`` where
    low scores are better) is the end of its one-sided interval with ``confidence``, which decides. ``required_topics``
    is the number of topics with which a candidate as good as the baseline passes with power 0.8, where a failed gate
    had fewer; ``unvarying`` says that the two systems have equal scores, or a constant difference, on every topic.
    """

    measure: str
    gate: str
    candidate: str
    baseline: str
    margin: float
    is_relative: bool
    factor: float
    difference: float
    lower: float
    upper: float
    standard_error: float
    p_value: float
    p_adjusted: float
    correct: str
    confidence: float
    test: str
    topics: int
    passed: bool
    lower_is_better: bool = False
    unvarying: str = ""
    required_topics: int | None = None

    @property
    def verdict(self) -> str:
        """The outcome and its reason in one line."""
        return visible(f"{self.gate} {'passed' if self.passed else 'FAILED'}: {self._reason}")

    @property
    def _reason(self) -> str:
        baseline = self.baseline if self.factor == 1 else f"{self.factor:g}·{self.baseline}"
        contrast = f"{self.candidate} − {baseline}"
        if self.unvarying == "equal":
            return f"{self.candidate} and {self.baseline} have the same score on each of {self.topics:,} topics"
        if self.unvarying:
            return (
                f"{contrast} is {self.difference:.4f} on each of {self.topics:,} topics, so that there is no "
                "standard error to measure it by"
            )
        end = self.upper if self.lower_is_better else self.lower
        if self.passed:
            known = "is at most" if self.lower_is_better else "is at least"
        else:
            known = "may be as high as" if self.lower_is_better else "may be as low as"
        conditions = f"{covered(max(1 - self.confidence, 1e-16))} one-sided, {self.test}, {self.topics:,} topics"
        return f"{contrast} {known} {end:.4f} ({conditions}){self._advice}"

    @property
    def _advice(self) -> str:
        if self.required_topics is None:
            return ""
        passes = f"passes with power {POWER:g} on about {self.required_topics:,} topics"
        return f"; a candidate as good as the baseline {passes}"

    def may_be(self, advantage: float) -> bool:
        """Whether the candidate may be ahead by this much: the other end of the interval does not exclude it."""
        end, sign = (self.upper, -1.0) if self.lower_is_better else (self.lower, 1.0)
        return bool(sign * self.difference + abs(self.difference - end) >= advantage)

    def to_dict(self) -> dict[str, Any]:
        """The row of JSON."""
        row = asdict(self)
        del row["unvarying"]
        row["relative"] = row.pop("is_relative")
        return {**row, "verdict": self.verdict}


def check_gated_test(test: str | None) -> None:
    """Refuse a test that bounds no mean difference from one side."""
    if test is not None and test not in GATED_TESTS:
        raise RequestError(
            f"a gate is a one-sided bound of a mean difference, and the test {test} has none",
            fix="Leave out `test`, or choose t, bootstrap or max-t.",
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Contrasts:
    """Candidates minus (scaled) baselines, the higher the better.

    ``values`` are topics × pairs; ``mean``, ``error`` and ``df`` belong to the pairs, error 0 where nothing varies.
    """

    values: Array
    mean: Array
    error: Array
    df: Array


def contrasts(candidates: Array, baselines: Array, *, factor: float = 1.0, design: TopicDesign | None) -> Contrasts:
    """Means of candidates minus ``factor`` times baselines (topics × pairs) with their standard errors."""
    values = candidates - factor * baselines
    tiny = _ROUNDING * max(float(np.abs(each).max(initial=0.0)) for each in (candidates, baselines))
    if design is None:
        mean, error = moments(values)
        df = np.full(len(mean), len(values) - 1.0)
    else:
        found = robust_moments(np.column_stack([values, np.zeros(len(values))]), design)
        mean, error, df = (each[:-1, -1] for each in (found.difference, found.error, found.df))
    known = (np.ptp(values, axis=0) > 4 * tiny) & (error > 0) & (df > 0)
    return Contrasts(values=values, mean=mean, error=np.where(known, error, 0.0), df=np.where(known, df, 1.0))


def bound(
    found: Contrasts, *, margin: float, test: str, correct: str, alpha: float, resamples: int | None, seed: Seed
) -> MarginTest:
    """Which mean contrasts are shown to be above −margin, with the lower ends of their one-sided intervals.

    Resamples of few topics have t with tails that are too short: a bound by ``bootstrap`` or ``max-t`` is the lower one
    of its own and Student's, which with max-t on few topics is Bonferroni's.
    """
    by_t = shown_above(found.mean, found.error, found.df, margin=margin, correct=correct, alpha=alpha)
    if test in ("t", "dunnett"):  # the default with a baseline, which has one error term for all, goes with gates by t
        return by_t
    vary = found.error > 0
    drawn = _Resampled(found, vary, resamples or RESAMPLES, seed)
    t = np.divide(found.mean + margin, found.error, out=np.full(len(vary), -np.inf), where=vary)
    p_value = np.maximum(drawn.p_values(t), by_t.p_value)  # never more lenient than Student's t
    if test == "max-t":
        level = alpha
        shared_by = np.where(found.df < FEW_TO_RESAMPLE - 1, max(1, int(vary.sum())), 1)
        p_adjusted = np.maximum(drawn.largest_p(t), np.minimum(shared_by * by_t.p_value, 1.0))
        critical = np.full(len(vary), resampled_critical(drawn.largest, alpha) if vary.any() else np.nan)
    else:
        p_adjusted = correction(correct)(p_value)
        level, shared_by = deciding_level(p_adjusted <= alpha, correct, alpha), np.ones(len(vary))
        critical = drawn.critical(level)
    critical = np.maximum(critical, t_critical(level / shared_by, found.df))
    return MarginTest(
        margin=margin,
        correct=correct,
        p_value=p_value,
        p_adjusted=p_adjusted,
        lower=np.where(vary, found.mean - critical * found.error, np.nan),
        upper=np.where(vary, np.inf, np.nan),
        shown=p_adjusted <= alpha,
        level=level,
        interval=f"{covered(level)}, one-sided",
    )


@dataclass(frozen=True, eq=False)
class _Resampled:
    """t of centred contrasts in resamples of the topics; those that do not vary have none."""

    found: Contrasts
    vary: Array
    resamples: int
    seed: Seed

    def _parts(self) -> Iterator[tuple[Array, Array]]:
        """Some pairs at a time, and their statistics, resamples × pairs; all pairs are resampled alike."""
        places = np.flatnonzero(self.vary)
        step = max(1, _KEPT // self.resamples)
        for start in range(0, len(places), step):
            some = places[start : start + step]
            yield some, _resampled_t(self.found.values[:, some], self.resamples, self.seed)

    def p_values(self, t: Array) -> Array:
        """(b + 1) / (B + 1), b the resamples in which the pair's own t is at least what was observed."""
        p_value = np.ones(len(t))
        for some, drawn in self._parts():
            p_value[some] = ((drawn >= t[some] - HAIR * np.abs(t[some])).sum(axis=0) + 1) / (self.resamples + 1)
        return p_value

    def critical(self, level: float) -> Array:
        """What the t of each pair must exceed."""
        critical = np.full(len(self.vary), np.nan)
        for some, drawn in self._parts():
            critical[some] = [resampled_critical(column, level) for column in np.sort(drawn, axis=0).T]
        return critical

    @property
    def largest(self) -> Array:
        """The largest t of all pairs in every resample, in order."""
        highest = np.full(self.resamples, -np.inf)
        for _, drawn in self._parts():
            np.maximum(highest, drawn.max(axis=1), out=highest)
        return np.sort(highest)

    def largest_p(self, t: Array) -> Array:
        largest = self.largest
        more = len(largest) - np.searchsorted(largest, t - HAIR * np.abs(t), side="left")
        return np.where(self.vary, (more + 1) / (self.resamples + 1), 1.0)


def _resampled_t(values: Array, resamples: int, seed: Seed) -> Array:
    """t = √n(d̄* − d̄)/s* of every column, resamples × columns; s*² is at least a fifth of s², as for max-t."""
    rng, n = generator(seed), len(values)
    centred = values - values.mean(axis=0)
    floor = LEAST_VARIANCE * np.square(centred).mean(axis=0)
    drawn = np.empty((resamples, values.shape[1]))
    step = max(1, _BLOCK // n)
    for start in range(0, resamples, step):
        part = slice(start, min(start + step, resamples))
        weights = rng.multinomial(n, np.full(n, 1.0 / n), size=part.stop - start) / n
        mean = weights @ centred
        variance = np.maximum(weights @ np.square(centred) - np.square(mean), floor)
        drawn[part] = np.sqrt(n - 1) * mean / np.sqrt(variance)
    return drawn


def find_gates(
    table: ScoreTable,
    gates: Sequence[MarginGate],
    comparison: Comparison,
    *,
    measure: str | None = None,
    candidates: Sequence[str] = (),
    correct: str | None = None,
    seed: int = 1,
) -> tuple[list[GateVerdict], list[Caution]]:
    """The verdict of every gate about every candidate, by default all systems but the baselines, and warnings.

    The family of a gate is its candidates with all baselines; a gate is at the α of the comparison, by its test.
    """
    _check_margins(gates, measure or table.measures[0])
    pairs = _pairs(table.systems, comparison.baselines, candidates)
    used = list(dict.fromkeys(name for pair in pairs for name in pair))
    place = {name: at for at, name in enumerate(table.systems)}
    scores = whole(ordered(table.matrix(measure), np.array([place[name] for name in used])))
    column = {name: at for at, name in enumerate(used)}
    sides = [scores[:, [column[pair[side]] for pair in pairs]] for side in (0, 1)]
    design = design_of(table) if table.has_roles else None
    asked: dict[str, Any] = {
        "test": comparison.test,
        "correct": "none" if len(pairs) == 1 else (correct or "holm"),
        "alpha": comparison.alpha,
        "resamples": comparison.resamples,
        "seed": sequence(seed, "gates", comparison.test, comparison.measure),
    }
    verdicts = [
        verdict for gate in gates for verdict in _verdicts(gate, pairs, (sides[0], sides[1]), design, comparison, asked)
    ]
    return verdicts, [*_cautions(pairs, sides[0] - sides[1]), *_large_margins(gates, pairs, sides[1].mean(axis=0))]


def _check_margins(gates: Sequence[MarginGate], measure: str) -> None:
    """Refuse a margin that no two means of the measure can differ by."""
    low, high = range_of(measure) or (-np.inf, np.inf)
    for gate in gates:
        if gate.shift >= high - low:
            what = f"every candidate passes «{gate.text}», as {measure} ranges from {low:g} to {high:g}"
            raise RequestError(what, fix=_shares(gate))


def _shares(gate: MarginGate) -> str:
    return f"Name a smaller margin, or a share of the baseline's mean: no-worse={min(gate.margin, 99):g}%."


def _large_margins(gates: Sequence[MarginGate], pairs: Sequence[tuple[str, str]], means: Array) -> Iterator[Caution]:
    """Warn of a margin as large as the mean of a baseline, which a candidate without any merit is within."""
    for gate in gates:
        at = next((at for at, mean in enumerate(means) if 0 < mean <= gate.shift), None)
        if at is not None:
            what = f"the margin of «{gate.text}» is as large as the mean of {pairs[at][1]}, {means[at]:.4g}, or larger"
            yield Caution("large-margin", what, _shares(gate))


def _pairs(systems: Sequence[str], baselines: Sequence[str], candidates: Sequence[str]) -> list[tuple[str, str]]:
    there, against = set(systems), set(baselines)
    unknown = [name for name in candidates if name not in there]
    if unknown:
        raise RequestError(f"there is no system «{unknown[0]}»", fix=there_are(systems))
    both = [name for name in candidates if name in against]
    if both:
        raise RequestError(f"«{both[0]}» is the baseline and cannot be a candidate too", fix="Name another candidate.")
    chosen = dict.fromkeys(candidates or [name for name in systems if name not in against])
    if not chosen:
        raise RequestError("every system is a baseline, and there is no candidate", fix="Name fewer baselines.")
    return [(name, baseline) for baseline in baselines for name in chosen]


def _verdicts(
    gate: MarginGate,
    pairs: Sequence[tuple[str, str]],
    sides: tuple[Array, Array],
    design: TopicDesign | None,
    comparison: Comparison,
    asked: dict[str, Any],
) -> Iterator[GateVerdict]:
    low = comparison.lower_is_better
    sign = -1.0 if low else 1.0
    factor = gate.factor(lower_is_better=low)
    shares = np.full(len(sides[1]), 1 / len(sides[1])) if design is None else design.shares
    base = shares @ sides[1]
    if gate.is_relative and not (base > 0).all():
        at = int(np.argmin(base))
        raise RequestError(
            f"«{gate.text}» is relative to the mean of {pairs[at][1]}, which is {base[at]:.4g} and not above 0",
            fix="Name the margin in units of the measure, such as no-worse=0.02.",
        )
    found = contrasts(sign * sides[0], sign * sides[1], factor=factor, design=design)
    tested = bound(found, margin=gate.shift, **asked)
    largest = max(float(np.abs(each).max(initial=0.0)) for each in sides)
    equal = (np.abs(sides[0] - sides[1]) <= _ROUNDING * largest).all(axis=0)
    test = "max-t" if asked["test"] == "max-t" else "bootstrap" if asked["test"] == "bootstrap" else "t"
    for at, (candidate, baseline) in enumerate(pairs):
        unvarying = "equal" if equal[at] else "" if found.error[at] > 0 else "constant"
        yield GateVerdict(
            measure=comparison.measure,
            gate=gate.text,
            candidate=candidate,
            baseline=baseline,
            margin=gate.margin,
            is_relative=gate.is_relative,
            factor=factor,
            difference=float(sign * found.mean[at]),
            lower=float("nan") if low else float(tested.lower[at]),
            upper=float(-tested.lower[at]) if low else float("nan"),
            standard_error=float(found.error[at]),
            p_value=float("nan") if unvarying else float(tested.p_value[at]),
            p_adjusted=float("nan") if unvarying else float(tested.p_adjusted[at]),
            correct=asked["correct"],
            confidence=1 - tested.level,
            test=test if design is None else "t with robust standard errors",
            topics=len(sides[0]),
            passed=(not gate.is_better) if unvarying == "equal" else bool(tested.shown[at]),
            lower_is_better=low,
            unvarying=unvarying,
        )


def _cautions(pairs: Sequence[tuple[str, str]], differences: Array) -> Iterator[Caution]:
    largest = float(np.abs(differences).max(initial=0.0))
    changed = (np.abs(differences) > _ROUNDING * largest).sum(axis=0)
    few = [at for at in range(len(pairs)) if 0 < changed[at] < FEW_CHANGED <= len(differences)]
    if few:
        at = few[0]
        more = f" (and {len(few) - 1} other candidates with as few)" if len(few) > 1 else ""
        yield Caution(
            "few-changed-topics",
            f"{pairs[at][0]} differs from {pairs[at][1]} on {changed[at]} of {len(differences):,} topics{more}: the "
            "mean difference is far from normal, and a gate may pass more often than α says",
            "Look at these topics one by one, or add topics that the change concerns.",
        )
