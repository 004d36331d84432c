"""Charts of shard studies, among them the figures of Ferro and Sanderson (2019); of several measures the first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cranfield.errors import RequestError
from cranfield.rendering.charts import Listing, intervals, listing
from cranfield.rendering.drawing import BLUE, GREY, ORANGE, PALE, Axis, Chart, Mark, Panel

if TYPE_CHECKING:
    from cranfield.methods.sharding.shard_models import ShardResult, ShardStudy

Row = dict[str, Any]


def shard_chart(study: ShardStudy, kind: str) -> Chart:
    """One of the figures."""
    if kind not in FIGURES:
        raise RequestError(f"there is no figure «{kind}»", fix=f"Choose one of: {', '.join(FIGURES)}.")
    return FIGURES[kind](study)


def kinds_chart(study: ShardStudy) -> Chart:
    """Ferro and Sanderson (2019), Fig. 3: three kinds of interval, whole corpus (MD1) and shards (MD6)."""
    fewest = min(_numbers(study))
    panels = [
        _kinds_panel(study, _first(study, "MD1", 1), f"{study.whole}, MD1"),
        _kinds_panel(study, _first(study, study.richest, fewest), f"{fewest} {study.replicate}, {study.richest}"),
    ]
    note = "Blue: Tukey's interval, which decides about pairs; pale: ANOVA's; grey: that of a single mean."
    return Chart(panels=panels, subtitle=_measure(study), note=note)


def _kinds_panel(study: ShardStudy, result: ShardResult, title: str) -> Panel:
    listed, means = _listed(study), _means(study, result)
    kinds = (
        (result.intervals.standard_error, GREY, 1.0),
        ([result.intervals.anova] * len(study.systems), PALE, 6.0),
        ([result.intervals.tukey] * len(study.systems), BLUE, 2.0),
    )
    marks = [
        _spans(listed, means, dict(zip(study.systems, map(float, reach), strict=True)), tone, width)
        for reach, tone, width in kinds
    ]
    marks.append(_dots(listed, means, BLUE))
    return Panel(x=Axis(title=f"mean {result.measure}"), y=listed.axis, marks=marks, title=title)


def models_chart(study: ShardStudy) -> Chart:
    """Ferro and Sanderson (2019), Fig. 4: Tukey's intervals of the models, on the largest number of shards."""
    most = max(_numbers(study))
    names = [name for name in ("MD1", "MD2", "MD3", study.richest) if study.get(name)]
    tones = dict(zip(names, (GREY, PALE, ORANGE, BLUE), strict=False))
    panel = _models_panel(study, most, tones)
    words = {GREY: "grey", PALE: "pale", ORANGE: "orange", BLUE: "blue"}
    note = f"Tukey's intervals: {', '.join(f'{name} {words[tone]}' for name, tone in tones.items())}."
    return Chart(panels=[panel], subtitle=_measure(study), note=note)


def shards_chart(study: ShardStudy) -> Chart:
    """Ferro and Sanderson (2019), Fig. 5: Tukey's intervals of MD1 and MD6, for the fewest and the most shards."""
    numbers = _numbers(study)
    tones = {"MD1": GREY, study.richest: BLUE}
    panels = [_models_panel(study, count, tones) for count in dict.fromkeys((numbers[0], numbers[-1]))]
    return Chart(
        panels=panels,
        subtitle=_measure(study),
        note=f"Tukey's intervals: MD1, {study.whole}, grey; {study.richest} blue.",
    )


def _models_panel(study: ShardStudy, count: int, tones: Mapping[str, str]) -> Panel:
    listed = _listed(study)
    results = {name: _first(study, name, 1 if name == "MD1" else count) for name in tones}
    marks = []
    for at, (name, result) in enumerate(results.items()):
        shift = 0.26 * (at - (len(results) - 1) / 2)
        means, reach = _means(study, result), dict.fromkeys(study.systems, float(result.intervals.tukey))
        marks.append(_spans(listed, means, reach, tones[name], 2.0, shift=shift))
        marks.append(_dots(listed, means, tones[name], shift=shift, size=4.0))
    title = f"{count} {study.replicate}, τ = {results[study.richest].tau:.3f}"
    return Panel(x=Axis(title=f"mean {_measure(study)}"), y=listed.axis, marks=marks, title=title)


