"""Gates: is a candidate shown to be better than a baseline, or not worse than it by a margin or more?

A gate is a one-sided test of one mean difference, decided by the end of its one-sided confidence interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from cranfield.errors import Caution, RequestError, there_are, visible
from cranfield.methods.contrasts.clusters import RobustPairs, design_of
from cranfield.methods.contrasts.comparison import Comparison
from cranfield.methods.contrasts.corrections import correction, covered
from cranfield.methods.contrasts.decisions import RESAMPLES, Drawing
from cranfield.methods.contrasts.estimates import GREATER, Estimate, Estimator
from cranfield.methods.contrasts.pair_tests import decide
from cranfield.methods.contrasts.paired import Pairs
from cranfield.methods.contrasts.pairs import Contrasts, rounding
from cranfield.runtime.random import Seed, generator, sequence
from cranfield.scores import ScoreTable
from cranfield.scores.quality import range_of
from cranfield.scores.stored import ordered, whole
from cranfield.types import Array

GATED_TESTS = ("t", "bootstrap", "max-t")
FEW_CHANGED = 10  # topics with a difference, below which a mean of n differences is far from normal
POWER = 0.8
DRAWS = 10_000  # repetitions of a gate
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
    had fewer; ``unvarying`` says that the two systems have equal scores, or a constant difference, on every topic. With
    repeats of a system, ``flip_share`` is how often the verdict would change if both were run again, ``flip_error`` its
    Monte Carlo error, and ``repeat_sd`` the sd of differences between repeats.
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
    repeat_sd: float | None = None
    flip_share: float | None = None
    flip_error: float | None = None

    @property
    def verdict(self) -> str:
        """The outcome and its reason in one line."""
        return visible(f"{self.gate} {'passed' if self.passed else 'FAILED'}: {self._reason}")

    @property
    def _reason(self) -> str:
        contrast = f"{self.candidate} − {self.baseline if self.factor == 1 else f'{self.factor:g}·{self.baseline}'}"
        if self.unvarying == "equal":
            return f"{self.candidate} and {self.baseline} have the same score on each of {self.topics:,} topics"
        if self.unvarying:
            return (
                f"{contrast} is {self.difference:.4f} on each of {self.topics:,} topics, so that there is no "
                "standard error to measure it by"
            )
        known = "is at" if self.passed else "may be as"
        side = (
            ("most" if self.passed else "high as") if self.lower_is_better else ("least" if self.passed else "low as")
        )
        conditions = f"{covered(max(1 - self.confidence, 1e-16))} one-sided, {self.test}, {self.topics:,} topics"
        return f"{contrast} {known} {side} {self._end:.4f} ({conditions}){self._advice}"

    @property
    def _end(self) -> float:
        """The end of the interval that decides."""
        return self.upper if self.lower_is_better else self.lower

    @property
    def _advice(self) -> str:
        text = ""
        if self.required_topics is not None:
            passes = f"passes with power {POWER:g} on about {self.required_topics:,} topics"
            text = f"; a candidate as good as the baseline {passes}"
        if self.flip_share is not None:
            text += f"; if both were run again, the verdict would change in {100 * self.flip_share:.1f} % of cases"
        return text

    def may_be(self, advantage: float) -> bool:
        """Whether the candidate may be ahead by this much: the other end of the interval does not exclude it."""
        sign = -1.0 if self.lower_is_better else 1.0
        return bool(sign * self.difference + abs(self.difference - self._end) >= advantage)

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
class GateScores:
    """What gates are decided from: the scores of systems, topics × systems, and how their contrasts are estimated.

    ``estimator`` takes contrasts of these systems, and those of negative scores where low ones are better. ``shares``
    is what every topic counts in a mean, and ``note`` what the name of the test is followed by.
    """

    systems: Sequence[str]
    scores: Array
    estimator: Callable[[Contrasts], Estimator]
    shares: Array
    note: str = ""


def find_gates(
    table: ScoreTable, gates: Sequence[MarginGate], comparison: Comparison, *, measure: str | None = None, **more: Any
) -> tuple[list[GateVerdict], list[Caution]]:
    """The verdict of every gate about every candidate from a table, and warnings; see `decide_gates`."""
    scores = whole(ordered(table.matrix(measure), np.arange(len(table.systems))))
    signed = -scores if comparison.lower_is_better else scores
    design = design_of(table) if table.has_roles else None

    def estimator(contrasts: Contrasts) -> Estimator:
        return Pairs(signed, contrasts) if design is None else RobustPairs(signed, contrasts, design)

    note = "" if design is None else " with robust standard errors"
    shares = np.full(len(scores), 1 / len(scores)) if design is None else design.shares
    found = GateScores(systems=table.systems, scores=scores, estimator=estimator, shares=shares, note=note)
    return decide_gates(found, gates, comparison, measure=measure or table.measures[0], **more)


def decide_gates(
    found: GateScores,
    gates: Sequence[MarginGate],
    comparison: Comparison,
    *,
    measure: str,
    candidates: Sequence[str] = (),
    repeats: Sequence[str] = (),
    correct: str | None = None,
    seed: int = 1,
) -> tuple[list[GateVerdict], list[Caution]]:
    """The verdict of every gate about every candidate, by default all systems but baselines and repeats, and warnings.

    ``repeats`` are systems that are repeats of one, from which it follows how often a verdict would change. The family
    of a gate is its candidates with all baselines; a gate is at the α of the comparison, by its test.
    """
    _check_margins(gates, measure)
    pairs = _pairs(found.systems, comparison.baselines, candidates, repeats)
    place = {name: at for at, name in enumerate(found.systems)}
    mean = dict(zip(comparison.systems, comparison.means.tolist(), strict=True))
    first, second = (np.array([place[pair[side]] for pair in pairs]) for side in (0, 1))
    differences = found.scores[:, first] - found.scores[:, second]
    means = np.array([mean[baseline] for _, baseline in pairs])
    stream = sequence(seed, "gates", comparison.test, comparison.measure)
    drawing = Drawing(resamples=comparison.resamples or RESAMPLES, seed=stream)
    asked: dict[str, Any] = {"test": comparison.test, "alpha": comparison.alpha, "drawing": drawing}
    asked["correct"] = "none" if len(pairs) == 1 else (correct or "holm")
    tiny = rounding(float(found.scores.min()), float(found.scores.max()))
    equal = (np.abs(differences) <= tiny).all(axis=0)
    verdicts: list[GateVerdict] = []
    for gate in gates:
        _check_share(gate, pairs, means)
        contrasts = Contrasts(first, second, gate.factor(lower_is_better=comparison.lower_is_better))
        decided = _verdicts(gate, pairs, found, contrasts, equal, comparison, asked)
        known: dict[str, Any] = {"margin": gate.shift, "alpha": comparison.alpha, "seed": stream}
        verdicts += _with_flips(decided, found, contrasts, repeats, **known) if repeats else decided
    return verdicts, [*_cautions(pairs, differences, tiny), *_large_margins(gates, pairs, means)]


def _with_flips(
    verdicts: Iterator[GateVerdict], scores: GateScores, contrasts: Contrasts, repeats: Sequence[str], **asked: Any
) -> Iterator[GateVerdict]:
    """With the share of repetitions that have another verdict, where there is an error to measure by."""
    decided = list(verdicts)
    sd = repeat_sd(scores.scores[:, [scores.systems.index(name) for name in dict.fromkeys(repeats)]])
    estimate = scores.estimator(contrasts).fit()
    shares, errors = flip_shares(estimate, contrasts, sd=sd, shares=scores.shares, correct=decided[0].correct, **asked)
    for verdict, share, error in zip(decided, shares.tolist(), errors.tolist(), strict=True):
        known = {} if verdict.unvarying else {"flip_share": share, "flip_error": error}
        yield replace(verdict, repeat_sd=sd, **known)


def _check_share(gate: MarginGate, pairs: Sequence[tuple[str, str]], means: Array) -> None:
    """Refuse a share of a mean that is not above 0."""
    if gate.is_relative and not (means > 0).all():
        at = int(np.argmin(means))
        raise RequestError(
            f"«{gate.text}» is relative to the mean of {pairs[at][1]}, which is {means[at]:.4g} and not above 0",
            fix="Name the margin in units of the measure, such as no-worse=0.02.",
        )


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


def _pairs(
    systems: Sequence[str], baselines: Sequence[str], candidates: Sequence[str], repeats: Sequence[str]
) -> list[tuple[str, str]]:
    there, against = set(systems), set(baselines)
    unknown = [name for name in (*candidates, *repeats) if name not in there]
    if unknown:
        raise RequestError(f"there is no system «{unknown[0]}»", fix=there_are(systems))
    both = [name for name in candidates if name in against]
    if both:
        raise RequestError(f"«{both[0]}» is the baseline and cannot be a candidate too", fix="Name another candidate.")
    left_out = against | set(repeats)
    chosen = dict.fromkeys(candidates or [name for name in systems if name not in left_out])
    if not chosen:
        raise RequestError(
            "every system is a baseline or a repeat, and there is no candidate", fix="Name fewer of them."
        )
    return [(name, baseline) for baseline in baselines for name in chosen]


def _verdicts(
    gate: MarginGate,
    pairs: Sequence[tuple[str, str]],
    scores: GateScores,
    contrasts: Contrasts,
    equal: Array,
    comparison: Comparison,
    asked: dict[str, Any],
) -> Iterator[GateVerdict]:
    low = comparison.lower_is_better
    sign = -1.0 if low else 1.0
    estimator = scores.estimator(contrasts)
    tested, found = decide(estimator, shows=GREATER, margin=gate.shift, **asked), estimator.fit()
    for at, (candidate, baseline) in enumerate(pairs):
        unvarying = "equal" if equal[at] else "" if found.standard_error[at] > 0 else "constant"
        yield GateVerdict(
            measure=comparison.measure,
            gate=gate.text,
            candidate=candidate,
            baseline=baseline,
            margin=gate.margin,
            is_relative=gate.is_relative,
            factor=contrasts.factor,
            difference=float(sign * found.value[at]),
            lower=float("nan") if low else float(tested.lower[at]),
            upper=float(-tested.lower[at]) if low else float("nan"),
            standard_error=float(found.standard_error[at]),
            p_value=float("nan") if unvarying else float(tested.p_value[at]),
            p_adjusted=float("nan") if unvarying else float(tested.p_adjusted[at]),
            correct=asked["correct"],
            confidence=1 - tested.level,
            test=asked["test"] + scores.note,
            topics=len(scores.scores),
            passed=(not gate.is_better) if unvarying == "equal" else bool(tested.shown[at]),
            lower_is_better=low,
            unvarying=unvarying,
        )


def _cautions(pairs: Sequence[tuple[str, str]], differences: Array, tiny: float) -> Iterator[Caution]:
    changed = (np.abs(differences) > tiny).sum(axis=0)
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


# --- repeats of a system: an A/A check
# A system that is run again has the scores of before and other noise, independent from topic to topic, so that scores
# of two runs differ on a topic with the sd of differences between repeats. The mean difference of two systems moves
# accordingly; its standard error, which has the noise of one run in any case, is kept.


def repeat_sd(scores: Array) -> float:
    """The sd of the differences between two repeats of one system on a topic; ``scores`` are topics × repeats.

    >>> round(repeat_sd(np.array([[0.3, 0.5], [0.6, 0.4]])), 4)
    0.2
    """
    return float(np.sqrt(2 * scores.var(axis=1, ddof=1).mean()))


def check_repeats(systems: Sequence[str]) -> None:
    """Refuse fewer than two repeats."""
    if len(set(systems)) < 2:
        raise RequestError(
            "the noise between repeats of a system takes two repeats or more",
            fix="Name each of them with `repeats`, such as base-1, base-2 and base-3.",
        )


def flip_shares(
    estimate: Estimate,
    contrasts: Contrasts,
    *,
    sd: float,
    shares: Array,
    margin: float,
    correct: str,
    alpha: float,
    draws: int = DRAWS,
    seed: Seed = 1,
) -> tuple[Array, Array]:
    """The share of repetitions with another verdict for every contrast, and its Monte Carlo error.

    All systems of the contrasts are run again, and one-sided t tests decided anew.

    Parameters
    ----------
    sd
        That of differences between two repeats of a system, see `repeat_sd`.
    shares
        What every topic counts in a mean.
    """
    systems, places = np.unique(np.r_[contrasts.first, contrasts.second], return_inverse=True)
    first, second = np.split(places, 2)
    reach = sd * float(np.sqrt(np.square(shares).sum()))
    moved = generator(seed, "repeats").normal(0.0, reach, (draws, len(systems)))
    again = replace(estimate, value=estimate.value + Contrasts(first, second, contrasts.factor).of(moved))
    decided = correction(correct)
    now = decided(estimate.p(GREATER, margin)) <= alpha
    then = decided(again.p(GREATER, margin)) <= alpha
    share = (now != then).mean(axis=0)
    return share, np.sqrt(share * (1 - share) / draws)
