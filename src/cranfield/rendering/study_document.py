"""Studies, their plans and simulations as documents, and the paragraph for a paper about a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from cranfield.errors import RequestError, say_p
from cranfield.methods.judging.two_phase_stopping import WidthStatus
from cranfield.methods.sequential import FinalTest, PlanSimulation, Prospect, Status, TrialPlan
from cranfield.methods.sequential.plan_simulation import WAYS
from cranfield.methods.sequential.plans import CATALOG, candidate_cautions
from cranfield.methods.sequential.study import Added
from cranfield.methods.sequential.trial import TrialCoverage
from cranfield.questions.study import (
    StudyPastResult,
    StudyPeekResult,
    StudyPlansResult,
    StudySimulationResult,
    StudyTrialResult,
    StudyWidthResult,
)
from cranfield.questions.study_file import StudyLogResult
from cranfield.rendering.document import Column, Document, Table, View, show
from cranfield.rendering.drawing import Chart
from cranfield.rendering.study_charts import (
    course_chart,
    coverage_chart,
    peek_chart,
    sd_chart,
    simulation_chart,
    trial_chart,
)

CITATIONS = ("Webber2008",)


def plans_document(result: StudyPlansResult) -> Document:
    """Return the guarantee of every plan, and its topics if the first estimate of the sd is right."""
    columns = (
        Column("plan", "plan"),
        Column("first", "first decision at", "count"),
        Column("expected", "expected topics", "number"),
        Column("expected_null", "expected if equal", "number"),
        Column("enough", "topics for the power", "count"),
        Column("most", "at most", "count"),
        Column("holds", "α held"),
    )
    prospects = result.prospects
    rows = [prospect.to_dict() for prospect in prospects]
    takes = Table(columns, [tuple(row[column.word] for column in columns) for row in rows])
    words = Table(
        (Column("plan", "plan"), Column("rule", "how topics are added"), Column("guarantee", "what is guaranteed")),
        [(each.plan, CATALOG[each.plan].rule, each.guarantee) for each in prospects],
    )
    cited = tuple(dict.fromkeys(("Webber2008", *(CATALOG[each.plan].citation for each in prospects))))
    difference, power, alpha = (result.inputs[name] for name in ("difference", "power", "alpha"))
    sentence = (
        f"Topics to detect a difference of {difference:g} with power {power:g} at α = {alpha:g}; expected topics "
        "assume normal paired differences with the first estimate of the sd."
    )
    return Document(
        method="study plans", inputs=result.inputs, tables=[takes, words], rows=rows, answer=sentence, citations=cited
    )


def new_document(status: Status, prospect: Prospect, inputs: Mapping[str, Any]) -> Document:
    """Return the document of a new study."""
    row = {**status.to_dict(), **{f"plan_{name}": value for name, value in prospect.to_dict().items()}}
    sentence = (
        f"{status.file} fixes the goal: a difference of {status.goal.difference:g} with power {status.goal.power:g} at "
        f"α = {status.goal.alpha:g}. First decision at {prospect.first:,} topics; {prospect.expected:,.0f} expected in "
        f"total. {_guarantee(prospect)} {_order_sentence(status)}"
    )
    return Document(
        method="study new",
        inputs=inputs,
        tables=[_goal_table(status)],
        rows=[row],
        answer=sentence,
        citations=_cited(status.plan.citation),
        warnings=candidate_cautions(len(status.order.candidates), prospect),
        seed=status.order.seed,
    )


def _guarantee(prospect: Prospect) -> str:
    none, _, why = prospect.guarantee.partition("None: ")
    return f"No guarantee: {why}" if not none else f"Guarantee: {prospect.guarantee}"


def _order_sentence(status: Status) -> str:
    if status.order.candidates:
        return "Judge topics in the order drawn: `study_next()` lists them."
    return "No order of topics was drawn: the study assumes that topics are added in random order."


def next_document(topics: Sequence[str], status: Status, inputs: Mapping[str, Any]) -> Document:
    """Return the topics to judge next."""
    rows = [{"place": status.topics + at + 1, "topic": topic} for at, topic in enumerate(topics)]
    columns = (Column("place", "place", "count"), Column("topic", "topic"))
    table = Table(columns, [tuple(row.values()) for row in rows])
    sentence = (
        f"Judge {'this topic' if len(topics) == 1 else f'these {len(topics):,} topics'} next; the order was drawn from "
        f"{len(status.order.candidates):,} candidates with seed {status.order.seed}."
        if topics
        else "The study takes no more topics."
        if status.finished
        else "All candidate topics have been added."
    )
    return Document(
        method="study next",
        inputs=inputs,
        tables=[table],
        rows=rows,
        answer=sentence,
        warnings=status.order.cautions(),
        seed=status.order.seed,
    )


def _cited(citation: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((citation, *CITATIONS)))


def _goal_table(status: Status) -> Table:
    goal = status.goal
    rows: list[tuple[str, str]] = [
        ("plan", f"{goal.plan}: {status.plan.title}"),
        ("target difference", show(goal.difference, "number")),
        ("power, α", f"{goal.power:g}, {goal.alpha:g}"),
        ("first estimate of sd", f"{show(goal.sd, 'number')} ({goal.sd_from})"),
        ("order of topics", _order(status)),
    ]
    if status.systems:
        rows.append(("systems", f"{status.systems[0]} minus {status.systems[1]}, {status.measure or 'any measure'}"))
    return Table((Column("what", "goal"), Column("value", "")), rows)


def _order(status: Status) -> str:
    order = status.order
    return f"random, {len(order.candidates):,} candidates, seed {order.seed}" if order.candidates else "assumed random"


def status_document(status: Status, inputs: Mapping[str, Any]) -> Document:
    """Return the state of a study, without the observed difference."""
    rows = [
        ("topics", show(status.topics, "count")),
        ("sd so far", show(status.sd, "number")),
        (_power_title(status), show(status.achieved_power, "score")),
        ("next decision at", show(status.next_look, "count")),
        ("more topics", show(status.more, "count")),
        ("looks so far", show(status.looks, "count")),
        ("changes of the goal", show(len(status.edits), "count")),
    ]
    now = Table((Column("what", "so far"), Column("value", "")), rows)
    note = (
        f" The file ends in an unfinished step of {status.unfinished} bytes, left by an interrupted write; it was "
        "never acknowledged, and the next step replaces it."
        if status.unfinished
        else ""
    )
    return Document(
        method="study status",
        inputs=inputs,
        tables=[_goal_table(status), now, *_edits_table(status)],
        rows=[status.to_dict()],
        answer=status.summary() + note,
        citations=_cited(status.plan.citation),
        warnings=status.order.cautions(),
    )


def _power_title(status: Status) -> str:
    """What the power is: looks that are planned for later belong to a group-sequential design too."""
    whole = status.goal.plan == "group-sequential"
    return "power of the whole plan at the observed sd" if whole else "power so far at the observed sd"


def _edits_table(status: Status) -> list[Table]:
    if not status.edits:
        return []
    rows = [
        (edit.at, edit.topics, name, _short(before), _short(after), edit.reason)
        for edit in status.edits
        for name, (before, after) in edit.changes.items()
    ]
    columns = (
        Column("at", "when"),
        Column("topics", "topics then", "count"),
        Column("name", "what"),
        Column("before", "from"),
        Column("after", "to"),
        Column("reason", "reason"),
    )
    return [Table(columns, rows, "Changes of the goal")]


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def added_document(added: Added, inputs: Mapping[str, Any]) -> Document:
    """Return the topics that were added, and the state of the study."""
    document = status_document(added.status, inputs)
    repeated = f" {len(added.repeated):,} were already present with the same scores." if added.repeated else ""
    row = {"added": len(added.taken), "repeated": len(added.repeated), **added.status.to_dict()}
    sentence = f"{len(added.taken):,} topics added.{repeated} {document.sentence}"
    return Document(
        method="study add",
        inputs=inputs,
        tables=document.tables,
        rows=[row],
        answer=sentence,
        citations=document.citations,
        warnings=document.warnings,
    )


def tested_document(tested: FinalTest, inputs: Mapping[str, Any]) -> Document:
    """Return the test, its caveats, and the paragraph to report."""
    tables = [Table((Column("what", tested.measure), Column("value", "")), _test_rows(tested))]
    caveats = tested.caveats()
    if caveats:
        tables.append(Table((Column("caveat", "caveats"),), [(text,) for text in caveats]))
    tables.append(Table((Column("paragraph", "text for a paper"),), [(paragraph(tested),)]))
    return Document(
        method="study test",
        inputs=inputs,
        tables=tables,
        rows=[tested.to_dict()],
        answer=tested.summary(),
        citations=tested.citations,
        warnings=tested.order.cautions(),
        seed=tested.order.seed,
        extra={"paragraph": paragraph(tested), "caveats": caveats},
    )


def _test_rows(tested: FinalTest) -> list[tuple[str, str]]:
    """Return names and values; only the observed mean and sd if no claim is made."""
    start = [
        ("topics", show(tested.topics, "count")),
        (f"{tested.system} minus {tested.baseline}", show(tested.difference, "score")),
        ("sd of the paired differences", show(tested.sd, "number")),
        ("verdict", tested.verdict),
    ]
    end = [("seal of the study file", f"{tested.seal} ({_steps(tested.steps)})")]
    if tested.reason:
        return [*start, ("reason", f"{tested.reason}."), *end]
    word = "evidence" if tested.plan.name == "anytime" else "t"
    return [
        *start,
        (tested.interval_name, f"{tested.lower:.4f} to {tested.upper:.4f}"),
        ("effect size d_z", show(tested.effect_size, "score")),
        (word, show(tested.statistic, "number")),
        ("p", show(tested.p_value, "probability")),
        ("significant if p is at most", show(tested.level, "probability")),
        ("power at the observed sd", show(tested.achieved_power, "score")),
        *end,
    ]


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count:,} steps"


_METHOD = {
    "fixed": "a number of topics fixed in advance",
    "iterative": "iterative sampling (Webber, Moffat and Zobel 2008, Algorithm 1)",
    "hybrid": "the hybrid method of Webber, Moffat and Zobel (2008, §5.5)",
    "group-sequential": "a group-sequential design (Lan and DeMets 1983)",
    "anytime": "an anytime-valid confidence sequence for bounded differences (Waudby-Smith and Ramdas 2024)",
}


def paragraph(tested: FinalTest) -> str:
    """Return the paragraph required by Webber et al. (2008), §5.5: method, δ, topics, looks, result and caveats."""
    parts = [
        _design_sentence(tested),
        _course_sentence(tested),
        tested.order.sentence(),
        _test_sentence(tested),
        *tested.caveats(),
    ]
    parts += [
        f"After {edit.topics} topics, {', '.join(_changed(name, *values) for name, values in edit.changes.items())} "
        f"({edit.reason})."
        for edit in tested.edits
    ]
    parts.append(f"The file of the study had {_steps(tested.steps)} after this test; its seal is {tested.seal}.")
    return " ".join(part for part in parts if part)


def _changed(name: str, before: Any, after: Any) -> str:
    return f"the goal's {name.replace('_', ' ')} was changed from {_short(before)} to {_short(after)}"


def _design_sentence(tested: FinalTest) -> str:
    goal = tested.goal
    aim = f"a difference of δ = {goal.difference:g} was to be detected with power {goal.power:g} at α = {goal.alpha:g}"
    kind = "" if goal.plan == "anytime" else f" ({tested.test_name})"
    return (
        f"{tested.system} and {tested.baseline} were compared in {tested.measure} on the same topics by "
        f"{_METHOD[goal.plan]}: {aim}{kind}, with an assumed standard deviation of the paired differences of "
        f"{goal.sd:.4g} ({goal.sd_from})."
    )


def _course_sentence(tested: FinalTest) -> str:
    return _COURSE[tested.goal.plan](tested)


def _times(looks: int) -> str:
    return "once" if looks == 1 else f"{looks} times"


def _fixed_course(tested: FinalTest) -> str:
    return f"{tested.topics} topics were judged ({tested.first} were planned) and tested once."


def _iterative_course(tested: FinalTest) -> str:
    return f"Beginning with {tested.first} topics, {_sd_course(tested)}"


def _hybrid_course(tested: FinalTest) -> str:
    return f"The first estimate required {tested.first} topics; {_sd_course(tested)}"


def _sd_course(tested: FinalTest) -> str:
    return (
        f"the standard deviation was looked at {_times(tested.looks)}; with {tested.topics} topics it was "
        f"{tested.sd:.4g}, which gives a power of {tested.achieved_power:.2f}. Significance was tested only then."
    )


def _group_course(tested: FinalTest) -> str:
    spent = {"obrien-fleming": "O'Brien–Fleming", "pocock": "Pocock"}[tested.goal.spending]
    return (
        f"{len(tested.goal.looks)} looks were planned, the first at {tested.first} topics, with {spent} type spending; "
        f"this is look {tested.looks}, at {tested.topics} topics and a level of {tested.level:.3g}."
    )


def _anytime_course(tested: FinalTest) -> str:
    return (
        f"Differences lie between {tested.goal.lowest:g} and {tested.goal.highest:g}; {tested.topics} topics were "
        f"judged, and the interval was looked at {_times(tested.looks)}, which does not affect its coverage."
    )


_COURSE = {
    "fixed": _fixed_course,
    "iterative": _iterative_course,
    "hybrid": _hybrid_course,
    "group-sequential": _group_course,
    "anytime": _anytime_course,
}


def _test_sentence(tested: FinalTest) -> str:
    if tested.reason:
        return f"The mean difference was {tested.difference:.4f}; no claim is made: {tested.reason}."
    span = f"{tested.interval_name} {tested.lower:.4f} to {tested.upper:.4f}"
    p = say_p(tested.p_value)
    statistic = f"t({tested.topics - 1}) = {tested.statistic:.3f}, " if tested.goal.plan != "anytime" else ""
    verdict = "significant" if tested.significant else "not significant"
    size = f"d_z = {show(tested.effect_size, 'number')}"
    return f"The mean difference was {tested.difference:.4f} ({span}; {size}; {statistic}{p}): {verdict}."


def log_document(result: StudyLogResult) -> Document:
    """Return every step in order, and the seal."""
    rows = [
        {"step": step["step"], "at": step["at"], "event": step["event"], "what": _told(step) + _cut_off(step)}
        for step in result.steps
    ]
    columns = (Column("step", "step", "count"), Column("at", "when"), Column("event", "step"), Column("what", "what"))
    table = Table(columns, [tuple(row.values()) for row in rows])
    expected = result.inputs.get("expect")
    sentence = f"{_steps(len(rows))}, seal {result.seal}. None was changed, and none was removed before another. " + (
        f"The step with the seal {expected} is among them: nothing up to it was removed."
        if expected
        else "Whether steps were removed from the end is shown only by a seal from earlier: give it with `expect`."
    )
    return Document(
        method="study log",
        inputs=result.inputs,
        tables=[table],
        rows=rows,
        answer=sentence,
        extra={"seal": result.seal, "steps": [dict(step) for step in result.steps]},
    )


def _cut_off(step: Mapping[str, Any]) -> str:
    return (
        f" (after cutting off {step['cut_off_bytes']} bytes of an unfinished step)" if "cut_off_bytes" in step else ""
    )


def _told(step: Mapping[str, Any]) -> str:
    if step["event"] == "new":
        goal = step["goal"]
        aim = f"δ {goal['difference']:g}, power {goal['power']:g}, α {goal['alpha']:g}"
        order = f"; order of {len(step['order'])} topics, seed {step['order_seed']}" if "order" in step else ""
        return f"{goal['plan']}: {aim}, sd {goal['sd']:.4g} ({goal['sd_from']}){order}"
    if step["event"] == "add":
        first, last = step["scores"][0][0], step["scores"][-1][0]
        late = f"; {len(step['out_of_order'])} out of order" if "out_of_order" in step else ""
        pair = " and ".join(step["systems"])
        return f"{len(step['scores'])} topics, {first} to {last}, {pair} ({step['measure']}){late}"
    if step["event"] == "edit":
        return (
            "; ".join(f"{name} to {_short(value)}" for name, value in step["changes"].items()) + f": {step['reason']}"
        )
    if step.get("reason"):
        return f"test with {step['topics']} topics: no claim, {step['reason']}"
    verdict = "significant" if step["significant"] else "not significant"
    return f"test with {step['topics']} topics: p {show(step['p_value'], 'probability')}, {verdict}"


# --- planning


def past_document(result: StudyPastResult) -> Document:
    """Webber et al. (2008), Table 1, for one table, and the topics for its two estimates."""
    found = result.experience
    rows = found.to_dict()
    columns = (
        Column("estimate", "estimate"),
        Column("sd", "sd of a difference", "number"),
        Column("topics", f"topics for {found.difference:g}", "count"),
        Column("misses", "pairs that would miss the power", "score"),
        Column("detectable_difference", "detectable with 50 topics", "score"),
    )
    title = f"{found.measure}: {len(found.sds):,} pairs of {found.systems} systems, {found.topics} topics"
    table = Table(columns, [tuple(row[column.word] for column in columns) for row in rows], title)
    extra = {"sds": found.sds.tolist()}
    return Document(
        method="study past",
        inputs=result.inputs,
        tables=[table],
        rows=rows,
        answer=found.summary(),
        citations=found.citations,
        extra=extra,
    )


def trial_document(result: StudyTrialResult) -> Document:
    if result.coverage is not None:
        return _coverage_document(result.coverage, result.inputs)
    assert result.plan is not None
    return _plan_document(result.plan, result.inputs)


def _plan_document(plan: TrialPlan, inputs: Mapping[str, Any]) -> Document:
    """Webber et al. (2008), Fig. 3: the best trial for every sd, and some others."""
    rows = plan.to_dict()
    shown = [row for at, row in enumerate(rows) if row["best"] or _round(row["trial"], len(plan.sizes))]
    columns = (
        Column("sd", "sd of the trial", "number"),
        Column("trial", "trial", "count"),
        Column("upper_sd", "upper limit of sd", "number"),
        Column("main", "main experiment", "count"),
        Column("topics", "total topics", "count"),
        Column("needed", "if the sd were known", "count"),
        Column("best", "best", "yes"),
    )
    table = Table(columns, [tuple(row[column.word] for column in columns) for row in shown])
    return Document(
        method="study trial", inputs=inputs, tables=[table], rows=rows, answer=plan.summary(), citations=plan.citations
    )


def _round(size: int, count: int) -> bool:
    """Select the sizes to show: all of few, the round ones of many."""
    return count <= 20 or size in (10, 20, 30, 40, 50, 75, 100, 150, 200)


def _coverage_document(found: TrialCoverage, inputs: Mapping[str, Any]) -> Document:
    """Webber et al. (2008), Fig. 2: the sampling error of the sd of a trial, by formula and by resampling."""
    rows = found.to_dict()
    columns = (
        Column("sd", "sd of all topics", "number"),
        Column("lower", "samples, low", "number"),
        Column("upper", "samples, high", "number"),
        Column("theory_lower", "formula, low", "number"),
        Column("theory_upper", "formula, high", "number"),
    )
    step = max(1, len(rows) // 20)
    by_sd = sorted(rows, key=lambda row: row["sd"])[::step]
    title = (
        f"The sd of {found.topics} topics: middle {100 * found.confidence:g} % of {found.repeats:,} samples per pair"
    )
    table = Table(columns, [tuple(row[column.word] for column in columns) for row in by_sd], title)
    return Document(
        method="study trial",
        inputs=inputs,
        tables=[table],
        rows=rows,
        answer=found.summary(),
        citations=CITATIONS,
        seed=found.seed,
    )


def near_misses_document(result: StudyPeekResult) -> Document:
    """Return the results of testing after every topic, for pairs that are not significant on all topics."""
    found = result.near_misses
    columns = (
        Column("pairs", "pairs near α", "count"),
        Column("of", "of pairs", "count"),
        Column("found", "significant at some look", "score"),
        Column("lower", "95 % low", "score"),
        Column("upper", "95 % high", "score"),
    )
    row = found.to_dict()
    table = Table(columns, [tuple(row[column.word] for column in columns)])
    paths = [
        {"pair": pair + 1, "topics": found.first + at, "p": p}
        for pair, path in enumerate(found.paths.tolist())
        for at, p in enumerate(path)
    ]
    extra = {"paths": paths}
    return Document(
        method="study peek",
        inputs=result.inputs,
        tables=[table],
        rows=[row],
        answer=found.summary(),
        citations=found.citations,
        seed=found.seed,
        extra=extra,
    )


# --- simulation


def simulate_document(result: StudySimulationResult) -> Document:
    """Return all plans in one table, with intervals of the simulated rates."""
    found = result.simulation
    rows = found.to_dict()
    columns = (
        Column("plan", "plan"),
        Column("topics", "topics", "number"),
        Column("range", "5–95 %"),
        Column("topics_null", "topics if equal", "number"),
        Column("sd_bias", "bias of sd", "text"),
        Column("false_positives", "false positives"),
        Column("power", "power"),
        Column("holds", "α held"),
    )
    shown = [
        (
            row["plan"],
            row["topics"],
            f"{row['topics_low']:.0f}–{row['topics_high']:.0f}",
            row["topics_null"],
            f"{100 * row['sd_bias']:+.1f} %",
            _rate(row, "false_positives"),
            _rate(row, "power"),
            row["holds"],
        )
        for row in rows
    ]
    table = Table(columns, shown, _simulated(found))
    words = Table(
        (Column("plan", "plan"), Column("what", "what it does")), [(row["plan"], WAYS[row["plan"]]) for row in rows]
    )
    warnings = "".join(f" Warning: {text}." for text in found.warnings)
    extra = {
        "pairs": [
            {
                "system": names[0],
                "baseline": names[1],
                "difference": float(found.difference[at]),
                "sd": float(found.sd[at]),
                "fixed_topics": int(found.fixed_topics[at]),
                **{f"sd_{outcome.plan}": float(outcome.pair_sd[at]) for outcome in found.outcomes},
                **{f"false_positives_{o.plan}": float(o.pair_false_positives[at]) for o in found.outcomes},
            }
            for at, names in enumerate(found.names)
        ],
        "inclusion": _inclusion(found),
        "notes": list(found.warnings),
    }
    return Document(
        method="study simulate",
        inputs=result.inputs,
        tables=[table, words],
        rows=rows,
        answer=found.summary() + warnings,
        citations=found.citations,
        seed=found.seed,
        extra=extra,
    )


def _inclusion(found: PlanSimulation) -> list[dict[str, Any]]:
    if found.included is None:
        return []
    columns = zip(found.topic_names, found.differences[0].tolist(), found.included.tolist(), strict=True)
    return [{"topic": topic, "difference": gap, "inclusion": share} for topic, gap, share in columns]


def _rate(row: Mapping[str, Any], word: str) -> str:
    return f"{row[word]:.4f} [{row[f'{word}_lower']:.4f}, {row[f'{word}_upper']:.4f}]"


def _simulated(found: PlanSimulation) -> str:
    if len(found.names) == 1:
        who, gap = " minus ".join(found.names[0]), f"{found.difference[0]:.4g}"
        sd = f"sd {found.sd[0]:.4g}"
    else:
        low, high = found.difference.min(), found.difference.max()
        who, gap = f"{len(found.names):,} pairs", f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        sd = f"sd {found.sd.min():.4g} to {found.sd.max():.4g}"
    return (
        f"{found.measure}, {who}: difference to detect {gap}, {sd}, α = {found.alpha:g}, power {found.wanted_power:g}; "
        f"{found.repeats:,} studies per pair"
    )


# --- charts


def past_chart(result: StudyPastResult) -> Chart:
    return sd_chart(result.experience.sds.tolist())


def peek(result: StudyPeekResult) -> Chart:
    document = near_misses_document(result)
    return peek_chart(document.extra["paths"], document.inputs["alpha"])


def trial(result: StudyTrialResult) -> Chart:
    """Total topics against the size of a trial, or with scores the sd of a trial against that of all topics."""
    rows = trial_document(result).rows
    return trial_chart(rows) if result.coverage is None else coverage_chart(rows)


def trial_sketch(result: StudyTrialResult) -> tuple[str, str]:
    """Total topics against the size of a trial, one curve per sd."""
    if result.plan is None or len({row["trial"] for row in result.plan.to_dict()}) < 2:
        return "", ""
    return trial(result).to_svg(is_headed=False), "Topics in total, a curve for every sd"


def trial_pictures(result: StudyTrialResult) -> list[tuple[str, Any]]:
    return [] if result.coverage is None else [("The sd of a trial against that of all topics", trial(result))]


def _simulated_chart(result: StudySimulationResult, kind: str) -> Chart:
    return simulation_chart(simulate_document(result), kind)


PICTURES = {
    "plans": "Topics, false positives and power of every plan",
    "inclusion": "Which topics the plan includes",
    "sd": "The sd when the iterative plan stops",
    "errors": "False positives, pair by pair",
}
SIMULATION_CHARTS = {kind: partial(_simulated_chart, kind=kind) for kind in PICTURES}


def simulation_pictures(result: StudySimulationResult) -> list[tuple[str, Any]]:
    """The charts that the plans and the number of pairs allow; one point is no picture."""
    found, is_one = [], len(result.simulation.names) == 1
    for kind, title in PICTURES.items():
        if is_one and kind in ("sd", "errors"):
            continue
        try:
            found.append((title, SIMULATION_CHARTS[kind](result)))
        except RequestError:
            continue
    return found


def width_document(result: StudyWidthResult) -> Document:
    """Return the interval, the topics that are missing, and the coverage of the rule."""
    row = _width_row(result)
    titles = {
        "topics": "people",
        "judged_topics": "model",
        "judge_correlation": "r",
        "difference": "difference",
        "lower": "low",
        "upper": "high",
        "width": "width",
        "target": "required width",
        "more": "more topics",
        "coverage": "coverage",
    }
    counts, numbers = ("topics", "judged_topics", "more"), ("judge_correlation", "target")
    columns = tuple(
        Column(word, title, "count" if word in counts else "number" if word in numbers else "score")
        for word, title in titles.items()
    )
    shown = {**row, "more": 0 if row["enough"] else row["more"]}
    title = f"{row['measure']}, {row['system']} – {row['baseline']}"
    table = Table(columns, [tuple(shown[word] for word in titles)], title)
    return Document(
        method="study width",
        inputs=result.inputs,
        tables=[table],
        rows=[row],
        answer=_width_sentence(result),
        citations=("Cochran1977",),
        seed=result.seed,
    )


def _width_row(result: StudyWidthResult) -> dict[str, Any]:
    """The difference and its interval are shown only once the study may stop."""
    status, names = result.status, dict(zip(("system", "baseline"), result.systems, strict=True))
    row = {**names, "measure": result.measure, **vars(status)}
    if not status.enough:
        row |= dict.fromkeys(("difference", "lower", "upper"))
    return row | {"width": status.width, "enough": status.enough}


def _width_sentence(result: StudyWidthResult) -> str:
    """The next step, and the error rate of stopping by it."""
    status = result.status
    level = f"{100 * (1 - status.alpha):g} %"
    return (
        f"{status.topics:,} of {status.judged_topics:,} judged topics have human labels, and the {level} interval of "
        f"the difference is {status.width:.4f} wide. {_next_step(status, result.systems)} Of studies that stop by "
        f"this rule, {100 * status.coverage:.1f} % cover the true difference ({status.studies:,} simulated on these "
        f"topics; the interval claims {level})."
    )


def _next_step(status: WidthStatus, systems: tuple[str, str]) -> str:
    if status.enough:
        return (
            f"It is at most {status.target:g} wide: stop. The difference of {systems[0]} and {systems[1]} is "
            f"{status.difference:.4f} [{status.lower:.4f}, {status.upper:.4f}]."
        )
    if status.topics < status.first:
        return f"The first look is at {status.first:,} topics: label {status.first - status.topics:,} more."
    if status.more is None:
        return f"All judged topics are not enough for {status.target:g}: judge more topics, or accept a wider one."
    return f"Label about {status.more:,} more topics for {status.target:g} (r = {status.judge_correlation:.2f})."


VIEWS = {
    "StudyNewResult": View(lambda result: new_document(result.status, result.expected, result.inputs)),
    "StudyAddResult": View(lambda result: added_document(result.added, result.inputs)),
    "StudyNextResult": View(lambda result: next_document(result.topics, result.status, result.inputs)),
    "StudyStatusResult": View(
        lambda result: status_document(result.status, result.inputs),
        {"course": lambda result: course_chart(result.course)},
    ),
    "StudyTestResult": View(lambda result: tested_document(result.tested, result.inputs)),
    "StudyEditResult": View(lambda result: status_document(result.status, result.inputs)),
    "StudyLogResult": View(log_document),
    "StudyPlansResult": View(plans_document),
    "StudyPastResult": View(
        past_document,
        {"sds": past_chart},
        pictures=lambda result: [("Distribution of the sds of the pairs", past_chart(result))],
    ),
    "StudyWidthResult": View(width_document),
    "StudyTrialResult": View(trial_document, {"trial": trial}, trial_sketch, trial_pictures),
    "StudySimulationResult": View(simulate_document, SIMULATION_CHARTS, pictures=simulation_pictures),
    "StudyPeekResult": View(
        near_misses_document,
        {"p-values": peek},
        pictures=lambda result: [("p after every topic, for some of these pairs", peek(result))],
    ),
}