def robustness_chart(study: ShardStudy) -> Chart:
    """The significant pairs and the top group of every model: mean and range over shardings."""
    samples = 1 + max(result.sample for result in study.results)
    over = f"Mean and range over {samples} shardings" if samples > 1 else "One sharding"
    words = {"significant_pairs": "significant pairs", "top_group": "systems in the top group"}
    panels = [_robust_panel(study, word, title) for word, title in words.items()]
    taus = ", ".join(f"{_first(study, study.richest, count).tau:.3f} ({count})" for count in _numbers(study))
    note = f"{over}; grey: MD1, {study.whole}. τ with the {study.whole}: {taus}."
    return Chart(panels=panels, subtitle=_measure(study), note=note)


def _robust_panel(study: ShardStudy, word: str, title: str) -> Panel:
    whole = float(getattr(_first(study, "MD1", 1), word))
    rows: list[Row] = [{"name": "MD1", "mean": whole, "least": whole, "most": whole, "is_whole": True}]
    rows += _robust_rows(study, word)
    return intervals(
        rows, y="name", x="mean", low="least", high="most", axis=Axis(title=title, is_whole=True, low=0),
        order=Listing([row["name"] for row in rows], 0), colours={True: GREY}, coloured_by="is_whole",
    )  # fmt: skip


def _robust_rows(study: ShardStudy, word: str) -> Iterator[Row]:
    models = dict.fromkeys(result.model for result in study.results if result.model != "MD1")
    for model in models:
        for count in _numbers(study):
            mine = study.get(model, measure=_measure(study), shards=count)
            values = [float(getattr(each, word)) for each in mine if getattr(each, word) is not None]
            values = [value for value in values if value == value]
            if values:
                mean = sum(values) / len(values)
                name = f"{model}, {count} {study.replicate}"
                yield {"name": name, "mean": mean, "least": min(values), "most": max(values), "is_whole": False}


FIGURES: Mapping[str, Callable[[ShardStudy], Chart]] = {
    "robustness": robustness_chart,
    "kinds": kinds_chart,
    "models": models_chart,
    "shards": shards_chart,
}


# --- data


def _measure(study: ShardStudy) -> str:
    return study.results[0].measure


def _numbers(study: ShardStudy) -> list[int]:
    return sorted({result.shards for result in study.results if result.shards > 1})


def _first(study: ShardStudy, model: str, shards: int) -> ShardResult:
    return study.get(model, measure=_measure(study), shards=shards)[0]


def _means(study: ShardStudy, result: ShardResult) -> dict[str, float]:
    return dict(zip(study.systems, map(float, result.means), strict=True))


def _listed(study: ShardStudy) -> Listing:
    """The systems, the best on the whole corpus first."""
    means = _means(study, _first(study, "MD1", 1))
    return listing(sorted(means, key=lambda name: -means[name]))


def _spans(
    listed: Listing,
    means: Mapping[str, float],
    reach: Mapping[str, float],
    tone: str,
    width: float,
    *,
    shift: float = 0.0,
) -> Mark:
    low, high = ([means[name] + sign * reach[name] for name in listed.places] for sign in (-1, 1))
    places = [at + shift for at in listed.places.values()]
    return Mark(kind="spans", colour=tone, width=width, x=low, x2=high, y=places)


def _dots(listed: Listing, means: Mapping[str, float], tone: str, *, shift: float = 0.0, size: float = 6.0) -> Mark:
    return Mark(
        kind="dots", colour=tone, size=size, x=[means[name] for name in listed.places],
        y=[at + shift for at in listed.places.values()], says=[f"{name}; {means[name]:.4f}" for name in listed.places],
    )  # fmt: skip
