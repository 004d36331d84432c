"""New topics from a score table in one step: fit, set the means, draw, and see how well it fits."""

from __future__ import annotations

from dataclasses import dataclass

from cranfield.errors import RequestError
from cranfield.methods.simulation.fit_quality import Fit, goodness_of_fit
from cranfield.methods.simulation.simulator import Means, Simulator, fit_simulator
from cranfield.scores import ScoreTable
from cranfield.types import Progress


@dataclass(frozen=True, eq=False)
class Simulation:
    """What topics were drawn from, the topics, and how well they resemble the pilot's."""

    simulator: Simulator
    table: ScoreTable
    fit: Fit
    seed: int

    def summary(self) -> str:
        return f"{len(self.table.topics):,} new topics for {len(self.table.systems):,} systems: {self.fit.summary()}"


def simulate(
    pilot: ScoreTable,
    *,
    topics: int | None = None,
    margins: str = "auto",
    dependence: str = "rows",
    trees: int | None = None,
    truncate: bool = False,
    equal: bool = False,
    gap: float | None = None,
    means: Means | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Simulation:
    """Draw new topics for the systems of a pilot, by default as many as it has.

    Parameters
    ----------
    equal, gap, means
        True means in place of the fitted ones: all alike; the best system so far above all others; any, for all
        systems in order or for some by name. The last is for tables of one measure.
    """
    if sum((equal, gap is not None, means is not None)) > 1:
        raise RequestError("true means are set in one way", fix="Choose one of equal, gap and means.")
    if dependence != "vine" and (trees is not None or truncate):
        raise RequestError(
            f"trees are those of a vine, and the dependence is «{dependence}»",
            fix='Leave out `trees` and `truncate`, or add `dependence="vine"`.',
        )
    made = fit_simulator(
        pilot, margins=margins, dependence=dependence, trees=2 if trees is None else trees, truncate=truncate, seed=seed
    )
    if equal:
        made = made.equal()
    elif gap is not None:
        made = made.gap(gap)
    elif means is not None:
        made = made.with_means(means)
    drawn = made.draw(len(pilot.topics) if topics is None else topics, progress=progress)
    return Simulation(made, drawn, goodness_of_fit(made, drawn), seed)


def parse_means(text: str) -> Means:
    """``0.3,0.25,0.2`` for all systems in order, or ``a=0.3,b=0.2`` for some.

    >>> parse_means("0.3,0.25"), parse_means("a=0.3, b=0.2")
    ([0.3, 0.25], {'a': 0.3, 'b': 0.2})
    """
    pieces = [piece.strip() for piece in text.split(",")]
    named = ["=" in piece for piece in pieces]
    try:
        if all(named):
            return {name.strip(): float(value) for name, _, value in (piece.rpartition("=") for piece in pieces)}
        return [float(piece) for piece in pieces]
    except ValueError:
        raise RequestError(
            f"the means «{text}» are not understood", fix="Write 0.3,0.25,0.2 or system=0.3,other=0.2."
        ) from None
