"""Numbers of topics as documents, charts and curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cranfield.errors import NoEffectError, RequestError
from cranfield.methods.design.formulas import SEPARATE, Method
from cranfield.methods.design.goals import GOALS
from cranfield.methods.design.planning import FEW_TOPICS, PilotSize, pilot_caution, plan, variance_words
from cranfield.methods.design.request import TYPICAL_CORRELATION, Request
from cranfield.methods.design.solver import ORDER, Size
from cranfield.questions.size import SizeResult
from cranfield.rendering.design_charts import label_chart, size_chart
from cranfield.rendering.document import Column, Document, Table, View, show
from cranfield.rendering.drawing import Chart
from cranfield.rendering.references import cite_in_words

if TYPE_CHECKING:
    from cranfield.methods.design.allocation import Allocation


def size_document(sizes: Sequence[Size], inputs: Mapping[str, Any]) -> Document:
    """Every method that applies, side by side; one row for each combination of inputs."""
    groups = list(_by_goal(sizes))
    tables = [_goal_table(group) for group in groups]
    rows = [row for size in sizes for row in size.to_dict()]
    citations = tuple(dict.fromkeys(size.method.citation for size in sizes))
    return Document(
        method="size",
        inputs=inputs,
        tables=[*tables, _methods_table(sizes)],
        rows=rows,
        answer=_sentence(sizes),
        notes=f"For a proposal: {cite_in_words(proposal)}" if (proposal := proposal_text(sizes[0])) else "",
        paper=[
            _paper_table(table, GOALS[group[0].kind].caption if at else "")
            for at, (table, group) in enumerate(zip(tables, groups, strict=True))
        ],
        paragraph=proposal,
        citations=citations,
        extra={"proposal": proposal} if proposal else {},
    )


def _paper_table(table: Table, title: str) -> Table:
    """A table without the power of one topic fewer."""
    kept = [at for at, column in enumerate(table.columns) if column.word != "below"]
    columns = tuple(table.columns[at] for at in kept)
    return Table(columns, [tuple(row[at] for at in kept) for row in table.rows], title)


def proposal_text(size: Size) -> str:
    """A paragraph for a proposal or a preregistration, with citations as ``[@Key]``; empty for several designs."""
    row, method = size.to_dict()[0], size.method
    word, topics = method.achieves, row["topics"]
    if size.topics.size != 1 or topics is None:
        return ""
    assumed, design = _assumed(method, row), "" if method.name == "clt" else f"; {method.design}"
    reached, below = (show(row[name], "number") for name in (f"achieved_{word}", f"{word}_below"))
    fewer = f" With one topic fewer{size.per_system} the {word} is {below}." if topics > 2 else ""
    every = f" per system ({topics * row.get('systems', 2):,} in all)" if method.design == SEPARATE else ""
    return (
        f"With {topics:,} topics{every} we can {size.claim(row)}{f', assuming {assumed}' if assumed else ''}. "
        f"Method: {method.title} [@{method.citation}]{design}. "
        f"This is the smallest number that does so: the {word} is {reached}.{fewer}"
    )


def _assumed(method: Method, row: Mapping[str, Any]) -> str:
    """The standard deviation or variance that a number of topics rests on, and what it was computed from."""
    if row.get("sd") == 1:
        return ""
    used = "sd" if "sd" in row else "variance"
    sources = {"within_variance": "score variance", "variance": "score variance", "correlation": "correlation"}
    given = [f"a {text} of {row[name]:g}" for name, text in sources.items() if name in row and name != used]
    alone = method.design == SEPARATE or method.name == "clt"
    if used == "sd":
        whose = "one system's scores" if alone else "paired differences"
        what = f"a standard deviation of {whose}"
    else:
        what = "a variance of each system's scores" if alone else "a residual variance"
    return f"{what} of {row[used]:.3g} (from {' and '.join(given)})" if given else f"{what} of {row[used]:g}"


def _by_goal(sizes: Sequence[Size]) -> Iterator[list[Size]]:
    groups: dict[str, list[Size]] = {}
    for size in sizes:
        groups.setdefault(size.kind, []).append(size)
    yield from groups.values()


def _input_names(size: Size) -> list[str]:
    """Select the inputs to show: an effect size replaces difference and sd; a true difference of 0 is left out."""
    hidden = {"difference", "sd"} if "effect_size" in size.inputs else set()
    if "true_difference" in size.inputs and not size.inputs["true_difference"].any():
        hidden.add("true_difference")
    return [name for name in ORDER if name in size.inputs and name not in hidden]


def _goal_table(group: Sequence[Size]) -> Table:
    """Arrange methods in columns if they have the same inputs, in rows otherwise."""
    alike = len({tuple(_input_names(size)) for size in group}) == 1
    return _side_by_side(group) if alike else _one_under_another(group)


def _side_by_side(group: Sequence[Size]) -> Table:
    first, word = group[0], group[0].method.achieves
    names = _input_names(first)
    columns = [Column(name, name.replace("_", " "), "number") for name in names]
    columns += [Column(f"topics_{size.method.name}", f"topics ({size.method.name})", "count", 100) for size in group]
    columns += [Column("achieved", f"{word} with n", "score", 30), Column("below", f"{word} with n − 1", "score", 5)]
    answers = [size.to_dict() for size in group]
    rows = []
    for at, row in enumerate(answers[0]):
        topics = [answer[at]["topics"] for answer in answers]
        rows.append((*(row[name] for name in names), *topics, row[f"achieved_{word}"], row[f"{word}_below"]))
    return Table(tuple(columns), rows)


def _one_under_another(group: Sequence[Size]) -> Table:
    word = group[0].method.achieves
    names = [name for name in ORDER if any(name in _input_names(size) for size in group)]
    columns = [Column("test", "test"), *(Column(name, name.replace("_", " "), "number") for name in names)]
    columns += [Column("topics", "topics", "count", 100), Column("achieved", f"{word} with n", "score", 30)]
    columns += [Column("below", f"{word} with n − 1", "score", 5)]
    found = [row for size in group for row in size.to_dict()]
    last = ("topics", f"achieved_{word}", f"{word}_below")
    rows = [(_test_words(row["test"]), *(row.get(name) for name in (*names, *last))) for row in found]
    return Table(tuple(columns), rows)


def _test_words(test: str) -> str:
    return "t, pair named in advance" if test == "t" else test


def _methods_table(sizes: Sequence[Size]) -> Table:
    methods = dict.fromkeys((s.method.name, s.method.title, s.method.design, s.method.when) for s in sizes)
    columns = (
        Column("method", "method"),
        Column("title", "what it is"),
        Column("design", "design"),
        Column("when", "when to use it"),
    )
    return Table(columns, list(methods))


def _sentence(sizes: Sequence[Size]) -> str:
    """Return the sentence about the first method, and that about the pair named in advance."""
    first = sizes[0]
    if [row.get("correlation") for row in first.to_dict()] == [0, TYPICAL_CORRELATION]:
        return _two_correlations(first)
    if first.topics.size > 1:
        mine = [size for size in sizes if size.kind == first.kind]
        tests = first.method.title if len(mine) == 1 else ", ".join(size.method.name for size in mine)
        return f"Each row has the smallest number of topics{first.per_system} ({tests}; {first.method.design})."
    pair = next((size for size in sizes if size.method.name == "t" and "difference" in size.inputs), first)
    return first.summary() if pair is first or pair.topics.size > 1 else f"{first.summary()} {pair.summary()}"


def _two_correlations(size: Size) -> str:
    apart, shared = size.to_dict()
    if None in (apart["topics"], shared["topics"]):
        return size.summary()
    return (
        f"{apart['topics']:,} topics {size.claim(apart)} if the scores of two systems are uncorrelated "
        f"(ρ = 0), {shared['topics']:,} if their correlation is {shared['correlation']:g}, as for AP on TREC-8 "
        f"({size.method.title}; {size.method.design})."
    )


def pilot_size_document(sizes: Sequence[PilotSize], inputs: Mapping[str, Any]) -> Document:
    """Return n from pilot data, with its range over the interval of the variance, and the assurance."""
    rows = [row for size in sizes for row in _pilot_rows(size)]
    tables = []
    for goal in dict.fromkeys(size.size.kind for size in sizes):
        mine = [size for size in sizes if size.size.kind == goal]
        names = [name for name in ORDER if any(name in _input_names(size.size) for size in mine)]
        table = _pilot_table(names, [row for size in mine for row in _pilot_rows(size)])
        tables.append(replace(table, caption=f"{GOALS[goal].caption}{PILOT_CAPTION}"))
    methods = _methods_table([size.size for size in sizes])
    citations = tuple(dict.fromkeys(size.size.method.citation for size in sizes))
    firsts = list({size.measure: size for size in reversed(sizes)}.values())[::-1]
    warnings = dict.fromkeys(
        caution for size in firsts for caution in pilot_caution(size.estimate.topics, size.measure)
    )
    sentence = "\n".join(_pilot_sentence(size) for size in firsts)
    return Document(
        method="size",
        inputs=inputs,
        tables=[*tables, methods],
        rows=rows,
        answer=sentence,
        paper=tables,
        citations=citations,
        warnings=tuple(warnings),
    )


PILOT_CAPTION = ", by estimate of the variance; low and high: at the limits of the confidence interval of the variance"


def _pilot_rows(pilot: PilotSize) -> list[dict[str, Any]]:
    rows = []
    answers = zip(pilot.size.to_dict(), pilot.lower.to_dict(), pilot.upper.to_dict(), pilot.assurance.flat, strict=True)
    for row, lower, upper, assurance in answers:
        head = {"measure": pilot.measure, "method": row.pop("method"), "estimate": pilot.estimate.method}
        ends = {"topics_lower": lower["topics"], "topics_upper": upper["topics"]}
        rows.append(head | row | ends | {"assurance": float(assurance)})
    return rows


def _pilot_table(goal: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    words = ["measure", "method", "estimate", *goal, "topics", "topics_lower", "topics_upper", "assurance"]
    titles = {"topics_lower": "topics, low", "topics_upper": "topics, high"}
    counts = ("topics", "topics_lower", "topics_upper")
    columns = [
        Column(
            word,
            titles.get(word, word.replace("_", " ")),
            "text" if word in ("measure", "method", "estimate") else "count" if word in counts else "number",
            {"topics": 100, "topics_lower": 90, "topics_upper": 90, "method": 95, "estimate": 20}.get(word),
        )
        for word in words
    ]
    return Table(tuple(columns), [tuple(row.get(word) for word in words) for row in rows])


def _pilot_sentence(pilot: PilotSize) -> str:
    row = _pilot_rows(pilot)[0]
    name, size = f"{pilot.measure}: " if pilot.measure else "", pilot.size
    if row["topics"] is None:
        return name + pilot.size.summary()
    low, high = (
        f"{row[word]:,}" if row[word] is not None else f"more than {pilot.size.limit:,}"
        for word in ("topics_lower", "topics_upper")
    )
    estimate = pilot.estimate
    of_whom = variance_words(estimate.method, estimate.topics)
    if size.kind == "sensitivity" or size.method.design == SEPARATE:
        of_whom = of_whom.partition(",")[0]  # which says so itself
    where = f"{size.conditions(row)}; {of_whom}"
    sure = _assured(pilot, row)
    if pilot.estimate.topics < FEW_TOPICS:
        return f"{name}between {low} and {high} topics{size.per_system} {size.claim(row)} ({where}).{sure}"
    return (
        f"{name}{row['topics']:,} topics{size.per_system} {size.claim(row)} ({where}); between {low} and {high}, "
        f"reflecting the uncertainty of the pilot variance.{sure}"
    )


def _assured(pilot: PilotSize, row: Mapping[str, Any]) -> str:
    """The expected power, and for a small pilot, which gives a range, the number of topics that has it."""
    has_power, power = pilot.size.method.is_power, f"{row['assurance']:.2f}"
    if pilot.estimate.topics >= FEW_TOPICS:
        return f" Expected power (assurance): {power}." if has_power else ""
    expected = f", with expected power (assurance) {power}" if has_power else ""
    return f" At the estimated variance: {row['topics']:,} topics{expected}."


LABEL_CITATION = "Cochran1977"


def label_document(plans: Sequence[Allocation], inputs: Mapping[str, Any]) -> Document:
    """Topics for people and for the model, beside those of human labels alone; one row for each design."""
    tables = []
    for goal in dict.fromkeys(each.size.kind for each in plans):
        mine = [each for each in plans if each.size.kind == goal]
        tables.append(_label_table(mine))
    return Document(
        method="size",
        inputs=inputs,
        tables=tables,
        rows=[row for each in plans for row in each.to_dict()],
        answer=_label_sentence(plans),
        citations=(LABEL_CITATION, *dict.fromkeys(each.size.method.citation for each in plans)),
    )


def _label_table(plans: Sequence[Allocation]) -> Table:
    """Return one row per design; inputs that are the same in all rows are in the title, not in columns."""
    rows = [row | {"test": _LABEL_TESTS.get(row["test"], row["test"])} for each in plans for row in each.to_dict()]
    achieved = f"achieved_{plans[0].size.method.achieves}"
    inputs = [name for name in ORDER if any(name in _input_names(each.size) for each in plans)]
    words = [*(["measure", "estimate"] if plans[0].measure else []), "test", *inputs, *LABEL_TITLES]
    words[words.index("human_topics") : words.index("human_topics")] = [achieved]
    titles = {**LABEL_TITLES, achieved: plans[0].size.method.achieves}
    told = [name for name in words if name not in LABEL_TITLES and name != achieved and _is_constant(rows, name)]
    shown = [word for word in words if word not in told and any(row.get(word) is not None for row in rows)]
    columns = tuple(Column(word, titles.get(word, word.replace("_", " ")), _label_kind(word)) for word in shown)
    title = ", ".join(
        f"{name.replace('_', ' ')} {_plain(rows[0][name])}" for name in told if rows[0].get(name) is not None
    )
    return Table(columns, [tuple(row.get(word) for word in shown) for row in rows], title)


LABEL_TITLES = {
    "judge_correlation": "r",
    "topics": "people",
    "judged_topics": "model",
    "cost": "cost",
    "topics_lower": "people, low",
    "topics_upper": "people, high",
    "human_topics": "people alone",
    "human_topics_cost": "their cost",
}
_LABEL_TESTS = {"t": "t, one pair"}


def _label_kind(word: str) -> str:
    if word in ("measure", "estimate", "test"):
        return "text"
    if word.startswith("achieved_"):
        return "score"
    return "count" if "topics" in word and "cost" not in word else "number"


def _is_constant(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Whether all rows that have an input have the same."""
    return len({row[name] for row in rows if row.get(name) is not None}) == 1


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _label_sentence(plans: Sequence[Allocation]) -> str:
    """Return the sentences about the first method of each measure, and about a pair named in advance."""
    if any(each.size.topics.size > 1 for each in plans):
        names = ", ".join(dict.fromkeys(each.size.method.name for each in plans))
        return (
            f"Each row has the topics that people and the model label at the lowest cost (regression estimator; "
            f"{names}), and the topics that people alone would label."
        )
    firsts = list({each.measure: each for each in reversed(plans)}.values())[::-1]
    pairs = [each for each in plans if each.size.method.name == "t" and not each.measure]
    told = dict.fromkeys((*firsts, *pairs))
    return ("\n" if plans[0].measure else " ").join(each.summary() for each in told)


def document(result: SizeResult) -> Document:
    if result.replicates:
        from cranfield.rendering.replicate_document import replicate_document

        return replicate_document(result.replicates, result.inputs)
    if result.labels:
        return label_document(result.labels, result.inputs)
    if result.pilot:
        return pilot_size_document(result.pilot, result.inputs)
    return size_document(result.sizes, result.inputs)


def curve(result: SizeResult, axis: str | None = None) -> Chart:
    """n along its goal, the input with most values, or another ``axis``; with a model's labels the cost against r."""
    if result.replicates:
        from cranfield.rendering.replicate_document import replicate_chart

        return replicate_chart(result.replicates)
    return _label_chart(result, axis) if result.labels else size_chart(result, axis)


def sketch(result: SizeResult, axis: str | None = None) -> tuple[str, str]:
    """The same for a page, and its caption; nothing where one point is all that can be drawn."""
    try:
        drawn = curve(result, axis)
    except NoEffectError:
        raise
    except RequestError:
        return "", ""
    return drawn.to_svg(is_headed=False), "" if result.replicates or result.labels else _caption(result)


CORRELATIONS = (0.0, *(round(0.05 * step, 2) for step in range(2, 20)))
"""The r of a curve."""


def _label_chart(result: SizeResult, axis: str | None) -> Chart:
    """The cost against r, or topics along ``axis``, beside that of human labels alone; a mark at the design itself."""
    first = result.labels[0]
    rows = _label_curve(result, axis)
    x, is_priced = axis or "judge_correlation", first.costs is not None and first.costs.judged_topic > 0
    y, other = ("topics", "human_topics") if not is_priced or axis else ("cost", "human_topics_cost")
    known = [row for row in rows if row[y] is not None and row[other] is not None]
    if len(known) < 2:
        raise RequestError("one design is a point, not a curve", fix="Give several values of an input.")
    here = None
    if first.size.topics.size == 1 and first.size.reached.all():
        row = first.to_dict()[0]
        here = (float(row[x]), float(row[y]))
    title = "cost" if y == "cost" else "topics labelled by people"
    chart = label_chart(known, x=x, y=((y, "with the model's labels"), (other, "people alone")), here=here, title=title)
    return chart if here else replace(chart, title=_saves(first.to_dict(), y, other))


def _saves(rows: Sequence[Mapping[str, Any]], y: str, other: str) -> str:
    """What the labels of the model save at most over the designs asked for."""
    shares = [(1 - row[y] / row[other], row["judge_correlation"]) for row in rows if row[y] is not None and row[other]]
    most, r = max(shares, default=(0.0, 0.0))
    what = "cost" if y == "cost" else "human labels"
    return f"The model's labels save up to {100 * most:.0f} % of the {what} (r = {r:g})"


def _label_curve(result: SizeResult, axis: str | None) -> list[dict[str, Any]]:
    from cranfield.methods.design.curves import curve_through
    from cranfield.methods.design.labels import CELLS, plan_labels

    first = result.labels[0]
    assert first.alone is not None
    assert first.costs is not None
    told: dict[str, Any] = {"judged_topics": first.judged_topics, "limit": first.size.limit}
    told |= {"costs": first.costs, "sides": result.request.sides}
    given = [row["judge_correlation"] for row in first.to_dict()]
    request = _pilot_request(result) if result.pilot else replace(result.request, method=first.size.method.name)
    if axis is not None:
        return plan_labels(plan(curve_through(request, axis))[:1], given[:1], **told)[0].to_dict()
    one = replace(first.alone, **{name: getattr(first.alone, name)[:1] for name in CELLS})
    one = replace(one, inputs={name: values[:1] for name, values in one.inputs.items()})
    return plan_labels([one], sorted({*CORRELATIONS, *given}), **told)[0].to_dict()


def _pilot_request(result: SizeResult) -> Request:
    """The request of the first answer, with the variance that was estimated."""
    first = result.sizes[0]
    values: dict[str, Any] = {name: sorted(set(numbers.ravel().tolist())) for name, numbers in first.inputs.items()}
    return Request(
        **values, method=first.method.name, one_sided=result.request.one_sided, unpaired=result.request.unpaired
    )


def _caption(result: SizeResult) -> str:
    method = result.sizes[0].method
    design = "" if method.name == "clt" else f"; {method.design}"  # one system shares topics with none
    caption = f"Method: {method.title}{design}."
    if not result.pilot:
        return caption
    return f"{result.pilot[0].measure}. {caption} Variance: {result.pilot[0].estimate.method}."


def by_measure(result: SizeResult) -> dict[str, SizeResult]:
    """The result of every measure of a pilot; all of it where there is none."""
    parts = result.replicates or result.pilot
    measures = list(dict.fromkeys(each.measure for each in parts)) or [""]
    return {name: _only(result, name) for name in measures}


def _only(result: SizeResult, measure: str) -> SizeResult:
    kept: dict[str, Any] = {
        part: tuple(each for each in getattr(result, part) if each.measure == measure)
        for part in ("pilot", "labels", "replicates")
    }
    sizes = tuple(each.size for each in kept["replicates"] or kept["pilot"]) or result.sizes
    return replace(result, sizes=sizes, **kept)


VIEWS = {"SizeResult": View(document, {"curve": curve}, sketch, by_measure=by_measure)}
